"""Shared by the measurements of this folder: arguments, facts about the machine, tables.

Only the standard library is imported, because pgx_mctx.py runs where Selfmate is not installed.

>>> print(table(("game", "moves/s"), [("chess", 1786)]))
| game | moves/s |
|---|---|
| chess | 1,786 |
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["Parser", "counts", "machine", "names", "positive", "refuse", "say", "seconds", "table", "write"]


def refuse(message: str) -> NoReturn:
    """Print one line to standard error and exit with code 2."""
    print(f"{Path(sys.argv[0]).name}: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(2)


def say(message: str) -> None:
    """Print progress to standard error; standard output is for the report."""
    print(message, file=sys.stderr, flush=True)


class Parser(argparse.ArgumentParser):
    """A parser that keeps the line breaks of the description and prints errors as one line."""

    def __init__(self, description: str | None) -> None:
        super().__init__(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        """Exit with the message."""
        refuse(message)


def positive(text: str) -> int:
    """Parse a whole number of at least one, for `type=` of an argument."""
    number = int(text) if text.isdecimal() and len(text) < 10 else 0
    if not number:
        raise argparse.ArgumentTypeError(f"a whole number from 1 on is wanted, not {text!r}")
    return number


def counts(text: str) -> tuple[int, ...]:
    """Parse such numbers separated by commas.

    >>> counts("1024,4096")
    (1024, 4096)
    """
    return tuple(positive(part) for part in text.split(","))


def seconds(text: str) -> float:
    """Parse a time in seconds, above 0 and at most 3600."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 3600:
        raise argparse.ArgumentTypeError(f"seconds from more than 0 to 3600 are wanted, not {text!r}")
    return number


def names(known: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of known names separated by commas."""
    known = tuple(known)

    def read(text: str) -> tuple[str, ...]:
        chosen = tuple(text.split(","))
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is not known; there are {', '.join(known)}")
        return chosen

    return read


def machine() -> dict[str, Any]:
    """Return when and on what the measurement ran."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "gpu": _gpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": [round(each, 2) for each in os.getloadavg()],
        "python": platform.python_version(),
    }


def _gpu() -> str | None:
    """Return the name of the first GPU, or None, without loading a library that would allocate its memory."""
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.splitlines()[0] if answer.strip() else None


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; integers with thousands separators, other numbers rounded to about four digits."""
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(map(_shown, row))} |" for row in rows]
    return "\n".join(lines)


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.1f}" if abs(value) >= 100 else f"{value:,.2f}"
    return str(value)


def write(values: dict[str, Any], path: str | None) -> None:
    """Write values as JSON to a file; `-` is standard output, None writes nothing."""
    text = json.dumps(values, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
    elif path is not None:
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            refuse(f"{path}: {error.strerror}")
