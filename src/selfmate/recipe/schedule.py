"""Schedules: a number of a recipe that changes by cycle.

A schedule is `((0, 16), (20, 32))`: each value holds from its cycle on until the next entry. It is a step function
rather than a slope, so that a change shows at one and the same cycle in the file, in the metrics and in the games.

>>> at(((0, 16), (20, 32)), cycle=19), at(((0, 16), (20, 32)), cycle=20), at(16, cycle=20)
(16, 32, 16)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

__all__ = ["at", "start_cycles", "values_at"]


@overload
def at(schedule: int | tuple[tuple[int, int], ...], cycle: int) -> int: ...


@overload
def at(schedule: float | tuple[tuple[int, float], ...], cycle: int) -> float: ...


def at(schedule: float | tuple[tuple[int, float], ...], cycle: int) -> float:
    """Return the value of a schedule at `cycle`; a plain number is the same at every cycle."""
    if not isinstance(schedule, tuple):
        return schedule
    return [value for start, value in schedule if start <= cycle][-1]


def values_at(pairs: Iterable[tuple[str, Any]], cycle: int) -> dict[str, Any]:
    """Return the value at `cycle` of every (key, value), as a section of a recipe yields them.

    >>> values_at({"visits": ((0, 16), (20, 32)), "mirror": True}.items(), 30)
    {'visits': 32, 'mirror': True}
    """
    return {key: at(value, cycle) for key, value in pairs}


def start_cycles(values: Iterable[object]) -> list[int]:
    """Return the cycles at which any of the values changes, in rising order; the first is 0.

    >>> start_cycles([((0, 16), (20, 32)), 7, "adamw"])
    [0, 20]
    """
    return sorted({start for value in values if isinstance(value, tuple) for start, _ in value} | {0})
