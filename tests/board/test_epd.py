"""EPD, perft suites and tactics files."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from selfmate import (
    Epd,
    EpdError,
    Move,
    PerftLine,
    Position,
    SelfmateError,
    Tactic,
    parse_epd,
    read_epd,
    read_perft_suite,
    read_tactics,
)

HERE = Path(__file__).parents[1]


def test_a_second_dash_after_the_position_is_passed_over() -> None:
    line = '1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - - bm Qd1+; id "BK.01";'
    epd = parse_epd(line)
    assert epd.operations == {"bm": (Move.from_uci("d6d1"),), "id": "BK.01"}
    assert str(epd) == line.replace("- - -", "- -")
    assert parse_epd("8/8/8/8/8/8/8/K1k5 w - - - 3 9").position.fullmove_number == 9


def test_operations() -> None:
    epd = parse_epd(
        r'r1bqk1r1/1p1p1n2/p1n2pN1/2p1b2Q/2P1Pp2/1PN5/PB4PP/R4RK1 w q - bm Rxf4; am c3d5; id "ECM.001; \"a\" \\";'
        " acd 12; ce -35; c0 word; noop; list 1 two;"
    )
    assert epd.operations == {
        "bm": (Move.from_uci("f1f4"),),
        "am": (Move.from_uci("c3d5"),),
        "id": 'ECM.001; "a" \\',
        "acd": 12,
        "ce": -35,
        "c0": "word",
        "noop": None,
        "list": (1, "two"),
    }


def test_moves_of_a_line_are_played() -> None:
    epd = parse_epd("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - pv e4 e5 Nf3; sm e4; pm g1f3;")
    assert epd.operations["pv"] == tuple(map(Move.from_uci, ["e2e4", "e7e5", "g1f3"]))
    assert epd.operations["sm"] == Move.from_uci("e2e4")
    assert str(epd).endswith("pv e4 e5 Nf3; sm e4; pm Nf3;")
    assert epd.position.move_stack == []


def test_clocks_belong_to_the_position() -> None:
    for text in ("8/8/8/8/8/2k5/8/K6R w - - hmvc 7; fmvn 40; id 1;", "8/8/8/8/8/2k5/8/K6R w - - 7 40 id 1;"):
        epd = parse_epd(text)
        assert (epd.position.halfmove_clock, epd.position.fullmove_number) == (7, 40)
        assert epd.operations == {"id": 1}
        assert str(epd) == "8/8/8/8/8/2k5/8/K6R w - - hmvc 7; fmvn 40; id 1;"


def test_remaining_checks() -> None:
    text = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 2+3 id 1;"
    epd = parse_epd(text, "3check")
    assert epd.position.checks_left == (2, 3)
    assert str(epd) == text


@pytest.mark.parametrize(
    "operations",
    [
        {"two words": 1},
        {"1st": 1},
        {"hmvc": 3},
        {"bm": "e4"},
        {"bm": ()},
        {"id": ("one",)},
        {"id": 10**30},
    ],
)
def test_what_cannot_be_written_is_refused(operations: dict[str, object]) -> None:
    with pytest.raises(EpdError):
        str(Epd(Position("chess"), operations))  # type: ignore[arg-type]


def test_moves_are_written_only_where_they_belong() -> None:
    move = Move.from_uci("e2e4")
    for operations in ({"bm": move}, {"sm": (move,)}, {"id": move}, {"bm": (Move.from_uci("e2e5"),)}):
        with pytest.raises(SelfmateError):
            str(Epd(Position("chess"), operations))  # type: ignore[arg-type]


@pytest.mark.parametrize("path", sorted((HERE / "perft").glob("*.epd")), ids=lambda path: path.stem)
def test_perft_suites(path: Path) -> None:
    lines = list(read_perft_suite(path))
    assert lines
    for line in lines:
        position = Position(path.stem, line.fen, lenient=True)
        assert dict(line.nodes)[1] == len(position.legal_moves)
        assert [depth for depth, _ in line.nodes] == list(range(1, len(line.nodes) + 1))
        epd = parse_epd(line.text, path.stem, lenient=True)
        assert epd.position == position
        assert epd.operations == {f"D{depth}": nodes for depth, nodes in line.nodes}


@pytest.mark.parametrize("path", sorted((HERE / "tactics").glob("*.epd")), ids=lambda path: path.stem)
def test_tactics(path: Path) -> None:
    variant, _, mate_in = path.stem.partition("_mate")
    tactics = list(read_tactics(path, variant))
    assert len(tactics) > 20
    for tactic in tactics:
        assert tactic.mate_in == int(mate_in)
        for move in tactic.best_moves:
            after = tactic.position.copy()
            after.play(move)
            outcome = after.outcome()
            if tactic.mate_in == 1:
                assert outcome is not None
                assert outcome.winner == tactic.position.turn
            else:
                assert outcome is None


def test_files() -> None:
    text = "\ufeff# a comment\n\n8/8/8/8/8/2k5/8/K6R w - - id 1;\r\n8/8/8/8/8/2k5/8/K6R b - - id 2;"
    assert [epd.operations["id"] for epd in read_epd(io.StringIO(text))] == [1, 2]
    with pytest.raises(EpdError, match="line 3: ") as caught:
        list(read_epd(io.StringIO("\n\n8/8/8/8/8/2k5/8/K6R w - - bm Ra9;")))
    assert (caught.value.line, caught.value.part) == (3, "Ra9")


@pytest.mark.parametrize(
    "text", ["", ";", "fen", "fen ;D1", "fen ;D1 1 ;D1 1", "fen ;X1 5", "fen ;D1 -5", "fen ;D1 1 ;"]
)
def test_bad_perft_lines(text: str) -> None:
    with pytest.raises(EpdError, match="line 5"):
        PerftLine.parse(text, 5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "4r/5/2k2/5/2K2 b - - 10 28; e5e1; 0",
        "4r/5/2k2/5/2K2 b - - 10 28; ; 1",
        "4r/5/2k2/5/2K2 b - - 10 28; e5f1; 1",
    ],
)
def test_bad_tactics(text: str) -> None:
    with pytest.raises(EpdError):
        Tactic.parse(text, "gardner")
