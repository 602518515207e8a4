"""What the outputs of a value head mean, in PyTorch: a number from -1 to 1, and win, draw and loss.

A head with one number knows no draws: a value v is a win with probability (1 + v) / 2 and else a loss, so that the
expected result is v.

>>> wdl_of(torch.tensor([[0.5], [7.0]]), "linear").tolist()
[[0.75, 0.0, 0.25], [1.0, 0.0, 0.0]]
"""

from __future__ import annotations

import torch
from torch import Tensor

from selfmate.nn.config import ValueName

__all__ = ["expected_value", "wdl_of"]


def expected_value(outputs: Tensor, kind: ValueName) -> Tensor:
    """Return what a net expects for the side to move, float32[B]: the number that regression compares with a result.

    `outputs` are the second ones of `Net.raw`. Of `linear` and `two` it may lie outside -1 to 1.
    """
    if kind == "wdl":
        wdl = outputs.float().softmax(1)
        return wdl[:, 0] - wdl[:, 2]
    number = outputs.float().squeeze(1)
    return torch.tanh(number) if kind == "tanh" else number


def wdl_of(outputs: Tensor, kind: ValueName) -> Tensor:
    """Return win, draw and loss for the side to move, float32[B, 3]."""
    if kind == "wdl":
        return outputs.float().softmax(1)
    half = expected_value(outputs, kind).clamp(-1.0, 1.0) / 2
    return torch.stack([0.5 + half, torch.zeros_like(half), 0.5 - half], dim=1)
