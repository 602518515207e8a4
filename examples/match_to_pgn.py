"""Play a match and save its games: `python examples/match_to_pgn.py gardner-laptop heuristic-1 gardner`."""

from __future__ import annotations

import sys
from pathlib import Path

from selfmate import Game, Limit, Player, Position


def play(white: Player, black: Player, variant: str, limit: Limit, first: str) -> Game:
    """Return one game, in which White's first move is given so that games differ."""
    position = Position(variant)
    position.play(position.parse_san(first))
    while position.outcome(claim_draw=True) is None:
        mover = white if position.turn else black
        position.play(mover.search(position, limit).best)
    game = Game.from_position(position)
    game.headers["White"], game.headers["Black"] = white.name, black.name
    return game


def main(
    first: str = "gardner-laptop", second: str = "heuristic-1", variant: str = "gardner", out: str = "match.pgn"
) -> None:
    """Play three first moves of the start position twice, with colours exchanged; `selfmate arena` does it faster."""
    players = (Player(first), Player(second))
    start = Position(variant)
    games, points = [], 0.0
    for move in start.legal_moves[:3]:
        for white, black in (players, players[::-1]):
            game = play(white, black, variant, Limit(visits=32), start.san(move))
            of_white = {"1-0": 1.0, "0-1": 0.0}.get(game.result, 0.5)
            points += of_white if white is players[0] else 1 - of_white
            games.append(game)
    Path(out).write_text("\n\n".join(str(game) for game in games) + "\n", encoding="utf-8")
    print(f"{players[0].name} scored {points:g} of {len(games)} against {players[1].name}; the games are in {out}")


if __name__ == "__main__":
    main(*sys.argv[1:])
