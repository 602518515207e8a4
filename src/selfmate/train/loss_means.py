"""The losses of a learner's steps: read in order, checked to be finite, and averaged."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from selfmate.train.losses import Losses

__all__ = ["Diverged", "LossMeans", "StepResult"]


class Diverged(Exception):
    """The loss or the gradient is not finite."""

    def __init__(self, step: int) -> None:
        super().__init__(f"the loss is not finite at step {step}")
        self.step = step


class StepResult(NamedTuple):
    """What a step computed: `numbers` are its losses and the norm of its gradient."""

    step: int
    numbers: Tensor
    written: torch.cuda.Event | None
    """On a GPU, the event after which the numbers are valid."""


class LossMeans:
    """Reads the results of steps in order, and sums their losses up."""

    def __init__(self, tell: Callable[[int, Losses], None]) -> None:
        self._tell = tell
        self._pending: deque[StepResult] = deque()
        self._sums = [0.0] * len(Losses._fields)
        self._steps = 0

    def add(self, result: StepResult, ahead: int) -> None:
        """Add the result of a step, and read all but the newest `ahead` results."""
        self._pending.append(result)
        self.read(ahead)

    def read(self, ahead: int = 0) -> None:
        """Read all but the newest `ahead` results; raise `Diverged` for one that is not finite."""
        while len(self._pending) > ahead:
            step, numbers, written = self._pending.popleft()
            if written is not None:
                written.synchronize()
            values = numbers.tolist()
            if not np.isfinite(values).all():
                raise Diverged(step)
            losses = Losses(*values[:-1])
            self._tell(step + 1, losses)
            self._sums = [total + loss for total, loss in zip(self._sums, losses, strict=True)]
            self._steps += 1

    def mean(self) -> Losses | None:
        """Return the mean losses of the steps read so far; None before the first."""
        return Losses(*(total / self._steps for total in self._sums)) if self._steps else None
