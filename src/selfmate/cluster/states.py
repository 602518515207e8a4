"""What the dispatcher keeps of its workers and seats, what they play, and how long it waits for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from selfmate.cluster.fleet import Seat

__all__ = ["Counts", "SeatState", "Shares", "Task", "Times", "WorkerState"]


class Times(NamedTuple):
    """Seconds that the dispatcher waits for; tests have shorter ones."""

    report: float = 0.25
    """Between two reports of a worker, at least."""
    report_games: int = 128
    """Games of a report that is worth its call: of Gardner 84 kB, and Ray sends 100 kB at most without its store."""
    longest: float = 2.0
    """For which a worker waits for so many games: a stop and a new net reach it with its next report."""
    report_per_worker: float = 0.01
    """Between two reports of a worker for each worker, so that many of them do not keep the driver busy."""
    silence: float = 30.0
    """Beyond the time of its report, after which the games of a worker are given to others."""
    loss: float = 120.0
    """The same, after which it is ended."""
    start: float = 900.0
    """For a worker that starts or loads its first net, which may have to be compiled."""
    seats: float = 2.0
    """Between two looks at the machines."""
    rest: float = 20.0
    """For the games in flight at the end of a session."""
    retry: float = 1.0
    """Until a seat gets its next worker after a failure; twice that after the second, and so on."""

    def interval(self, rate: float, workers: int) -> float:
        """Return the seconds until the next report of one of so many workers; it finishes `rate` games a second.

        >>> [Times().interval(rate, 1) for rate in (0.0, 10.0, 128.0, 10_000.0)], Times().interval(10.0, 1000)
        ([0.25, 2.0, 1.0, 0.25], 10.0)
        """
        wanted = self.report_games / rate if rate else self.report
        return max(self.report, min(wanted, self.longest), self.report_per_worker * workers)


class Task(NamedTuple):
    """What the workers play now."""

    cycle: int
    evaluator: str
    """Of the core; empty: the net."""
    net: str
    """Name of the net (`pack_net`); empty where the core's evaluator plays."""
    block: Any
    """What `Fleet.call` takes for it."""


class Shares(NamedTuple):
    """The workers that get games, at one moment."""

    workers: int
    rate: float
    """Games per second of all of them; 0 while one of them has none yet: then all get the same share."""


@dataclass
class WorkerState:
    """A worker, as its reports tell."""

    name: str
    seat: Seat
    began: float
    called: float | None = None
    """When it got its orders; None while it has none."""
    interval: float = 0.0
    """Seconds in which its report is due."""
    is_starting: bool = True
    """Until its first report, and while it loads its first net."""
    nets: list[str] = field(default_factory=list)
    """That it was given, the newest last."""
    slots: dict[bool, int] = field(default_factory=dict)
    """Games at once, with a net and without."""
    unfinished: int = 0
    rate: float = 0.0
    """Games per second, averaged over reports."""
    evaluation_rate: float = 0.0
    """Evaluations per second, the same."""
    reported: float = 0.0
    is_silent: bool = False
    is_told_to_rest: bool = False
    rests: bool = False
    """Whether it has returned its games in flight."""


@dataclass
class SeatState:
    """What happened in a seat."""

    machine: str = ""
    failures: int = 0
    lost: int = 0
    """Workers, in all."""
    not_before: float = 0.0
    worker: str | None = None


@dataclass
class Counts:
    """Counters of a session."""

    evaluations: int = 0
    repeated: int = 0
    """Games that arrived again, and were not taken."""
    given_again: int = 0
    """Games whose worker was lost or silent."""
    lost: int = 0
    """Workers."""
    refused: int = 0
    """Reports."""
    dispatcher_seconds: float = 0.0
    """Processor time of the dispatcher's thread."""
