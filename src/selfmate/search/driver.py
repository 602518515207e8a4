"""Drives a pool: one thread per lane gathers leaves, evaluates them and applies the answers."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from selfmate._core import Pool
from selfmate.errors import EvaluatorError
from selfmate.evaluator.base import NATIVE, Evaluator, EvaluatorLane

__all__ = ["Turn", "drive", "one_thread"]


IDLE_SECONDS: Final = 0.1
"""How long a lane sleeps at a time while all games wait for answers or for moves from outside."""


def one_thread() -> None:
    """Keep torch, where it is used, to one thread in this one; each of our own threads has to say it anew."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


class Turn(NamedTuple):
    """One batch of one lane, and when (`time.perf_counter`) its steps began and ended."""

    lane: int
    leaves: int
    asked: float
    """For the pool, which other lanes use too."""
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
    watch: Callable[[Turn], None] | None = None,
) -> None:
    """Play the games of a pool to their end, a thread for each lane.

    `evaluators` are those that the seats name by number. `prepare` is called once in each thread; `tell` hears how many
    leaves were evaluated, and may drain the pool; `watch` hears when everything happened.

    A thread for each lane, and each evaluator on one thread of its own: threads inside one small evaluation would
    wait for each other longer than they work, above all when other programs want the processor too. Which thread
    comes first changes no game. A lane that finds no batch sleeps: all games wait for answers or for moves from
    outside (`Pool.play`), or a small batch waits to become a full one.
    """
    if len(evaluators) < pool.evaluators:
        raise EvaluatorError(f"{pool.evaluators} evaluators are asked for, not {len(evaluators)}")
    evaluators = evaluators[: pool.evaluators] or NATIVE[:1]  # nobody asks it, but games go on when leaves are gathered
    natives = [index for index, each in enumerate(evaluators) if isinstance(each, str)]
    nets = [index for index, each in enumerate(evaluators) if not isinstance(each, str)]
    lock = threading.Lock()  # around the pool, which is quick; not around the evaluators
    failures: list[BaseException] = []

    def work(lane: int) -> None:
        try:
            prepare()
            buffers = [None if isinstance(each, str) else each.lane(pool.lane_rows) for each in evaluators]
            while not stopping() and not failures:
                busy, news = False, pool.news
                # The net that most games wait for: its batch is the largest, and the games of the others wait until
                # theirs are as large.
                waiting = pool.waiting() if len(nets) > 1 else []
                for index in [*natives, max(nets, key=waiting.__getitem__)] if waiting else [*natives, *nets]:
                    evaluator, buffer = evaluators[index], buffers[index]
                    asked = time.perf_counter()
                    with lock:
                        began = time.perf_counter()
                        leaves = buffer.gather(pool, index) if buffer else pool.gather(index)
                    gathered = time.perf_counter()
                    if not leaves.size:
                        continue
                    busy = True
                    if buffer is None:
                        assert isinstance(evaluator, str)
                        with lock:
                            pool.apply_native(leaves.ticket, evaluator)
                            tell(leaves.size)
                        continue
                    priors, wdl, _ = buffer.evaluate(leaves)
                    answered = time.perf_counter()
                    with lock:
                        applying = time.perf_counter()
                        pool.apply(leaves.ticket, priors, wdl)
                        applied = time.perf_counter()
                        tell(leaves.size)
                    if watch is not None:
                        watch(Turn(lane, leaves.size, asked, began, gathered, answered, applying, applied, buffer))
                if not busy:
                    if pool.done():
                        return
                    if pool.idle():  # the games that are left are on their way, or wait for somebody outside
                        pool.wait(news, IDLE_SECONDS)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(lane,), daemon=True) for lane in range(lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():  # in small pieces, so that Ctrl-C is heard
            thread.join(0.2)
    if failures:
        raise failures[0]
