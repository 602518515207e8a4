"""A net in eight bits: the f32 ONNX file in, an int8 one out, which ONNX Runtime and OpenVINO read alike.

Only the 3x3 convolutions of the blocks are computed in eight bits: they are nearly all of the work. The stem, the
heads, squeeze-and-excite and the sums beside the blocks stay in f32: they are cheap, and errors there go straight into
the answer. Weights have a step of their own for every channel that they make; what goes in is never negative (it comes
out of a Relu) and counted from zero in 256 steps. How large these are is found on positions of our own games, so that
the squared error is least.

The file says all this with `QuantizeLinear` and `DequantizeLinear` around each such convolution, ONNX's own form.
What comes out of a block's second convolution is rounded too, or ONNX Runtime would compute it in f32; OpenVINO
leaves that rounding out (`EXACT` marks the place), which costs it nothing and takes most of the error away.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from selfmate.nn.leaves import LeafBatch
from selfmate.nn.onnx import CARD_KEY, EXACT, INT8_KEY, read_card_of, seal

if TYPE_CHECKING:
    import onnx
from selfmate.nn.calibration import CALIBRATION_LEAVES, CALIBRATION_SEED, calibration_leaves

__all__ = ["quantise"]


WEIGHT_STEPS: Final = 127


INPUT_STEPS: Final = 255


CLIPS: Final = np.linspace(0.5, 1.0, 26)
"""Shares of the largest number that are tried as the end of the scale."""


SAMPLED: Final = 1 << 18
"""Numbers of a layer that the scale is tried on."""


# -- eight bits -----------------------------------------------------------------------------------


class Range(NamedTuple):
    """Eight bits for numbers: each is `step * (byte - zero)`."""

    step: np.float32
    zero: np.uint8


@functools.lru_cache(maxsize=1)  # a benchmark opens the same net with two backends
def quantise(data: bytes) -> bytes:
    """Make the int8 file of the f32 file of a net; the same file always gives the same."""
    import onnx

    # 1. The convolutions, and what goes in and out of them on positions of games.
    card = read_card_of(data, "the ONNX net")
    model = onnx.load_from_string(data)
    convolutions = _block_convolutions(model)
    seen = _watch(model, convolutions, calibration_leaves(card.variant))
    # 2. Round, and write it down around each of them.
    graph, writer = model.graph, _Writer()
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    wanted = {node.output[0]: index for index, node in enumerate(convolutions)}
    for node in graph.node:
        if node.output[0] not in wanted:
            writer.nodes.append(node)
            continue
        into, out = _range(seen[node.input[0]]), None
        if wanted[node.output[0]] % 2:  # the second of a block; after the first, a Relu, the next one rounds
            out = _range(seen[node.output[0]])
        writer.convolution(node, weights[node.input[1]], weights[node.input[2]], into, out)
    # 3. Put it together.
    used = {name for node in writer.nodes for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    for field, entries in ((graph.node, writer.nodes), (graph.initializer, kept + writer.constants)):
        del field[:]
        field.extend(entries)
    about = {"layers": len(convolutions), "leaves": CALIBRATION_LEAVES, "seed": CALIBRATION_SEED}
    said = {CARD_KEY: msgspec.json.encode(card).decode(), INT8_KEY: msgspec.json.encode(about).decode()}
    onnx.helper.set_model_props(model, said)
    onnx.checker.check_model(model, full_check=True)
    return seal(model)


def _block_convolutions(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """List the convolutions of the blocks, two of each; the stem is the first 3x3, those of the heads are 1x1."""
    shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    large = [node for node in model.graph.node if node.op_type == "Conv" and shapes[node.input[1]][2:] == (3, 3)]
    return large[1:]


def _watch(model: onnx.ModelProto, nodes: list[onnx.NodeProto], leaves: LeafBatch) -> dict[str, NDArray[np.float32]]:
    """Compute the net and keep a sample of the numbers that go into some nodes, or come out of them."""
    import onnx
    import onnxruntime

    names = sorted({node.input[0] for node in nodes} | {node.output[0] for node in nodes[1::2]})
    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    for name in names:
        watched.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(watched.SerializeToString(), options, providers=["CPUExecutionProvider"])
    samples: dict[str, list[NDArray[np.float32]]] = {name: [] for name in names}
    size, chance = 64, np.random.default_rng(CALIBRATION_SEED)
    for begin in range(0, leaves.size, size):
        part = leaves.take(slice(begin, begin + size))
        inputs = {
            "bits": part.bits.view(np.int64),
            "scalars": part.scalars,
            "moves": part.moves,
            "counts": part.counts,
        }
        for name, array in zip(names, session.run(names, inputs), strict=True):
            flat = array.reshape(-1)
            chosen = chance.integers(0, flat.size, SAMPLED * part.size // leaves.size)
            samples[name].append(np.concatenate([flat[chosen], [flat.min(), flat.max()]]))
    return {name: np.concatenate(parts) for name, parts in samples.items()}


def _range(numbers: NDArray[np.float32]) -> Range:
    """Find the range of least squared error for numbers; one that begins at zero where none is negative.

    >>> _range(np.linspace(0, 51, 1000, dtype=np.float32))
    Range(step=np.float32(0.2), zero=np.uint8(0))
    """
    low, high = min(0.0, float(numbers.min())), max(0.0, float(numbers.max()))
    best, least = Range(np.float32(1), np.uint8(0)), np.inf
    for clip in CLIPS:
        step = np.float32(clip * (high - low) / INPUT_STEPS)
        if step <= 0:  # a layer that says nothing
            break
        zero = np.uint8(round(-clip * low / float(step)))
        bytes_ = np.clip(np.rint(numbers / step) + zero, 0, INPUT_STEPS)
        error = float(np.square((bytes_ - zero) * step - numbers).mean())
        if error < least:
            best, least = Range(step, zero), error
    return best


def _weights(weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round weights [O, I, 3, 3] with the step of least squared error for each of the O; the bytes, and the steps [O].

    >>> bytes_, steps = _weights(np.array([[[[0.0, 1.27]]], [[[0.02, -2.54]]]], np.float32))
    >>> bytes_.reshape(2, 2).tolist(), steps.round(4).tolist()
    ([[0, 127], [1, -127]], [0.009999999776482582, 0.019999999552965164])
    """
    rows = weight.reshape(len(weight), -1)
    most = np.maximum(np.abs(rows).max(1), np.float32(1e-12))
    least = np.full(len(rows), np.inf)
    steps = most / np.float32(WEIGHT_STEPS)
    for clip in CLIPS[::-1]:
        tried = (most * np.float32(clip / WEIGHT_STEPS))[:, None]
        rounded = np.clip(np.rint(rows / tried), -WEIGHT_STEPS, WEIGHT_STEPS) * tried
        error = np.square(rounded - rows).sum(1)
        steps = np.where(error < least, tried[:, 0], steps)
        least = np.minimum(error, least)
    bytes_ = np.clip(np.rint(rows / steps[:, None]), -WEIGHT_STEPS, WEIGHT_STEPS).astype(np.int8)
    return bytes_.reshape(weight.shape), steps


class _Writer:
    """The nodes of the int8 graph, and the numbers that they need."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def convolution(
        self,
        node: onnx.NodeProto,
        weight: NDArray[np.float32],
        bias: NDArray[np.float32],
        into: Range,
        out: Range | None,
    ) -> None:
        """Write a convolution in eight bits; with `out`, what it gives is rounded too."""
        import onnx

        bytes_, steps = _weights(weight)
        unit = (steps * into.step).astype(np.float32)  # of the sums, and so of the bias
        sums = np.rint(bias.astype(np.float64) / unit).clip(-(2**31), 2**31 - 1).astype(np.int32)
        changed = onnx.NodeProto()
        changed.CopyFrom(node)
        changed.input[0] = self._rounded(node.input[0], into)
        changed.input[1] = self._add("DequantizeLinear", self._constant(bytes_), self._constant(steps), axis=0)
        changed.input[2] = self._add("DequantizeLinear", self._constant(sums), self._constant(unit), axis=0)
        self.nodes.append(changed)
        if out is not None:
            changed.output[0] = f"{node.output[0]}{EXACT}"
            self._rounded(changed.output[0], out, output=node.output[0])

    def _rounded(self, name: str, to: Range, *, output: str = "") -> str:
        step, zero = self._constant(to.step), self._constant(to.zero)
        return self._add("DequantizeLinear", self._add("QuantizeLinear", name, step, zero), step, zero, output=output)

    def _constant(self, array: NDArray[Any] | np.generic) -> str:
        import onnx

        name = f"int8_{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def _add(self, operation: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        import onnx

        output = output or f"int8_node_{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(operation, list(inputs), [output], **attributes))
        return output
