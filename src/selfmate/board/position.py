"""`Position`: the native position with copying, pickling and pictures, and the Chess960 starting positions.

>>> position = Position("atomic")
>>> position.play(position.parse_san("Nf3"))
Move.from_uci('g1f3')
>>> position.fen()
'rnbqkbnr/pppppppp/8/8/8/5N2/PPPPPPPP/RNBQKB1R b KQkq - 1 1'
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Unpack

from selfmate import _core
from selfmate._core import Move, Setup
from selfmate.errors import InvalidMove, SelfmateError, UnknownVariant, clip_repr
from selfmate.util.numbers import flag, whole_number

if TYPE_CHECKING:
    from selfmate.board.board_svg import BoardOptions

__all__ = ["Position", "chess960_fen"]


class Position(_core.Position):
    """A position of any variant with its history: legal moves, play, undo, outcome.

    `variant` is a name from `VARIANTS`, or `chess960` or `atomic960`; without a `fen` it is the starting position. A
    FEN that cannot be read raises `FenError`, a position that cannot be played from a subclass of `SetupError`;
    `lenient` drops impossible castling rights and en passant squares, and accepts a king that could be captured.

    >>> position = Position("chess")
    >>> len(position.legal_moves)
    20
    >>> for move in ["f2f3", "e7e5", "g2g4", "d8h4"]:
    ...     _ = position.play(move)
    >>> position.outcome().reason
    'checkmate'
    >>> position.undo()
    Move.from_uci('d8h4')
    """

    @staticmethod
    def from_setup(setup: Setup, *, lenient: bool = False) -> Position:
        """Return the position of a raw `Setup`. Raises a subclass of `SetupError` if it cannot be played from.

        >>> setup = Setup("gardner")
        >>> for square, piece in [(0, "K"), (36, "k"), (1, "Q")]:
        ...     setup.set_piece(square, piece)
        >>> Position.from_setup(setup).fen()
        '4k/5/5/5/KQ3 w - - 0 1'
        """
        return Position(_core.Position.from_setup(setup, lenient=lenient))

    @staticmethod
    def chess960_start(number: int, variant: str = "chess") -> Position:
        """Return starting position `number` (0 to 959, see `chess960_fen`) of `chess` or `atomic`.

        >>> Position.chess960_start(0, "atomic")
        Position('atomic960', 'bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w KQkq - 0 1')
        """
        given: object = variant
        if not isinstance(given, str):
            raise UnknownVariant(f"the name of a variant is a text, not {clip_repr(given)}", clip_repr(given))
        name = variant if variant.endswith("960") else f"{variant}960"
        return Position(name, chess960_fen(number))

    def push(self, move: Move | str) -> Move:
        """Play a move, and return it: `play`, by the name that python-chess has.

        Raises `IllegalMove`, or `InvalidMove` for what is no move; the position is unchanged then.

        >>> position = Position("chess")
        >>> position.push("e2e4"), position.push(position.parse_san("e5"))
        (Move.from_uci('e2e4'), Move.from_uci('e7e5'))
        """
        try:
            return self.play(move)
        except TypeError:
            kind = type(move).__name__
            raise InvalidMove(f"a move is a Move or UCI text, not {kind}", kind) from None

    def push_san(self, san: str) -> Move:
        """Play the legal move of a SAN, and return it: `play_san`, by the name that python-chess has.

        Raises `InvalidSan`, `AmbiguousSan` or `IllegalSan`; the position is unchanged then.

        >>> position = Position("atomic")
        >>> position.push_san("Nf3"), position.pop() == position.parse_san("Nf3")
        (Move.from_uci('g1f3'), True)
        """
        return self.play_san(san)

    def pop(self) -> Move:
        """Take the last move back, and return it: `undo`, by the name that python-chess has. Raises `IndexError`.

        >>> position = Position("chess")
        >>> _ = position.push("e2e4")
        >>> position.pop(), position == Position("chess")
        (Move.from_uci('e2e4'), True)
        """
        return self.undo()

    def copy(self) -> Position:
        """Return an independent copy, with the history.

        >>> position = Position("chess")
        >>> other = position.copy()
        >>> _ = other.play("e2e4")
        >>> position == other, len(position.move_stack)
        (False, 0)
        """
        return Position(self)

    def __copy__(self) -> Position:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Position:
        return self.copy()

    def __reduce__(self) -> tuple[object, ...]:
        start = self.copy()
        moves = self.move_stack
        for _ in moves:
            start.undo()
        name = f"{self.variant}960" if self.chess960 else self.variant
        return _replay, (name, start.fen(), [move.uci() for move in moves])

    def svg(self, **options: Unpack[BoardOptions]) -> str:
        """Return the position as SVG; the options are those of `selfmate.board.board_svg.board`.

        The last move and a king in check are highlighted unless `last_move` or `check` is given.

        >>> Position("gardner").svg(size=200)[:4]
        '<svg'
        """
        from selfmate.board import board_svg as svg

        if "last_move" not in options:
            options["last_move"] = self._shown_last_move()
        if "check" not in options and self.is_check():
            options["check"] = self.king(self.turn)
        return svg.board(self, **options)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _shown_last_move(self) -> Move | None:
        """Return the last move; castling, which is king-takes-rook inside, as the move of the king."""
        if not self.move_stack:
            return None
        before = self.copy()
        move = before.undo()
        if before.is_castling(move):
            king_file = 6 if move.to_square > move.from_square else 2
            return Move(move.from_square, move.from_square // 8 * 8 + king_file)
        return move


def _replay(variant: str, fen: str, moves: list[str]) -> Position:
    """Rebuild a pickled position; leniently, because it was accepted before."""
    position = Position(variant, fen, lenient=True)
    for move in moves:
        position.play(Move.from_uci(move))
    return position


def chess960_fen(number: int, *, shredder: bool = False) -> str:
    """Return the FEN of a Chess960 starting position by its Scharnagl number, 0 to 959 (518 is chess).

    >>> chess960_fen(518)
    'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1'
    >>> chess960_fen(959, shredder=True)
    'rkrnnqbb/pppppppp/8/8/8/8/PPPPPPPP/RKRNNQBB w CAca - 0 1'
    """
    number = whole_number("the number of a Chess960 position", number, 0, 959, SelfmateError)
    shredder = flag("shredder", shredder, SelfmateError)
    # https://en.wikipedia.org/wiki/Fischer_random_chess_numbering_scheme
    rest, light_bishop = divmod(number, 4)
    rest, dark_bishop = divmod(rest, 4)
    knights, queen = divmod(rest, 6)
    rank: list[str] = [""] * 8
    rank[2 * light_bishop + 1] = "b"
    rank[2 * dark_bishop] = "b"
    free = [file for file in range(8) if not rank[file]]
    rank[free.pop(queen)] = "q"
    for index in reversed(list(combinations(range(5), 2))[knights]):
        rank[free.pop(index)] = "n"
    for file, piece in zip(free, "rkr", strict=True):
        rank[file] = piece
    rights = "kq"
    if shredder:
        rights = "abcdefgh"[free[2]] + "abcdefgh"[free[0]]
    row = "".join(rank)
    return f"{row}/pppppppp/8/8/8/8/PPPPPPPP/{row.upper()} w {rights.upper()}{rights} - 0 1"
