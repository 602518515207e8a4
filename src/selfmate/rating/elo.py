"""Elo ratings of any number of players, fitted to all their games at once.

>>> games = [("Anna", "Ben", "1-0"), ("Ben", "Anna", "1/2-1/2"), ("Ben", "Cleo", "1-0"), ("Cleo", "Ben", "1-0")] * 20
>>> games += [("Anna", "Ben", "1/2-1/2"), ("Ben", "Anna", "0-1"), ("Ben", "Cleo", "0-1"), ("Cleo", "Ben", "0-1")] * 20
>>> ratings = fit(tally(games), anchors={"Ben": 1500})
>>> for each in ratings.players:
...     print(f"{each.player:4} {each}, {each.score:.0%} of {each.games} games")
Anna 1689 ± 56, 75% of 80 games
Ben  1500, 38% of 160 games
Cleo 1500 ± 74, 50% of 80 games
>>> round(float(ratings.los()[0, 1]), 3)
1.0

Two models of a game (docs/decisions/0008-ratings.md says why the first is the default):

- `elo`: the mean score of White is 1 / (1 + 10^-((R_white - R_black + A) / 400)), where A is the advantage of White, as
  in Ordo. The scores are fitted; the share of draws between two players only reduces the errors.
- `bayeselo`: with the same difference X the probability of a win is 1 / (1 + 10^((D - X) / 400)), that of a loss is
  1 / (1 + 10^((D + X) / 400)), and the rest are draws, as in BayesElo. The ratings are scaled as BayesElo does, so
  that small differences agree with Elo.

This module is long because both models share the data, the optimiser and the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from selfmate.errors import SelfmateError
from selfmate.rating.match_stats import NORMAL, Z95
from selfmate.util.text import rounded

__all__ = ["MODELS", "MOST_PLAYERS", "RESULTS", "Rating", "Ratings", "Results", "fit", "tally"]

Array = npt.NDArray[np.float64]
Results = Mapping[tuple[str, str], Sequence[int]]
"""White and Black to White's wins, draws and losses."""
MODELS: Final = ("elo", "bayeselo")
RESULTS: Final = {"1-0": 0, "1/2-1/2": 1, "0-1": 2}
"""Results of a finished game, in the order of the counts in `Results`."""
MOST_PLAYERS: Final = 3000
"""The fit and its errors need a matrix of players by players."""
ELO: Final = 400 / math.log(10)
"""Elo of one unit of the logistic function."""
PRIOR_DRAWS: Final = 1.0
"""Prior: virtual drawn games of each player, shared out over its opponents, which keep the rating of a clean sweep
finite. Between two players it is one game, so a clean sweep counts as half a point less, as in `Match.elo`."""
WHITE_PRIOR: Final = 100 / ELO
"""Prior deviation of White's advantage; it matters only when colours are not balanced."""
DRAW_PRIOR: Final = (97.3 / ELO, 300 / ELO)
"""Prior mean (the default of BayesElo) and deviation of D; it matters only when (nearly) all games are drawn."""
DRAW_GAMES: Final = 10.0
"""Weight, in games, of the overall share of draws in that of two players."""
MOST_STEPS: Final = 200


class Rating(NamedTuple):
    """The rating of one player."""

    player: str
    elo: float
    error: float
    """Half the 95 % interval; 0 for an anchor."""
    games: int
    score: float
    """Points per game."""
    draws: float
    """Draws per game."""

    @property
    def low(self) -> float | None:
        """The lower end of the 95 % interval; None if every game was lost, where there is no lower bound."""
        return None if self.error and self.score == 0 else self.elo - self.error

    @property
    def high(self) -> float | None:
        """The upper end of the 95 % interval; None if every game was won, where there is no upper bound."""
        return None if self.error and self.score == 1 else self.elo + self.error

    def as_json(self) -> dict[str, Any]:
        """Return the rating as JSON values."""
        return {**self._asdict(), "low": self.low, "high": self.high}

    def __str__(self) -> str:
        """Return the rating with its interval, or only a bound if every game was won or lost.

        >>> str(Rating("Anna", 71.2, 40.1, 20, 0.6, 0.1)), str(Rating("Ben", -0.2, 90.0, 4, 1.0, 0.0))
        ('71 ± 40', 'above -90')
        """
        if self.high is None:
            return f"above {rounded(self.elo - self.error)}"
        if self.low is None:
            return f"below {rounded(self.elo + self.error)}"
        return f"{rounded(self.elo)} ± {rounded(self.error)}" if self.error else rounded(self.elo)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """A fit: the players, the strongest first, and the other parameters. Without an anchor the mean of a group is 0."""

    model: str
    players: tuple[Rating, ...]
    covariance: Array
    """Of the ratings, in the order of `players`, in Elo²."""
    groups: tuple[tuple[str, ...], ...]
    """Players that games connect, the largest group first; ratings of different groups cannot be compared."""
    loose: tuple[tuple[str, ...], ...]
    """Groups without an anchor."""
    white: tuple[float, float]
    """Advantage of White in Elo, and half its 95 % interval."""
    draw_rate: float
    """Draws per game between equal players."""

    def los(self) -> Array:
        """Return likelihoods of superiority, `[players, players]`: that the row's player is stronger than the column's.

        NaN where the two are in groups that cannot be compared.
        """
        elo = np.array([each.elo for each in self.players])
        variance = np.diag(self.covariance)
        spread = np.sqrt(np.maximum(variance[:, None] + variance - 2 * self.covariance, 0.0))
        difference = elo[:, None] - elo
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(spread > 0, difference / spread, np.sign(difference) * np.inf)
        chance = _normal_cdf(np.nan_to_num(z, nan=0.0))
        if len(self.groups) > 1 and self.loose:
            group_of = {player: number for number, group in enumerate(self.groups) for player in group}
            is_loose = {player for group in self.loose for player in group}
            number = np.array([group_of[each.player] for each in self.players])
            loose = np.array([each.player in is_loose for each in self.players])
            chance[(number[:, None] != number) & (loose[:, None] | loose)] = np.nan
        return chance


def _normal_cdf(z: Array) -> Array:
    return np.array([NORMAL.cdf(each) for each in z.ravel()]).reshape(z.shape)


def tally(games: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str], list[int]]:
    """Count games (White, Black, result); games without a result and of a player with itself are left out.

    >>> tally([("Anna", "Ben", "1-0"), ("Anna", "Ben", "1/2-1/2"), ("Ben", "Anna", "*")])
    {('Anna', 'Ben'): [1, 1, 0]}
    """
    counts: dict[tuple[str, str], list[int]] = {}
    for white, black, result in games:
        index = RESULTS.get(result)
        if index is not None and white != black:
            counts.setdefault((white, black), [0, 0, 0])[index] += 1
    return counts


def fit(
    results: Results,
    *,
    anchors: Mapping[str, float] | None = None,
    model: str = "elo",
    prior_draws: float = PRIOR_DRAWS,
) -> Ratings:
    """Return the most likely ratings, with those of `anchors` fixed; raises `SelfmateError` if it cannot.

    The 95 % intervals are 1.96 standard errors, from the Fisher information (for `elo` a sandwich estimate with the
    variance that draws leave). Those of groups without an anchor are relative to the mean of the group.

    >>> fit({("Anna", "Ben"): (100, 0, 0), ("Ben", "Anna"): (0, 0, 100)}).players[0].elo > 400
    True
    >>> fit({})
    Traceback (most recent call last):
    ...
    selfmate.errors.SelfmateError: no finished games between two players
    """
    table = {pair: counts for pair, counts in results.items() if sum(counts) and pair[0] != pair[1]}
    if not table:
        raise SelfmateError("no finished games between two players")
    names = sorted({player for pair in table for player in pair})
    if len(names) > MOST_PLAYERS:
        raise SelfmateError(
            f"{len(names)} players are too many to rate together; at most {MOST_PLAYERS} can be (--min-games)"
        )
    fixed = _anchored(anchors or {}, names)
    index = {name: number for number, name in enumerate(names)}
    games = _Games(
        players=len(names),
        white=np.array([index[white] for white, _ in table]),
        black=np.array([index[black] for _, black in table]),
        counts=np.array(list(table.values()), np.float64),
    )
    groups = _groups(names, table)
    if model == "bayeselo" and any(len(fixed.keys() & set(group)) > 1 for group in groups):
        raise SelfmateError("the model bayeselo has a scale of its own: it takes one anchor; elo takes any number")
    elo, covariance, draw_rate = (_fit_bayeselo if model == "bayeselo" else _fit_elo)(
        games,
        {index[name]: elo for name, elo in fixed.items()},
        [[index[player] for player in group] for group in groups],
        games.virtual(prior_draws),
    )
    error = Z95 * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    order = sorted(range(len(names)), key=lambda number: (-elo[number], names[number]))
    return Ratings(
        model=model,
        players=_players(names, order, games, elo, error),
        covariance=covariance[np.ix_(order, order)],
        groups=groups,
        loose=tuple(group for group in groups if not fixed.keys() & set(group)),
        white=(float(elo[-1]), float(error[-1])),
        draw_rate=draw_rate,
    )


def _players(names: Sequence[str], order: Sequence[int], games: _Games, elo: Array, error: Array) -> tuple[Rating, ...]:
    """Return the ratings of the players in `order`."""
    played, points, drawn = games.totals()
    return tuple(
        Rating(
            player=names[number],
            elo=float(elo[number]),
            error=float(error[number]),
            games=int(played[number]),
            score=float(points[number] / played[number]),
            draws=float(drawn[number] / played[number]),
        )
        for number in order
    )


def _anchored(anchors: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """Return the anchors; raises `SelfmateError` for one that is not among the players."""
    for name, elo in anchors.items():
        if name not in names:
            import difflib

            begin = [each for each in names if each.startswith(name)]  # heuristic-1 of heuristic-1 (64 visits)
            near = begin or difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the first of them are {', '.join(names[:3])}"
            raise SelfmateError(f"anchor {name!r} is not among the players of finished games; {hint}", name)
        if not math.isfinite(elo):
            raise SelfmateError(f"anchor {name!r}: {elo} is not a rating", name)
    return dict(anchors)


def _groups(names: Sequence[str], pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of players that games connect, the largest first (union-find)."""
    leader = {name: name for name in names}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    for white, black in pairs:
        leader[find(white)] = find(black)
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(find(name), []).append(name)
    return tuple(tuple(group) for group in sorted(found.values(), key=len, reverse=True))


# -- the two models ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Games:
    """Results by row: `counts[n]` are the wins, draws and losses of `white[n]` against `black[n]`."""

    players: int
    white: npt.NDArray[np.intp]
    black: npt.NDArray[np.intp]
    counts: Array

    def sums(self, of_white: Array, of_black: Array) -> Array:
        """Return the sums over rows by player, `[players]`, of values for White and for Black."""
        size = self.players
        total = np.bincount(self.white, of_white, size) + np.bincount(self.black, of_black, size)
        return total.astype(np.float64, copy=False)

    def totals(self) -> tuple[Array, Array, Array]:
        """Return games, points and draws of each player."""
        wins, draws, losses = self.counts.T
        played = wins + draws + losses
        return self.sums(played, played), self.sums(wins + draws / 2, losses + draws / 2), self.sums(draws, draws)

    def virtual(self, draws: float) -> Array:
        """Return virtual draws by row: `draws` of each player, shared out over its rows; half from either side."""
        played = self.counts.sum(1)
        total = self.sums(played, played)
        shared: Array = draws / 2 * played * (1 / total[self.white] + 1 / total[self.black])
        return shared

    def spread(self, slope: Array) -> Array:
        """Return Σ slope · x over the rows: x is 1 for White, -1 for Black, and 1 for White's advantage (the last)."""
        return np.append(self.sums(slope, -slope), slope.sum())

    def matrix(self, weight: Array) -> Array:
        """Return Σ weight · x xᵀ over the rows, with x as in `spread`."""
        size = self.players + 1
        met = np.bincount(self.white * size + self.black, weight, size * size).reshape(size, size)
        matrix = -(met + met.T).astype(np.float64, copy=False)
        matrix[np.arange(self.players), np.arange(self.players)] = self.sums(weight, weight)
        matrix[-1] = matrix[:, -1] = self.spread(weight)
        return matrix


def _fit_elo(
    games: _Games, anchors: Mapping[int, float], groups: Sequence[Sequence[int]], virtual: Array
) -> tuple[Array, Array, float]:
    """Fit the scores; return ratings with White's advantage last, their covariance, and the draws between equals."""
    wins, draws, losses = games.counts.T
    # 1. The most likely ratings. Anchors are fixed, and the other players start near them. There is no margin of draws.
    theta = np.zeros(games.players + 2)
    for group in groups:
        near = [elo for number, elo in anchors.items() if number in group]
        theta[list(group)] = sum(near) / max(len(near), 1) / ELO
    theta[list(anchors)] = np.array(list(anchors.values())) / ELO
    level = [group for group in groups if not anchors.keys() & set(group)]
    free = np.array([number for number in range(games.players + 1) if number not in anchors])
    halves = (draws + virtual) / 2
    theta, curvature = _maximise(games, theta, free, level, wins + halves, losses + halves, 0.0)
    theta = theta[:-1]
    # 2. The variance of a game, which draws reduce.
    mean = _sigmoid(theta[games.white] - theta[games.black] + theta[-1])
    spread = mean * (1 - mean)
    played = games.counts.sum(1)
    draw_rate = min(1.0, float(draws.sum() / (4 * (played * spread).sum() + 1)))
    expected = np.minimum(4 * draw_rate * spread, 2 * np.minimum(mean, 1 - mean))
    share = (draws + DRAW_GAMES * expected) / (played + DRAW_GAMES)
    variance = np.maximum(spread - share / 4, spread / (played + DRAW_GAMES))
    # 3. The sandwich estimate: the variance of the slope between two inverses of the curvature.
    bread = np.zeros((games.players + 1, games.players + 1))
    bread[np.ix_(free, free)] = np.linalg.inv(curvature[np.ix_(free, free)])
    filling = games.matrix(played * variance + virtual * spread)
    filling[-1, -1] += WHITE_PRIOR**-2
    return theta * ELO, bread @ filling @ bread * ELO**2, draw_rate


def _fit_bayeselo(
    games: _Games, anchors: Mapping[int, float], groups: Sequence[Sequence[int]], virtual: Array
) -> tuple[Array, Array, float]:
    """Fit wins, draws and losses; all else is as in `_fit_elo`.

    The probability of a draw is that of a win times that of a loss, times e^2d - 1, where d is the margin of draws. So
    a draw counts as both, and the likelihood is a product of logistic functions.
    """
    wins, draws, losses = games.counts.T
    drawn = draws + virtual
    size = games.players + 1
    # 1. The most likely ratings before scaling, the mean of each group at 0.
    begin = np.append(np.zeros(size), DRAW_PRIOR[0])
    total = float(drawn.sum())
    theta, curvature = _maximise(games, begin, np.arange(size + 1), groups, wins + drawn, losses + drawn, total)
    theta, margin = theta[:-1], float(theta[-1])
    # 2. The scale on which small differences agree with Elo, 4x / (1 + x)², x = e^-d. Its error is that of d.
    scale = 1 / math.cosh(margin / 2) ** 2
    elo = theta * scale * ELO
    jacobian = np.hstack([scale * np.eye(size), (-scale * math.tanh(margin / 2) * theta)[:, None]])
    # 3. Shift each group to its anchor, or to its mean.
    shift = np.eye(size)
    for group in groups:
        anchor = next((number for number in group if number in anchors), None)
        if anchor is None:
            shift[np.ix_(group, group)] -= 1 / len(group)
        else:
            shift[group, anchor] -= 1
            elo[group] += anchors[anchor] - elo[anchor]
    jacobian = shift @ jacobian * ELO
    return elo, jacobian @ np.linalg.inv(curvature) @ jacobian.T, math.tanh(margin / 2)


def _maximise(
    games: _Games,
    theta: Array,
    free: npt.NDArray[np.intp],
    level: Sequence[Sequence[int]],
    won: Array,
    lost: Array,
    drawn: float,
) -> tuple[Array, Array]:
    """Maximise Σ won · log s(x - d) + lost · log s(-x - d) + drawn · log(e^2d - 1) by Newton's method.

    s is the logistic function, x the difference of ratings with White's advantage; `theta` are the ratings, that
    advantage and d. Only the indices in `free` change. Returns theta and the curvature there: minus the second
    derivatives, with the priors, and with a term that fixes the mean of each group in `level`.
    """

    def likelihood(theta: Array) -> float:
        x, margin = theta[games.white] - theta[games.black] + theta[-2], float(theta[-1])
        if margin < 0 or (drawn and margin == 0):
            return -math.inf
        value = -(won @ np.logaddexp(0, margin - x)) - (lost @ np.logaddexp(0, x + margin))
        value -= (theta[-2] / WHITE_PRIOR) ** 2 / 2
        if drawn:
            value += drawn * (2 * margin + math.log(-math.expm1(-2 * margin)))
            value -= ((margin - DRAW_PRIOR[0]) / DRAW_PRIOR[1]) ** 2 / 2
        return float(value)

    best = likelihood(theta)
    for _ in range(MOST_STEPS):
        # 1. Slope and curvature
        x, margin = theta[games.white] - theta[games.black] + theta[-2], float(theta[-1])
        up, down = won * _sigmoid(margin - x), lost * _sigmoid(x + margin)
        above, below = up * _sigmoid(x - margin), down * _sigmoid(-x - margin)
        slope = np.append(games.spread(up - down), -(up.sum() + down.sum()))
        slope[-2] -= theta[-2] / WHITE_PRIOR**2
        curvature = np.empty((len(theta), len(theta)))
        curvature[:-1, :-1] = games.matrix(above + below)
        curvature[-2, -2] += WHITE_PRIOR**-2
        curvature[-1] = curvature[:, -1] = np.append(games.spread(below - above), above.sum() + below.sum())
        if drawn:
            slope[-1] += 2 * drawn / -math.expm1(-2 * margin) - (margin - DRAW_PRIOR[0]) / DRAW_PRIOR[1] ** 2
            curvature[-1, -1] += drawn / math.sinh(margin) ** 2 + DRAW_PRIOR[1] ** -2
        for group in level:
            curvature[np.ix_(group, group)] += 1 / len(group)
        # 2. A Newton step, halved until the likelihood does not fall
        flat = 1e-12 * np.eye(len(free))  # far from the maximum the curvature may underflow
        step = np.zeros_like(theta)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)] + flat, slope[free])
        while (value := likelihood(theta + step)) < best - 1e-9 * abs(best) and np.abs(step).max() > 1e-9:
            step /= 2
        theta, best = theta + step, value
        if np.abs(step).max() < 1e-7:
            break
    return theta, curvature


def _sigmoid(x: Array) -> Array:
    return np.exp(-np.logaddexp(0, -x))
