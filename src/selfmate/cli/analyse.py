"""`selfmate analyse`: positions and games, searched by a player."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from selfmate.cli.common import notice
from selfmate.errors import SelfmateError
from selfmate.evaluator.backends import BACKEND_CHOICES
from selfmate.match.options import PLAYER_HELP

__all__ = ["analyse"]

SOME_NOT_READ = 2
"""Exit code after games that could not be read, as for other bad input; the others were analysed."""


def analyse(
    what: Annotated[
        list[str] | None,
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
        typer.Option("--net", help=f"The player: {PLAYER_HELP} (default: the shipped net, else heuristic-1)."),
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

    A game that cannot be read is reported, and the next one follows; the exit code is then 2.

    Example: selfmate analyse --variant gardner --multipv 3

    Example: selfmate analyse game.pgn --annotate out.pgn --graph out.svg
    """
    from rich.console import Console

    from selfmate.app import analyse as analysis
    from selfmate.app.analysis_input import read_input
    from selfmate.app.annotate import AnnotatedFile
    from selfmate.board.position import Position
    from selfmate.util.files import check_target

    players = analysis.VariantPlayers(net, backend)
    if variant is not None:
        Position(variant)  # raises for an unknown one
    given = read_input(_one_input(what), players.variant(variant), asked=variant is not None)
    if given.games is None and (annotate is not None or graph is not None):
        raise SelfmateError(f"{'--annotate' if annotate else '--graph'} needs games: a PGN file")
    check_target(graph)
    with AnnotatedFile(annotate, given.path) if annotate else contextlib.nullcontext() as annotated:
        output = analysis.AnalysisOutput(
            console=Console(highlight=False),
            notice=notice,
            multipv=multipv,
            as_json=as_json,
            annotated=annotated,
            graph=graph,
        )
        all_read = analysis.run(given, players, analysis.Effort(visits, seconds), output)
    if not all_read:
        raise typer.Exit(SOME_NOT_READ)


def _one_input(words: list[str] | None) -> str | None:
    """Return the one argument; the fields of a FEN without quotation marks are joined."""
    if not words or len(words) == 1:
        return words[0] if words else None
    if "/" in words[0] and not Path(words[0]).exists() and words[1] in ("w", "b"):
        return " ".join(words)
    raise SelfmateError(f"one file or one FEN at a time, not {len(words)}; join files with cat, and analyse -")
