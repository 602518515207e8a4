"""Weights of one net as the start of another: more or fewer blocks, wider, another board, or without context layers."""

from __future__ import annotations

import dataclasses
from typing import Final, NamedTuple

import torch
from torch import Tensor

from selfmate.nn.architecture import PLANES
from selfmate.nn.config import NetError
from selfmate.nn.encodings import encoding_of
from selfmate.nn.net import Net
from selfmate.util.text import many

__all__ = [
    "CarriedWeights",
    "carry_over",
    "check_towers",
    "copy_matching_weights",
    "grow",
    "means_the_same",
    "transfer_tower",
    "without_context",
]

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
    check_towers(source, target)
    copied = min(source.config.blocks, target.config.blocks)
    old, new = source.state_dict(), target.state_dict()
    for layer in source.layers:
        if layer.name.startswith(("stem", "blocks.", "tower.")):
            for name in layer.tensors.keys() & new.keys():
                new[name].copy_(old[name])
    return copied


def check_towers(source: Net, target: Net) -> None:
    """Raise `NetError` where the weights of one tower do not mean anything in the other."""
    for key in ("bitboards", "scalars", "channels", "context", *SAME_MEANING, "context_blocks"):
        if (here := getattr(source.config, key)) != (there := getattr(target.config, key)):
            raise NetError(f"the towers do not fit: {key} is {here} in one and {there} in the other", key)


class CarriedWeights(NamedTuple):
    """What a net has of one of another variant or board; the rest of it is new."""

    blocks: int
    """Of the tower; the stem comes with them, for both read the same planes. A plain tower has none, and is copied."""
    policy_planes: int
    """Kinds of moves (direction and distance, underpromotion, to-square) whose logits it has."""
    has_value: bool

    def __str__(self) -> str:
        parts = [f"the tower of {many(self.blocks, 'block')}" if self.blocks else "the tower"]
        parts += [f"{many(self.policy_planes, 'plane')} of the policy"] * (self.policy_planes > 0)
        parts += ["the value"] * self.has_value
        return ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]


@torch.no_grad()
def carry_over(source: Net, target: Net) -> CarriedWeights:
    """Copy into a net of another variant or board size what means the same there; the rest stays as it is.

    That is the stem and the blocks (`transfer_tower`); of the policy the planes with the same names, which heads by
    convolutions have on every board and full heads on boards of one size; and the value head, likewise. Raises
    `NetError` where the towers do not fit.

    >>> from selfmate.nn.encodings import sized_for
    >>> print(carry_over(Net(sized_for("gardner"), seed=1), Net(sized_for("chess"), seed=2)))
    the tower of 4 blocks, 49 planes of the policy and the value
    """
    blocks = transfer_tower(source, target)
    here, there = source.config, target.config
    old, new = source.state_dict(), target.state_dict()
    same_board = (here.files, here.ranks) == (there.files, there.ranks)

    def copy_layers(prefix: str) -> bool:
        """Copy the layers of a head whose shapes are equal, if all of them are."""
        names = [name for name in new if name.startswith(prefix)]
        if not all(name in old and old[name].shape == new[name].shape for name in names):
            return False
        for name in names:
            new[name].copy_(old[name])
        return bool(names)

    # 1. The value
    has_value = (
        here.value == there.value
        and here.heads == there.heads
        and (here.heads == "conv" or same_board)
        and copy_layers("value.")
    )
    # 2. The policy: its first layer, and of the last one the planes that both have
    keys = ("policy", "underpromotions", "heads", "policy_channels")
    if here.policy == "none" or any(getattr(here, key) != getattr(there, key) for key in keys):
        return CarriedWeights(blocks, 0, has_value)
    if here.heads == "full" and not same_board:
        return CarriedWeights(blocks, 0, has_value)
    copy_layers("policy.reduce.")
    copy_layers("policy.from.")
    places = {name: plane for plane, name in enumerate(encoding_of(here).plane_names())}
    shared = [(plane, places[name]) for plane, name in enumerate(encoding_of(there).plane_names()) if name in places]
    for name in ("policy.planes.weight", "policy.planes.bias", "policy.full.weight", "policy.full.bias"):
        if name in new:
            planes, theirs = (tensor.unflatten(0, (count, -1)) for tensor, count in (
                (new[name], there.planes), (old[name], here.planes)))  # fmt: skip
            for plane, place in shared:
                planes[plane].copy_(theirs[place])
    return CarriedWeights(blocks, len(shared), has_value)


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
def grow(source: Net, target: Net) -> None:
    """Copy the weights of a net into one with more blocks or channels, so that both compute the same.

    What only the target has keeps its own weights: a new block is the identity, a new channel is computed, but has the
    weight 0 wherever an old channel would read it, and learns from there (as in Net2Net, Chen et al. 2016, without its
    copies of channels, which would have equal gradients). Raises `NetError` where the target is smaller, or differs in
    anything else.

    >>> from selfmate.nn.config import GARDNER, NetConfig
    >>> old, new = (Net(NetConfig.sized(GARDNER, blocks=1, channels=width), seed=width) for width in (8, 12))
    >>> grow(old, new)
    >>> bits, scalars = torch.tensor([[5] * GARDNER.bitboards]), torch.ones(1, GARDNER.scalars)
    >>> torch.allclose(old.eval()(bits, scalars)[0], new.eval()(bits, scalars)[0], atol=1e-5)
    True
    """
    here, there = source.config.to_dict(), target.config.to_dict()
    for key in sorted(here.keys() | there.keys()):
        before, after = here.get(key), there.get(key)
        if before != after and key not in ("blocks", "channels"):
            raise NetError(f"a net grows in blocks and channels alone; {key} is {before} and {after}", key)
        if key in ("blocks", "channels") and after < before:  # type: ignore[operator]
            raise NetError(f"a net grows; {key} would fall from {before} to {after}", key)
    old, new = source.state_dict(), target.state_dict()
    larger = {layer.name: layer for layer in target.layers}
    for layer in source.layers:
        grown = larger[layer.name]
        rows = _old_places(layer.outputs, grown.outputs, halves=layer.kind == "scale_shift")
        columns = _old_places(layer.inputs, grown.inputs, halves=layer.pooling == "mean_max")
        for name in layer.tensors:
            if new[name].ndim == 1:
                new[name][rows] = old[name].to(new[name].device)
            else:
                weight = torch.zeros_like(new[name][rows])
                weight[:, columns] = old[name].to(weight.device)
                new[name][rows] = weight


def _old_places(before: int, after: int, *, halves: bool) -> Tensor:
    """Return where the old numbers of a vector are in a longer one: at its beginning, or at that of each half.

    >>> _old_places(4, 6, halves=True).tolist(), _old_places(4, 6, halves=False).tolist()
    ([0, 1, 3, 4], [0, 1, 2, 3])
    """
    first = torch.arange(before // 2 if halves else before)
    return torch.cat([first, after // 2 + first]) if halves else first


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
