"""The encoder and the policy space: one index for each move, and two symmetries."""

from __future__ import annotations

import random

import numpy as np
import pytest

from encoders import colours_exchanged
from selfmate import VARIANTS, Position, _core

ALL = (*VARIANTS, "chess960", "atomic960")


def positions(variant: str, games: int = 12, seed: int = 1) -> list[Position]:
    """Positions of random games."""
    draw = random.Random(seed)
    found = []
    for _ in range(games):
        position = Position(variant)
        for _ in range(draw.randrange(120)):
            moves = position.legal_moves
            if not moves:
                break
            position.play(draw.choice(moves))
            if draw.random() < 0.2 and position.legal_moves:
                found.append(position.copy())
    return found


@pytest.mark.parametrize("variant", ALL)
def test_index_and_move_are_a_bijection(variant: str) -> None:
    size = _core.encoding(variant).policy_size
    for position in positions(variant):
        moves = position.legal_moves
        _, _, indices = _core.encode(position)
        assert len(set(indices.tolist())) == len(moves)
        for move, index in zip(moves, indices.tolist(), strict=True):
            assert 0 <= index < size
            assert _core.move_index(position, move) == index
            assert _core.index_move(position, index) == move


@pytest.mark.parametrize("variant", ["chess", "atomic", "gardner", "antichess", "kingofthehill", "3check"])
def test_black_sees_what_white_would_see(variant: str) -> None:
    for position in positions(variant):
        other = colours_exchanged(position)
        bits, scalars, indices = _core.encode(position)
        other_bits, other_scalars, other_indices = _core.encode(other)
        if position.repetitions() == 1:
            assert np.array_equal(bits, other_bits)
        assert np.array_equal(scalars, other_scalars)
        assert sorted(indices.tolist()) == sorted(other_indices.tolist())


@pytest.mark.parametrize("variant", VARIANTS)
def test_mirror_of_position_and_index(variant: str) -> None:
    for position in positions(variant):
        if position.castling:
            continue
        board, *rest = position.fen().split()
        ranks = ["".join(rank[::-1]) for rank in board.split("/")]
        if rest[2] != "-":
            rest[2] = chr(ord("a") + position.files - 1 - (ord(rest[2][0]) - ord("a"))) + rest[2][1]
        mirrored = Position(variant, " ".join(["/".join(ranks), *rest]))
        bits, _, indices = _core.encode(position)
        mirrored_bits, _, mirrored_indices = _core.encode(mirrored)
        turned = [_core.mirror_squares(variant, int(each)) for each in bits[:15]]
        assert turned == mirrored_bits[:15].tolist()
        assert sorted(_core.mirror_index(variant, int(i)) for i in indices) == sorted(mirrored_indices.tolist())
        for index in indices.tolist():
            assert _core.mirror_index(variant, _core.mirror_index(variant, index)) == index


def test_planes_show_the_pieces_of_the_side_to_move() -> None:
    position = Position("gardner")
    position.play("a2a3")
    bits, scalars, _ = _core.encode(position)
    assert int(bits[0]) == 0x1F << 8  # Black's pawns, seen from Black's side
    assert int(bits[6]) == (0b11110 << 24) | (1 << 16)  # White's, one of them a step further
    assert scalars.tolist() == [0, 0, 0, 0]


def test_the_clock_and_a_repetition_are_seen() -> None:
    position = Position("chess")
    for move in ["g1f3", "g8f6", "f3g1", "f6g8"]:
        position.play(move)
    bits, scalars, _ = _core.encode(position)
    assert int(bits[15]) == 2**64 - 1
    assert scalars[0] == pytest.approx(0.04)


def test_checks_left_are_seen_by_the_side_to_move() -> None:
    _, scalars, _ = _core.encode(Position("3check", "4k3/8/8/8/8/8/8/4K2R w - - 3+1 0 1"))
    assert scalars.tolist() == pytest.approx([0, 1, 1 / 3, 0])
