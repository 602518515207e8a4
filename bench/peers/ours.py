"""Our side of the measurements in this folder: a net of a given size, and games of a pool played for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfmate import _core
from selfmate._core import Pool
from selfmate.evaluator import Evaluator, cores, open_evaluator
from selfmate.gate import drive

if TYPE_CHECKING:
    from selfmate.net import Net

__all__ = ["Window", "lanes_on", "make_net", "open_on", "play", "save_net", "threads_on"]

MOST_GAMES: Final = 400_000
"""Games that a pool is given: more than it can finish in the time of a measurement."""


def make_net(variant: str, *, blocks: int, channels: int, context: str = "none") -> Net:
    """Make a net with random weights; without squeeze-and-excite unless `context` says so."""
    from selfmate.net import FixedFacts, Net, NetConfig

    facts = _core.encoding(variant)
    fixed = FixedFacts(variant, facts.files, facts.ranks, facts.bitboards, facts.scalars, facts.planes)
    return Net(NetConfig.sized(fixed, "medium", blocks=blocks, channels=channels, context=context), seed=1)


def save_net(net: Net, folder: Path) -> Path:
    """Write a net as safetensors and JSON, for other processes to read."""
    from selfmate.weights import save

    save(net, folder)
    return folder


def open_on(net: Net | Path, device: str) -> Evaluator:
    """Open the evaluator of a net; on a CPU each lane computes on one thread."""
    return open_evaluator(net, device=device, threads=1 if device == "cpu" else None)


def lanes_on(device: str) -> int:
    """Give the lanes of `selfmate bench selfplay`: one per core, or two that take turns on a GPU."""
    return cores() if device == "cpu" else 2


def threads_on(device: str) -> int:
    """Give a pool's threads: on a CPU the lanes have the cores already, beside a GPU it takes all (0)."""
    return 1 if device == "cpu" else 0


@dataclass(frozen=True, slots=True)
class Window:
    """What a pool did in a measured time."""

    seconds: float
    processor_seconds: float
    """Of all threads of this process."""
    moves: int
    playouts: int
    """Of the searches whose move was played."""
    evaluations: int
    batches: int
    games_finished: int
    warm_up_seconds: float

    def as_json(self) -> dict[str, Any]:
        """Give the counts and what they are per second."""
        counted = {name: round(value, 3) if isinstance(value, float) else value for name, value in asdict(self).items()}
        return counted | {
            "moves_per_second": round(self.moves / self.seconds, 1),
            "playouts_per_second": round(self.playouts / self.seconds),
            "evaluations_per_second": round(self.evaluations / self.seconds),
            "mean_batch": round(self.evaluations / max(1, self.batches), 1),
        }


def play(pool: Pool, evaluator: Evaluator, *, lanes: int, device: str, seconds: float, warm_up: int) -> Window:
    """Start games, play until `warm_up` leaves are evaluated, then play on for `seconds` and count.

    Nothing is asked of the pool while the time runs; its games are counted before and after.
    """
    finished_moves = finished_games = leaves = batches = 0

    def note(size: int) -> None:
        nonlocal leaves, batches
        leaves += size
        batches += 1

    def look() -> tuple[int, int]:
        """Count the moves of all games, and the playouts behind them."""
        nonlocal finished_moves, finished_games
        for record in pool.drain():
            finished_moves += len(record.moves) - record.random_plies
            finished_games += 1
        running = sum(len(record.moves) - record.random_plies for record in pool.in_flight())
        return finished_moves + running, pool.playouts

    def run(stopping: Callable[[], bool]) -> float:
        began = time.perf_counter()
        drive(pool, [evaluator], lanes=lanes, stopping=stopping, prepare=one_thread(device), tell=note)
        return time.perf_counter() - began

    pool.start(0, MOST_GAMES)
    warm_up_seconds = run(lambda: leaves >= warm_up)
    moves, playouts = look()
    games, leaves_before, batches_before = finished_games, leaves, batches
    worked = time.process_time()
    deadline = time.perf_counter() + seconds
    elapsed = run(lambda: time.perf_counter() >= deadline)
    worked = time.process_time() - worked
    moves_after, playouts_after = look()
    if pool.done():
        raise RuntimeError(f"all {MOST_GAMES} games were over before the time was")
    return Window(
        seconds=elapsed,
        processor_seconds=worked,
        moves=moves_after - moves,
        playouts=playouts_after - playouts,
        evaluations=leaves - leaves_before,
        batches=batches - batches_before,
        games_finished=finished_games - games,
        warm_up_seconds=warm_up_seconds,
    )


def one_thread(device: str) -> Callable[[], None]:
    """Keep torch, where it computes on the processor, to one thread in each lane."""

    def prepare() -> None:
        import sys

        if device == "cpu" and "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)

    return prepare
