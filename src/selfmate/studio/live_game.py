"""A game between the user of a page and a player: rules, clocks and results. Nothing here waits, searches or sends.

`now` is a clock in seconds, so that tests decide what time it is:

>>> from selfmate.board.position import Position
>>> seconds = [0.0]
>>> control = TimeControl(seconds=60, increment=1)
>>> game = LiveGame(Position("chess"), you="white", control=control, now=lambda: seconds[0])
>>> for uci in ("e2e4", "e7e5"):
...     game.play(uci)
>>> seconds[0] = 10.0
>>> game.clock().white, game.clock().running
(50000, 'white')
>>> game.play("g1f3")
>>> game.clock().white
51000
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from selfmate._core import BLACK, WHITE, Move
from selfmate.board.pgn import Game
from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.studio.board_view import board_state, color_of, play_line, play_one
from selfmate.studio.messages import BoardState, ClockState, Color, PlayedMove, TimeControl

__all__ = ["GameOver", "LiveGame"]

UNTIMED_PLIES: Final = 2
"""Moves at the start of a game that cost no time, as on Lichess: one of each side."""


class GameOver(SelfmateError):
    """What was asked for needs a game that goes on."""


class LiveGame:
    """A game with its clocks. `you` is the colour of the user; `control` is None for a game without clocks."""

    def __init__(
        self,
        start: Position,
        *,
        you: Color,
        control: TimeControl | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.start = start
        self.you: Color = you
        self.control = control
        self.position = start.copy()
        self.moves: list[PlayedMove] = []
        self.result: str | None = None
        """Result of a resignation, an agreed draw or a lost clock; None while the rules decide."""
        self.reason: str | None = None
        self._now = now
        seconds = 0.0 if control is None else control.seconds
        self._left = {"white": seconds, "black": seconds}
        self._since = now()

    # -- what there is --------------------------------------------------------------------------------

    @property
    def turn(self) -> Color:
        """The side to move."""
        return color_of(self.position.turn)

    @property
    def is_over(self) -> bool:
        """Whether the game has ended, by the rules or otherwise; a lost clock counts after `check_clock`."""
        return self.result is not None or self.position.outcome(claim_draw=True) is not None

    @property
    def is_timed_now(self) -> bool:
        """Whether the clock of the side to move runs."""
        return self.control is not None and not self.is_over and len(self.moves) >= UNTIMED_PLIES

    def board(self) -> BoardState:
        """Return the present position with the result."""
        return board_state(self.position, result=self.result, reason=self.reason)

    def clock(self) -> ClockState | None:
        """Return the time that is left; None without clocks."""
        if self.control is None:
            return None
        return ClockState(
            white=round(1000 * self.seconds_left("white")),
            black=round(1000 * self.seconds_left("black")),
            running=self.turn if self.is_timed_now else None,
        )

    def seconds_left(self, color: Color) -> float:
        """Return the seconds that a side has left, at least 0."""
        spent = self._now() - self._since if color == self.turn and self.is_timed_now else 0.0
        return max(0.0, self._left[color] - spent)

    # -- what happens ---------------------------------------------------------------------------------

    def play(self, uci: str) -> None:
        """Play a move of the side to move.

        Raises `GameOver`, also when its clock has run out, and `MoveError` for a move that is not legal.
        """
        self.check_clock()
        if self.is_over:
            raise GameOver("the game is over")
        move: Move = self.position.parse_uci(uci)
        mover = self.turn
        if self.is_timed_now and self.control is not None:
            self._left[mover] = self.seconds_left(mover) + self.control.increment
        self.moves.append(play_one(self.position, move))
        self._since = self._now()

    def restore(self, moves: Iterable[str], left: tuple[float, float], result: str | None, reason: str | None) -> None:
        """Bring a new game to where it was; its clocks go on from now. Raises `MoveError` for illegal moves."""
        self.moves = play_line(self.position, moves)
        self._left = {"white": left[0], "black": left[1]}
        self.result, self.reason = result, reason
        self._since = self._now()

    def can_take_back(self) -> bool:
        """Whether the user has a move to take back."""
        return any(self._mover(ply) == self.you for ply in range(len(self.moves)))

    def take_back(self) -> None:
        """Go back to the last position in which the user was to move; the clocks keep what is left."""
        if not self.can_take_back():
            raise GameOver("there is no move to take back")
        left = {color: self.seconds_left(color) for color in ("white", "black")}
        self.result = self.reason = None
        while self.moves:
            self.position.undo()
            self.moves.pop()
            if self.turn == self.you:
                break
        self._left = left
        if self.control is not None:  # a game that was lost on time goes on with the time of some moves
            self._left = {color: max(seconds, 10.0) for color, seconds in left.items()}
        self._since = self._now()

    def resign(self, color: Color) -> None:
        """End the game as a loss of a side; raises `GameOver`."""
        self._end("0-1" if color == "white" else "1-0", f"{color.title()} resigned")

    def agree_draw(self) -> None:
        """End the game as a draw; raises `GameOver`."""
        self._end("1/2-1/2", "draw agreed")

    def check_clock(self) -> bool:
        """End the game if the clock of the side to move has run out, and return whether it has.

        It is a draw if the other side cannot win with its material, as the rules of FIDE have it.
        """
        if not self.is_timed_now or self.seconds_left(self.turn) > 0:
            return False
        mover = self.turn
        self._left[mover] = 0.0
        other = BLACK if mover == "white" else WHITE
        if self.position.has_insufficient_material(other):
            self._end("1/2-1/2", f"{mover.title()} ran out of time, but {color_of(other).title()} cannot win")
        else:
            self._end("0-1" if mover == "white" else "1-0", f"{mover.title()} ran out of time")
        return True

    def game(self, names: dict[Color, str]) -> Game:
        """Return the game for PGN."""
        game = Game.from_position(self.position)
        board = self.board()
        game.headers["Event"] = "selfmate studio"
        game.headers["Date"] = time.strftime("%Y.%m.%d")
        game.headers["White"], game.headers["Black"] = names["white"], names["black"]
        game.result = board.result or "*"
        if self.control is not None:
            game.headers["TimeControl"] = f"{self.control.seconds:g}+{self.control.increment:g}"
        game.headers["Termination"] = "normal" if board.result else "unterminated"
        game.end().comment = board.reason or ""
        return game

    def _end(self, result: str, reason: str) -> None:
        if self.is_over:
            raise GameOver("the game is over")
        left = {color: self.seconds_left(color) for color in ("white", "black")}
        self._left = left
        self.result, self.reason = result, reason

    def _mover(self, ply: int) -> Color:
        return color_of(self.start.turn if ply % 2 == 0 else not self.start.turn)
