"""What the UCI engine decides between `go` and `bestmove`, on made-up results."""

from __future__ import annotations

import dataclasses
import time

import pytest

from results import result
from selfmate import Position
from selfmate._core import centipawns
from selfmate.search.result import Result
from selfmate.uci.info import info_lines, mate_in, permille
from selfmate.uci.limits import Go, Limits
from selfmate.uci.options import Settings
from selfmate.uci.search import Pace, Searcher
from selfmate.uci.time_manager import Budget


def with_best(found: Result, index: int) -> Result:
    """The same with another best move."""
    moves = (found.moves[index], *found.moves[:index], *found.moves[index + 1 :])
    return dataclasses.replace(found, best=moves[0].move, moves=moves)


def test_a_best_move_that_changes_takes_longer_and_a_sure_one_shorter() -> None:
    planned = Budget(1.0, 4.0)
    steady, doubtful, sure = (Pace(planned, None) for _ in range(3))
    for visits in (10, 20, 30):
        usual = steady.seconds(result([visits, visits, visits]))
    for index in (0, 1, 0):
        longer = doubtful.seconds(with_best(result([10, 10, 10]), index))
    shorter = sure.seconds(result([95, 3, 2]))
    assert shorter < usual == 1.0 < longer <= 4.0
    # Changes that lie far back count less and less.
    later = [doubtful.seconds(result([visits, visits, visits])) for visits in (100, 300, 1000, 3000, 10_000)]
    assert later == sorted(later, reverse=True)
    assert later[-1] < 1.1


def test_a_value_that_drops_takes_longer() -> None:
    planned = Budget(1.0, 4.0)
    assert Pace(planned, 0.5).seconds(result([10, 10, 10], value=0.1)) > 1.5
    assert Pace(planned, 0.1).seconds(result([10, 10, 10], value=0.5)) == 1.0
    assert Pace(planned, None).seconds(result([10, 10, 10], value=-0.9)) == 1.0


def test_a_policy_settles_only_when_it_is_asked_for() -> None:
    never, soon = Pace(Budget(1.0, 4.0), None), Pace(Budget(1.0, 4.0), None)
    for visits in (100, 200, 300):
        assert not never.has_settled(result([visits, visits]), 0.0)
    assert not soon.has_settled(result([100, 100]), 1e-6)  # nothing to compare with yet
    assert not soon.has_settled(result([110, 110]), 1e-6)  # too few new visits
    assert not soon.has_settled(result([400, 100]), 1e-6)
    assert soon.has_settled(result([800, 200]), 1e-6)


def test_centipawns_rise_with_the_value_and_stay_whole() -> None:
    values = [centipawns(step / 100) for step in range(-100, 101)]
    assert values == sorted(values)
    assert values[100] == 0
    assert centipawns(-7.0) == -centipawns(7.0)


@pytest.mark.parametrize(("proven", "mate"), [(1, 1), (2, 1), (3, 2), (-1, -1), (-2, -1), (-4, -2), (0, None)])
def test_mate(proven: int, mate: int | None) -> None:
    assert mate_in(proven) == mate


@pytest.mark.parametrize("draw", [0.0, 0.2, 1 / 3, 1.0])
@pytest.mark.parametrize("win", [0.0, 0.1, 1 / 3, 0.5, 1.0])
def test_permille_sum_to_a_thousand(win: float, draw: float) -> None:
    shares = permille(win, draw)
    assert sum(shares) == 1000
    assert min(shares) >= 0


def test_a_move_without_a_visit_has_the_value_of_the_position() -> None:
    line = info_lines(
        Position("chess"),
        result([0, 0], value=0.5),
        result([0, 0], value=0.0).moves[:1],
        milliseconds=5,
        fullness=0.5,
        show_wdl=True,
    )[0]
    assert "score cp 89" in line
    assert "hashfull 500" in line
    assert "wdl 650 200 150" in line


@pytest.mark.parametrize(("weights", "silent"), [("", False), ("heuristic-1", True)])
def test_a_net_that_had_no_time_to_answer_is_said(weights: str, silent: bool) -> None:
    said: list[str] = []
    written: list[str] = []
    searcher = Searcher(lambda *lines: written.extend(lines), said.append)
    settings = Settings(variant="gardner", weights=weights)
    go = Go(Position("gardner"), settings, Limits(nodes=100), time.perf_counter())
    go.stop()  # before the first answer
    searcher.search(go, debug=False)
    assert written[-1].startswith("bestmove ")
    assert ("no time for the net to answer: the move is that of heuristic-1" in said) != silent
