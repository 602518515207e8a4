"""What the UCI engine decides between `go` and `bestmove`, on made-up results."""

from __future__ import annotations

import time

import pytest

from results import result
from selfmate import Position
from selfmate._core import centipawns
from selfmate.search.limit import Limit
from selfmate.uci.go import GoCommand, SearchJob
from selfmate.uci.info import info_lines, mate_in, permille
from selfmate.uci.options import Settings
from selfmate.uci.search import SearchWorker


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


@pytest.mark.parametrize(
    ("value", "proven", "score", "wdl"),
    [
        (0.5, None, "score cp 89 ", "wdl 650 200 150 "),
        (-0.5, None, "score cp -89 ", "wdl 150 200 650 "),
        (0.1, 3, "score mate 2 ", "wdl 1000 0 0 "),
        (0.1, -2, "score mate -1 ", "wdl 0 0 1000 "),
        (0.1, 0, "score cp 0 ", "wdl 0 1000 0 "),
    ],
)
def test_the_score_of_a_searched_move_is_that_of_the_side_to_move(
    value: float, proven: int | None, score: str, wdl: str
) -> None:
    found = result([9, 1], value=value, proven=[proven, None])
    position_value = result([9, 1], value=0.0)
    lines = info_lines(Position("chess"), position_value, found.moves[:1], milliseconds=5, fullness=0.0, show_wdl=True)
    assert score in lines[0]
    assert wdl in lines[0]


@pytest.mark.parametrize(("weights", "silent"), [("", False), ("heuristic-1", True)])
def test_a_net_that_had_no_time_to_answer_is_said(weights: str, silent: bool) -> None:
    said: list[str] = []
    written: list[str] = []
    worker = SearchWorker(lambda *lines: written.extend(lines), said.append)
    settings = Settings(variant="gardner", weights_file=weights)
    command = GoCommand(limit=Limit(seconds=1e-6))
    job = SearchJob(Position("gardner"), settings, command, time.perf_counter())
    worker.search(job, debug=False)
    assert written[-1].startswith("bestmove ")
    assert ("no time for the net to answer: the move is that of heuristic-1" in said) != silent
