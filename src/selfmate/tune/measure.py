"""The strength of a run as a trial sees it: its champion plays the fixed players, rated as by `selfmate progress`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from selfmate.ladder import curve
from selfmate.rating.elo import Rating
from selfmate.rundir.format import read_run
from selfmate.search.player import Player

__all__ = ["measure_champion"]


def measure_champion(
    run: Path,
    *,
    games: int,
    visits: int,
    device: str,
    stopping: Callable[[], bool] = lambda: False,
    tell: Callable[[int, int], None] = lambda done, games: None,
) -> Rating | None:
    """Return the rating of a run's champion on the scale where `random` is 0; None when stopped.

    It plays `games` games with each fixed player of the curve (`ladder.curve`): one of them is near its strength, and
    the games of the shipped ladder connect them. For a variant without a ladder they play each other, too. Games are
    kept in the run's folder `progress`, and those that are there are not played again.
    """
    manifest, state = read_run(run)
    folder, variant = run / curve.FOLDER, manifest.variant
    champion, fixed = curve.checkpoint(state.champion, visits), curve.fixed_players(visits)
    ladder = curve.ladder_results(variant)
    pairs = [(champion, each) for each in fixed] + ([] if ladder else list(pairwise(fixed)))

    def player(each: curve.CurvePlayer) -> Player:
        spec = each.spec if each.cycle is None else str(run / state.checkpoint(each.cycle).name)
        return Player(spec, device=device, threads=1 if device == "cpu" else None)

    cost = curve.play_missing(
        folder, variant, pairs, curve.openings_for(variant, games), player, stopping=stopping, tell=tell
    )
    if cost.missing:
        return None
    return curve.fit_scale(curve.read_games_of(folder, variant, visits), visits, ladder).players[champion.key]
