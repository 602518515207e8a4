"""Every value survives pickling, also to another process."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from selfmate import (
    QUEEN,
    Evaluation,
    Game,
    GameRecord,
    Limit,
    Move,
    Outcome,
    Player,
    Position,
    PositionEvaluation,
    SearchConfig,
    SelfPlayConfig,
    Setup,
    Termination,
    _core,
    evaluate,
    parse_epd,
    play_config,
)
from selfmate.search.limit import Clock

PROTOCOLS = pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])


def again(value: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


VALUES: list[object] = [
    Move.from_uci("e2e4"),
    Move(52, 60, QUEEN),
    Move(0, 0),
    Outcome(Termination.CHECKMATE, True),
    Outcome(Termination.RACE_WON, False),
    Outcome(Termination.STALEMATE),
    Termination.KING_EXPLODED,
    Limit(visits=3, seconds=0.5, clock=Clock(10, 0.1)),
    SearchConfig(),
    SearchConfig(cpuct=2.2, gumbel=True, considered=8, lcb=True, draw_score=-0.1),
    play_config(noise=True),
    SelfPlayConfig(visits=64, temperature=0.3),
    parse_epd("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - bm e4;", "chess"),
    Player("heuristic-1").search(Position("atomic"), Limit(visits=30)),
    evaluate("heuristic-1", [Position("gardner")])[0],
    PositionEvaluation(priors={Move(1, 2): 1.0}, wdl=(1.0, 0.0, 0.0), plies=3.5),
]


@PROTOCOLS
@pytest.mark.parametrize("number", range(len(VALUES)))
def test_value(number: int, protocol: int) -> None:
    value = VALUES[number]
    assert again(value, protocol) == value
    assert again(value, protocol) is not value or isinstance(value, Termination)
    assert copy.deepcopy(value) == value
    assert repr(again(value, protocol)) == repr(value)


@PROTOCOLS
def test_position_with_history(protocol: int) -> None:
    position = Position.chess960_start(77, "atomic")
    for move in ["g1f3", "g8f6", "f3g1", "f6g8"] if position.is_legal(Move.from_uci("g1f3")) else []:
        position.play(move)
    chess = Position("chess")
    for uci in ["g1f3", "g8f6", "f3g1", "f6g8"] * 2:
        chess.play(uci)
    for each in (position, chess, Position("3check", "4k3/8/8/8/8/8/8/4K2R w K - 2+1 3 30")):
        found = again(each, protocol)
        assert found == each
        assert type(found) is Position
        assert (found.move_stack, found.key) == (each.move_stack, each.key)
        assert found.repetitions() == each.repetitions()
        assert found.fen(shredder=True) == each.fen(shredder=True)
    assert again(chess).repetitions() == 3
    assert again(chess).outcome(claim_draw=True) == chess.outcome(claim_draw=True) is not None


@PROTOCOLS
def test_setup(protocol: int) -> None:
    setup = Setup("3check")
    setup.set_piece(4, "K")
    setup.set_piece(9, "p")
    setup.turn, setup.castling, setup.ep_square = False, 1 << 40, 20
    setup.halfmove_clock, setup.fullmove_number, setup.checks_left = 7, 12, (1, 2)
    found = again(setup, protocol)
    for name in [
        "variant",
        "chess960",
        "turn",
        "castling",
        "ep_square",
        "halfmove_clock",
        "fullmove_number",
        "checks_left",
    ]:
        assert getattr(found, name) == getattr(setup, name)
    assert [found.piece_at(square) for square in range(64)] == [setup.piece_at(square) for square in range(64)]
    shuffled = Setup("chess960")
    assert again(shuffled, protocol).chess960


def test_game_records_keep_their_scores(games: list[GameRecord]) -> None:
    for game in games:
        found = again(game)
        assert found.to_bytes() == game.to_bytes()
        assert found.scores == game.scores
        assert (found.moves, found.outcome, found.reason) == (game.moves, game.outcome, game.reason)
    assert any(game.scores for game in games)


def test_games_and_arrays() -> None:
    game = Game.from_pgn('[White "A"]\n\n1. e4 (1. d4 d5) e5 {hi} 2. Nf3 $1 *')
    assert again(game).pgn() == game.pgn()
    assert again(game) == game
    node = game.variations[1].variations[0]
    assert (again(node).san(), again(node).root().pgn()) == ("d5", game.pgn())
    found = again(Evaluation(np.ones((1, 2), np.float32), np.ones((1, 3), np.float32)))
    assert found.priors.tolist() == [[1, 1]]
    seat = again(_core.Seat(visits=9, evaluator=3, search=SearchConfig(cpuct=2)))
    assert (seat.visits, seat.evaluator, seat.search, seat.is_external) == (9, 3, SearchConfig(cpuct=2), False)
    assert again(_core.Seat.external()).is_external
    rules = again(_core.ScoreRules(resign=(600, 2, 0)))
    assert rules.end([30, -610, 25, -700], white_moved=False, number=2) == ("1-0", "Black resigns by score")
    assert again(_core.encoding("gardner")).policy_size == 1225


def test_a_long_game_is_not_too_deep() -> None:
    game = Game.from_pgn(" ".join(["1. Nf3 Nf6 2. Ng1 Ng8"] * 500) + " *")
    assert again(game).pgn() == game.pgn()


def test_damaged_states_are_refused() -> None:
    for kind, state in (
        (SearchConfig, {"cpuct": float("nan")}),
        (SearchConfig, {"nothing": 1}),
        (SelfPlayConfig, {}),
        (GameRecord, (b"rubbish", [])),
        (Setup, ("chess", [(99, "K")], True, 0, None, (0, 1), (0, 0))),
        (Setup, ("go", [], True, 0, None, (0, 1), (0, 0))),
    ):
        with pytest.raises((ValueError, TypeError, IndexError)):
            kind.__new__(kind).__setstate__(state)  # type: ignore[attr-defined]


def test_config_repr_names_what_is_not_a_default() -> None:
    assert repr(SearchConfig()) == "SearchConfig()"
    assert repr(SearchConfig(cpuct=1.25)) == "SearchConfig()"
    assert repr(SearchConfig(fpu_reduction=0.5, lcb=True)) == "SearchConfig(fpu_reduction=0.5, lcb=True)"
    assert repr(SelfPlayConfig(visits=8)) == "SelfPlayConfig(visits=8)"
    changed = SearchConfig(lcb=True).replace(cpuct=3)
    assert changed == SearchConfig(lcb=True, cpuct=3) != SearchConfig(cpuct=3)
    assert len({changed, SearchConfig(lcb=True, cpuct=3)}) == 1
    with pytest.raises(ValueError, match="cpuct: expected a number"):
        changed.replace(cpuct=float("nan"))
    with pytest.raises(TypeError, match="no field 'speed'"):
        changed.replace(speed=1)  # type: ignore[call-arg]


PROGRAM = """
import multiprocessing

from selfmate import Limit, Player, Position
from selfmate.search.config import play_config


def search(position, limit, config):
    return Player("heuristic-1").search(position, limit, config=config)


if __name__ == "__main__":
    positions, position = [], Position("chess")
    for uci in ["g1f3", "a7a6", "f3e5"]:
        position.push(uci)
        positions.append(position.copy())
    config = play_config().replace(cpuct=2)
    arguments = [(each, Limit(visits=100), config) for each in positions]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.starmap(search, arguments)
    for result, given in zip(found, arguments, strict=True):
        expected = search(*given)
        assert (result.best, result.visits, result.moves) == (expected.best, 100, expected.moves)
    print(len(found), "searches are equal")
"""


def test_searches_in_other_processes(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3 searches are equal\n", "")
