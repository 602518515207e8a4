"""A study as tables and as a picture: Elo over every key of the space, the key that explains most first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfmate.tune.results import StudyResults, Trial
from selfmate.tune.space import Range, Setting, Value
from selfmate.util.files import write_file
from selfmate.util.svg_chart import GRID, INK, Axis, escape, page, ticks
from selfmate.util.terminal import print_table, say
from selfmate.util.text import many, percent, rounded, signed

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["draw", "importance_rows", "show", "trial_rows", "write_picture"]

PICTURE: Final = "study.svg"
ACROSS: Final = 3
"""Panels of a row."""
PANEL_WIDTH, PANEL_HEIGHT, LEFT, GAP, TOP = 210, 150, 58, 66, 62
"""Pixels of a panel, its margin on the left, the gap below it, and the margin above the first row."""
COMPLETE, PRUNED, OWN = "#33658a", "#9aa3ab", "#c8553d"
MOST_TICKS: Final = 5


def trial_rows(results: StudyResults) -> list[list[str]]:
    """Return the rows of the table of trials, the heading first: complete ones by Elo, then the others."""
    keys = [setting.key for setting in results.plan.space]
    rows = [["trial", "stages", "Elo ± 95 %", "games", *keys]]
    others = sorted(
        (each for each in results.trials if each.state != "complete"),
        key=lambda each: (-len(each.stages), -(each.stages[-1].elo if each.stages else 0.0), each.number),
    )
    for trial in (*results.complete, *others):
        last = trial.stages[-1] if trial.stages else None
        mark = " (own)" if trial.values == results.own else ""
        state = "" if trial.state == "complete" else f" {trial.state}"
        rows.append(
            [
                f"{trial.number}{mark}",
                f"{len(trial.stages)}{state}",
                "" if last is None else f"{rounded(last.elo)} ± {rounded(last.error)}",
                "" if last is None else f"{last.games:,}",
                *(shown(trial.values[key]) for key in keys),
            ]
        )
    return rows


def importance_rows(results: StudyResults) -> list[list[str]]:
    """Return the rows of the table of what mattered, the heading first; only the heading with too few trials."""
    rows = [["key", "after stage", "trials", "explains", "by chance"]]
    for stage in dict.fromkeys((1, results.plan.stages)):
        rows += [
            [each.key, str(stage), str(each.trials), percent(max(0.0, each.share)), percent(each.chance)]
            for each in results.importances(stage)
        ]
    return rows


def shown(value: Value) -> str:
    """Return a value for a table: four digits of a number.

    >>> shown(0.00123456), shown(512), shown('"sgd"')
    ('0.001235', '512', '"sgd"')
    """
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def show(results: StudyResults, folder: Path, console: Console) -> None:
    """Print the tables, and what to do with the best trial."""
    plan = results.plan
    title = f"{plan.name}: {plan.minutes:g} minutes a trial, {many(plan.visits, 'visit')}, random is 0"
    print_table(title, trial_rows(results), console)
    if len(rows := importance_rows(results)) > 1:
        print_table("What each key explains of the Elo by itself", rows, console)
    else:
        say(console, "Too few trials to tell what mattered.")
    if results.impossible:
        say(console, f"{many(results.impossible, 'draw')} contradicted themselves, and are no trials.")
    best, base = results.best, results.base
    if best is None:
        return
    if best.values == results.own:
        say(console, f"No complete trial is above the recipe's own values ({rounded(best.stages[-1].elo)} Elo).")
        return
    against = ""
    if base is not None and base.state == "complete" and base is not best:
        against = f", {signed(best.stages[-1].elo - base.stages[-1].elo)} above the recipe's own values"
    say(console, f"Best: trial {best.number}, {rounded(best.stages[-1].elo)} Elo{against}.")
    say(
        console,
        "The best of several measurements is partly the luckiest: train it again with other seeds before it is used.",
    )
    say(console, f"Train with it: selfmate train {folder / 'best.toml'} --seed 101")


# -- the picture --------------------------------------------------------------------------------------------------


def write_picture(results: StudyResults, folder: Path) -> Path | None:
    """Write the picture into the folder of the study; return its path, None while nothing is measured."""
    if not any(trial.stages for trial in results.trials):
        return None
    path = folder / PICTURE
    write_file(path, f"{draw(results)}\n".encode())
    return path


def draw(results: StudyResults) -> str:
    """Return an SVG with a panel for each key: the last measured Elo of every trial over its value."""
    plan = results.plan
    shares = {each.key: each for each in results.importances(plan.stages) or results.importances(1)}
    order = sorted(plan.space, key=lambda setting: -shares[setting.key].share if setting.key in shares else 0.0)
    measured = [trial for trial in results.trials if trial.stages]
    ends = [elo.elo + side * elo.error for trial in measured for elo in trial.stages[-1:] for side in (-1, 1)]
    columns = min(ACROSS, len(order))
    rows = math.ceil(len(order) / columns)
    width = columns * (PANEL_WIDTH + LEFT) + 24
    parts = [
        f'<text x="{LEFT}" y="22" font-size="15" font-weight="600">{escape(_title(results))}</text>',
        f'<text x="{LEFT}" y="40" fill="{PRUNED}">{escape(_legend(results))}</text>',
    ]
    for place, setting in enumerate(order):
        left = LEFT + place % columns * (PANEL_WIDTH + LEFT)
        top = TOP + place // columns * (PANEL_HEIGHT + GAP)
        up = Axis(min(ends), max(ends), top + PANEL_HEIGHT, top + 14)
        found = shares.get(setting.key)
        name = setting.key if found is None else f"{setting.key}: {percent(max(0.0, found.share))}"
        parts += _panel(setting, name, measured, results.own, left, up)
    return page(max(width, 460), TOP + rows * (PANEL_HEIGHT + GAP), _title(results), parts)


def _title(results: StudyResults) -> str:
    return f"{results.plan.name}: Elo after {results.plan.minutes:g} minutes, by settings"


def _legend(results: StudyResults) -> str:
    return f"{len(results.complete)} complete trials (blue), others ended early (grey), own values (red); bars are 95 %"


def _panel(
    setting: Setting, name: str, trials: Sequence[Trial], own: dict[str, Value] | None, left: int, up: Axis
) -> Iterator[str]:
    """Draw the trials over one key; `up` maps Elo to pixels."""
    right, bottom, top = left + PANEL_WIDTH, up.begin, up.end
    yield f'<text x="{left}" y="{top - 4:.0f}" font-weight="600">{escape(name)}</text>'
    for tick in ticks(up.low, up.high, MOST_TICKS):
        yield f'<path d="M{left} {up(tick):.1f}H{right}" stroke="{GRID}"/>'
        yield f'<text x="{left - 6}" y="{up(tick) + 4:.1f}" text-anchor="end">{tick:,.0f}</text>'
    yield f'<path d="M{left} {bottom}H{right}" stroke="{INK}"/>'
    across = _Across(setting, left + 8, right - 8)
    for text, x in across.labels():
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" font-size="11">{escape(text)}</text>'
    for trial in trials:
        last, x = trial.stages[-1], across(trial.values[setting.key])
        colour = OWN if trial.values == own else COMPLETE if trial.state == "complete" else PRUNED
        yield (
            f'<path d="M{x:.1f} {up(last.elo - last.error):.1f}V{up(last.elo + last.error):.1f}" stroke="{colour}" '
            f'stroke-opacity="0.5"/>'
        )
        yield f'<circle cx="{x:.1f}" cy="{up(last.elo):.1f}" r="3.5" fill="{colour}"/>'


class _Across:
    """Maps the values of a key to pixels."""

    def __init__(self, setting: Setting, begin: float, end: float) -> None:
        self.setting = setting
        if isinstance(setting, Range):
            self._axis = Axis(self._place(setting.low), self._place(setting.high), begin, end)
        else:
            self._axis = Axis(-0.5, len(setting.values) - 0.5, begin, end)

    def _place(self, value: Value) -> float:
        if not isinstance(self.setting, Range):
            return float(self.setting.values.index(str(value)))
        return math.log(float(value)) if self.setting.log else float(value)

    def __call__(self, value: Value) -> float:
        return self._axis(self._place(value))

    def labels(self) -> Iterator[tuple[str, float]]:
        """Yield the texts below the axis and where they stand: the ends and the middle of a range, or every value."""
        if not isinstance(self.setting, Range):
            for value in self.setting.values:
                yield value if len(value) <= 12 else f"{value[:11]}…", self(value)
            return
        low, high = float(self.setting.low), float(self.setting.high)
        middle = math.sqrt(low * high) if self.setting.log else (low + high) / 2
        for number in (low, middle, high):
            yield f"{number:.3g}", self(number)
