"""Games without a server: clocks, ends, and moves taken back."""

from __future__ import annotations

import pytest

from selfmate.board.position import Position
from selfmate.errors import IllegalMove
from selfmate.studio.live_game import GameOver, LiveGame
from selfmate.studio.messages import Color, TimeControl


class Time:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def timed(
    fen: str | None = None, *, you: Color = "white", seconds: float = 60, increment: float = 0
) -> tuple[LiveGame, Time]:
    time = Time()
    control = TimeControl(seconds=seconds, increment=increment)
    return LiveGame(Position("chess", fen), you=you, control=control, now=time), time


def left(game: LiveGame) -> tuple[int, int]:
    clock = game.clock()
    assert clock is not None
    return clock.white, clock.black


def test_the_first_move_of_each_side_costs_no_time() -> None:
    game, time = timed()
    time.seconds += 30
    game.play("e2e4")
    time.seconds += 30
    game.play("e7e5")
    assert left(game) == (60_000, 60_000)
    time.seconds += 20
    assert left(game) == (40_000, 60_000)
    game.play("g1f3")
    time.seconds += 5
    assert left(game) == (40_000, 55_000)


def test_the_increment_is_added_after_the_move_and_only_to_its_side() -> None:
    game, time = timed(increment=3)
    for uci in ("e2e4", "e7e5"):
        game.play(uci)
    time.seconds += 10
    game.play("g1f3")
    assert left(game) == (53_000, 60_000)


def test_a_clock_that_runs_out_loses() -> None:
    game, time = timed()
    for uci in ("e2e4", "e7e5"):
        game.play(uci)
    time.seconds += 59.9
    assert not game.check_clock()
    time.seconds += 0.2
    with pytest.raises(GameOver):
        game.play("g1f3")
    board = game.board()
    assert (board.result, board.reason, left(game)[0]) == ("0-1", "White ran out of time", 0)


def test_a_clock_that_runs_out_against_a_bare_king_draws() -> None:
    game, time = timed("4k3/8/8/8/8/8/8/Q3K3 w - - 0 1")
    for uci in ("a1b1", "e8d8"):
        game.play(uci)
    time.seconds += 61
    assert game.check_clock()
    assert game.board().result == "1/2-1/2"


def test_a_move_taken_back_is_the_users_last_with_the_answer() -> None:
    game = LiveGame(Position("chess"), you="white")
    assert not game.can_take_back()
    for uci in ("e2e4", "e7e5", "g1f3", "b8c6"):
        game.play(uci)
    game.take_back()
    assert [move.san for move in game.moves] == ["e4", "e5"]
    game.play("g1f3")  # the answer is still to come
    game.take_back()
    assert [move.san for move in game.moves] == ["e4", "e5"]


def test_a_user_who_plays_black_cannot_take_back_the_first_move_of_white() -> None:
    game = LiveGame(Position("chess"), you="black")
    game.play("e2e4")
    assert not game.can_take_back()
    with pytest.raises(GameOver):
        game.take_back()


def test_a_game_lost_on_time_can_be_taken_back_with_time_to_move() -> None:
    game, time = timed()
    for uci in ("e2e4", "e7e5"):
        game.play(uci)
    time.seconds += 100
    game.check_clock()
    game.take_back()
    assert not game.is_over
    assert left(game)[0] >= 10_000


def test_results_that_the_rules_do_not_give() -> None:
    game = LiveGame(Position("gardner"), you="black")
    game.resign("black")
    assert (game.board().result, game.board().reason, game.board().legal) == ("1-0", "Black resigned", [])
    with pytest.raises(GameOver):
        game.agree_draw()
    game = LiveGame(Position("gardner"), you="black")
    game.agree_draw()
    assert game.board().result == "1/2-1/2"


def test_an_illegal_move_changes_nothing() -> None:
    game = LiveGame(Position("atomic"), you="white")
    with pytest.raises(IllegalMove):
        game.play("e2e5")
    assert game.moves == []
    assert game.turn == "white"


def test_an_explosion_names_its_centre_first_and_leaves_pawns() -> None:
    game = LiveGame(Position("atomic"), you="white")
    for uci in ("g1f3", "f7f6", "f3d4", "b8c6", "d4c6"):
        game.play(uci)
    # c6 explodes: both knights; the pawns b7 and d7 stay.
    assert game.moves[-1].exploded == ["c6"]
    for uci in ("e7e5", "d2d4", "d8e7", "c1g5", "a7a6", "g5f6"):
        game.play(uci)
    # f6 explodes: the bishop with the pawn, and the queen on e7; the pawns g7 and e5 stay.
    assert game.moves[-1].exploded[0] == "f6"
    assert "e7" in game.moves[-1].exploded
    assert not {"g7", "e5"} & set(game.moves[-1].exploded)


def test_pgn_names_the_players_and_the_end() -> None:
    game = LiveGame(Position("atomic"), you="white", control=TimeControl(seconds=300, increment=3))
    for uci in ("g1f3", "a7a6", "f3e5", "a6a5", "e5f7"):
        game.play(uci)
    text = game.game({"white": "You", "black": "net"}).pgn()
    for line in ('[White "You"]', '[Black "net"]', '[Result "1-0"]', '[Variant "Atomic"]', '[TimeControl "300+3"]'):
        assert line in text
    assert "king exploded" in text
