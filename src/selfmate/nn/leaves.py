"""Batches of leaves: the input of a net, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from selfmate.errors import EvaluatorError

__all__ = ["LeafBatch", "Leaves"]


class Leaves(Protocol):
    """What `Search.gather` and `Pool.gather` return."""

    @property
    def size(self) -> int:
        """B, the number of leaves."""

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
        """[B] number of legal moves."""

    @property
    def keys(self) -> NDArray[np.uint64]:
        """[B] hash of the encoded position."""


@dataclass(frozen=True, slots=True)
class LeafBatch:
    """Leaves as plain arrays: bits [B, P], scalars [B, S], moves [B, M], counts [B] and keys [B].

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
        """B, the number of leaves."""
        return len(self.bits)

    @classmethod
    def of(cls, leaves: Leaves, bitboards: int, scalars: int, policy_size: int) -> LeafBatch:
        """Return leaves as contiguous arrays; raise `EvaluatorError` if they do not fit a net of these sizes."""
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
        """Return some of the rows."""
        return LeafBatch(self.bits[rows], self.scalars[rows], self.moves[rows], self.counts[rows], self.keys[rows])

    def padded(self, size: int) -> LeafBatch:
        """Return the batch with empty rows added at its end: `size` rows in all."""
        if size == self.size:
            return self
        arrays: tuple[NDArray[Any], ...] = (self.bits, self.scalars, self.moves, self.counts, self.keys)
        rows = [np.zeros((size, *array.shape[1:]), array.dtype) for array in arrays]
        for row, array in zip(rows, arrays, strict=True):
            row[: self.size] = array
        return LeafBatch(*rows)

    def onnx_inputs(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by the names and types of the inputs of our ONNX files."""
        return {
            "bits": self.bits.view(np.int64),
            "scalars": self.scalars,
            "moves": self.moves,
            "counts": self.counts,
        }
