"""Driving a pool: the searches and games of a recipe, and the lanes that bring leaves to evaluators and answers back.

    Pool.gather → Evaluator → Pool.apply

Everybody who plays many games at once comes through here: self-play, the gate, the arena, the benches.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from selfmate._core import Pool, SearchConfig
from selfmate.errors import DeviceError
from selfmate.evaluator import NATIVE, Desk, Evaluator, EvaluatorError
from selfmate.recipe import Recipe, SearchPart, at
from selfmate.words import many

__all__ = [
    "GPU_LANES",
    "AtOnce",
    "Turn",
    "best_batch",
    "choose_at_once",
    "drive",
    "is_on_gpu",
    "one_thread",
    "paired",
    "room_for_trees",
    "search_config",
    "selfplay_pool",
    "with_spare",
]

BATCHES: Final = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
NEARLY: Final = 0.9
BATCH_SECONDS: Final = 0.1
LONGEST_BATCH: Final = 0.1
"""Seconds of a batch beyond which no larger one is tried."""
MEMORY_SHARE: Final = 0.5
VISIT_BYTES: Final = 2000
"""Memory that a visit of a search takes at most: a node and its edges."""
GPU_LANES: Final = 4
"""Batches in turn on a GPU: one is computed, the others are gathered, on their way, or applied. Three suffice for fast
processors; slower ones leave the GPU waiting now and then (docs/results/gpu.md)."""
SPARE_SHARE: Final = 8
"""One game in so many is there in case that others have few leaves."""
IDLE_SECONDS: Final = 0.1
"""How long a lane sleeps at a time while all games wait for answers or for moves from outside."""


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


class AtOnce(NamedTuple):
    """How many games are played at once."""

    slots: int
    batch: int
    """Leaves of them that are evaluated together at most; 0: those of all games, shared by the lanes."""
    why: str
    """A sentence that says why so many."""


def choose_at_once(recipe: Recipe, evaluator: Evaluator, lanes: int) -> AtOnce:
    """Choose how many games self-play has at once: the recipe's number, or what fits.

    What fits is measured: the smallest batch in which the evaluator is nearly as fast as it gets. More games at once
    than that only make each of them slower. Their trees must have room in memory.
    """
    part = recipe.selfplay
    if part.slots:
        return AtOnce(part.slots, 0, f"{many(part.slots, 'game')} at once, as the recipe says")
    rows, speeds = best_batch(evaluator)
    slots = max(lanes, lanes * rows // part.leaves)
    if is_on_gpu(evaluator):
        slots = with_spare(slots)
    room = room_for_trees(max(at(part.visits, 0), at(part.fast_visits, 0)))
    if slots > room:
        slots = max(lanes, room)
        return AtOnce(slots, 0, f"{many(slots, 'game')} at once: the trees of more would not fit into memory")
    why = f"{rows:,} leaves are evaluated at {speeds[rows]:,.0f}/s, more of them at {max(speeds.values()):,.0f}/s"
    return AtOnce(slots, rows, f"{many(slots, 'game')} at once in {many(lanes, 'lane')}: {why}")


def is_on_gpu(evaluator: Evaluator) -> bool:
    """Whether an evaluator computes on a GPU."""
    return "cuda" in evaluator.name


def with_spare(slots: int) -> int:
    """Give some games more than full batches need: not every game has all the leaves that it may have.

    >>> with_spare(4096)
    4608
    """
    return slots + slots // SPARE_SHARE


def best_batch(evaluator: Evaluator, most: int = BATCHES[-1]) -> tuple[int, dict[int, float]]:
    """Find the smallest batch in which an evaluator is nearly as fast as it gets, of about `most` leaves at most.

    Gives also the speed, in evaluations per second, of every batch that was tried.
    """
    speeds: dict[int, float] = {}
    for rows in BATCHES:
        if speeds and rows >= 2 * most:
            break
        speed = _batch_speed(evaluator, rows)
        if speed is None:
            break
        speeds[rows] = speed
        if rows / speed > LONGEST_BATCH:
            break
    if not speeds:
        raise EvaluatorError(f"the device has too little memory for {BATCHES[0]} leaves; a smaller net needs less")
    return next(rows for rows, speed in speeds.items() if speed >= NEARLY * max(speeds.values())), speeds


def room_for_trees(visits: int) -> int:
    """Say how many trees of so many visits a part of the memory holds."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(MEMORY_SHARE * memory / (visits * VISIT_BYTES))


def _batch_speed(evaluator: Evaluator, rows: int) -> float | None:
    """Measure evaluations per second of a batch; none where it does not fit into the device's memory."""
    pool = Pool(evaluator.variant, SearchConfig(), seed=1, visits=2, random_plies=8, slots=rows, threads=1)
    pool.start(0, rows)
    try:
        desk = evaluator.trial_desk(rows)
        leaves = desk.gather(pool, 0)
        desk.evaluate(leaves)
        began, done = time.perf_counter(), 0
        while not done or time.perf_counter() - began < BATCH_SECONDS:
            desk.evaluate(leaves)
            done += leaves.size
    except DeviceError:
        return None
    return done / (time.perf_counter() - began)


def selfplay_pool(recipe: Recipe, cycle: int, *, seed: int, at_once: AtOnce, lanes: int, threads: int) -> Pool:
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
        slots=at_once.slots,
        lanes=lanes,
        threads=threads,
        leaves_per_slot=part.leaves,
        batch=at_once.batch,
    )


def paired(openings: Sequence[str], first: int = 0, second: int = 1) -> list[tuple[str, int, int]]:
    """Give the games of a match between two seats: every opening twice, `first` with White and then with Black.

    >>> paired(["a", "b"])
    [('a', 0, 1), ('a', 1, 0), ('b', 0, 1), ('b', 1, 0)]
    """
    return [(opening, *colours) for opening in openings for colours in ((first, second), (second, first))]


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
            desks = [None if isinstance(each, str) else each.desk(pool.lane_rows) for each in evaluators]
            while not stopping() and not failures:
                busy, news = False, pool.news
                # The net that most games wait for: its batch is the largest, and the games of the others wait until
                # theirs are as large.
                waiting = pool.waiting() if len(nets) > 1 else []
                for index in [*natives, max(nets, key=waiting.__getitem__)] if waiting else [*natives, *nets]:
                    evaluator, desk = evaluators[index], desks[index]
                    asked = time.perf_counter()
                    with lock:
                        began = time.perf_counter()
                        leaves = desk.gather(pool, index) if desk else pool.gather(index)
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
