"""All agents behind one interface: learn on a lake, then be a policy.

>>> from selfmate.lab.frozenlake.lake import SMALL_MAP, Lake
>>> lake = Lake(SMALL_MAP, slippery=False)
>>> agent = make_agent("q-table", LakeSettings())
>>> agent.learn(lake, seed=1)
>>> ACTIONS[agent.policy()[14].argmax()]
'right'
>>> make_agent("qtable", LakeSettings())
Traceback (most recent call last):
...
selfmate.errors.LabError: unknown agent 'qtable'; did you mean 'q-table'?
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from selfmate.errors import LabError, clip
from selfmate.lab.frozenlake.dqn import learn_dqn
from selfmate.lab.frozenlake.exploration import Snapshot
from selfmate.lab.frozenlake.lake import ACTIONS, Lake
from selfmate.lab.frozenlake.planner import MctsSettings, plan
from selfmate.lab.frozenlake.q_table import learn_q_table
from selfmate.lab.frozenlake.settings import LakeSettings
from selfmate.lab.frozenlake.truth import Policy, best_values, greedy, one_hot

__all__ = ["AGENTS", "LakeAgent", "check_agent", "learn", "make_agent", "plan_policy", "search_settings"]

AGENTS: Final = ("q-table", "dqn", "mcts", "q-table+mcts", "dqn+mcts")


class LakeAgent(Protocol):
    """What acts on a lake."""

    def learn(self, lake: Lake, seed: int) -> None:
        """Learn on a lake; a planner has nothing to learn, and takes the lake's model."""

    def policy(self) -> Policy:
        """Return the probability of each action on each square, float64[S, 4]."""


def make_agent(name: str, settings: LakeSettings) -> LakeAgent:
    """Return an agent by its name; raise `LabError` for an unknown one."""
    learner = check_agent(name).removesuffix("+mcts")
    if name == "mcts":
        return PlanningAgent(settings, None)
    learning = LearningAgent(settings, learner)
    return PlanningAgent(settings, learning) if name.endswith("+mcts") else learning


def check_agent(name: str) -> str:
    """Return the name of an agent; raise `LabError` for an unknown one."""
    if name not in AGENTS:
        near = difflib.get_close_matches(clip(name), AGENTS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"agents: {', '.join(AGENTS)}"
        raise LabError(f"unknown agent {clip(name)!r}; {hint}", name)
    return name


class LearningAgent:
    """A Q-table or a DQN that acts greedily."""

    def __init__(self, settings: LakeSettings, learner: str) -> None:
        self._settings, self._learner = settings, learner
        self.values: NDArray[np.float64] = np.zeros((1, len(ACTIONS)))

    def learn(self, lake: Lake, seed: int) -> None:
        """Learn for the episodes of the settings."""
        *_, last = learn(self._learner, lake, self._settings, seed, (self._settings.learning.episodes,))
        self.values = last.values

    def policy(self) -> Policy:
        """Return the greedy policy."""
        return one_hot(greedy(self.values))


class PlanningAgent:
    """A search from every square; its roll-outs follow what a learner has learned, the best policy, or chance."""

    def __init__(self, settings: LakeSettings, learner: LearningAgent | None) -> None:
        self._settings, self._learner = settings, learner
        self._lake: Lake | None = None
        self._seed = 0

    def learn(self, lake: Lake, seed: int) -> None:
        """Let the learner learn, if there is one."""
        self._lake, self._seed = lake, seed
        if self._learner is not None:
            self._learner.learn(lake, seed)

    def policy(self) -> Policy:
        """Plan from every square."""
        assert self._lake is not None, "learn first"
        return plan_policy(
            self._settings, self._lake, self._seed, None if self._learner is None else self._learner.values
        )


def learn(learner: str, lake: Lake, settings: LakeSettings, seed: int, episodes: Sequence[int]) -> Iterator[Snapshot]:
    """Let a learner learn; yield what it knows after each of these numbers of episodes."""
    if learner == "q-table":
        return learn_q_table(lake, settings.of_q_table, seed, episodes)
    return learn_dqn(lake, settings.of_dqn, seed, episodes)


def search_settings(settings: LakeSettings) -> MctsSettings:
    """Return what the search needs."""
    part = settings.mcts
    steps = 0 if part.rollout == "exact" else part.rollout_steps
    return MctsSettings(part.simulations, part.c, settings.learning.gamma, steps, part.repeats, part.choose)


def plan_policy(settings: LakeSettings, lake: Lake, seed: int, values: NDArray[np.float64] | None) -> Policy:
    """Return the policy of a planner.

    By the settings its roll-outs follow the greedy policy of learned `values` float64[S, 4] (random actions where
    nothing was learned), random actions, or the best policy; or a leaf has the exact value of that one instead.
    """
    rollout = None if values is None else greedy(values)
    leaf_values = None
    if settings.mcts.rollout in ("best", "exact"):
        best = best_values(lake, settings.learning.gamma)
        rollout = greedy(best)
        leaf_values = best.max(1) if settings.mcts.rollout == "exact" else None
    elif settings.mcts.rollout == "random":
        rollout = None
    return plan(lake, search_settings(settings), seed, rollout, leaf_values)
