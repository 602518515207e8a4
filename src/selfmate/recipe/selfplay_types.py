"""Types of the keys of `[selfplay]` that are lists or texts of their own kind."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator

from selfmate.recipe.types import number, whole

__all__ = ["ENGINE", "GENERATED", "JUDGES", "JudgeName", "TemperatureSteps"]

JUDGES: Final = ("none", "search", "material", "heuristic-1")
ENGINE: Final = "uci:"
"""How the name of a judge begins that is a UCI engine."""
GENERATED: Final = ("middlegames", "endgames", "generated", "handicaps")
"""Values of `starts` that are not files."""

MAX_STEPS: Final = 64
MAX_MOVE: Final = 10_000


def _check_steps(steps: tuple[tuple[int, float], ...]) -> tuple[tuple[int, float], ...]:
    moves = [move for move, _ in steps]
    if steps and (moves[0] != 0 or moves != sorted(set(moves)) or len(moves) > MAX_STEPS):
        raise ValueError(f"expected up to {MAX_STEPS} entries [move, temperature] that begin at move 0 and rise")
    return steps


def _check_judge(name: str) -> str:
    if name not in JUDGES and not (name.startswith(ENGINE) and name.removeprefix(ENGINE).strip()):
        raise ValueError(f"expected one of {', '.join(JUDGES)}, {ENGINE}COMMAND, not {name!r}")
    return name


TemperatureSteps: TypeAlias = Annotated[
    tuple[tuple[Annotated[int, whole(0, MAX_MOVE)], Annotated[float, number(0, 10)]], ...],
    AfterValidator(_check_steps),
]
"""((move, temperature), ...): a temperature holds from its move on; empty: none."""

JudgeName: TypeAlias = Annotated[str, AfterValidator(_check_judge)]
