"""The points of the rules on which programs disagree or used to be wrong, each with its position.

Lichess is the referee in doubt. Most FENs come from shared research that compared python-chess, Fairy-Stockfish,
chessops and Stockfish; where they differ the name of the test says what we do.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from selfmate import BLACK, WHITE, Move, Position, Termination
from selfmate.errors import BadCastling, FenError, IllegalMove, InvalidMove, OppositeCheck, TooManyPieces


def ucis(position: Position) -> set[str]:
    """The legal moves as UCI writes them."""
    return {position.uci(move) for move in position.legal_moves}


# -- atomic: castling while kings touch -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "castling"),
    [
        pytest.param("8/8/8/8/8/4r3/5k2/R3K2R w KQ - 0 1", {"e1g1", "e1c1"}, id="rook e3, king f2: both"),
        pytest.param("6r1/8/8/8/8/8/3k4/R3K2R w KQ - 0 1", {"e1c1"}, id="rook g8, king d2: queen's side"),
        pytest.param("3r4/8/8/8/8/8/1k6/R3K2R w KQ - 0 1", {"e1g1"}, id="rook d8, king b2: king's side"),
        pytest.param("2r5/8/8/8/8/8/2k5/R3K2R w KQ - 0 1", {"e1g1", "e1c1"}, id="rook c8, king c2: both"),
    ],
)
def test_atomic_no_square_is_attacked_where_the_kings_touch(fen: str, castling: set[str]) -> None:
    position = Position("atomic", fen)
    assert {position.uci(move) for move in position.legal_moves if position.is_castling(move)} == castling


# -- atomic: en passant -----------------------------------------------------------------------------------------------


def test_atomic_en_passant_capture_of_the_checking_pawn_is_legal() -> None:
    position = Position("atomic", "8/8/8/5PpP/1P3k1K/8/8/8 w - g6 0 2")
    assert ucis(position) == {"f5g6", "h5g6", "h4g3", "h4g4", "h4h3"}


def test_atomic_en_passant_that_would_explode_the_own_king_is_neither_written_nor_hashed() -> None:
    position = Position("atomic", "8/4pK2/8/3P4/8/8/8/k7 b - - 0 1")
    position.play("e7e5")
    assert position.fen() == "8/5K2/8/3Pp3/8/8/8/k7 w - - 0 2"
    assert position.ep_square is None
    assert position.key == Position("atomic", position.fen()).key
    assert "d5e6" not in ucis(position)


def test_atomic_en_passant_explodes_around_the_landing_square() -> None:
    position = Position("atomic", "4k3/2n5/1nn5/1nPpn3/8/8/8/4K3 w - d6 0 2")
    position.play("c5d6")
    # d6, the pawn on d5 and all pieces but pawns beside d6 are removed; b6 and b5 are too far away.
    assert position.board_fen() == "4k3/8/1n6/1n6/8/8/8/4K3"


# -- atomic: explosions and castling rights ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "move", "after"),
    [
        pytest.param(
            "r3k2r/8/8/8/8/6n1/8/R3K2R b KQkq - 0 1",
            "g3h1",
            "r3k2r/8/8/8/8/8/8/R3K3 w Qkq - 0 2",
            id="captured rook",
        ),
        pytest.param(
            "r3k2r/6p1/8/8/3B4/8/8/R3K2R w KQkq - 0 1",
            "d4g7",
            "r3k3/8/8/8/8/8/8/R3K2R b KQq - 0 1",
            id="rook beside the capture",
        ),
    ],
)
def test_atomic_rights_of_an_exploded_rook_are_lost(fen: str, move: str, after: str) -> None:
    position = Position("atomic", fen)
    position.play(move)
    assert position.fen() == after


def test_atomic_pawns_survive_unless_captured() -> None:
    position = Position("atomic", "4k3/8/2ppp3/2pnp3/2PPP3/8/8/3RK3 w - - 0 1")
    position.play("c4d5")
    assert position.board_fen() == "4k3/8/2ppp3/2p1p3/3PP3/8/8/3RK3"


# -- atomic: kings ----------------------------------------------------------------------------------------------------


def test_atomic_setup_in_which_the_mover_could_take_the_king_is_refused_unless_lenient() -> None:
    fen = "4k3/8/8/8/8/8/4R3/4K3 w - - 0 1"
    with pytest.raises(OppositeCheck):
        Position("atomic", fen)
    assert Position("atomic", fen, lenient=True).fen() == fen


def test_atomic_position_whose_king_is_gone_is_over() -> None:
    position = Position("atomic", "8/8/8/8/8/8/8/4K2R b - - 0 1")
    outcome = position.outcome()
    assert outcome is not None
    assert (outcome.termination, outcome.winner, outcome.result()) == (Termination.KING_EXPLODED, WHITE, "1-0")
    assert position.legal_moves == []


def test_atomic_kings_never_capture() -> None:
    position = Position("atomic", "4k3/8/8/8/8/8/4p3/4K3 w - - 0 1")
    assert "e1e2" not in ucis(position)


def test_atomic_own_king_never_explodes() -> None:
    position = Position("atomic", "4k3/8/8/8/8/8/3qR3/4K3 w - - 0 1", lenient=True)
    assert "e2d2" not in ucis(position)


def test_atomic_touching_kings_give_and_take_no_check() -> None:
    position = Position("atomic", "8/8/8/8/8/4r3/4k3/4K3 w - - 0 1")
    assert not position.is_check()
    assert position.checkers() == []


def test_atomic_no_legal_move_while_kings_touch_is_stalemate() -> None:
    position = Position("atomic", "8/8/8/8/8/p1p5/PkP5/KB6 w - - 0 1")
    assert position.legal_moves == []
    assert not position.is_check()
    outcome = position.outcome()
    assert outcome is not None
    assert (outcome.termination, outcome.winner) == (Termination.STALEMATE, None)


def test_atomic_capture_that_explodes_the_enemy_king_is_legal_in_check() -> None:
    position = Position("atomic", "4k3/3p4/8/8/8/8/3R4/r3K3 w - - 0 1")
    assert position.is_check()
    assert "d2d7" in ucis(position)
    position.play("d2d7")
    outcome = position.outcome()
    assert outcome is not None
    assert (outcome.reason, outcome.winner) == ("king exploded", WHITE)


def test_atomic_capture_underpromotion_that_explodes_the_king_while_in_check_has_all_four() -> None:
    position = Position("atomic", "n1n5/PPPk4/8/8/8/8/3Nb2p/3K2qN w - - 2 4")
    assert {"b7c8q", "b7c8r", "b7c8b", "b7c8n"} <= ucis(position)


# -- atomic: draws ----------------------------------------------------------------------------------------------------


def test_mate_on_the_hundredth_half_move_goes_before_the_fifty_move_rule() -> None:
    position = Position("atomic", "1k6/8/8/8/8/8/PP6/K6r w - - 100 80")
    for claim in (False, True):
        outcome = position.outcome(claim_draw=claim)
        assert outcome is not None
        assert (outcome.termination, outcome.winner) == (Termination.CHECKMATE, BLACK)


class Material(NamedTuple):
    """Who can still win with these pieces."""

    fen: str
    white_can_win: bool
    black_can_win: bool


@pytest.mark.parametrize(
    "material",
    [
        pytest.param(Material("8/2k5/8/8/8/8/4K3/8 w - - 0 1", False, False), id="K v K: nobody"),
        pytest.param(Material("8/2k5/8/8/8/8/4K3/6N1 w - - 0 1", False, False), id="KN v K: nobody"),
        pytest.param(Material("8/2k5/8/8/8/8/4K3/6B1 w - - 0 1", False, False), id="KB v K: nobody"),
        pytest.param(Material("8/2k5/8/8/8/8/4K3/6R1 w - - 0 1", False, False), id="KR v K: nobody"),
        pytest.param(Material("8/2k5/8/8/8/8/4K3/5NN1 w - - 0 1", False, False), id="KNN v K: nobody"),
        pytest.param(Material("8/2k5/8/8/8/8/4K3/4NNN1 w - - 0 1", True, False), id="KNNN v K: White"),
        pytest.param(Material("8/2k5/8/8/8/8/4K3/5BN1 w - - 0 1", True, False), id="KBN v K: White"),
        pytest.param(Material("8/2k5/8/8/8/8/4K3/5BB1 w - - 0 1", True, False), id="KBB v K: White"),
        pytest.param(Material("8/2k5/8/8/8/8/4K3/6Q1 w - - 0 1", True, False), id="KQ v K: White"),
        pytest.param(Material("8/2k5/8/8/8/6P1/4K3/8 w - - 0 1", True, False), id="KP v K: White"),
        pytest.param(Material("8/2k2b2/8/8/8/8/4K3/6B1 w - - 0 1", False, False), id="KB v KB, opposite: nobody"),
        pytest.param(Material("8/2k3b1/8/8/8/8/4K3/6B1 w - - 0 1", True, True), id="KB v KB, same: both"),
        pytest.param(Material("8/2k2b2/8/8/8/8/4K3/4B1B1 w - - 0 1", False, True), id="KBB v KB, opposite: Black"),
        pytest.param(Material("8/2k2b1b/8/8/8/8/4K3/4B1B1 w - - 0 1", True, True), id="KBB v KBB, opposite: both"),
        pytest.param(Material("8/2k3n1/8/8/8/8/4K3/6N1 w - - 0 1", True, True), id="KN v KN: both"),
        pytest.param(Material("8/2k3b1/8/8/8/8/4K3/6N1 w - - 0 1", True, True), id="KN v KB: both"),
    ],
)
def test_atomic_insufficient_material_as_lichess(material: Material) -> None:
    position = Position("atomic", material.fen)
    assert position.has_insufficient_material(WHITE) is not material.white_can_win
    assert position.has_insufficient_material(BLACK) is not material.black_can_win
    outcome = position.outcome()
    if material.white_can_win or material.black_can_win:
        assert outcome is None
    else:
        assert outcome is not None
        assert (outcome.termination, outcome.winner) == (Termination.INSUFFICIENT_MATERIAL, None)


def test_atomic_bishops_that_never_meet_mate_a_king_shut_in_by_its_own() -> None:
    """python-chess, shakmaty and chessops call this a draw; Lichess does not, and there is a mate in one."""
    position = Position("atomic", "8/6k1/8/8/8/8/B2b4/KB6 b - - 0 1")
    assert position.outcome() is None
    position.play("d2c3")
    outcome = position.outcome()
    assert outcome is not None
    assert (outcome.termination, outcome.winner) == (Termination.CHECKMATE, BLACK)


@pytest.mark.parametrize(
    "fen",
    [
        pytest.param("8/8/6p1/3K2P1/8/2k5/8/8 b - - 0 1", id="two pawns"),
        pytest.param("8/8/2k1p3/4Pp2/5P2/1b6/4K3/8 b - - 0 1", id="a shut-in bishop"),
    ],
)
def test_atomic_blocked_pawns_are_no_draw_by_themselves_but_repetition_and_fifty_moves_are(fen: str) -> None:
    """Lichess ends such a game at once; here, as in python-chess and Fairy-Stockfish, the claimable draws end it."""
    position = Position("atomic", fen)
    assert position.outcome() is None
    assert position.outcome(claim_draw=True) is None
    clock = fen.replace(" 0 1", " 100 60")
    outcome = Position("atomic", clock).outcome(claim_draw=True)
    assert outcome is not None
    assert outcome.termination == Termination.FIFTY_MOVES


@pytest.mark.parametrize("variant", ["chess", "atomic"])
def test_clock_fifty_moves_are_claimed_and_seventy_five_end_the_game(variant: str) -> None:
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - {} 100"

    def reason(clock: int, claim: bool) -> str | None:
        outcome = Position(variant, fen.format(clock)).outcome(claim_draw=claim)
        return outcome.reason if outcome else None

    assert reason(99, claim=True) is None
    assert reason(100, claim=False) is None
    assert reason(100, claim=True) == "fifty-move rule"
    assert reason(149, claim=False) is None
    assert reason(150, claim=False) == "seventy-five-move rule"


# -- set-ups ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "fen", "rights"),
    [
        ("chess", "7r/4k3/8/8/8/8/8/4K3 b kq - 0 1", "-"),
        ("chess", "r6r/4k3/8/8/8/8/8/R3K2R w KQkq - 0 1", "KQ"),
        ("chess", "4k3/8/8/8/8/8/8/R3K2R w KKQ - 0 1", "KQ"),
        ("chess", "4k3/8/8/8/8/8/8/R3K2R w KH - 0 1", "K"),
        ("chess960", "4k3/8/8/8/8/8/8/1K4RR w GH - 0 1", "-"),
        ("atomic", "8/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "KQ"),
    ],
)
def test_lenient_setup_drops_castling_rights_that_cannot_be(variant: str, fen: str, rights: str) -> None:
    with pytest.raises((BadCastling, FenError)):
        Position(variant, fen)
    assert Position(variant, fen, lenient=True).fen().split()[2] == rights


@pytest.mark.parametrize("lenient", [False, True])
def test_more_pieces_than_a_side_can_have_are_refused_also_when_lenient(lenient: bool) -> None:
    with pytest.raises(TooManyPieces, match="White has 17 pieces"):
        Position("chess", "4k3/8/8/8/8/Q7/PPPPPPPP/RNBQKBNR w KQ - 0 1", lenient=lenient)
    assert len(Position("horde").legal_moves) == 8


# -- check and null moves ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "fen", "move", "gives_check"),
    [
        ("3check", "8/8/1K2p3/3qP2k/8/8/8/8 b - - 2+1 3 57", "d5d8", True),
        ("3check", "8/8/1K2p3/3qP2k/8/8/8/8 b - - 2+1 3 57", "d5h1", False),
        ("kingofthehill", "3k4/8/8/8/8/3K4/8/3R4 w - - 0 1", "d3e4", True),
        ("kingofthehill", "3k4/8/8/8/8/3K4/8/3R4 w - - 0 1", "d3d4", False),
        ("chess", "7k/8/5K2/8/8/8/8/6Q1 w - - 0 1", "g1g7", True),
        ("atomic", "4k3/3p4/8/8/8/8/3R4/4K3 w - - 0 1", "d2d7", False),
        ("antichess", "4k3/8/8/8/8/8/8/4R3 w - - 0 1", "e1e8", False),
    ],
)
def test_a_move_that_ends_the_game_gives_check_too(variant: str, fen: str, move: str, gives_check: bool) -> None:
    assert Position(variant, fen).gives_check(Move.from_uci(move)) is gives_check


def test_null_moves_pass_but_are_never_legal() -> None:
    position = Position("chess", "4k3/8/8/8/3Pp3/8/8/R3K3 b Q d3 0 1")
    before = position.key
    null = position.play(Move.null())
    assert (null.uci(), bool(null), position.fen()) == ("0000", False, "4k3/8/8/8/3Pp3/8/8/R3K3 w Q - 1 2")
    assert position.key == Position("chess", position.fen()).key
    # A piece on a1 makes it neither castling nor a capture, and a1b1 is another move.
    assert (position.san(null), position.uci(null)) == ("--", "0000")
    assert not any(ask(null) for ask in (position.is_castling, position.is_capture, position.gives_check))
    assert not position.is_legal(null)
    assert null not in position.legal_moves
    assert position.undo() == null
    assert position.key == before
    for text in ("0000", "a1a1", "--"):
        with pytest.raises(InvalidMove):
            position.play(text)
    with pytest.raises(IllegalMove, match="pass"):
        Position("chess", "4k3/8/8/8/8/8/8/K3R3 b - - 0 1").play(null)


# -- fortresses -------------------------------------------------------------------------------------------------------


def test_horde_fortress_of_lichess_is_a_stalemate_a_move_later() -> None:
    """Lichess draws where White has no move and no move of Black's changes that; each of these moves ends the game."""
    position = Position("horde", "8/p7/pk6/P7/P7/8/8/8 b - - 0 1")
    assert position.outcome() is None
    assert position.legal_moves
    for move in position.legal_moves:
        position.play(move)
        outcome = position.outcome()
        assert outcome is not None
        assert (outcome.termination, outcome.winner) == (Termination.STALEMATE, None)
        position.undo()


def test_antichess_fortress_of_lichess_is_no_draw_by_itself() -> None:
    """Bishops of opposite square colours and blocked pawns: a draw on Lichess, here by repetition or fifty moves."""
    fen = "8/6p1/4B1P1/4p3/4P3/8/8/2b5 w - - 0 1"
    position = Position("antichess", fen)
    assert position.outcome() is None
    outcome = Position("antichess", fen.replace(" 0 1", " 100 60")).outcome(claim_draw=True)
    assert outcome is not None
    assert outcome.termination == Termination.FIFTY_MOVES
    # Lichess also draws the same pattern with a shut-in bishop, which is won: whatever Black plays, White has no move.
    position = Position("antichess", "2b5/8/8/8/8/1p6/1P6/B7 b - - 0 1")
    assert position.outcome() is None
    assert len(position.legal_moves) == 7
    for move in position.legal_moves:
        position.play(move)
        outcome = position.outcome()
        assert outcome is not None
        assert (outcome.termination, outcome.winner) == (Termination.NO_MOVES_LEFT, WHITE)
        position.undo()


# -- the others -------------------------------------------------------------------------------------------------------


def test_gardner_has_no_double_step_and_no_castling_and_promotes_on_the_fifth_rank() -> None:
    assert ucis(Position("gardner")) == {"a2a3", "b2b3", "c2c3", "d2d3", "e2e3", "b1a3", "b1c3"}
    position = Position("gardner", "4k/P4/5/5/K4 w - - 0 1")
    assert {uci for uci in ucis(position) if uci.startswith("a4")} == {"a4a5q", "a4a5r", "a4a5b", "a4a5n"}


def test_antichess_castling_field_is_dropped() -> None:
    position = Position("antichess", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    assert position.fen().split()[2] == "-"
    assert "e1g1" not in ucis(position)


def test_antichess_capture_is_compulsory_and_a_pawn_may_become_a_king() -> None:
    assert ucis(Position("antichess", "8/8/8/8/8/1p6/P7/7k w - - 0 1")) == {"a2b3"}
    assert "a7a8k" in ucis(Position("antichess", "8/P7/8/8/8/8/8/7k w - - 0 1"))


@pytest.mark.parametrize(
    ("fen", "termination"),
    [
        pytest.param("8/8/8/8/8/8/8/7k w - - 0 1", Termination.NO_PIECES_LEFT, id="no pieces"),
        pytest.param("8/8/8/8/8/p7/P7/8 w - - 0 1", Termination.NO_MOVES_LEFT, id="no moves"),
    ],
)
def test_antichess_whoever_cannot_move_has_won(fen: str, termination: Termination) -> None:
    outcome = Position("antichess", fen).outcome()
    assert outcome is not None
    assert (outcome.termination, outcome.winner) == (termination, WHITE)


def test_3check_fen_has_the_remaining_checks() -> None:
    assert Position("3check").fen().split()[4] == "3+3"
    position = Position("3check", "4k3/8/8/8/8/8/8/R3K3 w - - 1+3 0 1")
    position.play("a1a8")
    outcome = position.outcome()
    assert outcome is not None
    assert (outcome.termination, outcome.winner) == (Termination.THREE_CHECKS, WHITE)
    assert position.checks_left == (0, 3)


def test_3check_double_step_with_the_third_check_leaves_no_en_passant() -> None:
    position = Position("3check", "4k3/4p3/8/5P2/5K2/8/8/8 b - - 3+1 0 1")
    position.play("e7e5")
    assert position.fen() == "4k3/8/8/4pP2/5K2/8/8/8 w - - 3+0 0 2"


def test_racingkings_black_may_still_arrive_and_draw() -> None:
    position = Position("racingkings", "8/1k5K/8/8/8/8/8/8 w - - 0 1")
    position.play("h7h8")
    assert position.outcome() is None
    position.play("b7b8")
    outcome = position.outcome()
    assert outcome is not None
    assert (outcome.termination, outcome.winner) == (Termination.RACE_DRAWN, None)
    assert position.legal_moves == []


def test_racingkings_finished_game_has_no_moves() -> None:
    position = Position("racingkings", "8/7K/8/1k6/8/8/8/8 w - - 0 1")
    position.play("h7h8")
    outcome = position.outcome()
    assert outcome is not None
    assert (outcome.termination, outcome.winner) == (Termination.RACE_WON, WHITE)
    assert position.legal_moves == []


def test_racingkings_no_move_may_give_check() -> None:
    position = Position("racingkings", "8/8/8/8/8/8/k6K/6R1 w - - 0 1")
    assert not {"g1g2", "g1a1"} & ucis(position)


def test_kingofthehill_king_in_the_centre_has_won_and_there_are_no_moves() -> None:
    position = Position("kingofthehill", "4k3/8/8/8/8/4K3/8/8 w - - 0 1")
    position.play("e3e4")
    outcome = position.outcome()
    assert outcome is not None
    assert (outcome.termination, outcome.winner) == (Termination.KING_ON_HILL, WHITE)
    assert position.legal_moves == []


def test_horde_pawns_on_the_first_rank_may_step_twice_without_en_passant() -> None:
    position = Position("horde", "4k3/8/8/8/8/1p6/8/P7 w - - 0 1")
    position.play("a1a3")
    assert position.ep_square is None


def test_horde_is_destroyed() -> None:
    position = Position("horde", "4k3/8/8/8/8/8/1r6/P7 b - - 0 1", lenient=True)
    position.play("b2b1")
    position.play("a1a2")
    position.play("b1a1")
    position.play("a2a3")
    position.play("a1a3")
    outcome = position.outcome()
    assert outcome is not None
    assert (outcome.termination, outcome.winner) == (Termination.HORDE_DESTROYED, BLACK)
