"""Our side of the measurements in this folder: a net of a given size, and games of a pool played for a time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfmate import _core
from selfmate._core import Pool
from selfmate.errors import SelfmateError
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.search.autotune import GPU_LANES
from selfmate.search.driver import BatchTiming, drive
from selfmate.util.cpu import cores

if TYPE_CHECKING:
    from selfmate.nn.net import Net

__all__ = ["Window", "lanes_on", "make_net", "open_on", "play", "save_net", "threads_on"]

MOST_GAMES: Final = 400_000
"""Games that a pool is given: more than it can finish in the time of a measurement."""


def make_net(variant: str, *, blocks: int, channels: int) -> Net:
    """Return a net with random weights, without squeeze-and-excite."""
    try:
        from selfmate.nn.config import NetConfig
        from selfmate.nn.net import Net
    except ModuleNotFoundError as error:
        raise SelfmateError(f"{error.name} is missing; it comes with selfmate[train]") from None
    facts = _core.encoding(variant)
    return Net(NetConfig.sized(facts, "medium", blocks=blocks, channels=channels, context="none"), seed=1)


def save_net(net: Net, folder: Path) -> Path:
    """Write a net as safetensors and JSON, for other processes to read."""
    from selfmate.nn.checkpoint import save

    save(net, folder)
    return folder


def open_on(net: Net | Path, device: str, *, compiled: bool = False) -> Evaluator:
    """Open the evaluator of a net; on a CPU each lane computes on one thread."""
    if device == "cpu":
        return open_evaluator(net, device=device, threads=1)
    return open_evaluator(net, device=device, compiled=compiled)


def lanes_on(device: str) -> int:
    """Return the lanes of `selfmate bench selfplay`: one per core, or a few that take turns on a GPU."""
    return cores() if device == "cpu" else GPU_LANES


def threads_on(device: str) -> int:
    """Return the threads of a pool: one on a CPU, where the lanes use the cores; all (0) beside a GPU."""
    return 1 if device == "cpu" else 0


@dataclass(frozen=True, slots=True)
class Window:
    """The counts of a pool over a measured time."""

    seconds: float
    warm_up_seconds: float
    processor_seconds: float
    """Of all threads of this process."""
    moves: int
    playouts: int
    """Of the searches whose move was played."""
    evaluations: int
    batches: int
    lane_seconds: dict[str, float]
    """Seconds of all lanes in gather, evaluate and apply, and waiting for the pool."""

    def as_json(self) -> dict[str, Any]:
        """Return the counts, and the rates per second."""
        counted = {name: round(value, 3) if isinstance(value, float) else value for name, value in asdict(self).items()}
        return counted | {
            "moves_per_second": round(self.moves / self.seconds, 1),
            "playouts_per_second": round(self.playouts / self.seconds),
            "evaluations_per_second": round(self.evaluations / self.seconds),
            "mean_batch": round(self.evaluations / max(1, self.batches), 1),
        }


def play(pool: Pool, evaluator: Evaluator, *, lanes: int, device: str, seconds: float, warm_up: int) -> Window:
    """Start games, play until `warm_up` leaves are evaluated, then count for `seconds`.

    The warm-up contains everything that happens once: choice and compilation of kernels, allocation of trees.
    """
    leaves = batches = 0
    spent = dict.fromkeys(("gather", "evaluate", "apply", "wait"), 0.0)
    entered = time.perf_counter()
    start: dict[str, Any] = {}

    def counted() -> dict[str, Any]:
        now = {"at": time.perf_counter(), "processor": time.process_time()}
        return now | {"moves": pool.searched_plies, "playouts": pool.playouts, "leaves": leaves, "batches": batches}

    def tell(size: int) -> None:  # called by one lane at a time, under the lock of the pool
        nonlocal leaves, batches
        leaves += size
        batches += 1
        if not start and leaves >= warm_up:
            start.update(counted())

    def watch(turn: BatchTiming) -> None:
        if not start or turn.asked < start["at"]:
            return
        spent["gather"] += turn.gathered - turn.began
        spent["evaluate"] += turn.answered - turn.gathered
        spent["apply"] += turn.applied - turn.applying
        spent["wait"] += turn.began - turn.asked + turn.applying - turn.answered

    def stopping() -> bool:
        return bool(start) and time.perf_counter() - start["at"] >= seconds

    pool.start(0, MOST_GAMES)
    drive(pool, [evaluator], lanes=lanes, stopping=stopping, prepare=one_thread(device), tell=tell, watch=watch)
    if pool.done() or not start:
        raise SelfmateError(f"all {MOST_GAMES} games ended before the measured time")
    end = counted()
    return Window(
        seconds=end["at"] - start["at"],
        warm_up_seconds=start["at"] - entered,
        processor_seconds=end["processor"] - start["processor"],
        moves=end["moves"] - start["moves"],
        playouts=end["playouts"] - start["playouts"],
        evaluations=end["leaves"] - start["leaves"],
        batches=end["batches"] - start["batches"],
        lane_seconds={name: round(each, 4) for name, each in spent.items()},
    )


def one_thread(device: str) -> Callable[[], None]:
    """Return a function that limits torch to one thread in each lane on a CPU."""

    def prepare() -> None:
        if device == "cpu" and "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)

    return prepare
