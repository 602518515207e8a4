"""Alpha-beta: minimax where nothing is pruned, forced wins in every variant, both colours, limits, bad arguments."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from selfmate import Position
from selfmate._core import QUEEN, Nnue, alpha_beta
from selfmate.board.epd import read_tactics
from selfmate.errors import SearchError
from selfmate.nn import shipped as nets
from selfmate.nn.nnue import find_nnue

WIN = 1_000_000
TACTICS = Path(__file__).parents[1] / "tactics"


def score(fen: str, depth: int = 5, variant: str = "chess") -> int:
    return alpha_beta(Position(variant, fen), depth=depth, nodes=1_000_000).score


@pytest.mark.parametrize("path", sorted(TACTICS.glob("*_mate[123].epd")), ids=lambda path: path.stem)
def test_forced_wins_are_found(path: Path) -> None:
    tactics = list(read_tactics(path, path.stem.partition("_")[0]))[:15]
    assert tactics
    for tactic in tactics:
        plies = 2 * tactic.mate_in - 1
        result = alpha_beta(tactic.position, depth=plies + 6, nodes=20_000_000)
        # Late moves are searched with less depth or left out, so a longer win may be found first, never a shorter one.
        assert WIN - plies - 4 <= result.score <= WIN - plies, tactic.position.fen()
        assert result.best in tactic.best_moves or result.score < WIN - plies, tactic.position.fen()


def minimax(position: Position, depth: int, net: Nnue, ply: int = 0) -> int:
    """Return the score by every move, then by every capture and promotion to a queen, without a bound of any kind."""
    if not position.legal_moves:
        outcome = position.outcome()
        lost = outcome is not None and outcome.winner is not None
        return ply - WIN if lost else 0
    level = max(0, ply - depth)
    quiesces = ply >= depth and not (position.is_check() and level < 2)  # a check is evaded in the first two plies
    best = net.evaluate(position) if quiesces else -2 * WIN
    for move in position.legal_moves:
        if not quiesces or position.is_capture(move) or move.promotion == QUEEN:
            position.play(move)
            best = max(best, -minimax(position, depth, net, ply + 1))
            position.undo()
    return best


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_exact_search_is_minimax(depth: int) -> None:
    net = find_nnue(nets.named("chess-gpu") or Path())
    assert net is not None
    draw = random.Random(depth)
    for _ in range((20, 10, 3)[depth - 1]):
        # All pawns stay on the board: without them the score of a lead is smaller.
        position = Position("chess", "4k3/1p3r1p/2n3p1/8/8/2N3P1/1P3R1P/4K3 w - - 0 1")
        for _ in range(draw.randrange(1, 5)):
            position.play(draw.choice(list(position.legal_moves)))
        wanted = minimax(position, depth, net)
        found = alpha_beta(position, depth, 10**9, net, exact=True)
        assert found.score == wanted, position.fen()
        assert found.scores[-1] == found.score
        assert len(found.scores) == found.depth == depth


def test_a_hanging_piece_and_its_side() -> None:
    white_wins_a_queen = "rnb1kbnr/pppp1ppp/8/4p1q1/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 0 3"
    result = alpha_beta(Position("chess", white_wins_a_queen), depth=5, nodes=1_000_000)
    assert result.best.uci() == "f3g5"
    assert result.score > 700
    assert score(white_wins_a_queen.replace(" w ", " b ")) > -100  # the queen moves away
    # The same with colours exchanged
    mirrored = "rnbqkb1r/pppp1ppp/5n2/4p3/4P1Q1/8/PPPP1PPP/RNB1KBNR b KQkq - 0 3"
    assert score(mirrored, 2) == score(white_wins_a_queen, 2)
    assert score(mirrored) == pytest.approx(result.score, abs=50)  # which of two equal moves is late differs


def test_exchanges_after_the_last_ply() -> None:
    # Black saves the knight on h5. Then two rooks win the other one against one rook, but not against two.
    assert score("3r2k1/5ppp/3n4/7n/6P1/8/3R1P1P/3R2K1 b - - 0 1", 1) < -50
    assert score("3r2k1/3r1ppp/3n4/7n/6P1/8/3R1P1P/3R2K1 b - - 0 1", 1) > 400
    assert score("3r2k1/5ppp/3n4/7n/6P1/8/5P1P/3R2K1 b - - 0 1", 1) > 400


def test_a_lead_that_cannot_mate_is_small() -> None:
    assert score("8/8/3k4/8/8/3K4/3P4/8 w - - 0 1", 3) > 90
    assert 0 <= score("8/8/3k1p2/8/3N4/3K4/8/8 w - - 0 1", 3) < 60
    assert score("8/8/4k3/8/3R4/3K4/8/8 w - - 0 1", 3) > 400
    assert score("8/8/3k1p2/8/3N4/3K4/8/8 w - - 0 1", 3, "atomic") > 100  # a win by explosion needs little


def test_stalemate_and_repetition_are_draws() -> None:
    assert score("k7/2K5/8/8/8/8/8/1Q6 w - - 0 1", 3) == WIN - 1  # Qb6 would be stalemate
    # White is a rook and a pawn down with mate to come, but has a perpetual check (Qe8+ Kh7 Qh5+ Kg8 Qe8+).
    perpetual = "6k1/6p1/8/7Q/8/7P/1r3pPK/5r2 w - - 0 1"
    assert score(perpetual, 7) >= 0
    assert score(perpetual.replace("7Q", "7B"), 7) < -500


def test_the_result_depends_on_the_arguments_alone() -> None:
    position = Position("chess", "r1bqkb1r/pp1n1ppp/2p1pn2/3p4/2PP4/2N1PN2/PP3PPP/R1BQKB1R w KQkq - 0 6")
    results = [alpha_beta(position, depth=6, nodes=10_000_000) for _ in range(2)]
    assert len({(each.score, each.best, each.nodes) for each in results}) == 1
    assert results[0].depth == 6
    # Moves back and forth before it change nothing.
    for move in ("a1b1", "a8b8", "b1a1", "b8a8"):
        position.play(move)
    again = Position("chess", position.fen())
    assert alpha_beta(position, depth=5, nodes=10**7).score == alpha_beta(again, depth=5, nodes=10**7).score


def test_limits() -> None:
    position = Position("chess")
    few = alpha_beta(position, depth=64, nodes=5_000)
    assert few.nodes <= 5_001
    assert 2 <= few.depth < 10
    one = alpha_beta(position, depth=64, nodes=0)  # the first ply is always searched
    assert one.depth == 1
    assert position.is_legal(one.best)
    for depth in (0, -1, 65):
        with pytest.raises(ValueError, match="depth"):
            alpha_beta(position, depth=depth, nodes=10)
    with pytest.raises(TypeError):
        alpha_beta(position, depth=3, nodes=-1)
    with pytest.raises(SearchError, match="the game is over"):
        alpha_beta(Position("chess", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"), depth=3, nodes=10)
