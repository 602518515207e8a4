"""A run that begins with the games of another: another net learns from them first, and then plays on."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from safetensors.torch import load_file

from selfmate._core import Buffer, GameRecord
from selfmate.nn.checkpoint import load
from selfmate.nn.config import NetConfig
from selfmate.nn.encodings import sized_for
from selfmate.nn.net import Net, rounded
from selfmate.nn.transfer import carry_over
from selfmate.recipe.reader import load as load_recipe
from selfmate.recipe.reader import smoke as smoke_recipe
from selfmate.rundir.directory import Run
from selfmate.rundir.format import RunError, read_run
from selfmate.train import warm_start as inherit_module
from selfmate.train.batch import as_tensors
from selfmate.train.learner import Learner
from selfmate.train.learner_card import LearnerError
from selfmate.train.session import Summary, train
from selfmate.train.warm_start import averaged_net, inherit_weights
from selfmate.util.files import stamp_of, write_file
from selfmate.util.signals import Stop

SETTINGS = ("selfplay.max_plies=12", "progress.games=0", "gate.final_games=0")


def go(directory: Path, *settings: str, **options: Any) -> Summary:
    return train("gardner-laptop", directory, overrides=(*SETTINGS, *settings), smoke=True, device="cpu", **options)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run of three tiny cycles."""
    directory = tmp_path_factory.mktemp("inherit") / "old"
    go(directory)
    return directory


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "lock"}


def test_another_net_learns_from_the_games_and_plays_on(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    learn = Learner.learn

    def watch(self: Learner, *arguments: Any, **options: Any) -> Any:
        begun.append(self.step)
        return learn(self, *arguments, **options)

    monkeypatch.setattr(Learner, "learn", watch)
    before = contents(source)
    summary = go(tmp_path / "new", "net.blocks=2", "selfplay.cycles=5", source=source)
    assert contents(source) == before
    assert (summary.reason, summary.cycle, summary.games) == ("complete", 5, 24 + 2 * 8)
    manifest, state = read_run(tmp_path / "new")
    _, old = read_run(source)
    assert manifest.parent is not None
    assert (manifest.parent.name, manifest.parent.cycle) == ("old", 3)
    assert manifest.parent.net_id == load(source / old.checkpoint(old.champion).name)[1].net_id
    # The games are there once, the new ones after them.
    assert sorted(shard.first for shard in state.shards) == [0, 8, 16, 24, 32]
    assert state.first_game == 40
    # It learned before it played: the net of cycle 3 is the first that is not untrained, and played the next games.
    assert [checkpoint.cycle for checkpoint in state.checkpoints] == [0, 3, 4, 5]
    assert begun[0] == state.checkpoint(0).step == 0
    assert begun[1] == state.checkpoint(3).step > 0
    assert [shard.net for shard in state.shards if shard.cycle == 3] == [3]
    net, card = load(tmp_path / "new" / "checkpoints" / "00003")
    assert net.config.blocks == 2
    assert card.parents == (manifest.parent.net_id,)
    assert load(tmp_path / "new" / "checkpoints" / "00000")[1].parents == ()
    lines = [json.loads(line) for line in (tmp_path / "new" / "metrics.jsonl").read_text().splitlines()]
    assert (lines[0]["stage"], lines[0]["step"]) == ("study", state.checkpoint(3).step)
    assert "positions) from run 'old'." in capsys.readouterr().out


def parts_of(directory: Path, prefix: str) -> dict[str, Any]:
    [path] = (directory / "learner").glob("*/learner.safetensors")
    return {name.removeprefix(prefix): tensor for name, tensor in load_file(path).items() if name.startswith(prefix)}


@pytest.mark.parametrize("context", ["se", "pool"])
def test_weights_that_fit_are_taken_over(context: str, tmp_path: Path) -> None:
    """More blocks of the same width answer as before; without what sees the board, nearly so."""
    go(tmp_path / "old", f"net.context='{context}'", "selfplay.cycles=2", "learner.learning_rate=0.02")
    config = NetConfig.from_dict(load(tmp_path / "old" / "checkpoints" / "00002")[1].config)
    old = Net(config).eval()
    old.load_state_dict(parts_of(tmp_path / "old", "average."), strict=False)
    state = read_run(tmp_path / "old")[1]
    with Run.open(
        tmp_path / "old", smoke_recipe(load_recipe("gardner-laptop")), name="gardner-laptop", smoke=True
    ) as run:
        records = [GameRecord.from_bytes(each) for shard in state.shards for each in run.read_shard(shard)]
    games = Buffer("gardner", 10_000, 1)
    for record in records:
        games.add(record)
    batch = as_tensors(games.sample(512, 1, False))

    def off(wanted: NetConfig) -> tuple[float, float]:
        """Give how far the priors are from the old net's, before and after taking over."""
        learner = Learner(Net(wanted, seed=5), load_recipe("gardner-laptop").learner, seed=1)
        with torch.no_grad():
            expected = old(batch.bits, batch.scalars)[0].softmax(1)
            before = learner.average(batch.bits, batch.scalars)[0].softmax(1)
            assert inherit_weights(learner, tmp_path / "old", games) == (wanted.channels == config.channels)
            after = learner.average(batch.bits, batch.scalars)[0].softmax(1)
            assert torch.equal(after, learner.net.eval()(batch.bits, batch.scalars)[0].softmax(1))
        return float((expected - before).abs().sum(1).mean()), float((expected - after).abs().sum(1).mean())

    assert off(dataclasses.replace(config, blocks=config.blocks + 1))[1] < 1e-4
    before, after = off(dataclasses.replace(config, context="none"))
    assert after < before / 4
    before, after = off(dataclasses.replace(config, channels=2 * config.channels))
    assert before == after


def test_it_goes_on_where_it_was_stopped(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped while it studies: the same net in the end."""
    settings = ("learner.reuse=20", "learner.batch=16", "selfplay.cycles=4")
    go(tmp_path / "whole", *settings, source=source)
    asked = 0

    def impatient(self: Stop) -> bool:
        nonlocal asked
        asked += 1
        self.asked = self.asked or asked > 5
        return self.asked

    with monkeypatch.context() as patched:
        patched.setattr(Stop, "__call__", impatient)
        assert go(tmp_path / "new", *settings, source=source).reason == "stopped"
    _, state = read_run(tmp_path / "new")
    assert state.champion == 0
    assert state.learner is not None
    assert 0 < state.learner.step < state.goal
    # A resumed run needs no --from; with it, a line says so.
    with pytest.raises(RunError, match="already exists; run the same command without --from to resume it"):
        go(tmp_path / "new", *settings, source=source)
    assert go(tmp_path / "new", *settings).reason == "complete"
    _, whole = read_run(tmp_path / "whole")
    _, again = read_run(tmp_path / "new")
    for cycle in (3, 4):
        assert again.checkpoint(cycle).step == whole.checkpoint(cycle).step
        both = [load(tmp_path / name / "checkpoints" / f"{cycle:05}")[1].net_id for name in ("new", "whole")]
        assert both[0] == both[1]


def test_the_time_is_kept_while_it_studies(source: Path, tmp_path: Path) -> None:
    settings = ("learner.reuse=1000", "learner.batch=16", "selfplay.cycles=4")
    assert go(tmp_path / "new", *settings, source=source, minutes=0.02).reason == "time"
    _, state = read_run(tmp_path / "new")
    assert state.learner is not None
    assert (state.champion, state.learner.step < state.goal) == (0, True)


def test_a_kill_while_games_are_copied_leaves_nothing_behind(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = 0

    def fail(path: Path, data: bytes) -> Any:
        nonlocal copied
        copied += 1
        if copied == 2:
            raise KeyboardInterrupt
        return write_file(path, data)

    with monkeypatch.context() as patched:
        patched.setattr(inherit_module, "write_file", fail)
        with pytest.raises(KeyboardInterrupt):
            go(tmp_path / "new", "selfplay.cycles=4", source=source)
    assert len(list((tmp_path / "new" / "games").iterdir())) == 1
    with pytest.raises(RunError, match=r"the games of run .old. are not copied yet; give --from again"):
        go(tmp_path / "new", "selfplay.cycles=4")
    assert go(tmp_path / "new", "selfplay.cycles=4", source=source).games == 24 + 8


def test_what_cannot_be_taken_over_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"not a run directory: it has no manifest\.json"):
        go(tmp_path / "new", source=tmp_path)
    wider = ("net.channels=12",)
    with pytest.raises(RunError, match="a net of gardner: the towers do not fit: channels is 8 in one and 12 in the"):
        train("atomic-laptop", tmp_path / "new", smoke=True, device="cpu", source=source, overrides=wider)
    with pytest.raises(RunError, match="already exists"):
        go(source, source=source)
    for part in ("games/00001-00.games", "learner"):
        shutil.copytree(source, tmp_path / part[:5])
        path = tmp_path / part[:5] / part
        path = path if path.is_file() else next(path.glob("*/learner.safetensors"))
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(RunError, match="damaged"):
            go(tmp_path / "new", source=tmp_path / part[:5])
    go(tmp_path / "short", minutes=0.0001)
    with pytest.raises(RunError, match="this run has no complete cycle of games to learn from yet"):
        go(tmp_path / "new", source=tmp_path / "short")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("key", "name"), [("encoder", "planes17"), ("policy", "moves"), ("value", "three")])
def test_a_net_of_a_version_to_come_is_refused_before_the_run_starts(
    source: Path, tmp_path: Path, key: str, name: str
) -> None:
    """The run is as its own version left it, with stamps that fit."""
    later = tmp_path / "later"
    shutil.copytree(source, later)
    path = next((later / "learner").glob("*/learner.json"))
    card, state = json.loads(path.read_text()), json.loads((later / "state.json").read_text())
    card["net"][key] = name
    path.write_text(json.dumps(card))
    state["learner"]["files"]["learner.json"] = msgspec.to_builtins(stamp_of(path.read_bytes()))
    (later / "state.json").write_text(json.dumps(state))
    message = rf"learner\.json: {key} of a net must be one of .*, not '{name}'$"
    for settings in ((), ("net.channels=12",)):
        with pytest.raises(LearnerError, match=message):
            go(tmp_path / "new", *settings, source=later)
    assert not (tmp_path / "new").exists()
    with pytest.raises(LearnerError, match=message):
        go(later, "selfplay.cycles=9")


@pytest.mark.parametrize("kind", ["run", "net"])
def test_a_run_of_another_board_begins_with_the_weights_that_mean_the_same(
    kind: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """5x5 to 8x8: no games, the net of cycle 0 has the tower, and the same run is resumed without --from."""
    _, state = read_run(source)
    given = source if kind == "run" else source / state.checkpoint(state.champion).name
    more: dict[str, Any] = {"overrides": (*SETTINGS, "selfplay.cycles=1"), "smoke": True, "device": "cpu"}
    assert train("atomic-laptop", tmp_path / "new", source=given, **more).reason == "complete"
    manifest, own = read_run(tmp_path / "new")
    assert manifest.parent is not None
    assert (manifest.parent.cycle, own.games, own.cycle) == (0, 8, 1)
    assert (
        f"Starting with what {given} has for atomic: the tower of 1 block, 49 planes of the policy and the value."
        in (capsys.readouterr().out.replace("\n", " "))
    )
    theirs = averaged_net(source) if kind == "run" else load(given)[0]
    expected = rounded(Net(sized_like(theirs, "atomic"), seed=3))
    carry_over(rounded(theirs), expected)
    first = load(tmp_path / "new" / own.checkpoint(0).name)[0].state_dict()
    for name, tensor in expected.state_dict().items():
        if name.startswith(("stem", "blocks", "value", "policy.reduce")):
            assert torch.equal(first[name], tensor), name
    with pytest.raises(RunError, match="already exists"):
        train("atomic-laptop", tmp_path / "new", source=given, **more)
    more["overrides"] = (*SETTINGS, "selfplay.cycles=2")
    assert train("atomic-laptop", tmp_path / "new", **more).cycle == 2


def sized_like(net: Net, variant: str) -> NetConfig:
    config = net.config
    sizes = {key: getattr(config, key) for key in ("blocks", "channels", "policy_channels", "value_channels")}
    return sized_for(variant, context=config.context, **sizes)
