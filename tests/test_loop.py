"""The loop on the smallest of runs: it goes round, stops when asked, goes on where it was, and says what it did."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from rich.console import Console

from selfmate import SelfmateError, read_games
from selfmate import loop as loop_module
from selfmate._core import GameRecord, Pool, SearchConfig
from selfmate.evaluator import Answer, Evaluator, Leaves
from selfmate.gate import Match, balanced_openings, play_match
from selfmate.learner import Learner, Losses
from selfmate.loop import Stop, Summary, Trainer, train
from selfmate.pool import selfplay_pool
from selfmate.recipe import load
from selfmate.recipe import smoke as smoke_recipe
from selfmate.run import Run, State
from selfmate.view import LiveView, PlainView, Progress, make_view

SETTINGS = ("selfplay.max_plies=12", "gate.anchor_games=0", "gate.final_games=2", "learner.ema=0.5")
"""Shorter still than smoke."""


def go(directory: Path, *settings: str, recipe: str = "gardner-laptop", **options: Any) -> Summary:
    return train(recipe, run=directory, overrides=(*SETTINGS, *settings), smoke=True, **options)


def state_of(directory: Path) -> State:
    return msgspec.json.decode((directory / "state.json").read_bytes(), type=State)


def games_of(directory: Path) -> list[bytes]:
    """Read all committed games in the order of their ids; an id that comes twice or is missing is an error."""
    recipe = smoke_recipe(load("gardner-laptop"))
    with Run.open(directory, recipe, name="gardner-laptop", smoke=True) as run:
        records = [record for shard in run.state.shards for record in run.read_shard(shard)]
    found = {GameRecord.from_bytes(record).game_id: record for record in records}
    assert len(found) == len(records)
    assert sorted(found) == list(range(len(found)))
    return [found[game_id] for game_id in sorted(found)]


def learned(directory: Path) -> tuple[Any, ...]:
    """Give what must not depend on how often a run was stopped."""
    state = state_of(directory)
    assert state.learner is not None
    nets = {checkpoint.cycle: checkpoint.files for checkpoint in state.checkpoints}
    return state.cycle, state.champion, state.goal, state.owed, state.games, nets, state.learner.files


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run."""
    directory = tmp_path_factory.mktemp("loop") / "run"
    assert go(directory).reason == "complete"
    return directory


def test_a_run_goes_round(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = state_of(finished)
    assert (state.cycle, state.games, state.first_game) == (3, 24, 24)
    assert len(games_of(finished)) == 24
    assert [checkpoint.cycle for checkpoint in state.checkpoints] == [0, 1, 2, 3]
    assert state.learner is not None
    assert state.learner.step > 0
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert {line["stage"] for line in lines} >= {"play", "learn", "gate", "final"}
    samples = list(read_games(finished / "pgn/00001.pgn"))
    assert len(samples) == 2
    assert samples[0].headers["Variant"] == "Gardner"
    # The same command again: nothing is played anew, and the last line says both scores
    before = (finished / "state.json").read_bytes()
    summary = go(finished)
    assert summary.reason == "complete"
    assert (finished / "state.json").read_bytes() == before
    last = capsys.readouterr().out.splitlines()[-1]
    assert "against the untrained net" in last
    assert "against heuristic-1 (2 games each, 2 visits, paired openings)" in last


def test_it_can_be_stopped_anywhere(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop after a few questions whether to stop, again and again: the outcome is the uninterrupted run's."""
    directory = tmp_path / "run"
    lock = threading.Lock()
    left = sessions = 0

    def impatient(self: Stop) -> bool:
        nonlocal left
        with lock:
            left -= 1
            self.asked = self.asked or left < 0
        return self.asked

    monkeypatch.setattr(Stop, "__call__", impatient)
    summary = None
    saved = 0
    while summary is None or summary.reason != "complete":
        sessions += 1
        left = 9 + 3 * sessions
        summary = go(directory)
        saved += state_of(directory).flight is not None
        assert sessions < 100
    assert sessions > 3
    assert saved > 1
    assert state_of(directory).flight is None
    assert games_of(directory) == games_of(finished)
    assert learned(directory) == learned(finished)


def test_games_may_begin_in_an_earlier_cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: all games are there once, whatever began ahead, also over two sessions."""
    directory = tmp_path / "run"
    monkeypatch.setattr(Trainer, "_ahead", lambda self: 40)
    taken_up: list[int] = []
    make_pool = selfplay_pool

    class Watched:
        def __init__(self, pool: Pool) -> None:
            self.pool = pool

        def __getattr__(self, name: str) -> Any:
            return getattr(self.pool, name)

        def resume(self, games: list[GameRecord]) -> None:
            taken_up.append(len(games))
            self.pool.resume(games)

    monkeypatch.setattr(loop_module, "selfplay_pool", lambda *a, **b: Watched(make_pool(*a, **b)))
    go(directory, "selfplay.cycles=2")
    assert state_of(directory).flight is not None
    go(directory, "selfplay.cycles=4")
    assert len(games_of(directory)) == 32
    assert taken_up[0] == 0
    assert min(taken_up[1:]) > 0


def test_another_seed_is_another_run(finished: Path, tmp_path: Path) -> None:
    go(tmp_path / "run", seed=2)
    assert games_of(tmp_path / "run") != games_of(finished)


def test_a_loss_that_is_no_number_rolls_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    healthy = Learner._losses
    poisoned_at: list[int] = []

    def poisoned(self: Learner, net: Any, batch: Any, cycle: int) -> tuple[torch.Tensor, ...]:
        losses = healthy(self, net, batch, cycle)
        if cycle == 2 and len(poisoned_at) < 2 and net.training and self.step >= 1:
            poisoned_at.append(self.step)
            return (losses[0] * float("nan"), *losses[1:])
        return losses

    monkeypatch.setattr(Learner, "_losses", poisoned)
    assert go(tmp_path / "run").reason == "complete"
    assert len(poisoned_at) == 2
    assert "the loss is not finite" in capsys.readouterr().out
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    rates = [line["rate"] for line in lines if line["stage"] == "rollback"]
    assert len(rates) == 2
    assert rates[1] == rates[0] / 2
    card = json.loads(next((tmp_path / "run/learner").glob("*/learner.json")).read_text())
    assert card["rate_scale"] == 0.25
    # A loss that never recovers ends the run with one line, and with everything committed in place
    monkeypatch.setattr(Learner, "_losses", lambda *arguments: tuple(torch.full((4,), torch.nan).requires_grad_()))
    with pytest.raises(SelfmateError, match="not finite at any learning rate"):
        go(tmp_path / "other")
    assert state_of(tmp_path / "other").cycle == 1


def test_a_candidate_that_fails_at_the_gate_does_not_play(tmp_path: Path) -> None:
    go(tmp_path / "run", "gate.threshold=1.0")
    state = state_of(tmp_path / "run")
    gates = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    scores = [gate["score"] for gate in gates if gate["stage"] == "gate"]
    assert len(scores) == 3
    if max(scores) < 1:
        assert state.champion == 0
        assert {shard.net for shard in state.shards} == {0}


def test_without_a_gate_every_candidate_plays(tmp_path: Path) -> None:
    go(tmp_path / "run", "gate.games=0", "learner.window=[[0, 400], [1, 60], [2, 500]]", "learner.holdout=0")
    assert [shard.net for shard in state_of(tmp_path / "run").shards] == [0, 1, 2]


def test_minutes_end_a_run_with_its_final_match(tmp_path: Path) -> None:
    summary = go(tmp_path / "run", minutes=0.0001)
    assert summary.reason == "time"
    assert summary.scores.keys() == {"untrained", "heuristic-1"}
    assert go(tmp_path / "run").reason == "complete"


@pytest.mark.parametrize("recipe", ["atomic-laptop"])
def test_other_recipes_go_round_too(tmp_path: Path, recipe: str) -> None:
    assert go(tmp_path / "run", recipe=recipe).reason == "complete"


def test_nothing_starts_before_the_recipe_is_right(tmp_path: Path) -> None:
    with pytest.raises(SelfmateError, match="there is no such key"):
        go(tmp_path / "run", "selfplay.vists=3")
    with pytest.raises(SelfmateError, match="no recipe is called 'gardner'"):
        go(tmp_path / "run", recipe="gardner")
    with pytest.raises(SelfmateError, match="channels"):
        go(tmp_path / "run", "net.channels=100000")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_cleanly_and_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    directory = tmp_path / "run"
    code = "import sys; from selfmate.loop import train; print(train(sys.argv[1], sys.argv[2], smoke=True).reason)"
    command = [sys.executable, "-c", code, "gardner-laptop", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(60) == 0
    assert first.startswith("cycle 1")
    assert f"selfmate train gardner-laptop --run {directory} --smoke" in rest or rest.endswith("complete\n")
    assert state_of(directory).cycle >= 1


def test_the_deadline_leaves_time_for_the_final_match() -> None:
    stop = Stop()
    assert not stop()
    stop.deadline = 0.0
    assert stop()
    assert not stop.asked


def test_the_alarm_rings_when_held_out_games_are_predicted_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real: Callable[..., Any] = Learner.validate

    def overfitted(self: Learner, buffer: Any, cycle: int, batches: int = 4) -> Any:
        losses = real(self, buffer, cycle, batches)
        holds_out = buffer.positions < 100
        return losses and losses._replace(value=0.9 if holds_out else 0.5)

    monkeypatch.setattr(Learner, "validate", overfitted)
    monkeypatch.setattr(loop_module, "GAP_CYCLES", 1)
    go(tmp_path / "run", "selfplay.cycles=4")
    assert "Overfitting" in capsys.readouterr().out


def test_matches_are_fair_and_see_who_is_better() -> None:
    openings = balanced_openings("gardner", 6, seed=3)
    assert len(set(openings)) == 6
    options: dict[str, Any] = {"search": SearchConfig(), "visits": 32, "lanes": 2}
    even = play_match("gardner", "heuristic-1", "heuristic-1", openings, **options)
    assert even is not None
    assert even[0].score == 0.5
    assert set(even[0].pairs) == {1.0}
    first = play_match("gardner", "heuristic-1", "uniform", openings, **options)
    second = play_match("gardner", "uniform", "heuristic-1", openings, **options)
    assert first is not None
    assert second is not None
    assert first[0].games == 12
    assert first[0].score > 0.7
    assert second[0].score == pytest.approx(1 - first[0].score)
    assert first[0].elo == pytest.approx(-second[0].elo)
    assert first[0].as_json()["white"]["wins"] == second[0].as_json()["black"]["losses"]
    assert play_match("gardner", "uniform", "uniform", openings, stopping=lambda: True, **options) is None


def test_a_failing_evaluator_ends_the_match() -> None:
    class Broken(Evaluator):
        def evaluate(self, leaves: Leaves) -> Answer:
            raise SelfmateError("broken")

    broken = Broken()
    with pytest.raises(SelfmateError, match="broken"):
        play_match(
            "gardner", broken, "uniform", balanced_openings("gardner", 1, seed=3), search=SearchConfig(), visits=4
        )


def test_the_live_view_shows_the_run(finished: Path) -> None:
    """Every line that the picture can have, and a game that goes on while one looks."""
    recipe = smoke_recipe(load("gardner-laptop"))
    with Run.open(finished, recipe, name="gardner-laptop", smoke=True) as run:
        game = GameRecord.from_bytes(run.read_shard(run.state.shards[0])[0])
    match = Match(wins=(2, 1), draws=(0, 0), losses=(0, 1), pairs=(2.0, 1.0))
    losses = Losses(total=3.0, policy=2.0, value=1.0, plies=0.5)
    progress = Progress(
        variant="gardner", recipe="gardner-laptop", cycles=9, cycle=4, losses=losses, validation=losses, shown=game
    )
    progress.deadline = progress.began + 100
    progress.scores["heuristic-1"] = (3, match)
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with LiveView(progress, console) as view:
        view.say("a line that stays")
        for _ in range(len(game.moves) + 2):
            view._next_move = 0.0
            console.print(view._picture())
        view.cycle_done()
    view.close()
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    for text in ("a line that stays", "cycle", "4 of 9", "policy 2.000", "75.0 % ±", f"game {game.game_id}", "left"):
        assert text in shown
    assert isinstance(make_view(progress), PlainView)  # under pytest there is no terminal
