"""The players of a ladder: `random`, heuristic-1 by visits, and reference engines at fixed settings.

>>> [player.name for player in ladder_players("gardner")][:3]
['random', 'heuristic-1 (1 visit)', 'heuristic-1 (4 visits)']
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from selfmate.ladder.reference_engines import ReferenceEngine
from selfmate.match.spec import Contestant
from selfmate.match.uci_client import EngineSpec
from selfmate.search.limit import Limit
from selfmate.search.spec import HEURISTIC, RANDOM, label

__all__ = ["FAIRY", "MOVES", "NATIVE", "STOCKFISH", "VISITS", "LadderPlayer", "ladder_players"]

NATIVE, FAIRY, STOCKFISH = "own", "fairy", "stockfish"
"""Kinds of players: without an engine, Fairy-Stockfish, Stockfish. The last two are keys in calibration files."""
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
"""Values of `UCI_Elo` within the range of Debian's Stockfish 15.1; its authors fitted that scale at another pace."""
STOCKFISH_MS: Final = 100
MOVES: Final = 30
"""Moves of a side in a game, roughly."""
NODES_PER_SECOND: Final = 400_000
VISITS_PER_SECOND: Final = 100_000
SHALLOW: Final = 8
"""A search to this depth ends long before its time is over."""


class LadderPlayer(NamedTuple):
    """A player with a fixed strength."""

    name: str
    kind: str
    """`NATIVE`, `FAIRY` or `STOCKFISH`."""
    guess: float
    """Rating before the first game."""
    move_seconds: float
    """Estimated time of a move."""
    limit: Limit
    options: tuple[tuple[str, str], ...] = ()
    """UCI options of the engine."""

    @property
    def game_seconds(self) -> float:
        """Estimated time of its moves in a game."""
        return MOVES * self.move_seconds

    def contestant(self, engines: Mapping[str, ReferenceEngine]) -> Contestant:
        """Return the player as a contestant of a match; `engines` are by kind."""
        player, engine = "", None
        if self.kind == NATIVE:
            player = RANDOM if self.name == RANDOM else HEURISTIC
        else:
            engine = EngineSpec(command=engines[self.kind].command, options=self.options)
        return Contestant(spec=self.name, player=player, engine=engine, limit=self.limit, name=self.name, named=True)


def ladder_players(variant: str) -> list[LadderPlayer]:
    """Return the ladder players of a variant, those of each kind from the weakest to the strongest."""
    players = [LadderPlayer(RANDOM, NATIVE, 0.0, 0.0, Limit())]
    for step, visits in enumerate(VISITS):
        seconds, limit = visits / VISITS_PER_SECOND, Limit(visits=visits)
        players.append(LadderPlayer(label(HEURISTIC, visits), NATIVE, 400 + 150 * step, seconds, limit))
    for step, nodes in enumerate(NODES):
        seconds, limit = nodes / NODES_PER_SECOND, Limit(nodes=nodes)
        players.append(LadderPlayer(f"fairy {_short(nodes)}", FAIRY, 600 + 250 * step, seconds, limit))
    for step, (skill, depth, movetime) in enumerate(LEVELS):
        seconds = 0.01 if depth <= SHALLOW else movetime / 1000
        limit, options = Limit(depth=depth, seconds=movetime / 1000), (("Skill Level", str(skill)),)
        players.append(LadderPlayer(f"level {step + 1}", FAIRY, 600 + 200 * step, seconds, limit, options))
    if variant == "chess":
        seconds, limit = STOCKFISH_MS / 1000, Limit(seconds=STOCKFISH_MS / 1000)
        for step, elo in enumerate(STOCKFISH_ELO):
            limited = (("UCI_LimitStrength", "true"), ("UCI_Elo", str(elo)))
            players.append(LadderPlayer(f"stockfish {elo}", STOCKFISH, 900 + 200 * step, seconds, limit, limited))
    return players


def _short(number: int) -> str:
    """Return a number of nodes in short form.

    >>> _short(1), _short(10_000), _short(1_000_000)
    ('1', '10k', '1M')
    """
    if number >= 1_000_000:
        return f"{number // 1_000_000}M"
    return f"{number // 1000}k" if number >= 1000 else str(number)
