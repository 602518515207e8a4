"""Evaluation by torch, on a GPU or, for comparison, on the CPU.

On a GPU a batch walks through memory that never moves: a gather writes into pinned memory, a copy brings it to the
device, one CUDA graph unpacks the planes, computes the net and takes the softmax over the legal moves, and a copy
brings priors and values back to pinned memory. Each lane of a pool has its own such memory (a desk) and its own
streams for the copies; the graphs of all lanes run one after the other, for each of them fills the GPU.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from selfmate import _core
from selfmate._core import LeafRoom, Pool
from selfmate.errors import EvaluatorError
from selfmate.evaluator.base import MAX_PLIES, Answer, Desk, Evaluator, checked, pieces
from selfmate.evaluator.cuda import LAUNCHING, capture, device_errors
from selfmate.nn.checkpoint import Card, describe, load
from selfmate.nn.leaves import LeafBatch, Leaves
from selfmate.nn.net import Net, fold, fuse_for_tensor_cores

__all__ = ["Precision", "TorchEvaluator", "net_of"]


Precision = Literal["float32", "bfloat16"]


SMALLEST_BATCH: Final = 32
"""Batches are padded to a power of two from here on: few shapes to compile, and from here on equal rounding."""


LARGEST_BATCH: Final = {"cpu": 256, "cuda": 8192}


COMPILE_OPTIONS: Final[dict[str, str | int | bool | Callable[..., Any]]] = {
    "coordinate_descent_tuning": True,
    "conv_1x1_as_mm": True,
}
"""A tenth faster than without, for some seconds more (docs/log.md has what else was tried)."""


COMPILE_FROM: Final = 512
"""Desks with less rows are not worth a minute of compiling."""


_Outputs = tuple[Tensor, Tensor, Tensor, Tensor]
"""Priors, win-draw-loss, plies left, and whether all of them are finite."""


class TorchEvaluator(Evaluator):
    """Evaluates with a net in memory or in a folder.

    `precision` is float32 on a CPU and bfloat16 on a GPU unless said otherwise. `threads` are those of torch in the
    whole process. `compile` fuses what stands between the convolutions for desks of many rows: twice as fast on a
    GPU, after a minute.
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
        self._largest = LARGEST_BATCH[self._device.type]
        self._compile = compile
        self.variant = net.config.variant
        self.net_id = card.net_id
        self.name = f"torch {self._precision} on {device}{', compiled' if compile else ''}"
        with device_errors():
            self._net = self._fold(net).to(self._device, dtype, memory_format=torch.channels_last)  # type: ignore[call-overload]
            if self._device.type == "cuda":
                torch.backends.cudnn.benchmark = True  # shapes are few: the fastest kernels are worth looking for
                self._desks = threading.local()
                self._compute: torch.cuda.Stream = torch.cuda.Stream(self._device, priority=-1)  # type: ignore[no-untyped-call]
                self._pool = torch.cuda.graph_pool_handle()
                self._graphs: dict[tuple[int, int, bool], _Graph] = {}
                self._compiled: dict[int, Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]] = {}

    def evaluate(self, leaves: Leaves) -> Answer:
        """Answer a batch of any size."""
        config = self._net.config
        batch = LeafBatch.of(leaves, config.bitboards, config.scalars, config.policy_size)
        compute = self._on_cpu if self._device.type == "cpu" else self._on_gpu
        parts = [compute(batch, begin, end) for begin, end in pieces(batch.size, self._largest)]
        if len(parts) == 1:
            return parts[0]
        if parts:
            return Answer(*(np.concatenate(rows) for rows in zip(*parts, strict=True)))
        return Answer(*(np.zeros(shape, np.float32) for shape in (batch.moves.shape, (0, 3), (0,))))

    def desk(self, rows: int) -> Desk:
        """Give a lane its own memory on the GPU."""
        return Desk(self) if self._device.type == "cpu" else GpuDesk(self, rows, compile=self._compile)

    def trial_desk(self, rows: int) -> Desk:
        """The same, never compiled."""
        return Desk(self) if self._device.type == "cpu" else GpuDesk(self, rows)

    def replace(self, source: Net | str | Path) -> None:
        """Take the weights of another net of the same shape without compiling anew; what is in flight keeps the old."""
        net, card = net_of(source)
        if net.config != self._net.config:
            raise EvaluatorError("the nets differ in shape", card.net_id)
        state = self._fold(net).state_dict()
        stream = torch.cuda.stream(self._compute) if self._device.type == "cuda" else contextlib.nullcontext()
        with device_errors(), LAUNCHING, stream:
            for name, tensor in self._net.state_dict().items():
                tensor.copy_(state[name])
        self.net_id = card.net_id

    def _fold(self, net: Net) -> Net:
        """Copy a net for inference on this device."""
        cores = self._device.type == "cuda" and self._precision != "float32"
        return fuse_for_tensor_cores(fold(net)) if cores else fold(net)

    @torch.inference_mode()
    def _on_cpu(self, batch: LeafBatch, begin: int, end: int) -> Answer:
        """Compute the rows from `begin` to `end` in one batch."""
        piece = batch.piece(begin, end, max(SMALLEST_BATCH, 1 << (end - begin - 1).bit_length()))
        arrays = (piece.bits.view(np.int64), piece.scalars, piece.moves.view(np.int16), piece.counts.view(np.int16))
        outputs = self._net.evaluate(*(torch.from_numpy(array) for array in arrays))
        return checked(Answer(*(output[: end - begin].numpy() for output in outputs)), self.net_id)

    def _on_gpu(self, batch: LeafBatch, begin: int, end: int) -> Answer:
        """The same at the desk of this thread; the answer is a copy, as wide as the batch."""
        rows = max(SMALLEST_BATCH, 1 << (end - begin - 1).bit_length())
        desk: GpuDesk | None = getattr(self._desks, "desk", None)
        if desk is None or desk.rows < rows:
            desk = self._desks.desk = GpuDesk(self, rows, compile=self._compile)
        desk.fill(batch.take(slice(begin, end)))
        answer = desk.evaluate()
        priors = np.zeros((end - begin, batch.moves.shape[1]), np.float32)
        width = min(priors.shape[1], answer.priors.shape[1])
        priors[:, :width] = answer.priors[:, :width]
        return Answer(priors, answer.wdl.copy(), answer.plies.copy())

    # -- the graphs -------------------------------------------------------------------------------

    def _graph(self, rows: int, width: int, compile: bool) -> _Graph:
        """Give the graph of a shape; the first time it is captured. The lock is held."""
        found = self._graphs.get((rows, width, compile))
        if found is None:
            found = self._graphs[rows, width, compile] = self._capture(rows, width, compile)
        return found

    @torch.inference_mode()
    def _capture(self, rows: int, width: int, compile: bool) -> _Graph:
        config = self._net.config
        tower = self._net.raw
        if compile:
            if rows not in self._compiled:
                self._compiled[rows] = torch.compile(self._net.raw, dynamic=False, options=COMPILE_OPTIONS)
            tower = self._compiled[rows]
        with torch.cuda.stream(self._compute):
            bits = torch.zeros((rows, config.bitboards), dtype=torch.int64, device=self._device)
            scalars = torch.zeros((rows, config.scalars), device=self._device)
            moves = torch.zeros((rows, width), dtype=torch.int16, device=self._device)
            counts = torch.ones(rows, dtype=torch.int16, device=self._device)

            def compute() -> _Outputs:
                priors, wdl, plies = self._net.finish(*tower(bits, scalars), moves, counts)
                finite = priors.isfinite().all() & wdl.isfinite().all() & plies.isfinite().all()
                return priors, wdl, plies.clamp(0.0, MAX_PLIES), finite

            for _ in range(3):  # torch chooses its kernels
                compute()
            self._compute.synchronize()
            with capture(self._pool, self._compute) as graph:
                outputs = compute()
        return _Graph(graph, (bits, scalars, moves, counts), outputs)


class _Graph(NamedTuple):
    """A captured computation of one shape, and the memory that it reads and writes."""

    graph: torch.cuda.CUDAGraph
    inputs: tuple[Tensor, Tensor, Tensor, Tensor]
    outputs: _Outputs


class GpuDesk(Desk):
    """Memory and streams of one lane, for at most `rows` leaves; `compile` is for batches that nearly fill it."""

    def __init__(self, evaluator: TorchEvaluator, rows: int, *, compile: bool = False) -> None:
        super().__init__(evaluator)
        self.evaluator: TorchEvaluator = evaluator
        self.rows = rows
        self._compile = compile and rows >= COMPILE_FROM
        config, device = evaluator._net.config, evaluator._device
        most = _core.encoding(evaluator.variant).max_moves
        widths = (3 * most // 8, most)
        kinds = (torch.int64, torch.float32, torch.int16, torch.int16)
        sizes = (rows * config.bitboards, rows * config.scalars, rows * most, rows)
        with device_errors():
            self._pinned = [torch.zeros(n, dtype=kind, pin_memory=True) for n, kind in zip(sizes, kinds, strict=True)]
            self._inputs = [torch.zeros(n, dtype=kind, device=device) for n, kind in zip(sizes, kinds, strict=True)]
            out_sizes = (rows * most, rows * 3, rows, 1)
            out_kinds = (torch.float32, torch.float32, torch.float32, torch.bool)
            out = list(zip(out_sizes, out_kinds, strict=True))
            self._outputs = [torch.zeros(n, dtype=kind, device=device) for n, kind in out]
            self._answers = [torch.zeros(n, dtype=kind, pin_memory=True) for n, kind in out]
            self._copies: torch.cuda.Stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self._events: list[torch.cuda.Event] = [
                torch.cuda.Event(enable_timing=True, blocking=True)  # type: ignore[no-untyped-call]
                for _ in range(5)
            ]
        self._arrays = [tensor.numpy() for tensor in self._pinned]
        bits, scalars, moves, counts = self._arrays
        self.room = LeafRoom(bits.view(np.uint64), scalars, moves.view(np.uint16), counts.view(np.uint16), widths)
        self._widths = widths
        self._size = self._width = 0

    def gather(self, pool: Pool, evaluator: int) -> LeafRoom:
        """Let leaves be written here."""
        pool.gather_into(self.room, evaluator)
        self._size, self._width = self.room.size, self.room.width
        return self.room

    def fill(self, batch: LeafBatch) -> None:
        """Write a batch here that somebody else has gathered."""
        self._size = batch.size
        most = int(batch.counts.max())
        self._width = next((width for width in self._widths if most <= width), self._widths[-1])
        width = min(self._width, batch.moves.shape[1])
        bits, scalars, moves, counts = self._arrays
        bits[: batch.bits.size] = batch.bits.view(np.int64).ravel()
        scalars[: batch.scalars.size] = batch.scalars.ravel()
        rows = moves[: batch.size * self._width].reshape(batch.size, self._width)
        rows[:] = 0
        rows[:, :width] = batch.moves[:, :width].view(np.int16)
        counts[: batch.size] = batch.counts.view(np.int16)

    def evaluate(self, leaves: Any = None) -> Answer:
        """Answer what was written here last; the answer is good until the next one."""
        evaluator, size, width = self.evaluator, self._size, self._width
        # Half a desk or less is computed in a smaller shape; where the whole one is compiled and so twice as fast, only
        # a quarter or less.
        rows = self.rows
        while rows // 2 >= max(size, SMALLEST_BATCH):
            rows //= 2
        if self._compile and rows == self.rows // 2:
            rows = self.rows
        widths = (evaluator._net.config.bitboards, evaluator._net.config.scalars, width, 1)
        asked, arrived, begun, computed, back = self._events
        with device_errors(), torch.inference_mode(), LAUNCHING:
            graph = evaluator._graph(rows, width, self._compile and rows == self.rows)
            # 1. To the device
            with torch.cuda.stream(self._copies):
                asked.record()
                for pinned, own, each in zip(self._pinned, self._inputs, widths, strict=True):
                    own[: size * each].copy_(pinned[: size * each], non_blocking=True)
                arrived.record()
            # 2. Through the net
            with torch.cuda.stream(evaluator._compute):
                arrived.wait()
                begun.record()
                for own, theirs, each in zip(self._inputs, graph.inputs, widths, strict=True):
                    theirs.view(-1)[: size * each].copy_(own[: size * each])
                graph.graph.replay()
                for own, theirs, each in zip(self._outputs, graph.outputs, (width, 3, 1, 1), strict=True):
                    count = size * each if theirs.numel() > 1 else 1
                    own[:count].copy_(theirs.reshape(-1)[:count])
                computed.record()
            # 3. And back
            with torch.cuda.stream(self._copies):
                computed.wait()
                for pinned, own, each in zip(self._answers, self._outputs, (width, 3, 1, 0), strict=True):
                    count = size * each if each else 1
                    pinned[:count].copy_(own[:count], non_blocking=True)
                back.record()
        with device_errors():
            back.synchronize()
        priors, wdl, plies, finite = (tensor.numpy() for tensor in self._answers)
        if not finite[0]:
            raise EvaluatorError(f"the answers of net {evaluator.net_id[:12]} are not finite", evaluator.net_id)
        return Answer(priors[: size * width].reshape(size, width), wdl[: size * 3].reshape(size, 3), plies[:size])

    def seconds(self) -> tuple[float, float, float, float]:
        """Give how long the last batch was on its way to the device, waited there, was computed, and came back."""
        to, wait, compute, back = (
            first.elapsed_time(second) / 1000 for first, second in itertools.pairwise(self._events)
        )
        return to, wait, compute, back


def net_of(source: Net | str | Path) -> tuple[Net, Card]:
    """Give a net and its card: one in memory as it is, or the one in a folder."""
    return (source, describe(source)) if isinstance(source, Net) else load(source)
