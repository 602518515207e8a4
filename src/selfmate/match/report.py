"""The report of a match between two or more players: tables, JSON and CSV."""

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

from selfmate.match.match_file import GameEntry
from selfmate.match.spec import Contestant
from selfmate.rating.match_stats import Match, count_games, elo_text, score_line, whole_pairs
from selfmate.rating.sprt import Sprt, SprtState
from selfmate.util import terminal
from selfmate.util.text import many, percent

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

__all__ = ["MatchReport", "as_csv", "faults", "progress_notes", "score", "show", "terminations"]


def score(entries: Iterable[GameEntry], first: int, second: int) -> Match:
    """Return the match between two players, for the first, over the openings that were played with both colours."""
    return count_games(
        whole_pairs(entry.side_result(first) for entry in entries if {entry.white, entry.black} == {first, second})
    )


def faults(entries: Iterable[GameEntry], player: int) -> dict[str, int]:
    """Count the faults of a player, by kind."""
    found: Counter[str] = Counter()
    for entry in entries:
        loser = {"1-0": entry.black, "0-1": entry.white}.get(entry.result)
        if entry.fault and loser == player:
            found[entry.fault] += 1
    return dict(found)


def terminations(entries: Iterable[GameEntry]) -> dict[str, int]:
    """Count the reasons for which games ended, the most frequent first."""
    return dict(Counter(entry.reason for entry in entries).most_common())


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchReport:
    """A match, as far as it was played."""

    variant: str
    contestants: tuple[Contestant, ...]
    labels: tuple[str, ...]
    openings: int
    """Openings of each pair of players, each to be played twice."""
    entries: tuple[GameEntry, ...]
    """Finished games by number."""
    unavailable: dict[int, str]
    """Players whose engine could not be started any more, by index, with the reason."""
    seconds: float
    evaluations: int = 0
    """Leaves that were evaluated for players of the pool in this session."""
    batches: int = 0
    """Batches in which they were."""
    gumbel: bool = False
    sprt: Sprt | None = None
    """A sequential test of the first player against the second, which may end the match."""
    sprt_state: SprtState | None = None
    """Games that ended after the test was decided count in the score, not here."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of players, by index."""
        return list(itertools.combinations(range(len(self.labels)), 2))

    @property
    def games(self) -> int:
        """Number of games to be played."""
        return 2 * self.openings * len(self.pairs)

    @property
    def complete(self) -> bool:
        """Whether all games were played, or as many as the test needed."""
        state = self.sprt_state
        return len(self.entries) == self.games or (state is not None and state.verdict is not None)

    def match(self, first: int = 0, second: int = 1) -> Match:
        """Return the match between two players, for the first of them."""
        return score(self.entries, first, second)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
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
        if (state := self.sprt_state) is not None:
            values["sprt"] = {**state._asdict(), **msgspec.to_builtins(self.sprt)}
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
        return values | ({"out": self.unavailable[index]} if index in self.unavailable else {})


CSV_HEADINGS: Final = ("game", "pair", "white", "black", "result", "plies", "reason", "fault")


def as_csv(report: MatchReport) -> str:
    """Return a line of CSV for each game, after a heading."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADINGS)
    for entry in report.entries:
        white, black = report.labels[entry.white], report.labels[entry.black]
        writer.writerow(
            (entry.number, entry.number // 2, white, black, entry.result, entry.plies, entry.reason, entry.fault or "")
        )
    return text.getvalue()


# -- the terminal -----------------------------------------------------------------------------------------------------


def show(report: MatchReport, console: Console, pgn: Path | None = None) -> None:
    """Print the report; `pgn` is the file of its games."""

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
            say(f"{label} lost games by its own fault: {_listed(wrong)}.")
        if index in report.unavailable:
            say(f"{label} could not continue: {report.unavailable[index]}")
    matches = [report.match(*pair) for pair in report.pairs]
    if pgn is not None and report.entries:
        less = "which lowers the Elo of few games a little"
        say(f"selfmate rate {shlex.quote(str(pgn))} makes ratings, with a drawn game added for each player, {less}.")
    if len(report.entries) < report.games:
        paired = sum(match.games for match in matches)
        say(stopped_line(len(report.entries), report.games, paired, by_test=report.complete))
    for (first, second), match in zip(report.pairs, matches, strict=True):
        if match.games:
            say(score_line(match) if two else f"{report.labels[first]} - {report.labels[second]}: {score_line(match)}")
    if (state := report.sprt_state) is not None:
        undecided = state.verdict is None and len(report.entries) == report.games
        say(f"SPRT: {state}{'; not decided, raise --games to continue' if undecided else ''}.")


def _listed(counts: dict[str, int]) -> str:
    """Return counts as a list in words.

    >>> _listed({"checkmate": 3, "fifty-move rule": 1})
    'checkmate (3), fifty-move rule (1)'
    """
    return ", ".join(f"{name} ({count})" for name, count in counts.items())


def stopped_line(played: int, games: int, paired: int, *, by_test: bool = False) -> str:
    """Return a line about a match of which not all games were played, and how many of them do not count.

    >>> stopped_line(0, 10, 0)
    'Stopped before the first of 10 games was over.'
    >>> stopped_line(3, 10, 2)
    'Stopped after 3 of 10 games; 1 of them has no game with the other colour yet and does not count.'
    >>> stopped_line(2, 10, 2)
    'Stopped after 2 of 10 games.'
    >>> stopped_line(5, 10, 2, by_test=True)
    'Stopped by the test after 5 of 10 games; 3 of them have no game with the other colour and do not count.'
    """
    if not played:
        return f"Stopped before the first of {many(games, 'game')} was over."
    odd = played - paired
    stopped = f"Stopped {'by the test ' if by_test else ''}after {played} of {many(games, 'game')}"
    if not odd:
        return f"{stopped}."
    have, do = ("has", "does") if odd == 1 else ("have", "do")
    yet = "" if by_test else " yet"
    return f"{stopped}; {odd} of them {have} no game with the other colour{yet} and {do} not count."


def progress_notes(report: MatchReport) -> list[str]:
    """Return the state of a match for the progress line, the longest text first, for narrower and narrower terminals.

    Texts for 80 columns and more have the games, the Elo with its interval and the test with its bounds.
    """
    played, games = len(report.entries), report.games
    shortest = f"{played:,}/{games:,}"
    long, short = f"{played:,} of {many(games, 'game')}", f"{shortest} games"
    match = report.match()
    if len(report.labels) > 2 or not match.games:
        return [long, shortest]
    elo, state = elo_text(match), report.sprt_state
    test, ratio = ("", "") if state is None else (f", {state.ratio}", f", LLR {state.llr:.2f}")
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


def _show_players(report: MatchReport, console: Console) -> None:
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
