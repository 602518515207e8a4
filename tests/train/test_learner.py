"""The learner: the loss is what it says, steps are exact across a save, and nothing that is not a number stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from selfmate import SelfmateError
from selfmate._core import Buffer, GameRecord, Pool, SearchConfig, SelfPlayConfig
from selfmate.nn.architecture import PLIES_UNIT
from selfmate.nn.config import GARDNER, NetConfig
from selfmate.nn.net import Net
from selfmate.recipe.reader import change, load, smoke
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import LearnerPart
from selfmate.train.learner import Diverged, Learner
from selfmate.train.window import Window

RECIPE = smoke(load("gardner-laptop"))
CONFIG = NetConfig.sized(GARDNER, "tiny", blocks=1, channels=8)


pytestmark = pytest.mark.usefixtures("one_thread")


def part(*settings: str) -> LearnerPart:
    return change(RECIPE, [f"learner.{setting}" for setting in settings]).learner


def make(*settings: str) -> Learner:
    return Learner(Net(CONFIG, seed=3), part(*settings), seed=5)


def weights_of(learner: Learner) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in learner._tensors().items()}


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_the_losses_are_what_they_say(buffer: Buffer) -> None:
    """Each part of the loss, worked out position by position."""
    learner = make("value_mix=0.25", "value_weight=0.5", "plies_weight=0.1")
    learner.learn(buffer, 5, cycle=0)  # away from the uniform beginning
    batch = buffer.sample(32, 9)
    with torch.no_grad():
        total, policy, value, plies = (
            float(loss) for loss in learner._losses(learner.average, learner._bring(batch), 0)
        )
        logits, wdl_logits, lengths = learner.average(
            torch.from_numpy(batch.bits.view(np.int64)), torch.from_numpy(batch.scalars)
        )
    policies, values, errors = [], [], []
    for row in range(32):
        legal = batch.legal_index[row, : batch.legal_counts[row]].astype(np.int64)
        log_priors = dict(zip(legal.tolist(), logits[row, legal].log_softmax(0).tolist(), strict=True))
        weights = zip(batch.policy_index[row].tolist(), batch.policy_weight[row].tolist(), strict=True)
        policies.append(-sum(weight * log_priors[index] for index, weight in weights if weight > 0))
        if batch.value_weight[row] > 0:
            root, draw = float(batch.root_value[row]), float(batch.root_draw[row])
            searched = np.array([(1 - draw + root) / 2, draw, (1 - draw - root) / 2])
            target = 0.75 * batch.wdl[row] + 0.25 * searched
            values.append(-float((target * wdl_logits[row].log_softmax(0).numpy()).sum()))
            error = abs(float(lengths[row]) - float(batch.plies[row])) / PLIES_UNIT
            errors.append(error**2 / 2 if error < 1 else error - 0.5)
    assert policy == pytest.approx(np.mean(policies), rel=1e-4)
    assert value == pytest.approx(np.mean(values), rel=1e-4)
    assert plies == pytest.approx(np.mean(errors), rel=1e-4)
    assert total == pytest.approx(policy + 0.5 * value + 0.1 * plies, rel=1e-5)


def test_truncated_games_teach_no_value() -> None:
    pool = Pool(
        "gardner",
        SearchConfig(gumbel=True),
        SelfPlayConfig(visits=4, fast_visits=2, full_probability=1, random_plies=0, temperature=0, max_plies=4),
        seed=1,
        threads=1,
    )
    pool.start(0, 8)
    pool.run("uniform")
    cut_off = Buffer("gardner", 1000, 1)
    for game in pool.drain():
        cut_off.add(game)
    losses = make().validate(cut_off, cycle=0)
    assert losses is not None
    assert losses.policy > 0
    assert losses.value == losses.plies == 0


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_it_learns(buffer: Buffer, optimizer: str) -> None:
    learner = make(f"optimizer={optimizer}", "learning_rate=0.01", "batch=64", "value_mix=0.0")
    before = learner.validate(buffer, cycle=0)
    learner.learn(buffer, 60, cycle=0)
    after = learner.validate(buffer, cycle=0)
    assert before is not None
    assert after is not None
    assert after.policy < before.policy - 0.1
    assert after.value < before.value - 0.1


@pytest.mark.parametrize(
    "settings",
    [
        ("optimizer=adamw",),
        ("optimizer=sgd",),
        ("optimizer=adam", "swa=2", "swa_snapshots=3", "cosine_end=0.1", "recency=1.5"),
        ("optimizer=sgd", "momentum=0.0", "epochs=0.5", "nesterov=false"),
    ],
)
def test_a_save_in_the_middle_changes_nothing(buffer: Buffer, tmp_path: Path, settings: tuple[str, ...]) -> None:
    straight, first, second = (make(*settings) for _ in range(3))
    straight.learn(buffer, 8, cycle=0)
    first.save(tmp_path)  # also before the first step
    second.restore(tmp_path)
    second.learn(buffer, 8, cycle=0, stopping=lambda: second.step == 3)
    second.save(tmp_path)
    first.restore(tmp_path)
    assert same(weights_of(first), weights_of(second))
    assert first.step == 3
    first.learn(buffer, 8, cycle=0, first=0)
    assert same(weights_of(first), weights_of(straight))
    assert not same(weights_of(first), weights_of(second))


def test_it_stops_when_asked(buffer: Buffer) -> None:
    learner = make()
    seen: list[int] = []
    learner.learn(buffer, 100, 0, stopping=lambda: len(seen) == 4, tell=lambda step, losses: seen.append(step))
    assert learner.step == 4
    assert learner.learn(buffer, 4, 0) is None


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_changes_no_weight(
    buffer: Buffer, monkeypatch: pytest.MonkeyPatch, poison: float
) -> None:
    learner = make()
    learner.learn(buffer, 2, cycle=0)
    before = weights_of(learner)
    healthy = learner._losses

    def poisoned(*arguments: object) -> tuple[torch.Tensor, ...]:
        total, *others = healthy(*arguments)  # type: ignore[arg-type]
        return (total * poison, *others)

    monkeypatch.setattr(learner, "_losses", poisoned)
    with pytest.raises(Diverged) as caught:
        learner.learn(buffer, 5, cycle=0)
    assert caught.value.step == learner.step == 2
    after = weights_of(learner)
    statistics = [name for name in before if "running" in name]  # batch norm saw the batch; the loop rolls it back
    assert same(
        {name: tensor for name, tensor in before.items() if name not in statistics},
        {name: tensor for name, tensor in after.items() if name not in statistics},
    )


def test_the_rate_warms_up_and_follows_its_schedule() -> None:
    learner = make("learning_rate=[[0, 0.1], [5, 0.01]]", "warmup=4")
    assert learner.rate(0) == pytest.approx(0.025)
    learner.step = 10
    assert learner.rate(4) == 0.1
    assert learner.rate(5) == 0.01
    learner.rate_scale = 0.5
    assert learner.rate(5) == 0.005


@pytest.mark.parametrize("name", ["learner.json", "learner.safetensors"])
def test_a_damaged_state_is_refused(tmp_path: Path, name: str, buffer: Buffer) -> None:
    learner, other = make(), make()
    learner.learn(buffer, 2, cycle=0)
    learner.save(tmp_path)
    path = tmp_path / name
    good = path.read_bytes()
    for bad in (b"", good[: len(good) // 2], good[:-1], good + b"x", b"\x80\x04" + good):
        path.write_bytes(bad)
        with pytest.raises(SelfmateError) as caught:
            other.restore(tmp_path)
        assert len(str(caught.value).splitlines()) == 1
    path.write_bytes(good)
    with pytest.raises(SelfmateError):
        make("optimizer=sgd").restore(tmp_path)
    other.restore(tmp_path)
    assert same(weights_of(learner), weights_of(other))


def test_the_window_holds_the_newest_games_and_never_trains_on_held_out_ones(games: list[GameRecord]) -> None:
    window = Window("gardner", part("window=300", "holdout=4"), cycle=0)
    window.add(games)
    learned, held_out = set(window.learned.game_ids), set(window.held_out.game_ids)
    assert learned
    assert held_out
    assert not any(window.is_held_out(game_id) for game_id in learned)
    assert all(window.is_held_out(game_id) for game_id in held_out)
    assert max(learned | held_out) == games[-1].game_id
    assert window.learned.positions >= 300 > window.learned.positions - max(game.positions for game in games)
    assert window.count_learned(games) == sum(game.positions for game in games if not window.is_held_out(game.game_id))
    # The same window, filled from where it is just full
    recent = Window("gardner", part("window=300", "holdout=4"), cycle=0)
    newest: list[list[GameRecord]] = []
    while not recent.would_be_full(newest):
        newest.append([games[-1 - len(newest)]])
    for records in reversed(newest):
        recent.add(records)
    assert recent.learned.game_ids == window.learned.game_ids
    assert recent.held_out.game_ids == window.held_out.game_ids


def test_the_window_follows_its_schedule() -> None:
    window = Window("gardner", part("window=[[0, 300], [4, 500]]"), cycle=3)
    assert window.capacity == 300
    assert window.fits(3)
    assert not window.fits(4)
    assert at(window.part.window, 4) == 500
