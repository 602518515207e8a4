"""The seam between the training loop and what plays its games: a pool of this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from selfmate._core import GameRecord
from selfmate.rundir.directory import Run
from selfmate.rundir.games import decode_games
from selfmate.rundir.live import Watch
from selfmate.train.selfplay import Concurrency, CycleGames, SelfPlay
from selfmate.train.starts import StartPositions
from selfmate.train.status import MachineStatus
from selfmate.util.random_streams import stream

__all__ = ["GameSource", "MakeGames", "games_in_flight", "local_games", "play_seed"]


class GameSource(Protocol):
    """Plays the games of cycles. `SelfPlay` is the one of this machine; its methods say what each does."""

    continuous: bool
    """Whether games of later cycles begin early and go on with the next champion; else a run is repeatable."""
    concurrency: Concurrency | None
    """Games at once on this machine; None where they are not known yet, or not for one machine."""
    starts: StartPositions
    beat: Callable[[], None]
    watch: Watch

    def prepare(self, champion: Path) -> None: ...

    def play(
        self,
        cycle: int,
        missing: Sequence[int],
        *,
        champion: int = 0,
        stopping: Callable[[], bool],
        tell: Callable[[CycleGames], None],
    ) -> CycleGames: ...

    def metrics(self) -> dict[str, float]: ...

    def machines(self) -> Sequence[MachineStatus]: ...

    def pause(self) -> None: ...

    def in_flight(self) -> list[GameRecord]: ...

    def close(self) -> None: ...


class MakeGames(Protocol):
    """Makes the source of a run's games, on a device; `say` prints a line."""

    def __call__(self, run: Run, device: str, say: Callable[[str], None]) -> GameSource: ...


def play_seed(run: Run) -> int:
    """Return the seed of a run's games of self-play."""
    return stream(run.manifest.seed, "play")


def games_in_flight(run: Run) -> list[GameRecord]:
    """Return the games that the last session of a run has begun and not counted."""
    return [] if run.state.flight is None else decode_games(run.read_shard(run.state.flight))


def local_games(run: Run, device: str, say: Callable[[str], None]) -> SelfPlay:
    """Return the self-play of a run on this machine."""
    return SelfPlay(run.recipe, play_seed(run), device, games_in_flight(run), starts=run.read_starts())
