"""How much memory this process may use, and giving back what it does not use."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["gibibytes", "memory_bytes", "trim_heap"]

LIMIT_FILES: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where a container's limit stands, in cgroup versions 2 and 1; `max` or a huge number means no limit."""


def memory_bytes() -> int:
    """Return the memory of the machine in bytes, or the limit of the container where that is less.

    >>> memory_bytes() > 2**20
    True
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in LIMIT_FILES:
        try:
            text = path.read_text("ascii").strip()
        except OSError:
            continue
        if text.isdecimal() and int(text) > 0:
            memory = min(memory, int(text))
    return memory


def gibibytes(number: float) -> str:
    """Return a number of bytes in GiB, with one decimal, or two significant digits where that would be little.

    >>> gibibytes(3 << 30), gibibytes(15 << 20), gibibytes(5 * 2**42)
    ('3.0 GiB', '0.015 GiB', '20,480.0 GiB')
    """
    size = number / 2**30
    return f"{size:,.1f} GiB" if size >= 1 else f"{size:.2g} GiB"


def trim_heap() -> None:
    """Give free memory of the C heap back to the system; without glibc, nothing happens.

    Threads allocate in heaps of their own, and a freed search tree below other blocks stays with the process otherwise.
    The interpreter's lock is released meanwhile.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@functools.cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library; Windows takes no None
        return None
    return found
