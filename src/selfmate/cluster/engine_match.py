"""The games of a match with UCI engines, as workers play them: what they get, and what is checked in their answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from selfmate.board.position import Position
from selfmate.cluster.engine_worker import EngineSeat, EngineSetup, RefereedMoves, read_engine_games
from selfmate.cluster.match_worker import MatchSeat
from selfmate.cluster.pool_match import in_memory, pack_source, seat_of
from selfmate.errors import MoveError
from selfmate.match.engine_match import EngineGames, PlayedGame
from selfmate.match.plan import MatchPlan
from selfmate.match.referee import ADJUDICATION, FinishedGame, RefereedGame
from selfmate.match.runner import EvaluationCount
from selfmate.match.schedule import ScheduledGame
from selfmate.match.spec import WEIGHTS, Contestant
from selfmate.search.config import play_config
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.spec import find_player

__all__ = ["EngineMatch"]

FIRST_GAMES: Final = 2


class EngineMatch:
    """Games that are played as `play_engines_here` plays them (`LeasedMatch`)."""

    def __init__(self, match: EngineGames, device: str) -> None:
        self.match, self.games, self.first_games = match, match.games, FIRST_GAMES
        self._by_number = {game.number: game for game in match.games}
        plan, nets = match.plan, dict[str, bytes]()
        self._setup = EngineSetup(
            variant=plan.variant,
            seats=[_seat(each, player, nets) for each, player in zip(plan.contestants, match.players, strict=True)],
            referee=plan.referee,
            seed=plan.seed,
            gumbel=plan.gumbel,
            searches=[search.__getstate__() for search in plan.searches],
            concurrency=plan.concurrency,
            device=device,
            lanes=1,
        )
        self.nets = msgspec.msgpack.encode(nets)

    def setup(self, lanes: int) -> bytes:
        """As of `LeasedMatch`."""
        return msgspec.structs.replace(self._setup, lanes=lanes).to_bytes()

    def read(self, message: object) -> tuple[list[tuple[int, RefereedMoves]], EvaluationCount]:
        """As of `LeasedMatch`."""
        played = read_engine_games(message)
        return [(game.number, game) for game in played.games], EvaluationCount(played.evaluations, played.batches)

    def problem(self, game: ScheduledGame, played: RefereedMoves) -> str:
        """As of `LeasedMatch`: the moves are played again, and the result is compared where the rules decide it."""
        if len(played.infos) != len(played.moves):
            return "has not as many infos as moves"
        plan = self.match.plan
        by_rules = replace(plan.referee, resign=None, win=None, draw=None)
        again = RefereedGame(game.number, plan.variant, game.opening or None, _limits(plan, game), by_rules)
        for move in played.moves:
            if again.verdict is not None:
                return "goes on after its end"
            try:
                again.play(again.position.parse_uci(move))
            except MoveError:
                return "has a move that is not legal"
        verdict = played.verdict
        if verdict.fault is not None:
            return "" if verdict.result in ("1-0", "0-1") else "has a fault without a loser"
        if again.verdict is not None:
            return "" if again.verdict.result == verdict.result else "has another result"
        has_rules = any((plan.referee.resign, plan.referee.win, plan.referee.draw))
        return "" if has_rules and verdict.termination == ADJUDICATION else "is not over"

    def finished(self, played: RefereedMoves) -> PlayedGame:
        """Return a game that was checked, for the file of the match."""
        plan, game = self.match.plan, self._by_number[played.number]
        return game, FinishedGame(
            number=game.number,
            variant=plan.variant,
            start=Position(plan.variant, game.opening or None).fen(),
            moves=played.moves,
            infos=played.infos,
            limits=_limits(plan, game),
            verdict=played.verdict,
        )


def _limits(plan: MatchPlan, game: ScheduledGame) -> tuple[Limit, Limit]:
    return plan.contestants[game.white].limit, plan.contestants[game.black].limit


def _seat(contestant: Contestant, player: Player | None, nets: dict[str, bytes]) -> EngineSeat:
    engine, limit = contestant.engine, contestant.limit
    if engine is None:
        assert player is not None  # only engines are None among the players
        visits = limit.visits or 0
        return EngineSeat(
            name=contestant.label, limit=limit, seat=seat_of(player, visits, play_config(), nets), command=None
        )
    seat, command = None, list(engine.command)
    if contestant.player:  # a net on a clock: our own engine, with a copy of the net
        seat, command = _own_net(contestant.player, nets), []
    return EngineSeat(
        name=contestant.label,
        limit=limit,
        seat=seat,
        command=command,
        options=[(name, value) for name, value in engine.options if not (contestant.player and name == WEIGHTS)],
        directory=None if engine.directory is None else str(engine.directory),
        environment=dict(engine.environment),
    )


def _own_net(spec: str, nets: dict[str, bytes]) -> MatchSeat:
    name, where = find_player(spec)
    if isinstance(where, str):
        return MatchSeat(player=where, visits=0, search={})
    if not isinstance(where, Path):
        raise in_memory(name)
    return MatchSeat(player="", visits=0, search={}, **pack_source(where, nets))
