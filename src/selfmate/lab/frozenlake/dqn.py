"""Deep Q-learning: a small net instead of the table, trained on batches from a memory of moves (Mnih et al. 2015).

The input is a row of zeros with a 1 on the square of the player; two hidden layers follow, and four outputs, the values
of the actions. Two things keep the learning stable: samples are drawn from a replay memory, and targets come
from a copy of the net, the target net, that is renewed only now and then. With `double` the net chooses the best action
of the next square and the target net says what it is worth (van Hasselt et al. 2016). With `average` the target net is
an average of the weights over many steps, and so is what is handed over in the end: the last weights jitter with the
batches (Lillicrap et al. 2016).

The net is computed twice: `TorchNet` is the plain one, and `LakeNet` of the core its fast twin, since for a net of this
size nearly all the time of PyTorch is overhead. Both learn the same but for rounding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from selfmate._core import LakeNet
from selfmate.lab.frozenlake.exploration import Exploration, Snapshot
from selfmate.lab.frozenlake.lake import ACTIONS, Lake, need

__all__ = ["DqnSettings", "TorchNet", "ValueNet", "first_weights", "learn_dqn", "make_net"]


class DqnSettings(NamedTuple):
    """What the agent may choose; the defaults are the seed's."""

    gamma: float = 0.99
    hidden: int = 128
    replay: int = 10_000
    batch: int = 64
    learn_from: int = 500
    """Moves in the memory before the first step."""
    learn_every: int = 1
    """Moves between two steps."""
    target_every: int = 200
    """Steps after which the target net is renewed."""
    learning_rate: float = 1e-3
    double: bool = False
    average: float = 0.0
    """Decay at each step of the averaged weights, which are the target net and the result; 0: the last weights are."""
    reward_scale: float = 1.0
    """Factor of the rewards inside. The smooth L1 loss is quadratic, and its minimum the mean of the targets, only for
    errors below 1; for larger ones it is linear, and its minimum their median."""
    net: str = "core"
    """What computes the net: core or torch."""
    exploration: Exploration = Exploration()


class ValueNet(Protocol):
    """The values of the four actions on every square: square → hidden → hidden → 4, with ReLU between."""

    def values(self, squares: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the values of squares int64[N], float32[N, 4]."""

    def averaged_values(self) -> NDArray[np.float32]:
        """Return the values of all squares by the averaged weights, float32[S, 4]."""

    def learn(self, squares: NDArray[np.int64], actions: NDArray[np.int64], targets: NDArray[np.float32]) -> None:
        """Make one step of Adam that moves the values of these squares and actions, [N], towards the targets."""


class TorchNet:
    """The net in PyTorch: the plain twin."""

    def __init__(self, weights: NDArray[np.float32], states: int, settings: DqnSettings) -> None:
        torch = need("torch")
        width = settings.hidden
        self.net = torch.nn.Sequential(
            torch.nn.Linear(states, width), torch.nn.ReLU(),
            torch.nn.Linear(width, width), torch.nn.ReLU(),
            torch.nn.Linear(width, len(ACTIONS)),
        )  # fmt: skip
        rest = torch.from_numpy(weights)
        for layer in (self.net[0], self.net[2], self.net[4]):
            matrix, bias, rest = rest.tensor_split((layer.weight.numel(), layer.weight.numel() + layer.out_features))
            layer.weight.data = matrix.view(layer.in_features, layer.out_features).t().contiguous()
            layer.bias.data = bias.clone()
        self.states, self.decay, self.steps = states, settings.average, 0
        self.averaged = [each.detach().clone() for each in self.net.parameters()]
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=settings.learning_rate)

    def values(self, squares: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the values of squares int64[N], float32[N, 4]."""
        found: NDArray[np.float32] = self._forward(squares).detach().numpy()
        return found

    def averaged_values(self) -> NDArray[np.float32]:
        """Return the values of all squares by the averaged weights, float32[S, 4]."""
        torch = need("torch")
        weights = self.averaged if self.decay > 0 else [each.detach() for each in self.net.parameters()]
        names = [name for name, _ in self.net.named_parameters()]
        every = torch.eye(self.states)
        found: NDArray[np.float32] = torch.func.functional_call(self.net, dict(zip(names, weights, strict=True)), every)
        return found.numpy()  # type: ignore[attr-defined,no-any-return]

    def learn(self, squares: NDArray[np.int64], actions: NDArray[np.int64], targets: NDArray[np.float32]) -> None:
        """Make one step of Adam that moves the values of these squares and actions, [N], towards the targets."""
        torch = need("torch")
        predicted = self._forward(squares)[torch.arange(len(squares)), torch.from_numpy(actions)]
        loss = torch.nn.functional.smooth_l1_loss(predicted, torch.from_numpy(targets))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        for average, weight in zip(self.averaged, self.net.parameters(), strict=True):
            average.lerp_(weight.detach(), 1 - decay)

    def _forward(self, squares: NDArray[np.int64]) -> Any:
        torch = need("torch")
        return self.net(torch.nn.functional.one_hot(torch.from_numpy(squares), self.states).float())


def first_weights(states: int, hidden: int, draw: np.random.Generator) -> NDArray[np.float32]:
    """Return weights [inputs, outputs] and biases of each layer, one after the other, drawn as PyTorch draws them.

    They are uniform between ±1/√inputs.
    """
    sizes = ((states, hidden), (hidden, hidden), (hidden, len(ACTIONS)))
    layers = [draw.uniform(-1, 1, (inputs + 1) * outputs) / math.sqrt(inputs) for inputs, outputs in sizes]
    return np.concatenate(layers).astype(np.float32)


def make_net(weights: NDArray[np.float32], states: int, settings: DqnSettings) -> ValueNet:
    """Return the net of the settings; raise `MissingExtra` without PyTorch where it is wanted."""
    if settings.net == "torch":
        return TorchNet(weights, states, settings)
    return LakeNet(
        weights, states=states, hidden=settings.hidden, learning_rate=settings.learning_rate, average=settings.average
    )


def learn_dqn(lake: Lake, settings: DqnSettings, seed: int, episodes: Sequence[int] = (1000,)) -> Iterator[Snapshot]:
    """Learn, and yield the values of all squares after each of these numbers of episodes, which rise."""
    # 1. The net, the values of its copy, and the memory
    draw = np.random.default_rng(seed)
    net = make_net(first_weights(lake.states, settings.hidden, draw), lake.states, settings)
    states, actions, nexts = (np.zeros(settings.replay, np.int64) for _ in range(3))
    rewards, goes_on = (np.zeros(settings.replay, np.float32) for _ in range(2))
    gamma = np.float32(settings.gamma)
    episode = lake.episode(seed)
    moves = steps = reached = 0
    began = time.perf_counter()
    target = net.averaged_values()
    for number in range(1, max(episodes) + 1):
        state = episode.reset()
        is_over = is_cut = False
        while not (is_over or is_cut):
            # 2. Choose: a random action with probability ε, else the best one
            if draw.random() < settings.exploration.epsilon(episodes=number - 1, moves=moves):
                action = int(draw.integers(len(ACTIONS)))
            else:
                action = int(net.values(np.array([state]))[0].argmax())
            # 3. Move, and remember. An episode that the step limit cuts off has a future: it just was not seen.
            after, reward, is_over, is_cut = episode.step(action)
            at = moves % settings.replay
            states[at], actions[at], nexts[at] = state, action, after
            rewards[at], goes_on[at] = reward * settings.reward_scale, not is_over
            moves += 1
            state = after
            if moves < settings.learn_from or moves % settings.learn_every:
                continue
            # 4. Targets of a batch: r + gamma max Q(s'), and nothing behind the end
            chosen = draw.integers(min(moves, settings.replay), size=settings.batch)
            following = nexts[chosen]
            best = (net.values(following) if settings.double else target[following]).argmax(1)
            wanted = rewards[chosen] + gamma * goes_on[chosen] * target[following, best]
            # 5. One step of gradient descent
            net.learn(states[chosen], actions[chosen], wanted)
            steps += 1
            if steps % settings.target_every == 0:
                target = net.averaged_values()
        reached += state == lake.goal
        if number in episodes:
            found = net.averaged_values().astype(np.float64) / settings.reward_scale
            yield Snapshot(number, moves, found, time.perf_counter() - began, reached)
