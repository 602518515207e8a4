"""The arguments of a UCI `go` command."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Final

from selfmate import _core
from selfmate._core import Move
from selfmate.uci.options import Settings

__all__ = ["Go", "Limits"]


MOST: Final = (1 << 32) - 1


DIGITS: Final = 20
"""Of a number, as many as are read: one with more is `MOST` anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What `go` asked for; times are in milliseconds."""

    white_time: int | None = None
    black_time: int | None = None
    white_increment: int = 0
    black_increment: int = 0
    moves_to_go: int | None = None
    move_time: int | None = None
    nodes: int | None = None
    depth: int | None = None
    mate: int | None = None
    moves: tuple[Move, ...] = ()
    infinite: bool = False
    ponder: bool = False
    perft: int | None = None

    @property
    def is_endless(self) -> bool:
        """Whether only `stop` ends it."""
        ends = (self.white_time, self.black_time, self.move_time, self.nodes, self.depth, self.mate)
        return self.infinite or all(end is None for end in ends)


@dataclass(slots=True, eq=False)
class Go:
    """One `go`, from the moment it was read to its `bestmove`."""

    position: _core.Position
    settings: Settings
    limits: Limits
    began: float
    hit_at: float | None = None
    """When `ponderhit` came."""
    stopped: bool = False
    woken: threading.Event = field(default_factory=threading.Event)
    """Set when one of the two above changes."""
    answered: bool = False
    """Set just before the `bestmove` is sent."""
    finished: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """Ask for the `bestmove` now."""
        self.stopped = True
        self.woken.set()

    def hit(self) -> None:
        """Say that the expected move was played."""
        self.hit_at = time.perf_counter()
        self.woken.set()
