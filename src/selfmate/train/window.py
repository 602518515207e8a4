"""The window of newest games that the learner samples from, and the held-out games beside it."""

from __future__ import annotations

from collections.abc import Iterable

from selfmate._core import Buffer, GameRecord
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import LearnerPart
from selfmate.util.random_streams import stream

__all__ = ["Window"]


class Window:
    """What is learned from: the newest games, and beside them the held-out ones that only validate."""

    def __init__(self, variant: str, part: LearnerPart, cycle: int, threads: int = 1) -> None:
        self.part = part
        self.capacity = at(part.window, cycle)
        self.held_out_capacity = self.capacity // part.holdout if part.holdout else 0
        self.learned = Buffer(variant, self.capacity, threads)
        self.held_out = Buffer(variant, max(1, self.held_out_capacity), threads)

    def fits(self, cycle: int) -> bool:
        """Whether this is the window that the recipe asks for at a cycle."""
        return at(self.part.window, cycle) == self.capacity

    def add(self, records: Iterable[GameRecord]) -> None:
        """Add newer games; the oldest ones go when there are too many."""
        for record in records:
            (self.held_out if self.is_held_out(record.game_id) else self.learned).add(record)

    def is_held_out(self, game_id: int) -> bool:
        """Whether a game only validates: chosen by its id, so that it never changes sides."""
        return bool(self.part.holdout) and stream(0, "held out", game_id) % self.part.holdout == 0

    def count_learned(self, records: Iterable[GameRecord]) -> int:
        """Count the positions of games that are learned from."""
        return sum(record.positions for record in records if not self.is_held_out(record.game_id))

    def would_be_full(self, games: Iterable[Iterable[GameRecord]]) -> bool:
        """Whether these games would fill both parts, so that older ones need not be read."""
        sums = {False: 0, True: 0}
        for records in games:
            for record in records:
                sums[self.is_held_out(record.game_id)] += record.positions
        return sums[False] >= self.capacity and sums[True] >= self.held_out_capacity
