"""Drives a pool of games: one thread per lane gathers leaves, evaluates them and applies the answers.

    Pool.gather → Evaluator → Pool.apply

Self-play, gate, arena and benches play their games through `drive`.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from selfmate._core import Pool
from selfmate.errors import EvaluatorError
from selfmate.evaluator.base import NATIVE, Evaluator, EvaluatorLane

__all__ = ["BatchTiming", "drive", "one_thread"]

IDLE_SECONDS: Final = 0.1
"""Longest sleep of a lane while all games wait for answers or for moves of external players."""


def one_thread() -> None:
    """Limit torch, if it is loaded, to one thread; the setting counts for the calling thread only."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


class BatchTiming(NamedTuple):
    """One batch of one lane, and when (`time.perf_counter`) each of its steps began and ended."""

    lane: int
    leaves: int
    asked: float
    """When the lane asked for the pool, which it shares with other lanes."""
    began: float
    gathered: float
    answered: float
    applying: float
    applied: float
    evaluator_lane: EvaluatorLane


def drive(
    pool: Pool,
    evaluators: Sequence[Evaluator | str],
    *,
    lanes: int,
    stopping: Callable[[], bool] = lambda: False,
    prepare: Callable[[], None] = lambda: None,
    tell: Callable[[int], None] = lambda leaves: None,
    watch: Callable[[BatchTiming], None] | None = None,
) -> None:
    """Play the games of a pool to their end, with one thread per lane.

    `evaluators` are in the order in which the seats number them. `prepare` is called once in each thread; `tell` is
    called with the number of leaves of each batch, and may drain the pool; `watch` is called with the timing of each
    batch of a net.

    Each evaluation runs on the thread of its lane: threads inside one small evaluation would wait for each other longer
    than they work, above all on a busy machine. The order of the threads changes no game. A lane without a batch
    sleeps: all games wait for answers or for external moves (`Pool.play`), or a small batch waits to grow.
    """
    if len(evaluators) < pool.evaluators:
        raise EvaluatorError(f"{pool.evaluators} evaluators are asked for, not {len(evaluators)}")
    for number, each in enumerate(evaluators[: pool.evaluators]):
        if isinstance(each, Evaluator) and each.encoding != pool.encoding(number):
            raise EvaluatorError(f"the games are not encoded as {each.name} reads them", each.name)
    chosen = evaluators[: pool.evaluators] or NATIVE[:1]  # never asked, but gathering leaves advances the games
    driver = _Driver(pool, chosen, stopping, prepare, tell, watch)
    threads = [
        threading.Thread(target=driver.run_lane, args=(lane,), name=f"lane {lane}", daemon=True)
        for lane in range(lanes)
    ]
    try:
        for thread in threads:
            thread.start()
        driver.wait(lanes)
    except BaseException as error:
        # Ctrl-C. Lanes that ran on would abort the process: Python ends their threads within the core when it exits.
        driver.failures.append(error)
        driver.wait(driver.begun)
        raise
    for thread in threads:
        thread.join()
    if driver.failures:
        raise driver.failures[0]


class _Driver:
    """The state that the lanes of `drive` share; its arguments are those of `drive`."""

    def __init__(
        self,
        pool: Pool,
        evaluators: Sequence[Evaluator | str],
        stopping: Callable[[], bool],
        prepare: Callable[[], None],
        tell: Callable[[int], None],
        watch: Callable[[BatchTiming], None] | None,
    ) -> None:
        self.pool = pool
        self.evaluators = evaluators
        self.stopping = stopping
        self.prepare = prepare
        self.tell = tell
        self.watch = watch
        self.natives = [index for index, each in enumerate(evaluators) if isinstance(each, str)]
        self.nets = [index for index, each in enumerate(evaluators) if not isinstance(each, str)]
        # For `tell`, `begun` and `ended`; the pool has its own, which a lane gets without the interpreter's.
        self.lock = threading.Lock()
        self.failures: list[BaseException] = []
        self.begun = 0
        self.ended = 0
        self.lane_ended = threading.Event()

    def wait(self, lanes: int) -> None:
        """Wait until this many lanes have ended.

        Not by `Thread.join`: before Python 3.13, a thread whose join was interrupted by Ctrl-C counts as ended.
        """
        while self.ended < lanes:
            self.lane_ended.wait(IDLE_SECONDS)  # with a timeout, so that Ctrl-C is handled
            self.lane_ended.clear()

    def run_lane(self, lane: int) -> None:
        """Gather, evaluate and apply until every game has ended; the body of a lane's thread."""
        with self.lock:
            self.begun += 1
        try:
            self.prepare()
            rows = self.pool.lane_rows
            buffers = [None if isinstance(each, str) else each.lane(rows) for each in self.evaluators]
            while not self.stopping() and not self.failures:
                seen = self.pool.event_count
                busy = [self._run_batch(lane, index, buffers[index]) for index in self._order()]
                if any(busy):
                    continue
                if self.pool.done():
                    return
                if self.pool.idle():  # every game is in flight, or waits for a move of an external player
                    self.pool.wait_for_event(seen, IDLE_SECONDS)
        except BaseException as error:
            self.failures.append(error)
        finally:
            with self.lock:
                self.ended += 1
            self.lane_ended.set()

    def _order(self) -> list[int]:
        """Return the evaluators to run now: all native ones, and of several nets the one with the most waiting games.

        Its batch is the largest, and those of the others grow meanwhile.
        """
        if len(self.nets) < 2:
            return [*self.natives, *self.nets]
        return [*self.natives, max(self.nets, key=self.pool.games_to_evaluate().__getitem__)]

    def _run_batch(self, lane: int, index: int, buffers: EvaluatorLane | None) -> bool:
        """Run one batch for the evaluator of this number; return whether there was one."""
        pool, evaluator = self.pool, self.evaluators[index]
        asked = time.perf_counter()
        leaves = buffers.gather(pool, index) if buffers else pool.gather(index)
        began, gathered = asked + Pool.seconds_waited(), time.perf_counter()
        if not leaves.size:
            return False
        if buffers is None:
            assert isinstance(evaluator, str)
            pool.apply_native(leaves.ticket, evaluator)
            with self.lock:
                self.tell(leaves.size)
            return True
        priors, wdl, _ = buffers.evaluate(leaves)
        answered = time.perf_counter()
        pool.apply(leaves.ticket, priors, wdl)
        applying, applied = answered + Pool.seconds_waited(), time.perf_counter()
        with self.lock:
            self.tell(leaves.size)
        if self.watch is not None:
            times = (asked, began, gathered, answered, applying, applied)
            self.watch(BatchTiming(lane, leaves.size, *times, buffers))
        return True
