"""What the shell completes as an argument: variants, recipes, players.

Each function takes what was typed so far; typer calls it when the tab key is pressed.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["complete_player", "complete_recipe", "complete_variant"]


def complete_variant(incomplete: str) -> list[str]:
    """Return the variants whose names begin so.

    >>> complete_variant("at")
    ['atomic', 'atomic960']
    """
    from selfmate._core import VARIANTS
    from selfmate.uci.options import has_960

    return _beginning([*VARIANTS, *(f"{name}960" for name in VARIANTS if has_960(name))], incomplete)


def complete_recipe(incomplete: str) -> list[str]:
    """Return the shipped recipes whose names begin so.

    >>> "gardner-laptop" in complete_recipe("gar"), "atomic" in complete_recipe("gar")
    (True, False)
    """
    from selfmate.recipe.reader import names

    return _beginning(names(), incomplete)


def complete_player(incomplete: str) -> list[str]:
    """Return the players whose specs begin so: those without a net, shipped nets, and the runs under `runs`.

    >>> complete_player("heur")
    ['heuristic-1']
    """
    from pathlib import Path

    from selfmate.nn import shipped

    runs = [path.parent.as_posix() for path in Path("runs").glob("*/manifest.json")]
    return _beginning(["heuristic-1", "random", "uniform", *(net.name for net in shipped.shipped()), *runs], incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
