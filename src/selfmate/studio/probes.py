"""Probes over a training: what each checkpoint of a run finds without a search in positions that never change.

Wins in one and in two moves are taken from random games with a fixed seed; a win is what the rules of the variant call
so. A checkpoint finds one if the move with its highest prior leads to it. Results are kept in a file, because a run
removes most of its checkpoints.

>>> win = wins("gardner", moves=1, most=1)[0]
>>> all(_wins_at_once(win.position, move) for move in win.solutions)
True
"""

from __future__ import annotations

import contextlib
import functools
import math
import random
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from selfmate._core import Move
from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.rundir.format import Manifest, State, read_run
from selfmate.search.evaluate import evaluate
from selfmate.search.player import Player
from selfmate.studio.messages import ChartSeries
from selfmate.util.files import write_file

__all__ = ["ProbeResults", "Win", "measure_run", "probe_charts", "wins"]

POSITIONS: Final = 40
"""Of each kind."""
MOST_GAMES: Final = 4000
"""Random games that are searched for wins; in a variant where they are rarer, there are fewer positions."""
MOST_PLIES: Final = 300
AT_ONCE: Final = 4
"""Checkpoints that one call measures."""
SHOWN_OPENINGS: Final = 5
CONFIDENCE: Final = 1.96
_measuring = threading.Lock()


@dataclass(frozen=True, slots=True)
class Win:
    """A position with all first moves that win by force in the wanted number of moves."""

    position: Position
    solutions: frozenset[Move]


@functools.cache
def wins(variant: str, moves: int, most: int = POSITIONS) -> tuple[Win, ...]:
    """Return positions in which the side to move wins in `moves` moves, 1 or 2, and not earlier; always the same."""
    source = random.Random(f"probes {variant}")
    found: list[Win] = []
    seen: set[str] = set()
    for _ in range(MOST_GAMES):
        position = Position(variant)
        line: list[Move] = []
        while position.outcome() is None and len(line) < MOST_PLIES:
            line.append(source.choice(position.legal_moves))
            position.play(line[-1])
        end = position.outcome()
        if end is None or end.winner is None or end.winner == position.turn or len(line) < 2 * moves - 1:
            continue  # drawn, too long, or the side that moved last has lost
        for _ in range(2 * moves - 1):
            position.undo()
        solutions = frozenset(_solutions(position, moves))
        if solutions and position.epd() not in seen:
            seen.add(position.epd())
            found.append(Win(Position(variant, position.fen()), solutions))
            if len(found) == most:
                break
    return tuple(found)


def _solutions(position: Position, moves: int) -> list[Move]:
    at_once = [move for move in position.legal_moves if _wins_at_once(position, move)]
    if moves == 1 or at_once:
        return at_once if moves == 1 else []
    return [move for move in position.legal_moves if _wins_after(position, move)]


def _wins_at_once(position: Position, move: Move) -> bool:
    mover = position.turn
    position.play(move)
    end = position.outcome()
    position.undo()
    return end is not None and end.winner == mover


def _wins_after(position: Position, move: Move) -> bool:
    """Return whether every answer to a move allows a win at once."""
    position.play(move)
    replies = position.legal_moves if position.outcome() is None else []
    forced = bool(replies)
    for reply in replies:
        position.play(reply)
        is_won = position.outcome() is None and any(_wins_at_once(position, each) for each in position.legal_moves)
        position.undo()
        if not is_won:
            forced = False
            break
    position.undo()
    return forced


class CheckpointProbe(msgspec.Struct, frozen=True, kw_only=True):
    """What one checkpoint finds: numbers of wins found, and priors of the first moves of the game by SAN."""

    cycle: int
    found: tuple[int, int]
    of: tuple[int, int]
    openings: dict[str, float]


class ProbeResults(msgspec.Struct, frozen=True, kw_only=True):
    """Results of a run by the names of its checkpoints; `created` is the run's, another run begins anew."""

    created: str
    checkpoints: dict[str, CheckpointProbe] = {}


def measure_run(directory: Path, store: Path) -> tuple[ProbeResults, int]:
    """Measure some checkpoints of a run that were not measured yet; return all results and the number that is left.

    Results are kept in the file `store`. Raises a `SelfmateError` for a run that cannot be read.
    """
    with _measuring:
        manifest, state = read_run(directory)
        results = _read(store, manifest)
        missing = _missing(state, results)
        for name, cycle in missing[:AT_ONCE]:
            with contextlib.suppress(SelfmateError, OSError):  # removed meanwhile, or damaged: the others can be read
                results.checkpoints[name] = _probe(directory / name, manifest.variant, cycle)
        if missing:
            with contextlib.suppress(SelfmateError, OSError):  # without the file it is measured again
                store.parent.mkdir(exist_ok=True)
                write_file(store, msgspec.json.encode(results))
        return results, max(0, len(missing) - AT_ONCE)


def _read(store: Path, manifest: Manifest) -> ProbeResults:
    try:
        found = msgspec.json.decode(store.read_bytes(), type=ProbeResults)
    except (OSError, msgspec.MsgspecError):
        found = ProbeResults(created="")
    return found if found.created == manifest.created else ProbeResults(created=manifest.created, checkpoints={})


def _missing(state: State, results: ProbeResults) -> list[tuple[str, int]]:
    """Return names and cycles of the checkpoints to measure, the untrained and the newest first."""
    nets = sorted(state.checkpoints, key=lambda each: (each.cycle != 0, -each.cycle))
    return [(each.name, each.cycle) for each in nets if each.name not in results.checkpoints]


def _probe(folder: Path, variant: str, cycle: int) -> CheckpointProbe:
    player = Player(folder, threads=1)
    sets = [wins(variant, moves) for moves in (1, 2)]
    found = [
        sum(
            said.best in win.solutions
            for said, win in zip(evaluate(player, [each.position for each in each_set]), each_set, strict=True)
        )
        if each_set
        else 0
        for each_set in sets
    ]
    start = Position(variant)
    priors = evaluate(player, [start])[0].priors
    return CheckpointProbe(
        cycle=cycle,
        found=(found[0], found[1]),
        of=(len(sets[0]), len(sets[1])),
        openings={start.san(move): round(prior, 4) for move, prior in priors.items()},
    )


def probe_charts(results: ProbeResults) -> dict[str, list[ChartSeries]]:
    """Return the curves over the cycles: shares of wins found with their 95 % intervals, and priors of first moves."""
    probes = sorted(results.checkpoints.values(), key=lambda each: each.cycle)
    charts: dict[str, list[ChartSeries]] = {"wins": [], "openings": []}
    for kind, name in enumerate(("in one", "in two")):
        measured = [each for each in probes if each.of[kind]]
        if measured:
            shares = [each.found[kind] / each.of[kind] for each in measured]
            charts["wins"].append(
                ChartSeries(
                    name=name,
                    x=[float(each.cycle) for each in measured],
                    y=[round(share, 4) for share in shares],
                    error=[
                        round(_half_width(share, each.of[kind]), 4)
                        for share, each in zip(shares, measured, strict=True)
                    ],
                )
            )
    newest = probes[-1].openings if probes else {}
    for san in sorted(newest, key=lambda san: -newest[san])[:SHOWN_OPENINGS]:
        known = [each for each in probes if san in each.openings]
        charts["openings"].append(
            ChartSeries(name=san, x=[float(each.cycle) for each in known], y=[each.openings[san] for each in known])
        )
    return charts


def _half_width(share: float, number: int) -> float:
    """Return half of the 95 % interval of a share after Agresti and Coull, which has a width also at 0 and 1.

    >>> round(_half_width(0.5, 100), 3), _half_width(0.0, 40) > 0.03
    (0.096, True)
    """
    total = number + CONFIDENCE**2
    middle = (share * number + CONFIDENCE**2 / 2) / total
    return CONFIDENCE * math.sqrt(middle * (1 - middle) / total)
