"""Populations: every player against every other one, batched in one pool.

>>> players = [Player("heuristic-1"), Player("uniform"), Player("random")]
>>> report = round_robin(players, "gardner", ["rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"], visits=[32, 32, 0])
>>> len(report.rows), report.points("heuristic-1") > report.points("random")
(6, True)
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from selfmate._core import GameRecord
from selfmate.errors import SelfmateError
from selfmate.player import Player
from selfmate.pool import drive, one_thread, paired
from selfmate.seating import seat_players

__all__ = ["Population", "Row", "play_games", "round_robin"]

TELL_SECONDS: Final = 0.1
POINTS: Final = {"1-0": 1.0, "0-1": 0.0}


class Row(NamedTuple):
    """A game as a fit of ratings takes it."""

    white: str
    black: str
    result: str
    """`1-0`, `0-1` or `1/2-1/2`; a game that was cut off counts as a draw, as in every match of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """A round robin as far as it was played."""

    variant: str
    names: tuple[str, ...]
    visits: tuple[int, ...]
    """Visits of each player; 0 for `random`."""
    games: int
    """Games that were to be played."""
    records: tuple[GameRecord, ...]
    """Those that are over; their seats are the players by number. Games 2n and 2n + 1 are one opening and pair."""
    evaluations: int
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether every game was played."""
        return len(self.records) == self.games

    @property
    def rows(self) -> list[Row]:
        """The games for a fit of ratings."""
        return [
            Row(
                self.names[record.white_seat],
                self.names[record.black_seat],
                "1/2-1/2" if record.result == "*" else record.result,
            )
            for record in self.records
        ]

    def points(self, name: str) -> float:
        """Sum up the points of a player, a draw half a point."""
        return sum(
            POINTS.get(row.result, 0.5) if row.white == name else 1 - POINTS.get(row.result, 0.5)
            for row in self.rows
            if name in (row.white, row.black)
        )

    def as_json(self) -> dict[str, Any]:
        """Give the report as plain values."""
        return {
            "variant": self.variant,
            "players": [
                {"name": name, "visits": visits, "points": self.points(name)}
                for name, visits in zip(self.names, self.visits, strict=True)
            ],
            "games": self.games,
            "complete": self.complete,
            "rows": [list(row) for row in self.rows],
            "evaluations": self.evaluations,
            "seconds": round(self.seconds, 3),
        }


def round_robin(
    players: Sequence[Player],
    variant: str,
    openings: Sequence[str],
    *,
    visits: Sequence[int],
    names: Sequence[str] | None = None,
    pairs: Sequence[tuple[int, int]] | None = None,
    gumbel: bool = False,
    seed: int = 0,
    max_plies: int = 512,
    slots: int | None = None,
    stopping: Callable[[], bool] = lambda: False,
    tell: Callable[[int, int], None] = lambda done, games: None,
) -> Population:
    """Let every two players (or only `pairs` of them) play every opening twice, with either colour, in one pool.

    `names` are those of the players unless said otherwise, and no two are alike. `tell` hears how many games are over,
    now and then. What is played does not depend on who else takes part, but for the moves of `random`.
    """
    pairs = list(itertools.combinations(range(len(players)), 2)) if pairs is None else pairs
    done = 0

    def hear(records: Sequence[GameRecord]) -> None:
        nonlocal done
        done += len(records)
        tell(done, len(games))

    games = [game for opening in openings for pair in pairs for game in paired([opening], *pair)]
    return play_games(
        players,
        variant,
        games,
        visits=visits,
        names=names,
        gumbel=gumbel,
        seed=seed,
        max_plies=max_plies,
        slots=slots,
        stopping=stopping,
        hear=hear,
    )


def play_games(
    players: Sequence[Player],
    variant: str,
    games: Sequence[tuple[str, int, int]],
    *,
    visits: Sequence[int],
    names: Sequence[str] | None = None,
    ids: Sequence[int] | None = None,
    gumbel: bool = False,
    seed: int = 0,
    max_plies: int = 512,
    slots: int | None = None,
    lanes: int | None = None,
    stopping: Callable[[], bool] = lambda: False,
    hear: Callable[[Sequence[GameRecord]], None] = lambda records: None,
) -> Population:
    """Play games (opening, White, Black), the players by number, in one pool.

    `ids` are those of the games, 0, 1, … unless said otherwise; the moves of `random` depend on them. `hear` is given
    the games that are over, each once, now and then and at the end.
    """
    names = tuple(names or (player.name for player in players))
    if len(set(names)) < len(names) or len(names) != len(players):
        raise SelfmateError("every player of a round robin needs a name of its own", ", ".join(names))
    if len(players) < 2:
        raise SelfmateError("a round robin needs two players or more")
    # 1. The games.
    seating = seat_players(
        variant, players, visits, len(games), gumbel=gumbel, seed=seed, max_plies=max_plies, slots=slots, lanes=lanes
    )
    pool = seating.pool
    for game_id, game in zip(range(len(games)) if ids is None else ids, games, strict=True):
        pool.start_games([game], first_game=game_id)
    # 2. Play.
    records: list[GameRecord] = []
    evaluations = 0
    began = told = time.monotonic()

    def look(leaves: int) -> None:
        nonlocal evaluations, told
        evaluations += leaves
        if time.monotonic() >= told + TELL_SECONDS:
            told = time.monotonic()
            if pool.finished:
                collect()

    def collect() -> None:
        over = pool.drain()
        records.extend(over)
        hear(over)

    drive(pool, seating.evaluators, lanes=seating.lanes, stopping=stopping, prepare=one_thread, tell=look)
    collect()
    records.sort(key=lambda record: record.game_id)
    return Population(
        variant=variant,
        names=names,
        visits=tuple(seat.visits for seat in seating.seats),
        games=len(games),
        records=tuple(records),
        evaluations=evaluations,
        seconds=time.monotonic() - began,
    )
