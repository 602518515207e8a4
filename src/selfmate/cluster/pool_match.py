"""The games of a match whose players all search in a pool, as workers play them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final

import msgspec

from selfmate._core import GameRecord, ScoreRules, SearchConfig
from selfmate.cluster.match_worker import MatchSeat, MatchSetup, read_played
from selfmate.cluster.messages import ClusterError, pack_net
from selfmate.match.pool_games import PoolGames
from selfmate.match.runner import EvaluationCount
from selfmate.match.schedule import ScheduledGame
from selfmate.search.player import Player

__all__ = ["PoolMatch", "pack_source", "seat_of"]

FIRST_GAMES: Final = 8


class PoolMatch:
    """Games that are played as `play_here` plays them, and come back as records (`LeasedMatch`)."""

    def __init__(self, match: PoolGames, device: str) -> None:
        self.match, self.games, self.first_games = match, match.games, FIRST_GAMES
        nets: dict[str, bytes] = {}
        seats = [
            None if player is None else seat_of(player, visits, search, nets)
            for player, visits, search in zip(match.players, match.visits, match.searches, strict=True)
        ]
        self.nets = msgspec.msgpack.encode(nets)
        self._setup = MatchSetup(
            variant=match.variant,
            seats=seats,
            seed=match.seed,
            max_plies=match.max_plies,
            rules=(match.rules or ScoreRules()).__getstate__(),
            device=device,
            lanes=1,
        )

    def setup(self, lanes: int) -> bytes:
        """As of `LeasedMatch`."""
        return msgspec.structs.replace(self._setup, lanes=lanes).to_bytes()

    def read(self, message: object) -> tuple[list[tuple[int, GameRecord]], EvaluationCount]:
        """As of `LeasedMatch`."""
        played = read_played(message)
        records = [(record.game_id, record) for record in played.records()]
        return records, EvaluationCount(played.evaluations, played.batches)

    def problem(self, game: ScheduledGame, played: GameRecord) -> str:
        """As of `LeasedMatch`."""
        name = f"{played.variant}960" if played.chess960 else played.variant
        if name != self.match.variant:
            return f"is one of {name}"
        if game.opening and played.start_fen != game.opening:
            return "has another opening"
        if (played.white_seat, played.black_seat) != (game.white, game.black):
            return "has other players"
        return "" if played.outcome is not None or len(played.moves) >= self.match.max_plies else "is not over"


def seat_of(player: Player, visits: int, search: SearchConfig, nets: dict[str, bytes]) -> MatchSeat:
    """Return a player for workers; its net is added to `nets`."""
    if isinstance(player.evaluator, str):
        return MatchSeat(player=player.evaluator, visits=visits, search=search.__getstate__())
    if player.path is None:
        raise in_memory(player.name)
    return MatchSeat(player="", visits=visits, search=search.__getstate__(), **pack_source(player.path, nets))


def in_memory(name: str) -> ClusterError:
    """Return the error of a net that is in no file."""
    return ClusterError(f"{name} is a net in memory, which a cluster cannot open")


def pack_source(net: Path, nets: dict[str, bytes]) -> dict[str, Any]:
    """Add a net, a folder or an ONNX file, to `nets`; return the fields of `MatchSeat` that name it."""
    if net.is_dir():
        key, data = pack_net(net)
        nets[key] = data
        return {"net": key}
    data = msgspec.msgpack.encode({"net.onnx": net.read_bytes()})
    key = hashlib.sha256(data).hexdigest()
    nets[key] = data
    return {"net": key, "file": "net.onnx"}
