"""Evaluation by torch, on a GPU or, for comparison, on the CPU."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import numpy as np
import torch
from torch import Tensor

from selfmate.evaluator import Answer, Evaluator, EvaluatorError, LeafBatch, Leaves, checked, pieces
from selfmate.net import Net, fold
from selfmate.weights import Card, describe, load

__all__ = ["Precision", "TorchEvaluator", "net_of"]

Precision = Literal["float32", "bfloat16"]

SMALLEST_BATCH: Final = 32
"""Batches are padded to a power of two from here on: few shapes to compile, and from here on equal rounding."""

LARGEST_BATCH: Final = {"cpu": 256, "cuda": 8192}


class TorchEvaluator(Evaluator):
    """Evaluates with a net in memory or in a folder.

    `precision` is float32 on a CPU and bfloat16 on a GPU unless said otherwise. `threads` are those of torch in the
    whole process. `compile` fuses what stands between the convolutions: twice as fast on a GPU, after a minute.
    """

    def __init__(
        self,
        source: Net | str | Path,
        *,
        device: str = "cpu",
        threads: int | None = None,
        precision: Precision | None = None,
        compile: bool = False,  # as torch calls it
    ) -> None:
        net, card = net_of(source)
        self._device = torch.device(device)
        if self._device.type not in LARGEST_BATCH:
            raise EvaluatorError(f"no evaluator for the device {device!r}; there are cpu and cuda", device)
        if self._device.type == "cuda" and not torch.cuda.is_available():
            raise EvaluatorError("torch sees no GPU; the device cpu is always there", device)
        if threads is not None:
            torch.set_num_threads(threads)
        self._precision = precision or ("bfloat16" if self._device.type == "cuda" else "float32")
        dtype = torch.bfloat16 if self._precision == "bfloat16" else torch.float32
        self._net = fold(net).to(self._device, dtype, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._function: Callable[..., tuple[Tensor, Tensor, Tensor]] = self._net.evaluate
        if compile:
            self._function = torch.compile(self._net.evaluate, dynamic=False)
        self._largest = LARGEST_BATCH[self._device.type]
        self._streams = threading.local()
        self.net_id = card.net_id
        self.variant = net.config.variant
        self.name = f"torch {self._precision} on {device}"

    def evaluate(self, leaves: Leaves) -> Answer:
        """Answer a batch of any size."""
        config = self._net.config
        batch = LeafBatch.of(leaves, config.bitboards, config.scalars, config.policy_size)
        parts = [self._evaluate_piece(batch, begin, end) for begin, end in pieces(batch.size, self._largest)]
        if len(parts) == 1:
            answer = parts[0]
        elif parts:
            answer = Answer(*(np.concatenate(rows) for rows in zip(*parts, strict=True)))
        else:
            answer = Answer(*(np.zeros(shape, np.float32) for shape in (batch.moves.shape, (0, 3), (0,))))
        return checked(answer, self.net_id)

    @torch.inference_mode()
    def _evaluate_piece(self, batch: LeafBatch, begin: int, end: int) -> Answer:
        """Compute the rows from `begin` to `end` in one batch."""
        piece = batch.piece(begin, end, max(SMALLEST_BATCH, 1 << (end - begin - 1).bit_length()))
        arrays = (piece.bits.view(np.int64), piece.scalars, piece.moves.view(np.int16), piece.counts.view(np.int16))
        inputs = [torch.from_numpy(array) for array in arrays]
        outputs = self._function(*inputs) if self._device.type == "cpu" else self._on_gpu(inputs)
        return Answer(*(output[: end - begin].numpy() for output in outputs))

    def _on_gpu(self, inputs: list[Tensor]) -> list[Tensor]:
        """Compute on a stream of this thread, so that the lanes of a pool overlap."""
        if not hasattr(self._streams, "stream"):
            self._streams.stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        stream: torch.cuda.Stream = self._streams.stream
        with torch.cuda.stream(stream):
            moved = [tensor.pin_memory().to(self._device, non_blocking=True) for tensor in inputs]
            outputs = []
            for computed in self._function(*moved):
                pinned = torch.empty(computed.shape, dtype=computed.dtype, pin_memory=True)
                outputs.append(pinned.copy_(computed, non_blocking=True))
            stream.synchronize()
        return outputs


def net_of(source: Net | str | Path) -> tuple[Net, Card]:
    """Give a net and its card: one in memory as it is, or the one in a folder."""
    return (source, describe(source)) if isinstance(source, Net) else load(source)
