"""How often an agent that learns acts at random, and what it hands over while it learns."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Exploration", "Snapshot"]


class Exploration(NamedTuple):
    """ε = end + (start - end) e^(-t / decay), where t counts episodes or moves; the seed does not say which.

    >>> Exploration().epsilon(episodes=0, moves=0), round(Exploration(by="moves").epsilon(episodes=9, moves=500), 3)
    (0.8, 0.301)
    """

    start: float = 0.8
    end: float = 0.01
    decay: float = 500.0
    by: str = "episodes"

    def epsilon(self, *, episodes: int, moves: int) -> float:
        """Return the probability of a random action after so many episodes and moves."""
        count = episodes if self.by == "episodes" else moves
        return self.end + (self.start - self.end) * math.exp(-count / self.decay)


class Snapshot(NamedTuple):
    """What an agent has learned after a number of episodes."""

    episodes: int
    moves: int
    values: NDArray[np.float64]
    """float64[S, 4]: the return that it expects after each action on each square."""
    seconds: float
    """Since the learning began."""
    reached: int
    """Episodes so far that ended at the goal."""
