"""Self-play of a run: the pool of its recipe, how many games are in it at once, and the games of a cycle."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from selfmate._core import GameRecord, Pool, SearchConfig, SelfPlayConfig
from selfmate.board.position import chess960_fen
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.recipe.reader import Problem, RecipeError
from selfmate.recipe.schedule import at, start_cycles
from selfmate.recipe.schema import Recipe, SearchPart
from selfmate.search.autotune import GPU_LANES, best_batch, is_on_gpu, room_for_trees, tree_bytes, with_spare
from selfmate.search.driver import drive, one_thread
from selfmate.util.cpu import cores
from selfmate.util.memory import gibibytes, memory_bytes
from selfmate.util.random_streams import stream
from selfmate.util.text import many

__all__ = [
    "Concurrency",
    "CycleGames",
    "SelfPlay",
    "check_memory",
    "choose_concurrency",
    "search_config",
    "selfplay_pool",
    "should_compile",
]

DRAIN_SECONDS: Final = 0.25
"""Time between two looks at the finished games of a pool."""

SMALL_BATCH: Final = 3 * 512
"""Leaves at once below which compiling a net does not pay."""

GAMES_AHEAD: Final = {"cpu": 0, "cuda": 200_000}
"""Games of later cycles that may begin in a cycle, by device; on a GPU more than ever do."""


TREES_SHARE: Final = 0.8
"""Share of the memory beyond which a recipe's trees are refused; Python, PyTorch and the window need the rest."""


def check_memory(recipe: Recipe) -> None:
    """Raise `RecipeError` if the search trees of self-play would not fit into memory at some cycle of the run.

    With `slots = 0` the number of games is chosen so that they fit, but is at least one.
    """
    part, memory = recipe.selfplay, memory_bytes()
    slots = max(1, part.slots)
    visits = _most_visits(recipe)
    needed = slots * tree_bytes(visits)
    if needed > TREES_SHARE * memory:
        reason = (
            f"{many(slots, 'search tree')} of {many(visits, 'visit')} need about {gibibytes(needed)} of memory, "
            f"and this machine has {gibibytes(memory)}; lower selfplay.visits or selfplay.slots"
        )
        problem = Problem("selfplay.visits", reason)
        raise RecipeError(str(problem), problem.key, (problem,))


def _most_visits(recipe: Recipe) -> int:
    """Return the visits of the longest search that self-play will make at any cycle of the run."""
    part = recipe.selfplay
    cycles = [cycle for cycle in start_cycles((part.visits, part.fast_visits)) if cycle < part.cycles]
    return max(int(at(schedule, cycle)) for schedule in (part.visits, part.fast_visits) for cycle in cycles)


def search_config(part: SearchPart, cycle: int, *, noise: bool) -> SearchConfig:
    """Return the search of a recipe at a cycle; matches are played without noise."""
    config = SearchConfig(**part.core_values(cycle))
    return config if noise else config.without_noise()


class Concurrency(NamedTuple):
    """How many games are played at once."""

    slots: int
    batch: int
    """Most leaves that are evaluated together; 0: those of all games, shared by the lanes."""
    reason: str
    """Why this many, for the log."""


def choose_concurrency(recipe: Recipe, evaluator: Evaluator, lanes: int) -> Concurrency:
    """Return how many games self-play has at once: the recipe's number, or what fits the device.

    What fits is measured: the smallest batch in which the evaluator is nearly as fast as it gets. More games at once
    than that only make each of them slower. Their trees must fit into memory.
    """
    part = recipe.selfplay
    if part.slots:
        return Concurrency(part.slots, 0, f"{many(part.slots, 'game')} at once, as in the recipe")
    rows, speeds = best_batch(evaluator)
    slots = max(lanes, lanes * rows // part.leaves)
    if is_on_gpu(evaluator):
        slots = with_spare(slots)
    room = room_for_trees(_most_visits(recipe))
    if slots > room:
        slots = max(lanes, room)
        return Concurrency(slots, 0, f"{many(slots, 'game')} at once: the trees of more would not fit into memory")
    why = f"{rows:,} leaves are evaluated at {speeds[rows]:,.0f}/s, more of them at {max(speeds.values()):,.0f}/s"
    return Concurrency(slots, rows, f"{many(slots, 'game')} at once in {many(lanes, 'lane')}: {why}")


def selfplay_pool(recipe: Recipe, cycle: int, *, seed: int, concurrency: Concurrency, lanes: int, threads: int) -> Pool:
    """Return the pool of a recipe at a cycle, without games."""
    return Pool(
        recipe.variant.name,
        search_config(recipe.search, cycle, noise=True),
        SelfPlayConfig(**recipe.selfplay.core_values(cycle)),
        seed=seed,
        slots=concurrency.slots,
        lanes=lanes,
        threads=threads,
        leaves_per_slot=recipe.selfplay.leaves,
        batch=concurrency.batch,
    )


def should_compile(recipe: Recipe, device: str) -> bool:
    """Return whether nets are compiled: on a GPU, unless the recipe asks for batches too small for it to pay."""
    leaves = recipe.selfplay.slots * recipe.selfplay.leaves
    return device != "cpu" and not 0 < leaves < SMALL_BATCH


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

    On a GPU games of later cycles begin as soon as a slot is free, so that the longest games of a cycle do not leave
    the device idle; they continue with the next champion. On a CPU none do, and a run is repeatable bit for bit.
    """

    def __init__(self, recipe: Recipe, seed: int, device: str, in_flight: Sequence[GameRecord] = ()) -> None:
        self.recipe = recipe
        self.seed = seed
        self.device = device
        self.lanes = cores() if device == "cpu" else GPU_LANES
        self.games_ahead = GAMES_AHEAD[device]
        self.concurrency: Concurrency | None = None  # measured once per session
        self.in_flight = list(in_flight)  # games that have begun and belong to this cycle or to later ones
        self._evaluator: Evaluator | None = None

    def prepare(self, champion: Path) -> None:
        """Load the champion's folder. A GPU keeps one evaluator and replaces its weights: compiling takes a while."""
        if self.device == "cpu":
            self._evaluator = open_evaluator(champion, device=self.device, threads=1)
        else:
            from selfmate.evaluator.torch import TorchEvaluator  # `bench selfplay` runs without torch

            if isinstance(self._evaluator, TorchEvaluator):
                self._evaluator.replace(champion)
            else:
                compiled = should_compile(self.recipe, self.device)
                self._evaluator = TorchEvaluator(champion, device=self.device, compile=compiled)
        if self.concurrency is None:
            self.concurrency = choose_concurrency(self.recipe, self._evaluator, self.lanes)

    def play(
        self,
        cycle: int,
        missing: Sequence[int],
        *,
        stopping: Callable[[], bool],
        tell: Callable[[CycleGames], None],
    ) -> CycleGames:
        """Play the games with the ids `missing` (rising, at least one); fewer come back when `stopping` is true.

        `tell` is called with the games so far several times a second, and at the end.
        """
        assert self._evaluator is not None
        ended_before = self._ended(cycle)
        pool = self._start(cycle, missing)
        wanted = set(missing)
        mine: list[GameRecord] = []
        later: list[GameRecord] = []
        finished: list[GameRecord] = []
        began = drained = time.monotonic()
        evaluations = 0

        def drain() -> CycleGames:
            for record in pool.drain():
                (mine if record.game_id in wanted else later).append(record)
                if record.game_id not in ended_before:
                    finished.append(record)
            games = CycleGames(mine, finished, evaluations, max(time.monotonic() - began, 1e-6))
            tell(games)
            return games

        def count(leaves: int) -> None:
            nonlocal evaluations, drained
            evaluations += leaves
            if time.monotonic() >= drained + DRAIN_SECONDS:
                drained = time.monotonic()
                drain()

        def is_over() -> bool:
            return stopping() or len(mine) == len(wanted)

        drive(pool, [self._evaluator], lanes=self.lanes, stopping=is_over, prepare=one_thread, tell=count)
        games = drain()
        self.in_flight = [*later, *pool.unfinished_games()]
        return games._replace(records=sorted(mine, key=lambda record: record.game_id))

    def _ended(self, cycle: int) -> set[int]:
        """Return the ids of the games in flight that are over: they come out of the pool without being played.

        A game that was truncated has no outcome.
        """
        longest = at(self.recipe.selfplay.max_plies, cycle)
        return {
            record.game_id for record in self.in_flight if record.outcome is not None or len(record.moves) >= longest
        }

    def _start(self, cycle: int, missing: Sequence[int]) -> Pool:
        """Return a pool with the games in flight, then the other missing games, then those of later cycles.

        A game that had no move yet when the last session ended was not saved: a later cycle misses it between games
        in flight. It begins now. If it began in its own cycle only, that cycle would last as long as a whole game.
        """
        assert self.concurrency is not None
        threads = 1 if self.device == "cpu" else 0
        pool = selfplay_pool(
            self.recipe, cycle, seed=self.seed, concurrency=self.concurrency, lanes=self.lanes, threads=threads
        )
        last, wanted = missing[-1], set(missing)
        begun = [record for record in self.in_flight if record.game_id in wanted or record.game_id > last]
        pool.resume(begun)
        known = {record.game_id for record in begun}
        newest = max([last, *known])
        for first, count in ranges([game for game in (*missing, *range(last + 1, newest + 1)) if game not in known]):
            self._queue(pool, first, count)
        self._queue(pool, newest + 1, self.games_ahead)
        return pool

    def _queue(self, pool: Pool, first: int, count: int) -> None:
        """Queue games by their ids; those of a 960 variant begin at start positions drawn by seed and id."""
        if not self.recipe.variant.name.endswith("960"):
            pool.start(first, count)
            return
        starts = (stream(self.seed, "start position", game) % 960 for game in range(first, first + count))
        pool.start_games([(chess960_fen(number), 0, 0) for number in starts], first)


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
