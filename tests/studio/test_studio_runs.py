"""Training runs: what their files tell, and runs that are started, stopped and resumed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from selfmate.board.position import Position
from selfmate.recipe.keys import KEYS
from selfmate.rundir.format import read_run
from selfmate.rundir.reader import RunReader
from selfmate.search.evaluate import evaluate
from selfmate.studio import players
from selfmate.studio.probes import measure_run
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


def test_games_that_were_cut_off_are_drawn_where_there_are_any() -> None:
    shares = {"white": 0.5, "draws": 0.125, "black": 0.25}
    lines = [{**LINES[0], **shares, "truncated": share} for share in (0.0, 0.125)]
    assert [each.name for each in charts_of(lines[:1])["results"]] == ["White", "drawn", "Black"]
    assert charts_of(lines)["results"][3].y == [0.0, 0.125]


def test_strange_lines_are_left_out() -> None:
    strange: list[dict[str, Any]] = [{}, {"stage": "play"}]
    strange += [{"stage": "play", "cycle": number, "plies": plies} for number, plies in enumerate(["x", float("nan")])]
    assert charts_of(strange) == {}
    assert log_of([*strange, *LINES])[0] == (5.0, "cycle 1: 10 games, 310 positions")


def test_a_final_match_is_told_with_its_score() -> None:
    final: dict[str, Any] = {"stage": "final", "time": 9.0, "champion": 5, "opponent": "untrained", "games": 90}
    final |= {"score": 0.9778, "score_low": 0.9009, "score_high": 0.9953}
    heuristic = {**final, "time": 8.0, "opponent": "heuristic-1", "score": 0.35, "score_low": 0.28, "score_high": 0.43}
    assert log_of([*LINES, heuristic, final, {**final, "score": None}])[:3] == [
        (9.0, "cycle 5 against its untrained net: 98 % [90, 100] of 90 games"),
        (8.0, "cycle 5 against heuristic-1: 35 % [28, 43] of 90 games"),
        (5.0, "cycle 1: 10 games, 310 positions"),
    ]


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
        live = page.until("run.boards", 60)
        assert live["id"] == "mine"
        assert live["boards"][0]["board"].count("/") == 4
        process = trainer_of(folder / "mine")
        assert process is not None
        while len(view["checkpoints"]) < 3:  # the tests below need one beside the champion and the untrained net
            view = page.until("run.view", 60)
        page.send("run.stop", id="mine")
        while view["run"]["status"] != "stopped":
            view = page.until("run.view", 60)
        assert page.ask("run.stop", id="mine", pause=True)["message"] == "Mine is not training."
        assert view["run"]["seconds_left"] is None
    with server.page() as page:
        players = [each["id"] for each in page.ask("hello")["players"]]
        assert "run/mine/0" in players
        net = page.game(variant="gardner", player="run/mine/0", color="black", visits=2)
        assert len(page.your_turn()["moves"]) == 1
        assert net["opponent"] == "mine untrained"


def test_games_of_a_cycle_are_judged_then_and_now(training: tuple[StudioServer, Path]) -> None:
    server, folder = training
    with server.page() as page:
        found = page.ask("run.games", id="mine", cycle=0)
        assert (found["cycle"], found["total"], found["cycles"][0]) == (0, 8, 0)
        assert page.ask("run.games", id="mine")["cycle"] == found["cycles"][-1]
        assert page.ask("run.games", id="mine", cycle=10**6)["message"] == "No games of cycle 1000000 are kept."
        game = found["games"][0]
        judged = page.ask("run.judge", 60, id="mine", cycle=0, game=game["id"])
        assert page.ask("run.judge", id="mine", cycle=0, game=10**9)["type"] == "failure"
    reader = RunReader.open(folder / "mine")
    record = next(each for each in reader.games(cycle=0) if each.game_id == game["id"])
    assert [each.game_id for each in reader.games(cycle=0)] == list(range(8))
    assert len(judged["sans"]) + 1 == len(judged["search_then"]) == len(judged["net_now"])
    first = 1 if record.start_fen.split()[1] == "w" else -1
    then = {ply: value * first * (-1) ** ply for ply, value in record.values}  # stored for the side to move
    assert {ply: value for ply, value in enumerate(judged["search_then"]) if value is not None} == pytest.approx(
        then, abs=1e-4
    )
    champion = reader.state.checkpoint(reader.state.champion)
    position = Position("gardner", record.start_fen)
    position.play(record.moves[0])
    said = evaluate(reader.directory / champion.name, [position])[0].value
    assert judged["net_now"][1] == pytest.approx(-first * said, abs=1e-3)
    assert judged["now"] == reader.state.champion


def test_probes_are_measured_once_for_each_checkpoint(training: tuple[StudioServer, Path]) -> None:
    server, folder = training
    with server.page() as page:
        probes = page.ask("run.probes", 120, id="mine")
        while probes["left"]:
            probes = page.ask("run.probes", 120, id="mine")
    checkpoints = RunReader.open(folder / "mine").state.checkpoints
    one, two = probes["charts"]["wins"]
    assert one["x"] == two["x"] == [float(each.cycle) for each in checkpoints]
    assert all(0 <= share <= 1 for share in (*one["y"], *two["y"]))
    assert len(probes["charts"]["openings"]) == 5
    # What was measured is kept for checkpoints that the run removes, and not measured again.
    store = folder / ".studio" / "mine.probes.json"
    results, left = measure_run(folder / "mine", store)
    assert left == 0
    assert set(results.checkpoints) == {each.name for each in checkpoints}


def test_every_net_that_is_kept_can_play_but_few_are_listed(
    training: tuple[StudioServer, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, folder = training
    monkeypatch.setattr(players, "MOST_CHECKPOINTS", 2)
    with server.page() as page:
        view = page.ask("run.look", id="mine")
        kept = view["checkpoints"]
        assert kept == sorted((int(path.name) for path in (folder / "mine" / "checkpoints").iterdir()), reverse=True)
        listed = {each["id"] for each in page.ask("hello")["players"] if each["kind"] == "run"}
        assert listed == {f"run/mine/{view['run']['champion']}", "run/mine/0"}
        others = [cycle for cycle in kept if f"run/mine/{cycle}" not in listed]
        assert others
        match = page.ask(
            "match.start", variant="gardner", first=f"run/mine/{others[0]}", second="run/mine/0", games=2, visits=1
        )
        assert match["first"] == f"mine cycle {others[0]}"
        page.until("match.view", 60, status="done")


def test_a_damaged_net_and_a_copied_run_can_be_told_from_others(training: tuple[StudioServer, Path]) -> None:
    server, folder = training
    copy = folder / "copy"
    shutil.copytree(folder / "mine", copy)
    try:
        champion = read_run(copy)[1].champion
        weights = copy / "checkpoints" / f"{champion:05}" / "net.safetensors"
        weights.write_bytes(weights.read_bytes()[:1000])
        with server.page() as page:
            cards = {card["id"]: card for card in page.ask("net.list", variant="gardner")["nets"]}
            assert cards[f"run/mine/{champion}"]["problem"] is None
            assert cards[f"run/copy/{champion}"]["problem"].startswith("net.safetensors has 1,000 bytes, but ")
            names = {player["id"]: player["name"] for player in page.ask("hello")["players"]}
            assert (names["run/mine/0"], names["run/copy/0"]) == ("mine untrained", "copy untrained")
            weights.unlink()
            cards = {card["id"]: card for card in page.ask("net.list", variant="gardner")["nets"]}
            assert cards[f"run/copy/{champion}"]["problem"] == "net.safetensors is not there."
    finally:
        shutil.rmtree(copy)


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
