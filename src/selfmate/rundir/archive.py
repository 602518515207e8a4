"""The recipe that a run was started with, and the one that it has now."""

from __future__ import annotations

from pathlib import Path

from selfmate.recipe.reader import change, from_toml
from selfmate.recipe.schema import Recipe
from selfmate.rundir.format import Manifest, read_committed

__all__ = ["archived_recipe", "current_recipe"]


def archived_recipe(directory: Path, manifest: Manifest) -> Recipe:
    """Return the recipe in recipe.toml."""
    return from_toml(read_committed(directory, "recipe.toml", manifest.recipe_stamp).decode("utf-8"))


def current_recipe(directory: Path, manifest: Manifest) -> Recipe:
    """Return the recipe with everything that `--set` changed when the run was resumed."""
    settings = [setting for appendix in manifest.appendices for setting in appendix.settings]
    return change(archived_recipe(directory, manifest), settings)
