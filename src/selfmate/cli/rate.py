"""`selfmate rate`: ratings of the players in PGN files, as tables, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console

from selfmate.cli.common import notice
from selfmate.errors import SelfmateError, clip
from selfmate.rating.elo import Ratings, fit, tally
from selfmate.rating.match_stats import Z95, elo_of_score
from selfmate.rating.pgn_results import PgnResults, leave_out, read_all
from selfmate.rating.trueskill import Skill, trueskill
from selfmate.util.terminal import say
from selfmate.util.text import many, percent, rounded, signed, tenths

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["parse_anchors", "print_ratings", "print_skills", "ratings_as_json", "read"]


def read(files: Iterable[str], min_games: int) -> PgnResults:
    """Return the results of PGN files, without players of fewer than `min_games` games."""
    results = read_all(files)
    return leave_out(results, min_games) if min_games > 1 else results


def print_ratings(
    results: PgnResults, anchors: Mapping[str, float], model: str, *, los: bool, as_json: bool, as_csv: bool
) -> None:
    """Fit ratings and print them as JSON, as CSV or as a table."""
    ratings = fit(tally(results.games), anchors=anchors, model=model)
    if (line := unconnected(ratings)) is not None:
        notice(line)
    if as_json:
        print(json.dumps(ratings_as_json(ratings, results, los=los), indent=2))
    elif as_csv:
        print(ratings_as_csv(ratings), end="")
    else:
        show(ratings, results, Console(), los=los)


def print_skills(results: PgnResults, *, as_json: bool) -> None:
    """Compute TrueSkill game by game, and print it as JSON or as a table."""
    skills = trueskill(results.games)
    if as_json:
        print(json.dumps(skills_as_json(skills, results), indent=2))
    else:
        show_skills(skills, results, Console())


MOST_ELO: Final = 100_000
"""The most that an anchor may be, above or below zero."""


def parse_anchors(texts: Iterable[str]) -> dict[str, float]:
    """Return anchors written `NAME=ELO`; raises `SelfmateError` for anything else.

    >>> parse_anchors(["random=0", "net=3 (64 visits)=1500.5"])
    {'random': 0.0, 'net=3 (64 visits)': 1500.5}
    """
    anchors: dict[str, float] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        try:
            elo = float(number)
        except ValueError:
            elo = math.nan
        if not equals or not name or not abs(elo) <= MOST_ELO:
            example = f"such as heuristic-1=1000, from -{MOST_ELO} to {MOST_ELO}"
            raise SelfmateError(f"--anchor: {clip(text)!r} is not NAME=ELO, {example}", text)
        if anchors.get(name, elo) != elo:
            raise SelfmateError(f"--anchor: {name!r} cannot be both {anchors[name]:g} and {elo:g}", name)
        anchors[name] = elo
    return anchors


# -- output -----------------------------------------------------------------------------------------------------------


def unconnected(ratings: Ratings) -> str | None:
    """Return a line about groups of players that neither games nor anchors connect; None if there are none."""
    if not ratings.loose or len(ratings.groups) == 1:
        return None

    def few(group: Sequence[str]) -> str:
        return ", ".join(group[:3]) + (f" and {len(group) - 3} more" if len(group) > 3 else "")

    shown = "; ".join(few(group) for group in ratings.groups[:3]) + ("; …" if len(ratings.groups) > 3 else "")
    return (
        f"{len(ratings.groups)} groups of players never met, so their ratings cannot be compared "
        f"(each has its mean at 0 unless it is anchored): {shown}"
    )


def compared_with_score(ratings: Ratings) -> str:
    """Return a sentence on why a rating differs from the Elo of the score, which `selfmate arena` prints.

    >>> compared_with_score(fit({("Anna", "Ben"): (3, 0, 1), ("Ben", "Anna"): (1, 0, 3)})).split(":")[0]
    'Anna is 166 ± 253 above Ben; the score alone (selfmate arena) gives +191'
    """
    why = "one drawn game is added for each player, and White's advantage is taken out"
    if len(ratings.players) == 2 and ratings.players[0].score == 1:
        first, second = ratings.players
        return f"{first.player} won every game against {second.player}: its rating has no upper bound."
    if len(ratings.players) != 2:
        return f"With few games ratings differ a little from the Elo that selfmate arena prints: {why}."
    first, second = ratings.players
    spread = ratings.covariance[0, 0] + ratings.covariance[1, 1] - 2 * ratings.covariance[0, 1]
    difference = rounded(first.elo - second.elo)
    distance = f"{difference} ± {rounded(Z95 * math.sqrt(max(spread, 0.0)))}"
    of_score = signed(elo_of_score(first.score) or 0.0)
    text = f"{first.player} is {distance} above {second.player}"
    if difference == "0":
        text = f"{first.player} and {second.player} are {distance} apart"
    return f"{text}; the score alone (selfmate arena) gives {of_score}: {why}."


def ratings_as_json(ratings: Ratings, results: PgnResults, *, los: bool) -> dict[str, Any]:
    """Return the ratings as JSON values; `los` adds the matrix of likelihoods of superiority."""
    chances = ratings.los() if los else None
    return {
        "model": ratings.model,
        "games": len(results.games),
        "unfinished": results.unfinished,
        "white_advantage": ratings.white[0],
        "white_advantage_error": ratings.white[1],
        "draw_rate": ratings.draw_rate,
        "groups": [list(group) for group in ratings.groups],
        "players": [each.as_json() for each in ratings.players],
        **({} if chances is None else {"los": [[_number(each) for each in row] for row in chances.tolist()]}),
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)


def ratings_as_csv(ratings: Ratings) -> str:
    """Return a line of CSV for each player, after a heading."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["rank", "player", "elo", "error", "low", "high", "games", "score", "draws"])
    for rank, each in enumerate(ratings.players, start=1):
        elos = (tenths(elo) for elo in (each.elo, each.error, each.low, each.high))
        writer.writerow([rank, each.player, *elos, each.games, f"{each.score:.4f}", f"{each.draws:.4f}"])
    return text.getvalue()


def show(ratings: Ratings, results: PgnResults, console: Console, *, los: bool) -> None:
    """Print the ratings as a table, and the parameters of the fit."""
    from rich.text import Text

    chances = ratings.los()
    table = _table("#", "player", "rating\n± 95 %", "games", "score\n%", "draws\n%", "LOS to\nnext %")
    for index, each in enumerate(ratings.players):
        below = chances[index, index + 1] if index + 1 < len(ratings.players) else math.nan
        table.add_row(
            str(index + 1),
            Text(each.player),
            str(each) if each.error else f"{each} (anchor)",
            str(each.games),
            _share(each.score),
            _share(each.draws),
            _share(below),
        )
    console.print(table)
    white, error = ratings.white
    anchored = any(not each.error for each in ratings.players)  # in one of several groups; `unconnected` names them
    about = " The mean is 0: --anchor NAME=ELO sets a scale." if ratings.loose and not anchored else ""
    left_out = (
        f" Left out: {results.unfinished}, without a result or two different players." if results.unfinished else ""
    )
    say(
        console,
        f"{many(len(results.games), 'game')}.{left_out} White's advantage {signed(white)} ± {rounded(error)} Elo, "
        f"draws between equals {percent(ratings.draw_rate)}; model {ratings.model}.{about}",
    )
    say(console, compared_with_score(ratings))
    if los:
        matrix = _table("player", *(str(rank) for rank in range(1, len(ratings.players) + 1)))
        matrix.title = "Likelihood that the player of the row is stronger, in %"
        for index, each in enumerate(ratings.players):
            row = ("" if other == index else _share(chance) for other, chance in enumerate(chances[index]))
            matrix.add_row(Text(f"{index + 1} {each.player}"), *row)
        console.print(matrix)


def _table(*columns: str) -> Table:
    """Return a table in which only the names of players are wrapped."""
    from rich.table import Table

    table = Table()
    for column in columns:
        name = column == "player"
        table.add_column(column, justify="left" if name else "right", overflow="fold", no_wrap=not name)
    return table


def _share(share: float) -> str:
    """Return a share in per cent, without the sign."""
    return percent(share).removesuffix(" %")


def skills_as_json(skills: dict[str, Skill], results: PgnResults) -> dict[str, Any]:
    """Return the skills as JSON values, the strongest player first."""
    order = sorted(skills, key=lambda name: -skills[name].mu)
    players = [{"player": name, **skills[name]._asdict()} for name in order]
    return {"model": "trueskill", "games": len(results.games), "unfinished": results.unfinished, "players": players}


def show_skills(skills: dict[str, Skill], results: PgnResults, console: Console) -> None:
    """Print the skills as a table."""
    from rich.text import Text

    count: dict[str, int] = {}
    for (white, black), counts in tally(results.games).items():
        for name in (white, black):
            count[name] = count.get(name, 0) + sum(counts)
    table = _table("#", "player", "skill\n± 95 %", "games")
    for rank, name in enumerate(sorted(skills, key=lambda name: -skills[name].mu), start=1):
        skill = skills[name]
        table.add_row(str(rank), Text(name), f"{skill.mu:.1f} ± {Z95 * skill.sigma:.1f}", str(count[name]))
    console.print(table)
    games = many(len(results.games), "game")
    say(console, f"{games}, in their order; TrueSkill starts at 25 ± 16.")
