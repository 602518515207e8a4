"""Games of which one side or both are UCI engines, as one value, and how they are played: here, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from selfmate._core import GameRecord, Termination
from selfmate.match.engine_games import EngineLauncher, EngineWorkers, play_engine_games
from selfmate.match.plan import MatchPlan
from selfmate.match.pool import make_match_pool
from selfmate.match.referee import ADJUDICATION, NORMAL, FinishedGame, MoveInfo, RefereedGame, Verdict
from selfmate.match.runner import EvaluationCount, play_games
from selfmate.match.schedule import ScheduledGame
from selfmate.match.uci_parse import EngineScore
from selfmate.search.config import play_config
from selfmate.search.player import Player
from selfmate.util.cpu import cores

__all__ = ["EngineGames", "PlayEngines", "PlayedGame", "finished_game", "play_engines_here"]

GAMES_PER_CORE: Final = 8
"""Games at once between nets and engines: enough for a batch, and not too many processes."""
MOST_GAMES: Final = 64
SEARCHES_PER_CORE: Final = 4
"""Engines that search at once without a clock: pipes and the start of a search leave a core idle."""

PlayedGame: TypeAlias = tuple[ScheduledGame, FinishedGame]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineGames:
    """Games with engines, and everything that decides how they go."""

    plan: MatchPlan
    players: Sequence[Player | None]
    """One for each contestant; None is an engine."""
    games: Sequence[ScheduledGame]
    processors: int | None = None
    """Cores that may be used; all of the machine when None."""


class PlayEngines(Protocol):
    """Plays games until all are over or `stopping` is true; returns what was evaluated.

    `on_finished` gets games that ended, and is called by one thread at a time. A player whose engine cannot be started
    is added to `unavailable` by its index, with the reason, and its games are left out.
    """

    def __call__(
        self,
        match: EngineGames,
        *,
        on_finished: Callable[[list[PlayedGame]], None],
        stopping: Callable[[], bool],
        unavailable: dict[int, str],
    ) -> EvaluationCount: ...


def play_engines_here(
    match: EngineGames,
    *,
    on_finished: Callable[[list[PlayedGame]], None],
    stopping: Callable[[], bool],
    unavailable: dict[int, str],
) -> EvaluationCount:
    """Play games on this machine: first those with a player that searches in a pool, then those between engines."""
    plan, players = match.plan, match.players
    launcher = EngineLauncher(plan.contestants, plan.variant, plan.referee, stopping)
    launcher.unavailable = unavailable
    processors = match.processors or cores()
    mixed = [game for game in match.games if players[game.white] is not None or players[game.black] is not None]
    between = [game for game in match.games if players[game.white] is None and players[game.black] is None]
    evaluated = EvaluationCount()
    if mixed and not stopping():
        evaluated += _play_mixed(
            match, mixed, on_finished, stopping, _engine_workers(plan, launcher, mixed, processors)
        )
    if between and not stopping():
        play_engine_games(
            launcher,
            between,
            concurrency=plan.concurrency or max(1, processors // plan.threads),
            on_finished=lambda scheduled, game: on_finished([(scheduled, game.finished())]),
        )
    return evaluated


def _play_mixed(
    match: EngineGames,
    games: Sequence[ScheduledGame],
    on_finished: Callable[[list[PlayedGame]], None],
    stopping: Callable[[], bool],
    workers: EngineWorkers,
) -> EvaluationCount:
    """Play games of which one side searches in a pool; `workers` play the engines' moves."""
    plan = match.plan
    # A sequential test takes games in order: no more at once than it is expected to need, none far ahead of the oldest.
    needed = len(games) if plan.sprt is None else min(len(games), 2 * plan.sprt.expected_pairs)
    pool = make_match_pool(
        plan.variant,
        match.players,
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

    def finish(records: list[GameRecord]) -> None:
        scheduled = [(record, by_number[record.game_id]) for record in records]
        on_finished(
            [
                (game, finished_game(record, game, plan, workers.games.pop(game.number, None)))
                for record, game in scheduled
            ]
        )

    return play_games(pool, games, on_finished=finish, stopping=stopping, workers=workers)


def finished_game(
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


def _engine_workers(
    plan: MatchPlan, launcher: EngineLauncher, games: Sequence[ScheduledGame], processors: int
) -> EngineWorkers:
    """Choose how many games with an engine are played at once, and how many engines search at once.

    Batches of nets need many games; an idle engine costs memory but no time. On a clock, engines must not compete
    with the searches of nets for the processor.
    """
    playing = {index for game in games for index in (game.white, game.black)}
    searching, lanes = SEARCHES_PER_CORE * processors // plan.threads, processors
    if any(plan.contestants[index].engine and plan.contestants[index].limit.is_timed for index in playing):
        searching, lanes = (processors - 1) // plan.threads, 1
    concurrency = min(plan.concurrency or min(GAMES_PER_CORE * processors, MOST_GAMES), len(games))
    return EngineWorkers(
        launcher,
        games,
        concurrency=concurrency,
        searching=max(1, min(searching, concurrency)),
        lanes=max(1, min(lanes, concurrency // 4)),
    )
