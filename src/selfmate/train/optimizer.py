"""The optimizers of a recipe, and the state that they keep of each weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

from selfmate.recipe.schema import LearnerPart

__all__ = ["empty_state", "make_optimizer"]

BETA1: Final = 0.9
"""Of Adam and AdamW: decay of the mean gradient."""


def make_optimizer(
    part: LearnerPart, parameters: Sequence[torch.nn.Parameter], rate: float | Tensor
) -> torch.optim.Optimizer:
    """Return the recipe's optimizer, which decays matrices only; a CUDA graph reads the rate from a tensor."""
    matrices = [parameter for parameter in parameters if parameter.ndim >= 2]
    vectors = [parameter for parameter in parameters if parameter.ndim < 2]
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    if part.optimizer == "sgd":
        nesterov = part.nesterov and part.momentum > 0
        return torch.optim.SGD(groups, lr=rate, momentum=part.momentum, nesterov=nesterov, fused=True)
    kind = torch.optim.AdamW if part.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, lr=rate, betas=(BETA1, part.beta2), fused=True, capturable=isinstance(rate, Tensor))


def empty_state(part: LearnerPart, parameter: torch.nn.Parameter) -> dict[str, Tensor]:
    """Return zeros in the shapes of what the optimizer keeps of a parameter once a step was made."""
    zeros = torch.zeros_like(parameter.detach())
    if part.optimizer == "sgd":
        return {"momentum_buffer": zeros} if part.momentum else {}
    return {"step": torch.zeros((), device=zeros.device), "exp_avg": zeros, "exp_avg_sq": zeros.clone()}
