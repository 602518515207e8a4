r"""PGN: `Game`, a tree of moves with headers, and `read_games`, which yields the games of a file one at a time.

>>> game = Game.from_pgn('[White "Anna"]\n\n1. e4 e5 (1... c5 {sharp}) 2. Nf3! *')
>>> [node.san() for node in game.mainline()]
['e4', 'e5', 'Nf3']
>>> game.variations[0].variations[1].comment
'sharp'
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import Final

from selfmate import _core
from selfmate.board.pgn_reader import GameReader, OnError, Repair, TaggedTree
from selfmate.board.pgn_writer import movetext, variant_name
from selfmate.board.position import Position
from selfmate.errors import PgnError, SelfmateError, UnknownVariant, clip, clip_repr
from selfmate.util.numbers import flag, whole_number
from selfmate.util.text_lines import Source, numbered_lines

__all__ = ["Game", "Repair", "read_and_report", "read_games"]

MAX_GAME_CHARS = 1 << 20
"""Default limit on the text of one game: 1 MiB."""
LARGEST_MAX_CHARS = 1 << 40
"""Largest limit that can be given; more than fits into the memory of any machine."""
REPORTED_REPAIRS = 10
"""Repairs of a file that commands print."""
MOST_UNREAD: Final = 1000
"""Games without a tag or a move after which a file is read as PGN all the same."""


class Game(TaggedTree):
    """A game of any variant: headers, and the tree of moves from the start position.

    `error` is the error in the text that it was read from (`read_games(..., on_error="collect")`), else None;
    `repairs` are those of a lenient reader.
    Games are equal when start, headers, moves, comments and annotations are.

    >>> game = Game("atomic")
    >>> game.headers["White"] = "Selfmate"
    >>> _ = game.add_line(["g1f3", "f7f6"])
    >>> game.result = "1-0"
    >>> print(game)
    [Event "?"]
    [Site "?"]
    [Date "????.??.??"]
    [Round "?"]
    [White "Selfmate"]
    [Black "?"]
    [Result "1-0"]
    [Variant "Atomic"]
    <BLANKLINE>
    1. Nf3 f6 1-0
    """

    __slots__ = ()

    def __init__(self, variant: str = "chess", fen: str | None = None) -> None:
        super().__init__(Position(variant, fen))

    @classmethod
    def _from_start(cls, start: Position) -> Game:
        game = cls.__new__(cls)
        TaggedTree.__init__(game, start)
        return game

    @classmethod
    def from_position(cls, position: _core.Position) -> Game:
        """Return the game that led to `position`, from its history; its result is set if the game is over.

        >>> position = Position("chess")
        >>> for move in ["f2f3", "e7e5", "g2g4", "d8h4"]:
        ...     _ = position.play(move)
        >>> str(Game.from_position(position)).splitlines()[-1]
        '1. f3 e5 2. g4 Qh4# 0-1'
        """
        given: object = position
        if not isinstance(given, _core.Position):
            raise PgnError(f"a game is made of a Position, not of {clip_repr(given)}", clip_repr(given))
        start = Position(position)
        moves = [start.undo() for _ in position.move_stack]
        game = cls._from_start(start)
        game.add_line(reversed(moves))
        outcome = position.outcome(claim_draw=True)
        if outcome is not None:
            game.result = outcome.result()
        return game

    @classmethod
    def from_pgn(cls, text: str, *, max_chars: int = MAX_GAME_CHARS, lenient: bool = False) -> Game:
        """Parse a text with exactly one game; `lenient` is that of `read_games`. Raises `PgnError`.

        >>> Game.from_pgn("1. e4 e5 1/2-1/2").result
        '1/2-1/2'
        >>> Game.from_pgn("1. e4 { best by test")
        Traceback (most recent call last):
        ...
        selfmate.errors.PgnError: line 1: this comment is not closed
        """
        max_chars = whole_number("max_chars", max_chars, 1, LARGEST_MAX_CHARS, PgnError)
        if len(text) > max_chars:
            raise PgnError(f"the game is longer than {max_chars} characters", clip(text))
        games = list(read_games(io.StringIO(text), max_chars=max_chars, lenient=lenient))
        if len(games) != 1:
            raise PgnError(f"{len(games)} games found, one expected", clip(text))
        return games[0]

    @property
    def variant(self) -> str:
        """The variant as `Position` takes it; `chess960` and `atomic960` are separate names.

        >>> Game.from_pgn('[Variant "King of the Hill"] *').variant
        'kingofthehill'
        """
        return variant_name(self.start)

    def pgn(self) -> str:
        """Return the game as PGN, in lines of fewer than 80 columns.

        >>> Game().pgn().splitlines()[-1]
        '*'
        """
        return f"{self.headers.pgn()}\n{movetext(self, self.result)}"

    def __str__(self) -> str:
        return self.pgn()

    def __repr__(self) -> str:
        return f"<Game {self.variant}: {self.headers['White']} - {self.headers['Black']} {self.result}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Game):
            return NotImplemented
        return self.headers.free() == other.headers.free() and self.same_moves(other)


def read_games(
    source: Source,
    *,
    on_error: OnError | None = None,
    max_chars: int = MAX_GAME_CHARS,
    variant: str = "chess",
    lenient: bool = False,
) -> Iterator[Game]:
    r"""Yield the games of a PGN file, given by its path or opened; no more than one game is in memory.

    A game that cannot be read, or is longer than `max_chars`, raises `PgnError` with its line number
    (`on_error="raise"`), is left out (`"skip"`), or is yielded with the moves before the mistake and the error in
    `game.error` (`"collect"`); with the last two the games after it are read as usual. Lines that are not UTF-8 are
    read as Latin-1, the encoding of the standard. `variant` is the variant of games without the tag `Variant`.

    With `lenient`, what can be understood is read: UCI and null moves, moves of the wrong case, damaged tags, FENs with
    impossible castling rights. What cannot is left out: words, and a variation or a game from an illegal move on.
    `game.repairs` says what and where. `on_error` is `"collect"` for a lenient reader unless given, else `"raise"`.

    >>> text = "1. e4 e5 1-0\n\n1. d4 d4 0-1\n\n1. c4 *"
    >>> [len(list(game.mainline())) for game in read_games(io.StringIO(text), on_error="skip")]
    [2, 1]
    >>> [str(game.error) for game in read_games(io.StringIO(text), on_error="collect") if game.error]
    ["line 3: 'd4' is not legal (rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1)"]
    >>> [game] = read_games(io.StringIO("1. e4 e5 2. g1f3 *"), lenient=True)
    >>> str(game.repairs[0])
    "line 1, column 13: 'g1f3' read as Nf3"
    """
    lenient = flag("lenient", lenient, PgnError)
    if on_error is None:
        on_error = "collect" if lenient else "raise"
    handling: object = on_error
    if not isinstance(handling, str) or handling not in ("raise", "skip", "collect"):
        shown = clip_repr(on_error)
        raise SelfmateError(f"on_error is {shown}, must be 'raise', 'skip' or 'collect'", shown)
    max_chars = whole_number("max_chars", max_chars, 1, LARGEST_MAX_CHARS, PgnError)
    given: object = variant
    if not isinstance(given, str):
        raise UnknownVariant(f"the name of a variant is a text, not {clip_repr(given)}", clip_repr(given))
    return _read_games(source, on_error, max_chars, variant, lenient)


def _read_games(source: Source, on_error: OnError, max_chars: int, variant: str, lenient: bool) -> Iterator[Game]:
    def reader() -> GameReader[Game]:
        return GameReader(Game._from_start, max_chars, variant, lenient=lenient)

    current = reader()
    for number, line in numbered_lines(source, max_chars, PgnError):
        rest: str | None = line
        while rest is not None:
            rest = current.feed(rest, number, len(line))
            if rest is not None:
                if (game := current.finish(on_error)) is not None:
                    yield game
                current = reader()
        if current.error is not None and on_error == "raise":
            raise current.error
    if (game := current.finish(on_error)) is not None:
        yield game


def read_and_report(source: Source, name: str, *, variant: str = "chess") -> Iterator[Game]:
    """Yield the games of a file as commands read them: leniently, with one line per repair on standard error.

    `name` is that of the file in these lines. At most `REPORTED_REPAIRS` are printed, and at the end how many more
    there were. A file of which no game can be read, for it is no PGN, raises one `PgnError` and prints no repair.
    """
    unread: list[Game] = []  # games without a tag or a move that could be read, at the start of the file
    any_read = False
    count = 0
    for game in read_games(source, variant=variant, lenient=True):
        has_tags = game.headers.free() != Game().headers.free()
        is_unread = not game.variations and (game.error is not None or (bool(game.repairs) and not has_tags))
        if not any_read and is_unread and len(unread) < MOST_UNREAD:
            unread.append(game)
            continue
        any_read = True
        for each in (*unread, game):
            for repair in each.repairs:
                count += 1
                if count <= REPORTED_REPAIRS:
                    print(f"{name}: {repair}", file=sys.stderr)
            yield each
        unread.clear()
    if unread:
        raise unread[0].error or PgnError(str(unread[0].repairs[0]).removesuffix("; left out"), "")
    if count > REPORTED_REPAIRS:
        print(f"{name}: {count - REPORTED_REPAIRS} more repairs, which are not listed", file=sys.stderr)
