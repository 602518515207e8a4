"""What `selfmate analyse` is given: a FEN, a file of FENs or EPD lines, or games in PGN.

Files and standard input are streams: one position or game is in memory at a time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

from selfmate.app.notation import variant_hint
from selfmate.board.epd import MAX_LINE_CHARS, Epd, parse_epd
from selfmate.board.pgn import Game, read_and_report
from selfmate.board.position import Position
from selfmate.errors import EpdError, PgnError, SelfmateError, clip
from selfmate.util.text_lines import Source, check_text, decode, numbered_lines

__all__ = ["AnalysisInput", "read_input"]

SNIFFED_CHARS: Final = 1 << 14
"""Characters of a line that are read to tell PGN from EPD."""
MOST_SNIFFED: Final = 1 << 20
"""Characters of standard input that are read for that; what begins with more empty lines and comments is EPD."""
PGN_BEGINS: Final = re.compile(r"[\[{%;(]|[0-9]++\s*+\.")  # a tag, a comment, a move number; no FEN has these
BOARD_OF_FEN: Final = re.compile(r"[PNBRQKpnbrqk1-8~]++(?:/[PNBRQKpnbrqk1-8~]++){4,7}+(?:_.*)?")
"""A FEN without spaces: the board alone, or with underscores in their place, as in addresses of web pages."""


@dataclass(frozen=True, slots=True)
class AnalysisInput:
    """Positions, or games: one of the two is not None. They are read while they are analysed."""

    positions: Callable[[], Iterator[Epd]] | None = None
    games: Callable[[], Iterator[Game]] | None = None
    path: Path | None = None
    """The file; None for a FEN and for standard input."""


def read_input(what: str | None, variant: str, *, asked: bool = False) -> AnalysisInput:
    """Return the positions or games of a FEN, a file of EPD lines or FENs, or a PGN file.

    None is the start position, `-` standard input. `variant` is that of FENs and EPD lines. If it was `asked` for, it
    is also that of games without a tag for it, and a game with another variant raises `SelfmateError`. A file of
    positions is checked as a whole here; standard input raises `SelfmateError` when it comes to a bad line.

    >>> [epd.position.fen() for epd in read_input("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "chess").positions()]
    ['4k3/8/8/8/8/8/4P3/4K3 w - - 0 1']
    >>> read_input("nowhere.pgn", "chess")
    Traceback (most recent call last):
    ...
    selfmate.errors.SelfmateError: nowhere.pgn: neither a file nor a FEN
    """
    if what is None:
        return AnalysisInput(lambda: iter([Epd(Position(variant))]))
    if what == "-":
        return _from_stream(_Stream(getattr(sys.stdin, "buffer", sys.stdin)), variant, asked=asked)
    path = Path(what)
    try:
        found = bool(what) and path.exists()
    except (OSError, ValueError):  # too long for a path, or with a NUL
        found = False
    if not found:
        if BOARD_OF_FEN.fullmatch(what):
            what = what.replace("_", " ")
        elif "/" not in what or not what.split()[1:]:
            raise SelfmateError(f"{clip(what) or 'an empty name'}: neither a file nor a FEN", what)
        position = _one_position(what, variant, asked=asked)
        return AnalysisInput(lambda: iter([position]))
    if not path.is_file():
        raise SelfmateError(f"{path}: not a file", what)
    if path.suffix.lower() == ".pgn" or (path.suffix.lower() not in (".epd", ".fen") and _is_pgn(path)):
        return AnalysisInput(games=lambda: _games(str(path), path, variant, asked=asked), path=path)
    for _ in _positions(str(path), path, variant, asked=asked):
        pass  # an error is found before the first search
    return AnalysisInput(lambda: _positions(str(path), path, variant, asked=asked), path=path)


# -- positions ------------------------------------------------------------------------------------


def _one_position(text: str, variant: str, *, asked: bool) -> Epd:
    try:
        epd = parse_epd(text, variant) if ";" in text else Epd(Position(variant, text))
    except SelfmateError as error:
        raise EpdError(f"{error}{_hint(text, variant, asked=asked)}", error.part) from error
    _check_not_over(epd.position)
    return epd


def _positions(name: str, source: Source, variant: str, *, asked: bool) -> Iterator[Epd]:
    """Yield the positions of a file; an error names it and, at its first position, a variant that fits."""
    count = 0
    try:
        for number, line in numbered_lines(source, MAX_LINE_CHARS, EpdError):
            text = line.removeprefix("\ufeff")
            if not text.strip() or text.startswith("#"):
                continue
            try:
                epd = parse_epd(text, variant, number=number)
                _check_not_over(epd.position, number)
            except EpdError as error:
                hint = "" if count else _hint(text, variant, asked=asked)
                raise EpdError(f"{error}{hint}", error.part) from error
            count += 1
            yield epd
    except EpdError as error:
        raise SelfmateError(f"{name}: {error}", error.part) from error
    if not count:
        raise SelfmateError(f"{name}: no position", name)


def _check_not_over(position: Position, number: int | None = None) -> None:
    if (outcome := position.outcome()) is not None:
        raise EpdError(f"the game is over ({outcome.reason}): {position.fen()}", position.fen(), number)


def _hint(text: str, variant: str, *, asked: bool) -> str:
    """Return the advice to name another variant, if `text` is a position there and none was named; else nothing."""
    return "" if asked else variant_hint(variant, lambda other: _check_not_over(parse_epd(text, other).position))


# -- games ----------------------------------------------------------------------------------------


def _games(name: str, source: Source, variant: str, *, asked: bool) -> Iterator[Game]:
    """Yield every game, also those of which nothing can be read; what is wrong with a game is reported."""
    number = 0
    try:
        for game in read_and_report(source, name, variant=variant if asked else "chess"):
            number += 1
            if asked and game.error is None and game.variant != variant:
                says = f"{name}: game {number} is {game.variant} by its tags, which --variant {variant} contradicts"
                raise SelfmateError(f"{says}; leave it out", variant)
            yield game
    except PgnError as error:
        raise SelfmateError(f"{name}: {error}", error.part) from error
    if not number:
        raise SelfmateError(f"{name}: no game", name)


# -- what a file is -------------------------------------------------------------------------------


class _Stream:
    """A file that can only be read once, whose first lines can be looked at before."""

    def __init__(self, file: IO[str] | IO[bytes]) -> None:
        self._file = file
        self._ahead = ""

    def peek(self) -> Iterator[str]:
        """Yield lines that `readline` returns again; the part of a line where it is long."""
        while len(self._ahead) < MOST_SNIFFED and (raw := self._file.readline(SNIFFED_CHARS)):
            if not self._ahead and isinstance(raw, bytes):
                check_text(raw)
            line = decode(raw)
            self._ahead += line
            yield line

    def readline(self, size: int) -> str:
        """Return the next line with its end, but at most `size` characters; nothing at the end of the file."""
        line = self._ahead[: min(self._ahead.find("\n") + 1 or size, size)]
        self._ahead = self._ahead[len(line) :]
        if line.endswith("\n") or len(line) == size:
            return line
        return line + decode(self._file.readline(size - len(line)))


def _from_stream(stream: _Stream, variant: str, *, asked: bool) -> AnalysisInput:
    name, source = "standard input", cast("IO[str]", stream)
    try:
        is_pgn = _begins_as_pgn(stream.peek())
    except SelfmateError as error:
        raise SelfmateError(f"{name}: {error}", error.part) from error
    if is_pgn:
        return AnalysisInput(games=lambda: _games(name, source, variant, asked=asked))
    return AnalysisInput(lambda: _positions(name, source, variant, asked=asked))


def _is_pgn(path: Path) -> bool:
    try:
        return _begins_as_pgn(line for _, line in numbered_lines(path, SNIFFED_CHARS))
    except SelfmateError as error:
        raise SelfmateError(f"{path}: {error}", error.part) from error


def _begins_as_pgn(lines: Iterable[str]) -> bool:
    """Return whether the first line with content is PGN: a tag, a comment or a move number."""
    for line in lines:
        if (text := line.strip().removeprefix("\ufeff")) and not text.startswith("#"):
            return PGN_BEGINS.match(text) is not None
    return False
