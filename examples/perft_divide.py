"""Count the positions of a variant to a depth, move by move: `python examples/perft_divide.py atomic 4`."""

from __future__ import annotations

import sys

from selfmate import Position


def count(position: Position, depth: int) -> int:
    """Return the number of legal move sequences of `depth` plies."""
    if depth == 0:
        return 1
    total = 0
    for move in position.legal_moves:
        position.play(move)
        total += count(position, depth - 1)
        position.undo()
    return total


def main(variant: str = "atomic", depth: str = "3") -> None:
    """Print the count below each move, and the sum, which the core computes a thousand times as fast."""
    position = Position(variant)
    total = 0
    for move in position.legal_moves:
        position.play(move)
        below = count(position, int(depth) - 1)
        position.undo()
        print(f"{position.san(move)}: {below}")
        total += below
    print(f"{total} positions; the core counts {position.perft(int(depth))}")


if __name__ == "__main__":
    main(*sys.argv[1:])
