"""The optimizers of a recipe, and the state that they keep of each weight."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch import Tensor

from selfmate.recipe.schema import LearnerPart

__all__ = ["Muon", "empty_state", "make_optimizer", "orthogonalised"]

BETA1: Final = 0.9
"""Of Adam and AdamW: decay of the mean gradient."""
NEWTON_SCHULZ: Final = (3.4445, -4.7750, 2.0315)
NEWTON_SCHULZ_STEPS: Final = 5
"""The quintic of Jordan et al. 2024, "Muon": it takes singular values from 0.01 to 1 to about 0.7 to 1.2."""
UPDATE_RMS: Final = 0.2
"""Root mean square of an update of Muon at a rate of 1, about that of AdamW (Liu et al. 2025, "Muon is scalable")."""


class Muon(torch.optim.AdamW):
    """Momentum whose updates are orthogonalised (Jordan et al. 2024) for the 3x3 convolutions of the tower, else AdamW.

    A weight [O, I, 3, 3] counts as a matrix of O rows and 9 I columns. With momentum m, Nesterov's unless switched off,

        update = rate * 0.2 * sqrt(max(rows, columns)) * orthogonalised(m)

    so that one rate fits both kinds of weights. The decay is decoupled, as in AdamW.
    """

    def __init__(self, groups: list[dict[str, Any]], *, momentum: float, nesterov: bool, **options: Any) -> None:
        super().__init__(groups, **options)
        self.momentum = momentum
        self.nesterov = nesterov

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make a step; no tensor is read on the CPU, so that a CUDA graph can be made of it."""
        every = self.param_groups
        self.param_groups = [group for group in every if not group.get("tower")]
        try:
            result = super().step(closure)
        finally:
            self.param_groups = every
        for group in every:
            if group.get("tower"):
                self._step_tower(group)
        return result

    @torch.no_grad()
    def _step_tower(self, group: dict[str, Any]) -> None:
        by_shape: dict[torch.Size, list[torch.nn.Parameter]] = defaultdict(list)
        for parameter in group["params"]:
            if parameter.grad is not None:
                by_shape[parameter.shape].append(parameter)
        rate, decay = group["lr"], group["weight_decay"]
        for shape, parameters in by_shape.items():
            # 1. Momentum
            gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
            moments = [self._moment(parameter) for parameter in parameters]
            torch._foreach_lerp_(moments, gradients, 1 - self.momentum)
            looked = torch._foreach_lerp(gradients, moments, self.momentum) if self.nesterov else moments
            # 2. Orthogonalise all weights of a shape at once
            matrices = torch.stack([each.reshape(shape[0], -1) for each in looked])
            scale = UPDATE_RMS * max(matrices.shape[1:]) ** 0.5
            updates = orthogonalised(matrices).to(parameters[0].dtype) * (scale * rate)
            # 3. Decay and step
            for parameter, update in zip(parameters, updates, strict=True):
                parameter.mul_(1 - rate * decay).sub_(update.reshape(shape))

    def _moment(self, parameter: torch.nn.Parameter) -> Tensor:
        state = self.state[parameter]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(parameter)
        moment: Tensor = state["momentum_buffer"]
        return moment


def orthogonalised(matrices: Tensor) -> Tensor:
    """Return matrices [..., M, N] with the same singular vectors, and singular values near 1, by Newton-Schulz steps.

    In bfloat16 on a GPU, which the quintic tolerates; a matrix of zeros stays zero.

    >>> found = orthogonalised(torch.tensor([[[3.0, 0.0], [0.0, -0.5]]]))[0]
    >>> bool((found.diag().abs() - 1).abs().max() < 0.35), float(found[0, 1])
    (True, 0.0)
    """
    x = matrices.bfloat16() if matrices.is_cuda else matrices.float()
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    is_tall = x.shape[-2] > x.shape[-1]
    x = x.mT if is_tall else x
    a, b, c = NEWTON_SCHULZ
    for _ in range(NEWTON_SCHULZ_STEPS):
        product = x @ x.mT
        x = a * x + (b * product + c * product @ product) @ x
    found: Tensor = x.mT if is_tall else x
    return found


def is_tower(name: str, parameter: torch.nn.Parameter) -> bool:
    """Return whether a parameter is the weight of a convolution between two layers of the tower."""
    return name.startswith(("blocks.", "tower.")) and parameter.ndim == 4


def make_optimizer(
    part: LearnerPart, parameters: Mapping[str, torch.nn.Parameter], rate: float | Tensor
) -> torch.optim.Optimizer:
    """Return the recipe's optimizer, which decays matrices only; a CUDA graph reads the rate from a tensor."""
    matrices = {name: parameter for name, parameter in parameters.items() if parameter.ndim >= 2}
    vectors = [parameter for parameter in parameters.values() if parameter.ndim < 2]
    groups: list[dict[str, Any]] = [{"params": list(matrices.values())}, {"params": vectors, "weight_decay": 0.0}]
    if part.optimizer == "sgd":
        nesterov = part.nesterov and part.momentum > 0
        return torch.optim.SGD(groups, lr=rate, momentum=part.momentum, nesterov=nesterov, fused=True)
    adam: dict[str, Any] = {"lr": rate, "betas": (BETA1, part.beta2), "fused": True}
    adam["capturable"] = isinstance(rate, Tensor)
    if part.optimizer == "muon":
        tower = [parameter for name, parameter in matrices.items() if is_tower(name, parameter)]
        groups[0]["params"] = [each for name, each in matrices.items() if not is_tower(name, each)]
        groups += [{"params": tower, "tower": True}] if tower else []
        return Muon(groups, momentum=part.momentum, nesterov=part.nesterov, **adam)
    kind = torch.optim.AdamW if part.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, **adam)


def empty_state(part: LearnerPart, name: str, parameter: torch.nn.Parameter) -> dict[str, Tensor]:
    """Return zeros in the shapes of what the optimizer keeps of a parameter once a step was made."""
    zeros = torch.zeros_like(parameter.detach())
    if part.optimizer == "muon" and is_tower(name, parameter):
        return {"momentum_buffer": zeros}
    if part.optimizer == "sgd":
        return {"momentum_buffer": zeros} if part.momentum else {}
    return {"step": torch.zeros((), device=zeros.device), "exp_avg": zeros, "exp_avg_sq": zeros.clone()}
