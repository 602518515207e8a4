"""What an agent is worth: the exact chance of its policy, and test episodes as the seed ran them, with their interval.

>>> [round(100 * end) for end in wilson(69, 100)]
[59, 77]
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from selfmate.lab.frozenlake.lake import Lake
from selfmate.lab.frozenlake.truth import Policy, evaluate_policy

__all__ = ["LakeScore", "score", "simulate", "wilson"]


class LakeScore(NamedTuple):
    """The worth of a policy on a lake."""

    chance: float
    """Exact chance to reach the goal within the step limit."""
    moves: float | None
    """Average moves of the episodes that reach it, exactly; None if none does."""
    tested: int
    """Test episodes of which `reached` came to the goal."""
    reached: int

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return self._asdict()


def score(lake: Lake, policy: Policy, episodes: int, seed: int) -> LakeScore:
    """Evaluate a policy exactly, and beside it in test episodes."""
    exact = evaluate_policy(lake, policy)
    moves = None if math.isnan(exact.moves) else exact.moves
    return LakeScore(exact.chance, moves, episodes, simulate(lake, policy, episodes, seed))


def simulate(lake: Lake, policy: Policy, episodes: int, seed: int) -> int:
    """Play episodes, drawing each action from the policy; return how many reach the goal."""
    draw = np.random.default_rng(seed)
    below = np.cumsum(policy, axis=1)
    below[:, -1] = 1.0
    episode = lake.episode(seed)
    reached = 0
    for _ in range(episodes):
        state = episode.reset()
        is_over = is_cut = False
        while not (is_over or is_cut):
            action = int(np.searchsorted(below[state], draw.random(), side="right"))
            state, _, is_over, is_cut = episode.step(action)
        reached += state == lake.goal
    return reached


def wilson(successes: int, trials: int, z: float = 1.959964) -> tuple[float, float]:
    """Return the ends of the 95 % interval of a share (Wilson 1927)."""
    share = successes / trials
    middle = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2))
    scale = 1 + z * z / trials
    return (middle - spread) / scale, (middle + spread) / scale
