"""Every error that bad input can cause, each with the part of the input that is wrong.

All of them are `ValueError`s, so that a caller who does not care which one it was may catch that. The
native core raises them by name; the text is always one line.

>>> from selfmate import Position, FenError
>>> try:
...     Position("chess", "what?")
... except FenError as error:
...     print(error.part)
what?
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "AmbiguousSan",
    "BadCastling",
    "BadChecks",
    "BadClock",
    "BadEnPassant",
    "DeviceError",
    "EmptyBoard",
    "EpdError",
    "EvaluatorError",
    "FenError",
    "IllegalMove",
    "IllegalSan",
    "InvalidMove",
    "InvalidSan",
    "MoveError",
    "NoKing",
    "OppositeCheck",
    "PawnOnBackRank",
    "PgnError",
    "RecordError",
    "SanError",
    "SearchError",
    "SelfmateError",
    "SetupError",
    "TooManyKings",
    "TooManyPieces",
    "UnknownVariant",
]

MAX_PART = 60
"""Longest piece of input that an error quotes; what is beyond it is replaced by an ellipsis."""


def clip(text: str) -> str:
    r"""Shorten `text` to what an error may quote.

    >>> clip("e2e9"), len(clip("x" * 10_000))
    ('e2e9', 60)
    """
    return text if len(text) <= MAX_PART else text[: MAX_PART - 1] + "…"


class SelfmateError(ValueError):
    """Base of every error in this module.

    `str(error)` is one clear line, `error.part` is the offending part of the input (shortened when it is
    long).

    >>> error = SelfmateError("no such square: 'k9'", "k9")
    >>> str(error), error.part
    ("no such square: 'k9'", 'k9')
    """

    part: str

    def __init__(self, message: str, part: str = "") -> None:
        super().__init__(message)
        self.part = clip(part)


class UnknownVariant(SelfmateError):
    """A variant name that we do not know.

    >>> str(UnknownVariant.named("atomik", ["chess", "atomic"]))
    "no variant is called 'atomik'; did you mean 'atomic'?"
    """

    @classmethod
    def named(cls, name: str, known: Iterable[str]) -> UnknownVariant:
        """Make the error for `name`, with the nearest of the `known` names as a suggestion."""
        import difflib  # not needed until something is wrong

        names = list(known)
        near = difflib.get_close_matches(clip(name).lower(), names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
        return cls(f"no variant is called {clip(name)!r}; {hint}", name)


class FenError(SelfmateError):
    """A FEN that cannot be read at all: wrong number of ranks, unknown letter, not a number, too long.

    >>> from selfmate import Position
    >>> Position("chess", "8/8/8/8/8/8/8/7x w - - 0 1")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    FenError: ...
    """


class SetupError(SelfmateError):
    """A position that can be written down but not played from. One subclass per reason."""


class NoKing(SetupError):
    """A side that needs a king has none.

    >>> from selfmate import Position
    >>> Position("chess", "8/8/8/8/8/8/8/K7 w - - 0 1")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    NoKing: ...
    """


class TooManyKings(SetupError):
    """A side has more kings than the variant allows."""


class OppositeCheck(SetupError):
    """The side that is not to move is in check.

    >>> from selfmate import Position
    >>> Position("chess", "4k3/8/8/8/8/8/4R3/4K3 w - - 0 1")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    OppositeCheck: ...
    """


class BadCastling(SetupError):
    """A castling right without its king or rook at home."""


class BadEnPassant(SetupError):
    """An en passant square behind which no pawn can just have made a double step."""


class PawnOnBackRank(SetupError):
    """A pawn on a rank where none can stand."""


class EmptyBoard(SetupError):
    """There is no piece at all."""


class BadClock(SetupError):
    """A half-move clock or move number out of range."""


class BadChecks(SetupError):
    """A count of remaining checks out of range."""


class TooManyPieces(SetupError):
    """More pieces than a side can ever have."""


class MoveError(SelfmateError):
    """A move that cannot be read or played."""


class InvalidMove(MoveError):
    """Text that is not a move in UCI notation.

    >>> from selfmate import Move
    >>> Move.from_uci("e2-e4")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    InvalidMove: ...
    """


class IllegalMove(MoveError):
    """A well-formed move that the rules do not allow in this position.

    >>> from selfmate import Position
    >>> Position("chess").play("e2e5")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    IllegalMove: ...
    """


class SanError(MoveError):
    """A move in algebraic notation that cannot be read or played."""


class InvalidSan(SanError):
    """Text that is not a move in algebraic notation at all.

    >>> from selfmate import Position
    >>> Position("chess").parse_san("hello")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    InvalidSan: ...
    """


class AmbiguousSan(SanError):
    """Algebraic notation that fits several legal moves."""


class IllegalSan(SanError, IllegalMove):
    """Algebraic notation that fits no legal move."""


class LineError(SelfmateError):
    """An error in a text of several lines: `error.line` is the number of the line, from 1, where known.

    >>> error = LineError("no such move", "Qz9", line=12)
    >>> str(error), error.part, error.line
    ('line 12: no such move', 'Qz9', 12)
    """

    line: int | None

    def __init__(self, message: str, part: str = "", line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}", part)
        self.line = line


class PgnError(LineError):
    """A game in PGN that cannot be read.

    >>> from selfmate import Game
    >>> Game.from_pgn("1. e4 e5 2. Ke3")
    Traceback (most recent call last):
    ...
    selfmate.errors.PgnError: line 1: 'Ke3' is not legal (rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2)
    """


class EpdError(LineError):
    """A line of EPD that cannot be read.

    >>> from selfmate import parse_epd
    >>> parse_epd("8/8/8/8/8/8/8/8 w -", "chess")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    EpdError: ...
    """


class RecordError(SelfmateError):
    """Bytes that are not the record of a game, or not one that fits."""


class SearchError(SelfmateError):
    """A search that was asked for something it cannot do."""


class PlayerError(SelfmateError):
    """A player that does not exist or does not play the variant, or a limit that is out of range."""


class DeviceError(SelfmateError):
    """A GPU that has too little memory, or that failed."""


class EvaluatorError(SelfmateError):
    """An evaluator that cannot be opened, leaves that do not fit it, or answers that are not numbers."""
