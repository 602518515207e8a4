"""A net in eight bits: the f32 ONNX file in, an int8 ONNX file out that ONNX Runtime and OpenVINO both read.

Only the 3x3 convolutions of the blocks are computed in eight bits (`LayerSpec.int8`): they are nearly all of the work.
Stem, heads, squeeze-and-excite and residual sums stay in f32: they are cheap, and their errors go straight into the
output. The weights of every output channel have a scale of their own. The input of such a convolution is never negative
(it is the output of a Relu) and is rounded to 256 steps from zero. The scales are calibrated on positions of games for
the least squared error.

The file writes this as `QuantizeLinear` and `DequantizeLinear` around each such convolution, ONNX's own form. The
output of the second convolution of a block is rounded too, or ONNX Runtime would compute it in f32; OpenVINO leaves out
that rounding (`EXACT` marks the place), which costs no time and removes most of the error.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from selfmate.nn.architecture import LayerSpec, layers
from selfmate.nn.calibration import CALIBRATION_LEAVES, CALIBRATION_SEED, calibration_leaves
from selfmate.nn.checkpoint import WeightsError
from selfmate.nn.config import NetConfig
from selfmate.nn.encodings import encoding_of
from selfmate.nn.leaves import LeafBatch
from selfmate.nn.onnx import CARD_KEY, EXACT, INT8_KEY, read_card_of, with_checksum
from selfmate.util.packages import import_onnxruntime

if TYPE_CHECKING:
    import onnx

__all__ = ["quantize"]

WEIGHT_STEPS: Final = 127
INPUT_STEPS: Final = 255
CLIPS: Final = np.linspace(0.5, 1.0, 26)
"""Shares of the largest number that are tried as the end of the scale."""
SAMPLED: Final = 1 << 18
"""Numbers of a layer that the scale is tried on."""
CALIBRATION_BATCH: Final = 64


class QuantizedRange(NamedTuple):
    """Eight bits for real numbers: each is `step * (byte - zero)`."""

    step: np.float32
    zero: np.uint8


@functools.lru_cache(maxsize=1)  # a benchmark opens the same net with two back ends
def quantize(data: bytes) -> bytes:
    """Return the int8 ONNX file of an f32 ONNX file of a net; the same file always gives the same bytes."""
    import onnx

    # 1. The convolutions, and a sample of their inputs and outputs on positions of games.
    card = read_card_of(data, "the ONNX net")
    model = onnx.load_from_string(data)
    config = NetConfig.from_dict(card.config)
    convolutions = _int8_convolutions(model, layers(config))
    leaves = calibration_leaves(card.variant, encoded=encoding_of(config))
    samples = _sample_values(model, convolutions, leaves)
    # 2. Replace each of them by its int8 form.
    graph, writer = model.graph, _Int8Writer()
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        layer = convolutions.get(node.output[0])
        if layer is None:
            writer.nodes.append(node)
            continue
        into = _range(samples[node.input[0]])
        out = _range(samples[node.output[0]]) if _rounds_output(layer) else None
        writer.convolution(node, weights[node.input[1]], weights[node.input[2]], into, out)
    # 3. Put the model together.
    used = {name for node in writer.nodes for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    for field, entries in ((graph.node, writer.nodes), (graph.initializer, kept + writer.constants)):
        del field[:]
        field.extend(entries)
    about = {"layers": len(convolutions), "leaves": CALIBRATION_LEAVES, "seed": CALIBRATION_SEED}
    metadata = {CARD_KEY: msgspec.json.encode(card).decode(), INT8_KEY: msgspec.json.encode(about).decode()}
    onnx.helper.set_model_props(model, metadata)
    onnx.checker.check_model(model, full_check=True)
    return with_checksum(model)


def _int8_convolutions(model: onnx.ModelProto, specs: tuple[LayerSpec, ...]) -> dict[str, LayerSpec]:
    """Return the layers to compute in eight bits, by the name of their output in the graph.

    The convolutions of an ONNX file of ours are in the order of the layers.
    """
    shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    nodes = [node for node in model.graph.node if node.op_type == "Conv"]
    convolutions = [layer for layer in specs if layer.kind == "conv"]
    if [shapes[node.input[1]] for node in nodes] != [layer.weight_shape for layer in convolutions]:
        raise WeightsError("the convolutions of the ONNX net are not those of its config")
    return {node.output[0]: layer for node, layer in zip(nodes, convolutions, strict=True) if layer.int8}


def _rounds_output(layer: LayerSpec) -> bool:
    """Whether the output must be rounded as well; an output that goes straight into a Relu is rounded by its reader."""
    return layer.activation == "none" or bool(layer.residual)


def _sample_values(
    model: onnx.ModelProto, convolutions: Mapping[str, LayerSpec], leaves: LeafBatch
) -> dict[str, NDArray[np.float32]]:
    """Compute the net on leaves; return a sample of the inputs, and where needed the outputs, of the convolutions."""
    import onnx

    onnxruntime = import_onnxruntime()
    inputs_of = {node.output[0]: node.input[0] for node in model.graph.node if node.output[0] in convolutions}
    outputs = {name for name, layer in convolutions.items() if _rounds_output(layer)}
    names = sorted({*inputs_of.values(), *outputs})
    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    for name in names:
        watched.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(watched.SerializeToString(), options, providers=["CPUExecutionProvider"])
    samples: dict[str, list[NDArray[np.float32]]] = {name: [] for name in names}
    random = np.random.default_rng(CALIBRATION_SEED)
    for begin in range(0, leaves.size, CALIBRATION_BATCH):
        part = leaves.take(slice(begin, begin + CALIBRATION_BATCH))
        for name, array in zip(names, session.run(names, part.onnx_inputs()), strict=True):
            flat = array.reshape(-1)
            drawn = random.integers(0, flat.size, SAMPLED * part.size // leaves.size)
            samples[name].append(np.concatenate([flat[drawn], [flat.min(), flat.max()]]))
    return {name: np.concatenate(parts) for name, parts in samples.items()}


def _range(numbers: NDArray[np.float32]) -> QuantizedRange:
    """Return the range of least squared error for a sample; it begins at zero where no number is negative.

    >>> _range(np.linspace(0, 51, 1000, dtype=np.float32))
    QuantizedRange(step=np.float32(0.2), zero=np.uint8(0))
    """
    low, high = min(0.0, float(numbers.min())), max(0.0, float(numbers.max()))
    best, least = QuantizedRange(np.float32(1), np.uint8(0)), np.inf
    for clip in CLIPS:
        step = np.float32(clip * (high - low) / INPUT_STEPS)
        if step <= 0:  # all numbers are zero
            break
        zero = np.uint8(round(-clip * low / float(step)))
        bytes_ = np.clip(np.rint(numbers / step) + zero, 0, INPUT_STEPS)
        error = float(np.square((bytes_ - zero) * step - numbers).mean())
        if error < least:
            best, least = QuantizedRange(step, zero), error
    return best


def _round_weights(weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round weights [O, I, 3, 3] with the step of least squared error for each O: return int8 and the steps [O].

    >>> bytes_, steps = _round_weights(np.array([[[[0.0, 1.27]]], [[[0.02, -2.54]]]], np.float32))
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


class _Int8Writer:
    """Collects the nodes and constants of the int8 graph."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def convolution(
        self,
        node: onnx.NodeProto,
        weight: NDArray[np.float32],
        bias: NDArray[np.float32],
        into: QuantizedRange,
        out: QuantizedRange | None,
    ) -> None:
        """Write a convolution in eight bits; with `out`, its output is rounded too."""
        import onnx

        bytes_, steps = _round_weights(weight)
        unit = (steps * into.step).astype(np.float32)  # the step of the sums, and so of the bias
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

    def _rounded(self, name: str, to: QuantizedRange, *, output: str = "") -> str:
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
