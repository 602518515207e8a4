"""Plays the games of a match in a pool: the one runner of gate, arena, ladder, progress curve and benchmarks.

Every game is searched without noise, all games are batched together, and each net is evaluated in the lanes of
`search.driver`. Games with an engine are played in the same pool (`match.engine_games`).

>>> from selfmate.match.openings import balanced_openings
>>> openings = balanced_openings("gardner", 2, seed=1)
>>> match, records = play_match("gardner", "heuristic-1", "uniform", openings, search=SearchConfig(), visits=16)
>>> match.games, [record.start_fen == openings[record.game_id // 2] for record in records]
(4, [True, True, True, True])
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from selfmate._core import GameRecord, SearchConfig, SelfPlayConfig
from selfmate.errors import PlayerError
from selfmate.evaluator.base import Evaluator
from selfmate.match.engine_games import EngineWorkers
from selfmate.match.pool import MatchPool, make_match_pool
from selfmate.match.record_pgn import count_records
from selfmate.match.schedule import ScheduledGame, schedule
from selfmate.match.worker_threads import WorkerThreads
from selfmate.rating.match_stats import Match
from selfmate.search.driver import BatchTiming, drive, one_thread
from selfmate.search.limit import MAX_VISITS
from selfmate.search.player import Player
from selfmate.util.numbers import whole_number

__all__ = ["EvaluationCount", "MatchProgress", "play_games", "play_match"]

POLL_SECONDS: Final = 0.1
"""Between two looks at finished games."""
PROGRESS_SECONDS: Final = 0.25
"""Least time between two reports of `play_match`."""
MAX_LANES: Final = 1024
MAX_PLIES: Final = next(field.maximum for field in SelfPlayConfig.fields() if field.name == "max_plies")
"""Longest game that `play_match` allows."""


@dataclass(frozen=True, slots=True)
class EvaluationCount:
    """Leaves that were evaluated, and batches in which they were.

    >>> EvaluationCount(6, 2) + EvaluationCount(3, 1)
    EvaluationCount(leaves=9, batches=3)
    """

    leaves: int = 0
    batches: int = 0

    def __add__(self, other: EvaluationCount) -> EvaluationCount:
        return EvaluationCount(self.leaves + other.leaves, self.batches + other.batches)


def play_games(
    match: MatchPool,
    games: Sequence[ScheduledGame],
    *,
    on_finished: Callable[[list[GameRecord]], None],
    on_batch: Callable[[EvaluationCount], None] | None = None,
    stopping: Callable[[], bool] = lambda: False,
    workers: EngineWorkers | None = None,
    watch: Callable[[BatchTiming], None] | None = None,
) -> EvaluationCount:
    """Play games in a pool until all are over or `stopping` returns True; return what was evaluated.

    `on_finished` gets the records of games that ended, about every `POLL_SECONDS`, in a thread beside the lanes: it may
    take long. `on_batch` gets the evaluations so far after each batch, while neither it nor `on_finished` runs in
    another thread: it must be quick. `workers` play the moves of engines. `watch` gets the times of every batch
    (`search.driver.drive`).
    """
    match.start(games)
    pool, evaluated = match.pool, EvaluationCount()
    threads = WorkerThreads(stopping) if workers is None else workers.launcher.threads
    over, reporting = threading.Event(), threading.Lock()

    def count(leaves: int) -> None:
        nonlocal evaluated
        evaluated += EvaluationCount(leaves, 1)
        if on_batch is not None:
            with reporting:
                on_batch(evaluated)

    def report_finished() -> None:
        with reporting:
            records = pool.drain() if pool.finished_games else []
            if workers is not None:
                records = [record for record in records if record.game_id not in workers.abandoned]
            if records:
                on_finished(records)

    def poll() -> None:
        while not over.wait(POLL_SECONDS):
            report_finished()

    threads.start([poll])
    try:
        with contextlib.nullcontext() if workers is None else workers.serving(pool):
            drive(
                pool,
                match.evaluators,
                lanes=match.lanes,
                stopping=threads.halted,
                prepare=one_thread,
                tell=count,
                watch=watch,
            )
    finally:
        over.set()
        threads.join()
    report_finished()
    return evaluated


# -- two evaluators ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchProgress:
    """The state of a match while it is played."""

    games: int
    """Games that the match will have."""
    finished: tuple[GameRecord, ...]
    playing: tuple[GameRecord, ...]
    """Games that are not over, with the moves so far."""
    match: Match
    """Score over the pairs that are complete."""
    evaluations: int
    seconds: float


def play_match(
    variant: str,
    first: Evaluator | str,
    second: Evaluator | str,
    openings: Sequence[str],
    *,
    search: SearchConfig,
    visits: int,
    max_plies: int = 512,
    lanes: int | None = None,
    stopping: Callable[[], bool] = lambda: False,
    tell: Callable[[MatchProgress], None] = lambda progress: None,
) -> tuple[Match, list[GameRecord]] | None:
    """Play every opening twice, `first` with White and then with Black; return its score and the games by number.

    A side is an evaluator or the name of a native one; both have the same `search` and `visits`. Returns None when
    `stopping` ended the match. `tell` is called at the beginning, about every `PROGRESS_SECONDS`, and at the end.
    Openings are FENs, at least one. Raises `PlayerError` for anything else, and for numbers out of range.
    """
    given: object = openings
    if (
        not isinstance(given, Sequence)
        or isinstance(given, str)
        or not all(isinstance(opening, str) for opening in openings)
    ):
        raise PlayerError("openings must be a list of FENs, such as [Position('chess').fen()]")
    if not openings:
        raise PlayerError("a match needs at least one opening")
    if not isinstance(search, SearchConfig):
        raise PlayerError(f"search must be a SearchConfig, not {type(search).__name__}", type(search).__name__)
    visits = whole_number("visits", visits, 1, MAX_VISITS, PlayerError)
    max_plies = whole_number("max_plies", max_plies, 1, MAX_PLIES, PlayerError)
    lanes = None if lanes is None else whole_number("lanes", lanes, 1, MAX_LANES, PlayerError)
    games = schedule(2, openings)
    players = (Player(first), Player(second))
    pool = make_match_pool(
        variant, players, (visits, visits), len(games), search=search, max_plies=max_plies, lanes=lanes
    )
    records: list[GameRecord] = []
    began = told = time.monotonic()

    def show(evaluated: EvaluationCount) -> None:
        records.extend(pool.pool.drain())
        tell(
            MatchProgress(
                games=len(games),
                finished=tuple(records),
                playing=tuple(pool.pool.unfinished_games()),
                match=count_records(records),
                evaluations=evaluated.leaves,
                seconds=time.monotonic() - began,
            )
        )

    def on_batch(evaluated: EvaluationCount) -> None:
        nonlocal told
        if time.monotonic() >= told + PROGRESS_SECONDS:
            told = time.monotonic()
            show(evaluated)

    show(EvaluationCount())
    show(play_games(pool, games, on_finished=records.extend, on_batch=on_batch, stopping=stopping))
    if not pool.pool.done():
        return None
    records.sort(key=lambda record: record.game_id)
    return count_records(records), records
