"""Marks of moves (`?!`, `?`, `??`), given only where several searches confirm the loss.

One search of a few hundred visits is no evidence: its value of a quiet move swings by more than the least loss of a
mark. The loss of a move against a better one, on the scale of values from -1 to 1, is the weighted mean of

1. alpha-beta searches of the positions after both moves to growing depths: the least loss among them, since one that
   ends with the horizon of a search is gone in the next,
2. the judge's values at the ends of alpha-beta's lines after both moves: what was lost there has been taken, and a net
   sees what the other side has for it. The judge is the net that plays, or else the shipped net of the variant, even
   if it is not the player because `heuristic-1` is stronger in equal time; without one, the player,
3. the player's own searches.

Alpha-beta must see a loss of `LEAST_PAWNS` at every depth. A step is taken only if the mark still stands after the ones
before it. The weights and bounds were found with games of Stockfish: docs/results/analysis.md.
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

__all__ = ["Confirmation", "MoveCheck", "Searcher", "mark_of", "outcome_value", "pawns_of_score", "value_of_score"]

DEPTHS: Final = ((7, 300_000), (9, 1_000_000), (14, 10_000_000))
"""Depth and most positions of the alpha-beta searches: about 50 ms, 0.3 s and 4 s on one core."""
LEAST_PAWNS: Final = 1.8
"""Least loss of every alpha-beta search at a marked move: a pawn and some more may be a gambit."""
LINE_ENDS: Final = (4, 8)
"""Plies of alpha-beta's lines after which the judge searches."""
LINE_SEARCH: Final = (4, 9, 1_000_000)
"""Least depth, most depth and most positions of the searches that make a line."""
JUDGE_VISITS, JUDGE_VISITS_WITHOUT_NET = 400, 20_000
"""Least visits of the judge; more where the analysis itself has more."""
MOST_JUDGED: Final = 0.7
"""The judge is not asked where no mark would stand if it saw this loss."""
ALPHA_BETA_WEIGHT, JUDGE_WEIGHT, PLAYER_WEIGHT = 4 / 7, 2 / 7, 1 / 7
HALF_VALUE_PAWNS: Final = 4.0
"""The lead in pawns that has the value 0.5, as in heuristic-1."""
MOST_PAWNS: Final = 10.0
"""More is a decided game."""
MARKS: Final[tuple[tuple[float, Mark], ...]] = ((0.4, "??"), (0.33, "?"), (0.28, "?!"))
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
    pawns = pawns_of_score(centipawns)
    return pawns / (HALF_VALUE_PAWNS + abs(pawns))


def pawns_of_score(centipawns: int) -> float:
    """Return a score of alpha-beta in pawns, -10 to 10."""
    return max(-MOST_PAWNS, min(MOST_PAWNS, centipawns / 100))


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
    """The loss of a move that the searches confirm."""

    loss: float
    """Of value, 0 to 2: the weighted mean; 0 where alpha-beta sees too little at some depth."""
    alpha_beta: tuple[float, ...] = ()
    """What alpha-beta saw at each depth; it ends with the first that saw too little for a mark."""
    judge: float | None = None
    """What the judge saw; None: it was not asked."""
    line: tuple[Move, ...] = ()
    """The better move and what follows; empty where the judge was not asked."""


class MoveCheck:
    """Confirms the losses of moves by searches of alpha-beta and of a judge.

    `judge` returns the judge and its visits; it is called when they are needed first.
    """

    def __init__(self, judge: Callable[[], tuple[Searcher, int]]) -> None:
        self._find_judge = judge
        self._judge: tuple[Searcher, int] | None = None

    def confirm(self, before: Position, best: Move, played: Move, lost: float) -> Confirmation:
        """Return the loss of `played` against `best` or against the move that alpha-beta prefers, the larger one.

        `lost` is the loss that the player saw.
        """
        # 1. Alpha-beta, the shallow searches, against both rivals
        scores: dict[tuple[int, Move], int] = {}

        def losses(rival: Move, depths: int) -> list[float]:
            seen: list[float] = []
            for step in range(depths):
                for move in (played, rival):
                    if (step, move) not in scores:
                        scores[step, move] = _score(before, move, *DEPTHS[step])
                pair = scores[step, rival], scores[step, played]
                enough = pawns_of_score(pair[0]) - pawns_of_score(pair[1]) >= LEAST_PAWNS
                seen.append(value_of_score(pair[0]) - value_of_score(pair[1]) if enough else 0.0)
                if not enough:
                    break
            return seen

        rivals = [each for each in dict.fromkeys((best, alpha_beta(before, *DEPTHS[0]).best)) if each != played]
        found = max(
            ((losses(rival, len(DEPTHS) - 1), rival) for rival in rivals), key=lambda each: min(each[0]), default=None
        )
        if found is None or not min(found[0]) or not mark_of(_mean(min(found[0]), MOST_JUDGED, lost)):
            return Confirmation(0.0, () if found is None else tuple(found[0]))
        # 2. The judge, at the ends of the lines after both moves
        rival = found[1]
        worth, line = self._judged(before, rival)
        judged = worth - self._judged(before, played)[0]
        # 3. Alpha-beta again, as deep as it can
        seen = found[0]
        if mark_of(_mean(min(seen), judged, lost)):
            seen = losses(rival, len(DEPTHS))
        loss = max(0.0, _mean(min(seen), judged, lost)) if min(seen) else 0.0
        return Confirmation(loss, tuple(seen), judged, line)

    def _judged(self, before: Position, move: Move) -> tuple[float, tuple[Move, ...]]:
        """Return the mean of the judge's values along alpha-beta's line after a move, for its side, and the line."""
        self._judge = self._judge or self._find_judge()
        searcher, visits = self._judge
        least, most, nodes = LINE_SEARCH
        position = before.copy()
        position.play(move)
        line: list[Move] = [move]
        values: list[float] = []
        for ply in range(max(LINE_ENDS) + 1):
            sign = 1.0 if position.turn == before.turn else -1.0
            over = outcome_value(position)
            if over is not None:
                values += [sign * over] * (len(LINE_ENDS) - len(values))
                break
            if ply in LINE_ENDS:
                values.append(sign * searcher.search(position, Limit(visits=visits)).moves[0].value)
            if ply < max(LINE_ENDS):
                line.append(alpha_beta(position, max(least, most - ply), nodes).best)
                position.play(line[-1])
        return sum(values) / len(values), tuple(line)


def _mean(alpha_beta_loss: float, judge_loss: float, player_loss: float) -> float:
    return ALPHA_BETA_WEIGHT * alpha_beta_loss + JUDGE_WEIGHT * judge_loss + PLAYER_WEIGHT * player_loss


def _score(before: Position, move: Move, depth: int, nodes: int) -> int:
    """Return alpha-beta's score in centipawns of a move for the side that plays it."""
    after = before.copy()
    after.play(move)
    over = outcome_value(after)
    return -int(over * 100_000) if over is not None else -alpha_beta(after, depth, nodes).score
