"""Matches between two evaluators, and the gate that a candidate must pass.

Every opening is played twice, with either colour, so that a lopsided opening favours nobody. Both sides search alike,
without noise.

>>> from selfmate.openings import balanced_openings
>>> openings = balanced_openings("gardner", 2, seed=1)
>>> match, records = play_match("gardner", "heuristic-1", "uniform", openings, search=SearchConfig(), visits=16)
>>> match.games, [record.start_fen == openings[record.game_id // 2] for record in records]
(4, [True, True, True, True])
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from selfmate._core import GameRecord, SearchConfig
from selfmate.evaluator import Evaluator
from selfmate.pgn import Game
from selfmate.player import Player
from selfmate.pool import drive, one_thread, paired
from selfmate.referee import Verdict
from selfmate.seating import seat_players
from selfmate.stats import Match, Scored, count_games, whole_pairs

__all__ = ["Match", "Standing", "as_game", "judge", "play_match"]

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


def judge(records: Iterable[GameRecord]) -> Match:
    """Count the games of a match for seat 0, in whole pairs."""
    return count_games(
        whole_pairs(Scored(record.game_id // 2, record.white_seat == 0, record.result) for record in records)
    )


def as_game(record: GameRecord, white: str, black: str, event: str, *, counts: bool = False) -> Game:
    """Make a game that can be written as PGN. In a match that `counts` one that was cut off is a draw, and says so."""
    game = Game(f"{record.variant}960" if record.chess960 else record.variant, record.start_fen)
    game.headers["Event"] = event
    game.headers["Round"] = str(record.game_id)
    game.headers["White"], game.headers["Black"] = white, black
    game.add_line(record.moves)
    game.result = record.result
    if counts and record.result == "*":
        verdict = Verdict.cut_off(len(record.moves))
        game.result, game.headers["Termination"] = verdict.result, verdict.termination
        game.end().comment = verdict.reason
    return game
