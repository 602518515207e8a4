"""The pool's cache of evaluations: the same games to the bit, with fewer evaluations."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

from oracles import answer
from selfmate._core import GameRecord, Pool, SearchConfig, Seat, SelfPlayConfig

VISITS = 24


def self_play(variant: str, *, cache: bool, leaves: int, gumbel: bool = True) -> Pool:
    selfplay = SelfPlayConfig(
        visits=VISITS, fast_visits=6, full_probability=0.6, random_plies=3, temperature=1.0, temperature_plies=8,
        max_plies=70,
    )  # fmt: skip
    pool = Pool(
        variant, SearchConfig(gumbel=gumbel), selfplay, seed=5, slots=8, threads=1, leaves_per_slot=leaves, cache=cache
    )
    pool.start(0, 12)
    return pool


def match(variant: str, *, cache: bool, leaves: int, evaluators: tuple[int, int]) -> Pool:
    seats = [Seat(visits=VISITS, evaluator=evaluator) for evaluator in evaluators]
    pool = Pool(variant, seats, seed=5, max_plies=60, slots=8, threads=1, leaves_per_slot=leaves, cache=cache)
    pool.start_games([("", game % 2, 1 - game % 2) for game in range(12)])
    return pool


def play(pool: Pool, seen: list[tuple[int, int]] | None = None) -> tuple[list[bytes], int]:
    """Play all games; evaluator k takes `0.2 + k / 2` draws. Return the games' bytes and the number of evaluations.

    `seen` gets (evaluator, key) of every leaf.
    """
    evaluations = 0
    while not pool.done():
        for evaluator in range(pool.evaluators):
            leaves = pool.gather(evaluator)
            if not leaves.size:
                continue
            evaluations += leaves.size
            if seen is not None:
                seen.extend((evaluator, int(key)) for key in leaves.keys)
            pool.apply(leaves.ticket, *answer(leaves, draws=0.2 + evaluator / 2))
    return [record.to_bytes() for record in pool.drain()], evaluations


@pytest.mark.parametrize("leaves", [1, 4])
@pytest.mark.parametrize(("variant", "gumbel"), [("gardner", True), ("gardner", False), ("atomic", True)])
def test_self_play_is_the_same_with_fewer_evaluations(variant: str, gumbel: bool, leaves: int) -> None:
    plain, evaluations = play(self_play(variant, cache=False, leaves=leaves, gumbel=gumbel))
    cached, fewer = play(self_play(variant, cache=True, leaves=leaves, gumbel=gumbel))
    assert cached == plain
    assert len(plain) == 12
    assert fewer < 0.95 * evaluations


@pytest.mark.parametrize("leaves", [1, 4])
@pytest.mark.parametrize("evaluators", [(0, 1), (0, 0)])
def test_a_match_is_the_same_whether_or_not_players_share_an_evaluator(
    leaves: int, evaluators: tuple[int, int]
) -> None:
    """An evaluation of the opponent's evaluator would change the games."""
    plain, evaluations = play(match("gardner", cache=False, leaves=leaves, evaluators=evaluators))
    cached, fewer = play(match("gardner", cache=True, leaves=leaves, evaluators=evaluators))
    assert cached == plain
    assert fewer < 0.95 * evaluations


def test_one_game_asks_for_a_position_once_in_two_searches() -> None:
    """A leaf at a time: within one search no key comes twice, and none of the search before it."""
    pool = Pool(
        "gardner", SearchConfig(), SelfPlayConfig(visits=VISITS, full_probability=1, random_plies=0, temperature=0),
        seed=1, slots=1, threads=1,
    )  # fmt: skip
    pool.start(0, 1)
    searches: dict[int, Counter[int]] = defaultdict(Counter)  # by ply; one without a leaf is missing
    while not pool.done():
        leaves = pool.gather()
        searches[pool.searched_plies].update(leaves.keys.tolist())
        pool.apply(leaves.ticket, *answer(leaves))
    assert len(searches) > 10
    for ply, search in searches.items():
        assert max(search.values()) == 1
        if ply - 1 in searches:
            assert not searches[ply - 1].keys() & search.keys()


def test_a_resumed_game_begins_without_evaluations() -> None:
    """Nets change between two pools: nothing of the last pool may be used."""
    pool = self_play("gardner", cache=True, leaves=1)
    for _ in range(200):
        leaves = pool.gather()
        pool.apply(leaves.ticket, *answer(leaves))
    saved = [GameRecord.from_bytes(record.to_bytes()) for record in pool.unfinished_games()]
    first: dict[bool, Any] = {}
    for cache in (False, True):
        other = self_play("gardner", cache=cache, leaves=1)
        other.drain()
        resumed = Pool(
            "gardner", SearchConfig(gumbel=True), SelfPlayConfig(visits=VISITS, max_plies=70), seed=5, slots=8,
            threads=1, cache=cache,
        )  # fmt: skip
        resumed.resume(saved)
        first[cache] = resumed.gather().keys.tolist()
    assert first[True] == first[False]
    assert len(first[True]) == len(saved) > 4


def test_a_new_net_uses_no_evaluation_of_the_old_one() -> None:
    """After `configure` every search asks anew; without it the next search knows most of its first leaves."""
    settings = SelfPlayConfig(visits=VISITS, full_probability=1, random_plies=0, temperature=0)
    asked: dict[bool, int] = {}
    for renewed in (False, True):
        pool = Pool("gardner", SearchConfig(), settings, seed=1, slots=1, threads=1)
        pool.start(0, 1)
        while pool.searched_plies < 6:
            if renewed:
                pool.configure(SearchConfig(), settings)
            leaves = pool.gather()
            asked[renewed] = asked.get(renewed, 0) + leaves.size
            pool.apply(leaves.ticket, *answer(leaves))
    plain = Pool("gardner", SearchConfig(), settings, seed=1, slots=1, threads=1, cache=False)
    plain.start(0, 1)
    every = 0
    while plain.searched_plies < 6:
        leaves = plain.gather()
        every += leaves.size
        plain.apply(leaves.ticket, *answer(leaves))
    assert asked[False] < asked[True] <= every
    assert every - asked[True] < (every - asked[False]) / 2  # what is left are transpositions within a search


def test_configure_changes_the_visits_of_the_next_search() -> None:
    def settings(visits: int) -> SelfPlayConfig:
        return SelfPlayConfig(visits=visits, full_probability=1, random_plies=0, temperature=0, max_plies=8)

    pool = Pool("gardner", SearchConfig(), settings(5), seed=1, slots=1, threads=1)
    pool.start(0, 1)
    while not pool.done():
        if pool.searched_plies == 4:
            pool.configure(SearchConfig(), settings(20))
        leaves = pool.gather()
        if leaves.size:
            pool.apply(leaves.ticket, *answer(leaves))
    [record] = pool.drain()
    visits = [sum(entry["visits"].values()) for entry in record.trained()]
    assert max(visits[:4]) <= 5 < 18 <= visits[-1]


def test_priors_of_a_position_with_colours_exchanged_are_not_mixed_up() -> None:
    """Both sides play the same moves: the encodings are equal, the orders of their moves need not be."""
    fens = ["rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1", "rnbqk/ppppp/5/PPPPP/RNBQK b - - 0 1"]
    games = []
    for cache in (False, True):
        pool = Pool("gardner", [Seat(visits=200)], seed=1, slots=2, threads=1, cache=cache, max_plies=30)
        pool.start_games([(fen, 0, 0) for fen in fens])
        games.append(play(pool)[0])
    assert games[0] == games[1]


def test_faulty_evaluations_are_not_kept() -> None:
    pool = self_play("gardner", cache=True, leaves=1)
    leaves = pool.gather()
    priors, wdl = answer(leaves)
    wdl[0] = np.nan
    with pytest.raises(Exception, match="row 0"):
        pool.apply(leaves.ticket, priors, wdl)
    again = pool.gather()
    assert leaves.keys[0] in again.keys.tolist()
