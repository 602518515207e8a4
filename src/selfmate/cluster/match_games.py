"""Games of matches on a fleet: leases of scheduled games, each given out again if its worker is lost.

Unlike self-play a match has no cycles and no next net, so a worker gets some games, plays all of them and returns them.
A lease is a few seconds of work: what is in flight when the match is stopped is played again later.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from selfmate.cluster.dispatcher import MAX_FAILURES
from selfmate.cluster.fleet import Fleet, Seat
from selfmate.cluster.leases import Arrival, Leases
from selfmate.cluster.messages import ClusterError
from selfmate.cluster.states import SeatState, Times
from selfmate.errors import SelfmateError
from selfmate.match.runner import EvaluationCount
from selfmate.match.schedule import ScheduledGame
from selfmate.util.text import many

__all__ = ["LeasedMatch", "MatchDispatcher"]

LEASE_SECONDS: Final = 10.0
"""Work of a lease, by the speed of its worker: short beside a match, long beside the start of a pool."""

T = TypeVar("T")


class LeasedMatch(Protocol[T]):
    """Games of a match that workers play: with what they are set up, and how their answers are read."""

    games: Sequence[ScheduledGame]
    nets: bytes
    """Of all players, for every worker once."""
    first_games: int
    """For each lane in the first lease of a worker, whose speed is not known yet."""

    def setup(self, lanes: int) -> bytes:
        """Return the message with which a worker of so many lanes starts."""
        ...

    def read(self, message: object) -> tuple[list[tuple[int, T]], EvaluationCount]:
        """Return the played games by number; raise `SelfmateError` for anything else."""
        ...

    def problem(self, game: ScheduledGame, played: T) -> str:
        """Return why it is not the game that was scheduled; empty if it may be."""
        ...


@dataclass
class MatchWorkerState:
    name: str
    seat: Seat
    called: float | None = None
    lease: int = 0
    rate: float = 0.0
    """Games a second."""
    has_nets: bool = False
    is_silent: bool = False


class MatchDispatcher(Generic[T]):
    """Plays the games of one match on a fleet: `play` once, in the thread that calls it."""

    def __init__(
        self,
        fleet: Fleet,
        match: LeasedMatch[T],
        *,
        say: Callable[[str], None],
        times: Times = Times(),  # noqa: B008  immutable
    ) -> None:
        self.fleet, self.match, self.say, self.times = fleet, match, say, times
        self.leases = Leases()
        self.evaluated = EvaluationCount()
        self._games: dict[int, ScheduledGame] = {}
        self._places: dict[int, int] = {}  # by number of a game: its place, which is what is leased (lowest first)
        for place, game in enumerate(match.games):
            self._games[place] = game
            self._places[game.number] = place
        self._block = fleet.put(match.nets)
        self._workers: dict[str, MatchWorkerState] = {}
        self._seats: dict[str, SeatState] = {}
        self._looked = -math.inf
        self._numbers = itertools.count(1)

    def play(self, *, on_finished: Callable[[list[T]], None], stopping: Callable[[], bool]) -> EvaluationCount:
        """Play until every game has come back or `stopping` is true; return what was evaluated."""
        self.leases.want(self._games)
        try:
            while self.leases.missing and not stopping():
                # 1. Machines, and leases for workers without one
                self._look()
                for worker in list(self._workers.values()):
                    if worker.called is None:
                        self._call(worker)
                # 2. What has come back
                for reply in self.fleet.replies(self.times.report):
                    if (found := self._workers.get(reply.worker)) is None:
                        continue
                    if reply.error:
                        self._drop(found, reply.error)
                        continue
                    new: list[T] = []
                    try:
                        self._take(found, reply.report, new)
                    except SelfmateError as error:
                        self._drop(found, f"its report was refused: {error}")
                    if new:  # also games before the one for which a report was refused: they count as taken
                        on_finished(new)
                # 3. Workers that do not answer
                self._watch()
        finally:
            self.fleet.close()
        return self.evaluated

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < self.times.seats:
            return
        self._looked = now
        seats = self.fleet.seats()
        for line in self.fleet.notices():
            self.say(line)
        for seat in seats:
            state = self._seats.setdefault(seat.key, SeatState())
            if state.worker is None and state.failures < MAX_FAILURES and now >= state.not_before:
                name = f"{seat.name}-{next(self._numbers)}"
                self.fleet.start(name, seat, self.match.setup(seat.lanes))
                state.worker = name
                self._workers[name] = MatchWorkerState(name, seat)
        keys = {seat.key for seat in seats}
        for worker in list(self._workers.values()):
            if worker.seat.key not in keys:
                self._drop(worker, "its machine has left")
        if seats and not self._workers and all(self._seats[key].failures >= MAX_FAILURES for key in keys):
            raise ClusterError(f"no machine of the cluster can play: each has failed {MAX_FAILURES} times")

    def _call(self, worker: MatchWorkerState) -> None:
        """Give a worker a lease of some seconds; near the end of the match, a share of what is left."""
        wanted = (
            max(2, round(LEASE_SECONDS * worker.rate)) if worker.rate else self.match.first_games * worker.seat.lanes
        )
        share = math.ceil(self.leases.pending / max(1, len(self._workers)))
        places = self.leases.hand_out(worker.name, min(wanted, share))
        if not places:
            return
        message = msgspec.msgpack.encode([tuple(self._games[place]) for place in places])
        self.fleet.call(worker.name, message, None if worker.has_nets else self._block)
        worker.has_nets, worker.called, worker.lease = True, time.monotonic(), len(places)

    def _take(self, worker: MatchWorkerState, message: object, new: list[T]) -> None:
        """Add the games of a report to `new`, each once; raise for one that the worker cannot have made."""
        played, evaluated = self.match.read(message)
        for number, game in played:
            place = self._places.get(number)
            if place is None or (problem := self.match.problem(self._games[place], game)):
                raise ClusterError(f"game {number} {problem if place is not None else 'is not of this match'}")
            arrival = self.leases.take(worker.name, place)
            if arrival is Arrival.FOREIGN:
                raise ClusterError(f"game {number} was not given to it")
            if arrival is Arrival.NEW:
                new.append(game)
        assert worker.called is not None
        if len(played) < worker.lease:
            raise ClusterError(f"{many(worker.lease - len(played), 'game')} of its lease are missing")
        worker.rate = len(played) / max(time.monotonic() - worker.called, 1e-3)
        worker.called, worker.is_silent = None, False
        self._seats[worker.seat.key].failures = 0
        self.evaluated += evaluated

    def _watch(self) -> None:
        now = time.monotonic()
        for worker in list(self._workers.values()):
            if worker.called is None:
                continue
            # The first lease includes the start of a process and of its nets, and its length is not known. A later one
            # has two games at least, which may take longer than the seconds of a lease.
            expected = max(LEASE_SECONDS, worker.lease / worker.rate) if worker.rate else 0.0
            patience = 3 * expected + self.times.silence if worker.rate else self.times.start
            silence = now - worker.called - patience
            if silence > self.times.loss:
                self._drop(worker, f"it has been silent for {now - worker.called:.0f} s")
            elif silence > 0 and not worker.is_silent:
                worker.is_silent = True
                given = self.leases.release(worker.name)
                self.say(f"{worker.name} is silent; {many(given, 'game')} are given to others.")

    def _drop(self, worker: MatchWorkerState, reason: str) -> None:
        self.fleet.kill(worker.name)
        del self._workers[worker.name]
        given = self.leases.lose(worker.name)
        state = self._seats[worker.seat.key]
        state.worker = None
        state.failures += 1
        state.not_before = time.monotonic() + self.times.retry * 2 ** (state.failures - 1)
        what = f"; {many(given, 'game')} are given out again" if given else ""
        self.say(f"Lost worker {worker.name}: {reason}{what}.")
