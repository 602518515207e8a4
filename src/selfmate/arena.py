"""`selfmate arena`: a match between two players, batched, with paired openings and either colour.

>>> from selfmate.openings import balanced_openings
>>> openings = balanced_openings("gardner", 2, seed=1)
>>> report = play_arena(Player("heuristic-1"), Player("random"), "gardner", openings, visits=(16, 16))
>>> report.match.games, report.match.score
(4, 1.0)
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from selfmate._core import GameRecord
from selfmate.gate import as_game, judge, whole_pairs
from selfmate.player import Player
from selfmate.pool import drive, one_thread, paired
from selfmate.seating import seat_players
from selfmate.stats import Match, score_line

if TYPE_CHECKING:
    from rich.console import Console

    from selfmate.pgn import Game

__all__ = ["ArenaReport", "Interrupt", "arena_games", "play_arena", "show", "write_pgn"]

TELL_SECONDS: Final = 0.1
EVENT: Final = "selfmate arena"

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

    @property
    def labels(self) -> tuple[str, str]:
        """The names of the players with their visits, for tables and PGN."""
        first, second = (
            f"{name} ({visits} visits)" if visits else name
            for name, visits in zip(self.names, self.visits, strict=True)
        )
        return first, second

    def as_json(self) -> dict[str, Any]:
        """Give the report as plain values."""
        return {
            "variant": self.variant,
            "players": [{"name": name, "visits": visits} for name, visits in zip(self.names, self.visits, strict=True)],
            "root": "gumbel" if self.gumbel else "puct",
            "openings": self.openings,
            "complete": self.complete,
            **self.match.as_json(),
            "pairs": list(self.match.pairs),
            "terminations": terminations(self.records),
            "plies": sum(len(record.moves) for record in self.records) / max(1, len(self.records)),
            "seconds": round(self.seconds, 3),
        }


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
    # 1. A pool that suits the sides.
    games = paired(openings)
    seating = seat_players(variant, (first, second), visits, len(games), gumbel=gumbel, seed=seed, max_plies=max_plies)
    pool = seating.pool
    pool.start_games(games)
    # 2. Play, and say now and then how it stands.
    began = told = time.monotonic()
    records: list[GameRecord] = []

    def look(leaves: int) -> None:
        nonlocal told
        if time.monotonic() >= told + TELL_SECONDS:
            told = time.monotonic()
            if pool.finished:
                records.extend(pool.drain())
                tell(judge(whole_pairs(records)))

    drive(pool, seating.evaluators, lanes=seating.lanes, stopping=stopping, prepare=one_thread, tell=look)
    # 3. What was played.
    records.extend(pool.drain())
    records.sort(key=lambda record: record.game_id)
    return ArenaReport(
        variant=variant,
        names=(first.name, second.name),
        visits=(seating.seats[0].visits, seating.seats[1].visits),
        gumbel=gumbel,
        openings=len(openings),
        match=judge(whole_pairs(records)),
        records=tuple(records),
        seconds=time.monotonic() - began,
    )


class Interrupt:
    """Whether Ctrl-C was pressed, within `with`; pressed again it interrupts at once.

    >>> with Interrupt() as interrupt:
    ...     interrupt()
    False
    """

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked

    def __enter__(self) -> Interrupt:
        with contextlib.ExitStack() as stack:
            if threading.current_thread() is threading.main_thread():
                before = signal.signal(signal.SIGINT, self._hear)
                stack.callback(signal.signal, signal.SIGINT, before)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


# -- telling it -----------------------------------------------------------------------------------


def terminations(records: Sequence[GameRecord]) -> dict[str, int]:
    """Count why the games ended, the most frequent reason first."""
    counts: dict[str, int] = {}
    for record in records:
        reason = record.reason or "cut off"
        counts[reason] = counts.get(reason, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def arena_games(report: ArenaReport) -> Iterator[Game]:
    """Give every game, ready to be written as PGN; how it ended stands as a comment behind its last move."""
    for record in report.records:
        white, black = report.labels[:: -1 if record.white_seat else 1]
        game = as_game(record, white, black, EVENT)
        game.headers["Termination"] = "normal" if record.outcome else "unterminated"
        game.end().comment = record.outcome.reason if record.outcome else f"cut off after {len(record.moves)} plies"
        yield game


def write_pgn(report: ArenaReport, path: Path) -> None:
    """Write every game to a file, which appears whole or not at all."""
    text = "".join(f"{game}\n\n" for game in arena_games(report))
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def show(report: ArenaReport, console: Console) -> None:
    """Print the report."""
    from rich.table import Table

    match = report.match
    first, second = report.labels
    console.print(f"{first} against {second}, {report.variant}", highlight=False, markup=False, soft_wrap=True)
    table = Table()
    table.add_column(report.names[0], overflow="fold")
    for column in ("games", "won", "drawn", "lost", "score"):
        table.add_column(column, justify="right")
    for label, colours in (("with White", [0]), ("with Black", [1]), ("together", [0, 1])):
        won, drawn, lost = (
            sum(counts[colour] for colour in colours) for counts in (match.wins, match.draws, match.losses)
        )
        games = won + drawn + lost
        score = f"{(won + drawn / 2) / games:.1%}" if games else ""
        table.add_row(label, *(str(number) for number in (games, won, drawn, lost)), score)
    console.print(table)
    ends = ", ".join(f"{count} {reason}" for reason, count in terminations(report.records).items())
    if ends:
        console.print(f"Ended by: {ends}.", highlight=False, soft_wrap=True)
    if not report.complete:
        rest = f"{len(report.records) - match.games} more have no game with the other colour yet"
        console.print(
            f"Stopped after {match.games} of {2 * report.openings} games; {rest}.", highlight=False, soft_wrap=True
        )
    console.print(score_line(match), highlight=False, soft_wrap=True)
