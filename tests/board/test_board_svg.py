"""The drawn board: well-formed, safe, and with everything in its place."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from selfmate import BLACK, VARIANTS, WHITE, Move, Position, SelfmateError, parse_square
from selfmate.board import board_svg as svg
from selfmate.board.board_svg import CELL

SPACE = "{http://www.w3.org/2000/svg}"


def places(picture: str) -> dict[tuple[int, int], str]:
    """Find which piece is drawn in which column and row, from the upper left."""
    found = {}
    for use in ElementTree.fromstring(picture).iter(f"{SPACE}use"):
        column, row = int(use.attrib["x"]) // CELL, int(use.attrib["y"]) // CELL
        assert (column, row) not in found
        found[column, row] = use.attrib["href"].removeprefix("#selfmate-")
    return found


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("orientation", [WHITE, BLACK])
def test_every_piece_stands_on_its_square(variant: str, orientation: bool) -> None:
    position = Position(variant)
    found = places(svg.board(position, orientation=orientation))
    names = {"p": "pawn", "n": "knight", "b": "bishop", "r": "rook", "q": "queen", "k": "king"}
    expected = {}
    for rank in range(position.ranks):
        for file in range(position.files):
            if piece := position.piece_at(8 * rank + file):
                row, column = position.ranks - 1 - rank, file
                if orientation == BLACK:
                    row, column = rank, position.files - 1 - file
                expected[column, row] = f"{'white' if piece.isupper() else 'black'}-{names[piece.lower()]}"
    assert found == expected


def test_picture_is_well_formed_safe_and_accessible() -> None:
    position = Position("atomic")
    picture = position.svg(size=320, arrows=[Move.from_uci("e2e4"), (0, 0), (1, 18, "#f00")], squares=[0, 20])
    root = ElementTree.fromstring(picture)
    assert root.attrib["role"] == "img"
    assert (root.attrib["width"], root.attrib["height"]) == ("320", "320")
    assert root[0].tag == f"{SPACE}title"
    assert root[0].text == "atomic, White to move"
    assert position.fen() in (root[1].text or "")
    names = {element.tag.removeprefix(SPACE) for element in root.iter()}
    assert names <= {
        "svg",
        "title",
        "desc",
        "rect",
        "path",
        "g",
        "text",
        "defs",
        "use",
        "circle",
        "radialGradient",
        "stop",
    }
    used = {use.attrib["href"][1:] for use in root.iter(f"{SPACE}use")}
    assert used == {group.attrib["id"] for group in root.iter(f"{SPACE}g") if "id" in group.attrib}


def test_notebooks_show_last_move_and_check() -> None:
    position = Position("chess")
    assert svg.LAST_MOVE not in position._repr_svg_()
    for move in ["f2f3", "e7e5", "g2g4", "d8h4"]:
        position.play(move)
    picture = position._repr_svg_()
    assert picture.count(svg.LAST_MOVE) == 2
    assert 'fill="url(#selfmate-check)"' in picture
    assert svg.LAST_MOVE not in position.svg(last_move=None, check=None)
    assert "selfmate-check" not in position.svg(last_move=None, check=None)
    assert len(position.move_stack) == 4


def test_castling_shows_where_the_king_went() -> None:
    position = Position("chess", "4k3/8/8/8/8/8/8/4K2R w K - 0 1")
    position.play("e1g1")
    picture = position.svg()
    for square in ("e1", "g1"):
        x, y = CELL * (parse_square(square) % 8), 7 * CELL
        assert f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{svg.LAST_MOVE}"' in picture


def test_coordinates() -> None:
    def labels(picture: str) -> list[str]:
        return sorted(text.text or "" for text in ElementTree.fromstring(picture).iter(f"{SPACE}text"))

    assert labels(svg.board(Position("gardner"))) == list("12345abcde")
    assert labels(svg.board(Position("chess"), coordinates=False)) == []


def test_last_move_must_fit_the_board() -> None:
    with pytest.raises(SelfmateError, match="no square 63"):
        svg.board(Position("gardner"), last_move=Move.from_uci("a1h8"))


@pytest.mark.parametrize("position", [None, "chess", 3, Move.from_uci("a1h8")])
def test_a_board_is_drawn_of_a_position(position: Any) -> None:
    with pytest.raises(SelfmateError, match="a board is drawn of a Position, not of"):
        svg.board(position)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"arrows": [(0, 1, 'red"/><script>')]}, 'red"/><script>'),
        ({"arrows": [(0, 64)]}, "64"),
        ({"arrows": [(-1, 3)]}, "-1"),
        ({"squares": [5]}, "5"),
        ({"check": 40}, "40"),
        ({"size": 0}, "0"),
        ({"size": 10**9}, "1000000000"),
        ({"orientation": "x"}, "'x'"),
        ({"orientation": None}, "None"),
    ],
)
def test_bad_options_are_refused(options: svg.BoardOptions, part: str) -> None:
    with pytest.raises(SelfmateError) as caught:
        svg.board(Position("gardner"), **options)
    assert caught.value.part == part
