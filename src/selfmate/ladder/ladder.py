"""Rates a player on a ladder of players with known ratings, and calibrates such a ladder (`selfmate ladder`).

Opponents are chosen by information gain (`ladder.adaptive_pairing`). A rating has two errors: that of its own games,
which more games make smaller, and that of its distance to `random`, which includes the errors of the ladder.
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
from typing import TYPE_CHECKING, Final

import numpy as np

from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.ladder.adaptive_pairing import (
    MOST_PLAYERS,
    PairingDesign,
    Posterior,
    complete_pairs,
    play_adaptively,
    results_of,
    update_posterior,
)
from selfmate.ladder.calibration import Calibration, calibrate, read_calibration
from selfmate.ladder.options import LadderOptions
from selfmate.ladder.players import FAIRY, MOVES, NATIVE, STOCKFISH, LadderPlayer, ladder_players
from selfmate.ladder.reference_engines import Fingerprint, ReferenceEngine, find_fairy, find_stockfish
from selfmate.ladder.report import LadderReport, ladder_rating, short_rating
from selfmate.match.games import GamePlay, on_this_machine
from selfmate.match.match_file import GameEntry, MatchFile
from selfmate.match.openings import balanced_openings
from selfmate.match.plan import MatchPlan, check_engines
from selfmate.match.referee import RefereeSettings
from selfmate.match.report import faults, score
from selfmate.match.spec import Contestant, on_device, other_engines, read_contestant
from selfmate.match.uci_client import EngineSpec
from selfmate.rating.elo import Results, fit
from selfmate.rating.match_stats import Z95
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.spec import RANDOM, current_name
from selfmate.util.cpu import cores
from selfmate.util.signals import Interrupt
from selfmate.util.text import many, rounded

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Where", "measure", "rate"]

ProgressBar = Callable[[], "AbstractContextManager[Progress]"]
Where = Callable[[Sequence[EngineSpec]], AbstractContextManager[GamePlay]]
"""Opens what plays the games, on machines that must have these engines."""
Notice = Callable[[str], None]
"""Shows a line to the user."""
OPENINGS: Final = 300
"""Openings of a pairing, each played twice."""
UNKNOWN: Final = 600.0
"""Standard error of a rating before the first game, in Elo."""
MOVE_MARGIN: Final = 10.0
"""Seconds by which a move may be late: a ladder player does not lose on time on a busy machine."""
COARSE: Final = 150.0
"""While the standard error of the rating is larger, in Elo, batches are small."""
FEW_PAIRS, MANY_PAIRS = 3, 8
"""Pairs of games in a batch."""
BATCH_SECONDS: Final = 40.0
"""Estimated time of a batch on one core; a batch of one pair may take longer."""
GAME_SECONDS: Final = 0.5
"""Estimated time of a game beside moves with a fixed time."""
FEWEST_GAMES: Final = 20
"""With fewer games the error of a rating is not trusted."""


# -- rating a player --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Challenge:
    """A player to rate, with its opponents."""

    variant: str
    contestant: Contestant
    player: Player | None
    """None for an engine."""
    calibration: Calibration
    opponents: Sequence[LadderPlayer]
    engines: Mapping[str, ReferenceEngine]


def rate(
    options: LadderOptions, progress: ProgressBar, notice: Notice = lambda text: None, *, where: Where = on_this_machine
) -> LadderReport:
    """Rate the player `options.net` on the ladder of its variant; raises `SelfmateError` before the first game.

    `progress` makes the progress bar; `notice` shows a line when an engine takes long to reply; `where` opens what
    plays the games.
    """
    began = time.monotonic()
    challenge = _challenge(options, notice)
    calibration, label = challenge.calibration, challenge.contestant.label
    contestants = [challenge.contestant, *(each.contestant(challenge.engines) for each in challenge.opponents)]
    plan = _plan(challenge.variant, contestants, options.seed)
    names = plan.labels
    with ExitStack() as stack:
        games = stack.enter_context(where(other_engines(contestants)))
        file = _open_file(stack, options, plan, challenge.engines)
        interrupt, bar = stack.enter_context(Interrupt()), stack.enter_context(progress())
        task = bar.add_task("ladder", total=options.most_games, note="")

        def tell(results: Results) -> None:
            rating = ladder_rating(label, results, calibration)
            if rating is not None:
                note = f"{many(rating.games, 'game')}, {short_rating(rating)}"
                bar.update(task, completed=min(rating.games, options.most_games), note=note)

        entries, unavailable = play_adaptively(
            plan,
            [challenge.player, *_pool_players(plan.contestants[1:])],
            file,
            _rating_design(options, challenge, names, games.cores),
            where=games,
            stopping=interrupt,
            tell=tell,
        )
    matches = {name: score(complete_pairs(entries), 0, index) for index, name in enumerate(names) if index}
    return LadderReport(
        name=label,
        variant=challenge.variant,
        calibration=calibration,
        engines=challenge.engines,
        rating=ladder_rating(label, results_of(entries, names), calibration),
        matches={name: match for name, match in matches.items() if match.games},
        faults=_all_faults(entries, len(names)),
        unavailable={names[index]: reason for index, reason in unavailable.items()},
        seconds=time.monotonic() - began,
        stopped=interrupt(),
    )


def _challenge(options: LadderOptions, notice: Notice) -> _Challenge:
    """Read the player and the ladder of its variant, and check everything that can be wrong with them."""
    assert options.net is not None
    seconds = None if options.movetime is None else options.movetime / 1000
    net = on_device(read_contestant(options.net, Limit(visits=options.visits, seconds=seconds)), options.device)
    if not net.player and options.variant is None:
        raise SelfmateError(f"{net.name}: an engine needs --variant")
    threads = 1 if options.device == "cpu" else None
    player = Player(net.player, device=options.device, threads=threads) if net.player else None
    variant = options.variant or (player.variant if player is not None else None) or "chess"
    Position(variant)  # raises if the variant is unknown
    if player is not None:
        player.check(variant)
    calibration = read_calibration(variant, options.spacing)
    opponents, engines = _available_players(variant, options, notice, calibration.fingerprints)
    opponents = [each for each in opponents if each.name in calibration.elo]
    if not opponents:
        raise SelfmateError("no player of this ladder is left to play against")
    (net,) = check_engines([net], variant, notice=notice)
    if net.label in calibration.elo and not net.named:  # heuristic-1 with the visits of a ladder player
        net = replace(net, name=f"{net.label} #2", named=True)
    if net.label in calibration.elo:
        raise SelfmateError(f"{net.label!r} is the name of a ladder player; choose another with name=…", net.label)
    return _Challenge(
        variant=variant,
        contestant=net,
        player=None if net.engine is not None else player,
        calibration=calibration,
        opponents=opponents,
        engines=engines,
    )


def _rating_design(
    options: LadderOptions, challenge: _Challenge, names: Sequence[str], processors: int
) -> PairingDesign:
    """Pair the player with the opponents that inform most about its rating, on so many cores."""
    calibration, label = challenge.calibration, challenge.contestant.label
    prior, deadline = _prior(names, calibration), _deadline(options.most_minutes)

    def posterior(results: Results) -> Posterior:
        rating = ladder_rating(label, results, calibration)
        mean = prior.mean.copy()
        if rating is not None:
            mean[0] = rating.elo
        return update_posterior(names, prior, mean, results)

    def enough(results: Results) -> bool:
        rating = ladder_rating(label, results, calibration)
        games = rating.games if rating else 0
        sure = rating is not None and rating.error <= options.target_error and not rating.sweep
        return games >= options.most_games or time.monotonic() >= deadline or (sure and games >= FEWEST_GAMES)

    def pairs(now: Posterior, results: Results) -> int:
        wanted = FEW_PAIRS if now.covariance[0, 0] > COARSE**2 else MANY_PAIRS * _machines(processors)
        return min(wanted, math.ceil((options.most_games - _count(results)) / 2))

    return PairingDesign(
        pairings=[(0, index) for index in range(1, len(names))],
        seconds=[_own_seconds(challenge.contestant.limit) + each.game_seconds for each in challenge.opponents],
        targets=[0],
        posterior=posterior,
        enough=enough,
        pairs=pairs,
        budget=BATCH_SECONDS * processors,
    )


def _own_seconds(limit: Limit) -> float:
    """Return the estimated time of a game without the moves of the opponent.

    A fixed time per move is used up in every move. Visits are taken to be quick: their speed is not known beforehand.

    >>> _own_seconds(Limit(visits=64)), _own_seconds(Limit(seconds=0.1))
    (0.5, 3.5)
    """
    return GAME_SECONDS + MOVES * (limit.seconds or 0.0)


def _prior(names: Sequence[str], calibration: Calibration) -> Posterior:
    """Return the distribution before the first game: wide for the first player, the calibration for the others."""
    ratings = fit(calibration.games(), anchors={RANDOM: 0.0})
    place = {each.player: index for index, each in enumerate(ratings.players)}
    order = [place[name] for name in names[1:]]
    known = [calibration.elo[name] for name in names[1:]]
    covariance = np.zeros((len(names), len(names)))
    covariance[0, 0] = UNKNOWN**2
    covariance[1:, 1:] = ratings.covariance[np.ix_(order, order)]
    return Posterior(np.array([float(np.median(known)), *known]), covariance)


def _all_faults(entries: Sequence[GameEntry], players: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for index in range(players):
        for fault, count in faults(entries, index).items():
            found[fault] = found.get(fault, 0) + count
    return found


# -- calibrating a ladder ---------------------------------------------------------------------------------------------


def measure(
    options: LadderOptions,
    command: str,
    progress: ProgressBar,
    notice: Notice = lambda text: None,
    *,
    where: Where = on_this_machine,
) -> tuple[Calibration, bool]:
    """Calibrate the ladder of the variant `options.measure`; also returns whether it was interrupted.

    `command` is the command line, for the file. `progress`, `notice` and `where` are as in `rate`.
    """
    assert options.measure is not None
    variant = options.measure
    Position(variant)  # raises if the variant is unknown
    players, engines = _available_players(variant, options, notice)
    plan = _plan(variant, [player.contestant(engines) for player in players], options.seed)
    with ExitStack() as stack:
        games = stack.enter_context(where(other_engines(plan.contestants)))
        design = _calibration_design(options, players, games.cores)
        file = _open_file(stack, options, plan, engines)
        interrupt, bar = stack.enter_context(Interrupt()), stack.enter_context(progress())
        task = bar.add_task(f"ladder of {variant}", total=options.most_games, note="")

        def tell(results: Results) -> None:
            note = f"worst ± {rounded(_worst_error(design.posterior(results)))}"
            bar.update(task, completed=min(_count(results), options.most_games), note=note)

        entries, _ = play_adaptively(
            plan, _pool_players(plan.contestants), file, design, where=games, stopping=interrupt, tell=tell
        )
    calibration = calibrate(
        results_of(entries, plan.labels),
        variant=variant,
        measured=datetime.now(UTC).date().isoformat(),
        command=command,
        engines=engines,
        note=options.note or f"{many(os.cpu_count() or 1, 'core')}, {platform.machine()}",
    )
    return calibration, interrupt()


def _calibration_design(options: LadderOptions, players: Sequence[LadderPlayer], processors: int) -> PairingDesign:
    """Pair ladder players so that all their ratings become known, on so many cores."""
    names = [player.name for player in players]
    guess = np.array([player.guess for player in players])
    prior = Posterior(guess, np.diag([0.0 if name == RANDOM else UNKNOWN**2 for name in names]))
    deadline = _deadline(options.most_minutes)

    def posterior(results: Results) -> Posterior:
        mean = guess.copy()
        if any(RANDOM in pair for pair in results):
            ratings = fit(results, anchors={RANDOM: 0.0})
            loose = {name for group in ratings.loose for name in group}
            for each in ratings.players:
                if each.player not in loose:
                    mean[names.index(each.player)] = each.elo
        return update_posterior(names, prior, mean, results)

    def enough(results: Results) -> bool:
        if time.monotonic() >= deadline or _count(results) >= options.most_games:
            return True
        return _worst_error(posterior(results)) <= options.target_error

    pairings = list(itertools.combinations(range(len(players)), 2))
    return PairingDesign(
        pairings=pairings,
        seconds=[GAME_SECONDS + players[a].game_seconds + players[b].game_seconds for a, b in pairings],
        targets=range(len(players)),
        posterior=posterior,
        enough=enough,
        pairs=lambda now, results: min(
            2 * MANY_PAIRS * _machines(processors), math.ceil((options.most_games - _count(results)) / 2)
        ),
        budget=BATCH_SECONDS * processors,
    )


def _machines(processors: int) -> int:
    """Return how many machines like this one so many cores are, one at least: a batch grows with them."""
    return max(1, processors // cores())


def _worst_error(posterior: Posterior) -> float:
    """Return the largest half of a 95 % interval."""
    return Z95 * math.sqrt(float(posterior.covariance.diagonal().max()))


# -- both -------------------------------------------------------------------------------------------------------------


def _available_players(
    variant: str, options: LadderOptions, notice: Notice, known: Sequence[Fingerprint] = ()
) -> tuple[list[LadderPlayer], dict[str, ReferenceEngine]]:
    """Return the ladder players that can play on this machine, and the engines with the `known` fingerprints."""
    players, leave_out = ladder_players(variant), [current_name(name) for name in options.leave_out or ()]
    names = [player.name for player in players]
    for name in leave_out:
        if name not in names:
            raise SelfmateError(f"--leave-out: unknown player {name!r}; the ladder has {', '.join(names)}", name)
    engines = {}
    if not options.without_engine:
        engines[FAIRY] = find_fairy(variant, options.engine, notice, known=known)
        if variant == "chess" and (stockfish := find_stockfish(notice)) is not None:
            engines[STOCKFISH] = stockfish
    return [each for each in players if each.kind in (NATIVE, *engines) and each.name not in leave_out], engines


def _plan(variant: str, contestants: Sequence[Contestant], seed: int) -> MatchPlan:
    assert len(contestants) <= MOST_PLAYERS
    return MatchPlan(
        variant=variant,
        contestants=tuple(contestants),
        openings=tuple(balanced_openings(variant, OPENINGS, seed)),
        referee=RefereeSettings(move_margin=MOVE_MARGIN),
        seed=seed,
    )


def _pool_players(contestants: Sequence[Contestant]) -> list[Player | None]:
    return [None if each.engine is not None else Player(each.player) for each in contestants]


def _count(results: Results) -> int:
    return sum(sum(counts) for counts in results.values())


def _deadline(minutes: float | None) -> float:
    return math.inf if minutes is None else time.monotonic() + 60 * minutes


def _open_file(
    stack: ExitStack, options: LadderOptions, plan: MatchPlan, engines: Mapping[str, ReferenceEngine]
) -> MatchFile | None:
    """Open the file of the games, whose settings include the names of the engines."""
    if options.pgn is None:
        return None
    settings = plan.settings
    rules = {**settings.rules, **{f"engine {kind}": engine.name for kind, engine in engines.items()}}
    return stack.enter_context(MatchFile(options.pgn, replace(settings, rules=rules), restart=options.force))
