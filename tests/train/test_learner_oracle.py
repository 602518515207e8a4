"""The learner against arithmetic of the tests' own: losses in numpy, gradients by differences, optimizers by hand."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from oracles import binomial_z
from selfmate._core import Buffer, GameRecord, Samples
from selfmate.nn.config import GARDNER, NetConfig
from selfmate.nn.net import Net
from selfmate.recipe.reader import change, load, smoke
from selfmate.recipe.schema import LearnerPart
from selfmate.rundir.format import State
from selfmate.rundir.games import unpack_games
from selfmate.train.formulas import count_steps
from selfmate.train.learner import Learner
from selfmate.train.session import train
from selfmate.train.window import Window

SURE: Final = 4.5
RECIPE: Final = smoke(load("gardner-laptop"))
CONFIG: Final = NetConfig.sized(GARDNER, "tiny", blocks=1, channels=8)
SEED: Final = 5
Array = npt.NDArray[np.float64]


pytestmark = pytest.mark.usefixtures("one_thread")


def part(*settings: str) -> LearnerPart:
    return change(RECIPE, [f"learner.{setting}" for setting in settings]).learner


def make(*settings: str) -> Learner:
    return Learner(Net(CONFIG, seed=3), part(*settings), seed=SEED)


def counter(seed: int, *counters: int | str) -> int:
    """Return the seed of one use of random numbers: eight bytes of a hash of the counters as JSON."""
    return int.from_bytes(hashlib.blake2b(json.dumps([seed, *counters]).encode(), digest_size=8).digest(), "little")


# ---- losses -------------------------------------------------------------------------------------


def losses_of(
    samples: Samples, outputs: Sequence[Array], numbers: tuple[float, float, float]
) -> tuple[float, float, float, float]:
    """Return total, policy, value and plies loss of a batch, position by position.

    `outputs` are logits, win-draw-loss logits and plies; `numbers` are value_mix, value_weight and plies_weight.
    """
    logits, wdl_logits, plies = outputs
    mix, value_weight, plies_weight = numbers
    policies, values, lengths = [], [], []
    for row in range(samples.size):
        # 1. Cross-entropy of the search's weights with the softmax over the legal moves
        legal = samples.legal_index[row, : samples.legal_counts[row]].tolist()
        shares = np.exp(logits[row, legal] - logits[row, legal].max())
        priors = dict(zip(legal, shares / shares.sum(), strict=True))
        targets = zip(samples.policy_index[row].tolist(), samples.policy_weight[row].tolist(), strict=True)
        policies.append(-sum(weight * np.log(priors[index]) for index, weight in targets if weight > 0))
        # 2. A game without a result says nothing of values
        if not samples.value_weight[row]:
            continue
        root, draw = float(samples.root_value[row]), float(samples.root_draw[row])
        decided = 1 - draw  # wins - losses = root, wins + losses = decided
        searched = np.array([decided - (decided - root) / 2, draw, (decided - root) / 2])
        target = (1 - mix) * samples.wdl[row] + mix * searched
        wdl = np.exp(wdl_logits[row]) / np.exp(wdl_logits[row]).sum()
        values.append(-float((target * np.log(wdl)).sum()))
        # 3. Huber's loss of the plies left, in units of 32
        error = abs(plies[row] - float(samples.plies[row])) / 32
        lengths.append(error * error / 2 if error <= 1 else error - 0.5)
    policy = float(np.mean(policies))
    value, length = (float(np.mean(each)) if each else 0.0 for each in (values, lengths))
    return policy + value_weight * value + plies_weight * length, policy, value, length


class Outputs(torch.nn.Module):
    """A net that is its outputs: logits [B, policy], win-draw-loss logits [B, 3] and plies [B] of one batch."""

    def __init__(self, samples: Samples, seed: int) -> None:
        super().__init__()
        chance = np.random.default_rng(seed)
        self.arrays: list[Array] = [
            chance.normal(size=(samples.size, CONFIG.policy_size)),
            chance.normal(size=(samples.size, 3)),
            chance.integers(0, 90, size=samples.size).astype(np.float64) + 0.25,
        ]
        self.tensors = [torch.from_numpy(array.copy()) for array in self.arrays]
        self.tensors[2] = self.tensors[2].float()  # as the net gives them
        for tensor in self.tensors:
            tensor.requires_grad_()

    def forward(self, bits: Tensor, scalars: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.tensors)


MIXES: Final = [(0.0, 1.0, 0.01), (0.25, 0.5, 0.1), (1.0, 2.0, 1.0)]


@pytest.mark.parametrize(("mix", "value_weight", "plies_weight"), MIXES)
def test_losses_are_those_of_raw_logits(buffer: Buffer, mix: float, value_weight: float, plies_weight: float) -> None:
    learner = make(f"value_mix={mix}", f"value_weight={value_weight}", f"plies_weight={plies_weight}")
    truncated = 0
    for seed in range(5):
        samples = buffer.sample(24, seed)
        truncated += int((samples.value_weight == 0).sum())
        outputs = Outputs(samples, seed)
        found = [float(loss.detach()) for loss in learner._losses(outputs, learner._bring(samples), 0)]
        expected = losses_of(samples, outputs.arrays, (mix, value_weight, plies_weight))
        assert found == pytest.approx(expected, rel=1e-5)
    assert truncated > 3


def test_weights_of_the_losses_follow_their_schedules(buffer: Buffer) -> None:
    learner = make(
        "value_mix=[[0, 0.0], [3, 0.5]]", "value_weight=[[0, 1.0], [3, 0.5]]", "plies_weight=[[0, 0.0], [3, 0.2]]"
    )
    samples = buffer.sample(16, 1)
    outputs = Outputs(samples, 1)
    for cycle, numbers in ((0, (0.0, 1.0, 0.0)), (2, (0.0, 1.0, 0.0)), (3, (0.5, 0.5, 0.2)), (9, (0.5, 0.5, 0.2))):
        total = float(learner._losses(outputs, learner._bring(samples), cycle)[0].detach())
        assert total == pytest.approx(losses_of(samples, outputs.arrays, numbers)[0], rel=1e-5)


def test_gradients_of_the_outputs_are_differences_of_the_loss(buffer: Buffer) -> None:
    """d loss / d logit by central differences of the numpy loss."""
    numbers = (0.25, 0.5, 0.1)
    learner = make("value_mix=0.25", "value_weight=0.5", "plies_weight=0.1")
    samples = buffer.sample(12, 4)
    outputs = Outputs(samples, 4)
    total: Any = learner._losses(outputs, learner._bring(samples), 0)[0]
    total.backward()
    chance, step = np.random.default_rng(1), 1e-5
    for array, tensor in zip(outputs.arrays, outputs.tensors, strict=True):
        assert tensor.grad is not None
        gradient = tensor.grad.numpy()
        places = [tuple(int(chance.integers(size)) for size in array.shape) for _ in range(20)]
        if array.ndim == 2 and array.shape[1] > 3:  # legal moves, too: most indices are none
            places += [(row, int(samples.legal_index[row, 0])) for row in range(samples.size)]
        for place in places:
            before = array[place]
            ends = []
            for sign in (1, -1):
                array[place] = before + sign * step
                ends.append(losses_of(samples, outputs.arrays, numbers)[0])
            array[place] = before
            assert gradient[place] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=2e-6)


def test_gradients_of_the_heads_are_differences_of_the_loss(buffer: Buffer) -> None:
    """A small net in float64: the last layer of each head, through the whole forward pass."""
    numbers = (0.25, 0.5, 0.1)
    learner = make("value_mix=0.25", "value_weight=0.5", "plies_weight=0.1")
    net = copy.deepcopy(learner.net).double().eval()
    samples = buffer.sample(12, 4)
    batch = learner._bring(samples)
    total: Any = learner._losses(net.raw, batch, 0)[0]
    total.backward()

    @torch.no_grad()
    def loss() -> float:
        outputs = [output.double().numpy() for output in net.raw(batch.bits, batch.scalars)]
        return losses_of(samples, outputs, numbers)[0]

    checked = 0
    for name in ("policy.planes.weight", "policy.planes.bias", "value.wdl.weight", "value.plies.bias"):
        parameter = net.get_parameter(name)
        assert parameter.grad is not None
        flat, gradient = parameter.detach().view(-1), parameter.grad.view(-1)
        for place in gradient.abs().argsort(descending=True)[:5].tolist():
            before, step, ends = float(flat[place]), 1e-3, []
            for sign in (1, -1):
                flat[place] = before + sign * step
                ends.append(loss())
            flat[place] = before
            assert float(gradient[place]) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=2e-3)
            checked += 1
    assert checked == 16


# ---- steps --------------------------------------------------------------------------------------


def dense_loss(net: Net, samples: Samples, mix: float, value_weight: float, plies_weight: float) -> Tensor:
    """Return the total loss with dense targets over the whole policy, written anew, for its gradient."""
    rows = torch.arange(samples.size)
    logits, wdl_logits, plies = net(torch.from_numpy(samples.bits.view(np.int64)), torch.from_numpy(samples.scalars))
    masked = torch.full_like(logits, -torch.inf)
    target = torch.zeros_like(logits)
    for row in range(samples.size):
        legal = torch.from_numpy(samples.legal_index[row, : samples.legal_counts[row]].astype(np.int64))
        masked[row, legal] = logits[row, legal]
        for index, weight in zip(samples.policy_index[row].tolist(), samples.policy_weight[row].tolist(), strict=True):
            target[row, index] += weight
    log_priors = masked.log_softmax(1)
    policy = -(target * log_priors.where(target > 0, torch.zeros(()))).sum() / len(rows)
    root, draw = torch.from_numpy(samples.root_value), torch.from_numpy(samples.root_draw)
    searched = torch.stack([(1 - draw + root) / 2, draw, (1 - draw - root) / 2], 1)
    wdl = (1 - mix) * torch.from_numpy(samples.wdl) + mix * searched
    known = torch.from_numpy(samples.value_weight) > 0
    value = torch.nn.functional.cross_entropy(wdl_logits[known], wdl[known])
    length = torch.nn.functional.smooth_l1_loss(plies[known] / 32, torch.from_numpy(samples.plies)[known] / 32)
    return policy + value_weight * value + plies_weight * length


class Reference:
    """A learner by hand: batches by counter, warm-up, clipping, AdamW, Adam or SGD with momentum, and the average."""

    beta2, momentum, nesterov = 0.95, 0.9, True

    def __init__(self, optimizer: str, rate: float, warmup: int, decay: float, clip: float, average: float) -> None:
        self.net = Net(CONFIG, seed=3)
        self.optimizer, self.rate, self.warmup = optimizer, rate, warmup
        self.decay, self.clip, self.ema = decay, clip, average
        self.moments: dict[str, list[Tensor]] = {}
        self.average = {name: tensor.clone() for name, tensor in self.net.state_dict().items()}

    def learn(self, buffer: Buffer, steps: int, batch: int) -> None:
        for step in range(steps):
            samples = buffer.sample(batch, counter(SEED, "batch", step), True)
            self.net.train()
            self.net.zero_grad()
            loss: Any = dense_loss(self.net, samples, 0.25, 0.5, 0.1)
            loss.backward()
            self.update(step, self.rate * min(1, (step + 1) / self.warmup))
            decay = min(self.ema, (2 + step) / (11 + step))
            for name, tensor in self.net.state_dict().items():
                self.average[name] = decay * self.average[name] + (1 - decay) * tensor

    @torch.no_grad()
    def update(self, step: int, rate: float) -> None:
        gradients = {name: each.grad for name, each in self.net.named_parameters() if each.grad is not None}
        norm = float(torch.stack([gradient.square().sum() for gradient in gradients.values()]).sum().sqrt())
        for name, weight in self.net.named_parameters():
            gradient = gradients[name] * min(1.0, self.clip / norm)
            decay = self.decay if weight.ndim >= 2 else 0.0
            if self.optimizer != "sgd":  # Loshchilov and Hutter 2019, decoupled; in Adam a part of the gradient
                if self.optimizer == "adam":
                    gradient, decay = gradient + decay * weight, 0.0
                first, second = self.moments.setdefault(name, [torch.zeros_like(weight), torch.zeros_like(weight)])
                first.copy_(0.9 * first + 0.1 * gradient)
                second.copy_(self.beta2 * second + (1 - self.beta2) * gradient.square())
                corrected = (second / (1 - self.beta2 ** (step + 1))).sqrt() + 1e-8
                weight.mul_(1 - rate * decay)
                weight.sub_(rate * first / (1 - 0.9 ** (step + 1)) / corrected)
            else:  # the decay is a part of the gradient
                gradient = gradient + decay * weight
                (buffer,) = self.moments.setdefault(name, [torch.zeros_like(weight)])
                buffer.copy_(self.momentum * buffer + gradient)
                weight.sub_(rate * (gradient + self.momentum * buffer if self.nesterov else buffer))


@pytest.mark.parametrize(
    ("optimizer", "clip", "beta2", "momentum", "nesterov"),
    [
        ("adamw", 0.05, 0.95, 0.9, True), ("adamw", 100.0, 0.999, 0.9, True), ("adam", 100.0, 0.95, 0.9, True),
        ("sgd", 0.05, 0.95, 0.9, True), ("sgd", 100.0, 0.95, 0.9, True), ("sgd", 100.0, 0.95, 0.5, False),
        ("sgd", 100.0, 0.95, 0.0, True),
    ],
)  # fmt: skip
def test_steps_are_those_of_an_optimizer_by_hand(
    buffer: Buffer, optimizer: str, clip: float, beta2: float, momentum: float, nesterov: bool
) -> None:
    settings = (
        f"beta2={beta2}", f"momentum={momentum}", f"nesterov={str(nesterov).lower()}",
        f"optimizer={optimizer}", "learning_rate=0.02", "warmup=4", "weight_decay=0.3", f"clip={clip}", "batch=24",
        "ema=0.7", "value_mix=0.25", "value_weight=0.5", "plies_weight=0.1",
    )  # fmt: skip
    learner = make(*settings)
    reference = Reference(optimizer, rate=0.02, warmup=4, decay=0.3, clip=clip, average=0.7)
    reference.beta2, reference.momentum, reference.nesterov = beta2, momentum, nesterov
    start = {name: tensor.clone() for name, tensor in learner.net.state_dict().items()}
    learner.learn(buffer, 6, cycle=0)
    reference.learn(buffer, 6, batch=24)
    for found, expected in (
        (learner.net.state_dict(), reference.net.state_dict()),
        (learner.average.state_dict(), reference.average),
    ):
        for name, tensor in expected.items():
            # Adam divides each gradient by its own size, so that rounding shows where the gradient is zero but for
            # rounding: in weights that the norm behind them makes idle, and in the mean that it subtracts.
            if optimizer != "sgd" and name.endswith("running_mean"):
                continue
            error, moved = (found[name] - tensor).abs(), (tensor - start[name]).abs()
            assert float(error.flatten().quantile(0.9)) <= 2e-3 * float(moved.max()) + 1e-6, name


def test_the_average_is_that_of_all_steps(buffer: Buffer) -> None:
    """Closed form: the weights of step k count (1 - d_k) d_(k+1) … d_n, d_k = min(ema, (1 + k) / (10 + k))."""
    learner = make("ema=0.6", "batch=8", "learning_rate=0.01")
    history: list[dict[str, Tensor]] = []

    def look() -> bool:
        history.append({name: tensor.double().clone() for name, tensor in learner.net.state_dict().items()})
        return False

    learner.learn(buffer, 20, cycle=0, stopping=look)
    look()
    assert len(history) == 21  # the weights before every step, and the last
    decays = [min(0.6, (1 + step) / (10 + step)) for step in range(1, 21)]
    assert decays[0] == 2 / 11
    assert decays[-1] == 0.6
    shares = [float(np.prod(decays))]
    shares += [(1 - decays[step]) * float(np.prod(decays[step + 1 :])) for step in range(20)]
    assert sum(shares) == pytest.approx(1)
    for name, tensor in learner.average.state_dict().items():
        expected = sum(share * weights[name] for share, weights in zip(shares, history, strict=True))
        assert isinstance(expected, Tensor)
        assert torch.allclose(tensor.double(), expected, atol=1e-6), name
    average, last = (net.get_parameter("policy.planes.weight") for net in (learner.average, learner.net))
    assert not torch.allclose(average, last, atol=1e-5)


def test_weight_decay_is_on_matrices_only(buffer: Buffer) -> None:
    """AdamW: one step with decay differs from one without by rate * decay * weight, where there are two dimensions."""
    plain, decayed = (make("learning_rate=0.01", "warmup=0", f"weight_decay={decay}") for decay in (0.0, 0.5))
    start = {name: tensor.detach().clone() for name, tensor in plain.net.named_parameters()}
    for learner in (plain, decayed):
        learner.learn(buffer, 1, cycle=0)
    others = dict(decayed.net.named_parameters())
    for name, tensor in plain.net.named_parameters():
        expected = 0.01 * 0.5 * start[name] if tensor.ndim >= 2 else torch.zeros_like(tensor)
        assert torch.allclose(tensor - others[name], expected, atol=1e-7), name


@pytest.mark.parametrize("clip", [0.01, 0.1])
def test_the_gradient_is_clipped_to_its_norm(buffer: Buffer, clip: float) -> None:
    """Nesterov's first step is rate * 1.9 * gradient."""
    learner = make("optimizer=sgd", "learning_rate=0.5", "warmup=0", "weight_decay=0", f"clip={clip}")
    before = torch.cat([tensor.detach().flatten().clone() for tensor in learner.net.parameters()])
    learner.learn(buffer, 1, cycle=0)
    after = torch.cat([tensor.detach().flatten() for tensor in learner.net.parameters()])
    assert float((after - before).norm()) == pytest.approx(0.5 * 1.9 * clip, rel=1e-3)


def test_the_learning_rate_at_chosen_steps(buffer: Buffer) -> None:
    """Linear warm-up over so many steps, counted from one, times the schedule by cycle; and the optimizer has it."""
    learner = make("learning_rate=[[0, 0.08], [2, 0.04], [7, 0.01]]", "warmup=8", "batch=4")
    expected = {0: 0.01, 1: 0.02, 3: 0.04, 6: 0.07, 7: 0.08, 8: 0.08, 1000: 0.08}
    for step, rate in expected.items():
        learner.step = step
        for cycle, factor in ((0, 1), (1, 1), (2, 0.5), (6, 0.5), (7, 0.125), (50, 0.125)):
            assert learner.rate(cycle) == pytest.approx(rate * factor)
    learner.step = 0
    for step in range(10):
        learner.learn(buffer, step + 1, cycle=2)
        used = {group["lr"] for group in learner.optimizer.param_groups}
        assert list(used) == [pytest.approx(0.04 * min(1, (step + 1) / 8))]


def test_validation_is_the_mean_of_fixed_batches_of_the_averaged_net(buffer: Buffer) -> None:
    learner = make(
        "ema=0.9", "batch=16", "value_mix=0.25", "value_weight=0.5", "plies_weight=0.1", "learning_rate=0.02"
    )
    learner.learn(buffer, 5, cycle=0)
    expected = []
    for number in range(4):
        samples = buffer.sample(16, counter(SEED, "validate", 3, number), False)
        with torch.no_grad():
            outputs = learner.average(torch.from_numpy(samples.bits.view(np.int64)), torch.from_numpy(samples.scalars))
        expected.append(losses_of(samples, [output.double().numpy() for output in outputs], (0.25, 0.5, 0.1)))
    found = learner.validate(buffer, cycle=3)
    assert found is not None
    assert found[:4] == pytest.approx(np.mean(expected, 0), rel=1e-4)
    assert not any(found[4:])  # of heads that only train


# ---- how many steps, and from which games -------------------------------------------------------


@pytest.mark.parametrize("reuse", [0.5, 1.0, 3.7])
def test_every_new_position_is_learned_from_as_often_as_the_recipe_says(reuse: float) -> None:
    """Over many cycles of games and changing batches no sample is lost or made twice."""
    chance = np.random.default_rng(1)
    owed = samples = wanted = 0
    for _ in range(200):
        positions, batch = int(chance.integers(0, 500)), int(chance.choice([16, 64, 256]))
        steps, owed = count_steps(owed, reuse, positions, batch)
        assert 0 <= owed < batch
        samples += steps * batch
        wanted += round(reuse * positions)
        assert samples + owed == wanted
    assert samples == pytest.approx(reuse * 200 * 250, rel=0.1)


def test_a_run_makes_the_steps_that_its_games_are_worth(tmp_path: Path) -> None:
    """Positions of a cycle's games that are not held out, times reuse, in batches, in the next cycle."""
    settings = ("selfplay.max_plies=20", "progress.games=0", "gate.final_games=0", "gate.games=0", "selfplay.games=12")
    learner = ("learner.reuse=[[0, 2.5], [1, 1.5]]", "learner.batch=[[0, 16], [2, 24]]", "learner.holdout=3")
    train("gardner-laptop", run=tmp_path / "run", overrides=(*settings, *learner), smoke=True, device="cpu")
    state = msgspec.json.decode((tmp_path / "run/state.json").read_bytes(), type=State)
    positions: dict[int, int] = {}
    for shard in state.shards:
        records = [
            GameRecord.from_bytes(data)
            for data in unpack_games((tmp_path / "run" / shard.name).read_bytes(), shard.name)
        ]
        learned = [record.positions for record in records if counter(0, "held out", record.game_id) % 3]
        assert 0 < len(learned) < len(records)
        positions[shard.cycle] = positions.get(shard.cycle, 0) + sum(learned)
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    steps = {line["cycle"]: line["step"] for line in lines if line["stage"] == "learn"}
    # Cycle 0 has nothing to learn from; cycle c + 1 learns from what cycle c played
    first = round(2.5 * positions[0])
    second = first % 16 + round(1.5 * positions[1])
    assert steps == {0: 0, 1: first // 16, 2: first // 16 + second // 24}
    third = second % 24 + round(1.5 * positions[2])
    assert state.goal == steps[2] + third // 24
    assert state.owed == third % 24


def test_games_are_held_out_by_a_hash_of_their_id(games: list[GameRecord]) -> None:
    for holdout in (2, 5, 16):
        window = Window("gardner", part(f"holdout={holdout}", "window=100000"), cycle=0)
        held_out = [game for game in range(4000) if window.is_held_out(game)]
        assert held_out == [game for game in range(4000) if counter(0, "held out", game) % holdout == 0]
        assert abs(binomial_z(len(held_out), 4000, 1 / holdout)) < SURE
        window.add(games)
        assert window.held_out.game_ids == [game.game_id for game in games if game.game_id in held_out]
        assert window.learned.game_ids == [game.game_id for game in games if game.game_id not in held_out]
        assert window.count_learned(games) == window.learned.positions
    everything = Window("gardner", part("holdout=0"), cycle=0)
    assert not any(everything.is_held_out(game) for game in range(100))
