"""Seeds of independent random streams, derived from the seed of a run."""

from __future__ import annotations

import hashlib
import json

__all__ = ["stream"]


def stream(seed: int, *counters: int | str) -> int:
    """Return the 64-bit seed of one random stream: a hash of the run's seed and of the stream's name and counters.

    >>> stream(1, "batch", 7) == stream(1, "batch", 7) != stream(1, "batch", 8)
    True
    """
    text = json.dumps([seed, *counters])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
