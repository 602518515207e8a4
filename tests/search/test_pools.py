"""Several pools that share games: each game is there once, and is the same as in one pool."""

from __future__ import annotations

import pytest

from selfmate._core import GameRecord, Pool, SearchConfig, SelfPlayConfig
from selfmate.search.driver import drive
from selfmate.search.pools import Pools

START = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"


def make(count: int, visits: int = 6) -> Pools:
    config = SelfPlayConfig(visits=visits, full_probability=1, max_plies=30)
    return Pools(
        Pool("gardner", SearchConfig(gumbel=True), config, seed=5, slots=6 // count, lanes=2) for _ in range(count)
    )


def as_bytes(records: list[GameRecord]) -> list[bytes]:
    return [record.to_bytes() for record in records]


def play(pools: Pools, lanes: int = 6) -> list[GameRecord]:
    drive(pools.each, ["heuristic-1"], lanes=lanes)
    return pools.drain()


@pytest.mark.parametrize("count", [2, 3])
def test_games_are_the_same_as_in_one_pool(count: int) -> None:
    one, several = make(1), make(count)
    for pools in (one, several):
        pools.start(5, 8)
        pools.start_games([(START, 0, 0)] * 4, 13)
    expected, games = play(one, lanes=1), play(several)
    assert [record.game_id for record in games] == list(range(5, 17))
    assert as_bytes(games) == as_bytes(expected)
    assert (several.playouts, several.searched_plies) == (one.playouts, one.searched_plies)
    assert several.playouts > 0


def test_pools_share_the_games_evenly() -> None:
    pools = make(3)
    pools.start(4, 7)
    for index, pool in enumerate(pools.each):
        pool.run("uniform")
        ids = [record.game_id for record in pool.drain()]
        assert ids == [game for game in range(4, 11) if game % 3 == index]


def test_fewer_games_than_pools() -> None:
    pools = make(3)
    pools.start(4, 1)
    assert [record.game_id for record in play(pools)] == [4]


def test_games_in_flight_go_on_in_other_pools() -> None:
    """The games of two pools are taken up by three, and end as if they had never been interrupted."""
    whole, begun, resumed = make(1), make(2), make(3)
    for pools in (whole, begun):
        pools.start(0, 6)
    for pool in begun.each:
        for _ in range(40):
            pool.apply_native(pool.gather().ticket, "heuristic-1")
    finished, flight = begun.drain(), begun.unfinished_games()
    assert flight
    assert [record.game_id for record in flight] == sorted(record.game_id for record in flight)
    resumed.resume(flight)
    ended = sorted([*finished, *play(resumed)], key=lambda record: record.game_id)
    assert as_bytes(ended) == as_bytes(play(whole))


def test_all_pools_are_configured() -> None:
    pools = make(2, visits=6)
    pools.configure(SearchConfig(), SelfPlayConfig(visits=11, full_probability=1, max_plies=30))
    pools.start(0, 4)
    for record in play(pools):
        searched = [entry for entry in record.trained() if len(entry["visits"]) > 1]
        assert {sum(entry["visits"].values()) for entry in searched} <= set(range(8, 12))
        assert searched
