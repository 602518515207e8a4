"""Sizes of batches and pools: measured speeds of an evaluator, and memory for trees."""

from __future__ import annotations

import time
from typing import Final

from selfmate._core import EDGE_BYTES, NODE_BYTES, Pool, SearchConfig, SelfPlayConfig
from selfmate.errors import DeviceError, EvaluatorError
from selfmate.evaluator.base import Evaluator
from selfmate.util.memory import memory_bytes

__all__ = ["GPU_LANES", "best_batch", "is_on_gpu", "room_for_trees", "tree_bytes", "with_spare"]

BATCHES: Final = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
NEARLY: Final = 0.9
"""Share of the highest speed that counts as nearly as fast."""
BATCH_SECONDS: Final = 0.1
"""Time in which the speed of one batch size is measured."""
LONGEST_BATCH: Final = 0.1
"""Seconds of a batch beyond which no larger one is tried."""
MEMORY_SHARE: Final = 0.5
"""Share of the machine's memory that trees may take."""
MOVES_PER_NODE: Final = 40
"""Legal moves of a position in a tree, rounded up: chess has 35 on average, the other variants fewer."""
CACHE_ENTRY_BYTES: Final = 48
"""Of a cached evaluation without its priors: key, place, win, draw, loss, and its share of the table."""
GPU_LANES: Final = 4
"""Batches in turn on a GPU: one is computed, the others are gathered, copied or applied. Three suffice for fast
processors; slower ones leave the GPU waiting now and then (docs/results/gpu.md)."""
SPARE_SHARE: Final = 2
"""One spare game for this many: some games have few leaves, and a third of the leaves are in the pool's caches."""


def is_on_gpu(evaluator: Evaluator) -> bool:
    """Return whether an evaluator computes on a GPU."""
    return "cuda" in evaluator.name


def with_spare(slots: int) -> int:
    """Return the number of games that fills `slots` leaves, with spare ones: not every game has a leaf each time.

    >>> with_spare(4096)
    6144
    """
    return slots + slots // SPARE_SHARE


def best_batch(evaluator: Evaluator, most: int = BATCHES[-1]) -> tuple[int, dict[int, float]]:
    """Return the smallest batch, up to about `most` leaves, in which an evaluator is nearly as fast as it gets.

    The second value is the speed, in evaluations per second, of every batch that was tried.
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


def tree_bytes(visits: int) -> int:
    """Return the size of the tree of a search with this many visits, and of the evaluations that its pool caches.

    Each visit adds a node with its edges, and an evaluation to the caches of this search and of the one before.

    >>> 1000 < tree_bytes(1) < 2000, tree_bytes(50) == 50 * tree_bytes(1)
    (True, True)
    """
    cached = CACHE_ENTRY_BYTES + 4 * MOVES_PER_NODE
    return visits * (NODE_BYTES + MOVES_PER_NODE * EDGE_BYTES + 2 * cached)


def room_for_trees(visits: int) -> int:
    """Return the number of trees of this many visits that fit into `MEMORY_SHARE` of the memory."""
    return int(MEMORY_SHARE * memory_bytes() / tree_bytes(visits))


def _batch_speed(evaluator: Evaluator, rows: int) -> float | None:
    """Return the evaluations per second of a batch size; None if the batch exceeds the memory of the device."""
    pool = Pool(
        evaluator.variant,
        SearchConfig(),
        SelfPlayConfig(visits=2, full_probability=1, random_plies=8, temperature=0),
        seed=1,
        slots=rows,
        threads=1,
        encoding=evaluator.encoding,
    )
    pool.start(0, rows)
    try:
        lane = evaluator.lane(rows, compiled=False)
        leaves = lane.gather(pool, 0)
        lane.evaluate(leaves)
        began, done = time.perf_counter(), 0
        while not done or time.perf_counter() - began < BATCH_SECONDS:
            lane.evaluate(leaves)
            done += leaves.size
    except DeviceError:
        return None
    return done / (time.perf_counter() - began)
