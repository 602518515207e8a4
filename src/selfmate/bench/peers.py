"""Other engines to measure against: found, checked to play the variant that they claim, and timed on `go perft`.

Stockfish comes from the system (`stockfish`). Fairy-Stockfish is built by bench/peers/build_fairy_stockfish.sh or named
by the environment variable SELFMATE_FAIRY_STOCKFISH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Peer", "PeerError", "find_peers", "open_peer"]

START_PERFT_4 = {"chess": 197_281, "atomic": 197_326}
"""Leaves at depth 4 from the start. Fairy-Stockfish 11.1 does not know atomic and silently plays chess: this tells."""
ANSWER_SECONDS = 120.0
"""An engine that is silent for so long is given up."""


class PeerError(Exception):
    """An engine that cannot be used, with the reason in one line."""


@dataclass(frozen=True, slots=True)
class Peer:
    """An engine on this machine that counts perft of `variant`."""

    name: str
    path: Path
    variant: str


def find_peers() -> list[Peer]:
    """List the engines to be found on this machine; `open_peer` still checks each.

    >>> {peer.variant for peer in find_peers()} <= {"chess", "atomic"}
    True
    """
    folders = os.environ.get("PATH", "") + os.pathsep + "/usr/games"
    peers = []
    if stockfish := shutil.which("stockfish", path=folders):
        peers.append(Peer("stockfish", Path(stockfish), "chess"))
    named = os.environ.get("SELFMATE_FAIRY_STOCKFISH")
    built = [Path(__file__).parents[2] / "bench" / "peers" / "build", Path("bench", "peers", "build").absolute()]
    candidates = [Path(named)] if named else [folder / "fairy-stockfish" for folder in built]
    candidates += [folder / "fairy-stockfish-largeboards" for folder in built]
    if system := shutil.which("fairy-stockfish", path=folders):
        candidates.append(Path(system))
    seen: set[Path] = set()
    for path in candidates:
        if path.is_file() and os.access(path, os.X_OK) and path.resolve() not in seen:
            seen.add(path.resolve())
            peers.append(Peer(path.name, path, "atomic"))
    return peers


class PerftEngine:
    """A running UCI engine of which only `go perft` is used."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.version = ""
        try:
            self._process = subprocess.Popen(
                [peer.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        except OSError as error:
            raise PeerError(f"{peer.path}: {error.strerror}") from error

    def greet(self) -> None:
        """Ask for its name and choose the variant."""
        for line in self._ask("uci", until="uciok"):
            if line.startswith("id name "):
                self.version = line.removeprefix("id name ")
        choice = "" if self.peer.variant == "chess" else f"setoption name UCI_Variant value {self.peer.variant}\n"
        self._ask(f"{choice}isready", until="readyok")

    def perft(self, fen: str | None, depth: int) -> tuple[int, float]:
        """Count the leaves under `fen` (None: the start); give them and the seconds it took."""
        position = "startpos" if fen is None else f"fen {fen}"
        self._ask(f"position {position}\nisready", until="readyok")
        started = time.perf_counter()
        lines = self._ask(f"go perft {depth}", until="Nodes searched")
        seconds = time.perf_counter() - started
        return int(lines[-1].rpartition(" ")[2]), seconds

    def close(self) -> None:
        """End the engine, by force if it does not listen."""
        if self._process.stdin:
            try:
                self._process.stdin.write("quit\n")
                self._process.stdin.close()
            except OSError:
                pass
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def _ask(self, commands: str, until: str) -> list[str]:
        """Send commands and give the answer, up to the line that starts with `until`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        alarm = threading.Timer(ANSWER_SECONDS, self._process.kill)
        alarm.start()
        lines: list[str] = []
        try:
            self._process.stdin.write(commands + "\n")
            self._process.stdin.flush()
            for line in self._process.stdout:
                lines.append(line.strip())
                if line.startswith(until):
                    return lines
        except OSError:
            pass
        finally:
            alarm.cancel()
        raise PeerError(f"{self.peer.path}: no answer to {commands.splitlines()[-1]!r}")


@contextmanager
def open_peer(peer: Peer) -> Iterator[PerftEngine]:
    """Start an engine and make sure that it plays the variant; end it afterwards."""
    engine = PerftEngine(peer)
    try:
        engine.greet()
        nodes, _ = engine.perft(None, 4)
        expected = START_PERFT_4[peer.variant]
        if nodes != expected:
            raise PeerError(f"{peer.path} does not play {peer.variant}: perft 4 is {nodes}, not {expected}")
        yield engine
    finally:
        engine.close()
