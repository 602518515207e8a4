"""The UCI engines that a recipe names: how they are written, checked before a run starts, and asked for a value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from selfmate.errors import SelfmateError, clip
from selfmate.match.plan import check_engines as start_engines
from selfmate.match.spec import Contestant, go_command, read_contestant
from selfmate.match.uci_client import PATIENCE, EngineError, UciClient
from selfmate.match.uci_parse import EngineScore
from selfmate.recipe.reader import Problem, RecipeError
from selfmate.recipe.schema import Recipe
from selfmate.recipe.selfplay_types import ENGINE
from selfmate.search.limit import Limit

__all__ = ["ask_value", "check_engines", "engine_value", "read_engine", "read_valuer"]

DEFAULT_NODES: Final = 10_000
"""Nodes of a judge or teacher whose text has no limit."""
SCALE: Final = 1.5637541897
"""Of lc0's formula, centipawns = 90 tan(SCALE * value)."""


def check_engines(recipe: Recipe) -> None:
    """Start every engine that a recipe names once, with its options and the variant.

    Raises `RecipeError`, with the key, where a program is not there, is no engine, or lacks an option or the variant.
    """
    judge = recipe.selfplay.judge if recipe.selfplay.judge.startswith(ENGINE) else ""
    for key, text, read in (
        ("selfplay.judge", judge, read_valuer),
        ("learner.teacher", recipe.learner.teacher, read_valuer),
        ("progress.engine", recipe.progress.engine, read_engine),
    ):
        if text:
            try:
                start_engines([read(text)], recipe.variant.name)
            except SelfmateError as error:
                problem = Problem(key, str(error))
                raise RecipeError(str(problem), key, (problem,)) from error


def read_engine(text: str, default: Limit | None = None) -> Contestant:
    """Return the engine that a text such as `uci:stockfish?nodes=1000&option.UCI_Elo=1350` describes."""
    if not text.startswith(ENGINE):
        raise SelfmateError(f"an engine is written uci:COMMAND?nodes=N, not {clip(text)!r}", text)
    return read_contestant(text, default or Limit())


def read_valuer(text: str) -> Contestant:
    """Return the engine of a judge or teacher, whose limit is in nodes or plies: `DEFAULT_NODES` where none is given.

    With a limit in time a resumed run would not be the same.
    """
    engine = read_engine(text, Limit(nodes=DEFAULT_NODES))
    if engine.limit.is_timed:
        raise SelfmateError("nodes or depth are limited here, not time, so that every run of a seed is the same", text)
    return engine


def ask_value(client: UciClient, limit: Limit, fen: str, moves: Sequence[str] = ()) -> float:
    """Return an engine's value of a position, -1 to 1 for the side to move, in a search that remembers no other."""
    client.new_game()
    reply = client.search(fen, list(moves), go_command(limit, (0.0, 0.0)), seconds=PATIENCE)
    if reply.score is None:
        raise EngineError(f"{client.name} gave no score for {' '.join((fen, *moves))}", client.name)
    return engine_value(reply.score)


def engine_value(score: EngineScore) -> float:
    """Return an engine's score as a value, -1 to 1, by the inverse of lc0's formula; a mate is 1 or -1.

    >>> engine_value(EngineScore(cp=0)), round(engine_value(EngineScore(cp=89)), 2), engine_value(EngineScore(mate=-3))
    (0.0, 0.5, -1.0)
    """
    if score.mate is not None:
        return 1.0 if score.mate > 0 else -1.0
    return max(-1.0, min(1.0, math.atan((score.cp or 0) / 90) / SCALE))
