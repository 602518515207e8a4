"""The net in PyTorch: bitboards in; logits of moves and of win-draw-loss, and plies left out.

A residual tower of 3x3 convolutions, each followed by a batch norm that `fold` folds into it. Which layers there are,
and how they are connected, is described in `selfmate.nn.architecture`; this module makes and computes them. Only the
masks that unpack the bits depend on the size of the board, so that a tower trained on 5x5 carries over to 8x8
(`transfer_tower`). B is the batch, P the bitboards, S the scalars, C the channels, R the ranks, F the files, M the most
moves of a position.

>>> from selfmate.nn.config import GARDNER
>>> net = Net(NetConfig.sized(GARDNER, "tiny"), seed=1)
>>> bits, scalars = torch.zeros(2, 16, dtype=torch.int64), torch.zeros(2, 4)
>>> [tuple(output.shape) for output in net(bits, scalars)]
[(2, 1225), (2, 3), (2,)]
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from selfmate.nn.architecture import (
    LEAKY_SLOPE,
    NORM_EPSILON,
    PADDING_LOGIT,
    PLANES,
    PLIES_UNIT,
    TURN_PLANE,
    LayerSpec,
    Pooling,
    fold_norm,
    layers,
    square_masks,
)
from selfmate.nn.config import NetConfig
from selfmate.nn.values import expected_value, wdl_of

__all__ = ["Net", "Norm", "fold", "fuse_for_tensor_cores", "rounded"]

NORM_MOMENTUM: Final = 0.05
"""Running statistics follow about the last twenty batches."""
ACTIVATIONS: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    "none": lambda x: x,
    "relu": functional.relu,
    "mish": functional.mish,
    "leaky": lambda x: functional.leaky_relu(x, LEAKY_SLOPE),
}


class Norm(nn.BatchNorm2d):
    """Batch norm with running statistics, but without the count of batches, which is not used."""

    shared: Callable[[Norm, Tensor], Tensor] | None = None
    """What computes it in training where processes share a batch (train/learner_group.py); None: one has it all."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, eps=NORM_EPSILON, momentum=NORM_MOMENTUM)
        self.register_buffer("num_batches_tracked", None)

    def reset_parameters(self) -> None:
        """Make it the identity."""
        for tensor, number in ((self.weight, 1.0), (self.bias, 0.0), (self.running_mean, 0.0), (self.running_var, 1.0)):
            assert tensor is not None
            nn.init.constant_(tensor, number)

    def forward(self, x: Tensor) -> Tensor:
        """Map [B, C, R, F] to the same shape: by the statistics of the batch in training, else by the running ones."""
        return super().forward(x) if self.shared is None or not self.training else self.shared(self, x)


class ConvNorm(nn.Module):
    """A convolution that keeps the size of the board, and its batch norm."""

    fused = False
    """Whether convolution, bias, residual and relu are one kernel: on a GPU, after `fold`."""

    def __init__(self, layer: LayerSpec) -> None:
        super().__init__()
        self.conv = _conv(layer, bias=False)
        self.norm: nn.Module = Norm(layer.outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Map [B, inputs, R, F] to [B, outputs, R, F]."""
        out: Tensor = self.norm(self.conv(x))
        return out

    def fold(self) -> None:
        """Fold the norm, with its present statistics, into the convolution. A folded one stays as it is."""
        if not isinstance(self.norm, Norm):
            return
        norm = {name: tensor.double() for name, tensor in self.norm.state_dict().items()}
        dtype = self.conv.weight.dtype
        weight, bias = fold_norm(self.conv.weight.double(), norm)
        self.conv.weight = nn.Parameter(weight.to(dtype), requires_grad=False)
        self.conv.bias = nn.Parameter(bias.to(dtype), requires_grad=False)
        self.norm = nn.Identity()


def _conv(layer: LayerSpec, *, bias: bool) -> nn.Conv2d:
    return nn.Conv2d(layer.inputs, layer.outputs, layer.kernel, padding=layer.kernel // 2, bias=bias)


def _module(layer: LayerSpec) -> nn.Module:
    """Make the module that holds the weights of a layer."""
    if layer.kind != "conv":
        return nn.Linear(layer.inputs, layer.outputs)
    return ConvNorm(layer) if layer.normed else _conv(layer, bias=True)


@torch.library.custom_op("selfmate::fused_conv_relu", mutates_args=())
def fused_conv_relu(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor | None) -> Tensor:
    """Convolve, add bias and residual, and rectify, in one kernel of cuDNN's.

    The compiler writes the result of the convolution to memory and reads it again for the rest: a quarter of the time.
    """
    size = weight.shape[2] // 2
    if residual is None:
        return torch.cudnn_convolution_relu(x, weight, bias, (1, 1), (size, size), (1, 1), 1)
    return torch.cudnn_convolution_add_relu(x, weight, residual, 1.0, bias, (1, 1), (size, size), (1, 1), 1)


@fused_conv_relu.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor | None) -> Tensor:
    shape = (x.shape[0], weight.shape[0], x.shape[2], x.shape[3])
    return torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=torch.channels_last)


def pooled(x: Tensor, pooling: Pooling) -> Tensor:
    """Map a board [B, C, R, F] to the means of its channels [B, C], means and maxima [B, 2 C], or all [B, C R F]."""
    if pooling == "none":
        return x
    if pooling == "flatten":
        return x.flatten(1)
    mean = x.mean((2, 3))
    if pooling == "mean":
        return mean
    # Not amax: its gradient goes to the elements equal to the maximum, and a fused kernel that has the elements in
    # another precision than the maximum finds none.
    return torch.cat([mean, x.flatten(2).max(2).values], dim=1)


class Net(nn.Module):
    """The whole net, with weights drawn from `seed` alone; the global random state is neither read nor changed.

    Without a seed it stays on the device `meta`: shapes and no memory.
    """

    masks: Tensor

    def __init__(self, config: NetConfig, seed: int | None = 0) -> None:
        super().__init__()
        self.config = config
        self.layers = layers(config)
        with torch.device("meta"):
            self._by_name = {layer.name: _module(layer) for layer in self.layers}
        for name, module in self._by_name.items():
            self._register(name, module)
        if seed is not None:
            self.to_empty(device="cpu")
            self._draw_weights(torch.Generator().manual_seed(seed))
        self.register_buffer("masks", torch.from_numpy(square_masks(config)), persistent=False)

    def _register(self, path: str, module: nn.Module) -> None:
        """Register a submodule under a path with dots."""
        *folders, last = path.split(".")
        place: nn.Module = self
        for folder in folders:
            if folder not in dict(place.named_children()):
                place.add_module(folder, nn.Module())
            place = place.get_submodule(folder)
        place.add_module(last, module)

    def _draw_weights(self, generator: torch.Generator) -> None:
        """Initialise every tensor by `LayerSpec.initial`.

        The order is part of what a seed means: all weights by Kaiming's rule, then the small ones again.
        """
        tensors = self.state_dict()
        for layer in self.layers:
            nn.init.normal_(self.weights(layer.name).weight, std=layer.kaiming_spread, generator=generator)
        for layer in self.layers:
            for name, (mean, spread) in layer.initial.items():
                if spread == 0:
                    nn.init.constant_(tensors[name], mean)
                elif layer.start == "small":
                    nn.init.normal_(tensors[name], mean, spread, generator=generator)

    def weights(self, name: str) -> nn.Conv2d | nn.Linear:
        """Return the module with weight and bias of the layer of this name."""
        module = self._by_name[name]
        found = module.conv if isinstance(module, ConvNorm) else module
        assert isinstance(found, nn.Conv2d | nn.Linear)
        return found

    # -- computing ----------------------------------------------------------------------------------------------------

    def planes(self, bits: Tensor, scalars: Tensor) -> Tensor:
        """Unpack int64[B, P] and float[B, S] to the input of the tower, [B, C, R, F].

        C is at least P + S; the planes behind them, one for the encoder `full` or more if padded, are ones.
        """
        ranks, files = self.config.ranks, self.config.files
        weight = self.weights("stem").weight
        boards = ((bits[:, :, None] & self.masks) != 0).to(weight.dtype).view(-1, self.config.bitboards, ranks, files)
        ones = weight.shape[1] - boards.shape[1] - scalars.shape[1]
        flat = functional.pad(scalars.to(weight.dtype), (0, ones), value=1.0)
        return torch.cat([boards, flat[:, :, None, None].expand(-1, -1, ranks, files)], dim=1)

    def raw(self, bits: Tensor, scalars: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits of all moves and the value in the precision of the weights, and plies left in float32.

        Shapes as in `forward`, but a value that is a number is [B, 1] and still without tanh, and a net without a
        policy has equal logits.
        """
        return self._raw_with_trunk(bits, scalars)[:3]

    def _raw_with_trunk(self, bits: Tensor, scalars: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the outputs of `raw` and the end of the tower, [B, C, R, F]."""
        values = {PLANES: self.planes(bits, scalars)}
        for layer in self.layers:
            values[layer.writes] = self.compute(layer, values)
        plies = functional.softplus(values["plies"].float()).squeeze(1) * PLIES_UNIT
        policy_logits = self._policy_logits(values, bits.shape[0])
        return policy_logits, self._value(values["wdl"], bits), plies, values["trunk"]

    def _policy_logits(self, values: Mapping[str, Tensor], size: int) -> Tensor:
        """Return the logits of all moves: [B, planes * squares], in the order of the policy index."""
        if self.config.policy == "none":
            return self.weights("stem").weight.new_zeros(1, 1).expand(size, self.config.policy_size)
        if self.config.policy == "planes" or self.config.policy == "fromto":
            return values["policy"].flatten(1)
        froms = values["from"].flatten(1)
        moves = values["policy"].flatten(1).reshape(size, -1, froms.shape[1])
        return (moves + froms[:, None]).flatten(1)

    def _value(self, outputs: Tensor, bits: Tensor) -> Tensor:
        """Return the outputs of the value head for the side to move: of `two`, the one of its colour."""
        if self.config.value != "two":
            return outputs
        return torch.where(bits[:, TURN_PLANE, None] != 0, outputs[:, :1], outputs[:, 1:])

    def compute(self, layer: LayerSpec, values: Mapping[str, Tensor]) -> Tensor:
        """Compute a layer from the registers: what it writes."""
        residual = values[layer.residual] if layer.residual else None
        module = self._by_name[layer.name]
        if isinstance(module, ConvNorm) and module.fused:
            assert module.conv.bias is not None
            x = values[layer.reads].contiguous(memory_format=torch.channels_last)  # the planes come otherwise
            fused: Tensor = fused_conv_relu(x, module.conv.weight, module.conv.bias, residual)
            return fused
        out = self.branch(layer, values)
        return ACTIVATIONS[layer.activation](out if residual is None else residual + out)

    def branch(self, layer: LayerSpec, values: Mapping[str, Tensor]) -> Tensor:
        """Compute a layer before its residual and its activation."""
        out: Tensor = self._by_name[layer.name](pooled(values[layer.reads], layer.pooling))
        if layer.kind == "scale_shift":
            scale, shift = out.chunk(2, dim=1)
            return values[layer.onto] * torch.sigmoid(scale)[:, :, None, None] + shift[:, :, None, None]
        return values[layer.onto] + out[:, :, None, None] if layer.kind == "shift" else out

    def forward(self, bits: Tensor, scalars: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        """Return float32 logits of all moves [B, policy_size], of win-draw-loss [B, 3], and plies left [B].

        A net without a policy has None in place of the first; one whose value is a number has [B] in place of [B, 3],
        within -1 to 1 only for `tanh`. `bits` is int64[B, P] (the uint64 of the encoder, bit for bit), `scalars`
        float[B, S]. The logits of moves are in the order of the policy index.
        """
        return self.forward_with_trunk(bits, scalars)[:3]

    def forward_with_trunk(self, bits: Tensor, scalars: Tensor) -> tuple[Tensor | None, Tensor, Tensor, Tensor]:
        """Return the outputs of `forward` and the end of the tower, [B, C, R, F], for heads that only train."""
        policy_logits, value, plies, trunk = self._raw_with_trunk(bits, scalars)
        kind = self.config.value
        logits = None if self.config.policy == "none" else policy_logits.float()
        return logits, value.float() if kind == "wdl" else expected_value(value, kind), plies, trunk

    def evaluate(self, bits: Tensor, scalars: Tensor, moves: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return float32 priors of the legal moves [B, M], win-draw-loss [B, 3] and plies left [B].

        `moves` [B, M] are policy indices of which the first `counts` [B] are the legal moves (any integer types);
        priors add up to one over them and are exactly zero beyond, and all zero where there is no move.
        """
        return self.finish(*self.raw(bits, scalars), moves, counts)

    def finish(
        self, policy_logits: Tensor, value: Tensor, plies: Tensor, moves: Tensor, counts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return what `evaluate` returns, from the outputs of `raw`."""
        real = torch.arange(moves.shape[1], device=moves.device) < counts.long()[:, None]
        logits = policy_logits.gather(1, moves.long()).float().masked_fill(~real, PADDING_LOGIT)
        return logits.softmax(1) * real, wdl_of(value, self.config.value), plies


# -- copies of a net ------------------------------------------------------------------------------


def fold(net: Net) -> Net:
    """Copy a net for inference: in evaluation mode, every norm folded into its convolution.

    >>> from selfmate.nn.config import GARDNER
    >>> net = fold(Net(NetConfig.sized(GARDNER)))
    >>> any(isinstance(module, Norm) for module in net.modules())
    False
    """
    folded = copy.deepcopy(net).eval().requires_grad_(False)
    for module in folded.modules():
        if isinstance(module, ConvNorm):
            module.fold()
    return folded


def rounded(net: Net) -> Net:
    """Copy a net for play: norms folded into the weights, and the weights rounded to what bfloat16 can hold.

    Every device then computes with the very same weights, whatever its precision; only the rounding of the sums still
    differs. The norms stay in place and only add their bias.

    >>> from selfmate.nn.config import GARDNER
    >>> net = rounded(Net(NetConfig.sized(GARDNER)))
    >>> all(torch.equal(module.conv.weight, module.conv.weight.bfloat16().float())
    ...     for folded in (net, fold(net)) for module in folded.modules() if isinstance(module, ConvNorm))
    True
    """
    result, folded = copy.deepcopy(net), fold(net)
    with torch.no_grad():
        for layer in net.layers:
            module, source, target = (
                result.get_submodule(layer.name),
                folded.weights(layer.name),
                result.weights(layer.name),
            )
            target.weight.copy_(source.weight.bfloat16())
            if isinstance(module, ConvNorm):
                norm = module.norm
                assert isinstance(norm, Norm)
                assert norm.running_var is not None
                norm.reset_parameters()
                norm.running_var.fill_(1.0 - norm.eps)
                assert source.bias is not None
                norm.bias.copy_(source.bias)
    return result


def fuse_for_tensor_cores(folded: Net) -> Net:
    """Change a folded net for a GPU: fused kernels, and numbers of channels that are multiples of eight.

    The input gets more planes of ones, with weights of zero, and the policy more logits, which are never read.
    """
    for layer in folded.layers:
        module = folded.get_submodule(layer.name)
        # 1x1 convolutions are matrix products, which are fast without.
        if isinstance(module, ConvNorm) and layer.kernel > 1 and layer.activation == "relu":
            module.fused = True
    stem = folded.weights("stem")
    assert isinstance(stem, nn.Conv2d)
    more_in = -stem.in_channels % 8
    stem.weight = nn.Parameter(functional.pad(stem.weight, (0, 0, 0, 0, 0, more_in)), requires_grad=False)
    stem.in_channels += more_in
    if not any(layer.name == "policy.planes" for layer in folded.layers):
        return folded
    planes = folded.weights("policy.planes")
    assert isinstance(planes, nn.Conv2d)
    more_out = -planes.out_channels % 8
    assert planes.bias is not None
    planes.weight = nn.Parameter(functional.pad(planes.weight, (0, 0) * 3 + (0, more_out)), requires_grad=False)
    planes.bias = nn.Parameter(functional.pad(planes.bias, (0, more_out)), requires_grad=False)
    planes.out_channels += more_out
    return folded
