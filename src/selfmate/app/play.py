"""`selfmate play`: a game against any player, in the terminal.

A session reads lines and writes to a console, and knows nothing else of the terminal:

>>> from rich.console import Console
>>> lines = iter(["e4", "undo", "resign", "quit"])
>>> console = Console(quiet=True)
>>> session = Session(Player("random"), Position("chess"), Limit(visits=1), console, lambda prompt: next(lines))
>>> session.run()
>>> session.result, session.game().end().comment
('0-1', 'White resigns')
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfmate._core import BLACK, WHITE, Move
from selfmate.app.demo import draw_board, play_showing
from selfmate.board.pgn import Game
from selfmate.board.position import Position
from selfmate.errors import AmbiguousSan, IllegalMove, MoveError, clip
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.result import Result
from selfmate.util.text import many

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

__all__ = ["LEVELS", "Session", "describe", "line_of"]


LEVELS: Final = (1, 4, 16, 64, 200, 800, 3000, 10_000)
"""Visits of each level, the weakest first: level 1 plays what the net would play without looking ahead."""


VARIED_PLIES: Final = 6
"""The engine's search has noise in so many plies at the beginning, so that games differ."""


SHOWN_MOVES: Final = 3


SHOWN_PLIES: Final = 8


COMMANDS: Final = {
    "help": "this list",
    "moves": "every legal move",
    "hint": "what the engine would play for you",
    "eval": "what the engine thinks: value, chances and the lines it expects",
    "undo": "take your last move back",
    "flip": "turn the board round",
    "board": "draw the board again",
    "fen": "the position as FEN",
    "pgn": "the game as PGN; `pgn FILE` adds it to a file",
    "resign": "give up",
    "new": "another game, with the other colour",
    "quit": "leave",
}


class Session:
    """A player of the program against a person, who has the colour `color` and answers through `read`.

    `read` takes a prompt and gives a line, like `input`; the session ends when it raises `EOFError`. Games are
    added to the file `pgn`, where one is given, when they are over or left.
    """

    def __init__(
        self,
        player: Player,
        start: Position,
        limit: Limit,
        console: Console,
        read: Callable[[str], str] = input,
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
        """Play until the person leaves."""
        examples = example_moves(self.position)
        hint = f"Moves as {examples}; `help` for more." if examples else "`help` for more."
        self.say(f"You play {name_of(self.color)} against {self.player.name}. {hint}")
        self.show()
        try:
            while True:
                # 1. Somebody has won, or it is the engine's turn.
                if self.result != "*":
                    self._announce()
                elif self.position.turn != self.color:
                    self._engine_moves()
                    continue
                # 2. The person says something.
                try:
                    line = self.read(f"{name_of(self.color)}> ")
                except EOFError:
                    self.say("")
                    return
                except KeyboardInterrupt:
                    self.say("")  # whoever speaks next begins a line
                    raise
                if not self.obey(line):
                    return
        finally:
            self._keep()

    def obey(self, line: str) -> bool:
        """Do what a line says, a command or a move; False when it says to leave."""
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
            self._person_moves(line.strip())
        return True

    @property
    def result(self) -> str:
        """The result of the game, `*` while it goes on. Every draw that can be claimed is."""
        if self.resigned:
            return "0-1" if self.color == WHITE else "1-0"
        outcome = self.position.outcome(claim_draw=True)
        return outcome.result() if outcome else "*"

    def game(self) -> Game:
        """Give the game as it stands, for PGN."""
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
        """Say why the game is over, None while it is not."""
        if self.resigned:
            return f"{name_of(self.color)} resigns"
        outcome = self.position.outcome(claim_draw=True)
        return outcome.reason if outcome else None

    def _person_moves(self, text: str) -> None:
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
        self.blast = play_showing(self.position, move)
        if self.position.turn == self.color or self.result != "*":
            self.show()

    def _announce(self) -> None:
        """Say once how the game ended."""
        if self.announced:
            return
        self.announced = True
        winner = {"1-0": "White wins", "0-1": "Black wins"}.get(self.result, "Draw")
        plies = len(self.position.move_stack)
        self.say(f"{winner}: {self._reason()}. {self.result} after {plies} {'ply' if plies == 1 else 'plies'}.")
        self._keep()
        self.say("`new` for another game, `undo`, `pgn FILE` to save it, or `quit`.")

    def _keep(self) -> None:
        """Add the game to the file that was asked for, once."""
        if self.pgn is not None and not self.saved and self.position.move_stack:
            self.saved = True
            self._save(self.pgn)

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
            self.say(f"  {each.value:+.2f}  {each.visits:6}  {line_of(self.position, each.pv[:SHOWN_PLIES])}")

    def _ask(self) -> Result | None:
        """Ask the engine about the present position."""
        if self.result != "*":
            self.say("The game is over.")
            return None
        with self.console.status(f"{self.player.name} is thinking"):
            return self.player.search(self.position, self.limit, seed=self.seed)

    def _do_undo(self, rest: str) -> None:
        # Back to the last position in which the person was to move; after a resignation that is this one.
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

    def _save(self, path: Path) -> None:
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{self.game()}\n\n")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self.say(f"Not saved: {clip(str(path))}: {reason}.")
        else:
            self.say(f"Added to {path}.")

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
        self.say(f"You play {name_of(self.color)}.")
        self.show()

    # -- what it looks like -----------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Print a text as it is."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def show(self) -> None:
        """Draw the board with the moves so far beside it."""
        self.console.print(self._frame())

    def _frame(self) -> RenderableType:
        from rich.columns import Columns
        from rich.panel import Panel
        from rich.text import Text

        coloured = self.console.color_system in ("256", "truecolor")
        last = self.position.move_stack[-1] if self.position.move_stack else None
        board = draw_board(self.position, coloured, last, self.blast)
        if self.flipped:
            board = turned(board)
        moves = Text("\n".join(numbered(self.position)[-self.position.ranks :]))
        title = f"{self.player.name}, {self.position.variant}"
        return Panel(Columns([board, moves], padding=(0, 3)), title=Text(title), expand=False, width=58)


# -- moves and numbers as people write them -------------------------------------------------------


def read_move(position: Position, text: str) -> Move:
    """Read a move in algebraic notation or in UCI; a piece's letter may be small where that is no pawn's move.

    What cannot be read or played is refused in one short line, with moves of this very board for examples.

    >>> [position.uci(read_move(position, text)) for position in [Position("chess")] for text in ("Nf3", "g1f3", "nf3")]
    ['g1f3', 'g1f3', 'g1f3']
    >>> read_move(Position("gardner"), "O-O")
    Traceback (most recent call last):
    ...
    selfmate.errors.MoveError: 'O-O' is not legal here
    """
    errors: list[MoveError] = []
    for parse, written in (
        (position.parse_uci, text),
        (position.parse_san, text),
        (position.parse_san, text[:1].upper() + text[1:]),
    ):
        try:
            return parse(written)
        except MoveError as error:
            errors.append(error)
    raise MoveError(_why_not(position, text, errors), text)


def _why_not(position: Position, text: str, errors: list[MoveError]) -> str:
    """Say what is wrong with a text that is no move here, from what each way to read it said."""
    # 1. It fits several moves, or all of a move but what a pawn becomes
    ambiguous = next((error for error in errors if isinstance(error, AmbiguousSan)), None)
    if ambiguous is not None:
        return str(ambiguous)
    shown = repr(clip(text))
    moves = {move: position.san(move).rstrip("+#") for move in position.legal_moves}
    becoming = [san for move, san in moves.items() if text in (san.partition("=")[0], position.uci(move)[:4])]
    if becoming:
        return f"{shown}: say what the pawn becomes, as in {becoming[0]}"
    # 2. It is a move, but not one of these; squares say more than letters. An error of the core ends with the FEN.
    illegal = next((error for error in errors if isinstance(error, IllegalMove)), None)
    if illegal is not None:
        reason = str(illegal).rpartition(" (")[0].partition(": ")[2]
        return f"{shown} is not legal" + (f": {reason}" if reason else " here")
    # 3. It is no move at all
    examples = example_moves(position)
    return f"{shown} is not a move" + (f" like {examples}" if examples else "")


def example_moves(position: Position) -> str:
    """Show how moves are written on this board: one move, in both notations, of a piece if one can move.

    >>> example_moves(Position("chess")), example_moves(Position("gardner"))
    ('Na3 or b1a3', 'Na3 or b1a3')
    """
    written = [f"{position.san(move)} or {position.uci(move)}" for move in position.legal_moves]
    return next((words for words in written if words[0] in "NBRQK"), written[0] if written else "")


def line_of(position: Position, moves: tuple[Move, ...]) -> str:
    """Write a line of moves in algebraic notation.

    >>> line_of(Position("chess"), (Move.from_uci("e2e4"), Move.from_uci("e7e5")))
    'e4 e5'
    """
    place = position.copy()
    words = []
    for move in moves:
        words.append(place.san(move))
        place.play(move)
    return " ".join(words)


def numbered(position: Position) -> list[str]:
    """Write the moves that were played, a line for each move of both sides.

    >>> position = Position("chess")
    >>> for move in ["e2e4", "e7e5", "g1f3"]:
    ...     _ = position.play(move)
    >>> numbered(position)
    ['  1. e4      e5', '  2. Nf3']
    """
    place = position.copy()
    moves = [place.undo() for _ in position.move_stack][::-1]
    number = place.fullmove_number
    sans = ["…"] if place.turn == BLACK else []
    for move in moves:
        sans.append(place.san(move))
        place.play(move)
    return [
        f"{number + index // 2:3}. {' '.join(f'{san:7}' for san in sans[index : index + 2])}".rstrip()
        for index in range(0, len(sans), 2)
    ]


def turned(board: Text) -> Text:
    """Turn a drawn board round, so that Black sits below."""
    from rich.text import Text

    *ranks, letters = board.split("\n")
    rows = []
    for rank in reversed(ranks):
        cells = [rank[start : start + 3] for start in range(2, len(rank), 3)]
        rows.append(Text("").join([rank[:2], *reversed(cells)]))
    names = letters.plain.split()
    return Text("\n").join([*rows, Text("   " + "  ".join(reversed(names)), style="dim")])


def describe(result: Result) -> str:
    """Say what a search thinks of the position, for the side to move.

    >>> describe(Player("heuristic-1").search(Position("gardner", "4k/2r1P/p2QB/PpP2/4K w - - 0 16"), Limit(visits=9)))
    'wins in 1 move'
    """
    if result.proven is not None:
        moves = (abs(result.proven) + 1) // 2
        ending = f"in {moves} move{'' if moves == 1 else 's'}"
        return "drawn" if result.proven == 0 else f"wins {ending}" if result.proven > 0 else f"loses {ending}"
    win, draw, loss = result.wdl
    return f"value {result.value:+.2f}, win {100 * win:.0f} %, draw {100 * draw:.0f} %, loss {100 * loss:.0f} %"


def name_of(color: bool) -> str:
    """Name a colour."""
    return "White" if color == WHITE else "Black"
