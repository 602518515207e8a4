"""The table of `selfmate ab`: a row for each arm, with its Elo above the base, and for each match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from selfmate.rating.match_stats import Match, elo_text
from selfmate.rating.seeds import SettingElo, compare_settings, seed_variance
from selfmate.train.ab import ArmResult, Comparison
from selfmate.train.ab_plan import Arm, Pairing
from selfmate.util.terminal import say
from selfmate.util.text import many, percent, signed

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["as_json", "show"]


def _split(comparison: Comparison) -> tuple[dict[str, list[Match]], list[Match]]:
    """Return the matches of each arm against the base, and those of the base against itself."""
    base = comparison.plan.arms[0].name
    arms: dict[str, list[Match]] = {}
    own: list[Match] = []
    for pairing, match in comparison.matches:
        if match.games:
            (own if pairing.first[0] == base else arms.setdefault(pairing.first[0], [])).append(match)
    return arms, own


def _elos(comparison: Comparison) -> dict[str, SettingElo]:
    arms, own = _split(comparison)
    return dict(zip(arms, compare_settings(list(arms.values()), own), strict=True))


def _deviation(comparison: Comparison) -> float | None:
    arms, own = _split(comparison)
    variance = seed_variance(list(arms.values()), own)
    return None if variance is None else variance**0.5


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return the whole comparison as JSON values."""
    plan, elos = comparison.plan, _elos(comparison)
    arms = []
    for arm in plan.arms:
        elo = elos.get(arm.name)
        results = {seed: comparison.results[arm.name, seed] for seed in _seeds(comparison, arm)}
        arms.append(
            {
                "name": arm.name,
                "settings": list(arm.settings),
                "match": list(arm.play),
                "elo": elo and elo.elo,
                "match_error": elo and elo.match_error,
                "error": elo and elo.error,
                "nets": [{"seed": seed} | _facts(result) for seed, result in results.items()],
            }
        )
    return {
        "source": plan.source,
        "kind": plan.kind,
        "steps": plan.steps,
        "seconds": plan.seconds,
        "games": plan.games,
        "visits": plan.visits,
        "complete": comparison.is_complete,
        "seed_deviation": _deviation(comparison),
        "arms": arms,
        "matches": [
            {"first": _name(pairing.first), "second": _name(pairing.second)} | match.as_json()
            for pairing, match in comparison.matches
        ],
    }


def _facts(result: ArmResult) -> dict[str, Any]:
    return {
        "steps": result.steps,
        "games": result.games,
        "positions": result.positions,
        "seconds": result.seconds,
        "held_out": result.held_out,
    }


def _seeds(comparison: Comparison, arm: Arm) -> list[int]:
    return [seed for seed in comparison.plan.seeds if (arm.name, seed) in comparison.results]


def _name(side: tuple[str, int]) -> str:
    return f"{side[0]}-{side[1]}"


def show(comparison: Comparison, console: Console) -> None:
    """Print the table of arms, a line for each match, and what the intervals contain."""
    from rich.table import Table
    from rich.text import Text

    plan, elos = comparison.plan, _elos(comparison)
    table = Table()
    table.add_column("arm", overflow="fold", min_width=8)
    trained = () if plan.kind == "play" else ("steps", "seconds", "policy", "value")
    more = ("games", "positions") if plan.kind == "forks" else ()
    for column in (*trained, *more, "Elo", "of the\nnets", "of the\nsettings"):
        table.add_column(column, justify="right", no_wrap=True)
    for arm in plan.arms:
        results = [comparison.results[arm.name, seed] for seed in _seeds(comparison, arm)]
        cells = [] if plan.kind == "play" else _trained_cells(results)
        cells += [_mean([each.games for each in results]), _mean([each.positions for each in results])] if more else []
        table.add_row(Text(arm.name), *cells, *_elo_cells(arm, comparison, elos))
    console.print(table)
    for arm in plan.arms:
        if settings := (*arm.settings, *(f"match.{each}" for each in arm.play)):
            say(console, f"{arm.name}: {' '.join(settings)}")
    for pairing, match in comparison.matches:
        say(console, _match_line(pairing, match))
    deviation = _deviation(comparison)
    if deviation is not None:
        say(console, f"Two nets of one setting differ by {deviation:.0f} Elo (standard deviation over seeds).")
    elif elos and plan.kind != "play":
        say(console, "One seed: nothing is known about the differences between seeds. --seeds 2 or more measures them.")
    if not comparison.is_complete:
        say(console, "Not complete: run the same command again to resume.")


def _trained_cells(results: list[ArmResult]) -> list[str]:
    losses = [each.held_out for each in results if each.held_out is not None]
    cells = [_mean([each.steps for each in results]), _mean([each.seconds for each in results])]
    return cells + [f"{sum(each[key] for each in losses) / len(losses):.4f}" if losses else ""
                    for key in ("policy", "value")]  # fmt: skip


def _mean(numbers: list[int] | list[float]) -> str:
    return f"{sum(numbers) / len(numbers):,.0f}" if numbers else ""


def _elo_cells(arm: Arm, comparison: Comparison, elos: dict[str, SettingElo]) -> list[str]:
    """Return the Elo, and the halves of its two intervals; the base has 0 by definition."""
    if arm == comparison.plan.arms[0]:
        return ["0", "", ""]
    if arm.name not in elos:
        return ["", "", ""]
    elo = elos[arm.name]
    if comparison.plan.kind == "play":  # one and the same net: only the games are left to chance
        return [signed(elo.elo), f"± {elo.match_error:.0f}", f"± {elo.match_error:.0f}"]
    return [signed(elo.elo), f"± {elo.match_error:.0f}", "" if elo.error is None else f"± {elo.error:.0f}"]


def _match_line(pairing: Pairing, match: Match) -> str:
    sides = f"{_name(pairing.first)} against {_name(pairing.second)}"
    if not match.games:
        return f"{sides}: no pair of games yet."
    return f"{sides}: {percent(match.score)} {match.counted} in {many(match.games, 'game')}, {elo_text(match)}."
