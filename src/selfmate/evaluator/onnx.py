"""Evaluation by ONNX Runtime on the CPU; needs no PyTorch.

A batch is cut into pieces that fit a core's cache, and each core computes whole pieces by itself, so that no core waits
for another within a layer. The evaluation of a leaf does not depend on the batch around it, bit for bit: a piece is
padded to whole vectors, and every row is computed in the same order.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from selfmate._core import Encoding
from selfmate.evaluator.base import Evaluation, Evaluator, checked, evaluate_pieces
from selfmate.nn.checkpoint import Card, WeightsError
from selfmate.nn.config import NetConfig, NetError
from selfmate.nn.encodings import encoding_of
from selfmate.nn.leaves import LeafBatch, Leaves
from selfmate.nn.onnx import read_card_of, read_net
from selfmate.util.cpu import cores
from selfmate.util.packages import import_onnxruntime
from selfmate.util.text import many

__all__ = ["OnnxEvaluator"]

onnxruntime = import_onnxruntime()

LARGEST_PIECE: Final = 64
"""Rows of a piece: the activations of a small net then fit a core's second-level cache."""
VECTOR: Final = 4
"""Rows are padded to a multiple of this number: softplus of a last odd row is otherwise rounded differently. A batch of
8 leaves, as a short search gathers, still keeps two cores busy."""

INPUTS: Final = {
    "bits": "tensor(int64)",
    "scalars": "tensor(float)",
    "moves": "tensor(uint16)",
    "counts": "tensor(uint16)",
}
OUTPUTS: Final = list(Evaluation._fields)


class OnnxEvaluator(Evaluator):
    """Evaluates with an ONNX file of ours, the folder of a net that has one, or the bytes of one.

    `int8` chooses the int8 file of a folder; `threads` are those that one batch is divided among (default: all cores).
    """

    def __init__(self, source: str | Path | bytes, *, threads: int | None = None, int8: bool = False) -> None:
        net = read_net(source, int8=int8)
        self._session = _open_session(net.data, net.where)
        self.card = read_card_of(net.data, net.where)
        self.net_id = self.card.net_id
        self.variant = self.card.variant
        self._encoding = card_encoding(self.card, net.where)
        self.threads = max(1, cores() if threads is None else threads)
        self.name = f"onnx{' int8' if net.is_int8 else ''} on {many(self.threads, 'thread')}"
        self._bitboards, self._scalars = (self._session.get_inputs()[index].shape[1] for index in (0, 1))
        self._policy_size = policy_size(self.card, net.where)
        self._executor = ThreadPoolExecutor(self.threads, "onnx") if self.threads > 1 else None

    def evaluate(self, leaves: Leaves) -> Evaluation:
        """Evaluate a batch of any size."""
        batch = LeafBatch.of(leaves, self._bitboards, self._scalars, self._policy_size)
        found = evaluate_pieces(
            batch,
            self._evaluate_piece,
            smallest=VECTOR,
            largest=LARGEST_PIECE,
            threads=self.threads,
            executor=self._executor,
        )
        return checked(found, self.net_id)

    def _evaluate_piece(self, batch: LeafBatch, out: Evaluation) -> None:
        padded = batch.padded(-(-batch.size // VECTOR) * VECTOR)
        outputs = self._session.run(OUTPUTS, padded.onnx_inputs())
        out.assign(*(computed[: batch.size] for computed in outputs))


def _open_session(data: bytes, where: str) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # pieces run in threads of our own
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised; nothing else is printed
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a class for each error code, without a common base
        reason = " ".join(str(error).split())[:200]
        raise WeightsError(f"{where}: ONNX Runtime cannot load it: {reason}", where) from None
    inputs = {node.name: node.type for node in session.get_inputs()}
    if inputs != INPUTS or [node.name for node in session.get_outputs()] != OUTPUTS:
        raise WeightsError(f"{where}: not an ONNX file of a Selfmate net: other inputs or outputs", where)
    return session


def card_encoding(card: Card, where: str) -> Encoding | None:
    """Return the encoding that the net of a card reads, None for the variant's own; refuse one that is not known."""
    if not card.config.keys() & {"encoder", "policy", "history"}:
        return None
    try:
        config = NetConfig.from_dict(card.config)
        return None if config.is_usual else encoding_of(config)
    except NetError as error:
        raise WeightsError(f"{where}: {error}", where) from None


def policy_size(card: Card, where: str) -> int:
    """Return the number of moves in the policy of the net of a card."""
    sizes = [card.config.get(key) for key in ("planes", "ranks", "files")]
    if not all(type(size) is int and 1 <= size <= 256 for size in sizes):
        raise WeightsError(f"{where}: its metadata do not give the size of the policy", where)
    return math.prod(int(size) for size in sizes if size is not None)
