"""What a match has come to: counts by pairs of games, the test that ends it, tables for people and programs."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from selfmate.match.match_file import GameEntry
from selfmate.match.report import MatchReport, as_csv, faults, progress_notes, score, show
from selfmate.match.spec import Contestant
from selfmate.rating.sprt import Sprt, SprtTracker
from selfmate.search.limit import Limit


def entry(number: int, white: int, black: int, result: str, fault: str | None = None) -> GameEntry:
    return GameEntry(
        number=number, white=white, black=black, result=result, reason=fault or "checkmate", fault=fault, plies=10
    )


def contestant(name: str) -> Contestant:
    return Contestant(spec=name, player=name, engine=None, limit=Limit(visits=8), name=name)


def report(*entries: GameEntry, players: int = 2, openings: int = 2, test: Sprt | None = None) -> MatchReport:
    contestants = tuple(contestant(name) for name in "ABC"[:players])
    tracker = None if test is None else SprtTracker(test)
    if tracker is not None:
        tracker.add(each.side_result(0) for each in entries)
    return MatchReport(
        variant="chess",
        contestants=contestants,
        labels=tuple(each.label for each in contestants),
        openings=openings,
        entries=entries,
        unavailable={},
        seconds=1.0,
        sprt=test,
        sprt_state=None if tracker is None else tracker.state,
    )


def told(of: MatchReport) -> list[str]:
    text = io.StringIO()
    show(of, Console(file=text, width=120))
    return text.getvalue().splitlines()


def test_games_are_counted_by_pairs() -> None:
    entries = [
        entry(0, 0, 1, "1-0"),
        entry(1, 1, 0, "0-1"),
        entry(2, 0, 1, "1/2-1/2"),
        entry(3, 1, 0, "1-0"),
        entry(4, 0, 1, "*"),
        entry(5, 1, 0, "1/2-1/2"),
        entry(6, 0, 1, "1-0"),  # its other colour is still being played
        entry(8, 0, 2, "1-0"),
        entry(9, 2, 0, "1-0"),
    ]
    match = score(entries, 0, 1)
    assert (match.wins, match.draws, match.losses) == ((1, 1), (2, 1), (0, 1))
    assert match.pairs == (2.0, 0.5, 1.0)
    other = score(entries, 1, 0)
    assert (other.wins, other.losses) == ((1, 0), (1, 1))
    assert other.pairs == (0.0, 1.5, 1.0)
    assert score(entries, 0, 2).pairs == (1.0,)
    assert score(entries, 1, 2).games == 0


def test_faults_belong_to_the_loser() -> None:
    entries = [entry(0, 0, 1, "0-1", "crash"), entry(1, 1, 0, "1-0", "crash"), entry(2, 0, 1, "1-0", "illegal move")]
    assert faults(entries, 0) == {"crash": 2}
    assert faults(entries, 1) == {"illegal move": 1}


def test_the_test_takes_openings_in_their_order() -> None:
    test = Sprt(0, 100, model="logistic")
    won = [
        entry(number, number % 2, 1 - number % 2, "01"[number % 2 == 0] + "-" + "10"[number % 2 == 0])
        for number in range(40)
    ]
    whole = report(*won, openings=100, test=test)
    assert whole.sprt_state is not None
    assert whole.sprt_state.verdict == "H1"
    assert whole.complete
    assert f"SPRT: {whole.sprt_state}." == told(whole)[-1]
    # Without the third game nothing after the first pair counts, though later pairs are whole.
    early = report(*(each for each in won if each.number != 2), openings=100, test=test)
    assert early.sprt_state == test.judge([0, 0, 0, 0, 1])
    assert not early.complete
    assert early.match().games == 38
    assert "LLR" in progress_notes(early)[-2]
    none = report(openings=100, test=test)
    assert none.sprt_state is not None
    assert none.sprt_state.llr == 0
    assert json.loads(json.dumps(whole.as_json()))["sprt"]["verdict"] == "H1"


def test_a_test_that_is_not_decided_says_so() -> None:
    even = [entry(number, number % 2, 1 - number % 2, "1-0") for number in range(4)]
    played = report(*even, test=Sprt(0, 5))
    assert played.complete
    assert told(played)[-1].endswith("; not decided, raise --games to continue.")


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_games_that_a_test_left_without_their_pair_are_told(odd: int) -> None:
    won = [entry(number, number % 2, 1 - number % 2, ("1-0", "0-1")[number % 2]) for number in range(40)]
    extra = [entry(number, 0, 1, "1-0") for number in (40, 42)[:odd]]
    played = report(*won, *extra, openings=100, test=Sprt(0, 100, model="logistic"))
    assert played.complete
    lines = told(played)
    assert f"Ended by: checkmate ({40 + odd})." in lines
    assert next(line for line in lines if "together" in line).split("│")[2].strip() == "40"
    rest = (
        ".",
        "; 1 of them has no game with the other colour and does not count.",
        "; 2 of them have no game with the other colour and do not count.",
    )[odd]
    assert f"Stopped by the test after {40 + odd} of 200 games{rest}" in lines


def test_in_a_terminal_lines_break_between_words() -> None:
    reasons = ("checkmate", "fifty-move rule", "threefold repetition", "insufficient material", "stalemate")
    entries = [
        dataclasses.replace(entry(number, number % 2, 1 - number % 2, "1-0"), reason=reasons[number % 5])
        for number in range(40)
    ]
    texts = []
    for is_terminal in (False, True):
        text = io.StringIO()
        show(report(*entries, openings=30), Console(file=text, width=60, force_terminal=is_terminal), Path("games.pgn"))
        texts.append(re.sub(r"\x1b\[[0-9;]*m", "", text.getvalue()))
    piped, shown = texts
    assert f"Ended by: {', '.join(f'{reason} (8)' for reason in reasons)}.\n" in piped
    assert max(map(len, piped.splitlines())) > 60
    assert max(map(len, shown.splitlines())) <= 60
    assert shown.split() == piped.split()


@pytest.mark.parametrize(
    ("numbers", "line"),
    [
        ((), "Stopped before the first of 4 games was over."),
        ((0,), "Stopped after 1 of 4 games; 1 of them has no game with the other colour yet and does not count."),
        ((0, 2), "Stopped after 2 of 4 games; 2 of them have no game with the other colour yet and do not count."),
        ((0, 1), "Stopped after 2 of 4 games."),
        ((0, 1, 2, 3), None),
    ],
)
def test_a_match_that_was_stopped_says_one_thing(numbers: tuple[int, ...], line: str | None) -> None:
    lines = told(report(*(entry(number, number % 2, 1 - number % 2, "1-0") for number in numbers)))
    assert [each for each in lines if each.startswith("Stopped")] == ([] if line is None else [line])
    assert any(each.startswith("Score ") for each in lines) == (len(numbers) in (2, 4) and 1 in numbers)


def test_three_players_have_a_table_and_a_line_for_every_two() -> None:
    entries = [
        entry(0, 0, 1, "1-0"),
        entry(1, 1, 0, "0-1"),
        entry(2, 0, 2, "1/2-1/2"),
        entry(3, 2, 0, "1-0"),
        entry(4, 1, 2, "0-1"),
        entry(5, 2, 1, "1-0"),
    ]
    played = report(*entries, players=3, openings=1)
    lines = told(played)
    assert played.complete
    table = [line.split("│")[1].strip() for line in lines if line.startswith("│")]
    assert table == ["C (8 visits)", "A (8 visits)", "B (8 visits)"]  # the best first
    assert [line.split(":")[0] for line in lines[-3:]] == [
        "A (8 visits) - B (8 visits)",
        "A (8 visits) - C (8 visits)",
        "B (8 visits) - C (8 visits)",
    ]
    values = json.loads(json.dumps(played.as_json()))
    assert [(each["first"], each["second"], each["score"]) for each in values["matches"]] == [
        (0, 1, 1.0),
        (0, 2, 0.25),
        (1, 2, 0.0),
    ]
    assert progress_notes(played) == ["6 of 6 games", "6/6"]


def test_csv_is_read_back() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(report(entry(0, 0, 1, "0-1", "time loss"))))))
    assert rows == [
        {
            "game": "0",
            "pair": "0",
            "white": "A (8 visits)",
            "black": "B (8 visits)",
            "result": "0-1",
            "plies": "10",
            "reason": "time loss",
            "fault": "time loss",
        }
    ]
