"""The start position of a game from its tags `Variant`, `Chess960` and `FEN`.

Castling from any squares is read under every value of `Variant`: if a FEN's castling rights are those of Chess960, the
game is one of `chess960` or `atomic960`.

>>> fen = "rkrbbnnq/pppppppp/8/8/8/8/PPPPPPPP/RKRBBNNQ w KQkq - 0 1"
>>> start_position({"Variant": "Atomic", "FEN": fen}, "chess")
Position('atomic960', 'rkrbbnnq/pppppppp/8/8/8/8/PPPPPPPP/RKRBBNNQ w KQkq - 0 1')
"""

from __future__ import annotations

from collections.abc import Mapping

from selfmate._core import BLACK, WHITE
from selfmate.board.pgn_writer import TAG_OF_VARIANT, variant_of_tag
from selfmate.board.position import Position
from selfmate.errors import BadCastling, FenError, SelfmateError

__all__ = ["repaired_start", "start_position"]

MISSING_FIELDS = ("w", "-", "-")
"""Turn, castling rights and en passant square of a FEN that ends before them."""


def _variant(tags: Mapping[str, str], default: str) -> str:
    variant = variant_of_tag(tags["Variant"]) if "Variant" in tags else default
    shuffled = f"{variant}960"
    return shuffled if tags.get("Chess960") == "1" and shuffled in TAG_OF_VARIANT else variant


def start_position(tags: Mapping[str, str], default: str) -> Position:
    """Return the start position; `default` is the variant of games without the tag `Variant`.

    Raises `UnknownVariant`, `FenError` or a subclass of `SetupError`.
    """
    variant, fen = _variant(tags, default), tags.get("FEN")
    try:
        return Position(variant, fen)
    except BadCastling:
        position = _shuffled(variant, fen)
        if position is None:
            raise
        return position


def repaired_start(tags: Mapping[str, str], default: str) -> Position:
    """Return the start position of an invalid FEN: impossible castling rights are dropped, missing fields added.

    Raises as `start_position` where that is not enough.

    >>> fen = "rnbq1rk1/pppn1ppp/4p3/3pP3/1b1P4/2NB1N2/PPP2PPP/R1BQK2R w KQq -"
    >>> repaired_start({"FEN": fen}, "chess").fen()
    'rnbq1rk1/pppn1ppp/4p3/3pP3/1b1P4/2NB1N2/PPP2PPP/R1BQK2R w KQ - 0 1'
    """
    variant, fen = _variant(tags, default), tags.get("FEN")
    try:
        return Position(variant, fen, lenient=True)
    except FenError:
        fields = (fen or "").split()
        if not 1 <= len(fields) <= len(MISSING_FIELDS):
            raise
        return Position(variant, " ".join([*fields, *MISSING_FIELDS[len(fields) - 1 :]]), lenient=True)


def _shuffled(variant: str, fen: str | None) -> Position | None:
    """Return the position with Chess960 castling, or None if its rights do not come from one Chess960 start.

    In such a start the kings of both sides stand on one file, and so do the rooks of each wing.
    """
    name = f"{variant}960"
    if name not in TAG_OF_VARIANT:
        return None
    try:
        position = Position(name, fen)
    except SelfmateError:
        return None
    white, black = position.castling & 0xFF, position.castling >> 56  # files of the rooks that may castle
    if not white or not black:
        return position
    king, *others = {(position.king(color) or 0) % 8 for color in (BLACK, WHITE)}
    rooks = white | black
    left, right = rooks & ((1 << king) - 1), rooks >> king
    return None if others or left.bit_count() > 1 or right.bit_count() > 1 else position
