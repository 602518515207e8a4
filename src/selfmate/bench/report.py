"""The report of a benchmark: tables, lines and JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from selfmate import _core
from selfmate.util.cpu import cores, processor_name
from selfmate.util.terminal import say

if TYPE_CHECKING:
    from rich.console import Console


__all__ = ["BenchReport", "Table", "show"]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a title; the first column is words, the others are numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class BenchReport:
    """What one measurement found: tables and lines for people, `values` for programs."""

    tables: tuple[Table, ...]
    lines: tuple[str, ...]
    values: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Give the values, and on what they were measured."""
        load = [round(each, 2) for each in os.getloadavg()]
        machine = {"core": _core.CORE, "processor": processor_name(), "cores": cores(), "load": load}
        return {"machine": machine, **self.values}


def show(report: BenchReport, console: Console) -> None:
    """Print a report; the lines come last."""
    from rich.table import Table as RichTable

    for table in report.tables:
        console.print(table.title, highlight=False)
        shown = RichTable()
        for index, column in enumerate(table.columns):
            shown.add_column(column, justify="right" if index else "left", overflow="fold")
        for row in table.rows:
            # Titles may be wrapped where the terminal is narrow, "99.0 %" not.
            shown.add_row(*(cell.replace(" %", "\N{NO-BREAK SPACE}%") for cell in row))
        console.print(shown)
    for line in report.lines:
        say(console, line)
