"""The programs that people use: python-chess's client, lichess-bot, and the steps of fastchess's --compliance."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.engine
import chess.variant
import pytest

from selfmate import VARIANTS
from selfmate.uci.options import OPTIONS
from uci_process import Uci, infos

COMMAND = [sys.executable, "-m", "selfmate", "uci"]
CONFIGS = sorted((Path(__file__).parents[2] / "docs" / "lichess-bot").glob("*.yml"))


@pytest.fixture(scope="module")
def client() -> Iterator[chess.engine.SimpleEngine]:
    """Start the engine under python-chess."""
    with chess.engine.SimpleEngine.popen_uci(COMMAND, timeout=60) as engine:
        yield engine


# -- python-chess -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant != "gardner"])
def test_python_chess_plays_and_analyses_every_variant(client: chess.engine.SimpleEngine, variant: str) -> None:
    board = chess.variant.find_variant(variant)()
    game = object()
    for _ in range(6):
        if board.is_game_over():
            break
        played = client.play(board, chess.engine.Limit(nodes=300), game=game, info=chess.engine.INFO_ALL)
        assert played.move is not None
        assert played.move in board.legal_moves
        assert {"depth", "nodes", "score", "pv", "nps", "hashfull"} <= set(played.info)
        board.push(played.move)
    if not board.is_game_over():
        lines = client.analyse(board, chess.engine.Limit(nodes=500), multipv=3, game=game)
        for line in lines:
            walk = board.copy()
            for move in line["pv"]:
                assert move in walk.legal_moves
                walk.push(move)


def test_python_chess_plays_chess960(client: chess.engine.SimpleEngine) -> None:
    board = chess.Board.from_chess960_pos(123)
    for _ in range(8):
        played = client.play(board, chess.engine.Limit(nodes=200))
        assert played.move is not None
        assert played.move in board.legal_moves
        board.push(played.move)


def test_python_chess_reads_wdl_and_mate(client: chess.engine.SimpleEngine) -> None:
    client.configure({"UCI_ShowWDL": True})
    line = client.analyse(chess.Board(), chess.engine.Limit(nodes=500))
    wdl = line["wdl"].white()
    assert wdl.wins + wdl.draws + wdl.losses == 1000
    client.configure({"UCI_ShowWDL": False})
    mate = chess.Board("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1")
    assert client.analyse(mate, chess.engine.Limit(nodes=500))["score"] == chess.engine.PovScore(
        chess.engine.Mate(1), chess.WHITE
    )


def test_python_chess_stops_an_analysis(client: chess.engine.SimpleEngine) -> None:
    with client.analysis(chess.Board()) as analysis:
        for line in analysis:
            if "pv" in line:
                break
        analysis.stop()
        best = analysis.wait().move
        assert best is not None
        assert best in chess.Board().legal_moves


# -- lichess-bot ------------------------------------------------------------------------------------------------------


def uci_options(config: Path) -> dict[str, str]:
    """The block `uci_options` of a configuration."""
    text = config.read_text(encoding="utf-8")
    found = re.search(r"^  uci_options:.*\n((?:    .*\n)+)", text, re.MULTILINE)
    assert found
    pairs = [line.split("#")[0].strip().partition(": ") for line in found[1].splitlines()]
    return {name: value.strip().strip('"') for name, _, value in pairs if name}


def test_there_are_configurations_for_atomic_and_chess() -> None:
    assert {config.name for config in CONFIGS} >= {"atomic.yml", "chess.yml"}


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_a_configuration_names_the_engine_and_its_options(config: Path) -> None:
    text = config.read_text(encoding="utf-8")
    assert re.search(r'^  name: "selfmate-uci"', text, re.MULTILINE)
    assert re.search(r'^  protocol: "uci"', text, re.MULTILINE)
    assert re.search(r"^token:", text, re.MULTILINE)
    for name, value in uci_options(config).items():
        OPTIONS[name.lower()].parse(value)  # raises where it cannot be


@pytest.mark.parametrize(("config", "variant"), [("atomic.yml", "atomic"), ("chess.yml", "chess")])
def test_lichess_bot_plays_a_game(config: str, variant: str) -> None:
    """What lib/engine_wrapper.py does: start in a new process group, set options, play with clocks and pondering."""
    options = uci_options(next(each for each in CONFIGS if each.name == config))
    code = "import sys; sys.argv = ['selfmate-uci']; from selfmate.uci.server import main; main()"
    engine = chess.engine.SimpleEngine.popen_uci(
        [sys.executable, "-c", code], timeout=60.0, debug=False, setpgrp=True, stderr=None
    )
    dice = random.Random(3)
    with engine:
        # Options that python-chess manages itself are left to it.
        managed = {name for name in options if chess.engine.Option(name, "", None, None, None, None).is_managed()}
        engine.configure({name: value for name, value in options.items() if name not in managed})
        assert engine.id["name"].startswith("Selfmate")
        board = chess.variant.find_variant(variant)()
        clocks = {chess.WHITE: 10.0, chess.BLACK: 10.0}
        for number in range(8):
            if board.is_game_over():
                break
            # The first move has a time of its own, and no pondering after it.
            limit = chess.engine.Limit(time=0.3, clock_id="first move")
            if number:
                limit = chess.engine.Limit(
                    white_clock=clocks[chess.WHITE],
                    black_clock=clocks[chess.BLACK],
                    white_inc=0.1,
                    black_inc=0.1,
                    clock_id="real time",
                )
            played = engine.play(
                board, limit, info=chess.engine.INFO_ALL, ponder=number > 0, draw_offered=False, root_moves=None
            )
            assert played.move is not None
            assert played.move in board.legal_moves
            assert "score" in played.info
            assert not played.resigned
            board.push(played.move)
            clocks[board.turn] -= 0.5
            if board.is_game_over():
                break
            # The other side plays what was expected, or something else.
            reply = played.ponder if played.ponder and number % 2 else dice.choice(list(board.legal_moves))
            assert reply in board.legal_moves
            board.push(reply)
        engine.ping()
        engine.send_game_result(board)
        engine.ping()
        engine.quit()


# -- fastchess --compliance -------------------------------------------------------------------------------------------

BLACK_TO_MOVE = "position fen rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
NOT_A_POSITION = "position fen 3r2k1/p5n1/1cq1p2p/2p3p1/2P1P1n1/1P1P2pP/PN1Q2K1/5R2 w - - 0 27"

STEPS = [
    ("start", "uci"),
    ("is ready", "isready"),
    ("id name", "id name"),
    ("id author", "id author"),
    ("new game", "ucinewgame"),
    ("start position", "position startpos"),
    ("is ready after startpos", "isready"),
    ("a FEN (with a letter that is no piece)", NOT_A_POSITION),
    ("is ready after the FEN", "isready"),
    ("go wtime 100", "go wtime 100"),
    ("bestmove", "bestmove"),
    ("an info line", "info"),
    ("its numbers are whole", "numbers"),
    ("it has a score", "score"),
    ("black to move", BLACK_TO_MOVE),
    ("go btime 100", "go btime 100"),
    ("bestmove", "bestmove"),
    ("an info line", "info"),
    ("its numbers are whole", "numbers"),
    ("it has a score", "score"),
    ("go with increments", "go wtime 100 winc 100 btime 100 binc 100"),
    ("bestmove", "bestmove"),
    ("an info line", "info"),
    ("its numbers are whole", "numbers"),
    ("it has a score", "score"),
    ("go with increments, black first", "go btime 100 binc 100 wtime 100 winc 100"),
    ("bestmove", "bestmove"),
    ("an info line", "info"),
    ("its numbers are whole", "numbers"),
    ("it has a score", "score"),
    ("it has a score, again", "score"),
    ("new game", "ucinewgame"),
    ("start position", "position startpos"),
    ("go", "go wtime 100 btime 100"),
    ("a bestmove with a move", "move"),
    ("its numbers are whole", "numbers"),
    ("a position with moves", "position startpos moves e2e4 e7e5"),
    ("go", "go wtime 100 btime 100"),
    ("a bestmove with a move", "move"),
    ("its numbers are whole", "numbers"),
]


def test_the_forty_steps_of_compliance() -> None:
    assert len(STEPS) == 40
    with Uci() as engine:
        lines: list[str] = []
        last = ""
        for number, (name, step) in enumerate(STEPS, 1):
            where = f"step {number}: {name}"
            if step == "uci":
                lines = engine.ask("uci", until="uciok")
                hello = lines
            elif step == "isready":
                assert engine.ask("isready", until="readyok")[-1] == "readyok", where
            elif step in ("id name", "id author"):
                assert any(re.fullmatch(rf"{step} \S.*", line) for line in hello), where
            elif step in ("bestmove", "move"):
                lines = engine.until("bestmove")
                assert re.fullmatch(r"bestmove [a-h][1-8][a-h][1-8][qrbn]?( ponder \S+)?", lines[-1]), where
                last = infos(lines)[-1] if infos(lines) else ""
            elif step == "info":
                assert last, where
            elif step == "numbers":
                words = last.split()
                for name in ("time", "nps", "score"):
                    assert "." not in words[words.index(name) + 1], where
                    assert words[words.index(name) + 1], where
            elif step == "score":
                assert "score" in last.split(), where
            else:
                engine.send(step)
