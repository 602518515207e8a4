"""Perft: count the leaves of the game tree to a depth, and check a suite of known counts.

Equal counts show that a move generator is right; `divide` finds the move below which it is wrong.

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

__all__ = ["PerftResult", "check_line", "check_suite", "deepest_depth", "divide"]


@dataclass(frozen=True, slots=True)
class PerftResult:
    """The count of one line of a suite at one depth, beside the listed one."""

    line: PerftLine
    depth: int
    expected: int
    counted: int

    @property
    def is_right(self) -> bool:
        """Whether the count equals the listed one."""
        return self.expected == self.counted


def divide(position: Position, depth: int, threads: int = 1) -> Iterator[tuple[str, int]]:
    """Yield (UCI move, leaves below it) for each legal move in alphabetical order, as they are counted.

    >>> from selfmate import Position
    >>> dict(divide(Position("gardner"), 2))["b1a3"]
    7
    """
    for uci, move in sorted(((position.uci(move), move) for move in position.legal_moves), key=lambda pair: pair[0]):
        after = position.copy()
        after.play(move)
        yield uci, after.perft(depth - 1, threads)


def deepest_depth(line: PerftLine, max_nodes: int | None = None) -> int | None:
    """Return the deepest depth that `line` lists with at most `max_nodes` leaves, or None if there is none.

    >>> line = PerftLine("8/8/8/8/8/8/8/8 w - - 0 1", ((1, 20), (2, 400), (3, 8902)), 1, "")
    >>> deepest_depth(line), deepest_depth(line, 1000), deepest_depth(line, 19)
    (3, 2, None)
    """
    depths = [depth for depth, nodes in line.nodes if max_nodes is None or nodes <= max_nodes]
    return max(depths, default=None)


def check_line(variant: str, line: PerftLine, depth: int, threads: int = 1) -> PerftResult:
    """Count one line of a suite at one of its listed depths. Raises `EpdError` for a position that cannot be set up.

    Positions are read leniently: a suite may contain unreachable ones, such as with a king that could be captured.

    >>> check_line("chess", PerftLine("8/8/8/8/8/8/8/8 w - - 0 1", ((1, 20),), 7, ""), 1)
    Traceback (most recent call last):
    ...
    selfmate.errors.EpdError: line 7: the board is empty
    """
    try:
        position = Position(variant, line.fen, lenient=True)
    except (FenError, SetupError) as error:
        raise EpdError(str(error), error.part, line.number) from error
    return PerftResult(line, depth, dict(line.nodes)[depth], position.perft(depth, threads))


def check_suite(
    variant: str, lines: Iterable[PerftLine], *, max_nodes: int | None = None, threads: int = 1
) -> Iterator[PerftResult]:
    """Yield the result of each line at its deepest depth within `max_nodes`; lines without one are left out.

    A line with a wrong count is counted again from its shallowest depth up, and the result is that of the first wrong
    depth, where `divide` has the fewest moves to compare.

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
