"""A thousand games of atomic chess at once: how often does each side win when both play at random?

python examples/random_rollouts.py
python examples/random_rollouts.py antichess --steps 500
"""

from __future__ import annotations

import argparse

import numpy as np

from selfmate.envs import BatchedGames


def main() -> None:
    """Step all games with random legal actions, and count their results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", nargs="?", default="atomic")
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()

    games = BatchedGames(options.variant, options.games, seed=1, max_plies=300)
    white = black = draws = truncated = 0
    for _ in range(options.steps):
        movers = games.turns
        step = games.step(games.random_actions())
        # A reward is that of the side that moved.
        won = np.where(movers, step.rewards, -step.rewards)
        white += int((won > 0).sum())
        black += int((won < 0).sum())
        draws += int((step.terminated & (step.rewards == 0)).sum())
        truncated += int(step.truncated.sum())
    print(f"{options.variant}: White won {white}, Black {black}, {draws} drawn, {truncated} truncated")


if __name__ == "__main__":
    main()
