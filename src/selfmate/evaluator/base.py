"""The interface of evaluators."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfmate.errors import EvaluatorError
from selfmate.nn.leaves import LeafBatch, Leaves

if TYPE_CHECKING:
    from selfmate._core import Pool

__all__ = ["NATIVE", "Answer", "Desk", "Evaluator", "in_pieces", "pieces"]


NATIVE: Final = ("uniform", "fake", "heuristic-1")
"""Evaluators of the core: `Search.run` and `Pool.run` take these names."""


MAX_PLIES: Final = 1000.0
"""What a net says of plies left is cut off here."""


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
    chosen: str = ""
    """Why it computes where `auto` chose it."""
    net_id: str
    """Hash of the net: equal ids, equal answers up to rounding."""
    variant: str

    @abstractmethod
    def evaluate(self, leaves: Leaves) -> Answer:
        """Answer a batch of any size."""

    def desk(self, rows: int) -> Desk:
        """Give a place for one lane of a pool, whose batches have at most `rows` leaves; it is used by one thread."""
        return Desk(self)

    def trial_desk(self, rows: int) -> Desk:
        """The same for a short look at how fast batches of this size are: nothing is compiled for it."""
        return self.desk(rows)


class Desk:
    """Where a lane's leaves are gathered and evaluated. Nothing is special here; a GPU has pinned memory at its own."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def gather(self, pool: Pool, evaluator: int) -> Any:
        """Gather leaves that are for the evaluator of this number; `size` and `ticket` are theirs."""
        return pool.gather(evaluator)

    def evaluate(self, leaves: Any) -> Answer:
        """Answer what `gather` gave; the answer is good until the next one."""
        return self.evaluator.evaluate(leaves)


def pieces(size: int, largest: int) -> Iterator[tuple[int, int]]:
    """Cut a batch into pieces of nearly equal size, none above `largest`: begin and end of each.

    >>> list(pieces(150, 64))
    [(0, 50), (50, 100), (100, 150)]
    """
    count = -(-size // largest)
    bounds = [size * index // count for index in range(count + 1)] if count else [0]
    return itertools.pairwise(bounds)


def in_pieces(
    batch: LeafBatch,
    smallest: int,
    largest: int,
    threads: int,
    pool: Executor | None,
    evaluate: Callable[[LeafBatch, Answer, int, int], None],
) -> Answer:
    """Let `evaluate` compute pieces of a batch, each into its place in the answer, in the threads of a pool.

    As many pieces as threads, or a multiple of it, unless they would become too small to be worth it.
    """
    size, width = batch.moves.shape
    answer = Answer(np.empty((size, width), np.float32), np.empty((size, 3), np.float32), np.empty(size, np.float32))
    share = max(smallest, -(-size // threads))
    work = list(pieces(size, -(-share // -(-share // largest))))
    if pool is None or len(work) == 1:
        for begin, end in work:
            evaluate(batch, answer, begin, end)
    else:
        for done in [pool.submit(evaluate, batch, answer, begin, end) for begin, end in work]:
            done.result()
    return answer


def checked(answer: Answer, net_id: str) -> Answer:
    """Refuse answers that are not numbers, and bound those that have no bound."""
    for name, array in zip(Answer._fields, answer, strict=True):
        if not np.isfinite(array).all():
            raise EvaluatorError(f"the {name} of net {net_id[:12]} are not finite", net_id)
    return answer._replace(plies=np.clip(answer.plies, 0.0, MAX_PLIES))
