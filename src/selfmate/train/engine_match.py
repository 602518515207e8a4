"""The match of a new champion against a UCI engine, and the rating that follows from it.

The games are kept in the run's folder `engine`, one PGN file for each champion; a match that was stopped goes on there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from selfmate.match.match_file import MatchFile, MatchFileError
from selfmate.match.plan import MatchPlan
from selfmate.match.referee import RefereeSettings
from selfmate.match.report import MatchReport
from selfmate.match.spec import Contestant
from selfmate.match.tournament import play
from selfmate.rating.elo import fit, tally
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.train.engines import read_engine

__all__ = ["FOLDER", "EngineResult", "play_engine", "rate_champion"]

FOLDER: Final = "engine"


class EngineResult(NamedTuple):
    """A champion's games against an engine; the interval is one of 95 %, open where every game was won or lost."""

    engine: str
    games: int
    wins: int
    draws: int
    losses: int
    elo: float | None
    """BayesElo on the scale on which the engine has its rating; None without finished games."""
    low: float | None
    high: float | None

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return self._asdict()


def play_engine(
    folder: Path,
    variant: str,
    champion: tuple[str, Player],
    engine: str,
    openings: Sequence[str],
    *,
    engine_elo: float,
    visits: int,
    max_plies: int,
    stopping: Callable[[], bool],
    tell: Callable[[int, int], None],
) -> EngineResult | None:
    """Play every opening twice, and rate the champion (its name and its net); return None when it was stopped.

    `engine` is written as in a recipe. `tell` gets the games that have ended and the games of the match. An engine that
    cannot be started any more plays fewer games.
    """
    name, player = champion
    contestants = (
        Contestant(spec=name, player=name, engine=None, limit=Limit(visits=visits), name=name),
        read_engine(engine),
    )
    referee = RefereeSettings(max_plies=max_plies)
    plan = MatchPlan(variant=variant, contestants=contestants, openings=tuple(openings), referee=referee)
    folder.mkdir(exist_ok=True)
    with _open_file(folder / f"{name.replace('/', '-')}.pgn", plan) as file:
        report = play(
            plan,
            [player, None],
            file,
            stopping=stopping,
            tell=lambda report: tell(len(report.entries), report.games),
        )
    return rate_champion(report, engine_elo) if report.complete or report.unavailable else None


def _open_file(path: Path, plan: MatchPlan) -> MatchFile:
    """Open the file of a match; one with other settings, such as another engine before, is replaced."""
    try:
        return MatchFile(path, plan.settings)
    except MatchFileError:
        return MatchFile(path, plan.settings, restart=True)


def rate_champion(report: MatchReport, engine_elo: float) -> EngineResult:
    """Return the champion's result, and its rating by the model of BayesElo where the engine has `engine_elo`."""
    own, engine = report.labels
    games = [(report.labels[each.white], report.labels[each.black], each.result) for each in report.entries]
    match = report.match()
    rating = None
    if match.games:
        ratings = fit(tally(games), anchors={engine: engine_elo}, model="bayeselo")
        rating = next(each for each in ratings.players if each.player == own)
    return EngineResult(
        engine=engine,
        games=match.games,
        wins=sum(match.wins),
        draws=sum(match.draws),
        losses=sum(match.losses),
        elo=None if rating is None else rating.elo,
        low=None if rating is None else rating.low,
        high=None if rating is None else rating.high,
    )
