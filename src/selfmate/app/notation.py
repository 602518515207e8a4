"""Moves and results as text: what is read from and shown to people in the terminal."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable

from selfmate._core import BLACK, VARIANTS, WHITE, Move
from selfmate.board.position import Position
from selfmate.errors import AmbiguousSan, IllegalMove, MoveError, SelfmateError, clip
from selfmate.search.result import Result
from selfmate.util.text import many

__all__ = [
    "color_name",
    "describe",
    "describe_proof",
    "example_moves",
    "numbered_moves",
    "read_move",
    "san_line",
    "variant_hint",
]


def read_move(position: Position, text: str) -> Move:
    """Return the move of a text in algebraic or UCI notation.

    The letter of a piece may be small unless it is a file; castling may be written with `o` or `0`, and a move in
    UCI notation in capitals.

    A text that is no legal move raises `MoveError` with one short line, and moves of this board as examples.

    >>> position = Position("chess")
    >>> [position.uci(read_move(position, text)) for text in ("Nf3", "g1f3", "nf3", "G1F3")]
    ['g1f3', 'g1f3', 'g1f3', 'g1f3']
    >>> read_move(Position("gardner"), "O-O")
    Traceback (most recent call last):
    ...
    selfmate.errors.MoveError: 'O-O' is not legal here
    """
    errors: list[MoveError] = []
    is_castling = re.fullmatch(r"[oO0](-[oO0]){1,2}[+#]?", text) is not None
    for parse, written in (
        (position.parse_uci, text),
        (position.parse_san, text),
        (position.parse_uci, text.lower()),
        (position.parse_san, text.upper().replace("0", "O") if is_castling else text[:1].upper() + text[1:]),
    ):
        try:
            return parse(written)
        except MoveError as error:
            errors.append(error)
    raise MoveError(_why_not(position, text, errors), text)


def _why_not(position: Position, text: str, errors: list[MoveError]) -> str:
    """Return why a text is no move here, from the errors of the attempts to read it."""
    # 1. It fits several moves, or lacks the piece of a promotion.
    ambiguous = next((error for error in errors if isinstance(error, AmbiguousSan)), None)
    if ambiguous is not None:
        return str(ambiguous)
    shown = repr(clip(text))
    moves = {move: position.san(move).rstrip("+#") for move in position.legal_moves}
    becoming = [san for move, san in moves.items() if text in (san.partition("=")[0], position.uci(move)[:4])]
    if becoming:
        return f"{shown}: say what the pawn becomes, as in {becoming[0]}"
    # 2. It is a move, but not a legal one. An error of the core ends with the FEN, which is cut off.
    illegal = next((error for error in errors if isinstance(error, IllegalMove)), None)
    if illegal is not None:
        reason = str(illegal).rpartition(" (")[0].partition(": ")[2]
        return f"{shown} is not legal" + (f": {reason}" if reason else " here")
    # 3. It is no move at all.
    examples = example_moves(position)
    return f"{shown} is not a move" + (f" like {examples}" if examples else "")


def example_moves(position: Position) -> str:
    """Return a legal move in both notations, of a piece rather than a pawn.

    >>> example_moves(Position("chess")), example_moves(Position("gardner"))
    ('Na3 or b1a3', 'Na3 or b1a3')
    """
    written = [f"{position.san(move)} or {position.uci(move)}" for move in position.legal_moves]
    return next((words for words in written if words[0] in "NBRQK"), written[0] if written else "")


def san_line(position: Position, moves: tuple[Move, ...]) -> str:
    """Return a line of moves in algebraic notation.

    >>> san_line(Position("chess"), (Move.from_uci("e2e4"), Move.from_uci("e7e5")))
    'e4 e5'
    """
    place = position.copy()
    words = []
    for move in moves:
        words.append(place.san(move))
        place.play(move)
    return " ".join(words)


def numbered_moves(position: Position) -> list[str]:
    """Return the moves that were played, one line for each full move.

    >>> position = Position("chess")
    >>> for move in ["e2e4", "e7e5", "g1f3"]:
    ...     _ = position.play(move)
    >>> numbered_moves(position)
    ['  1. e4      e5', '  2. Nf3']
    """
    place = position.copy()
    moves = [place.undo() for _ in position.move_stack][::-1]
    number = place.fullmove_number
    sans = ["…"] if place.turn == BLACK else []
    for move in moves:
        sans.append(place.san(move))
        place.play(move)
    return [
        f"{number + index // 2:3}. {' '.join(f'{san:7}' for san in sans[index : index + 2])}".rstrip()
        for index in range(0, len(sans), 2)
    ]


def describe(result: Result) -> str:
    """Return the result of a search in words, for the side to move.

    >>> from selfmate.search.limit import Limit
    >>> from selfmate.search.player import Player
    >>> describe(Player("heuristic-1").search(Position("gardner", "4k/2r1P/p2QB/PpP2/4K w - - 0 16"), Limit(visits=9)))
    'wins in 1 move'
    """
    if result.proven is not None:
        return describe_proof(result.proven, "move")
    win, draw, loss = result.wdl
    return f"value {result.value:+.2f}, win {100 * win:.0f} %, draw {100 * draw:.0f} %, loss {100 * loss:.0f} %"


def describe_proof(proven: int, unit: str = "") -> str:
    """Return a proven result in words; `proven` is in plies, positive for a win.

    >>> describe_proof(3, "move"), describe_proof(-2), describe_proof(0)
    ('wins in 2 moves', 'loses in 1', 'drawn')
    """
    if proven == 0:
        return "drawn"
    moves = (abs(proven) + 1) // 2
    return f"{'wins' if proven > 0 else 'loses'} in {many(moves, unit) if unit else moves}"


def color_name(color: bool) -> str:
    """Return White or Black."""
    return "White" if color == WHITE else "Black"


def variant_hint(variant: str, accepts: Callable[[str], object]) -> str:
    """Return the advice to name another variant, one that `accepts` without a `SelfmateError`; nothing if none does.

    Castling that only 960 has fits several variants: then the advice is the 960 form of the same one.

    >>> fen = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9"
    >>> variant_hint("chess", lambda variant: Position(variant, fen))
    '; for chess960, add --variant chess960'
    """
    fits = []
    for other in (f"{variant}960", *VARIANTS):
        with contextlib.suppress(SelfmateError):
            accepts(other)
            fits.append(other)
    if not fits or variant in fits:
        return ""
    if fits[0] not in VARIANTS:
        fits = fits[:1]
    return f"; for {' or '.join(fits)}, add --variant {fits[0] if len(fits) == 1 else 'NAME'}"
