"""The arena: matches with paired openings, their report, PGN and JSON, and Ctrl-C in the midst of one."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from command import Run
from selfmate import read_games
from selfmate._core import GameRecord
from selfmate.errors import PlayerError
from selfmate.evaluator.base import Evaluation, Evaluator
from selfmate.match.match_file import MatchFile
from selfmate.match.openings import balanced_openings
from selfmate.match.options import MatchOptions
from selfmate.match.plan import make_plan
from selfmate.match.pool import AHEAD, MatchPool, make_match_pool
from selfmate.match.record_pgn import count_records
from selfmate.match.report import MatchReport, show
from selfmate.match.runner import play_games
from selfmate.match.schedule import schedule
from selfmate.match.tournament import play
from selfmate.nn.leaves import Leaves
from selfmate.rating.pgn_results import read_all
from selfmate.search.config import play_config
from selfmate.search.player import Player

THREE_CHECK_START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 3+3 0 1"
OPENINGS = balanced_openings("gardner", 4, seed=3)


class Even(Evaluator):
    """A net that knows nothing."""

    name, net_id, variant = "even", "even", "gardner"

    def evaluate(self, leaves: Leaves) -> Evaluation:
        """Give every move the same chance and every game the same."""
        counts = np.maximum(leaves.counts[:, None], 1)
        priors = (np.arange(leaves.moves.shape[1]) < leaves.counts[:, None]) / counts
        return Evaluation(
            np.ascontiguousarray(priors, np.float32),
            np.full((leaves.size, 3), 1 / 3, np.float32),
            np.zeros(leaves.size, np.float32),
        )


def match_pool(
    *players: Evaluator | str,
    visits: tuple[int, int],
    variant: str = "gardner",
    games: int = 2 * len(OPENINGS),
    gumbel: bool = False,
    seed: int = 0,
) -> MatchPool:
    return make_match_pool(
        variant, [Player(each) for each in players], visits, games, search=play_config(gumbel=gumbel), seed=seed
    )


def records_of(pool: MatchPool, openings: Sequence[str] = OPENINGS) -> list[GameRecord]:
    """Play every opening twice; the games by number."""
    records: list[GameRecord] = []
    play_games(pool, schedule(2, openings), on_finished=records.extend)
    return sorted(records, key=lambda record: record.game_id)


def moves_of(records: Sequence[GameRecord]) -> list[tuple[str, ...]]:
    return [(record.start_fen, record.result, *(move.uci() for move in record.moves)) for record in records]


@pytest.fixture(scope="module")
def records() -> list[GameRecord]:
    return records_of(match_pool("heuristic-1", "random", visits=(32, 32)))


def test_every_opening_is_played_with_either_colour(records: list[GameRecord]) -> None:
    assert [record.start_fen for record in records] == [fen for fen in OPENINGS for _ in range(2)]
    assert [record.white_seat for record in records] == [0, 1] * len(OPENINGS)
    match = count_records(records)
    assert match.games == 8
    assert match.score > 0.8
    assert [seat.visits for seat in match_pool("heuristic-1", "random", visits=(32, 32)).seats] == [32, 0]
    assert sum(match.pairs) == match.score * 8


def test_a_match_is_the_same_again_and_from_the_other_side() -> None:
    def play(first: str, second: str, visits: tuple[int, int]) -> list[GameRecord]:
        return records_of(match_pool(first, second, visits=visits))

    once = play("heuristic-1", "uniform", (32, 16))
    assert moves_of(once) == moves_of(play("heuristic-1", "uniform", (32, 16)))
    other = count_records(play("uniform", "heuristic-1", (16, 32)))
    assert other.score == 1 - count_records(once).score
    assert other.wins == count_records(once).losses[::-1]


def test_a_net_with_even_answers_is_the_uniform_player() -> None:
    nets = records_of(match_pool(Even(), "heuristic-1", visits=(24, 24)))
    native = records_of(match_pool("uniform", "heuristic-1", visits=(24, 24)))
    assert moves_of(nets) == moves_of(native)


def test_more_visits_and_another_root_play_otherwise() -> None:
    openings = balanced_openings("atomic", 2, 1)
    plain, gumbel = (
        records_of(match_pool("heuristic-1", "heuristic-1", visits=(16, 16), variant="atomic", gumbel=root), openings)
        for root in (False, True)
    )
    assert moves_of(plain) != moves_of(gumbel)


def test_random_games_depend_on_the_seed() -> None:
    def play(seed: int) -> list[tuple[str, ...]]:
        pool = match_pool("random", "random", visits=(1, 1), variant="3check", games=2, seed=seed)
        return moves_of(records_of(pool, [THREE_CHECK_START]))

    assert play(1) == play(1) != play(2)


def test_progress_is_told() -> None:
    heard: list[int] = []
    plan, players = make_plan(
        MatchOptions(players=["heuristic-1", "uniform"], variant="gardner", pairs=60, visits=20, seed=1)
    )
    report = play(plan, players, tell=lambda report: heard.append(report.match().games))
    assert heard == sorted(heard)
    assert heard
    assert report.match().games == 120


def test_a_match_that_is_stopped_counts_whole_pairs() -> None:
    heard: list[int] = []
    plan, players = make_plan(
        MatchOptions(players=["heuristic-1", "uniform"], variant="gardner", pairs=60, visits=200, seed=1)
    )
    report = play(
        plan,
        players,
        stopping=lambda: any(heard),
        tell=lambda report: heard.append(len(report.entries)),
    )
    assert not report.complete
    assert report.match().games == 2 * len(report.match().pairs) <= len(report.entries) < 120


def told(report: MatchReport) -> str:
    """What people see of a report."""
    text = io.StringIO()
    show(report, Console(file=text, width=200))
    return text.getvalue()


def test_a_match_that_is_stopped_does_not_contradict_itself() -> None:
    plan, players = make_plan(
        MatchOptions(players=["heuristic-1", "uniform"], variant="gardner", pairs=200, visits=200)
    )
    heard: list[int] = []

    def hear(report: MatchReport) -> None:
        heard.append(len(report.entries))

    report = play(plan, players, stopping=lambda: bool(heard and heard[-1]), tell=hear)
    played, counted = len(report.entries), report.match().games
    assert 0 < played < 400
    assert f"Stopped after {played} of 400 games" in told(report)
    assert (f"{played - counted} of them ha" in told(report)) == (played != counted)
    ends = told(report).split("Ended by: ")[1].split(".")[0]
    assert sum(int(count) for count in re.findall(r"\((\d+)\)", ends)) == played
    assert ("Score" in told(report).splitlines()[-1]) == (counted > 0)


def test_nothing_played_is_told_too() -> None:
    plan, players = make_plan(MatchOptions(players=["random", "fake"], pairs=1))
    report = play(plan, players, stopping=lambda: True)
    assert report.match().games == 0
    assert told(report).splitlines()[-1] == "Stopped before the first of 2 games was over."
    assert "Ended by" not in told(report)
    assert json.loads(json.dumps(report.as_json()))["games"] == 0


# -- PGN and openings -------------------------------------------------------------------------------------------------


def test_a_match_of_the_command_is_that_of_the_runner(records: list[GameRecord], tmp_path: Path) -> None:
    path = tmp_path / "openings.epd"
    path.write_text("\n".join(OPENINGS), encoding="ascii")
    options = MatchOptions(players=["heuristic-1", "random"], variant="gardner", pairs=4, visits=32, openings=path)
    plan, players = make_plan(options)
    pgn = tmp_path / "games.pgn"
    with MatchFile(pgn, plan.settings) as file:
        played = play(plan, players, file)
    assert played.match() == count_records(records)
    assert played.labels == ("heuristic-1 (32 visits)", "random")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["games.pgn", "games.pgn.json", "openings.epd"]
    games = sorted(read_games(pgn), key=lambda game: int(game.headers["Round"]))
    assert len(games) == 8
    for game, record in zip(games, records, strict=True):
        white, black = played.labels[:: -1 if record.white_seat else 1]
        assert (game.headers["White"], game.headers["Black"]) == (white, black)
        assert (game.variant, game.headers["FEN"], game.result) == ("gardner", record.start_fen, record.result)
        assert game.headers["Termination"] == "normal"
        assert [node.move for node in game.mainline()] == record.moves
        assert game.end().comment.endswith(record.reason)
        # Searched moves have a score; those of `random` have none.
        for ply, node in enumerate(game.mainline()):
            searched = (ply + (not game.start.turn)) % 2 == record.white_seat
            assert ("[%eval" in node.comment) <= searched


def test_a_game_that_was_cut_off_is_told_so(tmp_path: Path) -> None:
    plan, players = make_plan(MatchOptions(players=["random", "random"], pairs=1, max_plies=6))
    with MatchFile(tmp_path / "games.pgn", plan.settings) as file:
        report = play(plan, players, file)
    for game in read_games(tmp_path / "games.pgn"):
        assert (game.result, game.headers["Termination"]) == ("1/2-1/2", "adjudication")
        assert game.end().comment == "cut off after 6 plies"
    assert report.as_json()["terminations"] == {"cut off": 2}
    with MatchFile(tmp_path / "games.pgn", plan.settings) as file:
        assert [(entry.result, entry.reason) for entry in file.entries] == [("1/2-1/2", "cut off")] * 2
    assert len(read_all([str(tmp_path / "games.pgn")]).games) == 2  # what counts here is rated too
    assert report.labels == ("random", "random #2")


def test_players_in_a_batch_resign_and_agree_on_draws_when_asked_to(tmp_path: Path) -> None:
    def ends(**rules: Any) -> dict[str, int]:
        plan, players = make_plan(
            MatchOptions(players=["heuristic-1?visits=60", "heuristic-1?visits=3"], variant="gardner", pairs=8, **rules)
        )
        with MatchFile(tmp_path / "games.pgn", plan.settings, restart=True) as file:
            report = play(plan, players, file)
        with MatchFile(tmp_path / "games.pgn", plan.settings) as file:  # goes on as it was
            assert sorted(file.entries, key=lambda entry: entry.number) == list(report.entries)
        return report.as_json()["terminations"]  # type: ignore[no-any-return]

    assert not any("by score" in reason for reason in ends())
    assert ends(resign="100,2").keys() & {"White resigns by score", "Black resigns by score"}
    for game in read_games(tmp_path / "games.pgn"):
        nodes = list(game.mainline())
        own = [float(node.comment.split()[0]) for node in nodes[-1::-2]]
        resigned = game.end().comment.endswith(" resigns by score")
        assert resigned == (game.headers["Termination"] == "adjudication")
        assert resigned == (len(own) > 1 and own[0] <= -1 and own[1] <= -1 and "mate" not in game.end().comment)
        if resigned:  # the side that moved last
            assert game.result == ("0-1" if game.start.turn == (len(nodes) % 2 == 1) else "1-0")
    assert "drawn by score" in ends(draw="30,2,4")
    assert "won by score" in ends(win="100,1")


# -- a test that ends the match ---------------------------------------------------------------------------------------


class Slow(Even):
    """The same, and takes its time: some of its games end in each look at them."""

    def evaluate(self, leaves: Leaves) -> Evaluation:
        """Sleep a little."""
        time.sleep(0.001)
        return super().evaluate(leaves)


def test_a_test_stops_the_match_as_soon_as_it_is_decided(tmp_path: Path) -> None:
    plan, players = make_plan(
        MatchOptions(
            players=["heuristic-1?visits=24", "uniform?visits=8"],
            variant="gardner",
            pairs=500,
            sprt="0,150",
            max_plies=200,
        )
    )
    players[1] = Player(Slow())
    assert plan.sprt is not None

    def tell(report: MatchReport) -> None:
        """Telling takes long, and is then not done for a while; the end must be seen all the same."""
        time.sleep(0.2)

    with MatchFile(tmp_path / "games.pgn", plan.settings) as file:
        report = play(plan, players, file, tell=tell)
    assert report.complete
    assert report.sprt_state is not None
    assert report.sprt_state.verdict == "H1"
    assert report.sprt_state.pairs is not None
    # No game begins far ahead of those that the test needs.
    needed, at_once = 2 * report.sprt_state.pairs, 2 * plan.sprt.expected_pairs
    assert needed <= len(report.entries) <= needed + (AHEAD + 1) * at_once < 200
    # The file has what was over, and goes on with nothing.
    with MatchFile(tmp_path / "games.pgn", plan.settings) as file:
        assert len(file.entries) == len(report.entries)
        again = play(plan, players, file)
    assert (again.entries, again.sprt_state) == (report.entries, report.sprt_state)


def test_a_player_of_another_variant_is_refused() -> None:
    with pytest.raises(PlayerError, match="plays gardner, not chess"):
        match_pool("uniform", Even(), visits=(1, 1), variant="chess")


# -- the command ------------------------------------------------------------------------------------------------------


def test_command(run: Run, tmp_path: Path) -> None:
    pgn = str(tmp_path / "games.pgn")
    code, out, err = run(
        "arena", "heuristic-1", "random", "--variant", "gardner", "--games", "6", "--visits", "16", "--pgn", pgn
    )
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].startswith("Score ")
    assert f"selfmate rate {pgn} makes ratings, with a drawn game added for each player" in out.splitlines()[-2]
    assert len(list(read_games(pgn))) == 6


def test_command_json(run: Run) -> None:
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
    assert values["players"] == [
        {"name": "uniform", "label": "uniform (4 visits)", "visits": 4},
        {"name": "fake", "label": "fake (9 visits)", "visits": 9},
    ]
    assert values["games"] == 2
    assert values["complete"] is True


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("heuristic-1",), "B"),
        (("heuristic-1", "randon"), "did you mean 'random'?"),
        (("heuristic-1", "random", "--games", "3"), "every opening is played twice, so 3 is not possible; 2 or 4 is"),
        (("heuristic-1", "random", "--games", "0"), "games"),
        (("heuristic-1", "random", "--visits", "0"), "visits"),
        (("heuristic-1", "random", "--variant", "atomik"), "did you mean 'atomic'?"),
        (("heuristic-1", "random", "--openings", "/no/such/file"), "/no/such/file"),
        (("heuristic-1", "random", "--pgn", "/no/such/folder/x.pgn"), "no such folder"),
        (("heuristic-1", "random", "--csv", "/no/such/folder/x.csv"), "no such folder"),
        (("heuristic-1", "random", "--games", "4", "--pairs", "2"), "--games and --pairs cannot be combined"),
        (("heuristic-1", "uci:no-such-engine?nodes=1"), "no-such-engine: there is no such program"),
        (("heuristic-1", "uci:cat"), "an engine needs a limit: uci:cat?nodes=1000, or"),
        (("heuristic-1", "uci:cat?option.Hash=64"), "uci:cat?option.Hash=64&nodes=1000, or"),
        (("heuristic-1", "uci:cat?movetime=9&tc=1"), "movetime and tc cannot be combined"),
        (("heuristic-1", "random", "--visits", "9", "--tc", "1+0.1"), "visits and tc cannot be combined"),
        (("heuristic-1", "random?visits=0"), "visits is a whole number above 0"),
        (("heuristic-1?nodes=9", "random"), "nodes and depth are for engines"),
        (("heuristic-1?vists=9", "random"), "unknown key 'vists'"),
        (("heuristic-1?option.Hash=9", "random"), "for nets on a clock"),
        (("heuristic-1", "random", "--nodes", "9"), "none plays"),
        (("uci:cat?nodes=1", "uci:cat?nodes=2", "--visits", "9"), "none plays"),
        (("heuristic-1", "random", "--visits-b", "9"), "--visits-b is for a net or heuristic-1; random has no visits"),
        (
            ("uci:cat?nodes=1", "heuristic-1", "--visits-a", "9"),
            "--visits-a is for a net or heuristic-1; uci:cat",
        ),
        (("heuristic-1", "random", "--tc", "1 s"), "tc is written SECONDS+INCREMENT"),
        (("heuristic-1", "random", "--model", "logistic"), "--alpha, --beta and --model need --sprt"),
        (("heuristic-1", "random", "--alpha", "0.1"), "--alpha, --beta and --model need --sprt"),
        (("heuristic-1", "random", "--sprt", "0,5", "--model", "foo"), "normalised or logistic, not 'foo'"),
        (("heuristic-1", "random", "--device", "tpu"), "unknown device 'tpu'; use cpu or cuda"),
        (("heuristic-1", "random", "--opening-plies", "4"), "--opening-plies is for a book of games"),
        (("heuristic-1", "random", "--pgn", "."), ".: a folder, not a file"),
        (("heuristic-1", "random", "--csv", "."), ".: a folder, not a file"),
        (("heuristic-1", "random", "--resign", "600"), "--resign is written CENTIPAWNS,MOVES[,AFTER]"),
        (("heuristic-1", "random", "fake", "--visits-a", "9"), "write NAME?visits=N"),
        (("heuristic-1", "uci:'cat?nodes=1"), "not a command"),
        (("heuristic-1", "uci:?nodes=1"), "uci: needs a command"),
        (("heuristic-1", "uci:"), "uci: needs a command"),
        (
            ("heuristic-1", "random", "--draw", "10"),
            "--draw is written CENTIPAWNS,MOVES[,AFTER], such as 10,8,40, not '10'",
        ),
    ],
)
def test_bad_input_is_one_line(run: Run, arguments: tuple[str, ...], part: str) -> None:
    code, out, err = run("arena", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert part in err


PRESSING = """
import os, signal, sys, threading
from selfmate.cli import arena
from selfmate.cli.main import main

play = arena.play

def play_and_press(*arguments, **options):
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    return play(*arguments, **options)

arena.play = play_and_press
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
    assert "Stopped " in done.stdout
    assert done.stdout.endswith("handler restored: True\n")
    assert done.stderr == "selfmate: interrupted\n"


PRESSING_TWICE = """
import os, signal
from selfmate.util.signals import Interrupt

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
