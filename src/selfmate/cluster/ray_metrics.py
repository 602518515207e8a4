"""Our counters among those of Ray: its dashboard and Prometheus show them, one series for each machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ray.util.metrics import Gauge

from selfmate.train.status import MachineStatus

__all__ = ["RayMetrics"]

GAUGES: Final = {
    "selfmate_workers": ("workers", "Workers of self-play"),
    "selfmate_games_per_second": ("games_per_second", "Finished games of self-play a second"),
    "selfmate_evaluations_per_second": ("evaluations_per_second", "Evaluations of self-play a second"),
    "selfmate_games_out": ("games", "Games that workers have and have not returned"),
    "selfmate_lease_age_seconds": ("lease_age", "Seconds since the oldest of these games was given out"),
    "selfmate_workers_lost": ("lost", "Workers lost in this session"),
}
"""By name: a field of `MachineStatus`, and the description."""


class RayMetrics:
    """Gauges of this process, which must be connected to Ray."""

    def __init__(self) -> None:
        self._gauges = {
            field: Gauge(name, description=text, tag_keys=("machine",)) for name, (field, text) in GAUGES.items()
        }

    def show(self, machines: Sequence[MachineStatus]) -> None:
        """Set the gauges. A machine that has left stays in the list, without workers."""
        for machine in machines:
            for field, gauge in self._gauges.items():
                gauge.set(float(getattr(machine, field)), {"machine": machine.name})
