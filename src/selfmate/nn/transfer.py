"""Weights of one net as the start of another: larger, smaller, or without context blocks."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn

from selfmate.nn.config import NetError
from selfmate.nn.net import Block, Net, Norm

__all__ = ["take_over", "transfer_tower", "without_context"]


def transfer_tower(source: Net, target: Net) -> int:
    """Copy the stem and the blocks of `source` into `target`, also from another variant or board size.

    Blocks that only the target has stay as they are: in a new net, the identity. The heads stay too. Gives the
    number of blocks that were copied.

    >>> from selfmate.nn.config import GARDNER, NetConfig
    >>> small_board = Net(NetConfig.sized(GARDNER), seed=1)
    >>> large_board = Net(NetConfig.sized(GARDNER._replace(variant="chess", files=8, ranks=8, planes=73)), seed=2)
    >>> transfer_tower(small_board, large_board)
    4
    """
    mine, theirs = source.config, target.config
    for key in ("bitboards", "scalars", "channels", "context"):
        if (here := getattr(mine, key)) != (there := getattr(theirs, key)):
            raise NetError(f"the towers do not fit: {key} is {here} in one and {there} in the other", key)
    copied = min(mine.blocks, theirs.blocks)
    target.stem.load_state_dict(source.stem.state_dict())
    for index in range(copied):
        target.blocks[index].load_state_dict(source.blocks[index].state_dict())
    return copied


def take_over(source: Net, target: Net) -> bool:
    """Copy all that fits from a net of the same width into another one of the same variant; say whether any did.

    Blocks that only the target has stay as they are: in a new net, the identity.

    >>> from selfmate.nn.config import GARDNER, NetConfig
    >>> old, new = Net(NetConfig.sized(GARDNER, blocks=1), seed=1), Net(NetConfig.sized(GARDNER, blocks=2), seed=2)
    >>> bits, scalars = torch.tensor([[5] * GARDNER.bitboards]), torch.ones(1, GARDNER.scalars)
    >>> take_over(old, new), torch.equal(old.eval()(bits, scalars)[0], new.eval()(bits, scalars)[0])
    (True, True)
    """
    if source.config.channels != target.config.channels:
        return False
    theirs = source.state_dict()
    for name, tensor in target.state_dict().items():
        if name in theirs and theirs[name].shape == tensor.shape:
            tensor.copy_(theirs[name])
    return True


@torch.no_grad()
def without_context(net: Net, bits: Tensor, scalars: Tensor) -> Net:
    """Copy a net whose blocks no longer see the whole board: what that did on average at these positions stays."""
    result = Net(dataclasses.replace(net.config, context="none"), seed=0).eval()
    take_over(net, result)
    means: list[tuple[Tensor, Tensor]] = []

    def hear(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        """Find the scale and shift that make the output of the input, of each channel."""
        x, y = (each.transpose(0, 1).flatten(1).double() for each in (inputs[0], output))
        scale = ((x * y).mean(1) - x.mean(1) * y.mean(1)) / x.var(1, unbiased=False).clamp(min=1e-12)
        means.append((scale, y.mean(1) - scale * x.mean(1)))

    hooks = [block.context.register_forward_hook(hear) for block in net.blocks if isinstance(block, Block)]
    net.eval()(bits, scalars)
    for hook in hooks:
        hook.remove()
    for block, (scale, shift) in zip(result.blocks, means, strict=True):
        assert isinstance(block, Block)
        norm = block.second.norm
        assert isinstance(norm, Norm)
        norm.weight.copy_(norm.weight * scale)
        norm.bias.copy_(norm.bias * scale + shift)
    return result
