"""Seeds of independent random streams, as hashes of a run's seed and of what they are for."""

from __future__ import annotations

import hashlib
import json

__all__ = ["stream"]


def stream(seed: int, *counters: int | str) -> int:
    """Give the 64-bit seed of one use of chance: a hash of the run's seed and of what it is for.

    >>> stream(1, "batch", 7) == stream(1, "batch", 7) != stream(1, "batch", 8)
    True
    """
    text = json.dumps([seed, *counters])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
