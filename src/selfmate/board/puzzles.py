"""Files of positions that games begin at: Lichess's CSV of puzzles, or FENs or EPDs, one per line.

A puzzle of the CSV begins after the first of its moves: `FEN` is the position before the mistake, which is the first of
`Moves`, and the side to move after it solves the puzzle. The CSV is one of chess; the theme of a row may be the name of
another variant.

>>> rows = io.StringIO("PuzzleId,FEN,Moves,Rating\\na,6k1/5ppp/8/8/8/8/q4PPP/3R2K1 b - - 0 1,a2b2 d1d8,900\\nb,x,y,1")
>>> found = read_puzzles(rows, "chess")
>>> found.fens, found.rows, found.bad_rows
(['6k1/5ppp/8/8/8/8/1q3PPP/3R2K1 w - - 1 2'], 2, 1)
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from selfmate._core import VARIANTS
from selfmate.board.epd import MAX_LINE_CHARS, parse_epd
from selfmate.board.position import Position
from selfmate.errors import SelfmateError, clip
from selfmate.util.text_lines import Source, numbered_lines

__all__ = ["COLUMNS", "Puzzle", "PuzzleFile", "read_puzzles", "write_puzzles"]

COLUMNS: Final = (
    *("PuzzleId", "FEN", "Moves", "Rating", "RatingDeviation"),
    *("Popularity", "NbPlays", "Themes", "GameUrl", "OpeningTags"),
)
"""Of Lichess's CSV."""

MAX_POSITIONS: Final = 500_000
"""Positions that are read; what follows them in the file is left out."""
SHOWN_BAD: Final = 3
"""Bad rows whose reasons are kept."""


class Puzzle(NamedTuple):
    """A row to write: the position before the mistake, the mistake, and the solution (UCI)."""

    name: str
    fen: str
    moves: tuple[str, ...]
    themes: tuple[str, ...] = ()
    source: str = ""
    """Where the game is; Lichess's column GameUrl."""


class PuzzleFile(NamedTuple):
    """What a file has for one variant."""

    fens: list[str]
    """Different positions, none of them the end of a game."""
    rows: int
    bad_rows: int
    bad: list[tuple[int, str]]
    """Line and reason of the first bad rows."""

    @property
    def white(self) -> int:
        """Positions with White to move."""
        return sum(fen.split()[1] == "w" for fen in self.fens)

    def describe_bad(self) -> str:
        """Return the number of bad rows and the reasons of the first ones; empty if there are none."""
        if not self.bad_rows:
            return ""
        shown = "; ".join(f"line {line}: {reason}" for line, reason in self.bad)
        more = self.bad_rows - len(self.bad)
        return f"{self.bad_rows:,} of {self.rows:,} rows cannot be used: {shown}" + (f"; {more:,} more" if more else "")


def read_puzzles(source: Source, variant: str) -> PuzzleFile:
    """Return the positions of a file that games of a variant can begin at; bad rows are counted and skipped.

    A file is read up to `MAX_POSITIONS` positions. Raises OSError for one that cannot be read, and
    `SelfmateError` for one that is compressed or in UTF-16.
    """
    fens: dict[str, None] = {}
    bad: list[tuple[int, str]] = []
    rows = bad_rows = 0
    columns: list[str] | None = None
    for number, line in _lines(source):
        if columns is None:
            columns = _columns(line)
            if columns and line.startswith(COLUMNS[0]):
                continue
        rows += 1
        try:
            position = _of_row(line, columns, variant) if columns else parse_epd(line, variant).position
            if position.is_game_over(claim_draw=True):
                raise SelfmateError("the game is over", line)
            fens[position.fen()] = None
        except SelfmateError as error:
            bad_rows += 1
            if len(bad) < SHOWN_BAD:
                bad.append((number, str(error)))
        if len(fens) >= MAX_POSITIONS:
            break
    return PuzzleFile(list(fens), rows, bad_rows, bad)


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    for number, line in numbered_lines(source, MAX_LINE_CHARS):
        line = line.removeprefix("\ufeff") if number == 1 else line
        if line.strip() and not line.startswith("#"):
            yield number, line[:MAX_LINE_CHARS]


def _columns(line: str) -> list[str]:
    """Return the columns of a CSV by its first line; none for a file of FENs or EPDs."""
    fields = _fields(line)
    if fields[0] == COLUMNS[0]:
        return fields
    is_row = len(fields) > 2 and "/" in fields[1] and "/" not in fields[0]  # older files have no header
    return list(COLUMNS) if is_row else []


def _fields(line: str) -> list[str]:
    return next(csv.reader([line]), [""])


def _of_row(line: str, columns: list[str], variant: str) -> Position:
    """Return the position of a puzzle, after the first of its moves; raises `SelfmateError`."""
    row = dict(zip(columns, _fields(line), strict=False))
    if not row.get("FEN") or not row.get("Moves"):
        raise SelfmateError(f"a puzzle has FEN and Moves, not {clip(line)!r}", line)
    named = [theme for theme in row.get("Themes", "").split() if theme in VARIANTS]
    theirs, ours = named[0] if named else "chess", variant.removesuffix("960")
    if theirs != ours:
        raise SelfmateError(f"a puzzle of {theirs}, not of {ours}", theirs)
    position = Position(variant, row["FEN"])
    position.play(position.parse_uci(row["Moves"].split()[0]))
    return position


def write_puzzles(puzzles: Iterable[Puzzle]) -> str:
    """Return puzzles as Lichess's CSV; ratings are those of a new puzzle there.

    >>> print(write_puzzles([Puzzle("a", "8/8/8/8/8/8/8/8 w - - 0 1", ("a1a2", "b1b2"), ("mate",))]).splitlines()[1])
    a,8/8/8/8/8/8/8/8 w - - 0 1,a1a2 b1b2,1500,500,0,0,mate,,
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for each in puzzles:
        rows.writerow(
            [each.name, each.fen, " ".join(each.moves), 1500, 500, 0, 0, " ".join(each.themes), each.source, ""]
        )
    return text.getvalue()
