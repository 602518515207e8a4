"""`selfmate bench tactics`: how many forced wins a player finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from selfmate._core import Move
from selfmate.bench.report import BenchReport, BenchTable, Tell
from selfmate.board.epd import Tactic, read_tactics
from selfmate.board.position import Position
from selfmate.errors import EpdError, SelfmateError
from selfmate.search.limit import Limit
from selfmate.search.player import Player

__all__ = ["tactics"]


def tactics(
    path: str | Path,
    *,
    variant: str | None = None,
    player: Player | None = None,
    visits: int = 2000,
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Count the positions of a file in which a player's move keeps the shortest forced win.

    Without `variant` it is the beginning of the file's name (`atomic_mate2.epd`). The last line of the report is
    `N solved of M`.
    """
    player = player or Player("heuristic-1")
    variant = variant or Path(path).stem.partition("_")[0]
    problems = _read(path, variant)
    by_length: dict[int, list[bool]] = {}
    missed: list[dict[str, Any]] = []
    seconds = 0.0
    for step, problem in enumerate(problems):
        tell(step, len(problems), f"{step - len(missed)} solved")
        result = player.search(problem.position, Limit(visits=visits))
        seconds += result.seconds
        solved = result.best in problem.best_moves
        by_length.setdefault(problem.mate_in, []).append(solved)
        if not solved:
            missed.append(_missed(problem, result.best, result.proven))
    values = {
        "file": str(path),
        "variant": variant,
        "player": player.name,
        "visits": visits,
        "solved": len(problems) - len(missed),
        "positions": len(problems),
        "by_length": [
            {"mate_in": length, "solved": sum(found), "positions": len(found)}
            for length, found in sorted(by_length.items())
        ],
        "missed": missed,
        "seconds": round(seconds, 3),
    }
    return _report(values)


def _read(path: str | Path, variant: str) -> list[Tactic]:
    """Return the positions of a file; raise `SelfmateError` with its name if it cannot be read or is empty."""
    if not Path(path).is_file():
        raise SelfmateError(f"{path}: there is no such file", str(path))
    Position(variant)  # raises for an unknown variant, which else would be an error in the first line
    try:
        problems = list(read_tactics(path, variant))
    except EpdError as error:
        raise SelfmateError(f"{path}: {error}", error.part) from error
    if not problems:
        raise SelfmateError(f"{path}: no position", str(path))
    return problems


def _missed(problem: Tactic, played: Move, proven: int | None) -> dict[str, Any]:
    position = problem.position
    return {
        "fen": position.fen(),
        "best": [position.uci(move) for move in problem.best_moves],
        "played": position.uci(played),
        "mate_in": problem.mate_in,
        "proven_plies": proven,
    }


def _report(values: dict[str, Any]) -> BenchReport:
    table = BenchTable(
        f"{values['player']}, {values['variant']}, {values['visits']} visits",
        ("mate in", "solved", "positions", "share"),
        tuple(
            (str(row["mate_in"]), str(row["solved"]), str(row["positions"]), f"{row['solved'] / row['positions']:.1%}")
            for row in values["by_length"]
        ),
    )
    lines = [f"missed: {each['fen']}: {each['played']}, not {' '.join(each['best'])}" for each in values["missed"]]
    lines.append(f"{values['solved']} solved of {values['positions']}")
    return BenchReport((table,), tuple(lines), values)
