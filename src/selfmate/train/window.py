"""The window of newest games that the learner samples from, and the held-out games beside it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from selfmate._core import Buffer, Encoding, GameRecord
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import LearnerPart, Recipe
from selfmate.rundir.directory import Run
from selfmate.rundir.format import State, read_committed
from selfmate.rundir.games import decode_games, unpack_games
from selfmate.train.formulas import is_held_out
from selfmate.util.cpu import cores

__all__ = ["Window", "first_cycle", "oldest_game", "read_cycle", "read_games", "read_window"]


class Window:
    """Two buffers of positions, newest games last: `learned` is sampled for training, `held_out` only validates."""

    def __init__(
        self, variant: str, part: LearnerPart, cycle: int, threads: int = 1, *, encoding: Encoding | None = None
    ) -> None:
        self.part = part
        self.capacity = at(part.window, cycle)
        self.held_out_capacity = self.capacity // part.holdout if part.holdout else 0
        self.learned = Buffer(variant, self.capacity, threads, encoding)
        self.held_out = Buffer(variant, max(1, self.held_out_capacity), threads, encoding)

    def fits(self, cycle: int) -> bool:
        """Return whether the capacity is the one that the recipe has at a cycle."""
        return at(self.part.window, cycle) == self.capacity

    def add(self, records: Iterable[GameRecord]) -> None:
        """Add newer games; the oldest games are dropped beyond the capacity."""
        for record in records:
            (self.held_out if self.is_held_out(record.game_id) else self.learned).add(record)

    def forget_before(self, game_id: int) -> None:
        """Drop the oldest games, as long as their ids are below `game_id`."""
        self.learned.forget_before(game_id)
        self.held_out.forget_before(game_id)

    def is_held_out(self, game_id: int) -> bool:
        """Return whether a game only validates."""
        return is_held_out(game_id, self.part.holdout)

    def count_learned(self, records: Iterable[GameRecord]) -> int:
        """Return the number of positions in the games that are not held out."""
        return sum(record.positions for record in records if not self.is_held_out(record.game_id))

    def would_be_full(self, games: Iterable[Iterable[GameRecord]]) -> bool:
        """Return whether these games would fill both buffers, so that older ones need not be read."""
        sums = {False: 0, True: 0}
        for records in games:
            for record in records:
                sums[self.is_held_out(record.game_id)] += record.positions
        return sums[False] >= self.capacity and sums[True] >= self.held_out_capacity


def read_cycle(run: Run, cycle: int) -> list[GameRecord]:
    """Return the committed games of a cycle, in the order of their ids."""
    shards = [shard for shard in run.state.shards if shard.cycle == cycle]
    records = decode_games([data for shard in shards for data in run.read_shard(shard)])
    return sorted(records, key=lambda record: record.game_id)


def first_cycle(part: LearnerPart, cycle: int) -> int:
    """Return the oldest cycle whose games may be in the window of a cycle."""
    cycles = at(part.window_cycles, cycle)
    return max(0, cycle - cycles) if cycles else 0


def oldest_game(run: Run, cycle: int) -> int:
    """Return the smallest id that a game in the window of a cycle may have; 0 where all may be in it."""
    first = first_cycle(run.recipe.learner, cycle)
    return min((shard.first for shard in run.state.shards if shard.cycle >= first), default=0) if first else 0


def read_games(directory: Path, state: State, recipe: Recipe, device: str) -> Window:
    """Return the games of the complete cycles of a run that is only read, as a learner with `recipe` samples them."""
    threads = 1 if device == "cpu" else max(1, cores() // 2)
    window = Window(recipe.variant.name, recipe.learner, state.cycle, threads, encoding=recipe.encoding())
    for shard in sorted(state.shards, key=lambda each: (each.cycle, each.first)):
        if shard.cycle < state.cycle:
            data = read_committed(directory, shard.name, shard.stamp)
            window.add(decode_games(unpack_games(data, str(directory / shard.name))))
    return window


def read_window(run: Run, threads: int, cycle: int) -> Window:
    """Return a window with the newest committed games before a cycle, up to its capacity."""
    window = Window(run.recipe.variant.name, run.recipe.learner, cycle, threads, encoding=run.recipe.encoding())
    newest_first: list[list[GameRecord]] = []
    for earlier in reversed(range(first_cycle(run.recipe.learner, cycle), cycle)):
        newest_first.append(read_cycle(run, earlier))
        if window.would_be_full(newest_first):
            break
    for records in reversed(newest_first):
        window.add(records)
    return window
