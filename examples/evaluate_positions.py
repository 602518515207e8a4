"""Evaluations of positions by a net, without a search and with one.

    python examples/evaluate_positions.py
    python examples/evaluate_positions.py runs/first --visits 400

The net is a player's spec: a run, a folder, or a name that `selfmate nets` lists.
"""

from __future__ import annotations

import argparse

from selfmate import Limit, Player, Position, evaluate, play_config


def main() -> None:
    """Play four moves of the net with itself, and print the evaluation before and after each search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("net", nargs="?", default="gardner-laptop")
    parser.add_argument("--visits", type=int, default=200)
    options = parser.parse_args()

    player = Player(options.net)
    position = Position(player.variant or "chess")
    positions = []
    for _ in range(4):
        positions.append(position.copy())
        position.push(player.search(position, Limit(visits=options.visits)).best)

    config = play_config().replace(cpuct=2.0)
    print(f"{'position':40} {'prior of':>8} {'value':>7}   {'searched':>8} {'value':>7}")
    for each, found in zip(positions, evaluate(player, positions), strict=True):
        result = player.search(each, Limit(visits=options.visits), config=config)
        print(
            f"{each.epd():40} {each.san(found.best):>8} {found.value:+7.3f}   "
            f"{each.san(result.best):>8} {result.value:+7.3f}"
        )


if __name__ == "__main__":
    main()
