"""Perft: count the leaves of the game tree, and check a file of known counts.

A generator that counts right is a generator that is right; `divide` finds where one is wrong.

>>> from selfmate import Position
>>> sum(nodes for _, nodes in divide(Position("atomic"), 3))
8902
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from selfmate._core import Position
from selfmate.board.epd import PerftLine
from selfmate.errors import EpdError, FenError, SetupError

__all__ = ["LineResult", "check_line", "check_suite", "deepest_depth", "divide"]


@dataclass(frozen=True, slots=True)
class LineResult:
    """What one line of a suite gave: its deepest depth within the budget, and the count listed and found there."""

    line: PerftLine
    depth: int
    expected: int
    counted: int

    @property
    def is_right(self) -> bool:
        """Whether the count is the listed one."""
        return self.expected == self.counted


def divide(position: Position, depth: int, threads: int = 1) -> Iterator[tuple[str, int]]:
    """Yield each legal move in UCI, in alphabetical order, with the number of leaves behind it, as they are counted.

    >>> from selfmate import Position
    >>> dict(divide(Position("gardner"), 2))["b1a3"]
    7
    """
    for uci, move in sorted(((position.uci(move), move) for move in position.legal_moves), key=lambda pair: pair[0]):
        after = position.copy()
        after.play(move)
        yield uci, after.perft(depth - 1, threads)


def deepest_depth(line: PerftLine, max_nodes: int | None = None) -> int | None:
    """Give the deepest depth that `line` lists within `max_nodes`, or None when there is none.

    >>> line = PerftLine("8/8/8/8/8/8/8/8 w - - 0 1", ((1, 20), (2, 400), (3, 8902)), 1, "")
    >>> deepest_depth(line), deepest_depth(line, 1000), deepest_depth(line, 19)
    (3, 2, None)
    """
    depths = [depth for depth, nodes in line.nodes if max_nodes is None or nodes <= max_nodes]
    return max(depths, default=None)


def check_line(variant: str, line: PerftLine, depth: int, threads: int = 1) -> LineResult:
    """Count one line of a suite at one of its listed depths.

    A suite may hold positions that no game reaches, such as one whose mover could take the king.

    >>> check_line("chess", PerftLine("8/8/8/8/8/8/8/8 w - - 0 1", ((1, 20),), 7, ""), 1)
    Traceback (most recent call last):
    ...
    selfmate.errors.EpdError: line 7: the board is empty
    """
    try:
        position = Position(variant, line.fen, lenient=True)
    except (FenError, SetupError) as error:
        raise EpdError(str(error), error.part, line.number) from error
    return LineResult(line, depth, dict(line.nodes)[depth], position.perft(depth, threads))


def check_suite(
    variant: str, lines: Iterable[PerftLine], *, max_nodes: int | None = None, threads: int = 1
) -> Iterator[LineResult]:
    """Yield the result of each line, to its deepest depth within `max_nodes`; lines without one are left out.

    A line that is wrong there is counted again from its shallowest depth up, so that its result names the first depth
    that is wrong: the shorter divide is the one to read.

    >>> line = PerftLine("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", ((1, 6), (2, 999)), 1, "")
    >>> [(result.depth, result.counted, result.is_right) for result in check_suite("chess", [line])]
    [(2, 30, False)]
    """
    for line in lines:
        depth = deepest_depth(line, max_nodes)
        if depth is None:
            continue
        result = check_line(variant, line, depth, threads)
        for shallower, _ in line.nodes:
            if result.is_right or shallower >= depth:
                break
            first = check_line(variant, line, shallower, threads)
            if not first.is_right:
                result = first
                break
        yield result
