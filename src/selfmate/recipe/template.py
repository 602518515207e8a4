"""`selfmate recipe new`: the start of a new recipe."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from selfmate.errors import UnknownVariant, clip
from selfmate.recipe.check import RecipeError
from selfmate.recipe.describe import shipped_recipes
from selfmate.recipe.keys import KEYS
from selfmate.recipe.reader import load, names
from selfmate.recipe.schema import Recipe
from selfmate.recipe.types import TRAINABLE
from selfmate.recipe.writer import to_toml, toml_value
from selfmate.util.files import write_file

__all__ = ["new_recipe", "write_new_recipe"]

HEAD: Final = """\
# A recipe for {variant}. Keys that are not set here come from the recipe that it extends; remove the # before a line to
# set its key. What a key means: selfmate train --explain selfplay.visits, or docs/recipes.md.
# Train with it: selfmate train {path} --minutes 10

extends = {base}  # the name of a shipped recipe (selfmate train --list), or the path of another file
description = {description}
"""


def new_recipe(variant: str, path: Path) -> str:
    """Return the text of a new recipe for a variant: it extends the nearest shipped one, and has its keys as comments.

    Raises `UnknownVariant`.
    """
    if variant not in TRAINABLE:
        raise UnknownVariant.named(variant, TRAINABLE)
    base = _nearest(variant)
    head = HEAD.format(
        variant=variant, path=path, base=toml_value(base), description=toml_value(f"{path.stem}: {variant}")
    )
    lines = []
    for line in to_toml(recipe := load(base)).splitlines():
        if line.startswith("name = "):
            lines.append(f"name = {toml_value(variant)}")
        else:
            lines.append(f"# {line}" if " = " in line else line)
        if line.startswith("size = "):
            lines += _keys_of_size(recipe)
        elif line == "[gate]":
            lines.append("# Any key of [search] may stand here, too: for matches alone.")
    return head + "\n" + "\n".join(lines) + "\n"


def _keys_of_size(recipe: Recipe) -> list[str]:
    """Return the keys of the net that its size decides, as comments with the values of that size."""
    config = recipe.net_config()
    return [
        f"# {name} = {toml_value(getattr(config, name))}  # {KEYS[f'net.{name}'].help}"
        for name, value in recipe.net
        if value is None
    ]


def write_new_recipe(name: str, variant: str) -> Path:
    """Write a new recipe to the file `name`, with .toml added where it is missing; return its path.

    Raises `RecipeError` for the name of a shipped recipe, and for a file that exists: nothing is overwritten.
    """
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if path.stem in names() or not re.fullmatch(r"\w[\w.-]*", path.stem):
        why = "is a shipped recipe" if path.stem in names() else "cannot be the name of a recipe"
        raise RecipeError(f"{clip(path.stem)!r} {why}; choose another name, such as my-{clip(variant)}", name)
    text = new_recipe(variant, path)
    if os.path.lexists(path):
        raise RecipeError(f"{path} already exists; choose another name", name)
    try:
        write_file(path, text.encode())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RecipeError(f"{path}: there is no folder {path.parent}", name) from error
    return path


def _nearest(variant: str) -> str:
    """Return the shipped CPU recipe of a variant, or of the variant without 960, or of chess."""
    by_variant = {each.variant: each.name for each in shipped_recipes() if each.device == "CPU"}
    return next(by_variant[name] for name in (variant, variant.removesuffix("960"), "chess") if name in by_variant)
