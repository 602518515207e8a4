"""Metrics of the options of `[selfplay]`: resignations, judged games, start positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from selfmate._core import GameRecord
from selfmate.recipe.schedule import at
from selfmate.train.starts import StartPositions

__all__ = ["Resignations", "count_resignations", "describe_options"]


class Resignations(NamedTuple):
    """How often games ended by resignation, and how often it was wrong in those that were played out."""

    resigned: int
    """Games that ended by resignation."""
    played_out: int
    """Games in which a side met the rule and played on."""
    false: int
    """Of these, games that the side did not lose."""


def count_resignations(records: Sequence[GameRecord]) -> Resignations:
    """Count the resignations of games. A truncated game was not lost, so a resignation in it was false."""
    resigned = played_out = false = 0
    for record in records:
        if record.resignation is None:
            continue
        ply, claimed = record.resignation
        if ply == len(record.moves) and record.result == claimed:  # nothing is asked after an end by the rules
            resigned += 1
        else:
            played_out += 1
            false += record.result != claimed
    return Resignations(resigned, played_out, false)


def describe_options(starts: StartPositions, cycle: int, records: Sequence[GameRecord]) -> dict[str, float]:
    """Return the metrics of the options that a recipe has on, of at least one game.

    `resigned`: share of games; `resign_played_out`, `resign_false`: numbers of games, and `resign_false_rate` if any
    was played out. `judged`: share of games. `starts`: share of games, `starts_white`: share of these with White to
    move.
    """
    part, found = starts.part, dict[str, float]()
    if at(part.resign, cycle) > 0:
        counts = count_resignations(records)
        found["resigned"] = counts.resigned / len(records)
        found["resign_played_out"], found["resign_false"] = counts.played_out, counts.false
        if counts.played_out:
            found["resign_false_rate"] = counts.false / counts.played_out
    if part.judge != "none":
        found["judged"] = sum(record.judgement is not None for record in records) / len(records)
    if part.starts:
        drawn = [record.start_fen for record in records if starts.is_drawn(record.game_id, cycle)]
        found["starts"] = len(drawn) / len(records)
        if drawn:
            found["starts_white"] = sum(fen.split()[1] == "w" for fen in drawn) / len(drawn)
    return found
