"""Reference engines of the ladder: found, checked to play by the rules, and checked to be the engine that was measured.

Debian's Fairy-Stockfish 11.1 silently plays chess when it is asked for atomic. So an engine must count the leaves of
some positions in which the variant differs from chess (`go perft`), and is refused if a count is wrong.

Fairy-Stockfish 11.1 knows the rules of Gardner, but with the same nodes it is another player than the one with which
the ladder was measured. Names do not tell (that of our own build is the day of the build), so fingerprints are taken:
with one thread and a limit on nodes Fairy-Stockfish finds the same move, score and nodes on every machine.

>>> [(depth, nodes) for _, depth, nodes in known_counts("atomic")][0]
(4, 197326)
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from selfmate.errors import SelfmateError, clip
from selfmate.match.spec import split_command
from selfmate.match.uci_client import FIRST_REPLY, MORE_FOLDERS, EngineError, EngineSpec, UciClient
from selfmate.util.text import many

__all__ = [
    "STOCKFISH",
    "Fingerprint",
    "ReferenceEngine",
    "ReferenceEngineError",
    "build_fairy",
    "cache_folder",
    "check_rules",
    "find_fairy",
    "find_stockfish",
    "installed_fairies",
    "take_fingerprints",
]

FAIRY: Final = "fairy-stockfish"
STOCKFISH: Final = "stockfish"
VARIABLE: Final = "SELFMATE_FAIRY_STOCKFISH"
"""The environment variable that names a Fairy-Stockfish, as for `selfmate bench movegen`."""
WASM: Final = Path("node_modules", "fairy-stockfish-nnue.wasm", "uci.js")
"""Where npm installs the build for Node."""
NODE: Final = ("node", "--no-experimental-fetch")
"""With its own `fetch`, Node 18 and later take the file of the engine for a URL."""
REPLY_SECONDS: Final = 60.0
FINGERPRINT_NODES: Final = (1, 1000)
"""Limits of fingerprints: the first shows the evaluation, the second the search. With more nodes, builds for large
boards, whose hash keys differ, now and then come to another result (once at 10,000)."""
BUILD_HINT: Final = (
    "selfmate ladder --build-engine builds the right one, --measure measures a ladder with another (docs/ladder.md)"
)
FIND_HINT: Final = (
    "selfmate ladder --build-engine builds one, --engine COMMAND names one, --without-engine plays without one "
    "(docs/ladder.md)"
)


class ReferenceEngineError(SelfmateError):
    """An engine is missing, or cannot be used as a reference."""


class FingerprintMismatch(ReferenceEngineError):
    """An engine is not the one with which a ladder was measured."""


class Fingerprint(NamedTuple):
    """What an engine finds in a position, with an empty hash table and a limit on nodes."""

    fen: Annotated[str, Meta(pattern="^[ -~]{1,200}$")]
    limit: Annotated[int, Meta(ge=1, le=1_000_000)]
    """Nodes."""
    move: str
    score: str
    """`+0.31`, `-M2`; empty if the engine gave none."""
    nodes: int
    """Nodes that the engine counted; -1 if it gave none."""

    def __str__(self) -> str:
        return f"{clip(self.move)} ({self.score or 'no score'}, {self.nodes:,} nodes)"


class ReferenceEngine(NamedTuple):
    """An engine that was checked."""

    command: tuple[str, ...]
    name: str
    """As it reports it."""
    fingerprints: tuple[Fingerprint, ...] = ()


@cache
def _all_counts() -> dict[str, list[tuple[str, int, int]]]:
    text = (resources.files("selfmate") / "ladder/data" / "perft.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, list[tuple[str, int, int]]])


def known_counts(variant: str) -> list[tuple[str, int, int]]:
    """Return positions of a variant (FEN, depth, leaves), confirmed by several move generators."""
    return _all_counts().get(variant, [])


def check_rules(engine: UciClient, variant: str) -> None:
    """Raise `ReferenceEngineError` unless an engine plays a variant by our rules."""
    engine.set_variant(variant)
    counts = known_counts(variant)
    if not counts:
        raise ReferenceEngineError(f"there are no known counts of {variant} to check an engine with", variant)
    for fen, depth, nodes in counts:
        found = engine.perft(fen, depth, seconds=REPLY_SECONDS)
        if found != nodes:
            raise ReferenceEngineError(
                f"{engine.name} does not play {variant} by its rules: {found:,} leaves at depth {depth} "
                f"of {fen}, which has {nodes:,}",
                variant,
            )


def take_fingerprints(engine: UciClient, variant: str, known: Sequence[Fingerprint] = ()) -> tuple[Fingerprint, ...]:
    """Return an engine's fingerprints in the positions and with the nodes of `known`, or in those of `known_counts`."""
    engine.set_variant(variant)
    questions = [each[:2] for each in known] or [
        (fen, limit) for fen, _, _ in known_counts(variant) for limit in FINGERPRINT_NODES
    ]
    fingerprints = []
    for fen, limit in questions:
        engine.new_game()
        reply = engine.search(fen, [], f"go nodes {limit}", seconds=REPLY_SECONDS)
        score = "" if reply.score is None else str(reply.score)
        fingerprints.append(Fingerprint(fen, limit, reply.move, score, -1 if reply.nodes is None else reply.nodes))
    return tuple(fingerprints)


def find_fairy(
    variant: str,
    command: str | None = None,
    notice: Callable[[str], None] = lambda text: None,
    *,
    known: Sequence[Fingerprint] = (),
) -> ReferenceEngine:
    """Return a Fairy-Stockfish that plays a variant: `command`, or the first on this machine that passes the checks.

    An engine whose fingerprints are not `known` is refused. `notice` is called with a line when a reply takes long, and
    for each engine that was refused before one passed. Raises `ReferenceEngineError` if none does.
    """
    if command is not None:
        try:
            return _checked(split_command(command), variant, notice, known)
        except FingerprintMismatch as error:
            raise ReferenceEngineError(f"{error}; {BUILD_HINT}", error.part) from None
    refused = []
    for words in installed_fairies():
        try:
            found = _checked(words, variant, notice, known)
        except (EngineError, ReferenceEngineError) as error:
            refused.append(f"{shlex.join(words)}: {error}")
            continue
        for reason in refused:
            notice(f"not used: {reason}")
        return found
    reason = f": {'; '.join(refused)}" if refused else ""
    raise ReferenceEngineError(f"no Fairy-Stockfish for {variant} was found{reason}; {FIND_HINT}", variant)


def find_stockfish(notice: Callable[[str], None] = lambda text: None) -> ReferenceEngine | None:
    """Return the Stockfish of this machine, for chess, or None. It plays by time, so it has no fingerprints."""
    try:
        with _start((STOCKFISH,), notice) as engine:
            check_rules(engine, "chess")
            return ReferenceEngine((STOCKFISH,), engine.name)
    except (EngineError, ReferenceEngineError):
        return None


def _checked(
    command: tuple[str, ...], variant: str, notice: Callable[[str], None], known: Sequence[Fingerprint]
) -> ReferenceEngine:
    with _start(command, notice) as engine:
        check_rules(engine, variant)
        fingerprints = take_fingerprints(engine, variant, known)
        for found, expected in zip(fingerprints, known, strict=False):
            if found != expected:
                raise FingerprintMismatch(
                    f"{engine.name} is not the engine with which the ladder was measured: with "
                    f"{many(expected.limit, 'node')} in {expected.fen} it finds {found}, that one found {expected}",
                    engine.name,
                )
        return ReferenceEngine(command, engine.name, fingerprints)


def _start(command: tuple[str, ...], notice: Callable[[str], None]) -> UciClient:
    return UciClient(EngineSpec(command=command), first_reply=FIRST_REPLY, notice=notice)


def installed_fairies() -> Iterator[tuple[str, ...]]:
    """Yield commands of Fairy-Stockfish on this machine, in the order in which they are tried."""
    if named := os.environ.get(VARIABLE):
        yield split_command(named)
    if found := shutil.which(FAIRY, path=os.environ.get("PATH", os.defpath) + os.pathsep + MORE_FOLDERS):
        yield (found,)
    folder = cache_folder()
    if (folder / FAIRY).is_file():
        yield (str(folder / FAIRY),)
    if (folder / WASM).is_file() and shutil.which(NODE[0]):
        yield (*NODE, str(folder / WASM))


def cache_folder() -> Path:
    """Return the folder of engines that were built here: `selfmate/engines` in the user's cache."""
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(caches) / "selfmate" / "engines"


def build_fairy() -> Path:
    """Build Fairy-Stockfish from the source distribution of pyffish (a minute or two); return its path in the cache."""
    folder = cache_folder()
    for program in ("bash", os.environ.get("CXX", "g++")):
        if shutil.which(program) is None:
            raise ReferenceEngineError(f"building Fairy-Stockfish needs {clip(program)}, which is not there", program)
    with resources.as_file(resources.files("selfmate") / "ladder/data" / "build_fairy_stockfish.sh") as script:
        done = subprocess.run(
            ["bash", str(script), str(folder), "--plain"],
            env={"PYTHON": sys.executable, **os.environ},
            stdout=sys.stderr,
            check=False,
        )
    if done.returncode:
        raise ReferenceEngineError(f"building Fairy-Stockfish failed with exit code {done.returncode}; see above")
    return folder / FAIRY
