"""The progress bar of `selfmate analyse`: below the lines of a terminal, and nowhere else."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from selfmate.app import marks
from selfmate.cli.main import main

GAME = '[White "Fool"]\n[Black "Scholar"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n'
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Stream(io.StringIO):
    """Keeps its output; a terminal or not."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return self._terminal


@pytest.fixture(autouse=True)
def _short_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "JUDGE_VISITS", 8)
    monkeypatch.setattr(marks, "CHECK_NODES", (1000, 2000))
    monkeypatch.setattr(marks, "SCREEN_NODES", 1000)


@pytest.fixture
def game(tmp_path: Path) -> Path:
    path = tmp_path / "game.pgn"
    path.write_text(GAME, encoding="ascii")
    return path


def analyse(monkeypatch: pytest.MonkeyPatch, *arguments: str, out: bool, err: bool, width: int = 80) -> tuple[str, str]:
    """Return standard output and standard error of the command; `out` and `err` say which of them is a terminal."""
    streams = Stream(terminal=out), Stream(terminal=err)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", streams[0])
        patch.setattr(sys, "stderr", streams[1])
        patch.setattr(sys, "argv", ["selfmate", "analyse", *arguments, "--net", "heuristic-1", "--visits", "200"])
        patch.setenv("TERM", "xterm")
        patch.setenv("COLUMNS", str(width))
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
    return streams[0].getvalue(), streams[1].getvalue()


def lines(text: str) -> list[str]:
    """Return the lines that were ever shown, without escape sequences."""
    return [line for line in re.split(r"[\r\n]+", ESCAPE.sub("", text)) if line.strip()]


def test_nothing_is_added_to_pipes(monkeypatch: pytest.MonkeyPatch, game: Path) -> None:
    out, err = analyse(monkeypatch, str(game), out=False, err=False)
    assert "1. f3" in out
    assert "\x1b" not in out
    assert "moves" not in out.replace("2 moves", "")
    assert err == ""


def test_the_bar_stands_below_the_lines_of_a_terminal(monkeypatch: pytest.MonkeyPatch, game: Path) -> None:
    out, err = analyse(monkeypatch, str(game), out=True, err=True)
    shown = lines(out)
    assert err == ""
    assert any(line.startswith("analyse") and "game 1: 4 of 4 moves" in line for line in shown)
    assert max(map(len, shown)) <= 80
    # The lines are whole, and the bar is gone at the end.
    plain, _ = analyse(monkeypatch, str(game), out=False, err=False)
    assert [line for line in shown if not line.startswith("analyse ")] == lines(plain)
    assert "\x1b[2K" in out.rpartition("of 4 moves")[2]


def test_the_bar_of_a_piped_output_is_on_standard_error(monkeypatch: pytest.MonkeyPatch, game: Path) -> None:
    out, err = analyse(monkeypatch, str(game), "--json", out=False, err=True, width=30)
    assert [json.loads(line)["ply"] for line in out.splitlines()] == [1, 2, 3, 4]
    assert "of 4" in err
    assert max(map(len, lines(err))) <= 30


def test_json_in_a_terminal_has_no_bar(monkeypatch: pytest.MonkeyPatch, game: Path) -> None:
    out, err = analyse(monkeypatch, str(game), "--json", out=True, err=True)
    assert [json.loads(line)["ply"] for line in out.splitlines()] == [1, 2, 3, 4]
    assert err == ""


def test_no_color_is_without_colours(monkeypatch: pytest.MonkeyPatch, game: Path) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out, _ = analyse(monkeypatch, str(game), out=True, err=True)
    assert "game 1" in out
    assert not re.search(r"\x1b\[[0-9;]*[34]\dm|\x1b\[[0-9;]*[34]8;", out)


def test_positions_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "two.epd"
    path.write_text("7k/8/5K2/8/8/8/8/6Q1 w - -\n7k/8/5K2/8/8/8/8/6R1 w - -\n", encoding="ascii")
    out, err = analyse(monkeypatch, str(path), out=False, err=True)
    assert out.count("to move") == 2
    assert "2 positions done" in err
