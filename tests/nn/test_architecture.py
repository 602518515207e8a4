"""The description of the layers: consistent in itself, and the same net for PyTorch, NumPy and the files."""

from __future__ import annotations

import numpy as np
import pytest

from nets import CHESS, some_net
from selfmate.nn.architecture import OUTPUTS, PLANES, folded_tensors, layers, square_masks, tensor_shapes
from selfmate.nn.checkpoint import tensors_of
from selfmate.nn.config import GARDNER, Context, FixedFacts, NetConfig
from selfmate.nn.net import Net, fold

CONTEXTS: list[Context] = ["se", "pool", "none"]


@pytest.mark.parametrize("context", CONTEXTS)
def test_shapes_are_those_of_the_net(context: Context) -> None:
    config = NetConfig.sized(CHESS, "small", context=context, blocks=2)
    net = Net(config, seed=None)
    assert tensor_shapes(config) == {name: tuple(tensor.shape) for name, tensor in net.state_dict().items()}
    assert len({layer.name for layer in layers(config)}) == len(layers(config))


@pytest.mark.parametrize("context", CONTEXTS)
def test_every_layer_reads_what_was_written_for_it(context: Context) -> None:
    """Registers have as many channels as their readers expect, boards stay boards, and every output is written once."""
    config = NetConfig.sized(CHESS, "small", context=context, blocks=2)
    channels = {PLANES: config.bitboards + config.scalars + 1}
    boards = {PLANES}
    for layer in layers(config):
        assert (layer.reads in boards) == (layer.kind == "conv" or layer.pooling != "none"), layer
        assert layer.inputs == channels[layer.reads] * (2 if layer.pooling == "mean_max" else 1), layer
        for board in filter(None, (layer.onto, layer.residual)):
            assert board in boards
            assert channels[board] == layer.outputs // (2 if layer.kind == "scale_shift" else 1), layer
        assert bool(layer.onto) == (layer.kind in ("scale_shift", "shift"))
        assert layer.writes not in OUTPUTS or layer.writes not in channels
        channels[layer.writes] = channels[layer.onto] if layer.onto else layer.outputs
        (boards.discard if layer.kind == "linear" else boards.add)(layer.writes)
    assert {name: channels[name] for name in OUTPUTS} == {"policy": config.planes, "wdl": 3, "plies": 1}


@pytest.mark.parametrize("context", CONTEXTS)
def test_numpy_folds_norms_as_torch_does(context: Context) -> None:
    net = some_net(context)
    folded = fold(net)
    for name, (weight, bias) in folded_tensors(net.config, tensors_of(net)).items():
        module = folded.weights(name)
        assert module.bias is not None
        assert np.array_equal(weight, module.weight.numpy()), name
        assert np.array_equal(bias, module.bias.numpy()), name


@pytest.mark.parametrize("facts", [GARDNER, CHESS])
def test_masks_are_the_squares_of_the_board(facts: FixedFacts) -> None:
    masks = square_masks(NetConfig.sized(facts)).view(np.uint64)
    bits = [int(mask).bit_length() - 1 for mask in masks]
    assert bits == [8 * rank + file for rank in range(facts.ranks) for file in range(facts.files)]
    assert all(int(mask).bit_count() == 1 for mask in masks)
