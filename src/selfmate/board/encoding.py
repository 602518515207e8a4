"""Positions as arrays: dense planes for a net, masks of the legal actions, and actions as moves.

An action is an index of the policy, which a net's policy output and every environment use; both arrays are seen by the
side to move. `docs/api.md` lists the planes.

>>> position = Position("chess")
>>> encode_planes([position]).shape, action_masks([position]).shape
((1, 20, 8, 8), (1, 4672))
>>> action = action_of(position, "e2e4")
>>> bool(action_masks([position])[0, action]), move_of(position, action)
(True, Move.from_uci('e2e4'))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from selfmate import _core
from selfmate._core import Encoding, Move
from selfmate.board.position import Position
from selfmate.errors import ArrayError, IllegalMove, InvalidMove, clip_repr

__all__ = [
    "PLANE_NAMES",
    "Encoded",
    "action_masks",
    "action_of",
    "checked_positions",
    "dense_planes",
    "encode_planes",
    "encoding",
    "move_of",
]

PLANE_NAMES: Final = (
    *(
        f"{side} {piece}"
        for side in ("own", "their")
        for piece in ("pawn", "knight", "bishop", "rook", "queen", "king")
    ),
    "own castling rooks",
    "their castling rooks",
    "en passant square",
    "position has occurred before",
    "half-move clock / 100",
    "own checks left / checks to win",
    "their checks left / checks to win",
    "black to move where colours differ",
)
"""What each plane of `encode_planes` holds; the last four have one number on all squares."""


def encoding(variant: str) -> Encoding:
    """Return the sizes of a variant's arrays: `files`, `ranks`, `policy_size`, `max_moves`. Raises `UnknownVariant`.

    >>> encoding("gardner").policy_size, encoding("antichess").policy_size
    (1225, 4864)
    """
    return _core.encoding(variant)


def checked_positions(positions: Sequence[Position]) -> list[Position]:
    """Return the positions as a list; anything else, or none at all, raises `ArrayError`."""
    if isinstance(positions, _core.Position):
        raise ArrayError("a list of positions is needed, not one position", "Position")
    found = list(positions)
    for row, position in enumerate(found):
        if not isinstance(position, _core.Position):
            raise ArrayError(f"a position is needed, not {type(position).__name__} (item {row})", str(row))
    if not found:
        raise ArrayError("at least one position is needed")
    return found


def encode_planes(positions: Sequence[Position], out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """Return positions of one variant as dense planes, float32 [B, C, H, W], seen by the side to move.

    C is 20 (`PLANE_NAMES`), H are ranks and W files; row 0 is the first rank of the side to move. With `out` the planes
    are written there. Positions of several variants, and an `out` of another shape or dtype, raise `ArrayError`.

    >>> planes = encode_planes([Position("chess"), Position("chess", "4k3/8/8/8/8/8/8/4K2R b K - 0 1")])
    >>> planes[0, PLANE_NAMES.index("own pawn"), 1].tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    >>> planes[1, PLANE_NAMES.index("their rook"), 7].tolist()  # Black sees White's first rank as the last
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """
    checked = checked_positions(positions)
    if out is None:
        sizes = _core.encoding(checked[0].variant)
        out = np.empty((len(checked), _core.DENSE_PLANES, sizes.ranks, sizes.files), np.float32)
    _core.write_planes(checked, out)
    return out


class Encoded(Protocol):
    """Positions as a search or a buffer encodes them: leaves, or samples."""

    @property
    def bits(self) -> NDArray[np.uint64]:
        """[B, P] sets of squares."""

    @property
    def scalars(self) -> NDArray[np.float32]:
        """[B, S]."""


def dense_planes(variant: str, encoded: Encoded) -> NDArray[np.float32]:
    """Return the planes, float32 [B, C, H, W], of what is encoded already: leaves of a search, samples of a buffer.

    Raises `UnknownVariant`, and `ArrayError` for arrays of another shape or dtype and for other objects.

    >>> leaves = _core.encode_positions([Position("gardner")])
    >>> bool((dense_planes("gardner", leaves) == encode_planes([Position("gardner")])).all())
    True
    """
    sizes = _core.encoding(variant)
    if not (hasattr(encoded, "bits") and hasattr(encoded, "scalars")):
        kind = type(encoded).__name__
        raise ArrayError(f"leaves or samples are needed, with bits and scalars, not {kind}", kind)
    out = np.empty((len(encoded.bits), _core.DENSE_PLANES, sizes.ranks, sizes.files), np.float32)
    _core.leaf_planes(variant, encoded.bits, encoded.scalars, out)
    return out


def action_masks(positions: Sequence[Position], out: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """Return which actions are legal in positions of one variant, bool [B, policy_size].

    With `out` the masks are written there. Positions of several variants, and an `out` of another shape or dtype, raise
    `ArrayError`.

    >>> action_masks([Position("gardner"), Position("gardner")]).sum(1).tolist()
    [7, 7]
    """
    checked = checked_positions(positions)
    if out is None:
        out = np.empty((len(checked), _core.encoding(checked[0].variant).policy_size), np.bool_)
    _core.write_masks(checked, out)
    return out


def action_of(position: _core.Position, move: Move | str) -> int:
    """Return the action of a legal move. Raises `InvalidMove` or `IllegalMove`.

    >>> action_of(Position("chess"), "g1f3")
    4038
    """
    _check_position(position)
    try:
        return _core.move_index(position, position.parse_uci(move) if isinstance(move, str) else move)
    except TypeError:
        kind = type(move).__name__
        raise InvalidMove(f"a move is a Move or UCI text, not {kind}", kind) from None


def move_of(position: _core.Position, action: int) -> Move:
    """Return the legal move of an action. Raises `IllegalMove` for any other number.

    >>> move_of(Position("chess"), 4038)
    Move.from_uci('g1f3')
    """
    _check_position(position)
    try:
        return _core.index_move(position, action)
    except TypeError:  # a float, text, or a number of more than 32 bits
        shown = clip_repr(action)
        raise IllegalMove(f"no legal move has the index {shown}", shown) from None


def _check_position(position: object) -> None:
    """Raise `TypeError` for anything but a position."""
    if not isinstance(position, _core.Position):
        raise TypeError(f"a position is needed, not {type(position).__name__}")
