"""The state of a training session as numbers to show: written by the loop, read by a view."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from selfmate.util.text import many, rounded

if TYPE_CHECKING:
    from selfmate._core import GameRecord
    from selfmate.match.runner import MatchProgress
    from selfmate.rating.match_stats import Match
    from selfmate.train.learner import Losses

__all__ = ["CompletedCycle", "MachineStatus", "MeasuredElo", "TrainingStatus"]


class MeasuredElo(NamedTuple):
    """The rating of the champion of a cycle on the scale of `selfmate progress`, and the cost of the measurement."""

    cycle: int
    elo: float
    error: float
    games: int
    seconds: float

    def __str__(self) -> str:
        return f"{rounded(self.elo)} ± {rounded(self.error)} ({many(self.games, 'game')} in {self.seconds:.0f} s)"


class MachineStatus(NamedTuple):
    """What a machine of a cluster does; speeds are averages over some seconds."""

    name: str
    workers: int
    games_per_second: float
    evaluations_per_second: float
    games: int
    """Given to it and not returned."""
    lease_age: float
    """Seconds since the oldest of them was given to it."""
    lost: int
    """Workers that it has lost in this session."""

    def __str__(self) -> str:
        lost = f", {many(self.lost, 'worker')} lost" if self.lost else ""
        speed = f"{self.games_per_second:.1f} games/s, {self.evaluations_per_second:,.0f} evaluations/s"
        return f"{many(self.workers, 'worker')}, {speed}, oldest game {self.lease_age:.0f} s{lost}"


class CompletedCycle(NamedTuple):
    """A cycle that is complete, with the numbers that metrics.jsonl has of it under the same cycle.

    `games` are those of the run so far. `learned` and `held_out` are losses of the candidate, None where it has learned
    nothing yet. The speeds are zero where this session played no game of the cycle.
    """

    cycle: int
    games: int
    step: int
    learned: Losses | None
    held_out: Losses | None
    games_per_second: float
    positions_per_second: float


@dataclass
class TrainingStatus:
    """Everything that a view may show. Losses and speeds are those of the newest step and cycle."""

    variant: str = ""
    recipe: str = ""
    directory: str = ""
    # The run
    cycles: int = 0
    cycle: int = 0
    stage: str = "starting"
    games: int = 0
    positions: int = 0
    # Self-play
    cycle_games: int = 0
    cycle_games_done: int = 0
    games_per_second: float = 0.0
    positions_per_second: float = 0.0
    evaluations_per_second: float = 0.0
    latest_game: GameRecord | None = None
    machines: Sequence[MachineStatus] = ()
    """Of a cluster."""
    # The learner
    step: int = 0
    goal: int = 0
    learning_rate: float = 0.0
    losses: Losses | None = None
    """Of the newest step."""
    learned: Losses | None = None
    held_out: Losses | None = None
    """Of the newest candidate, on games that were learned from and on held-out ones."""
    # Strength
    champion: int = 0
    champion_step: int = 0
    match: MatchProgress | None = None
    """The match in progress, if there is one; `sides` are the names of its first and second player."""
    sides: tuple[str, str] = ("", "")
    scores: dict[str, tuple[int, Match]] = field(default_factory=dict)
    """By opponent: the cycle of the newest match against it, and its result."""
    measured_elo: MeasuredElo | None = None
    completed: CompletedCycle | None = None
    """The newest complete cycle."""
    # Time
    earlier_seconds: float = 0.0
    """Training time of earlier sessions."""
    began: float = field(default_factory=time.monotonic)
    deadline: float | None = None
    """End of the session (`time.monotonic`), if it has one."""

    def elapsed(self) -> float:
        """Return the seconds of training, those of earlier sessions included."""
        return self.earlier_seconds + time.monotonic() - self.began
