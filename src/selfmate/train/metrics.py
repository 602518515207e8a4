"""The numbers that a run keeps of itself: metrics.jsonl, and TensorBoard where it is installed."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from selfmate._core import GameRecord
from selfmate.recipe.schema import TRAINING_HEADS

if TYPE_CHECKING:
    from selfmate.rundir.directory import Run
    from selfmate.train.learner import Losses
    from selfmate.train.status import TrainingStatus

__all__ = ["MetricsLog", "describe_games", "is_overfitted", "name_losses", "open_tensorboard", "target_entropy"]

OVERFITTING_GAP: Final = 0.35
"""Value loss on held-out games minus that on learned games above which a cycle counts as overfitted.

Positions of a game share its result, so a net always remembers some results of learned games. A healthy run of chess
(204,551 games, all losses falling) had gaps up to 0.22 in its first cycles and 0.05 later. Gardner games that were
sampled eight times had 0.49, while the loss on held-out games rose (docs/log.md)."""


ENTROPY_GAMES: Final = 32
"""Games of a cycle of which the entropy is computed: some milliseconds."""


class ScalarWriter(Protocol):
    """The part of TensorBoard's SummaryWriter that is used here."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None: ...
    def close(self) -> None: ...


class MetricsLog:
    """Writes a line of metrics per call: stage, cycle, seconds of training, and the values given."""

    def __init__(self, run: Run, status: TrainingStatus) -> None:
        self._run = run
        self._status = status
        self._tensorboard = open_tensorboard(run.directory, run.state.cycle)

    def __call__(self, stage: str, cycle: int, **values: Any) -> None:
        self._run.log(stage=stage, cycle=cycle, time=round(self._status.elapsed(), 3), **values)
        if self._tensorboard is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._tensorboard.add_scalar(f"{stage}/{name}", value, values["step"] if stage == "step" else cycle)

    def close(self) -> None:
        """Close TensorBoard's file; metrics.jsonl belongs to the run."""
        if self._tensorboard is not None:
            self._tensorboard.close()


def open_tensorboard(directory: Path, cycle: int) -> ScalarWriter | None:
    """Open a TensorBoard log beside the metrics, from `cycle` on; None where TensorBoard is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return cast(ScalarWriter, SummaryWriter(str(directory / "tensorboard"), purge_step=cycle))


def name_losses(losses: Losses | None, prefix: str) -> dict[str, float]:
    """Return losses under their names in metrics.jsonl.

    >>> name_losses(None, "held_out")
    {}
    """
    named = {} if losses is None else losses._asdict()
    return {f"{prefix}_{name}": value for name, value in named.items() if value or name not in TRAINING_HEADS}


def target_entropy(records: Sequence[GameRecord]) -> float | None:
    """Return the mean entropy in nats of the policy targets of games, None without one; high where search is unsure."""
    targets = [each["weights"].values() for record in records for each in record.trained()]
    if not targets:
        return None
    total: float = sum(weight * math.log(weight) for weights in targets for weight in weights if weight > 0)
    return -total / len(targets)


def describe_games(records: Sequence[GameRecord]) -> dict[str, float]:
    """Return count, positions, mean length in plies, and the shares of results of at least one game.

    `entropy` is that of the policy targets of the first games, if they have any.
    """
    entropy = target_entropy(records[:ENTROPY_GAMES])
    results = [record.result for record in records]
    return {
        "games": len(records),
        "positions": sum(record.positions for record in records),
        "plies": sum(len(record.moves) for record in records) / len(records),
        "white": results.count("1-0") / len(records),
        "black": results.count("0-1") / len(records),
        "draws": results.count("1/2-1/2") / len(records),
        "truncated": results.count("*") / len(records),
        **({} if entropy is None else {"entropy": entropy}),
    }


def is_overfitted(held_out: Losses | None, learned: Losses | None) -> bool:
    """Return whether results of held-out games are predicted worse than those of learned games, beyond the gap."""
    return held_out is not None and learned is not None and held_out.value - learned.value > OVERFITTING_GAP
