"""How a tree is searched for play: the search configuration, and the size of a batch."""

from __future__ import annotations

from typing import Final

from selfmate._core import SearchConfig
from selfmate.errors import SearchError
from selfmate.util.numbers import flag

__all__ = ["MAX_TREE_BYTES", "batch_size", "play_config"]

# The leaves of one batch are selected without knowing each other's values. Batches against single leaves (heuristic-1,
# atomic, 800 visits; docs/log.md): 50 ± 6 % with 8 leaves, 45 ± 6 % with 16, 33 ± 9 % with 64. So a batch grows with
# the tree, from the size that a net evaluates in about the time of one leaf.
SMALLEST_BATCH: Final = 8
LARGEST_BATCH: Final = 64
VISITS_PER_LEAF: Final = 64

NOISE: Final = 0.25
"""Share of Dirichlet noise in the priors of the root (AlphaZero's)."""

MAX_TREE_BYTES: Final = 1 << 30
"""A tree of this size is pruned to its more visited half."""

FORCED_WIN_NODES: Final = 20_000
"""Positions of the alpha-beta search for a forced win before a search: 2 to 8 ms (docs/results/search.md)."""


def play_config(
    *, lcb: bool = True, noise: bool = False, gumbel: bool = False, draw_score: float = 0.0
) -> SearchConfig:
    """Return the configuration of a search that plays to win; training has its own.

    `lcb` chooses the move with the highest lower confidence bound of its value instead of the most visited one, which
    scored 50 to 58 % in matches (docs/log.md). It is off with `noise`, whose purpose is variety, and with a `gumbel`
    root, which has no noise here and its own choice of the move. `draw_score` is the value of a draw for the side to
    move at the root. Raises `SearchError` for what is no flag, and for numbers out of range.
    """
    lcb, noise, gumbel = (
        flag(name, value, SearchError) for name, value in (("lcb", lcb), ("noise", noise), ("gumbel", gumbel))
    )
    return SearchConfig(
        stop_when_proven=False,  # a shorter win may exist
        lcb=lcb and not noise and not gumbel,
        gumbel=gumbel,
        gumbel_scale=0.0,
        noise_epsilon=NOISE if noise else 0.0,
        draw_score=draw_score,
        max_bytes=MAX_TREE_BYTES,
        forced_win_nodes=FORCED_WIN_NODES,
    )


def batch_size(visits: int) -> int:
    """Return the number of leaves to evaluate at once in a tree of this many visits.

    >>> [batch_size(visits) for visits in (0, 800, 100_000)]
    [8, 12, 64]
    """
    return max(SMALLEST_BATCH, min(LARGEST_BATCH, visits // VISITS_PER_LEAF))
