"""How long the trainings that the studio started may take, and which of them are paused.

A paused run has saved everything and its process has ended, as that of a stopped one. It differs in its time: resumed,
it trains for the rest of the minutes that it was given. One small file keeps this for the next server.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     times = RunTimes(Path(folder) / "times.json")
...     times.start("mine", minutes=2)
...     times.pause("mine")
...     again = RunTimes(Path(folder) / "times.json")
...     again.is_paused("mine"), 119 < again.seconds_left("mine") <= 120
(True, True)
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from selfmate.errors import SelfmateError
from selfmate.util.files import write_file

__all__ = ["RunTimes"]


class RunTime(Struct, frozen=True, kw_only=True):
    """The time of one run; None: no limit."""

    until: float | None = None
    """When the training ends by itself (`time.time`), while it trains."""
    left: float | None = None
    """Seconds that were left when it was paused."""
    paused: bool = False


class RunTimes:
    """The times of all runs by id, kept in the file `path`; one that cannot be read or written is done without."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._times: dict[str, RunTime] = {}
        with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeError):
            self._times = msgspec.json.decode(path.read_bytes(), type=dict[str, RunTime])

    def start(self, run_id: str, minutes: float | None) -> None:
        """Note that a training begins now."""
        self._put(run_id, RunTime(until=None if minutes is None else time.time() + 60 * minutes))

    def pause(self, run_id: str) -> None:
        """Note that a training is paused now."""
        until = self._times.get(run_id, RunTime()).until
        self._put(run_id, RunTime(left=None if until is None else max(0.0, until - time.time()), paused=True))

    def forget(self, run_id: str) -> None:
        """Note that a training was stopped, or goes on by another command."""
        if run_id in self._times:
            self._put(run_id, None)

    def is_paused(self, run_id: str) -> bool:
        """Return whether a run was paused."""
        return self._times.get(run_id, RunTime()).paused

    def seconds_left(self, run_id: str) -> float | None:
        """Return the seconds that a paused run has left; None: no limit, or it is not paused."""
        return self._times.get(run_id, RunTime()).left

    def _put(self, run_id: str, known: RunTime | None) -> None:
        if known is None:
            del self._times[run_id]
        else:
            self._times[run_id] = known
        with contextlib.suppress(OSError, SelfmateError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_file(self._path, msgspec.json.encode(self._times))
