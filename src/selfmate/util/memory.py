"""How much memory this process may use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["gibibytes", "memory_bytes"]

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
