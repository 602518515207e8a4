"""What a study is: recipe, space, minutes of a trial and how its strength is measured, fixed before the first trial."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from selfmate.errors import SelfmateError
from selfmate.recipe.reader import from_toml
from selfmate.recipe.schema import Recipe
from selfmate.tune.space import Setting

__all__ = ["PLAN_FILE", "PRUNERS", "TuneError", "TunePlan", "TunePruner"]

FORMAT: Final = 1
PLAN_FILE: Final = "tune.json"
TunePruner = Literal["median", "hyperband", "none"]
PRUNERS: Final = ("median", "hyperband", "none")


class TuneError(SelfmateError):
    """A study that cannot be made as asked."""


class TunePlan(Struct, frozen=True, kw_only=True):
    """A study; how many trials it has is not part of it, so that it can go on."""

    format: int = FORMAT
    name: str
    """Of the recipe, for titles."""
    recipe: str
    """TOML with every key; trials change those of the space."""
    space: tuple[Setting, ...]
    minutes: float
    """Training time of a trial."""
    stages: int
    """Equal parts of it, each of which ends with a measurement of strength."""
    pruner: TunePruner
    games: int
    """Of each pairing of a measurement."""
    visits: int
    seed: int
    """Of the search for settings; trial N is a run with the seed `seed` + N."""

    def base(self) -> Recipe:
        """Return the recipe."""
        return from_toml(self.recipe)

    def seconds(self, stage: int) -> float:
        """Return the training time of a trial at the end of a stage, of which the first is 1.

        >>> plan = TunePlan(name="", recipe="", space=(), minutes=2, stages=4, pruner="none", games=2, visits=1, seed=1)
        >>> [plan.seconds(stage) for stage in (1, 2, 3, 4)]
        [30.0, 60.0, 90.0, 120.0]
        """
        return 60 * self.minutes * stage / self.stages
