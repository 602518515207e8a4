"""How much do the laptop recipes learn? Trains each of them on the CPU and prints one table.

    python bench/laptop_recipes.py                                   # all of them, for hours: 20 or 60 minutes each
    python bench/laptop_recipes.py 3check-laptop --minutes 5
    taskset -c 0,1 python bench/laptop_recipes.py --runs runs/laptop # on two cores of a larger machine

The goal of a recipe is its score against its untrained net in the final match (`gate.final_games`,
`gate.final_visits`): 95 % after 20 minutes, or 80 % after 60 for variants with long games. The same command continues:
a run that has had its minutes is only read. Other programs on the machine make the figures worse; the load is printed
beside them.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from selfmate.recipe.describe import shipped_recipes
from selfmate.rundir.format import read_run
from selfmate.train.session import train
from selfmate.util.cpu import cores, processor_name


class Goal(NamedTuple):
    """Minutes of training, and the score against the untrained net that they should suffice for."""

    minutes: float
    score: float


SHORT: Final = Goal(20, 0.95)
LONG: Final = Goal(60, 0.80)
LONG_GAMES: Final = frozenset({"chess", "chess960", "atomic960", "horde"})


def measure(recipe: str, minutes: float, directory: Path, settings: list[str]) -> dict[str, Any]:
    """Train until a run has had its minutes, the final matches included; return the figures of its final matches."""
    had = read_run(directory)[1].seconds / 60 if (directory / "state.json").exists() else 0.0
    if had < 0.9 * minutes:
        summary = train(recipe, directory, max(0.05, minutes - had), settings, device="cpu")
        if summary.signal is not None:
            raise SystemExit(128 + summary.signal)
    _, state = read_run(directory)
    figures: dict[str, Any] = {"recipe": recipe, "cycles": state.cycle, "games": state.games, "seconds": state.seconds}
    for name in state.matches:
        if name.endswith(".json"):
            match = json.loads((directory / name).read_text())
            if match["champion"] == state.champion:
                figures[match["opponent"]] = {key: match[key] for key in ("games", "score", "score_low", "score_high")}
    return figures


def row(figures: dict[str, Any], goal: Goal) -> str:
    """Return a line of the table."""
    cells = [figures["recipe"], f"{figures['seconds'] / 60:.1f}", f"{figures['cycles']:,}", f"{figures['games']:,}"]
    for opponent in ("untrained", "heuristic-1"):
        match = figures.get(opponent)
        cells.append(
            f"{100 * match['score']:.1f} % [{100 * match['score_low']:.1f}, {100 * match['score_high']:.1f}]"
            if match
            else "none"
        )
    reached = "untrained" in figures and figures["untrained"]["score"] >= goal.score
    cells.append(f"{100 * goal.score:.0f} % in {goal.minutes:g} min: {'yes' if reached else 'no'}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Train the recipes of the command line, one after another, and print the table as it grows."""
    laptop = {each.name: each.variant for each in shipped_recipes() if each.name.endswith("-laptop")}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", help=f"default: all ({', '.join(laptop)})")
    parser.add_argument("--minutes", type=float, help="minutes for each (default: 20, or 60 where games are long)")
    parser.add_argument("--runs", type=Path, default=Path("runs/laptop"), help="folder of the runs")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of every recipe")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args()
    if unknown := [name for name in given.recipes if name not in laptop]:
        parser.error(f"no laptop recipe is called {unknown[0]!r}; there are {', '.join(laptop)}")
    found = []
    table = [
        "| recipe | minutes | cycles | games | against its untrained net | against heuristic-1 | goal |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in given.recipes or laptop:
        goal = LONG if laptop[name] in LONG_GAMES else SHORT
        figures = measure(name, given.minutes or goal.minutes, given.runs / name, given.set)
        found.append({**figures, "goal": goal._asdict(), "load": os.getloadavg()})
        table.append(row(figures, goal))
        machine = f"{processor_name()}, {cores()} cores, load {os.getloadavg()[1]:.1f}"
        print("\n".join(["", machine, *table]), flush=True)
        if given.json:
            given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
