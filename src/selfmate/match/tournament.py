"""Plays a match between two or more contestants, and keeps what was played.

Each pair of contestants plays every opening twice, once with each colour. Games that are in the match file already are
not played again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from selfmate._core import GameRecord, Termination
from selfmate.match.engine_games import EngineLauncher, EngineWorkers, play_engine_games
from selfmate.match.match_file import GameEntry, MatchFile
from selfmate.match.plan import MatchPlan
from selfmate.match.pool import make_match_pool
from selfmate.match.pool_games import PlayPool, PoolGames, play_here
from selfmate.match.referee import ADJUDICATION, NORMAL, FinishedGame, MoveInfo, RefereedGame, Verdict
from selfmate.match.report import MatchReport
from selfmate.match.runner import EvaluationCount, play_games
from selfmate.match.schedule import ScheduledGame, schedule
from selfmate.match.uci_parse import EngineScore
from selfmate.rating.sprt import SprtTracker
from selfmate.search.config import play_config
from selfmate.search.player import Player
from selfmate.util.cpu import cores

__all__ = ["play"]

EVENT: Final = "selfmate arena"
GAMES_PER_CORE: Final = 8
"""Games at once between nets and engines: enough for a batch, and not too many processes."""
MOST_GAMES: Final = 64
SEARCHES_PER_CORE: Final = 4
"""Engines that search at once without a clock: pipes and the start of a search leave a core idle."""
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
    stopping: Callable[[], bool] = lambda: False,
    tell: Callable[[MatchReport], None] = lambda report: None,
) -> MatchReport:
    """Play what is missing of a match and return its report; `tell` gets reports while games end.

    `players` search in a pool, None is an engine. `games` are those of `schedule` when None. Games in the file and in
    `before` are not played again. `play_pool` plays the games without engines.
    """
    log = _MatchLog(plan, file, tell)

    def halted() -> bool:
        return log.decided or stopping()

    launcher = EngineLauncher(plan.contestants, plan.variant, plan.referee, halted)
    log.unavailable = launcher.unavailable
    # 1. What is missing, by the number of engines in a game
    log.add((*(file.entries if file is not None else ()), *before))
    by_engines: list[list[ScheduledGame]] = [[], [], []]
    for game in schedule(len(players), plan.openings) if games is None else games:
        if game.number not in log.entries:
            by_engines[sum(players[index] is None for index in (game.white, game.black))].append(game)
    without, mixed, between = by_engines
    # 2. Play.
    if without and not halted():
        _play_without_engines(plan, players, without, log, halted, play_pool)
    if mixed and not halted():
        _play_with_engines(plan, players, mixed, log, halted, _engine_workers(plan, launcher, mixed))
    if between and not halted():
        play_engine_games(
            launcher,
            between,
            concurrency=plan.concurrency or max(1, cores() // plan.threads),
            on_finished=lambda scheduled, game: log.write([(scheduled, game.finished())]),
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
        log.write((game, _finished(record, game, plan, None)) for record, game in scheduled)

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


def _play_with_engines(
    plan: MatchPlan,
    players: Sequence[Player | None],
    games: Sequence[ScheduledGame],
    log: _MatchLog,
    stopping: Callable[[], bool],
    workers: EngineWorkers,
) -> None:
    """Play games of which one side searches in a pool; `workers` play the engines' moves."""
    # A sequential test takes games in order: no more at once than it is expected to need, none far ahead of the oldest.
    needed = len(games) if plan.sprt is None else min(len(games), 2 * plan.sprt.expected_pairs)
    pool = make_match_pool(
        plan.variant,
        players,
        [contestant.limit.visits or 0 for contestant in plan.contestants],
        needed,
        search=plan.searches or play_config(gumbel=plan.gumbel),
        seed=plan.seed,
        max_plies=plan.referee.max_plies,
        rules=plan.referee.score_rules,
        slots=workers.concurrency,
        lanes=workers.lanes,
        in_order=plan.sprt is not None,
    )
    by_number = {game.number: game for game in games}

    def on_finished(records: list[GameRecord]) -> None:
        scheduled = [(record, by_number[record.game_id]) for record in records]
        log.write((game, _finished(record, game, plan, workers.games.pop(game.number, None)))
                  for record, game in scheduled)  # fmt: skip

    log.evaluated += play_games(pool, games, on_finished=on_finished, stopping=stopping, workers=workers)


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


def _finished(
    record: GameRecord, scheduled: ScheduledGame, plan: MatchPlan, refereed: RefereedGame | None
) -> FinishedGame:
    """Join the pool's record of a game with what the referee knows of the engine's moves (`match.engine_games`)."""
    moves = record.moves
    infos = list(refereed.infos) if refereed is not None else []
    infos += [MoveInfo()] * (len(moves) - len(infos))
    infos = [
        info if info.score or score is None else MoveInfo(score=EngineScore(cp=score))
        for info, score in zip(infos, record.scores, strict=True)
    ]
    if refereed is not None and refereed.verdict is not None and refereed.verdict.fault is not None:
        verdict = refereed.verdict
    elif record.outcome is None:
        verdict = Verdict.cut_off(len(moves))
    else:
        by_score = record.outcome.termination == Termination.ADJUDICATED
        verdict = Verdict(result=record.result, reason=record.reason, termination=ADJUDICATION if by_score else NORMAL)
    return FinishedGame(
        number=scheduled.number,
        variant=plan.variant,
        start=record.start_fen,
        moves=moves,
        infos=infos,
        limits=(plan.contestants[scheduled.white].limit, plan.contestants[scheduled.black].limit),
        verdict=verdict,
    )


def _engine_workers(plan: MatchPlan, launcher: EngineLauncher, games: Sequence[ScheduledGame]) -> EngineWorkers:
    """Choose how many games with an engine are played at once, and how many engines search at once.

    Batches of nets need many games; an idle engine costs memory but no time. On a clock, engines must not compete
    with the searches of nets for the processor.
    """
    playing = {index for game in games for index in (game.white, game.black)}
    searching, lanes = SEARCHES_PER_CORE * cores() // plan.threads, cores()
    if any(plan.contestants[index].engine and plan.contestants[index].limit.is_timed for index in playing):
        searching, lanes = (cores() - 1) // plan.threads, 1
    concurrency = min(plan.concurrency or min(GAMES_PER_CORE * cores(), MOST_GAMES), len(games))
    return EngineWorkers(
        launcher,
        games,
        concurrency=concurrency,
        searching=max(1, min(searching, concurrency)),
        lanes=max(1, min(lanes, concurrency // 4)),
    )
