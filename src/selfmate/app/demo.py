"""`selfmate demo`: a short random game in the terminal.

Both sides play random moves, except for a win in one move.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from selfmate.app.terminal_board import checks_to_win, draw_board, has_colors, play_with_blast
from selfmate.board.position import Position, chess960_fen
from selfmate.util.text import many

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from selfmate._core import Move

__all__ = ["play_demo", "short_game"]

MIN_PLIES, MAX_PLIES = 12, 100
"""A shorter or longer game is not shown; another one is tried."""
TRIES = 100
"""Games tried before a long or drawn one is shown after all."""


def short_game(variant: str, seed: int) -> tuple[Position, list[Move]]:
    """Return start position and moves of a game that is won in `MIN_PLIES` to `MAX_PLIES`, if one is found.

    >>> start, moves = short_game("atomic", 7)
    >>> for move in moves:
    ...     _ = start.play(move)
    >>> start.is_game_over()
    True
    >>> short_game("atomic", 7)[1] == moves
    True
    """
    chance = random.Random(seed)
    for _ in range(TRIES):
        start = _start(variant, chance)
        position = start.copy()
        _play_out(position, chance, MAX_PLIES)
        outcome = position.outcome()
        if outcome is not None and outcome.winner is not None and len(position.move_stack) >= MIN_PLIES:
            return start, position.move_stack
    start = _start(variant, chance)
    position = start.copy()
    _play_out(position, chance, None)
    return start, position.move_stack


def _start(variant: str, chance: random.Random) -> Position:
    """Return the starting position; of a Chess960 variant, a random one of its 960."""
    if variant.endswith("960"):
        return Position(variant, chess960_fen(chance.randrange(960)))
    return Position(variant)


def _play_out(position: Position, chance: random.Random, max_plies: int | None) -> None:
    """Play random moves, and any win in one, until the game is over or `max_plies` were played."""
    while not position.is_game_over(claim_draw=True):
        if max_plies is not None and len(position.move_stack) >= max_plies:
            return
        moves = position.legal_moves
        position.play(next((move for move in moves if _wins(position, move)), None) or chance.choice(moves))


def _wins(position: Position, move: Move) -> bool:
    """Return whether `move` wins the game at once."""
    mover = position.turn
    position.play(move)
    outcome = position.outcome()
    position.undo()
    return outcome is not None and outcome.winner is mover


def play_demo(variant: str, seed: int, console: Console, *, delay: float = 0.0) -> None:
    """Show a game move by move, with `delay` seconds between them, then its outcome and the reason."""
    from rich.live import Live

    position, moves = short_game(variant, seed)
    title = f"{variant}, game {seed}"
    coloured = has_colors(console)
    sans: list[str] = []
    frame = _frame(title, position, sans, coloured)
    with Live(frame, console=console, auto_refresh=False, transient=True) as live:
        for move in moves:
            time.sleep(delay)
            sans.append(position.san(move))
            blast = play_with_blast(position, move)
            if blast:
                live.update(_frame(title, position, sans, coloured, move, blast), refresh=True)
                time.sleep(delay)
            frame = _frame(title, position, sans, coloured, move)
            live.update(frame, refresh=True)
    console.print(frame)
    outcome = position.outcome(claim_draw=True)
    assert outcome is not None, "a demo game is played to its end"
    winner = {True: "White wins", False: "Black wins", None: "Draw"}[outcome.winner]
    console.print(f"{winner}: {outcome.reason}. {outcome.result()} after {many(len(moves), 'ply', 'plies')}.")
    console.print(f"Repeat it: selfmate demo {variant} --seed {seed}")


def _frame(
    title: str,
    position: Position,
    sans: list[str],
    coloured: bool,
    move: Move | None = None,
    blast: frozenset[int] = frozenset(),
) -> RenderableType:
    """Return the drawn board with the moves so far beside it."""
    from rich.columns import Columns
    from rich.panel import Panel
    from rich.text import Text

    numbered = [
        f"{index // 2 + 1:3}. {sans[index]:8}{sans[index + 1] if index + 1 < len(sans) else ''}"
        for index in range(0, len(sans), 2)
    ]
    board = draw_board(position, coloured, move, blast)
    moves = Text("\n".join(numbered[-position.ranks :]))
    subtitle = checks_to_win(position)
    return Panel(Columns([board, moves], padding=(0, 3)), title=title, subtitle=subtitle, expand=False, width=58)
