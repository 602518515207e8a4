"""One game under our rules: every move is checked, every clock is ours, and what goes wrong has a name and an author.

>>> import sys
>>> from selfmate.match.uci_client import Engine, EngineSpec
>>> from selfmate.search.limit import Limit
>>> ours = EngineSpec(command=(sys.executable, "-m", "selfmate", "uci"), options=(("WeightsFile", "heuristic-1"),))
>>> table = Table(0, "gardner", None, (Limit(nodes=50), Limit(nodes=20)))
>>> with Engine(ours) as white, Engine(ours) as black:
...     for engine in (white, black):
...         engine.play_variant("gardner")
...     verdict = play_game(table, (white, black))
>>> verdict.fault, table.position.is_game_over(claim_draw=True)
(None, True)

A side that moves illegally, oversteps its time, hangs or dies has lost the game. Threefold repetition and fifty moves
are claimed as everywhere in Selfmate; nobody resigns or agrees on a draw unless `Terms` say how.
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
from selfmate.match.uci_client import PATIENCE, Engine, EngineError, Fault
from selfmate.match.uci_parse import Score, Thought
from selfmate.search.limit import Limit

__all__ = ["Finished", "ScoreRule", "Table", "Terms", "Turn", "Verdict", "kind_of", "play_game"]


COLORS: Final = ("White", "Black")


CUT_OFF: Final = "cut off"


CLOCK_MARGIN: Final = 0.05


MOVE_MARGIN: Final = 1.0
"""Seconds. On a busy machine (six processes for a core) Stockfish 15.1 took 100 to 154 ms for `movetime 100`."""


FORFEITS: Final = {
    Fault.ILLEGAL_MOVE: "rules infraction",
    Fault.TIME_LOSS: "time forfeit",
    Fault.CRASH: "abandoned",
    Fault.DISCONNECT: "abandoned",
    Fault.HANG: "abandoned",
}
"""What the PGN standard calls them in the tag `Termination`."""


ADJUDICATION: Final = "adjudication"
"""The same for an end by score."""


@dataclass(frozen=True, slots=True)
class ScoreRule:
    """An end by what the players say of their position: so many centipawns in so many moves of a side, after a move.

    >>> ScoreRule.read("600,4", "resign")
    ScoreRule(centipawns=600, moves=4, after=0)
    """

    centipawns: int
    moves: int
    after: int = 0
    """The number of the first move that counts."""

    @classmethod
    def read(cls, text: str, name: str) -> ScoreRule:
        """Read `CENTIPAWNS,MOVES` or `CENTIPAWNS,MOVES,AFTER`."""
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
class Terms:
    """What holds beside the rules of the game."""

    max_plies: int = 512
    margin: float = CLOCK_MARGIN
    """Seconds by which a clock may be overstepped: pipes and a busy machine are not the engine's fault."""
    move_margin: float = MOVE_MARGIN
    """The same for a time for each move, which no clock makes up for."""
    patience: float = PATIENCE
    """Seconds for a move that no clock limits."""
    resign: ScoreRule | None = None
    """Lost, when a side says so of itself."""
    win: ScoreRule | None = None
    """Lost, when both sides say so."""
    draw: ScoreRule | None = None
    """Drawn, when both sides see no more than this."""

    @property
    def score_rules(self) -> ScoreRules:
        """The ends by score, for whoever plays."""
        rules = {name: getattr(self, name) for name in ("resign", "win", "draw")}
        return ScoreRules(**{name: rule and (rule.centipawns, rule.moves, rule.after) for name, rule in rules.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a game ended."""

    result: str
    """`1-0`, `0-1` or `1/2-1/2`."""
    reason: str
    """In words, for people."""
    termination: str
    """In PGN's words."""
    fault: Fault | None = None
    """What the loser did wrong."""

    @classmethod
    def cut_off(cls, plies: int) -> Verdict:
        """Give the verdict on a game that became too long: it counts as a draw, so its PGN must say so too.

        >>> Verdict.cut_off(512).result, Verdict.cut_off(512).kind
        ('1/2-1/2', 'cut off')
        """
        return cls(result="1/2-1/2", reason=f"{CUT_OFF} after {plies} plies", termination=ADJUDICATION)

    @property
    def kind(self) -> str:
        """In words that are the same for all games which ended so."""
        return str(self.fault) if self.fault is not None else kind_of(self.reason)


def kind_of(reason: str) -> str:
    """Leave out of a reason what only one game has.

    >>> kind_of("cut off after 90 plies"), kind_of("stalemate")
    ('cut off', 'stalemate')
    """
    return CUT_OFF if reason.startswith(f"{CUT_OFF} after ") else reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What is known of one move."""

    seconds: float | None = None
    score: Score | None = None
    """The mover's."""
    depth: int | None = None
    nodes: int | None = None
    clock: float | None = None
    """What its clock showed after the move and its increment, in seconds."""

    def comment(self, white: bool) -> str:
        """Write score, depth and time as cutechess does, then `%eval` (White's) and `%clk` as lichess reads them.

        >>> Turn(seconds=0.053, score=Score(cp=31), depth=12, clock=59.96).comment(white=False)
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
class Finished:
    """A game that is over."""

    number: int
    variant: str
    start: str
    moves: Sequence[Move | str]
    turns: Sequence[Turn]
    """What is known of each move."""
    limits: tuple[Limit, Limit]
    verdict: Verdict

    def game(self, names: Sequence[str], event: str) -> Game:
        """Give the game as PGN has it, with what is known of every move; how it ended stands behind the last one."""
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
        for node, turn in zip(game.mainline(), self.turns, strict=True):
            node.comment = turn.comment(white)
            white = not white
        game.result = self.verdict.result
        end = game.end()
        end.comment = f"{end.comment}; {self.verdict.reason}" if end.comment else self.verdict.reason
        return game


class Table:
    """A game in progress. Moves come from engines (`ask`), or from elsewhere (`play`), until there is a verdict.

    `fen` is where it begins, the usual start when None; `limits` are those of White and Black.
    """

    def __init__(
        self,
        number: int,
        variant: str,
        fen: str | None,
        limits: tuple[Limit, Limit],
        terms: Terms | None = None,
    ) -> None:
        self.number = number
        self.variant = variant
        self.start = Position(variant, fen)
        self.position = self.start.copy()
        self.limits = limits
        self.terms = terms or Terms()
        self._score_rules = self.terms.score_rules
        self._scores: list[int | None] = []
        self.moves: list[str] = []
        """In UCI, as engines hear them."""
        self.turns: list[Turn] = []
        self.clocks = [0.0 if limit.clock is None else limit.clock.remaining for limit in limits]
        self._fen = None if fen is None or self.start == Position(variant) else self.start.fen()
        self.verdict: Verdict | None = None
        self._look()

    @property
    def side(self) -> int:
        """Who is to move: 0 White, 1 Black."""
        return 0 if self.position.turn else 1

    def ask(self, engine: Engine) -> Move | None:
        """Let the engine of the side to move play; its move, or None and a verdict against it."""
        side = self.side
        limit = self.limits[side]
        # 1. How long it may take. The other's clock is shown only where it has one.
        clock = self.clocks[side]
        given, margin = self.terms.patience, 0.0
        if limit.clock is not None:
            given, margin = clock, self.terms.margin
        elif limit.seconds is not None:
            given, margin = limit.seconds, self.terms.move_margin
        shown = tuple(self.clocks[each] if self.limits[each].clock else clock for each in (0, 1))
        # 2. Ask.
        try:
            go = go_command(limit, (shown[0], shown[1]))
            thought = engine.think(self._fen, self.moves, go, seconds=given + margin)
        except EngineError as error:
            self.forfeit(side, error.fault or Fault.CRASH, str(error))
            return None
        # 3. Was it in time?
        if thought.late or (limit.is_timed and thought.seconds > given + margin):
            kind = Fault.TIME_LOSS if limit.is_timed else Fault.HANG
            self.forfeit(side, kind, f"{thought.seconds:.3f} s for a move of at most {given:.3f} s")
            return None
        if limit.clock is not None:
            self.clocks[side] = max(0.0, clock - thought.seconds) + limit.clock.increment
        # 4. Is it a move?
        try:
            move = self.position.parse_uci(thought.move)
        except MoveError:
            self.forfeit(side, Fault.ILLEGAL_MOVE, f"{clip(thought.move)!r} in {self.position.fen()}")
            return None
        self.play(move, self._turn(thought, side))
        return move

    def _turn(self, thought: Thought, side: int) -> Turn:
        return Turn(
            seconds=thought.seconds,
            score=thought.score,
            depth=thought.depth,
            nodes=thought.nodes,
            clock=self.clocks[side] if self.limits[side].clock is not None else None,
        )

    def play(self, move: Move, turn: Turn | None = None) -> None:
        """Play a legal move of the side to move, and see whether the game is over."""
        self.moves.append(self.position.uci(move))
        self.position.play(move)
        self.turns.append(turn := turn or Turn())
        self._scores.append(None if turn.score is None else turn.score.centipawns)
        self._look()

    def forfeit(self, side: int, fault: Fault, detail: str) -> None:
        """End the game against a side."""
        self.verdict = Verdict(
            result="0-1" if side == 0 else "1-0",
            reason=f"{COLORS[side]} forfeits: {fault} ({detail})",
            termination=FORFEITS[fault],
            fault=fault,
        )

    # -- ends -------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Find a verdict, if there is one: by the rules, by score, by length."""
        position, mover = self.position, 1 - self.side
        outcome = position.outcome(claim_draw=True)
        if outcome is not None:
            self.verdict = Verdict(result=outcome.result(), reason=outcome.reason, termination="normal")
        elif by_score := self._score_rules.end(self._scores, mover == 0, position.fullmove_number - mover):
            self.verdict = Verdict(result=by_score[0], reason=by_score[1], termination=ADJUDICATION)
        elif len(self.moves) >= self.terms.max_plies:
            self.verdict = Verdict.cut_off(len(self.moves))

    def finished(self) -> Finished:
        """Give the game as it was played; there must be a verdict."""
        assert self.verdict is not None
        return Finished(
            number=self.number,
            variant=self.variant,
            start=self.start.fen(),
            moves=tuple(self.moves),
            turns=tuple(self.turns),
            limits=self.limits,
            verdict=self.verdict,
        )


def play_game(table: Table, engines: tuple[Engine, Engine]) -> Verdict:
    """Play a game from where it stands between two engines that have the variant set up, White first."""
    for side, engine in enumerate(engines):
        if table.verdict is None:
            try:
                engine.new_game()
            except EngineError as error:
                table.forfeit(side, error.fault or Fault.CRASH, str(error))
    while table.verdict is None:
        table.ask(engines[table.side])
    return table.verdict
