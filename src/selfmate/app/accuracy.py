"""Accuracy of moves and players, and its graphs: a line of blocks for the terminal, a picture in SVG.

>>> summary = GameSummary(1, "Anna", "Ben")
>>> summary.add(white=True, number=1, white_value=0.1, accuracy=100.0, mark="")
>>> summary.add(white=False, number=1, white_value=0.9, accuracy=move_accuracy(0.8), mark="??")
>>> [(side.name, side.moves, round(side.accuracy), side.marks["??"]) for side in (summary.white, summary.black)]
[('Anna', 1, 100, 0), ('Ben', 1, 15, 1)]
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from selfmate.util.svg_chart import Panel, ReferenceLine, Series, draw

__all__ = ["GameSummary", "SideSummary", "graph", "move_accuracy", "sparkline"]

BLOCKS: Final = "▁▂▃▄▅▆▇█"


def move_accuracy(lost: float) -> float:
    """Return the accuracy of a move in percent, from the value that it lost (0 to 2).

    Lichess's formula, fitted to games of people, with half the value as the chance to win.

    >>> [round(move_accuracy(lost)) for lost in (0.0, 0.1, 0.5, 2.0)]
    [100, 80, 32, 0]
    """
    return min(100.0, max(0.0, 103.1668 * math.exp(-0.04354 * 50 * lost) - 3.1669))


@dataclass(slots=True)
class SideSummary:
    """The moves of one player."""

    name: str
    moves: int = 0
    total: float = 0.0
    """Sum of the accuracies of the moves."""
    marks: Counter[str] = field(default_factory=Counter)

    @property
    def accuracy(self) -> float | None:
        """Mean accuracy of the moves in percent; None without moves."""
        return self.total / self.moves if self.moves else None

    def add(self, accuracy: float, mark: str) -> None:
        """Count a move."""
        self.moves += 1
        self.total += accuracy
        if mark:
            self.marks[mark] += 1

    def merge(self, other: SideSummary) -> None:
        """Add the moves of another game."""
        self.moves += other.moves
        self.total += other.total
        self.marks += other.marks


class GameSummary:
    """The course of a game: the value after every move for White, and the accuracy of every move of each side."""

    def __init__(self, number: int, white: str, black: str) -> None:
        self.number = number
        self.white, self.black = SideSummary(white), SideSummary(black)
        self.values: list[tuple[float, float]] = []
        """(move number, value for White) after every move; Black's moves stand at halves."""
        self.accuracies: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        """(move number, accuracy) of every move of White (True) and Black."""

    def add(self, *, white: bool, number: int, white_value: float, accuracy: float, mark: str) -> None:
        """Count a move; `white` is the side that played it, `number` its number as in PGN."""
        (self.white if white else self.black).add(accuracy, mark)
        at = number if white else number + 0.5
        self.values.append((at, white_value))
        self.accuracies[white].append((at, accuracy))


def sparkline(values: Sequence[float], low: float, high: float, width: int) -> str:
    """Return values as a line of at most `width` blocks, from `low` (lowest block) to `high`; several share a block.

    Of the values that share a block the one farthest from the middle is drawn, so that no swing is lost.

    >>> sparkline([-1, 0, 1], -1, 1, 20), sparkline([0] * 40 + [1] * 40, 0, 1, 8), sparkline([], 0, 1, 8)
    ('▁▅█', '▁▁▁▁████', '')
    """
    count = min(len(values), max(1, width))
    middle = (low + high) / 2
    blocks = []
    for index in range(count):
        shared = values[index * len(values) // count : (index + 1) * len(values) // count]
        value = max(shared, key=lambda each: abs(each - middle))
        share = min(1.0, max(0.0, (value - low) / (high - low)))
        blocks.append(BLOCKS[min(len(BLOCKS) - 1, int(share * len(BLOCKS)))])
    return "".join(blocks)


def graph(summary: GameSummary) -> str:
    """Return a picture of a game as SVG: the value for White, and the accuracy of the moves of each player."""
    value = Panel(
        f"Value for White: {summary.white.name} - {summary.black.name}",
        (Series("value", summary.values),),
        (ReferenceLine("White wins", 1.0), ReferenceLine("even", 0.0), ReferenceLine("Black wins", -1.0)),
    )
    sides = [
        Series(f"{color} {side.accuracy:.1f} %", summary.accuracies[color == "White"])
        for color, side in (("White", summary.white), ("Black", summary.black))
        if side.accuracy is not None
    ]
    accuracy = Panel("Accuracy of each move in percent", sides, (ReferenceLine("", 100.0), ReferenceLine("", 0.0)))
    return draw([value, accuracy], "move")
