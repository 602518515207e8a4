"""Elo of settings that were trained with several seeds: what the matches leave open, and what the seeds do.

Two nets of the same setting, trained with different seeds, are not equally strong, so the interval of a match between
two nets is narrower than that of the difference between their settings. With K seeds, a setting has K matches against
the base, with differences e₁ … e_K and standard errors s₁ … s_K. Its Elo is their mean, and

    variance = (Σ s² / K + τ²) / K

where τ² is the variance between seeds of such a difference (a random-effects model). It is one number for all settings,
by the method of moments: the sum of squares around the means of the settings, and around zero for matches of the base
against itself with another seed, over its degrees of freedom, less the mean s².
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from selfmate.rating.match_stats import Match, score_of_elo

__all__ = ["SettingElo", "compare_settings", "seed_variance", "standard_error"]

Z95: Final = 1.959963984540054
"""Half of a 95 % interval, in standard errors."""


class SettingElo(Struct, frozen=True, kw_only=True):
    """The strength of a setting above the base, in Elo, with halves of 95 % intervals."""

    elo: float
    match_error: float
    """Of the nets that played: from the numbers of games alone."""
    error: float | None
    """Of the settings: with the differences between seeds. None while nothing is known about them (one seed)."""


def standard_error(match: Match) -> float:
    """Return the standard error of the Elo of a match: that of the score, over the slope of the score by Elo.

    >>> round(standard_error(Match(wins=(250, 250), draws=(0, 0), losses=(250, 250))), 1)
    11.0
    """
    if not match.worth:
        return math.inf
    score = score_of_elo(match.elo)  # half a point away from 0 and 1
    return 400 / math.log(10) / math.sqrt(match.worth * score * (1 - score))


def seed_variance(settings: Sequence[Sequence[Match]], base: Sequence[Match] = ()) -> float | None:
    """Return τ², in Elo²; None without degrees of freedom.

    `settings` has for each setting its matches against the base, one for each seed; `base` are matches of the base
    against itself with another seed.
    """
    squares, freedom = sum(match.elo**2 for match in base), len(base)
    noise = [standard_error(match) ** 2 for match in base]
    for matches in settings:
        mean = sum(match.elo for match in matches) / len(matches)
        squares += sum((match.elo - mean) ** 2 for match in matches)
        freedom += len(matches) - 1
        own = sum(standard_error(match) ** 2 for match in matches) / len(matches)
        noise += [own] * (len(matches) - 1)
    return max(0.0, (squares - sum(noise)) / freedom) if freedom else None


def compare_settings(settings: Sequence[Sequence[Match]], base: Sequence[Match] = ()) -> list[SettingElo]:
    """Return the Elo of each setting above the base; the arguments are those of `seed_variance`.

    >>> even = Match(wins=(250, 250), draws=(0, 0), losses=(250, 250))
    >>> better = Match(wins=(300, 300), draws=(0, 0), losses=(200, 200))
    >>> [each] = compare_settings([[even, better]])
    >>> round(each.elo), round(each.match_error), round(each.error)
    (35, 15, 69)
    """
    between = seed_variance(settings, base)
    found = []
    for matches in settings:
        seeds = len(matches)
        within = sum(standard_error(match) ** 2 for match in matches) / seeds
        found.append(
            SettingElo(
                elo=sum(match.elo for match in matches) / seeds,
                match_error=Z95 * math.sqrt(within / seeds),
                error=None if between is None else Z95 * math.sqrt((within + between) / seeds),
            )
        )
    return found
