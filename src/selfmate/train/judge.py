"""Judges of truncated games: a value of the last position, which the learner takes for a result.

Without a judge a truncated game has no value target. `search` is made by the pool (`SelfPlayConfig.judge_search`); the
others judge finished records here.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from selfmate import _core
from selfmate._core import WHITE, GameRecord
from selfmate.board.position import Position
from selfmate.match.uci_client import UciClient
from selfmate.recipe.schema import Recipe
from selfmate.recipe.selfplay_types import ENGINE
from selfmate.train.engines import ask_value, read_valuer

__all__ = ["Judgement", "judge_games", "material_value"]

PIECE_VALUES: Final = {"p": 1, "n": 3, "b": 3, "r": 5, "q": 9}


class Judgement(NamedTuple):
    """The value of a position for White, -1 to 1, and the share of draws in it."""

    value: float
    draw: float


def material_value(position: Position, value: float) -> float:
    """Return `value` for the side with more material, from White's view; 0 where both have the same.

    Pawns count 1, knights and bishops 3, rooks 5, queens 9.

    >>> material_value(Position("gardner", "4k/5/5/5/KN3 b - - 0 1"), 0.25)
    0.25
    """
    lead = 0
    for letter in position.board_fen():
        lead += PIECE_VALUES.get(letter.lower(), 0) * (1 if letter.isupper() else -1)
    return math.copysign(value, lead) if lead else 0.0


class LastPosition(NamedTuple):
    """The last position of a game, and the moves to it as UCI writes them."""

    position: Position
    moves: list[str]


def _last_position(record: GameRecord) -> LastPosition:
    position = Position(f"{record.variant}960" if record.chess960 else record.variant, record.start_fen)
    moves = []
    for move in record.moves:
        moves.append(position.uci(move))
        position.play(move)
    return LastPosition(position, moves)


def judge_games(recipe: Recipe, records: list[GameRecord]) -> list[GameRecord]:
    """Return games with a judgement of each truncated one, by the recipe's judge; raises `EngineError`.

    An engine is started if there is a truncated game, and ended before the function returns.
    """
    part = recipe.selfplay
    truncated = [record for record in records if record.outcome is None and record.judgement is None]
    if part.judge in ("none", "search") or not truncated:
        return records
    if part.judge == "material":
        judged = {each.game_id: _by_material(each, part.judge_value) for each in truncated}
    elif part.judge.startswith(ENGINE):
        judged = _by_engine(recipe, truncated)
    else:
        judged = {each.game_id: _by_evaluator(each, part.judge) for each in truncated}
    return [record.judged(*judged[record.game_id]) if record.game_id in judged else record for record in records]


def _by_material(record: GameRecord, value: float) -> Judgement:
    lead = material_value(_last_position(record).position, value)
    return Judgement(lead, 1 - abs(lead))


def _by_evaluator(record: GameRecord, name: str) -> Judgement:
    position = _last_position(record).position
    _, wdl = _core.evaluate(position, name)
    win, draw, loss = (float(share) for share in wdl)
    value = win - loss if position.turn == WHITE else loss - win
    return Judgement(value, min(draw, 1 - abs(value)))


def _by_engine(recipe: Recipe, records: list[GameRecord]) -> dict[int, Judgement]:
    """Ask an engine for its score of each last position. Each is a new game to it: their order changes nothing."""
    contestant = read_valuer(recipe.selfplay.judge)
    assert contestant.engine is not None
    judged: dict[int, Judgement] = {}
    with UciClient(contestant.engine) as client:
        client.set_variant(recipe.variant.name)
        for record in records:
            last = _last_position(record)
            value = ask_value(client, contestant.limit, record.start_fen, last.moves)
            judged[record.game_id] = Judgement(value if last.position.turn == WHITE else -value, 1 - abs(value))
    return judged
