"""Does a run fit into memory? Asked before anything is written: the trees of self-play, and the net in training."""

from __future__ import annotations

from typing import Final

import torch

from selfmate.nn.net import Net
from selfmate.recipe.reader import Problem, RecipeError
from selfmate.recipe.schedule import at, start_cycles
from selfmate.recipe.schema import Recipe
from selfmate.search.autotune import tree_bytes
from selfmate.util.memory import gibibytes, memory_bytes
from selfmate.util.text import many

__all__ = ["check_memory", "check_net", "check_trees", "most_visits"]

MEMORY_SHARE: Final = 0.8
"""Share of the memory beyond which trees or a net are refused; Python, PyTorch and the window need the rest."""
TRAINED_BYTES: Final = 16
"""Least memory of a parameter in training: weight, gradient, momentum and average in f32."""


def check_memory(recipe: Recipe) -> None:
    """Raise `RecipeError` if a run would not fit into the memory of this machine at some cycle."""
    check_net(recipe)
    check_trees(recipe, memory_bytes())


def check_net(recipe: Recipe) -> None:
    """Raise `RecipeError` if the largest net of the run cannot be trained in the memory of this machine."""
    starts = start_cycles((recipe.net.blocks or 1, recipe.net.channels or 1))
    with torch.device("meta"):  # shapes without memory
        nets = [Net(recipe.net_config(cycle), seed=None) for cycle in starts]
    parameters = max(sum(each.numel() for each in net.parameters()) for net in nets)
    what = f"a net of {parameters:,} parameters needs {{}} of memory or more to be trained"
    _check("net", what, TRAINED_BYTES * parameters, memory_bytes(), "this machine", "net.blocks or net.channels")


def check_trees(recipe: Recipe, memory: int, machine: str = "this machine", pools: int = 1) -> None:
    """Raise `RecipeError` if the trees of so many pools do not fit into the memory of a machine, in bytes.

    With `slots = 0` the number of games is chosen so that they fit, but is at least one.
    """
    slots, visits = max(1, recipe.selfplay.slots) * pools, most_visits(recipe)
    what = f"{many(slots, 'search tree')} of {many(visits, 'visit')} need about {{}} of memory"
    needed = slots * tree_bytes(visits)
    _check("selfplay.visits", what, needed, memory, machine, "selfplay.visits or selfplay.slots")


def _check(key: str, what: str, needed: int, memory: int, machine: str, keys: str) -> None:
    if needed > MEMORY_SHARE * memory:
        reason = f"{what.format(gibibytes(needed))}, and {machine} has {gibibytes(memory)}; lower {keys}"
        problem = Problem(key, reason)
        raise RecipeError(str(problem), problem.key, (problem,))


def most_visits(recipe: Recipe) -> int:
    """Return the visits of the longest search that self-play will make at any cycle of the run.

    A narrow position may have twice the visits (`search.budget_moves`), and so may a tree that is kept from move to
    move (`search.reuse`), for the subtree of the played move is about half of it.
    """
    part, search = recipe.selfplay, recipe.search
    schedules = (part.visits, part.fast_visits)
    cycles = [cycle for cycle in start_cycles((*schedules, search.budget_moves)) if cycle < part.cycles]

    def largest(cycle: int) -> int:
        visits = max(int(at(schedule, cycle)) for schedule in schedules)
        return visits * (2 if at(search.budget_moves, cycle) else 1) * (2 if search.reuse else 1)

    return max(largest(cycle) for cycle in cycles)
