"""Steps of a learner on a GPU: forward, backward and the optimizer are one CUDA graph, launched by one call.

A step has hundreds of kernels. Launching them one by one takes all of a core, and the GIL from the lanes of self-play;
launching a graph takes neither.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

import torch
from torch import Tensor

from selfmate._core import Samples
from selfmate.evaluator.cuda import capture
from selfmate.train.batch import Batch, DeviceBatch, padded_width

__all__ = ["CudaSteps"]

Compute = Callable[[Batch], Tensor]
"""Makes a step from a batch; returns its losses and the norm of its gradient as one tensor."""


class _Graph(NamedTuple):
    """A captured step, the memory of its batch, and the tensor with its losses and the norm of its gradient."""

    graph: torch.cuda.CUDAGraph
    inputs: DeviceBatch
    numbers: Tensor


class CudaSteps:
    """The CUDA graphs of a learner, one for each shape of batch and each set of the recipe's constants."""

    def __init__(self, device: torch.device) -> None:
        torch.backends.cudnn.benchmark = True  # shapes are few: searching for the fastest kernels pays
        self.stream: torch.cuda.Stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.stream.wait_stream(torch.cuda.current_stream(device))
        self._device = device
        self._graphs: dict[Hashable, _Graph] = {}
        self._pool = torch.cuda.graph_pool_handle()

    def forget(self) -> None:
        """Drop the graphs, after the learner's tensors were replaced."""
        self.stream.synchronize()
        self._graphs.clear()
        self._pool = torch.cuda.graph_pool_handle()

    def step(self, samples: Samples, constants: Hashable, compute: Compute) -> tuple[Tensor, torch.cuda.Event]:
        """Make a step on the learner's stream; return its numbers on the CPU, and the event after which they are valid.

        `compute` is called once for each shape, and once more to be captured. Beside the batch and the learner's
        tensors it may depend on `constants` only.
        """
        width = padded_width(samples)
        key = (samples.size, width, constants)
        found = self._graphs.get(key)
        if found is not None:
            found.inputs.upload(samples)
            found.graph.replay()
            numbers = found.numbers
        else:  # the first step is not captured: torch compiles and chooses its kernels
            inputs = DeviceBatch(samples, width, self._device)
            numbers = compute(inputs.upload(samples))
            self._graphs[key] = self._capture(inputs, compute)
        # The copy is queued now: queued later, it would wait for all steps launched by then.
        on_cpu = torch.empty(numbers.shape, pin_memory=True).copy_(numbers, non_blocking=True)
        written = torch.cuda.Event()  # type: ignore[no-untyped-call]
        written.record()
        return on_cpu, written

    def _capture(self, inputs: DeviceBatch, compute: Compute) -> _Graph:
        with capture(self._pool, self.stream) as graph:
            numbers = compute(inputs.batch)
        return _Graph(graph, inputs, numbers)
