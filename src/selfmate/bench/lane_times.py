"""Where the lanes of a pool spend their time: the seconds of each step, and a trace to look at."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, Final

from selfmate.search.driver import BatchTiming

__all__ = ["LaneTimes", "draw_trace", "lane_seconds"]

GPU_STEPS: Final = ("copy there", "wait for its turn", "compute", "copy back")
COLOURS: Final = {
    "gather": "#4477aa",
    "evaluate": "#ccddaa",
    "apply": "#228833",
    "wait": "#dddddd",
    "compute": "#ee6677",
}
ROW_PIXELS, LEFT_PIXELS, WIDE_PIXELS = 24, 100, 1500


def lane_seconds(timings: Iterable[BatchTiming]) -> dict[str, float]:
    """Return the seconds that all lanes together spent in each step."""
    spent = dict.fromkeys(("gather", "evaluate", "apply", "wait for the pool"), 0.0)
    for timing in timings:
        spent["gather"] += timing.gathered - timing.began
        spent["evaluate"] += timing.answered - timing.gathered
        spent["apply"] += timing.applied - timing.applying
        spent["wait for the pool"] += timing.began - timing.asked + timing.applying - timing.answered
    return spent


class LaneTimes:
    """The times of every batch, collected as the argument `watch` of `drive`; lanes call it at the same time."""

    def __init__(self) -> None:
        self._timings: list[tuple[BatchTiming, tuple[float, ...]]] = []

    def __call__(self, timing: BatchTiming) -> None:
        """Add a batch, with its seconds on the GPU where there is one."""
        seconds = getattr(timing.evaluator_lane, "seconds", None)
        self._timings.append((timing, seconds() if seconds else ()))

    def clear(self) -> None:
        """Forget all batches so far."""
        self._timings.clear()

    @property
    def batches(self) -> int:
        """The number of batches."""
        return len(self._timings)

    @property
    def leaves(self) -> int:
        """The leaves of all batches."""
        return sum(timing.leaves for timing, _ in self._timings)

    def seconds(self) -> dict[str, float]:
        """Return the seconds that all lanes together spent in each step."""
        return lane_seconds(timing for timing, _ in self._timings)

    def gpu_seconds(self) -> dict[str, float]:
        """Return the seconds of each step on the GPU, empty without one; lanes copy in parallel and compute in turn."""
        sums = [sum(each) for each in zip(*(seconds for _, seconds in self._timings if seconds), strict=True)]
        return dict(zip(GPU_STEPS, sums, strict=False))

    def trace(self, begin: float, seconds: float) -> dict[str, Any]:
        """Return the batches that began in the `seconds` after `begin` as a Chrome trace."""
        events: list[dict[str, Any]] = []

        def add(row: str, name: str, start: float, end: float) -> None:
            micros = {"ts": round(1e6 * (start - begin), 1), "dur": round(1e6 * (end - start), 1)}
            events.append({"name": name, "ph": "X", "pid": 1, "tid": row, **micros})

        for timing, gpu in self._timings:
            if not begin <= timing.asked < begin + seconds:
                continue
            lane = f"lane {timing.lane}"
            add(lane, "wait", timing.asked, timing.began)
            add(lane, f"gather {timing.leaves}", timing.began, timing.gathered)
            add(lane, "evaluate", timing.gathered, timing.answered)
            add(lane, "apply", timing.applying, timing.applied)
            if gpu:
                marks = list(itertools.accumulate(reversed(gpu), lambda end, took: end - took, initial=timing.answered))
                back, computed, begun, arrived, asked = marks
                add(f"GPU copies {timing.lane}", "there", asked, arrived)
                add("GPU", f"compute {timing.leaves}", begun, computed)
                add(f"GPU copies {timing.lane}", "back", computed, back)
        return {"traceEvents": events, "displayTimeUnit": "ms"}


def draw_trace(trace: dict[str, Any], seconds: float) -> str:
    """Return a Chrome trace of `LaneTimes` as SVG: a row for each lane and for the GPU, a bar for each step.

    >>> event = {"name": "gather 64", "ph": "X", "pid": 1, "tid": "lane 0", "ts": 0.0, "dur": 500.0}
    >>> draw_trace({"traceEvents": [event]}, 1.0).count("<rect")
    7
    """
    rows = sorted({event["tid"] for event in trace["traceEvents"]}, key=lambda row: (row.startswith("GPU"), row))
    height = ROW_PIXELS * (len(rows) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT_PIXELS + WIDE_PIXELS}" height="{height}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
    ]
    for index, row in enumerate(rows):
        parts.append(f'<text x="4" y="{ROW_PIXELS * index + 17}">{row}</text>')
    for event in trace["traceEvents"]:
        kind = event["name"].split()[0]
        x = LEFT_PIXELS + WIDE_PIXELS * event["ts"] / (1e6 * seconds)
        wide = max(0.3, WIDE_PIXELS * event["dur"] / (1e6 * seconds))
        y, colour = ROW_PIXELS * rows.index(event["tid"]) + 4, COLOURS.get(kind, "#888")
        parts.append(f'<rect x="{x:.2f}" y="{y}" width="{wide:.2f}" height="{ROW_PIXELS - 8}" fill="{colour}"/>')
    for index, (kind, colour) in enumerate(COLOURS.items()):
        x, y = LEFT_PIXELS + 110 * index, ROW_PIXELS * (len(rows) + 1)
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16}" y="{y + 11}">{kind}</text>')
    parts.append(f'<text x="4" y="{ROW_PIXELS * (len(rows) + 1) + 11}">{1000 * seconds:.0f} ms</text></svg>')
    return "\n".join(parts)
