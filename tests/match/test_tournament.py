"""Matches with engines: everything that an engine can do wrong, files that go on, nets and engines together."""

from __future__ import annotations

import csv
import dataclasses
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import arena_games
from command import Run
from selfmate import Position, read_games
from selfmate.errors import PlayerError
from selfmate.match.match_file import MatchFile, MatchFileError
from selfmate.match.options import MatchOptions
from selfmate.match.plan import make_plan
from selfmate.match.report import MatchReport, faults
from selfmate.match.spec import ContestantError, read_contestant
from selfmate.match.tournament import play
from selfmate.search.limit import Limit
from selfmate.search.player import Player

FAKE = Path(__file__).parents[1] / "helpers" / "fake_engine.py"
OURS = f"uci:{sys.executable} -m selfmate uci"
STOCKFISH = shutil.which("stockfish", path=os.environ.get("PATH", "") + os.pathsep + "/usr/games")


def fake(fault: str = "none", *more: str, query: str = "nodes=1") -> str:
    return f"uci:{sys.executable} -S {FAKE} {' '.join((fault, *more))}?{query}"


@pytest.fixture
def start(tmp_path: Path) -> Path:
    """A book with the starting position of chess, which the fake engines play."""
    path = tmp_path / "start.epd"
    path.write_text(Position("chess").fen(), encoding="ascii")
    return path


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Eight positions in which the knights of the fake engines can go out and back."""
    path = tmp_path / "book.epd"
    ranks = Position("chess").fen().split("/")
    ranks[1] = "{}"
    lines = ["/".join(ranks).format(f"{file}p{7 - file}".replace("0", "")) for file in range(8)]
    path.write_text("\n".join(lines), encoding="ascii")
    return path


@pytest.fixture
def run(run: Run) -> Run:
    """Run `selfmate arena`."""
    return partial(run, "arena")


@pytest.fixture(autouse=True)
def short_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines that do not obey are not waited for long here."""
    monkeypatch.setattr("selfmate.match.uci_client.STOP_SECONDS", 0.3)


def match(*players: str, openings: Path, **more: object) -> MatchReport:
    plan, seats = make_plan(MatchOptions(players=list(players), openings=openings, pairs=1, **more))  # type: ignore[arg-type]
    return play(plan, seats)


def test_a_table_is_written_over_nothing_else(run: Run, tmp_path: Path) -> None:
    pgn, table, notes = tmp_path / "games.pgn", tmp_path / "games.csv", tmp_path / "notes.csv"
    notes.write_text("mine")
    match = ("heuristic-1", "random", "--variant", "gardner", "--visits", "2")
    for arguments, message in (
        (("--csv", notes), "notes.csv: already exists and is not a table of games; --force replaces it"),
        (("--pgn", pgn, "--csv", pgn), "--pgn and --csv name the same file"),
        (("--pgn", pgn, "--csv", pgn, "--force"), "--pgn and --csv name the same file"),
    ):
        code, out, err = run(*match, "--games", "2", *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err
    assert notes.read_text() == "mine"
    assert not pgn.exists()
    # A match that goes on writes its own anew; another one does not.
    for games in ("2", "4"):
        assert run(*match, "--games", games, "--pgn", pgn, "--csv", table)[0] == 0
        assert len(table.read_text().splitlines()) == 1 + int(games)
    assert "games.csv: already exists; --force" in run(*match, "--games", "2", "--csv", table)[2]
    assert run(*match, "--games", "2", "--csv", table, "--force")[0] == 0
    assert len(table.read_text().splitlines()) == 3


def test_a_table_goes_through_links_and_into_pipes(run: Run, tmp_path: Path) -> None:
    match = ("heuristic-1", "random", "--variant", "gardner", "--visits", "2", "--games", "2")
    link, target, pipe = tmp_path / "link.csv", tmp_path / "target", tmp_path / "pipe"
    link.symlink_to(target)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        for path in (link, pipe):
            assert run(*match, "--csv", path)[0] == 0
        assert link.is_symlink()
        assert pipe.is_fifo()
        assert os.read(reader, 1 << 16) == target.read_bytes()
        assert len(target.read_text().splitlines()) == 3
    finally:
        os.close(reader)


# -- engines against engines ------------------------------------------------------------------------------------------


def test_a_match_of_two_engines(run: Run, start: Path, tmp_path: Path) -> None:
    pgn, table = tmp_path / "games.pgn", tmp_path / "games.csv"
    code, out, err = run(
        fake(query="nodes=1&name=A"),
        fake(query="tc=60%2B1"),
        "--openings",
        start,
        "--pairs",
        "1",
        "--pgn",
        pgn,
        "--csv",
        table,
    )
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "A against Fake none (60+1 s), chess"
    assert "Ended by: threefold repetition (2)." in out
    games = list(read_games(pgn))
    assert sorted((game.headers["White"], game.headers["Black"]) for game in games) == [
        ("A", "Fake none (60+1 s)"),
        ("Fake none (60+1 s)", "A"),
    ]
    for game in games:
        timed = game.headers["White"] != "A"
        comments = [node.comment for node in game.mainline()]
        assert [("[%clk" in comment) for comment in comments] == [timed, not timed] * 4
        assert all("[%eval" in comment for comment in comments)
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [(row["white"], row["result"], row["reason"], row["plies"]) for row in rows] == [
        ("A", "1/2-1/2", "threefold repetition", "8"),
        ("Fake none (60+1 s)", "1/2-1/2", "threefold repetition", "8"),
    ]


@pytest.mark.parametrize(
    ("fault", "query", "kind"),
    [
        ("illegal", "nodes=1", "illegal move"),
        ("nothing", "nodes=1", "illegal move"),
        ("crash", "nodes=1", "crash"),
        ("exit", "nodes=1", "crash"),
        ("disconnect", "nodes=1", "disconnect"),
        ("slow", "movetime=20", "time loss"),
        ("waits", "tc=0.2", "time loss"),
        ("deaf", "tc=0.2", "hang"),
        ("flood", "tc=0.2", "hang"),
    ],
)
def test_what_an_engine_does_wrong_is_its_own_loss(fault: str, query: str, kind: str, start: Path) -> None:
    report = match(fake(fault, query=query), fake(), openings=start, patience=20.0, margin=50)
    assert report.complete
    assert [entry.result for entry in report.entries] == ["0-1", "1-0"]
    assert faults(report.entries, 0) == {kind: 2}
    assert faults(report.entries, 1) == {}
    assert report.as_json()["players"][0]["faults"] == {kind: 2}
    assert [entry.plies for entry in report.entries] == [2, 3]


def test_noise_is_no_fault(start: Path) -> None:
    report = match(fake("noise"), fake(), openings=start)
    assert [entry.result for entry in report.entries] == ["1/2-1/2", "1/2-1/2"]


def test_faults_are_told(run: Run, start: Path) -> None:
    code, out, err = run(fake("crash"), fake(), "--openings", start, "--games", "2")
    assert (code, err) == (0, "")
    assert "Fake crash (1 node) lost games by its own fault: crash (2)." in out
    assert "Ended by: crash (2)." in out


def test_ends_by_score_are_for_those_who_ask(start: Path) -> None:
    played = match(fake(), fake(), openings=start, resign="600,2")
    assert [(entry.result, entry.reason) for entry in played.entries] == [("1-0", "Black resigns by score")] * 2


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        (fake("dies"), "exited with code 7: cannot find my weights"),
        (fake("silent"), "sent nothing within 0.5 s: not a UCI engine"),
        (fake("floods-at-start"), ""),  # too much or too late, whichever comes first
        (fake("never-ready"), "did not send readyok within 0.5 s"),
        (fake(query="nodes=1&option.Skill=3"), "Fake none has no option 'Skill'"),
        (fake(query="nodes=1&option.Hash=900"), "option Hash is a whole number from 1 to 64, not '900'"),
        (fake(query="nodes=1&dir=/no/such/folder"), "no folder /no/such/folder"),
    ],
)
def test_engines_that_cannot_play_are_refused_in_one_line(run: Run, spec: str, part: str) -> None:
    patience = "0.5" if "within" in part or not part else "60"
    code, out, err = run(spec, "random", "--games", "2", "--patience", patience)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert part in err


def test_who_is_no_player_may_be_an_engine(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "koifish"
    program.write_text("#!/bin/sh\n", encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for spec, part in (
        ("koifish", "unknown player 'koifish'; did you mean 'uci:koifish?nodes=1000'?\n"),
        ("koifish?depth=3", "unknown player 'koifish'; did you mean 'uci:koifish?depth=3'?\n"),
        (str(program), f"nor a run; did you mean 'uci:{program}?nodes=1000'?\n"),
        ("heuristik-1", "unknown player 'heuristik-1'; did you mean 'heuristic-1'?\n"),
        ("goldfish", "or a run directory; a UCI engine is written uci:COMMAND?nodes=1000\n"),
    ):
        code, out, err = run(spec, "random", "--games", "2")
        assert (code, out) == (2, "")
        assert err.endswith(part)
        with pytest.raises(PlayerError) as refused:  # as in selfmate play, where no engine could be meant
            Player(spec)
        assert "uci:" not in str(refused.value)


def test_whom_we_wait_for_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfmate.match.uci_client.NOTICE", 0.1)
    monkeypatch.setattr("selfmate.match.plan.FIRST_REPLY", 0.4)
    code, out, err = run("uci:cat?nodes=5", "random", "--games", "2")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "selfmate: waiting for uciok from cat, up to 0.4 s",
        "selfmate: cat sent nothing within 0.4 s: not a UCI engine",
    ]


def test_an_engine_that_does_not_know_the_variant_is_refused(run: Run) -> None:
    code, out, err = run(fake(), "random", "--variant", "atomic")
    assert (code, out) == (2, "")
    assert err == "selfmate: Fake none does not play atomic: it has no option UCI_Variant\n"


def test_an_engine_that_starts_no_more_is_out_and_the_others_go_on(
    run: Run, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selfmate.match.engine_games.RESTART_SECONDS", 0.01)
    starts = tmp_path / "starts"
    starts.write_text("x", encoding="ascii")  # once, to be asked for its name
    players = (fake(query="nodes=1&name=A"), fake(query="nodes=1&name=B"), fake("fails-later", str(starts)), "random")
    code, out, err = run(*players, "--openings", start, "--pairs", "1")
    assert (code, err) == (1, "")
    assert "Fake fails-later (1 node) could not continue: " in out
    assert "exited with code 9" in out
    assert "A - B: Score 50.0 %" in out
    assert "Stopped after 6 of 12 games" in out


# -- files that go on -------------------------------------------------------------------------------------------------


def stop_after(games: int) -> tuple[Callable[[], bool], Callable[[MatchReport], None]]:
    """Stop a match after so many games."""
    seen: list[int] = []
    return lambda: bool(seen and seen[-1] >= games), lambda report: seen.append(len(report.entries))


@pytest.mark.parametrize("second", ["random", "uniform"])
def test_a_match_goes_on_where_it_was_stopped(second: str, tmp_path: Path) -> None:
    def plan(pairs: int) -> MatchOptions:
        return MatchOptions(players=["heuristic-1", second], variant="gardner", pairs=pairs, visits=8, seed=5)

    def signatures(path: Path) -> list[tuple[str, ...]]:
        games = sorted(read_games(path), key=lambda game: int(game.headers["Round"]))
        return [
            (game.headers["Round"], game.headers["White"], game.result, *(node.move.uci() for node in game.mainline()))
            for game in games
        ]

    whole, parts = tmp_path / "whole.pgn", tmp_path / "parts.pgn"
    once, players = make_plan(plan(20))
    with MatchFile(whole, once.settings) as file:
        expected = play(once, players, file)
    stopping, tell = stop_after(3)
    short, players = make_plan(plan(10))
    with MatchFile(parts, short.settings) as file:
        stopped = play(short, players, file, stopping=stopping, tell=tell)
    assert len(stopped.entries) >= 3
    # The same command with more games; what a crash left of a game is cut off.
    with parts.open("ab") as torn:
        torn.write(b'[Event "selfmate arena"]\n[Round "77"]\n[Result "1-0"]\n\n1. a3 b4 ')
    with MatchFile(parts, once.settings) as file:
        assert sorted(entry.number for entry in file.entries) == [entry.number for entry in stopped.entries]
        report = play(once, players, file)
    assert report.complete
    assert report.match() == expected.match()
    assert signatures(parts) == signatures(whole)
    # Once more: nothing is left to play.
    with MatchFile(parts, once.settings) as file:
        again = play(once, players, file)
    assert again.entries == report.entries
    assert len(list(read_games(parts))) == 40


def test_faults_are_remembered(start: Path, tmp_path: Path) -> None:
    plan, players = make_plan(MatchOptions(players=[fake("illegal"), fake()], openings=start, pairs=1))
    with MatchFile(tmp_path / "games.pgn", plan.settings) as file:
        report = play(plan, players, file)
    with MatchFile(tmp_path / "games.pgn", plan.settings) as file:
        assert sorted(file.entries, key=lambda entry: entry.number) == list(report.entries)


def test_settings_that_contradict_the_file_are_refused(run: Run, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    base = ("heuristic-1", "random", "--variant", "gardner", "--games", "4", "--visits", "4", "--pgn", pgn)
    assert run(*base)[0] == 0
    before = pgn.read_bytes()
    for more, part in (
        (("--visits", "5"), "started with player 1 heuristic-1 (4 visits), not heuristic-1 (5 visits)"),
        (("--seed", "1"), "started with seed 0, not 1"),
        (("--gumbel",), "started with root puct, not gumbel"),
        (("--max-plies", "9"), "started with max-plies 512, not 9"),
        (("--variant", "atomic"), "started with variant gardner, not atomic"),
        (("--games", "2"), "started with 2 openings (4 games of each pair), not 1"),
    ):
        code, out, err = run(*base, *more)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert part in err
    assert pgn.read_bytes() == before
    code, out, err = run(*base, "--seed", "1", "--force")
    assert (code, err) == (0, "")
    assert len(list(read_games(pgn))) == 4


def test_files_that_are_no_match_are_left_alone(run: Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine.pgn"
    mine.write_text("1. e4 *\n", encoding="ascii")
    code, _, err = run("heuristic-1", "random", "--pgn", mine)
    assert (code, err.count("\n")) == (2, 1)
    assert "choose another file, or --force" in err
    assert mine.read_text(encoding="ascii") == "1. e4 *\n"
    mine.with_name("mine.pgn.json").write_text("{", encoding="ascii")
    assert "damaged" in run("heuristic-1", "random", "--pgn", mine)[2]
    assert "not a file" in run("heuristic-1", "random", "--pgn", tmp_path)[2]


def test_two_matches_cannot_write_to_one_file(tmp_path: Path) -> None:
    plan, _ = make_plan(MatchOptions(players=["random", "random"], pairs=1))
    with MatchFile(tmp_path / "games.pgn", plan.settings), pytest.raises(MatchFileError, match="another match"):
        MatchFile(tmp_path / "games.pgn", plan.settings)


def test_a_test_ends_the_match_and_is_remembered(run: Run, book: Path, tmp_path: Path) -> None:
    players = (fake(), fake("illegal"), "--openings", book, "--pgn", tmp_path / "games.pgn", "--concurrency", "1")
    test = ("--sprt", "0,300", "--model", "logistic", "--alpha", "0.3", "--beta", "0.3")
    code, out, err = run(*players, *test, "--pairs", "8", "--json")
    assert (code, err) == (0, "")
    values = json.loads(out)
    assert values["complete"]
    assert values["sprt"]["verdict"] == "H1"
    assert 2 <= values["played"] < 16
    again = json.loads(run(*players, *test, "--pairs", "8", "--json")[1])
    assert again["played"] == values["played"]
    assert "started with sprt 0,300 0.3 0.3 logistic, not off" in run(*players, "--pairs", "8")[2]
    assert "--sprt is for two players" in run("random", "random", "fake", "--sprt", "0,5")[2]
    assert "--sprt is written ELO0,ELO1" in run("random", "random", "--sprt", "5")[2]
    assert "the model is normalised or logistic" in run("random", "random", "--sprt", "0,5", "--model", "odd")[2]


@pytest.mark.parametrize("second", ["uniform", fake(), "both"])
def test_a_full_disk_ends_every_kind_of_match_in_one_line(
    second: str, run: Run, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sync(_: int) -> None:
        if (tmp_path / "games.pgn").stat().st_size:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("selfmate.match.match_file.os.fsync", sync)
    players = (fake(), fake()) if second == "both" else ("heuristic-1", second)
    code, out, err = run(*players, "--openings", start, "--pairs", "1", "--pgn", tmp_path / "games.pgn")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "No space left on device" in err


def command(*arguments: str | Path) -> subprocess.Popen[str]:
    """Run the arena in a process of its own."""
    words = [sys.executable, "-m", "selfmate", "arena", *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def processes(word: str) -> list[int]:
    """Processes that have a word in their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and word.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            pass
    return found


def test_our_side_is_batched_over_games_with_engines(run: Run, book: Path) -> None:
    """The same games one by one and at once; those in which we begin do so together, and it shows there at least.

    On a busy machine the games may begin one after the other: one of five matches must show it.
    """
    match = ("heuristic-1", fake(), "--openings", book, "--games", "16", "--visits", "32", "--json", "--concurrency")
    alone, together = (json.loads(run(*match, games)[1]) for games in ("1", "16"))
    assert alone["batch"] == 1.0
    attempts = 1
    while together["batch"] == 1.0 and attempts < 5:
        together, attempts = json.loads(run(*match, "16")[1]), attempts + 1
    assert 1.0 < together["batch"] <= 16.0
    assert together["evaluations"] == alone["evaluations"] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("other", ["heuristic-1", fake()])
def test_interrupted_twice_a_match_ends_though_its_engines_hang(other: str, start: Path, tmp_path: Path) -> None:
    mark = f"mark-{tmp_path.name}"
    with command(other, fake("deaf", mark), "--openings", start, "--games", "2") as match:
        deadline = time.monotonic() + 60
        while not processes(mark) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(1)
        for _ in range(2):
            match.send_signal(signal.SIGINT)
            time.sleep(1)  # longer than it takes to hear it, shorter than engines have to leave
        _, err = match.communicate(timeout=30)
    assert match.returncode == 130
    assert err == "selfmate: interrupted\n"
    deadline = time.monotonic() + 30
    while processes(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not processes(mark)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_a_match_leaves_a_file_that_goes_on_and_no_engine(
    number: signal.Signals, run: Run, book: Path, tmp_path: Path
) -> None:
    pgn, mark = tmp_path / "games.pgn", f"mark-{tmp_path.name}"
    arguments = (fake("slow", mark), fake(), "--openings", book, "--games", "16", "--pgn", pgn)
    with command(*arguments, "--concurrency", "2") as match:
        deadline = time.monotonic() + 60
        while (not pgn.exists() or not pgn.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.01)
        match.send_signal(number)
        out, err = match.communicate(timeout=60)
    if number == signal.SIGINT:
        assert match.returncode == 130
        assert f"Run the same command again to resume {pgn}." in out
        assert err == "selfmate: interrupted\n"
    deadline = time.monotonic() + 60
    while processes(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not processes(mark)
    before = len(list(read_games(pgn)))
    assert before > 0
    code, out, _ = run(*arguments, "--json")
    assert code == 0
    assert json.loads(out)["played"] == 16
    assert len(list(read_games(pgn))) == 16


# -- nets and engines together ----------------------------------------------------------------------------------------


def test_a_net_in_the_pool_against_engines(tmp_path: Path) -> None:
    players = ["heuristic-1?visits=16", f"{OURS}?nodes=8&option.WeightsFile=uniform&name=Even", "random"]
    plan, seats = make_plan(MatchOptions(players=players, variant="gardner", pairs=3, concurrency=4))
    assert [seat is None for seat in seats] == [False, True, False]
    with MatchFile(tmp_path / "games.pgn", plan.settings) as file:
        report = play(plan, seats, file)
    assert report.complete
    assert not report.unavailable
    assert not any(faults(report.entries, index) for index in range(3))
    assert report.match(0, 2).score > 0.8
    for game in read_games(tmp_path / "games.pgn"):
        sides = [game.headers["White"], game.headers["Black"]]
        first = 0 if game.start.turn else 1
        for ply, node in enumerate(game.mainline()):
            player = sides[(ply + first) % 2]
            assert ("s [%eval" in node.comment) == (player == "Even")  # engines have seconds, too


@pytest.mark.parametrize(
    ("fault", "query", "kind"),
    [("illegal", "nodes=1", "illegal move"), ("deaf", "movetime=50", "hang"), ("crash", "nodes=1", "crash")],
)
def test_an_engine_that_fails_against_a_net_loses(fault: str, query: str, kind: str, tmp_path: Path) -> None:
    # The fake engine's moves are legal while its knights are free: two plies are enough to get to the fault.
    book = tmp_path / "book.epd"
    book.write_text(Position("chess").fen(), encoding="ascii")
    plan, players = make_plan(
        MatchOptions(players=["heuristic-1", fake(fault, query=query)], pairs=1, openings=book, margin=50)
    )
    with MatchFile(tmp_path / "games.pgn", plan.settings) as file:
        report = play(plan, players, file)
    assert report.complete
    assert [entry.result for entry in report.entries] == ["1-0", "0-1"]
    assert faults(report.entries, 1) == {kind: 2}
    assert faults(report.entries, 0) == {}
    assert {game.headers["Fault"] for game in read_games(tmp_path / "games.pgn")} == {kind}


def test_ends_by_score_between_a_net_and_an_engine(start: Path, tmp_path: Path) -> None:
    """The fake engine is lost with Black and says so: it resigns, and its scores are counted with those of the net."""
    options = MatchOptions(players=["heuristic-1?visits=8", fake()], openings=start, pairs=1, resign="600,2")
    plan, players = make_plan(options)
    with MatchFile(tmp_path / "games.pgn", plan.settings) as file:
        report = play(plan, players, file)
    assert (report.entries[0].result, report.entries[0].reason) == ("1-0", "Black resigns by score")
    assert (report.entries[0].plies, report.entries[0].fault) == (4, None)
    [game] = [game for game in read_games(tmp_path / "games.pgn") if game.headers["Round"] == "0"]
    assert game.headers["Termination"] == "adjudication"
    assert [node.comment.split("/")[0] for node in game.mainline()][1::2] == ["-9.00", "-9.00"]
    # Won only when the net agrees, which sees nothing of it at the start.
    plan, players = make_plan(dataclasses.replace(options, resign=None, win="600,1"))
    assert play(plan, players).entries[0].reason != "won by score"
    plan, players = make_plan(dataclasses.replace(options, resign=None, win="0,1"))
    assert play(plan, players).entries[0].reason == "won by score"


def test_a_net_on_a_clock_is_our_engine(tmp_path: Path) -> None:
    plan, players = make_plan(
        MatchOptions(players=["heuristic-1", "uniform"], variant="gardner", pairs=1, tc="5+0.05", max_plies=8)
    )
    assert players == [None, None]
    assert plan.labels == ("heuristic-1 (5+0.05 s)", "uniform (5+0.05 s)")
    with MatchFile(tmp_path / "games.pgn", plan.settings) as file:
        report = play(plan, players, file)
    assert report.complete
    assert not faults(report.entries, 0)
    for game in read_games(tmp_path / "games.pgn"):
        assert game.headers["TimeControl"] == "5+0.05"
        assert all("[%clk 0:00:0" in node.comment for node in game.mainline())


@pytest.mark.engine
@pytest.mark.skipif(STOCKFISH is None, reason="needs Stockfish: apt install stockfish")
def test_stockfish() -> None:
    players = [
        "heuristic-1?visits=20",
        "uci:stockfish?nodes=200&option.Hash=4",
        "uci:stockfish?depth=2&option.Skill+Level=0",
    ]
    plan, seats = make_plan(MatchOptions(players=players, pairs=2, concurrency=2))
    assert plan.labels[1].startswith("Stockfish")
    report = play(plan, seats)
    assert report.complete
    assert not any(faults(report.entries, index) for index in range(3))
    assert report.match(1, 0).score > 0.7
    with pytest.raises(ValueError, match="does not play atomic"):
        make_plan(MatchOptions(players=players[:2], variant="atomic", pairs=1))


def test_a_few_timed_games_of_our_engines_without_a_fault() -> None:
    # `make soakarena` plays a hundred; here a busy machine is no fault.
    tally = arena_games.run(8, "0.2+0.005", margin=10.0, variants=("gardner", "atomic", "chess", "horde"))
    assert tally.games == 8
    assert not tally.wrong


# -- how contestants are written --------------------------------------------------------------------------------------


def test_a_command_with_everything() -> None:
    text = "uci:cat -u 'my file'?tc=1+0.02&option.Skill+Level=3&option.Path=%2Fa%26b&env.A=b+c&dir=/tmp&name=The+cat"
    contestant = read_contestant(text, Limit(nodes=5))
    assert contestant.engine is not None
    assert contestant.engine.command == ("cat", "-u", "my file")
    assert contestant.engine.options == (("Skill Level", "3"), ("Path", "/a&b"))
    assert contestant.engine.environment == {"A": "b c"}
    assert contestant.engine.directory == Path("/tmp")
    assert contestant.label == "The cat"
    assert str(contestant.limit) == "1+0.02 s"


def test_a_path_with_spaces_and_a_question_mark(tmp_path: Path) -> None:
    for name in ("my engine", "what?", "a?b=c"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\n", encoding="ascii")
        program.chmod(0o755)
        contestant = read_contestant(f"uci:{program}", Limit(nodes=5))
        assert contestant.engine is not None
        assert contestant.engine.command == (str(program),)
        assert contestant.label == f"{name} (5 nodes)"


@pytest.mark.parametrize(
    "query",
    ["nodes", "nodes=", "nodes=-1", "nodes=1e3", "nodes=99999999999999999999999", "tc=0", "tc=x", "option.=3", "=3"],
)
def test_what_cannot_be_read_is_refused(query: str) -> None:
    with pytest.raises(ContestantError, match=r"^cat: |^tc "):
        read_contestant(f"uci:cat?{query}", Limit(nodes=5))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("uci:cat?visits=400", "cat: visits are for nets; an engine has nodes: uci:cat?nodes=400"),
        ("uci:cat?visits=400&nodes=5", "visits are for nets"),
        ("uci:cat?node=5", "cat: unknown key 'node'; did you mean nodes?"),
        ("uci:cat?threads=2", "valid keys: nodes, depth, movetime, tc, name, option.NAME, env.NAME, dir"),
        ("uci:cat?nodes=5&nodes=6", "cat: nodes is given twice"),
        ("uci:cat?nodes=5&option.Hash=1&option.hash=2", "cat: option.hash is given twice"),
        ("uci:cat?nodes=5&name=", "cat: name= needs a value"),
        ("uci:cat?nodes=5&dir=", "cat: dir= needs a value"),
        ("heuristic-1?nodes=5", "nodes and depth are for engines; a net has visits, movetime or tc"),
        ("heuristic-1?depth=5", "nodes and depth are for engines"),
        ("heuristic-1?visit=5", "heuristic-1: unknown key 'visit'; did you mean visits?"),
        ("heuristic-1?device=cuda", "valid keys: visits, movetime, tc, name,"),
        ("heuristic-1?visits=5&option.Hash=1", "option, env and dir are for engines, and for nets on a clock"),
        ("heuristic-1?tc=1&option.WeightsFile=x", "its name says which net it is; leave out option.WeightsFile"),
        ("random?visits=400", "random: it does not search, so it has no limit; write random alone"),
        ("random?nodes=400", "it has no limit"),
        ("random?tc=1", "it has no limit"),
    ],
)
def test_what_does_not_suit_a_player_is_refused(text: str, message: str) -> None:
    with pytest.raises(ContestantError) as caught:
        read_contestant(text, Limit(nodes=5))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_untrained_twin_plays_on_a_clock_and_by_visits() -> None:
    timed = read_contestant("gardner-laptop:untrained?movetime=50", Limit())
    assert timed.engine is not None
    assert dict(timed.engine.options)["WeightsFile"] == "gardner-laptop:untrained"  # the engine makes it itself
    assert read_contestant("gardner-laptop:untrained", Limit(visits=5)).label == "gardner-laptop untrained (5 visits)"


def test_a_net_on_a_clock_keeps_all_that_it_was_given() -> None:
    contestant = read_contestant("heuristic-1?tc=1&option.Contempt=20&env.A=b&dir=/tmp", Limit())
    assert contestant.engine is not None
    assert (contestant.engine.environment, contestant.engine.directory) == ({"A": "b"}, Path("/tmp"))
    assert contestant.label == "heuristic-1 (1+0 s, Contempt 20)"  # not the same player as without it
    assert read_contestant("heuristic-1?visits=1", Limit()).label == "heuristic-1 (1 visit)"
