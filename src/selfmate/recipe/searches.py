"""The searches of a recipe: `[search]` in self-play; in matches without noise, and with what `[gate]` overrides."""

from __future__ import annotations

from collections.abc import Iterator

from selfmate._core import SearchConfig
from selfmate.recipe.schema import Recipe

__all__ = ["match_search", "search_contradictions", "selfplay_search"]


def selfplay_search(recipe: Recipe, cycle: int) -> SearchConfig:
    """Return the search of self-play at a cycle."""
    return SearchConfig(**recipe.search.core_values(cycle))


def match_search(recipe: Recipe, cycle: int) -> SearchConfig:
    """Return the search of the gate and of the final matches at a cycle.

    >>> from selfmate.recipe.reader import change, load
    >>> recipe = change(load("gardner-laptop"), ["gate.cpuct=3.0"])
    >>> selfplay_search(recipe, 0).gumbel_scale, match_search(recipe, 0).gumbel_scale, match_search(recipe, 0).cpuct
    (1.0, 0.0, 3.0)
    """
    return selfplay_search(recipe, cycle).without_noise().replace(**recipe.gate.core_values(cycle))


def search_contradictions(config: SearchConfig) -> Iterator[tuple[str, str]]:
    """Yield (field, reason) of every field that has no meaning beside the others."""
    if config.gumbel:
        yield from _gumbel_contradictions(config)
    if config.select != "puct":
        for name in ("noise_epsilon", "top_k", "tail", "widening"):
            if getattr(config, name) > 0:
                yield name, f"select = {config.select!r} uses no priors; set it to zero"
        if config.cpuct_base > 0:
            yield "cpuct_base", f"it belongs to select = 'puct', not to {config.select!r}"
    if config.proven_means and not config.solver:
        yield "proven_means", "without the solver nothing is proven; set solver = true"
    if config.reuse and config.draw_score != 0:
        yield "draw_score", "a kept tree (reuse) has the draw score of the other side; set one of the two off"
    if config.reuse and config.noise_depth > 0:
        yield "noise_depth", "the root of a kept tree (reuse) would get noise twice; set one of the two off"


def _gumbel_contradictions(config: SearchConfig) -> Iterator[tuple[str, str]]:
    if config.noise_epsilon > 0:
        yield "noise_epsilon", "a Gumbel root has its own noise; set one of the two to zero"
    if config.noise_depth > 0:
        yield "noise_depth", "Dirichlet noise needs gumbel = false"
    if config.select != "puct":
        yield "select", f"a Gumbel root needs priors, which {config.select!r} does not use; set gumbel = false"
    if config.choose != "visits":
        yield "choose", "a Gumbel root chooses its move itself; set gumbel = false"
    if config.stop_share > 0:
        yield "stop_share", "sequential halving at a Gumbel root needs all visits; set gumbel = false"
    if config.repetition_penalty > 0:
        yield "repetition_penalty", "it changes PUCT scores, which a Gumbel root does not have; set gumbel = false"
    if config.reuse:
        yield "reuse", "a Gumbel root begins without visits; set gumbel = false"
