"""TrueSkill for two players by its published equations (Herbrich, Minka, Graepel 2006), one game after the other.

>>> skills = trueskill([("Anna", "Ben", "1-0")], draw_rate=0.1)
>>> [(name, round(skill.mu, 3), round(skill.sigma, 3)) for name, skill in skills.items()]
[('Anna', 29.396, 7.171), ('Ben', 20.604, 7.171)]

It ignores colours, and the order of the games matters: a player's last games count most. `rating.elo` fits all games
at once and is better for players that do not change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

from selfmate.rating.match_stats import NORMAL

__all__ = ["Skill", "rate_pair", "trueskill"]

MU: Final = 25.0
SIGMA: Final = MU / 3
BETA: Final = SIGMA / 2
"""Standard deviation of a player's performance in one game."""
TAU: Final = SIGMA / 100
"""Standard deviation of the change of a skill from one game to the next."""


class Skill(NamedTuple):
    """The posterior of a player's skill: a normal distribution."""

    mu: float = MU
    sigma: float = SIGMA


def trueskill(games: Iterable[tuple[str, str, str]], draw_rate: float | None = None) -> dict[str, Skill]:
    """Return the skills after games (White, Black, result) in their order; games without a result are left out.

    `draw_rate` is the share of draws between equal players; when None, that of the games (at least 0.1 %).
    """
    finished = [game for game in games if game[2] in ("1-0", "0-1", "1/2-1/2") and game[0] != game[1]]
    if draw_rate is None:
        drawn = sum(result == "1/2-1/2" for *_, result in finished) / max(len(finished), 1)
        draw_rate = min(max(drawn, 0.001), 0.95)
    margin = NORMAL.inv_cdf((draw_rate + 1) / 2) * math.sqrt(2) * BETA
    skills: dict[str, Skill] = {}
    for white, black, result in finished:
        first, second = skills.get(white, Skill()), skills.get(black, Skill())
        if result == "0-1":
            second, first = rate_pair(second, first, margin)
        else:
            first, second = rate_pair(first, second, margin, drawn=result == "1/2-1/2")
        skills[white], skills[black] = first, second
    return skills


def rate_pair(winner: Skill, loser: Skill, margin: float, *, drawn: bool = False) -> tuple[Skill, Skill]:
    """Return the skills of two players after a game; performances within `margin` of each other are a draw.

    >>> first, second = rate_pair(Skill(), Skill(), margin=0.7405, drawn=True)
    >>> round(first.mu, 3), round(first.sigma, 3), first == second
    (25.0, 6.458, True)
    """
    before = [skill.sigma**2 + TAU**2 for skill in (winner, loser)]
    spread = math.sqrt(2 * BETA**2 + sum(before))
    v, w = (_drawn if drawn else _won)((winner.mu - loser.mu) / spread, margin / spread)
    after = []
    for sign, skill, variance in ((1, winner, before[0]), (-1, loser, before[1])):
        mu = skill.mu + sign * variance / spread * v
        after.append(Skill(mu, math.sqrt(variance * max(1 - variance / spread**2 * w, 1e-6))))
    return after[0], after[1]


def _won(t: float, margin: float) -> tuple[float, float]:
    """Return the corrections v and w of a win, from a normal distribution truncated below the margin."""
    x = t - margin
    chance = math.erfc(-x / math.sqrt(2)) / 2
    v = NORMAL.pdf(x) / chance if chance > 1e-200 else -x
    return v, min(max(v * (v + x), 0.0), 1.0)


def _drawn(t: float, margin: float) -> tuple[float, float]:
    """Return the corrections v and w of a draw, from a normal distribution truncated outside the margin."""
    low, high = -margin - t, margin - t
    side = -math.copysign(1.0, t)  # the far tail loses precision: use the other side
    near, far = sorted((side * low, side * high))
    chance = (math.erfc(near / math.sqrt(2)) - math.erfc(far / math.sqrt(2))) / 2
    if chance < 1e-200:
        return (low if t < 0 else high), 1.0
    v = (NORMAL.pdf(low) - NORMAL.pdf(high)) / chance
    w = v * v + (high * NORMAL.pdf(high) - low * NORMAL.pdf(low)) / chance
    return v, min(max(w, 0.0), 1.0)
