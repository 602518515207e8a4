"""Play where most is learnt: which two players should meet next, given what their games have told so far.

Ratings are believed to be Gaussian. A game between a and b tells something about the difference of their ratings: much
when the score is about even, nearly nothing when it is known beforehand. From that follows by how much the variances
of the ratings we want to know would shrink, and a meeting is worth that shrinking for each second that it takes.
Where no two players are near each other, those at the edges of a gap meet, since nothing else can bridge it.

>>> mean, covariance = np.array([0.0, 300.0, 600.0, 280.0]), np.diag([0.0, 20.0, 30.0, 200.0]) ** 2
>>> choose(mean, covariance, [(3, 0), (3, 1), (3, 2)], [1.0, 1.0, 1.0], [3], pairs=4)
[1, 1, 1, 1]

Rungs and nets are the same here: a net climbs a measured ladder when its rating is wanted, and the ladder itself is
measured when those of all rungs are.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from selfmate.match.match_file import Entry, MatchFile
from selfmate.match.report import faults
from selfmate.match.runner import Fixture
from selfmate.match.tournament import Plan, play
from selfmate.rating.elo import ELO, Results, tally
from selfmate.search.player import Player
from selfmate.util.text import many

__all__ = ["Beliefs", "Meeting", "believe", "choose", "climb", "results_of", "whole"]


Array = npt.NDArray[np.float64]


Meeting = tuple[int, int]


STRIDE: Final = 64
"""Players of a ladder at most."""


ROOM: Final = 1 << 16
"""Openings of a meeting at most."""


MOST_FAULTS: Final = 3
"""Who has lost so many games by crashes and the like does not play any more."""


SURE: Final = 1e-6
"""Variance of what is known."""


class Beliefs(NamedTuple):
    """What is believed of the ratings of all players."""

    mean: Array
    covariance: Array


def believe(names: Sequence[str], prior: Beliefs, mean: Array, results: Results) -> Beliefs:
    """Add games to what was believed before; `mean` are the ratings that were fitted to all of them.

    >>> prior = Beliefs(np.zeros(2), np.diag([SURE, 300.0**2]))
    >>> after = believe(["a", "b"], prior, prior.mean, {("a", "b"): (10, 0, 10)})
    >>> round(float(np.sqrt(after.covariance[1, 1])))
    75
    """
    index = {name: number for number, name in enumerate(names)}
    precision = np.linalg.inv(prior.covariance + SURE * np.eye(len(names)))
    for (white, black), counts in results.items():
        if white in index and black in index:
            a, b = index[white], index[black]
            score = 1 / (1 + math.exp(-(mean[a] - mean[b]) / ELO))
            told = sum(counts) * score * (1 - score) / ELO**2
            precision[[a, b], [a, b]] += told
            precision[[a, b], [b, a]] -= told
    return Beliefs(mean, np.linalg.inv(precision))


def choose(
    mean: Array,
    covariance: Array,
    meetings: Sequence[Meeting],
    seconds: Sequence[float],
    targets: Sequence[int],
    *,
    pairs: int,
    budget: float = math.inf,
) -> list[int]:
    """Choose meetings (their numbers, one for each pair of games) that tell most about the ratings of `targets`.

    `seconds` is what a game of each takes. One after another is chosen as if those before had been played, at most
    `pairs` and as long as they take less than `budget` seconds, but at least one.
    """
    first, second = (np.array([meeting[side] for meeting in meetings]) for side in (0, 1))
    cost = np.asarray(seconds, np.float64)
    chosen: list[int] = []
    spent = 0.0
    while len(chosen) < pairs and (not chosen or spent < budget):
        # 1. What each meeting is expected to bring: the score, and how much it tells, over all that is believed of the
        #    difference (MacKay's approximation).
        shared = covariance[:, first] - covariance[:, second]
        each = np.arange(len(first))
        spread = np.maximum(shared[first, each] - shared[second, each], 0.0)
        blur = 1 / np.sqrt(1 + np.pi / 8 * spread / ELO**2)
        score = 1 / (1 + np.exp(-blur * (mean[first] - mean[second]) / ELO))
        told = 2 * blur * score * (1 - score) / ELO**2  # by two games
        # 2. By how much it would shrink the variances, for each second. What is far from even counts less: the model is
        #    trusted near its middle, not at its ends.
        gain = (shared[list(targets)] ** 2).sum(0) / (spread + 1 / np.maximum(told, 1e-12)) / cost
        best = int(np.argmax(gain * score * (1 - score)))
        # 3. As if it had been played.
        chosen.append(best)
        spent += 2 * float(cost[best])
        seen = shared[:, best]
        covariance = covariance - np.outer(seen, seen) / (spread[best] + 1 / max(told[best], 1e-12))
    return chosen


# -- playing ----------------------------------------------------------------------------------------------------------


def _number(meeting: Meeting, opening: int, turned: int) -> int:
    """Give the number of a game, from which all else follows: the same in every run."""
    return 2 * ((meeting[0] * STRIDE + meeting[1]) * ROOM + opening) + turned


def _fixture(number: int, openings: Sequence[str]) -> Fixture:
    """Give the game with a number.

    >>> _fixture(_number((3, 5), 1, turned=1), ["x", "y"])
    Fixture(number=25821187, opening='y', white=5, black=3)
    """
    pair, turned = divmod(number, 2)
    players, opening = divmod(pair, ROOM)
    first, second = divmod(players, STRIDE)
    return Fixture(number, openings[opening], *((second, first) if turned else (first, second)))


def whole(entries: Iterable[Entry]) -> list[Entry]:
    """Leave out pairs that are not complete, and those in which somebody failed: a crash says nothing of strength."""
    entries = list(entries)
    seen = Counter(entry.number // 2 for entry in entries if entry.fault is None)
    return [entry for entry in entries if seen[entry.number // 2] == 2]


def results_of(entries: Iterable[Entry], labels: Sequence[str]) -> dict[tuple[str, str], list[int]]:
    """Count the games that count; one that was cut off is a draw."""
    return tally(
        (labels[entry.white], labels[entry.black], "1/2-1/2" if entry.result == "*" else entry.result)
        for entry in whole(entries)
    )


def climb(
    plan: Plan,
    players: Sequence[Player | None],
    file: MatchFile | None,
    meetings: Sequence[Meeting],
    seconds: Sequence[float],
    targets: Sequence[int],
    *,
    beliefs: Callable[[Results], Beliefs],
    enough: Callable[[Results], bool],
    pairs: Callable[[Beliefs, Results], int],
    budget: float,
    stopping: Callable[[], bool],
    tell: Callable[[Results], None],
) -> tuple[tuple[Entry, ...], dict[int, str]]:
    """Play batches of the meetings that tell most about `targets`, until there is enough.

    Gives all games, those of the file too, and who could not go on and why. Within a batch every game that was begun is
    played to its end unless `stopping` says so: the first to end are short ones, and those are not like the others.
    """
    entries: tuple[Entry, ...] = tuple(file.entries) if file is not None else ()
    out: dict[int, str] = {}
    while not stopping():
        results = results_of(entries, plan.labels)
        tell(results)
        if enough(results):
            break
        # 1. What was left half played the last time comes first; then what tells most.
        numbers = {entry.number for entry in entries}
        fixtures = [_fixture(number ^ 1, plan.openings) for number in sorted(numbers) if number ^ 1 not in numbers]
        fixtures = [each for each in fixtures if not {each.white, each.black} & out.keys()]
        if not fixtures:
            played = Counter(divmod(number // 2 // ROOM, STRIDE) for number in numbers)  # games
            able = [
                index
                for index, meeting in enumerate(meetings)
                if not {*meeting} & out.keys() and played[meeting] < 2 * len(plan.openings)
            ]
            if not able:
                break
            now = beliefs(results)
            chosen = choose(
                *now,
                [meetings[index] for index in able],
                [seconds[index] for index in able],
                targets,
                pairs=pairs(now, results),
                budget=budget,
            )
            fixtures = _next_openings(Counter(meetings[able[index]] for index in chosen), numbers, plan.openings)
        # 2. Play it.
        report = play(
            plan,
            players,
            file,
            fixtures=fixtures,
            before=entries,
            stopping=stopping,
            tell=lambda report: tell(results_of(report.entries, plan.labels)),
        )
        if len(report.entries) == len(entries) and not report.out.keys() - out.keys():
            break  # nobody can play any more
        entries, out = report.entries, out | report.out
        for player in range(len(plan.contestants)):
            if (wrong := faults(entries, player)) and sum(wrong.values()) >= MOST_FAULTS:
                out.setdefault(player, f"failed in {many(sum(wrong.values()), 'game')}: {', '.join(wrong)}")
    return entries, out


def _next_openings(chosen: Counter[Meeting], numbers: set[int], openings: Sequence[str]) -> list[Fixture]:
    """Give each meeting as many openings as it was chosen, the first that it has not had yet, twice each."""
    fixtures = []
    for meeting, count in sorted(chosen.items()):
        new = (opening for opening in range(len(openings)) if _number(meeting, opening, 0) not in numbers)
        for opening in itertools.islice(new, count):
            fixtures += [_fixture(_number(meeting, opening, turned), openings) for turned in (0, 1)]
    return fixtures
