"""`selfmate bench search | collisions | tactics | nn`: how fast and how well the spine works.

Every measurement gives a `BenchReport`: tables for people and the same numbers for programs.

>>> report = collisions(visits=(100,), positions=POSITIONS[:1])
>>> [row["virtual_loss"] for row in report.values["collisions"]]
[True, False, True, False, True, False]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from selfmate import _core
from selfmate._core import Pool, Search, SearchConfig, SelfPlayConfig
from selfmate.bench.movegen import Tell
from selfmate.board.epd import Tactic, read_tactics
from selfmate.board.position import Position
from selfmate.errors import EpdError, SelfmateError
from selfmate.evaluator.base import NATIVE, Answer, Evaluator
from selfmate.evaluator.open import BACKENDS, BF16_FLAGS, INT8_FLAGS, f32_onnx, open_evaluator
from selfmate.nn.leaves import Leaves
from selfmate.search.player import Player
from selfmate.search.result import Limit
from selfmate.util.cpu import cores, cpu_flags, processor_name
from selfmate.util.text import many

if TYPE_CHECKING:
    from selfmate.nn.net import Net
from selfmate.bench.report import BenchReport, Table

__all__ = ["collisions", "nn", "search", "tactics"]


# Atomic positions in which no search of 5,000 visits proves anything, so that trees grow full.
POSITIONS: Final = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "rnbq1bnr/pppp1kp1/7p/4pp2/1P6/N2P1NP1/P1P1PP1P/R1BQKB1R w KQ - 0 6",
    "rnb1k2r/pppp1ppp/4p2n/7q/1bN2P2/5NP1/PPPPP2P/R1BQKB1R w KQkq - 3 6",
    "3qk1nr/1ppb2p1/3p4/4p2p/1PP1P3/2NP1pP1/P2K1P1P/R2Q1B1R w - - 0 16",
    "r4r1k/1p1b2p1/4p3/pB1p1p2/P1pP1P1p/2P1R3/3K2PP/8 w - - 0 22",
    "2kr4/2r5/p1p1p1p1/3p1Pb1/3P3P/PPPN1K2/3R4/1R6 w - - 5 34",
)


SEED_TABLE: Final = {1000: {True: 300, False: 11_000}, 5000: {True: 380, False: 48_000}}
"""Collisions per move in the atomic engine of a thesis (2025, table 5.6), by iterations and virtual loss."""


GATHER: Final = 64
"""Leaves of a gather in `collisions`."""


FULL: Final = 0.75
"""A gather below this share of `GATHER` counts as poorly filled."""


NN_BATCHES: Final = (1, 8, 16, 32, 64, 256)
"""A search gathers 8 to 64 leaves; self-play more."""


GPU_BATCHES: Final = (1, 8, 32, 128, 512, 2048, 8192)


NN_SECONDS: Final = 0.3


PLAIN: Final = "plain ONNX Runtime"


PLAIN_GPU: Final = "torch, cuda"


# -- search ---------------------------------------------------------------------------------------


def search(
    *,
    visits: int = 800,
    trees: int = 10,
    games: int = 128,
    repeats: int = 5,
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Measure playouts of single trees on one core, and of many games on one and two, with evaluators of the core.

    A figure is the best of several runs. Beside the time on the clock stands the processor's own: the same on an idle
    machine, and on a busy one what an idle one would show.
    """
    steps, step = repeats * (len(NATIVE) + 2), 0
    # 1. Trees of `visits` visits, one thread, all evaluators in turn.
    wall = dict.fromkeys(NATIVE, float("inf"))
    processor = dict.fromkeys(NATIVE, float("inf"))
    playouts = dict.fromkeys(NATIVE, 0)
    sizes = dict.fromkeys(NATIVE, (0, 0))
    positions = [Position("atomic", fen) for fen in POSITIONS]
    config = SearchConfig()
    for _ in range(repeats):
        for name in NATIVE:
            tell(step, steps, name)
            step += 1
            done = size = edges = 0
            began, worked = time.perf_counter(), time.thread_time()
            for position in positions * trees:
                tree = Search(position, config, visits)
                tree.run(name)
                done += tree.visits
            wall[name] = min(wall[name], time.perf_counter() - began)
            processor[name] = min(processor[name], time.thread_time() - worked)
            playouts[name] = done
            for position in positions:
                tree = Search(position, config, visits)
                tree.run(name)
                result = tree.result()
                size, edges = size + result.bytes, edges + result.edges
            sizes[name] = (size, edges)
    rows = [
        {
            "evaluator": name,
            "visits": visits,
            "playouts_per_second": round(playouts[name] / wall[name]),
            "playouts_per_processor_second": round(playouts[name] / processor[name]),
            "bytes_per_edge": round(sizes[name][0] / sizes[name][1], 2),
        }
        for name in NATIVE
    ]
    # 2. Many games, on one thread and on two.
    threads = (1, 2)
    clock, work = dict.fromkeys(threads, float("inf")), dict.fromkeys(threads, float("inf"))
    total = 0
    for _ in range(repeats):
        for count in threads:
            tell(step, steps, f"{many(games, 'game')}, {many(count, 'thread')}")
            step += 1
            pool = Pool(
                "atomic",
                config,
                SelfPlayConfig(visits=64, full_probability=1, random_plies=4, temperature=0),
                seed=1,
                slots=games,
                threads=count,
            )
            pool.start(0, games)
            began, worked = time.perf_counter(), time.process_time()
            pool.run("heuristic-1")
            clock[count] = min(clock[count], time.perf_counter() - began)
            work[count] = min(work[count], time.process_time() - worked)
            total = pool.playouts
    scaling = {
        "evaluator": "heuristic-1",
        "games": games,
        "visits": 64,
        "playouts": total,
        "playouts_per_second": {str(count): round(total / clock[count]) for count in threads},
        "processor_seconds": {str(count): round(work[count], 4) for count in threads},
        "scaling": round(clock[1] / clock[2], 3),
    }
    return BenchReport(
        (
            Table(
                f"Atomic trees of {visits} visits from {len(positions)} positions, one core",
                ("evaluator", "playouts/s", "per processor second", "bytes/edge"),
                tuple(
                    (
                        str(row["evaluator"]),
                        f"{row['playouts_per_second']:,}",
                        f"{row['playouts_per_processor_second']:,}",
                        f"{row['bytes_per_edge']}",
                    )
                    for row in rows
                ),
            ),
            Table(
                f"{games} atomic games at 64 visits, heuristic-1",
                ("threads", "playouts/s", "scaling", "processor s"),
                tuple(
                    (
                        str(count),
                        f"{total / clock[count]:,.0f}",
                        f"{clock[1] / clock[count]:.2f}x",
                        f"{work[count]:.3f}",
                    )
                    for count in threads
                ),
            ),
        ),
        (f"core {_core.CORE}, {processor_name()}, best of {repeats}, load {os.getloadavg()[0]:.1f}",),
        {"repeats": repeats, "trees": rows, "games": scaling},
    )


# -- collisions -----------------------------------------------------------------------------------


def collisions(
    *,
    visits: Sequence[int] = (1000, 5000),
    positions: Sequence[str] = POSITIONS,
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Count the playouts of a tree that ran into a leaf that waits, and how full gathers of 64 leaves are.

    All numbers are per move, that is per tree. Such a playout counts nothing and ends its gather, so that it costs
    one walk down the tree and the room that the gather had left.
    """
    rows: list[dict[str, Any]] = []
    cases = [(name, count, virtual) for name in NATIVE for count in visits for virtual in (True, False)]
    for step, (name, count, virtual) in enumerate(cases):
        tell(step, len(cases), f"{name}, {many(count, 'visit')}")
        done = hits = 0
        fills: list[int] = []
        for fen in positions:
            tree = Search(Position("atomic", fen), SearchConfig(virtual_loss=int(virtual)), count)
            while not tree.done():
                leaves = tree.gather(GATHER)
                if leaves.size:
                    fills.append(leaves.size)
                    tree.apply_native(leaves.ticket, name)
            result = tree.result()
            done += result.visits
            hits += result.collisions
        moves = len(positions)
        rows.append(
            {
                "evaluator": name,
                "visits": count,
                "virtual_loss": virtual,
                "collisions": round(hits / moves, 1),
                "wasted": round(hits / done, 5),
                "fill": round(sum(fills) / (GATHER * len(fills)), 4),
                "gathers": round(len(fills) / moves, 1),
                "below_three_quarters": round(sum(fill < FULL * GATHER for fill in fills) / moves, 1),
                "seed_000": SEED_TABLE.get(count, {}).get(virtual),
            }
        )
    table = Table(
        f"Gathers of {GATHER} leaves in one atomic tree, per move, from {len(positions)} positions",
        ("evaluator", "visits", "virtual loss", "collisions", "thesis", "wasted", "fill", "gathers", "below 75 %"),
        tuple(
            (
                str(row["evaluator"]),
                f"{row['visits']:,}",
                "on" if row["virtual_loss"] else "off",
                f"{row['collisions']:,}",
                f"{row['seed_000']:,}" if row["seed_000"] is not None else "",
                f"{row['wasted']:.2%}",
                f"{row['fill']:.1%}",
                f"{row['gathers']:,}",
                f"{row['below_three_quarters']:,}",
            )
            for row in rows
        ),
    )
    lines = (
        "The first gather of a tree holds the root alone, the second at most its moves, the last what is left:",
        "these three count as below 75 % in every search. Thesis: the atomic engine we set out from (2025).",
    )
    return BenchReport((table,), lines, {"gather": GATHER, "collisions": rows})


# -- tactics --------------------------------------------------------------------------------------


def tactics(
    path: str | Path,
    *,
    variant: str | None = None,
    player: Player | None = None,
    visits: int = 2000,
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Count the positions of a file in which a player's move keeps the shortest forced win.

    The variant is the beginning of the file's name (`atomic_mate2.epd`) unless it is given. The last line says
    `N solved of M`.
    """
    player = player or Player("heuristic-1")
    if not Path(path).is_file():
        raise SelfmateError(f"{path}: there is no such file", str(path))
    variant = variant or Path(path).stem.partition("_")[0]
    Position(variant)  # an unknown one is refused by its name, not by the first line of the file
    try:
        problems = list(read_tactics(path, variant))
    except EpdError as error:
        raise SelfmateError(f"{path}: {error}", error.part) from error
    if not problems:
        raise SelfmateError(f"{path}: no position", str(path))
    by_length: dict[int, list[bool]] = {}
    missed: list[dict[str, Any]] = []
    seconds = 0.0
    for step, problem in enumerate(problems):
        tell(step, len(problems), f"{step - len(missed)} solved")
        result = player.search(problem.position, Limit(visits=visits))
        seconds += result.seconds
        solved = result.best in problem.best_moves
        by_length.setdefault(problem.mate_in, []).append(solved)
        if not solved:
            missed.append(_missed(problem, result.best, result.proven))
    count = len(problems)
    rows = [
        {"mate_in": length, "solved": sum(found), "positions": len(found)}
        for length, found in sorted(by_length.items())
    ]
    return BenchReport(
        (
            Table(
                f"{player.name}, {variant}, {visits} visits",
                ("mate in", "solved", "positions", "share"),
                tuple(
                    (
                        str(row["mate_in"]),
                        str(row["solved"]),
                        str(row["positions"]),
                        f"{row['solved'] / row['positions']:.1%}",
                    )
                    for row in rows
                ),
            ),
        ),
        (
            *(f"missed: {each['fen']}: {each['played']}, not {' '.join(each['best'])}" for each in missed),
            f"{count - len(missed)} solved of {count}",
        ),
        {
            "file": str(path),
            "variant": variant,
            "player": player.name,
            "visits": visits,
            "solved": count - len(missed),
            "positions": count,
            "by_length": rows,
            "missed": missed,
            "seconds": round(seconds, 3),
        },
    )


def _missed(problem: Tactic, played: _core.Move, proven: int | None) -> dict[str, Any]:
    position = problem.position
    return {
        "fen": position.fen(),
        "best": [position.uci(move) for move in problem.best_moves],
        "played": position.uci(played),
        "mate_in": problem.mate_in,
        "proven_plies": proven,
    }


# -- nets -----------------------------------------------------------------------------------------


def nn(
    *,
    net: str | Path | None = None,
    variant: str = "gardner",
    size: str = "tiny",
    device: str = "cpu",
    backends: Sequence[str] | None = None,
    batches: Sequence[int] | None = None,
    repeats: int = 3,
    seconds: float = NN_SECONDS,
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Measure evaluations per second of a net by backend and batch: a net on disk, or an untrained one of a size.

    The peer is ONNX Runtime as anybody would use it: f32, the whole batch at once, all cores on each layer.
    """
    source = _untrained(variant, size) if net is None else Path(net)
    batches = batches or (NN_BATCHES if device == "cpu" else GPU_BATCHES)
    if device == "cpu":
        evaluators, refused = _backends(source, backends)
    else:
        evaluators, refused = {PLAIN_GPU: open_evaluator(source, device=device)}, ()
    plain = PLAIN if device == "cpu" else PLAIN_GPU
    variant = evaluators[plain].variant
    inputs = {batch: _leaves(variant, batch) for batch in batches}
    speeds: dict[str, dict[int, float]] = {name: dict.fromkeys(batches, 0.0) for name in evaluators}
    thrift: dict[str, dict[int, float]] = {name: dict.fromkeys(batches, 0.0) for name in evaluators}
    rounds = [(name, batch) for _ in range(repeats) for batch in batches for name in evaluators]
    for step, (name, batch) in enumerate(rounds):
        tell(step, len(rounds), f"{name}, batch {batch}")
        speed, of_processor = _evaluations_per_second(evaluators[name], inputs[batch], seconds)
        speeds[name][batch] = max(speed, speeds[name][batch])
        thrift[name][batch] = max(of_processor, thrift[name][batch])
    what = f"untrained {size} net" if net is None else str(net)
    columns = ("backend", *(f"batch {batch}" for batch in batches))
    ratios = {
        name: {batch: speed / speeds[plain][batch] for batch, speed in found.items()} for name, found in speeds.items()
    }
    return BenchReport(
        (
            Table(
                f"Evaluations/s, {what}, {variant}",
                columns,
                tuple((name, *(f"{speeds[name][batch]:,.0f}" for batch in batches)) for name in speeds),
            ),
            Table(
                f"As a ratio to {plain}",
                columns,
                tuple((name, *(f"{ratios[name][batch]:.2f}" for batch in batches)) for name in speeds if name != plain),
            ),
            Table(
                "Evaluations for a second of one core, which other programs on the machine do not change much",
                columns,
                tuple((name, *(f"{thrift[name][batch]:,.0f}" for batch in batches)) for name in speeds),
            ),
        ),
        (
            *refused,
            f"{processor_name()} ({', '.join(_fast_flags()) or 'neither bf16 nor VNNI'}), {many(cores(), 'core')}, "
            f"best of {repeats}, load {os.getloadavg()[0]:.1f}",
        ),
        {
            "net": what,
            "variant": variant,
            "flags": _fast_flags(),
            "evaluations_per_second": {
                name: {str(batch): round(speed) for batch, speed in found.items()} for name, found in speeds.items()
            },
            "ratio": {
                name: {str(batch): round(ratio, 3) for batch, ratio in found.items()} for name, found in ratios.items()
            },
            "evaluations_per_processor_second": {
                name: {str(batch): round(speed) for batch, speed in found.items()} for name, found in thrift.items()
            },
            "refused": list(refused),
        },
    )


def _fast_flags() -> list[str]:
    """Name the instructions of this processor that make bf16 and int8 fast."""
    return sorted(cpu_flags() & (BF16_FLAGS | INT8_FLAGS))


def _untrained(variant: str, size: str) -> Net:
    """Make a net with random weights."""
    try:
        from selfmate.nn.config import NetConfig
        from selfmate.nn.net import Net
    except ModuleNotFoundError as error:
        raise SelfmateError(f"{error.name} is missing; give an .onnx file, or install selfmate[train]") from None
    return Net(NetConfig.sized(_core.encoding(variant), size), seed=1)


def _backends(source: Net | Path, wanted: Sequence[str] | None) -> tuple[dict[str, Evaluator], tuple[str, ...]]:
    """Open a net with everything that is installed, or all that is wanted, and say why something is not."""
    try:
        evaluators: dict[str, Evaluator] = {PLAIN: _PlainOnnx(f32_onnx(source))}
    except ModuleNotFoundError as error:
        raise SelfmateError(f"{source}: {error.name} is missing; it comes with selfmate[train]") from None
    refused = []
    for name in wanted or [name for name in BACKENDS if name != "auto"]:
        # Torch on one thread: several wait for each other longer than they work as soon as another program wants a
        # core. The core itself also on one, as a lane of self-play uses it.
        for threads in sorted({1, cores()}) if name == "winograd" else [1 if name == "torch" else cores()]:
            try:
                evaluators[f"{name}, threads: {threads}"] = open_evaluator(source, threads=threads, backend=name)
            except SelfmateError as error:
                if wanted is not None:
                    raise
                refused.append(f"{name}: {error}")
    if wanted is None and "torch" in sys.modules:
        if sys.modules["torch"].cuda.is_available():
            evaluators["torch, cuda"] = open_evaluator(source, device="cuda")
        else:
            refused.append("cuda: torch sees no GPU")
    return evaluators, tuple(refused)


class _PlainOnnx(Evaluator):
    """ONNX Runtime without anything of ours but the file."""

    def __init__(self, data: bytes) -> None:
        import onnxruntime

        from selfmate.nn.onnx import read_card_of

        card = read_card_of(data, PLAIN)
        self.name, self.net_id, self.variant = PLAIN, card.net_id, card.variant
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = cores()
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])

    def evaluate(self, leaves: Leaves) -> Answer:
        """Answer the batch as one."""
        size = leaves.size
        inputs = {
            "bits": leaves.bits[:size].view(np.int64),
            "scalars": leaves.scalars[:size],
            "moves": leaves.moves[:size],
            "counts": leaves.counts[:size],
        }
        return Answer(*self._session.run(list(Answer._fields), inputs))


def _leaves(variant: str, size: int) -> Leaves:
    """Gather leaves from as many random games."""
    pool = Pool(
        variant,
        SearchConfig(),
        SelfPlayConfig(visits=64, full_probability=1, random_plies=16, temperature=0),
        seed=1,
        slots=size,
        threads=1,
    )
    pool.start(0, size)
    return pool.gather()


def _evaluations_per_second(evaluator: Evaluator, leaves: Leaves, seconds: float) -> tuple[float, float]:
    """Give the speed by the clock, and by the processor time that was used."""
    evaluator.evaluate(leaves)  # the first of a shape takes longer
    began = now = time.perf_counter()
    worked = time.process_time()
    done = 0
    while now - began < seconds:
        evaluator.evaluate(leaves)
        done += leaves.size
        now = time.perf_counter()
    return done / (now - began), done / (time.process_time() - worked)
