"""The arena: matches with paired openings, their report, PGN and JSON, and Ctrl-C in the midst of one."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from selfmate import read_games
from selfmate.arena import (
    ArenaReport,
    arena_games,
    play_arena,
    show,
    write_pgn,
)
from selfmate.cli import main
from selfmate.evaluator import Answer, Evaluator, Leaves
from selfmate.openings import balanced_openings
from selfmate.player import Player, PlayerError
from selfmate.stats import Match

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
THREE_CHECK_START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 3+3 0 1"
OPENINGS = balanced_openings("gardner", 4, seed=3)


class Even(Evaluator):
    """A net that knows nothing."""

    name, net_id, variant = "even", "even", "gardner"

    def evaluate(self, leaves: Leaves) -> Answer:
        """Give every move the same chance and every game the same."""
        counts = np.maximum(leaves.counts[:, None], 1)
        priors = (np.arange(leaves.moves.shape[1]) < leaves.counts[:, None]) / counts
        return Answer(
            np.ascontiguousarray(priors, np.float32),
            np.full((leaves.size, 3), 1 / 3, np.float32),
            np.zeros(leaves.size, np.float32),
        )


def games_of(report: ArenaReport) -> list[tuple[str, ...]]:
    return [(record.start_fen, record.result, *(move.uci() for move in record.moves)) for record in report.records]


@pytest.fixture(scope="module")
def report() -> ArenaReport:
    return play_arena(Player("heuristic-1"), Player("random"), "gardner", OPENINGS, visits=(32, 32))


def test_every_opening_is_played_with_either_colour(report: ArenaReport) -> None:
    assert report.complete
    assert [record.start_fen for record in report.records] == [fen for fen in OPENINGS for _ in range(2)]
    assert [record.white_seat for record in report.records] == [0, 1] * len(OPENINGS)
    assert report.match.games == 8
    assert report.match.score > 0.8
    assert report.visits == (32, 0)
    assert sum(report.match.pairs) == report.match.score * 8


def test_a_match_is_the_same_again_and_from_the_other_side() -> None:
    def play(first: str, second: str, visits: tuple[int, int]) -> ArenaReport:
        return play_arena(Player(first), Player(second), "gardner", OPENINGS, visits=visits)

    once = play("heuristic-1", "uniform", (32, 16))
    assert games_of(once) == games_of(play("heuristic-1", "uniform", (32, 16)))
    other = play("uniform", "heuristic-1", (16, 32))
    assert other.match.score == 1 - once.match.score
    assert other.match.wins == once.match.losses[::-1]


def test_a_net_with_even_answers_is_the_uniform_player() -> None:
    nets = play_arena(Player(Even()), Player("heuristic-1"), "gardner", OPENINGS, visits=(24, 24))
    native = play_arena(Player("uniform"), Player("heuristic-1"), "gardner", OPENINGS, visits=(24, 24))
    assert games_of(nets) == games_of(native)


def test_more_visits_and_another_root_play_otherwise() -> None:
    both = Player("heuristic-1"), Player("heuristic-1")
    plain = play_arena(*both, "atomic", balanced_openings("atomic", 2, 1), visits=(16, 16))
    gumbel = play_arena(*both, "atomic", balanced_openings("atomic", 2, 1), visits=(16, 16), gumbel=True)
    assert games_of(plain) != games_of(gumbel)
    assert (plain.as_json()["root"], gumbel.as_json()["root"]) == ("puct", "gumbel")


def test_random_games_depend_on_the_seed() -> None:
    def play(seed: int) -> list[tuple[str, ...]]:
        return games_of(
            play_arena(Player("random"), Player("random"), "3check", [THREE_CHECK_START], visits=(1, 1), seed=seed)
        )

    assert play(1) == play(1) != play(2)


def test_progress_is_told() -> None:
    heard: list[Match] = []
    openings = balanced_openings("gardner", 60, seed=1)
    players = Player("heuristic-1"), Player("uniform")
    report = play_arena(*players, "gardner", openings, visits=(200, 200), tell=heard.append)
    assert [match.games for match in heard] == sorted(match.games for match in heard)
    assert heard
    assert report.match.games == 120


def test_a_match_that_is_stopped_counts_whole_pairs() -> None:
    openings = balanced_openings("gardner", 60, seed=1)
    players = Player("heuristic-1"), Player("uniform")
    heard: list[Match] = []
    report = play_arena(
        *players, "gardner", openings, visits=(200, 200), stopping=lambda: len(heard) > 0, tell=heard.append
    )
    assert not report.complete
    assert report.match.games == 2 * len(report.match.pairs) <= len(report.records) < 120
    text = io.StringIO()
    show(report, Console(file=text, width=200))
    assert f"Stopped after {report.match.games} of 120 games" in text.getvalue()


def test_nothing_played_is_told_too() -> None:
    report = play_arena(Player("random"), Player("fake"), "chess", [START], visits=(9, 9), stopping=lambda: True)
    text = io.StringIO()
    show(report, Console(file=text))
    assert report.match.games == 0
    assert "Nothing was played to its end." in text.getvalue()
    assert json.loads(json.dumps(report.as_json()))["games"] == 0


# -- PGN and openings -------------------------------------------------------------------------------------------------


def test_the_games_read_back_from_pgn(report: ArenaReport, tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    write_pgn(report, path)
    games = list(read_games(path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["games.pgn"]
    assert len(games) == 8
    for game, record in zip(games, report.records, strict=True):
        names = ["heuristic-1 (32 visits)", "random"]
        white, black = names[:: -1 if record.white_seat else 1]
        assert (game.headers["White"], game.headers["Black"]) == (white, black)
        assert (game.variant, game.headers["FEN"], game.result) == ("gardner", record.start_fen, record.result)
        assert game.headers["Termination"] == "normal"
        assert [node.move for node in game.mainline()] == record.moves
        assert record.outcome is not None
        assert game.end().comment == record.outcome.reason


def test_a_game_that_was_cut_off_is_told_so() -> None:
    report = play_arena(Player("random"), Player("random"), "chess", [START], visits=(1, 1), max_plies=6)
    for game in arena_games(report):
        assert (game.result, game.headers["Termination"]) == ("*", "unterminated")
        assert game.end().comment == "cut off after 6 plies"
    assert report.as_json()["terminations"] == {"cut off": 2}


def test_a_player_of_another_variant_is_refused() -> None:
    with pytest.raises(PlayerError, match="plays gardner, not chess"):
        play_arena(Player("uniform"), Player(Even()), "chess", [START], visits=(1, 1))


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[object, str, str]]:
    """Run the command line within this process."""
    monkeypatch.setenv("COLUMNS", "120")

    def run_command(*arguments: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as leaving:
            main(arguments)
        out, err = capsys.readouterr()
        return leaving.value.code, out, err

    return run_command


def test_command(run: Callable[..., tuple[object, str, str]], tmp_path: Path) -> None:
    pgn = str(tmp_path / "games.pgn")
    code, out, err = run(
        "arena", "heuristic-1", "random", "--variant", "gardner", "--games", "6", "--visits", "16", "--pgn", pgn
    )
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].startswith("Score ")
    assert len(list(read_games(pgn))) == 6


def test_command_json(run: Callable[..., tuple[object, str, str]]) -> None:
    code, out, err = run(
        "arena",
        "uniform",
        "fake",
        "--games",
        "2",
        "--visits-a",
        "4",
        "--visits-b",
        "9",
        "--variant",
        "atomic",
        "--json",
    )
    assert (code, err) == (0, "")
    values = json.loads(out)
    assert values["players"] == [{"name": "uniform", "visits": 4}, {"name": "fake", "visits": 9}]
    assert values["games"] == 2
    assert values["complete"] is True


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("heuristic-1",), "B"),
        (("heuristic-1", "randon"), "did you mean 'random'?"),
        (("heuristic-1", "random", "--games", "3"), "even"),
        (("heuristic-1", "random", "--games", "0"), "games"),
        (("heuristic-1", "random", "--visits", "0"), "visits"),
        (("heuristic-1", "random", "--variant", "atomik"), "did you mean 'atomic'?"),
        (("heuristic-1", "random", "--openings", "/no/such/file"), "/no/such/file"),
        (("heuristic-1", "random", "--pgn", "/no/such/folder/x.pgn"), "no such folder"),
    ],
)
def test_bad_input_is_one_line(
    run: Callable[..., tuple[object, str, str]], arguments: tuple[str, ...], part: str
) -> None:
    code, out, err = run("arena", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert part in err


PRESSING = """
import os, signal, sys, threading
from selfmate import arena
from selfmate.cli import main

play = arena.play_arena

def play_and_press(*arguments, **options):
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    return play(*arguments, **options)

arena.play_arena = play_and_press
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    main(sys.argv[1:])
finally:
    print("handler restored:", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
"""The command line with a Ctrl-C half a second after the match has begun, for a process of its own."""


def test_control_c_shows_what_was_played() -> None:
    arguments = ["arena", "heuristic-1", "uniform", "--variant", "gardner", "--games", "400", "--visits", "4000"]
    command = [sys.executable, "-c", PRESSING, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 130
    assert "Stopped after" in done.stdout
    assert done.stdout.endswith("handler restored: True\n")
    assert done.stderr == "selfmate: interrupted\n"


PRESSING_TWICE = """
import os, signal
from selfmate.arena import Interrupt

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        print("heard:", interrupt())
        os.kill(os.getpid(), signal.SIGINT)
        print("not reached")
except KeyboardInterrupt:
    print("interrupted, handler restored:", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_control_c_twice_interrupts_at_once() -> None:
    command = [sys.executable, "-c", PRESSING_TWICE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "heard: True\ninterrupted, handler restored: True\n"
    assert done.returncode == 0
