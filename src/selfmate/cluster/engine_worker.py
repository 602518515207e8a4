"""A worker of matches with UCI engines: they run on its machine, and their games come back move by move."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from selfmate._core import SearchConfig
from selfmate.board.position import Position
from selfmate.cluster.match_worker import MatchSeat, open_seat, unpack_nets
from selfmate.cluster.messages import ClusterError, Count, read_message
from selfmate.match.engine_match import EngineGames, PlayedGame, play_engines_here
from selfmate.match.plan import MatchPlan
from selfmate.match.referee import FinishedGame, MoveInfo, RefereeSettings, Verdict
from selfmate.match.schedule import ScheduledGame
from selfmate.match.spec import WEIGHTS, Contestant
from selfmate.match.uci_client import EngineSpec
from selfmate.search.limit import Limit
from selfmate.search.player import Player

__all__ = [
    "EngineSeat",
    "EngineSetup",
    "LeasedEngineGames",
    "PlayedEngineGames",
    "RefereedMoves",
    "read_engine_games",
]


class EngineSeat(Struct, frozen=True, kw_only=True):
    """A player of a match with engines."""

    name: str
    limit: Limit
    seat: MatchSeat | None  # of a player that searches in a pool, or whose net an engine of ours plays; else None
    command: list[str] | None  # of an engine; empty: our own, which plays the net of the seat; None: no engine
    options: list[tuple[str, str]] = []
    directory: str | None = None
    environment: dict[str, str] = {}


class EngineSetup(Struct, frozen=True, kw_only=True):
    """What a worker plays for as long as it lives."""

    variant: str
    seats: list[EngineSeat]
    referee: RefereeSettings
    seed: int
    gumbel: bool
    searches: list[dict[str, Any]]  # fields of `SearchConfig` that differ; empty: all players have the same search
    concurrency: int | None
    device: str
    lanes: Annotated[int, Meta(ge=1)]

    def to_bytes(self) -> bytes:
        """Return the message."""
        return msgspec.msgpack.encode(self)


class RefereedMoves(Struct, frozen=True, kw_only=True):
    """A finished game."""

    number: Count
    moves: list[str]  # in UCI
    infos: list[MoveInfo]
    verdict: Verdict


class PlayedEngineGames(Struct, frozen=True, kw_only=True):
    """What a worker has played."""

    games: list[RefereedMoves]
    evaluations: Count
    batches: Count

    def to_bytes(self) -> bytes:
        """Return the message."""
        return msgspec.msgpack.encode(self)


def read_engine_games(data: object) -> PlayedEngineGames:
    """Return the games of a message; raise `ClusterError` for anything else.

    >>> read_engine_games(b"nonsense")
    Traceback (most recent call last):
    ...
    selfmate.cluster.messages.ClusterError: not the games of a match: Expected `object`, got `int`
    """
    return read_message(data, PlayedEngineGames, "the games of a match")


class LeasedEngineGames:
    """Plays leases of scheduled games with engines: `exchange` takes them and returns all of them, finished."""

    def __init__(self, setup: bytes) -> None:
        self.setup = msgspec.msgpack.decode(setup, type=EngineSetup)
        self._nets: dict[str, bytes] = {}
        self._players: list[Player | None] | None = None

    def exchange(self, message: bytes, net: bytes | memoryview | None = None) -> bytes:
        """Play the games of a message, tuples (number, opening, white, black); return `PlayedEngineGames`.

        `net` are the nets of all players, blocks of `pack_net` by name, with the first message. Raises `ClusterError`
        if an engine cannot be started.
        """
        games = [ScheduledGame(*each) for each in msgspec.msgpack.decode(message, type=list[tuple[int, str, int, int]])]
        if net is not None:
            self._nets = msgspec.msgpack.decode(net, type=dict[str, bytes])
        played: list[PlayedGame] = []
        unavailable: dict[int, str] = {}
        with tempfile.TemporaryDirectory(prefix="selfmate-nets-") as folder:  # engines of ours read their nets there
            unpack_nets(self._nets, Path(folder))
            count = play_engines_here(
                EngineGames(
                    plan=self._plan(Path(folder)),
                    players=self._open_players(Path(folder)),
                    games=games,
                    processors=self.setup.lanes,
                ),
                on_finished=played.extend,
                stopping=lambda: False,
                unavailable=unavailable,
            )
        for index, reason in unavailable.items():
            raise ClusterError(f"{self.setup.seats[index].name}: {reason}")
        return PlayedEngineGames(
            games=[_describe(game) for _, game in played], evaluations=count.leaves, batches=count.batches
        ).to_bytes()

    def _open_players(self, nets: Path) -> list[Player | None]:
        """Return the players that search in a pool, which are opened once; None is an engine."""
        if self._players is None:
            self._players = [
                None if seat.command is not None or seat.seat is None else open_seat(seat.seat, nets, self.setup.device)
                for seat in self.setup.seats
            ]
        return self._players

    def _plan(self, nets: Path) -> MatchPlan:
        setup = self.setup
        return MatchPlan(
            variant=setup.variant,
            contestants=tuple(_contestant(seat, nets) for seat in setup.seats),
            openings=(),
            referee=setup.referee,
            seed=setup.seed,
            gumbel=setup.gumbel,
            concurrency=setup.concurrency,
            searches=tuple(SearchConfig(**each) for each in setup.searches),
        )


def _contestant(seat: EngineSeat, nets: Path) -> Contestant:
    engine = None
    if seat.command is not None:
        command, options = tuple(seat.command), tuple(seat.options)
        if not command:
            assert seat.seat is not None
            command = (sys.executable, "-m", "selfmate", "uci")
            options = ((WEIGHTS, seat.seat.player or str(Path(nets, seat.seat.net, seat.seat.file or ""))), *options)
        directory = None if seat.directory is None else Path(seat.directory)
        engine = EngineSpec(command=command, options=options, directory=directory, environment=seat.environment)
    return Contestant(spec="", player="", engine=engine, limit=seat.limit, name=seat.name, named=True)


def _describe(game: FinishedGame) -> RefereedMoves:
    position, moves = Position(game.variant, game.start), list[str]()
    for move in game.moves:
        found = position.parse_uci(move) if isinstance(move, str) else move
        moves.append(position.uci(found))
        position.play(found)
    return RefereedMoves(number=game.number, moves=moves, infos=list(game.infos), verdict=game.verdict)
