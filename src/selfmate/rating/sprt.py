"""The sequential probability ratio test (SPRT) of matches: it stops a match as soon as the result is clear.

Its bounds are fixed before the first game:

>>> test = Sprt(elo0=0, elo1=10, alpha=0.05, beta=0.05)
>>> match = Match(wins=(11, 9), draws=(4, 4), losses=(5, 7), pairs=(2.0, 2.0, 1.0, 1.0, 0.0) * 4)
>>> print(test.judge(match))
LLR 0.19 (-2.94 to 2.94) for 0 against 10 normalised Elo
>>> test.judge(Match(wins=(500, 500), draws=(400, 400), losses=(300, 300), pairs=(2.0, 1.0, 0.5, 1.5) * 300)).verdict
'H1'
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from selfmate.errors import SelfmateError
from selfmate.rating.match_stats import EMPTY, MOST_ELO, NELO, Array, Match, Model, SideResult, score_of_elo
from selfmate.util.text import many

__all__ = ["Sprt", "SprtState", "SprtTracker", "with_mean", "with_ratio"]


class SprtState(NamedTuple):
    """The state of a test, which ends when the ratio leaves the bounds."""

    llr: float
    """Logarithm of the likelihood of `elo1` over that of `elo0`."""
    lower: float
    upper: float
    verdict: Literal["H0", "H1"] | None
    """The accepted hypothesis: `elo0` or less, `elo1` or more; None while undecided."""
    hypotheses: str
    pairs: int | None = None
    """Pairs of games so far; None for unpaired games."""

    @property
    def ratio(self) -> str:
        """The ratio and its bounds.

        >>> Sprt(0, 10).judge([0, 5, 10, 5, 0]).ratio
        'LLR -0.02 (-2.94 to 2.94)'
        """
        return f"LLR {self.llr:.2f} ({self.lower:.2f} to {self.upper:.2f})"

    def __str__(self) -> str:
        text = f"{self.ratio} for {self.hypotheses}"
        if self.verdict is None:
            return text
        after = "" if self.pairs is None else f" after {many(self.pairs, 'pair')}"
        return f"{text}: {self.verdict} accepted{after}"


class Sprt(Struct, frozen=True):
    """A sequential probability ratio test: is the first side `elo1` stronger, or only `elo0`?

    `alpha` is the probability to accept `elo1` when `elo0` is true, `beta` that to accept `elo0` when `elo1` is true.
    All four are fixed before the first game. The Elo is that of the score (`logistic`), or normalised (`normalised`),
    which needs about as many games whatever the share of draws. The ratio is the generalised likelihood ratio of the
    multinomial distribution (Van den Bergh, for fishtest): each hypothesis is represented by the most likely
    distribution over the cells with its mean (or its ratio of mean and deviation).

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
                raise SelfmateError(
                    f"SPRT: {self.model} Elo must be from {-most:g} to {most:g}, not {elo:g}", f"{elo:g}"
                )
        if self.elo0 >= self.elo1:
            raise SelfmateError(f"SPRT: elo0 must be below elo1, not {self.elo0:g} and {self.elo1:g}", f"{self.elo0:g}")
        for name, chance in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < chance < 0.5:
                raise SelfmateError(f"SPRT: {name} must be between 0 and 0.5, not {chance:g}", f"{chance:g}")

    @property
    def bounds(self) -> tuple[float, float]:
        """Log likelihood ratios at which the test ends, by Wald.

        >>> low, high = Sprt(0, 5, alpha=0.05, beta=0.1).bounds
        >>> round(low, 3), round(high, 3)
        (-2.251, 2.89)
        """
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def judge(self, match: Match | Sequence[int]) -> SprtState:
        """Return the state of the test after `match`, or after counts of pairs (five) or games (three)."""
        counts = match.counts if isinstance(match, Match) else match
        llr = float(self.llr(counts)) if sum(counts) else 0.0
        lower, upper = self.bounds
        verdict: Literal["H0", "H1"] | None = "H1" if llr >= upper else "H0" if llr <= lower else None
        kind = "normalised Elo" if self.model == "normalised" else "Elo"
        pairs = int(sum(counts)) if len(counts) == 5 else None
        return SprtState(llr, lower, upper, verdict, f"{self.elo0:g} against {self.elo1:g} {kind}", pairs)

    @property
    def expected_pairs(self) -> int:
        """Expected pairs of games, by Wald, when one of the hypotheses is true; the smaller of both numbers.

        A pair adds to the ratio, on average, half the squared distance of the hypotheses, in standard deviations of a
        pair. The deviation of a game, which logistic Elo needs, is taken to be one half, that without draws.

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

    def follow(self, pairs: Sequence[float], before: Sequence[int] = (0, 0, 0, 0, 0)) -> SprtState:
        """Return the state of the test after pairs of games (points of the first side, 0 to 2) in their order.

        `before` are the counts of earlier pairs. Pairs after the one that decided the test do not count.

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
        """Return the log likelihood ratio, `[...]`, of counts `[..., 5]` or `[..., 3]` with at least one game each.

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


class SprtTracker:
    """A test whose games end in any order: pairs count in the order of their numbers, each once it is complete.

    The order of ending would favour short games, which are not like the others. Pairs after the one that decided the
    test do not count.

    >>> tracker = SprtTracker(Sprt(0, 200))
    >>> tracker.add(SideResult(pair, with_white, "1-0") for pair in range(1, 40) for with_white in (True, False))
    >>> tracker.state.pairs
    0
    >>> tracker.add([SideResult(0, True, "1-0"), SideResult(0, False, "0-1")])
    >>> tracker.state.verdict, tracker.state.pairs
    ('H0', 14)
    """

    def __init__(self, test: Sprt) -> None:
        self.state = test.follow(())
        self._test = test
        self._counts = [0] * 5
        self._pending: dict[int, list[float]] = {}  # points of the games of each pair from `_next` on
        self._next = 0

    def add(self, games: Iterable[SideResult]) -> None:
        """Add games of the first side."""
        for game in games:
            self._pending.setdefault(game.pair, []).append(game.points)
        ready: list[float] = []
        while len(self._pending.get(self._next, ())) == 2:
            ready.append(sum(self._pending.pop(self._next)))
            self._next += 1
        if ready and self.state.verdict is None:
            self.state = self._test.follow(ready, self._counts)
            for points in ready:
                self._counts[round(2 * points)] += 1


def with_mean(shares: Array, values: Array, mean: float) -> Array:
    """Return the most likely distribution with this mean, for the observed shares `[K, ...]` of `values`."""
    return _tilted(shares, np.broadcast_to(values - mean, shares.shape), np.zeros(shares.shape[1:]))[0]


def with_ratio(shares: Array, values: Array, ratio: float) -> Array:
    """Return the most likely distribution whose mean is `ratio` standard deviations above one half.

    The constraint is not linear. It is replaced by its tangent at the last estimate, until the estimate no longer
    changes (Van den Bergh, "Comments on normalized Elo", 4.1).
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
    """Return the most likely distribution with mean 0 of `offsets`, shares / (1 + x · offsets), and x.

    x is the root of Σ shares · offsets / (1 + x · offsets), which decreases between two poles. Newton's method finds
    it from the given `x`; a step that leaves the bracket is replaced by a bisection.
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
