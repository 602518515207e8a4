"""A watchdog for the threads of a session: lanes of self-play and of matches, and the learner.

Each of them asks again and again whether it should stop, and with that tells that it still runs. When one has not asked
for too long, a batch or a step hangs: in a driver, in a library, in a file system. The watchdog names it, requests a
stop, and ends the process when the thread does not come back. Nothing that was committed is lost.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Final, Self

from selfmate.util.signals import Stop

__all__ = ["EXIT_CODE", "Watchdog"]

EXIT_CODE: Final = 70
"""Of a process that the watchdog had to end: an internal error in sysexits.h."""


class Watchdog:
    """Watches threads that call `beat`; a context manager. Zero `seconds`: it watches nothing.

    `say` prints a line, `write` writes the stacks of all threads to the log, `close` restores the terminal.
    """

    def __init__(
        self,
        seconds: float,
        stop: Stop,
        *,
        say: Callable[[str], None],
        write: Callable[[str], None] = lambda text: None,
        close: Callable[[], None] = lambda: None,
        end: Callable[[int], object] = os._exit,
    ) -> None:
        self._seconds = seconds
        self._stop = stop
        self._say, self._write, self._close, self._end = say, write, close, end
        self._beats: dict[threading.Thread, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def __enter__(self) -> Self:
        if self._seconds:
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        if self._seconds:
            self._thread.join()

    def beat(self) -> None:
        """Tell that the calling thread runs; it is watched from now on until it ends or calls `rest`."""
        self._beats[threading.current_thread()] = time.monotonic()

    def rest(self) -> None:
        """Tell that the calling thread has nothing to do."""
        self._beats.pop(threading.current_thread(), None)

    def stalled(self) -> tuple[threading.Thread, float] | None:
        """Return the thread that has stood still for the longest time beyond the limit, and its seconds."""
        now = time.monotonic()
        for thread in list(self._beats):
            if not thread.is_alive():
                self._beats.pop(thread, None)
        if not self._beats:
            return None
        thread, since = min(list(self._beats.items()), key=lambda item: item[1])
        return (thread, now - since) if now - since > self._seconds else None

    def _watch(self) -> None:
        """Look now and then; the body of the watchdog's thread."""
        while not self._over.wait(min(1.0, self._seconds / 4)):
            found = self.stalled()
            if found is None:
                continue
            thread, seconds = found
            where = _place(thread)
            self._write(_stacks())
            self._say(
                f"{thread.name} has stood still for {seconds:.0f} s{where}; the run ends here. Everything committed is "
                f"kept: run the same command again to resume."
            )
            self._stop.asked = True
            if not self._over.wait(self._seconds):  # the others finish; this thread may yet come back
                self._close()
                self._end(EXIT_CODE)
            return


def _place(thread: threading.Thread) -> str:
    """Return where a thread stands, in words; empty where it is not known."""
    frame = sys._current_frames().get(thread.ident or 0)
    if frame is None:
        return ""
    return f" in {frame.f_code.co_name} ({os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno})"  # noqa: PTH119


def _stacks() -> str:
    """Return the stacks of all threads."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, frame in sys._current_frames().items():
        parts.append(f"Thread {names.get(ident, ident)}:\n{''.join(traceback.format_stack(frame))}")
    return "\n".join(parts)
