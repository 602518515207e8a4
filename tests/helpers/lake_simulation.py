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


def reached_of(lake: Lake, policy: Policy | NDArray[np.float64], episodes: int, seed: int) -> int:
    """Return how many of these episodes reach the goal; `policy` is [S, 4], or [steps, S, 4] by the moves made."""
    draw = np.random.default_rng(seed)
    # Transitions of Gymnasium as they are: three equal slots for the slips
    table = lake.env.P
    after = np.array([[[t[1] for t in (table[s][a] * 3)[:3]] for a in range(4)] for s in range(lake.states)])
    chance = np.array([[[t[0] for t in (table[s][a] * 3)[:3]] for a in range(4)] for s in range(lake.states)])
    below = np.cumsum(chance / chance.sum(2, keepdims=True), axis=2)
    over = np.array([tile in "GH" for tile in lake.tiles])
    state = np.full(episodes, lake.start)
    reached = 0
    for step in range(lake.step_limit):
        now = np.cumsum(policy if policy.ndim == 2 else policy[step], axis=1)
        action = (draw.random(len(state))[:, None] >= now[state][:, :3]).sum(1)
        outcome = (draw.random(len(state))[:, None] >= below[state, action][:, :2]).sum(1)
        state = after[state, action, outcome]
        reached += int((state == lake.goal).sum())
        state = state[~over[state]]
    return reached


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
