"""The picture of the search: the trace is the search, and page, GIF, strip and text show it."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'selfmate[lab]'")

from browser import CHROMIUM, Browser
from command import Run
from selfmate.errors import LabError
from selfmate.lab.frozenlake.chart import Curve, CurvePanel, draw_panels
from selfmate.lab.frozenlake.lake import SMALL_MAP, Lake
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


def test_the_text(trace: dict[str, Any]) -> None:
    text = draw_text(trace, 9, 20)
    assert text.startswith("move 10, simulation 20   path ")
    assert "root square 14, 20 visits, return " in text
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
