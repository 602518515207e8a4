"""`selfmate analyse`: the search of a position, of the positions of an EPD file, or of every move of games.

>>> from selfmate.board.epd import parse_epd
>>> analysis = analyse(Player("heuristic-1"), parse_epd("7k/8/5K2/8/8/8/8/6Q1 w - - bm Qg7#;"), Limit(visits=50))
>>> analysis.right, analysis.result.proven
(True, 1)

The value of a move that was played is that of a search of the position after it. So a game of n moves takes n + 1
searches, and a move that the search before it hardly visited is judged as exactly as its best one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from selfmate._core import WHITE, Move
from selfmate.app.analysis_input import AnalysisInput
from selfmate.app.notation import color_name, describe, describe_proof, san_line
from selfmate.board.epd import Epd
from selfmate.board.pgn import Game
from selfmate.board.pgn_writer import variant_name
from selfmate.board.position import Position
from selfmate.nn import shipped as nets
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.result import MoveResult, Result
from selfmate.util.terminal import say
from selfmate.util.text import many, percent

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "Analysis",
    "MoveJudgement",
    "VariantPlayers",
    "analyse",
    "analyse_game",
    "run",
    "show",
    "show_judgement",
]

DEFAULT_PLAYER: Final = "heuristic-1"
"""The player of a variant without a shipped net."""
MARKS: Final = ((0.3, "??"), (0.2, "?"), (0.1, "?!"))
"""Least loss of value for each mark, with Lichess's thresholds of winning chances, which also go from -1 to 1."""
LEGEND: Final = "Best move first, then by visits; proven losses last. Values from -1 to 1 for the side to move."
SHOWN_PLIES: Final = 10
"""Moves of a line in a table; JSON has all of them."""

# -- players --------------------------------------------------------------------------------------


class VariantPlayers:
    """The player for each variant: that of `spec`, else the shipped net, else heuristic-1.

    `backend` is that of the net (see `open_evaluator`).

    >>> VariantPlayers(None)("horde").name
    'heuristic-1'
    """

    def __init__(self, spec: str | None, backend: str | None = None) -> None:
        self.backend = backend
        self.chosen = None if spec is None else Player(spec, backend=backend)
        self._found: dict[str, Player] = {}

    def variant(self, wanted: str | None) -> str:
        """Return the variant of a position without one: the wanted one, else the net's, else chess."""
        return wanted or (self.chosen and self.chosen.variant) or "chess"

    def __call__(self, variant: str) -> Player:
        """Return the player of a variant; `PlayerError` if the chosen one does not play it."""
        if self.chosen is not None:
            self.chosen.check(variant)
            return self.chosen
        if variant not in self._found:
            self._found[variant] = Player(nets.find(variant) or DEFAULT_PLAYER, backend=self.backend)
        return self._found[variant]


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
        best, avoid = (_moves(self.epd, opcode) for opcode in ("bm", "am"))
        if not best and not avoid:
            return None
        return (not best or self.result.best in best) and self.result.best not in avoid

    def as_json(self, multipv: int) -> dict[str, Any]:
        """Return the JSON form; values and wdl are for the side to move."""
        position, result = self.position, self.result
        values: dict[str, Any] = {
            "fen": position.fen(),
            "variant": variant_name(position),
            "player": self.player,
            "visits": result.visits,
            "nodes": result.nodes,
            "seconds": round(result.seconds, 4),
            "best": _move_json(position, result.best),
            "value": round(result.value, 4),
            "wdl": [round(share, 4) for share in result.wdl],
            "proven_plies": result.proven,
            "moves": [
                {
                    **_move_json(position, each.move),
                    "visits": each.visits,
                    "value": round(each.value, 4),
                    "prior": round(each.prior, 4),
                    "proven_plies": each.proven,
                    "pv": san_line(position, each.pv).split(),
                }
                for each in result.moves[:multipv]
            ],
        }
        if isinstance(label := self.epd.operations.get("id"), str):
            values["id"] = label
        for opcode in ("bm", "am"):
            if moves := _moves(self.epd, opcode):
                values[opcode] = [_move_json(position, move) for move in moves]
        if self.right is not None:
            values["right"] = self.right
        return values


def analyse(player: Player, epd: Epd, limit: Limit) -> Analysis:
    """Return the search of a position."""
    return Analysis(epd=epd, player=player.name, result=player.search(epd.position, limit))


def _moves(epd: Epd, opcode: str) -> tuple[Move, ...]:
    value = epd.operations.get(opcode)
    return tuple(move for move in value if isinstance(move, Move)) if isinstance(value, tuple) else ()


def _move_json(position: Position, move: Move) -> dict[str, str]:
    return {"uci": position.uci(move), "san": position.san(move)}


# -- games ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveJudgement:
    """A move that was played and its value; values are for the side that played it."""

    game: int
    """Number of the game in its file, from 1."""
    ply: int
    """Number of the move in the game, from 1."""
    before: Analysis
    move: Move
    value: float
    """Value of the position after it, by a search or by the rules."""

    @property
    def lost(self) -> float:
        """Value of the best move less that of this one, at least 0."""
        return 0.0 if self.move == self.before.result.best else max(0.0, self.before.best.value - self.value)

    @property
    def mark(self) -> str:
        """Its annotation: `?!`, `?`, `??` or none."""
        return next((mark for least, mark in MARKS if self.lost >= least), "")

    def as_json(self, multipv: int) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "game": self.game,
            "ply": self.ply,
            **self.before.as_json(multipv),
            "played": {**_move_json(self.before.position, self.move), "value": round(self.value, 4)},
            "lost": round(self.lost, 4),
            "mark": self.mark,
        }


def analyse_game(player: Player, game: Game, limit: Limit, *, number: int = 1) -> Iterator[MoveJudgement]:
    """Yield a judgement of every move of a game's main line.

    >>> game = Game.from_pgn("1. f3 e5 2. g4 Qh4# 0-1")
    >>> [(each.move.uci(), each.mark) for each in analyse_game(Player("heuristic-1"), game, Limit(visits=500))][2:]
    [('g2g4', '??'), ('d8h4', '')]
    """
    position = game.start.copy()
    before: Analysis | None = None
    for ply, node in enumerate(game.mainline(), start=1):
        if before is None:
            before = analyse(player, Epd(position.copy()), limit)
        position.play(node.move)
        outcome = position.outcome()
        if outcome is not None:
            after, value = None, 0.0 if outcome.winner is None else 1.0 if outcome.winner != position.turn else -1.0
        else:
            after = analyse(player, Epd(position.copy()), limit)
            value = -after.best.value
        yield MoveJudgement(game=number, ply=ply, before=before, move=node.move, value=value)
        before = after


# -- the command ---------------------------------------------------------------------------------


def run(
    given: AnalysisInput,
    players: VariantPlayers,
    limit: Limit,
    console: Console,
    *,
    multipv: int = 5,
    as_json: bool = False,
) -> None:
    """Analyse everything, and print each position or move as soon as it is searched."""
    right: list[bool] = []
    for number, epd in enumerate(given.positions):
        analysis = analyse(players(variant_name(epd.position)), epd, limit)
        if analysis.right is not None:
            right.append(analysis.right)
        if as_json:
            print(json.dumps(analysis.as_json(multipv)), flush=True)
        else:
            if number:
                console.print()
            show(analysis, console, multipv, legend=not number)
    if right and len(given.positions) > 1 and not as_json:
        console.print(f"\n{sum(right)} right of {len(right)}", highlight=False)
    for number, game in enumerate(given.games() if given.games else (), start=1):
        player = players(game.variant)
        if not as_json:
            names = f"{game.headers['White']} - {game.headers['Black']} {game.result}"
            line = f"{'' if number == 1 else chr(10)}{number}. {names} ({game.variant}; by {player.name})"
            say(console, line)
        for judged in analyse_game(player, game, limit, number=number):
            if as_json:
                print(json.dumps(judged.as_json(multipv)), flush=True)
            else:
                show_judgement(judged, console)


# -- output --------------------------------------------------------------------------------------


def show(analysis: Analysis, console: Console, multipv: int, *, legend: bool = True) -> None:
    """Print the best moves of a position, and whether `bm` and `am` of its EPD line are met."""
    from rich.table import Table

    position, result = analysis.position, analysis.result
    label = analysis.epd.operations.get("id")
    console.print(
        f"{f'{label}: ' if isinstance(label, str) else ''}{position.fen()}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    table = Table()
    table.add_column("move")
    for column in ("visits", "value", "prior"):
        table.add_column(column, justify="right")
    table.add_column("line", overflow="fold")
    for each in result.moves[:multipv]:
        if not each.visits and each.proven is None and each is not analysis.best:
            continue  # not searched
        table.add_row(
            position.san(each.move),
            f"{each.visits:,}",
            _worth(each),
            percent(each.prior),
            san_line(position, each.pv[:SHOWN_PLIES]),
        )
    console.print(table)
    if legend and table.row_count > 1:
        say(console, LEGEND)
    speed = f"{many(result.visits, 'visit')} in {result.seconds:.2f} s"
    say(console, f"{color_name(position.turn)} to move: {describe(result)}; {analysis.player}, {speed}")
    for opcode, right, wrong in (("bm", "found", "missed"), ("am", "avoided", "not avoided")):
        if moves := _moves(analysis.epd, opcode):
            good = (result.best in moves) == (opcode == "bm")
            named = " ".join(position.san(move) for move in moves)
            say(console, f"{opcode} {named}: {right if good else wrong}")


def _worth(each: MoveResult) -> str:
    """Return the value of a move, or its proven result."""
    if each.proven is not None:
        return describe_proof(each.proven)
    return f"{each.value:+.2f}" if each.visits else ""


def show_judgement(judged: MoveJudgement, console: Console) -> None:
    """Print a line for a move: its value, and a better move if it has a mark."""
    position, best = judged.before.position, judged.before.best
    dots = "." if position.turn == WHITE else "..."
    word = f"{position.fullmove_number}{dots} {position.san(judged.move)}{judged.mark}"
    line = f"{word:<16} {judged.value:+.2f}"
    if judged.mark:
        line += f"   better: {san_line(position, best.pv[:SHOWN_PLIES])} ({best.value:+.2f})"
    say(console, line)
