"""Combinations of keys that make a recipe impossible."""

from __future__ import annotations

from collections.abc import Iterator

from selfmate.nn.config import NetConfig, NetError
from selfmate.recipe.schedule import at, start_cycles
from selfmate.recipe.schema import LearnerPart, Recipe
from selfmate.recipe.searches import match_search, search_contradictions, selfplay_search

__all__ = ["contradictions"]


def contradictions(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Yield every (key, reason) that makes the recipe impossible, at any cycle of its schedules."""
    selfplay, learner, search = recipe.selfplay, recipe.learner, recipe.search
    yield from _net(recipe)
    if recipe.net.policy == "none":
        for key, is_gumbel in (("search.gumbel", search.gumbel), ("gate.gumbel", recipe.gate.gumbel)):
            if is_gumbel:
                yield key, "a Gumbel root draws moves by their priors, and net.policy = none has none"
    if learner.holdout == 1:
        yield "learner.holdout", "every game would only validate; 0 means none, 16 one in sixteen"
    if selfplay.judge == "material" and recipe.variant.name == "antichess":
        yield "selfplay.judge", "more material is no advantage in antichess; use search or heuristic-1"
    if selfplay.starts_even and not selfplay.starts:
        yield "selfplay.starts_even", "without selfplay.starts there is nothing to draw evenly"
    cycles = start_cycles(recipe.flat().values())
    below = [at(search.noise_epsilon, cycle) for cycle in cycles if at(search.noise_depth, cycle)]
    if below and not any(below) and not search.gumbel:
        yield "search.noise_depth", "search.noise_epsilon is 0, so there is no noise at any depth"
    yield from _learner(learner, recipe.net.value)
    for cycle in cycles:
        when = f" (from cycle {cycle})" if cycle else ""
        visits, fast = at(selfplay.visits, cycle), at(selfplay.fast_visits, cycle)
        share = at(selfplay.full_probability, cycle)
        if share < 1 and "fast_visits" not in selfplay.model_fields_set:
            yield "selfplay.fast_visits", f"needed while selfplay.full_probability is below 1{when}"
        if fast > visits:
            yield "selfplay.fast_visits", f"{fast} is more than the {visits} visits of a full search{when}"
        if share == 0:
            yield "selfplay.full_probability", f"without full searches there is nothing to learn from{when}"
        for key, reason in search_contradictions(selfplay_search(recipe, cycle)):
            yield f"search.{key}", f"{reason}{when}"
        if recipe.gate.core_values(cycle):
            for key, reason in search_contradictions(match_search(recipe, cycle)):
                yield f"gate.{key}", f"{reason}{when}"
        steps = selfplay.temperature_by_move
        is_warm = any(value for _, value in steps) if steps else at(selfplay.temperature, cycle) > 0
        explores = search.gumbel or search.select == "noise" or at(search.noise_epsilon, cycle) > 0
        if not explores and not is_warm:
            yield "search.noise_epsilon", f"without noise, temperature and Gumbel root self-play explores nothing{when}"
        if at(selfplay.random_plies, cycle) >= at(selfplay.max_plies, cycle):
            yield "selfplay.max_plies", f"the game would end within its random plies{when}"
        if at(selfplay.resign, cycle) > 0 and at(selfplay.resign_played_out, cycle) == 0:
            yield "selfplay.resign_played_out", f"with resignation some games must be played out to measure it{when}"
        if at(learner.batch, cycle) > at(learner.window, cycle):
            yield "learner.window", f"smaller than one batch of {at(learner.batch, cycle)}{when}"
        if at(recipe.gate.p0, cycle) >= at(recipe.gate.p1, cycle):
            yield "gate.p1", f"not above gate.p0, so that the test has nothing to tell apart{when}"
        for name, games in (
            ("gate.games", recipe.gate.games),
            ("gate.final_games", recipe.gate.final_games),
            ("progress.games", recipe.progress.games),
            ("progress.engine_games", recipe.progress.engine_games),
        ):
            if at(games, cycle) % 2:
                yield name, f"openings are played in pairs, so the number is even{when}"


def _net(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Yield the contradictions within [net], at every cycle at which it grows."""
    before: NetConfig | None = None
    for cycle in start_cycles(each for _, each in recipe.net):
        when = f" (from cycle {cycle})" if cycle else ""
        try:
            config = recipe.net_config(cycle)
        except NetError as error:
            yield f"net.{error.part}", f"{error}{when}"
            return
        for key in ("blocks", "channels"):
            if before is not None and getattr(config, key) < getattr(before, key):
                less = f"{getattr(config, key)} after {getattr(before, key)}"
                yield f"net.{key}", f"a net only grows in a run, and {less} is less{when}"
        before = config


def _learner(part: LearnerPart, value: str) -> Iterator[tuple[str, str]]:
    """Yield the contradictions within [learner]; `value` is the kind of value that the net has."""
    if value != "wdl" and part.value_loss == "ce":
        yield "learner.value_loss", f"ce is for win-draw-loss; a net with the value {value} learns by mse or huber"
    if part.teacher_cycles and not part.teacher:
        yield "learner.teacher", "needed while learner.teacher_cycles is above 0"
    if part.teacher and not part.teacher_cycles:
        yield "learner.teacher_cycles", "0, so that learner.teacher is never asked; set the number of its cycles"
    for cycle in start_cycles(each for _, each in part):
        when = f" (from cycle {cycle})" if cycle else ""
        if at(part.recency, cycle) and at(part.epochs, cycle):
            yield "learner.recency", f"a pass over the window prefers no position; set recency or epochs to zero{when}"
        shaped = at(part.shaping, cycle) or at(part.step_cost, cycle) or at(part.shaping_discount, cycle) != 1
        if shaped and value == "wdl":
            yield (
                "learner.shaping",
                f"rewards on the way are no shares of wins and losses: net.value = wdl{when}",
            )
