"""Searches of positions, and the judgement of every move of a game.

>>> from selfmate.board.epd import parse_epd
>>> analysis = analyse(Player("heuristic-1"), parse_epd("7k/8/5K2/8/8/8/8/6Q1 w - - bm Qg7#;"), Limit(visits=50))
>>> analysis.right, analysis.result.proven
(True, 1)

The value of a move that was played is that of a search of the position after it. So a game of n moves takes n + 1
searches, and a move that the search before it hardly visited is judged as exactly as its best one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from msgspec.structs import asdict

from selfmate._core import WHITE, Move
from selfmate.app import marks
from selfmate.app.accuracy import move_accuracy
from selfmate.app.analysis_json import (
    CandidateRecord,
    GameMoveRecord,
    Mark,
    MoveName,
    PlayedRecord,
    PositionRecord,
)
from selfmate.app.marks import AlphaBeta, Confirmation, MoveCheck, Searcher, outcome_value
from selfmate.app.notation import san_line
from selfmate.board.epd import Epd
from selfmate.board.pgn import Game
from selfmate.board.pgn_writer import variant_name
from selfmate.board.position import Position
from selfmate.nn import shipped as nets
from selfmate.nn.nnue import find_nnue
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.result import MoveResult, Result

__all__ = ["Analysis", "MoveJudgement", "analyse", "analyse_game", "epd_moves"]


# -- positions ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The search of a position by a player."""

    epd: Epd
    player: str
    result: Result

    @property
    def position(self) -> Position:
        """The position."""
        return self.epd.position

    @property
    def best(self) -> MoveResult:
        """The result of the best move."""
        return self.result.moves[0]

    @property
    def right(self) -> bool | None:
        """Whether the best move is one of `bm` and none of `am`; None where the line names neither."""
        best, avoid = (epd_moves(self.epd, opcode) for opcode in ("bm", "am"))
        if not best and not avoid:
            return None
        return (not best or self.result.best in best) and self.result.best not in avoid

    def record(self, multipv: int) -> PositionRecord:
        """Return the JSON form with the best `multipv` moves."""
        position, result = self.position, self.result
        record = PositionRecord(
            fen=position.fen(),
            variant=variant_name(position),
            player=self.player,
            visits=result.visits,
            nodes=result.nodes,
            seconds=round(result.seconds, 4),
            best=_named(position, result.best),
            value=round(result.value, 4),
            wdl=(round(result.wdl[0], 4), round(result.wdl[1], 4), round(result.wdl[2], 4)),
            proven_plies=result.proven,
            moves=[_candidate(position, each) for each in result.moves[:multipv]],
        )
        if isinstance(label := self.epd.operations.get("id"), str):
            record.id = label
        if best := epd_moves(self.epd, "bm"):
            record.bm = [_named(self.position, move) for move in best]
        if avoid := epd_moves(self.epd, "am"):
            record.am = [_named(self.position, move) for move in avoid]
        if self.right is not None:
            record.right = self.right
        return record


def analyse(player: Player, epd: Epd, limit: Limit) -> Analysis:
    """Return the search of a position."""
    return Analysis(epd=epd, player=player.name, result=player.search(epd.position, limit))


def epd_moves(epd: Epd, opcode: str) -> tuple[Move, ...]:
    """Return the moves of an operation; none if the line does not have it."""
    value = epd.operations.get(opcode)
    return tuple(move for move in value if isinstance(move, Move)) if isinstance(value, tuple) else ()


def _named(position: Position, move: Move) -> MoveName:
    return MoveName(uci=position.uci(move), san=position.san(move))


def _candidate(position: Position, each: MoveResult) -> CandidateRecord:
    return CandidateRecord(
        uci=position.uci(each.move),
        san=position.san(each.move),
        visits=each.visits,
        value=round(each.value, 4),
        prior=round(each.prior, 4),
        proven_plies=each.proven,
        pv=san_line(position, each.pv).split(),
    )


# -- games ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveJudgement:
    """A move that was played and its value; values are for the side that played it unless they name White."""

    game: int
    """Number of the game in its file, from 1."""
    ply: int
    """Number of the move in the game, from 1."""
    before: Analysis
    after: Analysis | None
    """The search of the position after it; None if the move ended the game."""
    move: Move
    value: float
    """Value of the position after it, by a search or by the rules."""
    check: Confirmation | None = None
    """The loss that several searches confirm; None: it was not checked."""

    @property
    def lost(self) -> float:
        """Value of the best move less that of this one, at least 0."""
        return 0.0 if self.move == self.before.result.best else max(0.0, self.before.best.value - self.value)

    @property
    def mark(self) -> Mark:
        """Its annotation: `?!`, `?`, `??` or none."""
        return "" if self.check is None else self.check.mark

    @property
    def better(self) -> tuple[Move, ...]:
        """The line that was better; empty without a mark."""
        return self.check.line if self.check is not None and self.mark else ()

    @property
    def accuracy(self) -> float:
        """Its accuracy in percent."""
        return move_accuracy(self.lost)

    @property
    def by_white(self) -> bool:
        """Whether White played it."""
        return self.before.position.turn == WHITE

    @property
    def white_value(self) -> float:
        """Value of the position after it for White."""
        return self.value if self.by_white else -self.value

    @property
    def white_proven(self) -> int | None:
        """Plies from the position after it to White's (positive) or Black's forced win; None: nothing is proven."""
        proven = None if self.after is None else self.after.result.proven
        return proven if proven is None or not self.by_white else -proven

    def record(self, multipv: int) -> GameMoveRecord:
        """Return the JSON form, without the summary of the game."""
        position = self.before.position
        return GameMoveRecord(
            **asdict(self.before.record(multipv)),
            game=self.game,
            ply=self.ply,
            played=PlayedRecord(uci=position.uci(self.move), san=position.san(self.move), value=round(self.value, 4)),
            white_value=round(self.white_value, 4),
            lost=round(self.lost, 4),
            checked=None if self.check is None else round(self.check.loss, 4),
            mark=self.mark,
            better=san_line(position, self.better).split(),
            accuracy=round(self.accuracy, 2),
        )


def analyse_game(player: Player, game: Game, limit: Limit, *, number: int = 1) -> Iterator[MoveJudgement]:
    """Yield a judgement of every move of a game's main line, up to the move by which the rules end the game.

    >>> game = Game.from_pgn("1. e4 e5 2. Nf3 *")
    >>> [(each.move.uci(), each.mark) for each in analyse_game(Player("heuristic-1"), game, Limit(visits=500))]
    [('e2e4', ''), ('e7e5', ''), ('g1f3', '')]
    """
    searcher = Searcher(player)
    net = nets.net_of(game.variant)
    alpha_beta = AlphaBeta(None if net is None else find_nnue(net.folder))
    check = MoveCheck(lambda: _judge_of(searcher, game.variant, limit.visits or 0), alpha_beta)

    def search(position: Position) -> Analysis:
        return Analysis(epd=Epd(position), player=player.name, result=searcher.search(position, limit))

    position = game.start.copy()
    before: Analysis | None = None
    for ply, node in enumerate(game.mainline(), start=1):
        before = before or search(position.copy())
        position.play(node.move)
        over = outcome_value(position)
        after = None if over is not None else search(position.copy())
        value = -over if over is not None else -after.best.value if after is not None else 0.0
        judged = MoveJudgement(game=number, ply=ply, before=before, after=after, move=node.move, value=value)
        if node.move:  # a null move is no mistake
            refuted = after is not None and (after.result.proven or 0) > 0
            confirmed = check.confirm(before.position, node.move, refuted=refuted)
            judged = replace(judged, check=confirmed)
        yield judged
        if after is None:
            return
        before = after


def _judge_of(searcher: Searcher, variant: str, visits: int) -> tuple[Searcher, int]:
    """Return the searcher that judges losses, and its visits, which are at least `visits` if it is the given one.

    It is the given one, or that of the shipped net if the given one has no net.
    """
    if searcher.has_net:
        return searcher, max(visits, marks.JUDGE_VISITS)
    if (net := nets.net_of(variant)) is not None:
        return Searcher(Player(net.folder)), marks.JUDGE_VISITS
    return searcher, max(visits, marks.JUDGE_VISITS_WITHOUT_NET)
