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
"""Longest sleep of a lane while all games wait for answers or for moves from outside."""


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
    sleeps: all games wait for answers or for moves from outside (`Pool.play`), or a small batch waits to grow.
    """
    if len(evaluators) < pool.evaluators:
        raise EvaluatorError(f"{pool.evaluators} evaluators are asked for, not {len(evaluators)}")
    evaluators = evaluators[: pool.evaluators] or NATIVE[:1]  # never asked, but gathering leaves advances the games
    natives = [index for index, each in enumerate(evaluators) if isinstance(each, str)]
    nets = [index for index, each in enumerate(evaluators) if not isinstance(each, str)]
    lock = threading.Lock()  # for the pool, whose calls are short; not for the evaluators
    failures: list[BaseException] = []

    def work(lane: int) -> None:
        try:
            prepare()
            own_lanes = [None if isinstance(each, str) else each.lane(pool.lane_rows) for each in evaluators]
            while not stopping() and not failures:
                busy, news = False, pool.news
                # Of several nets, the one with the most waiting games: its batch is the largest, and those of the
                # others grow meanwhile.
                waiting = pool.waiting() if len(nets) > 1 else []
                for index in [*natives, max(nets, key=waiting.__getitem__)] if waiting else [*natives, *nets]:
                    evaluator, own = evaluators[index], own_lanes[index]
                    asked = time.perf_counter()
                    with lock:
                        began = time.perf_counter()
                        leaves = own.gather(pool, index) if own else pool.gather(index)
                    gathered = time.perf_counter()
                    if not leaves.size:
                        continue
                    busy = True
                    if own is None:
                        assert isinstance(evaluator, str)
                        with lock:
                            pool.apply_native(leaves.ticket, evaluator)
                            tell(leaves.size)
                        continue
                    priors, wdl, _ = own.evaluate(leaves)
                    answered = time.perf_counter()
                    with lock:
                        applying = time.perf_counter()
                        pool.apply(leaves.ticket, priors, wdl)
                        applied = time.perf_counter()
                        tell(leaves.size)
                    if watch is not None:
                        watch(BatchTiming(lane, leaves.size, asked, began, gathered, answered, applying, applied, own))
                if not busy:
                    if pool.done():
                        return
                    if pool.idle():  # every game is in flight, or waits for a move from outside
                        pool.wait(news, IDLE_SECONDS)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(lane,), daemon=True) for lane in range(lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():  # with a timeout, so that Ctrl-C is handled
            thread.join(0.2)
    if failures:
        raise failures[0]
