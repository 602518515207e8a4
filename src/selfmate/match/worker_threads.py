"""Threads that work on one match: the first failure of any of them stops all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from selfmate.match.uci_client import Interrupted

__all__ = ["WorkerThreads"]

JOIN_SECONDS: Final = 0.1
"""Python handles Ctrl-C only between two waits."""


class WorkerThreads:
    """Threads that stop when `stopping` returns True or one of them fails; `join` raises the first failure."""

    def __init__(self, stopping: Callable[[], bool]) -> None:
        self._stopping = stopping
        self._failures: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def halted(self) -> bool:
        """Return whether to stop."""
        return bool(self._failures) or self._stopping()

    def run(self, work: Callable[[], None]) -> None:
        """Call `work` in this thread, and keep its failure for `join`."""
        try:
            work()
        except Interrupted:
            pass
        except BaseException as error:
            self._failures.append(error)

    def start(self, works: Sequence[Callable[[], None]]) -> None:
        """Start a thread for each function."""
        for work in works:
            self._threads.append(threading.Thread(target=self.run, args=(work,), daemon=True))
            self._threads[-1].start()

    def join(self) -> None:
        """Wait for all threads, and raise the first failure."""
        for thread in self._threads:
            while thread.is_alive():
                thread.join(JOIN_SECONDS)
        self._threads.clear()
        if self._failures:
            raise self._failures[0]
