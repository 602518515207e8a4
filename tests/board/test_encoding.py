"""Dense planes, action masks and actions, against the position itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from selfmate import (
    PLANE_NAMES,
    VARIANTS,
    ArrayError,
    IllegalMove,
    InvalidMove,
    Position,
    UnknownVariant,
    _core,
    action_masks,
    action_of,
    encode_planes,
    encoding,
    move_of,
)

NAMES = (*VARIANTS, "chess960", "atomic960")
ROLES = "pnbrqk"


def random_positions(variant: str, games: int = 3, plies: int = 80) -> Iterator[Position]:
    draw = random.Random(variant)
    for _ in range(games):
        position = Position.chess960_start(draw.randrange(960), variant) if "960" in variant else Position(variant)
        for _ in range(plies):
            yield position.copy()
            if position.is_game_over(claim_draw=True):
                break
            position.play(draw.choice(position.legal_moves))


def expected_planes(position: Position, white: bool) -> np.ndarray[Any, Any]:
    """Compute the planes square by square, from the board as a person sees it."""
    planes = np.zeros((20, position.ranks, position.files), np.float32)

    def place(plane: int, square: int) -> None:
        rank, file = divmod(square, 8)
        planes[plane, rank if white else position.ranks - 1 - rank, file] = 1

    for rank in range(position.ranks):
        for file in range(position.files):
            square = 8 * rank + file
            piece = position.piece_at(square)
            if piece is None:
                continue
            own = piece.isupper() == white
            place(ROLES.index(piece.lower()) + (0 if own else 6), square)
            if position.castling >> square & 1:
                place(12 if own else 13, square)
    if position.ep_square is not None:
        place(14, position.ep_square)
    planes[15] = position.repetitions() > 1
    planes[16] = position.halfmove_clock / 100
    if position.checks_left is not None:
        planes[17] = position.checks_left[0 if white else 1] / 3
        planes[18] = position.checks_left[1 if white else 0] / 3
    planes[19] = position.variant in ("horde", "racingkings") and not white
    return planes


@pytest.mark.parametrize("variant", NAMES)
def test_planes_and_masks_are_those_of_the_position(variant: str) -> None:
    positions = list(random_positions(variant))
    planes, masks = encode_planes(positions), action_masks(positions)
    sizes = encoding(variant)
    assert planes.dtype == np.float32
    assert masks.shape == (len(positions), sizes.policy_size)
    for row, position in enumerate(positions):
        np.testing.assert_allclose(planes[row], expected_planes(position, position.turn), atol=1e-7)
        actions = [action_of(position, move) for move in position.legal_moves]
        assert sorted(actions) == np.flatnonzero(masks[row]).tolist()
        assert [move_of(position, action) for action in actions] == position.legal_moves


@pytest.mark.parametrize("variant", ["chess", "horde", "3check", "gardner"])
def test_the_side_that_waits_sees_the_board_from_its_own_side(variant: str) -> None:
    sizes = encoding(variant)
    planes = np.empty((20, sizes.ranks, sizes.files), np.float32)
    mask = np.empty(sizes.policy_size, np.int8)
    for position in random_positions(variant, games=1):
        _core.observe(position, not position.turn, planes, mask)
        np.testing.assert_allclose(planes, expected_planes(position, not position.turn), atol=1e-7)
        assert not mask.any()
        _core.observe(position, position.turn, planes, mask)
        np.testing.assert_allclose(planes, expected_planes(position, position.turn), atol=1e-7)
        assert mask.sum() == len(position.legal_moves)


def test_there_is_a_name_for_each_plane() -> None:
    assert len(PLANE_NAMES) == len(set(PLANE_NAMES)) == _core.DENSE_PLANES


def test_arrays_of_the_caller_are_filled() -> None:
    positions = [Position("gardner")] * 3
    planes, masks = np.full((3, 20, 5, 5), 7, np.float32), np.ones((3, 1225), np.bool_)
    assert encode_planes(positions, out=planes) is planes
    assert action_masks(positions, out=masks) is masks
    assert planes.max() == 1
    assert masks.sum() == 21


CHESS = Position("chess")
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "two variants": (
        lambda: encode_planes([CHESS, Position("atomic")]),
        "position 1 is of atomic, position 0 of chess",
    ),
    "none": (lambda: encode_planes([]), "at least one position"),
    "one": (lambda: action_masks(CHESS), "a list of positions is needed"),  # type: ignore[arg-type]
    "text": (lambda: action_masks(["e2e4"]), "a position is needed, not str"),  # type: ignore[list-item]
    "dtype": (
        lambda: encode_planes([CHESS], np.zeros((1, 20, 8, 8))),  # type: ignore[arg-type]
        "float32[1, 20, 8, 8] is needed, not float64[1, 20, 8, 8]",
    ),
    "shape": (
        lambda: encode_planes([CHESS], np.zeros((2, 20, 8, 8), np.float32)),
        "float32[1, 20, 8, 8] is needed, not float32[2, 20, 8, 8]",
    ),
    "axes": (lambda: encode_planes([CHESS], np.zeros(5, np.float32)), "not float32[5]"),
    "a list": (lambda: encode_planes([CHESS], [0.0]), "not list"),  # type: ignore[arg-type]
    "strides": (
        lambda: encode_planes([CHESS], np.zeros((1, 20, 8, 16), np.float32)[..., ::2]),
        "not C-contiguous",
    ),
    "read-only": (
        lambda: action_masks([CHESS], np.broadcast_to(np.False_, (1, 4672))),
        "cannot be written to",
    ),
    "int8 mask": (
        lambda: action_masks([CHESS], np.zeros((1, 4672), np.int8)),
        "bool[1, 4672] is needed, not int8[1, 4672]",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_array_raises_one_exception(name: str) -> None:
    action, words = WRONG[name]
    with pytest.raises(ArrayError) as caught:
        action()
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "action", [-1, 0, 4671, 1 << 40, 10**30, pytest.param(10**5000, id="5001 digits"), 1.5, "e2e4", None]
)
def test_an_action_without_a_move_is_illegal(action: Any) -> None:
    with pytest.raises(IllegalMove):
        move_of(CHESS, action)


@pytest.mark.parametrize("position", [None, "startpos"])
def test_actions_are_those_of_a_position(position: Any) -> None:
    for call in (lambda: action_of(position, "e2e4"), lambda: move_of(position, 5)):
        with pytest.raises(TypeError, match="a position is needed, not "):
            call()


def test_a_move_without_an_action() -> None:
    with pytest.raises(IllegalMove):
        action_of(CHESS, "e2e5")
    with pytest.raises(InvalidMove):
        action_of(CHESS, "hello")
    for action in (lambda: action_of(CHESS, 5), lambda: Position("chess").push(None)):  # type: ignore[arg-type]
        with pytest.raises(InvalidMove, match="a move is a Move or UCI text, not"):
            action()
    with pytest.raises(UnknownVariant):
        encoding("go")
