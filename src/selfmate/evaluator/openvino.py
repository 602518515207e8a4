"""Evaluation by OpenVINO on the CPU, in f32, bf16 or int8; needs the extra `openvino`, and no PyTorch.

It reads the same ONNX files as ONNX Runtime, int8 ones too. OpenVINO computes 64-bit integers in 32 bits, so the bits
are unpacked here and the graph of the file is used from the planes on; the legal moves are picked here as well. As with
ONNX Runtime, each core computes whole pieces of a batch by itself.

In bf16 only the tower is computed. The heads are a hundredth of the work, and more than half of the error was theirs:
they are a model of their own, in f32.
"""

from __future__ import annotations

import queue
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
import openvino
from numpy.typing import NDArray

from selfmate.errors import EvaluatorError
from selfmate.evaluator.backends import Precision
from selfmate.evaluator.base import Evaluation, Evaluator, checked, evaluate_pieces
from selfmate.evaluator.onnx import INPUTS, OUTPUTS, card_encoding, policy_size
from selfmate.nn.checkpoint import Card, WeightsError
from selfmate.nn.leaves import LeafBatch, Leaves
from selfmate.nn.onnx import EXACT, OnnxNet, read_card_of, read_net
from selfmate.util.cpu import cores
from selfmate.util.text import many

__all__ = ["OpenVinoEvaluator"]

LARGEST_PIECE: Final = 64
SMALLEST_PIECE: Final = 4
"""A batch of 8 leaves keeps two cores busy; smaller pieces are not worth a core."""


class OpenVinoEvaluator(Evaluator):
    """Evaluates with an ONNX file of ours, the folder of a net that has one, or the bytes of one.

    The precision `int8` chooses the int8 file of a folder; an int8 file is computed in int8 whatever the precision.
    """

    def __init__(self, source: str | Path | bytes, *, precision: Precision = "f32", threads: int | None = None) -> None:
        net = read_net(source, int8=precision == "int8")
        self.threads = max(1, cores() if threads is None else threads)
        model = _open_model(net)
        self.card = read_card_of(net.data, net.where)
        self._sizes = _sizes(model, self.card, net.where)
        self._encoding = card_encoding(self.card, net.where)
        _check_parts(self.card)
        # As many pieces at once as one caller has threads, or as there are cores if several callers evaluate.
        streams = max(self.threads, cores())
        _skip_rounding(model)
        whole = _from_planes_on(model, net.where)
        if precision == "bf16" and not net.is_int8:
            tower, heads = _split_heads(whole, net.where)
            compiled = [_compile(tower, "bf16", streams), _compile(heads, "f32", streams)]
        else:
            compiled = [_compile(whole, "f32", streams)]
        self.net_id = self.card.net_id
        self.variant = self.card.variant
        self.name = f"openvino {'int8' if net.is_int8 else precision} on {many(self.threads, 'thread')}"
        # A request is used by one caller at a time; with none free, a caller waits for the next.
        self._requests: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
        for _ in range(streams):
            self._requests.put([each.create_infer_request() for each in compiled])
        self._executor = ThreadPoolExecutor(self.threads, "openvino") if self.threads > 1 else None

    def evaluate(self, leaves: Leaves) -> Evaluation:
        """Evaluate a batch of any size."""
        batch = LeafBatch.of(leaves, *self._sizes)
        found = evaluate_pieces(
            batch,
            self._evaluate_piece,
            smallest=SMALLEST_PIECE,
            largest=LARGEST_PIECE,
            threads=self.threads,
            executor=self._executor,
        )
        return checked(found, self.net_id)

    def _evaluate_piece(self, batch: LeafBatch, out: Evaluation) -> None:
        x = unpack(batch.bits, batch.scalars, int(self.card.config["ranks"]), int(self.card.config["files"]))
        requests = self._requests.get()
        try:
            for request in requests:  # the output of one model is the input of the next
                request.infer({0: x}, share_inputs=True, share_outputs=True)
                x = request.get_output_tensor(0).data
            logits, wdl, plies = (requests[-1].get_output_tensor(index).data for index in range(3))  # its own memory
            out.assign(priors_of(logits, batch.moves, batch.counts), wdl, plies)
        finally:
            self._requests.put(requests)


def is_computed(config: Mapping[str, Any]) -> bool:
    """Return whether the parts of a net are those that this backend finds in the graph; `config` is of its card."""
    parts = (config.get("encoder", "full"), config.get("policy", "planes"), config.get("heads", "conv"))
    return parts in (("full", "planes", "conv"), ("full", "fromto", "conv"))


def _check_parts(card: Card) -> None:
    if not is_computed(card.config):
        raise EvaluatorError("openvino computes only nets with the encoder full, a policy and heads conv; use onnx")


def unpack(bits: NDArray[np.uint64], scalars: NDArray[np.float32], ranks: int, files: int) -> NDArray[np.float32]:
    """Return the planes [B, P + S + 1, ranks, files] of bits [B, P] and scalars [B, S], as the net unpacks them.

    >>> planes = unpack(np.array([[1 << 9]], np.uint64), np.array([[0.5]], np.float32), 5, 5)
    >>> planes.shape, planes[0, 0, 1, 1], planes[0, 1:, 0, 0].tolist()
    ((1, 3, 5, 5), np.float32(1.0), [0.5, 1.0])
    """
    size, boards = bits.shape
    values = scalars.shape[1]
    planes = np.empty((size, boards + values + 1, ranks, files), np.float32)
    # Bit rank * 8 + file: the bytes of a little-endian word are the ranks, the first rank first.
    words = np.ascontiguousarray(bits.astype("<u8", copy=False))
    squares = np.unpackbits(words.view(np.uint8), bitorder="little").reshape(size, boards, 8, 8)
    planes[:, :boards] = squares[:, :, :ranks, :files]
    planes[:, boards : boards + values] = scalars[:, :, None, None]
    planes[:, boards + values] = 1.0
    return planes


def priors_of(
    logits: NDArray[np.float32], moves: NDArray[np.uint16], counts: NDArray[np.uint16]
) -> NDArray[np.float32]:
    """Return the softmax over the legal moves: logits [B, policy size] to priors [B, M], zero beyond the moves.

    >>> priors_of(np.zeros((1, 9), np.float32), np.array([[4, 7, 0]], np.uint16), np.array([2], np.uint16)).tolist()
    [[0.5, 0.5, 0.0]]
    """
    priors = np.zeros(moves.shape, np.float32)
    width = int(counts.max(initial=0))
    if width == 0:
        return priors
    real = np.arange(width) < counts[:, None]
    legal = np.where(real, np.take_along_axis(logits, moves[:, :width].astype(np.int64), 1), -np.inf)
    top = legal.max(1, keepdims=True)
    powers = np.exp(legal - np.where(np.isneginf(top), np.float32(0), top))
    priors[:, :width] = powers / np.maximum(powers.sum(1, keepdims=True), np.float32(1e-30))
    return priors


def _open_model(net: OnnxNet) -> Any:
    try:
        model = openvino.Core().read_model(net.data)
    except Exception as error:  # OpenVINO raises several types
        reason = " ".join(str(error).split())[:200]
        raise WeightsError(f"{net.where}: OpenVINO cannot load it: {reason}", net.where) from None
    inputs = [port.any_name for port in model.inputs]
    outputs = [port.any_name for port in model.outputs]
    if inputs != list(INPUTS) or outputs != OUTPUTS:
        raise WeightsError(f"{net.where}: not an ONNX file of a Selfmate net: other inputs or outputs", net.where)
    return model


def _sizes(model: Any, card: Card, where: str) -> tuple[int, int, int]:
    """Return the numbers of bitboards, scalars and moves of the net."""
    bitboards, scalars = (model.inputs[index].get_partial_shape()[1].get_length() for index in (0, 1))
    return bitboards, scalars, policy_size(card, where)


def _skip_rounding(model: Any) -> None:
    """Use the exact values that an int8 file rounds only for ONNX Runtime."""
    ports = {name: port for node in model.get_ops() for port in node.outputs() for name in port.get_names()}
    for name, exact in ports.items():
        if name.endswith(EXACT) and (rounded := ports.get(name.removesuffix(EXACT))) is not None:
            for target in list(rounded.get_target_inputs()):
                target.replace_source_output(exact)


def _from_planes_on(model: Any, where: str) -> Any:
    """Return the part of the graph from the planes to the logits of all moves, win-draw-loss and plies."""
    from openvino import opset13 as operations

    places: dict[str, Any] = {}
    # The first Concat makes the planes, the only GatherElements picks the legal moves.
    for node in model.get_ordered_ops():
        places.setdefault(node.get_type_name(), node)
    try:
        whole, picked = places["Concat"].output(0), places["GatherElements"].input_value(0)
    except KeyError:
        raise WeightsError(f"{where}: not an ONNX file of a Selfmate net: another graph", where) from None
    shape = whole.get_partial_shape()
    planes = operations.parameter(openvino.PartialShape([-1, *list(shape)[1:]]), openvino.Type.f32, name="planes")
    for target in list(whole.get_target_inputs()):
        target.replace_source_output(planes.output(0))
    others = [model.outputs[index].get_node().input_value(0) for index in (1, 2)]
    return openvino.Model([operations.result(port) for port in (picked, *others)], [planes], "selfmate")


def _split_heads(model: Any, where: str) -> tuple[Any, Any]:
    """Split the graph into tower and heads: the output of the tower goes into a 1x1 convolution of either head."""
    from openvino import opset13 as operations

    def is_head(node: Any) -> bool:
        return node.get_type_name() == "Convolution" and list(node.input_value(1).get_shape())[2:] == [1, 1]

    ends = [
        port
        for node in model.get_ordered_ops()
        for port in node.outputs()
        if sum(is_head(target.get_node()) for target in port.get_target_inputs()) == 2
    ]
    if len(ends) != 1:
        raise WeightsError(f"{where}: not an ONNX file of a Selfmate net: another graph", where)
    outputs = [result.input_value(0) for result in model.get_results()]
    tower_out = operations.parameter(ends[0].get_partial_shape(), openvino.Type.f32, name="tower")
    for target in list(ends[0].get_target_inputs()):
        target.replace_source_output(tower_out.output(0))
    tower = openvino.Model([operations.result(ends[0])], model.get_parameters(), "tower")
    return tower, openvino.Model([operations.result(port) for port in outputs], [tower_out], "heads")


def _compile(model: Any, precision: Precision, streams: int) -> Any:
    settings = {
        "INFERENCE_PRECISION_HINT": precision,
        "INFERENCE_NUM_THREADS": streams,
        "NUM_STREAMS": streams,  # one thread for each stream: no core waits for another
        "ENABLE_CPU_PINNING": False,  # two programs would be pinned to the same cores
    }
    return openvino.Core().compile_model(model, "CPU", settings)
