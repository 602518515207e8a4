"""Self-play of a run: the pool of its recipe, how many games are in it at once, and the games of a cycle."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from selfmate._core import GameRecord, Pool, SelfPlayConfig
from selfmate.evaluator.base import Evaluator
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import Recipe, SelfPlayPart
from selfmate.recipe.searches import selfplay_search
from selfmate.rundir.live import Watch
from selfmate.search.autotune import GPU_LANES, best_batch, is_on_gpu, room_for_trees, with_spare
from selfmate.train.judge import judge_games
from selfmate.train.memory import most_visits
from selfmate.train.pool_thread import PoolThread, open_champion
from selfmate.train.starts import StartPositions
from selfmate.train.status import MachineStatus
from selfmate.util.cpu import cores
from selfmate.util.text import many

__all__ = [
    "Concurrency",
    "CycleGames",
    "SelfPlay",
    "choose_concurrency",
    "is_over",
    "lanes_on",
    "native_evaluator",
    "ranges",
    "selfplay_config",
    "selfplay_pool",
    "should_compile",
]

DRAIN_SECONDS: Final = 0.25
"""Time between two looks at the finished games of a pool."""
FIRST_DRAIN_SECONDS: Final = 0.05
"""Time before the first look of a cycle: the games of a short one may all end within `DRAIN_SECONDS`."""

UNIFORM_GAMES: Final = 256
"""Games without a net at once, between two looks at whether to stop."""

SMALL_BATCH: Final = 3 * 512
"""Leaves at once below which compiling a net does not pay."""


def selfplay_config(part: SelfPlayPart, cycle: int) -> SelfPlayConfig:
    """Return the self-play of a recipe at a cycle."""
    return SelfPlayConfig(**part.core_values(cycle), judge_search=part.judge == "search")


class Concurrency(NamedTuple):
    """How many games are played at once."""

    slots: int
    batch: int
    """Most leaves that are evaluated together; 0: those of all games, shared by the lanes."""
    reason: str
    """Why this many, for the log."""


def choose_concurrency(recipe: Recipe, evaluator: Evaluator, lanes: int, *, pools: int = 1) -> Concurrency:
    """Return how many games self-play has at once: the recipe's number, or what fits the device.

    What fits is measured: the smallest batch in which the evaluator is nearly as fast as it gets. More games at once
    than that only make each of them slower. Their trees must fit into memory, which so many pools share.
    """
    part = recipe.selfplay
    if part.slots:
        return Concurrency(part.slots, 0, f"{many(part.slots, 'game')} at once, as in the recipe")
    rows, speeds = best_batch(evaluator)
    slots = max(lanes, lanes * rows // part.leaves)
    if is_on_gpu(evaluator):
        slots = with_spare(slots)
    room = room_for_trees(most_visits(recipe)) // pools
    if slots > room:
        slots = max(lanes, room)
        return Concurrency(slots, 0, f"{many(slots, 'game')} at once: the trees of more would not fit into memory")
    why = f"{rows:,} leaves are evaluated at {speeds[rows]:,.0f}/s, more of them at {max(speeds.values()):,.0f}/s"
    return Concurrency(slots, rows, f"{many(slots, 'game')} at once in {many(lanes, 'lane')}: {why}")


def selfplay_pool(recipe: Recipe, cycle: int, *, seed: int, concurrency: Concurrency, lanes: int, threads: int) -> Pool:
    """Return the pool of a recipe at a cycle, without games."""
    pool = Pool(
        recipe.variant.name,
        selfplay_search(recipe, cycle),
        selfplay_config(recipe.selfplay, cycle),
        seed=seed,
        slots=concurrency.slots,
        lanes=lanes,
        threads=threads,
        leaves_per_slot=recipe.selfplay.leaves,
        batch=concurrency.batch,
        cache=recipe.selfplay.cache,
        encoding=recipe.encoding(),
    )
    pool.set_temperature_by_move(recipe.selfplay.temperature_by_move)
    return pool


def should_compile(recipe: Recipe, device: str) -> bool:
    """Return whether nets are compiled: on a GPU, unless the recipe asks for batches too small for it to pay."""
    leaves = recipe.selfplay.slots * recipe.selfplay.leaves
    return device != "cpu" and not 0 < leaves < SMALL_BATCH


def lanes_on(device: str) -> int:
    """Return the number of lanes of self-play and matches on a device of this machine."""
    return cores() if device == "cpu" else GPU_LANES


def native_evaluator(recipe: Recipe, cycle: int, champion: int) -> str | None:
    """Return the evaluator of the core that plays the games of a cycle; None if the champion does.

    `champion` is the cycle that made it, 0 for the untrained net: no candidate has passed the gate yet.
    """
    part = recipe.selfplay
    if cycle < part.uniform_cycles:
        return "uniform"
    explores = part.explorer != "net" and (champion == 0 or cycle < part.explorer_cycles)
    return part.explorer if explores else None


def is_over(recipe: Recipe, cycle: int, record: GameRecord) -> bool:
    """Return whether a game of self-play has ended: by the rules, by resignation or by its length.

    Where the search judges truncated games, a game of full length goes on until it has its judgement.
    """
    if record.outcome is not None or record.judgement is not None:
        return True
    return len(record.moves) >= at(recipe.selfplay.max_plies, cycle) and recipe.selfplay.judge != "search"


class CycleGames(NamedTuple):
    """The games of one `SelfPlay.play`, so far or at its end."""

    records: list[GameRecord]
    """Finished games of the cycle."""
    finished: list[GameRecord]
    """Every game that ended since the call, those of later cycles included."""
    evaluations: int
    seconds: float


class SelfPlay:
    """Plays the games of cycles with the champion, and keeps the unfinished ones for the next cycle.

    On a CPU a pool plays the games of one cycle, and a run is repeatable bit for bit. On a GPU self-play is
    `continuous`: one pool goes on from cycle to cycle, also while the trainer writes checkpoints, games of later cycles
    begin as soon as a slot is free, and games continue with the next champion; the device is never idle.
    """

    def __init__(
        self,
        recipe: Recipe,
        seed: int,
        device: str,
        in_flight: Sequence[GameRecord] = (),
        *,
        continuous: bool | None = None,
        starts: Sequence[str] = (),
    ) -> None:
        self.recipe = recipe
        self.seed = seed
        self.device = device
        self.starts = StartPositions(recipe, seed, starts)
        self.continuous = device != "cpu" if continuous is None else continuous
        self._thread = PoolThread(lanes_on(device))
        self.concurrency: Concurrency | None = None  # measured once per session
        self._evaluator: Evaluator | None = None
        self._begun = list(in_flight)  # games that have begun and belong to this cycle or to later ones, without a pool
        self._pool: Pool | None = None
        self.watch: Watch = lambda unfinished: None
        self._queued = 0  # one above the largest id that was queued in the pool
        self._finished: dict[int, GameRecord] = {}  # by id; taken from the pool, not returned yet
        self._evaluations_counted = 0  # those of earlier calls of `play`
        self._counted_from = 0.0  # when it returned, or when the pool began after a rest (`time.monotonic`)

    @property
    def beat(self) -> Callable[[], None]:
        """Called by the lanes again and again (`Watchdog.beat`)."""
        return self._thread.beat

    @beat.setter
    def beat(self, beat: Callable[[], None]) -> None:
        self._thread.beat = beat

    def prepare(self, champion: Path) -> None:
        """Load the champion's folder. A GPU keeps one evaluator and replaces its weights: compiling takes a while."""
        self._evaluator = open_champion(
            champion,
            self._evaluator,
            device=self.device,
            continuous=self.continuous,
            compiled=should_compile(self.recipe, self.device),
            pause=self.pause,
        )
        if self.concurrency is None:
            self.concurrency = choose_concurrency(self.recipe, self._evaluator, self._thread.lanes)

    def play(
        self,
        cycle: int,
        missing: Sequence[int],
        *,
        champion: int = 0,
        stopping: Callable[[], bool],
        tell: Callable[[CycleGames], None],
    ) -> CycleGames:
        """Play the games with the ids `missing` (rising, at least one); fewer come back when `stopping` is true.

        `champion` is the cycle that made the net which `prepare` has loaded.

        `tell` is called with the games so far several times a second, and at the end. Finished games, evaluations and
        seconds are counted since the call before, if the pool has not rested since then.
        """
        if (native := native_evaluator(self.recipe, cycle, champion)) is not None:
            return self._play_native(native, cycle, missing, stopping, tell)
        self._thread.stopping = stopping
        self._start(cycle, missing)
        wanted = set(missing)
        mine = [self._finished.pop(game) for game in missing if game in self._finished]
        finished: list[GameRecord] = []

        def drain() -> CycleGames:
            assert self._pool is not None
            for record in self._pool.drain():
                if record.game_id in wanted:
                    mine.append(record)
                else:
                    self._finished[record.game_id] = record
                finished.append(record)
            seconds = max(time.monotonic() - self._counted_from, 1e-6)
            games = CycleGames(mine, finished, self._thread.evaluations - self._evaluations_counted, seconds)
            tell(games)
            self.watch(self._pool.unfinished_games)
            return games

        look = FIRST_DRAIN_SECONDS
        while len(mine) < len(wanted) and not self._thread.wait(0):
            self._thread.wait(look)
            drain()
            look = DRAIN_SECONDS
        if not self.continuous or len(mine) < len(wanted):
            self.pause()
        games = drain()
        self._thread.stopping = lambda: False
        self._evaluations_counted += games.evaluations
        self._counted_from = time.monotonic()
        return games._replace(records=judge_games(self.recipe, sorted(mine, key=lambda record: record.game_id)))

    def _play_native(
        self,
        evaluator: str,
        cycle: int,
        missing: Sequence[int],
        stopping: Callable[[], bool],
        tell: Callable[[CycleGames], None],
    ) -> CycleGames:
        """Play games without a net, on all cores: `uniform` is what an untrained net knows, in a part of its time."""
        records: list[GameRecord] = []
        began, evaluations = time.monotonic(), 0
        for first in range(0, len(missing), UNIFORM_GAMES):
            if stopping():
                break
            concurrency = Concurrency(UNIFORM_GAMES, 0, "")
            pool = selfplay_pool(self.recipe, cycle, seed=self.seed, concurrency=concurrency, lanes=1, threads=0)
            for start, count in ranges(missing[first : first + UNIFORM_GAMES]):
                self.starts.queue(pool, range(start, start + count), cycle)
            pool.run(evaluator)
            records += judge_games(self.recipe, pool.drain())
            evaluations += pool.playouts
            tell(CycleGames(records, records, evaluations, max(time.monotonic() - began, 1e-6)))
        return CycleGames(records, records, evaluations, max(time.monotonic() - began, 1e-6))

    def metrics(self) -> dict[str, float]:
        """Return what is to stand in metrics.jsonl beside the games: nothing."""
        return {}

    def machines(self) -> Sequence[MachineStatus]:
        """Return the machines of a cluster: none."""
        return ()

    def pause(self) -> None:
        """Let the pool rest until the next `play`: the device is needed for something else, or the session ends."""
        self._thread.pause()

    def close(self) -> None:
        """End self-play."""
        self.pause()

    def in_flight(self) -> list[GameRecord]:
        """Pause, and return the games that have begun and were not returned by `play`, finished ones included."""
        self.pause()
        if self._pool is None:
            return self._begun
        for record in self._pool.drain():
            self._finished[record.game_id] = record
        return [*self._finished.values(), *self._pool.unfinished_games()]

    def _start(self, cycle: int, missing: Sequence[int]) -> None:
        """Let the pool play: one with the games in flight, or the pool of the cycle before with the new net."""
        assert self.concurrency is not None
        if self._pool is None or not self.continuous:
            begun = self.in_flight()  # also of the cycle before
            threads = 1 if self.device == "cpu" else 0
            self._finished.clear()
            lanes, concurrency = self._thread.lanes, self.concurrency
            self._pool = selfplay_pool(
                self.recipe, cycle, seed=self.seed, concurrency=concurrency, lanes=lanes, threads=threads
            )
            self._resume(cycle, missing, begun)
        else:
            part = self.recipe.selfplay
            self._pool.configure(selfplay_search(self.recipe, cycle), selfplay_config(part, cycle))
        if self.continuous:
            # Enough for every slot until the next call. A learner that is slower than self-play makes it wait.
            ahead = missing[-1] + 1 + self.concurrency.slots + at(self.recipe.selfplay.games, cycle)
            self.starts.queue(self._pool, range(self._queued, max(self._queued, ahead)), cycle)
            self._queued = max(self._queued, ahead)
        assert self._evaluator is not None
        if self._thread.start(self._pool, self._evaluator):
            self._counted_from = time.monotonic()

    def _resume(self, cycle: int, missing: Sequence[int], begun: Sequence[GameRecord]) -> None:
        """Give a new pool the games in flight, then the other missing games.

        A game that had no move yet when the last session ended was not saved: a later cycle misses it between games
        in flight. It begins now. If it began in its own cycle only, that cycle would last as long as a whole game.
        """
        assert self._pool is not None
        last, wanted = missing[-1], set(missing)
        kept = [record for record in begun if record.game_id in wanted or record.game_id > last]
        self._finished = {record.game_id: record for record in kept if is_over(self.recipe, cycle, record)}
        known = {record.game_id for record in kept}
        self._pool.resume([record for record in kept if record.game_id not in self._finished])
        newest = max([last, *known])
        for first, count in ranges([game for game in (*missing, *range(last + 1, newest + 1)) if game not in known]):
            self.starts.queue(self._pool, range(first, first + count), cycle)
        self._queued = newest + 1


def ranges(ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield rising ids as runs (first, count).

    >>> list(ranges([3, 4, 5, 9]))
    [(3, 3), (9, 1)]
    """
    start = 0
    for end in range(1, len(ids) + 1):
        if end == len(ids) or ids[end] != ids[end - 1] + 1:
            yield ids[start], end - start
            start = end
