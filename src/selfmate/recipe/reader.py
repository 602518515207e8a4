"""Reading and changing recipes; whatever is wrong with one is reported at once, in one line.

Above its sections a file may have three keys: `extends` (a recipe from which this one takes every key that it does not
have itself: a shipped name, or a path relative to the file), `description` (one line) and `device` (cpu or gpu), both
for `selfmate train --list`. A `Recipe` has only the sections.

>>> recipe = load("gardner-laptop")
>>> recipe.variant.name, recipe.net.size
('gardner', 'tiny')
>>> change(recipe, ["selfplay.vists=64"])
Traceback (most recent call last):
...
selfmate.recipe.check.RecipeError: selfplay.vists: unknown key; did you mean 'selfplay.visits'?
>>> from_toml("[net]\\nsize = 'tiny'\\n[selfplay]\\ngames = 0")  # doctest: +ELLIPSIS
Traceback (most recent call last):
...
selfmate.recipe.check.RecipeError: 2 errors: (1) missing keys: variant.name, selfplay.cycles, selfplay.visits,
learner.learning_rate, ...; (2) selfplay.games: expected a whole number from 1 to 1,000,000, not 0
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple

from selfmate.errors import clip
from selfmate.recipe.check import Problem, RecipeError, check, one_line, report, show, show_value, suggest, unknown_key
from selfmate.recipe.keys import KEYS, MOVED
from selfmate.recipe.schema import Recipe

__all__ = [
    "Heading",
    "Problem",
    "RecipeError",
    "change",
    "differences",
    "from_toml",
    "heading",
    "load",
    "names",
    "smoke",
]

MAX_BYTES: Final = 64 << 10
"""Longest file that is read as a recipe."""

MAX_BASES: Final = 16
"""Longest chain of recipes that extend one another."""

SMOKE: Final[dict[str, dict[str, Any]]] = {
    "net": {"blocks": 1, "channels": 8},
    "selfplay": {
        "cycles": 3,
        "games": 8,
        "slots": 8,
        "visits": 4,
        "fast_visits": 2,
        "full_probability": 0.5,
        "random_plies": 2,
        "temperature_plies": 6,
        "max_plies": 30,
    },
    "learner": {"batch": 16, "reuse": 1.0, "window": 400, "warmup": 2, "holdout": 4},
    "gate": {"games": 2, "visits": 2, "every": 1, "final_games": 4, "final_visits": 2},
    "progress": {"games": 2, "every": 2, "visits": 2},
}
"""Values of `--smoke`."""


class Heading(NamedTuple):
    """The keys above the sections of a recipe; empty where the file does not have them."""

    extends: str = ""
    description: str = ""
    device: str = ""
    """`cpu` or `gpu`: what the recipe was made for; it runs on both."""


# -- reading --------------------------------------------------------------------------------------


def names() -> list[str]:
    """Return the names of the recipes that come with Selfmate.

    >>> [name for name in names() if name.startswith("horde")]
    ['horde', 'horde-laptop']
    """
    folder = resources.files("selfmate") / "recipes"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load(name: str | Path) -> Recipe:
    """Read a shipped recipe by its name, or any other by the path of its file; raise `RecipeError`.

    >>> load("gardner-desktop")
    Traceback (most recent call last):
    ...
    selfmate.recipe.check.RecipeError: unknown recipe 'gardner-desktop'; did you mean 'gardner-laptop'?
    """
    if not str(name):
        raise RecipeError("the name of a recipe is empty; selfmate train --list lists them", "")
    text, where, folder = _read_text(str(name))
    try:
        return from_toml(text, folder, (where,))
    except RecipeError as error:
        if str(name) in names():
            raise
        raise RecipeError(f"{name}: {error}", error.part, error.problems) from error


def from_toml(text: str, folder: Path = Path(), chain: tuple[str, ...] = ()) -> Recipe:
    """Read a recipe and check it: keys, types, ranges, and what cannot go together; raise `RecipeError`.

    A path in `extends` is relative to `folder`. `chain` names the file itself, so that it cannot extend itself.
    """
    document, origins = _extended(text, folder, chain)
    return check(document, origins)


def heading(name: str | Path) -> Heading:
    """Return the keys above the sections of a recipe; raise `RecipeError` for a file that cannot be read.

    >>> heading("gardner-laptop").device
    'cpu'
    """
    return _heading(_parse(_read_text(str(name))[0]))


def _read_text(name: str) -> tuple[str, str, Path]:
    """Return a recipe's text, what identifies its file, and the folder that its paths are relative to."""
    if name in names():
        return (resources.files("selfmate") / "recipes" / f"{name}.toml").read_text("utf-8"), name, Path()
    path = Path(name)
    try:
        if not path.exists() and "/" not in name and not name.endswith(".toml"):
            raise RecipeError(
                f"unknown recipe {clip(name)!r}{suggest(name, names(), 'recipes', 'selfmate train --list')}", name
            )
        if not path.is_file():
            raise RecipeError(f"{path}: {'not a file' if path.exists() else 'there is no such file'}", name)
        if path.stat().st_size > MAX_BYTES:
            raise RecipeError(f"{path}: a recipe is shorter than {MAX_BYTES >> 10} KiB", name)
        return path.read_bytes().decode("utf-8"), str(path.resolve()), path.parent
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path}: not UTF-8 text", name) from error
    except OSError as error:
        raise RecipeError(f"{clip(name)}: {error.strerror}", name) from error


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # not only TOMLDecodeError: a number may have too many digits
        raise RecipeError(f"not TOML: {one_line(str(error))}", "") from error


def _heading(document: dict[str, Any]) -> Heading:
    """Remove the keys above the sections from the document, and return them."""
    given = {key: document.pop(key) for key in Heading._fields if key in document}
    for key, value in given.items():
        if not isinstance(value, str) or not value.strip() or "\n" in value:
            expected = "the name of a recipe or the path of a file" if key == "extends" else "one line of text"
            problem = Problem(key, f"expected {expected}, not {show_value(value)}")
            raise RecipeError(str(problem), key, (problem,))
    return Heading(**given)


def _extended(text: str, folder: Path, chain: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the sections of a recipe with those of its bases below, and for inherited keys the base they are from."""
    document = _parse(text)
    base = _heading(document).extends
    document = _rename_moved(document)
    if not base:
        return document, {}
    path = base if base in names() else str(folder / base) if "/" in base or base.endswith(".toml") else base
    base_text, where, base_folder = _read_text(path)
    if where in chain:
        shown = " → ".join(Path(each).name for each in (*chain, where))
        raise RecipeError(f"extends: {clip(base)!r} leads back to a recipe that extends it ({shown})", "extends")
    if len(chain) >= MAX_BASES:
        raise RecipeError(f"extends: more than {MAX_BASES} recipes extend one another", "extends")
    below, origins = _extended(base_text, base_folder, (*chain, where))
    for section, table in below.items():
        mine = document.get(section, {})
        if isinstance(table, dict) and isinstance(mine, dict):
            origins.update({f"{section}.{key}": base for key in table if f"{section}.{key}" not in origins})
            for key in mine:
                origins.pop(f"{section}.{key}", None)
            document[section] = table | mine
        elif section not in document:
            document[section] = table
    return document, origins


def change(recipe: Recipe, settings: Iterable[str]) -> Recipe:
    """Return the recipe with `section.key=value` (as after `--set`) applied, checked as a whole.

    >>> change(load("gardner-laptop"), ["selfplay.visits=[[0, 8], [5, 32]]", "net.size=small"]).net.size
    'small'
    """
    document = _document(recipe)
    problems: list[Problem] = []
    for setting in settings:
        key, equals, text = (piece.strip() for piece in setting.partition("="))
        if not equals:
            problems.append(Problem(repr(clip(setting)), "write section.key=value"))
        elif key not in KEYS:
            problems.append(Problem(show(key), unknown_key(key)))
        else:
            section, _, name = key.partition(".")
            try:
                document[section][name] = _read_value(text, is_text=KEYS[key].type == "string")
            except ValueError as error:
                problems.append(Problem(key, str(error)))
    try:
        changed = check(document)
    except RecipeError as error:
        raise report([*problems, *error.problems]) from error
    if problems:
        raise report(problems)
    return changed


def differences(old: Recipe, new: Recipe) -> list[str]:
    """Return the keys whose values differ.

    >>> recipe = load("gardner-laptop")
    >>> differences(recipe, change(recipe, ["selfplay.games=7"]))
    ['selfplay.games']
    """
    before, after = old.flat(), new.flat()
    return [key for key, value in before.items() if value != after[key]]


def smoke(recipe: Recipe) -> Recipe:
    """Return the recipe shrunk to seconds, for tests: every step of a run happens, none of them long.

    >>> smoke(load("atomic-laptop")).selfplay.games
    8
    """
    document = _document(recipe)
    net = document["net"]
    if widths := net["widths"]:  # a plain tower has no blocks, and its last width are its channels
        small: dict[str, Any] = {"widths": re.sub(r"\d+", "8", widths)}
    else:
        small = SMOKE["net"] | {"context_blocks": net["context_blocks"] and "1-1"}
    if net["heads"] == "full" and net["policy"] != "none":  # a layer of millions of weights
        small["policy_channels"] = 1
    return check({section: table | (SMOKE | {"net": small}).get(section, {}) for section, table in document.items()})


def _document(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """Return the recipe as the tables that a TOML reader makes."""
    return recipe.model_dump(exclude_none=True)


def _read_value(text: str, *, is_text: bool = False) -> Any:
    """Return a value as TOML has it; a bare word is text. Raises ValueError for anything else.

    `is_text`: the key is a text, such as the path of a file, and needs no quotes.
    """
    if len(text) <= 1000 and "\n" not in text:
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            plain = r"[^\"']+" if is_text else r"[\w,-]+"
            if re.fullmatch(plain, text) and text.isprintable():
                return text
    kinds = "a number, a word, true, false or a schedule [[cycle, value], ...]"
    raise ValueError(f"cannot read the value {clip(text)!r}; write {kinds}")


def _rename_moved(document: dict[str, Any]) -> dict[str, Any]:
    """Return the tables with the keys of earlier versions under their present names."""
    for old, new in MOVED.items():
        (section, key), (new_section, new_key) = old.split("."), new.split(".")
        table = document.get(section)
        if isinstance(table, dict) and key in table:
            left = {name: value for name, value in table.items() if name != key}
            moved = {new_key: table[key], **document.get(new_section, {})}
            document = {**document, section: left, new_section: moved}
    return document
