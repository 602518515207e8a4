"""Experiments: settings, folders that are gone on with, tables, studies, and everything that a command refuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'selfmate[lab]'")
pytest.importorskip("torch", reason="needs PyTorch: pip install 'selfmate[lab]'")

from command import Run
from selfmate.errors import LabError
from selfmate.lab.frozenlake.agents import make_agent, plan_policy, search_settings
from selfmate.lab.frozenlake.dqn import DqnSettings
from selfmate.lab.frozenlake.experiments import LakeJob, LakeResults, learn_job, plan_job
from selfmate.lab.frozenlake.exploration import Exploration
from selfmate.lab.frozenlake.goals import _dry_cells, _line, measure_dry, measure_slippery
from selfmate.lab.frozenlake.lake import generate_map, seed_map
from selfmate.lab.frozenlake.planner import MctsSettings
from selfmate.lab.frozenlake.q_table import QTableSettings, learn_q_table
from selfmate.lab.frozenlake.scores import simulate, wilson
from selfmate.lab.frozenlake.settings import LakeSettings, change, from_toml, to_toml
from selfmate.lab.frozenlake.study import EPISODES, OUR_DQN, STUDIES, _point, make_study
from selfmate.lab.frozenlake.table import SEED_ROWS, SeedRow, make_table
from selfmate.lab.frozenlake.truth import evaluate_policy, greedy, one_hot

SMALL = change(LakeSettings(), ["lake.size=4", "lake.map=4x4", "mcts.simulations=20", "mcts.repeats=2"])


# -- settings ---------------------------------------------------------------------------------------------------------


def test_settings_are_read_back_equal() -> None:
    settings = change(LakeSettings(), ["lake.success_rate=0.5", "dqn.double=true", "lake.map=4x4", "mcts.c=7"])
    assert from_toml(to_toml(settings)) == settings
    assert settings.lake.success_rate == 0.5
    assert all(" # " in line for line in to_toml(settings).splitlines() if "=" in line)


def test_the_defaults_are_those_of_the_seed() -> None:
    """Table 2.1, sections 2.2.2 to 2.2.4 and the first row of table 2.2; the step limit is Gymnasium's for 8 by 8."""
    settings = LakeSettings()
    lake = settings.make_lake()
    assert (lake.size, settings.lake.map_seed, lake.step_limit) == (8, 48, 200)
    assert (lake.slippery, lake.success_rate, lake.rewards) == (True, 1 / 3, (100.0, -100.0, -1.0))
    assert settings.learning.episodes == 1000
    exploration = Exploration(start=0.8, end=0.01, decay=500.0, by="episodes")
    assert settings.of_dqn == DqnSettings() == DqnSettings(
        gamma=0.99, hidden=128, replay=10_000, batch=64, learn_from=500, learn_every=1, target_every=200,
        learning_rate=1e-3, double=False, average=0.0, reward_scale=1.0, net="core", exploration=exploration,
    )  # fmt: skip
    assert settings.of_q_table == QTableSettings() == QTableSettings(0.99, 0.5, 0.02, exploration)
    assert search_settings(settings) == MctsSettings() == MctsSettings(5000, 1.0, 0.99, 50, 20, "value")
    assert settings.mcts.rollout == "learned"


def test_settings_reach_the_agents() -> None:
    changes = ["learning.gamma=0.5", "learning.epsilon_start=0.4", "learning.epsilon_end=0.3", "mcts.c=7",
               "learning.epsilon_decay=9", "learning.epsilon_by=moves", "lake.goal_reward=3", "lake.hole_reward=-2",
               "lake.step_reward=-0.5", "mcts.rollout_steps=6", "mcts.repeats=5", "mcts.choose=visits"]  # fmt: skip
    settings = change(LakeSettings(), changes)
    exploration = Exploration(0.4, 0.3, 9.0, "moves")
    assert settings.make_lake().rewards == (3.0, -2.0, -0.5)
    assert settings.of_dqn == DqnSettings(gamma=0.5, exploration=exploration)
    assert settings.of_q_table == QTableSettings(gamma=0.5, exploration=exploration)
    assert search_settings(settings) == MctsSettings(5000, 7.0, 0.5, 6, 5, "visits")


def test_the_chapter_has_our_settings_of_the_dqn() -> None:
    chapter = (Path(__file__).parents[2] / "docs" / "frozenlake.md").read_text("utf-8")
    [command] = re.findall(r"^selfmate lab frozenlake --agent dqn (?:.*\\\n)*.*", chapter, re.MULTILINE)
    assert set(re.findall(r"--set (\S+)", command)) == {*OUR_DQN, "learning.episodes=2000"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[lake]\nsize = 1", "lake.size: expected a whole number from 2 to 64, not 1"),
        ("[lake]\nsize = 65", "lake.size: expected a whole number from 2 to 64, not 65"),
        ("[lake]\nsuccess_rate = 1.5", "lake.success_rate: expected a number from 0 to 1, not 1.5"),
        ("[learning]\nepisodes = 0", "learning.episodes: expected a whole number from 1 to 10,000,000, not 0"),
        ("[mcts]\nrollout = 'greedy'", "mcts.rollout: expected one of learned, random, best, exact, not 'greedy'"),
        ("[mcts]\nsimulation = 9", "mcts.simulation: unknown key; did you mean 'mcts.simulations'?"),
        ("[mtcs]\nc = 9", "mtcs: unknown section; did you mean 'mcts'?"),
        ("lake = 3", "lake: expected a section [lake], not 3"),
        ("[lake]\nslippery = 1", "lake.slippery: expected true or false, not 1"),
        ("[dqn]\nnet = 'numpy'", "dqn.net: expected one of core, torch, not 'numpy'"),
        ("[dqn]\naverage = 1.0", "dqn.average: expected a number from 0 to 0.999999, not 1.0"),
        ("[lake", "not TOML: "),
        pytest.param(f"a = {'[' * 20_000}", "not TOML: maximum recursion depth exceeded", id="deep"),
        pytest.param(f"a = {'9' * 5000}", "not TOML: Exceeds the limit", id="digits"),
        pytest.param(
            f"[lake]\nsize = 0x{'f' * 5000}", "lake.size: expected a whole number from 2 to 64, not 0xfff", id="hex"
        ),
        pytest.param("#" * 70_000, "longer than 64 KiB", id="long"),
        ('"a\\nb" = 3', r"'a\nb': unknown section"),
    ],
)
def test_settings_that_are_refused(text: str, message: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "s.toml").write_text(text)
    answer = run("lab", "frozenlake", tmp_path / "s.toml")
    assert answer.code == 2
    assert answer.err.startswith(f"selfmate: {tmp_path / 's.toml'}: {message}")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "lake.size"], "'lake.size': write section.key=value"),
        (["--set", "lake.sise=4"], "lake.sise: unknown key; did you mean 'lake.size'?"),
        (["--set", "lake.step_limit=3"], "step_limit must be at least 14, the moves of the shortest path, not 3"),
        (["--set", "lake.map=none.txt"], "none.txt: No such file or directory"),
        (["--set", "lake.map=/dev/zero"], "/dev/zero: longer than 64 KiB"),
        (["--set", 'lake.map="a\\u0000"'], r"lake.map: expected the name of a file, not 'a\x00'"),
        pytest.param(
            ["--set", f"lake.size={'[' * 20_000}"],
            "lake.size: expected a whole number from 2 to 64, not '[[[",
            id="deep",
        ),
        (["--set", "a\nb=3"], r"'a\nb': unknown key"),
        (["--agent", "q-tabel"], "unknown agent 'q-tabel'; did you mean 'q-table'?"),
        (["--agent", "cat"], "unknown agent 'cat'; agents: q-table, dqn, mcts, q-table+mcts, dqn+mcts"),
        (["--study", "ice"], "unknown study 'ice'; studies: slipping, simulations, training, all"),
        (["--study", "ice", "--quick"], "unknown study 'ice'; studies: slipping, simulations, training, all"),
        (["--study", ""], "unknown study ''; studies: slipping, simulations, training, all"),
        (["no.toml"], "no.toml: No such file or directory"),
        (["--show", "none/x.html"], "none/x.html: there is no such folder"),
        (["--show", "x.html", "--gif", "x.html"], "x.html: named for two outputs; give each a name of its own"),
        (["--watch", "--agent", "dqn", "--agent", "mcts"], "a picture shows one agent, not 2: give --agent once"),
        (["--goals", "--set", "lake.map=4x4", "--out", "lake"], "lake.map: --goals measures generated maps of 4 by 4 "),
        (["--goals", "--quick", "--out", "lake"], "--goals has no quick size: leave out --quick, or set run.seeds=1 "),
        (
            ["--table", "--agent", "dqn", "--out", "lake"],
            "--agent: --table and --study have their own agents; leave it ",
        ),
        (
            ["--quick", "--agent", "dqn", "--out", "lake"],
            "--agent: --table and --study have their own agents; leave it ",
        ),
        (
            ["--goals", "--agent", "dqn+mcts", "--out", "lake"],
            "--agent: --goals measures q-table and dqn, not dqn+mcts",
        ),
        (["--agent", "q-table", "--out", "lake"], "--out: results of --table, --study, --goals and --quick have a "),
        (["--watch", "--out", "lake"], "--out: results of --table, --study, --goals and --quick have a folder; "),
        (["--show", "x.html", "--quick"], "--show, --gif, --strip, --trace and --watch draw one search; "),
        (["--show", "x.html", "--table"], "--show, --gif, --strip, --trace and --watch draw one search; "),
        (
            ["--table", "--set", "lake.map=4x4", "--set", "run.maps=1"],
            "lake.map: a map of a file has no others beside it; set run.maps to 0",
        ),
    ],
)
def test_what_the_command_refuses(
    arguments: list[str], message: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run("lab", "frozenlake", *arguments)
    assert answer.code == 2
    assert answer.err.startswith(f"selfmate: {message}")
    assert answer.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_missing_extra_is_named(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gymnasium.envs.toy_text.frozen_lake", None)
    for mode in (["--set", "lake.map_seed=1"], ["--table", "--out", tmp_path / "lake"], ["--watch"]):
        answer = run("lab", "frozenlake", *mode)
        assert answer.code == 2
        assert answer.err == "selfmate: gymnasium is not installed; run: pip install 'selfmate[lab]'\n"
    assert not list(tmp_path.iterdir())


def test_pytorch_is_needed_only_for_the_plain_net(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    small = ["--set", "lake.map=4x4", "--set", "learning.episodes=20", "--agent", "dqn"]
    assert run("lab", "frozenlake", *small).code == 0
    for mode in (small, ["--table", "--out", tmp_path / "lake"]):
        answer = run("lab", "frozenlake", "--set", "dqn.net=torch", *mode)
        assert answer.code == 2
        assert answer.err == "selfmate: torch is not installed; run: pip install 'selfmate[lab]'\n"
        assert not answer.out
    assert not (tmp_path / "lake").exists()


def test_printed_settings(run: Run) -> None:
    answer = run("lab", "frozenlake", "--settings", "--set", "mcts.c=3")
    assert from_toml(answer.out) == change(LakeSettings(), ["mcts.c=3.0"])


def test_what_is_printed_of_the_lake_and_its_agents(run: Run) -> None:
    """The truth in 100 moves, and what the agents of this seed reach, exactly and in test episodes."""
    changes = ["lake.step_limit=100", "run.seed=3", "run.test_episodes=50", "learning.episodes=300",
               "mcts.simulations=30", "mcts.repeats=2"]  # fmt: skip
    words = [word for each in changes for word in ("--set", each)]
    answer = run("lab", "frozenlake", "--agent", "q-table", "--agent", "q-table+mcts", *words)
    rows, lines = answer.out.splitlines()[:8], answer.out.splitlines()[8:]
    assert tuple(rows) == seed_map()
    assert lines[:2] == ["largest chance to reach the goal in 100 moves: 72.6%",
                         "chance of the policy with the largest return: 69.7%"]  # fmt: skip
    settings = change(LakeSettings(), changes)
    lake = settings.make_lake()
    for name, line in zip(("q-table", "q-table+mcts"), lines[2:], strict=True):
        agent = make_agent(name, settings)
        agent.learn(lake, 3)
        policy = agent.policy()
        exact, reached = evaluate_policy(lake, policy), simulate(lake, policy, 50, 3)
        assert 0 < exact.chance < 0.7
        assert line.startswith(
            f"{name:13} {exact.chance:6.1%} exactly, {exact.moves:.1f} moves; {reached} of 50 episodes ("
        )


# -- folders ----------------------------------------------------------------------------------------------------------


def test_a_second_call_does_only_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lake"
    jobs = [learn_job("q-table", SMALL, seed, (5, 10), "test") for seed in (1, 2)]
    first = LakeResults(SMALL, folder).do(jobs)
    assert (folder / "map.txt").read_text().split() == ["SFFF", "FHFH", "FFFH", "HFFG"]
    assert set(first[jobs[0].name]) == {"5", "10"}
    # A call that was killed has left half a line.
    with (folder / "results.jsonl").open("a") as file:
        file.write('{"job": "x", "res')
    done: list[str] = []

    def run_job(job: LakeJob) -> dict[str, object]:
        done.append(job.name)
        return {"chance": 0.5, "moves": None, "reached": 7, "tested": 100, "seconds": 1.5}

    monkeypatch.setattr(LakeJob, "run", run_job)
    more = [*jobs, plan_job(SMALL, 1, "test"), plan_job(SMALL, 1, "test")]
    again = LakeResults(SMALL, folder).do(more)
    assert done == [more[2].name]
    assert {name: again[name] for name in first} == json.loads(json.dumps(first))
    # The result after the half line was kept, too.
    assert LakeResults(SMALL, folder).do(more) == again
    assert done == [more[2].name]


def test_other_settings_and_other_folders_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    LakeResults(SMALL, folder)
    LakeResults(change(SMALL, ["run.seeds=3"]), folder)
    with pytest.raises(LabError, match=r"has results with mcts.c = 1.0, not 2.0; choose another folder with --out"):
        LakeResults(change(SMALL, ["mcts.c=2.0"]), folder)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").touch()
    with pytest.raises(LabError, match="already exists and has no results; choose another folder"):
        LakeResults(SMALL, tmp_path / "photos")
    (folder / "settings.toml").write_bytes(b"\xff")
    with pytest.raises(LabError, match=r"settings\.toml: not a text file"):
        LakeResults(SMALL, folder)


def test_other_maps_are_checked_before_any_work(tmp_path: Path) -> None:
    changes = ["lake.frozen=0.5", "lake.map_seed=9", "run.maps=1", "lake.step_limit=14"]
    with pytest.raises(LabError, match="map 10: step_limit must be at least 16, the moves of the shortest path, not"):
        LakeResults(change(LakeSettings(), changes), tmp_path / "lake")
    assert not (tmp_path / "lake").exists()


def test_another_map_in_the_same_file_is_refused(tmp_path: Path) -> None:
    path, folder = tmp_path / "mine.txt", tmp_path / "lake"
    path.write_text("SF\nFG\n")
    settings = change(SMALL, [f"lake.map={path}"])
    LakeResults(settings, folder)
    LakeResults(settings, folder)
    path.write_text("SF\nHG\n")
    with pytest.raises(LabError, match=r"already exists with another map, in map\.txt; name another folder"):
        LakeResults(settings, folder)
    assert (folder / "map.txt").read_text() == "SF\nFG\n"


@pytest.mark.parametrize(
    "damage", [b"\xff\x00\xfe", b"5", b"[]", b'{"job": 3, "result": {}}', b'{"job": "x"}', b"[" * 20_000],
    ids=["bytes", "number", "list", "name", "half", "deep"],
)  # fmt: skip
def test_lines_that_are_no_results_are_skipped(damage: bytes, tmp_path: Path) -> None:
    jobs = [learn_job("q-table", SMALL, 1, (5,), "test")]
    first = LakeResults(SMALL, tmp_path / "lake").do(jobs)
    path = tmp_path / "lake" / "results.jsonl"
    path.write_bytes(damage + b"\n" + path.read_bytes())
    assert LakeResults(SMALL, tmp_path / "lake").do(jobs) == json.loads(json.dumps(first))


@pytest.mark.parametrize(
    ("number", "change_of"),
    [
        (0, lambda result: result.clear()),
        (0, lambda result: result.update({"10": result.pop("5")})),
        (0, lambda result: result["5"].pop("values")),
        (0, lambda result: result["5"].update(values=[1, 2])),
        (0, lambda result: result["5"].update(values=[[1.0, 2.0]])),
        (0, lambda result: result["5"]["values"][0].__setitem__(0, float("nan"))),
        (0, lambda result: result["5"].update(learning_goals=None)),
        (0, lambda result: result["5"].update(chance="much")),
        (1, lambda result: result.clear()),
        (1, lambda result: result.update(chance=float("nan"))),
        (1, lambda result: result.update(chance=1.1)),
        (1, lambda result: result.update(moves="few")),
        (1, lambda result: result.update(reached=101)),
        (1, lambda result: result.update(tested=0, reached=0)),
        (1, lambda result: result.pop("seconds")),
    ],
)
def test_a_result_that_cannot_be_is_measured_again(
    number: int, change_of: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    jobs = [learn_job("q-table", SMALL, 1, (5,), "test"), plan_job(SMALL, 1, "test")]
    first = json.loads(json.dumps(LakeResults(SMALL, tmp_path / "lake").do(jobs)))
    path = tmp_path / "lake" / "results.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change_of(lines[number]["result"])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    again = LakeResults(SMALL, tmp_path / "lake").do(jobs)
    assert path.read_text().count("\n") == 3
    for found in (first, again):
        found[jobs[0].name]["5"].pop("seconds")
        found[jobs[1].name].pop("seconds")
    assert again == first


@pytest.mark.parametrize("map_seed", [None, 50])
def test_a_job_scores_its_policy_on_its_map(map_seed: int | None) -> None:
    """What was learned, greedily, and what a search chooses; exactly, and in test episodes with the job's seed."""
    settings = change(LakeSettings(), ["mcts.simulations=30", "mcts.repeats=2", "run.test_episodes=50"])
    lake = settings.make_lake(map_seed)
    assert lake.rows == generate_map(8, map_seed or 48)
    found = learn_job("q-table", settings, 3, (200, 400), "test", map_seed).run()
    learned = list(learn_q_table(lake, settings.of_q_table, 3, (200, 400)))
    assert len(found) == len(learned) == 2
    for each in learned:
        score, policy = found[str(each.episodes)], one_hot(greedy(each.values))
        exact = evaluate_policy(lake, policy)
        assert (score["chance"], score["moves"]) == (exact.chance, exact.moves if exact.chance else None)
        assert (score["reached"], score["tested"]) == (simulate(lake, policy, 50, 3), 50)
        assert (score["learning_goals"], score["learning_moves"]) == (each.reached, each.moves)
        assert score["values"] == pytest.approx(each.values, abs=1e-6)
    assert found["400"]["chance"] > 0
    planned = plan_job(settings, 3, "test", found["400"]["values"], map_seed).run()
    policy = plan_policy(settings, lake, 3, np.array(found["400"]["values"]))
    assert planned["chance"] == evaluate_policy(lake, policy).chance
    assert planned["reached"] == simulate(lake, policy, 50, 3)


def test_a_process_that_is_killed_is_one_line() -> None:
    jobs = [LakeJob(name, os._exit, {"status": 1}) for name in "ab"]
    with pytest.raises(LabError, match="a process was killed, perhaps because memory ran out; run the same command"):
        LakeResults(SMALL, None).do(jobs, 2)


PRESSING = """
import functools, multiprocessing, os, signal, threading, time
from selfmate.lab.frozenlake.experiments import LakeJob, LakeResults
from selfmate.lab.frozenlake.settings import LakeSettings

signal.signal(signal.SIGINT, signal.default_int_handler)
jobs = [LakeJob(name, functools.partial(time.sleep, 60), {}) for name in "abc"]
threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    LakeResults(LakeSettings(), None).do(jobs, 2)
except KeyboardInterrupt:
    print("interrupted, still running:", multiprocessing.active_children())
"""
"""Three jobs of a minute for two processes, with a Ctrl-C after a second, for a process of its own."""


def test_ctrl_c_ends_the_jobs_that_run() -> None:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", PRESSING], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted, still running: []\n", "")
    assert time.monotonic() - began < 30


def test_jobs_give_the_same_results_in_other_processes() -> None:
    jobs = [learn_job("q-table", SMALL, seed, (5,), "test") for seed in (1, 2)]

    def without_times(workers: int) -> object:
        found = LakeResults(SMALL, None).do(jobs, workers)
        return [{k: v for k, v in result["5"].items() if k != "seconds"} for result in found.values()]

    assert without_times(1) == without_times(2)


# -- tables and studies -----------------------------------------------------------------------------------------------


def test_intervals() -> None:
    assert [round(100 * end, 1) for end in wilson(69, 100)] == [59.4, 77.2]
    assert wilson(0, 100)[0] == pytest.approx(0)
    assert wilson(100, 100)[1] == pytest.approx(1)


def test_quick(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    began = time.process_time()
    answer = run("lab", "frozenlake", "--quick", "--out", folder)
    assert answer.code == 0, answer.err
    assert time.process_time() - began < 20
    for number, row in enumerate(SEED_ROWS, 1):
        assert re.search(
            rf"^\| {number} \| {'yes' if row.slippery else 'no'} \|.*seed 003 \| {row.dqn} ", answer.out, re.M
        )
    assert answer.out.count("| truth |") == 4
    for name in ("slipping", "simulations", "training"):
        picture = (folder / f"{name}.svg").read_text()
        ET.fromstring(picture)
        assert picture.count("<polyline") >= 4
    tables = {path.name: path.read_text() for path in folder.glob("*.md")}
    assert set(tables) == {"table.md", "slipping.md", "simulations.md", "training.md"}
    lines = (folder / "results.jsonl").read_text().count("\n")
    again = run("lab", "frozenlake", "--quick", "--out", folder)
    assert again.out == answer.out  # times included: nothing was done again
    assert (folder / "results.jsonl").read_text().count("\n") == lines
    # The same seed gives the same figures, another one others.
    changes: tuple[list[str], ...] = ([], ["--set", "run.seed=2"])
    outputs = [answer.out, *(run("lab", "frozenlake", "--quick", *words).out for words in changes)]
    first, same, other = (re.sub(r"(here, exact .*) [\d.]+ \|", r"\1", each) for each in outputs)
    assert first == same != other


def test_goals(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = change(SMALL, ["lake.map=", "run.seeds=2", "dqn.hidden=4", "lake.step_limit=20"])
    settings = change(settings, ["run.maps=1", "lake.map_seed=1"])
    for name, value in (
        ("SEARCHES", (5, 10)), ("EPISODES", (3, 4)), ("OUR_EPISODES", (3, 4)), ("SNAPSHOTS", (3, 4, 5)),
        ("DRY_EPISODES", (3, 5)), ("SEED_EPISODES", (3, 4, 5)), ("CURE", 30),
    ):  # fmt: skip
        monkeypatch.setattr(f"selfmate.lab.frozenlake.goals.{name}", value)
    results = LakeResults(settings, None)
    slippery = measure_slippery(results, 1, lambda *_: None)
    assert slippery.count("| MCTS, best roll-outs, c = 100 |") == 2
    assert "| largest chance | |" in slippery
    dry = measure_dry(results, 1, lambda *_: None)
    assert re.search(r"\| 4x4 \| episodes \| q-table \| 5 episodes \| (yes|no) \| [01] of 1 \|", dry)
    assert re.search(r"\| 4x4 \| moves \| dqn \| 5 episodes \| (yes|no) \| [01] of 1 \|", dry)
    assert re.search(r"\| 4x4 \| episodes \| dqn, our settings \| 5 episodes \| (yes|no) \| [01] of 1 \|", dry)
    assert re.search(r"\| 8x8 \| episodes \| dqn\+mcts \| 20 simulations, c = 1 \|", dry)
    assert re.search(r"\| 4x4 \| episodes \| mcts \| 30 simulations, c = 100 \|", dry)
    assert re.search(r"\| dqn, our settings \| 5 episodes \| 2 \| \d \| \d \| \d \|", dry)


@pytest.mark.parametrize("other", ["lake.slippery=false", "lake.size=4", "learning.epsilon_by=moves"])
def test_jobs_of_one_name_are_equal(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise one would get the result of the other. What is measured on ice is so whatever `lake.slippery` is."""
    settings = change(LakeSettings(), [other, "mcts.repeats=1", "run.maps=1"])
    made: dict[str, dict[str, Any]] = {}

    def run_job(job: LakeJob) -> dict[str, object]:
        score = {"chance": 0.5, "moves": 9.0, "reached": 7, "tested": 100, "seconds": 1.5, "values": [[0.0] * 4] * 64}
        return {str(n): score for n in job.arguments["episodes"]} if "episodes" in job.arguments else score

    def do(self: LakeResults, jobs: Iterable[LakeJob], *_: object) -> dict[str, dict[str, object]]:
        listed = list(jobs)
        for job in listed:
            assert made.setdefault(job.name, job.arguments) == job.arguments, job.name
        return {job.name: run_job(job) for job in listed}

    monkeypatch.setattr(LakeResults, "do", do)
    results = LakeResults(settings, None)
    make_table(results, 1, lambda *_: None)
    measure_slippery(results, 1, lambda *_: None)
    assert all(job["settings"].lake.slippery for name, job in made.items() if "dry" not in name)
    measure_dry(results, 1, lambda *_: None)
    for quick in (False, True):
        for name in STUDIES:
            found = make_study(name, results, 1, lambda *_: None, quick=quick)
            if name == "slipping" and settings.lake.size == 8:
                assert "| 67 | 93.8 | 90.8 |" in found.markdown


def made_up_chance(job: LakeJob) -> float:
    """Return a chance that tells the settings of a job from others: what a curve says must be what was measured."""
    settings: LakeSettings = job.arguments["settings"]
    dry = 0.02 * (not settings.lake.slippery)
    if "learner" in job.arguments:
        learner = 0.2 if job.arguments["learner"] == "q-table" else 0.4
        return learner + 0.1 * (settings.dqn.reward_scale != 1.0) + dry
    part = settings.mcts
    rollout = dry + {"random": 0.0, "learned": 0.1, "best": 0.2, "exact": 0.3}[part.rollout]
    known = 0.04 if (job.arguments["values"] or [[0.0]])[0][0] == 1.0 else 0.0
    steps = (part.rollout_steps - 50) / 15_000
    return rollout + known + 0.5 * (part.c == 100.0) + steps + part.simulations / 1e6


def test_curves_are_what_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each point has the learner, the c, the roll-outs and the simulations of its column and row."""
    tested = {"reached": 7, "tested": 100, "seconds": 1.5}

    def run_job(job: LakeJob) -> dict[str, object]:
        chance = made_up_chance(job)
        if "episodes" in job.arguments:
            more = {**tested, "values": [[float(job.arguments["learner"] == "q-table")] * 4] * 64}
            return {str(n): {"chance": chance + n / 1e6, **more} for n in job.arguments["episodes"]}
        return {"chance": chance, **tested}

    monkeypatch.setattr(LakeJob, "run", run_job)
    results = LakeResults(LakeSettings(), None)

    def rows(name: str) -> list[list[str]]:
        lines = make_study(name, results, 1, lambda *_: None).markdown.splitlines()
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        return [[row[0].replace(",", ""), *row[1:]] for row in cells if re.fullmatch(r"[\d,]+", row[0])]

    found = rows("simulations")
    counts = (10, 30, 100, 300, 1000, 3000, 10_000, 15_000)
    columns = [(4, 14, 24), (54, 64, 74), (74, 75, 84)]
    assert found == [
        [str(count), *(f"{percent + count / 1e4:.1f}" for percent in each)] for each in columns for count in counts
    ]
    found = rows("training")
    assert [row[0] for row in found] == [str(count) for count in EPISODES]
    by_episodes = {row[0]: row[1:] for row in found}
    assert by_episodes["50"] == ["20.0", "40.0", "50.0", "64.1"]
    assert by_episodes["1000"] == ["20.1", "40.1", "50.1", "64.1"]
    assert by_episodes["2000"] == ["20.2", "", "50.2", "64.1"]
    assert by_episodes["5000"] == ["20.5", "", "", "64.1"]
    found = rows("slipping")
    assert [row[0] for row in found] == ["0", "10", "20", "30", "40", "50", "60", "67"]
    assert found[0] == ["0", "100.0", "100.0", "20.1", "64.1"]
    assert found[-1] == ["67", "93.8", "90.8", "20.1", "64.1"]
    assert [float(row[1]) for row in found] == sorted((float(row[1]) for row in found), reverse=True)
    goals = measure_slippery(results, 1, lambda *_: None)
    for line in (
        "MCTS, best roll-outs, c = 100 | 10 simulations | 70.0",
        "MCTS, best roll-outs, c = 100 | 10,000 simulations | 71.0",
        "Q-table | 1,000 episodes | 20.1", "DQN, the seed's settings | 1,000 episodes | 40.1",
        "DQN, our settings | 1,000 episodes | 50.1",
    ):  # fmt: skip
        assert f"| {line} |" in goals
    table = re.findall(r"here, exact \| (.*) \| 6\.0 \|", make_table(results, 1, lambda *_: None))
    assert table == ["42.1 | 22.1 | 12.5 | 16.5", "40.1 | 20.1 | 10.5 | 14.5", "40.1 | 20.1 | 11.5 | 15.5",
                     "42.0 | 22.0 | 12.1 | 16.1"]  # fmt: skip


def test_every_agent_has_a_seed_and_a_map_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """`run.seeds` on the map, from `run.seed` on, one on each of `run.maps` others, `run.study_seeds` for a point."""
    settings = change(LakeSettings(), ["run.seed=5", "run.seeds=3", "run.study_seeds=4", "run.maps=2"])
    on_the_map, others = {(seed, None) for seed in (5, 6, 7)}, {(5, 49), (5, 50)}
    made: dict[str, set[tuple[int, int | None]]] = {}

    def do(self: LakeResults, jobs: Iterable[LakeJob], *_: object) -> dict[str, dict[str, object]]:
        score = {"chance": 0.5, "moves": 9.0, "reached": 7, "tested": 100, "seconds": 1.5, "values": [[0.0] * 4] * 64}
        found: dict[str, dict[str, object]] = {}
        for job in jobs:
            kind = re.sub(r", (map|seed).*", "", job.name)
            made.setdefault(kind, set()).add((job.arguments["seed"], job.arguments["map_seed"]))
            found[job.name] = {str(n): score for n in job.arguments.get("episodes", ())} or score
        return found

    def places(measured: Callable[[], object]) -> dict[str, set[tuple[int, int | None]]]:
        made.clear()
        measured()
        assert made
        return dict(made)

    monkeypatch.setattr(LakeResults, "do", do)
    results = LakeResults(settings, None)
    table = places(lambda: make_table(results, 1, lambda *_: None))
    assert [found for found in table.values() if found != on_the_map | others] == []
    slippery = places(lambda: measure_slippery(results, 1, lambda *_: None))
    assert [found for found in slippery.values() if found != on_the_map] == []
    dry = places(lambda: measure_dry(results, 1, lambda *_: None))
    agents = {"learn q-table, dry", "learn dqn, dry", "learn dqn, dry, our settings"}
    assert {kind for kind, found in dry.items() if found == on_the_map | others} == agents
    assert [found for kind, found in dry.items() if kind not in agents and found != others | {(5, None)}] == []
    for name in STUDIES:
        study = places(lambda name=name: make_study(name, results, 1, lambda *_: None))  # type: ignore[misc]
        assert [found for found in study.values() if found != {(seed, None) for seed in (5, 6, 7, 8)}] == [], name


def test_agents_with_other_seeds_are_counted_by_what_they_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the fewest moves, always but in more of them, sometimes, never."""
    ends = [(1.0, 14.0), (1.0, 14.0), (1.0, 14.0), (1.0, 16.0), (1.0, 16.0), (0.6, 14.0), (0.0, None)]
    settings = change(LakeSettings(), [f"run.seeds={len(ends)}"])

    def do(self: LakeResults, jobs: Iterable[LakeJob], *_: object) -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = {}
        for job in jobs:
            chance, moves = ends[job.arguments["seed"] - 1]
            score = {"chance": chance, "moves": moves, "values": [[0.0] * 4] * 64}
            found[job.name] = {str(n): score for n in job.arguments.get("episodes", ())} or score
        return found

    monkeypatch.setattr(LakeResults, "do", do)
    lines = measure_dry(LakeResults(settings, None), 1, lambda *_: None, ("dqn",)).splitlines()
    assert lines[-6:] == [
        f"| {name} | {count} episodes | 7 | 3 | 5 | 1 |"
        for name in ("dqn", "dqn, our settings") for count in ("300", "500", "1,000")
    ]  # fmt: skip


def test_dry_searches_follow_what_was_learned_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """After 1,000 episodes, by the learner of their name, on their map."""

    def do(self: LakeResults, jobs: Iterable[LakeJob], *_: object) -> dict[str, dict[str, object]]:
        score: dict[str, object] = {"chance": 0.5, "moves": 9.0}
        found: dict[str, dict[str, object]] = {}
        for job in jobs:
            at = (job.arguments["settings"].lake.size, job.arguments["map_seed"] or 48)
            if "learner" in job.arguments:
                learner = job.arguments["learner"]
                found[job.name] = {str(n): {**score, "values": [[n, learner, *at]]} for n in (300, 500, 1000)}
            else:
                learner = re.split(r", |\+", job.name)[1].replace("no learner", "")
                assert job.arguments["values"] == ([[1000, learner, *at]] if learner else None), job.name
                searches.append(learner)
                found[job.name] = score
        return found

    searches: list[str] = []
    monkeypatch.setattr(LakeResults, "do", do)
    measure_dry(LakeResults(change(LakeSettings(), ["run.maps=2"]), None), 1, lambda *_: None)
    assert {each: searches.count(each) for each in searches} == {"": 9, "q-table": 9, "dqn": 9}


def test_a_point_is_the_median_and_the_middle_half() -> None:
    scores = [{"chance": share} for share in (0.9, 0.1, 0.5, 0.3, 0.8)]
    assert _point(7.0, scores) == (7.0, 0.5, 0.3, 0.8)
    assert _line("a", "b", scores) == "| a | b | 50.0 | 30.0 to 80.0 | 10.0 | 90.0 |"


def test_quick_measures_what_is_named(run: Run) -> None:
    answer = run("lab", "frozenlake", "--quick", "--study", "slipping")
    assert answer.code == 0
    assert "chance to slip" in answer.out
    assert "seed 003" not in answer.out  # of the table
    assert "simulations |" not in answer.out  # of another study


def test_quick_with_a_map_of_a_file(run: Run) -> None:
    answer = run("lab", "frozenlake", "--quick", "--set", "lake.map=4x4")
    assert answer.code == 0, answer.err
    assert "other map" not in answer.out


def test_a_line_of_dry_maps_tells_the_map_from_the_others() -> None:
    solved, slow = {"chance": 1.0, "moves": 6.0}, {"chance": 1.0, "moves": 8.0}
    never = [{"chance": 0.0, "moves": None, "learning_goals": count} for count in range(9)]
    assert _dry_cells([None, 49, 50], [6, 6, 6], [solved, solved, slow]) == (
        "yes | 1 of 2 | 50: 100 % in 8 moves instead of 6"
    )
    assert _dry_cells([None, 49], [6, 8], [never[3], slow]) == "no | 1 of 1 | never: the map (3)"
    planner = {"chance": 0.0, "moves": None}
    assert _dry_cells([None, 49], [6, 6], [solved, planner]) == "yes | 0 of 1 | never: 49"
    many = _dry_cells([None, *range(49, 58)], [6] * 10, [solved, *never])
    assert many == "yes | 0 of 9 | never: 9 maps (0 to 8)"


def test_the_table_has_the_seeds_map_and_the_others_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of each map are made up: its seed in percent, for the seed's map 7."""
    settings = change(LakeSettings(), ["run.maps=3", "run.seeds=2", "mcts.repeats=1"])

    def run_job(job: LakeJob) -> dict[str, object]:
        share = (job.arguments["map_seed"] or 7) / 100
        score = {"chance": share, "reached": 7, "tested": 100, "seconds": 1.5, "values": [[0.0] * 4] * 64}
        return {str(n): score for n in job.arguments["episodes"]} if "episodes" in job.arguments else score

    monkeypatch.setattr(LakeJob, "run", run_job)
    monkeypatch.setattr("selfmate.lab.frozenlake.table.SEED_ROWS", (SeedRow(True, 2, 3, 69, 73, 117.4),))
    lines = make_table(LakeResults(settings, None), 1, lambda *_: None).splitlines()
    assert lines[2:] == [
        "| 1 | yes | 2 | 3 | seed 003 | 69 (59 to 77) | 73 (64 to 81) | | | 117.4 |",
        "| | | | | here, exact |" + " 7.0 (7.0 to 7.0) |" * 4 + " 6.0 |",
        "| | | | | here, 100 episodes |" + " 7 of 100 (3 to 14) |" * 4 + " |",
        "| | | | | truth | best policy by return 90.8, largest chance 93.8 | | | | |",
        "| | | | | 3 other maps, exact |" + " 50.0 (49.0 to 51.0) |" * 4 + " |",
        lines[7],
    ]
    assert re.fullmatch(
        r"\| \| \| \| \| truth of those \| best policy by return [\d.]+ \([\d.]+ to [\d.]+\), largest chance .* \|",
        lines[7],
    )
