"""The sides of a match, and matches with an outside engine, whose moves the arena's referee checks.

An outside engine searches as many nodes for a move as a player of ours has visits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from selfmate.match.engine_match import EngineGames, play_engines_here
from selfmate.match.plan import MatchPlan
from selfmate.match.referee import FinishedGame, RefereeSettings
from selfmate.match.schedule import schedule
from selfmate.match.spec import Contestant
from selfmate.match.uci_client import EngineSpec
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.studio.outside_engine import ENGINE_PREFIX, open_engine
from selfmate.studio.players import PlayerCatalog

__all__ = ["Side", "open_side", "play_refereed"]

GAMES_AT_ONCE: Final = 4
"""Of a match with an outside engine; each has a process for each engine."""


class Side(NamedTuple):
    """One side of a match."""

    name: str
    player: Player | None
    """None: an outside engine."""
    engine: EngineSpec | None = None


def open_side(catalog: PlayerCatalog, player_id: str, variant: str) -> Side:
    """Return the side that an id names; raises a `SelfmateError` if there is none, or it does not play the variant."""
    if player_id.startswith(ENGINE_PREFIX):
        engine = catalog.engine(player_id)
        client = open_engine(engine)
        try:
            client.set_variant(variant)
        finally:
            client.close()
        return Side(engine.name, None, engine.spec)
    player = catalog.open(player_id)
    player.check(variant)
    return Side(player.name, player)


def play_refereed(
    variant: str,
    sides: Sequence[Side],
    openings: Sequence[str],
    visits: int,
    *,
    on_finished: Callable[[list[FinishedGame]], None],
    stopping: Callable[[], bool],
) -> str:
    """Play every opening with both colours; return why games were left out, or nothing.

    An engine that fails loses the game; one that cannot be started any more plays no others.
    """
    plan = MatchPlan(
        variant=variant,
        contestants=tuple(_contestant(side, visits) for side in sides),
        openings=tuple(openings),
        referee=RefereeSettings(),
        concurrency=GAMES_AT_ONCE,
    )
    unavailable: dict[int, str] = {}
    play_engines_here(
        EngineGames(plan=plan, players=[side.player for side in sides], games=schedule(2, openings)),
        on_finished=lambda played: on_finished([game for _, game in played]),
        stopping=stopping,
        unavailable=unavailable,
    )
    return next(iter(unavailable.values()), "")


def _contestant(side: Side, visits: int) -> Contestant:
    limit = Limit(nodes=visits) if side.player is None else Limit(visits=visits)
    player = "" if side.player is None else side.name
    return Contestant(spec=side.name, player=player, engine=side.engine, limit=limit, name=side.name, named=True)
