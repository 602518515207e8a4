"""Weights of one net as the start of another: more or fewer blocks, another board, or without context layers."""

from __future__ import annotations

import dataclasses
from typing import Final

import torch
from torch import Tensor

from selfmate.nn.architecture import PLANES
from selfmate.nn.config import NetError
from selfmate.nn.net import Net

__all__ = ["copy_matching_weights", "means_the_same", "transfer_tower", "without_context"]

SAME_MEANING: Final = ("encoder", "history", "activation", "widths")
"""Keys of a config that must be equal for the weights of a tower to mean the same."""
HEADS: Final = ("policy", "underpromotions", "heads", "value")
"""Likewise for the weights of the heads."""


def transfer_tower(source: Net, target: Net) -> int:
    """Copy the stem and the blocks of `source` into `target`, also from another variant or board size.

    Blocks that only the target has stay as they are: in a new net, the identity. The heads stay too. Returns the
    number of blocks copied; raises `NetError` where the towers differ in width, input or context.

    >>> from selfmate.nn.config import GARDNER, NetConfig
    >>> small_board = Net(NetConfig.sized(GARDNER), seed=1)
    >>> large_board = Net(NetConfig.sized(GARDNER._replace(variant="chess", files=8, ranks=8, planes=73)), seed=2)
    >>> transfer_tower(small_board, large_board)
    4
    """
    for key in ("bitboards", "scalars", "channels", "context", *SAME_MEANING, "context_blocks"):
        if (here := getattr(source.config, key)) != (there := getattr(target.config, key)):
            raise NetError(f"the towers do not fit: {key} is {here} in one and {there} in the other", key)
    copied = min(source.config.blocks, target.config.blocks)
    old, new = source.state_dict(), target.state_dict()
    for layer in source.layers:
        if layer.name.startswith(("stem", "blocks.")):
            for name in layer.tensors.keys() & new.keys():
                new[name].copy_(old[name])
    return copied


def copy_matching_weights(source: Net, target: Net) -> bool:
    """Copy all tensors of equal name and shape into another net; return False if they differ in width or meaning.

    Blocks that only the target has stay as they are: in a new net, the identity.

    >>> from selfmate.nn.config import GARDNER, NetConfig
    >>> old, new = Net(NetConfig.sized(GARDNER, blocks=1), seed=1), Net(NetConfig.sized(GARDNER, blocks=2), seed=2)
    >>> bits, scalars = torch.tensor([[5] * GARDNER.bitboards]), torch.ones(1, GARDNER.scalars)
    >>> copy_matching_weights(old, new), torch.equal(old.eval()(bits, scalars)[0], new.eval()(bits, scalars)[0])
    (True, True)
    """
    if not means_the_same(source, target):
        return False
    old = source.state_dict()
    for name, tensor in target.state_dict().items():
        if name in old and old[name].shape == tensor.shape:
            tensor.copy_(old[name])
    return True


def means_the_same(source: Net, target: Net) -> bool:
    """Return whether the weights of two nets are of one width, read the same planes and give the same outputs."""
    keys = ("channels", *SAME_MEANING, *HEADS)
    return all(getattr(source.config, key) == getattr(target.config, key) for key in keys)


@torch.no_grad()
def without_context(net: Net, bits: Tensor, scalars: Tensor) -> Net:
    """Copy a net, leaving out the context layers of its blocks.

    The mean effect of each context at the given positions (a scale and a shift of each channel, by least squares) is
    folded into the norm before it. `bits` is int64[B, P], `scalars` float[B, S].
    """
    result = Net(dataclasses.replace(net.config, context="none", context_blocks=""), seed=0).eval()
    copy_matching_weights(net, result)
    net.eval()
    values = {PLANES: net.planes(bits, scalars)}
    for layer in net.layers:
        if layer.onto:
            x, y = (
                board.transpose(0, 1).flatten(1).double() for board in (values[layer.onto], net.branch(layer, values))
            )
            scale = ((x * y).mean(1) - x.mean(1) * y.mean(1)) / x.var(1, unbiased=False).clamp(min=1e-12)
            shift = y.mean(1) - scale * x.mean(1)
            block = layer.name.partition(".context.")[0]
            weight, bias = (result.get_parameter(f"{block}.second.norm.{each}") for each in ("weight", "bias"))
            weight.copy_(weight * scale)
            bias.copy_(bias * scale + shift)
        values[layer.writes] = net.compute(layer, values)
    return result
