"""Plays a match between two or more contestants, and keeps what was played.

Each pair of contestants plays every opening twice, once with each colour. Games that are in the match file already are
not played again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from selfmate._core import GameRecord
from selfmate.match.engine_match import EngineGames, PlayEngines, finished_game, play_engines_here
from selfmate.match.match_file import GameEntry, MatchFile
from selfmate.match.plan import MatchPlan
from selfmate.match.pool_games import PlayPool, PoolGames, play_here
from selfmate.match.referee import FinishedGame
from selfmate.match.report import MatchReport
from selfmate.match.runner import EvaluationCount
from selfmate.match.schedule import ScheduledGame, schedule
from selfmate.rating.sprt import SprtTracker
from selfmate.search.config import play_config
from selfmate.search.player import Player

__all__ = ["play"]

EVENT: Final = "selfmate arena"
REPORT_SHARE: Final = 20
"""Reports take at most this part of the time."""


def play(
    plan: MatchPlan,
    players: Sequence[Player | None],
    file: MatchFile | None = None,
    *,
    games: Sequence[ScheduledGame] | None = None,
    before: Sequence[GameEntry] = (),
    play_pool: PlayPool = play_here,
    play_engines: PlayEngines = play_engines_here,
    stopping: Callable[[], bool] = lambda: False,
    tell: Callable[[MatchReport], None] = lambda report: None,
) -> MatchReport:
    """Play what is missing of a match and return its report; `tell` gets reports while games end.

    `players` search in a pool, None is an engine. `games` are those of `schedule` when None. Games in the file and in
    `before` are not played again. `play_pool` plays the games without engines, and `play_engines` those with them.
    """
    log = _MatchLog(plan, file, tell)

    def halted() -> bool:
        return log.decided or stopping()

    # 1. What is missing, without engines and with them
    log.add((*(file.entries if file is not None else ()), *before))
    without: list[ScheduledGame] = []
    engines: list[ScheduledGame] = []
    for game in schedule(len(players), plan.openings) if games is None else games:
        if game.number not in log.entries:
            (engines if None in (players[game.white], players[game.black]) else without).append(game)
    # 2. Play.
    if without and not halted():
        _play_without_engines(plan, players, without, log, halted, play_pool)
    if engines and not halted():
        log.evaluated += play_engines(
            EngineGames(plan=plan, players=players, games=engines),
            on_finished=log.write,
            stopping=halted,
            unavailable=log.unavailable,
        )
    return log.report()


class _MatchLog:
    """The games of a match so far: written to the file, counted by the sequential test, and reported."""

    def __init__(self, plan: MatchPlan, file: MatchFile | None, tell: Callable[[MatchReport], None]) -> None:
        self.entries: dict[int, GameEntry] = {}
        """By number."""
        self.evaluated = EvaluationCount()
        self.unavailable: dict[int, str] = {}
        """Players that could not continue, by index, with the reason."""
        self._plan = plan
        self._labels = plan.labels
        self._file = file
        self._tell = tell
        self._sprt = None if plan.sprt is None else SprtTracker(plan.sprt)
        self._began = time.monotonic()
        self._next_report = 0.0

    @property
    def decided(self) -> bool:
        """Whether the sequential test has ended."""
        return self._sprt is not None and self._sprt.state.verdict is not None

    def write(self, games: Iterable[tuple[ScheduledGame, FinishedGame]]) -> None:
        """Write finished games to the file, and add them."""
        games = list(games)
        if self._file is not None:
            self._file.add(
                str(game.to_pgn((self._labels[each.white], self._labels[each.black]), EVENT)) for each, game in games
            )
        self.add(_entry(scheduled, game) for scheduled, game in games)

    def add(self, games: Iterable[GameEntry]) -> None:
        """Add games, update the test, and report unless that would take more than `REPORT_SHARE` of the time."""
        fresh = {entry.number: entry for entry in games if entry.number not in self.entries}
        self.entries.update(fresh)
        if self._sprt is not None:
            self._sprt.add(entry.side_result(0) for entry in fresh.values())
        now = time.monotonic()
        if now >= self._next_report:
            self._tell(self.report())
            self._next_report = time.monotonic() + REPORT_SHARE * (time.monotonic() - now)

    def report(self) -> MatchReport:
        """Return the report of the match so far."""
        plan = self._plan
        return MatchReport(
            variant=plan.variant,
            contestants=plan.contestants,
            labels=self._labels,
            openings=len(plan.openings),
            entries=tuple(self.entries[number] for number in sorted(self.entries)),
            unavailable=self.unavailable,
            evaluations=self.evaluated.leaves,
            batches=self.evaluated.batches,
            seconds=time.monotonic() - self._began,
            gumbel=plan.gumbel,
            sprt=plan.sprt,
            sprt_state=None if self._sprt is None else self._sprt.state,
        )


def _play_without_engines(
    plan: MatchPlan,
    players: Sequence[Player | None],
    games: Sequence[ScheduledGame],
    log: _MatchLog,
    stopping: Callable[[], bool],
    play_pool: PlayPool,
) -> None:
    """Play games of which both sides search in a pool."""
    by_number = {game.number: game for game in games}

    def on_finished(records: list[GameRecord]) -> None:
        scheduled = [(record, by_number[record.game_id]) for record in records]
        log.write((game, finished_game(record, game, plan, None)) for record, game in scheduled)

    match = PoolGames(
        variant=plan.variant,
        players=players,
        visits=[contestant.limit.visits or 0 for contestant in plan.contestants],
        games=games,
        searches=plan.searches or [play_config(gumbel=plan.gumbel)] * len(players),
        seed=plan.seed,
        max_plies=plan.referee.max_plies,
        rules=plan.referee.score_rules,
        # A sequential test takes games in order: no more at once than it is expected to need.
        needed=None if plan.sprt is None else min(len(games), 2 * plan.sprt.expected_pairs),
    )
    log.evaluated += play_pool(match, on_finished=on_finished, stopping=stopping)


def _entry(scheduled: ScheduledGame, game: FinishedGame) -> GameEntry:
    verdict = game.verdict
    return GameEntry(
        number=scheduled.number,
        white=scheduled.white,
        black=scheduled.black,
        result=verdict.result,
        reason=verdict.kind,
        fault=None if verdict.fault is None else str(verdict.fault),
        plies=len(game.moves),
    )
