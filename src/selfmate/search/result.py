"""What a search found."""

from __future__ import annotations

from dataclasses import dataclass

from selfmate._core import Move, SearchResult

__all__ = ["MoveResult", "Result", "result_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveResult:
    """What a search found about one move at the root."""

    move: Move
    visits: int
    value: float
    """For the side to move at the root, -1 to 1."""
    draw: float
    """Probability of a draw."""
    prior: float
    proven: int | None
    pv: tuple[Move, ...]
    """The expected line, with this move first."""
    net_value: float | None = None
    """The evaluator's own value of the position after the move, for the same side as `value`, whatever the search has
    proven since; None where the evaluator was not asked: the move has no visit, or the rules decide the position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a search found; value and wdl are for the side to move."""

    best: Move
    value: float
    """Win minus loss, -1 to 1."""
    wdl: tuple[float, float, float]
    """Probabilities of win, draw and loss."""
    proven: int | None
    """Plies to a forced win (positive) or loss (negative), 0 for a draw, None if nothing is proven."""
    pv: tuple[Move, ...]
    moves: tuple[MoveResult, ...]
    """Every legal move: best move first, then by visits; proven losses last."""
    visits: int
    nodes: int
    """Positions in the tree."""
    seconds: float
    depth: float
    """Mean length of the playouts."""
    seldepth: int
    """Length of the longest playout."""
    net_value: float | None = None
    """The evaluator's own value of the position, before any search; None where the evaluator was not asked, because the
    rules decide the position: a move wins at once, or every move ends the game."""

    @property
    def nodes_per_second(self) -> float:
        """Growth of the tree."""
        return self.nodes / self.seconds if self.seconds else 0.0


def result_of(found: SearchResult, seconds: float) -> Result:
    """Return the Python form of a result of the core."""
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
