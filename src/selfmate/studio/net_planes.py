"""The planes of a net in words and squares: what its encoder gives it, and what each cell of its policy means.

A cell of the policy is a plane and a from-square. Squares here are those of the board as White sees it, also where the
net sees it turned: the page draws them beside the pieces.

>>> planes = policy_planes(_core.encoding("chess"), "white")
>>> [planes[number].name for number in (0, 1, 8, 56, 72)]
['up 1', 'up 2', 'up-right 2', 'knight up 2 right 1', 'to a rook, up-right']
>>> policy_planes(_core.encoding("chess", "pieces12", "fromto"), "black")[0].to
'a8'
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from selfmate import _core
from selfmate._core import Encoding
from selfmate.board.encoding import PLANE_NAMES
from selfmate.board.position import Position
from selfmate.evaluator.base import Evaluator
from selfmate.nn.leaves import LeafBatch
from selfmate.studio.board_view import color_of
from selfmate.studio.messages import Color, NetPlane, PolicyPlane

__all__ = ["cell_of_move", "input_planes", "policy_of", "policy_planes", "sees_turned"]

PIECES: Final = ("pawn", "knight", "bishop", "rook", "queen", "king")
ROLES: Final = {"n": "knight", "b": "bishop", "r": "rook", "k": "king"}
CASTLING: Final = tuple(f"{color} may castle {side}" for color in ("white", "black") for side in ("short", "long"))
WHITE_TURN: Final = "white to move"
MOVES: Final = "move number / 100"
CLOCK: Final = "half-move clock / 100"
REPEATED: Final = "position has occurred before"
REST: Final[dict[str, tuple[str, ...]]] = {
    "full": PLANE_NAMES[2 * len(PIECES) : 16],
    "pieces12": (),
    "pieces13": (WHITE_TURN,),
    "planes16": ("black to move", REPEATED),
    "planes18": (WHITE_TURN, *CASTLING, "file of the en passant square"),
    "planes21": (WHITE_TURN, *CASTLING, "file of the en passant square"),
    "planes19": (WHITE_TURN, *CASTLING),
}
"""Bitboards of an encoder behind the pieces; those of earlier positions follow them (cpp/data/encoders.h)."""
SCALARS: Final[dict[str, tuple[str, ...]]] = {
    "full": PLANE_NAMES[16:],
    "planes16": (MOVES, CLOCK),
    "planes21": (CLOCK, REPEATED, "plies modulo 100 / 100"),
    "planes19": (MOVES, CLOCK),
}
"""Numbers of an encoder, each a plane of one number."""


def sees_turned(encoding: Encoding, turn: Color) -> bool:
    """Return whether ranks are counted from Black's side: where the side to move is Black, unless White always sees."""
    return turn == "black" and encoding.encoder in ("full", "pieces12")


# -- inputs ------------------------------------------------------------------------------------------------------------


def input_planes(position: Position, encoding: Encoding) -> list[NetPlane]:
    """Return what a net with an encoding is given: bitboards, then numbers that are the same on all squares.

    >>> planes = input_planes(Position("gardner"), _core.encoding("gardner", "pieces13", history=2))
    >>> [plane.name for plane in planes[11:14]]
    ['black king', 'white to move', 'white pawn, 1 ply ago']
    """
    leaves = _core.encode_positions([position], encoding)
    words = np.ascontiguousarray(leaves.bits[0].astype("<u8", copy=False))
    boards = np.unpackbits(words.view(np.uint8), bitorder="little").reshape(-1, 8, 8)
    boards = boards[:, : encoding.ranks, : encoding.files]
    rows = [plane.reshape(-1).tolist() for plane in boards] + [[number] for number in leaves.scalars[0].tolist()]
    return [
        NetPlane(name=name, values=_values(numbers)) for name, numbers in zip(_input_names(encoding), rows, strict=True)
    ]


def _input_names(encoding: Encoding) -> list[str]:
    sides = ("own", "their") if encoding.encoder in ("full", "pieces12") else ("white", "black")
    pieces = [f"{side} {piece}" for side in sides for piece in PIECES]
    names = [*pieces, *REST[encoding.encoder]]
    for back in range(1, encoding.history):
        names += [f"{name}, {back} {'ply' if back == 1 else 'plies'} ago" for name in pieces]
    return [*names, *SCALARS.get(encoding.encoder, ())]


def _values(numbers: list[float]) -> list[float]:
    """Return the numbers of a plane; one, if all are equal."""
    rounded = [round(number, 3) for number in numbers]
    return rounded[:1] if len(set(rounded)) == 1 else rounded


# -- policy ------------------------------------------------------------------------------------------------------------


def policy_planes(encoding: Encoding, turn: Color) -> list[PolicyPlane]:
    """Return what each plane of the policy means on the board, for a side to move."""
    turned = sees_turned(encoding, turn)
    return [_policy_plane(name, encoding, turned=turned, turn=turn) for name in encoding.plane_names()]


def _policy_plane(name: str, encoding: Encoding, *, turned: bool, turn: Color) -> PolicyPlane:
    """Return a plane by its name in the core: "0,2", "=n -1" or "to 12 of 5x5"."""
    if name.startswith("to "):
        to = _square(int(name.split()[1]), encoding, turned)
        return PolicyPlane(name=f"to {to}", step=None, to=to)
    if name.startswith("="):
        step = (int(name.split()[1]), 1 if turn == "white" else -1)
        return PolicyPlane(name=f"to a {ROLES[name[1]]}, {_direction(*step)}", step=step, to=None)
    files, ranks = (int(number) for number in name.split(","))
    ranks = -ranks if turned else ranks
    if abs(files) != abs(ranks) and files and ranks:
        up, right = "up" if ranks > 0 else "down", "right" if files > 0 else "left"
        words = f"knight {up} {abs(ranks)} {right} {abs(files)}"
    else:
        words = f"{_direction(files, ranks)} {max(abs(files), abs(ranks))}"
    return PolicyPlane(name=words, step=(files, ranks), to=None)


def _direction(files: int, ranks: int) -> str:
    words = ["up" if ranks > 0 else "down"] * (ranks != 0) + ["right" if files > 0 else "left"] * (files != 0)
    return "-".join(words)


def _square(number: int, encoding: Encoding, turned: bool) -> str:
    rank, file = divmod(number, encoding.files)
    return f"{'abcdefgh'[file]}{(encoding.ranks - 1 - rank if turned else rank) + 1}"


def cell_of_move(position: Position, encoding: Encoding) -> dict[str, int]:
    """Return the cell of every legal move by its UCI text: plane * squares + from-square, a1 first, then b1."""
    turned = sees_turned(encoding, color_of(position.turn))
    return {
        position.uci(move): _on_board(encoding.move_index(position, move), encoding, turned)
        for move in position.legal_moves
    }


def _on_board(index: int, encoding: Encoding, turned: bool) -> int:
    """Return the cell of a policy index, whose from-square may be seen by Black."""
    if not turned:
        return index
    squares = encoding.files * encoding.ranks
    plane, square = divmod(index, squares)
    rank, file = divmod(square, encoding.files)
    return plane * squares + (encoding.ranks - 1 - rank) * encoding.files + file


def policy_of(evaluator: Evaluator, position: Position) -> NDArray[np.float32]:
    """Return the probability of every cell, float32 [planes, ranks, files]: a softmax over legal and illegal moves.

    An evaluator gives the softmax over the indices that a leaf names: here it names all.
    """
    encoding = evaluator.encoding
    leaf = _core.encode_positions([position], encoding)
    every = np.arange(encoding.policy_size, dtype=np.uint16)[None]
    counts = np.array([encoding.policy_size], np.uint16)
    priors = evaluator.evaluate(LeafBatch(leaf.bits, leaf.scalars, every, counts, leaf.keys)).priors[0]
    cells: NDArray[np.float32] = priors.reshape(-1, encoding.ranks, encoding.files)
    return cells[:, ::-1] if sees_turned(encoding, color_of(position.turn)) else cells
