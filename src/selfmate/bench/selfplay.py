"""`selfmate bench selfplay | train`: how fast games are made and learned from, and where the time goes.

Self-play is compared with its own ceiling: the same evaluator asked as fast as it can answer, with all transfers and
without a search behind it, in the same run. The learner is compared with a plain loop over tensors that are on the
device already.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from selfmate import _core
from selfmate._core import Buffer, GameRecord, Pool, SearchConfig, SelfPlayConfig
from selfmate.bench.movegen import Tell
from selfmate.bench.report import BenchReport, Table
from selfmate.errors import SelfmateError
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.recipe.reader import change, load
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import Recipe
from selfmate.search.autotune import GPU_LANES
from selfmate.search.driver import Turn, drive, one_thread
from selfmate.train.selfplay import choose_concurrency, selfplay_pool
from selfmate.util.cpu import cores, processor_name
from selfmate.util.text import many

if TYPE_CHECKING:
    from selfmate.nn.net import Net

__all__ = ["Speed", "ceiling", "draw", "selfplay", "train_speed"]


LOOK_SECONDS: Final = 0.05


TRACE_SECONDS: Final = 1.0


COLOURS: Final = {
    "gather": "#4477aa",
    "evaluate": "#ccddaa",
    "apply": "#228833",
    "wait": "#dddddd",
    "compute": "#ee6677",
}


ROW_PIXELS, LEFT_PIXELS, WIDE_PIXELS = 24, 100, 1500


def selfplay(
    *,
    recipe: str = "gardner-laptop",
    net: str | Path | None = None,
    seconds: float = 10.0,
    warmup: float = 0.0,
    device: str = "cpu",
    lanes: int | None = None,
    compile: bool = False,
    overrides: Sequence[str] = (),
    trace: Path | None = None,
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Play games by a recipe for some seconds, and see where the time goes.

    The games are those of a run's first cycle, with an untrained net unless one is given; `warmup` seconds before are
    not counted. `trace` gets one second of it: a picture (.svg), or a Chrome trace for browsers and Perfetto.
    """
    wanted = change(load(recipe), overrides)
    part = wanted.selfplay
    lanes = lanes or (cores() if device == "cpu" else GPU_LANES)
    evaluator = _open(wanted, net, device, compile)
    concurrency = choose_concurrency(wanted, evaluator, lanes)
    # 1. What the evaluator can do without a search behind it
    tell(0, 1, "the evaluator alone")
    pool = selfplay_pool(wanted, 0, seed=1, concurrency=concurrency, lanes=lanes, threads=1 if device == "cpu" else 0)
    alone = max(0.5, min(5.0, seconds / 4))
    top = ceiling(evaluator, pool.lane_rows, lanes, seconds=alone, prepare=one_thread).wall
    # 2. Games
    watch = _Watch()
    pool.start(0, 10_000_000 if device != "cpu" else 1_000_000)
    records: list[GameRecord] = []
    looked = 0.0
    begin = time.perf_counter() + warmup
    start: dict[str, float] = {}

    def stopping() -> bool:
        return time.perf_counter() - begin >= seconds

    def look(leaves: int) -> None:
        nonlocal looked
        now = time.perf_counter()
        if now < looked + LOOK_SECONDS:
            return
        looked = now
        if now >= begin and not start:
            start.update(_counts(pool), at=now)
            watch.turns.clear()
            watch.record = 0.0
            records.clear()
            pool.drain()
        fresh = pool.drain()
        for record in fresh:
            record.to_bytes()
        records.extend(fresh)
        watch.record += time.perf_counter() - now
        tell(int(10 * (now - begin + warmup)), int(10 * (seconds + warmup)), many(len(records), "game"))

    drive(pool, [evaluator], lanes=lanes, stopping=stopping, prepare=one_thread, tell=look, watch=watch)
    end = _counts(pool)
    records.extend(pool.drain())
    elapsed = time.perf_counter() - start["at"]
    # 3. What came of it
    leaves = sum(turn.leaves for turn, _ in watch.turns)
    spent = {name: sum(each) for name, each in watch.shares().items()}
    busy = end["processor"] - start["processor"]
    plies = end["plies"] - start["plies"]
    speed = leaves / elapsed
    values: dict[str, Any] = {
        "recipe": recipe,
        "settings": list(overrides),
        "variant": wanted.variant.name,
        "evaluator": evaluator.name,
        "slots": concurrency.slots,
        "leaves": part.leaves,
        "lanes": lanes,
        "seconds": round(elapsed, 3),
        "ceiling": round(top),
        "of_ceiling": round(speed / top, 4),
        "evaluations_per_second": round(speed),
        "playouts_per_second": round((end["playouts"] - start["playouts"]) / elapsed),
        "visits_per_move": round((end["playouts"] - start["playouts"]) / max(1, plies), 1),
        "moves_per_second": round(plies / elapsed, 1),
        "games": len(records),
        "games_per_hour": round(3600 * len(records) / elapsed),
        "plies_per_game": round(sum(len(record.moves) for record in records) / max(1, len(records)), 1),
        "positions_per_second": round(sum(record.positions for record in records) / elapsed, 1),
        "batch": round(leaves / max(1, len(watch.turns)), 1),
        "fill": round(leaves / max(1, len(watch.turns)) / pool.lane_rows, 4),
        "processor_share": round(busy / elapsed / cores(), 4),
        "lane_share": {name: round(each / (lanes * elapsed), 4) for name, each in spent.items()},
        "gpu_share": {name: round(each / elapsed, 4) for name, each in watch.on_gpu().items()},
    }
    values["evaluator_share"] = values["lane_share"]["evaluate"]
    if trace is not None:
        events = watch.trace(start["at"], TRACE_SECONDS)
        trace.write_text(draw(events, TRACE_SECONDS) if trace.suffix == ".svg" else json.dumps(events))
        values["trace"] = str(trace)
    shown = (
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
    title = f"Self-play, {recipe}, {evaluator.name}, {many(lanes, 'lane')}, {many(concurrency.slots, 'game')} of "
    title += many(part.leaves, "leaf", "leaves")
    return BenchReport(
        (Table(title, ("figure", "measured"), shown),),
        (
            f"{concurrency.reason}.",
            f"{processor_name()}, {elapsed:.1f} s, {many(len(records), 'game')}, load {os.getloadavg()[0]:.1f}",
        ),
        values,
    )


class Speed(NamedTuple):
    """Evaluations per second, and per second of a processor, which other programs do not take away."""

    wall: float
    processor: float


def ceiling(
    evaluator: Evaluator, rows: int, lanes: int, *, seconds: float, prepare: Callable[[], None] = lambda: None
) -> Speed:
    """Measure evaluations of full batches that are always there, with all transfers; `prepare` as in `drive`."""
    counts = [0] * lanes
    ready, over = threading.Barrier(lanes + 1), threading.Event()
    failures: list[BaseException] = []

    def work(lane: int) -> None:
        try:
            prepare()
            pool = Pool(
                evaluator.variant,
                SearchConfig(),
                SelfPlayConfig(visits=64, full_probability=1, random_plies=16, temperature=0),
                seed=1,
                slots=rows,
                threads=1,
            )
            pool.start(0, rows)
            desk = evaluator.desk(rows)
            held = desk.gather(pool, 0)
            desk.evaluate(held)
            ready.wait()
            while not over.is_set():
                desk.evaluate(held)
                counts[lane] += rows
        except BaseException as error:
            failures.append(error)
            ready.abort()

    threads = [threading.Thread(target=work, args=(lane,), daemon=True) for lane in range(lanes)]
    for thread in threads:
        thread.start()
    try:
        ready.wait()
        before, began, processor = sum(counts), time.perf_counter(), time.process_time()
        time.sleep(seconds)
        done = sum(counts) - before
        speed = Speed(done / (time.perf_counter() - began), done / (time.process_time() - processor))
    except threading.BrokenBarrierError:
        raise failures[0] from None
    over.set()
    for thread in threads:
        thread.join()
    return speed


def train_speed(
    *,
    recipe: str = "gardner-laptop",
    seconds: float = 10.0,
    device: str = "cpu",
    compile: bool = False,
    overrides: Sequence[str] = (),
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Learn from heuristic-1's games for some seconds, beside a plain loop over one batch that is on the device."""
    try:
        import torch

        from selfmate.train.learner import Learner
    except ModuleNotFoundError as error:
        raise SelfmateError(f"{error.name} is missing; it comes with selfmate[train]") from None
    wanted = change(load(recipe), overrides)
    batch = at(wanted.learner.batch, 0)
    # 1. Games to learn from
    tell(0, 3, "games")
    pool = Pool(
        wanted.variant.name,
        SearchConfig(gumbel=True),
        SelfPlayConfig(visits=8, full_probability=1, random_plies=8, temperature=0),
        seed=1,
        slots=256,
    )
    pool.start(0, 512)
    pool.run("heuristic-1")
    buffer = Buffer(wanted.variant.name, 10_000_000, 0)
    for record in pool.drain():
        buffer.add(record)
    began = time.perf_counter()
    sampled = 0
    while time.perf_counter() - began < 1.0:
        sampled += buffer.sample(batch, sampled).size
    sampling = sampled / (time.perf_counter() - began)

    def finish() -> float:
        if device != "cpu":
            torch.cuda.synchronize()
        return time.perf_counter()

    # 2. The learner
    tell(1, 3, "the learner")
    learner = Learner(_untrained(wanted), wanted.learner, 1, device, compile=compile)
    learner.learn(buffer, 5, 0)
    finish()
    began = time.perf_counter()
    steps = learner.step
    learner.learn(buffer, 1 << 40, 0, stopping=lambda: time.perf_counter() - began >= seconds)
    speed = (learner.step - steps) * batch / (finish() - began)
    # 3. The plain loop: the same net, loss and optimizer, nothing else
    tell(2, 3, "a plain loop")
    held = learner._bring(buffer.sample(batch, 1))

    def plain() -> None:
        learner.optimizer.zero_grad(set_to_none=True)
        learner._losses(learner._forward, held, 0)[0].backward()  # type: ignore[no-untyped-call]
        learner.optimizer.step()

    for _ in range(5):
        plain()
    finish()
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        plain()
        done += 1
        if done % 20 == 0:
            finish()
    top = done * batch / (finish() - began)
    values: dict[str, Any] = {
        "recipe": recipe,
        "settings": list(overrides),
        "device": device,
        "compiled": compile,
        "batch": batch,
        "samples_per_second": round(speed),
        "plain_loop": round(top),
        "of_plain_loop": round(speed / top, 4),
        "sampling": round(sampling),
    }
    shown = (
        ("the learner, samples/s", f"{speed:,.0f}"),
        ("a plain loop, samples/s", f"{top:,.0f} ({speed / top:.1%} of it reached)"),
        ("sampling alone, samples/s", f"{sampling:,.0f}"),
    )
    return BenchReport(
        (Table(f"Learning, {recipe}, {device}, batch {batch}", ("figure", "measured"), shown),),
        (f"{processor_name()}, {many(cores(), 'core')}, load {os.getloadavg()[0]:.1f}",),
        values,
    )


class _Watch:
    """Keeps when every batch went through its steps. Lanes call it at the same time."""

    def __init__(self) -> None:
        self.turns: list[tuple[Turn, tuple[float, ...]]] = []
        self.record = 0.0

    def __call__(self, turn: Turn) -> None:
        """Hear of a batch."""
        seconds = getattr(turn.desk, "seconds", None)
        self.turns.append((turn, seconds() if seconds else ()))

    def shares(self) -> dict[str, Iterable[float]]:
        """Give the seconds that lanes spent in each step."""
        turns = [turn for turn, _ in self.turns]
        return {
            "gather": (turn.gathered - turn.began for turn in turns),
            "evaluate": (turn.answered - turn.gathered for turn in turns),
            "apply": (turn.applied - turn.applying for turn in turns),
            "wait for the pool": (turn.began - turn.asked + turn.applying - turn.answered for turn in turns),
            "record": (self.record,),
        }

    def on_gpu(self) -> dict[str, float]:
        """Give the seconds of each step on the GPU, if there is one; lanes copy side by side, but compute in turn."""
        names = ("copy there", "wait for its turn", "compute", "copy back")
        sums = [sum(each) for each in zip(*(seconds for _, seconds in self.turns if seconds), strict=True)]
        return dict(zip(names, sums, strict=False))

    def trace(self, begin: float, seconds: float) -> dict[str, Any]:
        """Give a second of it as a Chrome trace."""
        events: list[dict[str, Any]] = []

        def add(row: str, name: str, start: float, end: float) -> None:
            micros = {"ts": round(1e6 * (start - begin), 1), "dur": round(1e6 * (end - start), 1)}
            events.append({"name": name, "ph": "X", "pid": 1, "tid": row, **micros})

        for turn, gpu in self.turns:
            if not begin <= turn.asked < begin + seconds:
                continue
            lane = f"lane {turn.lane}"
            add(lane, "wait", turn.asked, turn.began)
            add(lane, f"gather {turn.leaves}", turn.began, turn.gathered)
            add(lane, "evaluate", turn.gathered, turn.answered)
            add(lane, "apply", turn.applying, turn.applied)
            if gpu:
                marks = list(itertools.accumulate(reversed(gpu), lambda end, took: end - took, initial=turn.answered))
                back, computed, begun, arrived, asked = marks
                add(f"GPU copies {turn.lane}", "there", asked, arrived)
                add("GPU", f"compute {turn.leaves}", begun, computed)
                add(f"GPU copies {turn.lane}", "back", computed, back)
        return {"traceEvents": events, "displayTimeUnit": "ms"}


def draw(trace: dict[str, Any], seconds: float) -> str:
    """Draw a Chrome trace of ours: a row for each lane and for the GPU, a bar for each step.

    >>> event = {"name": "gather 64", "ph": "X", "pid": 1, "tid": "lane 0", "ts": 0.0, "dur": 500.0}
    >>> draw({"traceEvents": [event]}, 1.0).count("<rect")
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


def _counts(pool: Pool) -> dict[str, float]:
    return {"playouts": pool.playouts, "plies": pool.plies, "processor": time.process_time()}


def _untrained(recipe: Recipe) -> Net:
    """Make the net of a recipe with random weights."""
    try:
        from selfmate.nn.config import NetConfig
        from selfmate.nn.net import Net
    except ModuleNotFoundError as error:
        raise SelfmateError(f"{error.name} is missing; give an .onnx file, or install selfmate[train]") from None
    return Net(NetConfig.sized(_core.encoding(recipe.variant.name), recipe.net.size, **recipe.net.changes()), seed=1)


def _open(recipe: Recipe, net: str | Path | None, device: str, compile: bool) -> Evaluator:
    source = _untrained(recipe) if net is None else Path(net)
    if device == "cpu":
        return open_evaluator(source, device=device, threads=1)
    return open_evaluator(source, device=device, compiled=compile)
