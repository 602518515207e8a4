"""Random games beside python-chess: at every ply legal moves, FEN, check, outcome and reason, SAN, key and undo."""

from __future__ import annotations

import random

import chess
import pytest

from crosscheck import BOARDS, EIGHT_BY_EIGHT, is_accepted, play_game, sparse_fen
from selfmate import Position

GAMES = 30
"""Of each variant, one to two seconds; `make soak` plays a million."""


@pytest.mark.parametrize("variant", EIGHT_BY_EIGHT)
def test_random_games(variant: str) -> None:
    for seed in range(GAMES):
        play_game(variant, seed, ["python-chess"])


@pytest.mark.parametrize("variant", EIGHT_BY_EIGHT)
def test_games_reach_every_rule(variant: str) -> None:
    """The games above would prove nothing if they were all alike: without a judge many more are quick to play."""
    seen: set[str] = set()
    for seed in range(300):
        position = play_game(variant, seed, [])
        outcome = position.outcome(claim_draw=True)
        seen |= {outcome.termination.name} if outcome else set()
    always = {"FIVEFOLD_REPETITION"}
    own = {
        "chess": {"CHECKMATE", "STALEMATE", "INSUFFICIENT_MATERIAL", "SEVENTYFIVE_MOVES"},
        "atomic": {"KING_EXPLODED", "CHECKMATE", "STALEMATE", "INSUFFICIENT_MATERIAL", "SEVENTYFIVE_MOVES"},
        "antichess": {"NO_PIECES_LEFT", "NO_MOVES_LEFT"},
        "kingofthehill": {"KING_ON_HILL", "CHECKMATE"},
        "3check": {"THREE_CHECKS", "CHECKMATE"},
        "racingkings": {"RACE_WON", "STALEMATE"},
        "horde": {"HORDE_DESTROYED", "CHECKMATE", "STALEMATE"},
    }
    assert always | own[variant.removesuffix("960")] <= seen


@pytest.mark.parametrize("number", range(0, 960, 7))
def test_chess960_start_positions(number: int) -> None:
    board = chess.Board.from_chess960_pos(number)
    position = Position.chess960_start(number)
    assert position.fen() == board.fen()
    assert position.fen(shredder=True) == board.fen(shredder=True)
    assert {position.uci(move) for move in position.legal_moves} == {move.uci() for move in board.legal_moves}


@pytest.mark.parametrize("variant", ["chess", "chess960", "3check", "kingofthehill"])
def test_the_same_positions_are_accepted(variant: str) -> None:
    """All that python-chess holds valid, and nothing else but checks that no move can have given."""
    tolerated = chess.STATUS_TOO_MANY_CHECKERS | chess.STATUS_IMPOSSIBLE_CHECK
    chance = random.Random(variant)
    answers = set()
    for _ in range(1000):
        fen = sparse_fen(variant, chance)
        status = BOARDS[variant.removesuffix("960")](fen, chess960=variant.endswith("960")).status()
        answers.add(is_accepted(variant, fen))
        if is_accepted(variant, fen):
            assert not status & ~tolerated, fen
        else:
            assert status, fen
    assert answers == {True, False}
