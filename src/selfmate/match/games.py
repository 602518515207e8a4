"""Where the games of a match are played: on this machine, or on a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from selfmate.match.engine_match import PlayEngines, play_engines_here
from selfmate.match.pool_games import PlayPool, play_here
from selfmate.match.uci_client import EngineSpec
from selfmate.util.cpu import cores

__all__ = ["GamePlay", "games_here", "on_this_machine"]


class GamePlay(NamedTuple):
    """What plays games without engines and games with them, and on how many cores."""

    play_pool: PlayPool
    play_engines: PlayEngines
    cores: int


def games_here() -> GamePlay:
    """Return what plays games on this machine."""
    return GamePlay(play_here, play_engines_here, cores())


@contextlib.contextmanager
def on_this_machine(engines: Sequence[EngineSpec] = ()) -> Iterator[GamePlay]:
    """Yield what plays games on this machine, whose engines were checked already."""
    yield games_here()
