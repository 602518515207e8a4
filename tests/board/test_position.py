"""The Python side of `Position`, the 960 starts, and the package as a whole."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable

import chess
import pytest

import selfmate
from selfmate import (
    Game,
    InvalidSan,
    Move,
    MoveError,
    Position,
    SanError,
    SearchConfig,
    SelfmateError,
    SelfPlayConfig,
    Setup,
    UnknownVariant,
    chess960_fen,
)


def test_chess960_numbers() -> None:
    for number in range(960):
        board = chess.Board.from_chess960_pos(number)
        assert chess960_fen(number) == board.fen()
        assert chess960_fen(number, shredder=True) == board.fen().replace("KQkq", board.castling_shredder_fen())
        assert Position("chess960", chess960_fen(number, shredder=True)).fen() == board.fen()


@pytest.mark.parametrize(
    ("number", "part"), [(-1, "-1"), (960, "960"), (True, "True"), pytest.param(10**5000, "0x31e2", id="5001 digits")]
)
def test_chess960_numbers_out_of_range(number: int, part: str) -> None:
    with pytest.raises(SelfmateError, match="0 to 959") as caught:
        chess960_fen(number)
    assert caught.value.part[:6] == part
    with pytest.raises(SelfmateError, match="0 to 959"):
        Position.chess960_start(number)


# docs/api.md names these: the only errors of the API that Python's own classes report for numbers out of range.
OUT_OF_RANGE: dict[str, tuple[type[Exception], Callable[[], object]]] = {
    "perft below": (ValueError, lambda: Position("chess").perft(-1)),
    "perft above": (ValueError, lambda: Position("chess").perft(101)),
    "perft without threads": (ValueError, lambda: Position("chess").perft(2, threads=0)),
    "perft with many threads": (ValueError, lambda: Position("chess").perft(2, threads=1025)),
    "move from": (ValueError, lambda: Move(-1, 5)),
    "move to": (ValueError, lambda: Move(0, 99)),
    "promotion": (ValueError, lambda: Move(0, 1, 99)),
    "piece": (IndexError, lambda: Position("chess").piece_at(64)),
    "piece beside a small board": (IndexError, lambda: Position("gardner").piece_at(5)),
    "attackers": (IndexError, lambda: Position("chess").attackers(True, 99)),
    "name": (IndexError, lambda: selfmate.square_name(64)),
    "piece of a setup": (IndexError, lambda: Setup("chess").set_piece(99, "K")),
    "en passant": (IndexError, lambda: setattr(Setup("chess"), "ep_square", 99)),
    "config": (ValueError, lambda: SearchConfig(cpuct=10**5000)),
    "self-play": (ValueError, lambda: SelfPlayConfig(visits=10**5000)),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_numbers_out_of_range_that_python_reports(name: str) -> None:
    kind, call = OUT_OF_RANGE[name]
    with pytest.raises(kind) as caught:
        call()
    assert not isinstance(caught.value, SelfmateError)


def test_chess960_start_by_variant() -> None:
    for name in ("atomic", "atomic960"):
        position = Position.chess960_start(5, name)
        assert (position.variant, position.chess960) == ("atomic", True)
    with pytest.raises(UnknownVariant):
        Position.chess960_start(5, "gardner")
    for wrong in (None, 3, b"chess", ["chess"]):
        with pytest.raises(UnknownVariant):
            Position.chess960_start(5, wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fen", "kept"),
    [
        pytest.param("8/8/8/2k5/2pP4/8/B7/4K3 b - d3 0 3", "d3", id="a pawn beside it"),
        pytest.param("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1", "-", id="no pawn beside it"),
        pytest.param("8/8/8/8/k1pP3R/8/8/n4K2 b - d3 0 1", "-", id="both pawns leave the rank of the king"),
    ],
)
def test_the_en_passant_square_of_a_fen_is_kept_where_a_capture_is_legal(fen: str, kept: str) -> None:
    fields = fen.split()
    position, without = Position("chess", fen), Position("chess", " ".join([*fields[:3], "-", *fields[4:]]))
    assert position.fen().split()[3] == kept
    assert (position.key == without.key) == (kept == "-")


def test_san_names_file_and_rank_where_neither_is_enough() -> None:
    position = Position("chess", "1k6/8/8/8/4Q2Q/8/8/K6Q w - - 0 1")
    found = {uci: position.san(position.parse_uci(uci)) for uci in ("e4e1", "h1e1", "h4e1")}
    assert found == {"e4e1": "Qee1", "h1e1": "Q1e1", "h4e1": "Qh4e1"}


def test_copies_are_of_our_class_and_independent() -> None:
    position = Position("chess")
    position.play("e2e4")
    for other in (position.copy(), copy.copy(position), copy.deepcopy(position), Position(position)):
        assert type(other) is Position
        assert other == position
        assert other.undo() == Move.from_uci("e2e4")
        assert len(position.move_stack) == 1
    assert type(Position.from_setup(Setup.from_fen(position.fen()))) is Position


def test_import_is_light() -> None:
    script = "import selfmate, sys; print(*(name for name in sys.modules if name.startswith('selfmate')))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"selfmate.board.pgn", "selfmate.board.epd", "selfmate.board.board_svg", "selfmate.cli.main"} & set(
        loaded
    )


def test_public_names() -> None:
    assert len(set(selfmate.__all__)) == len(selfmate.__all__)
    for name in selfmate.__all__:
        assert getattr(selfmate, name) is not None
        assert name in dir(selfmate)
    assert selfmate.Game is Game
    assert selfmate.__version__[0].isdigit()
    with pytest.raises(AttributeError, match="nonsense"):
        selfmate.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_push_and_pop_are_play_and_undo() -> None:
    position, other = Position("chess"), Position("chess")
    for move in ("e2e4", "e7e5", "g1f3"):
        assert position.push(move) == other.play(move)
        assert position == other
    assert position.move_stack == other.move_stack
    assert [position.pop(), position.pop()] == [other.undo(), other.undo()]
    assert position == other
    before = position.fen()
    for wrong in ("e2e4", "e7e9", "hello", 5):
        with pytest.raises(MoveError):
            position.push(wrong)  # type: ignore[arg-type]
        assert position.fen() == before
    assert position.push_san("d5") == position.pop() == other.play_san("d5")
    for wrong in ("Ke4", "", "hello"):
        with pytest.raises(SanError):
            position.push_san(wrong)
        assert position.fen() == before
    position.pop()
    with pytest.raises(IndexError):
        position.pop()


@pytest.mark.parametrize(
    ("san", "uci"),
    [
        *((text, "e1h1") for text in ("O-O", "o-o", "0-0", "O-O+", "O\u2011O", "O\u2013O!?")),
        *((text, "e1a1") for text in ("O-O-O", "o-o-o", "0-0-0", "O\u2011O\u2011O", "0\u20130\u20130")),
        *((text, None) for text in ("OO", "OOO", "O-O-", "O-", "O", "O-O-O-O", "O-X")),
    ],
)
def test_spellings_of_castling(san: str, uci: str | None) -> None:
    position = Position("chess", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    if uci is None:
        with pytest.raises(InvalidSan):
            position.parse_san(san)
    else:
        assert position.parse_san(san).uci() == uci
        assert position.play_san(san) == position.move_stack[-1]


def test_pickle_and_copy_keep_null_moves() -> None:
    position = Position("atomic")
    for move in (Move.from_uci("e2e4"), Move.null(), Move.from_uci("d2d4")):
        position.play(move)
    for other in (pickle.loads(pickle.dumps(position)), copy.deepcopy(position)):
        assert other == position
        assert other.move_stack == position.move_stack
