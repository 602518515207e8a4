"""Play a game of random moves and print it as PGN: `python examples/random_game.py racingkings 7`."""

from __future__ import annotations

import random
import sys

from selfmate import Game, Position


def main(variant: str = "atomic", seed: str = "1") -> None:
    """Play until the rules end the game; a draw that a player may claim ends it as well."""
    chance = random.Random(int(seed))
    position = Position(variant)
    while (outcome := position.outcome(claim_draw=True)) is None:
        position.play(chance.choice(position.legal_moves))
    game = Game.from_position(position)
    game.headers["Event"] = "Random moves"
    game.headers["White"] = game.headers["Black"] = "random"
    print(game)
    print(f"{outcome.result()}: {outcome.reason} after {len(position.move_stack)} plies", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
