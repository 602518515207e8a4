"""`selfmate doctor`: what this machine can do, and what is missing."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import typer

from selfmate.cli.common import Json, pip_line
from selfmate.util.text import many

if TYPE_CHECKING:
    from selfmate.cli.diagnosis import Diagnosis, Engine, Folder, Package

__all__ = ["doctor", "report"]

INDENT: Final = 20
"""Columns before the text of a row: two spaces and its name."""
PIP: Final = re.compile(r"pip install '[^']*'")
"""Commands to copy, which are kept on one line."""
NO_BREAK: Final = "\0"
"""Stands for a space at which no line ends."""
WIDEST: Final = 100
"""Columns of a line at most; the width of the terminal where it is narrower."""


def doctor(as_json: Json = False) -> None:
    """Report what this machine can do: processor, memory, GPU, backends, engines, nets; and how to add what is missing.

    The exit code is 0, or 1 if something that is always needed is broken.

    Example: selfmate doctor
    """
    import shutil

    import msgspec

    from selfmate.cli.diagnosis import diagnose

    found = diagnose()
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        print(report(found, shutil.get_terminal_size().columns))
    if found.problems:
        raise typer.Exit(1)


def report(found: Diagnosis, columns: int) -> str:
    """Return a diagnosis as text, in sections of rows, that fits a number of columns where its words do."""
    lines = []
    for section, rows in _sections(found):
        lines += ["", section]
        for name, text in rows:
            lines += textwrap.wrap(
                PIP.sub(lambda line: line[0].replace(" ", NO_BREAK), text or name),
                max(min(columns, WIDEST), INDENT + 20),
                initial_indent=f"  {name} ".ljust(INDENT) if text else "  ",
                subsequent_indent=" " * (INDENT if text else 2),
                break_long_words=False,
                break_on_hyphens=False,
            )
    return "\n".join(lines[1:]).replace(NO_BREAK, " ")


Rows = list[tuple[str, str]]
"""Rows of a section: name and text."""


def _sections(found: Diagnosis) -> Iterator[tuple[str, Rows]]:
    """Yield the heading and the rows of each section."""
    yield "Build", _build_rows(found)
    yield "Machine", _machine_rows(found)
    yield "Backends that compute nets", [(each.name, _state(each.state, each.note)) for each in found.backends]
    yield "Packages", _package_rows(found)
    yield "Engines of other projects, for matches and the ladder", _engine_rows(found)
    yield "Shipped nets", [(each.name, f"{each.variant}, {each.state}") for each in found.nets]
    yield "Folder of runs", [(_runs(found.runs), "")]
    yield "Problems", [(each, "") for each in found.problems] or [("none", "")]


def _build_rows(found: Diagnosis) -> Rows:
    build = found.build
    others = [core for core in found.machine.runs_cores if core != build.core]
    also = f"; this processor also runs {' and '.join(others)}" if others else ""
    return [
        ("selfmate", build.version + (f", commit {build.commit}" if build.commit else "")),
        ("core", f"{build.core}, compiled by {build.compiler}{also}"),
        ("Python", build.python),
    ]


def _machine_rows(found: Diagnosis) -> Rows:
    machine, graphics = found.machine, found.graphics
    memory = f"{_gib(machine.memory_bytes)}, {_gib(machine.available_bytes)} available"
    gpus = [f"{gpu.name}, {_gib(gpu.memory_bytes)}" for gpu in graphics.gpus] or [f"none: {graphics.reason}"]
    return [
        ("system", machine.system),
        ("processor", f"{machine.processor}, {many(machine.cores, 'core')} for this process"),
        ("kernels", f"{machine.kernels} (of base, avx2, avx512)"),
        ("memory", memory if machine.memory_bytes else "unknown"),
        *(("GPU", gpu) for gpu in gpus),
    ]


def _package_rows(found: Diagnosis) -> Rows:
    """Return one row for what is always needed, and one for each extra."""
    rows = []
    for extra in sorted({each.extra for each in found.packages}):
        packages = [each for each in found.packages if each.extra == extra]
        text = ", ".join(_package(each) for each in packages)
        if extra in found.missing_extras:
            text += f"; to install: {pip_line(extra)}"
        rows.append((f"[{extra}]" if extra else "needed", text))
    return rows


def _package(package: Package) -> str:
    if package.state == "ready":
        return f"{package.name} {package.version}"
    if package.version:
        return f"{package.name} {package.version} (too old: needs {package.needed})"
    return f"{package.name} missing"


def _engine_rows(found: Diagnosis) -> Rows:
    stockfish, fairies = found.stockfish, found.fairy_stockfish
    return [
        ("stockfish", "not found on PATH (Debian: apt install stockfish)" if stockfish is None else _engine(stockfish)),
        *(("fairy-stockfish", _engine(each)) for each in fairies),
        *([] if fairies else [("fairy-stockfish", "not found on PATH; selfmate ladder --build-engine builds it")]),
    ]


def _engine(engine: Engine) -> str:
    where = shlex.join(engine.command)
    return f"{engine.name} ({where})" if engine.state == "ready" else f"broken: {where}: {engine.name}"


def _runs(folder: Folder) -> str:
    if folder.writable:
        return f"{folder.path}: writable, {_gib(folder.free_bytes)} free"
    return f"{folder.path}: not writable ({folder.reason}); name another with --run"


def _state(state: str, note: str) -> str:
    return f"{state}: {note}" if note else state


def _gib(count: int) -> str:
    return f"{count / 2**30:.1f} GiB"
