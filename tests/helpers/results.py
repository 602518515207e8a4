"""Made-up search results."""

from __future__ import annotations

from selfmate import Move
from selfmate.search.result import MoveResult, Result

MOVES = [Move.from_uci(uci) for uci in ("e2e4", "d2d4", "g1f3", "c2c4")]


def result(visits: list[int], *, value: float = 0.0, proven: list[int | None] | None = None) -> Result:
    """Return a result with these visits by move; the first move is the best."""
    moves = tuple(
        MoveResult(move=move, visits=count, value=value, draw=0.2, prior=0.25, proven=known, pv=(move,))
        for move, count, known in zip(MOVES, visits, proven or [None] * len(visits), strict=False)
    )
    return Result(
        best=moves[0].move,
        value=value,
        wdl=(0.4 + value / 2, 0.2, 0.4 - value / 2),
        proven=None,
        pv=moves[0].pv,
        moves=moves,
        visits=sum(visits),
        nodes=sum(visits),
        seconds=1.0,
        depth=3.0,
        seldepth=7,
    )
