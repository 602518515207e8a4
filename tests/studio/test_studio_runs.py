"""Training runs: what their files tell, and runs that are started, stopped and resumed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from selfmate.recipe.keys import KEYS
from selfmate.studio.run_files import MOST_POINTS, RunFiles, charts_of, log_of, trainer_of
from studio_server import StudioServer, studio_server

LINES: list[dict[str, Any]] = [
    {"stage": "play", "cycle": 0, "time": 2.0, "games": 10, "positions": 300, "plies": 30.0, "white": 0.5},
    {"stage": "learn", "cycle": 0, "time": 3.0, "held_out_policy": 2.5, "learned_policy": 2.25},
    {"stage": "progress", "cycle": 1, "time": 4.0, "elo": 120.0, "error": 40.0},
    {"stage": "play", "cycle": 1, "time": 5.0, "games": 10, "positions": 310, "plies": 31.0, "white": 0.25},
]


def test_curves_are_read_by_stage_and_key() -> None:
    charts = charts_of(LINES)
    assert [(each.name, each.y) for each in charts["policy"]] == [("held out", [2.5]), ("learned", [2.25])]
    assert charts["elo"][0].error == [40.0]
    assert (charts["plies"][0].x, charts["plies"][0].y) == ([0.0, 1.0], [30.0, 31.0])
    assert [each.name for each in charts["results"]] == ["White"]
    assert "value" not in charts


def test_strange_lines_are_left_out() -> None:
    strange: list[dict[str, Any]] = [{}, {"stage": "play"}]
    strange += [{"stage": "play", "cycle": number, "plies": plies} for number, plies in enumerate(["x", float("nan")])]
    assert charts_of(strange) == {}
    assert log_of([*strange, *LINES])[0] == (5.0, "cycle 1: 10 games, 310 positions")


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    lines = [{"stage": "play", "cycle": number, "plies": float(number)} for number in range(10_000)]
    curve = charts_of(lines)["plies"][0]
    assert len(curve.x) <= MOST_POINTS + 1
    assert curve.x[-1] == 9999.0


def test_a_folder_that_is_no_run_says_why(tmp_path: Path) -> None:
    directory = tmp_path / "broken"
    directory.mkdir()
    (directory / "manifest.json").write_text("{")
    card = RunFiles(directory).card()
    assert card.status == "broken"
    assert "damaged" in card.message
    assert str(tmp_path) not in card.message
    assert RunFiles(directory).games() == []
    assert trainer_of(directory) is None


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StudioServer, Path]]:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("training")
    with studio_server(folder) as found:
        yield found, folder


SMALL = [
    "selfplay.games=8",
    "selfplay.slots=8",
    "selfplay.visits=2",
    "gate.games=0",
    "progress.games=0",
    "gate.final_games=0",
]


def test_a_run_is_started_watched_stopped_and_played_against(training: tuple[StudioServer, Path]) -> None:
    server, folder = training
    with server.page() as page:
        assert page.ask("run.list")["runs"] == []
        started = page.ask("run.start", 60, recipe="gardner-laptop", name="mine", settings=SMALL)
        assert started == {"type": "run.started", "ask": 2, "id": "mine"}
        again = page.ask("run.start", 60, resume="mine")
        assert again["type"] == "failure"
        assert "training already" in again["message"]
        page.send("run.watch", id="mine")
        view = page.until("run.view", 30)
        while not view["charts"].get("plies") or not view["games"]:
            view = page.until("run.view", 60)
        assert view["run"]["status"] == "running"
        assert view["games"][0]["variant"] == "gardner"
        process = trainer_of(folder / "mine")
        assert process is not None
        page.send("run.stop", id="mine")
        while view["run"]["status"] != "stopped":
            view = page.until("run.view", 60)
    with server.page() as page:
        players = [each["id"] for each in page.ask("hello")["players"]]
        assert "run/mine/0" in players
        net = page.game(variant="gardner", player="run/mine/0", color="black", visits=2)
        assert len(page.your_turn()["moves"]) == 1
        assert net["opponent"] == "mine untrained"


def test_a_run_that_vanishes_is_one_sentence(training: tuple[StudioServer, Path]) -> None:
    server, folder = training
    with server.page() as page:
        shutil.rmtree(folder / "mine")
        answer = page.ask("run.watch", id="mine")
        assert answer["message"] == "This run is not in the folder of runs any more."
        assert page.ask("run.stop", id="mine")["type"] == "failure"


def test_what_cannot_be_trained_is_refused_before_it_starts(training: tuple[StudioServer, Path]) -> None:
    server, folder = training
    with server.page() as page:
        for body in (
            {"recipe": "../gardner-laptop"},
            {"recipe": "gardner-laptop", "settings": ["--help"]},
            {"recipe": "gardner-laptop", "settings": ["selfplay.visits=0"]},
            {"resume": "nothing"},
        ):
            answer = page.ask("run.start", 60, **body)
            assert answer["type"] == "failure"
            assert "\n" not in answer["message"]
        assert [path.name for path in folder.iterdir() if path.name != ".studio"] == []


def test_a_form_has_every_key_and_checks_changes(server: StudioServer) -> None:
    with server.page() as page:
        form = page.ask("recipe.ask", name="gardner-laptop")
        assert {key["key"] for key in form["keys"]} == set(KEYS)
        answer = page.ask("recipe.ask", name="gardner-laptop", settings=["selfplay.visits=0"])
        assert answer["type"] == "failure"
        assert "selfplay.visits" in answer["message"]
        assert page.ask("recipe.ask", name="/etc/passwd")["type"] == "failure"
