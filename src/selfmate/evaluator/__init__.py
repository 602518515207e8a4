"""Evaluators: a batch of leaves in, priors and win-draw-loss out, whatever computes them.

`open_evaluator` gives the fastest one for a net and a device: on a CPU that is ONNX Runtime, also while training; on a
GPU it is torch. The evaluators without a net (`NATIVE`) run inside the core and are known by their names alone.
"""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from selfmate.errors import SelfmateError, clip

if TYPE_CHECKING:
    from selfmate._core import Pool
    from selfmate.net import Net

__all__ = [
    "NATIVE",
    "Answer",
    "Desk",
    "Evaluator",
    "EvaluatorError",
    "LeafBatch",
    "Leaves",
    "cores",
    "open_evaluator",
    "pieces",
]

NATIVE: Final = ("uniform", "fake", "heuristic-1")
"""Evaluators of the core: `Search.run` and `Pool.run` take these names."""

MAX_PLIES: Final = 1000.0
"""What a net says of plies left is cut off here."""


class EvaluatorError(SelfmateError):
    """An evaluator that cannot be opened, leaves that do not fit it, or answers that are not numbers."""


class Leaves(Protocol):
    """What `Search.gather` and `Pool.gather` give."""

    @property
    def size(self) -> int:
        """B, how many leaves there are."""

    @property
    def bits(self) -> NDArray[np.uint64]:
        """[B, P] sets of squares."""

    @property
    def scalars(self) -> NDArray[np.float32]:
        """[B, S]."""

    @property
    def moves(self) -> NDArray[np.uint16]:
        """[B, M] policy indices of the legal moves, padded."""

    @property
    def counts(self) -> NDArray[np.uint16]:
        """[B] how many of the moves are real."""

    @property
    def keys(self) -> NDArray[np.uint64]:
        """[B] hash of what the encoder sees."""


class Answer(NamedTuple):
    """What an evaluator says of B leaves, seen by the side to move."""

    priors: NDArray[np.float32]
    """[B, M], of sum one over the legal moves and zero beyond."""
    wdl: NDArray[np.float32]
    """[B, 3] probabilities of win, draw and loss."""
    plies: NDArray[np.float32]
    """[B] plies left."""


class Evaluator(ABC):
    """One interface for every net on every device. `evaluate` may be called by several threads at a time."""

    name: str
    """What computes: for people and logs."""
    net_id: str
    """Hash of the net: equal ids, equal answers up to rounding."""
    variant: str

    @abstractmethod
    def evaluate(self, leaves: Leaves) -> Answer:
        """Answer a batch of any size."""

    def desk(self, rows: int) -> Desk:
        """Give a place for one lane of a pool, whose batches have at most `rows` leaves; it is used by one thread."""
        return Desk(self)


class Desk:
    """Where a lane's leaves are gathered and evaluated. Nothing is special here; a GPU has pinned memory at its own."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def gather(self, pool: Pool, lane: int, evaluator: int) -> Any:
        """Gather the leaves of a lane that are for an evaluator of this number; `size` and `ticket` are theirs."""
        return pool.gather(lane, evaluator)

    def evaluate(self, leaves: Any) -> Answer:
        """Answer what `gather` gave; the answer is good until the next one."""
        return self.evaluator.evaluate(leaves)


@dataclass(frozen=True, slots=True)
class LeafBatch:
    """Leaves as plain arrays of one type and shape, each checked.

    >>> rows = LeafBatch(np.zeros((3, 16), np.uint64), np.zeros((3, 4), np.float32), np.zeros((3, 8), np.uint16),
    ...                  np.ones(3, np.uint16), np.arange(3, dtype=np.uint64))
    >>> rows.size, rows.take(np.array([2, 0])).keys.tolist()
    (3, [2, 0])
    """

    bits: NDArray[np.uint64]
    scalars: NDArray[np.float32]
    moves: NDArray[np.uint16]
    counts: NDArray[np.uint16]
    keys: NDArray[np.uint64]

    @property
    def size(self) -> int:
        """B."""
        return len(self.bits)

    @classmethod
    def of(cls, leaves: Leaves, bitboards: int, scalars: int, policy_size: int) -> LeafBatch:
        """Check that leaves fit a net of these sizes."""
        size = leaves.size
        batch = cls(
            np.ascontiguousarray(leaves.bits[:size], np.uint64),
            np.ascontiguousarray(leaves.scalars[:size], np.float32),
            np.ascontiguousarray(leaves.moves[:size], np.uint16),
            np.ascontiguousarray(leaves.counts[:size], np.uint16),
            np.ascontiguousarray(leaves.keys[:size], np.uint64),
        )
        shapes = [array.shape for array in (batch.bits, batch.scalars, batch.moves, batch.counts)]
        width = batch.moves.shape[-1]
        if shapes != [(size, bitboards), (size, scalars), (size, width), (size,)]:
            raise EvaluatorError(f"leaves of shapes {shapes} do not fit a net of {bitboards} and {scalars} inputs")
        if size and (batch.moves.max() >= policy_size or batch.counts.max() > width):
            raise EvaluatorError(f"leaves name moves beyond the {policy_size} of the net, or more than {width}")
        return batch

    def take(self, rows: NDArray[np.int64] | slice) -> LeafBatch:
        """Give some of the rows."""
        return LeafBatch(self.bits[rows], self.scalars[rows], self.moves[rows], self.counts[rows], self.keys[rows])

    def piece(self, begin: int, end: int, padded: int) -> LeafBatch:
        """Give the rows from `begin` to `end`, with empty rows up to a number of `padded`."""
        if padded == end - begin:
            return self.take(slice(begin, end))
        arrays: tuple[NDArray[Any], ...] = (self.bits, self.scalars, self.moves, self.counts, self.keys)
        rows = [np.zeros((padded, *array.shape[1:]), array.dtype) for array in arrays]
        for row, array in zip(rows, arrays, strict=True):
            row[: end - begin] = array[begin:end]
        return LeafBatch(*rows)


def pieces(size: int, largest: int) -> Iterator[tuple[int, int]]:
    """Cut a batch into pieces of nearly equal size, none above `largest`: begin and end of each.

    >>> list(pieces(150, 64))
    [(0, 50), (50, 100), (100, 150)]
    """
    count = -(-size // largest)
    bounds = [size * index // count for index in range(count + 1)] if count else [0]
    return itertools.pairwise(bounds)


def checked(answer: Answer, net_id: str) -> Answer:
    """Refuse answers that are not numbers, and bound those that have no bound."""
    for name, array in zip(Answer._fields, answer, strict=True):
        if not np.isfinite(array).all():
            raise EvaluatorError(f"the {name} of net {net_id[:12]} are not finite", net_id)
    return answer._replace(plies=np.clip(answer.plies, 0.0, MAX_PLIES))


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_evaluator(
    source: Net | str | Path, *, device: str = "cpu", threads: int | None = None, compiled: bool = False
) -> Evaluator:
    """Open the fastest evaluator of a net on a device: a net in memory, its folder, or an ONNX file.

    `compiled`, on a GPU: fuse the net for the large batches of self-play, which takes a minute.

    >>> open_evaluator("heuristic-1")
    Traceback (most recent call last):
    ...
    selfmate.evaluator.EvaluatorError: 'heuristic-1' is computed by the core: give its name to Search.run or Pool.run
    """
    from selfmate.evaluator.onnx_evaluator import OnnxEvaluator
    from selfmate.export import ONNX_NAME

    if source in NATIVE:
        message = f"{source!r} is computed by the core: give its name to Search.run or Pool.run"
        raise EvaluatorError(message, str(source))
    if device == "cpu" and isinstance(source, str | Path):
        path = Path(source)
        if path.suffix == ".onnx" or (path / ONNX_NAME).exists():
            return OnnxEvaluator(path, threads=threads)
    try:
        from selfmate.evaluator.torch_evaluator import TorchEvaluator, net_of
        from selfmate.export import to_onnx

        if device == "cpu":
            net, card = net_of(source)
            return OnnxEvaluator(to_onnx(net, card), threads=threads)
        return TorchEvaluator(source, device=device, threads=threads, compile=compiled)
    except ModuleNotFoundError as error:
        shown = clip(str(source)) if isinstance(source, str | Path) else "the net"
        raise EvaluatorError(f"{shown}: {error.name} is missing; it comes with selfmate[train]", shown) from None
