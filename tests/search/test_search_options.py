"""Options of the search that are off by default: noise below the root, kept trees, budgets, no proofs, threads.

The rules of selection are compared with a plain search in test_formula_oracles.py.
"""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest

from oracles import answer, encode, hash_net, move_index
from selfmate import Move, Position
from selfmate._core import GameRecord, Pool, Search, SearchConfig, SelfPlayConfig

SURE = 4.5
"""Standard deviations that no statistic here reaches by chance; seeds are fixed."""
MIDDLEGAME = "rn1qk/pbppp/1p1PP/PPP2/RNBQK w - - 1 3"
MATE_IN_ONE = "7k/8/5K2/8/8/8/8/6Q1 w - - 0 1"


def searched(position: Position, config: SearchConfig, visits: int, seed: int = 1, leaves: int = 1) -> Any:
    """Search with the hash net."""
    search = Search(position, config, visits, seed)
    while not search.done():
        batch = search.gather(leaves)
        if batch.size:
            search.apply(batch.ticket, *answer(batch))
    return search


def visits_of(search: Any) -> dict[Move, int]:
    return {stats.move: stats.visits for stats in search.result().moves}


def net_priors(position: Position) -> np.ndarray:
    """Return the hash net's priors, in the order of the legal moves."""
    indices = [move_index(position, move) for move in position.legal_moves]
    return np.array(hash_net(encode(position, False), indices)[0])


def priors_at(search: Any, line: list[Move]) -> dict[Move, float]:
    """Return the priors of the moves at the node behind a line."""
    rows = search.tree_rows(10, 100_000, 0)
    place = 0
    for move in line:
        place = next(i for i, row in enumerate(rows) if i and row[0] == place and row[2] == move)
    return {row[2]: row[6] for i, row in enumerate(rows) if i and row[0] == place}


# ---- noise below the root -----------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.1, 2.0])
def test_noise_below_the_root_has_its_moments(alpha: float) -> None:
    """(1 - epsilon) prior + epsilon Dirichlet(noise_alpha_below) at the child of the root, over many seeds."""
    seeds, epsilon = 1500, 0.25
    position = Position("gardner", MIDDLEGAME)
    move = position.legal_moves[0]
    after = position.copy()
    after.play(move)
    plain, order = net_priors(after), {each: place for place, each in enumerate(after.legal_moves)}
    n = len(plain)
    config = SearchConfig(noise_epsilon=epsilon, noise_depth=1, noise_alpha=50.0, noise_alpha_below=alpha)
    noise = np.zeros((seeds, n))
    for seed in range(seeds):
        search = Search(position, config, 2, seed, [move])
        while not search.done():
            leaves = search.gather(1)
            search.apply(leaves.ticket, *answer(leaves))
        result = search.result_after(move)
        assert result is not None
        for stats in result.moves:
            noise[seed, order[stats.move]] = (stats.prior - (1 - epsilon) * plain[order[stats.move]]) / epsilon
    assert noise.sum(1) == pytest.approx(1, abs=1e-4)
    assert noise.min() > -1e-5
    variance = (1 / n) * (1 - 1 / n) / (n * alpha + 1)
    assert abs((noise.mean(0) - 1 / n) / math.sqrt(variance / seeds)).max() < SURE
    drawn = np.random.default_rng(1).dirichlet([alpha] * n, (100, seeds)).var(1).mean(1)
    assert abs(noise.var(0).mean() - variance) < SURE * np.std(drawn)


def test_noise_reaches_its_depth_and_no_further() -> None:
    position = Position("gardner")
    for depth in (0, 1, 2):
        config = SearchConfig(noise_epsilon=0.25, noise_depth=depth, noise_alpha_below=0.3)
        search = searched(position, config, 400)
        noisy, seen = set(), set()
        for length in range(4):
            line = search.result().pv[:length]
            below = position.copy()
            for move in line:
                below.play(move)
            found = priors_at(search, line)
            seen.add(length)
            if [found[move] for move in below.legal_moves] != pytest.approx(net_priors(below), abs=1e-6):
                noisy.add(length)
        assert seen == {0, 1, 2, 3}
        assert noisy == set(range(depth + 1))


@pytest.mark.parametrize(
    "idle",
    [
        {"noise_depth": 3},
        {"noise_epsilon": 0.25, "noise_alpha_below": 5.0},
        {"stop_min_visits": 7},
        {"opening_share": 0.5},
        {"repetition_penalty": 0.0},
        {"reuse": True},
        {"top_k": 512, "widening": 1000.0},
    ],
    ids=str,
)
def test_an_option_without_its_switch_changes_nothing(idle: dict[str, Any]) -> None:
    position = Position("gardner", MIDDLEGAME)
    plain = SearchConfig(noise_epsilon=idle.get("noise_epsilon", 0.0))
    assert visits_of(searched(position, SearchConfig(**idle), 200)) == visits_of(searched(position, plain, 200))


# ---- no proofs ----------------------------------------------------------------------------------


def test_without_the_solver_a_mate_is_a_leaf_like_others() -> None:
    position = Position("chess", MATE_IN_ONE)
    assert searched(position, SearchConfig(), 100).result().proven == 1
    search = searched(position, SearchConfig(solver=False), 400)
    result = search.result()
    assert result.visits == 400
    assert result.proven is None
    assert all(stats.proven is None for stats in result.moves)
    mates = [stats for stats in result.moves if stats.value == 1 and stats.visits > 1]
    assert mates  # the end of the game is backed up at every visit
    assert result.best in {stats.move for stats in mates}
    assert all(stats.net_value is None for stats in mates)


def test_without_the_solver_draws_prove_nothing() -> None:
    """The hundredth ply without progress is a draw by the rules, unless it mates; the root is searched on."""
    position = Position("chess", "7k/8/6K1/8/8/8/8/R7 w - - 99 80")
    result = searched(position, SearchConfig(solver=False, select="ucb1"), 60).result()
    assert result.visits == 60
    assert result.proven is None
    values = {str(stats.move): stats.value for stats in result.moves if stats.visits}
    assert values.pop("a1a8") == 1
    assert len(values) > 5
    assert set(values.values()) == {0}
    position = Position("chess", "7k/8/5K2/8/8/8/8/R7 w - - 99 80")
    assert searched(position, SearchConfig(solver=False, select="ucb1"), 60).visits == 60
    assert searched(position, SearchConfig(select="ucb1"), 60).visits < 60


def test_without_the_solver_an_explosion_wins_with_whatever_is_left() -> None:
    """The last two pieces explode together with a king: no mating material is left, and none is needed."""
    position = Position("atomic", "7k/7r/8/8/8/8/8/K6R w - - 0 1")
    result = searched(position, SearchConfig(solver=False, select="ucb1"), 200).result()
    assert str(result.best) == "h1h7"
    assert result.moves[0].value == 1


# ---- an early end -------------------------------------------------------------------------------


def test_a_search_ends_with_the_first_visit_above_the_share() -> None:
    position = Position("gardner", MIDDLEGAME)
    config = SearchConfig(stop_share=0.3, stop_min_visits=20, cpuct=0.5)
    search = searched(position, config, 1000)
    assert 20 <= search.visits < 1000
    assert max(visits_of(search).values()) > 0.3 * search.visits
    before = visits_of(searched(position, config, search.visits - 1))
    assert sum(before.values()) < 20 or max(before.values()) <= 0.3 * sum(before.values())
    assert searched(position, config.replace(stop_min_visits=500), 1000).visits >= 500


# ---- self-play: kept trees ----------------------------------------------------------------------


RESUMED: list[dict[str, Any]] = [
    {"reuse": True, "noise_epsilon": 0.25},
    {"reuse": True, "noise_epsilon": 0.25, "solver": False},
    {"select": "ucb1", "reuse": True},
    {"select": "noise", "choose": "value"},
    {"noise_epsilon": 0.25, "noise_depth": 2, "repetition_penalty": 0.1, "stop_share": 0.4, "stop_min_visits": 8},
]


def pool_with(search: dict[str, Any], games: int, slots: int = 8) -> Pool:
    selfplay = SelfPlayConfig(visits=12, fast_visits=4, full_probability=0.5, random_plies=3, max_plies=40)
    pool = Pool("gardner", SearchConfig(**search), selfplay, seed=7, slots=slots, leaves_per_slot=2)
    pool.start(0, games)
    return pool


def play_on(pool: Pool, turns: int | None = None) -> list[GameRecord]:
    for turn in itertools.count():
        if pool.done() or turn == turns:
            break
        leaves = pool.gather()
        if leaves.size:
            pool.apply_native(leaves.ticket, "fake")
    return pool.drain()


@pytest.mark.parametrize("search", RESUMED, ids=str)
def test_games_with_options_can_be_stopped_anywhere(search: dict[str, Any]) -> None:
    """A game that is saved and resumed, in a pool of another size, is the one that it would have been."""
    expected = {record.game_id: record.to_bytes() for record in play_on(pool_with(search, 20))}
    stopped = pool_with(search, 20, slots=16)
    finished = play_on(stopped, 60)
    saved = [GameRecord.from_bytes(record.to_bytes()) for record in stopped.unfinished_games()]
    assert any(record.moves[record.random_plies :] for record in saved)
    other = pool_with(search, 0, slots=3)
    other.resume(saved)
    begun = {record.game_id for record in (*finished, *saved)}
    for game in sorted(set(expected) - begun):
        other.start(game, 1)
    assert {record.game_id: record.to_bytes() for record in (*finished, *play_on(other))} == expected


def test_a_new_net_begins_new_trees() -> None:
    """After `configure` no value of the net before is left in a tree."""
    pool = pool_with({"reuse": True}, 8)
    play_on(pool, 80)
    pool.configure(SearchConfig(reuse=True), SelfPlayConfig(visits=12, full_probability=1.0, max_plies=40))
    ply = {record.game_id: len(record.moves) for record in pool.unfinished_games()}
    assert ply
    for record in play_on(pool):
        sums = [sum(entry["visits"].values()) for entry in record.trained() if entry["ply"] > ply[record.game_id]]
        assert not sums or sums[0] <= 12


def test_a_game_begins_without_the_tree_of_the_game_before() -> None:
    """One slot plays games of one move from the same position."""
    selfplay = SelfPlayConfig(visits=12, full_probability=1.0, random_plies=0, max_plies=1)
    pool = Pool("gardner", SearchConfig(reuse=True), selfplay, seed=7, slots=1)
    pool.start(0, 4)
    for record in play_on(pool):
        (entry,) = record.trained()
        assert sum(entry["visits"].values()) == 12


@pytest.mark.parametrize("rank", range(5))
def test_the_noise_of_a_kept_root_leaves_its_values_alone(rank: int) -> None:
    """Hardly any noise is no noise: priors, first-play urgency and visits of the kept root stay."""
    position = Position("gardner", MIDDLEGAME)
    after = position.copy()
    after.play(searched(position, SearchConfig(cpuct=4.0), 100).result().moves[rank].move)
    found = []
    for epsilon in (0.0, 1e-9, 0.5):
        search = searched(position, SearchConfig(cpuct=4.0), 100)
        assert search.move_to(after, SearchConfig(reuse=True, noise_epsilon=epsilon, fpu_reduction=1.0), 12, 5)
        assert any(not stats.visits for stats in search.result().moves)
        priors = {stats.move: stats.prior for stats in search.result().moves}
        while not search.done():
            leaves = search.gather(1)
            if leaves.size:
                search.apply(leaves.ticket, *answer(leaves))
        found.append((priors, visits_of(search)))
    assert found[1][0] == pytest.approx(found[0][0], abs=1e-7)
    assert found[1][1] == found[0][1]
    plain = net_priors(after)
    noise = [2 * found[2][0][each] - prior for each, prior in zip(after.legal_moves, plain, strict=True)]
    assert min(noise) > -1e-5
    assert sum(noise) == pytest.approx(1, abs=1e-4)
    assert noise != pytest.approx(list(plain), abs=0.01)


def test_a_tree_of_another_kind_is_not_kept() -> None:
    position = Position("gardner", MIDDLEGAME)
    after = position.copy()
    after.play(position.legal_moves[3])
    for change in (
        {"solver": False},
        {"top_k": 4},
        {"widening": 1.0},
        {"tail": 0.1},
        {"minimax": 0.25},
        {"proven_means": True},
    ):
        assert searched(position, SearchConfig(), 600).move_to(after, SearchConfig(), 10)
        assert not searched(position, SearchConfig(), 600).move_to(after, SearchConfig(**change), 10)


# ---- threads ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"select": "ucb1"},
        {"select": "noise"},
        {"solver": False},
        {"top_k": 6, "widening": 1.0, "cpuct_base": 100.0},
        {"noise_epsilon": 0.25, "noise_depth": 3},
        {"minimax": 0.25, "proven_means": True},
    ],
    ids=str,
)
def test_threads_search_by_every_rule(options: dict[str, Any]) -> None:
    position = Position("gardner")
    search = Search(position, SearchConfig(stop_when_proven=False, **options), 4000, 3)
    while not search.done():
        search.run_for(0.01, "heuristic-1", threads=4)
    result = search.result()
    assert result.visits == 4000 == sum(stats.visits for stats in result.moves)
    assert sum(stats.prior for stats in result.moves) == pytest.approx(1, abs=1e-4)
    if "top_k" in options:
        assert sum(stats.visits > 0 for stats in result.moves) == 6
    for stats in result.moves:
        line = position.copy()
        for move in stats.pv:
            line.play(move)


# ---- values beside the mean -------------------------------------------------------------------------------------


def test_a_refutation_counts_at_once_with_minimax() -> None:
    """The value of a move is that of its best reply: with a share of 1 that of the principal variation's leaf."""
    position = Position("gardner", MIDDLEGAME)
    for share in (0.0, 1.0):
        search = searched(position, SearchConfig(minimax=share, solver=False), 400)
        for stats in search.result().moves:
            after = search.result_after(stats.move)
            if after is None or not any(reply.visits for reply in after.moves):
                continue
            best = max(reply.value for reply in after.moves if reply.visits)
            assert (stats.value == pytest.approx(-best, abs=1e-6)) == (share == 1.0) or share == 0.0
        values = [stats.value for stats in search.result().moves if stats.visits]
        if share == 1.0:
            assert search.result().value == pytest.approx(max(values), abs=1e-6)


def test_lost_moves_are_left_out_of_means() -> None:
    """White mates or is mated: the values of lost moves pull the mean down unless means are corrected."""
    chance = random.Random(5)
    seen = 0
    for _ in range(200):
        position = Position("atomic")
        for _ in range(chance.randrange(8, 30)):
            if position.is_game_over():
                break
            position.play(chance.choice(position.legal_moves))
        if position.is_game_over():
            continue
        plain, right = (
            searched(position, SearchConfig(proven_means=each, stop_when_proven=False), 200).result()
            for each in (False, True)
        )
        moves = [stats for stats in right.moves if stats.visits]
        lost = [stats for stats in moves if stats.proven is not None and stats.proven < 0]
        if right.proven is not None or not lost:
            continue
        kept = [stats for stats in moves if stats not in lost]
        total = sum(stats.visits for stats in kept)
        assert right.net_value is not None
        mean = (right.net_value + sum(stats.visits * stats.value for stats in kept)) / (1 + total)
        assert right.value == pytest.approx(mean, abs=1e-4)
        seen += right.value > plain.value
    assert seen >= 3
