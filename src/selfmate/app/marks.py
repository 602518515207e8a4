"""Marks of moves (`?!`, `?`, `??`), given only where several searches confirm the loss.

One search of a few hundred visits is no evidence: its value of a quiet move swings by more than the least loss of a
mark. A move is compared with a better one by

1. alpha-beta searches of the positions after both moves to growing depths: the least loss among them, since one that
   ends with the horizon of a search is gone in the next. The shallowest need not see a loss that the player sees,
2. the judge's values at the ends of alpha-beta's lines after both moves: what was lost there has been taken, and a net
   sees what the other side has for it. The judge is the net that plays, or else the shipped net of the variant, even
   if it is not the player because `heuristic-1` is stronger in equal time; without one, the player,
3. the player's own searches.

The loss is their weighted mean on the scale of values from -1 to 1. In an open game `?!` stands from a lower bound. In
a decided one the scale is flat, and the loss of a rook hardly changes the value: there `?!` also stands if alpha-beta
sees the loss of a rook's worth at every depth, and the judge a loss of log-odds right after the moves and at the ends.

A forced mate is worth 1, and certain: what shallower searches saw does not count, and `?!` stands at a move that allows
one if the better move is not hopeless, for alpha-beta and for the judge.

In an endgame a mark needs a larger loss, unless it is a mate or a rook's worth: a knight for a pawn is often a draw
there, which shows only at depths that none of these searches reaches.

Alpha-beta must see a loss of `LEAST_PAWNS` at every depth, and the judge some. A step is taken only if a mark still
stands after the ones before it. The weights and bounds were found with games of Stockfish: docs/results/analysis.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from selfmate._core import Move, alpha_beta
from selfmate.app.analysis_json import Mark
from selfmate.board.position import Position
from selfmate.search.config import play_config
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.result import Result
from selfmate.search.spec import RANDOM
from selfmate.search.tree_session import TreeSession

__all__ = [
    "Confirmation",
    "MoveCheck",
    "Searcher",
    "is_endgame",
    "log_odds",
    "mark_of",
    "outcome_value",
    "pawns_of_score",
    "value_of_score",
]

DEPTHS: Final = ((9, 200_000), (12, 800_000), (15, 3_000_000))
"""Depth and most positions of the alpha-beta searches: about 30 ms, 0.2 s and 1.5 s on one core."""
LEAST_PAWNS: Final = 1.6
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
FORCED: Final = 50_000
"""Scores of alpha-beta beyond this many centipawns are forced wins: those of real leads are far smaller."""
FAR_PAWNS: Final = 20.0
"""The same where a rook's worth is lost in a decided game."""
MARKS: Final[tuple[tuple[float, Mark], ...]] = ((0.4, "??"), (0.33, "?"), (0.31, "?!"))
"""Least confirmed loss of value for each mark."""
LEAST_LOST: Final = 0.03
"""Least loss by the player's own searches: a move that loses less is not checked."""
DOUBTED_LOST: Final = 0.08
"""If the player sees this loss, the shallowest alpha-beta search need not see it: combinations may be deeper."""
SURPRISE: Final = 0.15
"""Least fall of the value of the player's own choice, once it is played, at which the choice is checked."""
OPEN_LOSS, OPEN_JUDGED = 0.24, 0.2
"""Least confirmed loss of `?!` in an open game, and the least that the judge sees of it."""
OPEN_PAWNS, OPEN_VALUE = 3.0, 0.5
"""A game is open if, after the better move, neither alpha-beta nor the judge sees more than this for either side."""
ROOK_PAWNS, ROOK_ODDS, ROOK_LINE_ODDS = 5.5, 1.0, 0.5
"""Least losses of a rook's worth: pawns at every depth of alpha-beta, log-odds after the move and at the ends."""
LEAST_JUDGED: Final = 0.05
"""Least loss that the judge sees at a marked move, unless it is mated."""
HOPELESS: Final = -0.8
"""Value of the judge at the ends of the better line below which neither a rook's worth nor a mate gets a mark: the game
was lost before."""
MATED_LOSS: Final = 0.32
"""Least loss of value in alpha-beta at which `?!` stands for a move that is mated: the better one has -8.5 pawns."""
ENDGAME_SHARE, ENDGAME_LOSS = 0.36, 0.6
"""A position with at most this share of the pieces of the start, kings and pawns apart, is an endgame (in chess 5 of
14); the least confirmed loss of a mark there."""
MOST_VALUE: Final = 0.98
"""A larger value of the judge is a game that is won, like `MOST_PAWNS`: nothing more can be lost or gained."""


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


def log_odds(value: float) -> float:
    """Return the logarithm of the odds of a value (-1 to 1) of the judge, at most 4.6: even a small chance counts.

    >>> [round(log_odds(value), 2) for value in (-0.5, 0.0, 0.5, 0.9, 1.0)]
    [-1.1, 0.0, 1.1, 2.94, 4.6]
    """
    return 2 * math.atanh(max(-MOST_VALUE, min(MOST_VALUE, value)))


def value_of_score(centipawns: int) -> float:
    """Return the value (-1 to 1) of a score of alpha-beta; leads are worth 0.71 at most, a forced win is worth 1.

    >>> [round(value_of_score(score), 2) for score in (-400, 0, 100, 3000, 999_997)]
    [-0.5, 0.0, 0.2, 0.71, 1.0]
    """
    if abs(centipawns) > FORCED:
        return math.copysign(1.0, centipawns)
    pawns = pawns_of_score(centipawns)
    return pawns / (HALF_VALUE_PAWNS + abs(pawns))


def pawns_of_score(centipawns: int, most: float = MOST_PAWNS) -> float:
    """Return a score of alpha-beta in pawns, `-most` to `most`."""
    return max(-most, min(most, centipawns / 100))


def is_endgame(position: Position) -> bool:
    """Return whether few pieces are left, kings and pawns apart.

    >>> is_endgame(Position("chess")), is_endgame(Position("chess", "4k3/pp3r2/2n5/8/8/2N5/PP3R2/4K3 w - - 0 1"))
    (False, True)
    """
    pieces, start = (
        sum(letter in "NBRQnbrq" for letter in board.board_fen()) for board in (position, Position(position.variant))
    )
    return pieces <= ENDGAME_SHARE * start


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
    """Of value, 0 to 2: the weighted mean; 0 where alpha-beta sees too little at some depth, or the judge."""
    alpha_beta: tuple[float, ...] = ()
    """What alpha-beta saw at each depth; it ends with the first that saw too little for a mark."""
    judge: float | None = None
    """What the judge saw at the ends of the lines; None: it was not asked."""
    inaccuracy: bool = False
    """Whether `?!` stands for this loss, though it may be smaller: in an open game, of a rook's worth, or a mate."""
    line: tuple[Move, ...] = ()
    """The better move and what follows; empty where the judge was not asked for it."""

    @property
    def mark(self) -> Mark:
        """The mark of the move."""
        return mark_of(self.loss) or ("?!" if self.inaccuracy else "")


class _Loss(NamedTuple):
    """What one alpha-beta search saw."""

    value: float
    """The loss of value; 0 if the pawns are too few for a mark."""
    pawns: float
    """The loss in pawns; scores count up to 20 pawns, so that a mate in a lost game is a loss."""
    better: float
    """Pawns after the better move."""
    mated: bool = False
    """Whether the move that was played loses to a forced mate; the loss is 0 if the better one does, too."""


class MoveCheck:
    """Confirms the losses of moves by searches of alpha-beta and of a judge.

    `judge` returns the judge and its visits; it is called when they are needed first.
    """

    def __init__(self, judge: Callable[[], tuple[Searcher, int]]) -> None:
        self._find_judge = judge
        self._judge: tuple[Searcher, int] | None = None

    def confirm(
        self, before: Position, best: Move, played: Move, lost: float, *, refuted: bool = False
    ) -> Confirmation:
        """Return the loss of `played` against `best` or against the move that alpha-beta prefers, the larger one.

        `lost` is the loss that the player saw; `refuted`: it has proven that `played` loses by force.
        """
        # 1. Alpha-beta, the shallow searches, against both rivals
        if lost < (SURPRISE if best == played else LEAST_LOST):
            return Confirmation(0.0)
        check = _AlphaBetaCheck(before, played, trusting=lost < DOUBTED_LOST, refuted=refuted)
        rivals = _rivals(before, best, played)
        seen, rival = max(
            ((check.losses(each, len(DEPTHS) - 1), each) for each in rivals),
            key=lambda each: _least(each[0]),
            default=([_Loss(0.0, 0.0, 0.0)], played),
        )
        endgame = is_endgame(before)
        open_game, rook = _is_open(seen) and not endgame, _is_rook(seen)
        if not _stands(seen, MOST_JUDGED, lost, open_game=open_game, rook=rook):
            return Confirmation(0.0, _values(seen))
        # 2. The judge, at the ends of the lines after both moves
        better, line = self._line_values(before, rival)
        worse, _ = self._line_values(before, played)
        judged = _average(better) - _average(worse)
        odds = _average([log_odds(value) for value in better]) - _average([log_odds(value) for value in worse])
        hopeless = _average(better) < HOPELESS
        rook = rook and odds >= ROOK_LINE_ODDS and not hopeless
        # 3. Alpha-beta again, as deep as it can
        stands = _stands(seen, judged, lost, open_game=open_game, rook=rook)
        if stands:
            seen = check.losses(rival, len(DEPTHS))
            open_game, rook = open_game and _is_open(seen), rook and _is_rook(seen)
            stands = _stands(seen, judged, lost, open_game=open_game, rook=rook)
        # 4. The judge, right after both moves, where the loss is small or the game decided
        if stands and (endgame or not mark_of(_mean(_least(seen), judged, lost))):
            worth, rest = (self._value(_after(before, move), before) for move in (rival, played))
            open_game = open_game and abs(worth) <= OPEN_VALUE
            rook = rook and log_odds(worth) - log_odds(rest) >= ROOK_ODDS
            stands = _stands(seen, judged, lost, open_game=open_game, rook=rook)
        loss = max(0.0, _mean(_least(seen), judged, lost)) if _counts(seen, judged) else 0.0
        if hopeless and _is_mated(seen):
            loss, stands = 0.0, False
        if endgame and loss < ENDGAME_LOSS and not _is_mated(seen):
            loss, stands = 0.0, rook
        return Confirmation(loss, _values(seen), judged, stands, line)

    def _value(self, position: Position, before: Position) -> float:
        """Return the judge's value of a position for the side that is to move in `before`."""
        self._judge = self._judge or self._find_judge()
        searcher, visits = self._judge
        over = outcome_value(position)
        value = searcher.search(position, Limit(visits=visits)).moves[0].value if over is None else over
        return value if position.turn == before.turn else -value

    def _line_values(self, before: Position, move: Move) -> tuple[list[float], tuple[Move, ...]]:
        """Return the judge's values along alpha-beta's line after a move, for its side, and the line."""
        least, most, nodes = LINE_SEARCH
        position = _after(before, move)
        line: list[Move] = [move]
        values: list[float] = []
        for ply in range(max(LINE_ENDS) + 1):
            if outcome_value(position) is not None:
                values += [self._value(position, before)] * (len(LINE_ENDS) - len(values))
                break
            if ply in LINE_ENDS:
                values.append(self._value(position, before))
            if ply < max(LINE_ENDS):
                line.append(alpha_beta(position, max(least, most - ply), nodes).best)
                position.play(line[-1])
        return values, tuple(line)


class _AlphaBetaCheck:
    """Losses of one move by alpha-beta; no search is made twice.

    `trusting`: no search is made after the first if it sees too little for a mark. `refuted`: the move loses by force.
    """

    def __init__(self, before: Position, played: Move, *, trusting: bool, refuted: bool) -> None:
        self._before = before
        self._played = played
        self._trusting = trusting
        self._scores: dict[tuple[int, Move], int] = {}
        if refuted:
            self._scores |= {(step, played): -2 * FORCED for step in range(len(DEPTHS))}

    def losses(self, rival: Move, depths: int) -> list[_Loss]:
        """Return the loss against a rival at the first depths of `DEPTHS`, up to one that is too small for a mark.

        Left out are the searches before the proof of a forced win, which is certain whatever they saw, and the first
        one if it sees too little but is not trusted.
        """
        seen: list[_Loss] = []
        for step in range(depths):
            depth, positions = DEPTHS[step]
            for move in (self._played, rival):
                if (step, move) not in self._scores:
                    self._scores[step, move] = _score(self._before, move, depth, positions)
            better, worse = self._scores[step, rival], self._scores[step, self._played]
            enough = pawns_of_score(better) - pawns_of_score(worse) >= LEAST_PAWNS
            value = value_of_score(better) - value_of_score(worse) if enough else 0.0
            pawns = pawns_of_score(better, FAR_PAWNS) - pawns_of_score(worse, FAR_PAWNS)
            loss = _Loss(value, pawns, pawns_of_score(better), mated=worse < -FORCED)
            if enough and (max(better, -worse) > FORCED or not all(each.value for each in seen)):
                seen.clear()
            seen.append(loss)
            if not enough and (self._trusting or step > 0):
                break
        return seen


def _rivals(before: Position, best: Move, played: Move) -> list[Move]:
    """Return the moves that a move is compared with: the player's choice, and that of alpha-beta.

    Where both are the move itself, a deeper search may have another.
    """
    rivals = [each for each in dict.fromkeys((best, alpha_beta(before, *DEPTHS[0]).best)) if each != played]
    return rivals or [each for each in (alpha_beta(before, *DEPTHS[1]).best,) if each != played]


def _mean(alpha_beta_loss: float, judge_loss: float, player_loss: float) -> float:
    return ALPHA_BETA_WEIGHT * alpha_beta_loss + JUDGE_WEIGHT * judge_loss + PLAYER_WEIGHT * player_loss


def _least(seen: list[_Loss]) -> float:
    return min(each.value for each in seen)


def _values(seen: list[_Loss]) -> tuple[float, ...]:
    return tuple(each.value for each in seen)


def _is_open(seen: list[_Loss]) -> bool:
    return all(abs(each.better) <= OPEN_PAWNS for each in seen)


def _is_rook(seen: list[_Loss]) -> bool:
    return min(each.pawns for each in seen) >= ROOK_PAWNS


def _is_mated(seen: list[_Loss]) -> bool:
    return all(each.mated for each in seen) and _least(seen) >= MATED_LOSS


def _counts(seen: list[_Loss], judge_loss: float) -> bool:
    """Return whether alpha-beta and the judge both see a loss; one that ends with mate needs no judge."""
    return bool(_least(seen)) and (_is_mated(seen) or judge_loss >= LEAST_JUDGED)


def _stands(seen: list[_Loss], judge_loss: float, lost: float, *, open_game: bool, rook: bool) -> bool:
    """Return whether a mark stands by what was seen so far; `rook`: a rook's worth is lost."""
    loss = _mean(_least(seen), judge_loss, lost)
    in_open_game = open_game and loss >= OPEN_LOSS and judge_loss >= OPEN_JUDGED
    some = rook or _is_mated(seen) or bool(mark_of(loss)) or in_open_game
    return some and _counts(seen, judge_loss)


def _average(values: list[float]) -> float:
    return sum(values) / len(values)


def _after(before: Position, move: Move) -> Position:
    position = before.copy()
    position.play(move)
    return position


def _score(before: Position, move: Move, depth: int, nodes: int) -> int:
    """Return alpha-beta's score in centipawns of a move for the side that plays it."""
    after = _after(before, move)
    over = outcome_value(after)
    return -int(over * 100_000) if over is not None else -alpha_beta(after, depth, nodes).score
