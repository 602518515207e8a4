"""Marks of moves (`?!`, `?`, `??`), given only where several searches confirm the loss.

One search of a few hundred visits is no evidence: its value of a quiet move swings by more than the least loss of a
mark. So a move is marked by the least loss that these searches see, each on its scale from -1 to 1:

1. an alpha-beta search of both moves, the played one and the best one, to a small depth,
2. the same, deeper: a loss that ends with the horizon of the first search is gone here,
3. a search by the judge of the positions after both moves. The judge is the net that plays, or else the shipped net of
   the variant, even if it is not the player because `heuristic-1` is stronger in equal time; without one, the player.

Alpha-beta looks at a hundred thousand positions in the time in which a net looks at fifty, and its score is that of one
line; the net judges what is not material. A step is taken only if the steps before it see a loss. How often marks are
right was measured against Stockfish: docs/results/analysis.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from selfmate._core import Move, alpha_beta
from selfmate.app.analysis_json import Mark
from selfmate.board.position import Position
from selfmate.search.config import play_config
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.result import Result
from selfmate.search.spec import RANDOM
from selfmate.search.tree_session import TreeSession

__all__ = ["Confirmation", "MoveCheck", "Searcher", "mark_of", "outcome_value", "value_of_score"]

SHALLOW: Final = (7, 300_000)
DEEP: Final = (9, 1_000_000)
"""Depth and most positions of the two alpha-beta searches: about 50 ms and 0.3 s on one core."""
ALPHA_BETA: Final = (SHALLOW, DEEP)
JUDGE_STEP: Final = len(ALPHA_BETA)
STEPS: Final = JUDGE_STEP + 1
JUDGE_VISITS, JUDGE_VISITS_WITHOUT_NET = 800, 60_000
"""Least visits of the judge; more where the analysis itself has more."""
HALF_VALUE_PAWNS: Final = 4.0
"""The lead in pawns that has the value 0.5, as in heuristic-1."""
MOST_PAWNS: Final = 10.0
"""More is a decided game."""
MARKS: Final[tuple[tuple[float, Mark], ...]] = ((0.4, "??"), (0.28, "?"), (0.18, "?!"))
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


def value_of_score(centipawns: int) -> float:
    """Return the value (-1 to 1) of a score of alpha-beta; a decided game is worth 0.71, so that no mate counts double.

    >>> [round(value_of_score(score), 2) for score in (-400, 0, 100, 999_997)]
    [-0.5, 0.0, 0.2, 0.71]
    """
    pawns = max(-MOST_PAWNS, min(MOST_PAWNS, centipawns / 100))
    return pawns / (HALF_VALUE_PAWNS + abs(pawns))


class Searcher:
    """Searches positions one after another; a net's evaluations are kept for the next search, its tree is not."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._session = None if player.evaluator == RANDOM else TreeSession(player.evaluator)

    @property
    def has_net(self) -> bool:
        """Whether the player has a net."""
        return not isinstance(self._player.evaluator, str)

    def search(self, position: Position, limit: Limit) -> Result:
        """Return the search of a position; the same limit gives the same result as `Player.search`."""
        if self._session is None:
            return self._player.search(position, limit)
        self._player.check(position.variant)
        self._session.forget()
        self._session.begin(position, limit, config=play_config())
        return self._session.run()


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The loss of a move that all searches see."""

    loss: float
    """Of value, 0 to 2: the least of `losses`."""
    losses: tuple[float, ...] = ()
    """What each step saw; it ends with the first that saw too little for a mark."""
    line: tuple[Move, ...] = ()
    """The better move and what follows; empty where no loss is confirmed."""


class MoveCheck:
    """Confirms the losses of moves by searches of alpha-beta and of a judge.

    `judge` returns the judge and its visits; it is called when they are needed first.
    """

    def __init__(self, judge: Callable[[], tuple[Searcher, int]]) -> None:
        self._find_judge = judge
        self._judge: tuple[Searcher, int] | None = None

    def confirm(self, before: Position, best: Move, played: Move) -> Confirmation:
        """Return the loss of `played` against `best` or against the move that alpha-beta prefers, the larger one."""
        searched: dict[tuple[int, Move], tuple[float, tuple[Move, ...]]] = {}
        found = Confirmation(0.0)
        for rival in dict.fromkeys((best, alpha_beta(before, *SHALLOW).best)):
            if rival == played:
                continue
            losses: list[float] = []
            line: tuple[Move, ...] = ()
            for step in range(STEPS):
                for move in (played, rival):
                    if (step, move) not in searched:
                        searched[step, move] = self._search(step, before, move)
                value, line = searched[step, rival]
                losses.append(value - searched[step, played][0])
                if not mark_of(min(losses)):
                    break
            if min(losses) > found.loss:
                found = Confirmation(min(losses), tuple(losses), line)
        return found

    def _search(self, step: int, before: Position, move: Move) -> tuple[float, tuple[Move, ...]]:
        """Return the value of a move for the side that plays it, and the line, by the search of a step."""
        after = before.copy()
        after.play(move)
        over = outcome_value(after)
        if over is not None:
            return (-over if step == JUDGE_STEP else -value_of_score(int(over * 100_000))), (move,)
        if step == JUDGE_STEP:
            self._judge = self._judge or self._find_judge()
            searcher, visits = self._judge
            result = searcher.search(after, Limit(visits=visits))
            return -result.moves[0].value, (move, *result.moves[0].pv)
        return -value_of_score(alpha_beta(after, *ALPHA_BETA[step]).score), (move,)
