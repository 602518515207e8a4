"""Steps of a learner on a GPU: forward, backward and the optimizer are one graph, launched by one call.

A step has hundreds of kernels. Launched one by one they take a processor's whole time, and Python's lock from the lanes
of self-play beside it; a graph takes neither.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

import torch
from torch import Tensor

from selfmate._core import Samples
from selfmate.evaluator.cuda import capture
from selfmate.train.batch import Batch, Landing, wide_enough

__all__ = ["GpuSteps"]


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
        self._graphs: dict[Hashable, _Graph] = {}
        self._pool = torch.cuda.graph_pool_handle()

    def forget(self) -> None:
        """Let go of the graphs: the memory that they work in is no longer the learner's."""
        self.stream.synchronize()
        self._graphs.clear()
        self._pool = torch.cuda.graph_pool_handle()

    def step(self, samples: Samples, constants: Hashable, compute: Compute) -> tuple[Tensor, torch.cuda.Event]:
        """Make a step on the learner's stream; give what is to be seen of it, and when it is there.

        `compute` is called once for each shape, and once more to be captured: what it depends on, beside the batch and
        tensors, are `constants`.
        """
        width = wide_enough(samples)
        key = (samples.size, width, constants)
        found = self._graphs.get(key)
        if found is not None:
            found.landing.bring(samples)
            found.graph.replay()
            numbers = found.numbers
        else:  # the first one as it is: torch compiles and chooses its kernels
            landing = Landing(samples, width, self._device)
            numbers = compute(landing.bring(samples))
            self._graphs[key] = self._capture(landing, compute)
        # Asked for later, a copy would wait for all that the GPU has to do by then.
        here = torch.empty(numbers.shape, pin_memory=True).copy_(numbers, non_blocking=True)
        written = torch.cuda.Event()  # type: ignore[no-untyped-call]
        written.record()
        return here, written

    def _capture(self, landing: Landing, compute: Compute) -> _Graph:
        with capture(self._pool, self.stream) as graph:
            numbers = compute(landing.batch)
        return _Graph(graph, landing, numbers)
