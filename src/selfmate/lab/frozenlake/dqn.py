"""Deep Q-learning: a small net instead of the table, trained on batches from a memory of moves (Mnih et al. 2015).

The input is a row of zeros with a 1 on the square of the player; two hidden layers follow, and four outputs, the values
of the actions. Two things keep the learning stable: samples are drawn from a replay memory, and targets come
from a copy of the net, the target net, that is renewed only now and then. With `double` the net chooses the best action
of the next square and the target net says what it is worth (van Hasselt et al. 2016).

A lake has so few squares that the net is evaluated on all of them at once: that is one matrix product, as a batch is,
and gives the next action and the predictions of the batch together. The target net is evaluated when it is renewed.
The gradient is written out (`ValueNet.step`); PyTorch's own would be the same numbers in twice the time, which is
nearly all overhead for a net of this size.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from selfmate.lab.frozenlake.exploration import Exploration, Snapshot
from selfmate.lab.frozenlake.lake import ACTIONS, Lake, need

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["DqnSettings", "ValueNet", "learn_dqn"]


class DqnSettings(NamedTuple):
    """What the agent may choose; the defaults are the seed's."""

    gamma: float = 0.99
    hidden: int = 128
    replay: int = 10_000
    batch: int = 64
    learn_from: int = 500
    """Moves in the memory before the first step."""
    target_every: int = 200
    """Steps after which the target net is renewed."""
    learning_rate: float = 1e-3
    double: bool = False
    reward_scale: float = 1.0
    """Factor of the rewards inside. The smooth L1 loss is quadratic, and its minimum the mean of the targets, only for
    errors below 1; for larger ones it is linear, and its minimum their median."""
    exploration: Exploration = Exploration()


class ValueNet:
    """The values of the four actions on every square: square → hidden → hidden → 4, with ReLU between.

    Multiplying a row with a single 1 by a matrix picks a column of it, so that the first layer is a table.
    """

    def __init__(self, states: int, hidden: int, learning_rate: float) -> None:
        torch = need("torch")
        layers = [torch.nn.Linear(*sizes) for sizes in ((states, hidden), (hidden, hidden), (hidden, len(ACTIONS)))]
        self.weights: list[Tensor] = [layer.weight.detach() for layer in layers]  # [outputs, inputs]
        self.biases: list[Tensor] = [layer.bias.detach() for layer in layers]
        self.optimizer = torch.optim.Adam([*self.weights, *self.biases], lr=learning_rate, fused=True)
        self.hidden: list[Tensor] = []

    def values(self) -> Tensor:
        """Return the values of all squares, float32[S, 4]; what `step` needs is kept."""
        first = (self.weights[0].t() + self.biases[0]).relu_()
        second = (first @ self.weights[1].t()).add_(self.biases[1]).relu_()
        self.hidden = [first, second]
        return (second @ self.weights[2].t()).add_(self.biases[2])

    def step(self, slopes: Tensor) -> None:
        """Make one step of Adam, by the slope of the loss in each of the last values, float32[S, 4]."""
        first, second = self.hidden
        # Backwards through the layers. Where ReLU gave 0, nothing changes the loss.
        self.weights[2].grad, self.biases[2].grad = slopes.t() @ second, slopes.sum(0)
        of_second = (slopes @ self.weights[2]).mul_(second > 0)
        self.weights[1].grad, self.biases[1].grad = of_second.t() @ first, of_second.sum(0)
        of_first = (of_second @ self.weights[1]).mul_(first > 0)
        self.weights[0].grad, self.biases[0].grad = of_first.t().contiguous(), of_first.sum(0)
        self.optimizer.step()


def learn_dqn(lake: Lake, settings: DqnSettings, seed: int, episodes: Sequence[int] = (1000,)) -> Iterator[Snapshot]:
    """Learn, and yield the values of all squares after each of these numbers of episodes, which rise.

    Raises `MissingExtra` without PyTorch.
    """
    torch = need("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the net is tiny, and sums are the same on every machine
    try:
        yield from _learn(lake, settings, seed, episodes)
    finally:
        torch.set_num_threads(threads)


def _learn(lake: Lake, settings: DqnSettings, seed: int, episodes: Sequence[int]) -> Iterator[Snapshot]:
    import torch

    # 1. The net, its copy (only its values are needed), and the memory
    torch.manual_seed(seed)
    net = ValueNet(lake.states, settings.hidden, settings.learning_rate)
    draw = np.random.default_rng(seed)
    states, actions, nexts = (np.zeros(settings.replay, np.int64) for _ in range(3))
    rewards, goes_on = (np.zeros(settings.replay, np.float32) for _ in range(2))
    episode = lake.episode(seed)
    moves = steps = 0
    began = time.perf_counter()
    known = target = net.values().numpy()  # [S, 4]
    for number in range(1, max(episodes) + 1):
        state = episode.reset()
        is_over = is_cut = False
        while not (is_over or is_cut):
            # 2. Choose: a random action with probability ε, else the best one
            epsilon = settings.exploration.epsilon(episodes=number - 1, moves=moves)
            action = int(draw.integers(4)) if draw.random() < epsilon else int(known[state].argmax())
            # 3. Move, and remember. An episode that the step limit cuts off has a future: it just was not seen.
            after, reward, is_over, is_cut = episode.step(action)
            at = moves % settings.replay
            states[at], actions[at], nexts[at] = state, action, after
            rewards[at], goes_on[at] = reward * settings.reward_scale, not is_over
            moves += 1
            state = after
            if moves < settings.learn_from:
                continue
            # 4. Targets of a batch: r + gamma max Q(s'), and nothing behind the end
            chosen = draw.integers(min(moves, settings.replay), size=settings.batch)
            following = nexts[chosen]
            best = (known if settings.double else target)[following].argmax(1)
            wanted = rewards[chosen] + settings.gamma * goes_on[chosen] * target[following, best]
            # 5. One step of gradient descent. The slope of the smooth L1 loss is the error, but at most 1.
            errors = known[states[chosen], actions[chosen]] - wanted
            slopes = np.zeros_like(known)
            np.add.at(slopes, (states[chosen], actions[chosen]), np.clip(errors, -1, 1) / settings.batch)
            net.step(torch.from_numpy(slopes))
            known = net.values().numpy()
            steps += 1
            if steps % settings.target_every == 0:
                target = known
        if number in episodes:
            found = known.astype(np.float64) / settings.reward_scale
            yield Snapshot(number, moves, found, time.perf_counter() - began)
