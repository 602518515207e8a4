"""The encoders and policies of other systems, against plain Python: in positions, samples, searches and games."""

from __future__ import annotations

import itertools
import pickle
import random
from collections import Counter
from functools import cache

import pytest

from encoders import BY_THE_MOVER, ENCODERS, POLICIES, colours_exchanged, encode_as, index_as
from oracles import answer, mirrored_move, mirrored_position
from selfmate import VARIANTS, Position, _core
from selfmate._core import Buffer, Encoding, GameRecord, Pool, Search, SearchConfig, Seat, SelfPlayConfig
from selfmate.errors import SearchError

PROMOTIONS = {
    "chess": "1n2k3/P6P/8/8/8/8/p6p/1N2K3 b - - 3 60",
    "antichess": "1n2k3/P6P/8/8/8/8/p6p/1N2K3 w - - 3 60",
    "gardner": "1n2k/P3P/5/p3p/KN3 b - - 0 7",
}
"""Positions in which both sides can promote at once."""


REPEATED = {
    "chess": (None, "b1c3 b8c6 c3b1 c6b8 b1c3 b8c6"),
    "gardner": ("2k2/5/5/5/2K1R w - - 4 10", "c1b1 c5b5 b1c1 b5c5 c1b1"),
}
"""Games that repeat positions: their start and their moves."""


@cache
def games(variant: str) -> list[list[Position]]:
    """Return games as lists of all their positions; some have repetitions, some promotions."""
    draw = random.Random(variant)
    starts = [Position(variant), Position(variant)]
    if variant in PROMOTIONS:
        starts.append(Position(variant, PROMOTIONS[variant]))
    found = []
    for position in starts:
        game = [position.copy()]
        for _ in range(draw.randrange(12, 40)):
            if not position.legal_moves:
                break
            position.play(draw.choice(position.legal_moves))
            game.append(position.copy())
        found.append(game)
    if variant in REPEATED:
        fen, moves = REPEATED[variant]
        position = Position(variant, fen)
        game = [position.copy()]
        for uci in moves.split():
            position.play(position.parse_uci(uci))
            game.append(position.copy())
        found.append(game)
    return found


def with_history(variant: str, seed: int = 0) -> list[list[Position]]:
    """Return some positions, each with all positions before it."""
    draw = random.Random(seed)
    begun = [game[: number + 1] for game in games(variant) for number in range(len(game)) if game[number].legal_moves]
    chosen = [game for game in begun if len(game) == 1 or game[-1].repetitions() > 1]
    return [*chosen, *draw.sample(begun, min(12, len(begun)))]


def encodings(variant: str) -> list[Encoding]:
    """Return every encoder with every policy, and histories of several lengths."""
    found = [_core.encoding(variant, encoder, policy) for encoder in ENCODERS for policy in POLICIES]
    return [*found, *(_core.encoding(variant, encoder, history=2 + number) for number, encoder in enumerate(ENCODERS))]


@pytest.mark.parametrize("variant", [*VARIANTS, "chess960"])
def test_positions_and_moves(variant: str) -> None:
    for encoding, game in itertools.product(encodings(variant), with_history(variant)):
        position = game[-1]
        repeated = position.repetitions() > 1
        expected = encode_as(encoding.encoder, game, repeated=repeated, history=encoding.history)
        leaves = _core.encode_positions([position], encoding)
        assert leaves.bits[0].tolist() == list(expected.bits), (encoding.encoder, position.fen())
        assert leaves.scalars[0] == pytest.approx(expected.scalars)
        indices = [index_as(encoding.encoder, encoding.policy, position, move) for move in position.legal_moves]
        assert leaves.moves[0, : leaves.counts[0]].tolist() == indices
        assert max(indices) < encoding.policy_size
        assert (len(leaves.bits[0]), len(leaves.scalars[0])) == (encoding.bitboards, encoding.scalars)


@pytest.mark.parametrize("variant", VARIANTS)
def test_only_promotions_to_one_square_share_an_index(variant: str) -> None:
    for encoding, game in itertools.product(encodings(variant), with_history(variant)):
        moves = game[-1].legal_moves
        indices = [encoding.move_index(game[-1], move) for move in moves]
        if encoding.policy != "fromto_queen":
            assert len(set(indices)) == len(moves)
            continue
        squares = {(move.from_square, move.to_square) for move in moves}
        assert len(set(indices)) == len(squares)
    if variant in PROMOTIONS:
        assert any(move.promotion for game in with_history(variant) for move in game[-1].legal_moves)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_mirror_of_indices(variant: str) -> None:
    for encoding in encodings(variant):
        for index in range(encoding.policy_size):
            there = encoding.mirror_index(index)
            assert there < encoding.policy_size
            assert encoding.mirror_index(there) == index
        for game in with_history(variant):
            if not game[-1].castling:
                other = mirrored_position(game[-1])
                for move in game[-1].legal_moves:
                    mirrored = encoding.move_index(other, mirrored_move(game[-1], move))
                    assert encoding.mirror_index(encoding.move_index(game[-1], move)) == mirrored


@pytest.mark.parametrize("variant", ["chess", "atomic", "gardner"])
def test_colours_exchanged_once_and_twice(variant: str) -> None:
    """The side to move sees no difference; White sees the board upside down. Twice, nothing has changed."""

    def seen(position: Position, encoding: Encoding) -> tuple[list[int], list[int]]:
        leaves = _core.encode_positions([position], encoding)
        return leaves.bits[0].tolist(), sorted(leaves.moves[0, : leaves.counts[0]].tolist())

    def flipped(squares: int, ranks: int) -> int:
        return sum((squares >> 8 * rank & 255) << 8 * (ranks - 1 - rank) for rank in range(ranks))

    alone = [Position(game[-1].variant, game[-1].fen()) for game in with_history(variant)]  # without repetitions
    different = Counter[str]()
    for encoder, policy, position in itertools.product(ENCODERS, POLICIES, alone):
        encoding, other = _core.encoding(variant, encoder, policy), colours_exchanged(position)
        once, exchanged = seen(position, encoding), seen(other, encoding)
        assert seen(colours_exchanged(other), encoding) == once
        if encoder in BY_THE_MOVER:
            assert exchanged == once
            continue
        turned = [flipped(squares, position.ranks) for squares in once[0][:12]]
        assert exchanged[0][:12] == [*turned[6:], *turned[:6]]
        different[encoder] += exchanged[1] != once[1]
    assert min(different[encoder] for encoder in ENCODERS if encoder not in BY_THE_MOVER) > 3


def test_keys_tell_apart_what_an_encoder_sees() -> None:
    early, late = Position("gardner", "2k2/5/5/5/2K1R w - - 4 10"), Position("gardner", "2k2/5/5/5/2K1R w - - 4 12")
    black = Position("gardner", "2k1r/5/5/5/2K2 b - - 4 10")

    def key(position: Position, encoder: str, history: int = 1) -> int:
        encoding = _core.encoding("gardner", encoder, history=history)
        return int(_core.encode_positions([position], encoding).keys[0])

    for encoder in ENCODERS:
        counts = encoder in ("planes16", "planes19", "planes21")
        assert (key(early, encoder) != key(late, encoder)) == counts
        assert encoder in BY_THE_MOVER or key(early, encoder) != key(black, encoder)
    begun = early.copy()
    for uci in ("c1b1", "c5b5", "b1c1", "b5c5"):
        begun.play(begun.parse_uci(uci))
    fresh = Position("gardner", begun.fen())
    assert key(begun, "pieces12", 2) != key(fresh, "pieces12", 2)


def test_an_encoding_is_pickled_and_compared() -> None:
    encoding = _core.encoding("chess", "planes18", "fromto_queen", 3)
    assert pickle.loads(pickle.dumps(encoding)) == encoding != _core.encoding("chess", "planes18", "fromto", 3)
    assert pickle.loads(pickle.dumps(Seat(visits=3, encoding=encoding))).visits == 3
    assert _core.encoding("chess").is_default
    assert not encoding.is_default
    with pytest.raises(ValueError, match="no encoder or policy of this name"):
        _core.encoding("chess", "planes17")
    with pytest.raises(ValueError, match="history beyond 1 to 8"):
        _core.encoding("chess", history=9)
    with pytest.raises(ValueError, match="an encoding of chess, not of gardner"):
        Buffer("gardner", 10, 1, encoding)


# ---- in the buffer, the search and the pool ---------------------------------------------------------------------


def played(encoding: Encoding | None, *, caching: bool = True, seed: int = 5) -> list[GameRecord]:
    """Play games with a hash of what the encoder shows as the net."""
    selfplay = SelfPlayConfig(
        visits=20, fast_visits=5, full_probability=0.6, random_plies=2, temperature=1.0, temperature_plies=9,
        max_plies=60,
    )  # fmt: skip
    pool = Pool(
        "gardner", SearchConfig(), selfplay, seed=seed, slots=4, threads=1, leaves_per_slot=2, cache=caching,
        encoding=encoding,
    )  # fmt: skip
    pool.start(0, 8)
    while not pool.done():
        leaves = pool.gather()
        if leaves.size:
            pool.apply(leaves.ticket, *answer(leaves))
    return pool.drain()


@pytest.mark.parametrize(("encoder", "history"), [("planes16", 1), ("planes21", 1), ("pieces12", 4)])
def test_a_cache_changes_no_game(encoder: str, history: int) -> None:
    """The key of a leaf has everything that its planes have."""
    encoding = _core.encoding("gardner", encoder, history=history)
    cached, plain = ([record.to_bytes() for record in played(encoding, caching=each)] for each in (True, False))
    assert cached == plain
    assert cached != [record.to_bytes() for record in played(None)]


@pytest.mark.parametrize(("encoder", "policy", "history"), [("planes18", "fromto", 3), ("pieces12", "fromto_queen", 2)])
def test_samples_of_the_buffer(encoder: str, policy: str, history: int) -> None:
    encoding = _core.encoding("gardner", encoder, policy, history)
    buffer = Buffer("gardner", 1 << 20, 1, encoding)
    expected: dict[tuple[int, float], list[tuple[tuple[int, ...], frozenset[int]]]] = {}
    for record in played(None):
        buffer.add(record)
        position, occurred = Position("gardner"), Counter[str]()
        game: list[Position] = []
        for ply in range(len(record.moves) + 1):
            game.append(position.copy())
            occurred[position.epd()] += 1
            repeated, seen = occurred[position.epd()] > 1, []
            for one, moves in ((game, position.legal_moves), ([mirrored_position(each) for each in game], None)):
                legal = one[-1].legal_moves if moves is None else moves
                indices = frozenset(index_as(encoder, policy, one[-1], move) for move in legal)
                seen.append((encode_as(encoder, one, repeated=repeated, history=history).bits, indices))
            expected[record.game_id, float(len(record.moves) - ply)] = seen
            if ply < len(record.moves):
                position.play(record.moves[ply])
    batch = buffer.sample(200, 7, True)
    found: Counter[int] = Counter()
    for row in range(batch.size):
        here = (tuple(batch.bits[row].tolist()), frozenset(batch.legal_index[row, : batch.legal_counts[row]].tolist()))
        both = expected[int(batch.game_ids[row]), float(batch.plies[row])]
        assert here in both
        found[both.index(here)] += 1
        weighed = batch.policy_index[row][batch.policy_weight[row] > 0]
        assert set(weighed.tolist()) <= here[1]
    assert min(found[0], found[1]) > 50


def test_a_search_shows_the_positions_on_its_path() -> None:
    encoding = _core.encoding("gardner", "planes18", "fromto", 3)
    game = with_history("gardner", seed=4)[-1]
    root = game[-1]
    search = Search(root, SearchConfig(), 60, 0, [], encoding)
    after = {}
    for move in root.legal_moves:
        next_position = root.copy()
        next_position.play(move)
        repeated = next_position.repetitions() > 1
        after[encode_as("planes18", [*game, next_position], repeated=repeated, history=3).bits] = move
    seen = []
    while not search.done():
        leaves = search.gather(1)
        if leaves.size:
            seen.append(tuple(leaves.bits[0].tolist()))
            search.apply(leaves.ticket, *answer(leaves))
    repeated = root.repetitions() > 1
    assert seen[0] == encode_as("planes18", game, repeated=repeated, history=3).bits
    assert seen[1] in after
    children = [each for each in seen[1:] if each[18:30] == seen[0][:12]]
    assert len(children) > 2
    assert all(each in after and each[30:42] == seen[0][18:30] for each in children)


def test_an_encoding_belongs_to_an_evaluator() -> None:
    one, other = _core.encoding("gardner", "pieces12"), _core.encoding("gardner", "planes18")
    pool = Pool("gardner", [Seat(visits=4, encoding=one), Seat(visits=4, evaluator=1, encoding=other)], max_plies=9)
    assert (pool.encoding(0), pool.encoding(1)) == (one, other)
    pool.start_games([("", 0, 1)])
    widths = set()
    while not pool.done():
        for evaluator in (0, 1):
            leaves = pool.gather(evaluator)
            if leaves.size:
                widths.add((evaluator, leaves.bits.shape[1]))
                pool.apply(leaves.ticket, *answer(leaves))
    assert widths == {(0, 12), (1, 18)}
    with pytest.raises(SearchError, match="two encodings"):
        Pool("gardner", [Seat(visits=4, encoding=one), Seat(visits=4, encoding=other)])
