"""What is as wide as the terminal: lines that break between words, and a line of progress that loses nothing it needs.

>>> fit(40, "arena", ["7 of 9 games, 64.3 % (+4 =1 -2)", "7 of 9 games"], 7)
Fitted(label='', bar=0, note='7 of 9 games, 64.3 % (+4 =1 -2)')
>>> fit(36, "arena", ["7 of 9 games, 64.3 % (+4 =1 -2)", "7 of 9 games"], 7)
Fitted(label='arena', bar=9, note='7 of 9 games')
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn, Task
    from rich.table import Table
import os
import termios
from typing import IO, TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.console import Console


__all__ = ["Fitted", "QuietTerminal", "fit", "progress_line", "say"]


WIDEST_BAR: Final = 40


NARROWEST_BAR: Final = 4
"""A shorter one shows nothing, and is left out."""


def say(console: Console, text: str) -> None:
    """Print a text as it is: in a terminal its lines break between words, elsewhere it stays one line.

    What is longer than a line, such as a path, is left to the terminal, so that it can be copied.
    """
    from rich.text import Text

    if console.is_terminal:
        wrap = functools.partial(textwrap.fill, width=console.width, break_long_words=False, break_on_hyphens=False)
        text = "\n".join(wrap(line) for line in text.split("\n"))
    console.print(Text(text), soft_wrap=True)


class Fitted(NamedTuple):
    """What a line of progress has room for, beside its clock."""

    label: str
    bar: int
    """Columns; 0 for none."""
    note: str


def fit(width: int, label: str, notes: Sequence[str], clock: int) -> Fitted:
    """Choose what a line of `width` columns shows beside a clock of `clock` columns.

    `notes` say the same in fewer and fewer words. The first that has room is taken, or else the last; then the label,
    and a bar of what is left.
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
    """Make the one column of a progress bar: label, bar, note and the time since it began, as far as there is room.

    The field `note` of a task is a text, or several for `fit` to choose from.
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
    """A terminal that does not echo what is typed, while a picture stands in it.

    An echoed ^C or Enter moves the cursor, and the next picture leaves a line of the last one behind. A process in the
    background leaves the terminal alone: it belongs to somebody else, and touching it would stop the process.
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
        if self._before is None and (number := self._ours()) is not None:
            self._before = termios.tcgetattr(number)
            changed = termios.tcgetattr(number)
            changed[3] &= ~termios.ECHO
            termios.tcsetattr(number, termios.TCSADRAIN, changed)

    def end(self) -> None:
        """Make the terminal as it was; a second call does nothing."""
        before, self._before = self._before, None
        if before is not None and (number := self._ours()) is not None:
            termios.tcsetattr(number, termios.TCSADRAIN, before)

    def _ours(self) -> int | None:
        """Give the file number of the terminal if we may change it."""
        try:
            number = self._output.fileno()
        except (OSError, ValueError, AttributeError):  # not a real file
            return None
        if not os.isatty(number):
            return None
        try:
            return number if os.tcgetpgrp(number) == os.getpgrp() else None
        except OSError:  # a terminal, but not the one that we were started from
            return number
