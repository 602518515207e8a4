"""Steps of a learner on a GPU: forward, backward and the optimizer are one graph, launched by one call.

A step has hundreds of kernels. Launched one by one they take a processor's whole time, and Python's lock from the lanes
of self-play beside it; a graph takes neither.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

import torch
from torch import Tensor

from selfmate._core import Samples
from selfmate.batches import Batch, Landing, wide_enough

__all__ = ["GpuSteps"]

PLAIN_STEPS: Final = 3
"""Steps without a graph, in which torch compiles and chooses its kernels."""

Compute = Callable[[Batch], Tensor]
"""Makes a step from a batch; gives what is to be seen of it."""


class _Graph(NamedTuple):
    """A captured step, where its batch lands, and what is to be seen of it."""

    graph: torch.cuda.CUDAGraph
    landing: Landing
    numbers: Tensor


class GpuSteps:
    """The graphs of a learner, one for each shape of batch and for other constants of the recipe."""

    def __init__(self, device: torch.device) -> None:
        torch.backends.cudnn.benchmark = True  # shapes are few: the fastest kernels are worth looking for
        self.stream: torch.cuda.Stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.stream.wait_stream(torch.cuda.current_stream(device))
        self._device = device
        self._plain = PLAIN_STEPS
        self._graphs: dict[Hashable, _Graph] = {}
        self._pool = torch.cuda.graph_pool_handle()

    def forget(self) -> None:
        """Let go of the graphs: the memory that they work in is no longer the learner's."""
        self.stream.synchronize()
        self._graphs.clear()
        self._pool = torch.cuda.graph_pool_handle()

    def step(self, samples: Samples, constants: Hashable, compute: Compute) -> tuple[Tensor, torch.cuda.Event]:
        """Make a step on the learner's stream; give what is to be seen of it, and when it is there.

        `compute` is only called to be captured: what it depends on, beside the batch and tensors, are `constants`.
        """
        width = wide_enough(samples)
        if self._plain:
            self._plain -= 1
            numbers = compute(Landing(samples, width, self._device).bring(samples))
        else:
            key = (samples.size, width, constants)
            if key not in self._graphs:
                self._graphs[key] = self._capture(Landing(samples, width, self._device), compute)
            found = self._graphs[key]
            found.landing.bring(samples)
            found.graph.replay()
            numbers = found.numbers
        # Asked for later, a copy would wait for all that the GPU has to do by then.
        here = torch.empty(numbers.shape, pin_memory=True).copy_(numbers, non_blocking=True)
        written = torch.cuda.Event()  # type: ignore[no-untyped-call]
        written.record()
        return here, written

    def _capture(self, landing: Landing, compute: Compute) -> _Graph:
        graph = torch.cuda.CUDAGraph()
        # Lanes of self-play go on beside this: only calls of this thread are watched.
        with torch.cuda.graph(graph, pool=self._pool, stream=self.stream, capture_error_mode="thread_local"):
            numbers = compute(landing.batch)
        return _Graph(graph, landing, numbers)
