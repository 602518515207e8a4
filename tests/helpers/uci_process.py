"""The UCI engine as a process, driven through its pipes."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import sys
import threading
import time
from types import TracebackType

PATIENCE = 60.0
"""Seconds to wait for an answer, enough for a busy machine."""


class Uci:
    """A running UCI engine, with methods to send and read lines."""

    def __init__(
        self, *, command: tuple[str, ...] = ("-m", "selfmate", "uci"), env: dict[str, str] | None = None
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        )
        self.heard: list[str] = []
        """Every line that the methods below have read."""
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
        """Send bytes."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, timeout: float = PATIENCE) -> str:
        """Return the next line; raise TimeoutError if none comes in time, EOFError at the end of the output."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"no answer; the last ones were {self.heard[-5:]}") from None
        if line is None:
            raise EOFError(f"the engine has exited; {b''.join(self.errors).decode()}")
        self.heard.append(line)
        return line

    def until(self, beginning: str, timeout: float = PATIENCE) -> list[str]:
        """Return all lines up to one that begins with `beginning`."""
        lines = [self.read(timeout)]
        end = time.monotonic() + timeout
        while not lines[-1].startswith(beginning):
            lines.append(self.read(max(0.0, end - time.monotonic())))
        return lines

    def ask(self, *commands: str, until: str = "bestmove") -> list[str]:
        """Send lines and return all lines up to the answer."""
        self.send(*commands)
        return self.until(until)

    def ready(self) -> list[str]:
        """Send `isready` and return the lines before `readyok`."""
        return self.ask("isready", until="readyok")[:-1]

    def is_silent(self, seconds: float) -> bool:
        """Return whether no `bestmove` comes within `seconds`; other lines are read."""
        end = time.monotonic() + seconds
        while True:
            try:
                if self.read(max(0.0, end - time.monotonic())).startswith("bestmove"):
                    return False
            except TimeoutError:
                return True

    def quit(self) -> int:
        """Send `quit` and return the exit code."""
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
    """Return the move of the last line, a `bestmove`."""
    return lines[-1].split()[1]


def infos(lines: list[str]) -> list[str]:
    """Return the `info` lines that are not `info string`."""
    return [line for line in lines if line.startswith("info ") and not line.startswith("info string")]


def said(lines: list[str]) -> list[str]:
    """Return the texts of the `info string` lines."""
    return [line.removeprefix("info string ") for line in lines if line.startswith("info string ")]


def field(line: str, name: str) -> str:
    """Return the word after `name` in an `info` line."""
    words = line.split()
    return words[words.index(name) + 1]


def pv(line: str) -> list[str]:
    """Return the moves after `pv` in an `info` line."""
    words = line.split()
    return words[words.index("pv") + 1 :]
