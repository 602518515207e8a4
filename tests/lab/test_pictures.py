"""The picture of the search: the trace is the search, and page, GIF, strip and text show it."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'selfmate[lab]'")

from browser import CHROMIUM, Browser
from command import Run
from selfmate.errors import LabError
from selfmate.lab.frozenlake.chart import Curve, CurvePanel, draw_panels
from selfmate.lab.frozenlake.lake import ACTIONS, ARROWS, SMALL_MAP, Lake
from selfmate.lab.frozenlake.page import make_page
from selfmate.lab.frozenlake.planner import MctsSettings, make_search
from selfmate.lab.frozenlake.scene import EXPANSION, FILLS, as_svg, draw_strip, frames_of, make_scene
from selfmate.lab.frozenlake.settings import LakeSettings, change
from selfmate.lab.frozenlake.study import EPISODES
from selfmate.lab.frozenlake.trace import DEMO, record
from selfmate.lab.frozenlake.watch import draw_text, watch


@pytest.fixture(scope="module")
def trace() -> dict[str, Any]:
    """Return the seed's demo: ten moves of twenty simulations."""
    return record(LakeSettings.model_validate(DEMO), seed=2)


def test_the_trace_is_what_the_fast_search_does(trace: dict[str, Any]) -> None:
    lake = Lake(SMALL_MAP, slippery=False, step_limit=100)
    search = make_search(lake, MctsSettings(c=50.0))
    assert len(trace["moves"]) == 10
    for number, move in enumerate(trace["moves"]):
        search.run(move["state"], 20, 2, number)
        states, visits, action_visits, sums, _ = search.tree()
        assert [node["state"] for node in move["nodes"]] == states.tolist()
        counts = [sum(index in s["path"] for s in move["simulations"]) for index in range(len(states))]
        assert counts == visits.tolist()
        assert move["visits"] == action_visits[0].tolist()
        assert move["values"] == pytest.approx(sums[0] / action_visits[0], abs=0.0051)
        assert sum(s["returns"][0] for s in move["simulations"]) == pytest.approx(sums[0].sum(), abs=0.11)
        assert move["action"] == search.best_action()
    assert trace["end"] == "goal"
    assert trace["moves"][-1]["next"] == 15
    assert json.loads(json.dumps(trace)) == trace


def test_places_of_nodes(trace: dict[str, Any]) -> None:
    for move in trace["moves"]:
        nodes = move["nodes"]
        assert len({(node["x"], node["depth"]) for node in nodes}) == len(nodes)
        for node in nodes[1:]:
            parent = nodes[node["parent"]]
            assert node["depth"] == parent["depth"] + 1
            siblings = [each["x"] for each in nodes if each["parent"] == node["parent"]]
            assert min(siblings) <= parent["x"] <= max(siblings)


@pytest.mark.parametrize("rollout", ["learned", "best", "exact"])
def test_traces_of_other_rollouts(rollout: str) -> None:
    settings = change(LakeSettings.model_validate(DEMO), [f"mcts.rollout={rollout}", "lake.step_limit=8",
                                                          "lake.slippery=true", "learning.episodes=20"])  # fmt: skip
    found = record(settings, seed=1)
    assert 1 <= len(found["moves"]) <= 8
    lengths = [len(each["rollout"]) for move in found["moves"] for each in move["simulations"]]
    assert max(lengths) == 1 if rollout == "exact" else max(lengths) > 1


def test_what_is_too_large_to_be_drawn() -> None:
    with pytest.raises(LabError, match="a picture shows at most 200, not 5000"):
        record(LakeSettings(), seed=1)
    with pytest.raises(LabError, match="a picture shows at most 16 squares of a side, not 20"):
        record(change(LakeSettings(), ["lake.size=20", "mcts.simulations=20"]), seed=1)
    long = ["mcts.rollout=best", "mcts.c=1", "mcts.simulations=99", "lake.step_limit=100000"]
    with pytest.raises(LabError, match=r"20,000 pictures end after 200 moves, the episode does not; lower lake\.step_"):
        record(change(LakeSettings.model_validate(DEMO), long), seed=1)
    with pytest.raises(LabError, match="a picture shows the choice by value, not by visits"):
        record(change(LakeSettings.model_validate(DEMO), ["mcts.choose=visits"]), seed=1)


def test_scenes(trace: dict[str, Any]) -> None:
    frames = frames_of(trace)
    assert len(frames) == 10 * 21 + 1
    for move, done in frames[::7] + frames[-1:]:
        shapes = make_scene(trace, move, done)
        ET.fromstring(f"<svg>{''.join(as_svg(shapes))}</svg>")
        fills = [shape.fill for shape in shapes]
        assert FILLS["goal"] in fills
        assert FILLS["hole"] in fills
        new = done > 0 and trace["moves"][move]["simulations"][done - 1]
        if new and new["new"] and trace["moves"][move]["nodes"][new["path"][-1]]["kind"] == "frozen":
            assert [s for s in shapes if s.kind == "disc" and s.fill == EXPANSION]
    strip = draw_strip(trace)
    ET.fromstring(strip)
    assert strip.count("<g ") == 6


@pytest.mark.parametrize(("move", "done"), [(0, 20), (4, 7), (9, 20)])
def test_a_scene_has_the_visits_and_actions_of_the_search(trace: dict[str, Any], move: int, done: int) -> None:
    shapes, shown = make_scene(trace, move, done), trace["moves"][move]
    visits = Counter(index for simulation in shown["simulations"][:done] for index in simulation["path"])
    path = [each["state"] for each in trace["moves"][: move + 1]]
    numbers = [shape.text for shape in shapes if shape.kind == "middle"]
    assert numbers == [str(visits[index]) for index in sorted(visits)] + [str(square) for square in path]
    wanted = [shown["nodes"][index]["action"] for index in sorted(visits) if index]
    wanted += [each["action"] for each in trace["moves"][:move]]
    found = []
    for shape in shapes:
        if shape.kind == "polygon":
            (x, y), (left_x, left_y), (right_x, right_y) = shape.points
            pointing = (x - (left_x + right_x) / 2, y - (left_y + right_y) / 2)
            # The y axis of a picture points down.
            found.append(max(range(4), key=lambda action: np.dot(pointing, [(-1, 0), (0, 1), (1, 0), (0, -1)][action])))
    assert found == wanted
    texts = [shape.text for shape in shapes if shape.kind == "text"]
    assert texts[0] == f"move {move + 1}, simulation {done} of 20"
    if done == 20:
        values = [
            f"{name} {value:.0f} ({count})"
            for name, value, count in zip(ACTIONS, shown["values"], shown["visits"], strict=True)
        ]
        assert f"{', '.join(values)}; taken: {ACTIONS[shown['action']]}" in texts


def test_the_text(trace: dict[str, Any]) -> None:
    def plain(move: int, done: int) -> str:
        """Return the text without rich's markup."""
        return re.sub(r"\[[^]]*\]", "", draw_text(trace, move, done))

    text = plain(9, 20)
    assert text.startswith("move 10, simulation 20   path ")
    for move, made in enumerate(trace["moves"]):
        lake = "".join(plain(move, 0).splitlines()[1:5]).replace(" ", "")
        assert [tile == "@" for tile in lake] == [square == made["state"] for square in range(16)]
    simulations, nodes = trace["moves"][9]["simulations"], trace["moves"][9]["nodes"]
    mean = sum(each["returns"][0] for each in simulations) / 20
    assert f"root square 14, 20 visits, return {mean:.1f}\n" in text
    for index, node in enumerate(nodes):
        through = [each["returns"][each["path"].index(index)] for each in simulations if index in each["path"]]
        if node["depth"] == 1 and node["kind"] == "frozen":
            plural = "s" * (len(through) != 1)
            worth = f"{len(through)} visit{plural}, return {sum(through) / len(through):.1f}"
            assert f"  {ARROWS[node['action']]} square {node['state']}, {worth}" in text.splitlines()
    assert re.search(r"→ square 15, \d+ visits, goal", text)
    assert ", 1 visit, return " in text
    assert "10 moves: goal" in draw_text(trace, 10, 0)


@pytest.mark.parametrize("height", [24, 12])
def test_the_text_fits_a_small_terminal(trace: dict[str, Any], height: int) -> None:
    out = io.StringIO()
    watch(trace, Console(file=out, force_terminal=True, width=80, height=height, color_system=None), delay=0)
    _, *pictures = out.getvalue().split("\x1b[2J\x1b[H")
    assert len(pictures) == 211
    assert max(picture.count("\n") for picture in pictures) == height - 1
    assert max(len(line) for picture in pictures for line in picture.splitlines()) <= 80
    assert re.search(r"return -?[\d.]+\n… \d+ more\n$", pictures[20])
    whole = draw_text(trace, 0, 20, 100).splitlines()
    shown = pictures[20].splitlines()
    assert int(shown[-1].split()[1]) == len(whole) - (len(shown) - 1)


def test_a_long_path_stays_in_its_line(trace: dict[str, Any]) -> None:
    long = {**trace, "moves": trace["moves"] * 10}
    head = draw_text(long, 99, 20).splitlines()[0]
    assert len(head) <= 80
    assert head.startswith("move 100, simulation 20   path …")
    assert draw_text(trace, 10, 0).splitlines()[0] == "10 moves: goal   path ↓←←←↓←→→↓→"


def test_the_agent_of_a_picture(run: Run, tmp_path: Path) -> None:
    quick = ["--set", "lake.step_limit=6", "--set", "learning.episodes=20"]
    found = {}
    for agent in ("mcts", "q-table+mcts", "dqn+mcts"):
        path = tmp_path / f"{agent}.json"
        assert run("lab", "frozenlake", "--trace", path, "--agent", agent, *quick).code == 0
        found[agent] = json.loads(path.read_text())
    assert [each["rollout"] for each in found.values()] == ["random", "learned", "learned"]
    assert found["q-table+mcts"]["moves"] != found["dqn+mcts"]["moves"]
    path = tmp_path / "other.json"
    more = ["--set", "mcts.rollout=learned"]
    assert run("lab", "frozenlake", "--trace", path, "--agent", "mcts", *quick, *more).code == 0
    assert json.loads(path.read_text()) == found["mcts"]


def test_the_gif(trace: dict[str, Any]) -> None:
    image_module = pytest.importorskip("PIL.Image", reason="needs Pillow: pip install 'selfmate[lab]'")
    from selfmate.lab.frozenlake.gif import make_gif

    short = {**trace, "moves": trace["moves"][:1]}
    image = image_module.open(io.BytesIO(make_gif(short)))
    assert image.format == "GIF"
    assert image.size == (760, 380)
    assert image.n_frames == 22
    lengths = []
    for number in range(22):
        image.seek(number)
        lengths.append(image.info["duration"])
    assert lengths == [160] * 20 + [1600, 1600]


def test_an_animation_of_many_pictures_is_refused_before_anything_is_written(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image", reason="needs Pillow: pip install 'selfmate[lab]'")
    long = ["--set", "mcts.rollout=best", "--set", "mcts.c=1", "--set", "lake.step_limit=120"]
    answer = run("lab", "frozenlake", "--show", tmp_path / "x.html", "--gif", tmp_path / "x.gif", *long)
    assert answer.code == 2
    hint = "lower lake.step_limit or mcts.simulations"
    assert answer.err == f"selfmate: a GIF has at most 2,500 pictures, not 2,521; {hint}\n"
    assert not list(tmp_path.iterdir())


def test_a_trace_through_a_pipe_is_nothing_but_the_trace() -> None:
    command = [sys.executable, "-m", "selfmate", "lab", "frozenlake", "--trace", "/dev/stdout"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout)["end"] == "goal"


def test_labels_of_an_axis_stand_where_there_is_room() -> None:
    curve = Curve("Q-table", [(float(x), 0.5, 0.4, 0.6) for x in EPISODES])
    picture = draw_panels("Episodes", "episodes", [CurvePanel("success, %", [curve])], logarithmic=True)
    places = re.findall(r'<text x="([\d.]+)" y="324.0" text-anchor="middle">([\d,]+)</text>', picture)
    assert {"50", "100", "500", "1,000"} <= {label for _, label in places}
    ends = [(float(x) - 3.5 * len(label), float(x) + 3.5 * len(label)) for x, label in places]
    assert all(right < left for (_, right), (left, _) in pairwise(ends))


def test_the_page_needs_nothing_else(trace: dict[str, Any]) -> None:
    page = make_page(trace)
    assert len(page.encode()) < 300_000
    assert re.findall(r"(?:src|href|url)\s*[=(]", page) == []
    assert "/*TRACE*/" not in page
    assert "</script>" not in page[page.index("const trace") : page.rindex("</script>")]


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium")
def test_the_page_in_a_browser(trace: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "search.html"
    path.write_text(make_page(trace), "utf-8")
    with Browser(tmp_path / "profile") as page:
        page.open(path)
        data = "document.body.dataset"
        assert page.value(f"{data}.at + ' of ' + {data}.frames") == "0 of 211"
        # 1. Steps, by key and by button
        page.press("ArrowRight")
        page.value("document.getElementById('step').click()")
        assert page.value(f"{data}.at") == "2"
        assert page.value("document.getElementById('caption').textContent") == "move 1, simulation 2 of 20"
        assert page.value("document.querySelectorAll('#tree circle').length") == 3
        page.press("ArrowLeft")
        assert page.value("document.querySelectorAll('#tree circle').length") == 2
        page.press("n")
        assert page.value("document.getElementById('caption').textContent") == "move 2, simulation 0 of 20"
        # The picture before is that of the first search when it is done.
        page.press("ArrowLeft")
        shown = trace["moves"][0]
        visits = Counter(index for simulation in shown["simulations"] for index in simulation["path"])
        numbers = page.value("[...document.querySelectorAll('#tree text')].map(each => each.textContent).join(' ')")
        assert numbers == " ".join(str(visits[index]) for index in range(len(shown["nodes"])))
        values = ", ".join(
            f"{name} {value:.1f} ({count} visits)"
            for name, value, count in zip(ACTIONS, shown["values"], shown["visits"], strict=True)
        )
        taken = f"The best value is taken: {ACTIONS[shown['action']]}."
        assert page.value("document.getElementById('says').textContent") == f"Values of the actions: {values}. {taken}"
        titles = page.value("[...document.querySelectorAll('#tree circle')].map(each => each.textContent).join('; ')")
        mean = sum(each["returns"][0] for each in shown["simulations"]) / 20
        assert titles.startswith(
            f"square 0: 20 visits, mean return {mean:.1f}; square 0: {shown['visits'][0]} visits, "
        )
        tips = page.value(
            "[...document.querySelectorAll('#tree polygon')].map(each => each.points).map(([a, b, c]) => "
            "[a.x - (b.x + c.x) / 2, a.y - (b.y + c.y) / 2]).map(([x, y]) => "
            "Math.abs(x) > Math.abs(y) ? (x < 0 ? 0 : 2) : (y > 0 ? 1 : 3)).join(' ')"
        )
        assert tips == " ".join(str(node["action"]) for node in shown["nodes"][1:])
        page.press("ArrowRight")
        # 2. Play to the end at the highest speed, and pause on the way
        page.press("Home")
        page.value("document.getElementById('speed').max = 200; document.getElementById('speed').value = 200")
        page.press(" ")
        assert page.value(f"{data}.playing") == "true"
        page.wait(lambda: int(page.value(f"{data}.at")) > 20)
        page.press(" ")
        at = page.value(f"{data}.at")
        assert (page.value(f"{data}.playing"), page.value(f"{data}.at")) == ("false", at)
        page.press(" ")
        page.wait(lambda: page.value(f"{data}.end") == "goal")
        assert page.value(f"{data}.playing") == "false"
        assert page.value("document.getElementById('caption').textContent") == "10 moves: goal"
        assert page.value("document.querySelectorAll('#path circle').length") == 11
        # 3. A picture is drawn in less than the time of one at sixty a second
        milliseconds = page.value("(() => { const t = performance.now(); for (let i = 0; i < 200; ++i) go(i);"
                                  "return (performance.now() - t) / 200; })()")  # fmt: skip
        assert milliseconds < 16
        # 4. A narrow window has nothing beyond its right edge
        page.value("document.body.style.width = '358px'")
        page.value("document.body.style.padding = 0")
        assert page.value("document.body.scrollWidth") <= 358
        # 5. Nothing was loaded but the page, and nothing went wrong
        asked = [e["params"]["request"]["url"] for e in page.events if e.get("method") == "Network.requestWillBeSent"]
        assert {url for url in asked if not url.startswith(("about:", "data:"))} == {path.as_uri()}
        assert not [e for e in page.events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]


def test_files_that_are_there_already(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "search.svg"
    answer = run("lab", "frozenlake", "--strip", path, "--trace", tmp_path / "search.json", "--watch")
    assert answer.code == 0
    assert "10 moves: goal" in answer.out
    assert json.loads((tmp_path / "search.json").read_text())["end"] == "goal"
    before = path.read_bytes()
    answer = run("lab", "frozenlake", "--strip", path)
    assert answer.code == 2
    assert answer.err == f"selfmate: {path} already exists; remove it or choose another name\n"
    assert path.read_bytes() == before
