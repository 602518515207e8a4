"""A board drawn in the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from selfmate.board.position import Position

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from selfmate._core import Move

__all__ = [
    "BLACK_PIECE",
    "DARK_SQUARE",
    "LIGHT_SQUARE",
    "WHITE_PIECE",
    "checks_to_win",
    "draw_board",
    "flipped",
    "glyph",
    "has_colors",
    "play_with_blast",
]

SOLID: Final = dict(zip("kqrbnp", "♚♛♜♝♞♟", strict=True))
OUTLINED: Final = SOLID | dict(zip("KQRBNP", "♔♕♖♗♘♙", strict=True))
"""Without colours White's pieces are outlined."""
WHITE_PIECE, BLACK_PIECE = "#ffffff", "#101010"
LIGHT_SQUARE, DARK_SQUARE = "#b5a584", "#7d6b4f"
LIGHT_MOVED, DARK_MOVED = "#aeb05a", "#8a8c3c"
BLAST, BLAST_CENTRE = "#d9822b", "#e8402a"


def has_colors(console: Console) -> bool:
    """Return whether a board can be drawn in colours: sixteen are too few, and `NO_COLOR` forbids them."""
    return console.color_system in ("256", "truecolor") and not console.no_color


def glyph(piece: str | None, coloured: bool) -> str:
    """Return the character of a square. Without colours White's pieces are outlined, and empty squares are dots.

    >>> [glyph(piece, coloured) for coloured in (True, False) for piece in ("K", "k", None)]
    ['♚', '♚', ' ', '♔', '♚', '.']
    """
    if piece is None:
        return " " if coloured else "."
    return SOLID[piece.lower()] if coloured else OUTLINED[piece]


def draw_board(position: Position, coloured: bool, move: Move | None, blast: frozenset[int]) -> Text:
    """Return the drawn board: the last move marked, an explosion in orange with its centre in red."""
    from rich.text import Text

    text = Text()
    moved = {move.from_square, move.to_square} if move else set()
    for square in _squares(position):
        rank, file = divmod(square, 8)
        if file == 0:
            text.append(f"{rank + 1} ", style="dim")
        is_light = (rank + file) % 2 == 1
        piece = position.piece_at(square)
        letter = glyph(piece, coloured)
        if square in blast:
            background = BLAST_CENTRE if move and square == move.to_square else BLAST
            letter = letter if piece else "✶"
        elif square in moved:
            background = LIGHT_MOVED if is_light else DARK_MOVED
        else:
            background = LIGHT_SQUARE if is_light else DARK_SQUARE
        colour = WHITE_PIECE if square in blast or (piece and piece.isupper()) else BLACK_PIECE
        text.append(f" {letter} ", style=f"{colour} on {background}")
        if file == position.files - 1:
            text.append("\n")
    text.append("   " + "  ".join("abcdefgh"[: position.files]), style="dim")
    return text


def checks_to_win(position: Position) -> str | None:
    """Return the checks that each side still has to give, for the lower edge of the frame; None where none are counted.

    >>> position = Position("3check", "8/8/1K2p3/3qP2k/8/8/8/8 b - - 2+1 3 57")
    >>> checks_to_win(position), checks_to_win(Position("chess"))
    ('checks to win: White 2, Black 1', None)
    """
    left = position.checks_left
    return None if left is None else f"checks to win: White {left[0]}, Black {left[1]}"


def flipped(board: Text) -> Text:
    """Return a drawn board turned by 180 degrees, with Black below."""
    from rich.text import Text

    *ranks, letters = board.split("\n")
    rows = []
    for rank in reversed(ranks):
        cells = [rank[start : start + 3] for start in range(2, len(rank), 3)]
        rows.append(Text("").join([rank[:2], *reversed(cells)]))
    names = letters.plain.split()
    return Text("\n").join([*rows, Text("   " + "  ".join(reversed(names)), style="dim")])


def play_with_blast(position: Position, move: Move) -> frozenset[int]:
    """Play `move` and return the squares of its explosion; none where nothing exploded."""
    is_capture = position.is_capture(move)
    before = {square: position.piece_at(square) for square in _squares(position)}
    position.play(move)
    if not is_capture or position.piece_at(move.to_square) is not None:
        return frozenset()
    emptied = {square for square, piece in before.items() if piece and position.piece_at(square) is None}
    return frozenset((emptied - {move.from_square}) | {move.to_square})


def _squares(position: Position) -> Iterable[int]:
    """Return every square of the board, from the top left of the drawing."""
    return (8 * rank + file for rank in reversed(range(position.ranks)) for file in range(position.files))
