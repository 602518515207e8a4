"""The errors for bad input, each with the offending part of the input.

All of them are `ValueError`s. The native core raises them by name; the message is always one line.

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
    "ArrayError",
    "BadCastling",
    "BadChecks",
    "BadClock",
    "BadEnPassant",
    "DeviceError",
    "EmptyBoard",
    "EnvError",
    "EpdError",
    "EvaluatorError",
    "FenError",
    "IllegalMove",
    "IllegalSan",
    "InvalidMove",
    "InvalidSan",
    "LabError",
    "MissingExtra",
    "MoveError",
    "NoKing",
    "OppositeCheck",
    "PawnOnBackRank",
    "PgnError",
    "PlayerError",
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
"""Longest part of the input that an error quotes, in characters; a longer one ends in an ellipsis."""


def clip(text: str) -> str:
    r"""Return `text`, shortened to `MAX_PART` characters.

    >>> clip("e2e9"), len(clip("x" * 10_000))
    ('e2e9', 60)
    """
    return text if len(text) <= MAX_PART else text[: MAX_PART - 1] + "…"


def clip_repr(value: object) -> str:
    """Return the `repr` of a value in one line, shortened by `clip`.

    Python writes a whole number of thousands of digits in hexadecimal only, and so does this.

    >>> clip_repr("e2e9"), clip_repr(10**5000)[:10]
    ("'e2e9'", '0x31e20801')
    """
    try:
        return clip(" ".join(repr(value).splitlines()))
    except ValueError:
        return clip(hex(value) if isinstance(value, int) else "a value with a number of too many digits")


class SelfmateError(ValueError):
    """Base of every error in this module.

    `str(error)` is one line, `error.part` is the offending part of the input, shortened by `clip`.

    >>> error = SelfmateError("no such square: 'k9'", "k9")
    >>> str(error), error.part
    ("no such square: 'k9'", 'k9')
    """

    part: str

    def __init__(self, message: str, part: str = "") -> None:
        super().__init__(message)
        self.part = clip(part)


class UnknownVariant(SelfmateError):
    """The name of a variant is not known.

    >>> str(UnknownVariant.named("atomik", ["chess", "atomic"]))
    "unknown variant 'atomik'; did you mean 'atomic'?"
    """

    @classmethod
    def named(cls, name: str, known: Iterable[str]) -> UnknownVariant:
        """Return the error for `name`, with the nearest of the `known` names as a suggestion."""
        import difflib  # not needed until something is wrong

        names = list(known)
        near = difflib.get_close_matches(clip(name).lower(), names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"valid variants: {', '.join(names)}"
        return cls(f"unknown variant {clip(name)!r}; {hint}", name)


class FenError(SelfmateError):
    """A FEN that cannot be parsed: wrong number of ranks, unknown letter, not a number, too long.

    >>> from selfmate import Position
    >>> Position("chess", "8/8/8/8/8/8/8/7x w - - 0 1")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    FenError: ...
    """


class SetupError(SelfmateError):
    """A position that can be parsed but not played from. One subclass per reason."""


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
    """A castling right without king or rook on its original square."""


class BadEnPassant(SetupError):
    """An en passant square that no double step of a pawn can have passed."""


class PawnOnBackRank(SetupError):
    """A pawn on a rank where the variant allows none."""


class EmptyBoard(SetupError):
    """A board without pieces."""


class BadClock(SetupError):
    """A half-move clock or move number out of range."""


class BadChecks(SetupError):
    """A count of remaining checks out of range."""


class TooManyPieces(SetupError):
    """A side has more pieces than any game can give it."""


class MoveError(SelfmateError):
    """A move that cannot be parsed or played."""


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
    """A move in SAN that cannot be parsed or played."""


class InvalidSan(SanError):
    """Text that is not SAN.

    >>> from selfmate import Position
    >>> Position("chess").parse_san("hello")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    InvalidSan: ...
    """


class AmbiguousSan(SanError):
    """SAN that fits several legal moves."""


class IllegalSan(SanError, IllegalMove):
    """SAN that fits no legal move."""


class LineError(SelfmateError):
    """An error in a text of several lines: `error.line` is the line number, from 1, or None.

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
    """Bytes that are not a game record, a record that does not fit, or a buffer without positions."""


class SearchError(SelfmateError):
    """A request that a search cannot fulfil."""


class PlayerError(SelfmateError):
    """A player that does not exist or does not play the variant, or a limit that is out of range."""


class VariantMismatch(PlayerError):
    """A player that does not play the variant."""


class DeviceError(SelfmateError):
    """A GPU failed or has too little memory."""


class EvaluatorError(SelfmateError):
    """An evaluator that cannot be opened, leaves that do not fit it, or results that are not finite numbers."""


class ArrayError(SelfmateError):
    """An array of another shape or dtype than is needed, not writable or not contiguous; or mixed positions.

    >>> import numpy as np
    >>> from selfmate import Position, encode_planes
    >>> encode_planes([Position("gardner")], out=np.zeros((1, 20, 8, 8), np.float32))
    Traceback (most recent call last):
    ...
    selfmate.errors.ArrayError: planes: float32[1, 20, 5, 5] is needed, not float32[1, 20, 8, 8]
    """


class EnvError(SelfmateError):
    """An environment that cannot be made or stepped as asked."""


class LabError(SelfmateError):
    """A setting, a map, a model or an output of an experiment that cannot be used."""


class MissingExtra(SelfmateError):
    """An optional package is not installed; the message names the extra of selfmate that installs it."""
