"""`selfmate play`: a game against any player, in the terminal.

A session reads lines and writes to a console; nothing else of it depends on the terminal:

>>> from rich.console import Console
>>> lines = iter(["e4", "undo", "resign", "quit"])
>>> console = Console(quiet=True)
>>> session = PlaySession(Player("random"), Position("chess"), Limit(visits=1), console, lambda prompt: next(lines))
>>> session.run()
>>> session.result, session.game().end().comment
('0-1', 'White resigns')
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfmate._core import BLACK, WHITE, Move
from selfmate.app.notation import color_name, describe, example_moves, numbered_moves, read_move, san_line
from selfmate.app.terminal_board import checks_to_win, draw_board, flipped, has_colors, play_with_blast
from selfmate.board.pgn import Game
from selfmate.board.position import Position
from selfmate.errors import MoveError, SelfmateError, clip
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.result import Result
from selfmate.util.files import append_output
from selfmate.util.text import many

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["LEVEL_VISITS", "PlaySession", "read_line"]

LEVEL_VISITS: Final = (1, 4, 16, 64, 200, 800, 3000, 10_000)
"""Visits of each `--level`, the weakest first: level 1 plays the first choice of the net without a search."""
VARIED_PLIES: Final = 6
"""Plies at the start of a game in which the engine's search has noise, so that games differ."""
SHOWN_MOVES: Final = 3
"""Moves that `eval` lists."""
SHOWN_PLIES: Final = 8
"""Plies of each of their lines."""
MAX_LINE_CHARS: Final = 100_000
"""Longest line of an input that is no terminal; a device has lines without an end."""
COMMANDS: Final = {
    "help": "this list",
    "moves": "every legal move",
    "hint": "what the engine would play for you",
    "eval": "the evaluation: value, chances, and the lines that the engine expects",
    "undo": "take your last move back",
    "flip": "turn the board around",
    "board": "draw the board again",
    "fen": "the position as FEN",
    "pgn": "the game as PGN; `pgn FILE` adds it to a file",
    "resign": "give up",
    "new": "another game, with the other colour",
    "quit": "exit",
}


def read_line(prompt: str) -> str:
    """Return a line of standard input, as `input` does; raise `SelfmateError` for one longer than `MAX_LINE_CHARS`."""
    if sys.stdin.isatty():
        return input(prompt)
    print(prompt, end="", flush=True)
    line = sys.stdin.readline(MAX_LINE_CHARS + 1)
    if not line:
        raise EOFError
    if len(line) > MAX_LINE_CHARS:
        raise SelfmateError(f"standard input: a line is longer than {MAX_LINE_CHARS:,} characters")
    return line


class PlaySession:
    """Games of `player` against the user, whose colour is `color`.

    `read` takes a prompt and returns a line, like `input`; the session ends when it raises `EOFError`. A game is
    appended to the file `pgn`, if given, when it is over or abandoned.
    """

    def __init__(
        self,
        player: Player,
        start: Position,
        limit: Limit,
        console: Console,
        read: Callable[[str], str] = read_line,
        *,
        color: bool = WHITE,
        pgn: Path | None = None,
        seed: int | None = None,
    ) -> None:
        player.check(start.variant)
        self.player = player
        self.start = start
        self.limit = limit
        self.console = console
        self.read = read
        self.color = color
        self.pgn = pgn
        self.seed = secrets.randbits(32) if seed is None else seed
        self.unsaved = False
        """Whether a game could not be appended to `pgn`."""
        self._begin()

    def _begin(self) -> None:
        self.position = self.start.copy()
        self.flipped = self.color == BLACK
        self.resigned = False
        self.announced = False
        self.saved = False
        self.blast: frozenset[int] = frozenset()

    # -- the game ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Play until `quit` or the end of the input."""
        examples = example_moves(self.position)
        hint = f"Moves as {examples}; `help` for more." if examples else "`help` for more."
        self.say(f"You play {color_name(self.color)} against {self.player.name}. {hint}")
        self.show()
        try:
            while True:
                # 1. The game is over, or the engine is to move.
                if self.result != "*":
                    self._announce()
                elif self.position.turn != self.color:
                    self._engine_moves()
                    continue
                # 2. The user enters a line.
                try:
                    line = self.read(f"{color_name(self.color)}> ")
                except EOFError:
                    self.say("")
                    return
                except KeyboardInterrupt:
                    self.say("")  # end the line of the prompt
                    raise
                if not self.handle(line):
                    return
        finally:
            self._keep()

    def handle(self, line: str) -> bool:
        """Run a command or play a move; return False for `quit`."""
        word, _, rest = line.strip().partition(" ")
        command = word.lower()
        if command in ("quit", "exit", "q"):
            return False
        if command in COMMANDS:
            getattr(self, f"_do_{command}")(rest.strip())
        elif not word:
            self.say("A move, or `help`.")
        elif self.result != "*":
            self.say("The game is over: `new`, `undo`, `pgn FILE` or `quit`.")
        else:
            self._user_moves(line.strip())
        return True

    @property
    def result(self) -> str:
        """The result of the game, `*` while it is not over. Every draw that can be claimed is."""
        if self.resigned:
            return "0-1" if self.color == WHITE else "1-0"
        outcome = self.position.outcome(claim_draw=True)
        return outcome.result() if outcome else "*"

    def game(self) -> Game:
        """Return the game so far, for PGN."""
        game = Game.from_position(self.position)
        names = ("You", f"{self.player.name} ({self.limit})")
        game.headers["Event"] = "selfmate play"
        game.headers["Date"] = date.today().strftime("%Y.%m.%d")
        game.headers["White"], game.headers["Black"] = names if self.color == WHITE else names[::-1]
        game.result = self.result
        reason = self._reason()
        game.headers["Termination"] = "normal" if reason else "unterminated"
        game.end().comment = reason or ""
        return game

    def _reason(self) -> str | None:
        """Return why the game is over; None while it is not."""
        if self.resigned:
            return f"{color_name(self.color)} resigns"
        outcome = self.position.outcome(claim_draw=True)
        return outcome.reason if outcome else None

    def _user_moves(self, text: str) -> None:
        try:
            move = read_move(self.position, text)
        except MoveError as error:
            self.say(f"{error}. `moves` lists the legal ones.")
            return
        self._play(move)

    def _engine_moves(self) -> None:
        ply = len(self.position.move_stack)
        with self.console.status(f"{self.player.name} is thinking"):
            result = self.player.search(
                self.position, self.limit, noise=ply < VARIED_PLIES, seed=(self.seed + ply) % (1 << 64)
            )
        self.say(f"{self.player.name} plays {self.position.san(result.best)}")
        self._play(result.best)

    def _play(self, move: Move) -> None:
        self.blast = play_with_blast(self.position, move)
        if self.position.turn == self.color or self.result != "*":
            self.show()

    def _announce(self) -> None:
        """Show once how the game ended."""
        if self.announced:
            return
        self.announced = True
        winner = {"1-0": "White wins", "0-1": "Black wins"}.get(self.result, "Draw")
        plies = len(self.position.move_stack)
        self.say(f"{winner}: {self._reason()}. {self.result} after {plies} {'ply' if plies == 1 else 'plies'}.")
        self._keep()
        self.say("`new` for another game, `undo`, `pgn FILE` to save it, or `quit`.")

    def _keep(self) -> None:
        """Append the game to the file of `--pgn`, once."""
        if self.pgn is not None and not self.saved and self.position.move_stack:
            self.saved = True
            self.unsaved |= not self._save(self.pgn)

    # -- the commands -----------------------------------------------------------------------------

    def _do_help(self, rest: str) -> None:
        self.say("\n".join(f"  {name:8}{text}" for name, text in COMMANDS.items()))

    def _do_moves(self, rest: str) -> None:
        self.say(" ".join(sorted(self.position.san(move) for move in self.position.legal_moves)) or "None.")

    def _do_hint(self, rest: str) -> None:
        if (result := self._ask()) is not None:
            self.say(f"{self.position.san(result.best)}: {describe(result)}")

    def _do_eval(self, rest: str) -> None:
        if (result := self._ask()) is None:
            return
        self.say(f"{describe(result)}; {many(result.visits, 'visit')} in {result.seconds:.1f} s")
        for each in result.moves[:SHOWN_MOVES]:
            self.say(f"  {each.value:+.2f}  {each.visits:6}  {san_line(self.position, each.pv[:SHOWN_PLIES])}")

    def _ask(self) -> Result | None:
        """Return a search of the present position; None if the game is over."""
        if self.result != "*":
            self.say("The game is over.")
            return None
        with self.console.status(f"{self.player.name} is thinking"):
            return self.player.search(self.position, self.limit, seed=self.seed)

    def _do_undo(self, rest: str) -> None:
        # Back to the last position with the user to move; after a resignation that is this one.
        was_resigned, self.resigned = self.resigned, False
        moves = len(self.position.move_stack)
        mine = [ply for ply in range(moves) if ((moves - ply) % 2 == 0) == (self.position.turn == self.color)]
        if not was_resigned:
            if not mine:
                self.say("There is nothing to take back.")
                return
            for _ in range(moves - mine[-1]):
                self.position.undo()
        self.announced = self.saved = False
        self.blast = frozenset()
        self.show()

    def _do_flip(self, rest: str) -> None:
        self.flipped = not self.flipped
        self.show()

    def _do_board(self, rest: str) -> None:
        self.show()

    def _do_fen(self, rest: str) -> None:
        self.say(self.position.fen())

    def _do_pgn(self, rest: str) -> None:
        if rest:
            self._save(Path(rest).expanduser())
        else:
            self.say(str(self.game()))

    def _save(self, path: Path) -> bool:
        """Append the game to a file as a whole or not at all; print which, and return whether it was done."""
        try:
            append_output(path, f"{self.game()}\n\n".encode())
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self.say(f"Not saved: {clip(str(path))}: {reason}.")
            return False
        self.say(f"Added to {path}.")
        return True

    def _do_resign(self, rest: str) -> None:
        if self.result != "*":
            self.say("The game is over.")
        else:
            self.resigned = True

    def _do_new(self, rest: str) -> None:
        self._keep()
        self.color = not self.color
        self.seed = (self.seed + 1_000_003) % (1 << 64)
        self._begin()
        self.say(f"You play {color_name(self.color)}.")
        self.show()

    # -- output -----------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Print a text without markup."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def show(self) -> None:
        """Draw the board with the moves so far beside it."""
        self.console.print(self._frame())

    def _frame(self) -> RenderableType:
        from rich.columns import Columns
        from rich.panel import Panel
        from rich.text import Text

        coloured = has_colors(self.console)
        last = self.position.move_stack[-1] if self.position.move_stack else None
        board = draw_board(self.position, coloured, last, self.blast)
        if self.flipped:
            board = flipped(board)
        moves = Text("\n".join(numbered_moves(self.position)[-self.position.ranks :]))
        title = f"{self.player.name}, {self.position.variant}"
        both = Columns([board, moves], padding=(0, 3))
        return Panel(both, title=Text(title), subtitle=checks_to_win(self.position), expand=False, width=58)
