r"""PGN: `Game`, a tree of moves with headers, and a reader that yields the games of a file one at a time.

>>> game = Game.from_pgn('[White "Anna"]\n\n1. e4 e5 (1... c5 {sharp}) 2. Nf3! *')
>>> [node.san() for node in game.mainline()]
['e4', 'e5', 'Nf3']
>>> game.variations[0].variations[1].comment
'sharp'

This module is long because the reader is one state machine, and `Game.from_pgn` and the reader need each other.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Literal

from selfmate import _core
from selfmate.board.game_tree import MAX_NAG, GameTree, MoveNode, Node
from selfmate.board.pgn_tags import parse_tag
from selfmate.board.pgn_writer import (
    RESULTS,
    START_TAGS,
    Headers,
    check_tag,
    movetext,
    start_tags,
    variant_name,
    variant_of_tag,
)
from selfmate.board.position import Position
from selfmate.errors import PgnError, SanError, SelfmateError, clip
from selfmate.util.text_lines import Source, numbered_lines

__all__ = ["Game", "read_games"]

MAX_GAME_CHARS = 1 << 20
"""Default limit on the text of one game: 1 MiB."""
NAG_OF_SUFFIX = {"!": 1, "?": 2, "!!": 3, "??": 4, "!?": 5, "?!": 6}
FIRST_MOVE = re.compile(r"\s*+1\s*+\.(?!\s*\.)")
AFTER_END = re.compile(r"\s*+(?:\{([^}]*+)\}|;(.*+)|\Z)")

TOKEN = re.compile(
    r"""
    [\s.]*+(?:[0-9]++(?=[\s.]|\Z)[\s.]*+)?+               # a move number is skipped
    (?: ([A-Za-z][A-Za-z0-9=+\#-]*+|0-0(?:-0)?+[+\#]?+)   # 1: a move
        ([!?]{1,2}+)?+                                    # 2: its suffix
      | \{([^}]*+)\}                                      # 3: a comment
      | \{([^}]*+)\Z                                      # 4: a comment that continues on the next line
      | \$([0-9]++)                                       # 5: a numeric annotation glyph
      | ([()])                                            # 6: a variation
      | (1-0|0-1|1/2-1/2|\*)                              # 7: the result
      | ;(.*+)                                            # 8: a comment to the end of the line
      | ([!?]{1,2}+)                                      # 9: a suffix apart from its move
      | (\S++)                                            # 10: anything else
      | \Z
    )""",
    re.VERBOSE,
)


class Game(GameTree):
    """A game of any variant: headers, and the tree of moves from the start position.

    `error` is the error in the text that it was read from (`read_games(..., on_error="collect")`), else None.
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

    __slots__ = ("error", "headers")

    headers: Headers
    error: PgnError | None

    def __init__(self, variant: str = "chess", fen: str | None = None) -> None:
        self._begin(Position(variant, fen))

    def _begin(self, start: Position) -> None:
        super().__init__(start)
        self.headers = Headers(start_tags(start))
        self.error = None

    @classmethod
    def from_position(cls, position: _core.Position) -> Game:
        """Return the game that led to `position`, from its history; its result is set if the game is over.

        >>> position = Position("chess")
        >>> for move in ["f2f3", "e7e5", "g2g4", "d8h4"]:
        ...     _ = position.play(move)
        >>> str(Game.from_position(position)).splitlines()[-1]
        '1. f3 e5 2. g4 Qh4# 0-1'
        """
        start = Position(position)
        moves = [start.undo() for _ in position.move_stack]
        game = cls.__new__(cls)
        game._begin(start)
        game.add_line(reversed(moves))
        outcome = position.outcome(claim_draw=True)
        if outcome is not None:
            game.result = outcome.result()
        return game

    @classmethod
    def from_pgn(cls, text: str, *, max_chars: int = MAX_GAME_CHARS) -> Game:
        """Parse a text with exactly one game. Raises `PgnError`.

        >>> Game.from_pgn("1. e4 e5 1/2-1/2").result
        '1/2-1/2'
        >>> Game.from_pgn("1. e4 { best by test")
        Traceback (most recent call last):
        ...
        selfmate.errors.PgnError: line 1: this comment is not closed
        """
        if len(text) > max_chars:
            raise PgnError(f"the game is longer than {max_chars} characters", clip(text))
        games = list(read_games(io.StringIO(text), max_chars=max_chars))
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

    @property
    def result(self) -> str:
        """The result: `1-0`, `0-1`, `1/2-1/2`, or `*` for an unfinished game."""
        return self.headers["Result"]

    @result.setter
    def result(self, result: str) -> None:
        if result not in RESULTS:
            raise PgnError(f"not a result: {clip(result)!r}; use one of {' '.join(RESULTS)}", result)
        self.headers["Result"] = result

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


OnError = Literal["raise", "skip", "collect"]


def read_games(
    source: Source, *, on_error: OnError = "raise", max_chars: int = MAX_GAME_CHARS, variant: str = "chess"
) -> Iterator[Game]:
    r"""Yield the games of a PGN file, given by its path or opened; no more than one game is in memory.

    A game that cannot be read, or is longer than `max_chars`, raises `PgnError` with its line number
    (`on_error="raise"`), is left out (`"skip"`), or is yielded with the moves before the mistake and the error in
    `game.error` (`"collect"`); with the last two the games after it are read as usual. Lines that are not UTF-8 are
    read as Latin-1, the encoding of the standard. `variant` is the variant of games without the tag `Variant`.

    >>> text = "1. e4 e5 1-0\n\n1. d4 d4 0-1\n\n1. c4 *"
    >>> [len(list(game.mainline())) for game in read_games(io.StringIO(text), on_error="skip")]
    [2, 1]
    >>> [str(game.error) for game in read_games(io.StringIO(text), on_error="collect") if game.error]
    ["line 3: 'd4' is not legal (rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1)"]
    """
    if on_error not in ("raise", "skip", "collect"):
        raise SelfmateError(f"on_error is {on_error!r}, must be 'raise', 'skip' or 'collect'", on_error)
    return _read_games(source, on_error, max_chars, variant)


def _read_games(source: Source, on_error: OnError, max_chars: int, variant: str) -> Iterator[Game]:
    reader = _GameReader(max_chars, variant)
    for number, line in numbered_lines(source, max_chars):
        rest: str | None = line
        while rest is not None:
            rest = reader.feed(rest, number)
            if rest is not None:
                if (game := reader.finish(on_error)) is not None:
                    yield game
                reader = _GameReader(max_chars, variant)
        if reader.error is not None and on_error == "raise":
            raise reader.error
    if (game := reader.finish(on_error)) is not None:
        yield game


class _GameReader:
    """Parser of one game, fed line by line.

    `feed` returns None while the game continues; when it is complete, `feed` returns the rest of the line, which
    belongs to the next game. After an error only the start of the next game is searched for.
    """

    def __init__(self, max_chars: int, variant: str) -> None:
        self.max_chars = max_chars
        self.variant = variant
        self.chars = 0
        self.line = 0
        self.error: PgnError | None = None
        self.tags: dict[str, str] = {}
        self.after_blank = False
        self.in_moves = False
        self.ended = False
        self.open_comment: list[str] | None = None
        self.comment_line = 0
        self.game: Game | None = None
        # Set by `_begin_moves`.
        self.position: Position
        self.node: Node
        self.depth = 0  # moves played on `position`
        self.brackets: list[tuple[MoveNode, int, int]] = []  # open variations: node, depth, line
        self.starting: str | None = None  # comment between '(' and the first move; None elsewhere

    # 1. Lines

    def feed(self, line: str, number: int) -> str | None:
        self.line = number
        self.chars += len(line) + 1
        if self.error is None:
            try:
                if self.chars > self.max_chars:
                    raise PgnError(f"the game is longer than {self.max_chars} characters", line, number)
                return self._read(line)
            except PgnError as error:
                self.error = error
                return None
        return self._skip(line)

    def finish(self, on_error: OnError) -> Game | None:
        """Return the complete game, or None for no game; `on_error` chooses what happens to an error."""
        if not self.tags and not self.in_moves and self.error is None:
            return None
        try:
            if self.error is not None:
                raise self.error
            if self.open_comment is not None:
                raise PgnError("this comment is not closed", "{", self.comment_line)
            if self.brackets:
                raise PgnError("this variation is not closed", "(", self.brackets[-1][2])
            if self.game is None:
                self._begin_moves()
            return self.game
        except PgnError as error:
            if on_error == "raise":
                raise
            if on_error == "skip":
                return None
            game = self.game or Game()
            game.headers.update({name: tag for name, tag in self.tags.items() if name not in START_TAGS})
            game.error = error
            return game

    def _read(self, line: str) -> str | None:
        start = 0
        if not self.in_moves and not self.tags:
            line = line.removeprefix("\ufeff")
        if self.open_comment is not None:
            start = line.find("}") + 1
            if not start:
                if line.startswith('[Event "'):
                    return line  # the comment was never closed: this is a tag of the next game
                self.open_comment.append(line)
                return None
            self._add_comment(" ".join([*self.open_comment, line[: start - 1]]))
            self.open_comment = None
        elif not line or line.isspace():
            self.after_blank = True
            return "" if self.ended else None
        elif line[0] == "%":
            return None
        elif not self.in_moves:
            if (tag := parse_tag(line)) and self.after_blank and tag.name in self.tags:
                return line
            start = self._read_tags(line)
            self.after_blank = False
            if start == len(line):
                return None
            self._begin_moves()
        elif line[0] == "[" and parse_tag(line):
            return line
        elif self.after_blank:
            self.after_blank = False
            if FIRST_MOVE.match(line) and self.node is not self.game and not self.brackets:
                return line
        if self.ended:
            return self._read_after_end(line, start)
        return self._read_moves(line, start)

    def _skip(self, line: str) -> str | None:
        if parse_tag(line):
            if self.in_moves or line.startswith("[Event "):
                return line
        elif not line or line.isspace():
            self.after_blank = True
        else:
            if self.in_moves and self.after_blank and FIRST_MOVE.match(line):
                return line
            self.in_moves = True
            self.after_blank = False
        return None

    # 2. Tags

    def _read_tags(self, line: str) -> int:
        """Read the tags at the start of a line and return the index after them."""
        end = 0
        while end < len(line) and (line[end] == "[" or (end == 0 and line.lstrip()[0] == "[")):
            tag = parse_tag(line, end, lenient=end == 0)
            if tag is None:
                raise PgnError(f"not a tag: {clip(line[end:])!r}", line[end:], self.line)
            try:
                check_tag(tag.name, tag.value)
            except PgnError as error:
                raise PgnError(str(error), tag.value, self.line) from None
            self.tags[tag.name] = tag.value
            end = tag.end
        return end

    def _begin_moves(self) -> None:
        self.in_moves = True
        tags = self.tags
        try:
            variant = variant_of_tag(tags["Variant"]) if "Variant" in tags else self.variant
            game = Game(variant, tags.get("FEN"))
        except SelfmateError as error:
            raise PgnError(str(error), error.part, self.line) from error
        own = game.headers._tags
        own |= {name: value for name, value in tags.items() if name not in ("SetUp", "FEN")}
        self.game = self.node = game
        self.position = game.start.copy()

    # 3. Moves

    def _read_moves(self, line: str, start: int) -> str | None:
        position, node, depth = self.position, self.node, self.depth
        for match in TOKEN.finditer(line, start):
            kind = match.lastindex
            if kind == 1 or kind == 2:
                word = match[1]
                try:
                    move = position.parse_san(word)
                except SanError as error:
                    raise PgnError(str(error), word, self.line) from error
                position.play(move)
                child = MoveNode(node, move)
                node.variations.append(child)
                node = child
                depth += 1
                if kind == 2:
                    child.nags.add(NAG_OF_SUFFIX[match[2]])
                if self.starting is not None:
                    child._starting_comment = self.starting
                    self.starting = None
                continue
            if kind is None:
                break
            # Everything else is rare; the methods below read and change the current node and depth.
            self.node, self.depth = node, depth
            text = match[kind]
            if kind == 3 or kind == 8:
                self._add_comment(text)
            elif kind == 4:
                self.open_comment = [text]
                self.comment_line = self.line
            elif kind == 5:
                self._add_nag(int(text) if len(text) < 4 else MAX_NAG + 1, f"${text}")
            elif kind == 9:
                self._add_nag(NAG_OF_SUFFIX[text], text)
            elif kind == 6:
                if text == "(":
                    self._open_variation()
                else:
                    self._close_variation()
                node, depth = self.node, self.depth
            elif kind == 7:
                if not self.brackets:
                    assert self.game is not None
                    if self.game.result == "*":
                        self.game.result = text
                    self.ended = True
                    return self._read_after_end(line, match.end())
            else:
                raise PgnError(f"not a move, comment or other PGN token: {clip(text)!r}", text, self.line)
        self.node, self.depth = node, depth
        return None

    def _read_after_end(self, line: str, start: int) -> str | None:
        """Read comments after the result; return the rest of the line if it belongs to the next game, else None."""
        while match := AFTER_END.match(line, start):
            start = match.end()
            if match.lastindex is None:
                return None
            self._add_comment(match[match.lastindex])
        rest = line[start:].lstrip()
        if rest.startswith("{"):
            self.open_comment = [rest[1:]]
            self.comment_line = self.line
            return None
        return rest

    def _add_comment(self, text: str) -> None:
        text = text.strip()
        if self.starting is not None:
            self.starting = f"{self.starting} {text}".strip()
        elif self.node._comment:
            self.node._comment = f"{self.node._comment} {text}".strip()
        else:
            self.node._comment = text

    def _add_nag(self, nag: int, text: str) -> None:
        if not isinstance(self.node, MoveNode) or self.starting is not None:
            raise PgnError(f"annotation {text!r} without a move", text, self.line)
        if nag > MAX_NAG:
            raise PgnError(f"annotation {clip(text)!r} is beyond ${MAX_NAG}", text, self.line)
        self.node.nags.add(nag)

    def _open_variation(self) -> None:
        node = self.node
        if not isinstance(node, MoveNode) or self.starting is not None:
            raise PgnError("a variation before the first move", "(", self.line)
        self.brackets.append((node, self.depth, self.line))
        self.position.undo()
        self.node = node.parent
        self.depth -= 1
        self.starting = ""

    def _close_variation(self) -> None:
        if not self.brackets:
            raise PgnError("')' without '('", ")", self.line)
        node, depth, _ = self.brackets.pop()
        for _ in range(self.depth - depth + 1):
            self.position.undo()
        self.position.play(node.move)
        self.node, self.depth = node, depth
        if self.starting is not None:  # a variation without moves: its comment is kept
            text, self.starting = self.starting, None
            self._add_comment(text)
