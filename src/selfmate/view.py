"""What a run shows in the terminal: a live picture of the training, or plain lines where there is no terminal.

The loop writes what it knows into a `Progress`; the view only reads it, several times a second.

>>> progress = Progress(variant="gardner", recipe="gardner-laptop", cycles=100)
>>> progress.cycle, progress.games = 3, 1024
>>> PlainView(progress).line()
'cycle 3: 1,024 games, step 0'
"""

from __future__ import annotations

import importlib.util
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TextIO, cast

from selfmate._core import GameRecord
from selfmate.game import Position

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from selfmate.gate import Match
    from selfmate.learner import Losses

__all__ = ["LiveView", "PlainView", "Progress", "View", "as_metrics", "make_view", "open_tensorboard"]

REFRESHES_PER_SECOND: Final = 4
PIECES: Final = dict(zip("kqrbnp", "♚♛♜♝♞♟", strict=True))
WHITE_PIECE, BLACK_PIECE = "#ffffff", "#101010"
LIGHT_SQUARE, DARK_SQUARE = "#b5a584", "#7d6b4f"
MOVE_SECONDS: Final = 0.5  # the board shows a game at this pace


@dataclass
class Progress:
    """All that a view may show; the loop keeps it up to date."""

    variant: str = ""
    recipe: str = ""
    directory: str = ""
    cycles: int = 0
    cycle: int = 0
    stage: str = "starting"
    cycle_games: int = 0
    cycle_games_done: int = 0
    games: int = 0
    positions: int = 0
    games_per_second: float = 0.0
    positions_per_second: float = 0.0
    evaluations_per_second: float = 0.0
    step: int = 0
    goal: int = 0
    rate: float = 0.0
    losses: Losses | None = None
    validation: Losses | None = None
    champion: int = 0
    scores: dict[str, tuple[int, Match]] = field(default_factory=dict)
    seconds: float = 0.0
    began: float = field(default_factory=time.monotonic)
    deadline: float | None = None
    shown: GameRecord | None = None

    def elapsed(self) -> float:
        """Seconds of training, those of earlier sessions included."""
        return self.seconds + time.monotonic() - self.began


class View(Protocol):
    """Shows a run."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...
    def say(self, text: str) -> None:
        """Print a line that stays."""

    def cycle_done(self) -> None:
        """Take note that a cycle is complete."""

    def close(self) -> None:
        """Leave the terminal as it was; calling it twice does no harm."""


def make_view(progress: Progress) -> View:
    """Choose the live view in a terminal, plain lines elsewhere."""
    from rich.console import Console

    console = Console()
    return LiveView(progress) if console.is_terminal and not console.is_dumb_terminal else PlainView(progress)


def clock(seconds: float) -> str:
    """Write a duration as people do.

    >>> clock(75), clock(3 * 3600 + 61)
    ('1:15', '3:01:01')
    """
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class PlainView:
    """A line per cycle, for logs and pipes."""

    def __init__(self, progress: Progress, output: TextIO | None = None) -> None:
        self.progress = progress
        self.output = output

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def close(self) -> None:
        """Nothing to put back."""

    def say(self, text: str) -> None:
        """Print a line."""
        print(text, file=self.output or sys.stdout, flush=True)

    def cycle_done(self) -> None:
        """Print what the cycle brought."""
        self.say(self.line())

    def line(self) -> str:
        """Sum the cycle up."""
        progress = self.progress
        parts = [f"cycle {progress.cycle}: {progress.games:,} games, step {progress.step:,}"]
        if progress.losses:
            parts.append(f"policy {progress.losses.policy:.3f} value {progress.losses.value:.3f}")
        if progress.validation:
            parts.append(f"held out {progress.validation.policy:.3f} {progress.validation.value:.3f}")
        if progress.games_per_second:
            parts.append(f"{progress.games_per_second:.1f} games/s {progress.positions_per_second:,.0f} positions/s")
        parts += [
            f"{name} {match.score:.0%}" for name, (cycle, match) in progress.scores.items() if cycle == progress.cycle
        ]
        if progress.deadline is not None:
            parts.append(f"{clock(progress.deadline - time.monotonic())} left")
        return ", ".join(parts)


class LiveView:
    """A picture that renews itself: speed, losses, scores, time left, and a game that was just played."""

    def __init__(self, progress: Progress, console: Console | None = None) -> None:
        from rich.live import Live

        self.progress = progress
        self._game: GameRecord | None = None
        self._board: Position | None = None
        self._next_move = 0.0
        self._live = Live(get_renderable=self._picture, console=console, refresh_per_second=REFRESHES_PER_SECOND)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Show the cursor again."""
        self._live.stop()

    def say(self, text: str) -> None:
        """Print a line above the picture."""
        self._live.console.print(text, highlight=False, markup=False)

    def cycle_done(self) -> None:
        """Nothing: the picture shows it already."""

    def _picture(self) -> RenderableType:
        from rich.columns import Columns
        from rich.panel import Panel

        progress = self.progress
        title = f"{progress.recipe} → {progress.directory}"
        return Panel(
            Columns([self._show_board(), self._facts()], padding=(0, 3)), title=title, expand=False, padding=(0, 1)
        )

    def _facts(self) -> Table:
        from rich.table import Table

        progress = self.progress
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim")
        table.add_column(min_width=44)
        for name, text in _facts(progress):
            table.add_row(name, text)
        return table

    def _show_board(self) -> Text:
        """Show a finished game at a pace that a reader follows; then the newest one."""
        from rich.text import Text

        now = time.monotonic()
        if self._board is None or self._game is None or len(self._board.move_stack) == len(self._game.moves):
            if self.progress.shown is None:
                self._board = self._board or Position(self.progress.variant)
            elif self.progress.shown is not self._game and now >= self._next_move:
                self._game = self.progress.shown
                self._board = Position(self._game.variant, self._game.start_fen)
                self._next_move = now + MOVE_SECONDS
        elif now >= self._next_move:
            played = len(self._board.move_stack)
            self._board.play(self._game.moves[played])
            last = played + 1 == len(self._game.moves)
            self._next_move = now + MOVE_SECONDS * (4 if last else 1)
        assert self._board is not None
        text = Text()
        for rank in reversed(range(self._board.ranks)):
            for file in range(self._board.files):
                piece = self._board.piece_at(8 * rank + file)
                color = WHITE_PIECE if piece and piece.isupper() else BLACK_PIECE
                square = DARK_SQUARE if (rank + file) % 2 == 0 else LIGHT_SQUARE
                text.append(f" {PIECES[piece.lower()] if piece else ' '} ", style=f"{color} on {square}")
            text.append("\n")
        if self._game is not None:
            text.append(f"game {self._game.game_id}  {self._game.result}", style="dim")
        return text


def _facts(progress: Progress) -> list[tuple[str, str]]:
    """Give the lines of the picture, name and text."""
    left = "" if progress.deadline is None else f", {clock(progress.deadline - time.monotonic())} left"
    rows = [
        ("time", f"{clock(progress.elapsed())}{left}"),
        ("cycle", f"{progress.cycle} of {progress.cycles}, {progress.stage}"),
        ("games", f"{progress.games:,}, {progress.cycle_games_done} of {progress.cycle_games} in this cycle"),
        (
            "speed",
            f"{progress.games_per_second:.1f} games/s, {progress.positions_per_second:,.0f} positions/s, "
            f"{progress.evaluations_per_second:,.0f} evaluations/s",
        ),
        ("step", f"{progress.step:,} of {progress.goal:,}, rate {progress.rate:.2g}"),
    ]
    for name, losses in (("learned", progress.losses), ("held out", progress.validation)):
        if losses is not None:
            rows.append((name, f"policy {losses.policy:.3f}, value {losses.value:.3f}"))
    rows.append(("champion", f"of cycle {progress.champion}"))
    rows += [(f"vs {name}", f"{match} at cycle {cycle}") for name, (cycle, match) in progress.scores.items()]
    return rows


def as_metrics(losses: Losses | None, prefix: str) -> dict[str, Any]:
    """Name losses for metrics.jsonl.

    >>> as_metrics(None, "held_out")
    {}
    """
    return {} if losses is None else {f"{prefix}_{name}": value for name, value in losses._asdict().items()}


class Scalars(Protocol):
    """What we use of TensorBoard's writer."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None: ...
    def close(self) -> None: ...


def open_tensorboard(directory: Path, cycle: int) -> Scalars | None:
    """Open a TensorBoard log beside the metrics, where TensorBoard is installed; it goes on at `cycle`."""
    if importlib.util.find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return cast(Scalars, SummaryWriter(str(directory / "tensorboard"), purge_step=cycle))
