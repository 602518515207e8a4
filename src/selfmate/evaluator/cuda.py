"""Shared by everything that uses a GPU: the launch lock, the capture of CUDA graphs, and error messages."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Final

import torch

from selfmate.errors import DeviceError

__all__ = ["LAUNCH_LOCK", "capture", "device_errors"]

LAUNCH_LOCK: Final = threading.RLock()
"""Held while work is submitted to the GPU: some calls of another thread would invalidate a graph that is captured."""


@contextlib.contextmanager
def capture(pool: Any, stream: torch.cuda.Stream) -> Iterator[torch.cuda.CUDAGraph]:
    """Capture a CUDA graph. Everything in it must have been computed once before, in this very thread.

    cuDNN searches for its fastest kernel at the first use of a shape, which cannot be captured; the result is kept per
    thread.
    """
    graph = torch.cuda.CUDAGraph()
    with LAUNCH_LOCK, torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
        yield graph


@contextlib.contextmanager
def device_errors() -> Iterator[None]:
    """Raise errors of the GPU (out of memory, an old driver, a lost device) as a `DeviceError` of one line."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise DeviceError(
            "the GPU is out of memory; reduce selfplay.slots or learner.batch, or use a smaller net"
        ) from error
    except RuntimeError as error:
        text = str(error)
        if not any(word in text for word in ("CUDA", "cuDNN")) and "cuda" not in type(error).__name__.lower():
            raise
        raise DeviceError(f"the GPU failed: {text.splitlines()[0]}") from error
