"""Positions of games between heuristic-1 and itself: to calibrate int8 nets and to compare evaluators."""

from __future__ import annotations

import random
from typing import Final

import numpy as np

from selfmate._core import Encoding, Pool, SearchConfig, SelfPlayConfig, encoding
from selfmate.board.position import Position
from selfmate.nn.leaves import LeafBatch

__all__ = ["calibration_leaves", "game_positions"]

CALIBRATION_LEAVES: Final = 512
CALIBRATION_SEED: Final = 20_000
POSITIONS_SEED: Final = 10_000
"""Other games than those of the calibration: an int8 net was not fitted to the positions it is measured on."""
GAME_VISITS: Final = 16
LAST_PLY: Final = 80
SAMPLED_SHARE: Final = 1 / 64
"""Share of the gathers whose leaves are kept: neighbours in a tree are alike."""


def calibration_leaves(variant: str, count: int = CALIBRATION_LEAVES, *, encoded: Encoding | None = None) -> LeafBatch:
    """Return leaves of the searches in games of heuristic-1, from all phases of the game; always the same ones.

    `encoded` is the encoding of a net, the variant's own by default.
    """
    facts = encoded or encoding(variant)
    pool = _pool(variant, CALIBRATION_SEED, facts)
    pool.start(0, 64)
    chance = random.Random(CALIBRATION_SEED)
    seen: list[LeafBatch] = []
    while not pool.done():
        leaves = pool.gather()
        if leaves.size and chance.random() < SAMPLED_SHARE:
            seen.append(LeafBatch.of(leaves, facts.bitboards, facts.scalars, facts.policy_size))
        if leaves.size:
            pool.apply_native(leaves.ticket, "heuristic-1")
    arrays = ([getattr(batch, field) for batch in seen] for field in LeafBatch.__slots__)
    rows = LeafBatch(*(np.concatenate(parts) for parts in arrays))
    return rows.take(np.array(sorted(chance.sample(range(rows.size), min(count, rows.size)))))


def game_positions(variant: str, count: int) -> list[Position]:
    """Return `count` positions that are not over, each from another game of heuristic-1; always the same ones.

    >>> positions = game_positions("gardner", 5)
    >>> len(positions), [each.fen() for each in positions] == [each.fen() for each in game_positions("gardner", 5)]
    (5, True)
    """
    pool = _pool(variant, POSITIONS_SEED, encoding(variant))
    pool.start(0, count + count // 4)
    pool.run("heuristic-1")
    chance = random.Random(POSITIONS_SEED)
    found: dict[str, Position] = {}
    for record in pool.drain():
        position = Position(variant, record.start_fen)
        plies = chance.randrange(record.random_plies, max(record.random_plies + 1, min(LAST_PLY, len(record.moves))))
        for move in record.moves[:plies]:
            position.play(move)
        if not position.is_game_over(claim_draw=True):
            found.setdefault(position.fen(), position)
    return list(found.values())[:count]


def _pool(variant: str, seed: int, encoded: Encoding) -> Pool:
    return Pool(
        variant,
        SearchConfig(gumbel=True),
        SelfPlayConfig(
            visits=GAME_VISITS, full_probability=1, random_plies=4, temperature=1.0, temperature_plies=12, max_plies=200
        ),
        seed=seed,
        slots=64,
        threads=1,
        encoding=encoded,
    )
