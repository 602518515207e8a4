"""How numbers are worded, in every table and line alike."""

from __future__ import annotations

import math

__all__ = ["many", "other_format", "percent", "rounded", "signed", "tenths"]


def many(number: int, noun: str, plural: str = "") -> str:
    """Say how many there are.

    >>> many(1, "game"), many(2000, "game"), many(0, "reply", "replies")
    ('1 game', '2,000 games', '0 replies')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def other_format(found: int, ours: int, older: str) -> str:
    """Say that a file is of another version, and what to do: `older` is that where it is older than we are.

    >>> other_format(1, 2, "measure it anew")
    'format 1, older than format 2 of this version of Selfmate: measure it anew'
    >>> other_format(3, 2, "measure it anew")
    'format 3, newer than format 2 of this version of Selfmate: a newer version reads it'
    """
    age, way = ("newer", "a newer version reads it") if found > ours else ("older", older)
    return f"format {found}, {age} than format {ours} of this version of Selfmate: {way}"


def rounded(number: float) -> str:
    """Round to a whole number; what is rounded to nothing has no sign.

    >>> rounded(12.4), rounded(-0.4), rounded(-7.0)
    ('12', '0', '-7')
    """
    return str(round(number))


def signed(number: float) -> str:
    """Round to a whole number with its sign; nothing has none.

    >>> signed(12.4), signed(-0.4), signed(-7.0)
    ('+12', '0', '-7')
    """
    return f"{round(number):+d}" if round(number) else "0"


def tenths(number: float | None) -> str:
    """Write a number for CSV; nothing where there is none.

    >>> tenths(12.04), tenths(-0.04), tenths(None)
    ('12.0', '0.0', '')
    """
    return "" if number is None else f"{round(number, 1) + 0.0:.1f}"


def percent(share: float) -> str:
    """Write a share of one; nothing where there is none.

    >>> percent(0.756), percent(math.nan)
    ('75.6 %', '')
    """
    return "" if math.isnan(share) else f"{100 * share:.1f} %"
