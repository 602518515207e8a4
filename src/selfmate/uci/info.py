"""What a search sends: UCI's `info` lines, and lc0's statistics of every move."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from selfmate import _core
from selfmate._core import Move, centipawns
from selfmate.search.result import MoveResult, Result

__all__ = ["info_lines", "mate_in", "move_statistics", "permille", "uci_line"]

LONGEST_LINE: Final = 40
"""Moves that a `pv` shows at most."""


def mate_in(proven: int | None) -> int | None:
    """Return a proven result in moves: positive for a win, negative for a loss, None for a draw or no proof.

    >>> mate_in(1), mate_in(3), mate_in(-1), mate_in(-2), mate_in(0), mate_in(None)
    (1, 2, -1, -1, None, None)
    """
    if not proven:
        return None
    return (proven + 1) // 2 if proven > 0 else -((1 - proven) // 2)


def permille(win: float, draw: float) -> tuple[int, int, int]:
    """Return win, draw and loss in thousandths, with the sum 1000.

    >>> permille(0.3335, 0.333)
    (334, 333, 333)
    """
    wins = min(max(round(1000 * win), 0), 1000)
    losses = min(max(round(1000 * (1 - win - draw)), 0), 1000 - wins)
    return wins, 1000 - wins - losses, losses


def uci_line(position: _core.Position, moves: Iterable[Move]) -> list[str]:
    """Return a line of moves in UCI notation, at most `LONGEST_LINE`."""
    after = _core.Position(position)
    line: list[str] = []
    for move in moves:
        if len(line) == LONGEST_LINE:
            break
        line.append(after.uci(move))
        after.play(move)
    return line


def info_lines(
    position: _core.Position,
    result: Result,
    moves: Sequence[MoveResult],
    *,
    milliseconds: int,
    fullness: float,
    show_wdl: bool,
) -> list[str]:
    """Return an `info` line for each of `moves`, which are the best ones in order."""
    depth = max(1, int(result.depth))
    speed = int(result.visits / max(result.seconds, 0.001))
    lines = []
    for rank, move in enumerate(moves, 1):
        pv = uci_line(position, move.pv)
        # A move without a visit is shown with the value of the position.
        value, draw = (move.value, move.draw) if move.visits else (result.value, result.wdl[1])
        if move.proven is not None:
            value, draw = (0.0, 1.0) if move.proven == 0 else (math.copysign(1.0, move.proven), 0.0)
        mate = mate_in(move.proven)
        parts = [
            f"info depth {depth} seldepth {max(depth, result.seldepth, len(pv))} multipv {rank}",
            f"score mate {mate}" if mate is not None else f"score cp {centipawns(value)}",
        ]
        if show_wdl:
            draw = min(draw, 1 - abs(value))
            parts.append("wdl {} {} {}".format(*permille((1 - draw + value) / 2, draw)))
        parts.append(f"nodes {result.visits} nps {speed} hashfull {int(1000 * fullness)} tbhits 0 time {milliseconds}")
        parts.append("pv " + " ".join(pv))
        lines.append(" ".join(parts))
    return lines


def move_statistics(position: _core.Position, result: Result, cpuct: float) -> list[str]:
    """Return lc0's statistics of every move, the best last, and of the root, in the form that Nibbler reads.

    U is the exploration term of a PUCT search with this `cpuct`.
    """
    total = sum(move.visits for move in result.moves)
    explore = cpuct * math.sqrt(max(1, total))

    def line(name: str, index: int, visits: int, prior: float, q: float, d: float, u: float, v: float | None) -> str:
        own = f"{v:7.4f}" if v is not None else " -.----"
        return (
            f"info string {name:<5} ({index:<4}) N: {visits:7} (+{0:2}) (P: {100 * prior:5.2f}%) (WL: {q:8.5f}) "
            f"(D: {d:5.3f}) (M:  -.-) (Q: {q:8.5f}) (U: {u:6.5f}) (S: {q + u:8.5f}) (V: {own})"
        )

    lines = [
        line(
            position.uci(move.move),
            _core.move_index(position, move.move),
            move.visits,
            move.prior,
            move.value,
            move.draw,
            explore * move.prior / (1 + move.visits),
            move.net_value,
        )
        for move in reversed(result.moves)
    ]
    tried = sum(move.prior for move in result.moves if move.visits)
    lines.append(line("node", len(result.moves), total, tried, result.value, result.wdl[1], 0.0, result.net_value))
    return lines
