"""What a run shows in the terminal: a live picture of the training, or plain lines where there is no terminal.

The loop writes what it knows into a `Progress`; the view only reads it, several times a second.

>>> progress = Progress(variant="gardner", recipe="gardner-laptop", cycles=100)
>>> progress.cycle, progress.games = 3, 1024
>>> PlainView(progress).line()
'cycle 3: 1,024 games, untrained'
"""

from __future__ import annotations

import importlib.util
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, TextIO, cast

from selfmate._core import GameRecord
from selfmate.board.position import Position
from selfmate.util.text import many, percent, rounded

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from selfmate.match.runner import MatchProgress
    from selfmate.rating.match_stats import Match
    from selfmate.train.learner import Losses
from selfmate.util.terminal import QuietTerminal

__all__ = ["LiveView", "Measured", "PlainView", "Progress", "View", "as_metrics", "make_view", "open_tensorboard"]


REFRESHES_PER_SECOND: Final = 4


PIECES: Final = dict(zip("kqrbnp", "♚♛♜♝♞♟", strict=True))


WHITE_PIECE, BLACK_PIECE = "#ffffff", "#101010"


LIGHT_SQUARE, DARK_SQUARE = "#b5a584", "#7d6b4f"


MOVE_SECONDS: Final = 0.5  # the board shows a game at this pace


MAX_WIDTH: Final = 96  # of the frame: fixed, so that it does not breathe with every digit


class Measured(NamedTuple):
    """Where the champion of a cycle is on the scale of `selfmate progress`, and what it took to know."""

    cycle: int
    elo: float
    error: float
    games: int
    seconds: float

    def __str__(self) -> str:
        return f"{rounded(self.elo)} ± {rounded(self.error)} ({many(self.games, 'game')} in {self.seconds:.0f} s)"


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
    champion_step: int = 0
    match: MatchProgress | None = None
    """The match that is being played, if one is, and who its first and second side are."""
    sides: tuple[str, str] = ("", "")
    scores: dict[str, tuple[int, Match]] = field(default_factory=dict)
    measured: Measured | None = None
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


def describe_losses(losses: Losses) -> str:
    """Say losses in words.

    Only games that were played to their end teach a value. A value loss of zero means that there was none among the
    positions, so there is nothing to show.
    """
    value = f" value {losses.value:.3f}" if losses.value else ""
    return f"policy {losses.policy:.3f}{value}"


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
        step = f"step {progress.step:,}" if progress.step else "untrained"
        parts = [f"cycle {progress.cycle}: {many(progress.games, 'game')}, {step}"]
        for name, losses in (("learned", progress.losses), ("held out", progress.validation)):
            if losses is not None:
                parts.append(f"{name} {describe_losses(losses)}")
        if progress.games_per_second:
            parts.append(f"{progress.games_per_second:.1f} games/s {progress.positions_per_second:,.0f} positions/s")
        parts += [
            f"{percent(match.score)} against {name}"
            for name, (cycle, match) in progress.scores.items()
            if cycle == progress.cycle
        ]
        if progress.measured is not None and progress.measured.cycle == progress.cycle:
            parts.append(f"Elo {progress.measured}")
        if progress.deadline is not None:
            parts.append(f"{clock(progress.deadline - time.monotonic())} left")
        return ", ".join(parts)


class LiveView:
    """A picture that renews itself: speed, losses, scores, time left, and a game.

    The game is one that was just played, or while a match goes on one of that match.
    """

    def __init__(self, progress: Progress, console: Console | None = None) -> None:
        from rich import get_console
        from rich.live import Live

        self.progress = progress
        self._console = console or get_console()
        self._game: GameRecord | None = None
        self._board: Position | None = None
        self._next_move = 0.0
        self._watched = ""
        self._live = Live(get_renderable=self._picture, console=self._console, refresh_per_second=REFRESHES_PER_SECOND)
        self._quiet = QuietTerminal(self._console.file)

    def __enter__(self) -> Self:
        self._quiet.begin()
        self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Show the cursor again, and what is typed."""
        self._live.stop()
        self._quiet.end()

    def say(self, text: str) -> None:
        """Print a line above the picture; a long one stays one line, so that it can be copied."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def cycle_done(self) -> None:
        """Nothing: the picture shows it already."""

    def _picture(self) -> RenderableType:
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        progress = self.progress
        facts = Table.grid(padding=(0, 2))
        facts.add_column(style="dim", no_wrap=True)
        facts.add_column()
        for name, text in _facts(progress):
            facts.add_row(name, Text(text))
        both = Table.grid(padding=(0, 3))
        both.add_column(no_wrap=True)
        both.add_column()
        both.add_row(self._show_board(), facts)
        title = Text(f"{progress.recipe} → {progress.directory}")
        return Panel(both, title=title, width=min(MAX_WIDTH, self._console.width), padding=(0, 1))

    def _show_board(self) -> Text:
        """Show a game at a pace that a reader follows; then another one."""
        from rich.text import Text

        progress, now = self.progress, time.monotonic()
        match = progress.match
        # 1. A match begins or ends: what was on the board is of no interest any more
        watched = progress.stage if match else ""
        if watched != self._watched:
            self._watched, self._game, self._board, self._next_move = watched, None, None, 0.0
        # 2. A game of a match may have gone on since
        games = {record.game_id: record for record in (*match.finished, *match.playing)} if match else {}
        playing = {record.game_id for record in match.playing} if match else set()
        if self._game is not None:
            self._game = games.get(self._game.game_id, self._game)
        # 3. The next game, or the next move of this one
        if self._game is None or self._board is None or len(self._board.move_stack) == len(self._game.moves):
            goes_on = self._game is not None and self._game.game_id in playing
            other = next(reversed(games.values()), None) if match else progress.shown
            if other is not None and not goes_on and other is not self._game and now >= self._next_move:
                self._game = other
                self._board = Position(other.variant, other.start_fen)
                self._next_move = now + MOVE_SECONDS
        elif now >= self._next_move:
            played = len(self._board.move_stack)
            self._board.play(self._game.moves[played])
            last = played + 1 == len(self._game.moves) and self._game.game_id not in playing
            self._next_move = now + MOVE_SECONDS * (4 if last else 1)
        # 4. Draw it
        self._board = self._board or Position(progress.variant)
        text = Text()
        for rank in reversed(range(self._board.ranks)):
            for file in range(self._board.files):
                piece = self._board.piece_at(8 * rank + file)
                color = WHITE_PIECE if piece and piece.isupper() else BLACK_PIECE
                square = DARK_SQUARE if (rank + file) % 2 == 0 else LIGHT_SQUARE
                text.append(f" {PIECES[piece.lower()] if piece else ' '} ", style=f"{color} on {square}")
            text.append("\n")
        if self._game is not None:
            result = "" if self._game.game_id in playing else self._game.result
            text.append(f"game {self._game.game_id}  {result}", style="dim")
            if match:
                white, black = progress.sides[:: -1 if self._game.white_seat else 1]
                text.append(f"\nWhite {white}\nBlack {black}", style="dim")
        return text


def _facts(progress: Progress) -> list[tuple[str, str]]:
    """Give the lines of the picture, name and text. What is not known yet has none."""
    match = progress.match
    left = "" if progress.deadline is None else f", {clock(progress.deadline - time.monotonic())} left"
    games = ""
    if progress.cycle_games and not match:
        games = f", {progress.cycle_games_done} of {progress.cycle_games} in this cycle"
    rows = [
        ("time", f"{clock(progress.elapsed())}{left}"),
        ("stage", progress.stage),
        ("cycle", f"{progress.cycle} of {progress.cycles}"),
        ("games", f"{progress.games:,}{games}"),
    ]
    if match:
        rows.append(("match", f"{len(match.finished)} of {many(match.games, 'game')}"))
        if match.match.games:
            rows.append(("", str(match.match)))
        if match.evaluations:
            games_per_second, evaluations_per_second = (
                number / match.seconds for number in (len(match.finished), match.evaluations)
            )
            rows.append(("speed", f"{games_per_second:.1f} games/s, {evaluations_per_second:,.0f} evaluations/s"))
    elif progress.evaluations_per_second:
        rows += [
            ("speed", f"{progress.games_per_second:.1f} games/s, {progress.positions_per_second:,.0f} positions/s"),
            ("", f"{progress.evaluations_per_second:,.0f} evaluations/s"),
        ]
    if progress.goal:
        rows.append(("step", f"{progress.step:,} of {progress.goal:,}, rate {progress.rate:.2g}"))
    for name, losses in (("learned", progress.losses), ("held out", progress.validation)):
        if losses is not None:
            rows.append((name, describe_losses(losses)))
    rows.append(("champion", f"of cycle {progress.champion}" if progress.champion_step else "untrained"))
    for name, (cycle, score) in progress.scores.items():
        rows.append(("against", f"{name} {score.percent}, cycle {cycle}"))
    if progress.measured is not None:
        rows.append(("Elo", f"{progress.measured}, cycle {progress.measured.cycle}"))
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
