"""What `selfmate analyse` is given: a FEN, a file of FENs or EPD lines, or games in PGN."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from selfmate.board.epd import Epd, parse_epd, read_epd
from selfmate.board.pgn import Game, read_and_report
from selfmate.board.position import Position
from selfmate.errors import EpdError, PgnError, SelfmateError, clip
from selfmate.util.text_lines import Source, numbered_lines

__all__ = ["AnalysisInput", "read_input"]

MAX_FILE_BYTES: Final = 64 << 20
SNIFFED_CHARS: Final = 1 << 14
"""Characters of a file that are read to tell PGN from EPD."""
PGN_BEGINS: Final = re.compile(r"[\[{%;(]|[0-9]++\s*+\.")  # a tag, a comment, a move number; no FEN has these


@dataclass(frozen=True, slots=True)
class AnalysisInput:
    """Positions, or games. Games are read one by one, while they are analysed."""

    positions: tuple[Epd, ...] = ()
    games: Callable[[], Iterator[Game]] | None = None


def read_input(what: str | None, variant: str, *, asked: bool = False) -> AnalysisInput:
    """Return the positions or games of a FEN, a file of EPD lines or FENs, or a PGN file.

    None is the start position, `-` standard input. `variant` is that of FENs and EPD lines. If it was `asked` for, it
    is also that of games without a tag for it, and a game with another variant raises `SelfmateError`.

    >>> read_input("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "chess").positions[0].position.fen()
    '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1'
    >>> read_input("nowhere.pgn", "chess")
    Traceback (most recent call last):
    ...
    selfmate.errors.SelfmateError: nowhere.pgn: neither a file nor a FEN
    """
    if what is None:
        return AnalysisInput((Epd(Position(variant)),))
    if what == "-":
        return _from_text(sys.stdin.read(MAX_FILE_BYTES), variant, asked=asked)
    path = Path(what)
    try:
        found = bool(what) and path.exists()
    except (OSError, ValueError):  # too long for a path, or with a NUL
        found = False
    if not found:
        if "/" not in what or not what.split()[1:]:
            raise SelfmateError(f"{clip(what)}: neither a file nor a FEN", what)
        position = parse_epd(what, variant) if ";" in what else Epd(Position(variant, what))
        return AnalysisInput((_not_over(position),))
    if not path.is_file():
        raise SelfmateError(f"{path}: not a file", what)
    if path.stat().st_size > MAX_FILE_BYTES:
        raise SelfmateError(f"{path}: larger than {MAX_FILE_BYTES >> 20} MiB", what)
    if path.suffix.lower() == ".pgn" or (path.suffix.lower() not in (".epd", ".fen") and _is_pgn(path)):
        return AnalysisInput(games=lambda: _games(str(path), path, variant, asked=asked))
    return AnalysisInput(_positions(str(path), read_epd(path, variant)))


def _from_text(text: str, variant: str, *, asked: bool) -> AnalysisInput:
    if _begins_as_pgn(text.splitlines()):
        return AnalysisInput(games=lambda: _games("standard input", io.StringIO(text), variant, asked=asked))
    return AnalysisInput(_positions("standard input", read_epd(io.StringIO(text), variant)))


def _is_pgn(path: Path) -> bool:
    return _begins_as_pgn(line for _, line in numbered_lines(path, SNIFFED_CHARS))


def _begins_as_pgn(lines: Iterable[str]) -> bool:
    """Return whether the first line with content is PGN: a tag, a comment or a move number."""
    for line in lines:
        if (text := line.strip().removeprefix("\ufeff")) and not text.startswith("#"):
            return PGN_BEGINS.match(text) is not None
    return False


def _positions(name: str, epds: Iterator[Epd]) -> tuple[Epd, ...]:
    """Return all positions, so that an error is found before the first search."""
    try:
        found = tuple(_not_over(epd) for epd in epds)
    except EpdError as error:
        raise SelfmateError(f"{name}: {error}", error.part) from error
    if not found:
        raise SelfmateError(f"{name}: no position", name)
    return found


def _not_over(epd: Epd) -> Epd:
    if (outcome := epd.position.outcome()) is not None:
        raise EpdError(f"the game is over ({outcome.reason}): {epd.position.fen()}", epd.position.fen())
    return epd


def _games(name: str, source: Source, variant: str, *, asked: bool) -> Iterator[Game]:
    """Yield games; errors name the file."""
    count = 0
    try:
        for game in read_and_report(source, name, variant=variant if asked else "chess"):
            count += 1
            if asked and game.variant != variant:
                says = f"{name}: game {count} is {game.variant} by its tags, which --variant {variant} contradicts"
                raise SelfmateError(f"{says}; leave it out", variant)
            yield game
    except PgnError as error:
        raise SelfmateError(f"{name}: {error}", error.part) from error
    if not count:
        raise SelfmateError(f"{name}: no game", name)
