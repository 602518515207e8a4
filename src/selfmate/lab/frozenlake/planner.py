"""The planner: the fast search from every square, as a policy.

A search draws random numbers, so that the same square may give another action the next time. The planner searches
several times from every square and counts the best actions, or adds up the visits of all actions: that mixture is its
policy, and `truth.evaluate_policy` says exactly what it is worth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfmate._core import LakeSearch
from selfmate.lab.frozenlake.lake import ACTIONS, Lake
from selfmate.lab.frozenlake.mcts import RANDOM_ACTION
from selfmate.lab.frozenlake.truth import Policy

__all__ = ["MctsSettings", "make_search", "plan"]


class MctsSettings(NamedTuple):
    """What the search may choose; the defaults are the seed's."""

    simulations: int = 5000
    c: float = 1.0
    gamma: float = 0.99
    rollout_steps: int = 50
    repeats: int = 20
    choose: str = "value"
    """What acts: the action with the highest value, or (visits) each action in proportion to its visits."""


def make_search(
    lake: Lake,
    settings: MctsSettings,
    rollout: NDArray[np.int8] | None = None,
    leaf_values: NDArray[np.float64] | None = None,
) -> LakeSearch:
    """Return a search whose roll-outs follow a policy int8[S], or random actions without one."""
    table = lake.arrays
    return LakeSearch(
        table.next, table.bounds, table.rewards, table.ends,
        policy=np.full(lake.states, RANDOM_ACTION, np.int8) if rollout is None else rollout,
        leaf_values=np.zeros(lake.states) if leaf_values is None else leaf_values,
        c=settings.c, gamma=settings.gamma, rollout_steps=settings.rollout_steps,
    )  # fmt: skip


def plan(
    lake: Lake,
    settings: MctsSettings,
    seed: int,
    rollout: NDArray[np.int8] | None = None,
    leaf_values: NDArray[np.float64] | None = None,
) -> Policy:
    """Search `repeats` times from every square that can be reached; return the shares of the actions."""
    squares = np.flatnonzero(reachable(lake))
    counts = make_search(lake, settings, rollout, leaf_values).plan(
        squares.tolist(), settings.simulations, settings.repeats, seed, by_visits=settings.choose == "visits"
    )
    policy = np.full((lake.states, len(ACTIONS)), 1.0 / len(ACTIONS))
    policy[squares] = counts / counts.sum(1, keepdims=True)
    return policy


def reachable(lake: Lake) -> NDArray[np.bool_]:
    """Return bool[S]: the squares on which an episode that began at the start may go on."""
    table = lake.arrays
    found = np.zeros(lake.states, bool)
    found[lake.start] = True
    while True:
        outcomes = (table.probabilities > 0) & found[:, None, None]
        more = found.copy()
        more[table.next[outcomes]] = True
        more &= ~lake.is_over
        if (more == found).all():
            return found
        found = more
