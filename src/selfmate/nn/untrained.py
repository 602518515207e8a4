"""Untrained twins of nets: the same architecture with random weights, without PyTorch.

A net that is shipped comes without the net with which its run began. Its twin stands for that one: another draw from
the same distribution (`LayerSpec.initial`), always the same one for a seed.

>>> from selfmate.nn import shipped
>>> folder = shipped.named("gardner-laptop")
>>> twin, again = untrained_twin(folder), untrained_twin(folder)
>>> twin.config == read_net_config(folder), twin.card == again.card, twin.card.step
(True, True, 0)
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from selfmate.nn.architecture import layers
from selfmate.nn.checkpoint import NetTensors, read_net_config, with_card
from selfmate.nn.config import NetConfig

__all__ = ["UNTRAINED", "draw_tensors", "untrained_twin"]

UNTRAINED: Final = "untrained"
"""The word behind the colon of a player's name."""
TWIN_SEED: Final = 1


def untrained_twin(folder: str | Path, seed: int = TWIN_SEED) -> NetTensors:
    """Return a net of the architecture of the one in a folder, with weights drawn from `seed` alone.

    Raises `WeightsError` where the folder holds no net; its weights are not read.
    """
    config = read_net_config(folder)
    return with_card(config, draw_tensors(config, seed), created_by=UNTRAINED)


def draw_tensors(config: NetConfig, seed: int) -> dict[str, NDArray[np.float32]]:
    """Return initial tensors of a net, float32, by the names and with the shapes of `tensor_shapes`.

    They have the distributions of those that `Net(config, seed)` draws, and other numbers.
    """
    random = np.random.default_rng(seed)
    found: dict[str, NDArray[np.float32]] = {}
    for layer in layers(config):
        for name, (mean, spread) in layer.initial.items():
            numbers = np.full(layer.tensors[name], mean, np.float32)
            if spread:
                numbers += np.float32(spread) * random.standard_normal(numbers.shape, np.float32)
            found[name] = numbers
    return found
