"""Numbers as text: counts with their noun, rounding, signs and shares, the same in every table and message."""

from __future__ import annotations

import math

__all__ = ["is_utf8", "many", "other_format", "percent", "rounded", "signed", "tenths"]


def is_utf8(text: str) -> bool:
    r"""Return whether a text can be written as UTF-8; a file name may have bytes that cannot.

    >>> is_utf8("größer"), is_utf8("\udcff")
    (True, False)
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def many(number: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, in the plural where it is not one.

    >>> many(1, "game"), many(2000, "game"), many(0, "reply", "replies")
    ('1 game', '2,000 games', '0 replies')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def other_format(found: int, ours: int, older: str) -> str:
    """Return the message about a file of another format version; `older` is the advice for an older one.

    >>> other_format(1, 2, "measure it anew")
    'format 1, older than format 2 of this version of Selfmate: measure it anew'
    >>> other_format(3, 2, "measure it anew")
    'format 3, newer than format 2 of this version of Selfmate: a newer version reads it'
    """
    age, way = ("newer", "a newer version reads it") if found > ours else ("older", older)
    return f"format {found}, {age} than format {ours} of this version of Selfmate: {way}"


def rounded(number: float) -> str:
    """Return a number rounded to a whole one, never `-0`.

    >>> rounded(12.4), rounded(-0.4), rounded(-7.0)
    ('12', '0', '-7')
    """
    return str(round(number))


def signed(number: float) -> str:
    """Return a number rounded to a whole one with its sign; zero has no sign.

    >>> signed(12.4), signed(-0.4), signed(-7.0)
    ('+12', '0', '-7')
    """
    return f"{round(number):+d}" if round(number) else "0"


def tenths(number: float | None) -> str:
    """Return a number with one decimal, for CSV; empty for None.

    >>> tenths(12.04), tenths(-0.04), tenths(None)
    ('12.0', '0.0', '')
    """
    return "" if number is None else f"{round(number, 1) + 0.0:.1f}"


def percent(share: float) -> str:
    """Return a share of one as a percentage; empty for NaN.

    >>> percent(0.756), percent(math.nan)
    ('75.6 %', '')
    """
    return "" if math.isnan(share) else f"{100 * share:.1f} %"
