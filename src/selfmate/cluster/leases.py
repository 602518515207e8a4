"""Which games are to be played, which are out with which worker, and which have come back."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable
from enum import Enum

__all__ = ["Arrival", "Leases"]


class Arrival(Enum):
    """What the arrival of a game means."""

    NEW = "new"
    """The game is taken."""
    REPEATED = "repeated"
    """It was taken before, from this or another worker, or its cycle is over."""
    FOREIGN = "foreign"
    """The worker never had a lease of it."""


class Leases:
    """Hands out game ids, lowest first. Every wanted game is taken exactly once, whatever happens to the workers.

    >>> leases = Leases()
    >>> leases.want(range(4))
    >>> leases.hand_out("a", 3), leases.hand_out("b", 3)
    ([0, 1, 2], [3])
    >>> leases.take("a", 1), leases.take("b", 1)
    (<Arrival.NEW: 'new'>, <Arrival.REPEATED: 'repeated'>)
    >>> leases.lose("a"), leases.hand_out("b", 3), leases.missing
    (2, [0, 2], 3)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._floor = 0  # games below it belong to cycles that are over
        self._wanted: set[int] = set()  # not taken yet
        self._taken: set[int] = set()
        self._pending: list[int] = []  # a heap of games that are not out; some were taken meanwhile
        self._holders: dict[int, str] = {}  # of games that are out
        self._out: dict[str, dict[int, float]] = {}  # the same by worker, with the time since when, oldest first
        self._claims: dict[str, set[int]] = {}  # by worker: every game that it ever had, and may yet send

    @property
    def missing(self) -> int:
        """Number of games that are wanted and have not come back."""
        return len(self._wanted)

    @property
    def pending(self) -> int:
        """Number of games that are wanted and not out."""
        return len(self._wanted) - len(self._holders)

    def want(self, games: Iterable[int]) -> None:
        """Add games; those that are wanted or taken already are not added again."""
        for game in games:
            if game >= self._floor and game not in self._wanted and game not in self._taken:
                self._wanted.add(game)
                heapq.heappush(self._pending, game)

    def forget(self, floor: int) -> None:
        """End the cycles of games below `floor`: a game of them that arrives is a repeated one."""
        self._floor = floor
        self._wanted = {game for game in self._wanted if game >= floor}
        self._taken = {game for game in self._taken if game >= floor}
        self._pending = sorted(game for game in self._pending if game in self._wanted)
        self._holders = {game: worker for game, worker in self._holders.items() if game >= floor}
        for worker, out in self._out.items():
            self._out[worker] = {game: since for game, since in out.items() if game >= floor}
        for worker, claims in self._claims.items():
            self._claims[worker] = {game for game in claims if game >= floor}

    def hand_out(self, worker: str, count: int) -> list[int]:
        """Return a lease of at most `count` games for a worker, lowest ids first."""
        lease: list[int] = []
        while self._pending and len(lease) < count:
            game = heapq.heappop(self._pending)
            if game in self._wanted and game not in self._holders:
                self._holders[game] = worker
                lease.append(game)
        self._out.setdefault(worker, {}).update(dict.fromkeys(lease, self._clock()))
        self._claims.setdefault(worker, set()).update(lease)
        return lease

    def out(self, worker: str) -> int:
        """Return the number of games that are out with a worker."""
        return len(self._out.get(worker, ()))

    def age(self, worker: str) -> float:
        """Return for how many seconds the oldest game that is out with a worker has been so; 0 if none is."""
        since = next(iter(self._out.get(worker, {}).values()), None)
        return 0.0 if since is None else self._clock() - since

    def take(self, worker: str, game: int) -> Arrival:
        """Count a game that a worker has sent; only `Arrival.NEW` is to be used."""
        if game < self._floor or game in self._taken:
            return Arrival.REPEATED
        if game not in self._claims.get(worker, ()):
            return Arrival.FOREIGN
        if (holder := self._holders.pop(game, None)) is not None:
            self._out[holder].pop(game, None)
        self._wanted.discard(game)
        self._taken.add(game)
        return Arrival.NEW

    def release(self, worker: str) -> int:
        """Make the games of a silent worker available to others; return their number. What it sends is still taken."""
        games = self._out.pop(worker, {})
        for game in games:
            del self._holders[game]
            heapq.heappush(self._pending, game)
        return len(games)

    def lose(self, worker: str) -> int:
        """As `release`, for a worker that is gone."""
        self._claims.pop(worker, None)
        return self.release(worker)
