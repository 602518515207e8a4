"""Game records of a pool as match scores and PGN games."""

from __future__ import annotations

from collections.abc import Iterable

from selfmate._core import GameRecord
from selfmate.board.pgn import Game
from selfmate.match.referee import Verdict
from selfmate.rating.match_stats import Match, SideResult, count_games, whole_pairs

__all__ = ["as_game", "count_records"]


def count_records(records: Iterable[GameRecord]) -> Match:
    """Return the score of seat 0, over the pairs of games that are complete."""
    return count_games(
        whole_pairs(SideResult(record.game_id // 2, record.white_seat == 0, record.result) for record in records)
    )


def as_game(record: GameRecord, white: str, black: str, event: str, *, counts: bool = False) -> Game:
    """Return a record as a game for PGN. `counts`: it is part of a match, where a game that was cut off is a draw."""
    game = Game(f"{record.variant}960" if record.chess960 else record.variant, record.start_fen)
    game.headers["Event"] = event
    game.headers["Round"] = str(record.game_id)
    game.headers["White"], game.headers["Black"] = white, black
    game.add_line(record.moves)
    game.result = record.result
    if counts and record.result == "*":
        verdict = Verdict.cut_off(len(record.moves))
        game.result, game.headers["Termination"] = verdict.result, verdict.termination
        game.end().comment = verdict.reason
    return game
