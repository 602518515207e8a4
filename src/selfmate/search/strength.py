"""Levels of play for people: weaker players made of a strong one, by a rating.

A dial from 600 to 2850 says how a player is weakened (`level_of`): it was guessed, and named after the ratings it was
meant to give. Matches say what the dial is worth. Where a net has a `levels.json` beside it, with ratings that were
measured for some places of the dial, a rating is looked up there; otherwise the dial itself is the estimate.

>>> measured = Levels(net_id="0" * 64, scale="random = 0", anchors=(
...     Anchor(dial=600, elo=200.0, error=40.0, games=400), Anchor(dial=1200, elo=800.0, error=30.0, games=400)))
>>> measured.dial_of(500.0), measured.dial_of(3000.0)
(900, 1200)
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from selfmate.errors import SelfmateError
from selfmate.search.result import MoveResult, Result

__all__ = [
    "FILE_NAME",
    "HIGHEST",
    "LOWEST",
    "Anchor",
    "Level",
    "Levels",
    "LevelsError",
    "guess_dial",
    "level_of",
    "read_levels",
]


FILE_NAME: Final = "levels.json"


LOWEST: Final = 600


HIGHEST: Final = 2850


MAX_BYTES: Final = 1 << 20


class LevelsError(SelfmateError):
    """A `levels.json` that is damaged, makes no sense, or belongs to another net."""


@dataclass(frozen=True, slots=True)
class Level:
    """How a weaker player is made: fewer visits, and a choice among the better moves."""

    visits: int
    temperature: float

    def choose(self, result: Result) -> MoveResult:
        """Draw a move by its visits; what is known to lose is left out, what is known to win is played."""
        best = result.moves[0]
        if best.proven is not None or not self.temperature:
            return best
        moves = [move for move in result.moves if move.visits and move.proven is None]
        weights = [move.visits ** (1 / self.temperature) for move in moves]
        return random.choices(moves, weights)[0] if moves else best


def level_of(dial: int) -> Level:
    """Give the level at a place of the dial: from 8 visits to 32,768, and the choice narrows to one at 2100.

    Even the weakest looks at some moves: with a single visit there is nothing to draw from, and the first thought of a
    net is stronger than a draw from its next ones.

    >>> [(level_of(dial).visits, round(level_of(dial).temperature, 2)) for dial in (600, 1350, 2100, 2850)]
    [(8, 2.0), (128, 1.0), (2048, 0.0), (32768, 0.0)]
    """
    return Level(round(8 * 2 ** ((dial - LOWEST) / 187.5)), max(0.0, (2100 - dial) / 750))


def guess_dial(elo: int) -> int:
    """Give the place of the dial for a rating when nothing was measured: the dial is named after its guess."""
    return min(max(elo, LOWEST), HIGHEST)


class Anchor(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the arena found for one place of the dial."""

    dial: Annotated[int, Meta(ge=LOWEST, le=HIGHEST)]
    elo: Annotated[float, Meta(ge=-5000, le=5000)]
    error: Annotated[float, Meta(ge=0, le=5000)]
    """Half the 95 % interval of the rating on its scale."""
    games: Annotated[int, Meta(gt=0)]


class Levels(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What `levels.json` says: measured ratings of one net, the weakest first."""

    net_id: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    scale: Annotated[str, Meta(min_length=1, max_length=200)]
    """What the ratings are measured against, for people."""
    anchors: Annotated[tuple[Anchor, ...], Meta(min_length=2, max_length=100)]

    def dial_of(self, elo: float) -> int:
        """Give the place of the dial for a rating: on the line between two anchors, or at the nearer end."""
        first, last = self.anchors[0], self.anchors[-1]
        if elo <= first.elo:
            return first.dial
        for low, high in itertools.pairwise(self.anchors):
            if elo <= high.elo:
                return round(low.dial + (high.dial - low.dial) * (elo - low.elo) / (high.elo - low.elo))
        return last.dial

    def describe(self, elo: int) -> str:
        """Say what somebody who asked for a rating gets, and how sure that is."""
        low, high = self.anchors[0], self.anchors[-1]
        near = min(self.anchors, key=lambda anchor: abs(anchor.elo - elo))
        given = min(max(elo, low.elo), high.elo)
        beyond = "" if given == elo else f", the {'weakest' if given > elo else 'strongest'} that was measured"
        return f"plays like {given:.0f}{beyond} (give or take {near.error:.0f}, {self.scale})"


def read_levels(folder: Path, net_id: str) -> Levels | None:
    """Read the measured levels of a net; None where there are none."""
    path = folder / FILE_NAME
    try:
        with path.open("rb") as file:
            levels = msgspec.json.decode(file.read(MAX_BYTES), type=Levels)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise LevelsError(f"{path}: {error.strerror}", str(path)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LevelsError(f"{path}: damaged: {' '.join(str(error).split())}", str(path)) from None
    if levels.net_id != net_id:
        raise LevelsError(f"{path}: measured with another net ({levels.net_id[:12]})", str(path))
    for low, high in itertools.pairwise(levels.anchors):
        if not (low.dial < high.dial and low.elo < high.elo):
            message = f"{path}: dial and elo must both rise from anchor to anchor, not {low.dial} to {high.dial}"
            raise LevelsError(f"{message} with {low.elo:g} to {high.elo:g}", str(path))
    return levels
