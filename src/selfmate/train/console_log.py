"""The log of a run's console: every line that a session prints, and the traceback of a crash, with the time of each."""

from __future__ import annotations

import contextlib
import faulthandler
import threading
import time
import traceback
from pathlib import Path
from typing import Final, Self, TextIO

from selfmate.train.dashboard import PlainView, View
from selfmate.train.status import TrainingStatus

__all__ = ["CONSOLE_LOG", "LoggedView"]

CONSOLE_LOG: Final = "console.log"


class LoggedView:
    """A view that also writes what it prints to a file of the run; a crash leaves its traceback there.

    A fault in native code leaves the Python stacks of all threads, unless the process reports faults elsewhere.
    """

    def __init__(self, view: View, status: TrainingStatus, path: Path) -> None:
        self._view = view
        self._lines = PlainView(status)
        self._file: TextIO = path.open("a", encoding="utf-8", errors="replace")
        self._lock = threading.Lock()
        self._reports_faults = False

    def __enter__(self) -> Self:
        if not faulthandler.is_enabled():
            faulthandler.enable(self._file)
            self._reports_faults = True
        return self

    def __exit__(self, *exception: object) -> None:
        if isinstance(exception[1], BaseException):
            self.write("".join(traceback.format_exception(exception[1])))
        if self._reports_faults:
            faulthandler.disable()
        with self._lock:
            self._file.close()

    def write(self, text: str) -> None:
        """Write lines to the file only, each with the time."""
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        with self._lock, contextlib.suppress(OSError, ValueError):  # a full disk ends the run elsewhere, with a line
            self._file.writelines(f"{now} {line}\n" for line in text.splitlines())
            self._file.flush()

    def say(self, text: str) -> None:
        """Print a line that stays, here and there."""
        self.write(text)
        self._view.say(text)

    def cycle_done(self) -> None:
        """Show that a cycle is complete."""
        if (completed := self._lines.status.completed) is not None:
            self.write(self._lines.line(completed))
        self._view.cycle_done()

    def close(self) -> None:
        """Restore the terminal."""
        self._view.close()
