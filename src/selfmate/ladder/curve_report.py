"""`selfmate progress`: the strength of a run over its training, as tables, JSON, CSV and pictures."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from selfmate.ladder.curve import (
    FOLDER,
    CurveGame,
    CurvePlayer,
    RatingScale,
    checkpoint,
    fit_scale,
    fixed_players,
    full_name,
    ladder_results,
    player_of_key,
)
from selfmate.rating.elo import Rating
from selfmate.rating.match_stats import Match, SideResult, count_games
from selfmate.rundir.format import Manifest, State
from selfmate.search.spec import run_name
from selfmate.util.files import write_file
from selfmate.util.svg_chart import Panel, ReferenceLine, Series, draw, escape
from selfmate.util.terminal import print_table, say
from selfmate.util.text import many, percent, rounded, signed, tenths

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["AXES", "CurveReport", "TrainingPoint", "make_report", "show", "write_pictures"]

AXES: Final = {
    "games": "games of self-play",
    "positions": "positions of self-play",
    "steps": "steps of the learner",
    "minutes": "minutes of training",
}
NEAR: Final = 150
"""Elo beyond the checkpoints within which ladder players are shown."""
LOSSES: Final = ("policy", "value")
KINDS: Final = {"learned": "learned games", "held_out": "held out"}
STYLE: Final = (
    "body{font:15px system-ui,sans-serif;margin:2em auto;max-width:780px;color:#2a2d31}table{border-collapse:collapse}"
    "td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #e4e2dd}"
    "td:first-child,th:first-child{text-align:left}"
)


class TrainingPoint(NamedTuple):
    """How much a run had played and learned when a checkpoint was made."""

    cycle: int
    games: int
    positions: int
    steps: int
    minutes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveReport:
    """The strength of a run over its training."""

    directory: Path
    recipe: str
    variant: str
    visits: int
    champion: int
    points: tuple[tuple[TrainingPoint, Rating], ...]
    """Checkpoints by cycle."""
    others: tuple[tuple[CurvePlayer, Rating], ...]
    """Fixed players, and ladder players near the checkpoints, the weakest first."""
    scale: RatingScale
    matches: dict[tuple[str, str], Match]
    """By the keys of both sides, for the first side; for White where a checkpoint plays itself."""
    losses: tuple[tuple[TrainingPoint, dict[str, float]], ...]
    games: int
    ladder_games: int
    """Games between ladder players that are part of the fit."""

    @property
    def title(self) -> str:
        """Name of the run, and of its recipe if that is another."""
        name = run_name(self.directory)
        return name if name == self.recipe else f"{name} (recipe {self.recipe})"

    def name(self, key: str) -> str:
        """Return the name of a player in PGN, JSON and CSV."""
        player = player_of_key(key)
        return key if player is None else full_name(player, self.directory)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "run": str(self.directory),
            "recipe": self.recipe,
            "variant": self.variant,
            "visits": self.visits,
            "games": self.games,
            "ladder_games": self.ladder_games,
            "champion": self.champion,
            "scale": {"zero": "random", "errors_to": self.scale.reference.name, "white": self.scale.ratings.white[0]},
            "checkpoints": [
                {
                    "name": self.name(checkpoint(point.cycle, self.visits).key),
                    **point._asdict(),
                    **_rating_json(rating),
                    "champion": point.cycle == self.champion,
                }
                for point, rating in self.points
            ],
            "rungs": [
                {"name": self.name(other.key), "rung": other.name, **_rating_json(rating)}
                for other, rating in self.others
            ],
            "matches": [
                {"first": self.name(first), "second": self.name(second), **match.as_json()}
                for (first, second), match in self.matches.items()
            ],
            "losses": [{**point._asdict(), **losses} for point, losses in self.losses],
        }

    def as_csv(self) -> str:
        """Return a line of CSV for each checkpoint and each other player."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["name", *TrainingPoint._fields, "elo", "error", "low", "high", "played", "score"])
        rows = [(checkpoint(point.cycle, self.visits).key, point, rating) for point, rating in self.points]
        for key, point, rating in [*rows, *((other.key, None, rating) for other, rating in self.others)]:
            when = [""] * len(TrainingPoint._fields) if point is None else [*point[:-1], f"{point.minutes:.2f}"]
            elos = (tenths(elo) for elo in (rating.elo, rating.error, rating.low, rating.high))
            writer.writerow([self.name(key), *when, *elos, rating.games, f"{rating.score:.4f}"])
        return text.getvalue()

    def rating_rows(self) -> list[list[str]]:
        """Return the rows of the table of ratings, the heading first."""
        rows = [["player", "games", "steps", "minutes", "Elo ± 95 %", "played", "score"]]
        for point, rating in self.points:
            name = checkpoint(point.cycle, self.visits).name
            mark = " (champion)" if point.cycle == self.champion else ""
            when = [f"{point.games:,}", f"{point.steps:,}", f"{point.minutes:.1f}"]
            rows.append([f"{name}{mark}", *when, *_cells(rating)])
        rows += [[other.name, "", "", "", *_cells(rating)] for other, rating in self.others]
        return rows

    def colour_rows(self) -> list[list[str]]:
        """Return the rows of the champion's scores by opponent and colour, the heading first."""
        own = checkpoint(self.champion, self.visits).key
        rows = [["against", "with White", "with Black", "both", "won", "drawn", "lost"]]
        others = [checkpoint(point.cycle, self.visits) for point, _ in self.points]
        for other in (*others, *(player for player, _ in self.others)):
            match = self.matches.get((own, other.key))
            if match is None:
                continue
            white, black = (_score(match, colour) for colour in (0, 1))
            if other.key == own:
                rows.append(["itself", percent(white), percent(1 - white), "", *_counts(match)])
            else:
                rows.append([other.name, percent(white), percent(black), percent(match.score), *_counts(match)])
        return rows

    def picture(self, axis: str) -> str:
        """Return an SVG of the Elo over training, with the losses below it; `axis` is a key of `AXES`."""

        def x(point: TrainingPoint) -> float:
            return float(getattr(point, axis))

        elo = Series(
            "checkpoints",
            [(x(point), rating.elo) for point, rating in self.points],
            [(rating.elo - rating.error, rating.elo + rating.error) for _, rating in self.points],
        )
        lines = [
            ReferenceLine(other.name, rating.elo) for other, rating in self.others if not other.name.startswith("level")
        ]
        title = f"Elo, {self.title}: {many(self.visits, 'visit')}, random is 0, bands of 95 %"
        panels = [Panel(title, [elo], lines, height=300)]
        for name in LOSSES:
            curves = {
                kind: [(x(point), each[f"{key}_{name}"]) for point, each in self.losses if f"{key}_{name}" in each]
                for key, kind in KINDS.items()
            }
            series = [Series(kind, points) for kind, points in curves.items() if points]
            if series:
                panels.append(Panel(f"Loss of the {name}", series))
        return draw(panels, AXES[axis])

    def page(self, axis: str) -> str:
        """Return a self-contained HTML page with the picture and the tables."""
        champion = checkpoint(self.champion, self.visits).name
        return "\n".join(
            [
                f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(self.title)}</title>',
                f"<style>{STYLE}</style><h1>{escape(self.title)}: strength over training</h1>",
                self.picture(axis),
                f"<p>{escape(self.sentence())}</p>",
                _html(self.rating_rows()),
                f"<h2>The champion ({champion}) against the others</h2>",
                _html(self.colour_rows()),
                "</html>\n",
            ]
        )

    def sentence(self) -> str:
        """Return a sentence on how it was measured."""
        white, error = self.scale.ratings.white
        ladder = f" (and {self.ladder_games:,} between ladder players)" if self.ladder_games else ""
        return (
            f"{many(self.games, 'game')}{ladder} with paired openings, {many(self.visits, 'visit')} per move. "
            f"One scale: random is 0, errors are those of the distance to {self.scale.reference.name}; "
            f"White's advantage is {signed(white)} ± {rounded(error)} Elo."
        )


def make_report(
    directory: Path,
    manifest: Manifest,
    state: State,
    metrics: Sequence[dict[str, Any]],
    games: Sequence[CurveGame],
    visits: int,
) -> CurveReport:
    """Fit the scale to the games of a run, and return the report."""
    ladder = ladder_results(manifest.variant)
    scale, when = fit_scale(games, visits, ladder), _training_points(state, metrics)
    keys = {checkpoint(cycle, visits).key: cycle for cycle in when}
    points = tuple((when[cycle], scale.players[key]) for key, cycle in keys.items() if key in scale.players)
    return CurveReport(
        directory=directory,
        recipe=manifest.recipe,
        variant=manifest.variant,
        visits=visits,
        champion=state.champion,
        points=points,
        others=tuple(_others(scale, visits, [rating.elo for _, rating in points])),
        scale=scale,
        matches=_matches(games),
        losses=tuple(_losses(metrics, when)),
        games=len(games),
        ladder_games=sum(map(sum, ladder.values())),
    )


def _training_points(state: State, metrics: Sequence[dict[str, Any]]) -> dict[int, TrainingPoint]:
    """Return the training point after each cycle, by cycle."""
    found = {0: TrainingPoint(0, 0, 0, 0, 0.0)}
    for line in metrics:
        if line.get("stage") != "learn":
            continue
        cycle = line["cycle"] + 1
        shards = [shard for shard in state.shards if shard.cycle < cycle]
        games, positions = sum(shard.games for shard in shards), sum(shard.positions for shard in shards)
        found[cycle] = TrainingPoint(cycle, games, positions, line["step"], line["time"] / 60)
    return found


def _others(scale: RatingScale, visits: int, reached: Sequence[float]) -> Iterator[tuple[CurvePlayer, Rating]]:
    """Yield the fixed players, and the ladder players near the ratings of the run, the weakest first."""
    own = {player.key: player for player in fixed_players(visits)}
    low, high = min(reached, default=0.0) - NEAR, max(reached, default=0.0) + NEAR
    for key, rating in sorted(scale.players.items(), key=lambda item: item[1].elo):
        if key in own:
            yield own[key], rating
        elif player_of_key(key) is None and low <= rating.elo <= high:
            yield CurvePlayer(key, key, 0), rating


def _losses(
    metrics: Sequence[dict[str, Any]], when: dict[int, TrainingPoint]
) -> list[tuple[TrainingPoint, dict[str, float]]]:
    """Return the losses of each cycle that measured them."""
    found = []
    for line in metrics:
        losses = {f"{key}_{name}": line.get(f"{key}_{name}") for key in KINDS for name in LOSSES}
        known = {name: float(value) for name, value in losses.items() if value}
        if line.get("stage") == "learn" and known:
            found.append((when[line["cycle"] + 1], known))
    return found


def _matches(games: Sequence[CurveGame]) -> dict[tuple[str, str], Match]:
    """Return the match of each two players, for both sides."""
    rows: dict[tuple[str, str], list[SideResult]] = {}
    places: dict[str, int] = {}
    for game in games:
        place = places.setdefault(game.opening, len(places))
        rows.setdefault((game.white, game.black), []).append(SideResult(place, True, game.result))
        if game.white != game.black:
            rows.setdefault((game.black, game.white), []).append(SideResult(place, False, game.result))
    return {sides: count_games(each) for sides, each in sorted(rows.items())}


def _score(match: Match, colour: int) -> float:
    """Return the score with a colour (0 White, 1 Black); NaN without games."""
    won, drawn, lost = match.wins[colour], match.draws[colour], match.losses[colour]
    games = won + drawn + lost
    return (won + drawn / 2) / games if games else math.nan


def _counts(match: Match) -> list[str]:
    return [str(sum(counts)) for counts in (match.wins, match.draws, match.losses)]


def _rating_json(rating: Rating) -> dict[str, Any]:
    elos = {"elo": rating.elo, "error": rating.error, "low": rating.low, "high": rating.high}
    return {**elos, "played": rating.games, "score": rating.score}


def _cells(rating: Rating) -> list[str]:
    return [str(rating), str(rating.games), percent(rating.score)]


def _html(rows: Sequence[Sequence[str]]) -> str:
    head, *body = (
        "".join(f"<{cell}>{escape(text)}</{cell}>" for text in row)
        for row, cell in zip(rows, ["th", *["td"] * len(rows)], strict=False)
    )
    return "<table>" + "\n".join(f"<tr>{row}</tr>" for row in (head, *body)) + "</table>"


def write_pictures(report: CurveReport, axis: str) -> tuple[Path, Path]:
    """Write the picture and the page into the run's directory; return their paths."""
    folder = report.directory / FOLDER
    folder.mkdir(exist_ok=True)
    picture, page = folder / "progress.svg", folder / "progress.html"
    write_file(picture, f"{report.picture(axis)}\n".encode())
    write_file(page, report.page(axis).encode())
    return picture, page


def show(report: CurveReport, console: Console) -> None:
    """Print the tables."""
    champion = checkpoint(report.champion, report.visits).name
    for title, rows in (
        (f"{report.title}, {report.variant}", report.rating_rows()),
        (f"The champion ({champion}) against the others", report.colour_rows()),
    ):
        print_table(title, rows, console)
    say(console, report.sentence())
