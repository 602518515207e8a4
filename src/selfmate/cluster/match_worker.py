"""A worker of matches: plays games between players that search in a pool, and sends their records and scores."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

from selfmate._core import GameRecord, ScoreRules, SearchConfig
from selfmate.cluster.messages import ClusterError, read_message, unpack_net
from selfmate.match.pool_games import PoolGames, play_here
from selfmate.match.schedule import ScheduledGame
from selfmate.rundir.format import FileName
from selfmate.rundir.games import decode_games, encode_games, pack_games, unpack_games
from selfmate.search.player import Player

__all__ = [
    "LeasedMatches",
    "MatchSeat",
    "MatchSetup",
    "PlayedGames",
    "open_seat",
    "read_played",
    "unpack_nets",
]

Rule: TypeAlias = tuple[int, int, int] | None


class MatchSeat(Struct, frozen=True, kw_only=True):
    """A player of a match."""

    player: str  # of the core, or `random`; empty: a net
    net: str = ""  # sha256 of its files
    file: FileName | None = None  # of an ONNX net; None: a folder
    visits: Annotated[int, Meta(ge=0)]
    search: dict[str, Any]  # fields of `SearchConfig` that differ from their defaults


class MatchSetup(Struct, frozen=True, kw_only=True):
    """What a worker of matches plays for as long as it lives."""

    variant: str
    seats: list[MatchSeat | None]  # None: an engine, which plays none of these games
    seed: int
    max_plies: int
    rules: tuple[Rule, Rule, Rule]  # of `ScoreRules`: resign, win, draw
    device: str
    lanes: Annotated[int, Meta(ge=1)]

    def to_bytes(self) -> bytes:
        """Return the message."""
        return msgspec.msgpack.encode(self)


class PlayedGames(Struct, frozen=True, kw_only=True):
    """What a worker has played."""

    games: bytes  # a shard
    scores: list[list[int | None]]  # of each game, as `GameRecord.scores`, which the bytes of a record do not have
    evaluations: Annotated[int, Meta(ge=0)]
    batches: Annotated[int, Meta(ge=0)]

    def to_bytes(self) -> bytes:
        """Return the message."""
        return msgspec.msgpack.encode(self)

    def records(self) -> list[GameRecord]:
        """Return the games with their scores, each of them replayed; raise `SelfmateError` for anything else."""
        found = decode_games(unpack_games(self.games))
        if [len(each.moves) for each in found] != [len(each) for each in self.scores]:
            raise ClusterError("not as many scores as moves")
        return [_with_scores(record, scores) for record, scores in zip(found, self.scores, strict=True)]


def _with_scores(record: GameRecord, scores: list[int | None]) -> GameRecord:
    made: GameRecord = GameRecord.__new__(GameRecord)
    made.__setstate__((record.to_bytes(), scores))
    return made


def read_played(data: object) -> PlayedGames:
    """Return the games of a message; raise `ClusterError` for anything else.

    >>> read_played(b"nonsense")
    Traceback (most recent call last):
    ...
    selfmate.cluster.messages.ClusterError: not the games of a match: Expected `object`, got `int`
    """
    return read_message(data, PlayedGames, "the games of a match")


class LeasedMatches:
    """Plays leases of scheduled games: `exchange` takes them and returns all of them, finished."""

    def __init__(self, setup: bytes) -> None:
        self.setup = msgspec.msgpack.decode(setup, type=MatchSetup)
        self._players: list[Player | None] = []

    def exchange(self, message: bytes, net: bytes | memoryview | None = None) -> bytes:
        """Play the games of a message, tuples (number, opening, white, black); return `PlayedGames`.

        `net` are the nets of all players, blocks of `pack_net` by name, with the first message.
        """
        games = [ScheduledGame(*each) for each in msgspec.msgpack.decode(message, type=list[tuple[int, str, int, int]])]
        if net is not None:
            self._load(msgspec.msgpack.decode(net, type=dict[str, bytes]))
        setup, finished = self.setup, list[GameRecord]()
        resign, win, draw = setup.rules
        match = PoolGames(
            variant=setup.variant,
            players=self._players,
            visits=[0 if seat is None else seat.visits for seat in setup.seats],
            games=games,
            searches=[SearchConfig() if seat is None else SearchConfig(**seat.search) for seat in setup.seats],
            seed=setup.seed,
            max_plies=setup.max_plies,
            rules=ScoreRules(resign=resign, win=win, draw=draw),
            lanes=setup.lanes if setup.device == "cpu" else None,
        )
        count = play_here(match, on_finished=finished.extend, stopping=lambda: False)
        return PlayedGames(
            games=pack_games(encode_games(finished)),
            scores=[list(record.scores) for record in finished],
            evaluations=count.leaves,
            batches=count.batches,
        ).to_bytes()

    def _load(self, nets: dict[str, bytes]) -> None:
        with tempfile.TemporaryDirectory(prefix="selfmate-nets-") as folder:
            unpack_nets(nets, Path(folder))
            self._players = [
                None if seat is None else open_seat(seat, Path(folder), self.setup.device) for seat in self.setup.seats
            ]


def unpack_nets(nets: dict[str, bytes], folder: Path) -> None:
    """Write the nets of a match into folders with their names."""
    for name, data in nets.items():
        (folder / name).mkdir()
        unpack_net(name, data, folder / name)


def open_seat(seat: MatchSeat, nets: Path, device: str) -> Player:
    """Return the player of a seat; `nets` is the folder of `unpack_nets`."""
    source: str | Path = seat.player or Path(nets, seat.net, seat.file or "")
    return Player(source, device=device, threads=1 if device == "cpu" else None)
