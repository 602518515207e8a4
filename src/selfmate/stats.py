"""What a match says about two players: score, Elo and normalised Elo with 95 % intervals, superiority, SPRT.

The two games with one opening are alike, so the unit of chance is the pair where games come in pairs: five counts, of
pairs with 0, ½, 1, 1½ and 2 points. Games that are not paired are three counts: losses, draws, wins.

>>> match = Match(wins=(11, 9), draws=(4, 4), losses=(5, 7), pairs=(2.0, 2.0, 1.0, 1.0, 0.0) * 4)
>>> match.games, match.score, match.counts, str(match)
(40, 0.6, (4, 0, 8, 0, 8), '60.0 % [43.0, 74.9] (+20 =8 -12)')

A sequential test stops as soon as the result is clear. Its bounds are given beforehand:

>>> test = Sprt(elo0=0, elo1=10, alpha=0.05, beta=0.05)
>>> print(test.judge(match))
LLR 0.19 (-2.94 to 2.94) for 0 against 10 normalised Elo
>>> test.judge(Match(wins=(500, 500), draws=(400, 400), losses=(300, 300), pairs=(2.0, 1.0, 0.5, 1.5) * 300)).verdict
'H1'
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from selfmate.errors import SelfmateError
from selfmate.words import many, percent, signed

__all__ = [
    "Match",
    "Scored",
    "Sprt",
    "SprtStanding",
    "SprtWalk",
    "count_games",
    "elo_bounds",
    "elo_of_score",
    "elo_text",
    "score_line",
    "score_of_elo",
    "whole_pairs",
    "with_mean",
    "with_ratio",
]

Array = npt.NDArray[np.float64]
Model = Literal["normalised", "logistic"]

NORMAL: Final = NormalDist()
Z95: Final = NORMAL.inv_cdf(0.975)
"""Standard errors on either side of an interval that holds the truth 95 times in 100."""
NELO: Final = 800 / math.log(10)
"""Normalised Elo of a player whose mean score is one standard deviation of a game above one half (Van den Bergh)."""
EMPTY: Final = 1e-3
"""What an empty cell counts in a likelihood ratio, as in fishtest and fastchess."""
MOST_ELO: Final = {"normalised": 200.0, "logistic": 1000.0}
"""Largest bound of a test: beyond it the likelihood has no maximum where we look for it."""


def score_of_elo(elo: float) -> float:
    """Give the mean score of a player who is `elo` stronger.

    >>> score_of_elo(0), round(score_of_elo(200), 2)
    (0.5, 0.76)
    """
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of_score(score: float) -> float | None:
    """Give the difference of ratings that a mean score says; None for nothing and for all, where it has no bound.

    >>> elo_of_score(0.5), elo_of_score(1)
    (0.0, None)
    """
    return 400 * math.log10(score / (1 - score)) if 0 < score < 1 else None


class Match(Struct, frozen=True, kw_only=True):
    """How a match ended for its first side; pairs of numbers are as White, as Black.

    `pairs` are the points of each pair of games with one opening. They may be left out when games are not paired:
    whatever follows is then computed from single games.
    """

    wins: tuple[int, int]
    draws: tuple[int, int]
    losses: tuple[int, int]
    pairs: tuple[float, ...] = ()

    @property
    def games(self) -> int:
        """How many games were played."""
        return sum(self.wins) + sum(self.draws) + sum(self.losses)

    @property
    def counts(self) -> tuple[int, ...]:
        """Pairs with 0, ½, 1, 1½ and 2 points; or losses, draws and wins, when not every game has its pair.

        >>> Match(wins=(2, 1), draws=(0, 0), losses=(0, 1)).counts
        (1, 0, 3)
        """
        if self.games and 2 * len(self.pairs) == self.games:
            return tuple(sum(points == half / 2 for points in self.pairs) for half in range(5))
        return sum(self.losses), sum(self.draws), sum(self.wins)

    @property
    def score(self) -> float:
        """Points per game, a draw half a point; one half when nothing was played."""
        return (sum(self.wins) + sum(self.draws) / 2) / self.games if self.games else 0.5

    @property
    def worth(self) -> float:
        """How many games without draws, each by itself, would tell as much about the score: from how the pairs differ.

        Pairs that are all alike, or nearly, do not make a score certain: by Wilson's interval a kind of pair that was
        not seen once in n may still be z² / (n + z²) of all, z = 1.96, and such a pair takes the score to its far end.
        So n pairs are never worth more games than leave the score that uncertain.

        >>> round(Match(wins=(0, 0), draws=(50, 50), losses=(0, 0), pairs=(1.0,) * 50).worth, 1)
        750.8
        """
        counts = self.counts
        units, (mean, variance) = sum(counts), _moments(counts)
        if units < 2:
            return float(units)
        unseen, score = Z95**2 / (units + Z95**2), max(mean, 1 - mean)
        most = Z95**2 * (1 - unseen) * (1 - score + score * unseen) / (score * unseen**2)
        return min(most, (units - 1) * mean * (1 - mean) / variance) if variance else most

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the score: Wilson's, for as many games as these are worth. It never leaves 0 to 1.

        >>> [round(end, 3) for end in Match(wins=(50, 50), draws=(0, 0), losses=(0, 0), pairs=(2.0,) * 50).interval]
        [0.929, 1.0]
        """
        games, score = self.worth, self.score
        if not games:
            return 0.0, 1.0
        share = Z95**2 / games
        centre = (score + share / 2) / (1 + share)
        half = math.sqrt(share * (score * (1 - score) + share / 4)) / (1 + share)
        return (0.0 if score == 0 else max(0.0, centre - half)), (1.0 if score == 1 else min(1.0, centre + half))

    @property
    def elo(self) -> float:
        """The score as a difference of Elo ratings; a clean sweep counts as half a point short of it."""
        least = 0.5 / max(self.games, 1)
        return elo_of_score(min(max(self.score, least), 1 - least)) or 0.0

    @property
    def nelo(self) -> tuple[float, float] | None:
        """Normalised Elo with half its 95 % interval; None while all pairs are alike.

        The score above one half, in standard deviations of a game: how sure n games can be of the difference. It hardly
        depends on the share of draws or on how even the openings are. Its error takes into account that the deviation
        is estimated from the same games.
        """
        counts = self.counts
        units, (mean, variance) = sum(counts), _moments(counts)
        if not variance:
            return None
        scale = NELO / math.sqrt(2 if len(counts) == 5 else 1)  # a pair has half the variance of a game
        deviation = math.sqrt(variance)
        t = (mean - 0.5) / deviation
        standard = [(value - mean) / deviation for value in _values(counts)]
        skew, kurtosis = (
            sum(count * each**power for count, each in zip(counts, standard, strict=True)) / units for power in (3, 4)
        )
        spread = max(1 - t * skew + t * t * (kurtosis - 1) / 4, 0.0)  # of the ratio of a mean and a deviation
        return scale * t, Z95 * scale * math.sqrt(spread / units)

    @property
    def los(self) -> float:
        """Likelihood of superiority: that the first side is the stronger one, all strengths being as likely before.

        >>> Match(wins=(1, 1), draws=(0, 0), losses=(1, 1), pairs=(2.0, 0.0)).los
        0.5
        """
        return NORMAL.cdf((self.score - 0.5) * 2 * math.sqrt(self.worth))  # above 97.5 % where the interval is above ½

    @property
    def percent(self) -> str:
        """The score with its interval, in per cent.

        >>> Match(wins=(1, 1), draws=(0, 0), losses=(0, 0), pairs=(2.0,)).percent
        '100.0 % [20.7, 100.0]'
        """
        low, high = self.interval
        return f"{percent(self.score)} [{100 * low:.1f}, {100 * high:.1f}]"

    @property
    def counted(self) -> str:
        """Games won, drawn and lost.

        >>> Match(wins=(1, 1), draws=(0, 0), losses=(0, 0), pairs=(2.0,)).counted
        '(+2 =0 -0)'
        """
        return f"(+{sum(self.wins)} ={sum(self.draws)} -{sum(self.losses)})"

    def __str__(self) -> str:
        return f"{self.percent} {self.counted}"

    def as_json(self) -> dict[str, Any]:
        """Give what a program would read."""
        low, high = elo_bounds(self)
        nelo = self.nelo
        return {
            "games": self.games,
            "score": self.score,
            "score_low": self.interval[0],
            "score_high": self.interval[1],
            "elo": self.elo,
            "elo_low": low,
            "elo_high": high,
            "nelo": nelo and nelo[0],
            "nelo_error": nelo and nelo[1],
            "los": self.los,
            "counts": list(self.counts),
            "white": {"wins": self.wins[0], "draws": self.draws[0], "losses": self.losses[0]},
            "black": {"wins": self.wins[1], "draws": self.draws[1], "losses": self.losses[1]},
        }


class Scored(NamedTuple):
    """A game for one of its sides."""

    pair: int
    """The number of its opening: two games have the same."""
    with_white: bool
    result: str
    """`1-0`, `0-1` or `1/2-1/2`; a game that was cut off counts as a draw, as in every match of ours."""

    @property
    def points(self) -> float:
        """What the side got."""
        return {"1-0": float(self.with_white), "0-1": float(not self.with_white)}.get(self.result, 0.5)


def whole_pairs(games: Iterable[Scored]) -> list[Scored]:
    """Leave out games whose opening was not yet played with the other colour: short games come first.

    >>> [game.pair for game in whole_pairs([Scored(0, True, "1-0"), Scored(1, True, "*"), Scored(0, False, "1-0")])]
    [0, 0]
    """
    games = list(games)
    seen = Counter(game.pair for game in games)
    return [game for game in games if seen[game.pair] == 2]


def count_games(games: Iterable[Scored]) -> Match:
    """Count the games of one side.

    >>> count_games([Scored(0, True, "1-0"), Scored(0, False, "*"), Scored(1, True, "0-1"), Scored(1, False, "0-1")])
    Match(wins=(1, 1), draws=(0, 1), losses=(1, 0), pairs=(1.5, 1.0))
    """
    results = {1.0: [0, 0], 0.5: [0, 0], 0.0: [0, 0]}
    points: dict[int, list[float]] = {}
    for game in games:
        results[game.points][not game.with_white] += 1
        points.setdefault(game.pair, []).append(game.points)
    wins, draws, losses = ((with_white, with_black) for with_white, with_black in results.values())
    return Match(
        wins=wins, draws=draws, losses=losses, pairs=tuple(sum(each) for each in points.values() if len(each) == 2)
    )


def elo_bounds(match: Match) -> tuple[float | None, float | None]:
    """Give the Elo differences at the ends of the score's 95 % interval.

    None where the score is nothing or all: no difference of ratings is too large then.

    >>> pairs = (2.0, 2.0, 1.0, 1.0, 0.0) * 4
    >>> low, high = elo_bounds(Match(wins=(11, 9), draws=(4, 4), losses=(5, 7), pairs=pairs))
    >>> round(low), round(high)
    (-49, 190)
    """
    low, high = match.interval
    return elo_of_score(low), elo_of_score(high)


def elo_text(match: Match) -> str:
    """Say the Elo of a match with its 95 % interval, or the bound that a clean sweep is.

    >>> elo_text(Match(wins=(11, 9), draws=(4, 4), losses=(5, 7), pairs=(2.0, 2.0, 1.0, 1.0, 0.0) * 4))
    'Elo +70 [-49, +190]'
    >>> elo_text(Match(wins=(6, 6), draws=(0, 0), losses=(0, 0), pairs=(2.0,) * 6))
    'Elo above +77'
    """
    low, high = elo_bounds(match)
    if low is None:
        return "Elo unknown" if high is None else f"Elo below {signed(high)}"
    return f"Elo above {signed(low)}" if high is None else f"Elo {signed(match.elo)} [{signed(low)}, {signed(high)}]"


def score_line(match: Match) -> str:
    """Say score and Elo in one line.

    >>> score_line(Match(wins=(11, 9), draws=(4, 4), losses=(5, 7), pairs=(2.0, 2.0, 1.0, 1.0, 0.0) * 4))
    'Score 60.0 % [43.0, 74.9] (+20 =8 -12), Elo +70 [-49, +190], LOS 87.3 %, from 20 pairs'
    >>> score_line(Match(wins=(6, 6), draws=(0, 0), losses=(0, 0), pairs=(2.0,) * 6))
    'Score 100.0 % [61.0, 100.0] (+12 =0 -0), Elo above +77, LOS 99.3 %, from 6 pairs'
    """
    if not match.games:
        return "Nothing was played to its end."
    kind = "pair" if len(match.counts) == 5 else "game"
    end = f"LOS {percent(match.los)}, from {many(sum(match.counts), kind)}"
    return f"Score {match}, {elo_text(match)}, {end}"


def _values(counts: Sequence[int]) -> list[float]:
    """Scores that the cells of `counts` stand for, from 0 to 1."""
    return [index / (len(counts) - 1) for index in range(len(counts))]


def _moments(counts: Sequence[int]) -> tuple[float, float]:
    """Mean and variance of the score of one pair (or game)."""
    units, values = max(sum(counts), 1), _values(counts)
    mean = sum(count * value for count, value in zip(counts, values, strict=True)) / units
    return mean, sum(count * (value - mean) ** 2 for count, value in zip(counts, values, strict=True)) / units


# -- the sequential test ----------------------------------------------------------------------------------------------


class SprtStanding(NamedTuple):
    """Where a sequential test stands: it ends when the ratio leaves the bounds."""

    llr: float
    """Logarithm of the likelihood of `elo1` over that of `elo0`."""
    lower: float
    upper: float
    verdict: Literal["H0", "H1"] | None
    """The hypothesis that is accepted: `elo0` or less, `elo1` or more; None while the match must go on."""
    hypotheses: str
    pairs: int | None = None
    """Pairs of games that it has seen; None where it sees single games."""

    @property
    def ratio(self) -> str:
        """The ratio and its bounds.

        >>> Sprt(0, 10).judge([0, 5, 10, 5, 0]).ratio
        'LLR -0.02 (-2.94 to 2.94)'
        """
        return f"LLR {self.llr:.2f} ({self.lower:.2f} to {self.upper:.2f})"

    def __str__(self) -> str:
        says = f"{self.ratio} for {self.hypotheses}"
        if self.verdict is None:
            return says
        after = "" if self.pairs is None else f" after {many(self.pairs, 'pair')}"
        return f"{says}: {self.verdict} accepted{after}"


class Sprt(Struct, frozen=True):
    """A sequential probability ratio test: is the first side `elo1` stronger, or only `elo0`?

    `alpha` is the chance to accept `elo1` when `elo0` is true, `beta` the chance to accept `elo0` when `elo1` is true.
    All four are fixed before the first game. The Elo is that of the score (`logistic`) or normalised (`normalised`,
    which asks for about as many games whatever the share of draws). The ratio is the generalised one of the multinomial
    distribution, as Van den Bergh worked it out for fishtest: each hypothesis takes the distribution over the cells
    that is most likely among those with its mean (or its ratio of mean and deviation).

    >>> Sprt(elo0=5, elo1=0)
    Traceback (most recent call last):
    ...
    selfmate.errors.SelfmateError: SPRT: elo0 must be below elo1, not 5 and 0
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: Model = "normalised"

    def __post_init__(self) -> None:
        if self.model not in MOST_ELO:
            raise SelfmateError(f"SPRT: the model is {' or '.join(MOST_ELO)}, not {self.model!r}", str(self.model))
        most = MOST_ELO[self.model]
        for elo in (self.elo0, self.elo1):
            if not -most <= elo <= most:
                raise SelfmateError(f"SPRT: {self.model} Elo goes from {-most:g} to {most:g}, not {elo:g}", f"{elo:g}")
        if self.elo0 >= self.elo1:
            raise SelfmateError(f"SPRT: elo0 must be below elo1, not {self.elo0:g} and {self.elo1:g}", f"{self.elo0:g}")
        for name, chance in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < chance < 0.5:
                raise SelfmateError(f"SPRT: {name} lies between 0 and 0.5, not at {chance:g}", f"{chance:g}")

    @property
    def bounds(self) -> tuple[float, float]:
        """The ratios at which the test ends, by Wald.

        >>> low, high = Sprt(0, 5, alpha=0.05, beta=0.1).bounds
        >>> round(low, 3), round(high, 3)
        (-2.251, 2.89)
        """
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def judge(self, match: Match | Sequence[int]) -> SprtStanding:
        """Say how the test stands after `match`, or after these counts of pairs (five) or games (three)."""
        counts = match.counts if isinstance(match, Match) else match
        llr = float(self.llr(counts)) if sum(counts) else 0.0
        lower, upper = self.bounds
        verdict: Literal["H0", "H1"] | None = "H1" if llr >= upper else "H0" if llr <= lower else None
        kind = "normalised Elo" if self.model == "normalised" else "Elo"
        pairs = int(sum(counts)) if len(counts) == 5 else None
        return SprtStanding(llr, lower, upper, verdict, f"{self.elo0:g} against {self.elo1:g} {kind}", pairs)

    @property
    def expected_pairs(self) -> int:
        """Pairs that it takes on average, by Wald, when one of the hypotheses is true; the sooner of them.

        A pair adds to the ratio, on average, half the square of how far the hypotheses are apart, in deviations of a
        pair. A game's deviation, which logistic Elo needs, is taken to be one half: as if none were drawn.

        >>> Sprt(0, 20).expected_pairs, Sprt(0, 200).expected_pairs, Sprt(0, 10, model="logistic").expected_pairs
        (800, 8, 3201)
        """
        ratios = [
            elo / NELO if self.model == "normalised" else 2 * score_of_elo(elo) - 1 for elo in (self.elo0, self.elo1)
        ]
        drift = (ratios[1] - ratios[0]) ** 2
        lower, upper = self.bounds
        ends = (
            (1 - self.beta) * upper + self.beta * lower,
            -(1 - self.alpha) * lower - self.alpha * upper,
        )
        return math.ceil(min(ends) / drift)

    def follow(self, pairs: Sequence[float], before: Sequence[int] = (0, 0, 0, 0, 0)) -> SprtStanding:
        """Say how the test stands after pairs of games (points of the first side, 0 to 2) in their order.

        `before` counts the pairs that it has seen already. What comes after the pair that decided it counts no more.

        >>> str(Sprt(0, 200).follow(6 * [2, 1.5, 1] + 30 * [0]))
        'LLR 3.41 (-2.94 to 2.94) for 0 against 200 normalised Elo: H1 accepted after 10 pairs'
        """
        if not pairs:
            return self.judge(before)
        counts = np.cumsum(np.eye(5, dtype=np.int64)[[round(2 * points) for points in pairs]], axis=0) + before
        ratios, (lower, upper) = self.llr(counts), self.bounds
        decided = np.flatnonzero((ratios <= lower) | (ratios >= upper))
        return self.judge(counts[decided[0] if len(decided) else -1].tolist())

    def llr(self, counts: npt.ArrayLike) -> Array:
        """Give the logarithm of the likelihood ratio, `[...]`, of counts `[..., 5]` or `[..., 3]`, none of them empty.

        >>> Sprt(0, 10).llr([[0, 5, 10, 5, 0], [1, 2, 3, 4, 5]]).round(2).tolist()
        [-0.02, 0.28]
        """
        cells = np.moveaxis(np.asarray(counts, np.float64), -1, 0)  # [K, ...]: sums over the first axis are fast
        if len(cells) not in (3, 5):
            raise ValueError(f"five counts of pairs or three of games, not {len(cells)}")
        cells = np.where(cells > 0, cells, EMPTY)
        total = cells.sum(0)
        shares = cells / total
        values = np.linspace(0, 1, len(cells)).reshape(-1, *(1,) * total.ndim)
        logs = []
        for elo in (self.elo0, self.elo1):
            if self.model == "logistic":
                fitted = with_mean(shares, values, score_of_elo(elo))
            else:
                fitted = with_ratio(shares, values, elo / NELO * math.sqrt(2 if len(cells) == 5 else 1))
            logs.append(np.log(fitted))
        return np.asarray(total * (shares * (logs[1] - logs[0])).sum(0))


class SprtWalk:
    """A test whose games come in any order: it takes their pairs in that of their numbers, and waits for the next.

    The first games to end are short ones, and those are not like the others. What comes after the pair that decided it
    counts no more.

    >>> walk = SprtWalk(Sprt(0, 200))
    >>> walk.add(Scored(pair, with_white, "1-0") for pair in range(1, 40) for with_white in (True, False))
    >>> walk.standing.pairs
    0
    >>> walk.add([Scored(0, True, "1-0"), Scored(0, False, "0-1")])
    >>> walk.standing.verdict, walk.standing.pairs
    ('H0', 14)
    """

    def __init__(self, test: Sprt) -> None:
        self.standing = test.follow(())
        self._test = test
        self._counts = [0] * 5
        self._waiting: dict[int, list[float]] = {}  # points of pairs, from that on which is missing
        self._next = 0

    def add(self, games: Iterable[Scored]) -> None:
        """Hear of games of the first side."""
        for game in games:
            self._waiting.setdefault(game.pair, []).append(game.points)
        ready: list[float] = []
        while len(self._waiting.get(self._next, ())) == 2:
            ready.append(sum(self._waiting.pop(self._next)))
            self._next += 1
        if ready and self.standing.verdict is None:
            self.standing = self._test.follow(ready, self._counts)
            for points in ready:
                self._counts[round(2 * points)] += 1


def with_mean(shares: Array, values: Array, mean: float) -> Array:
    """Give the most likely distribution with this mean, for the observed shares `[K, ...]` of `values`."""
    return _tilted(shares, np.broadcast_to(values - mean, shares.shape), np.zeros(shares.shape[1:]))[0]


def with_ratio(shares: Array, values: Array, ratio: float) -> Array:
    """Give the most likely distribution whose mean is `ratio` standard deviations above one half.

    The condition is not linear. It is replaced by its tangent at the last estimate, until that no longer changes
    (Van den Bergh, "Comments on normalized Elo", 4.1).
    """
    found = np.full(shares.shape, 1 / len(shares))
    x = np.zeros(shares.shape[1:])
    for _ in range(10):
        mean = (found * values).sum(0)
        deviation = np.sqrt((found * (values - mean) ** 2).sum(0))
        before = found
        found, x = _tilted(shares, values - 0.5 - ratio / 2 * (deviation + (values - mean) ** 2 / deviation), x)
        if np.abs(found - before).max() < 1e-6:
            break
    return found


def _tilted(shares: Array, offsets: Array, x: Array) -> tuple[Array, Array]:
    """Give the most likely distribution under which the mean of `offsets` is zero, shares / (1 + x · offsets), and x.

    x is the root of Σ shares · offsets / (1 + x · offsets), which falls between two poles. Newton's steps find it, from
    the `x` that is given; one that leaves the bracket is replaced by a bisection.
    """
    low, high = -1 / offsets.max(0), -1 / offsets.min(0)
    x = np.where((x > low) & (x < high), x, 0.0)
    for _ in range(60):
        terms = offsets / (1 + x * offsets)
        weighted = shares * terms
        value, slope = weighted.sum(0), (weighted * terms).sum(0)
        low, high = np.where(value > 0, x, low), np.where(value > 0, high, x)
        step = x + value / slope
        after = np.where((step > low) & (step < high), step, (low + high) / 2)
        done = bool((np.abs(after - x) <= 1e-9 * (1 + np.abs(after))).all())
        x = after
        if done:
            break
    return shares / (1 + x * offsets), x
