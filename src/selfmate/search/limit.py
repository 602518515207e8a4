"""When a search ends: one value for players, matches and the UCI engine."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Final

from selfmate.errors import PlayerError, clip, clip_repr
from selfmate.util.numbers import positive_number, whole_number

__all__ = ["MAX_VISITS", "Clock", "Limit"]

MAX_VISITS: Final = (1 << 32) - 1
"""The largest number of visits that the core counts; it stands for a search without a limit on visits."""
MAX_NODES: Final = (1 << 63) - 1

_SECONDS: Final = r"[0-9]{1,7}(?:\.[0-9]{1,6})?"


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of the side to move, in seconds. At the start of a game it is the time control.

    >>> Clock.parse("10+0.1")
    Clock(remaining=10.0, increment=0.1, moves_to_go=None)
    >>> str(Clock.parse("60"))
    '60+0'
    """

    remaining: float
    increment: float = 0.0
    """Added after every move."""
    moves_to_go: int | None = None
    """Moves to the next time control; None when the time left is for the rest of the game."""

    @classmethod
    def parse(cls, text: str) -> Clock:
        """Return the clock written `SECONDS+INCREMENT` or `SECONDS`; any other text raises `PlayerError`."""
        found = re.fullmatch(rf"({_SECONDS})(?:\+({_SECONDS}))?", text.strip())
        if found is None or float(found[1]) <= 0:
            raise PlayerError(f"tc is written SECONDS+INCREMENT, such as 10+0.1, not {clip(text)!r}", text)
        return cls(float(found[1]), float(found[2] or 0))

    def __str__(self) -> str:
        return f"{self.remaining:g}+{self.increment:g}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Limit:
    """When a search ends: at the first of these. Without any of them it has no limit.

    >>> Limit(visits=800)
    Limit(visits=800)
    >>> str(Limit(nodes=1, seconds=0.05, clock=Clock(1.0, 0.02)))
    '1 node, 50 ms, 1+0.02 s'
    >>> Limit(visits=0)
    Traceback (most recent call last):
    ...
    selfmate.errors.PlayerError: visits of a limit must be a whole number from 1 to 4294967295, not 0
    """

    visits: int | None = None
    """Playouts of this search; UCI calls them nodes."""
    seconds: float | None = None
    """Checked between two batches of leaves."""
    nodes: int | None = None
    """Positions in the tree; for a UCI engine in a match, what it calls nodes."""
    depth: int | None = None
    """Mean length of the playouts, in plies."""
    mate: int | None = None
    """Moves to a proven win."""
    clock: Clock | None = None
    """Time left for the game, from which the UCI engine plans each move (`selfmate.uci.time_manager`)."""

    def __post_init__(self) -> None:
        for name, most in (("visits", MAX_VISITS), ("nodes", MAX_NODES), ("depth", MAX_VISITS), ("mate", MAX_VISITS)):
            number = getattr(self, name)
            if number is not None:
                whole = whole_number(f"{name} of a limit", number, 1, most, PlayerError)
                object.__setattr__(self, name, whole)
        if self.seconds is not None:
            object.__setattr__(self, "seconds", positive_number("seconds of a limit", self.seconds, PlayerError))
        clock: object = self.clock
        if clock is not None and not isinstance(clock, Clock):
            shown = clip_repr(clock)
            raise PlayerError(f"clock of a limit must be a Clock, not {shown}", shown)

    @property
    def is_set(self) -> bool:
        """Whether anything is limited."""
        return any(getattr(self, each.name) is not None for each in fields(self))

    @property
    def is_timed(self) -> bool:
        """Whether time is limited."""
        return self.seconds is not None or self.clock is not None

    def __repr__(self) -> str:
        shown = [f"{each.name}={value!r}" for each in fields(self) if (value := getattr(self, each.name)) is not None]
        return f"Limit({', '.join(shown)})"

    def __str__(self) -> str:
        parts = [
            f"{number} {unit if number == 1 else units}"
            for number, unit, units in (
                (self.visits, "visit", "visits"),
                (self.nodes, "node", "nodes"),
                (None if self.seconds is None else f"{1000 * self.seconds:.9g}", "ms", "ms"),
            )
            if number is not None
        ]
        if self.depth is not None:
            parts.append(f"depth {self.depth}")
        if self.mate is not None:
            parts.append(f"mate {self.mate}")
        if self.clock is not None:
            parts.append(f"{self.clock} s")
        return ", ".join(parts)
