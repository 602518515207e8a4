"""`selfmate progress`: plays checkpoints of a run against each other, fits one scale, and draws the curve."""

from __future__ import annotations

from pathlib import Path

import typer

from selfmate.cli.common import INTERRUPTED, match_games, notice, progress_bar
from selfmate.ladder import curve
from selfmate.ladder.curve_report import CurveReport, make_report
from selfmate.rundir.format import Manifest, State, read_metrics, read_run
from selfmate.search.player import Player
from selfmate.util.signals import Interrupt
from selfmate.util.text import many

__all__ = ["measure_run"]


def measure_run(
    run: Path, *, checkpoints: int, games: int, visits: int, device: str, ray: str | None = None
) -> tuple[CurveReport, int]:
    """Play the missing games of a run; return the report, and how many games are still missing after Ctrl-C.

    `games` are those of each pairing; with 0 nothing is played. `ray` is the address of a cluster that plays them.
    Exits with 130 if Ctrl-C left too few games for a report.
    """
    manifest, state = read_run(run)
    folder = run / curve.FOLDER
    missing = _play(run, manifest, state, checkpoints, games, visits, device, ray) if games else 0
    played = curve.read_games_of(folder, manifest.variant, visits)
    try:
        return make_report(run, manifest, state, read_metrics(run, state), played, visits), missing
    except curve.TooFewGames:
        if missing:  # how to play them is printed already
            raise typer.Exit(INTERRUPTED) from None
        raise


def _play(
    run: Path,
    manifest: Manifest,
    state: State,
    checkpoints: int,
    games: int,
    visits: int,
    device: str,
    ray: str | None,
) -> int:
    chosen = curve.choose_checkpoints([each.cycle for each in state.checkpoints], state.champion, checkpoints)

    def player(each: curve.CurvePlayer) -> Player:
        spec = each.spec if each.cycle is None else str(run / state.checkpoint(each.cycle).name)
        here = device if ray is None else "cpu"  # on a cluster the nets are opened here only to be checked
        return Player(spec, device=here, threads=1 if here == "cpu" else None)

    with Interrupt() as interrupt, progress_bar() as bar, match_games(ray, device) as played:
        task = bar.add_task("progress", total=None, note="")

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, note=f"{done:,} of {many(total, 'game')}")

        cost = curve.play_missing(
            run / curve.FOLDER,
            manifest.variant,
            curve.pairings(chosen, state.champion, visits),
            curve.openings_for(manifest.variant, games),
            player,
            play_pool=played.play_pool,
            stopping=interrupt,
            tell=tell,
        )
    if cost.games:
        notice(f"{many(cost.games, 'game')} in {cost.seconds:.0f} s")
    if cost.missing:
        notice(f"stopped; {many(cost.missing, 'game')} still to be played: run the same command again to resume")
    return cost.missing
