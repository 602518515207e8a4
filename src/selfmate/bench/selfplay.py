"""`selfmate bench selfplay`: how fast games are made, beside the same evaluator without a search, in the same run."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from selfmate._core import GameRecord, Pool
from selfmate.bench.ceiling import ceiling
from selfmate.bench.lane_times import LaneTimes, draw_trace
from selfmate.bench.report import BenchReport, BenchTable, Tell, load_note
from selfmate.bench.untrained import untrained_net
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.recipe.reader import change, load
from selfmate.recipe.schema import Recipe
from selfmate.search.autotune import GPU_LANES
from selfmate.search.driver import drive, one_thread
from selfmate.train.selfplay import choose_concurrency, selfplay_pool
from selfmate.util.cpu import cores, processor_name
from selfmate.util.text import many

__all__ = ["selfplay"]

DRAIN_SECONDS: Final = 0.05
"""Between two times that finished games are taken from the pool."""
TRACE_SECONDS: Final = 1.0
MOST_GAMES: Final = {"cpu": 1_000_000, "cuda": 10_000_000}
"""Games that a pool is given: more than it can finish in the time of a measurement."""


def selfplay(
    *,
    recipe: str = "gardner-laptop",
    net: str | Path | None = None,
    seconds: float = 10.0,
    warmup: float = 0.0,
    device: str = "cpu",
    lanes: int | None = None,
    compile: bool = False,
    cache: bool = True,
    overrides: Sequence[str] = (),
    trace: Path | None = None,
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Play games by a recipe for some seconds, and measure where the time goes.

    The games are those of the first cycle of a run, with an untrained net unless one is given; the `warmup` seconds
    before are not counted. Without `cache` every leaf is evaluated, also one that its game has met before. One second
    is written to `trace`, as a picture (.svg) or a Chrome trace.
    """
    wanted = change(load(recipe), [*overrides, *(() if cache else ("selfplay.cache=false",))])
    lanes = lanes or (cores() if device == "cpu" else GPU_LANES)
    evaluator = _open(wanted, net, device, compile)
    concurrency = choose_concurrency(wanted, evaluator, lanes)
    # 1. The evaluator without a search
    tell(0, 1, "the evaluator alone")
    threads = 1 if device == "cpu" else 0
    pool = selfplay_pool(wanted, 0, seed=1, concurrency=concurrency, lanes=lanes, threads=threads)
    alone = max(0.5, min(5.0, seconds / 4))
    top = ceiling(evaluator, pool.lane_rows, lanes, seconds=alone, prepare=one_thread).wall
    # 2. Games
    pool.start(0, MOST_GAMES["cpu" if device == "cpu" else "cuda"])
    window = _play(pool, evaluator, lanes=lanes, seconds=seconds, warmup=warmup, tell=tell)
    # 3. The report
    values: dict[str, Any] = {
        "recipe": recipe,
        "settings": list(overrides),
        "variant": wanted.variant.name,
        "evaluator": evaluator.name,
        "slots": concurrency.slots,
        "leaves": wanted.selfplay.leaves,
        "lanes": lanes,
        "cache": wanted.selfplay.cache,
        **_figures(window, top, lanes, pool.lane_rows),
    }
    if trace is not None:
        events = window.times.trace(window.began, TRACE_SECONDS)
        trace.write_text(draw_trace(events, TRACE_SECONDS) if trace.suffix == ".svg" else json.dumps(events))
        values["trace"] = str(trace)
    title = f"Self-play, {recipe}, {evaluator.name}, {many(lanes, 'lane')}, {many(concurrency.slots, 'game')} of "
    title += many(wanted.selfplay.leaves, "leaf", "leaves")
    machine = f"{processor_name()}, {window.seconds:.1f} s, {many(len(window.records), 'game')}, {load_note()}"
    table = BenchTable(title, ("figure", "measured"), _rows(values))
    return BenchReport((table,), (f"{concurrency.reason}.", machine), values)


@dataclass(frozen=True, slots=True)
class _Window:
    """What happened in the measured time."""

    began: float
    """By `time.perf_counter`."""
    seconds: float
    playouts: int
    plies: int
    processor_seconds: float
    record_seconds: float
    """Spent on taking finished games from the pool and packing them."""
    records: list[GameRecord]
    times: LaneTimes


def _play(pool: Pool, evaluator: Evaluator, *, lanes: int, seconds: float, warmup: float, tell: Tell) -> _Window:
    """Play for `warmup` and then for `seconds`; count from the end of the warm-up."""
    times, records = LaneTimes(), list[GameRecord]()
    drained = packing = 0.0
    begin = time.perf_counter() + warmup
    start: dict[str, float] = {}

    def counts(now: float) -> dict[str, float]:
        return {"at": now, "playouts": pool.playouts, "plies": pool.searched_plies, "processor": time.process_time()}

    def drain(leaves: int) -> None:
        nonlocal drained, packing
        now = time.perf_counter()
        if now < drained + DRAIN_SECONDS:
            return
        drained = now
        if now >= begin and not start:
            start.update(counts(now))
            times.clear()
            records.clear()
            pool.drain()
            packing = 0.0
        fresh = pool.drain()
        for record in fresh:
            record.to_bytes()
        records.extend(fresh)
        packing += time.perf_counter() - now
        tell(int(10 * (now - begin + warmup)), int(10 * (seconds + warmup)), many(len(records), "game"))

    def stopping() -> bool:
        return time.perf_counter() - begin >= seconds

    drive(pool, [evaluator], lanes=lanes, stopping=stopping, prepare=one_thread, tell=drain, watch=times)
    end = counts(time.perf_counter())
    records.extend(pool.drain())
    return _Window(
        began=start["at"],
        seconds=end["at"] - start["at"],
        playouts=int(end["playouts"] - start["playouts"]),
        plies=int(end["plies"] - start["plies"]),
        processor_seconds=end["processor"] - start["processor"],
        record_seconds=packing,
        records=records,
        times=times,
    )


def _figures(window: _Window, top: float, lanes: int, lane_rows: int) -> dict[str, Any]:
    """Return the figures of a window beside the ceiling `top`, in evaluations per second."""
    elapsed, records, times = window.seconds, window.records, window.times
    speed, batch = times.leaves / elapsed, times.leaves / max(1, times.batches)
    spent = times.seconds() | {"record": window.record_seconds}
    shares = {name: round(each / (lanes * elapsed), 4) for name, each in spent.items()}
    return {
        "seconds": round(elapsed, 3),
        "ceiling": round(top),
        "of_ceiling": round(speed / top, 4),
        "evaluations_per_second": round(speed),
        "playouts_per_second": round(window.playouts / elapsed),
        "visits_per_move": round(window.playouts / max(1, window.plies), 1),
        "moves_per_second": round(window.plies / elapsed, 1),
        "games": len(records),
        "games_per_hour": round(3600 * len(records) / elapsed),
        "plies_per_game": round(sum(len(record.moves) for record in records) / max(1, len(records)), 1),
        "positions_per_second": round(sum(record.positions for record in records) / elapsed, 1),
        "batch": round(batch, 1),
        "fill": round(batch / lane_rows, 4),
        "processor_share": round(window.processor_seconds / elapsed / cores(), 4),
        "lane_share": shares,
        "gpu_share": {name: round(each / elapsed, 4) for name, each in times.gpu_seconds().items()},
        "evaluator_share": shares["evaluate"],
    }


def _rows(values: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return (
        ("evaluations/s", f"{values['evaluations_per_second']:,}"),
        ("the evaluator alone", f"{values['ceiling']:,} ({values['of_ceiling']:.1%} of it reached)"),
        ("playouts/s", f"{values['playouts_per_second']:,}"),
        ("moves/s", f"{values['moves_per_second']:,} of {values['visits_per_move']} visits"),
        ("games/h", f"{values['games_per_hour']:,} of {values['plies_per_game']} plies"),
        ("positions to learn from/s", f"{values['positions_per_second']:,}"),
        ("mean batch", f"{values['batch']} ({values['fill']:.1%} of the lane)"),
        ("processor busy", f"{values['processor_share']:.1%} of {many(cores(), 'core')}"),
        *((f"lanes: {name}", f"{share:.1%}") for name, share in values["lane_share"].items()),
        *((f"GPU: {name}", f"{share:.1%}") for name, share in values["gpu_share"].items()),
    )


def _open(recipe: Recipe, net: str | Path | None, device: str, compile: bool) -> Evaluator:
    source = untrained_net(recipe.variant.name, recipe.net.size, **recipe.net.changes()) if net is None else Path(net)
    if device == "cpu":
        return open_evaluator(source, device=device, threads=1)
    return open_evaluator(source, device=device, compiled=compile)
