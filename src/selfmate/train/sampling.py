"""Which positions of the window a step learns from.

By default the buffer draws them itself, each position with the same chance. With `recency` newer positions are
preferred, and with `epochs` each position is drawn that many times in a cycle. Every draw is a function of the run's
seed, the step and the window, so that a run that was killed and resumed draws the same.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from selfmate._core import Buffer, Samples
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import LearnerPart
from selfmate.train.heads import heads_of
from selfmate.util.random_streams import stream

__all__ = ["Sampler", "draw_recent", "needs_endings", "pass_order"]

Numbers = npt.NDArray[np.int64]


class Sampler:
    """Samples the batches of one cycle, which began at step `first`; for one thread at a time."""

    def __init__(self, buffer: Buffer, part: LearnerPart, seed: int, cycle: int, first: int) -> None:
        self._buffer = buffer
        self._seed, self._cycle, self._first = seed, cycle, first
        self._size, self._mirror = at(part.batch, cycle), part.mirror
        self._recency, self._epochs = at(part.recency, cycle), at(part.epochs, cycle)
        self._endings, self._futures = needs_endings(part, cycle), needs_futures(part)
        self._order: tuple[int, Numbers] | None = None  # of the newest pass, by its number

    def sample(self, step: int) -> Samples:
        """Return the batch of a step."""
        seed = stream(self._seed, "batch", step)
        if self._epochs:
            numbers = self._in_passes(step - self._first)
        elif self._recency:
            numbers = draw_recent(
                self._buffer.positions, self._size, self._recency, stream(self._seed, "recency", step)
            )
        else:
            return self._buffer.sample(self._size, seed, self._mirror, self._endings, self._futures)
        return self._buffer.sample_at(numbers.tolist(), seed, self._mirror, self._endings, self._futures)

    def _in_passes(self, batch: int) -> Numbers:
        """Return the positions of a batch by its number in the cycle: the next ones of the passes over the window."""
        total = self._buffer.positions
        place, end, found = batch * self._size, (batch + 1) * self._size, []
        while place < end:
            number, begin = divmod(place, total)
            if self._order is None or self._order[0] != number:
                self._order = number, pass_order(total, stream(self._seed, "pass", self._cycle, number))
            found.append(self._order[1][begin : begin + end - place])
            place += len(found[-1])
        return np.concatenate(found)


def needs_endings(part: LearnerPart, cycle: int) -> bool:
    """Return whether targets depend on the final positions of games, which cost time to reach."""
    return bool(at(part.material_nudge, cycle) or at(part.shaping, cycle))


def needs_futures(part: LearnerPart) -> bool:
    """Return whether a head that only trains learns what happened later in games."""
    return bool({"reply", "ahead"} & set(heads_of(part)))


def draw_recent(positions: int, size: int, recency: float, seed: int) -> Numbers:
    """Return `size` numbers below `positions`, drawn with replacement, of which the newest are the most likely.

    A position that lies at share y of the window, 0 the oldest and 1 the newest, has the density (1 + r) · y^r, where r
    is `recency`: of r = 1, the newer half of the window has three quarters of the draws.

    >>> drawn = draw_recent(1000, 10_000, 1.0, seed=1)
    >>> round(float((drawn >= 500).mean()), 2)
    0.75
    """
    chance = np.random.default_rng(seed).random(size)
    drawn: Numbers = (positions * chance ** (1 / (1 + recency))).astype(np.int64)
    return np.minimum(drawn, positions - 1)


def pass_order(positions: int, seed: int) -> Numbers:
    """Return the numbers below `positions` in random order.

    >>> sorted(pass_order(5, seed=1).tolist())
    [0, 1, 2, 3, 4]
    """
    return np.random.default_rng(seed).permutation(positions)
