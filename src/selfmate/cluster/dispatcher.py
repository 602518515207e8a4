"""Hands out leases of games to the workers of a cluster and takes the games that come back, in a thread of its own.

A worker has one call at a time: orders go out with its next lease, its report brings finished games. What it does not
report is given out again when it has ended, or has been silent for too long; a game that comes twice is taken once.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from selfmate._core import GameRecord
from selfmate.cluster.fleet import Fleet, Reply, Seat
from selfmate.cluster.leases import Arrival, Leases
from selfmate.cluster.messages import ClusterError, Orders, Report, Setup, read_report
from selfmate.cluster.states import Counts, SeatState, Shares, Task, Times, WorkerState
from selfmate.cluster.worker import pack_records, read_records
from selfmate.errors import SelfmateError
from selfmate.train.status import MachineStatus
from selfmate.util.text import many

__all__ = ["Dispatcher"]

MAX_FAILURES: Final = 5
"""Failures of a seat in a row, without a game between them, after which it is not used any more."""


class Dispatcher:
    """Plays games on a fleet: `assign`, then wait for `finished` under `changed`; `rest` and `close` at the end.

    Only its own thread calls `step`. `check` returns what is wrong with a game of a cycle, finished or in flight.
    `begun` are games that earlier sessions have begun.
    """

    def __init__(
        self,
        fleet: Fleet,
        setup: Setup,
        check: Callable[[GameRecord, int, bool], str | None],
        *,
        say: Callable[[str], None],
        begun: Mapping[int, GameRecord],
        times: Times = Times(),  # noqa: B008  immutable
    ) -> None:
        self.fleet = fleet
        self.setup = setup
        self.check = check
        self.say = say
        self.times = times
        self.beat: Callable[[], None] = lambda: None
        self.show: Callable[[Sequence[MachineStatus]], None] = lambda machines: None
        """Gets the state of all machines every `times.seats` seconds."""
        self.changed = threading.Condition()
        self.finished: dict[int, GameRecord] = {}
        """Games that have arrived and were not fetched yet, by id."""
        self.flight: dict[int, GameRecord] = {}
        """Games in flight that workers returned at rest, by id."""
        self.begun = dict(begun)
        self.counts = Counts()
        self.leases = Leases()
        self.workers: dict[str, WorkerState] = {}
        self.error: Exception | None = None
        self._seats: dict[str, SeatState] = {}
        self._present: list[Seat] = []
        self._looked = self._watched = -math.inf
        self._task: Task | None = None
        self._resting = False
        self._closing = False
        self._numbers = itertools.count(1)
        self._thread = threading.Thread(target=self._run, name="dispatcher", daemon=True)

    # -- for the owner ------------------------------------------------------------------------------------------------

    def assign(self, task: Task, floor: int, games: list[int]) -> None:
        """Let the workers play games of a task; those below `floor` belong to cycles that are over."""
        with self.changed:
            self._task, self._resting = task, False
            self.leases.forget(floor)
            self.leases.want(games)
            self.begun = {game: record for game, record in self.begun.items() if game >= floor}
            self.changed.notify_all()
        if not self._thread.is_alive() and not self._closing:
            self._thread.start()

    def slots(self) -> int:
        """Return the number of games at once of all workers, as far as they have told."""
        with self.changed:
            has_net = self._task is not None and not self._task.evaluator
            return sum(worker.slots.get(has_net, 0) for worker in self.workers.values())

    def rest(self) -> None:
        """Let the workers rest; wait until `flight` has their games, as far as they answer in time."""
        deadline = time.monotonic() + self.times.rest
        with self.changed:
            self._resting = True
            for worker in self.workers.values():
                worker.rests = False
            self.changed.notify_all()
            while self._thread.is_alive() and any(not worker.rests for worker in self._able()):
                if not self.changed.wait(timeout=deadline - time.monotonic()):
                    break
            self._task = None

    def close(self) -> None:
        """End the thread and all workers."""
        with self.changed:
            self._closing = True
            self.changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()
        self.fleet.close()

    def machines(self) -> list[MachineStatus]:
        """Return what every machine does that has or had workers, in the order of their names."""
        found: dict[str, MachineStatus] = {}
        with self.changed:
            for state in self._seats.values():
                before = found.get(state.machine) or MachineStatus(state.machine, 0, 0.0, 0.0, 0, 0.0, 0)
                found[state.machine] = before._replace(lost=before.lost + state.lost)
            for worker in self.workers.values():
                machine = worker.seat.machine or worker.seat.name
                before = found[machine]
                found[machine] = before._replace(
                    workers=before.workers + 1,
                    games_per_second=before.games_per_second + worker.rate,
                    evaluations_per_second=before.evaluations_per_second + worker.evaluation_rate,
                    games=before.games + self.leases.out(worker.name),
                    lease_age=max(before.lease_age, self.leases.age(worker.name)),
                )
        return [found[name] for name in sorted(found)]

    def _able(self) -> list[WorkerState]:
        return [worker for worker in self.workers.values() if not worker.is_silent and worker.slots]

    # -- the thread ---------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._closing:
                self.beat()
                self.step()
                self.counts.dispatcher_seconds = time.thread_time()
        except Exception as error:
            with self.changed:
                self.error = error
                self.changed.notify_all()

    def step(self) -> None:
        """Look for machines, send orders to workers without any, take reports, look for silent workers."""
        self._look()
        with self.changed:
            idle = [worker for worker in self.workers.values() if worker.called is None]
            shares = (
                self._shares() if idle else Shares(0, 0.0)
            )  # once: a step takes time by the workers, not their square
            calls = [(worker, orders) for worker in idle if (orders := self._orders(worker, shares))]
            task = self._task
        for worker, orders in calls:
            self._call(worker, orders, task)
        if not any(worker.called is not None for worker in self.workers.values()):
            with self.changed:
                self.changed.wait(timeout=self.times.report)
            return
        for reply in self.fleet.replies(self._patience()):
            self._read(reply)
        self._watch()

    def _patience(self) -> float:
        """Return for how long to wait for reports: until the first one is due, or shortly where a worker is idle.

        A look without a result costs a fifth of a report.
        """
        now = time.monotonic()
        due = [each.called + each.interval - now for each in self.workers.values() if each.called is not None]
        if len(due) < len(self.workers):
            return self.times.report
        return min(max(min(due), self.times.report), max(self.times.seats, self.times.report))

    # 1. Machines

    def _look(self) -> None:
        """Start a worker in every seat that has none; forget workers whose machine has left."""
        now = time.monotonic()
        if now - self._looked < self.times.seats or self._resting:
            return
        self._looked = now
        self._present = self.fleet.seats()
        for line in self.fleet.notices():
            self.say(line)
        for seat in self._present:
            state = self._seats.setdefault(seat.key, SeatState(machine=seat.machine or seat.name))
            if state.worker is None and state.failures < MAX_FAILURES and now >= state.not_before:
                name = f"{seat.name}-{next(self._numbers)}"
                setup = msgspec.structs.replace(self.setup, lanes=seat.lanes, pools=seat.pools)
                self.fleet.start(name, seat, setup.to_bytes())
                state.worker = name
                with self.changed:
                    self.workers[name] = WorkerState(name, seat, now, reported=now)
        keys = {seat.key for seat in self._present}
        for worker in list(self.workers.values()):
            if worker.seat.key not in keys:
                self._drop(worker, "its machine has left")
        if self._present and not self.workers and all(self._seats[key].failures >= MAX_FAILURES for key in keys):
            raise ClusterError(
                f"no machine of the cluster can play: each has failed {MAX_FAILURES} times (reasons: console.log)"
            )
        self.show(self.machines())

    # 2. Orders

    def _orders(self, worker: WorkerState, shares: Shares) -> Orders | None:
        """Return the next orders of a worker that has none; None if there is nothing to do."""
        task = self._task
        if task is None or (self._resting and (worker.rests or not worker.slots)):
            return None
        has_net, games = not task.evaluator, list[int]()
        if not self._resting and has_net in worker.slots:  # it tells them when it has loaded the net
            if self.leases.pending:
                games = self.leases.hand_out(worker.name, self._room(worker, worker.slots[has_net], shares))
            if not games and not worker.unfinished and not self.leases.out(worker.name):
                return None
        begun = [self.begun[game] for game in games if game in self.begun]
        return Orders(
            cycle=task.cycle,
            evaluator=task.evaluator,
            net=task.net,
            games=games,
            begun=pack_records(begun),
            seconds=self._interval(worker),
            rest=self._resting,
        )

    def _interval(self, worker: WorkerState) -> float:
        return self.times.interval(worker.rate, len(self.workers))

    def _shares(self) -> Shares:
        """Return what the share of a worker in the games that are left is computed from."""
        rates = [each.rate for each in self.workers.values() if each.slots and not each.is_silent]
        return Shares(len(rates), sum(rates) if len(rates) > 1 and all(rates) else 0.0)

    def _room(self, worker: WorkerState, slots: int, shares: Shares) -> int:
        """Return how many more games a worker gets: all its slots are busy until its next report but one.

        When fewer games are left than there are slots, each worker gets a share by its speed, so that all end together.
        """
        busy = max(worker.unfinished, self.leases.out(worker.name))
        room = slots + math.ceil(2 * self._interval(worker) * worker.rate) - busy
        share = 1 / max(1, shares.workers)
        if shares.rate:
            share = 0.0 if worker.is_silent else worker.rate / shares.rate
        return max(0, min(room, math.ceil(share * self.leases.pending)))

    def _call(self, worker: WorkerState, orders: Orders, task: Task | None) -> None:
        block = None
        if task is not None and orders.net and orders.net == task.net and worker.nets[-1:] != [task.net]:
            block = task.block
            worker.nets = [*worker.nets[-1:], task.net]
        self.fleet.call(worker.name, orders.to_bytes(), block)
        worker.called, worker.is_told_to_rest = time.monotonic(), orders.rest
        worker.interval = orders.seconds

    # 3. Reports

    def _read(self, reply: Reply) -> None:
        worker = self.workers.get(reply.worker)
        if worker is None:
            return
        if reply.error:
            self._drop(worker, reply.error)
            return
        try:
            self._take(worker, reply.report)
        except SelfmateError as error:
            self.counts.refused += 1
            self._drop(worker, f"its report was refused: {error}")

    def _take(self, worker: WorkerState, message: object) -> None:
        """Take the games of a report; raise for one that the worker cannot have made."""
        report = read_report(message)
        if report.net and report.net not in worker.nets:
            raise ClusterError(f"games of an unknown net {report.net[:12]}", report.net)
        records, flight = read_records(report.games), read_records(report.flight)
        with self.changed:
            new = 0
            for record in records:
                self._check(record, is_finished=True)
                arrival = self.leases.take(worker.name, record.game_id)
                if arrival is Arrival.FOREIGN:
                    raise ClusterError(f"game {record.game_id} was not given to it")
                if arrival is Arrival.REPEATED:
                    self.counts.repeated += 1
                    continue
                self.finished[record.game_id] = record
                self.begun.pop(record.game_id, None)
                new += 1
            for record in flight:
                self._check(record, is_finished=False)
                self.flight[record.game_id] = record
            self.counts.evaluations += report.evaluations
            self._update(worker, new, report)
            self.changed.notify_all()

    def _check(self, record: GameRecord, *, is_finished: bool) -> None:
        cycle = 0 if self._task is None else self._task.cycle
        if (problem := self.check(record, cycle, is_finished)) is not None:
            raise ClusterError(f"game {record.game_id} {problem}")

    def _update(self, worker: WorkerState, new: int, report: Report) -> None:
        now = time.monotonic()
        seconds = max(now - worker.reported, 1e-3)
        worker.rate = _averaged(worker.rate, new / seconds)
        worker.evaluation_rate = _averaged(worker.evaluation_rate, report.evaluations / seconds)
        worker.reported, worker.called, worker.unfinished = now, None, report.unfinished
        worker.is_silent = worker.is_starting = False
        worker.rests = worker.is_told_to_rest
        if report.slots and not worker.slots:
            self.say(f"Worker {worker.name} plays {many(report.slots, 'game')} at once.")
        if report.slots:
            worker.slots[bool(report.net)] = report.slots
        if self.leases.out(worker.name) > report.unfinished:  # it has had orders for another cycle since its lease
            self.counts.given_again += self.leases.release(worker.name)
        if new:
            self._seats[worker.seat.key].failures = 0

    # 4. Losses

    def _watch(self) -> None:
        """Give the games of silent workers to others; end those that have been silent for too long."""
        now = time.monotonic()
        if now - self._watched < self.times.report:
            return
        self._watched = now
        for worker in list(self.workers.values()):
            if worker.called is None:
                continue
            silence = now - worker.called - worker.interval
            if silence > (self.times.start if worker.is_starting else self.times.loss):
                self._drop(worker, f"it has been silent for {silence:.0f} s")
            elif silence > self.times.silence and not worker.is_silent and not worker.is_starting:
                with self.changed:
                    worker.is_silent = True
                    given = self.leases.release(worker.name)
                    self.counts.given_again += given
                self.say(f"{worker.name} is silent; {many(given, 'game')} are given to others.")

    def _drop(self, worker: WorkerState, reason: str) -> None:
        """End a worker; its games are given out again, and its seat gets another one later."""
        self.fleet.kill(worker.name)
        with self.changed:
            del self.workers[worker.name]
            given = self.leases.lose(worker.name)
            self.counts.lost += 1
            self.counts.given_again += given
            self.changed.notify_all()
        state = self._seats[worker.seat.key]
        state.worker = None
        state.failures += 1
        state.lost += 1
        state.not_before = time.monotonic() + self.times.retry * 2 ** (state.failures - 1)
        what = f"; {many(given, 'game')} are given out again" if given else ""
        end = f"; {worker.seat.name} is not used any more" if state.failures >= MAX_FAILURES else ""
        self.say(f"Lost worker {worker.name}: {reason}{what}{end}.")


def _averaged(before: float, now: float) -> float:
    """Return a speed averaged over about five reports; the first one counts alone."""
    return now if not before else 0.8 * before + 0.2 * now
