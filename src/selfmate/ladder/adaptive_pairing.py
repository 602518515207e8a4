"""Adaptive pairing: choose the games that reduce the uncertainty of ratings most per second, and play them.

The ratings have a Gaussian posterior. A game between two players informs about the difference of their ratings: much
when the expected score is near one half, hardly at all when the result is foreseeable. From that follows the expected
reduction of the variances of the ratings that are wanted. Where no two players are close to each other, the players on
both sides of a gap are paired, since only their games connect the scale.

>>> mean, covariance = np.array([0.0, 300.0, 600.0, 280.0]), np.diag([0.0, 20.0, 30.0, 200.0]) ** 2
>>> choose_pairings(mean, covariance, [(3, 0), (3, 1), (3, 2)], [1.0, 1.0, 1.0], [3], pairs=4)
[1, 1, 1, 1]

The same code rates a net on a calibrated ladder (its rating is wanted) and calibrates a ladder (all ratings are).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from selfmate.match.games import GamePlay, games_here
from selfmate.match.match_file import GameEntry, MatchFile
from selfmate.match.plan import MatchPlan
from selfmate.match.report import faults
from selfmate.match.schedule import ScheduledGame
from selfmate.match.tournament import play
from selfmate.rating.elo import ELO, Results, tally
from selfmate.search.player import Player
from selfmate.util.text import many

__all__ = [
    "MOST_PLAYERS",
    "Pairing",
    "PairingDesign",
    "Posterior",
    "choose_pairings",
    "complete_pairs",
    "play_adaptively",
    "results_of",
    "update_posterior",
]

Array = npt.NDArray[np.float64]
Pairing = tuple[int, int]
"""Two players, by index."""
MOST_PLAYERS: Final = 64
MOST_OPENINGS: Final = 1 << 16
MOST_FAULTS: Final = 3
"""A player with this many faults (crashes and the like) plays no more games."""
LEAST_VARIANCE: Final = 1e-6
"""Variance of a rating that is fixed, in Elo²."""
LEAST_INFORMATION: Final = 1e-12


class Posterior(NamedTuple):
    """The Gaussian distribution of the ratings, in Elo."""

    mean: Array
    """`[players]`"""
    covariance: Array
    """`[players, players]`"""


def update_posterior(names: Sequence[str], prior: Posterior, mean: Array, results: Results) -> Posterior:
    """Return the posterior after games: `mean` are the ratings fitted to them, the covariance is Laplace's.

    >>> prior = Posterior(np.zeros(2), np.diag([LEAST_VARIANCE, 300.0**2]))
    >>> after = update_posterior(["a", "b"], prior, prior.mean, {("a", "b"): (10, 0, 10)})
    >>> round(float(np.sqrt(after.covariance[1, 1])))
    75
    """
    index = {name: number for number, name in enumerate(names)}
    precision = np.linalg.inv(prior.covariance + LEAST_VARIANCE * np.eye(len(names)))
    for (white, black), counts in results.items():
        if white in index and black in index:
            a, b = index[white], index[black]
            score = 1 / (1 + math.exp(-(mean[a] - mean[b]) / ELO))
            information = sum(counts) * score * (1 - score) / ELO**2
            precision[[a, b], [a, b]] += information
            precision[[a, b], [b, a]] -= information
    return Posterior(mean, np.linalg.inv(precision))


def choose_pairings(
    mean: Array,
    covariance: Array,
    pairings: Sequence[Pairing],
    seconds: Sequence[float],
    targets: Sequence[int],
    *,
    pairs: int,
    budget: float = math.inf,
) -> list[int]:
    """Return the pairings (by index, one for each pair of games) that inform most about the ratings of `targets`.

    `seconds` is the estimated time of a game of each pairing. The choice is greedy, each as if those before had been
    played: at most `pairs`, and at least one, while their games take less than `budget` seconds.
    """
    first, second = (np.array([pairing[side] for pairing in pairings]) for side in (0, 1))
    cost = np.asarray(seconds, np.float64)
    chosen: list[int] = []
    spent = 0.0
    while len(chosen) < pairs and (not chosen or spent < budget):
        # 1. The expected score and information of each pairing, over the posterior of its difference (MacKay's
        #    approximation of a logistic function under a Gaussian).
        shared = covariance[:, first] - covariance[:, second]
        each = np.arange(len(first))
        variance = np.maximum(shared[first, each] - shared[second, each], 0.0)
        shrink = 1 / np.sqrt(1 + np.pi / 8 * variance / ELO**2)
        score = 1 / (1 + np.exp(-shrink * (mean[first] - mean[second]) / ELO))
        information = np.maximum(2 * shrink * score * (1 - score) / ELO**2, LEAST_INFORMATION)  # of two games
        # 2. The reduction of the variances of the targets, per second. Uneven pairings count less: the model of a game
        #    is more reliable near a score of one half than at its ends.
        gain = (shared[list(targets)] ** 2).sum(0) / (variance + 1 / information) / cost
        best = int(np.argmax(gain * score * (1 - score)))
        # 3. The posterior as if the best pairing had been played
        chosen.append(best)
        spent += 2 * float(cost[best])
        covariance = covariance - np.outer(shared[:, best], shared[:, best]) / (variance[best] + 1 / information[best])
    return chosen


# -- playing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingDesign:
    """Which pairings may be played, what they cost, which ratings are wanted, and when to stop."""

    pairings: Sequence[Pairing]
    seconds: Sequence[float]
    """Estimated time of a game of each pairing."""
    targets: Sequence[int]
    """Players whose ratings are wanted."""
    posterior: Callable[[Results], Posterior]
    enough: Callable[[Results], bool]
    pairs: Callable[[Posterior, Results], int]
    """Pairs of games in the next batch."""
    budget: float
    """Seconds of a batch on one core."""


def play_adaptively(
    plan: MatchPlan,
    players: Sequence[Player | None],
    file: MatchFile | None,
    design: PairingDesign,
    *,
    where: GamePlay | None = None,
    stopping: Callable[[], bool],
    tell: Callable[[Results], None],
) -> tuple[tuple[GameEntry, ...], dict[int, str]]:
    """Play batches of the most informative pairings until there are enough games, or `stopping` returns True.

    Returns all games, those of the file included, and the players that could not continue, with the reason. Unless
    stopped, all games of a batch are finished: the first games to end are short ones, which are not like the others.
    They are played on this machine, unless `where` says otherwise.
    """
    where = where or games_here()
    entries: tuple[GameEntry, ...] = tuple(file.entries) if file is not None else ()
    unavailable: dict[int, str] = {}
    while not stopping():
        results = results_of(entries, plan.labels)
        tell(results)
        if design.enough(results):
            break
        games = _next_batch(plan, design, results, {entry.number for entry in entries}, unavailable)
        if not games:
            break
        report = play(
            plan,
            players,
            file,
            games=games,
            before=entries,
            play_pool=where.play_pool,
            play_engines=where.play_engines,
            stopping=stopping,
            tell=lambda report: tell(results_of(report.entries, plan.labels)),
        )
        if len(report.entries) == len(entries) and not report.unavailable.keys() - unavailable.keys():
            break  # no game could be played
        entries, unavailable = report.entries, unavailable | report.unavailable
        for player in range(len(plan.contestants)):
            if (wrong := faults(entries, player)) and sum(wrong.values()) >= MOST_FAULTS:
                unavailable.setdefault(player, f"failed in {many(sum(wrong.values()), 'game')}: {', '.join(wrong)}")
    return entries, unavailable


def _next_batch(
    plan: MatchPlan, design: PairingDesign, results: Results, played: set[int], unavailable: Collection[int]
) -> list[ScheduledGame]:
    """Return the next games; none if every pairing has had all openings. `played` are the numbers of earlier games."""
    # 1. The other halves of pairs that were interrupted come first.
    halves = [_scheduled(number ^ 1, plan.openings) for number in sorted(played) if number ^ 1 not in played]
    halves = [game for game in halves if not {game.white, game.black} & set(unavailable)]
    if halves:
        return halves
    # 2. The most informative pairings that can be played
    count = Counter(divmod(number // 2 // MOST_OPENINGS, MOST_PLAYERS) for number in played)
    able = [
        index
        for index, pairing in enumerate(design.pairings)
        if not {*pairing} & set(unavailable) and count[pairing] < 2 * len(plan.openings)
    ]
    if not able:
        return []
    posterior = design.posterior(results)
    chosen = choose_pairings(
        *posterior,
        [design.pairings[index] for index in able],
        [design.seconds[index] for index in able],
        design.targets,
        pairs=design.pairs(posterior, results),
        budget=design.budget,
    )
    return _new_openings(Counter(design.pairings[able[index]] for index in chosen), played, plan.openings)


def _new_openings(chosen: Counter[Pairing], played: set[int], openings: Sequence[str]) -> list[ScheduledGame]:
    """Return for each pairing as many openings as it was chosen, the first that it has not had yet, twice each."""
    games = []
    for pairing, count in sorted(chosen.items()):
        new = (opening for opening in range(len(openings)) if _number(pairing, opening, 0) not in played)
        for opening in itertools.islice(new, count):
            games += [_scheduled(_number(pairing, opening, swapped), openings) for swapped in (0, 1)]
    return games


def _number(pairing: Pairing, opening: int, swapped: int) -> int:
    """Return the number of a game, which determines it: the same in every session."""
    return 2 * ((pairing[0] * MOST_PLAYERS + pairing[1]) * MOST_OPENINGS + opening) + swapped


def _scheduled(number: int, openings: Sequence[str]) -> ScheduledGame:
    """Return the game with a number.

    >>> _scheduled(_number((3, 5), 1, swapped=1), ["x", "y"])
    ScheduledGame(number=25821187, opening='y', white=5, black=3)
    """
    pair, swapped = divmod(number, 2)
    players, opening = divmod(pair, MOST_OPENINGS)
    first, second = divmod(players, MOST_PLAYERS)
    return ScheduledGame(number, openings[opening], *((second, first) if swapped else (first, second)))


def complete_pairs(entries: Iterable[GameEntry]) -> list[GameEntry]:
    """Return the games of pairs that are complete and without a fault: a crash says nothing about strength."""
    entries = list(entries)
    seen = Counter(entry.number // 2 for entry in entries if entry.fault is None)
    return [entry for entry in entries if seen[entry.number // 2] == 2]


def results_of(entries: Iterable[GameEntry], labels: Sequence[str]) -> dict[tuple[str, str], list[int]]:
    """Count the results of `complete_pairs`; a game that was cut off is a draw."""
    return tally(
        (labels[entry.white], labels[entry.black], "1/2-1/2" if entry.result == "*" else entry.result)
        for entry in complete_pairs(entries)
    )
