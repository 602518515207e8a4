"""A cache in front of an evaluator: a leaf that the net has evaluated once is not evaluated again.

An entry is found by the net and by the hash of the encoded position (`leaves.keys`), never by the position, so that a
repetition or another clock is another entry. Equal encodings can have their moves in another order (with colours
exchanged), so the moves are kept beside the priors and compared.
"""

from __future__ import annotations

import hashlib
import threading
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfmate.evaluator.base import Evaluation, Evaluator
from selfmate.nn.leaves import LeafBatch, Leaves

__all__ = ["CacheCounts", "CachedEvaluator", "EvaluationCache"]

WAYS: Final = 4
"""Entries of a set (associativity); the least recently used one is replaced."""
WIDTH: Final = 64
"""Positions with more moves than this are not cached: they are rare, and rows have one length."""
SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads neighbouring keys over the sets
NO_MOVE: Final = np.uint16(0xFFFF)


class CacheCounts(NamedTuple):
    """Numbers of leaves; each leaf is counted once."""

    hits: int
    """Found in the cache."""
    duplicates: int
    """Equal to an earlier leaf of the same batch."""
    misses: int
    """Evaluated."""


class EvaluationCache:
    """Holds about `capacity` evaluations, of any number of nets; several evaluators may share it.

    >>> EvaluationCache(1000).capacity
    1024
    """

    def __init__(self, capacity: int) -> None:
        sets = 1 << max(0, (max(1, capacity) - 1) // WAYS).bit_length()
        self.capacity = sets * WAYS
        self.lock = threading.Lock()
        self._shift = np.uint64(64 - (sets.bit_length() - 1)) if sets > 1 else None
        self._clock = 0
        self._keys = np.zeros((sets, WAYS), np.uint64)
        self._used = np.zeros((sets, WAYS), np.int64)  # last use, by `_clock`; 0 is empty
        self._moves = np.zeros((self.capacity, WIDTH), np.uint16)
        self._priors = np.zeros((self.capacity, WIDTH), np.float32)
        self._wdl = np.zeros((self.capacity, 3), np.float32)

    def find(self, keys: NDArray[np.uint64], moves: NDArray[np.uint16], out: Evaluation) -> NDArray[np.bool_]:
        """Write the cached rows into `out`; return bool[B], which rows those are."""
        sets = self._sets(keys)
        matches = (self._keys[sets] == keys[:, None]) & (self._used[sets] > 0)
        rows = np.flatnonzero(matches.any(1))
        slots = sets[rows] * WAYS + matches[rows].argmax(1)
        columns, same = match(self._moves[slots], moves[rows])
        priors = in_order(self._priors[slots], columns)[same]
        rows, slots = rows[same], slots[same]
        out.priors[rows, :WIDTH] = priors[:, : out.priors.shape[1]]
        out.wdl[rows] = self._wdl[slots]
        self._clock += 1
        self._used.reshape(-1)[slots] = self._clock
        found = np.zeros(len(keys), np.bool_)
        found[rows] = True
        return found

    def keep(self, keys: NDArray[np.uint64], moves: NDArray[np.uint16], evaluation: Evaluation) -> None:
        """Store the rows of an evaluation; of more than `WAYS` rows for one set the rest is left out."""
        priors = _widened(evaluation.priors)
        self._clock += 1
        waiting = np.arange(len(keys))
        for _ in range(WAYS):
            sets = self._sets(keys[waiting])
            slots, first = np.unique(sets * WAYS + self._used[sets].argmin(1), return_index=True)
            rows = waiting[first]
            self._keys.reshape(-1)[slots] = keys[rows]
            self._used.reshape(-1)[slots] = self._clock
            self._moves[slots] = moves[rows]
            self._priors[slots] = priors[rows]
            self._wdl[slots] = evaluation.wdl[rows]
            waiting = np.delete(waiting, first)
            if len(waiting) == 0:
                break

    def _sets(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        if self._shift is None:
            return np.zeros(len(keys), np.int64)
        return ((keys * SPREAD) >> self._shift).astype(np.int64)


class CachedEvaluator(Evaluator):
    """An evaluator behind a cache; equal leaves of one batch are evaluated once. Plies left are not cached."""

    def __init__(self, evaluator: Evaluator, capacity: int = 1 << 16, *, cache: EvaluationCache | None = None) -> None:
        self.evaluator = evaluator
        self.cache = EvaluationCache(capacity) if cache is None else cache
        self.net_id = evaluator.net_id
        self.variant = evaluator.variant
        self._encoding = evaluator._encoding
        self.name = f"{evaluator.name}, cached"
        self.counts = CacheCounts(0, 0, 0)
        self._salt = np.frombuffer(hashlib.sha256(self.net_id.encode()).digest(), np.uint64, 1)

    def evaluate(self, leaves: Leaves) -> Evaluation:
        """Evaluate a batch of any size."""
        size = leaves.size
        batch = LeafBatch(
            leaves.bits[:size], leaves.scalars[:size], leaves.moves[:size], leaves.counts[:size], leaves.keys[:size]
        )
        keys = batch.keys ^ self._salt
        moves = _padded(batch)
        fits = batch.counts <= WIDTH
        out = Evaluation(np.zeros(batch.moves.shape, np.float32), np.zeros((size, 3), np.float32))
        # 1. Look up.
        with self.cache.lock:
            known = self.cache.find(keys, moves, out)
        unknown = np.flatnonzero(~known | ~fits)
        # 2. Of equal leaves only the first is evaluated.
        _, first, group = np.unique(keys[unknown], return_index=True, return_inverse=True)
        source = unknown[first[group.reshape(-1)]]  # the row that is evaluated for each unknown row
        again = np.flatnonzero((source != unknown) & fits[unknown])
        columns, same = match(moves[source[again]], moves[unknown[again]])
        repeated, original = unknown[again[same]], source[again[same]]
        evaluated = np.setdiff1d(unknown, repeated, assume_unique=True)  # in the order of the batch
        # 3. Evaluate, store, and copy to the equal leaves.
        if len(evaluated):
            fresh = self.evaluator.evaluate(batch if len(evaluated) == size else batch.take(evaluated))
            out.priors[evaluated], out.wdl[evaluated] = fresh.priors, fresh.wdl
            kept = np.flatnonzero(fits[evaluated])
            with self.cache.lock:
                self.cache.keep(keys[evaluated[kept]], moves[evaluated[kept]], fresh.rows(kept))
        if len(repeated):
            priors = in_order(_widened(out.priors[original]), None if columns is None else columns[same])
            out.priors[repeated, :WIDTH] = priors[:, : out.priors.shape[1]]
            out.wdl[repeated] = out.wdl[original]
        with self.cache.lock:
            hits, duplicates, misses = self.counts
            self.counts = CacheCounts(hits + size - len(unknown), duplicates + len(repeated), misses + len(evaluated))
        return out


def match(moves: NDArray[np.uint16], wanted: NDArray[np.uint16]) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_]]:
    """Return the columns of `moves` where the `wanted` moves are, and bool[B], which rows have the same moves.

    The columns are None if every row is in the same order already.

    >>> columns, same = match(np.array([[7, 5], [1, 2]], np.uint16), np.array([[5, 7], [1, 3]], np.uint16))
    >>> columns.tolist(), same.tolist()
    ([[1, 0], [0, 1]], [True, False])
    """
    same = (moves == wanted).all(1)
    rows = np.flatnonzero(~same)
    if len(rows) == 0:
        return None, same
    here, there = moves[rows].argsort(1, kind="stable"), wanted[rows].argsort(1, kind="stable")
    same[rows] = (np.take_along_axis(moves[rows], here, 1) == np.take_along_axis(wanted[rows], there, 1)).all(1)
    columns = np.tile(np.arange(moves.shape[1]), (len(moves), 1))
    turned = np.empty_like(here)
    np.put_along_axis(turned, there, here, 1)
    columns[rows] = turned
    return columns, same


def in_order(priors: NDArray[np.float32], columns: NDArray[np.int64] | None) -> NDArray[np.float32]:
    """Return priors in the order of the columns from `match`."""
    return priors if columns is None else np.take_along_axis(priors, columns, 1)


def _widened(priors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows of `WIDTH`, cut or padded with zeros."""
    if priors.shape[1] >= WIDTH:
        return priors[:, :WIDTH]
    return np.pad(priors, ((0, 0), (0, WIDTH - priors.shape[1])))


def _padded(batch: LeafBatch) -> NDArray[np.uint16]:
    """Return the moves as rows of `WIDTH`, padded with `NO_MOVE`."""
    width = min(WIDTH, batch.moves.shape[1])
    moves = np.full((batch.size, WIDTH), NO_MOVE, np.uint16)
    np.copyto(moves[:, :width], batch.moves[:, :width], where=np.arange(width) < batch.counts[:, None])
    return moves
