"""`selfmate bench movegen`: the speed of move generation, beside other engines in the same run.

Every figure is the best of several repeats. Within a repeat the engines take turns, so that all of them run under the
same load of the machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from selfmate import _core
from selfmate._core import VARIANTS, Position, Search, SearchConfig
from selfmate.bench.peers import ANSWER_SECONDS, Peer, find_peers, open_peer
from selfmate.bench.report import BenchReport, BenchTable, Tell
from selfmate.errors import SelfmateError
from selfmate.match.uci_client import UciClient
from selfmate.util.cpu import cores, processor_name
from selfmate.util.text import many

__all__ = ["MovegenTimes", "PerftCase", "PerftTimes", "measure", "movegen", "total"]

OURS = "selfmate"
RANDOM_POSITIONS = 100_000
RANDOM_SEED = 20_251
GENERATE_SECONDS = 1.0
TOTAL_VISITS = 20_000
"""Visits of each tree of `total`."""


@dataclass(frozen=True, slots=True)
class PerftCase:
    """One perft to measure, with the right count."""

    name: str
    variant: str
    fen: str
    depth: int
    nodes: int


START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"

# The counts are those of tests/perft/, which several generators confirmed.
CASES = (
    PerftCase("start", "chess", START, 6, 119_060_324),
    PerftCase("Kiwipete", "chess", KIWIPETE, 5, 193_690_690),
    PerftCase("start", "atomic", START, 6, 118_926_425),
    PerftCase(
        "middlegame 1", "atomic", "rn2kb1r/1pp1p2p/p2q1pp1/3P4/2P3b1/4PN2/PP3PPP/R2QKB1R b KQkq - 0 1", 5, 50_504_249
    ),
    PerftCase("middlegame 2", "atomic", "rn1qkb1r/p5pp/2p5/3p4/N3P3/5P2/PPP4P/R1BQK3 w Qkq - 0 1", 5, 21_134_061),
    PerftCase(
        "middlegame 3", "atomic", "r3kbnr/p1ppqpp1/bpn1p2p/8/1P2PP1P/8/P1PPQ1P1/RNB1KBNR b KQkq - 0 7", 5, 42_434_372
    ),
    PerftCase("middlegame 4", "atomic", "2kr4/2r5/p1p1p1p1/3p1Pb1/3P3P/PPPN1K2/3R4/1R6 w - - 5 34", 5, 31_345_640),
)


def total(visits: int = TOTAL_VISITS) -> tuple[int, float]:
    """Search the start of every variant and the other positions of `CASES`; return the nodes of all trees, and seconds.

    The nodes depend on the rules, the search and heuristic-1 alone, not on the machine.
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
class PerftTimes:
    """The best time of each engine on one case, in seconds."""

    case: PerftCase
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, engine: str, seconds: float) -> None:
        """Keep a time if it is the engine's best so far."""
        self.seconds[engine] = min(seconds, self.seconds.get(engine, seconds))

    def nodes_per_second(self, engine: str) -> float:
        """Return the speed of an engine."""
        return self.case.nodes / self.seconds[engine]

    def ratio(self, engine: str) -> float:
        """Return our speed as a multiple of that of `engine`."""
        return self.seconds[engine] / self.seconds[OURS]


@dataclass(slots=True)
class MovegenTimes:
    """Everything that one run of `movegen` measured."""

    threads: int
    repeats: int
    perft: list[PerftTimes]
    threaded: list[PerftTimes]
    """Our own perft alone: `selfmate` on one thread, `all threads` on all."""
    generated: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By variant: positions/s and legal moves/s over random positions, one thread."""
    peers: dict[str, str] = field(default_factory=dict)
    """By name: version and path of each engine that took part."""
    refused: list[str] = field(default_factory=list)
    """Why an engine that was found did not take part."""

    def refuse(self, engine: str, reason: str) -> None:
        """Remove an engine from the results and keep the reason."""
        self.refused.append(reason)
        self.peers.pop(engine, None)
        for times in self.perft:
            times.seconds.pop(engine, None)

    def totals(self) -> list[tuple[str, str, float, float]]:
        """Return (variant, engine, nodes/s over all its cases, our speed as a multiple of it)."""
        rows = []
        for variant in dict.fromkeys(times.case.variant for times in self.perft):
            of_variant = [times for times in self.perft if times.case.variant == variant]
            nodes = sum(times.case.nodes for times in of_variant)
            ours = sum(times.seconds[OURS] for times in of_variant)
            for engine in of_variant[0].seconds:
                seconds = sum(times.seconds[engine] for times in of_variant)
                rows.append((variant, engine, nodes / seconds, seconds / ours))
        return rows

    def report(self) -> BenchReport:
        """Return the report; speeds in nodes, positions or moves per second, in the tables in millions."""
        lines = [f"core {_core.CORE}, {processor_name()}, best of {self.repeats}"]
        lines += [f"{name}: {version}" for name, version in self.peers.items()]
        lines += [f"refused: {reason}" for reason in self.refused]
        if not any(name.startswith("fairy-stockfish") for name in self.peers):
            lines.append("no Fairy-Stockfish: bench/peers/build_fairy_stockfish.sh builds one")
        return BenchReport(tuple(self._tables()), tuple(lines), self._values())

    def _tables(self) -> Iterator[BenchTable]:
        perft: list[tuple[str, ...]] = []
        for times in self.perft:
            case = times.case
            for engine in times.seconds:
                ratio = "" if engine == OURS else f"{times.ratio(engine):.2f}x"
                speed = f"{times.nodes_per_second(engine) / 1e6:.1f}"
                perft.append((case.variant, case.name, engine, str(case.depth), speed, ratio))
        for variant, engine, total_speed, total_ratio in self.totals():
            ratio = "" if engine == OURS else f"{total_ratio:.2f}x"
            perft.append((variant, "all", engine, "", f"{total_speed / 1e6:.1f}", ratio))
        columns = ("variant", "position", "engine", "depth", "speed", "we are")
        yield BenchTable("Perft, one thread (million nodes/s)", columns, tuple(perft), text_columns=3)
        yield BenchTable(
            f"Perft, {many(self.threads, 'thread')}",
            ("variant", "position", "million nodes/s", "scaling"),
            tuple(
                (
                    times.case.variant,
                    times.case.name,
                    f"{times.nodes_per_second('all threads') / 1e6:.1f}",
                    f"{1 / times.ratio('all threads'):.2f}x",
                )
                for times in self.threaded
            ),
            text_columns=2,
        )
        yield BenchTable(
            f"Legal moves of {RANDOM_POSITIONS:,} random positions, one thread (million/s)",
            ("variant", "positions", "moves"),
            tuple(
                (variant, f"{positions / 1e6:.2f}", f"{moves / 1e6:.1f}")
                for variant, (positions, moves) in self.generated.items()
            ),
        )

    def _values(self) -> dict[str, Any]:
        return {
            "core": _core.CORE,
            "machine": {"processor": processor_name(), "threads": self.threads},
            "repeats": self.repeats,
            "peers": self.peers,
            "refused": self.refused,
            "perft": [
                asdict(times.case)
                | {
                    "nodes_per_second": {name: round(times.nodes_per_second(name)) for name in times.seconds},
                    "times_faster": {name: round(times.ratio(name), 3) for name in times.seconds},
                }
                for times in self.perft
            ],
            "totals": [
                {"variant": variant, "engine": name, "nodes_per_second": round(speed), "times_faster": round(ratio, 3)}
                for variant, name, speed, ratio in self.totals()
            ],
            "threads": [
                {
                    "variant": times.case.variant,
                    "name": times.case.name,
                    "threads": self.threads,
                    "nodes_per_second": round(times.nodes_per_second("all threads")),
                    "scaling": round(1 / times.ratio("all threads"), 3),
                }
                for times in self.threaded
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


def movegen(*, repeats: int = 3, threads: int | None = None, tell: Tell = lambda *_: None) -> BenchReport:
    """Measure perft on one thread and on `threads` (default: all cores), and the legal moves of random positions."""
    return measure(repeats=repeats, threads=threads, tell=tell).report()


def measure(*, repeats: int = 3, threads: int | None = None, tell: Tell = lambda *_: None) -> MovegenTimes:
    """Return what `movegen` reports, as numbers."""
    workers = threads or cores()
    variants = tuple(dict.fromkeys(case.variant for case in CASES))
    found = MovegenTimes(
        threads=workers,
        repeats=repeats,
        perft=[PerftTimes(case) for case in CASES],
        threaded=[PerftTimes(case) for case in CASES if case.name == "start"],
    )
    with ExitStack() as stack:
        # 1. Start the engines that are installed and play their variant.
        engines = _open_engines(stack, found)
        steps = repeats * (len(found.perft) + len(found.threaded) + len(variants))
        done = 0

        def step(note: str) -> None:
            nonlocal done
            tell(done, steps, note)
            done += 1

        for _ in range(repeats):
            # 2. Perft on one thread, all engines in turn.
            for times in found.perft:
                step(f"{times.case.variant} {times.case.name}")
                _time_ours(times, OURS, 1)
                for peer, engine in [each for each in engines if each[0].variant == times.case.variant]:
                    try:
                        _time_peer(times, peer, engine)
                    except SelfmateError as error:
                        engines.remove((peer, engine))
                        found.refuse(peer.name, str(error))
            # 3. Perft on all threads beside one.
            for times in found.threaded:
                step(f"{times.case.variant}, {many(workers, 'thread')}")
                _time_ours(times, OURS, 1)
                _time_ours(times, "all threads", workers)
            # 4. Legal moves of random positions.
            for variant in variants:
                step(f"{variant}, random positions")
                rate = _core.generate_rate(variant, RANDOM_POSITIONS, RANDOM_SEED, GENERATE_SECONDS)
                found.generated[variant] = max(rate, found.generated.get(variant, (0.0, 0.0)))
    return found


def _open_engines(stack: ExitStack, found: MovegenTimes) -> list[tuple[Peer, UciClient]]:
    """Start every usable engine and keep its name, version and path, or why it was refused."""
    engines: list[tuple[Peer, UciClient]] = []
    for peer in find_peers():
        name = peer.name if peer.name not in found.peers else f"{peer.name} ({peer.path.parent})"
        peer = Peer(name, peer.path, peer.variant)
        try:
            engine = stack.enter_context(open_peer(peer))
        except SelfmateError as error:
            found.refuse(name, f"{peer.path}: {error}")
            continue
        engines.append((peer, engine))
        found.peers[name] = f"{engine.name}, {peer.path}"
    return engines


def _time_ours(times: PerftTimes, label: str, threads: int) -> None:
    case = times.case
    position = Position(case.variant, case.fen)
    began = time.perf_counter()
    nodes = position.perft(case.depth, threads)
    seconds = time.perf_counter() - began
    if nodes != case.nodes:
        raise RuntimeError(f"our own perft counts {nodes} in {case}; right is {case.nodes}")
    times.add(label, seconds)


def _time_peer(times: PerftTimes, peer: Peer, engine: UciClient) -> None:
    """Time a peer's perft; the pipes add less than a millisecond."""
    case = times.case
    began = time.perf_counter()
    nodes = engine.perft(case.fen, case.depth, seconds=ANSWER_SECONDS)
    seconds = time.perf_counter() - began
    if nodes != case.nodes:
        raise SelfmateError(f"{peer.path} counts {nodes} in {case.variant}, {case.name}; right is {case.nodes}")
    times.add(peer.name, seconds)
