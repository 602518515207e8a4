"""The self-play pool of a recipe: its search, its games, and how many of them run at once."""

from __future__ import annotations

from typing import NamedTuple

from selfmate._core import Pool, SearchConfig
from selfmate.evaluator.base import Evaluator
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import Recipe, SearchPart
from selfmate.search.autotune import best_batch, is_on_gpu, room_for_trees, with_spare
from selfmate.util.text import many

__all__ = ["AtOnce", "choose_at_once", "search_config", "selfplay_pool"]


def search_config(part: SearchPart, cycle: int, *, noise: bool) -> SearchConfig:
    """Make the native search of a recipe at a cycle."""
    return SearchConfig(
        gumbel=part.gumbel,
        considered=at(part.considered, cycle),
        gumbel_scale=at(part.gumbel_scale, cycle) if noise else 0.0,
        cpuct=at(part.cpuct, cycle),
        fpu_reduction=at(part.fpu_reduction, cycle),
        noise_alpha=at(part.noise_alpha, cycle),
        noise_epsilon=at(part.noise_epsilon, cycle) if noise else 0.0,
        draw_score=at(part.draw_score, cycle),
    )


class AtOnce(NamedTuple):
    """How many games are played at once."""

    slots: int
    batch: int
    """Leaves of them that are evaluated together at most; 0: those of all games, shared by the lanes."""
    why: str
    """A sentence that says why so many."""


def choose_at_once(recipe: Recipe, evaluator: Evaluator, lanes: int) -> AtOnce:
    """Choose how many games self-play has at once: the recipe's number, or what fits.

    What fits is measured: the smallest batch in which the evaluator is nearly as fast as it gets. More games at once
    than that only make each of them slower. Their trees must have room in memory.
    """
    part = recipe.selfplay
    if part.slots:
        return AtOnce(part.slots, 0, f"{many(part.slots, 'game')} at once, as the recipe says")
    rows, speeds = best_batch(evaluator)
    slots = max(lanes, lanes * rows // part.leaves)
    if is_on_gpu(evaluator):
        slots = with_spare(slots)
    room = room_for_trees(max(at(part.visits, 0), at(part.fast_visits, 0)))
    if slots > room:
        slots = max(lanes, room)
        return AtOnce(slots, 0, f"{many(slots, 'game')} at once: the trees of more would not fit into memory")
    why = f"{rows:,} leaves are evaluated at {speeds[rows]:,.0f}/s, more of them at {max(speeds.values()):,.0f}/s"
    return AtOnce(slots, rows, f"{many(slots, 'game')} at once in {many(lanes, 'lane')}: {why}")


def selfplay_pool(recipe: Recipe, cycle: int, *, seed: int, at_once: AtOnce, lanes: int, threads: int) -> Pool:
    """Make the pool of a recipe at a cycle; who plays are the games that are started in it."""
    part = recipe.selfplay
    return Pool(
        recipe.variant.name,
        search_config(recipe.search, cycle, noise=True),
        seed=seed,
        visits=at(part.visits, cycle),
        fast_visits=at(part.fast_visits, cycle),
        full_probability=at(part.full_probability, cycle),
        random_plies=at(part.random_plies, cycle),
        temperature=at(part.temperature, cycle),
        temperature_plies=at(part.temperature_plies, cycle),
        max_plies=at(part.max_plies, cycle),
        slots=at_once.slots,
        lanes=lanes,
        threads=threads,
        leaves_per_slot=part.leaves,
        batch=at_once.batch,
    )
