"""What `selfmate analyse` prints: tables of positions, lines of moves, summaries of games and players."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from selfmate.app.accuracy import GameSummary, SideSummary, sparkline
from selfmate.app.judge import Analysis, MoveJudgement, epd_moves
from selfmate.app.notation import color_name, describe, describe_proof, san_line
from selfmate.board.pgn import Game
from selfmate.search.limit import Limit
from selfmate.search.result import MoveResult
from selfmate.util.terminal import say
from selfmate.util.text import many, percent

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["show", "show_game", "show_judgement", "show_players", "show_summary"]

LEGEND: Final = "Best move first, then by visits; proven losses last. Values from -1 to 1 for the side to move."
GAME_LEGEND: Final = "Values from -1 (Black wins) to 1 (White wins), after each move."
SHOWN_PLIES: Final = 10
"""Moves of a line in a table; JSON has all of them."""
GRAPH_WIDTH: Final = 60
"""Most columns of a graph."""


# -- positions ------------------------------------------------------------------------------------


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
        if moves := epd_moves(analysis.epd, opcode):
            good = (result.best in moves) == (opcode == "bm")
            named = " ".join(position.san(move) for move in moves)
            say(console, f"{opcode} {named}: {right if good else wrong}")


def _worth(each: MoveResult) -> str:
    """Return the value of a move, or its proven result."""
    if each.proven is not None:
        return describe_proof(each.proven)
    return f"{each.value:+.2f}" if each.visits else ""


# -- games ----------------------------------------------------------------------------------------


def show_game(number: int, game: Game, player: str, limit: Limit, console: Console, *, first: bool) -> None:
    """Print the title of a game, and with the first one what the values mean."""
    names = f"{game.headers['White']} - {game.headers['Black']} {game.result}"
    if not first:
        console.print()
    say(console, f"{number}. {names} ({game.variant}; by {player}, {limit})")
    if first:
        say(console, GAME_LEGEND)


def show_judgement(judged: MoveJudgement, console: Console) -> None:
    """Print a line for a move: its value for White, and a better line if it has a mark."""
    position = judged.before.position
    dots = "." if judged.by_white else "..."
    word = f"{position.fullmove_number}{dots} {position.san(judged.move)}{judged.mark}"
    line = f"{word:<16} {judged.white_value:+.2f}"
    if judged.mark:
        line += f"   better: {san_line(position, judged.better[:SHOWN_PLIES])}"
    say(console, line)


def show_summary(summary: GameSummary, console: Console) -> None:
    """Print the course of a game, and accuracy, marks and graph of each player."""
    if not summary.values:
        return
    width = min(GRAPH_WIDTH, max(8, console.width - 12)) if console.is_terminal else GRAPH_WIDTH
    values = [value for _, value in summary.values]
    console.print(f"  {'for White':<9} {sparkline(values, -1, 1, width)}", markup=False, soft_wrap=True)
    for color, side in (("White", summary.white), ("Black", summary.black)):
        accuracies = [accuracy for _, accuracy in summary.accuracies[color == "White"]]
        if side.accuracy is None:
            continue
        console.print(f"  {color:<9} {sparkline(accuracies, 0, 100, width)}", markup=False, soft_wrap=True)
        say(console, f"  {'':<9} {side.name}: accuracy {side.accuracy:.1f} %, {_marks(side)}")


def show_players(sides: Iterable[SideSummary], console: Console) -> None:
    """Print a line for each player over all games, the most accurate first."""
    with_moves = [side for side in sides if side.accuracy is not None]
    if with_moves:
        say(console, "\nAll games:")
    for side in sorted(with_moves, key=lambda side: -(side.accuracy or 0.0)):
        say(console, f"{side.name}: {many(side.moves, 'move')}, accuracy {side.accuracy:.1f} %, {_marks(side)}")


def _marks(side: SideSummary) -> str:
    words = (("?!", "inaccuracy", "inaccuracies"), ("?", "mistake", ""), ("??", "blunder", ""))
    return ", ".join(many(side.marks[mark], noun, plural) for mark, noun, plural in words)
