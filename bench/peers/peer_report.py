"""What the measurements of this folder share: how they are called, where they ran, and how they are shown.

It needs nothing but Python itself, for one of them runs where Selfmate is not installed.

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
    """Say in one line what is wrong, and leave with exit code 2."""
    print(f"{Path(sys.argv[0]).name}: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(2)


def say(message: str) -> None:
    """Tell a person who waits; standard output is for the report alone."""
    print(message, file=sys.stderr, flush=True)


class Parser(argparse.ArgumentParser):
    """A parser that shows a module's own text as its help, and whose errors are one line."""

    def __init__(self, description: str | None) -> None:
        super().__init__(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        """Refuse what was given."""
        refuse(message)


def positive(text: str) -> int:
    """Read a whole number of at least one, for `type=` of an argument."""
    number = int(text) if text.isdecimal() and len(text) < 10 else 0
    if not number:
        raise argparse.ArgumentTypeError(f"a whole number from 1 on is wanted, not {text!r}")
    return number


def counts(text: str) -> tuple[int, ...]:
    """Read such numbers with commas between.

    >>> counts("1024,4096")
    (1024, 4096)
    """
    return tuple(positive(part) for part in text.split(","))


def seconds(text: str) -> float:
    """Read a time of more than nothing, an hour at most."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 3600:
        raise argparse.ArgumentTypeError(f"seconds from more than 0 to 3600 are wanted, not {text!r}")
    return number


def names(known: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """Give a reader of known names with commas between."""
    known = tuple(known)

    def read(text: str) -> tuple[str, ...]:
        chosen = tuple(text.split(","))
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is not known; there are {', '.join(known)}")
        return chosen

    return read


def machine() -> dict[str, Any]:
    """Say where and when it was measured."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "gpu": _gpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": [round(each, 2) for each in os.getloadavg()],
        "python": platform.python_version(),
    }


def _gpu() -> str | None:
    """Name the first GPU, without loading anything that would take its memory."""
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.splitlines()[0] if answer.strip() else None


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table in Markdown; whole numbers get commas, others two digits or three."""
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
    """Write values as JSON to a file; `-` is standard output, None is nowhere."""
    text = json.dumps(values, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
    elif path is not None:
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            refuse(f"{path}: {error.strerror}")
