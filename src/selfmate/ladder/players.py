"""The rungs of a ladder, players of known strength, and how far they are apart: measured once and shipped.

>>> [rung.name for rung in rungs_of("gardner")][:3]
['random', 'heuristic 1', 'heuristic 4']
>>> weakest = read_spacing("gardner").rungs[0]
>>> weakest.name, weakest.elo, weakest.error
('random', 0.0, 0.0)

The scale is our own: `random` is 0, and 400 points are ten to one. It says nothing about ratings of people, of Lichess
or of another variant.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta, Struct

from selfmate.errors import SelfmateError
from selfmate.ladder.reference_engines import Answer, Yardstick
from selfmate.match.spec import Contestant
from selfmate.match.uci_client import EngineSpec
from selfmate.rating.elo import Results, fit
from selfmate.search.limit import Limit
from selfmate.search.spec import RANDOM
from selfmate.util.text import other_format

__all__ = ["ANCHOR", "Rung", "RungRating", "Spacing", "SpacingError", "read_spacing", "rungs_of", "spacing_of"]


ANCHOR: Final = "random"


OWN, FAIRY, STOCKFISH = "own", "fairy", "stockfish"


HEURISTIC: Final = "heuristic-1"


VISITS: Final = (1, 4, 16, 64, 256, 1024)


NODES: Final = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)


LEVELS: Final = (
    (-9, 5, 50),
    (-5, 5, 100),
    (-1, 5, 150),
    (3, 5, 200),
    (7, 5, 300),
    (11, 8, 400),
    (16, 13, 500),
    (20, 22, 1000),
)
"""Skill, depth and milliseconds of the levels that Lichess offers (its program fishnet)."""


STOCKFISH_ELO: Final = (1350, 1600, 1850, 2100, 2350, 2600, 2850)
"""What Debian's 15.1 offers; by its authors fitted to games of engines at another pace."""


STOCKFISH_MS: Final = 100


MOVES: Final = 30
"""Moves of a side in a game, about."""


NODES_PER_SECOND: Final = 400_000


VISITS_PER_SECOND: Final = 100_000


SHALLOW: Final = 8
"""A search to this depth is over long before its time is."""


MAX_BYTES: Final = 1 << 20


FORMAT: Final = 1


class SpacingError(SelfmateError):
    """A ladder that is not measured, or a file that does not say how."""


class Rung(NamedTuple):
    """A player of a ladder."""

    name: str
    kind: str
    """Whose it is: our own, Fairy-Stockfish's or Stockfish's."""
    guess: float
    """Its rating as long as nothing is known of it."""
    think: float
    """Seconds that a move takes, about."""
    limit: Limit
    options: tuple[tuple[str, str], ...] = ()

    @property
    def game_seconds(self) -> float:
        """What its moves in a game take, about."""
        return MOVES * self.think

    def contestant(self, engines: Mapping[str, Yardstick]) -> Contestant:
        """Give somebody who takes part in a match."""
        if self.kind != OWN:
            engine = EngineSpec(command=engines[self.kind].command, options=self.options)
            return Contestant(spec=self.name, player="", engine=engine, limit=self.limit, name=self.name, named=True)
        player = RANDOM if self.name == ANCHOR else HEURISTIC
        return Contestant(spec=self.name, player=player, engine=None, limit=self.limit, name=self.name, named=True)


def rungs_of(variant: str) -> list[Rung]:
    """List the rungs of a variant, those of one kind from the weakest to the strongest."""
    rungs = [Rung(ANCHOR, OWN, 0.0, 0.0, Limit())]
    for step, visits in enumerate(VISITS):
        think = visits / VISITS_PER_SECOND
        rungs.append(Rung(f"heuristic {visits}", OWN, 400 + 150 * step, think, Limit(visits=visits)))
    for step, nodes in enumerate(NODES):
        think = nodes / NODES_PER_SECOND
        rungs.append(Rung(f"fairy {_short(nodes)}", FAIRY, 600 + 250 * step, think, Limit(nodes=nodes)))
    for step, (skill, depth, movetime) in enumerate(LEVELS):
        think = 0.01 if depth <= SHALLOW else movetime / 1000
        limit, skilled = Limit(depth=depth, seconds=movetime / 1000), (("Skill Level", str(skill)),)
        rungs.append(Rung(f"level {step + 1}", FAIRY, 600 + 200 * step, think, limit, skilled))
    if variant == "chess":
        for step, elo in enumerate(STOCKFISH_ELO):
            options = (("UCI_LimitStrength", "true"), ("UCI_Elo", str(elo)))
            limit = Limit(seconds=STOCKFISH_MS / 1000)
            rungs.append(Rung(f"stockfish {elo}", STOCKFISH, 900 + 200 * step, STOCKFISH_MS / 1000, limit, options))
    return rungs


def _short(number: int) -> str:
    """Write a number of nodes.

    >>> _short(1), _short(10_000), _short(1_000_000)
    ('1', '10k', '1M')
    """
    if number >= 1_000_000:
        return f"{number // 1_000_000}M"
    return f"{number // 1000}k" if number >= 1000 else str(number)


# -- how far they are apart -------------------------------------------------------------------------------------------


class RungRating(Struct, frozen=True, forbid_unknown_fields=True):
    """What was measured of a rung."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    elo: Annotated[float, Meta(ge=-10_000, le=10_000)]
    error: Annotated[float, Meta(ge=0, le=10_000)]
    """Half the 95 % interval of its distance to `random`."""
    games: Annotated[int, Meta(ge=0)]


class Spacing(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A measured ladder: the rungs from the weakest to the strongest, and the games that say so."""

    format: int = FORMAT
    variant: str
    measured: str
    """The day."""
    command: str
    engines: dict[str, str]
    """Names of the engines, by kind."""
    note: str
    """Where, and with which build: what is limited by time depends on it."""
    answers: tuple[Answer, ...] = ()
    """What the Fairy-Stockfish of the games finds in some positions: who finds something else is another player."""
    rungs: tuple[RungRating, ...]
    results: tuple[tuple[str, str, int, int, int], ...]
    """White, Black, and White's wins, draws and losses."""

    @property
    def elo(self) -> dict[str, float]:
        """Ratings by name."""
        return {rung.name: rung.elo for rung in self.rungs}

    def games(self) -> dict[tuple[str, str], tuple[int, int, int]]:
        """Give the results as a fit takes them."""
        return {(white, black): (wins, draws, losses) for white, black, wins, draws, losses in self.results}


def spacing_of(
    results: Results, *, variant: str, measured: str, command: str, engines: Mapping[str, Yardstick], note: str
) -> Spacing:
    """Fit the games of rungs among themselves; `engines` are those that played, by kind."""
    ratings = fit(results, anchors={ANCHOR: 0.0})
    loose = {name for group in ratings.loose for name in group}
    rungs = [
        RungRating(each.player, round(each.elo, 1), round(each.error, 1), each.games)
        for each in reversed(ratings.players)
        if each.player not in loose
    ]
    return Spacing(
        variant=variant,
        measured=measured,
        command=command,
        engines={kind: engine.name for kind, engine in engines.items()},
        note=note,
        answers=engines[FAIRY].answers if FAIRY in engines else (),
        rungs=tuple(sorted(rungs, key=lambda rung: (rung.elo, rung.name))),
        results=tuple((*pair, *counts) for pair, counts in sorted(results.items()) if not loose & {*pair}),  # type: ignore[misc]
    )


def read_spacing(variant: str, path: Path | None = None) -> Spacing:
    """Read a measured ladder: the one that is shipped, or a file of one's own."""
    try:
        if path is not None:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES)
        else:
            data = (resources.files("selfmate") / "ladder/data" / f"{variant}.json").read_bytes()
        spacing = msgspec.json.decode(data, type=Spacing)
    except FileNotFoundError:
        if path is not None:
            raise
        way = f"selfmate ladder --measure {variant} --spacing {variant}.json measures one"
        raise SpacingError(f"no ladder of {variant} is shipped; {way}", variant) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise SpacingError(f"{path or variant}: not a measured ladder: {' '.join(str(error).split())}") from None
    if spacing.format != FORMAT:
        older = f"measure it anew with selfmate ladder --measure {variant}"
        raise SpacingError(f"{path or variant}: a ladder of {other_format(spacing.format, FORMAT, older)}")
    if spacing.variant != variant:
        raise SpacingError(f"{path}: a ladder of {spacing.variant}, not of {variant}", variant)
    named = {name for white, black, *_ in spacing.results for name in (white, black)}
    if named != {rung.name for rung in spacing.rungs} or ANCHOR not in named:
        raise SpacingError(f"{path or variant}: not a measured ladder: its games are not those of its rungs")
    return spacing
