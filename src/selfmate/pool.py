"""Driving a pool: the searches and games of a recipe, and the lanes that bring leaves to evaluators and answers back.

    Pool.gather → Evaluator → Pool.apply

Everybody who plays many games at once comes through here: self-play, the gate, the arena, the benches.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from selfmate._core import Pool, SearchConfig
from selfmate.evaluator import Desk, Evaluator
from selfmate.recipe import Recipe, SearchPart, at

__all__ = ["Turn", "drive", "search_config", "selfplay_pool"]


def search_config(part: SearchPart, cycle: int, *, noise: bool) -> SearchConfig:
    """Make the native search of a recipe at a cycle."""
    return SearchConfig(
        gumbel=part.gumbel,
        considered=at(part.considered, cycle),
        gumbel_scale=at(part.gumbel_scale, cycle) if noise else 0.0,
        cpuct=at(part.cpuct, cycle),
        fpu_reduction=at(part.fpu_reduction, cycle),
        noise_alpha=at(part.noise_alpha, cycle),
        noise_epsilon=at(part.noise_epsilon, cycle) if noise else 0.0,
        draw_score=at(part.draw_score, cycle),
    )


def selfplay_pool(recipe: Recipe, cycle: int, *, seed: int, lanes: int, threads: int) -> Pool:
    """Make the pool of a recipe at a cycle; who plays are the games that are started in it."""
    part = recipe.selfplay
    return Pool(
        recipe.variant.name,
        search_config(recipe.search, cycle, noise=True),
        seed=seed,
        visits=at(part.visits, cycle),
        fast_visits=at(part.fast_visits, cycle),
        full_probability=at(part.full_probability, cycle),
        random_plies=at(part.random_plies, cycle),
        temperature=at(part.temperature, cycle),
        temperature_plies=at(part.temperature_plies, cycle),
        max_plies=at(part.max_plies, cycle),
        slots=part.slots,
        lanes=lanes,
        threads=threads,
        leaves_per_slot=part.leaves,
    )


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
    desk: Desk


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

    `prepare` is called once in each thread; `tell` hears how many leaves were evaluated, and may drain the pool;
    `watch` hears when everything happened.

    A thread for each lane, and each evaluator on one thread of its own: threads inside one small evaluation would
    wait for each other longer than they work, above all when other programs want the processor too. Which thread
    comes first changes no game.
    """
    lock = threading.Lock()  # around the pool, which is quick; not around the evaluators
    failures: list[BaseException] = []

    def work(lane: int) -> None:
        try:
            prepare()
            desks = [None if isinstance(each, str) else each.desk(pool.lane_rows) for each in evaluators]
            while not stopping() and not failures:
                busy = False
                for index, (evaluator, desk) in enumerate(zip(evaluators, desks, strict=True)):
                    asked = time.perf_counter()
                    with lock:
                        began = time.perf_counter()
                        leaves = desk.gather(pool, lane, index) if desk else pool.gather(lane, index)
                    gathered = time.perf_counter()
                    if not leaves.size:
                        continue
                    busy = True
                    if desk is None:
                        assert isinstance(evaluator, str)
                        with lock:
                            pool.apply_native(leaves.ticket, evaluator)
                            tell(leaves.size)
                        continue
                    priors, wdl, _ = desk.evaluate(leaves)
                    answered = time.perf_counter()
                    with lock:
                        applying = time.perf_counter()
                        pool.apply(leaves.ticket, priors, wdl)
                        applied = time.perf_counter()
                        tell(leaves.size)
                    if watch is not None:
                        watch(Turn(lane, leaves.size, asked, began, gathered, answered, applying, applied, desk))
                if not busy:
                    if pool.done():
                        return
                    time.sleep(0.0005)  # the games that are left are in another lane
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
