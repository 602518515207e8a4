"""The commands of matches and ratings: `arena`, `ladder`, `rate`, `progress`. Heavy imports stand inside them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from selfmate.cli.common import INTERRUPTED, WHO, Json, check_device, check_even, notice, progress_bar
from selfmate.errors import SelfmateError
from selfmate.util.text import many

__all__ = ["arena", "ladder", "progress", "rate"]


def arena(
    players: Annotated[
        list[str],
        typer.Argument(
            metavar="A B …", help=f"Players: {WHO}; or uci:COMMAND?nodes=N (docs/arena.md).", show_default=False
        ),
    ],
    variant: Annotated[
        str | None, typer.Option("--variant", help="Variant (default: that of the nets, else chess).")
    ] = None,
    games: Annotated[
        int | None,
        typer.Option("--games", min=2, max=1_000_000, help="Games of every two, an even number.  [100; --sprt: 2000]"),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option("--pairs", min=1, max=500_000, help="Openings, each of them twice (instead of --games)."),
    ] = None,
    visits: Annotated[
        int | None, typer.Option("--visits", min=1, max=10_000_000, help="Visits of nets for a move.  [64]")
    ] = None,
    visits_a: Annotated[int | None, typer.Option("--visits-a", min=1, max=10_000_000, help="Those of A.")] = None,
    visits_b: Annotated[int | None, typer.Option("--visits-b", min=1, max=10_000_000, help="Those of B.")] = None,
    nodes: Annotated[int | None, typer.Option("--nodes", min=1, help="Nodes of engines for a move.")] = None,
    depth: Annotated[int | None, typer.Option("--depth", min=1, max=1000, help="Depth of engines.")] = None,
    movetime: Annotated[
        int | None, typer.Option("--movetime", min=1, max=86_400_000, help="Milliseconds of everybody for a move.")
    ] = None,
    tc: Annotated[str | None, typer.Option("--tc", help="Clock of everybody, seconds+increment: 10+0.1.")] = None,
    openings: Annotated[
        Path | None, typer.Option("--openings", help="A book: FENs or EPDs, or .pgn (default: drawn, and even).")
    ] = None,
    opening_plies: Annotated[
        int | None, typer.Option("--opening-plies", min=0, max=1000, help="Of a PGN book (default: whole games).")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**63, help="Of the openings.")] = 0,
    gumbel: Annotated[bool, typer.Option("--gumbel", help="Gumbel's root, as in training, not PUCT's.")] = False,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", min=1, max=1024, help="Games with engines at a time (docs/arena.md).")
    ] = None,
    margin: Annotated[
        int | None,
        typer.Option(
            "--margin", min=0, max=60_000, help="Milliseconds time may be overstepped.  [50; --movetime: 1000]"
        ),
    ] = None,
    patience: Annotated[
        float | None,
        typer.Option("--patience", min=0.1, max=86_400, help="Seconds for an answer.  [60; the very first: 10]"),
    ] = None,
    max_plies: Annotated[int, typer.Option("--max-plies", min=1, max=10_000, help="Then a game is cut off.")] = 512,
    resign: Annotated[str | None, typer.Option("--resign", help="CENTIPAWNS,MOVES: a side says it of itself.")] = None,
    win: Annotated[str | None, typer.Option("--win", help="CENTIPAWNS,MOVES: both sides say so.")] = None,
    draw: Annotated[str | None, typer.Option("--draw", help="CENTIPAWNS,MOVES,AFTER: both sides see less.")] = None,
    sprt: Annotated[
        str | None, typer.Option("--sprt", metavar="ELO0,ELO1", help="Stop when A is ELO1 stronger, or only ELO0.")
    ] = None,
    alpha: Annotated[float | None, typer.Option("--alpha", help="Chance to accept ELO1 wrongly.  [0.05]")] = None,
    beta: Annotated[float | None, typer.Option("--beta", help="Chance to accept ELO0 wrongly.  [0.05]")] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Elo of --sprt: normalised or logistic.  [normalised]")
    ] = None,
    device: Annotated[str, typer.Option("--device", help="Where nets compute: cpu or cuda.")] = "cpu",
    pgn: Annotated[Path | None, typer.Option("--pgn", help="The match on disk; the same command goes on.")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write a line for each game to this file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Begin anew, over a match that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Let players play a match: every two of them each opening twice, with either colour.

    Ctrl-C shows what was played so far; with --pgn the same command goes on.

    Example: selfmate arena runs/gardner-laptop heuristic-1 --games 200 --visits 64

    Example: selfmate arena runs/atomic 'uci:fairy-stockfish?nodes=1000' --visits 400 --pgn games.pgn

    Example: selfmate arena heuristic-1 'uci:stockfish?option.Skill+Level=3' --tc 10+0.1
    """
    from selfmate.cli import arena as match

    if games is not None and pairs is not None:
        raise SelfmateError("--games and --pairs say the same; give one of them")
    check_even(games)
    check_device(device)
    if sprt is None and any(each is not None for each in (alpha, beta, model)):
        raise SelfmateError("--alpha, --beta and --model go with --sprt ELO0,ELO1")
    code = match.command(
        match.Wishes(
            players=tuple(players),
            variant=variant,
            pairs=pairs or (games or (100 if sprt is None else 2000)) // 2,
            visits=(visits, visits_a, visits_b),
            nodes=nodes,
            depth=depth,
            movetime=movetime,
            tc=tc,
            openings=openings,
            opening_plies=opening_plies,
            seed=seed,
            gumbel=gumbel,
            concurrency=concurrency,
            margin=None if margin is None else margin / 1000,
            patience=patience,
            max_plies=max_plies,
            resign=resign,
            win=win,
            draw=draw,
            device=device,
            test=None
            if sprt is None
            else match.read_sprt(
                sprt, 0.05 if alpha is None else alpha, 0.05 if beta is None else beta, model or "normalised"
            ),
        ),
        pgn=pgn,
        csv=csv,
        force=force,
        as_json=as_json,
        progress=progress_bar,
        notice=notice,
    )
    if code:
        raise typer.Exit(code)


def ladder(
    net: Annotated[
        str | None,
        typer.Argument(metavar="NET", help=f"Who climbs: {WHO}; or uci:COMMAND?nodes=N.", show_default=False),
    ] = None,
    variant: Annotated[str | None, typer.Option("--variant", help="Variant (default: that of the net).")] = None,
    visits: Annotated[
        int | None, typer.Option("--visits", min=1, max=10_000_000, help="Visits of the net for a move.  [64]")
    ] = None,
    movetime: Annotated[
        int | None, typer.Option("--movetime", min=1, max=86_400_000, help="Milliseconds for a move instead.")
    ] = None,
    games: Annotated[
        int | None, typer.Option("--games", min=2, max=1_000_000, help="At most so many, an even number.  [300]")
    ] = None,
    error: Annotated[
        float | None, typer.Option("--error", min=1, max=1000, help="Stop when the rating is so certain, ±.  [40]")
    ] = None,
    minutes: Annotated[float | None, typer.Option("--minutes", min=0.01, max=1e6, help="Stop after them.")] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="COMMAND", help="Fairy-Stockfish (default: one that is found).")
    ] = None,
    without_engine: Annotated[bool, typer.Option("--without-engine", help="Only rungs of our own.")] = False,
    build_engine: Annotated[bool, typer.Option("--build-engine", help="Build Fairy-Stockfish, and leave.")] = False,
    measure: Annotated[
        str | None, typer.Option("--measure", metavar="VARIANT", help="Measure the ladder itself, 30 minutes.")
    ] = None,
    spacing: Annotated[
        Path | None,
        typer.Option("--spacing", help="A measured ladder (default: the one shipped); --measure writes it."),
    ] = None,
    leave_out: Annotated[
        list[str] | None, typer.Option("--leave-out", metavar="RUNG", help="A rung that does not play; repeatable.")
    ] = None,
    note: Annotated[str, typer.Option("--note", help="With --measure: where and with which build it was.")] = "",
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**63, help="Of the openings.")] = 0,
    device: Annotated[str, typer.Option("--device", help="Where the net computes: cpu or cuda.")] = "cpu",
    pgn: Annotated[Path | None, typer.Option("--pgn", help="The games on disk; the same command goes on.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="A picture, .svg or .png.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Begin anew, over games that are there.")] = False,
    as_json: Json = False,
) -> None:
    """Rate a net beside engines of known strength, playing where most is learnt (docs/ladder.md).

    Ctrl-C shows what was played so far; with --pgn the same command goes on.

    Example: selfmate ladder gardner-laptop --visits 64 --pgn climb.pgn --plot climb.svg

    Example: selfmate ladder --measure horde --minutes 20 --spacing horde.json
    """
    import json
    import shlex

    import msgspec
    from rich.console import Console

    from selfmate.ladder import ladder as climb
    from selfmate.ladder import plot as ladder_plot
    from selfmate.ladder import reference_engines as yardstick
    from selfmate.util.files import check_target

    # 1. Everything that can be wrong with the options.
    if [net is not None, measure is not None, build_engine].count(True) != 1:
        raise SelfmateError("give NET, or --measure VARIANT, or --build-engine: one of them")
    if build_engine:
        print(yardstick.build_fairy())
        return
    check_even(games)
    check_device(device)
    if engine is not None and without_engine:
        raise SelfmateError("--engine and --without-engine contradict each other")
    if measure is not None and (spacing is None or any(each is not None for each in (variant, visits, movetime, plot))):
        raise SelfmateError("--measure VARIANT needs --spacing FILE to write to, and no variant, limit or plot")
    for path in (pgn, spacing):
        check_target(path)
    if plot is not None:
        ladder_plot.check_picture(plot)
    wishes = climb.Wishes(
        variant=variant,
        visits=visits,
        movetime=movetime,
        games=games or (300 if measure is None else 1_000_000),
        error=error or (40.0 if measure is None else 20.0),
        minutes=minutes or (None if measure is None else 30.0),
        engine=engine,
        without_engine=without_engine,
        spacing=spacing,
        leave_out=tuple(leave_out or ()),
        pgn=pgn,
        force=force,
        seed=seed,
        device=device,
        note=note,
    )
    # 2. The ladder itself.
    if measure is not None:
        assert spacing is not None
        measured, stopped = climb.measure(
            measure, wishes, shlex.join(["selfmate", *sys.argv[1:]]), progress_bar, notice
        )
        climb.write_spacing(spacing, measured)
        if as_json:
            print(json.dumps(msgspec.to_builtins(measured), indent=2))
        else:
            climb.show_spacing(measured, Console())
    # 3. A net on it.
    else:
        assert net is not None
        report = climb.rate(net, wishes, progress_bar, notice)
        stopped = report.stopped
        if plot is not None:
            ladder_plot.write_picture(plot, ladder_plot.draw(report))
        if as_json:
            print(json.dumps(report.as_json(), indent=2))
        else:
            climb.show(report, Console())
    if stopped:
        if pgn is not None and not as_json:
            print(f"The same command goes on with {pgn}.")
        raise typer.Exit(INTERRUPTED)


def rate(
    files: Annotated[list[str], typer.Argument(metavar="PGN…", help="PGN files; - is standard input.")],
    anchors: Annotated[
        list[str] | None,
        typer.Option("--anchor", metavar="NAME=ELO", help="The rating of a player that is known; repeatable."),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", help="elo (draws are half a win) or bayeselo (draws have a margin).")
    ] = "elo",
    trueskill: Annotated[bool, typer.Option("--trueskill", help="TrueSkill, game by game, instead.")] = False,
    min_games: Annotated[int, typer.Option("--min-games", min=1, help="Leave out players with fewer.")] = 1,
    los: Annotated[bool, typer.Option("--los", help="Likelihood of superiority for all pairs of players.")] = False,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Rate the players of any PGN files by one fit over all their games; the rules of the game do not matter.

    The ratings come with 95 % intervals. Without an anchor their mean is 0; with anchors the intervals are those of the
    difference to them.

    Example: selfmate rate games.pgn --anchor random=0

    Example: selfmate rate *.pgn --min-games 20 --los --json
    """
    import json

    from rich.console import Console

    from selfmate.cli import rate as rates
    from selfmate.rating.elo import MODELS, fit, tally
    from selfmate.rating.pgn_results import leave_out, read_all

    # 1. Everything that can be wrong with the options.
    if as_json and as_csv:
        raise SelfmateError("--json and --csv do not go together")
    if model not in MODELS:
        raise SelfmateError(f"--model: {' or '.join(MODELS)}, not {model!r}", model)
    if trueskill and (anchors or los or as_csv or model != "elo"):
        raise SelfmateError("--trueskill goes without --anchor, --model, --los and --csv")
    known = rates.parse_anchors(anchors or ())
    # 2. Read, fit, tell.
    played = read_all(files)
    if min_games > 1:
        played = leave_out(played, min_games)
    if trueskill:
        from selfmate.rating.trueskill import trueskill as rate_in_order

        skills = rate_in_order(played.games)
        if as_json:
            print(json.dumps(rates.skills_as_json(skills, played), indent=2))
        else:
            rates.show_skills(skills, played, Console())
        return
    ratings = fit(tally(played.games), anchors=known, model=model)
    if (apart := rates.apart(ratings)) is not None:
        notice(apart)
    if as_json:
        print(json.dumps(rates.as_json(ratings, played, los=los), indent=2))
    elif as_csv:
        print(rates.as_csv(ratings), end="")
    else:
        rates.show(ratings, played, Console(), los=los)


def progress(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The directory of a run.", show_default=False)],
    checkpoints: Annotated[
        int, typer.Option("--checkpoints", min=2, max=200, help="Checkpoints that play, about evenly spaced.")
    ] = 8,
    games: Annotated[
        int,
        typer.Option("--games", min=0, max=100_000, help="Games of every two players, even; 0 only shows them."),
    ] = 40,
    visits: Annotated[int, typer.Option("--visits", min=1, max=1_000_000, help="Visits of a checkpoint's move.")] = 64,
    axis: Annotated[str, typer.Option("--x", help="games, positions, steps or minutes.")] = "games",
    device: Annotated[str, typer.Option("--device", help="Where nets compute: cpu or cuda.")] = "cpu",
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Show how a run grew stronger: checkpoints play each other and our own rungs, one scale is fitted, and drawn.

    The games are kept in RUN/progress with the pictures, progress.svg and progress.html. Ctrl-C is safe: the same
    command goes on, and more checkpoints or more games play only what is missing.

    Example: selfmate progress runs/gardner-laptop

    Example: selfmate progress runs/gardner-laptop --checkpoints 12 --games 100 --x minutes
    """
    import json

    from rich.console import Console

    from selfmate.ladder import curve
    from selfmate.ladder import curve_report as report_of
    from selfmate.rundir.directory import read_metrics, read_run
    from selfmate.search.player import Player
    from selfmate.util.signals import Interrupt

    # 1. Everything that can be wrong is found before a game begins.
    if as_json and as_csv:
        raise SelfmateError("--json and --csv do not go together")
    if axis not in report_of.AXES:
        raise SelfmateError(f"--x: {', '.join(report_of.AXES)}, not {axis!r}", axis)
    check_even(games)
    check_device(device)
    manifest, state = read_run(run)
    folder = run / curve.FOLDER
    # 2. Play what is missing.
    missing = 0
    if games:
        chosen = curve.choose([each.cycle for each in state.checkpoints], state.champion, checkpoints)

        def player(entrant: curve.Entrant) -> Player:
            spec = entrant.spec if entrant.cycle is None else str(run / state.checkpoint(entrant.cycle).name)
            return Player(spec, device=device, threads=1 if device == "cpu" else None)

        with Interrupt() as interrupt, progress_bar() as bar:
            task = bar.add_task("progress", total=None, note="")
            cost = curve.play_missing(
                folder,
                manifest.variant,
                curve.pairings(chosen, state.champion, visits),
                curve.openings_for(manifest.variant, games),
                player,
                stopping=interrupt,
                tell=lambda done, total: bar.update(
                    task, completed=done, total=total, note=f"{done:,} of {many(total, 'game')}"
                ),
            )
        missing = cost.missing
        if cost.games:
            notice(f"{many(cost.games, 'game')} in {cost.seconds:.0f} s")
        if missing:
            notice(f"stopped; {many(missing, 'game')} still to be played: the same command goes on")
    # 3. Fit, draw, tell.
    played = curve.read_games_of(folder, manifest.variant, visits)
    report = report_of.make_report(run, manifest, state, read_metrics(run, state), played, visits)
    picture, page = report_of.write_pictures(report, axis)
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
    elif as_csv:
        print(report.as_csv(), end="")
    else:
        report_of.show(report, Console())
        print(f"Drawn in {picture} and {page}.")
    if missing:
        raise typer.Exit(INTERRUPTED)
