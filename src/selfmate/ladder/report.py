"""The rating of a player on a ladder: as values, as JSON, and in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from selfmate.ladder.calibration import Calibration
from selfmate.ladder.players import FAIRY
from selfmate.ladder.reference_engines import ReferenceEngine
from selfmate.rating.elo import Results, fit
from selfmate.rating.match_stats import Match, score_of_elo
from selfmate.search.spec import RANDOM
from selfmate.util.terminal import say
from selfmate.util.text import many, percent, rounded

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["LadderRating", "LadderReport", "ladder_rating", "rating_line", "short_rating", "show", "show_calibration"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRating:
    """The rating of a player on a ladder, on which `random` is 0."""

    elo: float
    error: float
    """Half the 95 % interval, with the ratings of the ladder players taken as exact."""
    full_error: float
    """Half the 95 % interval of the distance to `random`, with the errors of the ladder."""
    games: int
    sweep: int
    """1 if every game was won, -1 if every game was lost: the rating is only a bound then."""


def ladder_rating(name: str, results: Results, calibration: Calibration) -> LadderRating | None:
    """Fit the rating of a player to its games against ladder players; None if there are none."""
    own = {pair: counts for pair, counts in results.items() if name in pair and any(counts)}
    if not own:
        return None
    opponents = {player for pair in own for player in pair} - {name}
    fixed = fit(own, anchors={player: calibration.elo[player] for player in opponents})
    rating = next(each for each in fixed.players if each.player == name)
    joint = fit({**calibration.games(), **own}, anchors={RANDOM: 0.0})
    full = next(each.error for each in joint.players if each.player == name)
    return LadderRating(
        elo=rating.elo,
        error=rating.error,
        full_error=max(full, rating.error),
        games=rating.games,
        sweep=int(rating.score == 1) - int(rating.score == 0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderReport:
    """The result of rating a player on a ladder."""

    name: str
    variant: str
    calibration: Calibration
    engines: Mapping[str, ReferenceEngine]
    """By kind."""
    rating: LadderRating | None
    """None without a finished pair of games."""
    matches: Mapping[str, Match]
    """The player's games against each ladder player that it met, by name."""
    faults: Mapping[str, int]
    """Faults of all players by kind; their pairs of games do not count."""
    unavailable: Mapping[str, str]
    """Players that could not continue, by name, with the reason."""
    seconds: float
    stopped: bool
    """Whether it was interrupted."""

    def expected(self, opponent: str) -> float | None:
        """Return the expected score against a ladder player; None without a rating, or if it is only a bound."""
        if self.rating is None or self.rating.sweep:
            return None
        return round(score_of_elo(self.rating.elo - self.calibration.elo[opponent]), 4)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values. If every game was won or lost there is no `elo`, only `low` or `high`."""
        rating = self.rating
        rated = rating if rating is not None and not rating.sweep else None
        return {
            "player": self.name,
            "variant": self.variant,
            "scale": f"{RANDOM} = 0",
            "elo": rated and round(rated.elo, 1),
            "error": rated and round(rated.error, 1),
            "full_error": rated and round(rated.full_error, 1),
            "low": round(rating.elo - rating.error, 1) if rating and rating.sweep >= 0 else None,
            "high": round(rating.elo + rating.error, 1) if rating and rating.sweep <= 0 else None,
            "games": rating.games if rating else 0,
            "sweep": rating.sweep if rating else 0,
            "engines": {kind: engine.name for kind, engine in self.engines.items()},
            "ladder": {"measured": self.calibration.measured, "engines": self.calibration.engines},
            "rungs": [
                {
                    "name": player.name,
                    "rating": player.elo,
                    "rating_error": player.error,
                    "expected": self.expected(player.name),
                    **(match.as_json() if (match := self.matches.get(player.name)) else {"games": 0}),
                }
                for player in self.calibration.players
            ],
            "faults": dict(self.faults),
            "out": dict(self.unavailable),
            "seconds": round(self.seconds, 1),
        }


# -- the terminal -----------------------------------------------------------------------------------------------------


def show(report: LadderReport, console: Console) -> None:
    """Print the rating, and the score against every ladder player."""
    from rich.table import Table

    say(console, rating_line(report))
    table = Table()
    for column in ("opponent", "rating ± 95 %", "games", "score [95 %]", "expected"):
        table.add_column(column, justify="left" if column == "opponent" else "right")
    for player in reversed(report.calibration.players):
        match, expected = report.matches.get(player.name), report.expected(player.name)
        table.add_row(
            player.name,
            f"{rounded(player.elo)} ± {rounded(player.error)}",
            str(match.games) if match else "",
            match.percent if match else "",
            "" if expected is None else percent(expected),
        )
    console.print(table)
    engines = ", ".join(engine.name for engine in report.engines.values()) or "no engine"
    say(console, f"{RANDOM} is 0: a scale of our own, not that of people, of FIDE or of Lichess. With {engines}.")
    known = ", ".join(report.calibration.engines.values()) or "no engine"
    say(console, f"The ladder was measured on {report.calibration.measured} with {known}{_engine_check(report)}.")
    for fault, count in report.faults.items():
        say(console, f"{many(count, 'game')} ended by {fault}; both games with the same opening do not count.")
    for name, reason in report.unavailable.items():
        say(console, f"{name} could not continue: {reason}")


def _engine_check(report: LadderReport) -> str:
    """Return the end of a sentence that says whether Fairy-Stockfish was checked by its fingerprints."""
    if FAIRY not in report.engines or FAIRY not in report.calibration.engines:
        return ""
    if report.calibration.fingerprints:
        return "; Fairy-Stockfish was checked to be the same player"
    return "; its file has no fingerprints, so Fairy-Stockfish was not checked to be the same player"


def rating_line(report: LadderReport) -> str:
    """Return the rating in one line."""
    rating = report.rating
    if rating is None:
        return f"{report.name}, {report.variant}: no pair of games was finished."
    games = many(rating.games, "game")
    if rating.sweep:
        won = "won" if rating.sweep > 0 else "lost"
        return f"{report.name}, {report.variant}: {short_rating(rating)} on this ladder; it {won} all of {games}."
    return (
        f"{report.name}, {report.variant}: {short_rating(rating)} on this ladder "
        f"(± {rounded(rating.full_error)} with the ladder's own error), {games}."
    )


def short_rating(rating: LadderRating) -> str:
    """Return a rating with its interval, or only a bound if every game was won or lost."""
    if rating.sweep > 0:
        return f"above {rounded(rating.elo - rating.error)}"
    if rating.sweep < 0:
        return f"below {rounded(rating.elo + rating.error)}"
    return f"{rounded(rating.elo)} ± {rounded(rating.error)}"


def show_calibration(calibration: Calibration, console: Console) -> None:
    """Print the ratings of a calibrated ladder."""
    from rich.table import Table

    table = Table()
    for column in ("player", "rating ± 95 %", "games"):
        table.add_column(column, justify="left" if column == "player" else "right")
    for player in reversed(calibration.players):
        table.add_row(player.name, f"{rounded(player.elo)} ± {rounded(player.error)}", str(player.games))
    console.print(table)
