"""What a training session shows: a live picture in a terminal, plain lines elsewhere.

The loop writes its numbers into a `TrainingStatus`; a view only reads it, several times a second.

>>> status = TrainingStatus(variant="gardner", recipe="gardner-laptop", cycles=100)
>>> PlainView(status).line(CompletedCycle(3, 1024, 0, None, None, 0.0, 0.0))
'cycle 3: 1,024 games, untrained'
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final, Protocol, Self, TextIO

from selfmate._core import GameRecord
from selfmate.app.terminal_board import BLACK_PIECE, DARK_SQUARE, LIGHT_SQUARE, WHITE_PIECE, glyph, has_colors
from selfmate.board.position import Position
from selfmate.train.status import CompletedCycle, TrainingStatus
from selfmate.util.terminal import QuietTerminal, say
from selfmate.util.text import many, percent

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from selfmate.train.learner import Losses

__all__ = ["LiveView", "PlainView", "View", "make_view"]

REFRESHES_PER_SECOND: Final = 4
MOVE_SECONDS: Final = 0.5
"""Time that the board shows a position of a game."""

MAX_WIDTH: Final = 96
"""Width of the frame in columns; fixed, so that it does not change with the number of digits."""


class View(Protocol):
    """Shows a training session; a context manager."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...
    def say(self, text: str) -> None:
        """Print a line that stays."""

    def cycle_done(self) -> None:
        """Show that a cycle is complete."""

    def close(self) -> None:
        """Restore the terminal; a second call does nothing."""


def make_view(status: TrainingStatus) -> View:
    """Return the live view in a terminal, plain lines elsewhere."""
    from rich.console import Console

    console = Console()
    return LiveView(status) if console.is_terminal and not console.is_dumb_terminal else PlainView(status)


def describe_losses(losses: Losses) -> str:
    """Return policy and value loss in words.

    Only finished games have a value target. A value loss of zero means that no position had one; it is left out.
    """
    value = f" value {losses.value:.3f}" if losses.value else ""
    return f"policy {losses.policy:.3f}{value}"


def clock(seconds: float) -> str:
    """Return a duration as minutes and seconds, from an hour on with hours.

    >>> clock(75), clock(3 * 3600 + 61)
    ('1:15', '3:01:01')
    """
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class PlainView:
    """A line per cycle, for logs and pipes."""

    def __init__(self, status: TrainingStatus, output: TextIO | None = None) -> None:
        self.status = status
        self.output = output

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def close(self) -> None:
        """Do nothing: there is nothing to restore."""

    def say(self, text: str) -> None:
        """Print a line."""
        print(text, file=self.output or sys.stdout, flush=True)

    def cycle_done(self) -> None:
        """Print a summary of the newest complete cycle."""
        if self.status.completed is not None:
            self.say(self.line(self.status.completed))

    def line(self, done: CompletedCycle) -> str:
        """Return the summary of a cycle, with the numbers of metrics.jsonl."""
        status = self.status
        step = f"step {done.step:,}" if done.step else "untrained"
        parts = [f"cycle {done.cycle}: {many(done.games, 'game')}, {step}"]
        for name, losses in (("learned", done.learned), ("held out", done.held_out)):
            if losses is not None:
                parts.append(f"{name} {describe_losses(losses)}")
        if done.games_per_second:
            parts.append(f"{done.games_per_second:.1f} games/s {done.positions_per_second:,.0f} positions/s")
        # The net that a cycle makes is called by the number of complete cycles.
        parts += [
            f"{percent(match.score)} against {name}"
            for name, (net, match) in status.scores.items()
            if net == done.cycle + 1
        ]
        if status.measured_elo is not None and status.measured_elo.cycle == done.cycle + 1:
            parts.append(f"Elo {status.measured_elo}")
        if status.deadline is not None:
            parts.append(f"{clock(status.deadline - time.monotonic())} left")
        return ", ".join(parts)


class LiveView:
    """A picture that is redrawn several times a second: speed, losses, scores, time left, and a game.

    The game is the newest one of self-play, or one of the match in progress.
    """

    def __init__(self, status: TrainingStatus, console: Console | None = None) -> None:
        from rich import get_console
        from rich.live import Live

        self.status = status
        self._console = console or get_console()
        self._game: GameRecord | None = None
        self._board: Position | None = None
        self._next_move = 0.0
        self._watched = ""
        self._live = Live(get_renderable=self._render, console=self._console, refresh_per_second=REFRESHES_PER_SECOND)
        self._quiet = QuietTerminal(self._console.file)

    def __enter__(self) -> Self:
        self._quiet.begin()
        self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop drawing; restore the cursor and the echo of the terminal."""
        self._live.stop()
        self._quiet.end()

    def say(self, text: str) -> None:
        """Print lines above the picture, wrapped between words; a command is not wrapped, so that it can be copied."""
        for line in text.split("\n"):
            if "selfmate " in line:
                self._console.print(line, highlight=False, markup=False, soft_wrap=True)
            else:
                say(self._console, line)

    def cycle_done(self) -> None:
        """Do nothing: the picture shows it already."""

    def _render(self) -> RenderableType:
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        status = self.status
        facts = Table.grid(padding=(0, 2))
        facts.add_column(style="dim", no_wrap=True)
        facts.add_column()
        for name, text in _rows(status):
            facts.add_row(name, Text(text))
        both = Table.grid(padding=(0, 3))
        both.add_column(no_wrap=True)
        both.add_column()
        both.add_row(self._draw_board(), facts)
        title = Text(f"{status.recipe} → {status.directory}")
        return Panel(both, title=title, width=min(MAX_WIDTH, self._console.width), padding=(0, 1))

    def _draw_board(self) -> Text:
        """Return the board of the game that is shown, with its number, result and players below."""
        from rich.text import Text

        self._advance(time.monotonic())
        status, match = self.status, self.status.match
        self._board = self._board or Position(status.variant)
        text, coloured = Text(), has_colors(self._console)
        for rank in reversed(range(self._board.ranks)):
            for file in range(self._board.files):
                piece = self._board.piece_at(8 * rank + file)
                color = WHITE_PIECE if piece and piece.isupper() else BLACK_PIECE
                square = DARK_SQUARE if (rank + file) % 2 == 0 else LIGHT_SQUARE
                text.append(f" {glyph(piece, coloured)} ", style=f"{color} on {square}")
            text.append("\n")
        if self._game is not None:
            playing = match is not None and any(record.game_id == self._game.game_id for record in match.playing)
            text.append(f"game {self._game.game_id}  {'' if playing else self._game.result}", style="dim")
            if match:
                white, black = status.sides[:: -1 if self._game.white_seat else 1]
                text.append(f"\nWhite {white}\nBlack {black}", style="dim")
        return text

    def _advance(self, now: float) -> None:
        """Make the next move on the board, or take the next game when this one was shown to its end."""
        status, match = self.status, self.status.match
        # 1. A match begins or ends: clear the board
        watched = status.stage if match else ""
        if watched != self._watched:
            self._watched, self._game, self._board, self._next_move = watched, None, None, 0.0
        # 2. A game of a match may have more moves by now
        games = {record.game_id: record for record in (*match.finished, *match.playing)} if match else {}
        playing = {record.game_id for record in match.playing} if match else set()
        if self._game is not None:
            self._game = games.get(self._game.game_id, self._game)
        # 3. The next game, or the next move of this one
        if self._game is None or self._board is None or len(self._board.move_stack) == len(self._game.moves):
            is_playing = self._game is not None and self._game.game_id in playing
            other = next(reversed(games.values()), None) if match else status.latest_game
            if other is not None and not is_playing and other is not self._game and now >= self._next_move:
                self._game = other
                self._board = Position(other.variant, other.start_fen)
                self._next_move = now + MOVE_SECONDS
        elif now >= self._next_move:
            played = len(self._board.move_stack)
            self._board.play(self._game.moves[played])
            is_last = played + 1 == len(self._game.moves) and self._game.game_id not in playing
            self._next_move = now + MOVE_SECONDS * (4 if is_last else 1)


def _rows(status: TrainingStatus) -> list[tuple[str, str]]:
    """Return the lines of the picture as (name, text); what is not known yet has no line."""
    match = status.match
    left = "" if status.deadline is None else f", {clock(status.deadline - time.monotonic())} left"
    games = ""
    if status.cycle_games and not match:
        games = f", {status.cycle_games_done} of {status.cycle_games} in this cycle"
    rows = [
        ("time", f"{clock(status.elapsed())}{left}"),
        ("stage", status.stage),
    ]
    if status.cycles:
        rows += [("cycle", f"{status.cycle} of {status.cycles}"), ("games", f"{status.games:,}{games}")]
    if match:
        rows.append(("match", f"{len(match.finished)} of {many(match.games, 'game')}"))
        if match.match.games:
            rows.append(("", str(match.match)))
        if match.evaluations:
            games_per_second, evaluations_per_second = (
                number / match.seconds for number in (len(match.finished), match.evaluations)
            )
            rows.append(("speed", f"{games_per_second:.1f} games/s, {evaluations_per_second:,.0f} evaluations/s"))
    elif status.evaluations_per_second:
        rows += [
            ("speed", f"{status.games_per_second:.1f} games/s, {status.positions_per_second:,.0f} positions/s"),
            ("", f"{status.evaluations_per_second:,.0f} evaluations/s"),
        ]
    rows += [(each.name, str(each)) for each in status.machines]
    if status.goal:
        rows.append(("step", f"{status.step:,} of {status.goal:,}, rate {status.learning_rate:.2g}"))
    for name, losses in (("loss", status.losses), ("learned", status.learned), ("held out", status.held_out)):
        if losses is not None:
            rows.append((name, describe_losses(losses)))
    rows.append(("champion", f"of cycle {status.champion}" if status.champion_step else "untrained"))
    for name, (cycle, score) in status.scores.items():
        rows.append(("against", f"{name} {score.percent}, cycle {cycle}"))
    if status.measured_elo is not None:
        rows.append(("Elo", f"{status.measured_elo}, cycle {status.measured_elo.cycle}"))
    return rows
