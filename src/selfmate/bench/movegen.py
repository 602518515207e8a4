"""`selfmate bench movegen`: how fast moves are generated, beside other engines in the same run.

Every figure is the best of several runs, and the engines take turns, so that all see the same load of the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from selfmate import _core
from selfmate._core import VARIANTS, Position, Search, SearchConfig
from selfmate.bench.peers import Peer, PeerError, PerftEngine, find_peers, open_peer
from selfmate.util.cpu import cores
from selfmate.util.text import many

if TYPE_CHECKING:
    from rich.console import Console
from selfmate.util.cpu import processor_name

__all__ = ["Case", "Measured", "Report", "movegen", "show", "total"]

RANDOM_POSITIONS = 100_000
RANDOM_SEED = 20_251
GENERATE_SECONDS = 1.0
TOTAL_VISITS = 20_000
Tell = Callable[[int, int, str], None]
"""Told how many steps of how many are done, and which one comes."""


@dataclass(frozen=True, slots=True)
class Case:
    """One perft to measure, with the count that everybody must give."""

    name: str
    variant: str
    fen: str
    depth: int
    nodes: int


START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"

# The counts are those of tests/perft/, confirmed there by several generators.
CASES = (
    Case("start", "chess", START, 6, 119_060_324),
    Case("Kiwipete", "chess", KIWIPETE, 5, 193_690_690),
    Case("start", "atomic", START, 6, 118_926_425),
    Case("middlegame 1", "atomic", "rn2kb1r/1pp1p2p/p2q1pp1/3P4/2P3b1/4PN2/PP3PPP/R2QKB1R b KQkq - 0 1", 5, 50_504_249),
    Case("middlegame 2", "atomic", "rn1qkb1r/p5pp/2p5/3p4/N3P3/5P2/PPP4P/R1BQK3 w Qkq - 0 1", 5, 21_134_061),
    Case("middlegame 3", "atomic", "r3kbnr/p1ppqpp1/bpn1p2p/8/1P2PP1P/8/P1PPQ1P1/RNB1KBNR b KQkq - 0 7", 5, 42_434_372),
    Case("middlegame 4", "atomic", "2kr4/2r5/p1p1p1p1/3p1Pb1/3P3P/PPPN1K2/3R4/1R6 w - - 5 34", 5, 31_345_640),
)


def total(visits: int = TOTAL_VISITS) -> tuple[int, float]:
    """Search the start of every variant and the positions above; give the nodes of all trees, and the seconds.

    The nodes change with the rules, the search and heuristic-1, and with nothing else.
    """
    positions = [Position(variant) for variant in VARIANTS]
    positions += [Position(case.variant, case.fen) for case in CASES if case.fen != START]
    nodes, began = 0, time.perf_counter()
    for position in positions:
        search = Search(position, SearchConfig(stop_when_proven=False), visits)
        search.run("heuristic-1")
        nodes += search.result().nodes
    return nodes, time.perf_counter() - began


@dataclass(slots=True)
class Measured:
    """The best time of each engine on one case, in seconds."""

    case: Case
    seconds: dict[str, float] = field(default_factory=dict)

    def note(self, engine: str, seconds: float) -> None:
        """Keep a time if it is the best so far of that engine."""
        self.seconds[engine] = min(seconds, self.seconds.get(engine, seconds))

    def nodes_per_second(self, engine: str) -> float:
        """Give the speed of an engine."""
        return self.case.nodes / self.seconds[engine]

    def ratio(self, engine: str) -> float:
        """Say how many times faster than `engine` we are."""
        return self.seconds[engine] / self.seconds["selfmate"]


@dataclass(slots=True)
class Report:
    """Everything that one run of `movegen` measured."""

    core: str
    threads: int
    repeats: int
    perft: list[Measured]
    threaded: list[Measured]
    """Ours alone: `selfmate` with one thread, `all threads` with all."""
    generated: dict[str, tuple[float, float]]
    """By variant: positions/s and legal moves/s over random positions, one thread."""
    peers: dict[str, str]
    """By name: version and path of each engine that took part."""
    refused: list[str]
    """Why an engine that was found did not take part."""

    def refuse(self, engine: str, reason: str) -> None:
        """Take an engine out of the report and say why."""
        self.refused.append(reason)
        self.peers.pop(engine, None)
        for measured in self.perft:
            measured.seconds.pop(engine, None)

    def totals(self) -> list[tuple[str, str, float, float]]:
        """Give variant, engine, its nodes/s over all cases of the variant, and how many times faster we are."""
        rows = []
        for variant in dict.fromkeys(measured.case.variant for measured in self.perft):
            rows_of_variant = [measured for measured in self.perft if measured.case.variant == variant]
            nodes = sum(measured.case.nodes for measured in rows_of_variant)
            ours = sum(measured.seconds["selfmate"] for measured in rows_of_variant)
            for engine in rows_of_variant[0].seconds:
                seconds = sum(measured.seconds[engine] for measured in rows_of_variant)
                rows.append((variant, engine, nodes / seconds, seconds / ours))
        return rows

    def as_json(self) -> dict[str, Any]:
        """Give the report as plain values; speeds in nodes, positions or moves per second."""
        return {
            "core": self.core,
            "machine": {"processor": processor_name(), "threads": self.threads},
            "repeats": self.repeats,
            "peers": self.peers,
            "refused": self.refused,
            "perft": [
                asdict(measured.case)
                | {
                    "nodes_per_second": {name: round(measured.nodes_per_second(name)) for name in measured.seconds},
                    "times_faster": {name: round(measured.ratio(name), 3) for name in measured.seconds},
                }
                for measured in self.perft
            ],
            "totals": [
                {"variant": variant, "engine": name, "nodes_per_second": round(speed), "times_faster": round(ratio, 3)}
                for variant, name, speed, ratio in self.totals()
            ],
            "threads": [
                {
                    "variant": measured.case.variant,
                    "name": measured.case.name,
                    "threads": self.threads,
                    "nodes_per_second": round(measured.nodes_per_second("all threads")),
                    "scaling": round(1 / measured.ratio("all threads"), 3),
                }
                for measured in self.threaded
            ],
            "generate": [
                {
                    "variant": variant,
                    "positions": RANDOM_POSITIONS,
                    "positions_per_second": round(positions),
                    "moves_per_second": round(moves),
                }
                for variant, (positions, moves) in self.generated.items()
            ],
        }


def movegen(*, repeats: int = 3, threads: int | None = None, tell: Tell = lambda *_: None) -> Report:
    """Measure everything; `tell` is told of the progress."""
    workers = threads or cores()
    variants = tuple(dict.fromkeys(case.variant for case in CASES))
    report = Report(_core.CORE, workers, repeats, [Measured(case) for case in CASES], [], {}, {}, [])
    report.threaded = [Measured(case) for case in CASES if case.name == "start"]
    with ExitStack() as stack:
        # 1. Start the engines that are here and play what they should.
        engines = _open_engines(stack, report)
        total = repeats * (len(report.perft) + len(report.threaded) + len(variants))
        done = 0

        def step(note: str) -> None:
            nonlocal done
            tell(done, total, note)
            done += 1

        for _ in range(repeats):
            # 2. Perft on one thread, all engines in turn.
            for measured in report.perft:
                step(f"{measured.case.variant} {measured.case.name}")
                _measure_ours(measured, "selfmate", 1)
                for engine in [engine for engine in engines if engine.peer.variant == measured.case.variant]:
                    try:
                        _measure_peer(measured, engine)
                    except PeerError as error:
                        engines.remove(engine)
                        report.refuse(engine.peer.name, str(error))
            # 3. Perft on all threads beside one.
            for measured in report.threaded:
                step(f"{measured.case.variant}, {many(workers, 'thread')}")
                _measure_ours(measured, "selfmate", 1)
                _measure_ours(measured, "all threads", workers)
            # 4. Legal moves of random positions.
            for variant in variants:
                step(f"{variant}, random positions")
                rate = _core.generate_rate(variant, RANDOM_POSITIONS, RANDOM_SEED, GENERATE_SECONDS)
                report.generated[variant] = max(rate, report.generated.get(variant, (0.0, 0.0)))
    return report


def _open_engines(stack: ExitStack, report: Report) -> list[PerftEngine]:
    """Start every usable engine and note its name, version and path, or why it was refused."""
    engines: list[PerftEngine] = []
    for peer in find_peers():
        name = peer.name if peer.name not in report.peers else f"{peer.name} ({peer.path.parent})"
        try:
            engine = stack.enter_context(open_peer(Peer(name, peer.path, peer.variant)))
        except PeerError as error:
            report.refuse(name, str(error))
            continue
        engines.append(engine)
        report.peers[name] = f"{engine.version}, {peer.path}"
    return engines


def _measure_ours(measured: Measured, label: str, threads: int) -> None:
    """Time our own perft."""
    position = Position(measured.case.variant, measured.case.fen)
    started = time.perf_counter()
    nodes = position.perft(measured.case.depth, threads)
    seconds = time.perf_counter() - started
    if nodes != measured.case.nodes:
        raise RuntimeError(f"we count {nodes} in {measured.case}: a fast wrong count is worth nothing")
    measured.note(label, seconds)


def _measure_peer(measured: Measured, engine: PerftEngine) -> None:
    """Time another engine's perft."""
    case = measured.case
    nodes, seconds = engine.perft(case.fen, case.depth)
    if nodes != case.nodes:
        raise PeerError(f"{engine.peer.path} counts {nodes} in {case.variant}, {case.name}; right is {case.nodes}")
    measured.note(engine.peer.name, seconds)


def show(report: Report, console: Console) -> None:
    """Print the report as tables; speeds in millions per second."""
    from rich import box
    from rich.table import Table

    def table(title: str, *columns: str) -> Table:
        console.print(title, highlight=False)
        made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in columns:
            made.add_column(
                column, justify="left" if column in ("variant", "position", "engine") else "right", no_wrap=True
            )
        return made

    perft = table("Perft, one thread (million nodes/s)", "variant", "position", "depth", "engine", "speed", "we are")
    for measured in report.perft:
        case = measured.case
        for engine in measured.seconds:
            ratio = "" if engine == "selfmate" else f"{measured.ratio(engine):.2f}x"
            speed = f"{measured.nodes_per_second(engine) / 1e6:.1f}"
            perft.add_row(case.variant, case.name, str(case.depth), engine, speed, ratio)
        perft.add_section()
    for variant, engine, total_speed, total_ratio in report.totals():
        ratio = "" if engine == "selfmate" else f"{total_ratio:.2f}x"
        perft.add_row(variant, "all", "", engine, f"{total_speed / 1e6:.1f}", ratio)
    console.print(perft, soft_wrap=True)

    threads = table(f"Perft, {many(report.threads, 'thread')}", "variant", "position", "million nodes/s", "scaling")
    for measured in report.threaded:
        speed = f"{measured.nodes_per_second('all threads') / 1e6:.1f}"
        threads.add_row(measured.case.variant, measured.case.name, speed, f"{1 / measured.ratio('all threads'):.2f}x")
    console.print(threads)

    generated = table(
        f"Legal moves of {RANDOM_POSITIONS:,} random positions, one thread (million/s)",
        "variant",
        "positions",
        "moves",
    )
    for variant, (positions, moves) in report.generated.items():
        generated.add_row(variant, f"{positions / 1e6:.2f}", f"{moves / 1e6:.1f}")
    console.print(generated)

    console.print(f"core {report.core}, {processor_name()}, best of {report.repeats}")
    for name, version in report.peers.items():
        console.print(f"{name}: {version}", highlight=False, soft_wrap=True)
    for reason in report.refused:
        console.print(f"refused: {reason}", highlight=False, soft_wrap=True)
    if not any(name.startswith("fairy-stockfish") for name in report.peers):
        console.print("no Fairy-Stockfish: bench/peers/build_fairy_stockfish.sh builds one", highlight=False)
