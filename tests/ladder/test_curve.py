"""Strength over training: pairings, games that are kept, one scale, the report and the plot."""

from __future__ import annotations

import csv
import io
import json
import shutil
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from command import Run
from selfmate import SelfmateError, read_games
from selfmate.ladder import curve
from selfmate.ladder.calibration import read_calibration
from selfmate.ladder.curve import (
    CurveGame,
    CurvePlayer,
    checkpoint,
    choose_checkpoints,
    fit_scale,
    fixed_players,
    pairings,
    play_missing,
)
from selfmate.ladder.curve_report import make_report
from selfmate.rundir.format import State, read_metrics, read_run
from selfmate.search.player import Player
from selfmate.train.dashboard import PlainView, _rows
from selfmate.train.session import train
from selfmate.train.status import CompletedCycle, MeasuredElo, TrainingStatus
from selfmate.util.signals import Interrupt, Stop

RANDOM, ONE, FOUR = fixed_players(4)
OPENINGS = curve.openings_for("gardner", 4)
PAIRS = [(RANDOM, ONE), (ONE, FOUR), (FOUR, FOUR)]
SETTINGS = ("selfplay.max_plies=12", "gate.final_games=0", "gate.games=0", "learner.ema=0.5")


def open_player(player: CurvePlayer) -> Player:
    return Player(player.spec)


def texts(folder: Path) -> dict[str, list[str]]:
    """All games of a folder; within a file they stand as they ended."""
    return {path.name: sorted(path.read_text().split("[Event")) for path in folder.glob("*.pgn")}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run that measured itself after its second and fourth cycle."""
    directory = tmp_path_factory.mktemp("progress") / "run"
    settings = (*SETTINGS, "selfplay.cycles=4", "progress.games=2")
    assert train("gardner-laptop", run=directory, overrides=settings, smoke=True).reason == "complete"
    return directory


# -- pairings ---------------------------------------------------------------------------------------------------------


def test_a_larger_choice_of_checkpoints_holds_the_smaller_ones() -> None:
    cycles = [0, 10, 20, 30, 40, 50, 60, 70, 77, 78, 79, 80]
    choices = [choose_checkpoints(cycles, 78, count) for count in range(2, 15)]
    assert choices[0] == choices[1] == [0, 78, 80]
    assert choices[6] == [0, 10, 20, 30, 40, 60, 78, 80]
    assert all(set(small) <= set(large) for small, large in pairwise(choices))
    assert choices[-1] == cycles
    assert choose_checkpoints([0], 0, 8) == [0]


def test_neighbours_the_champion_and_rungs_play() -> None:
    pairs = pairings([0, 10, 20, 30, 40], 30, 64)
    assert len(pairs) == len(set(pairs))
    met = {(first.cycle, second.cycle) for first, second in pairs if second.cycle is not None}
    neighbours = {(0, 10), (10, 20), (20, 30), (30, 40), (0, 20), (10, 30), (20, 40)}
    assert met == neighbours | {(0, 30), (30, 30)}
    against = {
        (first.cycle, second.name) for first, second in pairs if second.cycle is None and first.cycle is not None
    }
    assert against == {
        (cycle, other) for cycle in (0, 10, 20, 30, 40) for other in ("random", "heuristic-1 (64 visits)")
    }
    assert {(first.key, second.key) for first, second in pairs if first.cycle is None} == {
        ("random", "heuristic-1"),
        ("heuristic-1", "heuristic-4"),
        ("heuristic-4", "heuristic-16"),
        ("heuristic-16", "heuristic-64"),
    }
    assert [player.visits for player in fixed_players(100)] == [0, 1, 4, 16, 64, 256]
    assert fixed_players(10**6)[-1].visits == 1024


# -- games that are kept ----------------------------------------------------------------------------------------------


def test_only_what_is_missing_is_played_and_the_same_games_whatever_else_is(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    cost = play_missing(whole, "gardner", PAIRS, OPENINGS, open_player)
    assert (cost.games, cost.missing) == (10, 0)
    assert play_missing(whole, "gardner", PAIRS, OPENINGS, open_player).games == 0
    # The same in three calls: one pair, one opening, all
    assert play_missing(parts, "gardner", PAIRS[:1], OPENINGS, open_player).games == 4
    assert play_missing(parts, "gardner", PAIRS, OPENINGS[:1], open_player).games == 3
    assert play_missing(parts, "gardner", PAIRS, OPENINGS, open_player).games == 3
    assert texts(parts) == texts(whole)
    # What stands in the files
    games = curve.read_games_of(whole, "gardner")
    assert len(games) == 10
    assert {game.opening for game in games} == set(OPENINGS)
    assert sum((game.white, game.black) == ("heuristic-1", "random") for game in games) == 2
    for game in read_games(whole / "random_heuristic-1.pgn"):
        assert {game.headers["White"], game.headers["Black"]} == {"random", "heuristic-1 (1 visit)"}
        assert (game.headers["White"] == "random") == (int(game.headers["Round"]) % 2 == 0)
    (whole / "notes.pgn").write_text("mine")
    (whole / "a_b_c.pgn").write_text("mine")
    assert curve.read_games_of(whole, "gardner") == games


def test_when_it_is_stopped_the_games_that_are_over_are_kept(tmp_path: Path) -> None:
    folder, heard = tmp_path / "progress", [0]

    def tell(done: int, games: int) -> None:
        heard.append(done)

    cost = play_missing(
        folder, "gardner", PAIRS, OPENINGS, open_player, stopping=lambda: heard[-1] > 0, tell=tell, lanes=1
    )
    assert cost.missing == 10 - cost.games
    assert len(curve.read_games_of(folder, "gardner")) == cost.games
    rest = play_missing(folder, "gardner", PAIRS, OPENINGS, open_player)
    assert (rest.games, rest.missing) == (cost.missing, 0)


def test_games_are_kept_when_playing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfmate.match.runner.POLL_SECONDS", 0.0)
    done = 0

    def fail(over: int, games: int) -> None:
        nonlocal done
        done = over
        if over:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_missing(tmp_path, "gardner", PAIRS, OPENINGS, open_player, tell=fail)
    assert len(curve.read_games_of(tmp_path, "gardner")) == done > 0


# -- the scale --------------------------------------------------------------------------------------------------------


def games_between(first: str, second: str, wins: int, draws: int, losses: int) -> list[CurveGame]:
    found = []
    for number in range(2 * (wins + draws + losses)):
        place, swapped = number // 2, number % 2
        result = "1-0" if place < wins else "1/2-1/2" if place < wins + draws else "0-1"
        sides = (second, first) if swapped else (first, second)
        found.append(CurveGame(*sides, str(place), result[::-1] if swapped and result[1] == "-" else result))
    return found


def test_one_scale_with_random_at_zero() -> None:
    weak, strong = checkpoint(0, 4).key, checkpoint(9, 4).key
    games = [
        *games_between("heuristic-1", "random", 30, 0, 10),
        *games_between("heuristic-4", "heuristic-1", 20, 0, 20),
        *games_between(weak, "random", 20, 0, 20),
        *games_between(strong, "heuristic-4", 30, 0, 10),
        *games_between(strong, weak, 36, 0, 4),
    ]
    scale = fit_scale(games, 4)
    elo = {key: rating.elo for key, rating in scale.players.items()}
    assert elo["random"] == 0
    assert elo["heuristic-1"] == pytest.approx(190, abs=40)
    assert elo["heuristic-4"] == pytest.approx(elo["heuristic-1"], abs=5)
    assert elo[strong] - elo["heuristic-4"] == pytest.approx(190, abs=40)
    assert scale.reference.key == "heuristic-4"
    assert scale.players["heuristic-4"].error == 0 < scale.players[strong].error < scale.players[weak].error + 100
    # A player that games do not connect with the others is not on the scale.
    alone = [*games, *games_between("00003-4", "00004-4", 1, 0, 0)]
    assert fit_scale(alone, 4).players.keys() == scale.players.keys()
    with pytest.raises(SelfmateError, match=r"too few games to fit a scale: none with heuristic-1 \(64 visits\)"):
        fit_scale(games, 64)


def test_the_ladder_holds_the_scale() -> None:
    """Few games with two of its rungs place a checkpoint among all of them, engines included."""
    key, ladder = checkpoint(9, 64).key, curve.ladder_results("gardner")
    games = [*games_between(key, "heuristic-64", 20, 0, 20), *games_between("heuristic-64", "heuristic-16", 30, 0, 10)]
    scale, shipped = fit_scale(games, 64, ladder), read_calibration("gardner").elo
    assert scale.players[key].elo == pytest.approx(shipped["heuristic-1 (64 visits)"], abs=40)
    assert scale.players["fairy 1k"].elo == pytest.approx(shipped["fairy 1k"], abs=40)
    assert scale.players["random"].elo == 0
    assert fit_scale(games, 64).players.keys() == {key, "heuristic-64", "heuristic-16"}


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_plays_once_and_draws(trained: Path, tmp_path: Path, run: Run) -> None:
    directory = tmp_path / "run"
    shutil.copytree(trained, directory)
    before = (directory / "state.json").read_bytes()
    command = ("progress", str(directory), "--checkpoints", "3", "--games", "4", "--visits", "2")
    code, out, said = run(*command)
    assert code == 0
    assert "games in" in said
    for text in ("untrained", "cycle 4 (champion)", "heuristic-1 (4 visits)", "itself", "with White", "random is 0"):
        assert text in out
    # The same again only draws; it does not touch what the run has committed
    files = texts(directory / "progress")
    code, out, said = run(*command, "--json", "--x", "minutes")
    assert (code, said) == (0, "")
    assert texts(directory / "progress") == files
    assert (directory / "state.json").read_bytes() == before
    report = json.loads(out)
    points = {each["cycle"]: each for each in report["checkpoints"]}
    assert points.keys() == {0, 2, 4}
    assert points[4]["champion"]
    assert (points[0]["games"], points[2]["games"], points[4]["games"]) == (0, 16, 32)
    assert points[4]["steps"] > points[2]["steps"] > 0
    assert report["games"] == len(curve.read_games_of(directory / "progress", "gardner", 2))
    assert all(each["error"] > 0 for each in points.values())
    # The picture: a curve with a band and the losses, in the file and on the page
    picture = ET.parse(directory / "progress/progress.svg")
    words = " ".join(picture.getroot().itertext())
    assert all(
        text in words for text in ("minutes of training", "Loss of the policy", "held out", "heuristic-1 (1 visit)")
    )
    page = (directory / "progress/progress.html").read_text()
    assert (directory / "progress/progress.svg").read_text().strip() in page
    # More checkpoints: only new games
    code, out, said = run(*command[:3], "5", *command[4:], "--csv")
    assert code == 0
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(out))}
    called = ["untrained", "cycle 1", "cycle 2", "cycle 3", "cycle 4"]
    assert list(rows)[:6] == [*(f"run {each} (2 visits)" for each in called), "random"]
    assert {"heuristic-1 (1 visit)", "heuristic-1 (4 visits)"} <= rows.keys()
    assert rows["run cycle 2 (2 visits)"]["games"] == "16"
    assert rows["random"]["elo"] == "0.0"
    assert all(set(games) <= set(texts(directory / "progress")[name]) for name, games in files.items())
    # Nothing is played with --games 0
    files = texts(directory / "progress")
    assert run(*command[:3], "5", "--games", "0", "--visits", "2")[0] == 0
    assert texts(directory / "progress") == files


def test_scores_by_colour_are_those_of_the_games(trained: Path, tmp_path: Path, run: Run) -> None:
    directory = tmp_path / "run"
    shutil.copytree(trained, directory)
    code, out, _ = run("progress", str(directory), "--checkpoints", "2", "--games", "6", "--visits", "2", "--json")
    assert code == 0
    matches = {(each["first"], each["second"]): each for each in json.loads(out)["matches"]}
    played = list(read_games(directory / f"progress/{checkpoint(0, 2).key}_{checkpoint(4, 2).key}.pgn"))
    assert len(played) == 6
    own, other = "run cycle 4 (2 visits)", "run untrained (2 visits)"
    white = [game.result for game in played if game.headers["White"] == own]
    black = [game.result for game in played if game.headers["Black"] == own]
    assert matches[own, other]["white"]["wins"] == white.count("1-0")
    assert matches[own, other]["black"]["wins"] == black.count("0-1")
    assert matches[own, other]["score"] == pytest.approx(1 - matches[other, own]["score"])
    assert matches[own, own]["games"] == 3  # each opening once
    assert matches[own, own]["black"] == {"wins": 0, "draws": 0, "losses": 0}


def test_a_colour_without_games_has_no_score(trained: Path) -> None:
    # An interrupted run: one game against random, won with Black, and one against the strongest fixed player, lost.
    manifest, state = read_run(trained)
    own, strongest = checkpoint(state.champion, 2).key, fixed_players(2)[-1]
    games = [CurveGame(RANDOM.key, own, "x", "0-1"), CurveGame(own, strongest.key, "x", "0-1")]
    report = make_report(trained, manifest, state, read_metrics(trained, state), games, 2)
    rows = {name: cells for name, *cells in report.colour_rows()[1:]}
    assert rows["random"] == ["", "100.0 %", "100.0 %", "1", "0", "0"]
    assert rows[strongest.name] == ["0.0 %", "", "0.0 %", "0", "0", "1"]
    assert "<tr><td>random</td><td></td><td>100.0 %</td>" in report.page("games")


def test_a_net_has_one_name_wherever_it_plays(trained: Path, tmp_path: Path, run: Run) -> None:
    directory, pgn = tmp_path / "mine", tmp_path / "arena.pgn"
    shutil.copytree(trained, directory)
    assert run("progress", directory, "--checkpoints", "2", "--games", "2", "--visits", "2").code == 0
    players = (f"{directory}:4", f"{directory}/checkpoints/00000", "heuristic-1?visits=4", "random")
    code, out, _ = run("arena", *players, "--visits", "2", "--games", "2", "--pgn", pgn, "--json")
    assert code == 0
    # A copy has the name of the first directory.
    names = ["run cycle 4 (2 visits)", "run untrained (2 visits)", "heuristic-1 (4 visits)", "random"]
    assert [each["label"] for each in json.loads(out)["players"]] == names
    rated = json.loads(run("rate", pgn, "--json").out)["players"]
    assert {each["player"] for each in rated} == set(names)
    fresh = directory / "progress" / f"{checkpoint(0, 2).key}_{checkpoint(4, 2).key}.pgn"
    assert {each["player"] for each in json.loads(run("rate", fresh, "--json").out)["players"]} == set(names[:2])
    report = json.loads(run("progress", directory, "--games", "0", "--visits", "2", "--json").out)
    assert set(names) <= {each["name"] for each in (*report["checkpoints"], *report["rungs"])}


def test_ctrl_c_before_there_are_games_enough_says_how_to_resume(
    trained: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(trained, tmp_path / "run", ignore=shutil.ignore_patterns("progress"))
    monkeypatch.setattr(Interrupt, "__call__", lambda self: True)
    done = run("progress", tmp_path / "run", "--games", "2", "--visits", "2")
    assert done.code == 130
    assert "still to be played: run the same command again to resume" in done.err
    assert "too few games" not in done.err


def test_bad_input_is_one_line(trained: Path, tmp_path: Path, run: Run) -> None:
    for arguments, reason in (
        ((str(tmp_path),), "not a run directory: it has no manifest.json"),
        ((str(trained), "--games", "3"), "--games: every opening is played twice, so 3 is not possible; 2 or 4 is"),
        ((str(trained), "--x", "days"), "--x: unknown axis 'days'; use one of games, positions, steps, minutes"),
        ((str(trained), "--json", "--csv"), "cannot be combined"),
        ((str(trained), "--games", "0", "--visits", "7"), "too few games to fit a scale"),
        ((str(trained), "--checkpoints", "1"), "--checkpoints"),
    ):
        code, out, said = run("progress", *arguments)
        assert (code, out) == (2, "")
        assert reason in said
        assert len(said.splitlines()) == 1


# -- in the loop ------------------------------------------------------------------------------------------------------


def lines_of(directory: Path) -> list[dict[str, Any]]:
    return [line for line in read_metrics(directory, read_run(directory)[1]) if line["stage"] == "progress"]


def test_the_loop_measures_itself_at_a_set_pace(trained: Path) -> None:
    first, second = lines_of(trained)
    assert [(line["cycle"], line["champion"], line["visits"]) for line in (first, second)] == [(1, 2, 2), (3, 4, 2)]
    # Cycle 2 with the strongest fixed player; then cycle 4 with it and with cycle 2. Their games are in the ladder.
    assert (first["games"], second["games"]) == (2, 4)
    assert {path.name for path in (trained / "progress").iterdir()} == {
        "00002-2_heuristic-4.pgn",
        "00002-2_00004-2.pgn",
        "00004-2_heuristic-4.pgn",
    }
    ladder = curve.ladder_results("gardner")
    scale = fit_scale(curve.read_games_of(trained / "progress", "gardner", 2), 2, ladder)
    assert second["elo"] == scale.players[checkpoint(4, 2).key].elo
    assert second["error"] > 0
    assert second["evaluations"] > 0


def test_measuring_changes_nothing_else_and_can_be_stopped(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, stops = tmp_path / "run", 0
    real = curve.play_missing

    def stopped(*arguments: Any, **options: Any) -> Any:
        nonlocal stops
        stops += 1
        if stops > 1:
            return real(*arguments, **options)
        return real(*arguments, **{**options, "stopping": lambda: True})

    def settings(games: int) -> tuple[str, ...]:
        return (*SETTINGS, "selfplay.cycles=4", f"progress.games={games}")

    # 1. Stopped while it measures: the cycle is not over, and the same call goes on with it
    monkeypatch.setattr(curve, "play_missing", stopped)
    monkeypatch.setattr(Stop, "__call__", lambda self: self.asked or stops == 1)
    assert train("gardner-laptop", run=directory, overrides=settings(2), smoke=True).cycle == 1
    assert not lines_of(directory)
    monkeypatch.undo()
    assert train("gardner-laptop", run=directory, overrides=settings(2), smoke=True).reason == "complete"
    assert texts(directory / "progress") == texts(trained / "progress")
    elos = [line["elo"] for line in lines_of(trained)]  # the last digit depends on the threads that solve them
    assert [line["elo"] for line in lines_of(directory)] == pytest.approx(elos, rel=1e-9)
    # 2. What was learned is the same without it
    plain = tmp_path / "plain"
    assert train("gardner-laptop", run=plain, overrides=settings(0), smoke=True).reason == "complete"
    assert not (plain / "progress").exists()

    def learned(where: Path) -> list[Any]:
        state = msgspec.json.decode((where / "state.json").read_bytes(), type=State)
        return [each.files for each in state.checkpoints]

    assert learned(plain) == learned(directory) == learned(trained)


def test_when_the_time_is_over_nothing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stop, "late", lambda self: self.deadline is not None)
    monkeypatch.setattr(Stop, "__call__", lambda self: self.asked)
    settings = (*SETTINGS, "selfplay.cycles=2", "progress.every=1")
    assert train("gardner-laptop", run=tmp_path / "run", minutes=9, overrides=settings, smoke=True).cycle == 2
    assert not (tmp_path / "run/progress").exists()


def test_a_measurement_that_runs_out_of_time_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cycle is complete without it, and its net is champion."""
    real = curve.play_missing

    def late(*arguments: Any, **options: Any) -> Any:
        options["stopping"].deadline = 0.0
        return real(*arguments, **options)

    monkeypatch.setattr(curve, "play_missing", late)
    settings = (*SETTINGS, "selfplay.cycles=4", "progress.every=1", "progress.games=2")
    summary = train("gardner-laptop", run=tmp_path / "run", minutes=9, overrides=settings, smoke=True)
    assert (summary.reason, summary.cycle) == ("time", 1)
    assert not lines_of(tmp_path / "run")
    state = msgspec.json.decode((tmp_path / "run/state.json").read_bytes(), type=State)
    assert state.champion == 1


def test_the_view_says_what_was_measured() -> None:
    measured = MeasuredElo(cycle=10, elo=512.4, error=40.2, games=60, seconds=3.6)
    status = TrainingStatus(cycle=10, games=2560, measured_elo=measured)
    done = CompletedCycle(9, 2560, 0, None, None, 0.0, 0.0)  # ten cycles with the first one, 0
    assert PlainView(status).line(done) == "cycle 9: 2,560 games, untrained, Elo 512 ± 40 (60 games in 4 s)"
    assert ("Elo", "512 ± 40 (60 games in 4 s), cycle 10") in _rows(status)
    assert "Elo" not in PlainView(status).line(done._replace(cycle=10))
