"""The ceiling of self-play and matches: an evaluator alone, with full batches always ready and no search behind it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from selfmate._core import Pool, SearchConfig, SelfPlayConfig
from selfmate.evaluator.base import Evaluator

__all__ = ["EvaluatorSpeed", "ceiling"]


class EvaluatorSpeed(NamedTuple):
    """Evaluations per second of the clock, and per second of processor time, which other programs do not take away."""

    wall: float
    processor: float


def ceiling(
    evaluator: Evaluator, rows: int, lanes: int, *, seconds: float, prepare: Callable[[], None] = lambda: None
) -> EvaluatorSpeed:
    """Measure an evaluator on full batches of `rows` leaves in `lanes` threads, all transfers included.

    `prepare` is called once in each thread, as by `drive`.
    """
    counts = [0] * lanes
    ready, over = threading.Barrier(lanes + 1), threading.Event()
    failures: list[BaseException] = []

    def work(lane: int) -> None:
        try:
            prepare()
            pool = Pool(
                evaluator.variant,
                SearchConfig(),
                SelfPlayConfig(visits=64, full_probability=1, random_plies=16, temperature=0),
                seed=1,
                slots=rows,
                threads=1,
                encoding=evaluator.encoding,
            )
            pool.start(0, rows)
            buffer = evaluator.lane(rows)
            held = buffer.gather(pool, 0)
            buffer.evaluate(held)
            ready.wait()
            while not over.is_set():
                buffer.evaluate(held)
                counts[lane] += rows
        except BaseException as error:
            failures.append(error)
            ready.abort()

    threads = [threading.Thread(target=work, args=(lane,), daemon=True) for lane in range(lanes)]
    for thread in threads:
        thread.start()
    try:
        ready.wait()
        before, began, processor = sum(counts), time.perf_counter(), time.process_time()
        time.sleep(seconds)
        done = sum(counts) - before
        speed = EvaluatorSpeed(done / (time.perf_counter() - began), done / (time.process_time() - processor))
    except threading.BrokenBarrierError:
        raise failures[0] from None
    over.set()
    for thread in threads:
        thread.join()
    return speed
