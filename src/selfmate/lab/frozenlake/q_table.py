"""Tabular Q-learning: one number for each action on each square, moved towards what was seen.

After a move with reward r from square s to square s',

    Q(s, a) ← Q(s, a) + rate (r + gamma max Q(s', ·) - Q(s, a))

and without the max behind a hole or the goal, where nothing follows. The numbers begin at 0, above all that steps of
-1 lead to: what was not tried yet looks best, so the agent explores by itself.

>>> from selfmate.lab.frozenlake.lake import SMALL_MAP, Lake
>>> from selfmate.lab.frozenlake.truth import evaluate_policy, greedy, one_hot
>>> lake = Lake(SMALL_MAP, slippery=False)
>>> [(episodes, values)] = [(each.episodes, each.values) for each in learn_q_table(lake, QTableSettings(), seed=1)]
>>> episodes, evaluate_policy(lake, one_hot(greedy(values)))
(1000, PolicyEvaluation(chance=1.0, moves=6.0))
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from selfmate.lab.frozenlake.exploration import Exploration, Snapshot
from selfmate.lab.frozenlake.lake import ACTIONS, Lake

__all__ = ["QTableSettings", "learn_q_table"]


class QTableSettings(NamedTuple):
    """What the agent may choose; `exploration` is the schedule of random actions."""

    gamma: float = 0.99
    learning_rate: float = 0.5
    learning_rate_decay: float = 0.02
    """The learning rate of a square and action is learning_rate / (1 + decay · visits)."""
    exploration: Exploration = Exploration()


def learn_q_table(
    lake: Lake, settings: QTableSettings, seed: int, episodes: Sequence[int] = (1000,)
) -> Iterator[Snapshot]:
    """Learn, and yield the table after each of these numbers of episodes, which rise."""
    q = [[0.0] * len(ACTIONS) for _ in range(lake.states)]
    visits = [[0] * len(ACTIONS) for _ in range(lake.states)]
    draw = random.Random(seed)
    episode = lake.episode(seed)
    moves, reached, began = 0, 0, time.perf_counter()
    for number in range(1, max(episodes) + 1):
        state = episode.reset()
        is_over = is_cut = False
        while not (is_over or is_cut):
            # 1. Choose: a random action with probability ε, else the best so far
            epsilon = settings.exploration.epsilon(episodes=number - 1, moves=moves)
            values = q[state]
            action = draw.randrange(4) if draw.random() < epsilon else values.index(max(values))
            # 2. Move
            after, reward, is_over, is_cut = episode.step(action)
            moves += 1
            # 3. Learn. An episode that is cut off by the step limit has a future: it just was not seen.
            target = reward if is_over else reward + settings.gamma * max(q[after])
            rate = settings.learning_rate / (1.0 + settings.learning_rate_decay * visits[state][action])
            visits[state][action] += 1
            values[action] += rate * (target - values[action])
            state = after
        reached += state == lake.goal
        if number in episodes:
            yield Snapshot(number, moves, np.array(q), time.perf_counter() - began, reached)
