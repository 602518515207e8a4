"""Work for one page in a thread of its own, one piece at a time: a new one stops the one before it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from selfmate.errors import SelfmateError
from selfmate.studio.messages import Event, Failure, failure

__all__ = ["MOST_ANALYSES", "PageWorker", "TooManyAnalyses"]

MOST_ANALYSES: Final = 16
"""Analyses of all pages at a time."""
KEEP_SECONDS: Final = 20.0
"""Time for which the memory of ended work is kept for the next: that of a user who looks at one position."""
log = logging.getLogger("selfmate.studio")
_running = threading.Semaphore(MOST_ANALYSES)


class TooManyAnalyses(SelfmateError):
    """More analyses at a time than the server runs."""


class PageWorker:
    """Runs one piece of work at a time; `send` is called from its thread.

    The thread of a piece of work ends with the next piece, or after `KEEP_SECONDS` without one, or when the page has
    left; in the last two cases it calls `_release` before.
    """

    def __init__(self, send: Callable[[Event], None]) -> None:
        self._send = send
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._wake = threading.Event()
        """Ends the wait of the present thread for the next piece of work."""
        self._is_closed = False

    def stop(self) -> None:
        """Stop the present work; what it has found so far may still be sent."""
        self._stop.set()

    def close(self) -> None:
        """Stop, and free everything: the page has left."""
        self._is_closed = True
        self.stop()
        self._wake.set()

    def _release(self) -> None:
        """Free what the next piece of work can make again; called in the thread."""

    def _begin(self, work: Callable[[threading.Event], None], ask: int) -> None:
        """Replace the present work; `work` is called with the event that stops it."""
        self.stop()
        if not _running.acquire(blocking=False):
            raise TooManyAnalyses(f"{MOST_ANALYSES} analyses are running already: wait for one of them")
        self._wake.set()
        stop, wake, before = threading.Event(), threading.Event(), self._thread
        self._stop, self._wake = stop, wake

        def run() -> None:
            if before is not None:
                before.join()  # what both use has one thread at a time
            try:
                work(stop)
            except SelfmateError as error:
                self._send(failure(ask, str(error)))
            except Exception:
                log.exception("an analysis failed")
                self._send(Failure(ask=ask, message="The analysis failed; the terminal of the server says why."))
            finally:
                _running.release()
            if not wake.wait(KEEP_SECONDS) or self._is_closed:
                self._release()

        # No daemon: Python would end it inside a search when the server ends, which aborts the process.
        self._thread = threading.Thread(target=run, name="analysis", daemon=False)
        self._thread.start()
