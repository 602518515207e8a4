"""How long to think: clocks in, seconds out. Nothing here looks at a clock or a tree; it is told what they say.

>>> minute = budget(Clock(remaining=60.0, increment=1.0), overhead=0.03)
>>> f"{minute.aim:.2f} {minute.most:.2f}"
'2.28 9.12'

A move is planned with what is left over all the moves that may come, and may take some times longer when the search is
in doubt, but never so long that the clock could run out: whatever is done, `most` and one overhead fit the clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Budget", "Clock", "Signs", "budget", "gain", "is_decided", "stretch"]


LONGEST_GAME: Final = 45
"""Moves still to come when the board is full and nobody has said how many; Stockfish plans with 50."""


SHORTEST_GAME: Final = 20
"""The same when the board is nearly bare."""


LARGEST_STRETCH: Final = 4.0
"""A search in doubt takes at most so many times what was planned."""


LARGEST_SHARE: Final = 0.3
"""No move takes more than this share of the clock while others are still to come."""


FIRST_LOOK: Final = 0.05
"""A net that is slow for this clock may still have this share of it to say its first word, while that is much."""


USUAL_MOVES: Final = 30
"""Legal moves of a usual position: with more, a little more time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """What the clock of the side to move says, in seconds."""

    remaining: float
    increment: float = 0.0
    moves_to_go: int | None = None
    """Moves to the next time control; None: the clock must last for the game."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Seconds for one move: what to use if nothing special happens, and what never to exceed."""

    aim: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What a search shows while it runs."""

    changes: float = 0.0
    """How often the best move has changed, those long ago counting less."""
    drop: float = 0.0
    """How much worse the position looks than after the last move, in value (0 to 2)."""
    share: float = 0.0
    """The best move's share of all visits."""


def budget(
    clock: Clock, *, overhead: float, legal_moves: int = USUAL_MOVES, phase: float = 1.0, ponder: bool = False
) -> Budget:
    """Divide a clock: `overhead` is lost with every move, `phase` goes from 1 (full board) to 0 (bare kings).

    >>> budget(Clock(remaining=60.0), overhead=0.0, legal_moves=1)
    Budget(aim=0.0, most=0.0)
    >>> budget(Clock(remaining=0.02), overhead=0.03)
    Budget(aim=0.0, most=0.0)
    """
    if legal_moves <= 1:
        return Budget(0.0, 0.0)
    # 1. Over how many moves.
    moves = SHORTEST_GAME + (LONGEST_GAME - SHORTEST_GAME) * min(max(phase, 0.0), 1.0)
    if clock.moves_to_go is not None:
        moves = min(max(clock.moves_to_go, 1), LONGEST_GAME)
    # 2. What there will be for all of them, with an overhead for each and two in reserve (as Stockfish reckons).
    total = clock.remaining + clock.increment * (moves - 1) - overhead * (moves + 2)
    # 3. A fair part of it; more where there is more to choose from, or where the other's time is ours too.
    choice = min(max(math.sqrt(legal_moves / USUAL_MOVES), 0.6), 1.25)
    fair = max(0.0, total / moves) * choice * (1.25 if ponder else 1.0)
    # 4. Never so much that the clock could run out.
    usable = max(0.0, clock.remaining - 2 * overhead)
    safe = usable * (LARGEST_SHARE if moves > 1 else 0.9)
    look = FIRST_LOOK * usable if FIRST_LOOK * usable > overhead else 0.0
    most = min(max(fair * LARGEST_STRETCH, look), safe)
    return Budget(min(fair, most), most)


def stretch(planned: Budget, signs: Signs) -> float:
    """Give the seconds to think in the light of what the search shows: shorter when sure, longer in doubt.

    >>> [round(stretch(Budget(1.0, 4.0), signs), 2) for signs in
    ...     (Signs(), Signs(share=1.0), Signs(changes=1.0), Signs(drop=0.3), Signs(changes=9.0, drop=2.0))]
    [1.0, 0.4, 1.5, 1.6, 4.0]
    """
    doubt = 1.0 + 0.5 * min(signs.changes, 3.0)
    alarm = 1.0 + min(2.0 * signs.drop, 1.0)
    sure = 1.0 - 0.6 * min(max((signs.share - 0.5) / 0.5, 0.0), 1.0)
    return min(planned.aim * doubt * alarm * sure, planned.most)


def is_decided(visits: Sequence[int], still_to_come: float) -> bool:
    """Say whether no other move can still get more visits than the one with most.

    >>> is_decided([900, 300], 500), is_decided([900, 300], 700), is_decided([5], 1e9)
    (True, False, True)
    """
    first, second = sorted((0, 0, *visits))[:-3:-1]
    return len(visits) == 1 or second + still_to_come < first


def gain(before: Mapping[str, int], after: Mapping[str, int]) -> float:
    """Say how much each new visit has changed the policy: Kullback and Leibler's divergence of the visits, per visit.

    It is infinite while there is nothing to compare.

    >>> gain({"a": 50, "b": 50}, {"a": 100, "b": 100})
    0.0
    >>> round(gain({"a": 50, "b": 50}, {"a": 150, "b": 50}), 6)
    0.001438
    """
    old, new = sum(before.values()), sum(after.values())
    if not old or new <= old:
        return math.inf
    divergence = 0.0
    for move, visits in before.items():
        if visits:
            share = visits / old
            divergence += share * math.log(share * new / after[move])
    return max(0.0, divergence) / (new - old)
