"""What there is to choose from: the shipped recipes (`train --list`) and their keys (`train --explain`), as text.

>>> print(recipe_list().splitlines()[-1])
racingkings-laptop    racingkings    CPU  Racing Kings, a race to the eighth rank, on two CPU cores.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from selfmate.recipe.check import Problem, RecipeError, show, unknown_key
from selfmate.recipe.keys import KEYS, MAY_CHANGE, Key
from selfmate.recipe.reader import heading, load, names
from selfmate.recipe.schema import Recipe
from selfmate.recipe.writer import toml_value

__all__ = ["ShippedRecipe", "default_text", "explain", "recipe_list", "shipped_recipes"]

DEVICES: Final = {"cpu": "CPU", "gpu": "GPU"}


class ShippedRecipe(NamedTuple):
    """A recipe that comes with Selfmate."""

    name: str
    variant: str
    device: str
    """CPU or GPU: what it was made for."""
    description: str


def shipped_recipes() -> list[ShippedRecipe]:
    """Return the recipes that come with Selfmate, sorted by name."""
    found = []
    for name in names():
        head = heading(name)
        found.append(ShippedRecipe(name, load(name).variant.name, DEVICES[head.device], head.description))
    return found


def recipe_list() -> str:
    """Return a line for each shipped recipe: name, variant, device, description."""
    recipes = shipped_recipes()
    widths = [max(len(each[column]) for each in recipes) + 2 for column in range(3)]
    return "\n".join(
        "".join(text.ljust(width) for text, width in zip(each[:3], widths, strict=True)) + each.description
        for each in recipes
    )


def explain(name: str) -> str:
    """Return what a key is: type, range, default, meaning, and its value in the shipped recipes.

    For the name of a section, return a line for each of its keys. Raises `RecipeError` for any other text.

    >>> print(explain("learner.holdout").partition("shipped")[0].rstrip())
    learner.holdout: one game in this many only validates; 0: none
    value:    a whole number from 0 to 1,000,000
    default:  16
    schedule: no; it has one value for the whole run
    resume:   no; --set cannot change it in a run that has begun
    >>> print(explain("variant"))
    variant.name: name of the variant, as in `selfmate perft`
    """
    if name in Recipe.model_fields:
        return "\n".join(f"{key}: {declared.help}" for key, declared in KEYS.items() if declared.section == name)
    if name not in KEYS:
        problem = Problem(show(name), unknown_key(name))
        raise RecipeError(str(problem), name, (problem,))
    declared = KEYS[name]
    schedule = "[[cycle, value], ...] is allowed" if declared.is_scheduled else "no; it has one value for the whole run"
    resume = "--set may change it" if name in MAY_CHANGE else "no; --set cannot change it"
    lines = [
        f"{name}: {declared.help}",
        f"value:    {declared.expected}",
        f"default:  {default_text(declared)}",
        f"schedule: {schedule}",
        f"resume:   {resume} in a run that has begun",
        "shipped recipes:",
    ]
    width = max(map(len, names())) + 2
    for recipe in names():
        value = load(recipe).flat()[name]
        lines.append(f"  {recipe.ljust(width)}{absent_text(declared) if value is None else toml_value(value)}")
    return "\n".join(lines)


def default_text(key: Key) -> str:
    """Return the default of a key in words."""
    if key.is_required:
        return "none; a recipe must have it"
    return absent_text(key) if key.default is None else toml_value(key.default)


def absent_text(key: Key) -> str:
    """Return where the value of a key comes from that a recipe does not have, in words.

    >>> absent_text(KEYS["gate.cpuct"])
    'as in search.cpuct'
    """
    return f"as in search.{key.name}" if key.section == "gate" else "as in net.size"
