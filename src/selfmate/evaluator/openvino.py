"""Evaluation by OpenVINO on the CPU, in f32, bf16 or int8; needs the extra `openvino`, and no torch.

It reads the same ONNX files as ONNX Runtime, int8 ones too. OpenVINO counts in 32 bits what the file counts in 64, so
the bits are unpacked here and the file's graph is taken from the planes on; the legal moves are picked here as well.
As with ONNX Runtime every core computes whole pieces of a batch by itself.

In bf16 only the tower is computed. The heads are a hundredth of the work, and more than half of the error was theirs:
they are a model of their own, in f32.
"""

from __future__ import annotations

import queue
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import openvino
from numpy.typing import NDArray

from selfmate.evaluator.base import Answer, Evaluator, checked, in_pieces
from selfmate.evaluator.onnx import policy_size
from selfmate.nn.checkpoint import Card, WeightsError
from selfmate.nn.leaves import LeafBatch, Leaves
from selfmate.nn.onnx import EXACT, OnnxNet, read_card_of, read_net
from selfmate.util.cpu import cores
from selfmate.util.text import many

__all__ = ["OpenVinoEvaluator", "Precision"]


Precision = Literal["f32", "bf16"]
"""What is counted in where the file does not say int8."""


LARGEST_PIECE: Final = 64


SMALLEST_PIECE: Final = 4
"""A batch of 8 leaves keeps two cores busy; smaller pieces are not worth a core."""


class OpenVinoEvaluator(Evaluator):
    """Evaluates with an ONNX file of ours, the folder of a net that has one, or the bytes of one.

    `int8` chooses the int8 file of a folder.
    """

    def __init__(
        self,
        source: str | Path | bytes,
        *,
        precision: Precision = "f32",
        threads: int | None = None,
        int8: bool = False,
    ) -> None:
        net = read_net(source, int8=int8)
        self.threads = max(1, cores() if threads is None else threads)
        model = _open_model(net)
        self.card = read_card_of(net.data, net.where)
        self._sizes = _sizes(model, self.card, net.where)
        # As many pieces at once as one caller asks for, or as there are cores when several call.
        streams = max(self.threads, cores())
        _leave_exact(model)
        whole = _from_planes_on(model, net.where)
        if precision == "bf16" and not net.is_int8:
            tower, heads = _cut_heads_off(whole, net.where)
            compiled = [_compile(tower, precision, streams), _compile(heads, "f32", streams)]
        else:
            compiled = [_compile(whole, precision, streams)]
        self.net_id = self.card.net_id
        self.variant = self.card.variant
        self.name = f"openvino {'int8' if net.is_int8 else precision} on {many(self.threads, 'thread')}"
        # A request belongs to one caller at a time; who comes when none is free waits for the next.
        self._requests: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
        for _ in range(streams):
            self._requests.put([each.create_infer_request() for each in compiled])
        self._pool = ThreadPoolExecutor(self.threads, "openvino") if self.threads > 1 else None

    def evaluate(self, leaves: Leaves) -> Answer:
        """Answer a batch of any size."""
        batch = LeafBatch.of(leaves, *self._sizes)
        answer = in_pieces(batch, SMALLEST_PIECE, LARGEST_PIECE, self.threads, self._pool, self._evaluate_piece)
        return checked(answer, self.net_id)

    def _evaluate_piece(self, batch: LeafBatch, answer: Answer, begin: int, end: int) -> None:
        """Compute the rows from `begin` to `end` into their place in the answer."""
        ranks, files = int(self.card.config["ranks"]), int(self.card.config["files"])
        planes = unpack(batch.bits[begin:end], batch.scalars[begin:end], ranks, files)
        requests = self._requests.get()
        try:
            into = planes
            for request in requests:  # what one gives goes into the next
                request.infer({0: into}, share_inputs=True, share_outputs=True)
                into = request.get_output_tensor(0).data
            logits, wdl, plies = (requests[-1].get_output_tensor(index).data for index in range(3))  # its own memory
            answer.priors[begin:end] = priors_of(logits, batch.moves[begin:end], batch.counts[begin:end])
            answer.wdl[begin:end] = wdl
            answer.plies[begin:end] = plies
        finally:
            self._requests.put(requests)


def unpack(bits: NDArray[np.uint64], scalars: NDArray[np.float32], ranks: int, files: int) -> NDArray[np.float32]:
    """Make the planes [B, P + S + 1, ranks, files] of bits [B, P] and scalars [B, S], as the net itself does.

    >>> planes = unpack(np.array([[1 << 9]], np.uint64), np.array([[0.5]], np.float32), 5, 5)
    >>> planes.shape, planes[0, 0, 1, 1], planes[0, 1:, 0, 0].tolist()
    ((1, 3, 5, 5), np.float32(1.0), [0.5, 1.0])
    """
    size, boards = bits.shape
    values = scalars.shape[1]
    planes = np.empty((size, boards + values + 1, ranks, files), np.float32)
    # Bit rank*8+file; the bytes of a little-endian word are the ranks, from the first on.
    words = np.ascontiguousarray(bits.astype("<u8", copy=False))
    squares = np.unpackbits(words.view(np.uint8), bitorder="little").reshape(size, boards, 8, 8)
    planes[:, :boards] = squares[:, :, :ranks, :files]
    planes[:, boards : boards + values] = scalars[:, :, None, None]
    planes[:, boards + values] = 1.0
    return planes


def priors_of(
    logits: NDArray[np.float32], moves: NDArray[np.uint16], counts: NDArray[np.uint16]
) -> NDArray[np.float32]:
    """Take the softmax over the legal moves: [B, policy size] to [B, M], zero beyond the moves.

    >>> priors_of(np.zeros((1, 9), np.float32), np.array([[4, 7, 0]], np.uint16), np.array([2], np.uint16)).tolist()
    [[0.5, 0.5, 0.0]]
    """
    priors = np.zeros(moves.shape, np.float32)
    width = int(counts.max(initial=0))
    if width == 0:
        return priors
    real = np.arange(width) < counts[:, None]
    chosen = np.where(real, np.take_along_axis(logits, moves[:, :width].astype(np.int64), 1), -np.inf)
    top = chosen.max(1, keepdims=True)
    powers = np.exp(chosen - np.where(np.isneginf(top), np.float32(0), top))
    priors[:, :width] = powers / np.maximum(powers.sum(1, keepdims=True), np.float32(1e-30))
    return priors


def _open_model(net: OnnxNet) -> Any:
    try:
        model = openvino.Core().read_model(net.data)
    except Exception as error:  # whatever the reader throws
        reason = " ".join(str(error).split())[:200]
        raise WeightsError(f"{net.where}: OpenVINO refuses it: {reason}", net.where) from None
    inputs = [port.any_name for port in model.inputs]
    outputs = [port.any_name for port in model.outputs]
    if inputs != ["bits", "scalars", "moves", "counts"] or outputs != ["priors", "wdl", "plies"]:
        raise WeightsError(f"{net.where}: not an evaluator: its inputs or outputs are others than ours", net.where)
    return model


def _sizes(model: Any, card: Card, where: str) -> tuple[int, int, int]:
    """Say how many bitboards, scalars and moves the net knows."""
    bitboards, scalars = (model.inputs[index].get_partial_shape()[1].get_length() for index in (0, 1))
    return bitboards, scalars, policy_size(card, where)


def _leave_exact(model: Any) -> None:
    """Take what an int8 file rounds for ONNX Runtime's sake alone as it was before: nobody here needs it rounded."""
    ports = {name: port for node in model.get_ops() for port in node.outputs() for name in port.get_names()}
    for name, exact in ports.items():
        if name.endswith(EXACT) and (rounded := ports.get(name.removesuffix(EXACT))) is not None:
            for target in list(rounded.get_target_inputs()):
                target.replace_source_output(exact)


def _from_planes_on(model: Any, where: str) -> Any:
    """Cut the graph where the planes are whole, and where the legal moves are not yet picked."""
    from openvino import opset13 as operations

    places: dict[str, Any] = {}
    for node in model.get_ordered_ops():  # the first Concat makes the planes, the only GatherElements picks
        places.setdefault(node.get_type_name(), node)
    try:
        whole, picked = places["Concat"].output(0), places["GatherElements"].input_value(0)
    except KeyError:
        raise WeightsError(f"{where}: not an evaluator: its graph is another than ours", where) from None
    shape = whole.get_partial_shape()
    planes = operations.parameter(openvino.PartialShape([-1, *list(shape)[1:]]), openvino.Type.f32, name="planes")
    for target in list(whole.get_target_inputs()):
        target.replace_source_output(planes.output(0))
    others = [model.outputs[index].get_node().input_value(0) for index in (1, 2)]
    return openvino.Model([operations.result(port) for port in (picked, *others)], [planes], "selfmate")


def _cut_heads_off(model: Any, where: str) -> tuple[Any, Any]:
    """Cut the graph where the tower ends: what comes out of it goes into a 1x1 convolution of either head."""
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
        raise WeightsError(f"{where}: not an evaluator: its graph is another than ours", where)
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
        "NUM_STREAMS": streams,  # every stream has one thread: no core waits for another
        "ENABLE_CPU_PINNING": False,  # two programs would pin themselves to the same cores
    }
    return openvino.Core().compile_model(model, "CPU", settings)
