"""Marks of moves (`?!`, `?`, `??`), given only where several searches confirm the loss.

One search of a few hundred visits is no evidence: its value of a quiet move swings by more than the least loss of a
mark. So a move is marked by the least loss that four searches see:

1. the player's own search of the positions before and after the move,
2. a search of both by `heuristic-1`, the checker, which is fast: it looks at far more positions than a net,
3. the player's search of the position after the best move and of that after the played one, with more visits,
4. the checker's search of these two, with more visits.

A step is taken only if the steps before it see a loss, so most moves cost no more than the first two. How often marks
are right was measured against Stockfish: docs/results/analysis.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from selfmate._core import Move
from selfmate.app.analysis_json import Mark
from selfmate.board.position import Position
from selfmate.search.config import play_config
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.result import Result
from selfmate.search.spec import RANDOM
from selfmate.search.tree_session import TreeSession

__all__ = ["MoveCheck", "Searcher", "mark_of", "outcome_value"]

CHECKER: Final = "heuristic-1"
CHECKER_VISITS: Final = 20_000
"""About 60 ms on one core."""
MORE: Final = 4
"""The searches that confirm a loss have this many times the visits or seconds of the first ones."""
MARKS: Final[tuple[tuple[float, Mark], ...]] = ((0.6, "??"), (0.4, "?"), (0.3, "?!"))
"""Least confirmed loss of value for each mark."""


def mark_of(confirmed: float | None) -> Mark:
    """Return the mark of a move by its confirmed loss; None: it was not checked.

    >>> mark_of(0.7), mark_of(0.1), mark_of(None)
    ('??', '', '')
    """
    return "" if confirmed is None else next((mark for least, mark in MARKS if confirmed >= least), "")


def outcome_value(position: Position) -> float | None:
    """Return the value of a position that is over for the side to move (-1, 0 or 1); None if it is not over."""
    outcome = position.outcome()
    if outcome is None:
        return None
    return 0.0 if outcome.winner is None else 1.0 if outcome.winner == position.turn else -1.0


class Searcher:
    """Searches positions one after another; a net's evaluations are kept for the next search, its tree is not."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._session = None if player.evaluator == RANDOM else TreeSession(player.evaluator)

    def search(self, position: Position, limit: Limit) -> Result:
        """Return the search of a position; the same limit gives the same result as `Player.search`."""
        if self._session is None:
            return self._player.search(position, limit)
        self._player.check(position.variant)
        self._session.forget()
        self._session.begin(position, limit, config=play_config())
        return self._session.run()

    def value(self, position: Position, limit: Limit) -> float:
        """Return the value of a position for the side to move, by the rules or by a search."""
        over = outcome_value(position)
        return self.search(position, limit).moves[0].value if over is None else over


class MoveCheck:
    """Confirms the losses of moves that a player played, by searches of the player and of the checker."""

    def __init__(self, searcher: Searcher, limit: Limit) -> None:
        self._searcher = searcher
        self._checker = Searcher(Player(CHECKER))
        self._more = Limit(visits=limit.visits and limit.visits * MORE, seconds=limit.seconds and limit.seconds * MORE)

    def losses(self, before: Position, best: Move, played: Move, lost: float) -> Iterator[float]:
        """Yield the loss of `played` against `best` that each search sees, beginning with the player's own, `lost`."""
        # 1. The player's own
        yield lost
        after_best, after = _after(before, best), _after(before, played)
        # 2. The checker's, of the same positions
        limit = Limit(visits=CHECKER_VISITS)
        yield self._checker.value(before, limit) + self._checker.value(after, limit)
        # 3. and 4. Both moves with more visits
        more = Limit(visits=CHECKER_VISITS * MORE)
        yield self._checker.value(after, more) - self._checker.value(after_best, more)
        yield self._searcher.value(after, self._more) - self._searcher.value(after_best, self._more)

    def confirmed(self, before: Position, best: Move, played: Move, lost: float) -> float:
        """Return the least loss that a search sees; it ends with the first that sees too little for a mark."""
        least = lost
        for loss in self.losses(before, best, played, lost):
            least = min(least, loss)
            if not mark_of(least):
                break
        return max(0.0, least)


def _after(position: Position, move: Move) -> Position:
    after = position.copy()
    after.play(move)
    return after
