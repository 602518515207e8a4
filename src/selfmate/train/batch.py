"""Samples of the buffer as tensors, on the processor or brought to a GPU."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from selfmate._core import Samples

__all__ = ["Batch", "Landing", "as_tensors", "wide_enough"]


ALIGNMENT: Final = 64


WIDTH_STEP: Final = 32


class Batch(NamedTuple):
    """See `Samples` for the shapes."""

    bits: Tensor
    scalars: Tensor
    legal_index: Tensor
    legal_counts: Tensor
    policy_index: Tensor
    policy_weight: Tensor
    wdl: Tensor
    value_weight: Tensor
    plies: Tensor
    root_value: Tensor


def _arrays(samples: Samples, width: int) -> list[np.ndarray]:
    """Give the arrays of a batch, those of moves as wide as is wanted."""
    return [
        samples.bits.view(np.int64),
        samples.scalars,
        samples.legal_index[:, :width].view(np.int16),
        samples.legal_counts.view(np.int16),
        samples.policy_index[:, :width].view(np.int16),
        samples.policy_weight[:, :width],
        samples.wdl,
        samples.value_weight,
        samples.plies,
        samples.root_value,
    ]


def wide_enough(samples: Samples) -> int:
    """Give a width that holds the moves of every position; there are few different ones."""
    most = int(samples.legal_counts.max())
    return min(-(-most // WIDTH_STEP) * WIDTH_STEP, int(samples.legal_index.shape[1]))


def as_tensors(samples: Samples) -> Batch:
    """Give samples as tensors, as wide as the position with the most moves needs."""
    arrays = _arrays(samples, int(samples.legal_counts.max()))
    return Batch(*(torch.from_numpy(np.ascontiguousarray(array)) for array in arrays))


class Landing:
    """A place on a GPU for batches of one shape: what is brought there next overwrites it."""

    def __init__(self, samples: Samples, width: int, device: torch.device) -> None:
        self.width = width
        self._places: list[slice] = []
        arrays, end = _arrays(samples, width), 0
        for array in arrays:
            self._places.append(slice(end, end + array.nbytes))
            end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        self._bytes = torch.zeros(end, dtype=torch.uint8, device=device)
        kinds = [torch.from_numpy(np.empty(0, array.dtype)).dtype for array in arrays]
        views = [self._bytes[place].view(kind) for place, kind in zip(self._places, kinds, strict=True)]
        self.batch = Batch(*(view.view(array.shape) for view, array in zip(views, arrays, strict=True)))

    def bring(self, samples: Samples) -> Batch:
        """Write samples into pinned memory and let them be copied from there, all at once; nobody waits.

        Not with torch's own copies in memory: those ask all its threads, and wait for the last of them.
        """
        here = torch.empty(self._bytes.shape, dtype=torch.uint8, pin_memory=True)  # free again when the copy is done
        flat = here.numpy()
        for place, array in zip(self._places, _arrays(samples, self.width), strict=True):
            flat[place].view(array.dtype).reshape(array.shape)[:] = array
        self._bytes.copy_(here, non_blocking=True)
        return self.batch
