"""Properties of every registered variant: a new one is tested here without a change.

Its playthrough is written by `python tests/helpers/playthrough.py --write`.
"""

from __future__ import annotations

import random
from itertools import product

import pytest

from crosscheck import choose
from playthrough import FOLDER, NAMES, playthrough, read_moves
from selfmate import VARIANTS, Move, Position, Setup, Termination
from selfmate.board.position import chess960_fen
from selfmate.errors import IllegalMove

GAMES = 12
DRAWS_WITH_MOVES_LEFT = {
    Termination.INSUFFICIENT_MATERIAL,
    Termination.SEVENTYFIVE_MOVES,
    Termination.FIVEFOLD_REPETITION,
}

pytestmark = pytest.mark.parametrize("variant", NAMES)


def start(variant: str, number: int) -> Position:
    """Return the starting position; for 960 variants a different one for each number."""
    return Position(variant, chess960_fen(number * 37 % 960) if variant.endswith("960") else None)


def random_positions(variant: str, games: int = GAMES, plies: int = 120) -> list[Position]:
    """Return positions from random games of all styles, each with its history."""
    positions = []
    for game in range(games):
        chance = random.Random(f"conformance/{variant}/{game}")
        style = chance.choice(("random", "captures", "special", "shuffle"))
        position = start(variant, game)
        for _ in range(plies):
            positions.append(position.copy())
            moves = position.legal_moves
            if not moves:
                break
            position.play(choose(position, style, moves, chance))
    return positions


def state(position: Position) -> tuple[object, ...]:
    """Return everything observable about a position."""
    return (
        position.fen(),
        position.fen(shredder=True),
        position.key,
        position.turn,
        position.castling,
        position.ep_square,
        position.halfmove_clock,
        position.fullmove_number,
        position.checks_left,
        position.repetitions(),
        position.move_stack,
        [move.uci() for move in position.legal_moves],
        str(position),
    )


def test_start_position(variant: str) -> None:
    position = Position(variant)
    assert position.variant == variant.removesuffix("960")
    assert position.variant in VARIANTS
    assert position.chess960 is variant.endswith("960")
    assert position.turn is True
    assert position.legal_moves
    assert position.outcome() is None
    assert position.move_stack == []
    assert position.repetitions() == 1


def test_fen_and_setup_round_trip(variant: str) -> None:
    for position in random_positions(variant):
        for fen in (position.fen(), position.fen(shredder=True)):
            again = Position(variant, fen)
            assert again == position
            assert (again.fen(), again.key) == (position.fen(), position.key)
            assert Setup.from_fen(fen, variant).turn == position.turn
        assert Position.from_setup(position.setup()) == position


def test_key_is_that_of_the_position_alone(variant: str) -> None:
    keys: dict[str, int] = {}
    for position in random_positions(variant):
        assert position.key == position.recomputed_key()
        assert keys.setdefault(position.epd(), position.key) == position.key
    assert len(set(keys.values())) == len(keys)


def test_play_and_undo_leave_no_trace(variant: str) -> None:
    for position in random_positions(variant, games=4):
        before = state(position)
        for move in position.legal_moves:
            assert position.play(move) == move
            assert position.move_stack[-1] == move
            assert position.undo() == move
        assert state(position) == before


def test_undo_goes_back_to_the_start(variant: str) -> None:
    position = random_positions(variant, games=1)[-1]
    assert len(position.move_stack) > 5
    for move in reversed(position.move_stack):
        assert position.undo() == move
    assert state(position) == state(start(variant, 0))
    with pytest.raises(IndexError):
        position.undo()


def test_copies_are_independent(variant: str) -> None:
    for position in random_positions(variant, games=2):
        before = state(position)
        copy = position.copy()
        assert copy == position
        assert state(copy) == before
        for move in copy.legal_moves[:3]:
            copy.play(move)
            copy.undo()
        if copy.legal_moves:
            copy.play(copy.legal_moves[0])
        while copy.move_stack:
            copy.undo()
        assert state(position) == before


def test_no_legal_moves_exactly_when_the_game_is_over(variant: str) -> None:
    """Except for draws by material, clock and repetition, which leave legal moves."""
    for position in random_positions(variant, games=40):
        outcome = position.outcome()
        assert position.is_game_over() is (outcome is not None)
        if not position.legal_moves:
            assert outcome is not None
        elif outcome is not None:
            assert outcome.termination in DRAWS_WITH_MOVES_LEFT
        if outcome is not None:
            assert position.outcome(claim_draw=True) == outcome
            assert outcome.result() == {True: "1-0", False: "0-1", None: "1/2-1/2"}[outcome.winner]
            assert outcome.reason


def test_moves_are_unique_and_have_unique_names(variant: str) -> None:
    for position in random_positions(variant):
        moves = position.legal_moves
        assert len(set(moves)) == len(moves)
        for names in ([position.uci(move) for move in moves], [position.san(move) for move in moves]):
            assert len(set(names)) == len(moves)
        for move in moves:
            assert position.parse_uci(position.uci(move)) == move
            assert position.parse_uci(move.uci()) == move
            assert position.parse_san(position.san(move)) == move


def test_is_legal_agrees_with_legal_moves_for_every_move_there_is(variant: str) -> None:
    for position in random.Random(variant).sample(random_positions(variant), 3):
        legal = set(position.legal_moves)
        for origin, target, promotion in product(range(64), range(64), (None, 2, 3, 4, 5, 6)):
            move = Move(origin, target, promotion)
            assert position.is_legal(move) is (move in legal)


def test_illegal_moves_change_nothing(variant: str) -> None:
    for position in random_positions(variant, games=1, plies=30):
        before = state(position)
        legal = {uci for move in position.legal_moves for uci in (move.uci(), position.uci(move))}
        for uci in ("a1a5", "e1e3", "d1d4", "e2e4", "a5a4", "h8a1", "e2e1q"):
            if uci not in legal:
                with pytest.raises(IllegalMove):
                    position.play(uci)
        assert state(position) == before


def test_perft_and_divide(variant: str) -> None:
    for position in random.Random(variant).sample(random_positions(variant), 10):
        assert position.perft(0) == 1
        assert position.perft(1) == len(position.legal_moves)
        divided = dict(position.divide(3))
        assert list(divided) == position.legal_moves
        assert sum(divided.values()) == position.perft(3) == position.perft(3, threads=2)
        for move, nodes in divided.items():
            position.play(move)
            assert position.perft(2) == nodes
            position.undo()


def test_repetitions_are_counted_and_end_the_game(variant: str) -> None:
    position, there_and_back = shuffling(variant)
    for round_number in range(2, 6):
        for move in there_and_back:
            position.play(move)
        assert position.repetitions() == round_number
        outcome, claimed = position.outcome(), position.outcome(claim_draw=True)
        if round_number == 5:
            assert outcome is not None
            assert outcome.termination == Termination.FIVEFOLD_REPETITION
        else:
            assert outcome is None
        if round_number == 2:
            assert claimed is None
        elif round_number < 5:
            assert claimed is not None
            assert claimed.termination == Termination.THREEFOLD_REPETITION
    for _ in there_and_back * 2:
        position.undo()
    assert position.repetitions() == 3


def shuffling(variant: str) -> tuple[Position, list[str]]:
    """Return a position with a history, and four moves that lead back to it."""
    for position in random_positions(variant, games=30):
        before = position.epd()
        if position.is_check() or position.repetitions() > 1:
            continue
        line: list[str] = []
        for _ in range(2):
            going = [move for move in position.legal_moves if not irreversible(position, move)]
            if not going:
                break
            line.append(position.play(going[0]).uci())
        line += [uci[2:4] + uci[:2] for uci in line]
        copy = position.copy()
        try:
            for uci in line[2:]:
                copy.play(uci)
        except IllegalMove:
            continue
        if len(line) == 4 and copy.epd() == before:
            while position.epd() != before:
                position.undo()
            return position, line
    raise AssertionError("no position to shuffle in")


def irreversible(position: Position, move: Move) -> bool:
    """Return whether no other move can undo this one."""
    return bool(
        move.promotion
        or position.is_capture(move)
        or position.is_castling(move)
        or position.piece_at(move.from_square) in ("P", "p")
    )


def test_playthrough(variant: str) -> None:
    """The game of tests/playthroughs/, line by line."""
    path = FOLDER / f"{variant}.txt"
    written = path.read_text(encoding="utf-8").splitlines()
    played = list(playthrough(variant, *read_moves(written)))
    for number, (old, new) in enumerate(zip(written, played, strict=False), start=1):
        assert new == old, f"{path.name}, line {number}"
    assert len(played) == len(written)
