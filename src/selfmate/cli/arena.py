"""`selfmate arena`: a match between players, nets batched and engines as processes, with paired openings."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from selfmate.board.position import Position
from selfmate.errors import SelfmateError, clip
from selfmate.match.match_file import MatchFile
from selfmate.match.openings import balanced_openings, is_pgn, read_openings
from selfmate.match.referee import CLOCK_MARGIN, MOVE_MARGIN, ScoreRule, Terms
from selfmate.match.report import CSV_HEADINGS, Report, as_csv, show, standing_notes
from selfmate.match.spec import Contestant, on_device, read_contestant
from selfmate.match.tournament import Plan, ask_names, play
from selfmate.match.uci_client import PATIENCE
from selfmate.rating.match_stats import Model
from selfmate.rating.sprt import Sprt
from selfmate.search.limit import Clock, Limit
from selfmate.search.player import Player
from selfmate.search.spec import RANDOM
from selfmate.util.files import check_target, write_output
from selfmate.util.terminal import say
from selfmate.util.text import many

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.progress import Progress
from selfmate.util.signals import Interrupt

__all__ = ["Wishes", "command", "make_plan"]


INTERRUPTED: Final = 130


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
    clock = None if wishes.tc is None else Clock.parse(wishes.tc)
    seconds = None if wishes.movetime is None else wishes.movetime / 1000
    contestants = []
    for index, text in enumerate(wishes.players):
        visits = (own[index] if index < 2 else None) or everybody
        limit = Limit(visits=visits, nodes=wishes.nodes, depth=wishes.depth, seconds=seconds, clock=clock)
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
