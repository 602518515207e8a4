"""The truth about a lake, by dynamic programming over its exact model: what the best policies reach.

Two different things are called best. The policy that most often reaches the goal within the step limit may depend on
the moves that are left; the policy with the largest discounted return is what Q-learning and DQN look for, and it
reaches the goal less often.

>>> from selfmate.lab.frozenlake.lake import SMALL_MAP, Lake
>>> truth = find_truth(Lake(SMALL_MAP, slippery=False, step_limit=100), 0.99)
>>> truth.best_chance, truth.chance_of_best_return, truth.moves_of_best_return
(1.0, 1.0, 6.0)
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfmate.lab.frozenlake.lake import ACTIONS, Lake

__all__ = [
    "Policy",
    "PolicyEvaluation",
    "Truth",
    "best_chances",
    "best_values",
    "evaluate_policy",
    "find_truth",
    "greedy",
    "one_hot",
]

Policy = NDArray[np.float64]
"""float64[S, 4]: the probability of each action on each square."""

TOLERANCE: Final = 1e-10
"""Largest change of a value at which value iteration ends."""
ROUNDS: Final = 10_000
"""Rounds of value iteration before the values of a policy are solved for; on the seed's map it takes 765."""


class Truth(NamedTuple):
    """What can be reached on a lake; chances from 0 to 1."""

    best_chance: float
    """Largest chance to reach the goal within the step limit, by a policy that may depend on the moves left."""
    chance_of_best_return: float
    """Chance of the policy with the largest discounted return, within the step limit."""
    moves_of_best_return: float
    """Its moves when it reaches the goal, on average."""
    best_return: float
    """Its discounted return, without a step limit."""
    policy: NDArray[np.int8]
    """int8[S]: its action on each square."""


class PolicyEvaluation(NamedTuple):
    """What a policy is worth, exactly."""

    chance: float
    """To reach the goal within the step limit."""
    moves: float
    """Average number of moves of the episodes that reach it; nan if none does."""


def best_chances(lake: Lake, steps: int) -> NDArray[np.float64]:
    """Return the largest chance to reach the goal from every square within `steps` moves, float64[S]."""
    table = lake.arrays
    chances = np.zeros(lake.states)
    chances[lake.goal] = 1.0
    over = lake.is_over
    for _ in range(steps):
        of_actions = (table.probabilities * chances[table.next]).sum(2)
        chances = np.where(over, chances, of_actions.max(1))
    return chances


def best_values(lake: Lake, gamma: float) -> NDArray[np.float64]:
    """Return the best discounted return after each action on each square, float64[S, 4], by value iteration.

    Where gamma is near 1 and staying pays, values would rise for millions of rounds. So after many rounds the values
    of the greedy policy are solved for, and if the rounds after that do not change it, it is the best one.
    """
    table = lake.arrays
    going_on = table.probabilities * ~table.ends
    reward = (table.probabilities * table.rewards).sum(2)
    values: NDArray[np.float64] = np.zeros((lake.states, len(ACTIONS)))
    solved: NDArray[np.int8] | None = None
    while True:
        for _ in range(ROUNDS):
            updated: NDArray[np.float64] = reward + gamma * (going_on * values.max(1)[table.next]).sum(2)
            change = float(np.abs(updated - values).max())
            values = updated
            if change < TOLERANCE:
                return values
        policy = greedy(values)
        if solved is not None and (policy == solved).all():
            return values
        solved = policy
        values = np.repeat(_policy_values(lake, policy, gamma)[:, None], len(ACTIONS), axis=1)


def _policy_values(lake: Lake, policy: NDArray[np.int8], gamma: float) -> NDArray[np.float64]:
    """Return the discounted return of a policy from every square, float64[S]: V = r + gamma P V."""
    table, squares = lake.arrays, np.arange(lake.states)
    chances = table.probabilities[squares, policy]
    matrix = np.eye(lake.states)
    after, going_on = table.next[squares, policy], gamma * chances * ~table.ends[squares, policy]
    np.add.at(matrix, (np.repeat(squares, after.shape[1]), after.ravel()), -going_on.ravel())
    found: NDArray[np.float64] = np.linalg.solve(matrix, (chances * table.rewards[squares, policy]).sum(1))
    return found


def greedy(values: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return the action of the largest value on each square, int8[S]; the first among equals."""
    # Values that differ by rounding only are equal: which one is first must not depend on the order of sums.
    best = values.max(1, keepdims=True)
    is_best = values >= best - 1e-9 * np.maximum(1.0, np.abs(best))
    return np.asarray(is_best.argmax(1), np.int8)


def one_hot(actions: NDArray[np.int8]) -> Policy:
    """Return the policy that takes one action on each square."""
    return np.eye(len(ACTIONS))[actions]


def evaluate_policy(lake: Lake, policy: Policy) -> PolicyEvaluation:
    """Follow the probabilities of all squares from the start for `step_limit` moves."""
    table = lake.arrays
    # Outcome by outcome: a matrix of all pairs of squares would have 134 MB on the largest lake.
    weights = policy[:, :, None] * table.probabilities
    weights[lake.is_over] = 0.0
    after = table.next.ravel()
    at = np.zeros(lake.states)
    at[lake.start] = 1.0
    arrived, weighted = 0.0, 0.0
    for step in range(1, lake.step_limit + 1):
        at = np.asarray(np.bincount(after, (at[:, None, None] * weights).ravel(), lake.states), np.float64)
        arrived += at[lake.goal]
        weighted += step * at[lake.goal]
    return PolicyEvaluation(float(arrived), float(weighted / arrived) if arrived else float("nan"))


def find_truth(lake: Lake, gamma: float) -> Truth:
    """Return what can be reached on a lake with this discount."""
    values = best_values(lake, gamma)
    policy = greedy(values)
    best = evaluate_policy(lake, one_hot(policy))
    return Truth(
        best_chance=float(best_chances(lake, lake.step_limit)[lake.start]),
        chance_of_best_return=best.chance,
        moves_of_best_return=best.moves,
        best_return=float(values[lake.start].max()),
        policy=policy,
    )
