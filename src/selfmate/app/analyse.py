"""`selfmate analyse`: the search of a position, of the positions of an EPD file, or of every move of games.

docs/analysis.md explains the output, docs/analysis.schema.json its JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from selfmate.app.accuracy import GameSummary, SideSummary, graph
from selfmate.app.analysis_input import AnalysisInput
from selfmate.app.analysis_json import SideRecord, SummaryRecord
from selfmate.app.analysis_report import show, show_game, show_judgement, show_players, show_summary
from selfmate.app.annotate import AnnotatedFile, annotate_move, finish_game
from selfmate.app.judge import MoveJudgement, analyse, analyse_game
from selfmate.board.pgn import Game
from selfmate.board.pgn_writer import variant_name
from selfmate.errors import SelfmateError
from selfmate.nn import shipped as nets
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.util.files import write_output
from selfmate.util.text import many

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["AnalysisOutput", "AnalysisProgress", "Effort", "VariantPlayers", "run"]

DEFAULT_PLAYER: Final = "heuristic-1"
"""The player of a variant without a shipped net."""
GAME_PLAYERS: Final = {"chess": "heuristic-1", "chess960": "heuristic-1"}
"""The players of games whose marks were measured with another player than that of positions
(docs/results/analysis.md)."""
POSITION_VISITS, GAME_VISITS, CORE_VISITS = 800, 200, 20_000
"""Default visits of a net for a position and for each position of a game, and those of a player without a net."""

# -- players and effort ---------------------------------------------------------------------------


class VariantPlayers:
    """The player for each variant: that of `spec`, else the shipped net, else heuristic-1.

    `backend` is that of the net (see `open_evaluator`).

    >>> players = VariantPlayers(None)
    >>> players("horde").name, players("chess").name, players("chess", in_game=True).name
    ('heuristic-1', 'chess-gpu', 'heuristic-1')
    """

    def __init__(self, spec: str | None, backend: str | None = None) -> None:
        self.backend = backend
        self.chosen = None if spec is None else Player(spec, backend=backend)
        self._found: dict[str, Player] = {}  # by variant and spec

    def variant(self, wanted: str | None) -> str:
        """Return the variant of a position without one: the wanted one, else the net's, else chess."""
        return wanted or (self.chosen and self.chosen.variant) or "chess"

    def __call__(self, variant: str, *, in_game: bool = False) -> Player:
        """Return the player of positions or games of a variant; `PlayerError` if the chosen one does not play it."""
        if self.chosen is not None:
            self.chosen.check(variant)
            return self.chosen
        spec = (GAME_PLAYERS.get(variant) if in_game else None) or nets.find(variant) or DEFAULT_PLAYER
        key = f"{variant} {spec}"
        if key not in self._found:
            self._found[key] = Player(spec, backend=self.backend)
        return self._found[key]


@dataclass(frozen=True, slots=True)
class Effort:
    """The limit of each search: what was asked for, or a default that depends on the player.

    >>> Effort().limit(Player("heuristic-1"), in_game=True), Effort(visits=50).limit(Player("heuristic-1"))
    (Limit(visits=20000), Limit(visits=50))
    """

    visits: int | None = None
    seconds: float | None = None

    def limit(self, player: Player, *, in_game: bool = False) -> Limit:
        """Return the limit of a search of a position, alone or `in_game`."""
        if self.visits is not None or self.seconds is not None:
            return Limit(visits=self.visits, seconds=self.seconds)
        if isinstance(player.evaluator, str):
            return Limit(visits=CORE_VISITS)
        return Limit(visits=GAME_VISITS if in_game else POSITION_VISITS)


# -- the command ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnalysisProgress:
    """How far an analysis is: in the positions of a file (`game` is 0), or in the moves of a game.

    >>> AnalysisProgress(0, 3).notes, AnalysisProgress(2, 11, 80).notes
    (['3 positions done'], ['game 2: 11 of 80 moves', '11 of 80'])
    """

    game: int
    """Number of the game in its file, from 1."""
    done: int
    total: int | None = None
    """None if it is not known."""

    @property
    def notes(self) -> list[str]:
        """The progress in words, the longest text first, for narrower and narrower terminals."""
        if not self.game:
            return [f"{many(self.done, 'position')} done"]
        share = f"{self.done} of {self.total}"
        return [f"game {self.game}: {share} moves", share]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisOutput:
    """What is printed and written."""

    console: Console
    multipv: int = 5
    as_json: bool = False
    annotated: AnnotatedFile | None = None
    graph: Path | None = None
    """The picture of the first game; those of others have its name with their number."""
    tell: Callable[[AnalysisProgress], None] = lambda _: None
    """Called at the begin, and after every position or move."""

    def graph_path(self, number: int) -> Path | None:
        """Return the path of the picture of a game."""
        if self.graph is None or number == 1:
            return self.graph
        return self.graph.with_stem(f"{self.graph.stem}-{number}")


def run(given: AnalysisInput, players: VariantPlayers, effort: Effort, output: AnalysisOutput) -> None:
    """Analyse everything, and print each position or move as soon as it is searched.

    Raises `SelfmateError` for games without any move.
    """
    if given.positions is not None:
        _run_positions(given, players, effort, output)
    totals: dict[str, SideSummary] = {}
    shown = 0
    for number, game in enumerate(given.games() if given.games else (), start=1):
        if game.error is not None and game.next is None:
            continue  # nothing of it could be read, which is reported
        summary = _run_game(number, game, players(game.variant, in_game=True), effort, output, first=not shown)
        shown += 1
        for side in (summary.white, summary.black):
            totals.setdefault(side.name, SideSummary(side.name)).merge(side)
    if given.games is not None and not any(side.moves for side in totals.values()):
        name = given.path or "standard input"
        raise SelfmateError(f"{name}: no move to analyse", str(name))
    if shown > 1 and not output.as_json:
        show_players(totals.values(), output.console)


def _run_positions(given: AnalysisInput, players: VariantPlayers, effort: Effort, output: AnalysisOutput) -> None:
    assert given.positions is not None
    count = judged = right = 0
    output.tell(AnalysisProgress(0, 0))
    for epd in given.positions():
        player = players(variant_name(epd.position))
        analysis = analyse(player, epd, effort.limit(player))
        judged += analysis.right is not None
        right += analysis.right is True
        if output.as_json:
            _print_json(analysis.record(output.multipv))
        else:
            if count:
                output.console.print()
            show(analysis, output.console, output.multipv, legend=not count)
        count += 1
        output.tell(AnalysisProgress(0, count))
    if judged and count > 1 and not output.as_json:
        output.console.print(f"\n{right} right of {judged}", highlight=False)


def _run_game(
    number: int, game: Game, player: Player, effort: Effort, output: AnalysisOutput, *, first: bool
) -> GameSummary:
    limit = effort.limit(player, in_game=True)
    summary = GameSummary(number, game.headers["White"], game.headers["Black"])
    if not output.as_json:
        show_game(number, game, player.name, limit, output.console, first=first)
    # A move is printed when the next one is known, since the last one has the summary.
    waiting: MoveJudgement | None = None
    nodes = list(game.mainline())
    output.tell(AnalysisProgress(number, 0, len(nodes)))
    for node, judged in zip(nodes, analyse_game(player, game, limit, number=number), strict=False):
        summary.add(
            white=judged.by_white,
            number=judged.before.position.fullmove_number,
            white_value=judged.white_value,
            accuracy=judged.accuracy,
            mark=judged.mark,
        )
        output.tell(AnalysisProgress(number, judged.ply, len(nodes)))
        if output.annotated is not None:
            annotate_move(node, judged)
        if not output.as_json:
            show_judgement(judged, output.console)
            continue
        if waiting is not None:
            _print_json(waiting.record(output.multipv))
        waiting = judged
    if waiting is not None:
        last = waiting.record(output.multipv)
        last.summary = SummaryRecord(white=_side(summary.white), black=_side(summary.black))
        _print_json(last)
    if not output.as_json:
        show_summary(summary, output.console)
    if output.annotated is not None:
        finish_game(game, player.name, str(limit), summary)
        output.annotated.write(game)
    if (path := output.graph_path(number)) is not None and summary.values:
        write_output(path, graph(summary).encode())
    return summary


def _print_json(record: msgspec.Struct) -> None:
    print(msgspec.json.encode(record).decode(), flush=True)


def _side(side: SideSummary) -> SideRecord:
    return SideRecord(
        name=side.name,
        moves=side.moves,
        accuracy=None if side.accuracy is None else round(side.accuracy, 2),
        inaccuracies=side.marks["?!"],
        mistakes=side.marks["?"],
        blunders=side.marks["??"],
    )
