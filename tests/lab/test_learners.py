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

from selfmate._core import LakeNet
from selfmate.errors import ArrayError, LabError
from selfmate.lab.frozenlake import dqn
from selfmate.lab.frozenlake.agents import AGENTS, learn, make_agent, plan_policy
from selfmate.lab.frozenlake.dqn import DqnSettings, TorchNet, first_weights, learn_dqn, make_net
from selfmate.lab.frozenlake.exploration import Exploration
from selfmate.lab.frozenlake.lake import SMALL_MAP, Lake, seed_map
from selfmate.lab.frozenlake.q_table import QTableSettings, learn_q_table
from selfmate.lab.frozenlake.settings import LakeSettings, change
from selfmate.lab.frozenlake.study import OUR_DQN
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

    lake = Lake(SMALL_MAP, success_rate=0.8, step_limit=20)
    [found] = learn_q_table(lake, QTableSettings(0.9, 0.3, decay), seed=3, episodes=(400,))
    env = TimeLimit(lake.env, max_episode_steps=20)
    draw = random.Random(3)
    values: dict[tuple[int, int], float] = {}
    seen: dict[tuple[int, int], int] = {}
    moves = reached = 0
    for episode in range(400):
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
                reached += state == 15
                break
    assert (found.moves, found.reached) == (moves, reached)
    assert reached > 0
    for (state, action), value in values.items():
        assert found.values[state, action] == pytest.approx(value, abs=1e-12)


def batch_of(draw: np.random.Generator, states: int, size: int) -> tuple[Any, Any, Any]:
    """Return squares, actions and targets; some errors are below 1 and some above."""
    return draw.integers(states, size=size), draw.integers(4, size=size), draw.normal(size=size).astype(np.float32)


@pytest.mark.parametrize(("states", "hidden", "average"), [(16, 8, 0.9), (64, 128, 0.0), (9, 33, 0.99)])
def test_the_core_learns_as_pytorch_does(states: int, hidden: int, average: float, one_thread: None) -> None:
    settings = DqnSettings(hidden=hidden, average=average, learning_rate=1e-2)
    draw = np.random.default_rng(1)
    weights = first_weights(states, hidden, draw)
    ours, theirs = make_net(weights, states, settings), make_net(weights, states, settings._replace(net="torch"))
    assert isinstance(theirs, TorchNet)
    every = np.arange(states)
    for size in (1, 7, 64, 64, 200) * 6:
        assert ours.values(every) == pytest.approx(theirs.values(every), abs=2e-4)
        assert ours.averaged_values() == pytest.approx(theirs.averaged_values(), abs=2e-4)
        assert (ours.values(every[:3]) == ours.values(every)[:3]).all()
        batch = batch_of(draw, states, size)
        ours.learn(*batch)
        theirs.learn(*batch)
    assert (ours.averaged_values() == ours.values(every)).all() == (average == 0)


def test_both_nets_learn_the_same_on_a_lake(one_thread: None) -> None:
    settings = DqnSettings(hidden=16, learn_from=50, target_every=20, reward_scale=0.005, average=0.9)
    [ours] = learn_dqn(DRY, settings, 1, (25,))
    [theirs] = learn_dqn(DRY, settings._replace(net="torch"), 1, (25,))
    assert ours.moves == theirs.moves > 100
    assert ours.values == pytest.approx(theirs.values, abs=0.5)


def test_the_first_weights_are_drawn_as_pytorch_draws_them() -> None:
    weights = first_weights(64, 128, np.random.default_rng(1))
    layers = [torch.nn.Linear(*sizes) for sizes in ((64, 128), (128, 128), (128, 4))]
    rest = weights
    for layer in layers:
        part, rest = np.split(rest, [layer.weight.numel() + layer.bias.numel()])
        wanted = float(layer.weight.detach().abs().max())
        assert np.abs(part).max() == pytest.approx(wanted, rel=0.02)
        assert part.std() == pytest.approx(float(layer.weight.detach().std()), rel=0.1)
    assert not len(rest)


def test_what_the_net_of_the_core_refuses() -> None:
    weights = first_weights(16, 8, np.random.default_rng(1))
    good: dict[str, Any] = {"states": 16, "hidden": 8, "learning_rate": 1e-3, "average": 0.0}
    net = LakeNet(weights, **good)
    for name, value in (
        ("states", 0), ("states", 5000), ("hidden", 0), ("learning_rate", 0.0), ("average", 1.0), ("average", -0.1),
    ):  # fmt: skip
        with pytest.raises(LabError):
            LakeNet(weights, **(good | {name: value}))
    with pytest.raises(ArrayError, match=r"weights: float32\[244\] is needed, not float32\[243\]"):
        LakeNet(weights[1:], **good)
    some, targets = np.arange(3), np.zeros(3, np.float32)
    for squares, actions, wanted in (
        (some + 14, some, targets), (some - 1, some, targets), (some, some + 2, targets),
        (some[:0], some[:0], targets[:0]),
    ):  # fmt: skip
        with pytest.raises(LabError):
            net.learn(squares, actions, wanted)
    with pytest.raises(ArrayError, match="targets: float32"):
        net.learn(some, some, targets[:2])
    with pytest.raises(LabError, match="squares: numbers go from 0 to 15"):
        net.values(np.array([16]))


class RecordingNet(TorchNet):
    """Keeps the values of all squares before every step, and its batch."""

    kept: list[tuple[Any, Any, Any, Any]]

    def learn(self, squares: Any, actions: Any, targets: Any) -> None:
        before = (self.values(np.arange(self.states)).copy(), self.averaged_values().copy())
        RecordingNet.kept.append((before, squares, actions, targets))
        super().learn(squares, actions, targets)


@pytest.mark.parametrize(("double", "replay"), [(False, 10_000), (True, 10_000), (False, 32)])
def test_targets_by_a_second_computation(double: bool, replay: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step's batch is what was drawn from the moves made, and its targets are r + gamma max Q of the copy.

    Nothing follows an end, but something follows a move that the step limit cuts off.
    """
    RecordingNet.kept = []
    monkeypatch.setattr(dqn, "TorchNet", RecordingNet)
    batches: list[Any] = []
    memory: list[tuple[int, int, float, int, bool]] = []
    cuts: list[bool] = []
    made = np.random.default_rng

    class Draws:
        """Numpy's generator, which also keeps the batches that are drawn."""

        def __init__(self, seed: int) -> None:
            self._draw = made(seed)
            self.uniform = self._draw.uniform

        def random(self) -> float:
            return float(self._draw.random())

        def integers(self, high: int, size: int | None = None) -> Any:
            found = self._draw.integers(high, size=size)
            if size is not None:
                assert high == min(len(memory), replay)
                batches.append((found, len(memory)))
            return found

    monkeypatch.setattr(np.random, "default_rng", Draws)
    lake = Lake(SMALL_MAP, step_limit=6)
    episode = lake.episode(2)
    monkeypatch.setattr(lake, "episode", lambda seed: episode)
    real = episode.step

    def step(action: int) -> tuple[int, float, bool, bool]:
        before = episode.state
        after, reward, ends, cut = real(action)
        memory.append((before, action, reward, after, ends))
        cuts.append(cut)
        return after, reward, ends, cut

    monkeypatch.setattr(episode, "step", step)
    # A fast net, so that the target net differs from it
    settings = DqnSettings(
        hidden=8, batch=16, learn_from=20, learn_every=2, target_every=5, double=double, reward_scale=0.005,
        learning_rate=0.05, average=0.9, net="torch", replay=replay,
    )  # fmt: skip
    list(learn_dqn(lake, settings, 2, (40,)))
    assert len(RecordingNet.kept) == len(batches) > 30
    assert min(cuts.count(True), [ends for *_, ends in memory].count(True)) > 5
    assert [size for _, size in batches] == list(range(20, len(memory) + 1, 2))
    for number, (((values, averaged), squares, actions, targets), (chosen, size)) in enumerate(
        zip(RecordingNet.kept, batches, strict=True)
    ):
        assert number == 0 or (values != averaged).any()
        if number % 5 == 0:
            target = averaged
        # The last move that was written to each place
        rows = [memory[index + (size - 1 - index) // replay * replay] for index in chosen]
        wanted = []
        for _, _, reward, after, ends in rows:
            best = int((values if double else target)[after].argmax())
            wanted.append(0.005 * reward + (0.0 if ends else 0.99 * float(target[after, best])))
        assert [(row[0], row[1]) for row in rows] == list(zip(squares.tolist(), actions.tolist(), strict=True))
        assert targets == pytest.approx(np.array(wanted), abs=1e-6)


def test_a_snapshot_counts_the_episodes_that_reached_the_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    episode = DRY.episode(1)
    monkeypatch.setattr(DRY, "episode", lambda seed: episode)
    ends: list[int] = []
    real = episode.step

    def step(action: int) -> tuple[int, float, bool, bool]:
        answer = real(action)
        if answer[2] or answer[3]:
            ends.append(answer[0])
        return answer

    monkeypatch.setattr(episode, "step", step)
    first, last = learn_dqn(DRY, DqnSettings(hidden=16, learn_every=8, reward_scale=0.005), 1, (60, 300))
    assert len(ends) == 300
    assert first.reached == ends[:60].count(15)
    assert 0 < last.reached == ends.count(15) < 300


class SeenExploration(Exploration):
    """Keeps what it is asked, and answers with `end`."""

    asked: list[tuple[int, int]]

    def epsilon(self, *, episodes: int, moves: int) -> float:
        SeenExploration.asked.append((episodes, moves))
        return self.end


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
@pytest.mark.parametrize("learner", ["q-table", "dqn"])
def test_what_exploration_counts_and_does(learner: str, epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked before each move, with the episodes and the moves that are over; 0 is greedy, 1 is random."""
    SeenExploration.asked = []
    lake = Lake(SMALL_MAP, step_limit=30)
    episode = lake.episode(1)
    monkeypatch.setattr(lake, "episode", lambda seed: episode)
    real = episode.step
    wanted: list[tuple[int, int]] = []
    made: list[tuple[int, int]] = []
    over = [0]

    def step(action: int) -> tuple[int, float, bool, bool]:
        wanted.append((over[0], len(made)))
        made.append((episode.state, action))
        answer = real(action)
        over[0] += answer[2] or answer[3]
        return answer

    monkeypatch.setattr(episode, "step", step)
    exploration = SeenExploration(end=epsilon)
    if learner == "q-table":
        [found] = learn_q_table(lake, QTableSettings(exploration=exploration), 1, (20,))
    else:  # no step is made: the net is the first one
        settings = DqnSettings(hidden=8, learn_from=10_000, exploration=exploration)
        [found] = learn_dqn(lake, settings, 1, (20,))
    assert found.moves == len(made)
    assert SeenExploration.asked == wanted
    if epsilon:
        counts = np.bincount([action for _, action in made], minlength=4) / len(made)
        assert counts == pytest.approx([0.25] * 4, abs=0.12)
    elif learner == "dqn":
        assert all(action == found.values[state].argmax() for state, action in made)


def test_the_averaged_weights_follow_closely_at_first() -> None:
    """The decay is (1 + step) / (10 + step), at most that of the settings: 2 of 11 at the first step, then 0.2."""
    settings = DqnSettings(hidden=4, average=0.2, learning_rate=0.1, net="torch")
    net = make_net(first_weights(9, 4, np.random.default_rng(1)), 9, settings)
    assert isinstance(net, TorchNet)
    average = net.net[0].weight.detach().numpy().copy()
    for decay in (2 / 11, 0.2, 0.2):
        net.learn(*batch_of(np.random.default_rng(2), 9, 8))
        average = decay * average + (1 - decay) * net.net[0].weight.detach().numpy()
        assert net.averaged[0].numpy() == pytest.approx(average, abs=1e-6)


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
                                       "learning.episodes=300", "mcts.simulations=1000", *OUR_DQN])  # fmt: skip
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


@pytest.mark.parametrize("name", AGENTS)
def test_agents_act_by_their_settings_and_their_seed(name: str) -> None:
    settings = change(LakeSettings(), ["learning.episodes=30", "mcts.simulations=20", "mcts.repeats=2"])
    agent = make_agent(name, settings)
    agent.learn(ICE, seed=4)
    learner = name.removesuffix("+mcts")
    values = None if name == "mcts" else [each.values for each in learn(learner, ICE, settings, 4, (30,))][-1]
    if name == learner != "mcts":
        assert values is not None
        wanted = one_hot(greedy(values))
    else:
        wanted = plan_policy(settings, ICE, 4, values)
    assert (agent.policy() == wanted).all()
    agent.learn(ICE, seed=5)
    assert (agent.policy() != wanted).any()


def test_what_is_handed_over_is_of_the_averaged_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    nets: list[TorchNet] = []
    made = dqn.make_net

    def keep(weights: Any, states: int, settings: DqnSettings) -> TorchNet:
        net = made(weights, states, settings)
        assert isinstance(net, TorchNet)
        nets.append(net)
        return net

    monkeypatch.setattr(dqn, "make_net", keep)
    settings = DqnSettings(hidden=8, learn_from=20, average=0.99, learning_rate=0.05, reward_scale=0.5, net="torch")
    [found] = learn_dqn(DRY, settings, 1, (20,))
    assert found.values == pytest.approx(nets[0].averaged_values() / 0.5)
    assert np.abs(found.values - nets[0].values(np.arange(16)) / 0.5).max() > 0.01


def test_the_q_table_learns_on_ice() -> None:
    best = evaluate_policy(ICE, one_hot(greedy(best_values(ICE, 0.99)))).chance
    settings = LakeSettings().of_q_table
    for seed in (1, 2):
        *_, last = learn_q_table(ICE, settings, seed, (3000,))
        assert evaluate_policy(ICE, one_hot(greedy(last.values))).chance > best - 0.08


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_what_a_dqn_expects_is_in_rewards_whatever_its_scale(scale: float) -> None:
    """The values of the square before the goal: 100 to the right, and -1 with what follows for a step in place."""
    settings = DqnSettings(hidden=32, reward_scale=scale, learn_from=50, learning_rate=3e-3, target_every=50)
    [found] = learn_dqn(Lake(("SF", "HG"), slippery=False, step_limit=9), settings, 1, (400,))
    assert found.values[1, 1:3] == pytest.approx([100, 98], abs=4)


def test_small_rewards_teach_the_mean_and_large_ones_the_median() -> None:
    """An action leads to 100 a third of the time, else to -100."""
    found = {}
    for scale in (1.0, 0.005):
        net = make_net(first_weights(4, 16, np.random.default_rng(0)), 4, DqnSettings(hidden=16, learning_rate=1e-2))
        here = np.zeros(3, np.int64)
        for _ in range(1000):
            net.learn(here, here, np.array([100, -100, -100], np.float32) * np.float32(scale))
        found[scale] = float(net.values(here)[0, 0]) / scale
    assert found[1.0] == pytest.approx(-100, abs=5)
    assert found[0.005] == pytest.approx(-100 / 3, abs=1)
