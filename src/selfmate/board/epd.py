"""EPD: one position per line with operations such as `bm` and `id`; perft suites; files of tactics.

>>> epd = parse_epd('4k3/8/8/8/8/8/4P3/4K3 w - - bm e4 Kd2; id "one; two";')
>>> epd.operations["bm"], epd.operations["id"]
((Move.from_uci('e2e4'), Move.from_uci('e1d2')), 'one; two')
>>> str(epd)
'4k3/8/8/8/8/8/4P3/4K3 w - - bm e4 Kd2; id "one; two";'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from selfmate._core import Move
from selfmate.board.position import Position
from selfmate.errors import EpdError, MoveError, SelfmateError, clip
from selfmate.util.numbers import whole_number
from selfmate.util.text_lines import Source, numbered_lines

__all__ = ["Epd", "PerftLine", "Tactic", "parse_epd", "read_epd", "read_perft_suite", "read_tactics"]

MAX_LINE_CHARS = 1 << 14
"""Longest line that is read: 16 KiB."""
MAX_LINES = (1 << 63) - 1
MOVE_LISTS = ("bm", "am")  # best moves, avoid moves: each is a move of the position itself
SINGLE_MOVES = ("pm", "sm")  # predicted move, supplied move
MOVE_LINES = ("pv",)  # predicted variation: consecutive moves
CLOCKS = ("hmvc", "fmvn")  # part of the position: half-move clock, full-move number

Operand = str | int | Move
Value = None | Operand | tuple[Operand, ...]
"""The operands of an operation: None, one value, or a tuple of several; `bm`, `am` and `pv` have a tuple of moves."""

POSITION = re.compile(
    r"\s*+(\S++\s++\S++\s++\S++\s++[^\s;]++)"  # board, turn, castling, en passant
    r"(?:\s++-(?=[\s;]|\Z))?+"  # a second "-", as some test suites have it
    r"(?:\s++([0-9]\+[0-9])(?=[\s;]|\Z))?+"  # remaining checks
    r"(?:\s++([0-9]++)\s++([0-9]++)(?=[\s;]|\Z))?+"  # clocks: not in the standard, but common
)

OPERAND = re.compile(r'\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s";]++)|(;)|(\S))')
OPCODE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
UNESCAPES = {escaped: plain for plain, escaped in ESCAPES.items()}


@dataclass(slots=True)
class Epd:
    """A position and its operations by name, in the order of the line.

    `str` writes the clocks as `hmvc` and `fmvn` where they differ from those of a new game.

    >>> position = Position("gardner")
    >>> str(Epd(position, {"id": "start", "acd": 12, "bm": (position.parse_san("a3"),)}))
    'rnbqk/ppppp/5/PPPPP/RNBQK w - - id "start"; acd 12; bm a3;'
    """

    position: Position
    operations: dict[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        words = [self.position.epd()]
        if (clock := self.position.halfmove_clock) != 0:
            words.append(f"hmvc {clock};")
        if (number := self.position.fullmove_number) != 1:
            words.append(f"fmvn {number};")
        for opcode, value in self.operations.items():
            if not OPCODE.fullmatch(opcode) or opcode in CLOCKS:
                raise EpdError(f"not an opcode: {clip(opcode)!r}", opcode)
            words.append(" ".join([opcode, *_write(self.position, opcode, value)]) + ";")
        return " ".join(words)


def parse_epd(line: str, variant: str = "chess", *, lenient: bool = False, number: int | None = None) -> Epd:
    """Parse one line of EPD; `lenient` is as for `Position`, `number` is the line number for errors.

    Moves may be SAN or UCI. The entries of perft suites, `;D1 20 ;D2 400`, are read as operations. Raises `EpdError`.

    >>> parse_epd("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1 ;D1 7 ;D2 53", "gardner").operations
    {'D1': 7, 'D2': 53}
    >>> parse_epd("8/8/8/8/8/8/8/K1k5 w - - bm Ka9;")
    Traceback (most recent call last):
    ...
    selfmate.errors.EpdError: bm: 'Ka9' is not a move like Nf3, exd5, O-O or e8=Q
    """
    if number is not None:
        number = whole_number("number", number, 1, MAX_LINES, EpdError)
    _check_length(line, number)
    # 1. Split the line into position and operations.
    head = POSITION.match(line)
    if head is None:
        raise EpdError(f"four fields of a position expected: {clip(line)!r}", line, number)
    operations = _split(line[head.end() :], number)
    # 2. Make the position; the moves are parsed in it.
    clocks = {"hmvc": head[3] or "0", "fmvn": head[4] or "1"}
    for opcode in CLOCKS:
        if opcode in operations:
            operands = operations.pop(opcode)
            if len(operands) != 1 or not re.fullmatch(r"[0-9]{1,9}", operands[0][0]):
                raise EpdError(f"{opcode}: a number expected", opcode, number)
            clocks[opcode] = operands[0][0]
    checks = [head[2]] if head[2] else []
    fen = " ".join([*head[1].split(), *checks, *clocks.values()])
    try:
        position = Position(variant, fen, lenient=lenient)
    except SelfmateError as error:
        raise EpdError(str(error), error.part, number) from error
    # 3. Read the operations.
    try:
        return Epd(position, {opcode: _read(position, opcode, operands) for opcode, operands in operations.items()})
    except EpdError as error:
        raise EpdError(str(error), error.part, number) from error.__cause__


def read_epd(source: Source, variant: str = "chess") -> Iterator[Epd]:
    r"""Yield the lines of an EPD file; empty lines and lines that begin with `#` are skipped.

    >>> import io
    >>> [epd.operations["id"] for epd in read_epd(io.StringIO('# two\n8/8/8/8/8/8/8/K1k5 w - - id "a";\n\n'))]
    ['a']
    """
    for number, line in _meaningful_lines(source):
        yield parse_epd(line, variant, number=number)


@dataclass(frozen=True, slots=True)
class PerftLine:
    """A line of a perft suite: a position and the number of leaves of its game tree at each depth.

    >>> line = PerftLine.parse("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1 ;D1 7 ;D2 53")
    >>> line.fen, line.nodes
    ('rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1', ((1, 7), (2, 53)))
    """

    fen: str
    nodes: tuple[tuple[int, int], ...]
    """(depth, count) by ascending depth."""
    number: int
    """The line number in the file, from 1."""
    text: str
    """The line itself, stripped."""

    @classmethod
    def parse(cls, text: str, number: int = 1) -> PerftLine:
        """Parse `FEN ;D1 n ;D2 n …`. The FEN is not checked, because the variant is not known here.

        >>> PerftLine.parse("8/8/8/8/8/8/8/K1k5 w - - 0 1 ;D1 many")
        Traceback (most recent call last):
        ...
        selfmate.errors.EpdError: line 1: 'D1 n' expected, not 'D1 many'
        """
        _check_length(text, number)
        fen, *entries = (part.strip() for part in text.split(";"))
        if not fen or not entries:
            raise EpdError(f"'FEN ;D1 n ;D2 n' expected, not {clip(text.strip())!r}", text, number)
        nodes: dict[int, int] = {}
        for entry in entries:
            match = re.fullmatch(r"D([0-9]{1,2})\s+([0-9]{1,18})", entry)
            if match is None:
                raise EpdError(f"'D1 n' expected, not {clip(entry)!r}", entry, number)
            if int(match[1]) in nodes:
                raise EpdError(f"depth {int(match[1])} is listed twice", entry, number)
            nodes[int(match[1])] = int(match[2])
        return cls(fen, tuple(sorted(nodes.items())), number, text.strip())


def read_perft_suite(source: Source) -> Iterator[PerftLine]:
    r"""Yield the lines of a perft suite; empty lines and lines that begin with `#` are skipped.

    >>> import io
    >>> [line.nodes for line in read_perft_suite(io.StringIO("8/8/8/8/8/8/8/K1k5 w - - 0 1 ;D1 1\n"))]
    [((1, 1),)]
    """
    for number, line in _meaningful_lines(source):
        yield PerftLine.parse(line, number)


@dataclass(frozen=True, slots=True)
class Tactic:
    """A position with a forced win: every move that keeps the shortest win, and the number of moves to mate.

    >>> tactic = Tactic.parse("4r/5/2k2/5/2K2 b - - 10 28; e5e1; 1", "gardner")
    >>> tactic.best_moves, tactic.mate_in
    ((Move.from_uci('e5e1'),), 1)
    """

    position: Position
    best_moves: tuple[Move, ...]
    mate_in: int

    @classmethod
    def parse(cls, line: str, variant: str = "chess", number: int | None = None) -> Tactic:
        """Parse `FEN; moves; N`, the moves in UCI. Raises `EpdError`.

        >>> Tactic.parse("4r/5/2k2/5/2K2 b - - 10 28; e5e1", "gardner")
        Traceback (most recent call last):
        ...
        selfmate.errors.EpdError: 'FEN; moves; N' expected, not '4r/5/2k2/5/2K2 b - - 10 28; e5e1'
        """
        _check_length(line, number)
        parts = [part.strip() for part in line.split(";")]
        if len(parts) != 3 or not parts[1] or not re.fullmatch(r"[1-9][0-9]{0,2}", parts[2]):
            raise EpdError(f"'FEN; moves; N' expected, not {clip(line.strip())!r}", line, number)
        try:
            position = Position(variant, parts[0])
            best_moves = tuple(position.parse_uci(move) for move in parts[1].split())
        except SelfmateError as error:
            raise EpdError(str(error), error.part, number) from error
        return cls(position, best_moves, int(parts[2]))


def read_tactics(source: Source, variant: str = "chess") -> Iterator[Tactic]:
    r"""Yield the lines of a file of tactics; empty lines and lines that begin with `#` are skipped.

    >>> import io
    >>> [tactic.mate_in for tactic in read_tactics(io.StringIO("4r/5/2k2/5/2K2 b - - 10 28; e5e1; 1\n"), "gardner")]
    [1]
    """
    for number, line in _meaningful_lines(source):
        yield Tactic.parse(line, variant, number)


def _meaningful_lines(source: Source) -> Iterator[tuple[int, str]]:
    for number, line in numbered_lines(source, MAX_LINE_CHARS, EpdError):
        if number == 1:
            line = line.removeprefix("\ufeff")
        if line.strip() and not line.startswith("#"):
            yield number, line


def _check_length(line: str, number: int | None) -> None:
    if len(line) > MAX_LINE_CHARS:
        raise EpdError(f"the line is longer than {MAX_LINE_CHARS} characters", line, number)


def _split(text: str, number: int | None) -> dict[str, list[tuple[str, bool]]]:
    """Return the operands of each operation by opcode, each operand with whether it was quoted."""
    operations: dict[str, list[tuple[str, bool]]] = {}
    words: list[tuple[str, bool]] = []

    def close() -> None:
        if words:
            (opcode, quoted), *operands = words
            if quoted or not OPCODE.fullmatch(opcode):
                raise EpdError(f"not an opcode: {clip(opcode)!r}", opcode, number)
            if opcode in operations:
                raise EpdError(f"operation {opcode} is listed twice", opcode, number)
            operations[opcode] = operands
            words.clear()

    for match in OPERAND.finditer(text):
        if match.lastindex == 1:
            words.append((re.sub(r"\\.", lambda escape: UNESCAPES.get(escape[0], escape[0]), match[1]), True))
        elif match.lastindex == 2:
            words.append((match[2], False))
        elif match.lastindex == 3:
            close()
        else:
            raise EpdError(f"unclosed string: {clip(text[match.start(4) :])!r}", text[match.start(4) :], number)
    close()
    return operations


def _read(position: Position, opcode: str, operands: list[tuple[str, bool]]) -> Value:
    if opcode in MOVE_LISTS + SINGLE_MOVES + MOVE_LINES:
        if not operands:
            raise EpdError(f"{opcode}: a move expected", opcode)
        if opcode in SINGLE_MOVES and len(operands) > 1:
            raise EpdError(f"{opcode}: only one move expected, not {clip(operands[1][0])!r}", operands[1][0])
        place = position.copy()
        moves = []
        for text, _ in operands:
            moves.append(_read_move(place, opcode, text))
            if opcode in MOVE_LINES:
                place.play(moves[-1])
        return moves[0] if opcode in SINGLE_MOVES else tuple(moves)
    values = tuple(int(text) if not quoted and INTEGER.fullmatch(text) else text for text, quoted in operands)
    if not values:
        return None
    return values[0] if len(values) == 1 else values


def _read_move(position: Position, opcode: str, text: str) -> Move:
    try:
        return position.parse_san(text)
    except MoveError as error:
        try:
            return position.parse_uci(text)
        except MoveError:
            raise EpdError(f"{opcode}: {error}", text) from error


def _write(position: Position, opcode: str, value: Value) -> Iterator[str]:
    """Yield the operands of an operation as text; raise for values that would be read back differently."""
    values = value if isinstance(value, tuple) else () if value is None else (value,)
    takes_moves = opcode in MOVE_LISTS + SINGLE_MOVES + MOVE_LINES
    is_tuple = isinstance(value, tuple)
    if takes_moves and (not values or is_tuple == (opcode in SINGLE_MOVES)):
        raise EpdError(f"{opcode}: {'a move' if opcode in SINGLE_MOVES else 'a tuple of moves'} expected", opcode)
    if is_tuple and not takes_moves and len(values) < 2:
        raise EpdError(f"{opcode}: a single operand is written without a tuple", opcode)
    place = position.copy()
    for operand in values:
        if isinstance(operand, Move) != takes_moves:
            raise EpdError(f"{opcode}: {operand!r} cannot be written", str(operand))
        if isinstance(operand, Move):
            yield place.san(operand)
            if opcode in MOVE_LINES:
                place.play(operand)
        elif isinstance(operand, str):
            yield '"' + "".join(ESCAPES.get(character, character) for character in operand) + '"'
        elif INTEGER.fullmatch(str(operand)):
            yield str(operand)
        else:
            raise EpdError(f"{opcode}: {clip(str(operand))} cannot be written", str(operand))
