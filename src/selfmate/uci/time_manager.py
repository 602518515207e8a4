"""Time management: a clock in, seconds for a move out. Nothing here reads a clock or a tree; the values are passed in.

>>> minute = budget(Clock(remaining=60.0, increment=1.0), overhead=0.03)
>>> f"{minute.optimum:.2f} {minute.maximum:.2f}"
'2.28 9.12'

The time left is divided by the moves that may come. A move may take several times its share when the search is
unstable, but `maximum` and one overhead always fit the clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from selfmate._core import Move
from selfmate.search.limit import Clock

__all__ = ["Budget", "Progress", "Stability", "TimeManager", "adjusted_seconds", "budget", "is_decided", "kld_gain"]

LONGEST_GAME: Final = 45
"""Moves still to come on a full board, where the GUI names no number; Stockfish plans with 50."""
SHORTEST_GAME: Final = 20
"""The same on a nearly bare board."""
LARGEST_STRETCH: Final = 4.0
"""An unstable search takes at most this multiple of its share."""
LARGEST_SHARE: Final = 0.3
"""No move takes more than this share of the clock while others are still to come."""
FIRST_RESULT_SHARE: Final = 0.05
"""Share of the clock that a slow net may take for its first evaluation, if that is more than the overhead."""
USUAL_MOVES: Final = 30
"""Legal moves of a usual position: with more, a little more time."""
GAIN_VISITS: Final = 100
"""Visits between two checks of the policy's change (lc0's KLDGainAverageInterval)."""
SPEED_KNOWN: Final = 0.005
"""Seconds after which the speed of a search is a usable estimate."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Seconds for one move: for a stable search, and the most for any."""

    optimum: float
    maximum: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """How stable a search is."""

    best_move_changes: float = 0.0
    """Changes of the best move; older ones count less."""
    value_drop: float = 0.0
    """How much the value has fallen since our last move, 0 to 2."""
    best_move_share: float = 0.0
    """The best move's share of all visits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a search has found so far."""

    best: Move
    value: float
    """For the side to move, -1 to 1."""
    is_proven: bool
    visits: int
    """Of this search, without those of a tree that was kept."""
    seconds: float
    """Of this search."""
    move_visits: Mapping[Move, int]
    """Visits of each root move, in a tree that was kept also the older ones."""


def budget(
    clock: Clock, *, overhead: float, legal_moves: int = USUAL_MOVES, phase: float = 1.0, ponder: bool = False
) -> Budget:
    """Return the seconds for a move.

    `overhead` seconds are lost with every move; `phase` goes from 1 (full board) to 0 (bare kings).

    >>> budget(Clock(remaining=60.0), overhead=0.0, legal_moves=1)
    Budget(optimum=0.0, maximum=0.0)
    >>> budget(Clock(remaining=0.02), overhead=0.03)
    Budget(optimum=0.0, maximum=0.0)
    """
    if legal_moves <= 1:
        return Budget(0.0, 0.0)
    # 1. The number of moves to divide by.
    moves = SHORTEST_GAME + (LONGEST_GAME - SHORTEST_GAME) * min(max(phase, 0.0), 1.0)
    if clock.moves_to_go is not None:
        moves = min(max(clock.moves_to_go, 1), LONGEST_GAME)
    # 2. The time for all of them, less an overhead for each and two in reserve (as in Stockfish).
    total = clock.remaining + clock.increment * (moves - 1) - overhead * (moves + 2)
    # 3. A share of it: more with more legal moves, and more if the opponent's time is used too.
    choice = min(max(math.sqrt(legal_moves / USUAL_MOVES), 0.6), 1.25)
    fair = max(0.0, total / moves) * choice * (1.25 if ponder else 1.0)
    # 4. Not more than the clock can stand.
    usable = max(0.0, clock.remaining - 2 * overhead)
    safe = usable * (LARGEST_SHARE if moves > 1 else 0.9)
    first = FIRST_RESULT_SHARE * usable if FIRST_RESULT_SHARE * usable > overhead else 0.0
    maximum = min(max(fair * LARGEST_STRETCH, first), safe)
    return Budget(min(fair, maximum), maximum)


def adjusted_seconds(planned: Budget, stability: Stability) -> float:
    """Return the seconds for a move: less when one move has most of the visits, more when the search is unstable.

    >>> [round(adjusted_seconds(Budget(1.0, 4.0), each), 2) for each in (
    ...     Stability(), Stability(best_move_share=1.0), Stability(best_move_changes=1.0), Stability(value_drop=0.3),
    ...     Stability(best_move_changes=9.0, value_drop=2.0))]
    [1.0, 0.4, 1.5, 1.6, 4.0]
    """
    changes = 1.0 + 0.5 * min(stability.best_move_changes, 3.0)
    drop = 1.0 + min(2.0 * stability.value_drop, 1.0)
    share = 1.0 - 0.6 * min(max((stability.best_move_share - 0.5) / 0.5, 0.0), 1.0)
    return min(planned.optimum * changes * drop * share, planned.maximum)


def is_decided(visits: Sequence[int], still_to_come: float) -> bool:
    """Return whether no other move can still get more visits than the one with most.

    >>> is_decided([900, 300], 500), is_decided([900, 300], 700), is_decided([5], 1e9)
    (True, False, True)
    """
    first, second = sorted((0, 0, *visits))[:-3:-1]
    return len(visits) == 1 or second + still_to_come < first


def kld_gain(before: Mapping[Move, int], after: Mapping[Move, int]) -> float:
    """Return how much each new visit has changed the policy: the Kullback-Leibler divergence per visit.

    It is infinite while there is nothing to compare.

    >>> e4, d4 = Move.from_uci("e2e4"), Move.from_uci("d2d4")
    >>> kld_gain({e4: 50, d4: 50}, {e4: 100, d4: 100})
    0.0
    >>> round(kld_gain({e4: 50, d4: 50}, {e4: 150, d4: 50}), 6)
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


class TimeManager:
    """Decides when a search on a clock ends.

    `last_value` is the value of our last move, where the position follows from it. `min_kld_gain` above 0 also ends a
    search whose policy changes less than that with each visit.
    """

    def __init__(self, planned: Budget, last_value: float | None = None, min_kld_gain: float = 0.0) -> None:
        self.planned = planned
        self._last_value = last_value
        self._min_kld_gain = min_kld_gain
        self._best: Move | None = None
        self._changes = 0.0
        self._halve_at = 64
        self._compared: Mapping[Move, int] = {}

    def should_stop(self, progress: Progress, elapsed: float) -> bool:
        """Return whether the search has taken enough of its time; `elapsed` seconds include those of pondering."""
        # 1. A proven result is played.
        if progress.is_proven:
            return True
        # 2. The time for a search as stable as this one is over, or its policy does not change any more.
        seconds = self.seconds(progress)
        if elapsed >= seconds or self.has_settled(progress):
            return True
        # 3. No other move can overtake the most visited one in the time that is left.
        if progress.seconds < SPEED_KNOWN:
            return False
        to_come = progress.visits / progress.seconds * (seconds - elapsed)
        return is_decided(list(progress.move_visits.values()), to_come)

    def seconds(self, progress: Progress) -> float:
        """Return the seconds that the move may take, as the search looks now."""
        if self._best is not None and progress.best != self._best:
            self._changes += 1
        self._best = progress.best
        if progress.visits >= self._halve_at:  # older changes count less
            self._halve_at = 2 * progress.visits
            self._changes /= 2
        total = sum(progress.move_visits.values())
        stability = Stability(
            best_move_changes=self._changes,
            value_drop=max(0.0, self._last_value - progress.value) if self._last_value is not None else 0.0,
            best_move_share=progress.move_visits[progress.best] / total if total else 0.0,
        )
        return adjusted_seconds(self.planned, stability)

    def has_settled(self, progress: Progress) -> bool:
        """Return whether new visits change the policy less than `min_kld_gain`; checked every `GAIN_VISITS` visits."""
        if not self._min_kld_gain or progress.visits < sum(self._compared.values()) + GAIN_VISITS:
            return False
        before, self._compared = self._compared, progress.move_visits
        return kld_gain(before, progress.move_visits) < self._min_kld_gain
