"""The commands of matches and ratings: `arena`, `ladder`, `rate`, `progress`. Heavy imports stand inside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from selfmate.cli.common import INTERRUPTED, Json, check_device, takes_options
from selfmate.errors import SelfmateError, clip
from selfmate.ladder.options import LadderOptions
from selfmate.match.options import MatchOptions, RayAddress, check_even

__all__ = ["arena", "ladder", "progress", "rate"]


@takes_options(MatchOptions)
def arena(options: MatchOptions) -> None:
    """Play a match: each pair of players plays every opening twice, once with each colour.

    Ctrl-C shows what was played so far; with --pgn, run the same command again to resume.

    Example: selfmate arena runs/gardner-laptop heuristic-1 --games 200 --visits 64

    Example: selfmate arena runs/atomic 'uci:fairy-stockfish?nodes=1000' --visits 400 --pgn games.pgn

    Example: selfmate arena heuristic-1 'uci:stockfish?option.Skill+Level=3' --tc 10+0.1
    """
    from selfmate.cli import arena as command

    if code := command.run(options):
        raise typer.Exit(code)


@takes_options(LadderOptions)
def ladder(options: LadderOptions) -> None:
    """Rate a net against players of known strength, choosing the most informative opponents (docs/ladder.md).

    Ctrl-C shows what was played so far; with --pgn, run the same command again to resume.

    Example: selfmate ladder gardner-laptop --visits 64 --pgn games.pgn --plot rating.svg

    Example: selfmate ladder --measure horde --minutes 20 --spacing horde.json
    """
    from selfmate.cli import ladder as command

    if code := command.run(options):
        raise typer.Exit(code)


def rate(
    files: Annotated[list[str], typer.Argument(metavar="PGN…", help="PGN files; - is standard input.")],
    anchors: Annotated[
        list[str] | None,
        typer.Option("--anchor", metavar="NAME=ELO", help="The known rating of a player; repeatable."),
    ] = None,
    model: Annotated[
        str,
        typer.Option("--model", help="Rating model: elo (a draw is half a win) or bayeselo (with a margin for draws)."),
    ] = "elo",
    trueskill: Annotated[bool, typer.Option("--trueskill", help="Rate by TrueSkill instead, game by game.")] = False,
    min_games: Annotated[int, typer.Option("--min-games", min=1, help="Leave out players with fewer games.")] = 1,
    los: Annotated[
        bool, typer.Option("--los", help="Print the likelihood of superiority of all pairs of players.")
    ] = False,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Rate the players of PGN files by one fit over all their games; the rules of the game do not matter.

    The ratings come with 95 % intervals. Without an anchor their mean is 0; with anchors the intervals are those of the
    difference to them.

    Example: selfmate rate games.pgn --anchor random=0

    Example: selfmate rate *.pgn --min-games 20 --los --json
    """
    from selfmate.cli import rate as command
    from selfmate.rating.elo import MODELS

    if as_json and as_csv:
        raise SelfmateError("--json and --csv cannot be combined")
    if model not in MODELS:
        raise SelfmateError(f"--model: unknown model {clip(model)!r}; use {' or '.join(MODELS)}", model)
    if trueskill and (anchors or los or as_csv or model != "elo"):
        raise SelfmateError("--trueskill cannot be combined with --anchor, --model, --los and --csv")
    known = command.parse_anchors(anchors or ())
    results = command.read(files, min_games)
    if trueskill:
        command.print_skills(results, as_json=as_json)
    else:
        command.print_ratings(results, known, model, los=los, as_json=as_json, as_csv=as_csv)


def progress(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The directory of a run.", show_default=False)],
    checkpoints: Annotated[
        int, typer.Option("--checkpoints", min=2, max=200, help="Checkpoints that play, about evenly spaced.")
    ] = 8,
    games: Annotated[
        int,
        typer.Option("--games", min=0, max=100_000, help="Games of each pairing, an even number; 0 plays nothing."),
    ] = 40,
    visits: Annotated[
        int, typer.Option("--visits", min=1, max=1_000_000, help="Visits per move for checkpoints.")
    ] = 64,
    axis: Annotated[str, typer.Option("--x", help="Axis of the plot: games, positions, steps or minutes.")] = "games",
    device: Annotated[str, typer.Option("--device", help="Where nets compute: cpu or cuda.")] = "cpu",
    ray: RayAddress = None,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Draw the strength of a run over its training: checkpoints play each other and fixed players on one scale.

    The games are kept in RUN/progress with the pictures, progress.svg and progress.html. After Ctrl-C, run the same
    command again to resume; more checkpoints or more games play only what is missing.

    Example: selfmate progress runs/gardner-laptop

    Example: selfmate progress runs/gardner-laptop --checkpoints 12 --games 100 --x minutes
    """
    from rich.console import Console

    from selfmate.cli.progress import measure_run
    from selfmate.ladder.curve_report import AXES, show, write_pictures

    if as_json and as_csv:
        raise SelfmateError("--json and --csv cannot be combined")
    if axis not in AXES:
        raise SelfmateError(f"--x: unknown axis {clip(axis)!r}; use one of {', '.join(AXES)}", axis)
    check_even(games)
    check_device(device)
    common = {"checkpoints": checkpoints, "games": games, "visits": visits}
    report, missing = measure_run(run, **common, device=device, ray=ray)
    picture, page = write_pictures(report, axis)
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
    elif as_csv:
        print(report.as_csv(), end="")
    else:
        show(report, Console())
        print(f"Drawn in {picture} and {page}.")
    if missing:
        raise typer.Exit(INTERRUPTED)
