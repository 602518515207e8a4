"""Every program of `examples/` runs, and prints what it promises."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from selfmate import Game, read_games

EXAMPLES = Path(__file__).parents[2] / "examples"
Example = Callable[..., str]


@pytest.fixture
def example(tmp_path: Path) -> Example:
    """Return a function that runs an example in an empty folder and returns what it prints."""

    def run(name: str, *arguments: str) -> str:
        command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
        answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    return run


def test_perft_divide(example: Example) -> None:
    lines = example("perft_divide", "atomic", "3").splitlines()
    assert lines[-1] == "8902 positions; the core counts 8902"
    assert len(lines) == 20 + 1
    assert sum(int(line.split()[1]) for line in lines[:-1]) == 8902


def test_random_game(example: Example) -> None:
    text = example("random_game", "racingkings", "7")
    game = Game.from_pgn(text)
    assert game.variant == "racingkings"
    assert game.result in ("1-0", "0-1", "1/2-1/2")
    assert example("random_game", "racingkings", "7") == text


def test_analyse_position(example: Example) -> None:
    mate_in_one = "7k/8/6K1/8/8/8/8/R7 w - - 0 1"
    lines = example("analyse_position", "heuristic-1", "chess", "200", mate_in_one).splitlines()
    assert lines[0].startswith(f"{mate_in_one}: win 100%")
    assert lines[1].split()[0] == "Ra8#"
    assert len(example("analyse_position").splitlines()) == 1 + 5


def test_a_match_and_its_ratings(example: Example, tmp_path: Path) -> None:
    said = example("match_to_pgn", "gardner-laptop", "random", "gardner", "match.pgn")
    found = re.fullmatch(r"gardner-laptop scored ([0-9.]+) of 6 against random; the games are in match.pgn\n", said)
    assert found
    assert float(found[1]) >= 5  # a trained net hardly loses against random moves
    games = list(read_games(tmp_path / "match.pgn"))
    assert [game.headers["White"] for game in games] == ["gardner-laptop", "random"] * 3
    rows = example("rate_pgn", "match.pgn").splitlines()
    assert example("rate_pgn").splitlines() == rows
    assert [row.split()[0] for row in rows] == ["gardner-laptop", "random"]


def test_train_and_play(example: Example) -> None:
    tiny = [
        "net.blocks=1", "net.channels=8", "selfplay.cycles=2", "selfplay.games=8", "selfplay.slots=8",
        "selfplay.visits=4", "selfplay.max_plies=30", "learner.batch=16", "gate.games=2", "gate.visits=2",
        "gate.final_games=2", "gate.final_visits=2", "progress.games=0",
    ]  # fmt: skip
    lines = example("train_and_play", "run", "60", *tiny).splitlines()
    assert "complete after cycle 2, 16 games" in lines
    assert re.fullmatch(r"\d+% of 20 games against the untrained net", lines[-1])


def test_every_example_is_tested() -> None:
    tested = Path(__file__).read_text(encoding="utf-8")
    others = {path.stem for path in EXAMPLES.glob("*.py") if f'example("{path.stem}"' not in tested}
    assert not {name for name in others if not _tested_elsewhere(name)}


def _tested_elsewhere(name: str) -> bool:
    tests = Path(__file__).parents[1].rglob("test_*.py")
    return any(name in path.read_text(encoding="utf-8") for path in tests if path != Path(__file__))
