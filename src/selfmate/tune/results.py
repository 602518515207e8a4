"""What a study has found: its trials, the best one, and how much of the Elo each key of the space explains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from selfmate.tune.plan import TunePlan
from selfmate.tune.space import Range, Setting, Value

__all__ = ["Importance", "StudyResults", "Trial", "TrialElo", "explained", "importance"]

SHUFFLES: Final = 2000
"""Of the Elos over the trials, for the chance that a key without effect explains as much."""
LEAST_TRIALS: Final = 5
"""Below this number a parabola fits nearly everything."""

Array = npt.NDArray[np.float64]


class TrialElo(Struct, frozen=True, kw_only=True):
    """The champion of a trial at the end of a stage."""

    stage: int
    elo: float
    error: float
    """Half the 95 % interval."""
    games: int
    """Games of self-play so far."""
    seconds: float
    """Of training."""


class Trial(Struct, frozen=True, kw_only=True):
    """A trial: `complete`, `pruned` (ended early, for others had more at its last stage) or `running` (stopped)."""

    number: int
    state: str
    values: dict[str, Value]
    stages: tuple[TrialElo, ...]


class Importance(Struct, frozen=True, kw_only=True):
    """How much of the variance of the Elo a key explains by itself."""

    key: str
    trials: int
    share: float
    """Adjusted for the number of trials; about 0, maybe below, for a key without effect."""
    chance: float
    """That a key without effect explains as much, by shuffling the Elos over the trials."""


class StudyResults(Struct, frozen=True, kw_only=True):
    """A study as far as it has got."""

    plan: TunePlan
    wanted: int
    """Trials that were asked for."""
    trials: tuple[Trial, ...]
    impossible: int
    """Draws whose settings contradicted one another, which are no trials."""
    own: dict[str, Value] | None
    """The recipe's own values; None if the space does not have all of them."""
    not_in_space: tuple[str, ...] = ()
    """Keys whose own values the space does not have."""

    @property
    def complete(self) -> list[Trial]:
        """Trials that were trained to the end, the strongest first."""
        return sorted(
            (each for each in self.trials if each.state == "complete"),
            key=lambda each: (-each.stages[-1].elo, each.number),
        )

    @property
    def best(self) -> Trial | None:
        """The strongest of the complete trials."""
        return next(iter(self.complete), None)

    @property
    def base(self) -> Trial | None:
        """The first trial with the recipe's own values."""
        return next((each for each in self.trials if each.values == self.own), None)

    @property
    def is_complete(self) -> bool:
        """Whether all trials that were asked for have ended."""
        return sum(each.state != "running" for each in self.trials) >= self.wanted

    def importances(self, stage: int) -> list[Importance]:
        """Return the importance of each key by the Elo at the end of a stage, the largest first."""
        reached = [
            (each.values, elo.elo)
            for each in self.trials
            for elo in each.stages
            if elo.stage == stage and not math.isnan(elo.elo)
        ]
        if len(reached) < LEAST_TRIALS:
            return []
        values, elos = [each for each, _ in reached], np.array([elo for _, elo in reached])
        found = [
            importance(setting, [each[setting.key] for each in values], elos, self.plan.seed)
            for setting in self.plan.space
        ]
        return sorted(found, key=lambda each: -each.share)

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        best = self.best
        return {
            "recipe": self.plan.name,
            "minutes": self.plan.minutes,
            "stages": self.plan.stages,
            "pruner": self.plan.pruner,
            "games": self.plan.games,
            "visits": self.plan.visits,
            "seed": self.plan.seed,
            "complete": self.is_complete,
            "best": None if best is None else best.number,
            "own": None if self.base is None else self.base.number,
            "impossible": self.impossible,
            "trials": [
                {
                    "number": trial.number,
                    "state": trial.state,
                    "settings": trial.values,
                    "stages": [
                        {"stage": each.stage, "elo": each.elo, "error": each.error, "games": each.games}
                        | {"seconds": each.seconds}
                        for each in trial.stages
                    ],
                }
                for trial in self.trials
            ],
            "importances": {
                str(stage): [
                    {"key": each.key, "trials": each.trials, "share": each.share, "chance": each.chance}
                    for each in self.importances(stage)
                ]
                for stage in dict.fromkeys((1, self.plan.stages))
            },
        }


def importance(setting: Setting, values: Sequence[Value], elos: Array, seed: int) -> Importance:
    """Return how much of the variance of `elos` [N] the values [N] of a key explain.

    >>> setting = Range("learner.reuse", 0.0, 1.0, is_whole=False)
    >>> values = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> found = importance(setting, values, np.array([0.0, 16, 24, 24, 16, 0]), seed=1)
    >>> round(found.share, 6), found.chance < 0.02
    (1.0, True)
    """
    columns = _columns(setting, values)
    share = float(explained(columns, elos[None])[0])
    random = np.random.default_rng(seed)
    shuffled = random.permuted(np.tile(elos, (SHUFFLES, 1)), axis=1)
    as_much = int((explained(columns, shuffled) >= share - 1e-12).sum())
    return Importance(key=setting.key, trials=len(values), share=share, chance=(as_much + 1) / (SHUFFLES + 1))


def explained(columns: Array, elos: Array) -> Array:
    """Return the share of the variance of each row of `elos` [S, N] that a fit of `columns` [N, K] explains.

    It is adjusted for the K numbers that are fitted (adjusted R squared).

    >>> ones, line = np.ones(5), np.arange(5.0)
    >>> explained(np.stack([ones, line], 1), np.stack([3 + 2 * line])).round(6).tolist()
    [1.0]
    >>> explained(np.stack([ones], 1), np.stack([line])).tolist()
    [0.0]
    """
    basis, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    basis = basis[:, sizes > 1e-9 * sizes[0]]  # orthonormal columns that span what can be fitted
    free = elos.shape[1] - basis.shape[1]
    away = elos - elos.mean(axis=1, keepdims=True)
    total = (away**2).sum(axis=1)
    if basis.shape[1] == 1 or free <= 0:
        return np.zeros(len(elos))
    left = total - ((away @ basis) ** 2).sum(axis=1)
    spread = np.where(total > 0, total, 1.0)
    found: Array = np.where(total > 0, 1 - (left / free) / (spread / (elos.shape[1] - 1)), 0.0)
    return found


def _columns(setting: Setting, values: Sequence[Value]) -> Array:
    """Return what is fitted: of a range a parabola (over the logarithm, if ratios count), of a list its values' means.

    >>> _columns(Range("k", 1, 100, is_whole=True, log=True), [1, 10, 100]).tolist()
    [[1.0, -1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """
    if not isinstance(setting, Range):
        return np.array([[float(value == each) for each in setting.values] for value in values])
    ends = [float(setting.low), float(setting.high)]
    numbers = [float(value) for value in values]
    if setting.log:
        ends, numbers = [math.log(each) for each in ends], [math.log(each) for each in numbers]
    x = 2 * (np.array(numbers) - ends[0]) / (ends[1] - ends[0]) - 1
    return np.stack([np.ones_like(x), x, x**2], axis=1)
