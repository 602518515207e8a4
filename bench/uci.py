"""Figures of the UCI engine: start, response during a search, `stop`, and memory within `Hash`.

    python bench/uci.py
    python bench/uci.py --variant atomic --weights net.onnx --threads 2 --seconds 60

Each figure is measured from outside, through the pipes; the exit code is the number of figures that miss their limit.
Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

MEGABYTE = 1 << 20


class EngineProcess:
    """A running engine."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [str(Path(sys.executable).parent / "selfmate"), "uci"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def send(self, *lines: str) -> None:
        """Send lines."""
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        self.process.stdin.flush()

    def until(self, word: bytes) -> bytes:
        """Read until a line that begins with `word`, and return it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(word):
                return line
        raise EOFError("the engine has exited")

    def resident(self) -> int:
        """Return the resident memory of the process in bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * 4096

    def quit(self) -> None:
        """Send `quit` and wait for the process."""
        self.send("quit")
        self.process.wait()


def summary(seconds: list[float]) -> str:
    """Return median and largest in milliseconds, as text."""
    ordered = sorted(1000 * each for each in seconds)
    return f"median {ordered[len(ordered) // 2]:.1f} ms, largest {ordered[-1]:.1f} ms of {len(ordered)}"


def start(repeats: int) -> tuple[float, int]:
    """Measure the time from start to `uciok`; return the median in seconds, and the memory in bytes."""
    taken, memory = [], 0
    for _ in range(repeats):
        engine = EngineProcess()
        engine.send("uci")
        engine.until(b"uciok")
        taken.append(time.perf_counter() - engine.began)
        memory = max(memory, engine.resident())
        engine.quit()
    print(f"start to uciok: {summary(taken)}; {memory / MEGABYTE:.0f} MB")
    return sorted(taken)[len(taken) // 2], memory


def prepared(arguments: argparse.Namespace) -> EngineProcess:
    """Return an engine with all options set."""
    engine = EngineProcess()
    engine.send(f"setoption name UCI_Variant value {arguments.variant}", f"setoption name Hash value {arguments.hash}")
    engine.send(f"setoption name Threads value {arguments.threads}")
    if arguments.weights:
        engine.send(f"setoption name WeightsFile value {arguments.weights}")
    if arguments.backend:
        engine.send(f"setoption name Backend value {arguments.backend}")
    engine.send("isready")
    engine.until(b"readyok")
    return engine


def answers(engine: EngineProcess, repeats: int) -> tuple[float, float]:
    """Measure `isready` and `stop` during a search; return the slowest of each in seconds."""
    ready, stop = [], []
    for number in range(repeats):
        engine.send("ucinewgame" if number % 5 == 0 else "", "go infinite")
        engine.until(b"info depth")
        time.sleep(0.05 + 0.01 * (number % 7))
        began = time.perf_counter()
        engine.send("isready")
        engine.until(b"readyok")
        ready.append(time.perf_counter() - began)
        time.sleep(0.03)
        began = time.perf_counter()
        engine.send("stop")
        engine.until(b"bestmove")
        stop.append(time.perf_counter() - began)
    print(f"isready during a search: {summary(ready)}")
    print(f"stop to bestmove: {summary(stop)}")
    return max(ready), max(stop)


def memory(engine: EngineProcess, megabytes: int, seconds: float) -> float:
    """Search for `seconds`; return the largest growth of memory as a multiple of `Hash`."""
    # Memory that the first search loads is not part of the tree.
    engine.send("ucinewgame", "go nodes 1000")
    engine.until(b"bestmove")
    engine.send("ucinewgame", "isready")
    engine.until(b"readyok")
    before = engine.resident()
    engine.send("go infinite")
    most, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.02)
        most = max(most, engine.resident() - before)
    stops = []
    began = time.perf_counter()
    engine.send("stop")
    engine.until(b"bestmove")
    stops.append(time.perf_counter() - began)
    engine.send("go nodes 1000")
    line = engine.until(b"info depth")
    engine.until(b"bestmove")
    ratio = most / (megabytes * MEGABYTE)
    print(f"Hash {megabytes}: grew by {most / MEGABYTE:.0f} MB in {seconds:g} s, {100 * ratio:.0f} % of it")
    print(f"  then stop to bestmove: {summary(stops)}; {line.decode().split(' pv ')[0]}")
    return ratio


def main() -> int:
    """Measure everything; return the number of missed limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant", default="chess")
    parser.add_argument("--weights", default="")
    parser.add_argument("--backend", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--hash", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the search that fills the memory")
    parser.add_argument("--repeats", type=int, default=50)
    arguments = parser.parse_args()
    seconds, size = start(10)
    engine = prepared(arguments)
    ready, stop = answers(engine, arguments.repeats)
    grown = memory(engine, arguments.hash, arguments.seconds)
    engine.quit()
    missed = [
        name
        for name, is_missed in (
            ("uciok within 300 ms", seconds > 0.3),
            ("under 60 MB", size > 60 * MEGABYTE),
            ("isready within 50 ms", ready > 0.05),
            ("stop within 50 ms", stop > 0.05),
            ("Hash within 10 %", grown > 1.1),
        )
        if is_missed
    ]
    print("missed: " + ", ".join(missed) if missed else "nothing missed")
    return len(missed)


if __name__ == "__main__":
    sys.exit(main())
