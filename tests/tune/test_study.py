"""`selfmate tune`: trials in order, pruning by Elo, resuming, and a tiny study of real runs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("optuna", reason="pip install 'selfmate[tune]'")

from command import Run
from selfmate.cli.main import main
from selfmate.errors import SelfmateError
from selfmate.rating.elo import Rating
from selfmate.recipe.reader import load, smoke
from selfmate.recipe.schedule import at
from selfmate.recipe.writer import to_toml
from selfmate.rundir.format import State, read_run
from selfmate.train.session import Summary
from selfmate.tune import study as study_module
from selfmate.tune.plan import TuneError, TunePlan
from selfmate.tune.report import draw, importance_rows, trial_rows
from selfmate.tune.results import StudyResults, Trial, TrialElo, importance
from selfmate.tune.space import Choice, Range, read_space
from selfmate.tune.study import search, trial_settings
from selfmate.util.files import write_file

pytestmark = pytest.mark.usefixtures("one_thread")

SPACE = """
[learner]
reuse = { low = 1.0, high = 8.0 }
batch = [8, 16]
"""


def plan_of(space: str = SPACE, **changes: Any) -> TunePlan:
    recipe = smoke(load("gardner-laptop"))
    values: dict[str, Any] = {
        "name": "tiny",
        "recipe": to_toml(recipe),
        "space": read_space(space, recipe),
        "minutes": 1.0,
        "stages": 4,
        "pruner": "none",
        "games": 2,
        "visits": 2,
        "seed": 1,
    }
    return TunePlan(**(values | changes))


class FakeRuns:
    """Trains nothing: a run of `seconds` exists, and its Elo is a function of its settings and of its stage."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, elo: Callable[[dict[str, str], int], float]) -> None:
        self.calls: list[tuple[str, float, int]] = []
        self.elo = elo
        self.stop_after = math.inf
        monkeypatch.setattr(study_module, "measure_champion", self.measure)

    def train(
        self,
        recipe: str | Path,
        *,
        run: Path,
        minutes: float,
        overrides: Sequence[str],
        seed: int,
        device: str,
        is_part: bool,
    ) -> Summary:
        assert is_part  # the command of the study resumes it
        run.mkdir(exist_ok=True)
        state = json.loads((run / "state.json").read_text()) if (run / "state.json").exists() else {"seconds": 0.0}
        self.calls.append((run.name, round(60 * minutes, 3), seed))
        stopped = len(self.calls) > self.stop_after
        if not stopped:
            done = State(seconds=state["seconds"] + 60 * minutes, games=int(state["seconds"]))
            write_file(run / "state.json", done.to_json())
            (run / "settings.json").write_text(json.dumps(list(overrides)))
        reason = "stopped" if stopped else "time"
        return Summary(reason=reason, directory=str(run), cycle=0, games=0, scores={})

    def measure(self, run: Path, **options: Any) -> Rating:
        settings = dict(each.split("=", 1) for each in json.loads((run / "settings.json").read_text()))
        stage = round(json.loads((run / "state.json").read_text())["seconds"] / 15)
        return Rating(run.name, self.elo(settings, stage), 20.0, 10, 0.5, 0.0)


def by_reuse(settings: dict[str, str], stage: int) -> float:
    """Best at a reuse of 4, whatever the batch."""
    return 100 * stage - 10 * (float(settings["learner.reuse"]) - 4) ** 2


def test_the_best_settings_of_a_known_landscape_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = FakeRuns(monkeypatch, by_reuse)
    found = search(tmp_path / "s", plan_of(), trials=30, train=runs.train)
    assert found.is_complete
    assert found.best is not None
    assert float(found.best.values["learner.reuse"]) == pytest.approx(4, abs=0.4)
    later = [float(each.values["learner.reuse"]) for each in found.trials[15:]]
    assert np.mean(np.abs(np.array(later) - 4)) < 1.5  # at random: 1.9
    assert len({each.values["learner.reuse"] for each in found.trials[:10]}) == 10
    # Each trial trained four quarters of a minute with a seed of its own.
    assert runs.calls[:5] == [*[("00000", 15.0, 1)] * 4, ("00001", 15.0, 2)]
    assert len(runs.calls) == 4 * 30
    # The first trial has the recipe's own values.
    assert found.base is found.trials[0] or found.own is None
    assert found.own == {"learner.reuse": at(smoke(load("gardner-laptop")).learner.reuse, 0), "learner.batch": "16"}
    # What mattered is what the landscape says.
    reuse, batch = found.importances(4)
    assert (reuse.key, batch.key) == ("learner.reuse", "learner.batch")
    assert reuse.share > 0.99
    assert reuse.chance < 0.001
    assert batch.share < 0.3
    best = (tmp_path / "s" / "best.toml").read_text()
    assert f"reuse = {found.best.values['learner.reuse']!r}" in best


def test_weak_trials_end_early_by_their_elo_and_strong_ones_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sign: what is pruned at a stage is below the median of the trials before it at that stage."""
    runs = FakeRuns(monkeypatch, by_reuse)
    found = search(tmp_path / "s", plan_of(pruner="median"), trials=16, train=runs.train)
    assert {each.state for each in found.trials} == {"complete", "pruned"}
    for number, trial in enumerate(found.trials):
        for elo in trial.stages[:-1] if trial.state == "complete" else trial.stages:
            before = [each.elo for other in found.trials[:number] for each in other.stages if each.stage == elo.stage]
            is_last = elo is trial.stages[-1]
            if trial.state == "pruned" and is_last:
                assert elo.elo < np.median(before)
            elif sum(other.state == "complete" for other in found.trials[:number]) >= 4:
                assert elo.elo >= np.median(before) - 1e-9 or len(before) < 4
    assert found.best is not None
    assert float(found.best.values["learner.reuse"]) == pytest.approx(4, abs=0.8)


def test_hyperband_ends_trials_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = FakeRuns(monkeypatch, by_reuse)
    found = search(tmp_path / "s", plan_of(pruner="hyperband"), trials=16, train=runs.train)
    assert any(each.state == "pruned" for each in found.trials)
    assert found.is_complete
    assert len(runs.calls) < 4 * 16


@pytest.mark.parametrize("pruner", ["median", "none"])
def test_a_study_that_is_stopped_goes_on_as_if_it_had_not_been(
    pruner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(pruner=pruner)
    whole = search(tmp_path / "whole", plan, trials=14, train=FakeRuns(monkeypatch, by_reuse).train)
    runs = FakeRuns(monkeypatch, by_reuse)
    for stop_after in (2, 3, 9, 15):
        runs.stop_after = stop_after
        found = search(tmp_path / "parts", plan, trials=14, train=runs.train)
        assert not found.is_complete
        assert found.trials[-1].state == "running"
    runs.stop_after = math.inf
    found = search(tmp_path / "parts", plan, trials=14, train=runs.train)
    assert found.trials == whole.trials
    # More trials go on from there.
    assert len(search(tmp_path / "parts", plan, trials=16, train=runs.train).trials) == 16


def test_a_failure_between_training_and_report_repeats_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = FakeRuns(monkeypatch, by_reuse)
    plan = plan_of()

    def fail(run: Path, **options: Any) -> Rating:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(study_module, "measure_champion", fail)
        with pytest.raises(KeyboardInterrupt):
            search(tmp_path / "s", plan, trials=1, train=runs.train)
    state = State(seconds=15.0, checkpoints=read_checkpoints())
    write_file(tmp_path / "s" / "trials" / "00000" / "state.json", state.to_json())
    assert search(tmp_path / "s", plan, trials=1, train=runs.train).is_complete
    assert len(runs.calls) == 4


def read_checkpoints() -> Any:
    from selfmate.rundir.format import Checkpoint

    return (Checkpoint(name="checkpoints/00000", cycle=0, step=0, files={}),)


def test_draws_that_contradict_themselves_are_no_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A window below the batch is refused by the recipe; each of the values is possible by itself."""
    space = "[learner]\nbatch = [16, 128]\nwindow = [64, 4000]"
    runs = FakeRuns(monkeypatch, lambda settings, stage: 0.0)
    found = search(tmp_path / "s", plan_of(space, stages=1), trials=12, train=runs.train)
    assert len(found.trials) == 12
    assert found.impossible > 0
    values = {(each.values["learner.batch"], each.values["learner.window"]) for each in found.trials}
    assert ("128", "64") not in values
    assert len(values) == 3


def test_the_plan_is_fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = FakeRuns(monkeypatch, by_reuse)
    search(tmp_path / "s", plan_of(), trials=1, train=runs.train)
    with pytest.raises(TuneError, match="a study with other minutes, visits"):
        search(tmp_path / "s", plan_of(minutes=2.0, visits=3), trials=1, train=runs.train)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes").touch()
    with pytest.raises(TuneError, match="not an empty folder, and no study"):
        search(tmp_path / "other", plan_of(), trials=1, train=runs.train)
    (tmp_path / "s" / "study.sqlite").write_bytes(b"nonsense" * 1000)
    with pytest.raises(TuneError, match=r"study\.sqlite: not a study that can be read") as caught:
        search(tmp_path / "s", plan_of(), trials=1, train=runs.train)
    assert "\n" not in str(caught.value)


# -- what mattered ------------------------------------------------------------------------------------------------


def test_importances_are_the_shares_of_the_variance() -> None:
    """Two keys with effects of variances 9 and 1, and noise of variance 1: about 9/11 and 1/11."""
    chance = np.random.default_rng(5)
    first, second = chance.uniform(0, 1, 1000), chance.integers(0, 2, 1000)
    elos = first * 3 * math.sqrt(12) + second * 2 + chance.normal(0, 1, 1000)
    ranged = Range("learner.reuse", 0.0, 1.0, is_whole=False)
    chosen = Choice("learner.batch", ("1", "2"))
    found = importance(ranged, first.tolist(), elos, 1)
    assert found.share == pytest.approx(9 / 11, abs=0.02)
    found = importance(chosen, [str(1 + each) for each in second], elos, 1)
    assert found.share == pytest.approx(1 / 11, abs=0.03)
    assert found.chance < 0.01
    noise = importance(ranged, first.tolist(), chance.normal(0, 1, 1000), 1)
    assert abs(noise.share) < 0.01
    assert noise.chance > 0.01


def test_what_a_key_without_effect_explains_is_zero_on_average_also_with_few_trials() -> None:
    chance = np.random.default_rng(6)
    ranged, shares, chances = Range("k", 0.0, 1.0, is_whole=False), [], []
    for _ in range(60):
        found = importance(ranged, chance.uniform(0, 1, 8).tolist(), chance.normal(0, 1, 8), 1)
        shares.append(found.share)
        chances.append(found.chance)
    assert np.mean(shares) == pytest.approx(0, abs=0.15)
    assert 0.3 < np.mean(chances) < 0.7


def results_of(*trials: Trial, plan: TunePlan) -> StudyResults:
    own: dict[str, Any] = {"learner.reuse": 2.0, "learner.batch": "8"}
    return StudyResults(plan=plan, wanted=len(trials), trials=trials, impossible=0, own=own)


def test_tables_and_picture_have_every_trial() -> None:
    plan = plan_of(stages=2)
    trials = [
        Trial(
            number=number,
            state="pruned" if number == 3 else "complete",
            values={"learner.reuse": float(number), "learner.batch": "8" if number % 2 else "16"},
            stages=tuple(
                TrialElo(stage=stage, elo=100.0 * number + stage, error=10, games=5, seconds=1)
                for stage in range(1, 2 if number == 3 else 3)
            ),
        )
        for number in range(1, 8)
    ]
    found = results_of(*trials, plan=plan)
    rows = trial_rows(found)
    assert rows[0] == ["trial", "stages", "Elo ± 95 %", "games", "learner.reuse", "learner.batch"]
    assert [row[0] for row in rows[1:]] == ["7", "6", "5", "4", "2", "1", "3"]
    assert rows[1][2] == "702 ± 10"
    assert rows[-1][1] == "1 pruned"
    mattered = importance_rows(found)
    assert [row[:3] for row in mattered[1:]] == [
        ["learner.reuse", "1", "7"],
        ["learner.batch", "1", "7"],
        ["learner.reuse", "2", "6"],
        ["learner.batch", "2", "6"],
    ]
    picture = draw(found)
    assert picture.count("<circle") == 2 * 7
    assert re.search(r">learner\.reuse: 100(\.0)? %<", picture)
    # Larger values stand further to the right, larger Elos higher.
    circles = [line for line in picture.splitlines() if line.startswith("<circle")][:7]
    places = [tuple(float(line.split(f'{key}="')[1].split('"')[0]) for key in ("cx", "cy")) for line in circles]
    assert places == sorted(places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)


# -- real runs ----------------------------------------------------------------------------------------------------


def test_a_tiny_study_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = tmp_path / "space.toml"
    space.write_text("[learner]\nlearning_rate = { low = 0.0005, high = 0.01, log = true }")
    words = ["tune", "gardner-laptop", "--space", str(space), "--minutes", "0.1", "--trials", "2", "--stages", "2"]
    words += ["--games", "2", "--visits", "2", "--smoke", "--device", "cpu", "--to", str(tmp_path / "s"), "--json"]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["complete"]
    assert [each["number"] for each in found["trials"]] == [0, 1]
    for number, trial in enumerate(found["trials"]):
        manifest, state = read_run(tmp_path / "s" / "trials" / f"{number:05}")
        assert manifest.seed == 1 + number
        assert any(each.startswith("learner.learning_rate=") for each in manifest.settings)
        assert [each["stage"] for each in trial["stages"]] == [1, 2]
        assert state.seconds >= 4.0  # of six; what a stage began and did not end is not counted
    assert (tmp_path / "s" / "study.svg").read_text().startswith("<svg")
    assert load(tmp_path / "s" / "best.toml").variant.name == "gardner"
    # Once more: nothing is left to do.
    with pytest.raises(SystemExit):
        main(words)
    assert json.loads(capsys.readouterr().out) == found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pruner", "best"], "--pruner: unknown 'best'; use one of median, hyperband, none"),
        (["--games", "3"], "so 3 is not possible; 2 or 4 is"),
        (["--set", "learner.bach=3"], "learner.bach: unknown key"),
        (["--device", "gpu"], "unknown device 'gpu'"),
        (["--space", "nowhere.toml"], "nowhere.toml: there is no such file"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "space.toml").write_text("[learner]\nbatch = [8, 16]")
    common = ["tune", "gardner-laptop", "--space", str(tmp_path / "space.toml"), "--minutes", "1"]
    with pytest.raises(SystemExit) as ended:
        main([*common, "--to", str(tmp_path / "s"), *words])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "s").exists()


def test_a_cluster_that_cannot_be_used_leaves_no_study(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(ray: str | None, device: str) -> Any:
        raise SelfmateError(f"{ray}: no cluster answers there ({device})")

    monkeypatch.setattr("selfmate.cli.tune.choose_trainer", lambda ray: None)
    monkeypatch.setattr("selfmate.cli.tune.match_games", refuse)
    (tmp_path / "space.toml").write_text(SPACE)
    answer = run("tune", "gardner-laptop", "--space", tmp_path / "space.toml", "--minutes", "1",
                 "--ray", "127.0.0.1:1", "--device", "cpu", "--to", tmp_path / "study")  # fmt: skip
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "selfmate: 127.0.0.1:1: no cluster answers there (cpu)\n"
    assert not (tmp_path / "study").exists()


def test_settings_of_a_trial() -> None:
    space = read_space(SPACE, load("gardner-laptop"))
    assert trial_settings(space, {"learner.reuse": 2.5, "learner.batch": "8"}) == [
        "learner.reuse=2.5",
        "learner.batch=8",
    ]
