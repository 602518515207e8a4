"""The Python side of `Position`, the 960 starts, and the package as a whole."""

from __future__ import annotations

import copy
import subprocess
import sys

import chess
import pytest

import selfmate
from selfmate import Game, Move, Position, SelfmateError, Setup, UnknownVariant, chess960_fen


def test_chess960_numbers() -> None:
    for number in range(960):
        board = chess.Board.from_chess960_pos(number)
        assert chess960_fen(number) == board.fen()
        assert chess960_fen(number, shredder=True) == board.fen().replace("KQkq", board.castling_shredder_fen())
        assert Position("chess960", chess960_fen(number, shredder=True)).fen() == board.fen()


@pytest.mark.parametrize("number", [-1, 960])
def test_chess960_numbers_out_of_range(number: int) -> None:
    with pytest.raises(SelfmateError, match="0 to 959") as caught:
        chess960_fen(number)
    assert caught.value.part == str(number)


def test_chess960_start_by_variant() -> None:
    for name in ("atomic", "atomic960"):
        position = Position.chess960_start(5, name)
        assert (position.variant, position.chess960) == ("atomic", True)
    with pytest.raises(UnknownVariant):
        Position.chess960_start(5, "gardner")


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
