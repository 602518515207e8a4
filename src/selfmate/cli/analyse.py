"""`selfmate analyse`: positions and games, searched by a player."""

from __future__ import annotations

from typing import Annotated

import typer

from selfmate.evaluator.backends import BACKEND_CHOICES
from selfmate.match.options import PLAYER_HELP

__all__ = ["analyse"]


def analyse(
    what: Annotated[
        str | None,
        typer.Argument(metavar="FEN|FILE", help="A FEN, or a file of EPD lines, FENs or PGN; - is standard input."),
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
        int | None, typer.Option("--visits", min=1, max=100_000_000, help="Visits per position (default: 800).")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.01, max=86_400, help="Seconds per position.")
    ] = None,
    backend: Annotated[
        str, typer.Option("--backend", help=f"Backend of a net: {', '.join(BACKEND_CHOICES)}.")
    ] = "auto",
    multipv: Annotated[int, typer.Option("--multipv", min=1, max=256, help="Moves to show.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each position.")] = False,
) -> None:
    """Analyse a position, the positions of an EPD file (`bm` and `am` are checked), or the moves of games.

    Example: selfmate analyse --variant gardner --multipv 3

    Example: selfmate analyse game.pgn --visits 2000 --json
    """
    from rich.console import Console

    from selfmate.app import analyse as analysis
    from selfmate.app.analysis_input import read_input
    from selfmate.board.position import Position
    from selfmate.search.limit import Limit

    players = analysis.VariantPlayers(net, backend)
    if variant is not None:
        Position(variant)  # raises for an unknown one
    given = read_input(what, players.variant(variant), asked=variant is not None)
    limit = Limit(visits=visits or (800 if seconds is None else None), seconds=seconds)
    analysis.run(given, players, limit, Console(highlight=False), multipv=multipv, as_json=as_json)
