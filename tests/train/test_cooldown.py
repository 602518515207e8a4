"""A cooldown on a copy of a run, packing in bfloat16, and runs that begin with a bare net."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from selfmate.cli.main import main
from selfmate.nn.checkpoint import load
from selfmate.nn.config import NetConfig
from selfmate.nn.tensor_file import compact_tensors, unpack_tensors
from selfmate.recipe.reader import load as load_recipe
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import Recipe
from selfmate.rundir.format import LEARNER_TENSORS, RunError, read_run, read_state
from selfmate.rundir.pack import pack
from selfmate.train.cooldown import cool_down
from selfmate.train.formulas import cooldown
from selfmate.train.learner import Learner, Losses
from selfmate.train.session import Summary, train
from selfmate.train.warm_start import averaged_net
from selfmate.util.files import FileError

pytestmark = pytest.mark.usefixtures("one_thread")
SETTINGS = ("selfplay.max_plies=12", "progress.games=0", "gate.final_games=0", "gate.games=0", "learner.ema=0.9")


def go(directory: Path, *settings: str, **options: Any) -> Summary:
    return train("gardner-laptop", directory, overrides=(*SETTINGS, *settings), smoke=True, device="cpu", **options)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run of three tiny cycles."""
    directory = tmp_path_factory.mktemp("cooldown") / "run"
    go(directory)
    return directory


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "lock"}


# -- cooldown -----------------------------------------------------------------------------------------------------


def test_the_rate_falls_to_zero_on_a_copy_and_the_run_stays(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[float] = []
    set_rate = Learner._set_rate

    def watch(self: Learner, cycle: int) -> None:
        set_rate(self, cycle)
        rates.append(self.optimizer.param_groups[0]["lr"])

    monkeypatch.setattr(Learner, "_set_rate", watch)
    before = contents(source)
    found = cool_down(source, tmp_path / "cooled", 20, device="cpu")
    assert contents(source) == before
    assert found is not None
    full = at(load_recipe("gardner-laptop").learner.learning_rate, 3)
    assert rates == pytest.approx([full * (20 - step) / 20 for step in range(20)])
    net, card = load(tmp_path / "cooled")
    _, state = read_run(source)
    assert state.learner is not None
    assert card.step == found.step == state.learner.step + 20
    assert card.parents == (load(source / state.newest().name)[1].net_id,)
    assert card.net_id == found.net_id
    assert isinstance(found.before, Losses)
    assert isinstance(found.after, Losses)
    # The same again gives the same net; it is not the run's own.
    again = cool_down(source, tmp_path / "again", 20, device="cpu")
    assert again == found
    assert not torch.equal(net.weights("stem").weight, load(source / state.newest().name)[0].weights("stem").weight)


def test_a_packed_run_is_cooled_too_and_a_stop_writes_nothing(source: Path, tmp_path: Path) -> None:
    pack(source, tmp_path / "packed", 8)
    assert cool_down(tmp_path / "packed", tmp_path / "cooled", 5, device="cpu") is not None
    asked = iter([False, False, True, True, True, True])
    assert cool_down(source, tmp_path / "stopped", 5, device="cpu", stopping=lambda: next(asked)) is None
    assert not (tmp_path / "stopped").exists()


def test_the_average_of_a_cooldown_forgets_what_was_before_it() -> None:
    """Its decay leaves a share of about exp(-10) of the weights before the cooldown."""
    from selfmate.train.cooldown import _averaging_less

    recipe: Recipe = load_recipe("atomic")
    assert _averaging_less(recipe, 1500).learner.ema == pytest.approx(1 - 1 / 150)
    assert _averaging_less(recipe, 1500).learner.ema ** 1500 == pytest.approx(np.exp(-10), rel=0.05)
    assert _averaging_less(recipe, 5).learner.ema == 0
    assert [cooldown(step, 0, 2) for step in (0, 1, 2)] == [1.0, 0.5, 0.0]


def test_the_command_says_what_it_did_or_what_is_wrong(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_:
            main(["cooldown", *words])
        output = capsys.readouterr()
        return int(exit_.value.code or 0), output.out, output.err

    code, out, _ = run(str(source), str(tmp_path / "net"), "--steps", "3", "--device", "cpu")
    assert code == 0
    assert "Held-out policy loss: " in out
    for words, line in (
        ((str(tmp_path / "nothing"), str(tmp_path / "x")), "not a run directory"),
        ((str(source), str(tmp_path / "net")), "already exists"),
        ((str(source), str(tmp_path / "no" / "x")), "there is no such folder"),
    ):
        code, _, err = run(*words)
        assert (code, err.count("\n")) == (2, 1)
        assert line in err


def test_a_folder_that_cannot_be_written_is_found_before_the_first_step(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(FileError, match="cannot be written: permission denied"):
        cool_down(source, tmp_path / "net", 3, device="cpu", tell=lambda done: pytest.fail("learned before the check"))


# -- packing in bfloat16 ------------------------------------------------------------------------------------------


def test_numbers_are_rounded_as_torch_rounds_them() -> None:
    numbers = torch.cat([torch.randn(5000), torch.tensor([0.0, -0.0, 1.00390625, 1.01171875, 3e38, 1e-40])])
    rounded = unpack_tensors(compact_tensors({"a": numbers.numpy()}, exact=False))["a"]
    assert np.array_equal(rounded, numbers.bfloat16().float().numpy())
    exact = unpack_tensors(compact_tensors({"a": numbers.numpy(), "b": rounded}))
    assert np.array_equal(exact["a"], numbers.numpy())
    assert np.array_equal(exact["b"], rounded)


def test_a_packed_net_is_the_same_net_in_half_the_size(source: Path, tmp_path: Path) -> None:
    pack(source, tmp_path / "packed", 8)
    state, packed = read_state(source), read_state(tmp_path / "packed")
    name = state.newest().name
    assert load(tmp_path / "packed" / name)[1] == load(source / name)[1]
    sizes = [(folder / name / "net.safetensors").stat().st_size for folder in (source, tmp_path / "packed")]
    assert sizes[1] < 0.8 * sizes[0]
    assert packed.newest().files != state.newest().files
    # Weights in training are exact by default.
    ours, theirs = averaged_net(source).state_dict(), averaged_net(tmp_path / "packed").state_dict()
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)


def test_half_rounds_the_weights_in_training_and_the_copy_goes_on(source: Path, tmp_path: Path) -> None:
    sizes = []
    for name, half in (("whole", False), ("half", True)):
        pack(source, tmp_path / name, 8, half=half)
        learner = read_state(tmp_path / name).learner
        assert learner is not None
        sizes.append((tmp_path / name / learner.name / LEARNER_TENSORS).stat().st_size)
    assert sizes[1] < 0.65 * sizes[0]  # the header of a tiny net is a large part of it
    ours, theirs = averaged_net(source).state_dict(), averaged_net(tmp_path / "half").state_dict()
    assert all(torch.equal(ours[key].bfloat16().float(), theirs[key]) for key in ours)
    summary = go(tmp_path / "half", "selfplay.cycles=4")
    assert (summary.reason, summary.cycle) == ("complete", 4)
    go(tmp_path / "new", "selfplay.cycles=4", source=tmp_path / "half")
    assert read_state(tmp_path / "new").cycle == 4


# -- a run from a bare net ----------------------------------------------------------------------------------------


def test_a_run_begins_with_a_bare_net(source: Path, tmp_path: Path) -> None:
    net = source / read_state(source).newest().name
    bare = tmp_path / "bare"
    bare.mkdir()
    for path in net.iterdir():
        (bare / path.name).write_bytes(path.read_bytes())
    go(tmp_path / "new", "selfplay.cycles=1", source=bare)
    manifest, state = read_run(tmp_path / "new")
    assert manifest.parent is not None
    assert manifest.parent.net_id == load(bare)[1].net_id
    first = load(tmp_path / "new" / state.checkpoint(0).name)[0]
    for key, tensor in load(bare)[0].state_dict().items():  # rounding a rounded net changes nothing but the norms' sums
        assert torch.allclose(first.state_dict()[key], tensor, atol=1e-2), key
    assert [shard.net for shard in state.shards] == [0]
    # The same command without --from resumes it.
    summary = go(tmp_path / "new", "selfplay.cycles=2")
    assert (summary.reason, summary.cycle) == ("complete", 2)
    with pytest.raises(RunError, match=r"do not fit the recipe's \(1 blocks of 12 channels\)"):
        go(tmp_path / "other", "net.channels=12", source=bare)
    wider = ("net.channels=12",)
    with pytest.raises(RunError, match="a net of gardner: the towers do not fit: channels is 8 in one and 12"):
        train("atomic-laptop", tmp_path / "other", smoke=True, device="cpu", source=bare, overrides=wider)
    assert not (tmp_path / "other").exists()
    assert isinstance(first.config, NetConfig)
