"""The UCI command `go`: its arguments, and its state until the `bestmove` is sent.

>>> command, refused = parse_go("wtime 60000 btime 50000 winc 1000 nodes 9", _core.Position("chess"))
>>> command.limit
Limit(visits=9, clock=Clock(remaining=60.0, increment=1.0, moves_to_go=None))
>>> parse_go("depth x", _core.Position("chess"))[1]
"depth: a whole number follows, not 'x'; nothing else ends the search: the answer comes at once"
"""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Final

from selfmate import _core
from selfmate._core import Move
from selfmate.errors import SelfmateError, clip
from selfmate.search.limit import MAX_VISITS, Clock, Limit
from selfmate.uci.options import Settings

__all__ = ["GoCommand", "SearchJob", "parse_go"]

MAX_DIGITS: Final = 20
"""Digits of a number that are read; a longer number is `MAX_VISITS` anyway."""
AT_ONCE: Final = Limit(seconds=0.001)

LOWEST: Final = {
    **dict.fromkeys(("wtime", "btime", "winc", "binc", "movetime", "perft"), 0),
    **dict.fromkeys(("movestogo", "nodes", "depth", "mate"), 1),
}
"""The arguments that are numbers, with the least that each may be."""
HIGHEST: Final = {"perft": 100}
"""The most that an argument may be, where there is a bound; other numbers count as `MAX_VISITS` beyond that."""
CLOCKS: Final = ("wtime", "btime")
"""GUIs send the time of a clock that ran out as a negative number; it counts as 0."""
WORDS: Final = {*LOWEST, "searchmoves", "infinite", "ponder"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoCommand:
    """The arguments of `go`. UCI's nodes are visits; UCI's movetime is seconds, with the overhead still in them."""

    limit: Limit = Limit()  # noqa: RUF009  # immutable
    moves: tuple[Move, ...] = ()
    """`searchmoves`: the only moves to consider, if any."""
    infinite: bool = False
    ponder: bool = False
    perft: int | None = None

    @property
    def is_endless(self) -> bool:
        """Whether only `stop` ends it."""
        return self.infinite or not self.limit.is_set


@dataclass(slots=True, eq=False)
class SearchJob:
    """One `go`, from the moment it was read to its `bestmove`. The reading thread and the searching thread share it."""

    position: _core.Position
    settings: Settings
    command: GoCommand
    began: float
    """When `go` was read (`time.perf_counter`)."""
    hit_at: float | None = None
    """When `ponderhit` was read."""
    stopped: bool = False
    answered: bool = False
    """Set just before the `bestmove` is sent."""
    finished: threading.Event = field(default_factory=threading.Event)
    _changed: threading.Event = field(default_factory=threading.Event)
    """Set when `stopped` or `hit_at` changes."""

    def stop(self) -> None:
        """Ask for the `bestmove` now."""
        self.stopped = True
        self._changed.set()

    def hit(self) -> None:
        """Note that the expected move was played."""
        self.hit_at = time.perf_counter()
        self._changed.set()

    @property
    def is_pondering(self) -> bool:
        """Whether the expected move has not been played yet."""
        return self.command.ponder and self.hit_at is None

    @property
    def must_wait(self) -> bool:
        """Whether the `bestmove` must not be sent before `stop` or `ponderhit`."""
        return not self.stopped and (self.command.is_endless or self.is_pondering)

    def wait(self) -> None:
        """Return when the `bestmove` may be sent."""
        while True:
            self._changed.clear()
            if not self.must_wait:
                return
            self._changed.wait()


def parse_go(text: str, position: _core.Position) -> tuple[GoCommand, str]:
    """Return the arguments of `go`, and a message about what is wrong with them, or an empty one.

    What is wrong is left out. If nothing that is left ends the search, it is to end at once: a search without an end
    is not what was asked for.
    """
    words = text.split()
    command, numbers = GoCommand(), dict[str, int]()
    refused: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "infinite":
            command = replace(command, infinite=True)
        elif word == "ponder":
            command = replace(command, ponder=True)
        elif word == "searchmoves":
            moves: list[Move] = []
            while at < len(words) and words[at] not in WORDS:
                try:
                    moves.append(position.parse_uci(words[at]))
                except SelfmateError as error:
                    refused.append(f"searchmoves: {error}")
                at += 1
            command = replace(command, moves=tuple(dict.fromkeys(moves)))
        elif word in LOWEST:
            given = words[at] if at < len(words) and words[at] not in WORDS else ""
            at += bool(given)
            if not re.fullmatch(r"[+-]?[0-9]+", given):
                refused.append(f"{word}: a whole number follows, not {clip(given)!r}")
            elif (number := int(given[:MAX_DIGITS])) < LOWEST[word] and word not in CLOCKS:
                refused.append(f"{word} is {LOWEST[word]} or more, not {clip(given)}")
            elif number > HIGHEST.get(word, number):
                refused.append(f"{word} is {HIGHEST[word]} or less, not {clip(given)}")
            else:
                numbers[word] = min(max(number, LOWEST[word]), MAX_VISITS)
        else:
            refused.append(f"unknown limit {clip(word)!r}")
    command = replace(command, limit=_limit(numbers, white=position.turn), perft=numbers.get("perft"))
    if not refused:
        return command, ""
    message = f"{refused[0]} (and {len(refused) - 1} more)" if len(refused) > 1 else refused[0]
    if command.is_endless and not command.infinite and command.perft is None:
        command = replace(command, limit=AT_ONCE)
        message += "; nothing else ends the search: the answer comes at once"
    return command, message


def _limit(numbers: dict[str, int], *, white: bool) -> Limit:
    """Return the limit that the numbers of `go` make for the side to move; times are in milliseconds."""
    own, other, increment = ("wtime", "btime", "winc") if white else ("btime", "wtime", "binc")
    remaining = numbers.get(own, numbers.get(other))
    clock = None
    if remaining is not None:
        clock = Clock(remaining / 1000, numbers.get(increment, 0) / 1000, numbers.get("movestogo"))
    return Limit(
        visits=numbers.get("nodes"),
        seconds=max(1, numbers["movetime"]) / 1000 if "movetime" in numbers else None,
        depth=numbers.get("depth"),
        mate=numbers.get("mate"),
        clock=clock,
    )
