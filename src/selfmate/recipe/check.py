"""Checking a recipe: everything that is wrong with it, as one line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from selfmate.errors import SelfmateError, clip, clip_repr
from selfmate.recipe.contradictions import contradictions
from selfmate.recipe.keys import KEYS
from selfmate.recipe.schema import Recipe
from selfmate.recipe.types import MAX_CYCLE

__all__ = ["Problem", "RecipeError", "check", "one_line", "report", "show", "show_value", "suggest", "unknown_key"]

MAX_LISTED: Final = 12
"""Most names that a suggestion lists."""

MISSING: Final = "this key is missing"


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


def check(document: dict[str, Any], origins: dict[str, str] | None = None) -> Recipe:
    """Return the recipe in the tables of a TOML file, or raise an error that names everything wrong with them.

    `origins` are the recipes that inherited keys come from.
    """
    try:
        # Without its section every key of it is missing, and is named.
        recipe = Recipe.model_validate({section: {} for section in Recipe.model_fields} | document)
    except ValidationError as error:
        raise report([_problem(each) for each in error.errors()], origins) from error
    if problems := [Problem(*found) for found in contradictions(recipe)]:
        raise report(problems)
    return recipe


def report(problems: list[Problem], origins: dict[str, str] | None = None) -> RecipeError:
    """Return one error for all problems; missing keys come together, and each key with its first problem only.

    A problem of an inherited key also names the recipe that it comes from.
    """
    for number, (key, reason) in enumerate(problems):
        if origins and key in origins:
            problems[number] = Problem(key, f"{reason} (in {origins[key]})")
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
    where = ".".join(map(show, names)) + "".join(f"[{index}]" for index in indices)
    # 2. Keys and sections that are missing or unknown
    if kind == "missing":
        return Problem(where, MISSING)
    if kind == "extra_forbidden":
        return Problem(where, _unknown(*names))
    if key not in KEYS:
        return Problem(where, f"expected a section [{key}], not {show_value(value)}")
    # 3. Values
    declared = KEYS[key]
    if kind in ("schedule", "value_error"):
        return Problem(where, one_line(str(error.get("ctx", {}).get("error", error["msg"]))))
    if kind == "literal_error":
        return Problem(where, f"unknown value {show_value(value)}{suggest(str(value), declared.choices, 'values')}")
    expected = declared.expected
    if not indices and declared.is_scheduled and kind in ("int_type", "float_type"):
        expected += " or a schedule [[cycle, value], ...]"
    elif declared.is_scheduled and len(indices) == 1:
        expected = "[cycle, value]"
    elif declared.is_scheduled and len(indices) == 2 and indices[1] == 0:
        expected = f"a cycle from 0 to {MAX_CYCLE:,}"
    return Problem(where, f"expected {expected}, not {show_value(value)}")


def _unknown(section: str, name: str | None = None) -> str:
    """Return the reason for an unknown section, or an unknown key of a section."""
    if name is None:
        return f"unknown section{suggest(section, Recipe.model_fields, 'sections')}"
    elsewhere = [key for key in KEYS if key.endswith(f".{name}")]
    if elsewhere:
        return f"unknown key; did you mean {elsewhere[0]!r}?"
    return f"unknown key{suggest(f'{section}.{name}', [key for key in KEYS if key.startswith(f'{section}.')], 'keys')}"


def suggest(name: str, known: Iterable[str], what: str, listed: str = "docs/recipes.md") -> str:
    """Return the nearest of the known names as a question, or list them; `listed` says what lists more than a few."""
    choices = list(known)
    near = [choice for choice in choices if choice.endswith(f".{name}")]  # the section was forgotten
    near = near or difflib.get_close_matches(clip(name), choices, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    if len(choices) <= MAX_LISTED:
        return f"; valid {what}: {', '.join(choices)}"
    return f"; {listed} lists them all"


def show(name: str) -> str:
    """Return a key, quoted only where it would not read as one."""
    return name if re.fullmatch(r"[\w.-]{1,60}", name) else repr(clip(name))


def show_value(value: object) -> str:
    """Return a value of a TOML file, shortened."""
    return str(value).lower() if isinstance(value, bool) else clip_repr(value)


def one_line(text: str) -> str:
    return " ".join(text.split())


def unknown_key(key: str) -> str:
    """Return the reason why a dotted key is refused that no recipe has, with the nearest one that it may mean.

    >>> unknown_key("visits")
    "unknown key; did you mean 'selfplay.visits'?"
    """
    return f"unknown key{suggest(key, KEYS, 'keys')}"
