"""What a match says about two players: score, Elo and normalised Elo with 95 % intervals and superiority.

The two games with one opening are alike, so the unit of chance is the pair where games come in pairs: five counts, of
pairs with 0, ½, 1, 1½ and 2 points. Games that are not paired are three counts: losses, draws, wins.

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
    "Scored",
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
