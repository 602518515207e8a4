"""Weaker players for `UCI_Elo`: fewer visits, and a move drawn at random in proportion to its visits.

A nominal rating from 600 to 2850 sets both (`strength_at`). It was guessed; what it is worth depends on the net, and
matches measure it. A net whose folder has a `levels.json`, with the measured ratings of some nominal ones, plays at a
measured rating; for any other net the nominal rating is only an estimate.

>>> table = StrengthTable(net_id="0" * 64, scale="random = 0", anchors=(
...     MeasuredRating(nominal=600, elo=200.0, error=40.0, games=400),
...     MeasuredRating(nominal=1200, elo=800.0, error=30.0, games=400)))
>>> table.nominal(500.0), table.nominal(3000.0)
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
    "MeasuredRating",
    "Strength",
    "StrengthError",
    "StrengthTable",
    "clamp_nominal",
    "read_strength_table",
    "strength_at",
]

FILE_NAME: Final = "levels.json"
LOWEST: Final = 600
HIGHEST: Final = 2850
MAX_BYTES: Final = 1 << 20


class StrengthError(SelfmateError):
    """A `levels.json` that is damaged, inconsistent, or measured with another net."""


@dataclass(frozen=True, slots=True)
class Strength:
    """How a player is weakened."""

    visits: int
    """Visits for a move."""
    temperature: float
    """Of the draw among the moves; 0 plays the best move."""

    def choose(self, result: Result) -> MoveResult:
        """Return a move drawn with weight visits^(1 / temperature); a proven best move is played, no other is drawn."""
        best = result.moves[0]
        if best.proven is not None or not self.temperature:
            return best
        moves = [move for move in result.moves if move.visits and move.proven is None]
        weights = [move.visits ** (1 / self.temperature) for move in moves]
        return random.choices(moves, weights)[0] if moves else best


def strength_at(nominal: int) -> Strength:
    """Return the strength of a nominal rating: 8 visits at 600 to 32,768 at 2850, temperature 2 at 600 to 0 at 2100.

    The weakest has 8 visits: with one there is nothing to draw from, and the first move of a net alone is stronger
    than a draw among several.

    >>> [(each.visits, round(each.temperature, 2)) for each in map(strength_at, (600, 1350, 2100, 2850))]
    [(8, 2.0), (128, 1.0), (2048, 0.0), (32768, 0.0)]
    """
    return Strength(round(8 * 2 ** ((nominal - LOWEST) / 187.5)), max(0.0, (2100 - nominal) / 750))


def clamp_nominal(elo: int) -> int:
    """Return the nominal rating for a requested one when nothing was measured."""
    return min(max(elo, LOWEST), HIGHEST)


class MeasuredRating(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The rating that matches gave to one nominal rating."""

    nominal: Annotated[int, Meta(ge=LOWEST, le=HIGHEST)] = msgspec.field(name="dial")
    elo: Annotated[float, Meta(ge=-5000, le=5000)]
    error: Annotated[float, Meta(ge=0, le=5000)]
    """Half the 95 % interval of `elo`."""
    games: Annotated[int, Meta(gt=0)]


class StrengthTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of `levels.json`: measured ratings of one net, the weakest first."""

    net_id: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    scale: Annotated[str, Meta(min_length=1, max_length=200)]
    """What the ratings are measured against; for messages."""
    anchors: Annotated[tuple[MeasuredRating, ...], Meta(min_length=2, max_length=100)]

    def nominal(self, elo: float) -> int:
        """Return the nominal rating that plays at a measured one: interpolated, or that of the nearer end."""
        first, last = self.anchors[0], self.anchors[-1]
        if elo <= first.elo:
            return first.nominal
        for low, high in itertools.pairwise(self.anchors):
            if elo <= high.elo:
                return round(low.nominal + (high.nominal - low.nominal) * (elo - low.elo) / (high.elo - low.elo))
        return last.nominal

    def describe(self, elo: int) -> str:
        """Return a line that says how strong a player with `UCI_Elo` is, and how exactly that is known."""
        low, high = self.anchors[0], self.anchors[-1]
        near = min(self.anchors, key=lambda anchor: abs(anchor.elo - elo))
        given = min(max(elo, low.elo), high.elo)
        beyond = "" if given == elo else f", the {'weakest' if given > elo else 'strongest'} that was measured"
        return f"plays like {given:.0f}{beyond} (give or take {near.error:.0f}, {self.scale})"


def read_strength_table(folder: Path, net_id: str) -> StrengthTable | None:
    """Return the measured ratings of a net, None where its folder has none; a bad file raises `StrengthError`."""
    path = folder / FILE_NAME
    try:
        with path.open("rb") as file:
            table = msgspec.json.decode(file.read(MAX_BYTES), type=StrengthTable)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StrengthError(f"{path}: {error.strerror}", str(path)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StrengthError(f"{path}: damaged: {' '.join(str(error).split())}", str(path)) from None
    if table.net_id != net_id:
        raise StrengthError(f"{path}: measured with another net ({table.net_id[:12]})", str(path))
    for low, high in itertools.pairwise(table.anchors):
        if not (low.nominal < high.nominal and low.elo < high.elo):
            message = f"{path}: dial and elo must both rise from anchor to anchor, not {low.nominal} to {high.nominal}"
            raise StrengthError(f"{message} with {low.elo:g} to {high.elo:g}", str(path))
    return table
