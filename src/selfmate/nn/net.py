"""The net: bitboards in; logits of moves, win-draw-loss and plies left out. What shape it has: `net_config`.

A residual tower of 3x3 convolutions, each followed by a batch norm that folds into it exactly (`fold`). Only the
masks that unpack the bits know the size of the board, so that a tower that learned on 5x5 carries over to 8x8
(`transfer_tower`). B is the batch, P the bitboards, S the scalars, M the most moves of a position.

>>> from selfmate.nn.config import GARDNER
>>> net = Net(NetConfig.sized(GARDNER, "tiny"), seed=1)
>>> bits, scalars = torch.zeros(2, 16, dtype=torch.int64), torch.zeros(2, 4)
>>> [tuple(output.shape) for output in net(bits, scalars)]
[(2, 1225), (2, 3), (2,)]
"""

from __future__ import annotations

import copy
import math
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from selfmate.nn.config import NORM_EPSILON, Context, NetConfig

__all__ = ["NO_MOVE", "PLIES_UNIT", "Net", "fold", "rounded"]


PLIES_UNIT: Final = 32.0
"""Plies left are learned in units of this many, so that what the head must give is about one."""


NORM_MOMENTUM: Final = 0.05  # running statistics follow about the last twenty batches


NO_MOVE: Final = -1e30  # the logit of padding; finite, so that a row without moves is not a row of NaN


HEAD_SCALE: Final = 0.02  # standard deviation of the last layers: an untrained net is nearly uniform and even


class Norm(nn.BatchNorm2d):
    """Batch norm with its running statistics but without a count of batches, which nothing here reads."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, eps=NORM_EPSILON, momentum=NORM_MOMENTUM)
        self.register_buffer("num_batches_tracked", None)

    def reset_parameters(self) -> None:
        """Make it the identity."""
        for tensor, number in ((self.weight, 1.0), (self.bias, 0.0), (self.running_mean, 0.0), (self.running_var, 1.0)):
            assert tensor is not None
            nn.init.constant_(tensor, number)


@torch.library.custom_op("selfmate::rectified_conv", mutates_args=())
def rectified_conv(x: Tensor, weight: Tensor, bias: Tensor, beside: Tensor | None) -> Tensor:
    """Convolve, add bias and what stands beside it, and rectify, in one kernel of cuDNN's.

    The compiler writes the convolution's result to memory and reads it again for the rest: a quarter of the time.
    """
    size = weight.shape[2] // 2
    if beside is None:
        return torch.cudnn_convolution_relu(x, weight, bias, (1, 1), (size, size), (1, 1), 1)
    return torch.cudnn_convolution_add_relu(x, weight, beside, 1.0, bias, (1, 1), (size, size), (1, 1), 1)


@rectified_conv.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor, beside: Tensor | None) -> Tensor:
    shape = (x.shape[0], weight.shape[0], x.shape[2], x.shape[3])
    return torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=torch.channels_last)


class ConvNorm(nn.Module):
    """A convolution that keeps the board's size, and its norm: the unit that `fold` makes one convolution of."""

    fused = False
    """Whether convolution, bias, sum and rectifier are one kernel: on a GPU, after `fold`."""

    def __init__(self, inputs: int, outputs: int, size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False)
        self.norm: nn.Module = Norm(outputs)

    def forward(self, x: Tensor) -> Tensor:
        """[B, inputs, R, F] to [B, outputs, R, F]."""
        out: Tensor = self.norm(self.conv(x))
        return out

    def rectified(self, x: Tensor, beside: Tensor | None = None) -> Tensor:
        """The same, plus what stands beside it, and nothing below zero."""
        if self.fused:
            assert self.conv.bias is not None
            x = x.contiguous(memory_format=torch.channels_last)  # the planes come otherwise
            fused: Tensor = rectified_conv(x, self.conv.weight, self.conv.bias, beside)
            return fused
        out: Tensor = self(x)
        return functional.relu(out if beside is None else beside + out)

    def fold(self) -> None:
        """Take the norm into the convolution, with its statistics as they are now."""
        if not isinstance(norm := self.norm, Norm):
            return
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scale = norm.weight.double() / (norm.running_var.double() + norm.eps).sqrt()
        bias = norm.bias.double() - norm.running_mean.double() * scale
        weight = self.conv.weight.double() * scale[:, None, None, None]
        self.conv.weight = nn.Parameter(weight.to(self.conv.weight.dtype), requires_grad=False)
        self.conv.bias = nn.Parameter(bias.to(self.conv.weight.dtype), requires_grad=False)
        self.norm = nn.Identity()


def pooled(x: Tensor) -> Tensor:
    """Mean and maximum of every channel over the board: [B, C, R, F] to [B, 2 C]."""
    # Not amax: its gradient asks which elements equal the maximum, and a fused kernel that has the elements in another
    # precision than the maximum finds none.
    return torch.cat([x.mean((2, 3)), x.flatten(2).max(2).values], dim=1)


class SqueezeExcite(nn.Module):
    """Scale and shift every channel by what the whole board says (Lc0's form of squeeze-and-excite)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.squeeze = nn.Linear(channels, max(16, channels // 4))
        self.excite = nn.Linear(self.squeeze.out_features, 2 * channels)

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, R, F] to the same."""
        scale, shift = self.excite(functional.relu(self.squeeze(x.mean((2, 3))))).chunk(2, dim=1)
        out: Tensor = x * torch.sigmoid(scale)[:, :, None, None] + shift[:, :, None, None]
        return out


class PooledBias(nn.Module):
    """Add to every channel a bias from the mean and the maximum of all (KataGo's global pooling)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Linear(2 * channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, R, F] to the same."""
        bias: Tensor = self.bias(pooled(x))
        return x + bias[:, :, None, None]


class Block(nn.Module):
    """Two convolutions beside the identity."""

    def __init__(self, channels: int, context: Context) -> None:
        super().__init__()
        self.first = ConvNorm(channels, channels, 3)
        self.second = ConvNorm(channels, channels, 3)
        self.context: nn.Module = nn.Identity()
        if context == "se":
            self.context = SqueezeExcite(channels)
        elif context == "pool":
            self.context = PooledBias(channels)

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, R, F] to the same."""
        hidden = self.first.rectified(x)
        if isinstance(self.context, nn.Identity):
            return self.second.rectified(hidden, x)
        return functional.relu(x + self.context(self.second(hidden)))


class PolicyHead(nn.Module):
    """A logit for every plane and from-square."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.reduce = ConvNorm(config.channels, config.policy_channels, 1)
        self.planes = nn.Conv2d(config.policy_channels, config.planes, 1)

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, R, F] to [B, planes * R * F], in the order of the policy index."""
        logits: Tensor = self.planes(self.reduce.rectified(x))
        return logits.flatten(1)


class ValueHead(nn.Module):
    """Logits of win, draw and loss for the side to move, and plies left, from the pooled board."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.reduce = ConvNorm(config.channels, config.value_channels, 1)
        self.hidden = nn.Linear(2 * config.value_channels, 2 * config.value_channels)
        self.wdl = nn.Linear(2 * config.value_channels, 3)
        self.plies = nn.Linear(2 * config.value_channels, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """[B, C, R, F] to [B, 3] and [B]."""
        hidden = functional.relu(self.hidden(pooled(self.reduce.rectified(x))))
        return self.wdl(hidden), functional.softplus(self.plies(hidden).float()).squeeze(1) * PLIES_UNIT


class Net(nn.Module):
    """The whole net, with weights drawn from `seed` alone; the global random state is neither read nor changed.

    Without a seed it stays on the device `meta`: shapes and no memory.
    """

    masks: Tensor

    def __init__(self, config: NetConfig, seed: int | None = 0) -> None:
        super().__init__()
        self.config = config
        with torch.device("meta"):
            # Beside bitboards and scalars a plane of ones, which shows where the board ends.
            self.stem = ConvNorm(config.bitboards + config.scalars + 1, config.channels, 3)
            self.blocks = nn.Sequential()
            for _ in range(config.blocks):
                self.blocks.append(Block(config.channels, config.context))
            self.policy = PolicyHead(config)
            self.value = ValueHead(config)
        # Bit rank*8+file of the 64-bit board, of the squares that this board has: unpacks and crops at once.
        squares = [1 << (8 * rank + file) for rank in range(config.ranks) for file in range(config.files)]
        masks = torch.tensor([bit - (1 << 64) if bit >> 63 else bit for bit in squares], dtype=torch.int64)
        if seed is not None:
            self.to_empty(device="cpu")
            self._draw_weights(torch.Generator().manual_seed(seed))
        self.register_buffer("masks", masks, persistent=False)

    def _draw_weights(self, generator: torch.Generator) -> None:
        """Kaiming's normal weights; blocks begin as the identity, and the heads nearly silent."""
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                fan_in = module.weight[0].numel()
                nn.init.normal_(module.weight, std=math.sqrt(2.0 / fan_in), generator=generator)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, Norm):
                module.reset_parameters()
        for module in self.modules():
            if isinstance(module, Block):
                assert isinstance(module.second.norm, Norm)
                nn.init.zeros_(module.second.norm.weight)  # Goyal et al. 2017: the residual branch grows from nothing
            elif isinstance(module, PooledBias):
                nn.init.zeros_(module.bias.weight)
            elif isinstance(module, SqueezeExcite):
                nn.init.zeros_(module.excite.weight)
        for last in (self.policy.planes, self.value.wdl, self.value.plies):
            nn.init.normal_(last.weight, std=HEAD_SCALE, generator=generator)

    def planes(self, bits: Tensor, scalars: Tensor) -> Tensor:
        """Unpack int64[B, P] and float[B, S] to the input of the tower, [B, P + S + 1, R, F] (more ones if aligned)."""
        ranks, files, dtype = self.config.ranks, self.config.files, self.stem.conv.weight.dtype
        boards = ((bits[:, :, None] & self.masks) != 0).to(dtype).view(-1, self.config.bitboards, ranks, files)
        ones = self.stem.conv.in_channels - boards.shape[1] - scalars.shape[1]
        flat = functional.pad(scalars.to(dtype), (0, ones), value=1.0)[:, :, None, None].expand(-1, -1, ranks, files)
        return torch.cat([boards, flat], dim=1)

    def raw(self, bits: Tensor, scalars: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Give logits of all moves and of win-draw-loss in the precision of the weights, and plies left in float32."""
        x = self.blocks(self.stem.rectified(self.planes(bits, scalars)))
        wdl_logits, plies = self.value(x)
        return self.policy(x), wdl_logits, plies

    def forward(self, bits: Tensor, scalars: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Give float32 logits of all moves [B, policy_size], of win-draw-loss [B, 3], and plies left [B].

        `bits` is int64[B, P] (the uint64 of the encoder, bit for bit), `scalars` float[B, S].
        """
        policy_logits, wdl_logits, plies = self.raw(bits, scalars)
        return policy_logits.float(), wdl_logits.float(), plies

    def evaluate(self, bits: Tensor, scalars: Tensor, moves: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Give float32 priors of the legal moves [B, M], win-draw-loss [B, 3] and plies left [B].

        `moves` [B, M] are policy indices of which the first `counts` [B] are the legal moves (any integer types);
        priors add up to one over them and are exactly zero beyond, and all zero where there is no move.
        """
        return self.finish(*self.raw(bits, scalars), moves, counts)

    @staticmethod
    def finish(
        policy_logits: Tensor, wdl_logits: Tensor, plies: Tensor, moves: Tensor, counts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make the answer of `evaluate` from what `raw` gave."""
        real = torch.arange(moves.shape[1], device=moves.device) < counts.long()[:, None]
        logits = policy_logits.gather(1, moves.long()).float().masked_fill(~real, NO_MOVE)
        return logits.softmax(1) * real, wdl_logits.float().softmax(1), plies


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
    """Copy a net for others to play with: norms taken into the weights, and these rounded to what bfloat16 can hold.

    Every device then computes with the very same weights, whatever its precision, and what is left of the difference
    is that of the sums. The norms stay where they were and do nothing but add.

    >>> from selfmate.nn.config import GARDNER
    >>> net = rounded(Net(NetConfig.sized(GARDNER)))
    >>> all(torch.equal(module.conv.weight, module.conv.weight.bfloat16().float())
    ...     for folded in (net, fold(net)) for module in folded.modules() if isinstance(module, ConvNorm))
    True
    """
    result = copy.deepcopy(net)
    with torch.no_grad():
        for module, folded in zip(result.modules(), fold(net).modules(), strict=True):
            if isinstance(folded, ConvNorm):
                assert isinstance(module, ConvNorm)
                norm = module.norm
                assert isinstance(norm, Norm)
                assert norm.running_var is not None
                assert folded.conv.bias is not None
                norm.reset_parameters()
                norm.running_var.fill_(1.0 - norm.eps)
                norm.bias.copy_(folded.conv.bias)
                module.conv.weight.copy_(folded.conv.weight)
            if isinstance(module, nn.Conv2d | nn.Linear):
                module.weight.copy_(module.weight.bfloat16())
    return result


def suit_tensor_cores(folded: Net) -> Net:
    """Make a folded net suit a GPU: kernels that do several steps, and numbers of channels that are multiples of eight.

    More planes of ones go in, with weights of zero, and logits of moves that nobody asks for come out.
    """
    for module in folded.modules():
        if isinstance(module, ConvNorm) and module.conv.kernel_size != (1, 1):  # those are products, fast without
            module.fused = True
    stem, planes = folded.stem.conv, folded.policy.planes
    more_in, more_out = -stem.in_channels % 8, -planes.out_channels % 8
    stem.weight = nn.Parameter(functional.pad(stem.weight, (0, 0, 0, 0, 0, more_in)), requires_grad=False)
    stem.in_channels += more_in
    assert planes.bias is not None
    planes.weight = nn.Parameter(functional.pad(planes.weight, (0, 0) * 3 + (0, more_out)), requires_grad=False)
    planes.bias = nn.Parameter(functional.pad(planes.bias, (0, more_out)), requires_grad=False)
    planes.out_channels += more_out
    return folded
