"""Limits of a search, and what it found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from selfmate._core import Move, SearchResult
from selfmate.errors import SelfmateError

__all__ = ["Limit", "MoveResult", "PlayerError", "Result", "result_of"]


ENDLESS: Final = (1 << 32) - 1
"""Visits of a search that only something else ends."""


class PlayerError(SelfmateError):
    """A player that does not exist, or cannot play what it is asked to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """When a search ends: at the first of these. Seconds are looked at between batches of leaves.

    >>> Limit(visits=800)
    Limit(visits=800, seconds=None, nodes=None)
    >>> Limit()
    Traceback (most recent call last):
    ...
    selfmate.search.result.PlayerError: a limit needs visits, seconds or nodes
    """

    visits: int | None = None
    """Playouts."""
    seconds: float | None = None
    nodes: int | None = None
    """Positions in the tree."""

    def __post_init__(self) -> None:
        if self.visits is None and self.seconds is None and self.nodes is None:
            raise PlayerError("a limit needs visits, seconds or nodes")
        for name, number in (("visits", self.visits), ("nodes", self.nodes)):
            if number is not None and not 1 <= number <= ENDLESS:
                raise PlayerError(f"{name} of a limit go from 1 to {ENDLESS}, not {number}", str(number))
        if self.seconds is not None and not (self.seconds > 0 and math.isfinite(self.seconds)):
            raise PlayerError(f"seconds of a limit are more than nothing, not {self.seconds}", str(self.seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveResult:
    """What a search found out about one move."""

    move: Move
    visits: int
    value: float
    """For the side to move at the root, -1 to 1."""
    draw: float
    """Probability of a draw."""
    prior: float
    proven: int | None
    pv: tuple[Move, ...]
    """The line that is expected, with this move first."""
    net_value: float | None = None
    """What the evaluator alone says of the position behind it, seen as `value` is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a search found; value and wdl are those of the side to move."""

    best: Move
    value: float
    """Win minus loss, -1 to 1."""
    wdl: tuple[float, float, float]
    """Probabilities of win, draw and loss."""
    proven: int | None
    """Plies to a forced win (positive) or loss (negative), 0 for a draw, None while nothing is proven."""
    pv: tuple[Move, ...]
    moves: tuple[MoveResult, ...]
    """Every legal move, the best first."""
    visits: int
    nodes: int
    """Positions in the tree."""
    seconds: float
    depth: float
    """Mean length of the playouts."""
    seldepth: int
    """The longest one."""
    net_value: float | None = None
    """What the evaluator alone says of the position."""

    @property
    def nodes_per_second(self) -> float:
        """How fast the tree grew."""
        return self.nodes / self.seconds if self.seconds else 0.0


def result_of(found: SearchResult, seconds: float) -> Result:
    """Give what a search of the core found."""
    moves = tuple(
        MoveResult(
            move=stats.move,
            visits=stats.visits,
            value=stats.value,
            draw=stats.draw,
            prior=stats.prior,
            proven=stats.proven,
            pv=tuple(stats.pv),
            net_value=stats.net_value,
        )
        for stats in found.moves
    )
    return Result(
        best=found.best,
        value=found.value,
        wdl=found.wdl,
        proven=found.proven,
        pv=tuple(found.pv),
        moves=moves,
        visits=found.visits,
        nodes=found.nodes,
        seconds=seconds,
        depth=found.depth,
        seldepth=found.seldepth,
        net_value=found.net_value,
    )
