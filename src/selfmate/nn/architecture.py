"""The layers of a net: one description that PyTorch, ONNX, int8 and the CPU kernels of the core all follow.

`layers(config)` lists every layer in the order of computation, as plain records. A layer reads and writes registers:
`planes` is the input, `policy`, `wdl` and `plies` are the outputs, and `trunk`, `branch` (boards [B, C, R, F]) and
`vector` ([B, C]) hold what lies between. A register is overwritten as soon as it is needed again, so that a program
that follows the list holds few tensors at a time.

A new block, tower or head of existing kinds of layers is added in `layers` alone, and as a field of `NetConfig`. A new
kind of layer, pooling or activation is also added to

- `Net.branch`, `pooled` or `ACTIVATIONS` of `nn/net.py`, for PyTorch,
- `_Writer.layer` of `nn/onnx_graph.py`, for ONNX Runtime and OpenVINO,
- `CpuNet` of `cpp/nn/cpu_net.cpp`, for the CPU kernels of the core.

A new output is added to `OUTPUTS`, and where these three turn outputs into an evaluation (softmax, unit of plies).
Beside these, `nn/transfer.py` relies on the names of stem and blocks, `evaluator/openvino.py` on two 1x1 convolutions
that read the end of the tower, and `fuse_for_tensor_cores` on the names of the first and the last policy layer.

Nothing here needs PyTorch. B is the batch, C the channels, R the ranks, F the files.

>>> from selfmate.nn.config import GARDNER
>>> for layer in layers(NetConfig.sized(GARDNER, "tiny", blocks=1))[:4]:
...     print(layer.name, layer.kind, layer.reads, layer.writes)
stem conv planes trunk
blocks.0.first conv trunk branch
blocks.0.second conv branch branch
blocks.0.context.squeeze linear branch vector
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from selfmate.nn.config import Context, NetConfig

__all__ = [
    "LEAKY_SLOPE",
    "NORM_EPSILON",
    "OUTPUTS",
    "PADDING_LOGIT",
    "PLANES",
    "PLIES_UNIT",
    "SMALL_WEIGHT",
    "TURN_PLANE",
    "InitialNumbers",
    "LayerSpec",
    "fold_norm",
    "folded_tensors",
    "layers",
    "square_masks",
    "tensor_shapes",
]

PLANES: Final = "planes"
"""The register of the input: bitboards, scalars and, for the encoder `full`, one plane of ones (which shows where the
board ends)."""
OUTPUTS: Final = ("policy", "wdl", "plies")
"""The registers of the outputs: logits [B, planes, R, F] of moves; the value, as logits [B, 3] of win, draw and loss or
as numbers (`nn/values.py`); and [B, 1] of which softplus, times `PLIES_UNIT`, is the plies left. A policy `none` writes
none; a `factored` one also writes `from`, a logit [B, 1, R, F] of each from-square, to be added to those of its
moves."""

PLIES_UNIT: Final = 32.0
"""Plies left are learned in this unit, so that the output of the head is of order one."""
PADDING_LOGIT: Final = -1e30
"""Logit of the padding behind the legal moves; finite, so that a row without moves does not become NaN."""
NORM_EPSILON: Final = 1e-5
"""Added to the variance by every batch norm."""

Kind = Literal["conv", "linear", "scale_shift", "shift"]
"""`conv` keeps the size of the board. `linear` maps vectors. The last two are linear layers whose output changes every
channel of the board `onto`: `scale_shift` by sigmoid(first half) and second half (squeeze-and-excite with a bias, as in
Lc0), `shift` by addition (global pooling, as in KataGo)."""
Pooling = Literal["none", "mean", "mean_max", "flatten"]
"""How the board that a layer reads becomes a vector: not at all, the mean of each channel [B, C], the means and then
the maxima [B, 2 C], or every square of every channel [B, C R F]."""
Activation = Literal["none", "relu", "mish", "leaky"]
Start = Literal["normal", "zero", "small"]
"""Initial weights: Kaiming's normal distribution, zero (so that a block starts as the identity), or small ones (so that
an untrained net is nearly uniform and even)."""
SMALL_WEIGHT: Final = 0.02
"""Standard deviation of weights that start small."""


class InitialNumbers(NamedTuple):
    """The normal distribution of the numbers of a tensor in an untrained net."""

    mean: float
    spread: float
    """Standard deviation; 0: every number is the mean."""


class LayerSpec(NamedTuple):
    """A layer: with `kind`, out = kind(pooling(reads)); it writes activation(out + residual)."""

    name: str
    """Path of the module in PyTorch, and prefix of the names of its tensors."""
    kind: Kind
    inputs: int
    """Channels of what is multiplied by the weights: twice those of `reads` with the pooling `mean_max`, times the
    squares with `flatten`."""
    outputs: int
    reads: str
    writes: str
    kernel: int = 1
    """Side of a convolution."""
    normed: bool = False
    """Whether a batch norm follows the convolution, which then has no bias of its own."""
    pooling: Pooling = "none"
    onto: str = ""
    """The board that `scale_shift` and `shift` change."""
    residual: str = ""
    """The board that is added before the activation, if any."""
    activation: Activation = "none"
    start: Start = "normal"
    int8: bool = False
    """Whether an int8 file computes it in eight bits."""

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Shape of the weights: [outputs, inputs], and [.., kernel, kernel] of a convolution."""
        side = (self.kernel, self.kernel) if self.kind == "conv" else ()
        return (self.outputs, self.inputs, *side)

    @property
    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every tensor of the layer on disk, all of them float32."""
        if not self.normed:
            return {f"{self.name}.weight": self.weight_shape, f"{self.name}.bias": (self.outputs,)}
        norm = {f"{self.name}.norm.{part}": (self.outputs,) for part in NORM_TENSORS}
        return {f"{self.name}.conv.weight": self.weight_shape, **norm}

    @property
    def kaiming_spread(self) -> float:
        """Standard deviation of the weights by He et al. 2015: activations keep their size from layer to layer."""
        return math.sqrt(2.0 / math.prod(self.weight_shape[1:]))

    @property
    def initial(self) -> dict[str, InitialNumbers]:
        """The initial numbers of every tensor, by the names of `tensors`."""
        # Goyal et al. 2017: a branch grows from nothing. Behind a norm the norm's weights are zero, else the layer's.
        is_zero = self.start == "zero"
        spread = SMALL_WEIGHT if self.start == "small" else self.kaiming_spread
        zeros, ones = InitialNumbers(0.0, 0.0), InitialNumbers(1.0, 0.0)
        if self.normed:
            numbers = [InitialNumbers(0.0, spread), zeros if is_zero else ones, zeros, zeros, ones]
        else:
            numbers = [zeros if is_zero else InitialNumbers(0.0, spread), zeros]
        return dict(zip(self.tensors, numbers, strict=True))


NORM_TENSORS: Final = ("weight", "bias", "running_mean", "running_var")
"""The tensors of a batch norm, as PyTorch names them."""


TURN_PLANE: Final = 12
"""The bitboard of the encoder `pieces13` that is not empty if White is to move."""
LEAKY_SLOPE: Final = 0.01
"""Slope of the activation `leaky` below zero."""
VALUES: Final = {"wdl": 3, "tanh": 1, "linear": 1, "two": 2}
"""Numbers that each kind of value head puts out."""


@functools.lru_cache(maxsize=64)
def layers(config: NetConfig) -> tuple[LayerSpec, ...]:
    """List the layers of a net in the order of computation: stem, tower, policy head, value head."""
    tower = _plain_tower(config) if config.widths else _residual_tower(config)
    return (*tower, *_policy_head(config), *_value_head(config))


def _residual_tower(config: NetConfig) -> Iterator[LayerSpec]:
    yield _stem(config, config.channels)
    first, last = config.blocks_with_context
    for number in range(1, config.blocks + 1):
        yield from _block(f"blocks.{number - 1}", config, config.context if first <= number <= last else "none")


def _plain_tower(config: NetConfig) -> Iterator[LayerSpec]:
    """Yield convolutions of the given widths, one after the other."""
    stem = _stem(config, config.tower_widths[0])
    yield stem
    for index, (inputs, outputs) in enumerate(itertools.pairwise(config.tower_widths)):
        yield stem._replace(name=f"tower.{index}", inputs=inputs, outputs=outputs, reads="trunk", int8=True)


def _stem(config: NetConfig, width: int) -> LayerSpec:
    stem = LayerSpec("stem", "conv", config.input_planes, width, PLANES, "trunk", kernel=3, normed=True)
    return stem._replace(activation=config.activation)


def _block(name: str, config: NetConfig, context: Context) -> Iterator[LayerSpec]:
    """Yield two convolutions beside the identity; the context of the whole board changes the second one's output."""
    width, activation = config.channels, config.activation
    first = LayerSpec(f"{name}.first", "conv", width, width, "trunk", "branch", kernel=3, normed=True, int8=True)
    second = first._replace(name=f"{name}.second", reads="branch", start="zero")
    yield first._replace(activation=activation)
    if context == "none":
        yield second._replace(writes="trunk", residual="trunk", activation=activation)
        return
    yield second
    end: dict[str, Any] = {"onto": "branch", "residual": "trunk", "activation": activation, "start": "zero"}
    if context == "pool":
        yield LayerSpec(f"{name}.context.bias", "shift", 2 * width, width, "branch", "trunk", pooling="mean_max", **end)
        return
    squeezed = max(16, width // 4)
    yield LayerSpec(
        f"{name}.context.squeeze", "linear", width, squeezed, "branch", "vector", pooling="mean", activation=activation
    )
    yield LayerSpec(f"{name}.context.excite", "scale_shift", squeezed, 2 * width, "vector", "trunk", **end)


def _reduced(name: str, config: NetConfig, width: int) -> LayerSpec:
    """Return the 1x1 convolution that a head begins with."""
    reduce = LayerSpec(name, "conv", config.channels, width, "trunk", "branch", normed=True)
    return reduce._replace(activation=config.activation)


def _policy_head(config: NetConfig) -> Iterator[LayerSpec]:
    """Yield the layers that give a logit for every plane and from-square."""
    if config.policy == "none":
        return
    width, squares = config.policy_channels, config.ranks * config.files
    yield _reduced("policy.reduce", config, width)
    full = LayerSpec("policy.full", "linear", width * squares, config.policy_size, "branch", "policy", start="small")
    full = full._replace(pooling="flatten")
    planes = LayerSpec("policy.planes", "conv", width, config.planes, "branch", "policy", start="small")
    last, froms = (full, squares) if config.heads == "full" else (planes, 1)
    if config.policy == "factored":
        yield last._replace(name="policy.from", outputs=froms, writes="from")
    yield last


def _value_head(config: NetConfig) -> Iterator[LayerSpec]:
    """Yield the layers that give the value and plies left, from the pooled board or from all its squares."""
    width, outputs = config.value_channels, VALUES[config.value]
    if width:
        yield _reduced("value.reduce", config, width)
    reads, inputs, hidden = "branch", 2 * width, 2 * width
    pooling: Pooling = "flatten" if config.heads == "full" else "mean_max"
    if config.heads == "full":
        reads, hidden = "branch" if width else "trunk", config.value_hidden
        inputs = (width or config.channels) * config.ranks * config.files
    end: dict[str, Any] = {"reads": reads, "inputs": inputs, "pooling": pooling, "start": "small"}
    if hidden:
        value = LayerSpec("value.hidden", "linear", inputs, hidden, reads, "vector", activation=config.activation)
        yield value._replace(pooling=pooling)
        end = {"reads": "vector", "inputs": hidden, "start": "small"}
    name = "value.wdl" if config.value == "wdl" else "value.number"
    yield LayerSpec(name=name, kind="linear", outputs=outputs, writes="wdl", **end)
    yield LayerSpec(name="value.plies", kind="linear", outputs=1, writes="plies", **end)


# -- tensors --------------------------------------------------------------------------------------


def tensor_shapes(config: NetConfig) -> dict[str, tuple[int, ...]]:
    """Return the name and shape of every tensor of a net on disk, all of them float32."""
    return {name: shape for layer in layers(config) for name, shape in layer.tensors.items()}


def square_masks(config: NetConfig) -> NDArray[np.int64]:
    """Return int64[R * F]: for each square of the board its bit, rank * 8 + file, of a 64-bit board.

    `bits & masks` unpacks a bitboard and crops it to the board at once.
    """
    squares = [1 << (8 * rank + file) for rank in range(config.ranks) for file in range(config.files)]
    return np.array(squares, np.uint64).view(np.int64)


Array = TypeVar("Array", bound=Any)


def fold_norm(weight: Array, norm: Mapping[str, Array]) -> tuple[Array, Array]:
    """Fold a batch norm into its convolution: return the weights [O, I, K, K] and the bias [O] that replace both.

    `norm` has the `NORM_TENSORS`, [O] each. The arrays are NumPy's or PyTorch's, in float64.

    >>> norm = {"weight": 3.0, "bias": 1.0, "running_mean": 0.5, "running_var": 4 - NORM_EPSILON}
    >>> weight, bias = fold_norm(np.ones((1, 1, 1, 1)), {name: np.array([x]) for name, x in norm.items()})
    >>> weight.tolist(), bias.tolist()
    ([[[[1.5]]]], [0.25])
    """
    scale = norm["weight"] / (norm["running_var"] + NORM_EPSILON) ** 0.5
    return weight * scale[:, None, None, None], norm["bias"] - norm["running_mean"] * scale


class FoldedLayer(NamedTuple):
    """The numbers of a layer for inference, float32 and contiguous."""

    weight: NDArray[np.float32]
    """Of `LayerSpec.weight_shape`."""
    bias: NDArray[np.float32]
    """[outputs]."""


def folded_tensors(config: NetConfig, tensors: Mapping[str, NDArray[Any]]) -> dict[str, FoldedLayer]:
    """Return weights and bias of every layer by its name, with the norms folded in; `tensors` are those on disk."""
    found: dict[str, FoldedLayer] = {}
    for layer in layers(config):
        if layer.normed:
            norm = {part: tensors[f"{layer.name}.norm.{part}"].astype(np.float64) for part in NORM_TENSORS}
            weight, bias = fold_norm(tensors[f"{layer.name}.conv.weight"].astype(np.float64), norm)
        else:
            weight, bias = tensors[f"{layer.name}.weight"], tensors[f"{layer.name}.bias"]
        found[layer.name] = FoldedLayer(*(np.ascontiguousarray(each, np.float32) for each in (weight, bias)))
    return found
