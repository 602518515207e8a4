"""Stop requests: Ctrl-C, SIGTERM and deadlines."""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["Interrupt", "Stop", "end_with_parent", "stop_on_signals"]

PR_SET_PDEATHSIG = 1
"""Of Linux's `prctl`: the signal that a process gets when the thread that started it ends."""


def end_with_parent(parent: int) -> None:
    """Let this process end with its parent, whose process id is given; for worker processes, on Linux alone.

    A pool of processes ends its workers only if the parent ends by itself, not if a signal ends it.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


class Stop:
    """A stop flag: true once a stop was requested or the deadline has passed.

    `signal` is the number of the signal that requested it, `deadline` a time of `time.monotonic()`.
    """

    def __init__(self) -> None:
        self.asked = False
        self.signal: int | None = None
        self.deadline: float | None = None

    def __call__(self) -> bool:
        return self.asked or self.late()

    def late(self) -> bool:
        """Return whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline


@contextlib.contextmanager
def stop_on_signals(stop: Stop, say: Callable[[str], None], close: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM request a stop; a second one calls `close` and exits at once.

    `say` prints one line that acknowledges the first signal, in a thread of its own: a handler that prints would fail
    where it interrupts the main thread within a print. Outside the main thread nothing is installed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    messages: queue.SimpleQueue[str | None] = queue.SimpleQueue()  # its `put` may be called from a signal handler

    def print_messages() -> None:
        while (message := messages.get()) is not None:
            with contextlib.suppress(OSError):  # a closed pipe ends the main thread's own prints
                say(message)

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.asked:
            close()
            os._exit(128 + number)
        stop.asked, stop.signal = True, number
        messages.put("Stopping after this step; press Ctrl-C again to quit now.")

    printer = threading.Thread(target=print_messages, name="stop message", daemon=True)
    printer.start()
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        messages.put(None)
        printer.join()


class Interrupt:
    """A stop flag that Ctrl-C sets within `with`; a second Ctrl-C raises `KeyboardInterrupt`.

    >>> with Interrupt() as interrupt:
    ...     interrupt()
    False
    """

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked

    def __enter__(self) -> Interrupt:
        with contextlib.ExitStack() as stack:
            if threading.current_thread() is threading.main_thread():
                before = signal.signal(signal.SIGINT, self._handle)
                stack.callback(signal.signal, signal.SIGINT, before)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
