"""Heads that only train: they read the end of the tower and teach it, and belong to the learner, never to a net.

| head | predicts | weight |
|---|---|---|
| soft | the search's weights at temperature 4: which moves are worth a thought at all | `learner.soft_weight` |
| reply | the move that the other side played next, on the board as it is here | `learner.reply_weight` |
| ahead | values of the searches about 6 and 16 plies later (`AHEAD` in cpp/data/buffer.h) | `learner.ahead_weight` |

They are KataGo's auxiliary soft policy, opponent policy and short-term values. A net that plays does not have them, so
nothing that reads nets knows of them. A head exists if its weight is above 0 at any cycle.
"""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor, nn

from selfmate.nn.architecture import SMALL_WEIGHT
from selfmate.nn.config import NetConfig
from selfmate.nn.net import ACTIVATIONS, Net, Norm, pooled
from selfmate.recipe.schema import TRAINING_HEADS, LearnerPart

__all__ = ["HORIZONS", "TrainingHeads", "TrainingNet", "heads_of"]

HORIZONS: Final = 2
"""Values ahead (`Samples.value_ahead`)."""


def heads_of(part: LearnerPart) -> tuple[str, ...]:
    """Return the heads whose weight is above 0 at any cycle of a recipe."""

    def is_on(weight: float | tuple[tuple[int, float], ...]) -> bool:
        return any(value > 0 for _, value in weight) if isinstance(weight, tuple) else weight > 0

    return tuple(name for name in TRAINING_HEADS if is_on(getattr(part, f"{name}_weight")))


class TrainingHeads(nn.Module):
    """The heads of a learner, with weights drawn from `seed` alone."""

    def __init__(self, config: NetConfig, names: tuple[str, ...], seed: int) -> None:
        super().__init__()
        self.names = names
        generator = torch.Generator().manual_seed(seed)
        for name in names:
            ahead = name == "ahead"
            self.add_module(name, _ValueHead(config) if ahead else _MoveHead(config))
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.normal_(module.weight, std=math.sqrt(2.0 / module.weight[0].numel()), generator=generator)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for name in names:
            last = self.get_submodule(name).last
            assert isinstance(last, nn.Conv2d | nn.Linear)
            nn.init.normal_(last.weight, std=SMALL_WEIGHT, generator=generator)

    def forward(self, trunk: Tensor) -> dict[str, Tensor]:
        """Map the end of the tower [B, C, R, F] to float32 logits [B, policy_size] and values [B, HORIZONS]."""
        return {name: self.get_submodule(name)(trunk).float() for name in self.names}


class _Reduced(nn.Module):
    """A 1x1 convolution with a norm, as the net's own heads begin."""

    def __init__(self, config: NetConfig, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(config.channels, width, 1, bias=False)
        self.norm = Norm(width)
        self.activation = config.activation

    def forward(self, trunk: Tensor) -> Tensor:
        return ACTIVATIONS[self.activation](self.norm(self.conv(trunk)))


class _MoveHead(nn.Module):
    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.reduce = _Reduced(config, config.policy_channels)
        self.last = nn.Conv2d(config.policy_channels, config.planes, 1)

    def forward(self, trunk: Tensor) -> Tensor:
        logits: Tensor = self.last(self.reduce(trunk))
        return logits.flatten(1)  # in the order of the policy index


class _ValueHead(nn.Module):
    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        width = config.value_channels or config.policy_channels
        self.reduce = _Reduced(config, width)
        self.hidden = nn.Linear(2 * width, 2 * width)
        self.last = nn.Linear(2 * width, HORIZONS)
        self.activation = config.activation

    def forward(self, trunk: Tensor) -> Tensor:
        hidden = ACTIVATIONS[self.activation](self.hidden(pooled(self.reduce(trunk), "mean_max")))
        values: Tensor = torch.tanh(self.last(hidden))
        return values


class TrainingNet(nn.Module):
    """A net together with heads that only train."""

    def __init__(self, net: Net, heads: TrainingHeads) -> None:
        super().__init__()
        self.net = net
        self.heads = heads

    def forward(self, bits: Tensor, scalars: Tensor) -> tuple[Tensor | None, Tensor, Tensor, dict[str, Tensor]]:
        """Return the outputs of the net, and those of the heads by name."""
        *outputs, trunk = self.net.forward_with_trunk(bits, scalars)
        logits, value, plies = outputs
        assert value is not None
        assert plies is not None
        return logits, value, plies, self.heads(trunk)
