"""The graph of an ONNX file, written node by node from the description of the layers (`selfmate.nn.architecture`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, assert_never

import numpy as np
from numpy.typing import NDArray

from selfmate.nn.architecture import (
    LEAKY_SLOPE,
    PADDING_LOGIT,
    PLANES,
    PLIES_UNIT,
    TURN_PLANE,
    Activation,
    FoldedLayer,
    LayerSpec,
    Pooling,
    folded_tensors,
    layers,
    square_masks,
)
from selfmate.nn.config import NetConfig

if TYPE_CHECKING:
    import onnx

__all__ = ["OPSET", "evaluator_model"]

OPSET: Final = 18  # the first with BitwiseAnd
IR_VERSION: Final = 10  # read by onnxruntime 1.18 and later


def evaluator_model(config: NetConfig, tensors: Mapping[str, NDArray[Any]]) -> onnx.ModelProto:
    """Return the ONNX model of a net, from its tensors on disk; the same tensors always give the same model."""
    from onnx import TensorProto, helper

    writer = _Writer(config)
    weights = folded_tensors(config, tensors)
    for layer in layers(config):
        writer.layer(layer, weights[layer.name])
    if config.policy == "none":
        writer.equal_priors()
    return helper.make_model(
        helper.make_graph(
            writer.nodes,
            "selfmate",
            inputs=[
                helper.make_tensor_value_info("bits", TensorProto.INT64, ["B", config.bitboards]),
                helper.make_tensor_value_info("scalars", TensorProto.FLOAT, ["B", config.scalars]),
                helper.make_tensor_value_info("moves", TensorProto.UINT16, ["B", "M"]),
                helper.make_tensor_value_info("counts", TensorProto.UINT16, ["B"]),
            ],
            outputs=[
                helper.make_tensor_value_info("priors", TensorProto.FLOAT, ["B", "M"]),
                helper.make_tensor_value_info("wdl", TensorProto.FLOAT, ["B", 3]),
                helper.make_tensor_value_info("plies", TensorProto.FLOAT, ["B"]),
            ],
            initializer=writer.constants,
        ),
        producer_name="selfmate",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )


class _Writer:
    """Collects the nodes of a net's graph in the order of computation; a value is referred to by its name."""

    def __init__(self, config: NetConfig) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._config = config
        self._registers = {PLANES: self._planes()}
        """The name of the value that each register of the layers holds now."""

    def layer(self, layer: LayerSpec, weights: FoldedLayer) -> None:
        """Write a layer, and what the evaluator makes of it if it is an output (`Net.finish`)."""
        # 1. The product of its weights and what it reads.
        x = self._pooled(self._registers[layer.reads], layer.pooling)
        if layer.kind == "conv":
            weight, bias = self._constant(weights.weight), self._constant(weights.bias)
            pads, sides = [layer.kernel // 2] * 4, [layer.kernel] * 2
            out = self._add("Conv", x, weight, bias, pads=pads, kernel_shape=sides)
        elif layer.kind == "linear":
            out = self._linear(weights, x)
        elif layer.kind == "scale_shift":
            half = layer.outputs // 2
            scale = self._add("Sigmoid", self._linear(weights, x, slice(half)))
            shift = self._linear(weights, x, slice(half, None))
            out = self._add("Mul", self._registers[layer.onto], self._add("Unsqueeze", scale, self._integers(2, 3)))
            out = self._add("Add", out, self._add("Unsqueeze", shift, self._integers(2, 3)))
        elif layer.kind == "shift":
            shift = self._add("Unsqueeze", self._linear(weights, x), self._integers(2, 3))
            out = self._add("Add", self._registers[layer.onto], shift)
        else:
            assert_never(layer.kind)
        # 2. Residual and activation.
        if layer.residual:
            out = self._add("Add", out, self._registers[layer.residual])
        out = self._activated(out, layer.activation)
        # 3. The outputs of the evaluator.
        if layer.writes == "policy":
            self._priors(out)
        elif layer.writes == "wdl":
            self._wdl(out)
        elif layer.writes == "plies":
            out = self._add("Mul", self._add("Softplus", out), self._constant(np.float32(PLIES_UNIT)))
            self._add("Squeeze", out, self._integers(1), output="plies")
        self._registers[layer.writes] = out

    def _planes(self) -> str:
        """Unpack the bits; scalars and, for the encoder `full`, a one become planes."""
        from onnx import TensorProto

        config = self._config
        boards = self._add("Unsqueeze", "bits", self._integers(2))
        boards = self._add("BitwiseAnd", boards, self._constant(square_masks(config)))
        boards = self._add("Not", self._add("Equal", boards, self._integers(0)))
        boards = self._add("Cast", boards, to=TensorProto.FLOAT)
        boards = self._add("Reshape", boards, self._integers(-1, config.bitboards, config.ranks, config.files))
        ones = config.input_planes - config.bitboards - config.scalars
        if not config.scalars and not ones:
            return boards
        flat = "scalars"
        if ones:
            flat = self._add("Pad", flat, self._integers(0, 0, 0, ones), self._constant(np.float32(1)))
        flat = self._add("Unsqueeze", flat, self._integers(2, 3))
        flat = self._add("Expand", flat, self._integers(1, 1, config.ranks, config.files))
        return self._add("Concat", boards, flat, axis=1)

    def _activated(self, x: str, activation: Activation) -> str:
        if activation == "relu":
            return self._add("Relu", x)
        if activation == "leaky":
            return self._add("LeakyRelu", x, alpha=LEAKY_SLOPE)
        if activation == "mish":  # not ONNX's own operation, which few programs have
            return self._add("Mul", x, self._add("Tanh", self._add("Softplus", x)))
        return x

    def _wdl(self, out: str) -> None:
        """Write win, draw and loss, from the outputs of the value head (`wdl_of`)."""
        value = self._config.value
        if value == "wdl":
            self._add("Softmax", out, axis=1, output="wdl")
            return
        if value == "two":
            turn = self._add(
                "Equal", self._add("Gather", "bits", self._integers(TURN_PLANE), axis=1), self._integers(0)
            )
            black, white = (self._add("Gather", out, self._integers(index), axis=1) for index in (1, 0))
            out = self._add("Where", turn, black, white)
        bounds = (self._constant(np.float32(bound)) for bound in (-1, 1))
        out = self._add("Tanh", out) if value == "tanh" else self._add("Clip", out, *bounds)
        half = self._constant(np.float32(0.5))
        part = self._add("Mul", out, half)
        draw = self._add("Mul", out, self._constant(np.float32(0)))
        self._add("Concat", self._add("Add", half, part), draw, self._add("Sub", half, part), axis=1, output="wdl")

    def _priors(self, logits: str) -> None:
        """Pick the logits of the legal moves, and take their softmax."""
        from onnx import TensorProto

        config = self._config
        if config.policy == "factored":
            squares = config.ranks * config.files
            froms = self._add("Reshape", self._registers["from"], self._integers(-1, 1, squares))
            logits = self._add("Reshape", logits, self._integers(-1, config.planes, squares))
            logits = self._add("Add", logits, froms)
        logits = self._add("Reshape", logits, self._integers(-1, config.policy_size))
        self._softmax(self._add("GatherElements", logits, self._add("Cast", "moves", to=TensorProto.INT32), axis=1))

    def equal_priors(self) -> None:
        """Write the priors of a net without a policy: equal for all legal moves."""
        from onnx import TensorProto

        moves = self._add("Cast", "moves", to=TensorProto.FLOAT)
        self._softmax(self._add("Mul", moves, self._constant(np.float32(0))))

    def _softmax(self, logits: str) -> None:
        """Write the softmax over the legal moves, of logits [B, M]."""
        from onnx import TensorProto

        number = self._add(
            "Range",
            self._constant(np.int64(0)),
            self._add("Squeeze", self._add("Shape", "moves", start=1)),
            self._constant(np.int64(1)),
        )
        counts = self._add("Unsqueeze", self._add("Cast", "counts", to=TensorProto.INT64), self._integers(1))
        real = self._add("Less", number, counts)
        logits = self._add("Where", real, logits, self._constant(np.float32(PADDING_LOGIT)))
        self._add("Where", real, self._add("Softmax", logits, axis=1), self._constant(np.float32(0)), output="priors")

    def _pooled(self, x: str, pooling: Pooling) -> str:
        if pooling == "none":
            return x
        if pooling == "flatten":
            return self._add("Flatten", x)
        pooled = self._add("GlobalAveragePool", x)
        if pooling == "mean_max":
            pooled = self._add("Concat", pooled, self._add("GlobalMaxPool", x), axis=1)
        return self._add("Flatten", pooled)

    def _linear(self, weights: FoldedLayer, x: str, rows: slice = slice(None)) -> str:
        """Write a linear layer, or only some of its outputs."""
        return self._add("Gemm", x, self._constant(weights.weight[rows]), self._constant(weights.bias[rows]), transB=1)

    def _constant(self, array: NDArray[Any] | np.generic) -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def _integers(self, *numbers: int) -> str:
        """Write a list of int64, as shapes and axes are given."""
        return self._constant(np.array(numbers, np.int64))

    def _add(self, operation: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Write a node and return the name of its output."""
        from onnx import helper

        output = output or f"{operation.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, list(inputs), [output], **attributes))
        return output
