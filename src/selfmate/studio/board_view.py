"""Positions and moves as the page shows them.

>>> from selfmate.board.position import Position
>>> view = board_state(Position("gardner"))
>>> view.files, view.turn, len(view.legal), view.result
(5, 'white', 7, None)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from selfmate._core import WHITE, Move, square_name
from selfmate.app.terminal_board import play_with_blast
from selfmate.board.position import Position, chess960_fen
from selfmate.errors import SelfmateError
from selfmate.studio.messages import BoardState, Color, LegalMove, PlayedMove, Wdl

__all__ = [
    "board_state",
    "color_of",
    "for_white",
    "play_line",
    "play_one",
    "san_of_uci",
    "san_words",
    "start_position",
    "wdl_for_white",
]


def color_of(color: bool) -> Color:
    """Return the word for a colour."""
    return "white" if color == WHITE else "black"


def for_white(value: float, turn: bool) -> float:
    """Return a value of the side to move as White's, rounded to four digits."""
    return round(value if turn == WHITE else -value, 4) + 0.0


def wdl_for_white(wdl: tuple[float, float, float], turn: bool) -> Wdl:
    """Return probabilities of win, draw and loss of the side to move as White's."""
    win, draw, loss = (round(share, 4) for share in wdl)
    return (win, draw, loss) if turn == WHITE else (loss, draw, win)


def start_position(variant: str, fen: str | None, chess960: int | None = None) -> Position:
    """Return the position of a variant: of a FEN, of a Chess960 number, or its start.

    Raises a `SelfmateError` for an unknown variant and for what the rules do not allow; Chess960 numbers are for
    variants whose name ends in 960.
    """
    if chess960 is not None:
        if not variant.endswith("960"):
            raise SelfmateError(f"{variant} has no Chess960 starting positions", variant)
        fen = fen or chess960_fen(chess960)
    return Position(variant, fen or None)


def board_state(position: Position, *, result: str | None = None, reason: str | None = None) -> BoardState:
    """Return a position as a board shows it; `result` and `reason` replace those of the rules."""
    outcome = position.outcome(claim_draw=True)
    if outcome is not None and result is None:
        result, reason = outcome.result(), outcome.reason
    king = position.king(position.turn) if position.is_check() else None
    return BoardState(
        fen=position.fen(),
        files=position.files,
        ranks=position.ranks,
        turn=color_of(position.turn),
        legal=[]
        if result is not None
        else [
            LegalMove(uci=position.uci(move), san=position.san(move), capture=position.is_capture(move))
            for move in position.legal_moves
        ],
        check=None if king is None else square_name(king),
        checks_left=position.checks_left,
        result=result,
        reason=reason,
    )


def play_one(position: Position, move: Move) -> PlayedMove:
    """Play a legal move and return it with the position after it."""
    uci, san = position.uci(move), position.san(move)
    emptied = play_with_blast(position, move)
    squares = [move.to_square, *sorted(emptied - {move.to_square})] if emptied else []
    return PlayedMove(
        uci=uci,
        san=san,
        fen=position.fen(),
        check=position.is_check(),
        exploded=[square_name(square) for square in squares],
    )


def play_line(position: Position, moves: Iterable[str]) -> list[PlayedMove]:
    """Play moves in UCI notation; one that is not legal raises `MoveError`."""
    return [play_one(position, position.parse_uci(uci)) for uci in moves]


def san_of_uci(position: Position, line: Iterable[str], most: int = 12) -> list[str]:
    """Return the first moves of a line in UCI notation in SAN, up to one that is not legal.

    >>> san_of_uci(Position("chess"), ["e2e4", "e7e5", "e1e8"])
    ['e4', 'e5']
    """
    place, words = position.copy(), list[str]()
    for uci in line:
        try:
            move = place.parse_uci(uci)
        except SelfmateError:
            break
        words.append(place.san(move))
        place.play(move)
        if len(words) == most:
            break
    return words


def san_words(position: Position, moves: Sequence[Move], most: int = 12) -> list[str]:
    """Return the first moves of a line in SAN."""
    place, words = position.copy(), []
    for move in moves[:most]:
        words.append(place.san(move))
        place.play(move)
    return words
