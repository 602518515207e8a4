"""A short random game in the terminal: the first thing that a newcomer sees.

Both sides play at random, except that they take a win in one move when they see it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from selfmate.board.position import Position, chess960_fen
from selfmate.util.text import many

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from selfmate._core import Move

__all__ = ["play_demo", "short_game"]


MIN_PLIES, MAX_PLIES = 12, 100
"""A game shorter or longer than this shows little or bores; another one is tried."""


TRIES = 100
"""Games tried before a long or drawn one is shown after all."""


SOLID = dict(zip("kqrbnp", "♚♛♜♝♞♟", strict=True))


OUTLINED = SOLID | dict(zip("KQRBNP", "♔♕♖♗♘♙", strict=True))
"""Without colours White's pieces are outlined."""


WHITE_PIECE, BLACK_PIECE = "#ffffff", "#101010"


LIGHT_SQUARE, DARK_SQUARE = "#b5a584", "#7d6b4f"


LIGHT_MOVED, DARK_MOVED = "#aeb05a", "#8a8c3c"


BLAST, BLAST_CENTRE = "#d9822b", "#e8402a"


def short_game(variant: str, seed: int) -> tuple[Position, list[Move]]:
    """Give a starting position and the moves of a game that is won in `MIN_PLIES` to `MAX_PLIES`, if one can be found.

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
    """Make the starting position; a Chess960 variant gets one of its 960."""
    if variant.endswith("960"):
        return Position(variant, chess960_fen(chance.randrange(960)))
    return Position(variant)


def _play_out(position: Position, chance: random.Random, max_plies: int | None) -> None:
    """Play random moves, and wins in one, until the game is over or `max_plies` were played."""
    while not position.is_game_over(claim_draw=True):
        if max_plies is not None and len(position.move_stack) >= max_plies:
            return
        moves = position.legal_moves
        position.play(next((move for move in moves if _wins(position, move)), None) or chance.choice(moves))


def _wins(position: Position, move: Move) -> bool:
    """Whether `move` ends the game in favour of its player."""
    mover = position.turn
    position.play(move)
    outcome = position.outcome()
    position.undo()
    return outcome is not None and outcome.winner is mover


def play_demo(variant: str, seed: int, console: Console, *, delay: float = 0.0) -> None:
    """Show a game move by move, `delay` seconds each, then its outcome and the reason."""
    from rich.live import Live

    position, moves = short_game(variant, seed)
    title = f"{variant}, game {seed}"
    coloured = console.color_system in ("256", "truecolor")  # of sixteen colours none suits a board
    sans: list[str] = []
    frame = _frame(title, position, sans, coloured)
    with Live(frame, console=console, auto_refresh=False, transient=True) as live:
        for move in moves:
            time.sleep(delay)
            sans.append(position.san(move))
            blast = play_showing(position, move)
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
    console.print(f"Again: selfmate demo {variant} --seed {seed}")


def play_showing(position: Position, move: Move) -> frozenset[int]:
    """Play `move` and give the squares of its explosion, none when nothing exploded."""
    is_capture = position.is_capture(move)
    before = {square: position.piece_at(square) for square in _squares(position)}
    position.play(move)
    if not is_capture or position.piece_at(move.to_square) is not None:
        return frozenset()
    emptied = {square for square, piece in before.items() if piece and position.piece_at(square) is None}
    return frozenset((emptied - {move.from_square}) | {move.to_square})


def _squares(position: Position) -> Iterable[int]:
    """Give every square of the board, from the top left as a reader sees it."""
    return (8 * rank + file for rank in reversed(range(position.ranks)) for file in range(position.files))


def _frame(
    title: str,
    position: Position,
    sans: list[str],
    coloured: bool,
    move: Move | None = None,
    blast: frozenset[int] = frozenset(),
) -> RenderableType:
    """Draw the board with the moves so far beside it."""
    from rich.columns import Columns
    from rich.panel import Panel
    from rich.text import Text

    numbered = [
        f"{index // 2 + 1:3}. {sans[index]:8}{sans[index + 1] if index + 1 < len(sans) else ''}"
        for index in range(0, len(sans), 2)
    ]
    board = draw_board(position, coloured, move, blast)
    moves = Text("\n".join(numbered[-position.ranks :]))
    return Panel(Columns([board, moves], padding=(0, 3)), title=title, expand=False, width=58)


def draw_board(position: Position, coloured: bool, move: Move | None, blast: frozenset[int]) -> Text:
    """Draw the board: the last move marked, an explosion in orange with its centre in red."""
    from rich.text import Text

    text = Text()
    moved = {move.from_square, move.to_square} if move else set()
    for square in _squares(position):
        rank, file = divmod(square, 8)
        if file == 0:
            text.append(f"{rank + 1} ", style="dim")
        is_light = (rank + file) % 2 == 1
        piece = position.piece_at(square)
        glyph = " " if coloured else "."
        if piece:
            glyph = SOLID[piece.lower()] if coloured else OUTLINED[piece]
        if square in blast:
            background = BLAST_CENTRE if move and square == move.to_square else BLAST
            glyph = glyph if piece else "✶"
        elif square in moved:
            background = LIGHT_MOVED if is_light else DARK_MOVED
        else:
            background = LIGHT_SQUARE if is_light else DARK_SQUARE
        colour = WHITE_PIECE if square in blast or (piece and piece.isupper()) else BLACK_PIECE
        text.append(f" {glyph} ", style=f"{colour} on {background}")
        if file == position.files - 1:
            text.append("\n")
    text.append("   " + "  ".join("abcdefgh"[: position.files]), style="dim")
    return text
