"""Facts about the processor: cores this process may use, instruction sets, name."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

__all__ = ["available_threads", "cores", "cpu_flags"]


def available_threads() -> int:
    """Give the number of processors that this process may use.

    >>> available_threads() >= 1
    True
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def cpu_flags() -> frozenset[str]:
    """Name what this processor can do, as Linux does (`avx512_vnni`, …); nothing where that is not said."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return frozenset()
    line = next((line for line in text.splitlines() if line.startswith(("flags", "Features"))), "")
    return frozenset(line.partition(":")[2].split())


def processor_name() -> str:
    """Name the processor as the system does."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
