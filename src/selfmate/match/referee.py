"""One game under our rules: moves are checked, clocks are kept here, and every fault is named and charged to a side.

>>> import sys
>>> from selfmate.match.uci_client import EngineSpec, UciClient
>>> from selfmate.search.limit import Limit
>>> spec = EngineSpec(command=(sys.executable, "-m", "selfmate", "uci"), options=(("WeightsFile", "heuristic-1"),))
>>> game = RefereedGame(0, "gardner", None, (Limit(nodes=50), Limit(nodes=20)))
>>> with UciClient(spec) as white, UciClient(spec) as black:
...     for engine in (white, black):
...         engine.set_variant("gardner")
...     verdict = play_game(game, (white, black))
>>> verdict.fault, game.position.is_game_over(claim_draw=True)
(None, True)

A side that moves illegally, oversteps its time, hangs or crashes loses the game. Threefold repetition and the
fifty-move rule are claimed, as everywhere in Selfmate. Games end by score only where `RefereeSettings` say how.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from selfmate._core import Move, ScoreRules
from selfmate.board.pgn import Game
from selfmate.board.position import Position
from selfmate.errors import MoveError, SelfmateError, clip
from selfmate.match.spec import go_command
from selfmate.match.uci_client import PATIENCE, EngineError, Fault, UciClient
from selfmate.match.uci_parse import EngineMove, EngineScore
from selfmate.search.limit import Limit

__all__ = [
    "FinishedGame",
    "MoveInfo",
    "RefereeSettings",
    "RefereedGame",
    "ScoreRule",
    "Verdict",
    "play_game",
    "reason_kind",
]

COLORS: Final = ("White", "Black")
CUT_OFF: Final = "cut off"
CLOCK_MARGIN: Final = 0.05
MOVE_MARGIN: Final = 1.0
"""Seconds. On a busy machine (six processes per core) Stockfish 15.1 took 100 to 154 ms for `movetime 100`."""
FORFEITS: Final = {
    Fault.ILLEGAL_MOVE: "rules infraction",
    Fault.TIME_LOSS: "time forfeit",
    Fault.CRASH: "abandoned",
    Fault.DISCONNECT: "abandoned",
    Fault.HANG: "abandoned",
}
"""Value of the PGN tag `Termination` for each fault."""
NORMAL: Final = "normal"
"""`Termination` of a game that ended by the rules."""
ADJUDICATION: Final = "adjudication"
"""`Termination` of a game that ended by score or by length."""


@dataclass(frozen=True, slots=True)
class ScoreRule:
    """Ends a game when scores reach `centipawns` in `moves` consecutive moves of a side.

    >>> ScoreRule.read("600,4", "resign")
    ScoreRule(centipawns=600, moves=4, after=0)
    """

    centipawns: int
    moves: int
    after: int = 0
    """Number of the first move that counts."""

    @classmethod
    def read(cls, text: str, name: str) -> ScoreRule:
        """Return the rule written `CENTIPAWNS,MOVES` or `CENTIPAWNS,MOVES,AFTER`; `name` is the option, for errors."""
        parts = text.split(",")
        if not 2 <= len(parts) <= 3 or not all(part.strip().isdecimal() and len(part) < 8 for part in parts):
            example = "10,8,40" if name == "draw" else "600,4"
            raise SelfmateError(
                f"--{name} is written CENTIPAWNS,MOVES[,AFTER], such as {example}, not {clip(text)!r}", text
            )
        numbers = [int(part) for part in parts]
        if numbers[1] < 1:
            raise SelfmateError(f"--{name}: at least one move, not {numbers[1]}", text)
        return cls(*numbers)

    def __str__(self) -> str:
        return f"{self.centipawns},{self.moves}" + (f",{self.after}" if self.after else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class RefereeSettings:
    """Ends and time margins that the rules of the game do not set."""

    max_plies: int = 512
    margin: float = CLOCK_MARGIN
    """Seconds by which a clock may be overstepped: delays of pipes and of a busy machine are not the engine's fault."""
    move_margin: float = MOVE_MARGIN
    """The same for a fixed time per move."""
    patience: float = PATIENCE
    """Seconds for a move without a time limit."""
    resign: ScoreRule | None = None
    """A side loses when its own scores are this low."""
    win: ScoreRule | None = None
    """A side loses when the scores of both sides agree on it."""
    draw: ScoreRule | None = None
    """Drawn when the scores of both sides are this close to 0."""

    @property
    def score_rules(self) -> ScoreRules:
        """The three rules as the core takes them."""
        rules = {name: getattr(self, name) for name in ("resign", "win", "draw")}
        return ScoreRules(**{name: rule and (rule.centipawns, rule.moves, rule.after) for name, rule in rules.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a game ended."""

    result: str
    """`1-0`, `0-1` or `1/2-1/2`."""
    reason: str
    """For readers."""
    termination: str
    """Value of the PGN tag `Termination`."""
    fault: Fault | None = None
    """Fault of the loser."""

    @classmethod
    def cut_off(cls, plies: int) -> Verdict:
        """Return the verdict on a game that reached the limit on plies: a draw, in the score and in PGN.

        >>> Verdict.cut_off(512).result, Verdict.cut_off(512).kind
        ('1/2-1/2', 'cut off')
        """
        return cls(
            result="1/2-1/2",
            reason=f"{CUT_OFF} after {plies} {'ply' if plies == 1 else 'plies'}",
            termination=ADJUDICATION,
        )

    @property
    def kind(self) -> str:
        """The fault, or the reason without details of one game; for counting."""
        return str(self.fault) if self.fault is not None else reason_kind(self.reason)


def reason_kind(reason: str) -> str:
    """Return a reason without details of one game.

    >>> reason_kind("cut off after 90 plies"), reason_kind("stalemate")
    ('cut off', 'stalemate')
    """
    return CUT_OFF if reason.startswith(f"{CUT_OFF} after ") else reason


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveInfo:
    """What is known about one move; None for what is not."""

    seconds: float | None = None
    score: EngineScore | None = None
    """For the side that moved."""
    depth: int | None = None
    nodes: int | None = None
    clock: float | None = None
    """Seconds on the side's clock after the move and its increment."""

    def comment(self, white: bool) -> str:
        """Return score, depth and time as cutechess writes them, then `%eval` (for White) and `%clk` as Lichess does.

        >>> MoveInfo(seconds=0.053, score=EngineScore(cp=31), depth=12, clock=59.96).comment(white=False)
        '+0.31/12 0.053s [%eval -0.31] [%clk 0:00:59.9]'
        """
        parts = []
        if self.score is not None:
            parts.append(str(self.score) if self.depth is None else f"{self.score}/{self.depth}")
        if self.seconds is not None:
            parts.append(f"{self.seconds:.3f}s")
        if self.score is not None:
            seen = self.score if white else -self.score
            parts.append(f"[%eval #{seen.mate}]" if seen.mate is not None else f"[%eval {seen.pawns:.2f}]")
        if self.clock is not None:
            tenths = int(10 * self.clock)
            hours, minutes, seconds = tenths // 36_000, tenths // 600 % 60, tenths % 600 / 10
            parts.append(f"[%clk {hours}:{minutes:02}:{seconds:04.1f}]")
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedGame:
    """A game that is over."""

    number: int
    variant: str
    start: str
    """FEN."""
    moves: Sequence[Move | str]
    infos: Sequence[MoveInfo]
    """One for each move."""
    limits: tuple[Limit, Limit]
    """White's and Black's."""
    verdict: Verdict

    def to_pgn(self, names: Sequence[str], event: str) -> Game:
        """Return the game for PGN, with a comment on every move; the last one ends with the reason of the result."""
        game = Game(self.variant, self.start)
        headers = game.headers
        headers["Event"], headers["Round"] = event, str(self.number)
        headers["Date"] = date.today().strftime("%Y.%m.%d")
        headers["White"], headers["Black"] = names
        controls = [str(limit.clock or "?") for limit in self.limits]
        if controls != ["?", "?"]:
            headers["TimeControl"] = controls[0] if controls[0] == controls[1] else "?"
        headers["Termination"] = self.verdict.termination
        if self.verdict.fault is not None:
            headers["Fault"] = str(self.verdict.fault)
        game.add_line(self.moves)
        white = game.start.turn
        for node, info in zip(game.mainline(), self.infos, strict=True):
            node.comment = info.comment(white)
            white = not white
        game.result = self.verdict.result
        end = game.end()
        end.comment = f"{end.comment}; {self.verdict.reason}" if end.comment else self.verdict.reason
        return game


class RefereedGame:
    """A game in progress: moves come from engines (`ask`) or from elsewhere (`play`), until `verdict` is set.

    `fen` is the start position, the usual one when None. `limits` are White's and Black's.
    """

    def __init__(
        self,
        number: int,
        variant: str,
        fen: str | None,
        limits: tuple[Limit, Limit],
        settings: RefereeSettings | None = None,
    ) -> None:
        self.number = number
        self.variant = variant
        self.start = Position(variant, fen)
        self.position = self.start.copy()
        self.limits = limits
        self.settings = settings or RefereeSettings()
        self._score_rules = self.settings.score_rules
        self._scores: list[int | None] = []
        self.moves: list[str] = []
        """In UCI."""
        self.infos: list[MoveInfo] = []
        self.clocks = [0.0 if limit.clock is None else limit.clock.remaining for limit in limits]
        """Seconds left to White and Black."""
        self._fen = None if fen is None or self.start == Position(variant) else self.start.fen()
        self.verdict: Verdict | None = None
        self._check_end()

    @property
    def side(self) -> int:
        """The side to move: 0 White, 1 Black."""
        return 0 if self.position.turn else 1

    def ask(self, engine: UciClient) -> Move | None:
        """Play and return the move of the engine of the side to move; None, and a verdict against it, if it fails."""
        side = self.side
        limit = self.limits[side]
        # 1. The time it has. A side without a clock is shown with that of its opponent.
        clock = self.clocks[side]
        allowed, margin = self.settings.patience, 0.0
        if limit.clock is not None:
            allowed, margin = clock, self.settings.margin
        elif limit.seconds is not None:
            allowed, margin = limit.seconds, self.settings.move_margin
        shown = tuple(self.clocks[each] if self.limits[each].clock else clock for each in (0, 1))
        # 2. Ask for a move.
        try:
            go = go_command(limit, (shown[0], shown[1]))
            reply = engine.search(self._fen, self.moves, go, seconds=allowed + margin)
        except EngineError as error:
            self.forfeit(side, error.fault or Fault.CRASH, str(error))
            return None
        # 3. Check the time.
        if reply.late or (limit.is_timed and reply.seconds > allowed + margin):
            fault = Fault.TIME_LOSS if limit.is_timed else Fault.HANG
            self.forfeit(side, fault, f"{reply.seconds:.3f} s for a move of at most {allowed:.3f} s")
            return None
        if limit.clock is not None:
            self.clocks[side] = max(0.0, clock - reply.seconds) + limit.clock.increment
        # 4. Check the move.
        try:
            move = self.position.parse_uci(reply.move)
        except MoveError:
            self.forfeit(side, Fault.ILLEGAL_MOVE, f"{clip(reply.move)!r} in {self.position.fen()}")
            return None
        self.play(move, self._info(reply, side))
        return move

    def _info(self, reply: EngineMove, side: int) -> MoveInfo:
        return MoveInfo(
            seconds=reply.seconds,
            score=reply.score,
            depth=reply.depth,
            nodes=reply.nodes,
            clock=self.clocks[side] if self.limits[side].clock is not None else None,
        )

    def play(self, move: Move, info: MoveInfo | None = None) -> None:
        """Play a legal move of the side to move, and set the verdict if the game is over."""
        info = info or MoveInfo()
        self.moves.append(self.position.uci(move))
        self.position.play(move)
        self.infos.append(info)
        self._scores.append(None if info.score is None else info.score.centipawns)
        self._check_end()

    def forfeit(self, side: int, fault: Fault, detail: str) -> None:
        """End the game against a side."""
        self.verdict = Verdict(
            result="0-1" if side == 0 else "1-0",
            reason=f"{COLORS[side]} forfeits: {fault} ({detail})",
            termination=FORFEITS[fault],
            fault=fault,
        )

    # -- ends -------------------------------------------------------------------------------------

    def _check_end(self) -> None:
        """Set the verdict if the game is over by the rules, by score or by length."""
        position, mover = self.position, 1 - self.side
        outcome = position.outcome(claim_draw=True)
        if outcome is not None:
            self.verdict = Verdict(result=outcome.result(), reason=outcome.reason, termination=NORMAL)
        elif by_score := self._score_rules.end(self._scores, mover == 0, position.fullmove_number - mover):
            self.verdict = Verdict(result=by_score[0], reason=by_score[1], termination=ADJUDICATION)
        elif len(self.moves) >= self.settings.max_plies:
            self.verdict = Verdict.cut_off(len(self.moves))

    def finished(self) -> FinishedGame:
        """Return the game, which must have a verdict."""
        assert self.verdict is not None
        return FinishedGame(
            number=self.number,
            variant=self.variant,
            start=self.start.fen(),
            moves=tuple(self.moves),
            infos=tuple(self.infos),
            limits=self.limits,
            verdict=self.verdict,
        )


def play_game(game: RefereedGame, engines: tuple[UciClient, UciClient]) -> Verdict:
    """Play a game to its end between two engines, White's first, for which the variant is set up."""
    for side, engine in enumerate(engines):
        if game.verdict is None:
            try:
                engine.new_game()
            except EngineError as error:
                game.forfeit(side, error.fault or Fault.CRASH, str(error))
    while game.verdict is None:
        game.ask(engines[game.side])
    return game.verdict
