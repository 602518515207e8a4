"""Games between players that search in a pool, as one value, and how they are played: here, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from selfmate._core import GameRecord, ScoreRules, SearchConfig
from selfmate.match.pool import make_match_pool
from selfmate.match.runner import EvaluationCount, play_games
from selfmate.match.schedule import ScheduledGame
from selfmate.search.player import Player

__all__ = ["PlayPool", "PoolGames", "play_here"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolGames:
    """Games and everything that decides how they go; the fields are those of `make_match_pool`."""

    variant: str
    players: Sequence[Player | None]
    visits: Sequence[int]
    """Per move, one number for each player."""
    games: Sequence[ScheduledGame]
    searches: Sequence[SearchConfig]
    """One for each player."""
    seed: int = 0
    max_plies: int = 512
    rules: ScoreRules | None = None
    needed: int | None = None
    """Games that are expected to be played, where a sequential test may end before all are; None: all."""
    lanes: int | None = None


class PlayPool(Protocol):
    """Plays games until all are over or `stopping` is true; returns what was evaluated.

    `on_finished` gets the records of games that ended, with their scores, and is called by one thread at a time.
    """

    def __call__(
        self,
        match: PoolGames,
        *,
        on_finished: Callable[[list[GameRecord]], None],
        stopping: Callable[[], bool],
    ) -> EvaluationCount: ...


def play_here(
    match: PoolGames, *, on_finished: Callable[[list[GameRecord]], None], stopping: Callable[[], bool]
) -> EvaluationCount:
    """Play games in one pool on this machine."""
    pool = make_match_pool(
        match.variant,
        match.players,
        match.visits,
        len(match.games) if match.needed is None else match.needed,
        search=match.searches,
        seed=match.seed,
        max_plies=match.max_plies,
        rules=match.rules,
        lanes=match.lanes,
        in_order=match.needed is not None,
    )
    return play_games(pool, match.games, on_finished=on_finished, stopping=stopping)
