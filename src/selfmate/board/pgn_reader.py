"""The reader of PGN: a state machine that is fed line by line and makes one game at a time.

`selfmate.board.pgn.read_games` is its use. A strict reader raises `PgnError` at the first mistake; a lenient one reads
what can be understood and notes each `Repair`.

This module is long because the reader is one state machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Generic, Literal, NamedTuple, TypeVar

from selfmate._core import Move
from selfmate.board.game_tree import MAX_NAG, GameTree, MoveNode, Node
from selfmate.board.pgn_start import repaired_start, start_position
from selfmate.board.pgn_tags import Tag, parse_broken_tag, parse_tag
from selfmate.board.pgn_tokens import (
    AFTER_END,
    FIRST_MOVE,
    NAG_OF_GLYPH,
    NAG_OF_SUFFIX,
    NULL_MOVES,
    TOKEN,
    other_result,
    split_glyph,
    understand,
)
from selfmate.board.pgn_writer import RESULTS, START_TAGS, Headers, check_tag, start_tags, variant_of_tag
from selfmate.board.position import Position
from selfmate.errors import InvalidSan, MoveError, PgnError, SanError, SelfmateError, UnknownVariant, clip

__all__ = ["GameReader", "OnError", "Repair", "TaggedTree"]

OnError = Literal["raise", "skip", "collect"]

MAX_REPAIRS: Final = 100
"""Repairs that are noted for one game; further ones are made without a note."""
SKIPPED_RESULT: Final = re.compile(r"\{[^}]*+\}?|(?:(?<=\s)|^)(1-0|0-1|1/2-1/2|\*)(?=\s|\Z)")
LIKE_A_MOVE: Final = re.compile(r"[a-hA-H][1-8]|[Oo0]-")
LIKE_MOVETEXT: Final = re.compile(r"[a-hA-H][1-8]|[Oo0][-\u2011\u2013][Oo0]|1-0|0-1|1/2|[½*{;]|--|Z0|@@@@")
MARKERS: Final = ("[pgn]", "[/pgn]")
MINUS: Final = "\u2212"


def _is_movetext(text: str) -> bool:
    """Return whether text that is no tag may have moves or a result; other text before a game is left out."""
    return LIKE_MOVETEXT.search(text) is not None or any(map(other_result, text.split()))


class Repair(NamedTuple):
    """What a lenient reader changed or left out, and where.

    >>> str(Repair(3, 14, "'g1f3' read as Nf3"))
    "line 3, column 14: 'g1f3' read as Nf3"
    """

    line: int
    """From 1."""
    column: int
    """From 1, in characters."""
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


class TaggedTree(GameTree):
    """A game tree with headers and result, and what was wrong with its text."""

    __slots__ = ("error", "headers", "repairs")

    headers: Headers
    error: PgnError | None
    repairs: tuple[Repair, ...]

    def __init__(self, start: Position) -> None:
        super().__init__(start)
        self.headers = Headers(start_tags(start))
        self.error = None
        self.repairs = ()

    @property
    def result(self) -> str:
        """The result: `1-0`, `0-1`, `1/2-1/2`, or `*` for an unfinished game."""
        return self.headers["Result"]

    @result.setter
    def result(self, result: str) -> None:
        self.headers["Result"] = result


G = TypeVar("G", bound=TaggedTree)


class GameReader(Generic[G]):
    """Parser of one game, fed line by line.

    `feed` returns None while the game continues; when it is complete, `feed` returns the rest of the line, which
    belongs to the next game. After an error only the start of the next game is searched for.
    """

    def __init__(self, make: Callable[[Position], G], max_chars: int, variant: str, *, lenient: bool) -> None:
        self.make = make
        self.max_chars = max_chars
        self.variant = variant
        self.lenient = lenient
        self.chars = 0
        self.line = 0
        self.length = 0  # of the whole line, in characters
        self.error: PgnError | None = None
        self.repairs: list[Repair] = []
        self.tags: dict[str, str] = {}
        self.tag_places: dict[str, tuple[int, int]] = {}  # line and column of each tag
        self.after_blank = False
        self.in_moves = False
        self.ended = False
        self.open_comment: list[str] | None = None
        self.comment_at = (0, 0)
        self.game: G | None = None
        # Set by `_begin_moves`.
        self.position: Position
        self.node: Node
        self.depth = 0  # moves played on `position`
        self.brackets: list[tuple[MoveNode, int, int, int]] = []  # open variations: node, depth, line, column
        self.starting: str | None = None  # comment between '(' and the first move; None elsewhere
        self.odd_nag: int | None = None  # of the move that `_odd_token` has read
        self.skipped = 0  # brackets that are open within a variation that is left out, itself included
        self.skipped_opened = False  # the left-out variation is in `brackets`
        self.stopped_at = 0  # the index of the line at which an error was found

    # 1. Lines

    def feed(self, line: str, number: int, length: int | None = None) -> str | None:
        """Read a line, or the end of one that has `length` characters."""
        self.line = number
        self.length = len(line) if length is None else length
        self.chars += len(line) + 1
        if self.error is not None:
            return self._pass_over(line)
        try:
            if self.chars > self.max_chars:
                # Such a line has moves unless it is a tag: what follows it may be the next game.
                self.in_moves = self.in_moves or not line.lstrip().startswith("[")
                self.after_blank = False
                raise self._give_up(f"the game is longer than {self.max_chars} characters", line, number, 1)
            return self._read(line)
        except PgnError as error:
            self.error = error
            self.brackets.clear()
            rest = line[self.stopped_at :]
            return self._pass_over_result(rest) if self.lenient and self.stopped_at else None

    def finish(self, on_error: OnError) -> G | None:
        """Return the complete game, or None for no game; `on_error` chooses what happens to an error."""
        if not self.tags and not self.in_moves and self.error is None:
            return None
        try:
            if self.error is not None:
                raise self.error
            if self.open_comment is not None:
                self._fault("this comment is not closed", "{", *self.comment_at, remedy="closed at the end of the game")
                self._add_comment(" ".join(self.open_comment))
            if self.brackets:
                at = self.brackets[-1][2:]
                self._fault("this variation is not closed", "(", *at, remedy="closed at the end of the game")
            if self.game is None:
                self._begin_moves()
        except PgnError as error:
            if on_error == "raise":
                raise
            if on_error == "skip":
                return None
            if self.game is None:
                self.game = self.make(Position(self.variant))
            self.game.headers.update({name: tag for name, tag in self.tags.items() if name not in START_TAGS})
            self.game.error = error
        game = self.game
        assert game is not None
        if self.lenient:
            empty = not (self.tags or self.error or game.variations or game._comment)
            if empty and self.repairs:
                return None  # nothing was understood
            game.repairs = tuple(self.repairs)
        return game

    def _read(self, line: str) -> str | None:
        start = 0
        if not self.in_moves and not self.tags:
            line = line.removeprefix("\ufeff")
            if line.startswith(MARKERS):
                line = line.partition("]")[2]
        if self.open_comment is not None:
            start = line.find("}") + 1
            if not start:
                if line.startswith('[Event "') or (self.lenient and self.after_blank and parse_tag(line)):
                    return line  # the comment was never closed: this is a tag of the next game
                self.after_blank = not line or line.isspace()
                self.open_comment.append(line)
                return None
            self._add_comment(" ".join([*self.open_comment, line[: start - 1]]))
            self.open_comment = None
            self.after_blank = False
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
            if self.lenient and not _is_movetext(line[start:]):
                self._leave_out(f"neither a tag nor moves: {clip(line[start:])!r}", line, line, start)
                return None
            self.stopped_at = start
            self._begin_moves()
        elif line[0] in "[ \t" and parse_tag(line):
            return line
        elif self.after_blank:
            self.after_blank = False
            if FIRST_MOVE.match(line) and self.node is not self.game and (self.lenient or not self.brackets):
                return line
        if self.ended:
            return self._read_after_end(line, start)
        return self._read_moves(line, start)

    def _pass_over(self, line: str) -> str | None:
        """Search for the start of the next game, after an error; return the rest of the line that belongs to it."""
        if parse_tag(line):
            if self.in_moves or line.lstrip().startswith("[Event "):
                return line
        elif not line or line.isspace():
            self.after_blank = True
        elif self.ended:
            return None if line.lstrip()[0] in "{;" else line
        else:
            if self.in_moves and self.after_blank and FIRST_MOVE.match(line):
                return line
            self.in_moves = True
            self.after_blank = False
            if self.lenient:
                return self._pass_over_result(line)
        return None

    def _pass_over_result(self, line: str) -> str | None:
        """Search for the result in moves that are passed over."""
        for match in SKIPPED_RESULT.finditer(line):
            if match[1]:
                self.ended = True
                if self.game is not None and self.game.result == "*":
                    self.game.result = match[1]
                rest = line[match.end() :].lstrip()
                return rest if rest and rest[0] not in "{;" else None
        return None

    # 2. Mistakes

    def _fault(self, message: str, part: str, line: int, column: int, *, remedy: str) -> None:
        """Raise an error, or note a repair where the reader is lenient."""
        if not self.lenient:
            raise PgnError(message, part, line)
        self._note(f"{message}; {remedy}", line, column)

    def _note(self, message: str, line: int, column: int) -> None:
        if len(self.repairs) < MAX_REPAIRS:
            self.repairs.append(Repair(line, column, message))

    def _give_up(self, message: str, part: str, line: int, column: int) -> PgnError:
        """Return the error that ends the game; a lenient reader notes that the rest is left out."""
        if self.lenient:
            self._note(f"{message}; the rest of the game is left out", line, column)
        return PgnError(message, part, line)

    def _column(self, line: str, index: int) -> int:
        """Return the column, from 1, of an index of `line`, which may be the end of a longer line."""
        return self.length - len(line) + index + 1

    def _leave_out(self, message: str, part: str, line: str, index: int) -> None:
        self._fault(message, part, self.line, self._column(line, index), remedy="left out")

    # 3. Tags

    def _read_tags(self, line: str) -> int:
        """Read the tags at the start of a line and return the index after them."""
        end = 0
        while end < len(line) and (line[end] == "[" or (end == 0 and line.lstrip()[0] == "[")):
            tag = parse_tag(line, end, lenient=end == 0)
            if tag is None:  # raises unless lenient
                self._fault(
                    f"not a tag: {clip(line[end:])!r}",
                    line[end:],
                    self.line,
                    self._column(line, end),
                    remedy="read as far as possible",
                )
                if (tag := parse_broken_tag(line, end)) is None:
                    return len(line)
            self._add_tag(tag, self._column(line, end))
            end = tag.end
        if end == 0 and self.lenient and (tag := parse_broken_tag(line)):
            self._note(f"not a tag: {clip(line)!r}; read as {tag.name}", self.line, self._column(line, 0))
            self._add_tag(tag, self._column(line, 0))
            end = tag.end
        return end

    def _add_tag(self, tag: Tag, column: int) -> None:
        value = tag.value
        if tag.name == "Result":
            value = other_result(value) or value
        try:
            check_tag(tag.name, value)
        except PgnError as error:
            if tag.name == "Result":
                remedy, value = "read as *", "*"
            else:
                remedy = "removed"
                value = "".join(character for character in value if character >= " " and character != "\x7f")
            self._fault(str(error), tag.value, self.line, column, remedy=remedy)
        self.tags[tag.name] = value
        self.tag_places[tag.name] = (self.line, column)

    def _begin_moves(self) -> None:
        self.in_moves = True
        tags = self.tags
        try:
            start = self._start()
        except SelfmateError as error:
            wrong = "Variant" if isinstance(error, UnknownVariant) else "FEN"
            raise self._give_up(str(error), error.part, *self.tag_places.get(wrong, (self.line, 1))) from error
        game = self.make(start)
        own = game.headers._tags
        own |= {name: value for name, value in tags.items() if name not in START_TAGS}
        # Another spelling of the variant is kept.
        if "Variant" in tags and variant_of_tag(tags["Variant"]) == variant_of_tag(own.get("Variant", "chess")):
            own["Variant"] = tags["Variant"]
        self.game = self.node = game
        self.position = game.start.copy()

    def _start(self) -> Position:
        try:
            return start_position(self.tags, self.variant)
        except SelfmateError as error:
            if not self.lenient or "FEN" not in self.tags:
                raise
            start = repaired_start(self.tags, self.variant)
            self._note(f"FEN: {error}; read as {start.fen()}", *self.tag_places["FEN"])
            return start

    # 4. Moves

    def _read_moves(self, line: str, start: int) -> str | None:
        """Read the moves of a line; return the rest that belongs to the next game, or None."""
        place: int | str | None = start
        while isinstance(place, int):
            place = self._skip_variation(line, place) if self.skipped else self._read_tokens(line, place)
        return place

    def _read_tokens(self, line: str, start: int) -> int | str | None:
        """Read tokens; return None at the end of the line, the text after the game, or the index of a part to skip."""
        position, node, depth = self.position, self.node, self.depth
        for match in TOKEN.finditer(line, start):
            kind = match.lastindex
            if kind == 1 or kind == 2 or kind == 10:
                try:
                    if kind == 10:
                        raise InvalidSan(f"not a move, comment or other PGN token: {clip(match[10])!r}", match[10])
                    move = position.play_san(match[1])
                except SanError as error:
                    self.node, self.depth = node, depth
                    odd = self._odd_token(line, match, error)
                    if odd is None:
                        if self.ended:
                            return self._read_after_end(line, match.end())
                        if self.skipped:
                            return match.end()
                        continue
                    move = odd
                child = MoveNode(node, move)
                node.variations.append(child)
                node = child
                depth += 1
                if kind == 2:
                    child.nags.add(NAG_OF_SUFFIX[match[2]])
                if self.odd_nag is not None:
                    child.nags.add(self.odd_nag)
                    self.odd_nag = None
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
                self._open_comment(text, line, match.start(kind) - 1)
            elif kind == 5:
                self._add_nag(int(text) if len(text) < 4 else MAX_NAG + 1, f"${text}", line, match.start(kind) - 1)
            elif kind == 9:
                self._add_nag(NAG_OF_SUFFIX[text], text, line, match.start(kind))
            elif kind == 6:
                if text == "(":
                    self._open_variation(line, match.start(kind))
                    if self.skipped:
                        return match.end()
                else:
                    self._close_variation(line, match.start(kind))
                node, depth = self.node, self.depth
            elif not self.brackets:
                self._end(text)
                return self._read_after_end(line, match.end())
        self.node, self.depth = node, depth
        return None

    def _end(self, result: str) -> None:
        assert self.game is not None
        if self.game.result == "*":
            self.game.result = result
        self.ended = True

    def _odd_token(self, line: str, match: re.Match[str], error: SanError) -> Move | None:
        """Return the move of a token that is not the SAN of a legal move, played; None for other tokens.

        What is read here is rare; the reader of correct SAN stays fast.
        """
        kind = match.lastindex or 0
        at = match.start(10 if kind == 10 else 1)
        word = match[10 if kind == 10 else 1]
        after = match.end(10 if kind == 10 else 1)
        # 1. Marks that stand for no move: en passant, glyphs, results, [pgn].
        if (word == "e" and line.startswith(".p.", after)) or (word == "p" and line.startswith("e.p.", at - 2)):
            return None
        if word == "ep" or word in MARKERS or (word in ("+", "#") and line.startswith("p.", at - 2)):
            return None
        glyph = f"+{word}" if word == MINUS and line[at - 1] == "+" else word  # the glyph +- was cut as a check
        if kind == 10 and glyph in NAG_OF_GLYPH:
            self._add_nag(NAG_OF_GLYPH[glyph], glyph, line, at)
            return None
        if kind == 10 and (result := other_result(word)):
            if not self.brackets:
                self._end(result)
            return None
        # 2. Moves with something glued to them.
        texts = [word[:-1]] if word.endswith("e") and line.startswith(".p.", after) else []
        if split := split_glyph(word):
            texts.append(split[0])
        for text in texts:
            try:
                move = self.position.play_san(text)
            except SanError:
                continue
            self.odd_nag = split[1] if split and text == split[0] else None
            return move
        return self._repaired_move(line, word, at, match.end(), error)

    def _repaired_move(self, line: str, word: str, at: int, end: int, error: SanError) -> Move | None:
        """Return the move that a word means, played; without one the rest of the variation or the game is left out."""
        column = self._column(line, at)
        is_null = word in NULL_MOVES
        if not self.lenient:
            raise PgnError(f"{word!r} is a null move, not SAN" if is_null else str(error), word, self.line) from error
        move = Move.null() if is_null else understand(self.position, word)
        if move is not None:
            try:
                san = self.position.san(move)
                self.position.play(move)
                self._note(f"{clip(word)!r} read as {'a null move' if is_null else san}", self.line, column)
                return move
            except MoveError as why:
                message = str(why)
        else:
            message = str(error)
        if isinstance(error, InvalidSan) and not is_null and not LIKE_A_MOVE.search(word):
            self._note(f"not a move, comment or other PGN token: {clip(word)!r}; left out", self.line, column)
            return None
        if self.brackets:
            self._note(f"{message}; the rest of the variation is left out", self.line, column)
            self.skipped, self.skipped_opened = 1, True
            return None
        self.stopped_at = end
        raise self._give_up(message, word, self.line, column) from error

    def _read_after_end(self, line: str, start: int) -> str | None:
        """Read comments after the result; return the rest of the line if it belongs to the next game, else None."""
        while match := AFTER_END.match(line, start):
            start = match.end()
            if match.lastindex is None:
                return None
            self._add_comment(match[match.lastindex])
        rest = line[start:].lstrip()
        if self.lenient and (word := rest.split(maxsplit=1)[:1]) and (word[0] in RESULTS or other_result(word[0])):
            at = len(line) - len(rest)
            self._note(f"a second result: {clip(word[0])!r}; left out", self.line, self._column(line, at))
            return self._read_after_end(line, at + len(word[0]))
        if rest.startswith("{"):
            self._open_comment(rest[1:], line, len(line) - len(rest))
            return None
        return rest

    def _open_comment(self, text: str, line: str, index: int) -> None:
        self.open_comment = [text]
        self.comment_at = (self.line, self._column(line, index))
        self.after_blank = False

    def _add_comment(self, text: str) -> None:
        text = text.strip()
        if self.starting is not None:
            self.starting = f"{self.starting} {text}".strip()
        elif self.node._comment:
            self.node._comment = f"{self.node._comment} {text}".strip()
        else:
            self.node._comment = text

    def _add_nag(self, nag: int, text: str, line: str, index: int) -> None:
        if not isinstance(self.node, MoveNode) or self.starting is not None:
            self._leave_out(f"annotation {text!r} without a move", text, line, index)
        elif nag > MAX_NAG:
            self._leave_out(f"annotation {clip(text)!r} is beyond ${MAX_NAG}", text, line, index)
        else:
            self.node.nags.add(nag)

    # 5. Variations

    def _open_variation(self, line: str, index: int) -> None:
        node = self.node
        if not isinstance(node, MoveNode) or self.starting is not None:
            self._leave_out("a variation before the first move", "(", line, index)
            self.skipped, self.skipped_opened = 1, False
            return
        self.brackets.append((node, self.depth, self.line, self._column(line, index)))
        self.position.undo()
        self.node = node.parent
        self.depth -= 1
        self.starting = ""

    def _close_variation(self, line: str, index: int) -> None:
        if not self.brackets:
            self._leave_out("')' without '('", ")", line, index)
            return
        node, depth, _, _ = self.brackets.pop()
        for _ in range(self.depth - depth + 1):
            self.position.undo()
        self.position.play(node.move)
        self.node, self.depth = node, depth
        if self.starting is not None:  # a variation without moves: its comment is kept
            text, self.starting = self.starting, None
            self._add_comment(text)

    def _skip_variation(self, line: str, start: int) -> int | None:
        """Pass over the rest of a variation; return the index after its bracket, or None at the end of the line."""
        for match in TOKEN.finditer(line, start):
            if match.lastindex == 4:
                self._open_comment(match[4], line, match.start(4) - 1)
            elif match[6] == "(":
                self.skipped += 1
            elif match[6] == ")":
                self.skipped -= 1
                if not self.skipped:
                    if self.skipped_opened:
                        self._close_variation(line, match.start(6))
                    return match.end()
        return None
