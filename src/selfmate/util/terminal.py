"""Output that fits the width of the terminal: wrapped text, tables, a progress line, and echo switched off.

>>> fit(40, "arena", ["7 of 9 games, 64.3 % (+4 =1 -2)", "7 of 9 games"], 7)
Fitted(label='', bar=0, note='7 of 9 games, 64.3 % (+4 =1 -2)')
>>> fit(36, "arena", ["7 of 9 games, 64.3 % (+4 =1 -2)", "7 of 9 games"], 7)
Fitted(label='arena', bar=9, note='7 of 9 games')
"""

from __future__ import annotations

import functools
import os
import termios
import textwrap
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn, Task
    from rich.table import Table

__all__ = ["Fitted", "QuietTerminal", "fit", "hang", "print_table", "progress_line", "say"]

WIDEST_BAR: Final = 40
"""Columns."""
NARROWEST_BAR: Final = 4
"""Columns; a shorter bar is left out."""


def print_table(title: str, rows: Sequence[Sequence[str]], console: Console) -> None:
    """Print rows without markup, the first of which are the names of the columns; all but the first are numbers."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title))
    for number, name in enumerate(rows[0]):
        table.add_column(name, justify="right" if number else "left")
    for row in rows[1:]:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def say(console: Console, text: str) -> None:
    """Print text without markup: wrapped between words in a terminal, unwrapped elsewhere.

    A word longer than a line, such as a path, is not broken, so that it can be copied.
    """
    from rich.text import Text

    if console.is_terminal:
        wrap = functools.partial(textwrap.fill, width=console.width, break_long_words=False, break_on_hyphens=False)
        text = "\n".join(wrap(line) for line in text.split("\n"))
    console.print(Text(text), soft_wrap=True)


def hang(text: str, width: int) -> str:
    """Return lines wrapped between words to `width` columns; what follows stands below the last column of a line.

    Columns are apart by two spaces or more. Where less than a third of the width would be left, the margin is two.

    >>> print(hang("gardner-laptop  CPU  Gardner's chess on two cores.", 40))
    gardner-laptop  CPU  Gardner's chess on
                         two cores.
    >>> print(hang("gardner-laptop  CPU  Gardner's chess on two cores.", 30))
    gardner-laptop  CPU  Gardner's
      chess on two cores.
    """

    def wrap(line: str) -> str:
        margin = line.rstrip().rfind("  ") + 2
        indent = " " * (margin if 2 < margin <= width * 2 // 3 else 2)
        return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)

    return "\n".join(wrap(line) for line in text.split("\n"))


class Fitted(NamedTuple):
    """The parts of a progress line that fit beside its clock."""

    label: str
    bar: int
    """Columns; 0 for none."""
    note: str


def fit(width: int, label: str, notes: Sequence[str], clock: int) -> Fitted:
    """Return what a line of `width` columns shows beside a clock of `clock` columns.

    `notes` are versions of one note, the longest first: the first that fits is taken, or else the last. Then the label
    is added if it fits, and a bar in the columns that are left.
    """
    from rich.cells import cell_len

    room = width - clock
    note = next((each for each in notes if cell_len(each) < room), notes[-1])
    room -= cell_len(note) + 1 if note else 0
    shown = label if label and cell_len(label) < room else ""
    room -= cell_len(shown) + 1 if shown else 0
    bar = min(WIDEST_BAR, room - 1)
    return Fitted(shown, bar if bar >= NARROWEST_BAR else 0, note)


def progress_line(console: Console) -> ProgressColumn:
    """Return the column of a rich progress bar that shows label, bar, note and elapsed time as far as they fit.

    The field `note` of a task is a text, or a list of texts for `fit` to choose from.
    """
    from rich.progress import BarColumn, ProgressColumn, TimeElapsedColumn
    from rich.table import Table
    from rich.text import Text

    clock = TimeElapsedColumn()

    class Line(ProgressColumn):
        def render(self, task: Task) -> Table:
            note, time = task.fields["note"], clock.render(task)
            shown = fit(console.width, task.description, [note] if isinstance(note, str) else note, time.cell_len)
            parts = [
                Text(shown.label) if shown.label else None,
                BarColumn(shown.bar).render(task) if shown.bar else None,
                Text(shown.note) if shown.note else None,
                time,
            ]
            line = Table.grid(padding=(0, 1))
            for part in parts:
                if part is not None:
                    line.add_column(no_wrap=True)
            line.add_row(*(part for part in parts if part is not None))
            return line

    return Line()


class QuietTerminal:
    """Switches the echo of a terminal off while a live display is shown.

    An echoed ^C or Enter moves the cursor, and the next refresh leaves a line of the last one behind. A process in the
    background does not change the terminal: it is not its own, and the change would stop the process (SIGTTOU).
    """

    def __init__(self, output: IO[str]) -> None:
        self._output = output
        self._before: list[Any] | None = None

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def begin(self) -> None:
        """Switch the echo off."""
        if self._before is None and (number := self._terminal()) is not None:
            self._before = termios.tcgetattr(number)
            changed = termios.tcgetattr(number)
            changed[3] &= ~termios.ECHO
            termios.tcsetattr(number, termios.TCSADRAIN, changed)

    def end(self) -> None:
        """Restore the terminal; a second call does nothing."""
        before, self._before = self._before, None
        if before is not None and (number := self._terminal()) is not None:
            termios.tcsetattr(number, termios.TCSADRAIN, before)

    def _terminal(self) -> int | None:
        """Return the file descriptor of the terminal, or None if there is none that this process may change."""
        try:
            number = self._output.fileno()
        except (OSError, ValueError, AttributeError):  # not a real file
            return None
        if not os.isatty(number):
            return None
        try:
            return number if os.tcgetpgrp(number) == os.getpgrp() else None
        except OSError:  # a terminal, but not the controlling one
            return number
