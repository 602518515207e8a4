"""Finished games of a run by cycle, and how their positions were judged then and are judged now."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from selfmate._core import GameRecord
from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.rundir.reader import RunReader
from selfmate.search.evaluate import evaluate
from selfmate.studio.board_view import for_white
from selfmate.studio.messages import AskJudgement, AskRunGames, JudgedGame, RunGame, RunGames
from selfmate.studio.players import PlayerCatalog

__all__ = ["game_of", "judge_game", "newest_games", "run_games"]

SHOWN_GAMES: Final = 24


def game_of(record: GameRecord, *, cycle: int = 0, net: int = 0) -> RunGame:
    """Return a finished game with all of its boards."""
    variant = f"{record.variant}960" if record.chess960 else record.variant
    position = Position(variant, record.start_fen)
    moves, boards = [], [position.board_fen()]
    for move in record.moves:
        moves.append(position.uci(move))
        position.play(move)
        boards.append(position.board_fen())
    return RunGame(
        id=record.game_id,
        cycle=cycle,
        variant=variant,
        start=record.start_fen,
        moves=moves,
        boards=boards,
        result=record.result,
        reason=record.reason or "",
        net=net,
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
