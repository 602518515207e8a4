"""The record of an episode with its searches: what the page, the GIF, the strip and the text show, as JSON.

>>> trace = record(LakeSettings.model_validate(DEMO), seed=2)
>>> trace["end"], len(trace["moves"]), len(trace["moves"][0]["simulations"])
('goal', 10, 20)
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from selfmate.errors import LabError
from selfmate.lab.frozenlake.agents import learn, search_settings
from selfmate.lab.frozenlake.lake import Lake
from selfmate.lab.frozenlake.mcts import PlainSearch
from selfmate.lab.frozenlake.settings import LakeSettings
from selfmate.lab.frozenlake.truth import best_values, greedy

__all__ = ["DEMO", "record"]

DEMO: Final[dict[str, dict[str, Any]]] = {
    "lake": {"map": "4x4", "size": 4, "slippery": False, "step_limit": 100},
    "mcts": {"simulations": 20, "c": 50.0, "rollout": "random"},
    "run": {"seed": 2},
}
"""The settings of the picture where no others are given: the seed's demo, with a larger exploration constant."""
VERSION: Final = 1
MOST_SIMULATIONS: Final = 200
MOST_PICTURES: Final = 20_000
"""Of an episode, one for each simulation and one for each new tree; a page of them has 3 MB."""
LARGEST: Final = 16
"""Squares of a side that a picture shows."""


def record(settings: LakeSettings, seed: int, learner: str = "q-table") -> dict[str, Any]:
    """Play one episode with a search before each move; return everything that happened, for JSON.

    A node has its parent, the action that leads to it, its square, what is there (`frozen`, `goal`, `hole`), and its
    place in the drawing: `x` in widths of a leaf, `depth` in levels. A simulation has the nodes of its path, the
    discounted return from each of them on, and the squares of its roll-out. Raises `LabError` for a lake or a search
    that is too large to be drawn, and for an episode that is too long.
    """
    lake = settings.make_lake()
    part = settings.mcts
    if part.simulations > MOST_SIMULATIONS:
        raise LabError(f"mcts.simulations: a picture shows at most {MOST_SIMULATIONS}, not {part.simulations}")
    if lake.size > LARGEST:
        raise LabError(f"lake.size: a picture shows at most {LARGEST} squares of a side, not {lake.size}")
    if part.choose != "value":
        raise LabError(f"mcts.choose: a picture shows the choice by value, not by {part.choose}", "mcts.choose")
    search = _search(settings, lake, seed, learner)
    episode = lake.episode(seed)
    state = episode.reset()
    moves: list[dict[str, Any]] = []
    is_over = is_cut = False
    while not (is_over or is_cut):
        if (len(moves) + 1) * (part.simulations + 1) > MOST_PICTURES:
            hint = "lower lake.step_limit or mcts.simulations"
            raise LabError(f"{MOST_PICTURES:,} pictures end after {len(moves)} moves, the episode does not; {hint}")
        search.begin(state, seed, len(moves))
        simulations = [_simulate(search) for _ in range(part.simulations)]
        action = search.best_action()
        root = search.nodes[0]
        values = [total / max(visits, 1) for total, visits in zip(root.value_sums, root.action_visits, strict=True)]
        state_before = state
        state, _, is_over, is_cut = episode.step(action)
        moves.append(
            {
                "state": state_before,
                "nodes": _nodes(search, lake),
                "simulations": simulations,
                "visits": list(root.action_visits),
                "values": [round(value, 2) for value in values],
                "action": action,
                "next": state,
            }
        )
    return {
        "version": VERSION,
        "rows": list(lake.rows),
        "slippery": lake.slippery,
        "simulations": part.simulations,
        "c": part.c,
        "gamma": settings.learning.gamma,
        "rollout": part.rollout,
        "moves": moves,
        "end": "cut off" if is_cut else "goal" if state == lake.goal else "hole",
    }


def _search(settings: LakeSettings, lake: Lake, seed: int, learner: str) -> PlainSearch:
    chosen = search_settings(settings)
    policy: NDArray[np.int8] | None = None
    leaf_values = None
    if settings.mcts.rollout == "learned":
        *_, last = learn(learner, lake, settings, seed, (settings.learning.episodes,))
        policy = greedy(last.values)
    elif settings.mcts.rollout in ("best", "exact"):
        best = best_values(lake, settings.learning.gamma)
        policy, leaf_values = greedy(best), best.max(1) if settings.mcts.rollout == "exact" else None
    return PlainSearch(
        lake, c=chosen.c, gamma=chosen.gamma, rollout_steps=chosen.rollout_steps, policy=policy, leaf_values=leaf_values
    )


def _simulate(search: PlainSearch) -> dict[str, Any]:
    before = len(search.nodes)
    path = search.simulate()
    return {
        "path": path,
        "new": len(search.nodes) > before,
        "returns": [round(value, 2) for value in search.returns],
        "rollout": list(search.rollout),
    }


def _nodes(search: PlainSearch, lake: Lake) -> list[dict[str, Any]]:
    """Return the nodes in the order of their expansion, with their places in the drawing of the whole tree."""
    found: list[dict[str, Any]] = [
        {"parent": -1, "action": -1, "state": node.state, "kind": _kind(lake, node.state), "x": 0.0, "depth": 0}
        for node in search.nodes
    ]
    leaves = 0

    def place(index: int, depth: int) -> float:
        """Place a node and those below it: leaves side by side, a parent above the middle of its children."""
        nonlocal leaves
        children = sorted(search.nodes[index].children.items())
        places = []
        for (action, _), child in children:
            found[child]["parent"], found[child]["action"] = index, action
            places.append(place(child, depth + 1))
        if not places:
            places = [float(leaves)]
            leaves += 1
        found[index]["x"], found[index]["depth"] = round((places[0] + places[-1]) / 2, 3), depth
        return (places[0] + places[-1]) / 2

    place(0, 0)
    return found


def _kind(lake: Lake, state: int) -> str:
    return {"G": "goal", "H": "hole"}.get(lake.tiles[state], "frozen")
