"""Every sample of the buffer against a slow replay of its game, with a second encoder and second policy indices."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

from oracles import Encoded, binomial_z, chi_square_z, encode, mirrored_move, mirrored_position, move_index
from selfmate import WHITE, Move, Position
from selfmate._core import Buffer, GameRecord, Pool, SearchConfig, SelfPlayConfig

SURE: Final = 4.5
"""Standard deviations that no statistic here reaches by chance; seeds are fixed."""
STARTS: Final = {
    "gardner": ["", "2b1k/P1P1P/5/p1p1p/K1B2 b - - 0 1", "1n1rk/P3P/5/p3p/K1R2 w - - 6 9"],
    "chess": [
        "",
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1",
        "4k3/1P5P/8/2pP4/5pP1/8/1p5p/4K3 b - g3 0 1",
        "7k/8/8/8/8/8/R7/K7 w - - 10 80",
    ],
    "chess960": [
        "bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w KQkq - 0 1",
        "1r2k1r1/8/8/8/8/8/8/1R2K1R1 b KQkq - 3 9",
        "4rkr1/8/8/8/8/8/8/RK5R w HAge - 0 1",
    ],
    "atomic": ["", "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"],
    "antichess": ["", "8/PPP4k/8/8/8/8/4Kppp/8 w - - 0 1", "8/1PP4k/8/8/8/8/4Kpp1/8 b - - 0 1"],
    "3check": ["", "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 2+1 0 1"],
    "racingkings": [""],
    "horde": ["", "r1b1kbnr/1pn1Bp1p/p5pP/1PPp1PP1/P1PPPPP1/PPPPPPPP/PPPPPPPP/PPPPPPPP b kq - 0 8"],
}


def play(variant: str, games: int = 16, **changes: Any) -> list[GameRecord]:
    """Play some games by self-play with the hash evaluator; ids begin at 100."""
    settings: dict[str, Any] = {
        "visits": 12, "fast_visits": 2, "full_probability": 0.6, "random_plies": 3, "temperature": 1.0,
        "temperature_plies": 200, "max_plies": 150,
    }  # fmt: skip
    search, seed = SearchConfig(gumbel=changes.pop("gumbel", True)), changes.pop("seed", 3)
    pool = Pool(variant, search, SelfPlayConfig(**settings | changes), seed=seed, threads=1)
    starts = STARTS[variant]
    pool.start_games([(starts[game % len(starts)], 0, 0) for game in range(games)], 100)
    pool.run("fake")
    return pool.drain()


class Replayed(NamedTuple):
    """One trained position, as the learner should see it."""

    seen: Encoded
    policy: dict[int, float]
    legal: set[int]
    mirrored: tuple[Encoded, dict[int, float], set[int]] | None
    """The same with left and right exchanged; None where castling rights forbid it."""
    wdl: tuple[float, float, float]
    value_weight: float
    plies: int
    root_value: float
    root_draw: float


def final_result(record: GameRecord) -> str:
    """Replay a game and return its result by the rules, with every draw claimed; * where it goes on."""
    position = start_of(record)
    for move in record.moves:
        assert not position.is_game_over(claim_draw=True)
        position.play(move)
    outcome = position.outcome(claim_draw=True)
    return "*" if outcome is None else outcome.result()


def start_of(record: GameRecord) -> Position:
    return Position(f"{record.variant}960" if record.chess960 else record.variant, record.start_fen)


def replay(record: GameRecord) -> dict[int, Replayed]:
    """Return every trained position of a game, by the number of plies from there to the end of the game."""
    result = final_result(record)
    assert result == record.result
    trained = {entry["ply"]: entry for entry in record.trained()}
    position, occurred, found = start_of(record), Counter[str](), dict[int, Replayed]()
    for ply in range(len(record.moves) + 1):
        occurred[position.epd()] += 1
        if ply in trained:
            repeated = occurred[position.epd()] > 1
            weights: dict[str, float] = trained[ply]["weights"]
            total = sum(weights.values())
            moves = {Move.from_uci(text): weight / total for text, weight in weights.items()}
            assert moves.keys() <= set(position.legal_moves)
            mirrored = None
            if not position.castling:
                other = mirrored_position(position)
                mirrored = (
                    encode(other, repeated),
                    {move_index(other, mirrored_move(position, move)): weight for move, weight in moves.items()},
                    {move_index(other, move) for move in other.legal_moves},
                )
            mover = "1-0" if position.turn == WHITE else "0-1"
            wdl = (0.0, 0.0, 0.0)
            if result != "*":
                wdl = (float(result == mover), float(result == "1/2-1/2"), float(result not in (mover, "1/2-1/2")))
            found[len(record.moves) - ply] = Replayed(
                encode(position, repeated),
                {move_index(position, move): weight for move, weight in moves.items()},
                {move_index(position, move) for move in position.legal_moves},
                mirrored,
                wdl,
                float(result != "*"),
                len(record.moves) - ply,
                trained[ply]["value"],
                trained[ply]["draw"],
            )
        if ply < len(record.moves):
            position.play(record.moves[ply])
    assert len(found) == len(trained) == record.positions
    return found


def same_seen(samples: Any, row: int, seen: Encoded) -> bool:
    bits: list[int] = samples.bits[row].tolist()
    return tuple(bits) == seen.bits and samples.scalars[row].tolist() == pytest.approx(seen.scalars, abs=1e-6)


def check_moves(samples: Any, row: int, policy: dict[int, float], legal: set[int]) -> None:
    """Compare policy targets and legal moves of a row; what lies beyond them is zero."""
    count = int(samples.legal_counts[row])
    indices: list[int] = samples.legal_index[row].tolist()
    assert count == len(legal)
    assert set(indices[:count]) == legal
    assert not any(indices[count:])
    targets: list[int] = samples.policy_index[row].tolist()
    weights: list[float] = samples.policy_weight[row].tolist()
    assert dict(zip(targets[: len(policy)], weights, strict=False)) == pytest.approx(policy, abs=1e-6)
    assert not any(weights[len(policy) :])
    assert sum(weights) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("variant", STARTS)
@pytest.mark.parametrize("read_back", [False, True])
def test_samples_are_what_a_replay_of_the_game_says(variant: str, read_back: bool) -> None:
    records = play(variant, gumbel=not read_back)
    if read_back:
        records = [GameRecord.from_bytes(record.to_bytes()) for record in records]
    expected = {record.game_id: replay(record) for record in records}
    buffer = Buffer(variant, 100_000, 1)
    for record in records:
        buffer.add(record)
    sampled, seen = 0, Counter[str]()
    for seed in range(6):
        for mirror in (False, True):
            samples = buffer.sample(64, 10 * seed + mirror, mirror)
            for row in range(64):
                truth = expected[int(samples.game_ids[row])][int(samples.plies[row])]
                as_stored = same_seen(samples, row, truth.seen)
                mirrored = truth.mirrored is not None and same_seen(samples, row, truth.mirrored[0])
                assert as_stored or (mirrored and mirror)
                if as_stored and not (mirrored and mirror):
                    check_moves(samples, row, truth.policy, truth.legal)
                elif not as_stored and truth.mirrored is not None:
                    check_moves(samples, row, *truth.mirrored[1:])
                    seen["mirrored"] += 1
                if truth.mirrored is None:
                    assert as_stored
                assert tuple(samples.wdl[row].tolist()) == truth.wdl
                assert samples.value_weight[row] == truth.value_weight
                assert samples.root_value[row] == pytest.approx(truth.root_value)
                assert samples.root_draw[row] == pytest.approx(truth.root_draw)
                seen[str(truth.wdl)] += 1

                sampled += 1
    assert sampled == 6 * 2 * 64
    assert variant == "chess960" or seen["mirrored"] > 20
    assert seen[str((1.0, 0.0, 0.0))] > 0
    assert seen[str((0.0, 0.0, 1.0))] > 0


def test_the_games_have_what_is_tested() -> None:
    """The positions above contain castling, en passant, promotion to a king, repetitions and truncated games."""
    kinds: Counter[str] = Counter()
    for variant in STARTS:
        for record in play(variant):
            kinds["truncated"] += record.result == "*"
            for truth in replay(record).values():
                kinds["repeated"] += truth.seen.bits[15] > 0
                kinds["en passant"] += truth.seen.bits[14] > 0
                kinds["castling"] += truth.seen.bits[12] > 0
                kinds["checks"] += truth.seen.scalars[1] != truth.seen.scalars[2]
                if variant == "antichess":
                    kinds["king promotions"] += any(index >= 73 * 64 for index in truth.legal)
    assert all(kinds[kind] >= 3 for kind in kinds), kinds
    assert len(kinds) == 6, kinds


def test_truncated_games_have_no_value_target() -> None:
    records = play("gardner", max_plies=6)
    buffer = Buffer("gardner", 1000, 1)
    results = {record.game_id: record.result for record in records}
    for record in records:
        buffer.add(record)
    samples = buffer.sample(500, 1)
    truncated = np.array([results[int(game)] == "*" for game in samples.game_ids])
    assert truncated.sum() > 0
    assert (samples.value_weight == ~truncated).all()
    assert (samples.wdl.sum(1) == ~truncated).all()


def test_half_of_the_positions_without_castling_rights_are_mirrored() -> None:
    records = play("gardner", games=20)
    expected = {record.game_id: replay(record) for record in records}
    buffer = Buffer("gardner", 100_000, 1)
    for record in records:
        buffer.add(record)
    samples = buffer.sample(4000, 5, True)
    mirrored = [
        not same_seen(samples, row, expected[int(samples.game_ids[row])][int(samples.plies[row])].seen)
        for row in range(samples.size)
    ]
    assert abs(binomial_z(sum(mirrored), len(mirrored), 0.5)) < SURE


def test_positions_are_sampled_uniformly() -> None:
    """Positions, not games: each with the same chance, whatever the length of its game."""
    records = play("gardner", games=15)
    buffer = Buffer("gardner", 100_000, 1)
    for record in records:
        buffer.add(record)
    keys = [(record.game_id, len(record.moves) - entry["ply"]) for record in records for entry in record.trained()]
    assert len(keys) == buffer.positions
    counts: Counter[tuple[int, int]] = Counter()
    size = 100 * len(keys)
    for seed in range(2):
        samples = buffer.sample(size // 2, seed, False)
        counts.update(zip(samples.game_ids.tolist(), (int(plies) for plies in samples.plies), strict=True))
    assert counts.keys() == set(keys)  # 100 samples of each are expected: none is left out by chance
    assert abs(chi_square_z([counts[key] for key in keys], [size / len(keys)] * len(keys))) < SURE
    # Rows and seeds are independent of each other: the first rows of many seeds are uniform, too
    first = Counter(int(buffer.sample(1, seed, False).game_ids[0]) for seed in range(3000))
    games = [record for record in records if record.positions]
    shares = [3000 * record.positions / len(keys) for record in games]
    assert abs(chi_square_z([first[record.game_id] for record in games], shares)) < SURE


@pytest.mark.parametrize("capacity", [1, 10, 100, 150])
def test_the_window_keeps_the_fewest_newest_games_that_fill_it(capacity: int) -> None:
    records = play("gardner", games=15)
    buffer = Buffer("gardner", capacity, 1)
    for last, record in enumerate(records):
        buffer.add(record)
        kept = 1  # the newest game always
        while kept <= last and sum(each.positions for each in records[last + 1 - kept : last + 1]) < capacity:
            kept += 1
        newest = records[last + 1 - kept : last + 1]
        assert buffer.game_ids == [each.game_id for each in newest]
        assert buffer.positions == sum(each.positions for each in newest)
        assert buffer.games == kept


def test_a_record_keeps_its_numbers_in_bytes() -> None:
    """Values in steps of 1/127, draws and square roots of weights in steps of 1/255; all else exactly."""
    for variant in ("gardner", "chess960", "antichess"):
        for record in play(variant):
            read = GameRecord.from_bytes(record.to_bytes())
            for name in ("game_id", "variant", "chess960", "start_fen", "random_plies", "moves", "result", "reason"):
                assert getattr(read, name) == getattr(record, name)
            assert record.positions == read.positions
            for before, after in zip(record.trained(), read.trained(), strict=True):
                assert before["ply"] == after["ply"]
                for name in ("value", "net_value"):
                    assert after[name] == pytest.approx(math.floor(before[name] * 127 + 0.5) / 127, abs=1e-6)
                draw = math.floor(before["draw"] * 255 + 0.5) / 255
                assert after["draw"] == pytest.approx(min(draw, 1 - abs(after["value"])), abs=1e-6)
                for move, visits in before["visits"].items():
                    assert after["visits"].get(move, 0) == visits
                    code = math.floor(math.sqrt(before["weights"][move]) * 255 + 0.5)
                    assert after["weights"].get(move, 0) == pytest.approx((code / 255) ** 2, abs=1e-6)
                assert after["visits"].keys() <= before["visits"].keys()


OLD_RECORDS: Final = {
    "SMG2": (
        "534d473207000000000000000700676172646e6572000000000000ffff0600030005030104010000020311f5eb2a450c01010101010201"
        "0001010001010101010001010000010101010101010000465b151b7cb0420912350dea3c22090e1125cb0d262109240d072a821f0b",
        ["d2d3", "c4c3", "c1d2", "b5a3", "d2c1", "a3b1"],
        [(0, 0.1339, 0.3307, 8), (2, -0.0866, 0.5433, 8), (5, -0.1654, 0.0945, 8)],
    ),
    "SMG3": (
        "534d473300000000000000000700676172646e6572000000000000010000ffff0400020002030606010219cb4daa000000020100000000"
        "00000000000200000001000000d093000000000000000000d000000093",
        ["b2b3", "c4b3", "b1c3", "d4c3"],
        [(1, 0.1969, 0.6063, 3), (3, -0.4173, -0.6772, 3)],
    ),
}
"""Bytes of a self-play game and of a match game by older versions; moves; ply, value, net's value and visits."""


@pytest.mark.parametrize("version", OLD_RECORDS)
def test_records_of_older_versions_are_read(version: str) -> None:
    """They have no draws: the most that their values leave room for is taken, as their learner did."""
    data, moves, trained = OLD_RECORDS[version]
    assert bytes.fromhex(data[:8]) == version.encode()
    record = GameRecord.from_bytes(bytes.fromhex(data))
    assert [str(move) for move in record.moves] == moves
    assert (record.white_seat, record.black_seat) == ((0, 0) if version == "SMG2" else (0, 1))
    for entry, (ply, value, net_value, visits) in zip(record.trained(), trained, strict=True):
        assert (entry["ply"], sum(entry["visits"].values())) == (ply, visits)
        assert (entry["value"], entry["net_value"]) == pytest.approx((value, net_value), abs=1e-4)
        assert entry["draw"] == pytest.approx(1 - abs(value), abs=1e-4)
    assert GameRecord.from_bytes(record.to_bytes()).trained() == [
        entry | {"draw": pytest.approx(entry["draw"], abs=1 / 255)} for entry in record.trained()
    ]
