"""Self-play against a slow replay of each game, move by move, and against the distributions that a recipe asks for."""

from __future__ import annotations

import math
import random
from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

from oracles import Counter, binomial_z, chi_square_z
from selfmate import Position
from selfmate._core import GameRecord, Pool, Search, SearchConfig, SelfPlayConfig

SURE: Final = 4.5
"""Standard deviations that no statistic here reaches by chance; seeds are fixed."""
OPENING, CAP, SEARCH, CHOICE = 1, 2, 3, 4
"""What the random numbers of a game are drawn for: counters of (seed, game id, ply, purpose)."""


class Settings(NamedTuple):
    """The seed of a pool, and the fields of its SelfPlayConfig."""

    seed: int = 1
    visits: int = 16
    fast_visits: int = 4
    full_probability: float = 1.0
    random_plies: int = 0
    temperature: float = 0.0
    temperature_plies: int = 0
    max_plies: int = 512


def play(
    variant: str,
    search: dict[str, Any],
    settings: Settings,
    games: int,
    starts: tuple[str, ...] = ("",),
    evaluator: str = "fake",
) -> list[GameRecord]:
    """Play games with the ids 0, 1, … under a native evaluator."""
    values = settings._asdict()
    seed = values.pop("seed")
    pool = Pool(variant, SearchConfig(**search), SelfPlayConfig(**values), seed=seed, threads=2, slots=32)
    pool.start_games([(starts[game % len(starts)], 0, 0) for game in range(games)])
    pool.run(evaluator)
    return pool.drain()


# ---- the whole game -----------------------------------------------------------------------------


class Game(NamedTuple):
    """A game as the oracle plays it."""

    moves: list[str]
    random_plies: int
    trained: list[dict[str, Any]]
    result: str


def open_game(position: Position, settings: Settings, game: int) -> int:
    """Play 0 to `random_plies` random moves, drawn anew while they end the game; return how many."""
    attempt = 0
    while True:
        chance = Counter(settings.seed, game, attempt, OPENING)
        plies = chance.below(settings.random_plies + 1)
        for _ in range(plies):
            if position.legal_moves:
                moves = position.legal_moves
                position.play(moves[chance.below(len(moves))])
        if len(position.move_stack) == plies and not position.is_game_over(claim_draw=True):
            return plies
        while position.move_stack:
            position.undo()
        attempt += 1


def choose(result: Any, legal: list[Any], temperature: float, chance: Counter) -> Any:
    """Draw a move by visits ^ (1 / temperature), of those that are not lost; the best one at temperature 0."""
    stats = {each.move: each for each in result.moves}
    if temperature <= 0 or result.proven is not None:
        return result.best
    free = [move for move in legal if stats[move].visits and not (stats[move].proven or 0) < 0]
    weights = [stats[move].visits ** (1 / temperature) for move in free]
    left = chance.uniform() * sum(weights)
    for move, weight in zip(free, weights, strict=True):
        left -= weight
        if left <= 0:
            return move
    return result.best


def expected_value(result: Any, draw_score: float) -> float:
    """Return what the improved policy expects: weights by values of the moves that the search knows, draws worth 0."""
    known = [move for move in result.moves if move.visits or move.proven is not None]
    if not sum(move.weight for move in known):
        return float(result.value)
    values = [
        np.sign(move.proven) if move.proven is not None else move.value - draw_score * move.draw for move in known
    ]
    return float(np.average(values, weights=[move.weight for move in known]))


def expected_draw(result: Any) -> float:
    """Return the share of draws by the same weights."""
    known = [move for move in result.moves if move.visits or move.proven is not None]
    if not sum(move.weight for move in known):
        return 1.0 - abs(float(result.value))
    draws = [move.draw if move.proven is None else move.proven == 0 for move in known]
    return float(np.average(draws, weights=[move.weight for move in known]))


def play_alone(variant: str, search: dict[str, Any], settings: Settings, game: int, start: str = "") -> Game:
    """Play one game as self-play is documented, with one `Search` for each move, or one for all with `reuse`."""
    position = Position(variant, start or None)
    random_plies = open_game(position, settings, game)
    trained: list[dict[str, Any]] = []
    tree: Any = None
    while not position.is_game_over(claim_draw=True) and len(position.move_stack) < settings.max_plies:
        ply = len(position.move_stack)
        legal = position.legal_moves
        full = Counter(settings.seed, game, ply, CAP).uniform() < settings.full_probability
        visits = settings.visits if full else settings.fast_visits
        own = search if full else search | {"noise_epsilon": 0.0}  # a fast search only moves the game on
        task = SearchConfig(**own), 1 if len(legal) == 1 else visits, Counter(settings.seed, game, ply, SEARCH).bits()
        if tree is None or not search.get("reuse"):
            tree = Search(position, *task)
        else:
            tree.move_to(position, *task)
        tree.run("fake")
        result = tree.result()
        if full and len(legal) > 1:
            kept = [stats for stats in result.moves if stats.visits or stats.weight > 1e-4]
            trained.append(
                {
                    "ply": ply,
                    "value": expected_value(result, own.get("draw_score", 0.0)),
                    "draw": expected_draw(result),
                    "net_value": result.value if result.net_value is None else result.net_value,
                    "visits": {str(stats.move): stats.visits for stats in kept},
                    "weights": {str(stats.move): stats.weight for stats in kept},
                }
            )
        temperature = settings.temperature if ply < settings.temperature_plies else 0.0
        position.play(choose(result, legal, temperature, Counter(settings.seed, game, ply, CHOICE)))
    outcome = position.outcome(claim_draw=True)
    moves = [str(move) for move in position.move_stack]
    return Game(moves, random_plies, trained, "*" if outcome is None else outcome.result())


@pytest.mark.parametrize("gumbel", [False, True])
@pytest.mark.parametrize(
    ("variant", "starts"),
    [
        ("gardner", ("", "5/1P3/2KN1/5/k4 w - - 1 29", "2b1k/P1P1P/5/p1p1p/K1B2 b - - 0 1")),
        ("atomic", ("", "8/8/1P6/6P1/1Pp5/k7/6P1/1K6 b - b3 0 1")),
        ("antichess", ("", "8/PPP4k/8/8/8/8/4Kppp/8 w - - 0 1")),
        ("chess960", ("bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w KQkq - 0 1",)),
    ],
)
def test_games_are_those_of_a_replay_move_by_move(variant: str, starts: tuple[str, ...], gumbel: bool) -> None:
    """Moves, random plies, full and fast searches, temperature, noise, visits, weights, values and results."""
    draw = random.Random(f"{variant} {gumbel}")
    seen: Tally[str] = Tally()
    for _ in range(6):
        settings = Settings(
            seed=draw.getrandbits(64),
            visits=draw.choice([8, 24]),
            fast_visits=draw.choice([1, 5]),
            full_probability=draw.choice([0.25, 0.5, 1.0]),
            random_plies=draw.choice([0, 3, 8]),
            temperature=draw.choice([0.0, 0.5, 1.0, 2.0]),
            temperature_plies=draw.choice([0, 5, 20]),
            max_plies=draw.choice([12, 60]),
        )
        search = {"gumbel": gumbel, "noise_epsilon": 0.25, "noise_alpha": 0.5, "draw_score": draw.choice([0.0, -0.3])}
        for record in play(variant, search, settings, 9, starts):
            alone = play_alone(variant, search, settings, record.game_id, starts[record.game_id % len(starts)])
            assert [str(move) for move in record.moves] == alone.moves
            assert record.random_plies == alone.random_plies
            assert record.result == alone.result
            for entry, expected in zip(record.trained(), alone.trained, strict=True):
                for key in ("value", "draw"):
                    assert entry.pop(key) == pytest.approx(expected.pop(key), abs=1e-5)
                assert entry == expected
            seen[record.result] += 1
            seen["trained"] += record.positions
    assert seen["trained"] > 100
    assert seen["*"] > 0
    assert seen["1-0"] + seen["0-1"] > 0


# ---- options of the search ----------------------------------------------------------------------

REPLAYED: list[dict[str, Any]] = [
    {"reuse": True, "noise_epsilon": 0.25},
    {"reuse": True, "noise_epsilon": 0.25, "solver": False},
    {"select": "ucb1", "reuse": True},
    {"select": "noise", "choose": "value"},
    {"noise_epsilon": 0.25, "noise_depth": 2, "repetition_penalty": 0.1, "stop_share": 0.4, "stop_min_visits": 8},
]


@pytest.mark.parametrize("search", REPLAYED, ids=str)
def test_games_with_options_are_those_of_a_replay(search: dict[str, Any]) -> None:
    """Each game is a function of seed and id, whatever else its slot has played before."""
    draw = random.Random(str(search))
    kept = 0
    for _ in range(2):
        settings = Settings(
            seed=draw.getrandbits(64),
            visits=24,
            fast_visits=5,
            full_probability=0.5,
            random_plies=3,
            temperature=1.0,
            temperature_plies=draw.choice([0, 10]),
            max_plies=40,
        )
        for record in play("gardner", search, settings, 40):  # more games than slots
            if record.game_id % 5:
                continue
            alone = play_alone("gardner", search, settings, record.game_id)
            assert [str(move) for move in record.moves] == alone.moves
            assert [entry["visits"] for entry in record.trained()] == [entry["visits"] for entry in alone.trained]
            kept += sum(sum(entry["visits"].values()) > 24 for entry in record.trained())
    assert (kept > 20) == search.get("reuse", False)


def test_the_budget_follows_legal_moves_and_phase() -> None:
    settings = Settings(visits=20, random_plies=2, temperature=1.0, temperature_plies=60, max_plies=60)
    search = {"budget_moves": 8, "opening_plies": 12, "opening_share": 0.5, "solver": False}
    factors = set()
    for record in play("gardner", search, settings, 12):
        position = Position("gardner")
        trained = {entry["ply"]: sum(entry["visits"].values()) for entry in record.trained()}
        for ply, move in enumerate(record.moves):
            moves = len(position.legal_moves)
            factor = min(2.0, max(0.5, 8 / moves)) * (0.5 if ply < 12 else 1.0)
            if ply in trained:
                factors.add(round(factor, 3))
                assert trained[ply] == max(1, math.floor(20 * factor + 0.5))
            position.play(move)
    assert {0.25, 0.5, 2.0} <= factors


# ---- distributions ------------------------------------------------------------------------------


def choices(records: list[GameRecord]) -> Iterator[tuple[int, dict[str, float], dict[str, int], str]]:
    """Give ply, weights, visits and the move played of every recorded position."""
    for record in records:
        for entry in record.trained():
            yield entry["ply"], entry["weights"], entry["visits"], str(record.moves[entry["ply"]])


def temperature_z(records: list[GameRecord], temperature: float, plies: int) -> tuple[float, float]:
    """Compare the moves played at plies below `plies` with weights ^ (1 / temperature).

    Returns the deviate of the mean log-weight of the chosen moves, and the chi-square deviate of their ranks.
    """
    difference = variance = 0.0
    ranks, expected = [0.0] * 12, [0.0] * 12
    for ply, weights, _, move in choices(records):
        if ply >= plies or max(weights.values()) > 0.999:
            continue
        powers = {each: weight ** (1 / temperature) for each, weight in weights.items() if weight > 0}
        total = sum(powers.values())
        shares = {each: power / total for each, power in powers.items()}
        logs = {each: math.log(weights[each]) for each in shares}
        mean = sum(shares[each] * logs[each] for each in shares)
        difference += logs[move] - mean
        variance += sum(shares[each] * (logs[each] - mean) ** 2 for each in shares)
        order = sorted(shares, key=shares.__getitem__, reverse=True)
        ranks[min(order.index(move), 11)] += 1
        for rank, each in enumerate(order):
            expected[min(rank, 11)] += shares[each]
    return difference / math.sqrt(variance), chi_square_z(ranks, expected)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_moves_are_drawn_at_the_temperature(temperature: float) -> None:
    settings = Settings(temperature=temperature, temperature_plies=12, max_plies=12, visits=24)
    records = play("gardner", {"noise_epsilon": 0.25}, settings, 400)
    for other in (0.5, 1.0, 2.0):
        mean_z, rank_z = temperature_z(records, other, 12)
        if other == temperature:
            assert abs(mean_z) < SURE
            assert rank_z < SURE
        else:  # and the test would see another temperature
            assert abs(mean_z) > 2 * SURE
            assert math.copysign(1, mean_z) == math.copysign(1, other - temperature)


def test_a_gumbel_search_draws_its_moves_by_visits() -> None:
    settings = Settings(temperature=1.0, temperature_plies=12, max_plies=12, visits=24)
    ranks, expected = [0.0] * 8, [0.0] * 8
    for _, weights, visits, move in choices(play("gardner", {"gumbel": True}, settings, 300)):
        if max(weights.values()) > 0.999:
            continue
        free = {each: count for each, count in visits.items() if count and weights[each] > 0}
        assert move in free
        order = sorted(free, key=free.__getitem__, reverse=True)
        ranks[min(order.index(move), 7)] += 1
        for rank, each in enumerate(order):
            expected[min(rank, 7)] += free[each] / sum(free.values())
    assert chi_square_z(ranks, expected) < SURE


@pytest.mark.parametrize("random_plies", [0, 6])
@pytest.mark.parametrize("temperature_plies", [0, 1, 8])
def test_the_temperature_lasts_for_the_first_plies_of_the_game(temperature_plies: int, random_plies: int) -> None:
    """Up to and with ply `temperature_plies` - 1, counted from the first move: random plies count."""
    settings = Settings(
        temperature=1.0, temperature_plies=temperature_plies, random_plies=random_plies, max_plies=14, visits=16
    )
    drawn: Tally[int] = Tally()
    for ply, weights, _, move in choices(play("gardner", {}, settings, 150)):
        if weights[move] < max(weights.values()):
            drawn[ply] += 1
    assert all(ply < temperature_plies for ply in drawn)
    for ply in range(temperature_plies):
        assert drawn[ply] > 0


def test_full_searches_are_a_share_of_all_and_only_they_are_recorded() -> None:
    settings = Settings(full_probability=0.3, visits=20, fast_visits=3, temperature=1.0, temperature_plies=30)
    settings = settings._replace(random_plies=2, max_plies=40)
    records = play("gardner", {}, settings, 200)
    searched = recorded = 0
    for record in records:
        position = Position("gardner")
        plies = {entry["ply"]: entry for entry in record.trained()}
        assert min(plies, default=99) >= record.random_plies
        for ply, move in enumerate(record.moves):
            searched += ply >= record.random_plies and len(position.legal_moves) > 1
            position.play(move)
        recorded += len(plies)
        for entry in plies.values():
            visits = sum(entry["visits"].values())
            is_proven = max(entry["weights"].values()) == 1.0
            assert visits == settings.visits or (is_proven and visits < settings.visits)
            assert sum(entry["weights"].values()) == pytest.approx(1, abs=2e-3)
            assert -1 <= entry["value"] <= 1
    assert searched > 3000
    assert abs(binomial_z(recorded, searched, 0.3)) < SURE
    assert all(not record.positions for record in play("gardner", {}, settings._replace(full_probability=0.0), 5))


def test_the_recorded_target_is_the_share_of_visits_of_what_is_not_lost() -> None:
    """Of a PUCT root."""
    settings = Settings(max_plies=60, temperature=1.0, temperature_plies=6)
    for record in play("gardner", {"noise_epsilon": 0.25}, settings, 60):
        for entry in record.trained():
            weights, visits = entry["weights"], entry["visits"]
            if max(weights.values()) < 1:
                free = sum(count for move, count in visits.items() if weights[move] > 0)
                for move, weight in weights.items():
                    assert weight == pytest.approx(visits[move] / free if weight else 0, abs=1e-6)


def test_recorded_values_are_those_of_the_side_to_move() -> None:
    """Values of a judge of material, where nothing is proven, agree with the results, for each side to move."""
    settings = Settings(max_plies=80, temperature=1.0, temperature_plies=10, random_plies=4)
    records = play("gardner", {}, settings, 60, evaluator="heuristic-1")
    agreement: Tally[tuple[str, bool]] = Tally()
    for record in records:
        for entry in record.trained():
            if record.result in ("1-0", "0-1") and abs(entry["value"]) < 1:
                white_moves = entry["ply"] % 2 == 0
                won = white_moves == (record.result == "1-0")
                for name in ("value", "net_value"):
                    agreement[name, white_moves] += entry[name] if won else -entry[name]
    assert len(agreement) == 4
    assert min(agreement.values()) > 10, agreement


def test_the_number_of_random_plies_is_uniform() -> None:
    settings = Settings(random_plies=5, max_plies=6, visits=1)
    records = play("gardner", {}, settings, 1800)
    counts = Tally(record.random_plies for record in records)
    assert set(counts) == set(range(6))
    assert abs(chi_square_z([counts[plies] for plies in range(6)], [300.0] * 6)) < SURE
    # The moves themselves are uniform: the first one of the games that have one
    first = Tally(str(record.moves[0]) for record in records if record.random_plies)
    legal = [str(move) for move in Position("gardner").legal_moves]
    total = sum(first.values())
    assert abs(chi_square_z([first[move] for move in legal], [total / len(legal)] * len(legal))) < SURE


def test_the_longest_games_are_truncated_without_a_result() -> None:
    for record in play("gardner", {}, Settings(max_plies=20, temperature=1.0, temperature_plies=20, visits=8), 60):
        position = Position("gardner")
        for move in record.moves:
            assert not position.is_game_over(claim_draw=True)
            position.play(move)
        outcome = position.outcome(claim_draw=True)
        assert len(record.moves) <= 20
        assert record.outcome == outcome
        if outcome is None:
            assert len(record.moves) == 20
            assert (record.result, record.reason) == ("*", "")


def moves_of(records: list[GameRecord]) -> list[list[str]]:
    return [[str(move) for move in record.moves] for record in records]


def test_only_full_searches_have_dirichlet_noise() -> None:
    """A fast search is not learned from; it plays the best move that it finds (KataGo: Wu 2019, section 3.1)."""
    settings = Settings(full_probability=0.0, fast_visits=16, random_plies=3, max_plies=30)
    noisy, quiet = {"noise_epsilon": 0.9}, {"noise_epsilon": 0.0}
    assert moves_of(play("gardner", noisy, settings, 30)) == moves_of(play("gardner", quiet, settings, 30))
    settings = settings._replace(full_probability=1.0)
    assert moves_of(play("gardner", noisy, settings, 30)) != moves_of(play("gardner", quiet, settings, 30))


def test_fast_gumbel_searches_keep_their_noise() -> None:
    """It draws the move, as a temperature does."""
    settings = Settings(full_probability=0.0, fast_visits=4, max_plies=10)
    games = [moves_of(play("gardner", {"gumbel": True, "gumbel_scale": scale}, settings, 20)) for scale in (0.0, 1.0)]
    assert len({tuple(game) for game in games[0]}) == 1
    assert len({tuple(game) for game in games[1]}) > 10
