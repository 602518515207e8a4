"""How many leaves of a batch are in it twice? What removing them (seed 002, 7.3) would save at most.

    python bench/duplicates.py gardner-laptop gardner-laptop --slots 128 --seconds 30
    python bench/duplicates.py chess chess-gpu --slots 512 --seconds 90

Games of a recipe are played with a shipped net. Prints the share of leaves whose position an earlier row of the same
batch has too, with the evaluations that games remember (`selfplay.cache`) and without. All games begin at once: in a
run that has gone on for a while fewer of them are in their openings.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from selfmate.evaluator.base import Evaluation, Evaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.recipe.reader import change, load
from selfmate.search.driver import drive, one_thread
from selfmate.search.spec import find_net
from selfmate.train.selfplay import Concurrency, selfplay_pool


class Counter(Evaluator):
    """Passes leaves on, and counts those that are in their batch before."""

    def __init__(self, inner: Evaluator) -> None:
        self.inner = inner
        self.name, self.net_id, self.variant = inner.name, inner.net_id, inner.variant
        self.leaves: list[int] = []
        self.unique: list[int] = []

    def evaluate(self, leaves: Any) -> Evaluation:
        self.leaves.append(leaves.size)
        self.unique.append(len(np.unique(leaves.keys)))
        return self.inner.evaluate(leaves)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("net")
    parser.add_argument("--slots", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--set", action="append", default=[])
    given = parser.parse_args()
    for cache in (True, False):
        recipe = change(load(given.recipe), [*given.set, f"selfplay.cache={str(cache).lower()}"])
        counter = Counter(open_evaluator(find_net(given.net), device="cpu", threads=1))
        where = Concurrency(given.slots, 0, "")
        pool = selfplay_pool(recipe, 0, seed=1, concurrency=where, lanes=2, threads=1)
        pool.start(0, 1 << 20)
        end = time.monotonic() + given.seconds

        def stopping(end: float = end) -> bool:
            return time.monotonic() > end

        drive(pool, [counter], lanes=2, stopping=stopping, prepare=one_thread)
        half = len(counter.leaves) // 2  # the first half has all games in their openings
        leaves, unique = sum(counter.leaves[half:]), sum(counter.unique[half:])
        first = 1 - sum(counter.unique[:half]) / max(1, sum(counter.leaves[:half]))
        size = leaves / max(1, len(counter.leaves) - half)
        print(
            f"{given.recipe}, {given.slots} games, cache {'on' if cache else 'off'}: {len(counter.leaves):,} batches "
            f"of {size:.0f}, {len(pool.drain()):,} games ended: duplicates {first:.2%} in the first half, "
            f"{1 - unique / max(1, leaves):.2%} in the second",
            flush=True,
        )


if __name__ == "__main__":
    main()
