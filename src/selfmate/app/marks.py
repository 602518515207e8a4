"""Marks of moves (`?!`, `?`, `??`), given only where several searches confirm the loss.

One search of a few hundred visits is no evidence: its value of a quiet move swings by more than the least loss of a
mark. A move is compared with a better one by

1. alpha-beta searches of the positions after both moves, the second longer than the first, since a loss that ends with
   the horizon of a search is gone in the next. Their evaluation is the efficiently updatable net that is shipped with
   the variant's net (`nn/nnue.py`), or that of `heuristic-1`,
2. an alpha-beta search with the evaluation of `heuristic-1`, which counts material and mobility,
3. the judge: the net that plays, or else the shipped net of the variant; without one, the player. It sees what the
   other side has for a loss.

The loss of a move is the mean of what these three see, in value, on the scale from -1 to 1: an error of one of them is
rarely one of the others. What the first sees counts for no more than the other two together, since its net takes some
drawn endings for lost. In an endgame a mark needs a larger loss, and with few men left only a forced mate counts:
what is a win and what a draw shows only at depths that these searches do not reach.

`?!` stands in two more cases. A forced mate is certain: it needs no judge if the better move is not hopeless, nor if a
move draws at once where there was one. In a decided game the scale of values is flat, and the loss of a queen hardly
changes the value: there every search must see that a lead becomes an overwhelming one, or that such a lead is given
away.

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
MARKS: Final[tuple[tuple[float, Mark], ...]] = ((0.5, "??"), (0.4, "?"), (0.27, "?!"))
"""Least loss of value for each mark, as the mean of three."""
LEAST_SEEN: Final = 0.2
"""Least loss of value that each alpha-beta search with the net sees at a marked move."""
ENDGAME_SHARE, ENDGAME_LOSS = 0.57, 0.34
"""A position with at most this share of the men of the start is an endgame (in chess 18 of 32); least loss there."""
FEW_SHARE: Final = 0.32
"""With at most this share of the men (in chess 10 of 32) only forced mates are marked."""
HOPELESS_PAWNS: Final = -6.0
"""A move that allows a forced mate has no mark if the better one has this score or less: the game was lost before."""
LARGE_LEAD, OVERWHELMING_LEAD = 10.0, 12.5
"""In a decided game `?!` stands if a lead of at most the first, in pawns, becomes one of the second, or conversely."""
PLAIN_LOSS, PLAIN_LEAD = 4.0, 11.0
"""What the evaluation of heuristic-1 must see there: the least loss in pawns, and a lead that passes the second."""
MOST_LEAD: Final = 30.0
"""A larger lead counts as one of so many pawns there, and so does a forced mate."""


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
    return _share_of_men(position) <= ENDGAME_SHARE


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
        """Return the search of a position; the same limit gives the same result as `Player.search`.

        But for forced wins: a player looks for them by alpha-beta before its playouts. The bounds of marks were found
        without that, and marks have searches of their own for it.
        """
        if self._session is None:
            return self._player.search(position, limit)
        self._player.check(position.variant)
        self._session.forget()
        self._session.begin(position, limit, config=play_config().replace(forced_win_nodes=0))
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

    def plain_score(self, position: Position, nodes: int) -> int:
        """Return the score by the evaluation of heuristic-1."""
        return AlphaBeta(None).score(position, nodes)

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
    """Of value, 0 to 2: the mean of what alpha-beta (for no more than the other two together), its plain evaluation and
    the judge saw; 0 where it is too small for a mark."""
    alpha_beta: tuple[float, ...] = ()
    """What each search of alpha-beta saw; it ends with the first that saw too little for a mark."""
    plain: float | None = None
    """What alpha-beta saw with the evaluation of heuristic-1; None: it was not asked."""
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


class _Scores(NamedTuple):
    """Scores in centipawns of one search, after the better move and after the one that was played.

    Both are for the side that moved.
    """

    better: int
    played: int

    @property
    def allows_mate(self) -> bool:
        """Whether the move allows a forced mate and the better one, which is not hopeless, does not."""
        return self.played < -FORCED and _pawns(self.better) > HOPELESS_PAWNS

    @property
    def is_overwhelming(self) -> bool:
        """Whether a large lead of the other side becomes an overwhelming one, or such a lead is given away."""
        better, played = self._leads()
        return max(better, -played) >= OVERWHELMING_LEAD and min(abs(better), abs(played)) <= LARGE_LEAD

    @property
    def is_material(self) -> bool:
        """Whether a plain evaluation sees such a loss, too."""
        better, played = self._leads()
        smaller, larger = sorted((abs(better), abs(played)))
        return better - played >= PLAIN_LOSS and smaller <= PLAIN_LEAD <= larger

    def _leads(self) -> tuple[float, float]:
        return _pawns(self.better, MOST_LEAD), _pawns(self.played, MOST_LEAD)


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
        least = _least_loss(before)
        good, over = _after(before, better), outcome_value(after)
        seen: list[_Scores] = []
        for nodes in CHECK_NODES:
            seen.append(_Scores(-search.score(good, nodes), -2 * FORCED if refuted else -search.score(after, nodes)))
            losses = tuple(search.value(each.better) - search.value(each.played) for each in seen)
            mated = all(each.allows_mate for each in seen)
            drawn = over == 0.0 and all(each.better > FORCED for each in seen)
            decided = least < math.inf and search.net is not None and all(each.is_overwhelming for each in seen)
            if not (mated or drawn or decided) and (least == math.inf or min(losses) < LEAST_SEEN):
                return Confirmation(0.0, losses)
        if mated or drawn:
            return Confirmation(losses[-1], losses, inaccuracy=True, line=self._line(before, better))
        # 3. The same with the evaluation of heuristic-1, and the judge
        plain = _Scores(*(-search.plain_score(each, CHECK_NODES[-1]) for each in (good, after)))
        plain_loss = value_of_score(plain.better) - value_of_score(plain.played)
        judged = self._value(good, before) - self._value(after, before)
        others = plain_loss + judged
        loss = (min(losses[-1], others) + others) / 3
        if min(losses) < LEAST_SEEN or loss < least:
            loss = 0.0
        inaccuracy = decided and plain.is_material
        line = self._line(before, better) if loss or inaccuracy else ()
        return Confirmation(loss, losses, plain_loss, judged, inaccuracy, line)

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


def _share_of_men(position: Position) -> float:
    """Return the men on the board as a share of those of the start."""
    men, start = (sum(map(str.isalpha, board.board_fen())) for board in (position, Position(position.variant)))
    return men / start


def _least_loss(position: Position) -> float:
    """Return the least loss of value for a mark; infinite with few men."""
    if _share_of_men(position) <= FEW_SHARE:
        return math.inf
    return ENDGAME_LOSS if is_endgame(position) else MARKS[-1][0]


def _pawns(centipawns: int, most: float = MOST_PAWNS) -> float:
    """Return a score in pawns; leads beyond `most` count as one of so many."""
    return max(-most, min(most, centipawns / 100))


def _after(before: Position, move: Move) -> Position:
    position = before.copy()
    position.play(move)
    return position
