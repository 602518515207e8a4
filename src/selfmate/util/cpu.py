"""Facts about the processor: cores this process may use, instruction sets, name."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

__all__ = ["cores", "cpu_flags", "processor_name"]


def cores() -> int:
    """Return the number of logical processors that this process may use.

    >>> cores() >= 1
    True
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


@functools.cache
def cpu_flags() -> frozenset[str]:
    """Return the processor's flags as Linux names them (`avx512_vnni`, …); empty where /proc/cpuinfo has none."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return frozenset()
    line = next((line for line in text.splitlines() if line.startswith(("flags", "Features"))), "")
    return frozenset(line.partition(":")[2].split())


def processor_name() -> str:
    """Return the processor's model name, or its architecture where the system gives no name."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
