"""The pool: leaves in memory of others, and games that are stopped and taken up."""

from __future__ import annotations

import itertools
from typing import cast

import numpy as np
import pytest

from selfmate import RecordError, SearchError
from selfmate import pool as pool_module
from selfmate._core import GameRecord, LeafRoom, Pool, SearchConfig
from selfmate._core import encoding as encoding_of
from selfmate.evaluator import Evaluator, EvaluatorError
from selfmate.pool import choose_slots
from selfmate.recipe import change, load


def make_pool(variant: str = "gardner", games: int = 40) -> Pool:
    pool = Pool(
        variant, SearchConfig(gumbel=True), seed=7, visits=12, fast_visits=4, full_probability=0.5, random_plies=3,
        temperature=1.0, temperature_plies=8, max_plies=60, slots=16, lanes=2, threads=2, leaves_per_slot=2,
    )  # fmt: skip
    pool.start(0, games)
    return pool


def play_on(pool: Pool, turns: int | None = None) -> None:
    for turn in itertools.count():
        if pool.done() or turn == turns:
            return
        leaves = pool.gather(turn % 2)
        if leaves.size:
            pool.apply_native(leaves.ticket, "fake")


@pytest.mark.parametrize("variant", ["gardner", "atomic"])
def test_leaves_in_memory_of_others_are_the_same(variant: str) -> None:
    plain, into = make_pool(variant), make_pool(variant)
    rows, encoding = into.lane_rows, encoding_of(variant)
    arrays = (
        np.full(rows * encoding.bitboards, 99, np.uint64),
        np.full(rows * encoding.scalars, 99, np.float32),
        np.zeros(rows * encoding.max_moves, np.uint16),
        np.zeros(rows, np.uint16),
    )
    room = LeafRoom(*arrays, [8, 12, 16, 20, 24, 28, 32, encoding.max_moves])
    widths = set()
    for turn in range(60):
        leaves = plain.gather(turn % 2)
        into.gather_into(room, turn % 2)
        assert (room.size, room.ticket) == (leaves.size, leaves.ticket)
        if not leaves.size:
            continue
        bits, scalars, moves, counts = arrays
        widths.add(room.width)
        assert room.width >= leaves.counts.max()
        assert (bits[: leaves.bits.size].reshape(leaves.bits.shape) == leaves.bits).all()
        assert (scalars[: leaves.scalars.size].reshape(leaves.scalars.shape) == leaves.scalars).all()
        assert (counts[: leaves.size] == leaves.counts).all()
        written = moves[: leaves.size * room.width].reshape(leaves.size, room.width)
        for row in range(leaves.size):
            count = leaves.counts[row]
            assert (written[row, :count] == leaves.moves[row, :count]).all()
        for pool in (plain, into):
            pool.apply_native(leaves.ticket, "fake")
    assert len(widths) > 1


def test_a_room_that_is_too_small_is_refused() -> None:
    facts = encoding_of("gardner")
    room = LeafRoom(
        np.zeros(facts.bitboards, np.uint64), np.zeros(facts.scalars, np.float32), np.zeros(128, np.uint16),
        np.zeros(1, np.uint16), [128],
    )  # fmt: skip
    with pytest.raises(SearchError, match="room for 1 leaves, not"):
        make_pool().gather_into(room)
    with pytest.raises(ValueError, match="as many rows"):
        LeafRoom(np.zeros(1, np.uint64), np.zeros(1, np.float32), np.zeros(1, np.uint16), np.zeros(2, np.uint16), [8])


@pytest.mark.parametrize("turns", [1, 40, 150, 400])
def test_games_in_flight_go_on_as_they_would_have(turns: int) -> None:
    """Stopped anywhere, saved and taken up in another pool, every game is the one that it would have been."""
    whole = make_pool()
    play_on(whole)
    expected = {record.game_id: record.to_bytes() for record in whole.drain()}
    stopped = make_pool()
    play_on(stopped, turns)
    finished = stopped.drain()
    saved = [GameRecord.from_bytes(record.to_bytes()) for record in stopped.in_flight()]
    assert saved
    begun = {record.game_id for record in (*finished, *saved)}
    other = make_pool(games=0)
    other.resume(saved)
    assert {record.game_id for record in other.in_flight()} == {record.game_id for record in saved}
    for game in sorted(set(expected) - begun):
        other.start(game, 1)
    play_on(other)
    found = {record.game_id: record.to_bytes() for record in (*finished, *other.drain())}
    assert found == expected


def test_a_game_of_another_variant_is_not_taken_up() -> None:
    stopped = make_pool("atomic")
    play_on(stopped, 3)
    with pytest.raises(RecordError, match="a game of atomic in a pool of gardner"):
        make_pool("gardner").resume(stopped.in_flight())


# -- games at once --------------------------------------------------------------------------------


def chosen(monkeypatch: pytest.MonkeyPatch, speeds: dict[int, float], *settings: str) -> tuple[int, str, list[int]]:
    """Choose for an evaluator of these speeds; batches that are missing do not fit into its memory."""
    asked: list[int] = []

    def speed(evaluator: Evaluator, rows: int) -> float | None:
        asked.append(rows)
        return speeds.get(rows)

    monkeypatch.setattr(pool_module, "_batch_speed", speed)
    recipe = change(load("atomic"), settings)
    slots, why = choose_slots(recipe, cast(Evaluator, None), 3)
    return slots, why, asked


FAST = {64: 1e5, 128: 2e5, 256: 4e5, 512: 6e5, 1024: 8e5, 2048: 9e5, 4096: 9.8e5, 8192: 1e6}


def test_the_games_at_once_fit_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    # 2,048 leaves are evaluated at nine tenths of the best speed; the recipe has four leaves of each game.
    slots, why, asked = chosen(monkeypatch, FAST)
    assert slots == 3 * 2048 // 4
    assert "1,536 games at once in 3 lanes: 2,048 leaves are evaluated at 900,000/s, more of them at 1,000,000/s" in why
    assert asked == list(FAST)
    # What does not fit into the device's memory is not taken, and nothing larger is tried.
    assert chosen(monkeypatch, {64: 1e5, 128: 1.2e5})[0] == 3 * 128 // 4
    # A slow device is not kept busy for minutes.
    assert chosen(monkeypatch, dict.fromkeys(FAST, 600.0))[2] == [64]
    # The recipe's own number counts.
    assert chosen(monkeypatch, FAST, "selfplay.slots=77")[0] == 77
    with pytest.raises(EvaluatorError, match="too little memory for 64 leaves"):
        chosen(monkeypatch, {})


def test_the_trees_have_room_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MEMORY_SHARE", 1e-9)
    slots, why, _ = chosen(monkeypatch, FAST)
    assert slots == 3
    assert "the trees of more would not fit into memory" in why
