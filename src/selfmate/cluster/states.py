"""What the dispatcher keeps of its workers and seats, what they play, and how long it waits for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from selfmate.cluster.fleet import Seat

__all__ = ["Counts", "SeatState", "Shares", "Task", "Times", "WorkerState"]


class Times(NamedTuple):
    """Seconds that the dispatcher waits for; tests have shorter ones."""

    report: float = 0.25
    """Between two reports of a worker."""
    report_per_worker: float = 0.01
    """The same for each worker, so that many of them do not keep the driver busy."""
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
    is_starting: bool = True
    """Until its first report, and while it loads its first net."""
    nets: list[str] = field(default_factory=list)
    """That it was given, the newest last."""
    slots: dict[bool, int] = field(default_factory=dict)
    """Games at once, with a net and without."""
    unfinished: int = 0
    rate: float = 0.0
    """Games per second, averaged over reports."""
    reported: float = 0.0
    is_silent: bool = False
    is_told_to_rest: bool = False
    rests: bool = False
    """Whether it has returned its games in flight."""


@dataclass
class SeatState:
    """What happened in a seat."""

    failures: int = 0
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
