"""The space of a search for settings: a TOML file with the sections and keys of a recipe, and values to choose from.

    [learner]
    learning_rate = { low = 0.0005, high = 0.01, log = true }
    batch = [128, 256, 512]

A table is a range, with both ends in it: `step` gives the distance of its values, `log` that ratios count, not
differences. An array lists the values; each may be anything that the recipe takes there, schedules included.

>>> from selfmate.recipe.reader import load
>>> space = read_space("[learner]\\nreuse = { low = 1.0, high = 8.0 }\\nbatch = [128, 256]", load("gardner-laptop"))
>>> for setting in space:
...     print(setting)
learner.reuse: 1.0 to 8.0
learner.batch: 128, 256
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct

from selfmate.errors import SelfmateError, clip
from selfmate.recipe.check import Problem, RecipeError, one_line, report, show, show_value, unknown_key
from selfmate.recipe.keys import KEYS, Key
from selfmate.recipe.reader import change
from selfmate.recipe.schema import Recipe
from selfmate.recipe.writer import toml_value

__all__ = ["Choice", "Range", "Setting", "SpaceError", "Value", "own_values", "read_space", "read_space_file"]

MAX_BYTES: Final = 64 << 10
"""Longest file that is read."""
MAX_KEYS: Final = 32
MAX_CHOICES: Final = 64
RANGE_KEYS: Final = ("low", "high", "log", "step")
FIXED: Final = {
    "variant.name": "other games have other ratings",
    "selfplay.cycles": "a trial ends by its minutes",
    "gate.final_games": "a trial plays no final matches",
    "gate.final_visits": "a trial plays no final matches",
    "progress.games": "the study measures itself",
    "progress.every": "the study measures itself",
    "progress.visits": "the study measures itself",
    "progress.engine": "the study measures itself",
    "progress.engine_games": "the study measures itself",
    "progress.engine_elo": "the study measures itself",
}
"""Keys that a space may not have, and why."""

Value: TypeAlias = int | float | str
"""A value of a range is a number, one of a choice is TOML text."""


class SpaceError(SelfmateError):
    """A space that cannot be searched, in one line."""


class Range(Struct, frozen=True, tag=True):
    """A key whose values are the numbers from `low` to `high`."""

    key: str
    low: int | float
    high: int | float
    is_whole: bool
    log: bool = False
    step: int | float | None = None

    def setting(self, value: Value) -> str:
        """Return a value of the range as after `--set`.

        >>> Range("learner.reuse", 1.0, 8.0, is_whole=False).setting(2.5)
        'learner.reuse=2.5'
        """
        return f"{self.key}={value!r}"

    def value_of(self, value: object) -> Value | None:
        """Return a value of a recipe as one of the range; None if it is none of them."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            return None
        if self.step is not None:
            steps = (value - self.low) / self.step
            if abs(steps - round(steps)) > 1e-9:
                return None
        return int(value) if self.is_whole else float(value)

    def __str__(self) -> str:
        how = ("" if self.step is None else f" in steps of {self.step:g}") + (" by ratio" if self.log else "")
        return f"{self.key}: {self.low} to {self.high}{how}"


class Choice(Struct, frozen=True, tag=True):
    """A key whose values are listed, as TOML text."""

    key: str
    values: tuple[str, ...]

    def setting(self, value: Value) -> str:
        """Return a value of the list as after `--set`."""
        return f"{self.key}={value}"

    def value_of(self, value: object) -> Value | None:
        """Return a value of a recipe as one of the list; None if it is none of them."""
        text = None if value is None else toml_value(value)
        return text if text in self.values else None

    def __str__(self) -> str:
        return f"{self.key}: {', '.join(self.values)}"


Setting: TypeAlias = Range | Choice


def read_space_file(path: Path, recipe: Recipe) -> tuple[Setting, ...]:
    """Read a space for a recipe; raise `SpaceError`, whose line begins with the path."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)  # no more: a device has no end
        if len(data) > MAX_BYTES:
            raise SpaceError(f"a space is shorter than {MAX_BYTES >> 10} KiB", "")
        return read_space(data.decode("utf-8"), recipe)
    except FileNotFoundError:
        raise SpaceError(f"{path}: there is no such file", str(path)) from None
    except OSError as error:
        raise SpaceError(f"{path}: {error.strerror}", str(path)) from error
    except UnicodeDecodeError:
        raise SpaceError(f"{path}: not UTF-8 text", str(path)) from None
    except SpaceError as error:
        raise SpaceError(f"{path}: {error}", error.part) from error


def read_space(text: str, recipe: Recipe) -> tuple[Setting, ...]:
    """Read a space and check each end of a range and each choice by itself in the recipe; raise `SpaceError`.

    >>> from selfmate.recipe.reader import load
    >>> read_space("[learner]\\nbatch = { low = 0, high = 64 }\\nbach = [1]", load("gardner-laptop"))
    Traceback (most recent call last):
    ...
    selfmate.tune.space.SpaceError: 2 errors: (1) learner.batch: expected a whole number from 1 to 65,536, not 0;
    (2) learner.bach: unknown key; did you mean 'learner.batch'?
    """
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # not only TOMLDecodeError: a number may have too many digits
        raise SpaceError(f"not TOML: {one_line(str(error))}", "") from error
    found: list[Setting] = []
    problems: list[Problem] = []
    for section, table in document.items():
        if not isinstance(table, dict):
            problems.append(Problem(show(section), f"expected a section [{show(section)}], not {show_value(table)}"))
            continue
        for name, entry in table.items():
            try:
                found.append(_read_entry(f"{section}.{name}", entry, recipe))
            except RecipeError as error:
                problems += error.problems
    if not problems and not found:
        problems.append(Problem("space", "there is no key in it, such as learner.learning_rate"))
    if len(found) > MAX_KEYS:
        problems.append(Problem("space", f"more than {MAX_KEYS} keys"))
    if problems:
        whole = report(problems)
        raise SpaceError(str(whole), whole.part)
    return tuple(found)


def own_values(space: Sequence[Setting], recipe: Recipe) -> tuple[dict[str, Value], list[str]]:
    """Return the recipe's own values of the keys of a space, and the keys whose value is not in the space.

    >>> from selfmate.recipe.reader import load
    >>> recipe = load("gardner-laptop")
    >>> own_values(read_space("[search]\\ngumbel = [true, false]\\ncpuct = [7.0, 8.0]", recipe), recipe)
    ({'search.gumbel': 'true'}, ['search.cpuct'])
    """
    flat = recipe.flat()
    values = {setting.key: setting.value_of(flat[setting.key]) for setting in space}
    return (
        {key: value for key, value in values.items() if value is not None},
        [key for key, value in values.items() if value is None],
    )


def _read_entry(key: str, entry: object, recipe: Recipe) -> Setting:
    if key not in KEYS:
        raise _refusal(show(key), unknown_key(key))
    if key in FIXED:
        raise _refusal(key, f"cannot be searched: {FIXED[key]}")
    if isinstance(entry, dict):
        return _read_range(KEYS[key], key, entry, recipe)
    if not isinstance(entry, list):
        expected = "a range { low = …, high = … } or a list of values"
        raise _refusal(key, f"expected {expected}, not {show_value(entry)}")
    if not 2 <= len(entry) <= MAX_CHOICES:
        raise _refusal(key, f"a list has 2 to {MAX_CHOICES} values, not {len(entry)}")
    texts = [toml_value(_tuples(value)) for value in entry]
    if len(set(texts)) < len(texts):
        raise _refusal(key, "a value is listed twice")
    for text in texts:
        change(recipe, [f"{key}={text}"])
    return Choice(key, tuple(texts))


def _read_range(declared: Key, key: str, entry: Mapping[str, Any], recipe: Recipe) -> Range:
    """Return the range that a table describes."""
    if declared.type not in ("integer", "number"):
        raise _refusal(key, "not a number: list its values, as in [true, false]")
    for name in entry:
        if name not in RANGE_KEYS:
            raise _refusal(key, f"unknown key {clip(name)!r} of a range; valid keys: {', '.join(RANGE_KEYS)}")
    for name in ("low", "high"):
        if name not in entry:
            raise _refusal(key, f"a range has low and high, and {name} is missing")
        change(recipe, [f"{key}={toml_value(_tuples(entry[name]))}"])
    low, high, step, log = entry["low"], entry["high"], entry.get("step"), entry.get("log", False)
    is_whole = declared.type == "integer"
    numbers = [each for each in (low, high, step) if each is not None]
    if any(isinstance(each, bool) or not isinstance(each, int if is_whole else int | float) for each in numbers):
        raise _refusal(key, f"low, high and step are {'whole numbers' if is_whole else 'numbers'}, no schedules")
    if not low < high:
        raise _refusal(key, f"low is not below high: {low} and {high}")
    if not isinstance(log, bool):
        raise _refusal(key, f"log is true or false, not {show_value(log)}")
    if log and step is not None:
        raise _refusal(key, "a range by ratio has no steps: leave out log or step")
    if log and low <= 0:
        raise _refusal(key, f"a range by ratio begins above 0, not at {low}")
    if step is not None and (not math.isfinite(step) or not 0 < step <= high - low):
        raise _refusal(key, f"step is above 0 and at most {high - low:g}, not {step}")
    if step is not None and abs((high - low) / step - round((high - low) / step)) > 1e-9:
        raise _refusal(key, f"high is not a whole number of steps above low: {low} to {high} in steps of {step}")
    return Range(
        key,
        low if is_whole else float(low),
        high if is_whole else float(high),
        is_whole=is_whole,
        log=log,
        step=step if step is None or is_whole else float(step),
    )


def _tuples(value: object) -> object:
    """Return a value of TOML with its arrays as tuples, as recipes have them."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _refusal(key: str, reason: str) -> RecipeError:
    problem = Problem(key, reason)
    return RecipeError(str(problem), key, (problem,))
