"""The thread that drives a pool of self-play, and the net that it plays with."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path

from selfmate._core import Pool
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.nn.checkpoint import read_net_config
from selfmate.search.driver import drive, one_thread

__all__ = ["PoolThread", "open_champion"]


def open_champion(
    folder: Path,
    before: Evaluator | None,
    *,
    device: str,
    continuous: bool,
    compiled: bool,
    pause: Callable[[], None],
) -> Evaluator:
    """Return the evaluator of a net's folder for self-play on a device; `before` is that of the last net.

    Continuous self-play keeps one evaluator and replaces its weights: compiling takes a while, and lanes have its
    buffers. A net that has grown needs another evaluator: `pause` is called first, and the lanes begin again with it.
    """
    if not continuous:
        return open_evaluator(folder, device=device, threads=1)
    from selfmate.evaluator.torch import TorchEvaluator  # `bench selfplay` runs without torch

    if isinstance(before, TorchEvaluator) and before.config == read_net_config(folder):
        before.replace(folder)
        return before
    pause()
    return TorchEvaluator(folder, device=device, compile=compiled)


class PoolThread:
    """Drives a pool in a thread of its own, until all its games are finished or a pause is wanted."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.evaluations = 0
        """Of all pools so far; only the lanes change it."""
        self.beat: Callable[[], None] = lambda: None
        """Called by the lanes again and again (`Watchdog.beat`)."""
        self.stopping: Callable[[], bool] = lambda: False
        """Asked by the lanes again and again; true: they stop."""
        self._pausing = False
        self._playing: Future[None] | None = None  # None while the pool rests

    def start(self, pool: Pool, evaluator: Evaluator | str) -> bool:
        """Drive a pool, unless that is being done; return whether a thread was begun.

        A thread that has finished all games, or has failed, is ended first: its error is raised here.
        """
        if self._playing is not None and self._playing.done():
            self.pause()
        if self._playing is not None:
            return False
        self._playing = Future()
        threading.Thread(target=self._drive, args=(pool, evaluator, self._playing), daemon=True).start()
        return True

    def wait(self, seconds: float) -> bool:
        """Wait until the thread has ended, at most for `seconds`; return whether it has."""
        return self._playing is None or not wait([self._playing], seconds).not_done

    def pause(self) -> None:
        """Let the pool rest until the next `start`; raise the error of the thread, if it has failed."""
        if self._playing is None:
            return
        self._pausing = True
        try:
            self._playing.result()
        finally:
            self._playing, self._pausing = None, False

    def _is_pausing(self) -> bool:
        self.beat()
        return self._pausing or self.stopping()

    def _drive(self, pool: Pool, evaluator: Evaluator | str, playing: Future[None]) -> None:
        """Play until all games of the pool are finished or a pause is wanted; the body of the thread."""

        def count(leaves: int) -> None:
            self.evaluations += leaves

        try:
            drive(pool, [evaluator], lanes=self.lanes, stopping=self._is_pausing, prepare=one_thread, tell=count)
            playing.set_result(None)
        except BaseException as error:
            playing.set_exception(error)
