"""The time of a session with `--minutes`: how much of it is kept for the final matches, and how many games fit into it.

>>> time = SessionTime(began=0.0, deadline=100.0)
>>> time.cycles_end(wanted=200), time.final_end()
(80.0, 120.0)
>>> time.game_seconds = 0.1
>>> time.cycles_end(wanted=100), time.final_games(wanted=200, now=80.0), time.final_games(wanted=200, now=99.0)
(88.0, 180, 0)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["SessionTime"]

FINAL_SHARE: Final = 0.2
"""Largest share of the time that is kept for the final matches. They end without a result when they take longer than
twice that, because the estimate was wrong."""

START_SECONDS: Final = 2.0
"""Time in which the final matches load nets and choose openings."""

LEAST_GAMES: Final = 20
"""Games below which a final match says too little to be worth its time."""


@dataclass
class SessionTime:
    """Begin and deadline of a session (`time.monotonic`); without a deadline everything fits."""

    began: float
    deadline: float | None
    game_seconds: float = 0.0
    """Estimated time of one game of each final match; 0 while there is no estimate."""

    def cycles_end(self, wanted: int) -> float | None:
        """Return when cycles end, so that the final matches of `wanted` games can be played; None: not by time."""
        if self.deadline is None or wanted == 0:
            return self.deadline
        share = FINAL_SHARE * (self.deadline - self.began)
        needed = wanted * self.game_seconds + START_SECONDS if self.game_seconds else share
        return self.deadline - min(share, needed)

    def final_games(self, wanted: int, now: float) -> int:
        """Return the number of games of each final match: an even number that fits, and 0 if that is too few."""
        if self.deadline is None or not self.game_seconds:
            return wanted
        fitting = 2 * max(0, int((self.deadline - now - START_SECONDS) / self.game_seconds / 2))
        return min(wanted, fitting) if fitting >= min(wanted, LEAST_GAMES) else 0

    def final_end(self) -> float | None:
        """Return when a final match ends without a result; None: never."""
        return None if self.deadline is None else self.deadline + FINAL_SHARE * (self.deadline - self.began)
