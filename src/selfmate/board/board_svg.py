"""A board as a self-contained SVG picture, for notebooks, reports and the web.

The pieces are drawings of our own: flat shapes on a square of 100 by 100, two colours each. The picture contains no
script, and every argument is checked or escaped.

>>> from selfmate import Position
>>> from selfmate.board import board_svg as svg
>>> picture = svg.board(Position("chess"), size=320, arrows=[(12, 28)])
>>> picture.count("<use"), "<script" in picture
(32, False)
"""

from __future__ import annotations

import html
import math
import numbers
import re
from collections.abc import Iterable
from typing import TypedDict

from selfmate import _core
from selfmate._core import BLACK, WHITE, Move, square_name
from selfmate.errors import SelfmateError, clip, clip_repr
from selfmate.util.numbers import flag, whole_number

__all__ = ["Arrow", "BoardOptions", "board"]

Arrow = Move | tuple[int, int] | tuple[int, int, str]
"""An arrow: a move, or its two squares with an optional colour (default: green)."""


class BoardOptions(TypedDict, total=False):
    """The keyword arguments of `board`."""

    last_move: Move | None
    check: int | None
    arrows: Iterable[Arrow]
    squares: Iterable[int]
    orientation: bool
    size: int
    coordinates: bool


LIGHT = "#f1ebe0"
DARK = "#9fb3a6"
LABEL_ON_LIGHT = "#7d9486"
LABEL_ON_DARK = "#f4efe6"
LAST_MOVE = "#e8b83a"
CHECK = "#d8352a"
MARK = "#1d3b2f"
ARROW = "#2f7d4f"
CELL = 100
"""Width of a square in the units of the drawing."""
MAX_SIZE = 10_000
"""Pixels."""
NAMES = {"p": "pawn", "n": "knight", "b": "bishop", "r": "rook", "q": "queen", "k": "king"}

# Every piece ends in FOOT; BAND and SKIRT belong to queen and king. Shapes are painted in order, each outlined.
FOOT = "M27 88V85.5C27 80.5 29.5 78 34 78H66C70.5 78 73 80.5 73 85.5V88Z"
BAND = "M32 69C32 65.5 34 63.5 37 63.5H63C66 63.5 68 65.5 68 69Z"
SKIRT = "M38 69C38 73 36 76 32 78H68C64 76 62 73 62 69Z"


def _ball(x: float, y: float, radius: float) -> str:
    half = f"a{radius:g} {radius:g} 0 1 1"
    return f"M{x - radius:g} {y:g}{half} {2 * radius:g} 0{half} {-2 * radius:g} 0Z"


# piece -> (filled and outlined shapes, thin lines on top of them)
SHAPES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "p": (
        (
            "M44 48C44 60 41 69 33 78H67C59 69 56 60 56 48Z",
            _ball(50, 34.5, 13),
            "M37.5 49.5C37.5 46.5 39 45 42 45H58C61 45 62.5 46.5 62.5 49.5Z",
        ),
        ("M42.5 45H57.5",),
    ),
    "r": (
        (
            "M38 38H62C62 55 63.5 68 68.5 78H31.5C36.5 68 38 55 38 38Z",
            "M30 20H39.5V26H45.2V20H54.8V26H60.5V20H70V32C70 36 67.5 38.5 63.5 38.5H36.5C32.5 38.5 30 36 30 32Z",
        ),
        ("M38.5 45.5H61.5",),
    ),
    "n": (
        (
            "M34 78C33 68 40 60.5 46.5 53.5C42 54.5 38.5 55.5 35.5 58.8C33.5 61.2 31 62.6 28 62"
            "C23.8 61.2 20.8 57.5 21.3 53.2C21.9 48.5 27 41.5 30 36.8C32.3 33 33.8 29.3 37 26.6"
            "C36.3 21.8 37 16.8 39.6 13.2C43 14.8 45.6 17.8 47 21.2C63 22.5 73 36 72.6 55C72.4 63 70.5 71 68.5 78Z",
        ),
        (
            "M55 28C63.5 34.5 67 46 65.5 60",
            "M46.5 53.5C49.5 50.5 51.3 46.8 51.3 42.5",
            "M39.2 34.3h.9",
            "M26.6 53.4h.1",
        ),
    ),
    "b": (
        (
            "M45 62C45 70 42 75 33 78H67C58 75 55 70 55 62Z",
            "M50 23C58.5 29 66 38 66 47.5C66 53.5 63 57.8 58.5 60.5H41.5C37 57.8 34 53.5 34 47.5C34 38 41.5 29 50 23Z",
            "M37.5 65C37.5 62 39 60.5 42 60.5H58C61 60.5 62.5 62 62.5 65Z",
            _ball(50, 18.3, 4.7),
        ),
        ("M59.5 33.5L51 45.5", "M42.5 60.5H57.5"),
    ),
    "q": (
        (
            SKIRT,
            "M34.5 64C32.5 53 28.5 43.5 22 34.5L34.5 46.5L36 26.5L44.8 44L50 23L55.2 44L64 26.5L65.5 46.5L78 34.5"
            "C71.5 43.5 67.5 53 65.5 64Z",
            BAND,
            _ball(21, 32, 3.9),
            _ball(35.7, 23.6, 3.9),
            _ball(50, 20, 3.9),
            _ball(64.3, 23.6, 3.9),
            _ball(79, 32, 3.9),
        ),
        ("M37.5 63.5H62.5",),
    ),
    "k": (
        (
            SKIRT,
            "M47.2 10H52.8V15H57.8V20.6H52.8V30H47.2V20.6H42.2V15H47.2Z",
            "M50 27.5C55 27.5 58.5 32.5 58.5 39C56 41 53 45 50 51C47 45 44 41 41.5 39C41.5 32.5 45 27.5 50 27.5Z",
            "M34.5 64C26 57.5 21.5 50.5 23.5 43.2C25.5 36.8 33 34.6 39 36.8C45 39 49 45 50 52.5"
            "C51 45 55 39 61 36.8C67 34.6 74.5 36.8 76.5 43.2C78.5 50.5 74 57.5 65.5 64Z",
            BAND,
        ),
        ("M37.5 63.5H62.5", "M42 38.2C46.6 41 49.4 46 50 52.5C50.6 46 53.4 41 58 38.2"),
    ),
}

# colour -> fill, outline, lines on top
INK = {WHITE: ("#fffdf8", "#2a2d31", "#2a2d31"), BLACK: ("#3a3f45", "#1b1d20", "#c9cdd1")}


def board(
    position: _core.Position,
    *,
    last_move: Move | None = None,
    check: int | None = None,
    arrows: Iterable[Arrow] = (),
    squares: Iterable[int] = (),
    orientation: bool = WHITE,
    size: int = 400,
    coordinates: bool = True,
) -> str:
    """Return `position` as SVG text.

    `last_move` highlights its two squares, `check` is the square of a king in check, `squares` are marked with a dot
    (a ring on an occupied square), `orientation` is the colour at the bottom, `size` the width in pixels. An arrow from
    a square to itself is drawn as a circle. Squares that are not on the board, and colours that are neither a name nor
    #rrggbb, raise `SelfmateError`, and so does an orientation other than `WHITE` or `BLACK`, or what is no position.

    >>> from selfmate import Position
    >>> picture = board(Position("gardner"), last_move=Move.from_uci("a2a3"), check=4, orientation=BLACK)
    >>> picture.startswith("<svg") and picture.endswith("</svg>")
    True
    >>> board(Position("chess"), arrows=[(0, 64)])
    Traceback (most recent call last):
    ...
    selfmate.errors.SelfmateError: no square 64 on a board of 8 by 8
    """
    if not isinstance(position, _core.Position):
        raise SelfmateError(f"a board is drawn of a Position, not of {clip_repr(position)}", clip_repr(position))
    size = whole_number("size", size, 1, MAX_SIZE, SelfmateError)
    orientation = flag("orientation", orientation, SelfmateError)
    if not isinstance(last_move, Move | None):
        raise SelfmateError(f"last_move must be a Move, not {clip_repr(last_move)}", clip_repr(last_move))
    drawing = _Drawing(position, orientation)
    drawing.open(size)
    drawing.squares()
    if flag("coordinates", coordinates, SelfmateError):
        drawing.coordinates()
    if last_move is not None:
        drawing.highlight(last_move)
    if check is not None:
        drawing.check(check)
    drawing.pieces()
    for square in squares:
        drawing.mark(square)
    for arrow in arrows:
        drawing.arrow(arrow)
    return drawing.close()


class _Drawing:
    """A picture under construction: SVG elements in painting order."""

    def __init__(self, position: _core.Position, orientation: bool) -> None:
        self.position = position
        self.orientation = orientation
        self.width = position.files * CELL
        self.height = position.ranks * CELL
        self.parts: list[str] = []

    def open(self, size: int) -> None:
        height = size * self.position.ranks // self.position.files
        mover = "White" if self.position.turn else "Black"
        name = self.position.variant + ("960" if self.position.chess960 else "")
        self.parts += [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{size}" height="{height}" role="img">',
            f"<title>{html.escape(name)}, {mover} to move</title>",
            f"<desc>{html.escape(self.position.fen())}\n{html.escape(str(self.position))}</desc>",
        ]

    def close(self) -> str:
        return "\n".join([*self.parts, "</svg>"])

    def corner(self, square: int) -> tuple[int, int]:
        """Return x and y of the upper left corner of a square; raise for one that is not on the board."""
        files, ranks = self.position.files, self.position.ranks
        number: object = square
        whole = isinstance(number, numbers.Integral) and not isinstance(number, bool)
        rank, file = divmod(square, 8) if whole else (-1, -1)
        if not (0 <= file < files and 0 <= rank < ranks):
            shown = clip_repr(square)
            raise SelfmateError(f"no square {shown} on a board of {files} by {ranks}", shown)
        if self.orientation == WHITE:
            return file * CELL, (ranks - 1 - rank) * CELL
        return (files - 1 - file) * CELL, rank * CELL

    def all_squares(self) -> Iterable[int]:
        return (8 * rank + file for rank in range(self.position.ranks) for file in range(self.position.files))

    def squares(self) -> None:
        self.parts.append(f'<rect width="{self.width}" height="{self.height}" fill="{LIGHT}"/>')
        dark = []
        for square in self.all_squares():
            if _is_dark(square):
                x, y = self.corner(square)
                dark.append(f"M{x} {y}h{CELL}v{CELL}h-{CELL}z")
        self.parts.append(f'<path d="{"".join(dark)}" fill="{DARK}"/>')

    def coordinates(self) -> None:
        self.parts.append('<g font-family="system-ui, sans-serif" font-size="17" font-weight="600" aria-hidden="true">')
        for square in self.all_squares():
            x, y = self.corner(square)
            name = square_name(square)
            colour = LABEL_ON_DARK if _is_dark(square) else LABEL_ON_LIGHT
            if x == 0:
                self.parts.append(f'<text x="5" y="{y + 19}" fill="{colour}">{name[1]}</text>')
            if y == self.height - CELL:
                self.parts.append(
                    f'<text x="{x + CELL - 5}" y="{y + CELL - 6}" text-anchor="end" fill="{colour}">{name[0]}</text>'
                )
        self.parts.append("</g>")

    def highlight(self, move: Move) -> None:
        for square in {move.from_square: None, move.to_square: None}:
            x, y = self.corner(square)
            self.parts.append(
                f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{LAST_MOVE}" fill-opacity="0.5"/>'
            )

    def check(self, square: int) -> None:
        x, y = self.corner(square)
        self.parts.append(
            f'<defs><radialGradient id="selfmate-check"><stop offset="0.2" stop-color="{CHECK}" stop-opacity="0.95"/>'
            f'<stop offset="1" stop-color="{CHECK}" stop-opacity="0"/></radialGradient></defs>'
            f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="url(#selfmate-check)"/>'
        )

    def pieces(self) -> None:
        found = [(square, piece) for square in self.all_squares() if (piece := self.position.piece_at(square))]
        self.parts.append("<defs>")
        self.parts += [_symbol(piece) for piece in sorted({piece for _, piece in found})]
        self.parts.append("</defs>")
        for square, piece in found:
            x, y = self.corner(square)
            self.parts.append(f'<use href="#{_symbol_name(piece)}" x="{x}" y="{y}"/>')

    def mark(self, square: int) -> None:
        x, y = self.corner(square)
        half = CELL // 2
        if self.position.piece_at(square):
            shape = f'r="{half - 5}" fill="none" stroke="{MARK}" stroke-width="6"'
        else:
            shape = f'r="13" fill="{MARK}"'
        self.parts.append(f'<circle cx="{x + half}" cy="{y + half}" {shape} opacity="0.45"/>')

    def arrow(self, arrow: Arrow) -> None:
        tail, head, colour = _arrow_parts(arrow)
        half = CELL / 2
        (tail_x, tail_y), (head_x, head_y) = self.corner(tail), self.corner(head)
        if tail == head:
            self.parts.append(
                f'<circle cx="{head_x + half:g}" cy="{head_y + half:g}" r="{half - 5:g}" fill="none" '
                f'stroke="{colour}" stroke-width="7" opacity="0.8"/>'
            )
            return
        # Drawn from left to right along the x axis, then turned and moved into place.
        length = math.hypot(head_x - tail_x, head_y - tail_y)
        angle = math.degrees(math.atan2(head_y - tail_y, head_x - tail_x))
        start, neck, tip = 22, length - 38, length - 6
        self.parts.append(
            f'<path d="M{start} -5.5H{neck:.1f}V-18L{tip:.1f} 0L{neck:.1f} 18V5.5H{start}a5.5 5.5 0 0 1 0 -11Z" '
            f'transform="translate({tail_x + half:g} {tail_y + half:g}) rotate({angle:.2f})" '
            f'fill="{colour}" stroke="{colour}" stroke-width="3" stroke-linejoin="round" opacity="0.8"/>'
        )


def _is_dark(square: int) -> bool:
    return (square // 8 + square % 8) % 2 == 0


def _symbol_name(piece: str) -> str:
    return f"selfmate-{'white' if piece.isupper() else 'black'}-{NAMES[piece.lower()]}"


def _symbol(piece: str) -> str:
    fill, outline, line = INK[WHITE if piece.isupper() else BLACK]
    shapes, lines = SHAPES[piece.lower()]
    body = "".join(f'<path d="{shape}"/>' for shape in (*shapes, FOOT))
    detail = f'<path d="{"".join(lines)}" fill="none" stroke="{line}" stroke-width="2.1"/>'
    return (
        f'<g id="{_symbol_name(piece)}" transform="translate(-4.5 -4.6) scale(1.09)" fill="{fill}" stroke="{outline}" '
        f'stroke-width="2.3" stroke-linejoin="round" stroke-linecap="round">{body}{detail}</g>'
    )


def _arrow_parts(arrow: Arrow) -> tuple[int, int, str]:
    if isinstance(arrow, Move):
        return arrow.from_square, arrow.to_square, ARROW
    if len(arrow) == 2:
        return arrow[0], arrow[1], ARROW
    colour = arrow[2]
    if not re.fullmatch(r"#[0-9a-fA-F]{3,8}|[a-zA-Z]{1,30}", colour):
        raise SelfmateError(f"not a colour: {clip(colour)!r}; use a name or #rrggbb", colour)
    return arrow[0], arrow[1], colour
