"""Evaluation by PyTorch, on a GPU or, for comparison, on the CPU.

On a GPU a batch goes through fixed buffers: a gather writes into pinned memory, a copy brings it to the device, one
CUDA graph unpacks the planes, computes the net and takes the softmax over the legal moves, and a copy brings priors and
win-draw-loss back to pinned memory. Each lane of a pool has buffers (`GpuLane`) and a stream for the copies of its own;
the graphs of all lanes run one after the other, since each of them fills the GPU.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from selfmate import _core
from selfmate._core import LeafBuffers, Pool
from selfmate.errors import EvaluatorError
from selfmate.evaluator.backends import Precision
from selfmate.evaluator.base import MAX_PLIES, Evaluation, Evaluator, EvaluatorLane, checked, pieces
from selfmate.evaluator.cuda import LAUNCH_LOCK, capture, device_errors
from selfmate.nn.checkpoint import Card, NetTensors, describe, load, net_from_tensors
from selfmate.nn.config import NetConfig
from selfmate.nn.encodings import encoding_of
from selfmate.nn.leaves import LeafBatch, Leaves
from selfmate.nn.net import Net, fold, fuse_for_tensor_cores

__all__ = ["GpuLane", "TorchEvaluator", "net_of"]

DTYPES: Final[dict[Precision, torch.dtype]] = {"f32": torch.float32, "bf16": torch.bfloat16}
SMALLEST_BATCH: Final = 32
"""Batches are padded to a power of two, this one at least: few shapes to compile, and equal rounding in all of them."""
LARGEST_BATCH: Final = {"cpu": 256, "cuda": 8192}

COMPILE_OPTIONS: Final[dict[str, str | int | bool | Callable[..., Any]]] = {
    "coordinate_descent_tuning": True,
    "conv_1x1_as_mm": True,
}
"""A tenth faster than without, for some seconds more (docs/log.md lists what else was tried)."""
COMPILE_FROM: Final = 512
"""Lanes with fewer rows are not worth a minute of compiling."""


class TorchEvaluator(Evaluator):
    """Evaluates with a net in memory or in a folder.

    `precision` is f32 on a CPU and bf16 on a GPU by default. `threads` are those of PyTorch in the whole process.
    `compile` fuses the operations between the convolutions for lanes of many rows: twice as fast on a GPU, after a
    minute.
    """

    def __init__(
        self,
        source: Net | NetTensors | str | Path,
        *,
        device: str = "cpu",
        threads: int | None = None,
        precision: Precision | None = None,
        compile: bool = False,  # named as in PyTorch
    ) -> None:
        net, card = net_of(source)
        self._device = torch.device(device)
        if self._device.type not in LARGEST_BATCH:
            raise EvaluatorError(f"no evaluator for the device {device!r}; valid devices: cpu, cuda", device)
        if self._device.type == "cuda" and not torch.cuda.is_available():
            raise EvaluatorError("PyTorch finds no GPU; use the device cpu", device)
        if threads is not None:
            torch.set_num_threads(threads)
        self._precision: Precision = precision or ("bf16" if self._device.type == "cuda" else "f32")
        if self._precision not in DTYPES:
            raise EvaluatorError(f"torch computes in {' or '.join(DTYPES)}, not in {self._precision}", self._precision)
        self._largest = LARGEST_BATCH[self._device.type]
        self._compile = compile
        self.variant = net.config.variant
        self._encoding = None if net.config.is_usual else encoding_of(net.config)
        self.net_id = card.net_id
        self.name = f"torch {self._precision} on {device}{', compiled' if compile else ''}"
        with device_errors():
            self._net = self._fold(net).to(self._device, DTYPES[self._precision], memory_format=torch.channels_last)  # type: ignore[call-overload]
            if self._device.type == "cuda":
                torch.backends.cudnn.benchmark = True  # shapes are few: the fastest kernels are worth looking for
                self._lanes = threading.local()
                self._compute: torch.cuda.Stream = torch.cuda.Stream(self._device, priority=-1)  # type: ignore[no-untyped-call]
                # The weights were copied and converted in the current stream, which a learner may keep busy.
                self._compute.wait_stream(torch.cuda.current_stream(self._device))
                self._pool = torch.cuda.graph_pool_handle()
                self._graphs: dict[tuple[int, int, bool], _EvaluationGraph] = {}
                self._compiled: dict[int, Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]] = {}

    def evaluate(self, leaves: Leaves) -> Evaluation:
        """Evaluate a batch of any size."""
        config = self._net.config
        batch = LeafBatch.of(leaves, config.bitboards, config.scalars, config.policy_size)
        compute = self._on_cpu if self._device.type == "cpu" else self._on_gpu
        parts = [compute(batch.take(slice(*bounds))) for bounds in pieces(batch.size, self._largest)]
        if len(parts) == 1:
            return parts[0]
        if parts:
            return Evaluation(*(np.concatenate(rows) for rows in zip(*parts, strict=True)))
        return Evaluation(*(np.zeros(shape, np.float32) for shape in (batch.moves.shape, (0, 3), (0,))))

    def lane(self, rows: int, *, compiled: bool = True) -> EvaluatorLane:
        """Return the buffers of one lane: on a GPU its own memory there."""
        if self._device.type == "cpu":
            return EvaluatorLane(self)
        return GpuLane(self, rows, compile=self._compile and compiled)

    @property
    def config(self) -> NetConfig:
        """The config of its net."""
        config: NetConfig = self._net.config
        return config

    def replace(self, source: Net | str | Path) -> None:
        """Use the weights of another net of the same config, without compiling again; batches in flight keep theirs."""
        net, card = net_of(source)
        if net.config != self._net.config:
            raise EvaluatorError("the nets differ in their config", card.net_id)
        state = self._fold(net).state_dict()
        stream = torch.cuda.stream(self._compute) if self._device.type == "cuda" else contextlib.nullcontext()
        with device_errors(), LAUNCH_LOCK, stream:
            for name, tensor in self._net.state_dict().items():
                tensor.copy_(state[name])
        self.net_id = card.net_id

    def _fold(self, net: Net) -> Net:
        """Copy a net for inference on this device."""
        has_tensor_cores = self._device.type == "cuda" and self._precision != "f32"
        return fuse_for_tensor_cores(fold(net)) if has_tensor_cores else fold(net)

    @torch.inference_mode()
    def _on_cpu(self, batch: LeafBatch) -> Evaluation:
        """Evaluate the rows as one batch."""
        padded = batch.padded(_padded_rows(batch.size))
        arrays = (padded.bits.view(np.int64), padded.scalars, padded.moves.view(np.int16), padded.counts.view(np.int16))
        outputs = self._net.evaluate(*(torch.from_numpy(array) for array in arrays))
        return checked(Evaluation(*(output[: batch.size].numpy() for output in outputs)), self.net_id)

    def _on_gpu(self, batch: LeafBatch) -> Evaluation:
        """Evaluate the rows in the buffers of this thread; the result is a copy, as wide as the batch."""
        rows = _padded_rows(batch.size)
        lane: GpuLane | None = getattr(self._lanes, "lane", None)
        if lane is None or lane.rows < rows:
            lane = self._lanes.lane = GpuLane(self, rows, compile=self._compile, plies=True)
        lane.fill(batch)
        found = lane.evaluate()
        assert found.plies is not None
        priors = np.zeros_like(batch.moves, np.float32)
        width = min(batch.moves.shape[1], found.priors.shape[1])
        priors[:, :width] = found.priors[:, :width]
        return Evaluation(priors, found.wdl.copy(), found.plies.copy())

    # -- CUDA graphs ------------------------------------------------------------------------------

    def _graph(self, rows: int, width: int, compile: bool) -> _EvaluationGraph:
        """Return the graph of a shape, captured at the first call. The launch lock must be held."""
        found = self._graphs.get((rows, width, compile))
        if found is None:
            found = self._graphs[rows, width, compile] = self._capture(rows, width, compile)
        return found

    @torch.inference_mode()
    def _capture(self, rows: int, width: int, compile: bool) -> _EvaluationGraph:
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

            def compute() -> tuple[Tensor, Tensor, Tensor, Tensor]:
                priors, wdl, plies = self._net.finish(*tower(bits, scalars), moves, counts)
                finite = priors.isfinite().all() & wdl.isfinite().all() & plies.isfinite().all()
                return priors, wdl, finite, plies.clamp(0.0, MAX_PLIES)

            for _ in range(3):  # PyTorch chooses its kernels
                compute()
            self._compute.synchronize()
            with capture(self._pool, self._compute) as graph:
                outputs = compute()
        return _EvaluationGraph(graph, (bits, scalars, moves, counts), outputs)


def _padded_rows(rows: int) -> int:
    """Return the number of rows that a batch is padded to: a power of two."""
    return max(SMALLEST_BATCH, 1 << (rows - 1).bit_length())


class _EvaluationGraph(NamedTuple):
    """A captured computation of one shape, and the memory that it reads and writes."""

    graph: torch.cuda.CUDAGraph
    inputs: tuple[Tensor, Tensor, Tensor, Tensor]
    """bits, scalars, moves, counts."""
    outputs: tuple[Tensor, Tensor, Tensor, Tensor]
    """priors, wdl, whether everything is finite, plies."""


class GpuLane(EvaluatorLane):
    """Buffers and stream of one lane, for at most `rows` leaves.

    `compile` is for batches that nearly fill them; `plies` copies plies left back as well, which no search reads.
    """

    def __init__(self, evaluator: TorchEvaluator, rows: int, *, compile: bool = False, plies: bool = False) -> None:
        super().__init__(evaluator)
        self.evaluator: TorchEvaluator = evaluator
        self.rows = rows
        self._compile = compile and rows >= COMPILE_FROM
        config, device = evaluator._net.config, evaluator._device
        most = _core.encoding(evaluator.variant).max_moves
        self._widths = (3 * most // 8, most)
        inputs = [
            (rows * config.bitboards, torch.int64),
            (rows * config.scalars, torch.float32),
            (rows * most, torch.int16),
            (rows, torch.int16),
        ]
        outputs = [(rows * most, torch.float32), (rows * 3, torch.float32), (1, torch.bool), (rows, torch.float32)]
        if not plies:
            outputs.pop()
        with device_errors():
            self._copies: torch.cuda.Stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self._pinned_inputs = [torch.zeros(size, dtype=kind, pin_memory=True) for size, kind in inputs]
            self._pinned_outputs = [torch.zeros(size, dtype=kind, pin_memory=True) for size, kind in outputs]
            # In the lane's own stream: one that a learner keeps busy would fill them with zeros after the first copies.
            with torch.cuda.stream(self._copies):
                self._inputs = [torch.zeros(size, dtype=kind, device=device) for size, kind in inputs]
                self._outputs = [torch.zeros(size, dtype=kind, device=device) for size, kind in outputs]
            self._events: list[torch.cuda.Event] = [
                torch.cuda.Event(enable_timing=True, blocking=True)  # type: ignore[no-untyped-call]
                for _ in range(5)
            ]
        self._arrays = [tensor.numpy() for tensor in self._pinned_inputs]
        bits, scalars, moves, counts = self._arrays
        self.leaves = LeafBuffers(
            bits.view(np.uint64),
            scalars,
            moves.view(np.uint16),
            counts.view(np.uint16),
            self._widths,
            evaluator.encoding,
        )
        self._size = self._width = 0

    def gather(self, pool: Pool, evaluator: int) -> LeafBuffers:
        """Gather leaves into the pinned memory."""
        pool.gather_into(self.leaves, evaluator)
        self._size, self._width = self.leaves.size, self.leaves.width
        return self.leaves

    def fill(self, batch: LeafBatch) -> None:
        """Copy a batch that was gathered elsewhere into the pinned memory."""
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

    def evaluate(self, leaves: Any = None) -> Evaluation:
        """Evaluate the leaves of the last `gather` or `fill`; the arrays are valid until the next call."""
        evaluator, size, width = self.evaluator, self._size, self._width
        # Half the rows or fewer are computed in a smaller shape; if the whole one is compiled, and so twice as fast,
        # only a quarter or fewer.
        rows = self.rows
        while rows // 2 >= max(size, SMALLEST_BATCH):
            rows //= 2
        if self._compile and rows == self.rows // 2:
            rows = self.rows
        config = evaluator._net.config
        input_sizes = (size * config.bitboards, size * config.scalars, size * width, size)
        output_sizes = (size * width, size * 3, 1, size)[: len(self._outputs)]
        submitted, arrived, begun, computed, back = self._events
        with device_errors(), torch.inference_mode(), LAUNCH_LOCK:
            graph = evaluator._graph(rows, width, self._compile and rows == self.rows)
            # 1. To the device
            with torch.cuda.stream(self._copies):
                submitted.record()
                for pinned, own, count in zip(self._pinned_inputs, self._inputs, input_sizes, strict=True):
                    own[:count].copy_(pinned[:count], non_blocking=True)
                arrived.record()
            # 2. Through the net
            with torch.cuda.stream(evaluator._compute):
                arrived.wait()
                begun.record()
                for own, shared, count in zip(self._inputs, graph.inputs, input_sizes, strict=True):
                    shared.view(-1)[:count].copy_(own[:count])
                graph.graph.replay()
                for own, shared, count in zip(self._outputs, graph.outputs, output_sizes, strict=False):
                    own[:count].copy_(shared.reshape(-1)[:count])
                computed.record()
            # 3. Back to the host
            with torch.cuda.stream(self._copies):
                computed.wait()
                for pinned, own, count in zip(self._pinned_outputs, self._outputs, output_sizes, strict=True):
                    pinned[:count].copy_(own[:count], non_blocking=True)
                back.record()
        with device_errors():
            back.synchronize()
        priors, wdl, finite, *plies = (tensor.numpy() for tensor in self._pinned_outputs)
        if not finite[0]:
            raise EvaluatorError(f"the outputs of net {evaluator.net_id[:12]} are not finite", evaluator.net_id)
        left = plies[0][:size] if plies else None
        return Evaluation(priors[: size * width].reshape(size, width), wdl[: size * 3].reshape(size, 3), left)

    def seconds(self) -> tuple[float, float, float, float]:
        """Return the seconds of the last batch: copy to the device, wait there, computation, copy back."""
        to, wait, compute, back = (
            first.elapsed_time(second) / 1000 for first, second in itertools.pairwise(self._events)
        )
        return to, wait, compute, back


def net_of(source: Net | NetTensors | str | Path) -> tuple[Net, Card]:
    """Return a net and its card: one in memory as it is, one made from its tensors, or the one in a folder."""
    if isinstance(source, NetTensors):
        return net_from_tensors(source), source.card
    return (source, describe(source)) if isinstance(source, Net) else load(source)
