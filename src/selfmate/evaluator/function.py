"""An evaluator of one's own from a function of dense planes, for search, self-play, matches and `evaluate`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfmate import _core
from selfmate.board.encoding import dense_planes
from selfmate.errors import EvaluatorError, clip_repr
from selfmate.evaluator.base import Evaluation, Evaluator
from selfmate.nn.leaves import LeafBatch, Leaves
from selfmate.util.text import is_utf8

__all__ = ["FunctionEvaluator"]

PlanesFunction = Callable[[NDArray[np.float32]], tuple[NDArray[Any], NDArray[Any]]]


class FunctionEvaluator(Evaluator):
    """Evaluates with a function of planes, such as the forward pass of a net of any library.

    `function` gets float32 planes [B, C, H, W] as `encode_planes` makes them, and returns logits [B, policy_size] and
    win, draw, loss [B, 3] as probabilities, each of a floating-point dtype. The softmax over the legal moves is taken
    here. Other shapes and dtypes, numbers that are not finite and probabilities that do not sum to one raise
    `EvaluatorError`. Several threads may call `function` at a time. `name` identifies the function: evaluators of equal
    names are taken for the same net by matches and caches.

    >>> def material(planes):
    ...     worth = np.array([1, 3, 3, 5, 9, 0]) / 10
    ...     balance = np.tanh(planes[:, :6].sum((2, 3)) @ worth - planes[:, 6:12].sum((2, 3)) @ worth)
    ...     logits = np.zeros((len(planes), 4672), np.float32)
    ...     return logits, np.stack([(1 + balance) / 2, np.zeros_like(balance), (1 - balance) / 2], 1)
    >>> evaluator = FunctionEvaluator("chess", material, name="material")
    >>> from selfmate import Limit, Player, Position
    >>> position = Position("chess", "4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1")
    >>> position.san(Player(evaluator).search(position, Limit(visits=200)).best)
    'exd5'
    """

    def __init__(self, variant: str, function: PlanesFunction, *, name: str = "function") -> None:
        sizes = _core.encoding(variant)
        if not callable(function):
            raise EvaluatorError(f"a function is needed, not {type(function).__name__}", type(function).__name__)
        given: object = name
        if not (isinstance(given, str) and given.strip() and is_utf8(given)):
            shown = clip_repr(given)
            raise EvaluatorError(f"an evaluator needs a name, not {shown}", shown)
        self.variant = sizes.variant
        self.name = name
        self.net_id = hashlib.sha256(f"function {sizes.variant} {name}".encode()).hexdigest()
        self._function = function
        self._sizes = sizes

    def evaluate(self, leaves: Leaves) -> Evaluation:
        """Evaluate a batch of any size."""
        sizes = self._sizes
        batch = LeafBatch.of(leaves, sizes.bitboards, sizes.scalars, sizes.policy_size)
        answer: Any = self._function(dense_planes(self.variant, batch))
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise EvaluatorError(f"{self.name}: a tuple of logits and wdl is needed, not {type(answer).__name__}")
        logits = self._checked("logits", answer[0], (batch.size, sizes.policy_size))
        wdl = self._checked("wdl", answer[1], (batch.size, 3))
        # Softmax over the legal moves
        legal = np.take_along_axis(logits, batch.moves.astype(np.int64), 1)
        is_move = np.arange(legal.shape[1]) < batch.counts[:, None]
        legal = np.where(is_move, legal, -np.inf)
        with np.errstate(over="ignore"):  # a difference beyond float32 is that of a prior of zero
            priors = np.exp(legal - np.max(legal, 1, keepdims=True, initial=-1e30))
        priors /= np.maximum(priors.sum(1, keepdims=True), 1e-30)
        return Evaluation(np.ascontiguousarray(priors, np.float32), wdl)

    def _checked(self, what: str, array: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.float32]:
        """Return an array as float32; raise `EvaluatorError` if it does not have the shape or is not finite."""
        try:
            found = np.asarray(array)
        except ValueError:  # lists of different lengths
            raise EvaluatorError(f"{self.name}: {what}: the rows have different lengths", what) from None
        if not np.issubdtype(found.dtype, np.floating) or found.shape != shape:
            needed = f"float32[{shape[0]}, {shape[1]}]"
            given = f"{found.dtype}[{', '.join(map(str, found.shape))}]"
            raise EvaluatorError(f"{self.name}: {what}: {needed} is needed, not {given}", given)
        with np.errstate(over="ignore"):  # a number beyond float32 becomes infinite, and is refused
            numbers = np.ascontiguousarray(found, np.float32)
        if not np.isfinite(numbers).all():
            raise EvaluatorError(f"{self.name}: {what}: not all numbers are finite in float32", what)
        return numbers
