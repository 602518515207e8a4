"""The interface of evaluators: leaves in, priors and win-draw-loss out."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfmate import _core
from selfmate.errors import EvaluatorError
from selfmate.nn.leaves import LeafBatch, Leaves

if TYPE_CHECKING:
    from selfmate._core import Encoding, Pool

__all__ = [
    "NATIVE",
    "Evaluation",
    "Evaluator",
    "EvaluatorLane",
    "checked",
    "checked_evaluation",
    "evaluate_pieces",
    "pieces",
]

NATIVE: Final = ("uniform", "fake", "heuristic-1")
"""Evaluators of the core: `Search.run` and `Pool.run` take these names."""
MAX_PLIES: Final = 1000.0
"""Upper bound of plies left; larger outputs of a net are clipped."""
SUM_TOLERANCE: Final = 0.05
"""Of a sum of probabilities: bf16 and int8 round. The same as in `Search::evaluation_fault`."""


class Evaluation(NamedTuple):
    """The evaluation of B leaves, from the point of view of the side to move."""

    priors: NDArray[np.float32]
    """[B, M]; of sum one over the legal moves, zero beyond them."""
    wdl: NDArray[np.float32]
    """[B, 3] probabilities of win, draw and loss."""
    plies: NDArray[np.float32] | None = None
    """[B] plies left; None from caches and GPU lanes, because no search reads them."""

    def rows(self, rows: NDArray[np.int64] | slice) -> Evaluation:
        """Return some of the rows."""
        return Evaluation(self.priors[rows], self.wdl[rows], None if self.plies is None else self.plies[rows])

    def assign(self, priors: NDArray[np.float32], wdl: NDArray[np.float32], plies: NDArray[np.float32]) -> None:
        """Copy results into the arrays."""
        self.priors[:], self.wdl[:] = priors, wdl
        if self.plies is not None:
            self.plies[:] = plies


class Evaluator(ABC):
    """A net on a device. `evaluate` may be called by several threads at a time."""

    name: str
    """Backend, precision and device, for logs."""
    choice_reason: str = ""
    """Why `auto` chose this backend; empty for a backend chosen by name."""
    net_id: str
    """Hash of the net: equal ids have equal evaluations up to rounding."""
    variant: str
    _encoding: Encoding | None = None

    @property
    def encoding(self) -> Encoding:
        """How the leaves that it evaluates are encoded: the variant's own encoding unless its net names another."""
        return self._encoding or _core.encoding(self.variant)

    @abstractmethod
    def evaluate(self, leaves: Leaves) -> Evaluation:
        """Evaluate a batch of any size."""

    def lane(self, rows: int, *, compiled: bool = True) -> EvaluatorLane:
        """Return the buffers of one lane of a pool, for batches of at most `rows` leaves; one thread uses them.

        With `compiled=False` nothing is compiled for it, as for a short measurement.
        """
        return EvaluatorLane(self)


class EvaluatorLane:
    """Gathers and evaluates the leaves of one lane. This one has no buffers; one on a GPU has pinned memory."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def gather(self, pool: Pool, evaluator: int) -> Any:
        """Gather leaves for the evaluator of this number; the result has their `size` and `ticket`."""
        return pool.gather(evaluator)

    def evaluate(self, leaves: Any) -> Evaluation:
        """Evaluate what `gather` returned; the arrays are valid until the next call."""
        return self.evaluator.evaluate(leaves)


def pieces(size: int, largest: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of pieces of nearly equal size, none above `largest`, that cover a batch.

    >>> list(pieces(150, 64))
    [(0, 50), (50, 100), (100, 150)]
    """
    count = -(-size // largest)
    bounds = [size * index // count for index in range(count + 1)] if count else [0]
    return itertools.pairwise(bounds)


def evaluate_pieces(
    batch: LeafBatch,
    evaluate: Callable[[LeafBatch, Evaluation], None],
    *,
    smallest: int,
    largest: int,
    threads: int,
    executor: Executor | None,
) -> Evaluation:
    """Evaluate a batch in pieces of `smallest` to `largest` rows, in the threads of an executor.

    `evaluate` computes a piece of the batch into the arrays of its rows. There are as many pieces as threads, or a
    multiple, unless they would be smaller than `smallest`.
    """
    size, width = batch.moves.shape
    found = Evaluation(np.empty((size, width), np.float32), np.empty((size, 3), np.float32), np.empty(size, np.float32))
    share = max(smallest, -(-size // threads))
    rows = [slice(begin, end) for begin, end in pieces(size, -(-share // -(-share // largest)))]
    if len(rows) == 1:
        evaluate(batch, found)
    elif executor is None:
        for each in rows:
            evaluate(batch.take(each), found.rows(each))
    else:
        for done in [executor.submit(evaluate, batch.take(each), found.rows(each)) for each in rows]:
            done.result()
    return found


def checked_evaluation(evaluation: Evaluation, leaves: Leaves, name: str) -> Evaluation:
    """Return the answer of any evaluator to leaves; raise `EvaluatorError` unless it has the shapes and dtypes needed.

    Priors must be float32 [B, M] with M at least the largest number of legal moves, wdl float32 [B, 3], plies None or
    float32 [B]; all numbers finite; wdl and the priors of the legal moves must be probabilities. `Search.apply` and
    `Pool.apply` check the same in the core.

    >>> from selfmate import Position, _core
    >>> leaves = _core.encode_positions([Position("gardner")])
    >>> checked_evaluation(Evaluation(np.ones((1, 7)) / 7, np.ones((1, 3)) / 3), leaves, "mine")
    Traceback (most recent call last):
    ...
    selfmate.errors.EvaluatorError: mine: priors: float32[1, 7 or more] is needed, not float64[1, 7]
    """
    if not isinstance(evaluation, Evaluation):
        raise EvaluatorError(f"{name}: an Evaluation is needed, not {type(evaluation).__name__}")
    size, least = leaves.size, int(leaves.counts.max(initial=0))
    wanted = {"priors": (size, least), "wdl": (size, 3), "plies": (size,)}
    for what, array in evaluation._asdict().items():
        if array is None and what == "plies":
            continue
        shape, given = wanted[what], type(array).__name__
        fits = isinstance(array, np.ndarray)
        if fits:
            given = f"{array.dtype}[{', '.join(map(str, array.shape))}]"
            fits = array.dtype == np.float32 and len(array.shape) == len(shape) and array.shape[0] == size
            fits = fits and (array.shape[1] >= least if what == "priors" else array.shape == shape)
        if not fits:
            needed = ", ".join(map(str, shape)) + (" or more" if what == "priors" else "")
            raise EvaluatorError(f"{name}: {what}: float32[{needed}] is needed, not {given}", given)
        if not np.isfinite(array).all():
            raise EvaluatorError(f"{name}: {what}: not all numbers are finite", what)
    is_legal = np.arange(evaluation.priors.shape[1]) < leaves.counts[:, None]
    for what, array in (("priors", np.where(is_legal, evaluation.priors, 0)), ("wdl", evaluation.wdl)):
        are_probabilities = (array >= 0).all(1) & (np.abs(array.sum(1) - 1) < SUM_TOLERANCE)
        if not are_probabilities.all():
            raise EvaluatorError(f"{name}: {what}: not probabilities of sum one", what)
    return evaluation


def checked(evaluation: Evaluation, net_id: str) -> Evaluation:
    """Return an evaluation with plies clipped to `MAX_PLIES`; raise `EvaluatorError` on numbers that are not finite."""
    for name, array in evaluation._asdict().items():
        if array is not None and not np.isfinite(array).all():
            raise EvaluatorError(f"the {name} of net {net_id[:12]} are not finite", net_id)
    plies = evaluation.plies
    return evaluation._replace(plies=None if plies is None else np.clip(plies, 0.0, MAX_PLIES))
