"""The engine as another program sees it: a process with two pipes."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import sys
import threading
import time
from types import TracebackType

PATIENCE = 60.0
"""Seconds after which an answer will not come any more, however busy the machine is."""


class Uci:
    """A running engine; lines go in and come out."""

    def __init__(
        self, *, command: tuple[str, ...] = ("-m", "selfmate", "uci"), env: dict[str, str] | None = None
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        )
        self.heard: list[str] = []
        """Every line so far that was read by one of the methods below."""
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.errors: list[bytes] = []
        self._listeners = [threading.Thread(target=each) for each in (self._listen, self._listen_for_errors)]
        for listener in self._listeners:
            listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.decode().rstrip("\n"))
        self._lines.put(None)

    def _listen_for_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)

    def send(self, *lines: str) -> None:
        """Send lines."""
        self.send_bytes("".join(f"{line}\n" for line in lines).encode())

    def send_bytes(self, data: bytes) -> None:
        """Send anything."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, timeout: float = PATIENCE) -> str:
        """Read a line; TimeoutError when none comes, EOFError when none will."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"no answer; the last ones were {self.heard[-5:]}") from None
        if line is None:
            raise EOFError(f"the engine is gone; {b''.join(self.errors).decode()}")
        self.heard.append(line)
        return line

    def until(self, beginning: str, timeout: float = PATIENCE) -> list[str]:
        """Read to a line that begins so; return all lines that were read."""
        lines = [self.read(timeout)]
        end = time.monotonic() + timeout
        while not lines[-1].startswith(beginning):
            lines.append(self.read(max(0.0, end - time.monotonic())))
        return lines

    def ask(self, *commands: str, until: str = "bestmove") -> list[str]:
        """Send lines and read to the answer."""
        self.send(*commands)
        return self.until(until)

    def ready(self) -> list[str]:
        """Wait until everything sent so far is done; return the lines before `readyok`."""
        return self.ask("isready", until="readyok")[:-1]

    def is_silent(self, seconds: float) -> bool:
        """Whether no `bestmove` comes for so long; what else comes is read."""
        end = time.monotonic() + seconds
        while True:
            try:
                if self.read(max(0.0, end - time.monotonic())).startswith("bestmove"):
                    return False
            except TimeoutError:
                return True

    def quit(self) -> int:
        """Send `quit`, and return the exit code."""
        self.send("quit")
        return self.process.wait(PATIENCE)

    def __enter__(self) -> Uci:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for listener in self._listeners:
            listener.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def best_move(lines: list[str]) -> str:
    """The move of the last line, which is a `bestmove`."""
    return lines[-1].split()[1]


def infos(lines: list[str]) -> list[str]:
    """The lines about a search, without those for people."""
    return [line for line in lines if line.startswith("info ") and not line.startswith("info string")]


def said(lines: list[str]) -> list[str]:
    """The lines for people."""
    return [line.removeprefix("info string ") for line in lines if line.startswith("info string ")]


def field(line: str, name: str) -> str:
    """The word after a name in an `info` line."""
    words = line.split()
    return words[words.index(name) + 1]


def pv(line: str) -> list[str]:
    """The moves of an `info` line."""
    words = line.split()
    return words[words.index("pv") + 1 :]
