"""Work for one page in a thread of its own, one piece at a time: a new one stops the one before it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from selfmate.errors import SelfmateError
from selfmate.studio.messages import Event, Failure

__all__ = ["MOST_ANALYSES", "PageWorker", "TooManyAnalyses"]

MOST_ANALYSES: Final = 16
"""Analyses of all pages at a time."""
log = logging.getLogger("selfmate.studio")
_running = threading.Semaphore(MOST_ANALYSES)


class TooManyAnalyses(SelfmateError):
    """More analyses at a time than the server runs."""


class PageWorker:
    """Runs one piece of work at a time; `send` is called from its thread."""

    def __init__(self, send: Callable[[Event], None]) -> None:
        self._send = send
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def stop(self) -> None:
        """Stop the present work; what it has found so far may still be sent."""
        self._stop.set()

    def _begin(self, work: Callable[[threading.Event], None], ask: int) -> None:
        """Replace the present work; `work` is called with the event that stops it."""
        self.stop()
        stop = self._stop = threading.Event()
        if not _running.acquire(blocking=False):
            raise TooManyAnalyses(f"{MOST_ANALYSES} analyses are running already: wait for one of them")

        def run() -> None:
            try:
                work(stop)
            except SelfmateError as error:
                self._send(Failure(ask=ask, message=str(error)))
            except Exception:
                log.exception("an analysis failed")
                self._send(Failure(ask=ask, message="The analysis failed; the terminal of the server says why."))
            finally:
                _running.release()

        self._after(run)

    def _after(self, work: Callable[[], None]) -> None:
        """Call `work` in a thread once the present work has ended: what both use has one thread at a time."""
        before = self._thread

        def run() -> None:
            if before is not None:
                before.join()
            work()

        # No daemon: Python would end it inside a search when the server ends, which aborts the process.
        self._thread = threading.Thread(target=run, name="analysis", daemon=False)
        self._thread.start()
