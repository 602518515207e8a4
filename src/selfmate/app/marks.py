"""Marks of moves (`?!`, `?`, `??`), given only where several searches confirm the loss.

One search of a few hundred visits is no evidence: its value of a quiet move swings by more than the least loss of a
mark. A move is compared with a better one by

1. alpha-beta searches of the positions after both moves, each longer than the one before: the least loss among them,
   since one that ends with the horizon of a search is gone in the next. Their evaluation is the efficiently updatable
   net that is shipped with the variant's net (`nn/nnue.py`), or that of `heuristic-1`,
2. the judge, which must not prefer the move: it sees what the other side has for a loss. The judge is the net that
   plays, or else the shipped net of the variant; without one, the player.

The loss is one of value, on the scale from -1 to 1. In a decided game that scale is flat, and the loss of a queen
hardly changes the value: there `?!` also stands if every search sees a large loss in pawns, and so does a search with
the evaluation of heuristic-1, which counts material where the scores of a net are far from even. In an endgame a mark
needs a larger loss: what is a win and what a draw shows only at depths that these searches do not reach. A forced mate
is worth 1, and certain: it needs no judge, and `?!` stands at a move that allows one if the better move is not
hopeless.

A step is taken only if a mark still stands after the ones before it. The bounds were found with games of Stockfish:
docs/results/analysis.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from selfmate._core import Move, Nnue, alpha_beta
from selfmate.app.analysis_json import Mark
from selfmate.board.position import Position
from selfmate.search.config import play_config
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.result import Result
from selfmate.search.spec import RANDOM
from selfmate.search.tree_session import TreeSession

__all__ = [
    "AlphaBeta",
    "Confirmation",
    "MoveCheck",
    "Searcher",
    "is_endgame",
    "mark_of",
    "outcome_value",
    "value_of_score",
]

SCREEN_NODES: Final = 60_000
"""Positions of the alpha-beta search of every position of a game, about 60 ms on one core."""
SCREEN_PAWNS: Final = 0.8
"""Least loss in pawns by those searches: a move that loses less is not checked."""
CHECK_NODES: Final = (150_000, 600_000)
"""Positions of the searches after the move and after a better one."""
LINE_NODES, LINE_PLIES = 30_000, 8
"""Positions of the searches for the line that was better, and its length."""
MOST_DEPTH: Final = 64
JUDGE_VISITS, JUDGE_VISITS_WITHOUT_NET = 400, 20_000
"""Visits of the judge, at least; many more if it is heuristic-1, which makes them in less time."""
HALF_VALUE_PAWNS: Final = 4.0
"""A lead of so many pawns has the value 0.5 by the evaluation of heuristic-1."""
FORCED: Final = 50_000
"""Scores beyond, in centipawns, are forced wins."""
MOST_PAWNS: Final = 10.0
"""A larger lead counts as one of so many pawns: the game is won."""
MARKS: Final[tuple[tuple[float, Mark], ...]] = ((0.5, "??"), (0.4, "?"), (0.3, "?!"))
"""Least confirmed loss of value for each mark."""
ENDGAME_SHARE, ENDGAME_LOSS = 0.57, 0.35
"""A position with at most this share of the men of the start is an endgame (in chess 18 of 32); least loss there."""
LEAST_JUDGED: Final = 0.0
"""Least loss that the judge sees at a marked move: it must not prefer the move."""
DECIDED_PAWNS, DECIDED_PLAIN_PAWNS = 3.6, 4.2
"""Least losses in pawns of `?!` in a decided game: by the net, and by the evaluation of heuristic-1."""
PLAIN_NODES: Final = 60_000
"""Positions of the searches with the evaluation of heuristic-1."""
HOPELESS_PAWNS: Final = -7.5
"""A move that allows a forced mate has no mark if the better one has this score or less: the game was lost before."""


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
    """Return the value (-1 to 1) of a score by the evaluation of heuristic-1; a forced win is worth 1.

    >>> [round(value_of_score(score), 2) for score in (-400, 0, 100, 3000, 999_997)]
    [-0.5, 0.0, 0.2, 0.71, 1.0]
    """
    if abs(centipawns) > FORCED:
        return math.copysign(1.0, centipawns)
    pawns = _pawns(centipawns)
    return pawns / (HALF_VALUE_PAWNS + abs(pawns))


def is_endgame(position: Position) -> bool:
    """Return whether few men are left.

    >>> is_endgame(Position("chess")), is_endgame(Position("chess", "4k3/pp3r2/2n5/8/8/2N5/PP3R2/4K3 w - - 0 1"))
    (False, True)
    """
    men, start = (sum(map(str.isalpha, board.board_fen())) for board in (position, Position(position.variant)))
    return men <= ENDGAME_SHARE * start


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


class AlphaBeta:
    """Alpha-beta with an efficiently updatable net, or with the evaluation of heuristic-1."""

    def __init__(self, net: Nnue | None) -> None:
        self.net = net
        self._screened: dict[str, int] = {}

    def best(self, position: Position, nodes: int) -> Move:
        """Return the best move of a position that is not over."""
        return alpha_beta(position, MOST_DEPTH, nodes, self.net).best

    def score(self, position: Position, nodes: int) -> int:
        """Return the score of a position in centipawns for the side to move."""
        over = outcome_value(position)
        return int(over * 2 * FORCED) if over is not None else alpha_beta(position, MOST_DEPTH, nodes, self.net).score

    def plain_score(self, position: Position) -> int:
        """Return the score by the evaluation of heuristic-1."""
        return AlphaBeta(None).score(position, PLAIN_NODES)

    def screen(self, position: Position) -> int:
        """Return the score of a short search; the last two are kept, since moves of a game share positions."""
        fen = position.fen()
        if fen not in self._screened:
            if len(self._screened) > 1:
                self._screened.pop(next(iter(self._screened)))
            self._screened[fen] = self.score(position, SCREEN_NODES)
        return self._screened[fen]

    def value(self, centipawns: int) -> float:
        """Return the value (-1 to 1) of a score; a forced win is worth 1."""
        if self.net is None or abs(centipawns) > FORCED:
            return value_of_score(centipawns)
        return math.tanh(centipawns / (2 * self.net.scale))


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The loss of a move that the searches confirm."""

    loss: float
    """Of value, 0 to 2: the least that alpha-beta saw; 0 where it is too small for a mark, or the judge sees a gain."""
    alpha_beta: tuple[float, ...] = ()
    """What each search of alpha-beta saw; it ends with the first that saw too little for a mark."""
    judge: float | None = None
    """What the judge saw; None: it was not asked."""
    inaccuracy: bool = False
    """Whether `?!` stands for this loss, though it may be smaller: in a decided game, or for a mate."""
    line: tuple[Move, ...] = ()
    """The better move and what follows; empty without a mark."""

    @property
    def mark(self) -> Mark:
        """The mark of the move."""
        return mark_of(self.loss) or ("?!" if self.inaccuracy else "")


class _Loss(NamedTuple):
    """What one search of alpha-beta saw after the move and after a better one."""

    value: float
    pawns: float
    mated: bool
    """Whether the move allows a forced mate where the better one, which is not hopeless, does not."""


class MoveCheck:
    """Confirms the losses of moves by searches of alpha-beta and of a judge.

    `judge` returns the judge and its visits; it is called when they are needed first.
    """

    def __init__(self, judge: Callable[[], tuple[Searcher, int]], alpha_beta: AlphaBeta) -> None:
        self._find_judge = judge
        self._judge: tuple[Searcher, int] | None = None
        self._alpha_beta = alpha_beta

    def confirm(self, before: Position, played: Move, *, refuted: bool = False) -> Confirmation:
        """Return the loss of a move; `refuted`: the player has proven that it loses by force."""
        # 1. A short search before and after the move
        search, after = self._alpha_beta, _after(before, played)
        screened = _pawns(search.screen(before)) + _pawns(search.screen(after))
        if screened < SCREEN_PAWNS and not refuted:
            return Confirmation(0.0)
        # 2. Longer ones after the move and after a better one
        better = search.best(before, CHECK_NODES[0])
        if better == played:
            return Confirmation(0.0)
        least = ENDGAME_LOSS if is_endgame(before) else MARKS[-1][0]
        seen: list[_Loss] = []
        for nodes in CHECK_NODES:
            worse = -2 * FORCED if refuted else -search.score(after, nodes)
            seen.append(self._loss(-search.score(_after(before, better), nodes), worse))
            mated, large = all(each.mated for each in seen), self._is_large(seen)
            if not (mated or large) and min(_values(seen)) < least:
                return Confirmation(0.0, _values(seen))
        certain = mated or (large and self._is_plain(_after(before, better), after))
        # 3. The judge, after both moves
        loss, judged = min(_values(seen)), None
        if loss >= least and not certain:
            judged = self._value(_after(before, better), before) - self._value(after, before)
        if loss < least or (judged is not None and judged < LEAST_JUDGED):
            loss = 0.0
        if not (loss or certain):
            return Confirmation(0.0, _values(seen), judged)
        return Confirmation(loss, _values(seen), judged, certain, self._line(before, better))

    def _loss(self, better: int, worse: int) -> _Loss:
        value = self._alpha_beta.value
        mated = worse < -FORCED and _pawns(better) > HOPELESS_PAWNS
        return _Loss(value(better) - value(worse), _pawns(better) - _pawns(worse), mated)

    def _is_large(self, seen: list[_Loss]) -> bool:
        """Return whether every search sees a large loss in pawns, by a net."""
        return self._alpha_beta.net is not None and min(each.pawns for each in seen) >= DECIDED_PAWNS

    def _is_plain(self, better: Position, worse: Position) -> bool:
        """Return whether the evaluation of heuristic-1 sees a large loss between the positions after both moves."""
        score = self._alpha_beta.plain_score
        return _pawns(score(worse)) - _pawns(score(better)) >= DECIDED_PLAIN_PAWNS

    def _value(self, position: Position, before: Position) -> float:
        """Return the judge's value of a position for the side that is to move in `before`."""
        self._judge = self._judge or self._find_judge()
        searcher, visits = self._judge
        over = outcome_value(position)
        value = searcher.search(position, Limit(visits=visits)).moves[0].value if over is None else over
        return value if position.turn == before.turn else -value

    def _line(self, before: Position, move: Move) -> tuple[Move, ...]:
        """Return a move and alpha-beta's line after it."""
        line, position = [move], _after(before, move)
        while len(line) < LINE_PLIES and outcome_value(position) is None:
            line.append(self._alpha_beta.best(position, LINE_NODES))
            position.play(line[-1])
        return tuple(line)


def _pawns(centipawns: int) -> float:
    """Return a score in pawns; leads beyond `MOST_PAWNS` count as one of so many."""
    return max(-MOST_PAWNS, min(MOST_PAWNS, centipawns / 100))


def _values(seen: list[_Loss]) -> tuple[float, ...]:
    return tuple(each.value for each in seen)


def _after(before: Position, move: Move) -> Position:
    position = before.copy()
    position.play(move)
    return position
