"""What all who use a GPU share: whose turn it is to launch, how a graph is captured, and what its errors say."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Final

import torch

from selfmate.errors import DeviceError

__all__ = ["LAUNCHING", "capture", "device_errors"]


LAUNCHING: Final = threading.RLock()
"""Held while work is given to the GPU. While a graph is captured nobody else may: some calls would spoil it."""


@contextlib.contextmanager
def capture(pool: Any, stream: torch.cuda.Stream) -> Iterator[torch.cuda.CUDAGraph]:
    """Capture a graph. Everything in it must have been computed once before, in this very thread.

    cuDNN looks for its fastest kernel at the first use of a shape, which cannot be captured; what it found is known to
    the thread that looked.
    """
    graph = torch.cuda.CUDAGraph()
    with LAUNCHING, torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
        yield graph


@contextlib.contextmanager
def device_errors() -> Iterator[None]:
    """Say in one line what a GPU complains of: too little memory, a driver that is too old, a device that is lost."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise DeviceError(
            "the GPU has too little memory; fewer selfplay.slots, a smaller learner.batch or a smaller net need less"
        ) from error
    except RuntimeError as error:
        text = str(error)
        if not any(word in text for word in ("CUDA", "cuDNN")) and "cuda" not in type(error).__name__.lower():
            raise
        raise DeviceError(f"the GPU failed: {text.splitlines()[0]}") from error
