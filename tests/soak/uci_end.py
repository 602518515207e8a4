"""Every way to end the UCI engine during a search: how often it exits, and how soon.

    python tests/soak/uci_end.py --count 200

In turn: end of input, `quit`, SIGTERM, and a closed output. An engine that does not exit gives exit code 1.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time

WAYS = ("end of input", "quit", "SIGTERM", "closed output")
SEARCHES = ("go infinite", "go wtime 3600000 btime 3600000", "go ponder wtime 60000 btime 60000", "go perft 9")


def leave(way: str, search: str, patience: float) -> float | None:
    """Start an engine, let it search, end it; return the seconds until it exited, or None if it did not."""
    process = subprocess.Popen(
        [sys.executable, "-m", "selfmate", "uci"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # 1. Start a search.
        process.stdin.write(f"uci\nisready\nposition startpos moves e2e4 e7e5\n{search}\n".encode())
        process.stdin.flush()
        sign = b": " if "perft" in search else b"info depth"
        while sign not in process.stdout.readline():
            if process.poll() is not None:
                return None
        # 2. Leave.
        began = time.monotonic()
        if way == "end of input":
            process.stdin.close()
        elif way == "quit":
            process.stdin.write(b"quit\n")
            process.stdin.flush()
        elif way == "SIGTERM":
            process.send_signal(signal.SIGTERM)
        else:
            os.close(process.stdout.fileno())  # not through the object, which may wait for its buffer
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            return None
        return time.monotonic() - began
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()


def run(count: int, patience: float) -> int:
    """Try all ways; print and return the number of misses."""
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    missed = 0
    for number in range(count):
        way, search = WAYS[number % len(WAYS)], SEARCHES[number // len(WAYS) % len(SEARCHES)]
        taken = leave(way, search, patience)
        if taken is None:
            missed += 1
            print(f"{way} during {search}: still there after {patience} s", flush=True)
        else:
            seconds[way].append(taken)
    for way, taken_all in seconds.items():
        if taken_all:
            print(f"{way}: {len(taken_all)} exited, the slowest after {1000 * max(taken_all):.0f} ms")
    print(f"{count - missed} of {count} exited within {patience} s")
    return missed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1.0, help="that it may take")
    arguments = parser.parse_args()
    sys.exit(1 if run(arguments.count, arguments.seconds) else 0)
