"""What a match has come to: tables, JSON and CSV, for two players or more."""

from __future__ import annotations

import csv
import functools
import io
import itertools
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from selfmate.match.match_file import Entry
from selfmate.match.spec import Contestant
from selfmate.rating.match_stats import Match, count_games, elo_text, score_line, whole_pairs
from selfmate.rating.sprt import Sprt, SprtStanding
from selfmate.util import terminal
from selfmate.util.text import many, percent

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

__all__ = ["Report", "as_csv", "faults", "score", "show", "standing_notes", "terminations"]


def score(entries: Iterable[Entry], first: int, second: int) -> Match:
    """Count the games between two players for the first of them; only openings that both have played with White."""
    return count_games(
        whole_pairs(entry.scored(first) for entry in entries if {entry.white, entry.black} == {first, second})
    )


def faults(entries: Iterable[Entry], player: int) -> dict[str, int]:
    """Count what a player did wrong."""
    found: Counter[str] = Counter()
    for entry in entries:
        loser = {"1-0": entry.black, "0-1": entry.white}.get(entry.result)
        if entry.fault and loser == player:
            found[entry.fault] += 1
    return dict(found)


def terminations(entries: Iterable[Entry]) -> dict[str, int]:
    """Count why the games ended, the most frequent reason first."""
    return dict(Counter(entry.reason for entry in entries).most_common())


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A match as far as it was played."""

    variant: str
    contestants: tuple[Contestant, ...]
    labels: tuple[str, ...]
    openings: int
    """Openings that every two players were to play, each of them twice."""
    entries: tuple[Entry, ...]
    """Every game that was finished, by number."""
    out: dict[int, str]
    """Players that could not go on, and why."""
    seconds: float
    evaluations: int = 0
    """Leaves that were evaluated for players of our own, without those of an earlier session,"""
    batches: int = 0
    """and in how many batches."""
    gumbel: bool = False
    test: Sprt | None = None
    """A test of the first player against the second, which may end the match."""
    standing: SprtStanding | None = None
    """Where the test stands. What was under way when it was decided counts in the score, not here."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Every two players."""
        return list(itertools.combinations(range(len(self.labels)), 2))

    @property
    def games(self) -> int:
        """How many games were to be played."""
        return 2 * self.openings * len(self.pairs)

    @property
    def complete(self) -> bool:
        """Whether every game was played that had to be: all, or as many as the test needed."""
        standing = self.standing
        return len(self.entries) == self.games or (standing is not None and standing.verdict is not None)

    def match(self, first: int = 0, second: int = 1) -> Match:
        """Count the games between two players for the first of them."""
        return score(self.entries, first, second)

    def as_json(self) -> dict[str, Any]:
        """Give the report as plain values."""
        matches = {pair: self.match(*pair) for pair in self.pairs}
        values: dict[str, Any] = {
            "variant": self.variant,
            "players": [self._player_json(index) for index in range(len(self.labels))],
            "root": "gumbel" if self.gumbel else "puct",
            "openings": self.openings,
            "complete": self.complete,
            "played": len(self.entries),
        }
        if len(self.labels) == 2:
            values |= {**matches[0, 1].as_json(), "pairs": list(matches[0, 1].pairs)}
        else:
            values["matches"] = [
                {"first": first, "second": second, **match.as_json()} for (first, second), match in matches.items()
            ]
        if (standing := self.standing) is not None:
            values["sprt"] = {**standing._asdict(), **msgspec.to_builtins(self.test)}
        return values | {
            "terminations": terminations(self.entries),
            "plies": sum(entry.plies for entry in self.entries) / max(1, len(self.entries)),
            "seconds": round(self.seconds, 3),
            "evaluations": self.evaluations,
            "batch": round(self.evaluations / max(1, self.batches), 1),
        }

    def _player_json(self, index: int) -> dict[str, Any]:
        contestant = self.contestants[index]
        limit = contestant.limit
        values: dict[str, Any] = {"name": contestant.name, "label": self.labels[index]}
        if contestant.engine is None:
            return values | {"visits": limit.visits or 0}
        movetime = None if limit.seconds is None else round(1000 * limit.seconds)
        for name, number in (("nodes", limit.nodes), ("depth", limit.depth), ("movetime", movetime)):
            if number is not None:
                values[name] = number
        if limit.clock is not None:
            values["tc"] = str(limit.clock)
        values["faults"] = faults(self.entries, index)
        return values | ({"out": self.out[index]} if index in self.out else {})


CSV_HEADINGS: Final = ("game", "pair", "white", "black", "result", "plies", "reason", "fault")


def as_csv(report: Report) -> str:
    """Write a line for each game."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADINGS)
    for entry in report.entries:
        white, black = report.labels[entry.white], report.labels[entry.black]
        writer.writerow(
            (entry.number, entry.number // 2, white, black, entry.result, entry.plies, entry.reason, entry.fault or "")
        )
    return text.getvalue()


# -- for people -----------------------------------------------------------------------------------


def show(report: Report, console: Console, pgn: Path | None = None) -> None:
    """Print the report; `pgn` is where its games are."""

    say = functools.partial(terminal.say, console)
    two = len(report.labels) == 2
    say(f"{' against '.join(report.labels) if two else ', '.join(report.labels)}, {report.variant}")
    if two:
        _show_colours(report.contestants[0].name, report.match(), console)
    else:
        _show_players(report, console)
    if report.entries:
        say(f"Ended by: {_listed(terminations(report.entries))}.")
    for index, label in enumerate(report.labels):
        if wrong := faults(report.entries, index):
            say(f"{label} lost games by fault of its own: {_listed(wrong)}.")
        if index in report.out:
            say(f"{label} is out: {report.out[index]}")
    matches = [report.match(*pair) for pair in report.pairs]
    if pgn is not None and report.entries:
        less = "so that few games say a little less than their score below"
        say(f"selfmate rate {shlex.quote(str(pgn))} makes ratings, with a drawn game added for each player, {less}.")
    if len(report.entries) < report.games:
        paired = sum(match.games for match in matches)
        say(stopped_line(len(report.entries), report.games, paired, by_test=report.complete))
    for (first, second), match in zip(report.pairs, matches, strict=True):
        if match.games:
            say(score_line(match) if two else f"{report.labels[first]} - {report.labels[second]}: {score_line(match)}")
    if (standing := report.standing) is not None:
        undecided = standing.verdict is None and len(report.entries) == report.games
        say(f"SPRT: {standing}{'; not decided, --games can be raised' if undecided else ''}.")


def _listed(counts: dict[str, int]) -> str:
    """List what was counted.

    >>> _listed({"checkmate": 3, "50 moves without progress": 1})
    'checkmate (3), 50 moves without progress (1)'
    """
    return ", ".join(f"{name} ({count})" for name, count in counts.items())


def stopped_line(played: int, games: int, paired: int, *, by_test: bool = False) -> str:
    """Say how far a match came of which not every game was played, and how many of them are in no table.

    >>> stopped_line(0, 10, 0)
    'Stopped before a game was over, of 10.'
    >>> stopped_line(3, 10, 2)
    'Stopped after 3 of 10 games; 1 of them has no game with the other colour yet and does not count.'
    >>> stopped_line(2, 10, 2)
    'Stopped after 2 of 10 games.'
    >>> stopped_line(5, 10, 2, by_test=True)
    'Stopped by the test after 5 of 10 games; 3 of them have no game with the other colour and do not count.'
    """
    if not played:
        return f"Stopped before a game was over, of {games}."
    odd = played - paired
    stopped = f"Stopped {'by the test ' if by_test else ''}after {played} of {many(games, 'game')}"
    if not odd:
        return f"{stopped}."
    have, do = ("has", "does") if odd == 1 else ("have", "do")
    yet = "" if by_test else " yet"
    return f"{stopped}; {odd} of them {have} no game with the other colour{yet} and {do} not count."


def standing_notes(report: Report) -> list[str]:
    """Say how a match stands, for a line of progress: in fewer and fewer words, for narrower and narrower terminals.

    As long as there are 80 columns, the games, the Elo with its interval and the test with its bounds are among them.
    """
    played, games = len(report.entries), report.games
    shortest = f"{played:,}/{games:,}"
    long, short = f"{played:,} of {many(games, 'game')}", f"{shortest} games"
    match = report.match()
    if len(report.labels) > 2 or not match.games:
        return [long, shortest]
    elo, standing = elo_text(match), report.standing
    test, ratio = ("", "") if standing is None else (f", {standing.ratio}", f", LLR {standing.llr:.2f}")
    score = percent(match.score)
    return [
        f"{long}, {match}, {elo}{test}",
        f"{long}, {score} {match.counted}, {elo}{test}",
        f"{short}, {score} {match.counted}, {elo}{test}",
        f"{long}, {score}, {elo}{test}",
        f"{long}, {elo}{test}",
        f"{short}, {elo}{test}",
        f"{shortest}, {elo}{test}",
        f"{shortest}, {elo}{ratio}",
        shortest,
    ]


def _show_colours(name: str, match: Match, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_column(Text(name), overflow="fold")
    for column in ("games", "won", "drawn", "lost", "score"):
        table.add_column(column, justify="right", no_wrap=True)
    for label, colours in (("with White", [0]), ("with Black", [1]), ("together", [0, 1])):
        counts = [sum(each[colour] for colour in colours) for each in (match.wins, match.draws, match.losses)]
        table.add_row(label, *_row(counts))
    console.print(table)


def _show_players(report: Report, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    rows = []
    for index, label in enumerate(report.labels):
        own = [report.match(index, other) for other in range(len(report.labels)) if other != index]
        counts = [sum(sum(each) for each in of) for of in zip(*((m.wins, m.draws, m.losses) for m in own), strict=True)]
        points = (counts[0] + counts[1] / 2) / max(1, sum(counts))
        rows.append((-points, index, label, counts))
    table = Table()
    table.add_column("player", overflow="fold")
    for column in ("games", "won", "drawn", "lost", "score"):
        table.add_column(column, justify="right", no_wrap=True)
    for _, _, label, counts in sorted(rows):
        table.add_row(Text(label), *_row(counts))
    console.print(table)


def _row(counts: Sequence[int]) -> list[str]:
    won, drawn, lost = counts
    games = won + drawn + lost
    return [*(str(number) for number in (games, won, drawn, lost)), percent((won + drawn / 2) / games) if games else ""]
