"""`selfmate bench agreement`: how much a faster backend changes the output of a net, and the moves of a search.

The positions are fixed: one from each of some hundred games of heuristic-1 against itself, none of which the int8 files
were calibrated on. Every backend searches each of them with the same visits, and is compared with ONNX Runtime in f32.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfmate.bench.report import BenchReport, BenchTable, Tell, load_note
from selfmate.errors import SelfmateError
from selfmate.evaluator.agreement import difference, leaves_of
from selfmate.evaluator.backends import AUTO, CPU_BACKENDS
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.nn.calibration import game_positions
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.result import Result
from selfmate.util.cpu import cores, processor_name
from selfmate.util.text import many, percent

if TYPE_CHECKING:
    from selfmate.nn.net import Net

__all__ = ["REFERENCE", "agreement"]

REFERENCE: Final = "onnx"
"""The backend that all others are compared with."""


def agreement(
    source: Net | str | Path,
    *,
    backends: Sequence[str] | None = None,
    visits: int = 200,
    count: int = 400,
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Compare backends of a net with f32 on `count` positions; without `backends`, all that are installed.

    A backend that cannot be opened raises `SelfmateError` if it was named, and is a line of the report otherwise.
    """
    # 1. The positions, and the output and moves of f32.
    reference = open_evaluator(source, threads=1, backend=REFERENCE)
    positions = game_positions(reference.variant, count)
    leaves = leaves_of(positions, reference.encoding)
    rounds = [name for name in backends or CPU_BACKENDS if name not in (AUTO, REFERENCE)]
    total = (1 + len(rounds)) * len(positions)

    def search(evaluator: Evaluator, name: str, begun: int) -> list[Result]:
        player = Player(evaluator)
        found: list[Result] = []
        with ThreadPoolExecutor(cores()) as pool:  # each search runs on one thread
            for result in pool.map(lambda position: player.search(position, Limit(visits=visits)), positions):
                tell(begun + len(found), total, name)
                found.append(result)
        return found

    expected, chosen = reference.evaluate(leaves), search(reference, REFERENCE, 0)
    # 2. The same by every other backend.
    rows: list[dict[str, Any]] = []
    refused: list[str] = []
    for index, name in enumerate(rounds, start=1):
        try:
            evaluator = open_evaluator(source, threads=1, backend=name)
        except SelfmateError as error:
            if backends is not None:
                raise
            refused.append(f"{name}: {error}")
            continue
        results = search(evaluator, name, index * len(positions))
        rows.append({"backend": name, **difference(expected, evaluator.evaluate(leaves)), **_played(chosen, results)})
    # 3. The report.
    table = BenchTable(
        f"Against {REFERENCE} f32: {reference.variant}, {many(len(positions), 'position')}, {many(visits, 'visit')}",
        ("backend", "value mean", "value max", "policy mean", "same first prior", "same move", "lost"),
        tuple(
            (
                str(row["backend"]),
                *(f"{row[key]:.4f}" for key in ("value_mean", "value_max", "policy_mean")),
                *(percent(row[key]) for key in ("same_first_prior", "same_move")),
                f"{row['value_lost']:.4f}",
            )
            for row in rows
        ),
    )
    lines = (
        *refused,
        "Value (-1 to 1) and policy (half the sum of the differences of priors, 0 to 1) are compared without a search.",
        "Moves are those of the search; lost is the mean cost of a different move, by the values of the search in f32.",
        f"Net {reference.net_id[:12]}; {processor_name()}, {load_note()}",
    )
    values = {"net": reference.net_id, "variant": reference.variant, "visits": visits, "positions": len(positions)}
    return BenchReport((table,), lines, {**values, "reference": REFERENCE, "backends": rows, "refused": refused})


def _played(expected: Sequence[Result], results: Sequence[Result]) -> dict[str, float]:
    """Return the share of equal best moves, and the mean value that the others lose by the expected search."""
    same = lost = 0.0
    for wanted, found in zip(expected, results, strict=True):
        same += wanted.best == found.best
        worth = {each.move: each.value for each in wanted.moves}
        lost += max(0.0, worth[wanted.best] - worth[found.best])
    return {"same_move": same / len(expected), "value_lost": lost / len(expected)}
