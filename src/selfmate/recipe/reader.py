"""Reading and changing recipes; whatever is wrong with one is reported at once, in one line.

>>> recipe = load("gardner-laptop")
>>> recipe.variant.name, recipe.net.size
('gardner', 'tiny')
>>> change(recipe, ["selfplay.vists=64"])
Traceback (most recent call last):
...
selfmate.recipe.reader.RecipeError: selfplay.vists: unknown key; did you mean 'selfplay.visits'?
>>> from_toml("[net]\\nsize = 'tiny'\\n[selfplay]\\ngames = 0")  # doctest: +ELLIPSIS
Traceback (most recent call last):
...
selfmate.recipe.reader.RecipeError: 2 errors: (1) missing keys: variant.name, selfplay.cycles, selfplay.visits,
learner.learning_rate, ...; (2) selfplay.games: expected a whole number from 1 to 1,000,000, not 0
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from selfmate.errors import SelfmateError, clip
from selfmate.recipe.schema import KEYS, MAX_CYCLE, MOVED, Recipe, contradictions

__all__ = ["Problem", "RecipeError", "change", "differences", "from_toml", "load", "names", "smoke"]

MAX_BYTES: Final = 64 << 10
"""Longest file that is read as a recipe."""

MAX_LISTED: Final = 12
"""Most names that a suggestion lists."""

MISSING: Final = "this key is missing"

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


class Problem(NamedTuple):
    """What is wrong with one key."""

    key: str
    reason: str

    def __str__(self) -> str:
        return f"{self.key}: {self.reason}"


class RecipeError(SelfmateError):
    """A recipe that cannot be used, in one line; `part` is the first key that is wrong, `problems` are all of them."""

    def __init__(self, message: str, part: str = "", problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message, part)
        self.problems = problems


# -- reading --------------------------------------------------------------------------------------


def names() -> list[str]:
    """Return the names of the recipes that come with Selfmate.

    >>> names()
    ['atomic', 'atomic-laptop', 'gardner-laptop']
    """
    folder = resources.files("selfmate") / "recipes"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load(name: str | Path) -> Recipe:
    """Read a shipped recipe by its name, or any other by the path of its file; raise `RecipeError`.

    >>> load("gardner-desktop")
    Traceback (most recent call last):
    ...
    selfmate.recipe.reader.RecipeError: no recipe is called 'gardner-desktop'; did you mean 'gardner-laptop'?
    """
    text = str(name)
    if text in names():
        return from_toml((resources.files("selfmate") / "recipes" / f"{text}.toml").read_text("utf-8"))
    path = Path(name)
    if not path.exists() and "/" not in text and not text.endswith(".toml"):
        raise RecipeError(f"no recipe is called {clip(text)!r}{_suggest(text, names(), 'recipes')}", text)
    if not path.is_file():
        raise RecipeError(f"{path}: there is no such file", text)
    if path.stat().st_size > MAX_BYTES:
        raise RecipeError(f"{path}: a recipe is shorter than {MAX_BYTES >> 10} KiB", text)
    try:
        return from_toml(path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path}: not UTF-8 text", text) from error
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}", error.part, error.problems) from error


def from_toml(text: str) -> Recipe:
    """Read a recipe and check it: keys, types, ranges, and what cannot go together; raise `RecipeError`."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # not only TOMLDecodeError: a number may have too many digits
        raise RecipeError(f"not TOML: {_one_line(str(error))}", "") from error
    return _check(document)


def change(recipe: Recipe, settings: Iterable[str]) -> Recipe:
    """Return the recipe with `section.key=value` (as after `--set`) applied, checked as a whole.

    >>> change(load("gardner-laptop"), ["selfplay.visits=[[0, 8], [5, 32]]", "net.size=small"]).net.size
    'small'
    """
    document = _document(recipe)
    for setting in settings:
        key, equals, text = (piece.strip() for piece in setting.partition("="))
        if not equals:
            raise RecipeError(f"{clip(setting)!r}: write section.key=value", setting)
        if key not in KEYS:
            raise RecipeError(f"{_show(key)}: unknown key{_suggest(key, KEYS, 'keys')}", key)
        section, _, name = key.partition(".")
        document[section][name] = _read_value(key, text)
    return _check(document)


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
    return _check({section: table | SMOKE.get(section, {}) for section, table in document.items()})


def _document(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """Return the recipe as the tables that a TOML reader makes."""
    return recipe.model_dump(exclude_none=True)


def _read_value(key: str, text: str) -> Any:
    """Read a value as TOML has it; a bare word is text."""
    if len(text) <= 1000 and "\n" not in text:
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            if re.fullmatch(r"[\w-]+", text):
                return text
    kinds = "a number, a word, true, false or a schedule [[cycle, value], ...]"
    raise RecipeError(f"{key}: cannot read the value {clip(text)!r}; write {kinds}", key)


# -- checking -------------------------------------------------------------------------------------


def _check(document: dict[str, Any]) -> Recipe:
    """Return the recipe in the tables of a TOML file, or raise an error that names everything wrong with them."""
    document = _rename_moved(document)
    try:
        # Without its section every key of it is missing, and is named.
        recipe = Recipe.model_validate({section: {} for section in Recipe.model_fields} | document)
    except ValidationError as error:
        raise _report([_problem(each) for each in error.errors()]) from error
    if problems := [Problem(*found) for found in contradictions(recipe)]:
        raise _report(problems)
    return recipe


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


def _report(problems: list[Problem]) -> RecipeError:
    """Return one error for all problems; missing keys come together, and each key with its first problem only."""
    found = {problem.key: problem for problem in reversed(problems)}
    ordered = [found[key] for key in dict.fromkeys(problem.key for problem in problems)]
    missing = [problem.key for problem in ordered if problem.reason == MISSING]
    lines = [f"missing keys: {', '.join(missing)}"] if len(missing) > 1 else []
    lines += [str(problem) for problem in ordered if not (lines and problem.reason == MISSING)]
    numbered = "; ".join(f"({number}) {line}" for number, line in enumerate(lines, 1))
    message = lines[0] if len(lines) == 1 else f"{len(lines)} errors: {numbered}"
    return RecipeError(message, ordered[0].key, tuple(ordered))


def _problem(error: ErrorDetails) -> Problem:
    """Return pydantic's account of a wrong value as a key and a reason."""
    kind, value = error["type"], error["input"]
    # 1. Where: a section, a key of it, and in a schedule the indices of an entry and of a number in it
    names = [step for step in error["loc"] if isinstance(step, str)][:2]  # the third one would be the kind of number
    indices = [step for step in error["loc"] if isinstance(step, int)]
    key = ".".join(names)
    where = ".".join(map(_show, names)) + "".join(f"[{index}]" for index in indices)
    # 2. Keys and sections that are missing or unknown
    if kind == "missing":
        return Problem(where, MISSING)
    if kind == "extra_forbidden":
        return Problem(where, _unknown(*names))
    if key not in KEYS:
        return Problem(where, f"expected a section [{key}], not {_show_value(value)}")
    # 3. Values
    declared = KEYS[key]
    if kind in ("schedule", "value_error"):
        return Problem(where, _one_line(str(error.get("ctx", {}).get("error", error["msg"]))))
    if kind == "literal_error":
        return Problem(where, f"unknown value {_show_value(value)}{_suggest(str(value), declared.choices, 'values')}")
    expected = declared.expected
    if not indices and declared.is_scheduled and kind in ("int_type", "float_type"):
        expected += " or a schedule [[cycle, value], ...]"
    elif len(indices) == 1:
        expected = "[cycle, value]"
    elif len(indices) == 2 and indices[1] == 0:
        expected = f"a cycle from 0 to {MAX_CYCLE:,}"
    return Problem(where, f"expected {expected}, not {_show_value(value)}")


def _unknown(section: str, name: str | None = None) -> str:
    """Return the reason for an unknown section, or an unknown key of a section."""
    if name is None:
        return f"unknown section{_suggest(section, Recipe.model_fields, 'sections')}"
    elsewhere = [key for key in KEYS if key.endswith(f".{name}")]
    if elsewhere:
        return f"unknown key; did you mean {elsewhere[0]!r}?"
    return f"unknown key{_suggest(f'{section}.{name}', [key for key in KEYS if key.startswith(f'{section}.')], 'keys')}"


def _suggest(name: str, known: Iterable[str], what: str) -> str:
    """Return the nearest of the known names as a question, or list them."""
    choices = list(known)
    near = [choice for choice in choices if choice.endswith(f".{name}")]  # the section was forgotten
    near = near or difflib.get_close_matches(clip(name), choices, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    if len(choices) <= MAX_LISTED:
        return f"; valid {what}: {', '.join(choices)}"
    return "; docs/reference/recipe.md lists them all"


def _show(name: str) -> str:
    """Return a key, quoted only where it would not read as one."""
    return name if re.fullmatch(r"[\w.-]{1,60}", name) else repr(clip(name))


def _show_value(value: object) -> str:
    return clip(str(value).lower() if isinstance(value, bool) else repr(value))


def _one_line(text: str) -> str:
    return " ".join(text.split())
