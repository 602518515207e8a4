"""`selfmate arena`: a match between players, nets batched and engines as processes, with paired openings.

>>> from selfmate.openings import balanced_openings
>>> openings = balanced_openings("gardner", 2, seed=1)
>>> report = play_arena(Player("heuristic-1"), Player("random"), "gardner", openings, visits=(16, 16))
>>> report.match.games, report.match.score > 0.8
(4, True)
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, cast

from selfmate._core import GameRecord
from selfmate.contestant import Contestant, MoveLimit, TimeControl, on_device, read_contestant
from selfmate.crosstable import CSV_HEADINGS, Report, as_csv, show, standing_notes
from selfmate.engine import PATIENCE
from selfmate.errors import SelfmateError, clip
from selfmate.files import check_target, write_output
from selfmate.game import Position
from selfmate.gate import judge
from selfmate.hall import play_seats
from selfmate.matchfile import MatchFile
from selfmate.openings import balanced_openings, is_pgn, read_openings
from selfmate.player import RANDOM, Player
from selfmate.referee import CLOCK_MARGIN, MOVE_MARGIN, ScoreRule, Terms
from selfmate.stats import Match, Model, Sprt
from selfmate.terminal import say
from selfmate.tournament import Plan, ask_names, play, schedule
from selfmate.words import many

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.progress import Progress

__all__ = ["ArenaReport", "Interrupt", "Wishes", "command", "make_plan", "play_arena"]

INTERRUPTED: Final = 130

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


# -- the command ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the command line asks for; its words are explained there."""

    players: tuple[str, ...]
    variant: str | None = None
    pairs: int = 50
    visits: tuple[int | None, int | None, int | None] = (None, None, None)
    """Of everybody, of A, of B."""
    nodes: int | None = None
    depth: int | None = None
    movetime: int | None = None
    tc: str | None = None
    openings: Path | None = None
    opening_plies: int | None = None
    seed: int = 0
    gumbel: bool = False
    concurrency: int | None = None
    margin: float | None = None
    """Seconds by which clocks and times for a move may be overstepped; usual ones when None."""
    patience: float | None = None
    """Seconds for an answer that no clock limits; usual ones when None."""
    max_plies: int = 512
    resign: str | None = None
    win: str | None = None
    draw: str | None = None
    device: str = "cpu"
    test: Sprt | None = None


def make_plan(wishes: Wishes, notice: Callable[[str], None] = lambda text: None) -> tuple[Plan, list[Player | None]]:
    """Make a match of wishes: whatever can be wrong is found before a game begins, and every engine has been tried.

    The players are those of our own that have a seat, None for an engine. `notice` hears whom we wait for.
    """
    # 1. Who, and what a move of theirs may cost.
    contestants = _contestants(wishes)
    terms = Terms(
        max_plies=wishes.max_plies,
        margin=CLOCK_MARGIN if wishes.margin is None else wishes.margin,
        move_margin=MOVE_MARGIN if wishes.margin is None else wishes.margin,
        patience=PATIENCE if wishes.patience is None else wishes.patience,
        **{
            name: None if text is None else ScoreRule.read(text, name)
            for name, text in (("resign", wishes.resign), ("win", wishes.win), ("draw", wishes.draw))
        },
    )
    if wishes.opening_plies is not None and not (wishes.openings is not None and is_pgn(wishes.openings)):
        raise SelfmateError("--opening-plies is for a book of games: --openings FILE.pgn")
    # 2. What they play.
    threads = 1 if wishes.device == "cpu" else None
    seats = {
        index: Player(each.player, device=wishes.device, threads=threads)
        for index, each in enumerate(contestants)
        if each.player and (each.engine is None or wishes.variant is None)
    }
    variant = wishes.variant or next((each.variant for each in seats.values() if each.variant), "chess")
    Position(variant)  # an unknown one is refused
    for player in seats.values():
        player.check(variant)
    contestants = ask_names(contestants, variant, wishes.patience, notice)
    # 3. Where they begin.
    if wishes.openings is None:
        openings = balanced_openings(variant, wishes.pairs, wishes.seed)
    else:
        openings = read_openings(wishes.openings, variant, wishes.pairs, wishes.opening_plies)
    plan = Plan(
        variant=variant,
        contestants=tuple(contestants),
        openings=tuple(openings),
        terms=terms,
        seed=wishes.seed,
        gumbel=wishes.gumbel,
        test=wishes.test,
        concurrency=wishes.concurrency,
    )
    return plan, [None if each.engine is not None else seats[index] for index, each in enumerate(contestants)]


def _contestants(wishes: Wishes) -> list[Contestant]:
    if len(wishes.players) < 2:
        raise SelfmateError("a match needs two players or more: selfmate arena A B")
    everybody, *own = wishes.visits
    if len(wishes.players) > 2 and any(own):
        raise SelfmateError("--visits-a and --visits-b are for two players; with more, write NAME?visits=N")
    if len(wishes.players) > 2 and wishes.test is not None:
        raise SelfmateError("--sprt is for two players")
    control = None if wishes.tc is None else TimeControl.read(wishes.tc)
    contestants = []
    for index, text in enumerate(wishes.players):
        visits = (own[index] if index < 2 else None) or everybody
        limit = MoveLimit(
            visits=visits, nodes=wishes.nodes, depth=wishes.depth, movetime=wishes.movetime, control=control
        )
        contestants.append(read_contestant(text, limit))
        if index < 2 and own[index] and contestants[-1].player in ("", RANDOM):
            raise SelfmateError(
                f"--visits-{'ab'[index]} is for a player that we search for; {clip(text)} is none", text
            )
    if all(each.player for each in contestants) and (wishes.nodes or wishes.depth):
        raise SelfmateError("--nodes and --depth are for engines, and none plays; nets have --visits")
    if not any(each.player for each in contestants) and any(wishes.visits):
        raise SelfmateError("--visits are for nets, and none plays; engines have --nodes")
    return [on_device(each, wishes.device) for each in contestants]


def read_sprt(text: str, alpha: float, beta: float, model: str) -> Sprt:
    """Read the two differences of a test.

    >>> read_sprt("0,10", 0.05, 0.05, "logistic").elo1
    10.0
    """
    try:
        elo0, elo1 = (float(part) for part in text.split(","))
    except ValueError:
        raise SelfmateError(f"--sprt is written ELO0,ELO1, such as 0,10, not {clip(text)!r}", text) from None
    return Sprt(elo0, elo1, alpha, beta, cast(Model, model))  # which checks them


def _check_csv(path: Path, pgn: Path | None, *, force: bool) -> None:
    """Refuse to write over anything but the table of a match that goes on."""
    if pgn is not None and path.resolve() == pgn.resolve():
        raise SelfmateError(f"--pgn and --csv name the same file, {path}", str(path))
    if force or not path.is_file() or not path.stat().st_size:
        return
    heading = ",".join(CSV_HEADINGS).encode()
    with path.open("rb") as file:
        is_table = file.read(len(heading)) == heading
    if not is_table or pgn is None or not pgn.is_file():
        what = "there already" if is_table else "there already, and no table of a match"
        raise SelfmateError(f"{path}: {what}; --force writes over it", str(path))


def command(
    wishes: Wishes,
    *,
    pgn: Path | None,
    csv: Path | None,
    force: bool,
    as_json: bool,
    progress: Callable[[], AbstractContextManager[Progress]],
    notice: Callable[[str], None],
) -> int:
    """Play a match and tell of it; the exit code is 0 when it is complete."""
    import json

    from rich.console import Console

    # 1. Everything that can be wrong is found before a game begins.
    for path in (pgn, csv):
        check_target(path)
    if csv is not None:
        _check_csv(csv, pgn, force=force)
    plan, players = make_plan(wishes, notice)
    different = len(set(plan.openings))
    if different < len(plan.openings):
        notice(f"only {many(different, 'different opening')}; the others repeat {'it' if different == 1 else 'them'}")
    with contextlib.ExitStack() as stack:
        file = None if pgn is None else stack.enter_context(MatchFile(pgn, plan.settings, anew=force))
        # 2. Play.
        with Interrupt() as interrupt, progress() as bar:
            task = bar.add_task("arena", total=None, note="")

            def tell(report: Report) -> None:
                bar.update(task, completed=len(report.entries), total=report.games, note=standing_notes(report))

            report = play(plan, players, file, stopping=interrupt, tell=tell)
    # 3. Tell.
    if csv is not None:
        write_output(csv, as_csv(report).encode())
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        console = Console()
        show(report, console, pgn)
        if interrupt() and pgn is not None:
            say(console, f"The same command goes on with {pgn}.")
    if interrupt() and not report.complete:
        return INTERRUPTED
    return 0 if report.complete else 1
