"""When to stop training: its time is over, or somebody asked for it with Ctrl-C or SIGTERM."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from selfmate.view import View

__all__ = ["Stop", "hear_signals"]


class Stop:
    """Whether to stop: somebody asked for it, or the time for cycles is over."""

    def __init__(self) -> None:
        self.asked = False
        self.signal: int | None = None
        self.deadline: float | None = None

    def __call__(self) -> bool:
        return self.asked or self.late()

    def late(self) -> bool:
        """Whether the time is over."""
        return self.deadline is not None and time.monotonic() >= self.deadline


@contextlib.contextmanager
def hear_signals(stop: Stop, view: View) -> Iterator[None]:
    """Ctrl-C and SIGTERM ask for a stop; said again, they leave at once, which loses nothing committed either."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def hear(number: int, frame: FrameType | None) -> None:
        if stop.asked:
            view.close()
            os._exit(128 + number)
        stop.asked, stop.signal = True, number
        view.say("Stopping after this step; once more to leave at once.")

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
