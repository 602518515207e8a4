"""Recipes as TOML text, with the help of every key as a comment."""

from __future__ import annotations

from selfmate.recipe.keys import KEYS
from selfmate.recipe.schema import Recipe

__all__ = ["to_toml", "toml_value"]


def to_toml(recipe: Recipe) -> str:
    """Return the recipe as TOML with every key and its help; `from_toml` reads it back equal.

    >>> from selfmate.recipe.reader import load
    >>> print(to_toml(load("gardner-laptop")).partition("context_blocks")[0].rstrip())
    [variant]
    name = "gardner"  # name of the variant, as in `selfmate perft`
    <BLANKLINE>
    [net]
    size = "tiny"  # named size; the keys below change it
    """
    sections = []
    for section, part in recipe:
        lines = [f"[{section}]"]
        for name, value in part:
            if value is not None:
                lines.append(f"{name} = {toml_value(value)}  # {KEYS[f'{section}.{name}'].help}")
        sections.append("\n".join(lines) + "\n")
    return "\n".join(sections)


def toml_value(value: object) -> str:
    r"""Return a value of a recipe as TOML.

    >>> toml_value(True), toml_value(((0, 16), (20, 32))), toml_value('a "b"')
    ('true', '[[0, 16], [20, 32]]', '"a \\"b\\""')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, tuple):
        return "[" + ", ".join(toml_value(entry) for entry in value) + "]"
    return repr(value)
