"""The ladder: adaptive pairing, ratings with intervals that hold, resumed files; its engines have another file."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.progress import Progress

from command import Run
from selfmate import Position, SelfmateError, read_games
from selfmate._core import VARIANTS
from selfmate.ladder import adaptive_pairing, calibration, ladder, reference_engines
from selfmate.ladder import plot as ladder_plot
from selfmate.ladder.options import LadderOptions
from selfmate.ladder.players import LadderPlayer, ladder_players
from selfmate.ladder.report import rating_line
from selfmate.match.match_file import GameEntry
from selfmate.match.schedule import ScheduledGame
from selfmate.match.spec import on_device, read_contestant
from selfmate.rating.elo import fit, tally
from selfmate.rating.match_stats import score_of_elo
from selfmate.search.limit import Limit
from selfmate.search.spec import label
from selfmate.util.signals import Interrupt

OURS = (sys.executable, "-m", "selfmate", "uci")
SHIPPED = sorted(
    path.stem for path in Path(calibration.__file__).with_name("data").glob("*.json") if path.stem != "perft"
)


@pytest.fixture
def run(run: Run) -> Run:
    """Run `selfmate ladder`."""
    return partial(run, "ladder")


@contextlib.contextmanager
def quiet() -> Iterator[Progress]:
    """A progress bar that is not shown."""
    yield Progress(disable=True)


def questions(variant: str) -> list[tuple[str, int]]:
    """Positions and nodes of fingerprints."""
    return [
        (fen, limit)
        for fen, _, _ in reference_engines.known_counts(variant)
        for limit in reference_engines.FINGERPRINT_NODES
    ]


# -- adaptive pairing -------------------------------------------------------------------------------------------------


def test_the_nearest_opponent_is_chosen_and_the_certain_one_before_the_uncertain_one() -> None:
    mean = np.array([500.0, 0.0, 480.0, 900.0, 520.0])
    covariance = np.diag([100.0, 0.0, 10.0, 10.0, 200.0]) ** 2
    pairings = [(0, player) for player in range(1, 5)]
    chosen = adaptive_pairing.choose_pairings(mean, covariance, pairings, [1.0] * 4, [0], pairs=3)
    assert chosen == [1, 1, 1]


def test_a_slow_opponent_is_left_for_a_quick_one() -> None:
    mean, covariance = np.array([500.0, 500.0, 560.0]), np.diag([100.0, 10.0, 10.0]) ** 2
    pairings = [(0, 1), (0, 2)]
    assert adaptive_pairing.choose_pairings(mean, covariance, pairings, [1.0, 1.0], [0], pairs=1) == [0]
    assert adaptive_pairing.choose_pairings(mean, covariance, pairings, [9.0, 1.0], [0], pairs=1) == [1]
    assert adaptive_pairing.choose_pairings(mean, covariance, pairings, [50.0, 50.0], [0], pairs=8, budget=120.0) == [
        0,
        0,
    ]


def test_when_one_opponent_informs_no_more_others_are_chosen() -> None:
    # Both opponents are uncertain: many games against one of them do not make the distance to the anchor certain.
    mean, covariance = np.array([500.0, 500.0, 500.0]), np.diag([300.0, 60.0, 60.0]) ** 2
    chosen = adaptive_pairing.choose_pairings(mean, covariance, [(0, 1), (0, 2)], [1.0, 1.0], [0], pairs=40)
    assert 15 <= chosen.count(0) <= 25


def test_far_opponents_are_chosen_only_when_there_is_no_other() -> None:
    mean, covariance = np.array([0.0, 700.0, 300.0]), np.diag([20.0, 0.0, 0.0]) ** 2
    assert adaptive_pairing.choose_pairings(mean, covariance, [(0, 1), (0, 2)], [0.1, 1.0], [0], pairs=1) == [1]
    assert adaptive_pairing.choose_pairings(mean, covariance, [(0, 1)], [1.0], [0], pairs=1) == [0]


def test_a_gap_is_bridged_although_its_games_tell_little() -> None:
    # Two groups, each of them certain in itself: only a game between them says where the upper one is.
    mean = np.array([0.0, 100.0, 800.0, 900.0])
    common = np.array([0.0, 0.0, 500.0, 500.0])
    covariance = np.outer(common, common) + np.diag([0.0, 20.0, 20.0, 20.0]) ** 2
    pairings = [(0, 1), (1, 2), (2, 3), (0, 3)]
    assert adaptive_pairing.choose_pairings(mean, covariance, pairings, [1.0] * 4, range(4), pairs=1) == [1]


TRUE = {
    "random": 0.0,
    "heuristic-1 (1 visit)": 250.0,
    "heuristic-1 (4 visits)": 420.0,
    "heuristic-1 (16 visits)": 600.0,
    "heuristic-1 (64 visits)": 850.0,
}
TRUE |= {"fairy 1": 750.0, "fairy 10": 900.0, "fairy 100": 1150.0, "fairy 1k": 1450.0, "fairy 10k": 1750.0}


def simulated_result(difference: float, chance: random.Random) -> str:
    """Draw a result: a third of the games between equals are drawn."""
    score = score_of_elo(difference)
    draw = 4 / 3 * score * (1 - score)
    point = chance.random()
    return "1-0" if point < score - draw / 2 else "1/2-1/2" if point < score + draw / 2 else "0-1"


def simulated_calibration(chance: random.Random, games: int = 60) -> calibration.Calibration:
    """Return the calibration of a simulated ladder: each player met the next two."""
    names = sorted(TRUE, key=lambda name: TRUE[name])
    played = []
    for index, first in enumerate(names):
        for second in names[index + 1 : index + 3]:
            for white, black in ((first, second), (second, first)) * (games // 2):
                played.append((white, black, simulated_result(TRUE[white] - TRUE[black], chance)))
    return calibration.calibrate(
        tally(played), variant="gardner", measured="2026-01-01", command="", engines={}, note="simulated"
    )


def simulate(monkeypatch: pytest.MonkeyPatch, path: Path, true: float, seed: int) -> list[GameEntry]:
    """Let `selfmate.ladder.ladder.rate` play against chance; gives the list into which the games go."""
    chance = random.Random(seed)
    calibration.write_calibration(path, simulated_calibration(chance))
    entries: list[GameEntry] = []

    def play(
        plan: Any, players: Any, file: Any, *, games: Sequence[ScheduledGame], before: Sequence[GameEntry], **_: Any
    ) -> SimpleNamespace:
        strength = [true, *(TRUE[label] for label in plan.labels[1:])]
        entries[:] = before
        for game in games:
            entries.append(
                GameEntry(
                    number=game.number,
                    white=game.white,
                    black=game.black,
                    result=simulated_result(strength[game.white] - strength[game.black], chance),
                    reason="",
                    fault=None,
                    plies=1,
                )
            )
        return SimpleNamespace(entries=tuple(entries), unavailable={})

    engine = reference_engines.ReferenceEngine(("true",), "Simulated")
    monkeypatch.setattr(adaptive_pairing, "play", play)
    monkeypatch.setattr(ladder, "balanced_openings", lambda variant, count, seed: ["x"] * count)
    monkeypatch.setattr(ladder, "find_fairy", lambda variant, command, notice, known: engine)
    return entries


def test_the_rating_is_found_and_its_interval_holds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path, held, near, games = tmp_path / "spacing.json", 0, 0, 0
    truths = (300.0, 700.0, 1000.0, 1500.0)
    runs = [(true, seed) for true in truths for seed in range(6)]
    for true, seed in runs:
        entries = simulate(monkeypatch, path, true, seed)
        report = ladder.rate(
            LadderOptions(net="heuristic-1", variant="gardner", games=100, error=1, spacing=path), quiet
        )
        assert report.rating is not None
        assert report.rating.games == 100
        assert 20 < report.rating.error < report.rating.full_error < 200
        held += abs(report.rating.elo - true) <= report.rating.full_error
        names = ["", *TRUE]
        assert len({entry.number for entry in entries}) == len(entries)
        for name, match in report.matches.items():
            assert name in names
            games += match.games
            near += match.games * (abs(TRUE[name] - true) < 300)
    assert held >= 20  # of 24; with intervals of 95 % fewer would be a case of one in 150
    assert near > 0.6 * games  # a third of the opponents are that near


def test_it_stops_when_the_rating_is_certain_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "spacing.json"
    simulate(monkeypatch, path, 800.0, seed=1)
    options = LadderOptions(net="heuristic-1", variant="gardner", games=1000, error=60, spacing=path)
    report = ladder.rate(options, quiet)
    assert report.rating is not None
    assert report.rating.error <= 60
    assert 40 < report.rating.games < 250
    again = ladder.rate(replace(options, minutes=1e-9), quiet)
    assert again.rating is None
    assert "no pair of games was finished" in rating_line(again)


def test_the_time_of_the_player_itself_is_reckoned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path, reckoned = tmp_path / "spacing.json", []
    simulate(monkeypatch, path, 800.0, seed=1)

    def stop(plan: Any, players: Any, file: Any, design: adaptive_pairing.PairingDesign, **_: Any) -> Any:
        reckoned.append(dict(zip(plan.labels[1:], design.seconds, strict=True)))
        return (), {}

    monkeypatch.setattr(ladder, "play_adaptively", stop)
    options = LadderOptions(net="heuristic-1", variant="gardner", spacing=path)
    for limited in (replace(options, visits=8), replace(options, movetime=100), replace(options, movetime=1000)):
        ladder.rate(limited, quiet)
    quick, slow = zip(*((each["fairy 1"], each["fairy 10k"]) for each in reckoned), strict=True)
    assert quick == pytest.approx((0.5, 3.5, 30.5), abs=0.01)
    # For a slow player a slow opponent costs little more than a quick one.
    assert slow[0] > 2 * quick[0]
    assert slow[2] < 1.1 * quick[2]


def test_who_wins_every_game_has_only_a_bound(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "spacing.json"
    simulate(monkeypatch, path, 9000.0, seed=1)
    report = ladder.rate(LadderOptions(net="heuristic-1", variant="gardner", games=40, spacing=path), quiet)
    assert report.rating is not None
    assert report.rating.sweep == 1
    line, values = rating_line(report), report.as_json()
    assert line.endswith("on this ladder; it won all of 40 games.")
    assert int(line.split("above ")[1].split()[0]) == pytest.approx(values["low"], abs=1)
    # A bound is no rating, and gives no expected scores.
    assert [values[name] for name in ("elo", "error", "full_error", "high")] == [None] * 4
    assert {player["expected"] for player in values["rungs"]} == {None}
    assert report.matches["fairy 10k"].games >= 12
    ElementTree.fromstring(ladder_plot.draw(report))


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A ladder without engines, with results made by hand."""
    path = tmp_path / "small.json"
    results = {
        ("random", "heuristic-1 (1 visit)"): (0, 20, 80),
        ("heuristic-1 (1 visit)", "random"): (80, 20, 0),
        ("heuristic-1 (1 visit)", "heuristic-1 (16 visits)"): (20, 30, 50),
        ("heuristic-1 (16 visits)", "heuristic-1 (1 visit)"): (50, 30, 20),
    }
    calibration.write_calibration(
        path,
        calibration.calibrate(
            results, variant="gardner", measured="2026-01-01", command="by hand", engines={}, note="none"
        ),
    )
    return path


def test_a_rating_is_resumed_where_it_was_stopped(run: Run, small: Path, tmp_path: Path) -> None:
    pgn, plot = tmp_path / "games.pgn", tmp_path / "rating.svg"
    player = ("heuristic-1", "--variant", "gardner", "--visits", "8", "--without-engine")
    arguments = (*player, "--spacing", small, "--pgn", pgn, "--error", "1", "--json")
    # 1. A rating, and its report.
    code, out, _ = run(*arguments, "--games", "10", "--plot", plot)
    assert code == 0
    first = json.loads(out)
    assert (first["player"], first["games"], first["scale"]) == ("heuristic-1 (8 visits)", 10, "random = 0")
    assert sum(player["games"] for player in first["rungs"]) == 10
    assert [player["name"] for player in first["rungs"]] == [
        "random",
        "heuristic-1 (1 visit)",
        "heuristic-1 (16 visits)",
    ]
    assert {player["name"]: player["rating"] for player in first["rungs"]} == calibration.read_calibration(
        "gardner", small
    ).elo
    before = pgn.read_text(encoding="utf-8")
    assert "heuristic-1 (16 visits)" in plot.read_text(encoding="utf-8")
    # 2. Half of the last pair is lost; more games are asked for.
    cut = before[: before.rindex("[Event ")]
    pgn.write_text(cut, encoding="utf-8")
    code, out, _ = run(*arguments, "--games", "16")
    assert code == 0
    assert json.loads(out)["games"] == 16
    text = pgn.read_text(encoding="utf-8")
    assert text.startswith(cut)
    rounds = [int(game.headers["Round"]) for game in read_games(pgn)]
    assert len(set(rounds)) == 16
    assert {number ^ 1 for number in rounds} == set(rounds)
    # 3. Enough was played; other settings are refused.
    code, out, _ = run(*arguments, "--games", "16")
    assert (code, json.loads(out)["games"]) == (0, 16)
    assert pgn.read_text(encoding="utf-8") == text
    code, _, err = run(*arguments, "--games", "16", "--seed", "3")
    assert code == 2
    assert "started with seed 0, not 3" in err


def test_interrupted_it_tells_what_was_played(run: Run, small: Path, tmp_path: Path) -> None:
    class Pressed(Interrupt):
        """Ctrl-C, pressed when the third batch is to be chosen."""

        asked_so_often = 0

        def __call__(self) -> bool:
            Pressed.asked_so_often += 1
            return Pressed.asked_so_often > 2

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ladder, "Interrupt", Pressed)
        code, out, _ = run(
            "heuristic-1", "--variant", "gardner", "--visits", "2", "--without-engine", "--spacing", small,
            "--pgn", tmp_path / "games.pgn", "--games", "500", "--error", "1",
        )  # fmt: skip
    assert code == 130
    assert "Run the same command again to resume" in out


def test_a_table_for_people(run: Run, small: Path) -> None:
    code, out, _ = run(
        "heuristic-1", "--variant", "gardner", "--visits", "4", "--without-engine", "--spacing", small, "--games", "6"
    )
    assert code == 0
    assert "heuristic-1 (4 visits), gardner: " in out
    assert "rating ± 95 %" in out
    assert "a scale of our own, not that of people, of FIDE or of Lichess. With no engine." in out


def test_a_ladder_is_measured_and_used(run: Run, tmp_path: Path) -> None:
    path, pgn = tmp_path / "new.json", tmp_path / "new.pgn"
    left_out = [word for visits in (64, 256, 1024) for word in ("--leave-out", label("heuristic-1", visits))]
    code, out, _ = run(
        "--measure", "gardner", "--spacing", path, "--without-engine", *left_out, "--games", "120", "--pgn", pgn,
        "--note", "a test",
    )  # fmt: skip
    assert code == 0
    assert "heuristic-1 (16 visits)" in out
    spacing = calibration.read_calibration("gardner", path)
    assert {player.name for player in spacing.players} == {
        "random",
        "heuristic-1 (1 visit)",
        "heuristic-1 (4 visits)",
        "heuristic-1 (16 visits)",
    }
    assert spacing.players[0].name == "random"
    assert spacing.elo["heuristic-1 (16 visits)"] > spacing.elo["heuristic-1 (1 visit)"] > 50
    assert sum(sum(counts) for counts in spacing.games().values()) == 120 == len(list(read_games(pgn)))
    assert spacing.note == "a test"
    code, out, _ = run(
        "heuristic-1", "--variant", "gardner", "--visits", "4", "--without-engine", "--spacing", path, "--games", "4"
    )
    assert code == 0


def test_an_engine_of_the_ladder_plays(run: Run, tmp_path: Path) -> None:
    """Our own engine stands in for Fairy-Stockfish."""
    path = tmp_path / "spacing.json"
    calibration.write_calibration(path, simulated_calibration(random.Random(1)))
    code, out, err = run(
        "heuristic-1", "--variant", "gardner", "--visits", "8", "--engine", " ".join(OURS), "--spacing", path,
        "--games", "4",
        *(word for name in TRUE if name != "fairy 1" for word in ("--leave-out", name)), "--json",
    )  # fmt: skip
    assert code == 0, err
    report = json.loads(out)
    assert report["engines"]["fairy"].startswith("Selfmate")
    assert next(player for player in report["rungs"] if player["name"] == "fairy 1")["games"] == 4
    assert (report["faults"], report["out"]) == ({}, {})


def test_a_ladder_keeps_the_answers_of_its_engine(run: Run, tmp_path: Path) -> None:
    path, engine = tmp_path / "new.json", ("--engine", " ".join(OURS))
    left_out = [
        word
        for player in ladder_players("gardner")
        if player.name not in ("random", "heuristic-1 (1 visit)", "fairy 1")
        for word in ("--leave-out", player.name)
    ]
    code, _, err = run("--measure", "gardner", "--spacing", path, *engine, *left_out, "--games", "40")
    assert code == 0, err
    answers = calibration.read_calibration("gardner", path).fingerprints
    assert [(each.fen, each.limit) for each in answers] == questions("gardner")
    rate = ("heuristic-1", "--variant", "gardner", "--visits", "8", *engine, "--spacing", path, "--games", "2")
    code, out, err = run(*rate)
    assert code == 0, err
    assert "; Fairy-Stockfish was checked to be the same player." in " ".join(out.split())
    # Older files have no fingerprints, and the report says so.
    text = path.read_text(encoding="utf-8")
    begin, end = text.index('  "answers"'), text.index('  "rungs"')
    path.write_text(text[:begin] + text[end:], encoding="utf-8")
    code, out, err = run(*rate)
    assert code == 0, err
    assert "so Fairy-Stockfish was not checked to be the same player." in " ".join(out.split())


def test_an_engine_that_fails_does_not_make_a_rating(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "spacing.json"
    simulate(monkeypatch, path, 800.0, seed=3)
    simulated: Callable[..., Any] = vars(adaptive_pairing)["play"]

    def play(*arguments: Any, **more: Any) -> SimpleNamespace:
        report = simulated(*arguments, **more)
        failing = arguments[0].labels.index("fairy 1")
        entries = [
            replace(entry, result="1-0", fault="crash") if entry.black == failing else entry for entry in report.entries
        ]
        return SimpleNamespace(entries=tuple(entries), unavailable={})

    monkeypatch.setattr(adaptive_pairing, "play", play)
    report = ladder.rate(LadderOptions(net="heuristic-1", variant="gardner", games=80, error=1, spacing=path), quiet)
    assert report.rating is not None
    assert report.rating.games == 80
    assert "fairy 1" not in report.matches
    assert report.faults["crash"] >= 3
    assert "crash" in report.unavailable["fairy 1"]


def test_a_net_on_a_clock_chooses_its_backend_on_a_cpu() -> None:
    net = read_contestant("gardner-laptop", Limit(seconds=0.02))
    assert on_device(net, "cpu") == net
    engine = on_device(net, "cuda").engine
    assert engine is not None
    assert ("Backend", "cuda") in engine.options


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((), "NET, or --measure VARIANT, or --build-engine"),
        (("heuristic-1", "--build-engine"), "one of them"),
        (("heuristic-1", "--without-engine", "--variant", "nope"), "unknown variant 'nope'"),
        (("--measure", "nope", "--spacing", "s.json"), "unknown variant 'nope'"),
        (("--measure", "gardner"), "needs --spacing FILE"),
        (("heuristic-1", "--variant", "nonsense"), "nonsense"),
        (("heuristic-1", "--engine", "x", "--without-engine"), "cannot be combined"),
        (("heuristic-1", "--variant", "gardner", "--visits", "8", "--movetime", "50"), "cannot be combined"),
        (("heuristic-1", "--variant", "gardner", "--without-engine", "--leave-out", "level 9"), "'level 9'"),
        (("heuristic-1", "--variant", "gardner", "--engine", "no-such-program"), "there is no such program"),
        (("heuristic-1", "--variant", "gardner", "--plot", "rating.gif"), ".svg or .png"),
        (("heuristic-1", "--variant", "gardner", "--games", "301"), "so 301 is not possible; 300 or 302 is"),
        (("heuristic-1", "--variant", "gardner", "--spacing", "/nowhere/x.json"), "no such folder"),
        (("uci:true?nodes=1",), "an engine needs --variant"),
        (("gardner-laptop", "--variant", "atomic"), "gardner"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run: Run, arguments: tuple[str, ...], part: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert part in err


def test_files_with_the_names_of_earlier_versions_are_read(run: Run, small: Path, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    rate = (
        "heuristic-1",
        "--variant",
        "gardner",
        "--visits",
        "8",
        "--without-engine",
        "--spacing",
        small,
        "--pgn",
        pgn,
    )
    code, out, _ = run(*rate, "--games", "10", "--error", "1", "--json")
    assert code == 0
    for path in (small, pgn, Path(f"{pgn}.json")):
        text = path.read_text(encoding="utf-8")
        old = re.sub(r"heuristic-1 \((1|16) visits?\)", r"heuristic \1", text)
        assert old != text
        path.write_text(old, encoding="utf-8")
    code, again, _ = run(*rate, "--games", "10", "--error", "1", "--json")
    assert code == 0
    assert {**json.loads(again), "seconds": 0} == {**json.loads(out), "seconds": 0}


def test_a_player_of_the_ladder_can_be_rated_again(run: Run, small: Path) -> None:
    rate = ("heuristic-1", "--variant", "gardner", "--visits", "16", "--without-engine", "--spacing", small)
    code, out, _ = run(*rate, "--games", "4", "--json")
    assert (code, json.loads(out)["player"]) == (0, "heuristic-1 (16 visits) #2")
    code, _, err = run("heuristic-1?name=random", *rate[1:])
    assert (code, "is the name of a ladder player" in err) == (2, True)


def test_a_ladder_without_players_is_refused(run: Run, small: Path) -> None:
    all_players = [
        word
        for name in ("random", "heuristic-1 (1 visit)", "heuristic-1 (16 visits)")
        for word in ("--leave-out", name)
    ]
    code, _, err = run("heuristic-1", "--variant", "gardner", "--without-engine", "--spacing", small, *all_players)
    assert (code, err) == (2, "selfmate: no player of this ladder is left to play against\n")


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda text: "{", "not a measured ladder"),
        (lambda text: text.replace('"gardner"', '"atomic"'), "a ladder of atomic, not of gardner"),
        (lambda text: text.replace('"format": 1', '"format": 2'), "format 2, newer than format 1 of this version"),
        (lambda text: text.replace('["heuristic-1 (16 visits)"', '["unknown"'), "games and players do not match"),
        (
            lambda text: text.replace('"answers": []', '"answers": [["x\\nquit", 1, "a", "b", 1]]'),
            "not a measured ladder",
        ),
        (lambda text: text.replace('"answers": []', '"answers": [["x", 0, "a", "b", 1]]'), "not a measured ladder"),
    ],
)
def test_a_damaged_ladder_is_refused(run: Run, small: Path, change: Callable[[str], str], part: str) -> None:
    small.write_text(change(small.read_text(encoding="utf-8")), encoding="utf-8")
    code, _, err = run("heuristic-1", "--variant", "gardner", "--without-engine", "--spacing", small)
    assert code == 2
    assert part in err


# -- the picture ------------------------------------------------------------------------------------------------------


def test_the_picture_shows_every_player_and_escapes_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "spacing.json"
    simulate(monkeypatch, path, 800.0, seed=2)
    options = LadderOptions(net="heuristic-1", variant="gardner", games=60, error=1, spacing=path)
    report = ladder.rate(replace(options, net="heuristic-1?name=%3Cb%3E%26"), quiet)
    picture = ladder_plot.draw(report)
    root = ElementTree.fromstring(picture)
    texts = {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert set(TRUE) <= texts
    assert any(text and text.startswith("<b>&, gardner: ") for text in texts)
    circles = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(circles) == len(report.matches)


def test_a_png_needs_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("rsvg-convert"):
        ladder_plot.write_picture(
            tmp_path / "a.png", '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'
        )
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    with pytest.raises(SelfmateError, match="a PNG needs rsvg-convert"):
        ladder_plot.write_picture(tmp_path / "b.png", "<svg/>")


# -- what is shipped --------------------------------------------------------------------------------------------------


FAMILIES: dict[str, Callable[[LadderPlayer], int]] = {
    "heuristic": lambda player: player.limit.visits or 0,
    "fairy": lambda player: player.limit.nodes or 0,
    "level": lambda player: int(player.options[0][1]),
    "stockfish": lambda player: int(player.options[1][1]),
}
"""Ladder players of one kind, and what should make them stronger."""


def test_there_is_a_ladder_of_every_variant() -> None:
    assert sorted([*VARIANTS, "chess960", "atomic960"]) == SHIPPED


@pytest.mark.parametrize("variant", SHIPPED)
def test_a_shipped_ladder_makes_sense(variant: str) -> None:
    spacing = calibration.read_calibration(variant)
    known = {player.name: player for player in ladder_players(variant)}
    assert {player.name for player in spacing.players} <= set(known)
    assert spacing.command.startswith("selfmate ladder --measure")
    assert spacing.engines["fairy"]
    assert [(each.fen, each.limit) for each in spacing.fingerprints] == questions(variant)
    for each in spacing.fingerprints:
        position = Position(variant, each.fen)
        assert each.move in {position.uci(move) for move in position.legal_moves}
        assert each.score
        assert each.nodes > 0
    assert ("stockfish" in spacing.engines) == any("stockfish" in player.name for player in spacing.players)
    # 1. From the weakest to the strongest, with errors; only the anchor has none.
    ratings = [player.elo for player in spacing.players]
    assert ratings == sorted(ratings)
    for player in spacing.players:
        assert (player.error == 0) == (player.name == "random") == (player.elo == 0)
        assert player.error < 400
        assert player.games >= 8
    # 2. The ratings are those that its games say.
    ratings_now = fit(spacing.games(), anchors={"random": 0.0})
    fitted = {each.player: each for each in ratings_now.players}
    for player in spacing.players:
        assert fitted[player.name].elo == pytest.approx(player.elo, abs=0.06)
        assert fitted[player.name].error == pytest.approx(player.error, abs=0.06)
        assert fitted[player.name].games == player.games
    # 3. Within a kind more is stronger, but for what the errors of the difference allow, and the ends are far apart.
    place = {each.player: number for number, each in enumerate(ratings_now.players)}
    superior = ratings_now.los()
    for kind, size in FAMILIES.items():
        family = sorted((known[player.name] for player in spacing.players if player.name.startswith(kind)), key=size)
        for low, high in itertools.pairwise(family):
            assert superior[place[high.name], place[low.name]] > 0.001, (low.name, high.name)
        if family:
            assert superior[place[family[-1].name], place[family[0].name]] > 0.999, kind
            assert superior[place[family[-1].name], place["random"]] > 0.999, kind


@pytest.mark.engine
@pytest.mark.parametrize("variant", ["gardner", "atomic"])
def test_games_against_fairy_stockfish(variant: str, run: Run) -> None:
    try:
        reference_engines.find_fairy(variant, known=calibration.read_calibration(variant).fingerprints)
    except SelfmateError as error:
        pytest.skip(f"needs Fairy-Stockfish: selfmate ladder --build-engine ({error})")
    own = [word for player in ladder_players(variant) if player.kind == "own" for word in ("--leave-out", player.name)]
    slow = ["--leave-out", "fairy 1M", "--leave-out", "fairy 100k", "--leave-out", "level 8", "--leave-out", "level 7"]
    code, out, _ = run("heuristic-1", "--variant", variant, "--visits", "32", *own, *slow, "--games", "6", "--json")
    assert code == 0
    report = json.loads(out)
    assert report["games"] == 6
    assert (report["faults"], report["out"]) == ({}, {})
