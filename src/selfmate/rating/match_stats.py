"""Statistics of a match between two players: score, Elo and normalised Elo with 95 % intervals, and LOS.

The two games with one opening are correlated, so the statistical unit is the pair of games: five counts, of pairs with
0, ½, 1, 1½ and 2 points (pentanomial). Unpaired games are three counts: losses, draws, wins (trinomial).

>>> match = Match(wins=(11, 9), draws=(4, 4), losses=(5, 7), pairs=(2.0, 2.0, 1.0, 1.0, 0.0) * 4)
>>> match.games, match.score, match.counts, str(match)
(40, 0.6, (4, 0, 8, 0, 8), '60.0 % [43.0, 74.9] (+20 =8 -12)')
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

from selfmate.util.text import many, percent, signed

__all__ = [
    "Match",
    "SideResult",
    "count_games",
    "elo_bounds",
    "elo_of_score",
    "elo_text",
    "score_line",
    "score_of_elo",
    "whole_pairs",
]

Array = npt.NDArray[np.float64]
Model = Literal["normalised", "logistic"]
NORMAL: Final = NormalDist()
Z95: Final = NORMAL.inv_cdf(0.975)
"""Half of a 95 % interval, in standard errors."""
NELO: Final = 800 / math.log(10)
"""Normalised Elo of a player whose mean score is one standard deviation of a game above one half (Van den Bergh)."""
EMPTY: Final = 1e-3
"""Count of an empty cell in a likelihood ratio, as in fishtest and fastchess."""
MOST_ELO: Final = {"normalised": 200.0, "logistic": 1000.0}
"""Largest bound of a test; beyond it the likelihood may have no maximum inside the bracket of the solver."""


def score_of_elo(elo: float) -> float:
    """Return the expected score of a player that is `elo` stronger.

    >>> score_of_elo(0), round(score_of_elo(200), 2)
    (0.5, 0.76)
    """
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of_score(score: float) -> float | None:
    """Return the difference of ratings for a mean score; None for 0 and 1, where it is unbounded.

    >>> elo_of_score(0.5), elo_of_score(1)
    (0.0, None)
    """
    return 400 * math.log10(score / (1 - score)) if 0 < score < 1 else None


class Match(Struct, frozen=True, kw_only=True):
    """Results of a match for its first side; pairs of numbers are with White, with Black.

    `pairs` are the points of each pair of games with one opening. Without them everything is computed from single
    games.
    """

    wins: tuple[int, int]
    draws: tuple[int, int]
    losses: tuple[int, int]
    pairs: tuple[float, ...] = ()

    @property
    def games(self) -> int:
        """Number of games."""
        return sum(self.wins) + sum(self.draws) + sum(self.losses)

    @property
    def counts(self) -> tuple[int, ...]:
        """Pairs with 0, ½, 1, 1½ and 2 points; or losses, draws and wins, if some game has no pair.

        >>> Match(wins=(2, 1), draws=(0, 0), losses=(0, 1)).counts
        (1, 0, 3)
        """
        if self.games and 2 * len(self.pairs) == self.games:
            return tuple(sum(points == half / 2 for points in self.pairs) for half in range(5))
        return sum(self.losses), sum(self.draws), sum(self.wins)

    @property
    def score(self) -> float:
        """Points per game, a draw is half a point; one half without games."""
        return (sum(self.wins) + sum(self.draws) / 2) / self.games if self.games else 0.5

    @property
    def worth(self) -> float:
        """Effective sample size: independent games without draws that would determine the score as well.

        It follows from the variance of the pairs, with an upper bound: after n equal pairs another kind of pair may
        still be z² / (n + z²) of all by Wilson's interval, z = 1.96, and would move the score to its far end. n pairs
        are never worth more games than leave the score that uncertain.

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
        """The 95 % interval of the score: Wilson's, for the effective number of games. It stays within 0 to 1.

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
        """The score as a difference of Elo ratings; a score of 0 or 1 counts as half a point from it."""
        least = 0.5 / max(self.games, 1)
        return elo_of_score(min(max(self.score, least), 1 - least)) or 0.0

    @property
    def nelo(self) -> tuple[float, float] | None:
        """Normalised Elo with half its 95 % interval; None while all pairs are equal.

        The score above one half, in standard deviations of a game: it determines how many games are needed to see the
        difference, and hardly depends on the share of draws or on how even the openings are. Its error includes that
        of the deviation, which is estimated from the same games.
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
        spread = max(1 - t * skew + t * t * (kurtosis - 1) / 4, 0.0)  # variance of mean / deviation, delta method
        return scale * t, Z95 * scale * math.sqrt(spread / units)

    @property
    def los(self) -> float:
        """Likelihood of superiority: that the first side is the stronger one, under a uniform prior.

        >>> Match(wins=(1, 1), draws=(0, 0), losses=(1, 1), pairs=(2.0, 0.0)).los
        0.5
        """
        return NORMAL.cdf((self.score - 0.5) * 2 * math.sqrt(self.worth))  # above 97.5 % if the interval is above ½

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
        """Return the statistics as JSON values."""
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


class SideResult(NamedTuple):
    """The result of a game for one of its sides."""

    pair: int
    """Number of the opening: the two games of a pair have the same."""
    with_white: bool
    result: str
    """`1-0`, `0-1` or `1/2-1/2`; a game that was cut off (`*`) counts as a draw, as in every match."""

    @property
    def points(self) -> float:
        """Points of the side."""
        return {"1-0": float(self.with_white), "0-1": float(not self.with_white)}.get(self.result, 0.5)


def whole_pairs(games: Iterable[SideResult]) -> list[SideResult]:
    """Return the games whose opening was also played with the other colour: the first games to end are short ones.

    >>> games = [SideResult(0, True, "1-0"), SideResult(1, True, "*"), SideResult(0, False, "1-0")]
    >>> [game.pair for game in whole_pairs(games)]
    [0, 0]
    """
    games = list(games)
    seen = Counter(game.pair for game in games)
    return [game for game in games if seen[game.pair] == 2]


def count_games(games: Iterable[SideResult]) -> Match:
    """Return the match that the games of one side make.

    >>> first = [SideResult(0, True, "1-0"), SideResult(0, False, "*")]
    >>> count_games([*first, SideResult(1, True, "0-1"), SideResult(1, False, "0-1")])
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
    """Return the Elo differences at the ends of the score's 95 % interval; None where the end is 0 or 1.

    >>> pairs = (2.0, 2.0, 1.0, 1.0, 0.0) * 4
    >>> low, high = elo_bounds(Match(wins=(11, 9), draws=(4, 4), losses=(5, 7), pairs=pairs))
    >>> round(low), round(high)
    (-49, 190)
    """
    low, high = match.interval
    return elo_of_score(low), elo_of_score(high)


def elo_text(match: Match) -> str:
    """Return the Elo of a match with its 95 % interval, or only a bound if every game was won or lost.

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
    """Return score and Elo in one line.

    >>> score_line(Match(wins=(11, 9), draws=(4, 4), losses=(5, 7), pairs=(2.0, 2.0, 1.0, 1.0, 0.0) * 4))
    'Score 60.0 % [43.0, 74.9] (+20 =8 -12), Elo +70 [-49, +190], LOS 87.3 %, from 20 pairs'
    >>> score_line(Match(wins=(6, 6), draws=(0, 0), losses=(0, 0), pairs=(2.0,) * 6))
    'Score 100.0 % [61.0, 100.0] (+12 =0 -0), Elo above +77, LOS 99.3 %, from 6 pairs'
    """
    if not match.games:
        return "No game was finished."
    kind = "pair" if len(match.counts) == 5 else "game"
    end = f"LOS {percent(match.los)}, from {many(sum(match.counts), kind)}"
    return f"Score {match}, {elo_text(match)}, {end}"


def _values(counts: Sequence[int]) -> list[float]:
    """Return the score of each cell of `counts`, from 0 to 1."""
    return [index / (len(counts) - 1) for index in range(len(counts))]


def _moments(counts: Sequence[int]) -> tuple[float, float]:
    """Return mean and variance of the score of one pair (or game)."""
    units, values = max(sum(counts), 1), _values(counts)
    mean = sum(count * value for count, value in zip(counts, values, strict=True)) / units
    return mean, sum(count * (value - mean) ** 2 for count, value in zip(counts, values, strict=True)) / units
