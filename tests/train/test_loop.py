"""The loop on the smallest of runs: it goes round, stops when asked, goes on where it was, and says what it did."""

from __future__ import annotations

import functools
import io
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from rich.console import Console

from selfmate import Position, SelfmateError, read_games
from selfmate._core import GameRecord, Pool, SearchConfig
from selfmate.errors import EvaluatorError
from selfmate.evaluator.base import Evaluation, Evaluator
from selfmate.evaluator.winograd import WinogradEvaluator
from selfmate.match import runner
from selfmate.match.openings import balanced_openings
from selfmate.match.runner import MatchProgress, play_match
from selfmate.nn.checkpoint import read_card
from selfmate.nn.leaves import Leaves
from selfmate.rating.match_stats import Match
from selfmate.recipe.reader import from_toml, load, names
from selfmate.recipe.reader import smoke as smoke_recipe
from selfmate.rundir.directory import Run
from selfmate.rundir.format import State, read_run
from selfmate.train import dashboard as view_module
from selfmate.train import game_source as game_source_module
from selfmate.train import gate as loop_matches_module
from selfmate.train import lessons as lessons_module
from selfmate.train import selfplay as selfplay_module
from selfmate.train.dashboard import LiveView, PlainView, make_view
from selfmate.train.learner import Learner, Losses
from selfmate.train.selfplay import SelfPlay, selfplay_pool
from selfmate.train.session import Summary, find_device, program_name, train
from selfmate.train.status import CompletedCycle, TrainingStatus
from selfmate.util.signals import Stop
from stopping import ImpatientStop

SETTINGS = ("selfplay.max_plies=12", "progress.games=0", "gate.final_games=2", "learner.ema=0.5")
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
    gates = list(read_games(finished / "pgn/00002-gate.pgn"))
    assert {"pgn/00001-gate.pgn", "pgn/00002-gate.pgn"} <= set(state.pgn)
    assert "pgn/00000-gate.pgn" not in state.pgn  # nothing was learned yet
    assert len(gates) == 2
    assert [game.headers["White"] for game in gates] == [gates[1].headers["Black"], gates[0].headers["Black"]]
    assert "run cycle 3 (2 visits)" in (gates[0].headers["White"], gates[0].headers["Black"])
    finals = [game for path in sorted((finished / "matches").glob("*.pgn")) for game in read_games(path)]
    names = {game.headers[side] for game in finals for side in ("White", "Black")}
    champion = f"run cycle {state.champion} (2 visits)"  # as `selfmate arena` calls them
    assert names == {champion, "run untrained (2 visits)", "heuristic-1 (2 visits)"}
    # The same command again: nothing is played anew, and the last line says both scores
    before = (finished / "state.json").read_bytes()
    summary = go(finished)
    assert summary.reason == "complete"
    assert (finished / "state.json").read_bytes() == before
    said = capsys.readouterr().out.splitlines()
    assert "against the untrained net" in said[-3]
    assert "against heuristic-1 (2 games each, 2 visits, paired openings)" in said[-3]
    assert said[-2] == f"Play it: {shlex.join([program_name(), 'play', str(finished)])}"
    assert said[-1].startswith(f"Train on: {program_name()} train gardner-laptop --run {finished} ")
    assert said[-1].endswith(" --smoke --set selfplay.cycles=6")


def test_it_can_be_stopped_anywhere(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop after a few questions whether to stop, again and again: the outcome is the uninterrupted run's."""
    directory = tmp_path / "run"
    stop, sessions = ImpatientStop(monkeypatch), 0
    summary = None
    saved = 0
    while summary is None or summary.reason != "complete":
        sessions += 1
        stop.left = 9 + 3 * sessions
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
    monkeypatch.setattr(game_source_module, "SelfPlay", functools.partial(SelfPlay, continuous=True))
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

    monkeypatch.setattr(selfplay_module, "selfplay_pool", lambda *a, **b: Watched(make_pool(*a, **b)))
    go(directory, "selfplay.cycles=2")
    assert state_of(directory).flight is not None
    go(directory, "selfplay.cycles=4")
    assert len(games_of(directory)) == 32
    assert len(taken_up) == 2  # one pool for a session
    assert taken_up[0] == 0


def test_a_device_that_is_lost_costs_nothing_committed(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The evaluator fails in the second cycle; the same command goes on to the uninterrupted run's end."""
    directory = tmp_path / "run"
    evaluate = WinogradEvaluator.evaluate

    def lost(self: WinogradEvaluator, leaves: Leaves) -> Evaluation:
        if (directory / "state.json").exists() and state_of(directory).cycle == 1:
            raise EvaluatorError("the GPU failed: device lost")
        return evaluate(self, leaves)

    with monkeypatch.context() as patched:
        patched.setattr(WinogradEvaluator, "evaluate", lost)
        with pytest.raises(EvaluatorError, match="device lost"):
            go(directory)
    assert state_of(directory).cycle == 1
    go(directory)
    assert games_of(directory) == games_of(finished)
    assert learned(directory) == learned(finished)


def test_the_command_to_go_on_works_where_it_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / ".venv/bin/selfmate"
    script.parent.mkdir(parents=True)
    script.touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert program_name() == "selfmate"
    monkeypatch.delenv("VIRTUAL_ENV")
    assert program_name() == ".venv/bin/selfmate"
    monkeypatch.chdir(tmp_path.parent)
    assert program_name() == str(script) or program_name() == f"{tmp_path.name}/.venv/bin/selfmate"
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert program_name() == "selfmate"


def test_a_gpu_that_is_not_there_is_refused(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(SelfmateError, match=r"torch sees no GPU.*; --device cpu trains without one"):
        go(tmp_path / "run", device="cuda")
    assert not (tmp_path / "run").exists()
    assert find_device("auto") == "cpu"


def test_another_seed_is_another_run(finished: Path, tmp_path: Path) -> None:
    go(tmp_path / "run", seed=2)
    assert games_of(tmp_path / "run") != games_of(finished)


def test_a_loss_that_is_no_number_rolls_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    healthy = Learner._losses
    poisoned_at: list[int] = []

    def poisoned(self: Learner, net: Any, batch: Any, cycle: int, *mean: Any) -> tuple[torch.Tensor, ...]:
        losses = healthy(self, net, batch, cycle, *mean)
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


def test_only_a_candidate_that_passes_the_gate_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of 0.75 and 0.5 at a threshold of 0.75: the second candidate becomes champion and plays cycle 2.

    The first one is the untrained net, because the first cycle has nothing to learn from: it plays no match.
    """
    even, better = Match(wins=(1, 1), draws=(0, 0), losses=(1, 1)), Match(wins=(1, 2), draws=(0, 0), losses=(1, 0))
    waiting = [better, even]
    monkeypatch.setattr(loop_matches_module, "play_match", lambda *sides, **options: (waiting.pop(0), []))
    go(tmp_path / "run", "gate.threshold=0.75", "gate.final_games=0")
    assert not waiting
    state = state_of(tmp_path / "run")
    gates = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    found = [(gate["score"], gate["passed"], gate["champion"]) for gate in gates if gate["stage"] == "gate"]
    assert found == [(0.75, True, 0), (0.5, False, 2)]
    assert state.champion == 2
    assert [(shard.cycle, shard.net) for shard in state.shards] == [(0, 0), (1, 0), (2, 2)]


def test_learning_before_the_games_of_a_cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `learner.alternate` an accepted net plays the games of its own cycle, not those of the next one.

    A net of cycle 2 or later has learned from the games of all cycles before; a resumed cycle plays no gate again.
    """
    even, better = Match(wins=(1, 1), draws=(0, 0), losses=(1, 1)), Match(wins=(1, 2), draws=(0, 0), losses=(1, 0))
    waiting = [better, even]
    monkeypatch.setattr(loop_matches_module, "play_match", lambda *sides, **options: (waiting.pop(0), []))
    go(tmp_path / "run", "gate.threshold=0.75", "gate.final_games=0", "learner.alternate=true")
    assert not waiting
    state = state_of(tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    order = [(line["stage"], line["cycle"]) for line in lines if line["stage"] in ("play", "learn", "gate")]
    assert order == [
        ("learn", 0), ("play", 0), ("learn", 1), ("gate", 1), ("play", 1), ("learn", 2), ("gate", 2), ("play", 2),
    ]  # fmt: skip
    assert (state.champion, state.judged) == (2, 3)
    assert [(shard.cycle, shard.net) for shard in state.shards] == [(0, 0), (1, 2), (2, 2)]
    assert {f"pgn/{cycle:05}.pgn" for cycle in range(3)} <= set(state.pgn)
    assert len(state.pgn) == len(set(state.pgn)) == 5


def test_a_gate_match_is_candidate_against_champion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two games from each opening, new openings in every cycle, the visits of the recipe, and no noise."""
    seen: list[tuple[str, str, list[str], SearchConfig, int]] = []
    even = Match(wins=(1, 1), draws=(0, 0), losses=(1, 1))

    def play(
        variant: str, first: Evaluator, second: Evaluator, openings: list[str], **options: Any
    ) -> tuple[Match, list[GameRecord]]:
        seen.append((first.net_id, second.net_id, openings, options["search"], options["visits"]))
        return even, []

    monkeypatch.setattr(loop_matches_module, "play_match", play)
    go(
        tmp_path / "run",
        "gate.threshold=0.75",
        "gate.final_games=0",
        "gate.games=6",
        "gate.visits=5",
        "gate.random_plies=1",
        "search.cpuct=[[0, 1.5], [2, 2.5]]",
        "gate.fpu_reduction=[[0, 0.5], [2, 0.25]]",
    )
    nets = [read_card(tmp_path / "run" / each.name).net_id for each in state_of(tmp_path / "run").checkpoints]
    assert len(set(nets)) == 3  # the first cycle has nothing to learn from
    assert [(first, second) for first, second, *_ in seen] == [(net, nets[0]) for net in nets[2:]]
    assert [len(openings) for _, _, openings, _, _ in seen] == [3, 3]
    assert seen[0][2] != seen[1][2]
    assert all(Position("gardner", fen).fen().split()[1] == "b" for _, _, openings, _, _ in seen for fen in openings)
    assert [(search.cpuct, search.fpu_reduction) for *_, search, _ in seen] == [(1.5, 0.5), (2.5, 0.25)]
    for *_, search, visits in seen:
        assert (search.gumbel_scale, search.noise_epsilon, visits) == (0.0, 0.0, 5)


def test_candidates_between_two_gates_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    won = Match(wins=(2, 2), draws=(0, 0), losses=(0, 0))
    monkeypatch.setattr(loop_matches_module, "play_match", lambda *sides, **options: (won, []))
    go(tmp_path / "run", "gate.games=4", "gate.every=3", "gate.final_games=0", "selfplay.cycles=5")
    assert [shard.net for shard in state_of(tmp_path / "run").shards] == [0, 0, 0, 3, 3]


def test_without_a_gate_every_candidate_plays(tmp_path: Path) -> None:
    go(tmp_path / "run", "gate.games=0", "learner.window=[[0, 400], [1, 60], [2, 500]]", "learner.holdout=0")
    assert [shard.net for shard in state_of(tmp_path / "run").shards] == [0, 1, 2]


def test_minutes_end_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = go(tmp_path / "run", minutes=0.0001)
    assert (summary.reason, summary.signal, summary.scores) == ("time", None, {})
    assert capsys.readouterr().out.splitlines()[:4] == [
        "The time is over; everything up to here is saved.",
        "No final matches: too little time was left for them.",
        "The champion is still the untrained net.",
        f"Play it: {program_name()} play {tmp_path / 'run'}",
    ]
    go(tmp_path / "run", minutes=0.0001, is_part=True)
    assert capsys.readouterr().out.splitlines()[-1] == "No final matches: too little time was left for them."
    summary = go(tmp_path / "run", "gate.games=0")
    assert summary.reason == "complete"
    assert summary.scores.keys() == {"untrained", "heuristic-1"}
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "Changed at cycle 0: gate.games=0."
    assert lines[2].startswith("cycle 0: 8 games, untrained")
    assert lines[-3].startswith("Champion of cycle 3: ")


def test_a_net_that_learned_nothing_is_not_called_champion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first cycle only plays: the final match is one of the untrained net, and not with itself."""
    summary = go(tmp_path / "run", "selfplay.cycles=1", minutes=10)
    assert (summary.reason, set(summary.scores)) == ("complete", {"heuristic-1"})
    score = capsys.readouterr().out.splitlines()[-3]
    assert score.startswith("The champion is still the untrained net: ")
    assert score.endswith(" against heuristic-1 (2 games, 2 visits, paired openings).")


@pytest.mark.parametrize("recipe", [name for name in names() if name.endswith("-laptop") and name != "gardner-laptop"])
def test_other_recipes_go_round_too(tmp_path: Path, recipe: str) -> None:
    settings = ("gate.games=0", "gate.final_games=0")
    assert go(tmp_path / "run", *settings, recipe=recipe).reason == "complete"
    archived = (tmp_path / "run/recipe.toml").read_text()
    assert "extends" not in archived
    variant = load(recipe).variant.name
    assert from_toml(archived).variant.name == read_run(tmp_path / "run")[0].variant == variant
    if variant.endswith("960"):
        with Run.open(tmp_path / "run", smoke_recipe(load(recipe)), name=recipe, smoke=True) as run:
            games = [GameRecord.from_bytes(record) for shard in run.state.shards for record in run.read_shard(shard)]
        starts = {game.start_fen.split()[0] for game in games}
        assert len(starts) > len(games) / 2  # each game has its own
        assert all(Position(variant, game.start_fen).chess960 for game in games)


def test_nothing_starts_before_the_recipe_is_right(tmp_path: Path) -> None:
    with pytest.raises(SelfmateError, match="unknown key"):
        go(tmp_path / "run", "selfplay.vists=3")
    with pytest.raises(SelfmateError, match="unknown recipe 'gardener'"):
        go(tmp_path / "run", recipe="gardener")
    with pytest.raises(SelfmateError, match="channels"):
        go(tmp_path / "run", "net.channels=100000")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_cleanly_and_says_how_to_go_on(tmp_path: Path, number: signal.Signals, code: int) -> None:
    directory = tmp_path / "my run"
    settings = ["--set", "selfplay.cycles=100000", "--set", "learner.window=[[0, 400], [1, 500]]"]
    arguments = ["train", "gardner-laptop", "--run", str(directory), "--minutes", "60", *settings, "--seed", "7"]
    arguments += ["--device", "cpu", "--smoke"]
    command = [sys.executable, "-c", "from selfmate.cli.main import main; main()", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.send_signal(number)
        lines = process.stdout.read().splitlines()
        assert process.stderr.read() == ""
        assert process.wait(60) == code
    assert first.startswith("cycle 0: ")
    last = [line for line in lines if line != "The champion is still the untrained net."]  # depends on the machine
    assert last[-4:] == [
        "Stopped; everything up to here is saved.",
        f"Play it: {shlex.join([program_name(), 'play', str(directory)])}",
        "Run the same command again to resume:",
        shlex.join([program_name(), *arguments]),
    ]
    assert state_of(directory).cycle >= 1
    # The run takes that command
    overrides = [setting for setting in settings if setting != "--set"]
    with Run.open(
        directory, smoke_recipe(load("gardner-laptop")), name="gardner-laptop", seed=7, settings=overrides, smoke=True
    ) as run:
        assert run.manifest.appendices == ()


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
    monkeypatch.setattr(lessons_module, "OVERFITTING_CYCLES", 1)
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


def test_a_match_tells_how_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PROGRESS_SECONDS", 0.0)
    heard: list[MatchProgress] = []
    openings = balanced_openings("gardner", 3, seed=3)
    options: dict[str, Any] = {"search": SearchConfig(), "visits": 8, "lanes": 1}
    played = play_match("gardner", "heuristic-1", "uniform", openings, tell=heard.append, **options)
    assert played is not None
    # At the beginning
    assert (heard[0].games, heard[0].finished, heard[0].match.games) == (6, (), 0)
    # In between: every game is in play or over, and goes on from what was seen before
    counts = [len(standing.finished) for standing in heard]
    assert counts == sorted(counts)
    assert len(set(counts)) > 2
    for earlier, later in pairwise(heard):
        now = {record.game_id: record.moves for record in (*later.finished, *later.playing)}
        assert len(now) == 6
        for record in earlier.playing:
            assert now[record.game_id][: len(record.moves)] == record.moves
        assert later.match.games == 2 * len(later.match.pairs) <= len(later.finished)
    # At the end
    assert heard[-1].match.score == played[0].score
    assert not heard[-1].playing
    assert [record.game_id for record in played[1]] == list(range(6))


def test_a_failing_evaluator_ends_the_match() -> None:
    class Broken(Evaluator):
        name, net_id, variant = "broken", "broken", "gardner"

        def evaluate(self, leaves: Leaves) -> Evaluation:
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
    status = TrainingStatus(
        variant="gardner",
        recipe="gardner-laptop",
        cycles=9,
        cycle=4,
        losses=losses,
        learned=losses,
        held_out=losses,
        latest_game=game,
    )
    status.latest_game = game
    status.deadline = status.began + 100
    status.scores["heuristic-1"] = (3, match)
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with LiveView(status, console) as view:
        view.say("a line that stays")
        for _ in range(len(game.moves) + 2):
            view._next_move = 0.0
            console.print(view._render())
        view.cycle_done()
    view.close()
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    for text in ("a line that stays", "cycle", "4 of 9", "policy 2.000", "75.0 % [", f"game {game.game_id}", "left"):
        assert text in shown
    assert isinstance(make_view(status), PlainView)  # under pytest there is no terminal


def test_the_live_view_wraps_sentences_and_no_commands() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=40)
    sentence = "Champion of cycle 5: 100.0 % [91.4, 100.0] against the untrained net."
    command = "selfmate train gardner-laptop --run runs/first --minutes 2"
    LiveView(TrainingStatus(variant="gardner"), console).say(f"{sentence}\n{command}")
    assert isinstance(console.file, io.StringIO)
    *lines, last = console.file.getvalue().splitlines()
    assert (" ".join(lines), last) == (sentence, command)
    assert len(lines) == 2


def picture(view: LiveView) -> str:
    """Give what a view would show now, as plain text."""
    console = Console(file=io.StringIO(), width=80)
    console.print(view._render())
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("no_color", [False, True])
def test_without_colours_the_live_board_has_outlined_pieces_for_white(no_color: bool) -> None:
    console = Console(
        file=io.StringIO(),
        width=80,
        force_terminal=True,
        color_system="truecolor",
        no_color=no_color,
        legacy_windows=False,
    )
    console.print(LiveView(TrainingStatus(variant="gardner"), console)._render())
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert ("♔" in shown, "♙" in shown) == (no_color, no_color)
    assert "♚" in shown


def test_the_live_view_follows_a_game_of_a_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PROGRESS_SECONDS", 0.0)
    heard: list[MatchProgress] = []
    openings = balanced_openings("gardner", 6, seed=5)
    options: dict[str, Any] = {"search": SearchConfig(), "visits": 8, "lanes": 1}
    play_match("gardner", "heuristic-1", "uniform", openings, tell=heard.append, **options)
    status = TrainingStatus(variant="gardner", stage="final match against uniform", sides=("champion", "uniform"))
    view = LiveView(status, Console(file=io.StringIO(), width=80))
    assert "match" not in picture(view).replace(status.stage, "")
    whole = {record.game_id: record for record in heard[-1].finished}
    watched: list[int] = []
    shown_plies = 0
    for standing in [*heard, *[heard[-1]] * 200]:
        status.match = standing
        view._next_move = 0.0
        shown = picture(view)
        assert f"{len(standing.finished)} of 12 games" in shown
        if standing.match.games:
            assert str(standing.match) in shown
        if view._game is None or view._board is None:
            continue
        game = view._game
        if not watched or watched[-1] != game.game_id:
            # Another game comes when this one was shown to its end
            assert not watched or shown_plies == len(whole[watched[-1]].moves)
            watched.append(game.game_id)
        shown_plies = len(view._board.move_stack)
        assert view._board.move_stack == whole[game.game_id].moves[:shown_plies]
        assert f"White {'uniform' if game.white_seat else 'champion'}" in shown
        over = game.game_id in {record.game_id for record in standing.finished}
        assert f"game {game.game_id}  {whole[game.game_id].result if over else ' '}" in shown
    assert watched[0] in {record.game_id for record in heard[1].playing}
    assert len(watched) > 1
    # The next match, or no match, clears the board
    status.stage, status.match = "playing", None
    shown = picture(view)
    assert "game " not in shown
    assert "White" not in shown


def test_what_is_not_known_yet_is_not_shown() -> None:
    status = TrainingStatus(variant="gardner", recipe="gardner-laptop", cycles=9)
    rows = dict(view_module._rows(status))
    assert rows["champion"] == "untrained"
    assert rows["games"] == "0"
    assert rows.keys() == {"time", "stage", "cycle", "games", "champion"}
    nothing = CompletedCycle(0, 0, 0, None, None, 0.0, 0.0)
    assert PlainView(status).line(nothing) == "cycle 0: 0 games, untrained"
    # The candidate of the first cycle has learned nothing either
    status.champion = status.cycle = 1
    assert dict(view_module._rows(status))["champion"] == "untrained"
    status.champion_step = status.step = status.goal = 12
    assert dict(view_module._rows(status))["champion"] == "of cycle 1"
    assert dict(view_module._rows(status))["step"].startswith("12 of 12")
    # Games that were all cut off teach no value
    status.held_out = Losses(total=2.5, policy=2.5, value=0.0, plies=0.0)
    assert dict(view_module._rows(status))["held out"] == "policy 2.500"
    done = nothing._replace(cycle=1, step=12, held_out=status.held_out)
    assert PlainView(status).line(done) == "cycle 1: 0 games, step 12, held out policy 2.500"


def test_the_terminal_does_not_echo_while_the_picture_stands() -> None:
    """An echoed ^C would move the cursor, and a line of the picture would stay behind."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        before = termios.tcgetattr(theirs)
        assert before[3] & termios.ECHO
        with LiveView(TrainingStatus(variant="gardner"), Console(file=terminal, force_terminal=True)) as view:
            during = termios.tcgetattr(theirs)
            assert not during[3] & termios.ECHO
            assert during[3] & termios.ISIG  # Ctrl-C is still heard
            view.close()
            assert termios.tcgetattr(theirs) == before
        assert termios.tcgetattr(theirs) == before
    os.close(ours)
