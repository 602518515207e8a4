"""Checks of numbers and flags that callers give."""

from __future__ import annotations

import contextlib
import math
import numbers
import operator
from typing import Any

from selfmate.errors import SelfmateError, clip_repr

__all__ = ["flag", "positive_number", "whole_number"]


def whole_number(name: str, number: Any, least: int, most: int, error: type[SelfmateError]) -> int:
    """Return a whole number (numpy's included) as an int; raise `error` for anything else, and out of the range.

    >>> whole_number("games", 12, 1, 100, SelfmateError)
    12
    >>> whole_number("games", 1.5, 1, 100, SelfmateError)
    Traceback (most recent call last):
    ...
    selfmate.errors.SelfmateError: games must be a whole number from 1 to 100, not 1.5
    """
    try:
        found = least - 1 if isinstance(number, bool) else operator.index(number)
    except TypeError:
        found = least - 1
    if not least <= found <= most:
        shown = clip_repr(number)
        raise error(f"{name} must be a whole number from {least} to {most}, not {shown}", shown)
    return found


def positive_number(name: str, number: Any, error: type[SelfmateError]) -> float:
    """Return a number above 0 (numpy's included) as a float; raise `error` for anything else, infinity and NaN.

    >>> positive_number("seconds", 2, SelfmateError)
    2.0
    >>> positive_number("seconds", "2", SelfmateError)
    Traceback (most recent call last):
    ...
    selfmate.errors.SelfmateError: seconds must be a number above 0, not '2'
    """
    found = math.nan
    if not isinstance(number, bool) and isinstance(number, numbers.Real):
        with contextlib.suppress(OverflowError):
            found = float(number)
    if not (found > 0 and math.isfinite(found)):
        shown = clip_repr(number)
        raise error(f"{name} must be a number above 0, not {shown}", shown)
    return found


def flag(name: str, value: Any, error: type[SelfmateError]) -> bool:
    """Return True or False (numpy's included) as a bool; raise `error` for anything else, 0 and 1 included.

    >>> flag("noise", True, SelfmateError)
    True
    >>> flag("noise", 1, SelfmateError)
    Traceback (most recent call last):
    ...
    selfmate.errors.SelfmateError: noise must be True or False, not 1
    """
    if type(value).__name__ not in ("bool", "bool_"):  # the second is numpy's before 2.0
        shown = clip_repr(value)
        raise error(f"{name} must be True or False, not {shown}", shown)
    return bool(value)
