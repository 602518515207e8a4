"""`selfmate bench search | collisions`: the speed of the search without a net, and how well it fills batches.

>>> report = collisions(visits=(100,), positions=POSITIONS[:1])
>>> [row["virtual_loss"] for row in report.values["collisions"]]
[True, False, True, False, True, False]
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from selfmate import _core
from selfmate._core import Pool, Search, SearchConfig, SelfPlayConfig
from selfmate.bench.report import BenchReport, BenchTable, Tell, load_note
from selfmate.board.position import Position
from selfmate.evaluator.base import NATIVE
from selfmate.util.cpu import processor_name
from selfmate.util.text import many

__all__ = ["POSITIONS", "collisions", "search"]

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
"""Collisions per move in the atomic engine of a thesis (2025, table 5.6), by iterations and virtual loss (on, off)."""
GATHER: Final = 64
"""Leaves of a batch in `collisions`."""
FULL: Final = 0.75
"""A batch below this share of `GATHER` is counted as `below_three_quarters`."""
GAME_VISITS: Final = 64
"""Visits per move in the games of `search`."""


def search(
    *,
    visits: int = 800,
    trees: int = 10,
    games: int = 128,
    repeats: int = 5,
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Measure playouts of single trees on one core, and of many games on one and two, with the core's own evaluators.

    Every figure is the best of `repeats`, by the clock and by processor time: equal on an idle machine; on a busy one
    processor time estimates the speed of an idle one.
    """
    steps, step = repeats * (len(NATIVE) + 2), 0

    def begin(note: str) -> None:
        nonlocal step
        tell(step, steps, note)
        step += 1

    rows = _trees(visits, trees, repeats, begin)
    scaling = _games(games, repeats, begin)
    tables = (
        BenchTable(
            f"Atomic trees of {visits} visits from {len(POSITIONS)} positions, one core",
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
        BenchTable(
            f"{games} atomic games at {GAME_VISITS} visits, heuristic-1",
            ("threads", "playouts/s", "scaling", "processor s"),
            tuple(
                (threads, f"{speed:,}", f"{speed / scaling['playouts_per_second']['1']:.2f}x", f"{processor:.3f}")
                for (threads, speed), processor in zip(
                    scaling["playouts_per_second"].items(), scaling["processor_seconds"].values(), strict=True
                )
            ),
        ),
    )
    machine = f"core {_core.CORE}, {processor_name()}, best of {repeats}, {load_note()}"
    return BenchReport(tables, (machine,), {"repeats": repeats, "trees": rows, "games": scaling})


def _trees(visits: int, trees: int, repeats: int, begin: Callable[[str], None]) -> list[dict[str, Any]]:
    """Measure trees of `visits` visits on one thread, all evaluators in turn, `trees` times from each position."""
    wall, processor = dict.fromkeys(NATIVE, math.inf), dict.fromkeys(NATIVE, math.inf)
    playouts = dict.fromkeys(NATIVE, 0)
    positions, config = [Position("atomic", fen) for fen in POSITIONS], SearchConfig()
    for _ in range(repeats):
        for name in NATIVE:
            begin(name)
            done = 0
            began, worked = time.perf_counter(), time.thread_time()
            for position in positions * trees:
                tree = Search(position, config, visits)
                tree.run(name)
                done += tree.visits
            wall[name] = min(wall[name], time.perf_counter() - began)
            processor[name] = min(processor[name], time.thread_time() - worked)
            playouts[name] = done
    return [
        {
            "evaluator": name,
            "visits": visits,
            "playouts_per_second": round(playouts[name] / wall[name]),
            "playouts_per_processor_second": round(playouts[name] / processor[name]),
            "bytes_per_edge": round(_bytes_per_edge(name, positions, visits), 2),
        }
        for name in NATIVE
    ]


def _bytes_per_edge(evaluator: str, positions: Sequence[Position], visits: int) -> float:
    """Return the memory of a tree for each of its edges, over one tree from each position."""
    size = edges = 0
    for position in positions:
        tree = Search(position, SearchConfig(), visits)
        tree.run(evaluator)
        result = tree.result()
        size, edges = size + result.bytes, edges + result.edges
    return size / edges


def _games(games: int, repeats: int, begin: Callable[[str], None]) -> dict[str, Any]:
    """Measure many games at once, on one thread and on two."""
    threads = (1, 2)
    wall, processor = dict.fromkeys(threads, math.inf), dict.fromkeys(threads, math.inf)
    playouts = 0
    for _ in range(repeats):
        for count in threads:
            begin(f"{many(games, 'game')}, {many(count, 'thread')}")
            pool = Pool(
                "atomic",
                SearchConfig(),
                SelfPlayConfig(visits=GAME_VISITS, full_probability=1, random_plies=4, temperature=0),
                seed=1,
                slots=games,
                threads=count,
            )
            pool.start(0, games)
            began, worked = time.perf_counter(), time.process_time()
            pool.run("heuristic-1")
            wall[count] = min(wall[count], time.perf_counter() - began)
            processor[count] = min(processor[count], time.process_time() - worked)
            playouts = pool.playouts
    return {
        "evaluator": "heuristic-1",
        "games": games,
        "visits": GAME_VISITS,
        "playouts": playouts,
        "playouts_per_second": {str(count): round(playouts / wall[count]) for count in threads},
        "processor_seconds": {str(count): round(processor[count], 4) for count in threads},
        "scaling": round(wall[1] / wall[2], 3),
    }


def collisions(
    *,
    visits: Sequence[int] = (1000, 5000),
    positions: Sequence[str] = POSITIONS,
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Count the playouts that collided with a leaf in flight, and how full batches of 64 leaves of one tree are.

    All numbers are per move, that is per tree. A collision counts no visit and ends its batch: it costs one descent and
    the rows that the batch had left.
    """
    cases = [(name, count, virtual) for name in NATIVE for count in visits for virtual in (True, False)]
    rows = []
    for step, (name, count, virtual) in enumerate(cases):
        tell(step, len(cases), f"{name}, {many(count, 'visit')}")
        rows.append(_collisions(name, count, virtual, positions))
    table = BenchTable(
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
        "In every search three batches are below 75 %: the first has the root alone, the second at most its moves, the",
        "last what is left. Thesis: the atomic engine that Selfmate started from (2025).",
    )
    return BenchReport((table,), lines, {"gather": GATHER, "collisions": rows})


def _collisions(evaluator: str, visits: int, virtual_loss: bool, positions: Sequence[str]) -> dict[str, Any]:
    """Search each position once, in batches, and return the counts per tree."""
    done = hits = 0
    fills: list[int] = []
    for fen in positions:
        tree = Search(Position("atomic", fen), SearchConfig(virtual_loss=int(virtual_loss)), visits)
        while not tree.done():
            leaves = tree.gather(GATHER)
            if leaves.size:
                fills.append(leaves.size)
                tree.apply_native(leaves.ticket, evaluator)
        result = tree.result()
        done += result.visits
        hits += result.collisions
    moves = len(positions)
    return {
        "evaluator": evaluator,
        "visits": visits,
        "virtual_loss": virtual_loss,
        "collisions": round(hits / moves, 1),
        "wasted": round(hits / done, 5),
        "fill": round(sum(fills) / (GATHER * len(fills)), 4),
        "gathers": round(len(fills) / moves, 1),
        "below_three_quarters": round(sum(fill < FULL * GATHER for fill in fills) / moves, 1),
        "seed_000": SEED_TABLE.get(visits, {}).get(virtual_loss),
    }
