"""Files of start positions: Lichess's CSV of puzzles, FENs and EPDs, and rows that cannot be used."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from selfmate import Position
from selfmate.board.puzzles import COLUMNS, Puzzle, read_puzzles, write_puzzles

ROWS = (
    "00008,r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2R1/PqP2bPP/7K b - - 0 24,f2g3 e6e7 b2b1 b3c1 b1c1 h6c1,1798,77,95,8128,"
    "crushing hangingPiece long middlegame,https://example.org/787zsVup/black#48,",
    "0000D,5rk1/1p3ppp/pq3b2/8/8/1P1Q1N2/P4PPP/3R2K1 w - - 2 27,d3d6 f8d8 d6d8 f6d8,1510,74,96,29205,"
    "advantage endgame short,https://example.org/F8M8OS71#53,",
)
"""In the format of Lichess; the first move of each is the mistake."""
STARTS = [
    "r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2b1/PqP3PP/7K w - - 0 25",
    "5rk1/1p3ppp/pq1Q1b2/8/8/1P3N2/P4PPP/3R2K1 b - - 3 27",
]


@pytest.mark.parametrize("header", [True, False])
def test_a_puzzle_begins_after_its_first_move(header: bool) -> None:
    lines = [",".join(COLUMNS)] * header + list(ROWS)
    found = read_puzzles(io.StringIO("\ufeff" * header + "\r\n".join(lines)), "chess")
    assert (found.fens, found.rows, found.bad_rows) == (STARTS, 2, 0)
    assert found.white == 1
    assert found.describe_bad() == ""
    assert read_puzzles(io.StringIO("\n".join(lines)), "chess960").fens == STARTS


def test_puzzles_are_of_chess_unless_a_theme_names_a_variant() -> None:
    text = "\n".join([",".join(COLUMNS), *ROWS, ROWS[1].replace("endgame", "atomic"), "x,y", "a,8/8 w - - 0 1,e2e4"])
    found = read_puzzles(io.StringIO(text), "atomic")
    assert found.fens == [STARTS[1]]
    assert (found.rows, found.bad_rows) == (5, 4)
    assert found.bad[:2] == [(2, "a puzzle of chess, not of atomic"), (3, "a puzzle of chess, not of atomic")]
    assert found.bad[2] == (5, "a puzzle has FEN and Moves, not 'x,y'")
    assert found.describe_bad().endswith("; 1 more")
    assert "not legal" in read_puzzles(io.StringIO("a,4k3/8/8/8/8/8/8/4K2Q w - - 0 1,e1e5,1"), "chess").bad[0][1]


def test_fens_and_epds_are_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "book.epd"
    epd = '5rk1/1p3ppp/pq1Q1b2/8/8/1P3N2/P4PPP/3R2K1 b - - id "x, y";'
    path.write_text(f"# a comment\n{STARTS[0]}\n\n{epd}\n{STARTS[0]}\n")
    found = read_puzzles(path, "chess")
    assert found.fens == [STARTS[0], STARTS[1].replace("3 27", "0 1")]
    assert (found.rows, found.bad_rows) == (3, 0)


def test_what_is_written_is_read_back() -> None:
    before = Position("gardner", "4k/5/5/Q4/K4 w - - 0 1")
    puzzle = Puzzle("a", before.fen(), ("a2b3", "e5d5"), ("gardner", "endgame"), "run/7#3")
    text = write_puzzles([puzzle])
    before.play("a2b3")
    assert read_puzzles(io.StringIO(text), "gardner").fens == [before.fen()]
    assert text.splitlines()[1] == "a,4k/5/5/Q4/K4 w - - 0 1,a2b3 e5d5,1500,500,0,0,gardner endgame,run/7#3,"
