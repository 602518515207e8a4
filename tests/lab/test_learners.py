"""Q-table and DQN: their steps against other computations, equal results of equal seeds, and what they reach."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'selfmate[lab]'")
pytest.importorskip("torch", reason="needs PyTorch: pip install 'selfmate[lab]'")

import torch

from selfmate.lab.frozenlake import dqn
from selfmate.lab.frozenlake.agents import AGENTS, make_agent
from selfmate.lab.frozenlake.dqn import DqnSettings, ValueNet, learn_dqn
from selfmate.lab.frozenlake.exploration import Exploration
from selfmate.lab.frozenlake.lake import SMALL_MAP, Lake, seed_map
from selfmate.lab.frozenlake.q_table import QTableSettings, learn_q_table
from selfmate.lab.frozenlake.settings import LakeSettings, change
from selfmate.lab.frozenlake.truth import best_values, evaluate_policy, greedy, one_hot

DRY = Lake(SMALL_MAP, slippery=False)
ICE = Lake(seed_map())


def test_exploration() -> None:
    by_episodes, by_moves = Exploration(), Exploration(by="moves")
    assert by_episodes.epsilon(episodes=500, moves=9) == pytest.approx(0.01 + 0.79 * math.exp(-1))
    assert by_moves.epsilon(episodes=9, moves=1000) == pytest.approx(0.01 + 0.79 * math.exp(-2))


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_q_learning_by_a_second_computation(decay: float) -> None:
    """The same random numbers, a dictionary of values, and Gymnasium's environment with its own step limit."""
    from gymnasium.wrappers import TimeLimit

    lake = Lake(SMALL_MAP, step_limit=20)
    [found] = learn_q_table(lake, QTableSettings(0.9, 0.3, decay), seed=3, episodes=(40,))
    env = TimeLimit(lake.env, max_episode_steps=20)
    draw = random.Random(3)
    values: dict[tuple[int, int], float] = {}
    seen: dict[tuple[int, int], int] = {}
    moves = 0
    for episode in range(40):
        state = env.reset(seed=3 if episode == 0 else None)[0]
        while True:
            here = [values.get((state, action), 0.0) for action in range(4)]
            explores = draw.random() < 0.01 + 0.79 * math.exp(-episode / 500)
            action = draw.randrange(4) if explores else int(np.argmax(here))
            after, reward, terminated, truncated, _ = env.step(action)
            future = 0.0 if terminated else max(values.get((after, each), 0.0) for each in range(4))
            rate = 0.3 / (1 + decay * seen.get((state, action), 0))
            values[state, action] = here[action] + rate * (float(reward) + 0.9 * future - here[action])
            seen[state, action] = seen.get((state, action), 0) + 1
            moves += 1
            state = after
            if terminated or truncated:
                break
    assert found.moves == moves
    for (state, action), value in values.items():
        assert found.values[state, action] == pytest.approx(value, abs=1e-12)


def test_the_gradient_is_that_of_autograd(one_thread: None) -> None:
    torch.manual_seed(1)
    net = ValueNet(16, 8, 1e-3)
    slopes = torch.randn(16, 4)
    values = net.values()
    copies = [each.clone().requires_grad_() for each in (*net.weights, *net.biases)]
    layer = torch.eye(16)
    for number in range(3):
        layer = torch.nn.functional.linear(layer, copies[number], copies[3 + number])
        layer = layer.relu() if number < 2 else layer
    assert torch.allclose(layer, values, atol=1e-6)
    torch.autograd.backward(layer, slopes)
    adam = torch.optim.Adam(copies, lr=1e-3)
    adam.step()
    net.step(slopes)
    for ours, theirs in zip((*net.weights, *net.biases), copies, strict=True):
        assert ours.grad is not None
        assert theirs.grad is not None
        assert torch.allclose(ours.grad, theirs.grad, atol=1e-5)
        assert torch.allclose(ours, theirs.detach(), atol=1e-5)


class RecordingNet(ValueNet):
    """Keeps the values and slopes of every step."""

    kept: list[tuple[Any, Any]]

    def step(self, slopes: Any) -> None:
        RecordingNet.kept.append((self._last, slopes.numpy().copy()))
        super().step(slopes)

    def values(self) -> Any:
        found = super().values()
        self._last = found.numpy().copy()
        return found


@pytest.mark.parametrize("double", [False, True])
def test_targets_and_slopes_by_torch(double: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step's slopes are the gradient of the smooth L1 loss of the batch that was drawn, by torch."""
    RecordingNet.kept = []
    monkeypatch.setattr(dqn, "ValueNet", RecordingNet)
    batches: list[Any] = []
    memory: list[tuple[int, int, float, int, bool]] = []
    made = np.random.default_rng

    class Draws:
        """Numpy's generator, which also keeps the batches that are drawn."""

        def __init__(self, seed: int) -> None:
            self._draw = made(seed)

        def random(self) -> float:
            return float(self._draw.random())

        def integers(self, high: int, size: int | None = None) -> Any:
            found = self._draw.integers(high, size=size)
            if size is not None:
                batches.append((found, len(memory)))
            return found

    monkeypatch.setattr(np.random, "default_rng", Draws)
    lake = Lake(SMALL_MAP, step_limit=30)
    episode = lake.episode(2)
    monkeypatch.setattr(lake, "episode", lambda seed: episode)
    real = episode.step

    def step(action: int) -> tuple[int, float, bool, bool]:
        before = episode.state
        after, reward, ends, cut = real(action)
        memory.append((before, action, reward, after, ends))
        return after, reward, ends, cut

    monkeypatch.setattr(episode, "step", step)
    # Small rewards and a fast net: errors below 1, and a target net that differs from the net
    settings = DqnSettings(
        hidden=8, batch=16, learn_from=20, target_every=5, double=double, reward_scale=0.005, learning_rate=0.05
    )
    list(learn_dqn(lake, settings, 2, (10,)))
    assert len(RecordingNet.kept) == len(batches) > 30
    target = RecordingNet.kept[0][0]  # nothing was learned before the first step
    for number, ((values, slopes), (chosen, size)) in enumerate(zip(RecordingNet.kept, batches, strict=True)):
        if number % 5 == 0:
            target = values
        rows = [memory[:size][index] for index in chosen]
        leaf = torch.tensor(values, requires_grad=True)
        wanted = []
        for _, _, reward, after, ends in rows:
            best = int((values if double else target)[after].argmax())
            wanted.append(0.005 * reward + (0.0 if ends else 0.99 * float(target[after, best])))
        predicted = torch.stack([leaf[state, action] for state, action, *_ in rows])
        loss = torch.nn.functional.smooth_l1_loss(predicted, torch.tensor(wanted))
        [gradient] = torch.autograd.grad(loss, leaf)
        assert slopes == pytest.approx(gradient.numpy(), abs=1e-6)


def test_the_memory_is_a_ring() -> None:
    settings = DqnSettings(hidden=4, batch=4, replay=16, learn_from=8)
    [found] = learn_dqn(DRY, settings, 1, (5,))
    assert found.moves > 16
    assert np.isfinite(found.values).all()


@pytest.mark.parametrize("learner", ["q-table", "dqn"])
def test_the_same_seed_learns_the_same(learner: str) -> None:
    def learned(seed: int, episodes: tuple[int, ...]) -> np.ndarray[Any, Any]:
        if learner == "q-table":
            return [each.values for each in learn_q_table(ICE, QTableSettings(), seed, episodes)][-1]
        return [each.values for each in learn_dqn(ICE, DqnSettings(hidden=8), seed, episodes)][-1]

    first = learned(1, (20,))
    assert (first == learned(1, (5, 20))).all()
    assert (first != learned(2, (20,))).any()


def test_every_agent_reaches_the_goal_where_nothing_slips() -> None:
    settings = change(LakeSettings(), ["lake.size=4", "lake.map=4x4", "lake.slippery=false", "mcts.repeats=2",
                                       "learning.episodes=300", "mcts.simulations=1000", "mcts.c=1"])  # fmt: skip
    for name in AGENTS:
        agent = make_agent(name, settings)
        agent.learn(DRY, seed=1)
        policy = agent.policy()
        assert policy.sum(1) == pytest.approx(np.ones(16))
        found = evaluate_policy(DRY, policy)
        if name in ("q-table", "dqn"):
            assert found == (1.0, 6.0), name
        elif name == "mcts":  # UCT averages over what it tries, and so may go a longer way
            assert found.chance > 0.9, name


def test_the_q_table_learns_on_ice() -> None:
    best = evaluate_policy(ICE, one_hot(greedy(best_values(ICE, 0.99)))).chance
    settings = LakeSettings().of_q_table
    for seed in (1, 2):
        *_, last = learn_q_table(ICE, settings, seed, (3000,))
        assert evaluate_policy(ICE, one_hot(greedy(last.values))).chance > best - 0.08


def test_small_rewards_teach_the_mean_and_large_ones_the_median(one_thread: None) -> None:
    """An action leads to 100 a third of the time, else to -100."""
    torch.manual_seed(0)
    found = {}
    for scale in (1.0, 0.005):
        net = ValueNet(4, 16, 1e-2)
        for _ in range(1000):
            value = float(net.values()[0, 0])
            slopes = torch.zeros(4, 4)
            slopes[0, 0] = sum(p * np.clip(value - scale * g, -1, 1) for g, p in ((100, 1 / 3), (-100, 2 / 3)))
            net.step(slopes)
        found[scale] = float(net.values()[0, 0]) / scale
    assert found[1.0] == pytest.approx(-100, abs=5)
    assert found[0.005] == pytest.approx(-100 / 3, abs=1)
