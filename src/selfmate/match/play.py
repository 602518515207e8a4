"""Matches between two evaluators, and the gate that a candidate must pass.

Every opening is played twice, with either colour, so that a lopsided opening favours nobody. Both sides search alike,
without noise.

>>> from selfmate.match.openings import balanced_openings
>>> openings = balanced_openings("gardner", 2, seed=1)
>>> match, records = play_match("gardner", "heuristic-1", "uniform", openings, search=SearchConfig(), visits=16)
>>> match.games, [record.start_fen == openings[record.game_id // 2] for record in records]
(4, [True, True, True, True])
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from selfmate._core import GameRecord, SearchConfig
from selfmate.evaluator.base import Evaluator
from selfmate.match.pool import paired, seat_players
from selfmate.match.record_pgn import judge
from selfmate.match.runner import play_seats
from selfmate.match.tournament import schedule
from selfmate.rating.match_stats import Match
from selfmate.search.driver import drive, one_thread
from selfmate.search.player import Player
from selfmate.search.spec import RANDOM

__all__ = ["ArenaReport", "Standing", "play_arena", "play_match"]


TELL_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a match stands while it is played."""

    games: int
    """Games that the match will have."""
    finished: tuple[GameRecord, ...]
    playing: tuple[GameRecord, ...]
    """Games that are not over, with the moves so far."""
    match: Match
    """Of the pairs that are complete."""
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
    tell: Callable[[Standing], None] = lambda standing: None,
) -> tuple[Match, list[GameRecord]] | None:
    """Play every opening twice, `first` with White and then with Black; None when `stopping` said so.

    A side is an evaluator, or the name of a native one. `tell` hears how the match stands: at its beginning, now and
    then, and at its end.
    """
    players, games = (Player(first), Player(second)), paired(openings)
    pool, evaluators, lanes, *_ = seat_players(
        variant, players, (visits, visits), len(games), search=search, max_plies=max_plies, lanes=lanes
    )
    pool.start_games(games)
    records: list[GameRecord] = []
    began = told = time.monotonic()
    evaluated = 0

    def say() -> None:
        records.extend(pool.drain())
        tell(
            Standing(
                games=2 * len(openings),
                finished=tuple(records),
                playing=tuple(pool.in_flight()),
                match=judge(records),
                evaluations=evaluated,
                seconds=time.monotonic() - began,
            )
        )

    def look(leaves: int) -> None:
        nonlocal evaluated, told
        evaluated += leaves
        if time.monotonic() >= told + TELL_SECONDS:
            told = time.monotonic()
            say()

    say()
    drive(pool, evaluators, lanes=lanes, stopping=stopping, prepare=one_thread, tell=look)
    say()
    if not pool.done():
        return None
    records.sort(key=lambda record: record.game_id)
    return judge(records), records


Tell = Callable[[Match], None]
"""Hears how the match stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaReport:
    """A match as far as it was played; all figures are those of the first player."""

    variant: str
    names: tuple[str, str]
    visits: tuple[int, int]
    """Visits of each player; 0 for `random`."""
    gumbel: bool
    openings: int
    """Openings that the match was to be played with, each of them twice."""
    match: Match
    """Of the pairs that are complete."""
    records: tuple[GameRecord, ...]
    """Every game that was finished."""
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether every game was played."""
        return self.match.games == 2 * self.openings


def play_arena(
    first: Player,
    second: Player,
    variant: str,
    openings: Sequence[str],
    *,
    visits: tuple[int, int],
    gumbel: bool = False,
    seed: int = 0,
    max_plies: int = 512,
    stopping: Callable[[], bool] = lambda: False,
    tell: Tell = lambda match: None,
) -> ArenaReport:
    """Play every opening (a FEN) twice, `first` with White and then with Black, until `stopping` says so.

    Nobody's search has noise. The root is that of PUCT, or of Gumbel as in self-play and at the gate. `seed` is for
    the moves of `random`.
    """
    for player in (first, second):
        player.check(variant)
    began = time.monotonic()
    of_side = tuple(0 if side.evaluator == RANDOM else each for side, each in zip((first, second), visits, strict=True))
    records: list[GameRecord] = []

    def done(finished: list[GameRecord]) -> None:
        records.extend(finished)
        tell(judge(records))

    play_seats(
        variant,
        (first, second),
        of_side,
        schedule(2, openings),
        gumbel=gumbel,
        seed=seed,
        max_plies=max_plies,
        stopping=stopping,
        done=done,
    )
    records.sort(key=lambda record: record.game_id)
    return ArenaReport(
        variant=variant,
        names=(first.name, second.name),
        visits=(of_side[0], of_side[1]),
        gumbel=gumbel,
        openings=len(openings),
        match=judge(records),
        records=tuple(records),
        seconds=time.monotonic() - began,
    )
