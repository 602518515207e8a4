"""`selfmate analyse`: positions and games, searched by a player."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfmate.cli.common import progress_bar
from selfmate.errors import SelfmateError
from selfmate.evaluator.backends import BACKEND_CHOICES
from selfmate.match.options import PLAYER_HELP

if TYPE_CHECKING:
    from selfmate.app.analyse import AnalysisProgress, Effort, VariantPlayers

__all__ = ["analyse"]


def analyse(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="FEN|FILE",
            help="A FEN, or a file of EPD lines, FENs or PGN; - is standard input (default: the start position).",
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            "--variant",
            help="Variant, where a game has no tag for it (default: the net's, else chess).",
        ),
    ] = None,
    net: Annotated[
        str | None,
        typer.Option(
            "--net",
            help=f"The player: {PLAYER_HELP} (default: the shipped net, or heuristic-1 where it is stronger in equal "
            "time).",
        ),
    ] = None,
    visits: Annotated[
        int | None,
        typer.Option(
            "--visits",
            min=1,
            max=100_000_000,
            help="Visits per position (default: 800 of a net, 200 within games; 20,000 of heuristic-1).",
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.01, max=86_400, help="Seconds per position.")
    ] = None,
    backend: Annotated[
        str, typer.Option("--backend", help=f"Backend of a net: {', '.join(BACKEND_CHOICES)}.")
    ] = "auto",
    multipv: Annotated[int, typer.Option("--multipv", min=1, max=256, help="Moves to show.")] = 5,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each position or move (docs/analysis.md).")
    ] = False,
    annotate: Annotated[
        Path | None,
        typer.Option("--annotate", metavar="PGN", help="Write the games with evaluations, marks and better lines."),
    ] = None,
    graph: Annotated[
        Path | None,
        typer.Option("--graph", metavar="SVG", help="Draw the game: its values, and the accuracy of each player."),
    ] = None,
) -> None:
    """Analyse a position, the positions of an EPD file (`bm` and `am` are checked), or the moves of games.

    What cannot be read in a game is reported; the moves before it are analysed, and the next game follows.

    Example: selfmate analyse --variant gardner --multipv 3

    Example: selfmate analyse game.pgn --annotate out.pgn --graph out.svg
    """
    from selfmate.app import analyse as analysis

    players = analysis.VariantPlayers(net, backend)
    effort = analysis.Effort(visits, seconds)
    _run(what, variant, players, effort, annotate, graph, multipv=multipv, as_json=as_json)


def _run(
    what: str | None,
    variant: str | None,
    players: VariantPlayers,
    effort: Effort,
    annotate: Path | None,
    graph: Path | None,
    *,
    multipv: int,
    as_json: bool,
) -> None:
    """Check the options against the input before the first search, then analyse."""
    from rich.console import Console

    from selfmate.app import analyse as analysis
    from selfmate.app.analysis_input import read_input
    from selfmate.app.annotate import AnnotatedFile
    from selfmate.board.position import Position
    from selfmate.util.files import check_apart, check_target

    if variant is not None:
        Position(variant)  # raises for an unknown one
    given = read_input(what, players.variant(variant), asked=variant is not None)
    if given.games is None and (annotate is not None or graph is not None):
        raise SelfmateError(f"{'--annotate' if annotate else '--graph'} needs games: a PGN file")
    check_target(graph)
    check_apart(graph, given.path, "--graph")
    if graph is not None and annotate is not None and graph.resolve() == annotate.resolve():
        raise SelfmateError(f"{graph}: --graph and --annotate name the same file", str(graph))
    if graph is not None and (graph.is_file() or not graph.exists()) and graph.suffix.lower() != ".svg":
        raise SelfmateError(f"{graph}: --graph writes an SVG; the name of the file must end in .svg", str(graph))
    console = Console(highlight=False)
    with (
        AnnotatedFile(annotate, given.path) if annotate else contextlib.nullcontext() as annotated,
        progress_bar(hidden=as_json and console.is_terminal, output=console) as bar,
    ):
        task = bar.add_task("analyse", total=None, note="")

        def tell(progress: AnalysisProgress) -> None:
            bar.update(task, completed=progress.done, total=progress.total, note=progress.notes)

        output = analysis.AnalysisOutput(
            console=console,
            multipv=multipv,
            as_json=as_json,
            annotated=annotated,
            graph=graph,
            tell=tell,
        )
        analysis.run(given, players, effort, output)
