"""Samples of the buffer as tensors, on the CPU or copied to a GPU."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from selfmate._core import Samples

__all__ = ["Batch", "DeviceBatch", "as_tensors", "padded_width"]

ALIGNMENT: Final = 64
"""Bytes to which each array is aligned in the memory of a `DeviceBatch`."""

WIDTH_STEP: Final = 32
"""Widths of the arrays of moves on a GPU are multiples of this, so that few shapes occur."""


class Batch(NamedTuple):
    """The arrays of `Samples` as tensors, with the shapes that it documents; moves may be cut to fewer columns."""

    bits: Tensor
    scalars: Tensor
    legal_index: Tensor
    legal_counts: Tensor
    policy_index: Tensor
    policy_weight: Tensor
    wdl: Tensor
    value_weight: Tensor
    plies: Tensor
    played: Tensor
    material: Tensor
    final_material: Tensor
    root_value: Tensor
    root_draw: Tensor
    reply_index: Tensor
    reply_weight: Tensor
    value_ahead: Tensor
    ahead_weight: Tensor


def _arrays(samples: Samples, width: int) -> list[np.ndarray]:
    """Return the arrays of a batch, those of moves cut to `width` columns."""
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
        samples.played,
        samples.material,
        samples.final_material,
        samples.root_value,
        samples.root_draw,
        samples.reply_index.view(np.int16),
        samples.reply_weight,
        samples.value_ahead,
        samples.ahead_weight,
    ]


def padded_width(samples: Samples) -> int:
    """Return a multiple of `WIDTH_STEP` columns that holds the moves of every position."""
    most = int(samples.legal_counts.max())
    return min(-(-most // WIDTH_STEP) * WIDTH_STEP, int(samples.legal_index.shape[1]))


def as_tensors(samples: Samples) -> Batch:
    """Return samples as CPU tensors, as wide as the position with the most moves."""
    arrays = _arrays(samples, int(samples.legal_counts.max()))
    return Batch(*(torch.from_numpy(np.ascontiguousarray(array)) for array in arrays))


class DeviceBatch:
    """Memory on a GPU for batches of one shape; `upload` overwrites the batch before."""

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

    def upload(self, samples: Samples) -> Batch:
        """Start copying samples to the GPU, in one transfer from pinned memory, without waiting for it.

        numpy fills the pinned memory: torch's copies on the CPU use all its threads and wait for the last of them.
        """
        pinned = torch.empty(self._bytes.shape, dtype=torch.uint8, pin_memory=True)  # freed when the copy is done
        flat = pinned.numpy()
        for place, array in zip(self._places, _arrays(samples, self.width), strict=True):
            flat[place].view(array.dtype).reshape(array.shape)[:] = array
        self._bytes.copy_(pinned, non_blocking=True)
        return self.batch
