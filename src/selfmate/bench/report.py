"""Shared by all benchmarks: the report with its tables, lines and JSON, and the callback for progress."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from selfmate import _core
from selfmate.util.cpu import cores, processor_name
from selfmate.util.terminal import say

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["BenchReport", "BenchTable", "Tell", "load_note", "show"]

Tell = Callable[[int, int, str], None]
"""Called with the steps done, the steps in all, and the name of the step that begins."""


@dataclass(frozen=True, slots=True)
class BenchTable:
    """Rows of text under a title; the first `text_columns` columns are aligned to the left, numbers to the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1


@dataclass(frozen=True, slots=True)
class BenchReport:
    """The result of one benchmark: tables and lines to print, `values` for JSON."""

    tables: tuple[BenchTable, ...]
    lines: tuple[str, ...]
    values: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the values with the machine that they were measured on."""
        load = [round(each, 2) for each in os.getloadavg()]
        machine = {"core": _core.CORE, "processor": processor_name(), "cores": cores(), "load": load}
        return {"machine": machine, **self.values}


def load_note() -> str:
    """Return the load of the machine, averaged over a minute, as text: a figure under load is not comparable."""
    return f"load {os.getloadavg()[0]:.1f}"


def show(report: BenchReport, console: Console) -> None:
    """Print the tables of a report, then its lines."""
    from rich.table import Table

    for table in report.tables:
        console.print(table.title, highlight=False)
        shown = Table()
        for index, column in enumerate(table.columns):
            shown.add_column(column, justify="left" if index < table.text_columns else "right", overflow="fold")
        for row in table.rows:
            # A title may be wrapped where the terminal is narrow, "99.0 %" may not.
            shown.add_row(*(cell.replace(" %", "\N{NO-BREAK SPACE}%") for cell in row))
        console.print(shown)
    for line in report.lines:
        say(console, line)
