"""Games in flight for a watcher: written only while asked for, at most once a second, and never old."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from selfmate._core import GameRecord, Pool, SearchConfig, SelfPlayConfig
from selfmate.board.position import Position
from selfmate.rundir.live import (
    LIVE,
    PATIENCE_SECONDS,
    SHOWN_SECONDS,
    WATCHED,
    LiveWriter,
    ask_for_live,
    game_in_flight,
    read_live,
)


def pool_in_flight() -> Pool:
    pool = Pool("gardner", SearchConfig(), SelfPlayConfig(visits=4), seed=1, slots=6)
    pool.start(0, 6)
    for _ in range(20):
        leaves = pool.gather()
        if leaves.size:
            pool.apply_native(leaves.ticket, "uniform")
    return pool


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0
        self.asked: list[int] = []

    def __call__(self) -> float:
        return self.seconds


def test_a_pool_returns_the_games_with_the_smallest_ids() -> None:
    pool = pool_in_flight()
    everything = pool.unfinished_games()
    assert len(everything) == 6
    assert [record.game_id for record in pool.unfinished_games(2)] == [0, 1]
    assert [record.moves for record in pool.unfinished_games(most=2)] == [record.moves for record in everything[:2]]
    assert pool.unfinished_games(0) == []


def test_nothing_is_written_unless_a_watcher_asks(tmp_path: Path) -> None:
    clock, pool = Clock(), pool_in_flight()

    def unfinished(most: int) -> Sequence[GameRecord]:
        clock.asked.append(most)
        return pool.unfinished_games(most)

    writer = LiveWriter(tmp_path, clock=clock, now=clock)
    writer.tell(unfinished)
    assert clock.asked == []
    assert list(tmp_path.iterdir()) == []
    # Asked for, but less than a second after the last look.
    ask_for_live(tmp_path)
    os.utime(tmp_path / WATCHED, (clock.seconds, clock.seconds))
    clock.seconds += 0.5
    writer.tell(unfinished)
    assert clock.asked == []
    clock.seconds += 0.6
    writer.tell(unfinished)
    assert len(clock.asked) == 1
    writer.tell(unfinished)
    assert len(clock.asked) == 1
    live = read_live(tmp_path, now=clock.seconds)
    assert live is not None
    assert [game.game for game in live.games] == [0, 1, 2, 3, 4, 5]
    # The watcher has left.
    clock.seconds += PATIENCE_SECONDS
    writer.tell(unfinished)
    assert len(clock.asked) == 1
    assert read_live(tmp_path, now=clock.seconds) is None


def test_games_of_the_next_cycle_are_written_at_once(tmp_path: Path) -> None:
    clock, pool = Clock(), pool_in_flight()
    writer = LiveWriter(tmp_path, clock=clock, now=clock)
    ask_for_live(tmp_path)
    os.utime(tmp_path / WATCHED, (clock.seconds, clock.seconds))
    writer.tell(pool.unfinished_games)
    clock.seconds += 1.1
    writer.tell(lambda most: [])  # the cycle is over: its last boards are shown for a while
    live = read_live(tmp_path, now=clock.seconds)
    assert live is not None
    assert len(live.games) == 6
    assert read_live(tmp_path, now=clock.seconds + SHOWN_SECONDS) is None
    clock.seconds += 0.1
    writer.tell(pool.unfinished_games)
    live = read_live(tmp_path, now=clock.seconds)
    assert live is not None
    assert live.time == clock.seconds


def test_a_board_is_the_position_after_the_last_move() -> None:
    for record in pool_in_flight().unfinished_games():
        position = Position("gardner", record.start_fen)
        moves = []
        for move in record.moves:
            moves.append(position.uci(move))
            position.play(move)
        live = game_in_flight(record)
        assert (live.board, live.plies) == (position.fen().split()[0], len(moves))
        assert live.last == (moves[-1] if moves else "")


def test_what_cannot_be_read_or_written_is_ignored(tmp_path: Path) -> None:
    assert read_live(tmp_path) is None
    (tmp_path / LIVE).write_text("{")
    assert read_live(tmp_path) is None
    ask_for_live(tmp_path / "gone")
    LiveWriter(tmp_path / "gone").tell(lambda most: [])
