"""`selfmate ladder`: how strong a player is, beside engines of known strength.

The players of the ladder have measured ratings (`ladder.players`); opponents are chosen by information gain
(`ladder.adaptive_pairing`). The rating comes with two errors: that of its own games, which more games make smaller, and
that of its distance to `random`, which includes the errors of the ladder.
"""

from __future__ import annotations

import itertools
import math
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.ladder.adaptive_pairing import STRIDE, Beliefs, believe, climb, results_of, whole
from selfmate.ladder.players import (
    ANCHOR,
    FAIRY,
    MOVES,
    OWN,
    STOCKFISH,
    Rung,
    Spacing,
    read_spacing,
    rungs_of,
    spacing_of,
)
from selfmate.ladder.reference_engines import Answer, Yardstick, find_fairy, find_stockfish
from selfmate.match.match_file import MatchFile
from selfmate.match.openings import balanced_openings
from selfmate.match.referee import Terms
from selfmate.match.report import faults, score
from selfmate.match.spec import Contestant, on_device, read_contestant
from selfmate.match.tournament import Plan, ask_names
from selfmate.rating.elo import Results, fit
from selfmate.rating.match_stats import Match, score_of_elo
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.util.cpu import cores
from selfmate.util.files import write_output
from selfmate.util.signals import Interrupt
from selfmate.util.terminal import say
from selfmate.util.text import many, percent, rounded

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

__all__ = ["LadderReport", "Standing", "Wishes", "measure", "rate", "show", "show_spacing", "standing_of"]


Bar = Callable[[], "AbstractContextManager[Progress]"]


Notice = Callable[[str], None]
"""Hears whom we wait for when it takes long."""


OPENINGS: Final = 300
"""Openings of two players at most, each of them twice."""


UNKNOWN: Final = 600.0
"""Standard error of a rating of which nothing is known."""


MARGIN: Final = 10.0
"""Seconds by which a move may be late: a busy machine makes no rung lose on time."""


COARSE: Final = 150.0
"""As long as the standard error of a rating is larger, batches are small."""


FEW, MANY = 3, 8
"""Pairs of a batch."""


BATCH_SECONDS: Final = 40.0
"""What a batch may take on one core, about, unless a single game takes longer."""


GAME_SECONDS: Final = 0.5
"""What a game takes beside moves that take their time, about."""


FEWEST_GAMES: Final = 20
"""No rating is called certain after fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the command line asks for; its words are explained there."""

    variant: str | None = None
    visits: int | None = None
    movetime: int | None = None
    games: int = 300
    minutes: float | None = None
    error: float = 40.0
    engine: str | None = None
    without_engine: bool = False
    spacing: Path | None = None
    leave_out: tuple[str, ...] = ()
    pgn: Path | None = None
    force: bool = False
    seed: int = 0
    device: str = "cpu"
    note: str = ""


# -- the rating of a net ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The rating of a player on a ladder."""

    elo: float
    error: float
    """Half the 95 % interval, the ratings of the rungs being what they are."""
    full_error: float
    """The same with the errors of the rungs: that of the distance to `random`."""
    games: int
    sweep: int
    """1 when it won every game, -1 when it lost every game: the rating is only a bound then."""


def standing_of(name: str, results: Results, spacing: Spacing) -> Standing | None:
    """Fit the rating of a player to its games against rungs; None while there are none."""
    own = {pair: counts for pair, counts in results.items() if name in pair and any(counts)}
    if not own:
        return None
    met = {player for pair in own for player in pair} - {name}
    fixed = fit(own, anchors={rung: spacing.elo[rung] for rung in met})
    rating = next(each for each in fixed.players if each.player == name)
    joint = fit({**spacing.games(), **own}, anchors={ANCHOR: 0.0})
    full = next(each.error for each in joint.players if each.player == name)
    return Standing(
        elo=rating.elo,
        error=rating.error,
        full_error=max(full, rating.error),
        games=rating.games,
        sweep=int(rating.score == 1) - int(rating.score == 0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderReport:
    """What a climb has come to."""

    name: str
    variant: str
    spacing: Spacing
    engines: Mapping[str, Yardstick]
    standing: Standing | None
    matches: Mapping[str, Match]
    """The player's games against each rung that it met, by name."""
    faults: Mapping[str, int]
    """What went wrong in games, crashes and the like; such pairs of games do not count."""
    out: Mapping[str, str]
    """Players that could not go on, and why."""
    seconds: float
    stopped: bool

    def expected(self, rung: str) -> float | None:
        """Give the score that the rating expects against a rung; None as long as there is only a bound, or nothing."""
        if self.standing is None or self.standing.sweep:
            return None
        return round(score_of_elo(self.standing.elo - self.spacing.elo[rung]), 4)

    def as_json(self) -> dict[str, Any]:
        """Give what a program would read. A clean sweep has no `elo`, only a bound: `low` or `high`."""
        standing = self.standing
        rated = standing if standing is not None and not standing.sweep else None
        return {
            "player": self.name,
            "variant": self.variant,
            "scale": f"{ANCHOR} = 0",
            "elo": rated and round(rated.elo, 1),
            "error": rated and round(rated.error, 1),
            "full_error": rated and round(rated.full_error, 1),
            "low": round(standing.elo - standing.error, 1) if standing and standing.sweep >= 0 else None,
            "high": round(standing.elo + standing.error, 1) if standing and standing.sweep <= 0 else None,
            "games": standing.games if standing else 0,
            "sweep": standing.sweep if standing else 0,
            "engines": {kind: engine.name for kind, engine in self.engines.items()},
            "ladder": {"measured": self.spacing.measured, "engines": self.spacing.engines},
            "rungs": [
                {
                    "name": rung.name,
                    "rating": rung.elo,
                    "rating_error": rung.error,
                    "expected": self.expected(rung.name),
                    **(match.as_json() if (match := self.matches.get(rung.name)) else {"games": 0}),
                }
                for rung in self.spacing.rungs
            ],
            "faults": dict(self.faults),
            "out": dict(self.out),
            "seconds": round(self.seconds, 1),
        }


def rate(who: str, wishes: Wishes, progress: Bar, notice: Notice = lambda text: None) -> LadderReport:
    """Let a player climb the ladder of its variant."""
    began = time.monotonic()
    # 1. Who climbs, and which ladder.
    seconds = None if wishes.movetime is None else wishes.movetime / 1000
    net = on_device(read_contestant(who, Limit(visits=wishes.visits, seconds=seconds)), wishes.device)
    if not net.player and wishes.variant is None:
        raise SelfmateError(f"{net.name} may play any variant: --variant says which")
    seat = (
        Player(net.player, device=wishes.device, threads=1 if wishes.device == "cpu" else None) if net.player else None
    )
    variant = wishes.variant or (seat.variant if seat is not None else None) or "chess"
    Position(variant)  # is there such a variant?
    if seat is not None:
        seat.check(variant)
    spacing = read_spacing(variant, wishes.spacing)
    rungs, engines = _available(variant, wishes, notice, spacing.answers)
    rungs = [rung for rung in rungs if rung.name in spacing.elo]
    if not rungs:
        raise SelfmateError("no rung of this ladder is left to play against")
    (net,) = ask_names([net], variant, notice=notice)
    if net.label in spacing.elo:
        raise SelfmateError(f"{net.label!r} is the name of a rung; another name=… is needed", net.label)
    # 2. What is known before: the rungs with all their errors, and nothing of the player.
    plan = _plan(variant, [net, *(rung.contestant(engines) for rung in rungs)], wishes.seed)
    names = plan.labels
    prior = _prior(names, spacing)

    def beliefs(results: Results) -> Beliefs:
        standing = standing_of(net.label, results, spacing)
        mean = prior.mean.copy()
        if standing is not None:
            mean[0] = standing.elo
        return believe(names, prior, mean, results)

    deadline = _deadline(wishes.minutes)

    def enough(results: Results) -> bool:
        standing = standing_of(net.label, results, spacing)
        games = standing.games if standing else 0
        sure = standing is not None and standing.error <= wishes.error and not standing.sweep
        return games >= wishes.games or time.monotonic() >= deadline or (sure and games >= FEWEST_GAMES)

    # 3. Climb.
    with ExitStack() as stack:
        file = _open(stack, wishes, plan, engines)
        interrupt, bar = stack.enter_context(Interrupt()), stack.enter_context(progress())
        task = bar.add_task("ladder", total=wishes.games, note="")

        def tell(results: Results) -> None:
            standing = standing_of(net.label, results, spacing)
            if standing is not None:
                note = f"{many(standing.games, 'game')}, {_short(standing)}"
                bar.update(task, completed=min(standing.games, wishes.games), note=note)

        entries, out = climb(
            plan,
            [None if net.engine is not None else seat, *_seats(plan.contestants[1:])],
            file,
            [(0, number) for number in range(1, len(names))],
            [_own_seconds(net.limit) + rung.game_seconds for rung in rungs],
            [0],
            beliefs=beliefs,
            enough=enough,
            pairs=lambda now, results: min(
                FEW if now.covariance[0, 0] > COARSE**2 else MANY, math.ceil((wishes.games - _count(results)) / 2)
            ),
            budget=BATCH_SECONDS * cores(),
            stopping=interrupt,
            tell=tell,
        )
    # 4. What it has come to.
    wrong: dict[str, int] = {}
    for number in range(len(names)):
        for fault, count in faults(entries, number).items():
            wrong[fault] = wrong.get(fault, 0) + count
    matches = {name: score(whole(entries), 0, number) for number, name in enumerate(names) if number}
    return LadderReport(
        name=net.label,
        variant=variant,
        spacing=spacing,
        engines=engines,
        standing=standing_of(net.label, results_of(entries, names), spacing),
        matches={name: match for name, match in matches.items() if match.games},
        faults=wrong,
        out={names[number]: reason for number, reason in out.items()},
        seconds=time.monotonic() - began,
        stopped=interrupt(),
    )


def _own_seconds(limit: Limit) -> float:
    """Say what a game takes beside the moves of a rung: a player with a time for its move takes it every time.

    Visits are reckoned as quick, since how fast they are nobody knows beforehand.

    >>> _own_seconds(Limit(visits=64)), _own_seconds(Limit(seconds=0.1))
    (0.5, 3.5)
    """
    return GAME_SECONDS + MOVES * (limit.seconds or 0.0)


def _prior(names: Sequence[str], spacing: Spacing) -> Beliefs:
    """Say what is known before the first game: of the first player nothing, of the rungs what was measured."""
    ratings = fit(spacing.games(), anchors={ANCHOR: 0.0})
    place = {each.player: number for number, each in enumerate(ratings.players)}
    order = [place[name] for name in names[1:]]
    mean = np.array(
        [float(np.median([spacing.elo[name] for name in names[1:]])), *(spacing.elo[name] for name in names[1:])]
    )
    covariance = np.zeros((len(names), len(names)))
    covariance[0, 0] = UNKNOWN**2
    covariance[1:, 1:] = ratings.covariance[np.ix_(order, order)]
    return Beliefs(mean, covariance)


# -- the spacing of a ladder ------------------------------------------------------------------------------------------


def measure(
    variant: str, wishes: Wishes, command: str, progress: Bar, notice: Notice = lambda text: None
) -> tuple[Spacing, bool]:
    """Measure how far the rungs of a variant are apart; also whether it was interrupted."""
    Position(variant)  # is there such a variant?
    rungs, engines = _available(variant, wishes, notice)
    plan = _plan(variant, [rung.contestant(engines) for rung in rungs], wishes.seed)
    names = plan.labels
    guess = np.array([rung.guess for rung in rungs])
    prior = Beliefs(guess, np.diag([0.0 if name == ANCHOR else UNKNOWN**2 for name in names]))

    def beliefs(results: Results) -> Beliefs:
        mean = guess.copy()
        if any(ANCHOR in pair for pair in results):
            ratings = fit(results, anchors={ANCHOR: 0.0})
            loose = {name for group in ratings.loose for name in group}
            for each in ratings.players:
                if each.player not in loose:
                    mean[names.index(each.player)] = each.elo
        return believe(names, prior, mean, results)

    deadline = _deadline(wishes.minutes)

    def worst(results: Results) -> float:
        return 1.96 * math.sqrt(float(beliefs(results).covariance.diagonal().max()))

    def enough(results: Results) -> bool:
        return time.monotonic() >= deadline or _count(results) >= wishes.games or worst(results) <= wishes.error

    meetings = list(itertools.combinations(range(len(rungs)), 2))
    with ExitStack() as stack:
        file = _open(stack, wishes, plan, engines)
        interrupt, bar = stack.enter_context(Interrupt()), stack.enter_context(progress())
        task = bar.add_task(f"ladder of {variant}", total=wishes.games, note="")

        def tell(results: Results) -> None:
            bar.update(task, completed=min(_count(results), wishes.games), note=f"worst ± {rounded(worst(results))}")

        entries, _ = climb(
            plan,
            _seats(plan.contestants),
            file,
            meetings,
            [GAME_SECONDS + rungs[a].game_seconds + rungs[b].game_seconds for a, b in meetings],
            range(len(rungs)),
            beliefs=beliefs,
            enough=enough,
            pairs=lambda now, results: min(2 * MANY, math.ceil((wishes.games - _count(results)) / 2)),
            budget=BATCH_SECONDS * cores(),
            stopping=interrupt,
            tell=tell,
        )
    spacing = spacing_of(
        results_of(entries, names),
        variant=variant,
        measured=datetime.now(UTC).date().isoformat(),
        command=command,
        engines=engines,
        note=wishes.note or f"{many(os.cpu_count() or 1, 'core')}, {platform.machine()}",
    )
    return spacing, interrupt()


# -- both -------------------------------------------------------------------------------------------------------------


def _available(
    variant: str, wishes: Wishes, notice: Notice, known: Sequence[Answer] = ()
) -> tuple[list[Rung], dict[str, Yardstick]]:
    """List the rungs that can be played here, with the engines that play them, as the ladder knows them."""
    rungs = rungs_of(variant)
    names = [rung.name for rung in rungs]
    for name in wishes.leave_out:
        if name not in names:
            raise SelfmateError(f"--leave-out: no rung is called {name!r}; there are {', '.join(names)}", name)
    engines = {}
    if not wishes.without_engine:
        engines[FAIRY] = find_fairy(variant, wishes.engine, notice, known=known)
        if variant == "chess" and (stockfish := find_stockfish(notice)) is not None:
            engines[STOCKFISH] = stockfish
    return [rung for rung in rungs if rung.kind in (OWN, *engines) and rung.name not in wishes.leave_out], engines


def _plan(variant: str, contestants: Sequence[Contestant], seed: int) -> Plan:
    assert len(contestants) <= STRIDE
    return Plan(
        variant=variant,
        contestants=tuple(contestants),
        openings=tuple(balanced_openings(variant, OPENINGS, seed)),
        terms=Terms(move_margin=MARGIN),
        seed=seed,
    )


def _seats(contestants: Sequence[Contestant]) -> list[Player | None]:
    return [None if each.engine is not None else Player(each.player) for each in contestants]


def _count(results: Results) -> int:
    return sum(sum(counts) for counts in results.values())


def _deadline(minutes: float | None) -> float:
    return math.inf if minutes is None else time.monotonic() + 60 * minutes


def _open(stack: ExitStack, wishes: Wishes, plan: Plan, engines: Mapping[str, Yardstick]) -> MatchFile | None:
    """Open the games on disk; they go on with the same engines only."""
    if wishes.pgn is None:
        return None
    settings = plan.settings
    rules = {**settings.rules, **{f"engine {kind}": engine.name for kind, engine in engines.items()}}
    return stack.enter_context(MatchFile(wishes.pgn, replace(settings, rules=rules), anew=wishes.force))


def write_spacing(path: Path, spacing: Spacing) -> None:
    """Write a measured ladder as people can read it: a line for each answer, each rung and each meeting."""
    values = msgspec.to_builtins(spacing)
    encode = msgspec.json.encode
    lists = {
        name: ",\n".join(f"    {encode(each).decode()}" for each in values.pop(name))
        for name in ("answers", "rungs", "results")
    }
    head = msgspec.json.format(encode(values), indent=2).decode().rstrip().removesuffix("}").rstrip()
    tail = ",\n".join(f'  "{name}": [\n{lines}\n  ]' if lines else f'  "{name}": []' for name, lines in lists.items())
    write_output(path, f"{head},\n{tail}\n}}\n".encode())


# -- for people -------------------------------------------------------------------------------------------------------


def show(report: LadderReport, console: Console) -> None:
    """Print the rating, and the score against every rung."""
    from rich.table import Table

    say(console, rating_line(report))
    table = Table()
    for column in ("rung", "rating ± 95 %", "games", "score [95 %]", "expected"):
        table.add_column(column, justify="left" if column == "rung" else "right")
    for rung in reversed(report.spacing.rungs):
        match, expected = report.matches.get(rung.name), report.expected(rung.name)
        table.add_row(
            rung.name,
            f"{rounded(rung.elo)} ± {rounded(rung.error)}",
            str(match.games) if match else "",
            match.percent if match else "",
            "" if expected is None else percent(expected),
        )
    console.print(table)
    engines = ", ".join(engine.name for engine in report.engines.values()) or "no engine"
    say(console, f"{ANCHOR} is 0: a scale of our own, not that of people, of FIDE or of Lichess. With {engines}.")
    known = ", ".join(report.spacing.engines.values()) or "no engine"
    say(console, f"The ladder was measured on {report.spacing.measured} with {known}{_likeness(report)}.")
    for fault, count in report.faults.items():
        say(
            console,
            f"{many(count, 'game')} ended by {fault}; whatever was played with the same opening does not count.",
        )
    for name, reason in report.out.items():
        say(console, f"{name} is out: {reason}")


def _likeness(report: LadderReport) -> str:
    """Say whether Fairy-Stockfish is the one that the ladder was measured with; names tell nothing."""
    if FAIRY not in report.engines or FAIRY not in report.spacing.engines:
        return ""
    if report.spacing.answers:
        return "; Fairy-Stockfish was checked to be the same player"
    return "; its file does not say how Fairy-Stockfish played then, so that one was not checked to be the same player"


def rating_line(report: LadderReport) -> str:
    """Say the rating in one line."""
    standing = report.standing
    if standing is None:
        return f"{report.name}, {report.variant}: nothing was played to its end."
    games = many(standing.games, "game")
    if standing.sweep:
        won = "won" if standing.sweep > 0 else "lost"
        return f"{report.name}, {report.variant}: {_short(standing)} on this ladder; it {won} all of {games}."
    return (
        f"{report.name}, {report.variant}: {_short(standing)} on this ladder "
        f"(± {rounded(standing.full_error)} with the ladder's own error), {games}."
    )


def _short(standing: Standing) -> str:
    """Say a rating in a few words; a clean sweep is only a bound."""
    if standing.sweep > 0:
        return f"above {rounded(standing.elo - standing.error)}"
    if standing.sweep < 0:
        return f"below {rounded(standing.elo + standing.error)}"
    return f"{rounded(standing.elo)} ± {rounded(standing.error)}"


def show_spacing(spacing: Spacing, console: Console) -> None:
    """Print a measured ladder."""
    from rich.table import Table

    table = Table()
    for column in ("rung", "rating ± 95 %", "games"):
        table.add_column(column, justify="left" if column == "rung" else "right")
    for rung in reversed(spacing.rungs):
        table.add_row(rung.name, f"{rounded(rung.elo)} ± {rounded(rung.error)}", str(rung.games))
    console.print(table)
