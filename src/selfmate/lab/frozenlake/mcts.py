"""Monte-Carlo tree search on the exact model, in plain Python.

`cpp/lab/lake_search.cpp` is its fast twin: both draw the same random numbers and build the same tree, which the tests
compare number by number. The environment is never called: outcomes are drawn from the table of transitions.

>>> from selfmate.lab.frozenlake.lake import SMALL_MAP, Lake
>>> search = PlainSearch(Lake(SMALL_MAP, slippery=False), c=100.0)
>>> search.run(root=14, simulations=20, seed=1)
>>> search.nodes[0].visits, ACTIONS[search.best_action()]
(20, 'right')
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from selfmate._core import portable_log
from selfmate.lab.frozenlake.lake import ACTIONS, Lake

__all__ = ["RANDOM_ACTION", "LakeNode", "PlainSearch", "RandomBits"]

RANDOM_ACTION = -1
WORD = (1 << 64) - 1


def mix(z: int) -> int:
    """Return SplitMix64's hash of 64 bits (Steele, Lea, Flood 2014)."""
    z = (z + 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & WORD
    return z ^ z >> 31


class RandomBits:
    """A stream of random numbers, equal for equal arguments; `cpp/util/random.h` has the same."""

    def __init__(self, seed: int, a: int = 0, b: int = 0, c: int = 0) -> None:
        self._state = mix(mix(mix(mix(seed) ^ a) ^ b) ^ c)

    def bits(self) -> int:
        """Return 64 random bits."""
        number = mix(self._state)
        self._state = (self._state + 1) & WORD
        return number


@dataclass
class LakeNode:
    """A decision node. Its chance nodes are its actions: each leads to one of up to three children."""

    state: int
    is_terminal: bool = False
    visits: int = 0
    action_visits: list[int] = field(default_factory=lambda: [0] * len(ACTIONS))
    value_sums: list[float] = field(default_factory=lambda: [0.0] * len(ACTIONS))
    """Sum of the discounted returns after each action; divided by its visits, the value of the action."""
    children: dict[tuple[int, int], int] = field(default_factory=dict)
    """Index of the child for (action, outcome)."""


class PlainSearch:
    """UCT with chance nodes and roll-outs.

    `c` is the exploration constant, in units of the return; `policy` int8[S] is what roll-outs follow (random actions
    without it); `leaf_values` float64[S] is the return that is expected where a roll-out stops (0 without it).
    """

    def __init__(
        self,
        lake: Lake,
        *,
        c: float = 1.0,
        gamma: float = 0.99,
        rollout_steps: int = 50,
        policy: NDArray[np.int8] | None = None,
        leaf_values: NDArray[np.float64] | None = None,
    ) -> None:
        self.c, self.gamma, self.rollout_steps = c, gamma, rollout_steps
        self.policy = [RANDOM_ACTION] * lake.states if policy is None else [int(action) for action in policy]
        self.leaf_values = [0.0] * lake.states if leaf_values is None else [float(value) for value in leaf_values]
        table = lake.arrays
        self._bounds: list[list[list[int]]] = table.bounds.tolist()
        self._rewards: list[list[list[float]]] = table.rewards.tolist()
        self._next: list[list[list[int]]] = table.next.tolist()
        self._ends: list[list[list[bool]]] = table.ends.tolist()
        self.nodes: list[LakeNode] = []
        self.returns: list[float] = []
        """Of the last simulation: the discounted return from each node of its path on."""
        self.rollout: list[int] = []
        """Of the last simulation: the squares of its roll-out, the leaf's own first."""

    def run(self, root: int, simulations: int, seed: int, stream: int = 0) -> None:
        """Build a new tree from a square."""
        self.begin(root, seed, stream)
        for _ in range(simulations):
            self.simulate()

    def begin(self, root: int, seed: int, stream: int = 0) -> None:
        """Begin a tree that has only its root; `simulate` grows it."""
        self.nodes = [LakeNode(root)]
        self._random = RandomBits(seed, root, stream)

    def simulate(self) -> list[int]:
        """Make one simulation; return the indices of the nodes on its path, the last of which may be new."""
        # 1. Selection: descend by UCT; an outcome without a node ends the descent, and so does the end of the episode.
        path: list[tuple[LakeNode, int, float]] = []
        indices = [0]
        is_new = False
        while not is_new and not self.nodes[indices[-1]].is_terminal:
            node = self.nodes[indices[-1]]
            action = self.select_action(node)
            outcome = self._draw(node.state, action, self._random.bits() >> 32)
            path.append((node, action, self._rewards[node.state][action][outcome]))
            # 2. Expansion: one new node
            if (action, outcome) not in node.children:
                is_new = True
                node.children[action, outcome] = len(self.nodes)
                after = self._next[node.state][action][outcome]
                self.nodes.append(LakeNode(after, self._ends[node.state][action][outcome]))
            indices.append(node.children[action, outcome])
        # 3. Roll-out from the new node
        leaf = self.nodes[indices[-1]]
        value = 0.0 if leaf.is_terminal else self.roll_out(leaf.state)
        leaf.visits += 1
        if leaf.is_terminal:
            self.rollout = [leaf.state]
        # 4. Back-up: the discounted return from each node of the path on
        self.returns = [value]
        for node, action, reward in reversed(path):
            value = reward + self.gamma * value
            node.visits += 1
            node.action_visits[action] += 1
            node.value_sums[action] += value
            self.returns.insert(0, value)
        return indices

    def select_action(self, node: LakeNode) -> int:
        """Return the first action without visits, else the one with the largest value plus exploration."""
        if 0 in node.action_visits:
            return node.action_visits.index(0)
        log_visits = portable_log(node.visits)  # math.log, with the same digits on every machine
        scores = [
            total / visits + self.c * math.sqrt(log_visits / visits)
            for total, visits in zip(node.value_sums, node.action_visits, strict=True)
        ]
        return scores.index(max(scores))

    def roll_out(self, state: int) -> float:
        """Return the discounted return of one random walk along the policy."""
        value, discount = 0.0, 1.0
        self.rollout = [state]
        for _ in range(self.rollout_steps):
            bits = self._random.bits()
            action = self.policy[state]
            if action == RANDOM_ACTION:
                action = bits & 3
            outcome = self._draw(state, action, bits >> 32)
            value += discount * self._rewards[state][action][outcome]
            self.rollout.append(self._next[state][action][outcome])
            if self._ends[state][action][outcome]:
                return value
            discount *= self.gamma
            state = self.rollout[-1]
        return value + discount * self.leaf_values[state]

    def best_action(self) -> int:
        """Return the action with the highest value at the root; among equals the one with more visits."""
        root = self.nodes[0]
        tried = [action for action in range(len(ACTIONS)) if root.action_visits[action]]
        return max(tried, key=lambda action: (self.value(root, action), root.action_visits[action]))

    def visit_shares(self) -> list[float]:
        """Return the share of each action in the visits of the root: a policy that may be drawn from."""
        visits = self.nodes[0].action_visits
        return [count / sum(visits) for count in visits]

    def value(self, node: LakeNode, action: int) -> float:
        """Return the mean return of an action that has visits."""
        return node.value_sums[action] / node.action_visits[action]

    def _draw(self, state: int, action: int, bits32: int) -> int:
        """Return the outcome of an action that 32 random bits choose."""
        first, second = self._bounds[state][action]
        return (bits32 >= first) + (bits32 >= second)
