"""The machines of a cluster, as the dispatcher sees them; `RayFleet` has those of Ray."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

__all__ = ["Fleet", "Reply", "Seat"]


class Seat(NamedTuple):
    """A place for one worker: a GPU or a group of cores of a machine."""

    key: str
    """Unique in the cluster, and the same for as long as the machine is in it."""
    name: str
    """For messages."""
    lanes: int
    pools: int = 1
    """Workers of the machine."""
    machine: str = ""
    """Its name, for the view of machines."""


class Reply(NamedTuple):
    """The answer of a worker to a call: a report, or why there is none."""

    worker: str
    report: object | None
    """Bytes of a `Report`, from a worker that does what it should."""
    error: str
    """In one line; empty for a report. A worker whose report was lost is ended: its games may be lost with it."""


class Fleet(Protocol):
    """Starts workers in seats and calls them. Methods are called by one thread at a time, but `put` by another one."""

    def seats(self) -> list[Seat]:
        """Return the seats that there are now."""
        ...

    def notices(self) -> list[str]:
        """Return lines about machines that cannot be used, each once."""
        ...

    def put(self, data: bytes) -> Any:
        """Store a block for workers, one copy for each machine; return what `call` takes for it."""
        ...

    def start(self, worker: str, seat: Seat, setup: bytes) -> None:
        """Start a worker with a new name."""
        ...

    def call(self, worker: str, orders: bytes, net: Any | None) -> None:
        """Send orders to a worker, which answers once."""
        ...

    def replies(self, seconds: float) -> list[Reply]:
        """Return the answers that there are; wait for the first, at most for `seconds`."""
        ...

    def kill(self, worker: str) -> None:
        """End a worker; nothing that it has sent arrives any more."""
        ...

    def close(self) -> None:
        """End all workers."""
        ...
