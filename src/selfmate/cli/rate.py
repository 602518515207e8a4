"""`selfmate rate`: prints ratings of the players in PGN files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from selfmate.errors import SelfmateError, clip
from selfmate.rating.elo import Ratings, tally
from selfmate.rating.match_stats import Z95, elo_of_score
from selfmate.rating.trueskill import Skill
from selfmate.util.terminal import say
from selfmate.util.text import many, percent, rounded, signed, tenths

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
from selfmate.rating.pgn_results import PgnResults

__all__ = ["as_csv", "as_json", "parse_anchors", "show", "show_skills"]


"""Other ways to write a draw."""


def parse_anchors(texts: Iterable[str]) -> dict[str, float]:
    """Read anchors, `NAME=ELO`.

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
        if not equals or not name or not math.isfinite(elo):
            raise SelfmateError(f"--anchor: {clip(text)!r} is not NAME=ELO, such as heuristic-1=1000", text)
        if anchors.get(name, elo) != elo:
            raise SelfmateError(f"--anchor: {name!r} cannot be both {anchors[name]:g} and {elo:g}", name)
        anchors[name] = elo
    return anchors


# -- telling it -------------------------------------------------------------------------------------------------------


def apart(ratings: Ratings) -> str | None:
    """Say in one line that there are groups of players which no game connects and no anchors either."""
    if not ratings.loose or len(ratings.groups) == 1:
        return None

    def few(group: Sequence[str]) -> str:
        return ", ".join(group[:3]) + (f" and {len(group) - 3} more" if len(group) > 3 else "")

    shown = "; ".join(few(group) for group in ratings.groups[:3]) + ("; …" if len(ratings.groups) > 3 else "")
    return (
        f"{len(ratings.groups)} groups of players never met, so their ratings cannot be compared "
        f"(each has its mean at 0 unless it is anchored): {shown}"
    )


def beside_the_score(ratings: Ratings) -> str:
    """Say why a rating is not quite the Elo of a score, which `selfmate arena` prints.

    >>> from selfmate.rating.elo import fit
    >>> beside_the_score(fit({("Anna", "Ben"): (3, 0, 1), ("Ben", "Anna"): (1, 0, 3)})).split(":")[0]
    'Anna is 166 ± 253 above Ben, where the score alone (selfmate arena) says +191'
    """
    why = "one drawn game is added for each player, and White's advantage is taken out"
    if len(ratings.players) == 2 and ratings.players[0].score == 1:
        first, second = ratings.players
        return f"{first.player} won every game against {second.player}: nothing bounds how far it is above."
    if len(ratings.players) != 2:
        return f"Few games say a little less here than the score alone, which is what selfmate arena prints: {why}."
    first, second = ratings.players
    spread = ratings.covariance[0, 0] + ratings.covariance[1, 1] - 2 * ratings.covariance[0, 1]
    difference = rounded(first.elo - second.elo)
    apart = f"{difference} ± {rounded(Z95 * math.sqrt(max(spread, 0.0)))}"
    says = signed(elo_of_score(first.score) or 0.0)
    who = f"{first.player} is {apart} above {second.player}"
    if difference == "0":
        who = f"{first.player} and {second.player} are {apart} apart"
    return f"{who}, where the score alone (selfmate arena) says {says}: {why}."


def as_json(ratings: Ratings, played: PgnResults, *, los: bool) -> dict[str, Any]:
    """Give what a program would read."""
    chances = ratings.los() if los else None
    return {
        "model": ratings.model,
        "games": len(played.games),
        "unfinished": played.unfinished,
        "white_advantage": ratings.white[0],
        "white_advantage_error": ratings.white[1],
        "draw_rate": ratings.draw_rate,
        "groups": [list(group) for group in ratings.groups],
        "players": [each.as_json() for each in ratings.players],
        **({} if chances is None else {"los": [[_number(each) for each in row] for row in chances.tolist()]}),
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)


def as_csv(ratings: Ratings) -> str:
    """Give a line for each player."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["rank", "player", "elo", "error", "low", "high", "games", "score", "draws"])
    for rank, each in enumerate(ratings.players, start=1):
        elos = (tenths(elo) for elo in (each.elo, each.error, each.low, each.high))
        writer.writerow([rank, each.player, *elos, each.games, f"{each.score:.4f}", f"{each.draws:.4f}"])
    return text.getvalue()


def show(ratings: Ratings, played: PgnResults, console: Console, *, los: bool) -> None:
    """Print the players as a table, and what else was found."""
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
    anchored = any(not each.error for each in ratings.players)  # of several groups; `apart` has told of the others
    about = " The mean is 0: --anchor NAME=ELO sets a scale." if ratings.loose and not anchored else ""
    left_out = (
        f" Left out: {played.unfinished}, without a result or two different players." if played.unfinished else ""
    )
    say(
        console,
        f"{many(len(played.games), 'game')}.{left_out} White's advantage {signed(white)} ± {rounded(error)} Elo, draws "
        f"between equals {percent(ratings.draw_rate)}; model {ratings.model}.{about}",
    )
    say(console, beside_the_score(ratings))
    if los:
        matrix = _table("player", *(str(rank) for rank in range(1, len(ratings.players) + 1)))
        matrix.title = "Likelihood that the player of the row is stronger, in %"
        for index, each in enumerate(ratings.players):
            row = ("" if other == index else _share(chance) for other, chance in enumerate(chances[index]))
            matrix.add_row(Text(f"{index + 1} {each.player}"), *row)
        console.print(matrix)


def _table(*columns: str) -> Table:
    """Make a table in which only names are broken where it is too wide, and those between their words."""
    from rich.table import Table

    table = Table()
    for column in columns:
        name = column == "player"
        table.add_column(column, justify="left" if name else "right", overflow="fold", no_wrap=not name)
    return table


def _share(share: float) -> str:
    """Write a share where the heading says that it is in per cent."""
    return percent(share).removesuffix(" %")


def skills_as_json(skills: dict[str, Skill], played: PgnResults) -> dict[str, Any]:
    """Give what a program would read, the strongest first."""
    order = sorted(skills, key=lambda name: -skills[name].mu)
    players = [{"player": name, **skills[name]._asdict()} for name in order]
    return {"model": "trueskill", "games": len(played.games), "unfinished": played.unfinished, "players": players}


def show_skills(skills: dict[str, Skill], played: PgnResults, console: Console) -> None:
    """Print the skills as a table."""
    from rich.text import Text

    count: dict[str, int] = {}
    for (white, black), results in tally(played.games).items():
        for name in (white, black):
            count[name] = count.get(name, 0) + sum(results)
    table = _table("#", "player", "skill\n± 95 %", "games")
    for rank, name in enumerate(sorted(skills, key=lambda name: -skills[name].mu), start=1):
        skill = skills[name]
        table.add_row(str(rank), Text(name), f"{skill.mu:.1f} ± {Z95 * skill.sigma:.1f}", str(count[name]))
    console.print(table)
    games = many(len(played.games), "game")
    say(console, f"{games}, in their order; TrueSkill begins at 25 ± 16.")
