"""The arguments of `go`, and the state of a search that was asked for."""

from __future__ import annotations

import threading

import pytest

from selfmate import Position
from selfmate.search.limit import Clock, Limit
from selfmate.uci.go import GoCommand, SearchJob, parse_go
from selfmate.uci.options import Settings

AFTER_E4 = Position("chess")
AFTER_E4.play("e2e4")


@pytest.mark.parametrize(
    ("text", "position", "limit"),
    [
        ("", Position("chess"), Limit()),
        ("nodes 9 depth 3 mate 2", Position("chess"), Limit(visits=9, depth=3, mate=2)),
        ("movetime 250", Position("chess"), Limit(seconds=0.25)),
        ("movetime 0", Position("chess"), Limit(seconds=0.001)),
        ("wtime 1000 btime 2000 winc 10 binc 20 movestogo 5", Position("chess"), Limit(clock=Clock(1.0, 0.01, 5))),
        ("wtime 1000 btime 2000 winc 10 binc 20", AFTER_E4, Limit(clock=Clock(2.0, 0.02))),
        ("wtime 1000 winc 10", AFTER_E4, Limit(clock=Clock(1.0))),  # the other's clock is better than none
        ("wtime -5", Position("chess"), Limit(clock=Clock(0.0))),
        ("winc 5 movestogo 3", Position("chess"), Limit()),
    ],
)
def test_the_limit_is_that_of_the_side_to_move(text: str, position: Position, limit: Limit) -> None:
    assert parse_go(text, position) == (GoCommand(limit=limit), "")


def test_what_is_no_limit_stands_beside_it() -> None:
    position = Position("chess")
    command, refused = parse_go("searchmoves e2e4 d2d4 e2e4 infinite ponder perft 3", position)
    assert not refused
    assert [position.uci(move) for move in command.moves] == ["e2e4", "d2d4"]
    assert (command.infinite, command.ponder, command.perft) == (True, True, 3)


@pytest.mark.parametrize(
    ("text", "hit", "endless"), [("nodes 5 ponder", True, False), ("infinite", False, True), ("ponder", True, True)]
)
def test_an_answer_waits_for_ponderhit_or_stop(text: str, hit: bool, endless: bool) -> None:
    command, _ = parse_go(text, Position("chess"))
    job = SearchJob(Position("chess"), Settings(), command, 0.0)
    waiting = threading.Thread(target=job.wait, daemon=True)
    waiting.start()
    assert job.must_wait
    if hit:
        job.hit()
        assert not job.is_pondering
    assert job.must_wait == endless
    if endless:
        waiting.join(0.05)
        assert waiting.is_alive()
        job.stop()
    waiting.join(30)
    assert not waiting.is_alive()
