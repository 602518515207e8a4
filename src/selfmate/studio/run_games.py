"""Finished games of a run by cycle, and how their positions were judged then and are judged now."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from selfmate._core import GameRecord, Move
from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.rundir.reader import RunReader
from selfmate.search.evaluate import evaluate
from selfmate.studio.board_view import for_white
from selfmate.studio.messages import AskJudgement, AskRunGames, JudgedGame, RunGame, RunGames
from selfmate.studio.players import PlayerCatalog

__all__ = ["game_of", "judge_game", "newest_games", "replayed", "run_games"]

SHOWN_GAMES: Final = 24


def game_of(record: GameRecord, *, cycle: int = 0, net: int = 0) -> RunGame:
    """Return a finished game with all of its boards."""
    variant = f"{record.variant}960" if record.chess960 else record.variant
    game = replayed(record.game_id, variant, record.start_fen, record.moves, record.result, record.reason or "")
    return replace(game, cycle=cycle, net=net)


def replayed(number: int, variant: str, start: str, line: Iterable[Move | str], result: str, reason: str) -> RunGame:
    """Return a game of a match with all of its boards; moves are given as such or as in UCI."""
    position = Position(variant, start)
    moves, boards = [], [position.board_fen()]
    for each in line:
        move = position.parse_uci(each) if isinstance(each, str) else each
        moves.append(position.uci(move))
        position.play(move)
        boards.append(position.board_fen())
    return RunGame(
        id=number,
        cycle=0,
        variant=variant,
        start=start,
        moves=moves,
        boards=boards,
        result=result,
        reason=reason,
        net=0,
    )


def newest_games(directory: Path, most: int) -> list[RunGame]:
    """Return the newest finished games of a run that can be read, the newest cycle's only."""
    try:
        reader = RunReader.open(directory)
        shards = reader.state.shards
        if not shards:
            return []
        newest = max(shards, key=lambda shard: shard.cycle)
        records = list(reader.games(newest=most, cycle=newest.cycle))
    except (SelfmateError, OSError):
        return []
    return [game_of(record, cycle=newest.cycle, net=newest.net) for record in records]


def run_games(directory: Path, request: AskRunGames) -> RunGames:
    """Return games of a cycle; raises `SelfmateError` for a run that cannot be read and a cycle without games."""
    reader = RunReader.open(directory)
    cycles = sorted({shard.cycle for shard in reader.state.shards})
    cycle = request.cycle if request.cycle is not None else cycles[-1] if cycles else 0
    shards = [shard for shard in reader.state.shards if shard.cycle == cycle]
    if request.cycle is not None and not shards:
        raise SelfmateError(f"no games of cycle {cycle} are kept")
    games = [
        game_of(record, cycle=cycle, net=shards[0].net)
        for record in (reader.games(newest=SHOWN_GAMES, cycle=cycle) if shards else ())
    ]
    return RunGames(
        ask=request.ask,
        id=request.id,
        cycle=cycle,
        cycles=cycles,
        total=sum(shard.games for shard in shards),
        games=games[::-1],
    )


def judge_game(catalog: PlayerCatalog, directory: Path, request: AskJudgement) -> JudgedGame:
    """Return the values of a game's positions by its search and its net, and by the present champion without a search.

    Raises `SelfmateError` for a game that is not kept, and for a champion that cannot be read.
    """
    reader = RunReader.open(directory)
    record = next((each for each in reader.games(cycle=request.cycle) if each.game_id == request.game), None)
    if record is None:
        raise SelfmateError("this game is not kept any more")
    positions, sans = _positions(record)
    trained = {each["ply"]: each for each in record.trained()}
    open_positions = [position for position in positions if position.outcome() is None]
    said = iter(evaluate(catalog.open(f"run/{request.id}/{reader.state.champion}"), open_positions))

    def then(key: str) -> list[float | None]:
        return [
            for_white(float(trained[ply][key]), position.turn) if ply in trained else None
            for ply, position in enumerate(positions)
        ]

    return JudgedGame(
        ask=request.ask,
        id=request.id,
        game=request.game,
        cycle=request.cycle,
        sans=sans,
        search_then=then("value"),
        net_then=then("net_value"),
        net_now=[
            for_white(next(said).value, position.turn) if position.outcome() is None else None for position in positions
        ],
        now=reader.state.champion,
    )


def _positions(record: GameRecord) -> tuple[list[Position], list[str]]:
    position = Position(f"{record.variant}960" if record.chess960 else record.variant, record.start_fen)
    positions, sans = [position.copy()], []
    for move in record.moves:
        sans.append(position.san(move))
        position.play(move)
        positions.append(position.copy())
    return positions, sans
