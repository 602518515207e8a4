"""The games of a run, played by the workers of a cluster: a `GameSource` of the training loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from selfmate._core import GameRecord
from selfmate.board.position import Position
from selfmate.cluster.dispatcher import Dispatcher
from selfmate.cluster.fleet import Fleet
from selfmate.cluster.messages import Setup, pack_net
from selfmate.cluster.states import Task, Times
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import Recipe
from selfmate.recipe.writer import to_toml
from selfmate.rundir.live import Watch
from selfmate.train.judge import judge_games
from selfmate.train.selfplay import Concurrency, CycleGames, is_over, native_evaluator
from selfmate.train.starts import StartPositions
from selfmate.train.status import MachineStatus

__all__ = ["ClusterGames"]

TELL_SECONDS: Final = 0.25
"""Longest time between two calls of `tell`."""


class ClusterGames:
    """Plays the games of cycles on a fleet. What each method does is said in `SelfPlay`.

    The driver needs no device for them. Truncated games are judged here, as the engines of a recipe are those of this
    machine. Workers play on while the trainer writes checkpoints or plays matches: `pause` does nothing.
    """

    def __init__(
        self,
        fleet: Fleet,
        recipe: Recipe,
        seed: int,
        device: str,
        in_flight: Sequence[GameRecord] = (),
        *,
        say: Callable[[str], None],
        continuous: bool | None = None,
        starts: Sequence[str] = (),
        times: Times = Times(),  # noqa: B008  immutable
        show: Callable[[Sequence[MachineStatus]], None] = lambda machines: None,
    ) -> None:
        self.recipe = recipe
        self.continuous = device != "cpu" if continuous is None else continuous
        self.concurrency: Concurrency | None = None  # each worker has its own
        self.starts = StartPositions(recipe, seed, starts)
        self._fleet = fleet
        self._variant = Position(recipe.variant.name)
        setup = Setup(
            recipe=to_toml(recipe),
            seed=seed,
            starts=list(starts),
            device=device,
            continuous=self.continuous,
            lanes=1,
        )
        begun = {record.game_id: record for record in in_flight}
        self.dispatcher = Dispatcher(fleet, setup, self._problem, say=say, begun=begun, times=times)
        self.dispatcher.show = show
        self._net: tuple[str, Any] = ("", None)
        self._queued = 0  # one above the largest id that was asked for
        self._told: set[int] = set()  # finished games of later cycles that were counted already
        self._counted = 0  # evaluations of earlier calls of `play`
        self._counted_from = time.monotonic()
        self.watch: Watch = lambda unfinished: None  # never called: games in flight are on the workers

    @property
    def beat(self) -> Callable[[], None]:
        """Called by the thread that speaks with the workers, again and again (`Watchdog.beat`)."""
        return self.dispatcher.beat

    @beat.setter
    def beat(self, beat: Callable[[], None]) -> None:
        self.dispatcher.beat = beat

    def prepare(self, champion: Path) -> None:
        """Give the champion's folder to the machines of the cluster; workers get it with their next orders."""
        name, data = pack_net(champion)
        if name != self._net[0]:
            self._net = (name, self._fleet.put(data))

    def play(
        self,
        cycle: int,
        missing: Sequence[int],
        *,
        champion: int = 0,
        stopping: Callable[[], bool],
        tell: Callable[[CycleGames], None],
    ) -> CycleGames:
        """Play the games with the ids `missing` (rising, at least one); fewer come back when `stopping` is true."""
        native = native_evaluator(self.recipe, cycle, champion)
        if not self.continuous:
            self._counted_from = time.monotonic()
        self._assign(cycle, missing, native)
        dispatcher, wanted = self.dispatcher, set(missing)
        mine: list[GameRecord] = []
        finished: list[GameRecord] = []

        def collect() -> CycleGames:
            for game, record in list(dispatcher.finished.items()):
                if game not in self._told:
                    finished.append(record)
                    self._told.add(game)
                if game in wanted:
                    mine.append(dispatcher.finished.pop(game))
                    self._told.discard(game)
            seconds = max(time.monotonic() - self._counted_from, 1e-6)
            return CycleGames(mine, finished, dispatcher.counts.evaluations - self._counted, seconds)

        while True:
            with dispatcher.changed:
                games = collect()
                is_done = len(mine) == len(wanted) or stopping() or dispatcher.error is not None
                if not is_done:
                    dispatcher.changed.wait(TELL_SECONDS)
            tell(games)
            if is_done:
                break
        if dispatcher.error is not None and len(mine) < len(wanted):
            raise dispatcher.error
        self._counted += games.evaluations
        self._counted_from = time.monotonic()
        return games._replace(records=judge_games(self.recipe, sorted(mine, key=lambda record: record.game_id)))

    def _assign(self, cycle: int, missing: Sequence[int], native: str | None) -> None:
        """Let the workers play the missing games, and beyond them as many as keep all busy until the next call."""
        task = Task(cycle, native, "", None) if native is not None else Task(cycle, "", *self._net)
        dispatcher, last = self.dispatcher, missing[-1]
        games = list(missing)
        if self.continuous and native is None:
            newest = max([last, *dispatcher.begun])
            ahead = last + 1 + dispatcher.slots() + at(self.recipe.selfplay.games, cycle)
            self._queued = max(self._queued, newest + 1, ahead)
            games += range(last + 1, self._queued)
        with dispatcher.changed:
            over = [game for game, each in dispatcher.begun.items() if is_over(self.recipe, cycle, each)]
            if native is not None:  # they begin anew
                dispatcher.begun.clear()
            else:
                dispatcher.finished |= {game: dispatcher.begun.pop(game) for game in over if game in set(games)}
        dispatcher.assign(task, missing[0], [game for game in games if game not in dispatcher.finished])

    def metrics(self) -> dict[str, float]:
        """Return counters of the session for metrics.jsonl."""
        dispatcher = self.dispatcher
        with dispatcher.changed:
            counts = dispatcher.counts
            return {
                "workers": len(dispatcher.workers),
                "workers_lost": counts.lost,
                "games_given_again": counts.given_again,
                "games_repeated": counts.repeated,
                "reports_refused": counts.refused,
                "dispatcher_seconds": round(counts.dispatcher_seconds, 3),
            }

    def machines(self) -> list[MachineStatus]:
        """Return what the machines of the cluster do."""
        return self.dispatcher.machines()

    def pause(self) -> None:
        """Do nothing: the workers have devices of their own."""

    def in_flight(self) -> list[GameRecord]:
        """Let the workers rest; return the games that have begun and were not returned by `play`."""
        dispatcher = self.dispatcher
        dispatcher.rest()
        with dispatcher.changed:
            return list((dispatcher.begun | dispatcher.flight | dispatcher.finished).values())

    def close(self) -> None:
        """End the workers."""
        self.dispatcher.close()

    def _problem(self, record: GameRecord, cycle: int, is_finished: bool) -> str | None:
        """Return why a game that a worker sent cannot be one of this run's; None for one that can."""
        name = f"{record.variant}960" if record.chess960 else record.variant
        if name != self.recipe.variant.name:
            return f"is one of {name}"
        if self.continuous:  # its start and its length may be those of an earlier cycle
            return None
        if record.start_fen != (self.starts.fen(record.game_id, cycle) or self._variant.fen()):
            return "has another start position"
        if is_finished and not is_over(self.recipe, cycle, record):
            return "is not over"
        return None
