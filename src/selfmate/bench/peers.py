"""Other engines to compare move generation with: found on this machine, and checked to play their variant by our rules.

Stockfish comes from the system (`stockfish`). Fairy-Stockfish is built by bench/peers/build_fairy_stockfish.sh or named
by the environment variable SELFMATE_FAIRY_STOCKFISH.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from selfmate.ladder.reference_engines import FAIRY, STOCKFISH, VARIABLE, check_rules
from selfmate.match.uci_client import MORE_FOLDERS, EngineSpec, UciClient

__all__ = ["Peer", "find_peers", "open_peer"]

ANSWER_SECONDS = 120.0
"""An engine that does not answer within this time is given up."""


@dataclass(frozen=True, slots=True)
class Peer:
    """An engine on this machine that should count perft of `variant`."""

    name: str
    path: Path
    variant: str


def find_peers() -> list[Peer]:
    """Return the engines that are installed; `open_peer` checks each of them.

    >>> {peer.variant for peer in find_peers()} <= {"chess", "atomic"}
    True
    """
    folders = os.environ.get("PATH", "") + os.pathsep + MORE_FOLDERS
    peers = []
    if stockfish := shutil.which(STOCKFISH, path=folders):
        peers.append(Peer(STOCKFISH, Path(stockfish), "chess"))
    named = os.environ.get(VARIABLE)
    built = [Path(__file__).parents[3] / "bench" / "peers" / "build", Path("bench", "peers", "build").absolute()]
    candidates = [Path(named)] if named else [folder / FAIRY for folder in built]
    candidates += [folder / f"{FAIRY}-largeboards" for folder in built]
    if system := shutil.which(FAIRY, path=folders):
        candidates.append(Path(system))
    seen: set[Path] = set()
    for path in candidates:
        if path.is_file() and os.access(path, os.X_OK) and path.resolve() not in seen:
            seen.add(path.resolve())
            peers.append(Peer(path.name, path, "atomic"))
    return peers


@contextmanager
def open_peer(peer: Peer) -> Iterator[UciClient]:
    """Yield a running engine that is set to the variant of `peer`, and close it afterwards.

    Raises `SelfmateError` if it cannot be started, does not answer, or counts other leaves than we do.
    """
    with UciClient(EngineSpec(command=(str(peer.path),)), patience=ANSWER_SECONDS) as engine:
        check_rules(engine, peer.variant)
        yield engine
