"""Perft suites as other projects write them: `.perft` files, Fairy-Stockfish's `perft.sh`, tables of chessops."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from selfmate import VARIANTS, Position

__all__ = ["Count", "Suite", "read_suites"]

# File and variant names of other projects; what is not here is a variant that Selfmate does not have.
NAMES = {name: name for name in VARIANTS} | {
    "chess": "chess",
    "random": "chess960",  # their rights are those of chess, and Chess960 reads these too
    "tricky": "chess960",
    "chess960": "chess960",
    "giveaway": "antichess",
    "threecheck": "3check",
    "minichess": "gardner",
}
TABLE_OF_CHESSOPS = {"tricky": "chess960", "random": "chess960"}

PERFT_SH = re.compile(r'expect perft\.exp (\S+) (?:(startpos)|"fen ([^"]+)") ([0-9]+) ([0-9]+)( true)?')
TABLE = re.compile(r"const (\w+)\s*:[^=]*=\s*\[(.*?)\n\];", re.DOTALL)
ROW = re.compile(r"\[\s*((?:'[^']*',\s*){2,3})((?:[0-9]+|skip)(?:,\s*(?:[0-9]+|skip))*)\s*,?\s*\]")


class Count(NamedTuple):
    """A position and its numbers of leaves by depth."""

    fen: str
    nodes: dict[int, int]


class Suite(NamedTuple):
    """The positions of a file for one variant."""

    variant: str
    counts: list[Count]


def read_suites(path: Path) -> Iterator[Suite]:
    """Yield the suites of a file, one per variant."""
    text = path.read_text(encoding="utf-8", errors="replace")
    read = {".perft": _perft_file, ".sh": _perft_sh, ".ts": _chessops}[path.suffix]
    found: dict[str, list[Count]] = defaultdict(list)
    for variant, count in read(path.stem, text):
        found[variant].append(count)
    for variant, counts in found.items():
        yield Suite(variant, counts)


def _with_960(variant: str) -> str:
    """Return the variant with Chess960 castling, where there is one: these projects read both alike."""
    return f"{variant}960" if variant in ("chess", "atomic") else variant


def _perft_file(stem: str, text: str) -> Iterator[tuple[str, Count]]:
    """Read `id NAME`, `epd FEN`, `perft DEPTH NODES`."""
    if stem not in NAMES:
        return
    variant = _with_960(NAMES[stem])
    count = Count("", {})
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "epd":
            count = Count(rest.strip(), {})
            yield variant, count
        elif word == "perft":
            depth, nodes = rest.split()
            count.nodes[int(depth)] = int(nodes)


def _perft_sh(stem: str, text: str) -> Iterator[tuple[str, Count]]:
    """Read the lines that call `perft.exp` with a variant of ours."""
    for name, start, fen, depth, nodes, shuffled in PERFT_SH.findall(text):
        if name in NAMES:
            variant = _with_960(NAMES[name]) if shuffled else NAMES[name]
            yield variant, Count(Position(variant).fen() if start else fen, {int(depth): int(nodes)})


def _chessops(stem: str, text: str) -> Iterator[tuple[str, Count]]:
    """Read tables of `[variant, name, FEN, nodes...]` and `[name, FEN, nodes...]`."""
    for table, rows in TABLE.findall(text):
        for words, numbers in ROW.findall(rows):
            fields = re.findall(r"'([^']*)'", words)
            name = fields[0] if len(fields) == 3 else TABLE_OF_CHESSOPS.get(table, "")
            nodes = {depth: int(n) for depth, n in enumerate(numbers.replace(" ", "").split(","), 1) if n.isdecimal()}
            if name.removesuffix("960") in NAMES:
                yield _with_960(name), Count(fields[-1], nodes)
