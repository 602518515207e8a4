"""The engines of a recipe, checked before a run starts."""

from __future__ import annotations

from selfmate.errors import SelfmateError, clip
from selfmate.match.plan import check_engines as start_engines
from selfmate.match.spec import Contestant, read_contestant
from selfmate.recipe.reader import Problem, RecipeError
from selfmate.recipe.schema import Recipe
from selfmate.search.limit import Limit

__all__ = ["check_engines", "read_engine"]


def check_engines(recipe: Recipe) -> None:
    """Start every engine that a recipe names once, with its options and the variant.

    Raises `RecipeError`, with the key, where a program is not there, is no engine, or lacks an option or the variant.
    """
    named = {"learner.teacher": recipe.learner.teacher, "progress.engine": recipe.progress.engine}
    for key, text in named.items():
        if text:
            try:
                engine = read_engine(text)
                if key == "learner.teacher" and engine.limit.is_timed:
                    raise SelfmateError(
                        "a teacher has nodes or depth, not time, so that every run of a seed is the same"
                    )
                start_engines([engine], recipe.variant.name)
            except SelfmateError as error:
                problem = Problem(key, str(error))
                raise RecipeError(str(problem), key, (problem,)) from error


def read_engine(text: str) -> Contestant:
    """Return the engine that a text such as `uci:stockfish?nodes=1000&option.UCI_Elo=1350` describes."""
    if not text.startswith("uci:"):
        raise SelfmateError(f"an engine is written uci:COMMAND?nodes=N, not {clip(text)!r}", text)
    return read_contestant(text, Limit())
