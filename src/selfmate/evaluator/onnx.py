"""Evaluation by ONNX Runtime on the CPU; needs no torch.

A batch is cut into pieces that stay in a core's cache, and each core computes whole pieces by itself, so that no
core waits for another in the midst of a layer. The answer to a leaf does not depend on the batch around it, bit for
bit: a piece is padded to whole vectors, and every row is computed in the same order.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime

from selfmate.evaluator.base import Answer, Evaluator, checked, in_pieces
from selfmate.nn.checkpoint import Card, WeightsError
from selfmate.nn.leaves import LeafBatch, Leaves
from selfmate.nn.onnx import read_card_of, read_net
from selfmate.util.cpu import cores
from selfmate.util.text import many

__all__ = ["OnnxEvaluator"]


LARGEST_PIECE: Final = 64
"""Rows of a piece: the activations of a small net then fit a core's second-level cache."""


VECTOR: Final = 4
"""Rows are padded to a multiple of this many: softplus of a last odd row is otherwise rounded differently. A batch of
8 leaves, as a short search gathers, still keeps two cores busy."""


INPUTS: Final = {
    "bits": "tensor(int64)",
    "scalars": "tensor(float)",
    "moves": "tensor(uint16)",
    "counts": "tensor(uint16)",
}


OUTPUTS: Final = ["priors", "wdl", "plies"]


class OnnxEvaluator(Evaluator):
    """Evaluates with an ONNX file of ours, the folder of a net that has one, or the bytes of one.

    `int8` chooses the int8 file of a folder.
    """

    def __init__(self, source: str | Path | bytes, *, threads: int | None = None, int8: bool = False) -> None:
        net = read_net(source, int8=int8)
        self._session = _open_session(net.data, net.where)
        self.card = read_card_of(net.data, net.where)
        self.net_id = self.card.net_id
        self.variant = self.card.variant
        self.threads = max(1, cores() if threads is None else threads)
        self.name = f"onnx{' int8' if net.is_int8 else ''} on {many(self.threads, 'thread')}"
        self._bitboards, self._scalars = (self._session.get_inputs()[index].shape[1] for index in (0, 1))
        self._policy_size = policy_size(self.card, net.where)
        self._pool = ThreadPoolExecutor(self.threads, "onnx") if self.threads > 1 else None

    def evaluate(self, leaves: Leaves) -> Answer:
        """Answer a batch of any size."""
        batch = LeafBatch.of(leaves, self._bitboards, self._scalars, self._policy_size)
        answer = in_pieces(batch, VECTOR, LARGEST_PIECE, self.threads, self._pool, self._evaluate_piece)
        return checked(answer, self.net_id)

    def _evaluate_piece(self, batch: LeafBatch, answer: Answer, begin: int, end: int) -> None:
        """Compute the rows from `begin` to `end` into their place in the answer."""
        piece = batch.piece(begin, end, -(-(end - begin) // VECTOR) * VECTOR)
        inputs = {
            "bits": piece.bits.view(np.int64),
            "scalars": piece.scalars,
            "moves": piece.moves,
            "counts": piece.counts,
        }
        for rows, computed in zip(answer, self._session.run(OUTPUTS, inputs), strict=True):
            rows[begin:end] = computed[: end - begin]


def _open_session(data: bytes, where: str) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # the threads are ours
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what is wrong is said by the error
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a class of its own for each code, without a common base
        reason = " ".join(str(error).split())[:200]
        raise WeightsError(f"{where}: ONNX Runtime refuses it: {reason}", where) from None
    inputs = {node.name: node.type for node in session.get_inputs()}
    if inputs != INPUTS or [node.name for node in session.get_outputs()] != OUTPUTS:
        raise WeightsError(f"{where}: not an evaluator: its inputs or outputs are others than ours", where)
    return session


def policy_size(card: Card, where: str) -> int:
    """Say how many moves the net of a card knows."""
    sizes = [card.config.get(key) for key in ("planes", "ranks", "files")]
    if not all(type(size) is int and 1 <= size <= 256 for size in sizes):
        raise WeightsError(f"{where}: its metadata do not say how many moves it knows", where)
    return int(np.prod([int(size) for size in sizes if size is not None]))
