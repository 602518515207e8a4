"""Many episodes on a lake at once, drawn from Gymnasium's table: an independent check of exact chances.

    python tests/helpers/lake_simulation.py --episodes 1000000

compares the exact chance of the best policy by return, and of the best one within the step limit, with simulated
episodes on the seed's map and four others.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from selfmate.lab.frozenlake.lake import Lake, generate_map
from selfmate.lab.frozenlake.truth import Policy, find_truth, one_hot

__all__ = ["best_by_steps_left", "reached_of"]

CHUNK = 50_000
"""Episodes that are simulated at once; more do not stay in the cache."""


def reached_of(lake: Lake, policy: Policy | NDArray[np.float64], episodes: int, seed: int) -> int:
    """Return how many of these episodes reach the goal; `policy` is [S, 4], or [steps, S, 4] by the moves made."""
    draw = np.random.default_rng(seed)
    tables = [_outcomes(lake, each) for each in (policy if policy.ndim == 3 else policy[None])]
    over = np.array([tile in "GH" for tile in lake.tiles])
    reached = 0
    for first in range(0, episodes, CHUNK):
        state = np.full(min(CHUNK, episodes - first), lake.start)
        for step in range(lake.step_limit):
            below, after = tables[step % len(tables)]
            drawn = draw.random(len(state))
            outcome = np.zeros(len(state), np.int64)
            for column in below:
                outcome += drawn >= column[state]
            state = after[state, outcome]
            reached += int(np.count_nonzero(state == lake.goal))
            state = state[~over[state]]
    return reached


def _outcomes(lake: Lake, policy: Policy) -> tuple[list[NDArray[np.float64]], NDArray[np.int64]]:
    """Return what may follow on each square: bounds of a number from 0 to 1 between outcomes, and squares [S, K]."""
    found: list[list[tuple[float, int]]] = [
        [(policy[s, a] * t[0], t[1]) for a in range(4) if policy[s, a] > 0 for t in lake.env.P[s][a] if t[0] > 0]
        for s in range(lake.states)
    ]
    most = max(map(len, found))
    after = np.array([[square for _, square in row] + [0] * (most - len(row)) for row in found])
    # The sum of a row is 1 but for rounding: nothing is drawn beyond its last outcome.
    sums = np.array([[*np.cumsum([p for p, _ in row])[:-1], *[2.0] * (most - len(row))] for row in found])
    return [np.ascontiguousarray(column) for column in sums.T], after


def best_by_steps_left(lake: Lake) -> NDArray[np.float64]:
    """Return the policy with the largest chance, float64[steps, S, 4] by the moves made; computed backwards."""
    over = np.array([tile in "GH" for tile in lake.tiles])
    chance = np.array([float(tile == "G") for tile in lake.tiles])
    found = []
    for _ in range(lake.step_limit):
        of_actions = np.array(
            [[sum(t[0] * chance[t[1]] for t in lake.env.P[s][a]) for a in range(4)] for s in range(lake.states)]
        )
        found.append(np.eye(4)[of_actions.argmax(1)])
        chance = np.where(over, chance, of_actions.max(1))
    return np.array(found[::-1])


def main() -> None:
    """Print exact and simulated chances of five maps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=1_000_000)
    episodes = parser.parse_args().episodes
    print("| map | steps | largest chance | simulated | best by return | simulated |\n|---|---|---|---|---|---|")
    for size, seed, steps in ((8, 48, 200), (8, 48, 100), (8, 49, 200), (8, 50, 200), (4, 1, 100), (12, 3, 300)):
        lake = Lake(generate_map(size, seed), step_limit=steps)
        truth = find_truth(lake, 0.99)
        largest = reached_of(lake, best_by_steps_left(lake), episodes, 1) / episodes
        by_return = reached_of(lake, one_hot(truth.policy), episodes, 2) / episodes
        cells = (truth.best_chance, largest, truth.chance_of_best_return, by_return)
        print(
            f"| {size}x{size}, seed {seed} | {steps} | {' | '.join(f'{100 * cell:.2f}' for cell in cells)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
