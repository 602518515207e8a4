"""The games of a match: which players meet, from which opening, with which colours."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["ScheduledGame", "schedule"]


class ScheduledGame(NamedTuple):
    """A game to be played."""

    number: int
    """Unique in the match. Numbers 2n and 2n + 1 are one opening with colours reversed."""
    opening: str
    """FEN; empty for the usual start."""
    white: int
    """Index of a player."""
    black: int


def schedule(players: int, openings: Sequence[str]) -> list[ScheduledGame]:
    """Return the games of a match: each pair of players plays every opening twice, once with each colour.

    All pairs of players play an opening before the next one begins.

    >>> [(game.number, game.white, game.black) for game in schedule(3, ["a"])]
    [(0, 0, 1), (1, 1, 0), (2, 0, 2), (3, 2, 0), (4, 1, 2), (5, 2, 1)]
    """
    pairs = list(itertools.combinations(range(players), 2))
    return [
        ScheduledGame(2 * (index * len(pairs) + place) + reversed_, opening, *(pair[::-1] if reversed_ else pair))
        for index, opening in enumerate(openings)
        for place, pair in enumerate(pairs)
        for reversed_ in (0, 1)
    ]
