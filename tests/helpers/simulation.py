"""Simulated matches and tournaments: whether tests and intervals have their nominal error rates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from selfmate.rating.elo import ELO, fit
from selfmate.rating.match_stats import NELO, Match, score_of_elo
from selfmate.rating.sprt import Sprt, with_mean, with_ratio

Array = npt.NDArray[np.float64]


def with_strength(shape: Sequence[float], elo: float, model: str) -> Array:
    """Return the probabilities of results (five of pairs, three of games) nearest to `shape` with strength `elo`."""
    shares = np.array(shape, np.float64) / sum(shape)
    values = np.linspace(0, 1, len(shape))
    if model == "logistic":
        return with_mean(shares, values, score_of_elo(elo))
    return with_ratio(shares, values, elo / NELO * math.sqrt(2 if len(shape) == 5 else 1))


def sprt_passes(test: Sprt, chances: Array, *, tests: int, every: int = 1, seed: int = 1) -> tuple[float, float]:
    """Run `tests` sequential tests, judged after every `every` pairs (or games), all at once.

    Return the share that accepted H1, and the mean number of pairs (or games).
    """
    chance = np.random.default_rng(seed)
    lower, upper = test.bounds
    cells = len(chances)
    counts = np.zeros((tests, cells))
    active = np.arange(tests)
    passed, units, chunk = 0, 0, 16
    while len(active):
        drawn = chance.choice(cells, p=chances, size=(len(active), chunk * every))
        after = (drawn[..., None] == np.arange(cells)).cumsum(1)[:, every - 1 :: every] + counts[active][:, None]
        llr = test.llr(after)
        out = (llr >= upper) | (llr <= lower)
        ended, first = out.any(1), out.argmax(1)
        passed += int((llr[np.arange(len(active)), first][ended] >= upper).sum())
        units += int(np.where(ended, (first + 1) * every, chunk * every).sum())
        counts[active] = after[:, -1]
        active = active[~ended]
    return passed / tests, units / tests


def error_limit(chance: float, tests: int) -> float:
    """Return the largest acceptable share of errors in `tests` tests: the nominal rate and two standard errors."""
    return chance + 2 * math.sqrt(chance * (1 - chance) / tests)


def match_coverage(chances: Array, pairs: int, *, matches: int, seed: int = 1) -> tuple[float, float]:
    """Return the coverage of the 95 % intervals of score and of normalised Elo."""
    chance = np.random.default_rng(seed)
    values = np.linspace(0, 1, 5)
    mean = float(chances @ values)
    nelo = NELO * (mean - 0.5) / math.sqrt(2 * float(chances @ (values - mean) ** 2))
    hits = [0, 0]
    for counts in chance.multinomial(pairs, chances, size=matches):
        points = tuple(half / 2 for half in range(5) for _ in range(counts[half]))
        # The split of the points of a pair over its games does not change the intervals.
        wins = int(2 * counts[4] + counts[3] + counts[2])
        losses = int(2 * counts[0] + counts[1] + counts[2])
        match = Match(wins=(wins, 0), draws=(2 * pairs - wins - losses, 0), losses=(losses, 0), pairs=points)
        estimate = match.nelo
        hits[0] += match.interval[0] <= mean <= match.interval[1]
        hits[1] += estimate is not None and abs(estimate[0] - nelo) <= estimate[1]
    return hits[0] / matches, hits[1] / matches


def outcome(x: Array | float, draws: float, model: str) -> list[float]:
    """Return the probabilities of win, draw and loss at a difference of x / ELO, with `draws` between equals."""
    if model == "elo":
        mean = 1 / (1 + math.exp(-float(x)))
        drawn = min(4 * draws * mean * (1 - mean), 1.96 * min(mean, 1 - mean))
        return [mean - drawn / 2, drawn, 1 - mean - drawn / 2]
    margin = 2 * math.atanh(draws)
    win, loss = 1 / (1 + math.exp(margin - float(x))), 1 / (1 + math.exp(margin + float(x)))
    return [win, 1 - win - loss, loss]


def play_tournament(
    truth: Sequence[float],
    games: int,
    *,
    draws: float | Sequence[float],
    chance: np.random.Generator,
    model: str = "elo",
    white: float = 30.0,
    met: Iterable[tuple[int, int]] | None = None,
) -> dict[tuple[str, str], list[int]]:
    """Simulate games of players P0, P1, … with these ratings, `games` with each colour: all pairs, or those in `met`.

    `draws` is the share of draws between equals, or one for each player; a pair has the mean of its two.
    """
    pairs = met or [(i, j) for i in range(len(truth)) for j in range(i)]
    results = {}
    for i, j in (each for pair in pairs for each in (pair, pair[::-1])):
        share = draws if isinstance(draws, (int, float)) else (draws[i] + draws[j]) / 2
        scale = 1.0 if model == "elo" else 1 - share**2  # 4x / (1 + x)² of BayesElo
        chances = outcome((truth[i] - truth[j] + white) / ELO / scale, share, model)
        results[f"P{i}", f"P{j}"] = [int(count) for count in chance.multinomial(games, chances)]
    return results


def rating_coverage(
    truth: Sequence[float],
    games: int,
    *,
    draws: float | Sequence[float],
    fits: int,
    model: str = "elo",
    anchors: Sequence[int] = (),
    met: Iterable[tuple[int, int]] | None = None,
    seed: int = 1,
) -> tuple[float, float]:
    """Return the coverage of the 95 % intervals, and their mean half width in Elo."""
    chance = np.random.default_rng(seed)
    pairs = None if met is None else list(met)
    centre = 0.0 if anchors else sum(truth) / len(truth)
    hits, width, count = 0, 0.0, 0
    for _ in range(fits):
        results = play_tournament(truth, games, draws=draws, chance=chance, model=model, met=pairs)
        for each in fit(results, anchors={f"P{number}": truth[number] for number in anchors}, model=model).players:
            number = int(each.player[1:])
            if number not in anchors:
                hits += abs(each.elo - (truth[number] - centre)) <= each.error
                width += each.error
                count += 1
    return hits / count, width / count


# -- the long runs, for docs/results/ratings.md -----------------------------------------------------------------------

SHAPES = {
    "balanced": (10, 20, 40, 20, 10),
    "many draws": (2, 18, 60, 18, 2),
    "decisive": (25, 5, 40, 5, 25),
    "single games": (30, 40, 30),
}
LADDER = [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]
SPREAD = [-300.0, -200.0, -100.0, 0.0, 0.0, 100.0, 200.0, 300.0]


def show_sprt(tests: int) -> None:
    """Print a table of error rates."""
    print(f"{tests} tests of each; an error rate may be {error_limit(0.05, tests):.4f}\n")
    print("| test | pairs | alpha found | beta found | mean number |\n|---|---|---|---|---|")
    for model, elo0, elo1 in (("normalised", 0, 20), ("normalised", 0, 50), ("logistic", 0, 20), ("logistic", -20, 20)):
        for name, shape in SHAPES.items():
            test = Sprt(elo0, elo1, model=model)  # type: ignore[arg-type]
            (false, few), (true, many) = (
                sprt_passes(test, with_strength(shape, elo, model), tests=tests) for elo in (elo0, elo1)
            )
            numbers = f"{false:.4f} | {1 - true:.4f} | {few:.0f} to {many:.0f}"
            print(f"| {model} {elo0} to {elo1} | {name} | {numbers} |", flush=True)


def show_matches(matches: int) -> None:
    """Print a table of how often the intervals of a match contain the true value."""
    print("| pairs | shape | Elo | score | normalised Elo |\n|---|---|---|---|---|")
    for pairs in (20, 100, 1000):
        for name in ("balanced", "many draws", "decisive"):
            for elo in (0, 50, 150):
                found = match_coverage(with_strength(SHAPES[name], elo, "logistic"), pairs, matches=matches)
                print(f"| {pairs} | {name} | {elo} | {found[0]:.1%} | {found[1]:.1%} |", flush=True)


def show_ratings(fits: int) -> None:
    """Print a table of how often the intervals of ratings contain the true value."""
    print("| model | draws between equals | tournament | in the interval | half width |\n|---|---|---|---|---|")
    chain = [(i + 1, i) for i in range(len(LADDER) - 1)]
    for model, rates in (("elo", (0.0, 0.3, 0.5)), ("bayeselo", (0.05, 0.3, 0.6))):
        for draws in rates:
            for name, found in (
                ("2 players, 20 games", rating_coverage([0, 100], 10, draws=draws, model=model, fits=fits)),
                ("2 players, 100 games", rating_coverage([0, 100], 50, draws=draws, model=model, fits=fits)),
                ("all of 8, 10 games", rating_coverage(SPREAD, 5, draws=draws, model=model, fits=fits)),
                ("all of 8, 100 games", rating_coverage(SPREAD, 50, draws=draws, model=model, fits=fits)),
                (
                    "chain of 6, 200 Elo apart, 40 games, one anchored",
                    rating_coverage(LADDER, 20, draws=draws, model=model, fits=fits, anchors=(0,), met=chain),
                ),
            ):
                print(f"| {model} | {draws:.0%} | {name} | {found[0]:.1%} | {found[1]:.0f} |", flush=True)
    uneven = rating_coverage(LADDER, 20, draws=[i / 10 for i in range(6)], fits=fits, anchors=(0,), met=chain)
    print(f"| elo | 0 to 50 % from bottom to top | the same chain | {uneven[0]:.1%} | {uneven[1]:.0f} |", flush=True)


if __name__ == "__main__":
    show_sprt(2000)
    show_matches(10_000)
    show_ratings(2000)
