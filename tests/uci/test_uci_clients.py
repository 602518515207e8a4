"""The programs that people use: python-chess's client, lichess-bot, and the steps of fastchess's --compliance."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess
import chess.engine
import chess.variant
import pytest
import typer
import yaml

from selfmate import VARIANTS
from selfmate.cli.main import app
from selfmate.uci.options import OPTIONS
from uci_process import Uci, infos

COMMAND = [sys.executable, "-m", "selfmate", "uci"]
FOLDER = Path(__file__).parents[2] / "docs" / "lichess-bot"
CONFIGS = sorted(path.name for path in FOLDER.glob("*.yml"))


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


LICHESS_VARIANTS = {
    "standard",
    "chess960",
    "atomic",
    "antichess",
    "kingOfTheHill",
    "threeCheck",
    "racingKings",
    "horde",
}
"""Those that Selfmate plays too, as lichess-bot names them."""


def read_config(name: str) -> dict[str, Any]:
    """Return a configuration by the name of its file."""
    config: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    return config


def test_the_configurations_play_every_variant_of_lichess() -> None:
    assert CONFIGS == ["all-variants.yml", "atomic.yml", "chess.yml"]
    assert set(read_config("all-variants.yml")["challenge"]["variants"]) == LICHESS_VARIANTS
    for name in LICHESS_VARIANTS - {"standard", "chess960"}:
        assert chess.variant.find_variant(name).uci_variant in VARIANTS


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_names_the_engine_and_its_options(name: str) -> None:
    config = read_config(name)
    assert (config["engine"]["name"], config["engine"]["protocol"]) == ("selfmate-uci", "uci")
    assert "engine_options" not in config["engine"]  # selfmate-uci takes no arguments
    assert set(config["challenge"]["variants"]) <= LICHESS_VARIANTS | {"fromPosition"}
    options = config["engine"]["uci_options"]
    assert options["StrictWeights"] is True
    for option, value in options.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        OPTIONS[option.lower()].parse(text)  # raises where it cannot be


def test_the_configurations_differ_in_their_variants_alone() -> None:
    first, *others = [read_config(name) for name in CONFIGS]
    for config in (first, *others):
        del config["challenge"]["variants"]
    assert all(config == first for config in others)


def test_the_commands_of_the_page_exist() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\.venv/bin/selfmate (.*)$", page, re.MULTILINE)
    assert len(commands) >= 3
    known = typer.main.get_command(app)
    assert isinstance(known, typer.core.TyperGroup)
    for command in commands:
        name, *words = command.split()
        options = {each for parameter in known.commands[name].params for each in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options, command
    for config in re.findall(r"\]\((\S+\.yml)\)", page):
        assert config in CONFIGS
    mentioned = set(re.findall(r"`(StrictWeights|WeightsFile|Threads|Hash|Move Overhead|Contempt)`", page))
    assert len(mentioned) == 6


def test_lichess_bot_does_not_start_with_a_wrong_net() -> None:
    """Its check of the configuration: start, set the options, ping."""
    options = read_config("chess.yml")["engine"]["uci_options"]
    engine = chess.engine.SimpleEngine.popen_uci(COMMAND, timeout=60.0, stderr=subprocess.DEVNULL)
    engine.configure(options | {"WeightsFile": "/no/such/net"})
    with pytest.raises(chess.engine.EngineTerminatedError):
        engine.ping()
    assert engine.returncode.result(60) == 2
    engine.close()


@pytest.mark.parametrize(
    ("config", "variant"), [("atomic.yml", "atomic"), ("chess.yml", "chess"), ("all-variants.yml", "3check")]
)
def test_lichess_bot_plays_a_game(config: str, variant: str) -> None:
    """What lib/engine_wrapper.py does: start in a new process group, set options, play with clocks and pondering."""
    options = read_config(config)["engine"]["uci_options"]
    code = "import sys; sys.argv = ['selfmate-uci']; from selfmate.__main__ import uci; uci()"
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
