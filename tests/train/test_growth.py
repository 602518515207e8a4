"""A net that grows in a run: it computes the same, learns before it plays, and the run is the same bit for bit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from selfmate.nn.checkpoint import load
from selfmate.nn.config import GARDNER, NetConfig, NetError
from selfmate.nn.net import Net
from selfmate.nn.transfer import grow
from selfmate.recipe.reader import RecipeError, change
from selfmate.recipe.reader import load as load_recipe
from selfmate.recipe.reader import smoke as smoke_recipe
from selfmate.rundir.format import read_run, read_state
from selfmate.rundir.pack import pack
from selfmate.rundir.reader import RunReader
from selfmate.train.selfplay import SelfPlay
from selfmate.train.session import Summary, train
from selfmate.train.warm_start import averaged_net
from stopping import ImpatientStop

pytestmark = pytest.mark.usefixtures("one_thread")
SETTINGS = ("selfplay.max_plies=12", "progress.games=0", "gate.final_games=0", "learner.ema=0.5", "gate.games=0")
GROW_STEPS = 40
"""More than a session of the test below can make, so that it stops while a larger net learns."""
GROWING = ("net.blocks=[[0, 1], [1, 2]]", "net.channels=[[0, 8], [2, 12]]", f"learner.grow_steps={GROW_STEPS}")


def games_of(directory: Path) -> list[bytes]:
    games = sorted(RunReader.open(directory).games(), key=lambda record: record.game_id)
    assert [record.game_id for record in games] == list(range(len(games)))
    return [record.to_bytes() for record in games]


def learned(directory: Path) -> tuple[Any, ...]:
    """Return what must not depend on how often a run was stopped."""
    state = read_state(directory)
    assert state.learner is not None
    nets = {checkpoint.cycle: checkpoint.files for checkpoint in state.checkpoints}
    return state.cycle, state.champion, state.goal, state.owed, state.games, nets, state.learner.files


def go(directory: Path, *settings: str, **options: Any) -> Summary:
    return train("gardner-laptop", directory, overrides=(*SETTINGS, *settings), smoke=True, device="cpu", **options)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run of three cycles whose net grows twice."""
    directory = tmp_path_factory.mktemp("growth") / "run"
    assert go(directory, *GROWING).reason == "complete"
    return directory


# -- weights ------------------------------------------------------------------------------------------------------


def trained_net(**changes: Any) -> Net:
    """Return a net whose weights, biases and statistics are all random: no part of it is zero or the identity."""
    net = Net(NetConfig.sized(GARDNER, **changes), seed=1)
    generator = torch.Generator().manual_seed(2)
    for name, tensor in net.state_dict().items():
        drawn = torch.randn(tensor.shape, generator=generator)
        tensor.copy_(drawn.abs() + 0.5 if name.endswith("running_var") else 0.3 * drawn)
    return net


@pytest.mark.parametrize("context", ["se", "pool", "none"])
@pytest.mark.parametrize("heads", ["conv", "full"])
def test_a_grown_net_computes_the_same(context: str, heads: str) -> None:
    changes: dict[str, Any] = {"context": context, "heads": heads, "value_channels": 0 if heads == "full" else 4}
    old = trained_net(blocks=2, channels=64, **changes).eval()  # its squeezed width grows too
    new = Net(NetConfig.sized(GARDNER, blocks=3, channels=80, **changes), seed=3).eval()
    grow(old, new)
    bits = torch.randint(-(2**40), 2**40, (32, GARDNER.bitboards), generator=torch.Generator().manual_seed(4))
    scalars = torch.rand(32, GARDNER.scalars, generator=torch.Generator().manual_seed(5))
    for ours, theirs in zip(old(bits, scalars), new(bits, scalars), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-3, atol=1e-4 * float(ours.detach().abs().max()))
    # What is new learns: every new weight that an old channel reads has a gradient.
    new.train()
    sum(output.square().sum() for output in new(bits, scalars)).backward()
    gradient = new.get_parameter("blocks.0.first.conv.weight").grad
    assert gradient is not None
    assert bool((gradient[:64, 64:].abs().amax((1, 2, 3)) > 0).float().mean() > 0.5)


def test_a_net_does_not_shrink_and_does_not_change_otherwise() -> None:
    old = Net(NetConfig.sized(GARDNER, blocks=2, channels=16))
    with pytest.raises(NetError, match="blocks would fall from 2 to 1"):
        grow(old, Net(NetConfig.sized(GARDNER, blocks=1, channels=16)))
    with pytest.raises(NetError, match="channels would fall from 16 to 12"):
        grow(old, Net(NetConfig.sized(GARDNER, blocks=2, channels=12)))
    with pytest.raises(NetError, match="context is se and none"):
        grow(old, Net(NetConfig.sized(GARDNER, blocks=2, channels=16, context="none")))


# -- a run --------------------------------------------------------------------------------------------------------


def test_the_net_grows_at_its_cycle_and_learns_before_it_plays(finished: Path) -> None:
    state = read_state(finished)
    nets = {each.cycle: load(finished / each.name)[0].config for each in state.checkpoints}
    assert [(nets[cycle].blocks, nets[cycle].channels) for cycle in range(4)] == [(1, 8), (2, 8), (2, 12), (2, 12)]
    assert [shard.net for shard in state.shards] == [0, 1, 2]
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    steps = {(line["stage"], line["cycle"]): line["step"] for line in lines if "step" in line}
    assert steps["grow", 1] == steps["learn", 0] + GROW_STEPS  # nothing is learned in cycle 0
    assert state.checkpoint(1).step == steps["grow", 1]
    assert steps["grow", 2] == steps["learn", 1] + GROW_STEPS
    assert steps["learn", 1] > steps["grow", 1]
    assert state.grow_goal == 0
    assert state.learner is not None
    assert state.learner.step == state.first_step


def test_a_growing_run_can_be_stopped_anywhere(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "run"
    stop, sessions, growing = ImpatientStop(monkeypatch), 0, set()
    summary = None
    while summary is None or summary.reason != "complete":
        sessions += 1
        stop.left = 4 + sessions
        summary = go(directory, *GROWING)
        growing.add(read_state(directory).grow_goal)
        assert sessions < 100
    assert len(growing) > 1  # it was also stopped while a larger net learned
    assert games_of(directory) == games_of(finished)
    assert learned(directory) == learned(finished)


def test_with_a_gate_a_grown_net_plays_when_it_has_passed(tmp_path: Path) -> None:
    go(tmp_path / "run", *GROWING, "gate.games=2", "gate.threshold=1.0", "gate.rule=wins")
    state = read_state(tmp_path / "run")
    assert {shard.net for shard in state.shards} <= {0, state.champion}
    assert averaged_net(tmp_path / "run").config.channels == 12


def test_a_packed_copy_of_a_grown_run_goes_on(finished: Path, tmp_path: Path) -> None:
    pack(finished, tmp_path / "packed", 8)
    summary = go(tmp_path / "packed", *GROWING, "selfplay.cycles=4")
    assert (summary.reason, summary.cycle) == ("complete", 4)
    assert averaged_net(tmp_path / "packed").config.channels == 12


def test_a_schedule_may_be_given_when_a_run_is_resumed(tmp_path: Path) -> None:
    go(tmp_path / "run", "selfplay.cycles=2")
    with pytest.raises(RecipeError, match=r"net.blocks: a net cannot change at once; .* \[\[0, 1\], \[3, 2\]\] lets"):
        go(tmp_path / "run", "net.blocks=2", "selfplay.cycles=4")
    with pytest.raises(RecipeError, match=r"net.context: cannot be changed during a run"):
        go(tmp_path / "run", "net.context=none", "selfplay.cycles=4")
    go(tmp_path / "run", "net.blocks=[[0, 1], [3, 2]]", "learner.grow_steps=3", "selfplay.cycles=4")
    assert load(tmp_path / "run" / read_state(tmp_path / "run").checkpoint(4).name)[0].config.blocks == 2
    assert read_run(tmp_path / "run")[0].appendices[-1].cycle == 2


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (["net.blocks=[[0, 4], [5, 2]]"], r"net.blocks: a net only grows in a run, and 2 after 4 is less \(from cyc"),
        (["net.channels=[[0, 32], [2, 64], [5, 48]]"], "net.channels: a net only grows in a run, and 48 after 64"),
        (["net.blocks=[[0, 4], [5, 2000]]"], r"net.blocks\[1\]\[1\]: expected a whole number from 1 to 80"),
        (["net.blocks=[[1, 4]]"], "a schedule begins at cycle 0"),
        (["net.context_blocks=3-6", "net.blocks=[[0, 4], [5, 6]]"], "3-6 does not fit 4 blocks"),
    ],
)
def test_a_schedule_that_is_no_growth_is_refused(settings: list[str], line: str) -> None:
    with pytest.raises(RecipeError, match=line):
        change(smoke_recipe(load_recipe("gardner-laptop")), settings)


# -- self-play that goes on, as on a GPU --------------------------------------------------------------------------


@pytest.fixture
def selfplay() -> Iterator[SelfPlay]:
    made = SelfPlay(change(smoke_recipe(load_recipe("gardner-laptop")), SETTINGS), 1, "cpu", continuous=True)
    yield made
    made.pause()


def test_continuous_self_play_goes_on_with_the_larger_net(finished: Path, selfplay: SelfPlay) -> None:
    state = read_state(finished)
    selfplay.prepare(finished / state.checkpoint(0).name)
    first = selfplay._evaluator
    selfplay.play(0, list(range(8)), stopping=lambda: False, tell=lambda games: None)
    selfplay.prepare(finished / state.checkpoint(2).name)
    assert selfplay._evaluator is not first
    games = selfplay.play(1, list(range(8, 16)), stopping=lambda: False, tell=lambda games: None)
    assert [record.game_id for record in games.records] == list(range(8, 16))
    assert selfplay._evaluator is not None
    assert selfplay._evaluator.net_id == load(finished / state.checkpoint(2).name)[1].net_id
    selfplay.prepare(finished / state.checkpoint(3).name)  # of the same size: its weights are replaced
    assert selfplay._evaluator.net_id == load(finished / state.checkpoint(3).name)[1].net_id
