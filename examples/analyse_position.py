"""Search a position and print its best moves: `python examples/analyse_position.py gardner-laptop gardner 400`."""

from __future__ import annotations

import sys

from selfmate import Limit, Player, Position


def main(player: str = "gardner-laptop", variant: str = "gardner", visits: str = "200", fen: str | None = None) -> None:
    """Print the five best moves with visits, value for the side to move, and the expected line."""
    position = Position(variant, fen)
    result = Player(player).search(position, Limit(visits=int(visits)))
    win, draw, loss = result.wdl
    print(f"{position.fen()}: win {win:.0%}, draw {draw:.0%}, loss {loss:.0%} after {result.visits} visits")
    for found in result.moves[:5]:
        line = Position(position)
        sans = []
        for move in found.pv:
            sans.append(line.san(move))
            line.play(move)
        print(f"{position.san(found.move):8} {found.visits:6} visits  value {found.value:+.2f}  {' '.join(sans)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
