"""Write start positions of chess in which the sides have uneven men: `python bench/uneven_starts.py FILE`.

Self-play from the usual start shows few positions with many men of which one side has a piece less. Games from these
(`selfplay.starts = FILE`) teach what such a piece is worth. Each is the start position without some men of both sides,
and without one or two more of one of them; a function of the seed.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import chess

KINDS = {chess.PAWN: 30, chess.KNIGHT: 18, chess.BISHOP: 18, chess.ROOK: 20, chess.QUEEN: 14}
"""What one side lacks, by weight."""
TRADED = (chess.PAWN, chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN, chess.KNIGHT, chess.BISHOP)


def uneven_position(draw: random.Random) -> str:
    """Return the FEN of such a position."""
    board = chess.Board()

    def remove(kind: int, side: bool) -> None:
        squares = list(board.pieces(kind, side))
        if squares:
            board.remove_piece_at(draw.choice(squares))

    for _ in range(draw.choice((0, 0, 1, 1, 2, 3, 4))):
        kind = draw.choice(TRADED)
        for side in chess.COLORS:
            remove(kind, side)
    side = draw.random() < 0.5
    for kind in draw.choices(list(KINDS), list(KINDS.values()), k=draw.choice((1, 1, 1, 2))):
        remove(kind, side)
    if draw.random() < 0.3:
        remove(draw.choice((chess.PAWN, chess.PAWN, chess.PAWN, chess.KNIGHT, chess.BISHOP)), not side)
    board.turn = draw.random() < 0.5
    board.castling_rights = board.clean_castling_rights()
    return board.fen()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--positions", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    found: set[str] = set()
    numbers = random.Random(given.seed)
    while len(found) < given.positions:
        found.add(uneven_position(numbers))
    given.file.write_text("".join(f"{fen}\n" for fen in sorted(found)), encoding="ascii")
