"""Random games by the rules of pgx, as JSON: which moves were legal, which was played, and how the game ended.

    PYTHONPATH=.carry/pgx python bench/peers/pgx_rules.py --game gardner_chess --games 24 > games.json

`tests/bench/test_peers.py` replays them by our rules: that both sides play the same game is part of the terms on which
they are compared. Moves are UCI's, but a promotion to a queen has no letter here. Needs jax and pgx, not Selfmate.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from peer_report import Parser, positive, refuse
from pgx_mctx import GAMES, load


def targets(game: str) -> Any:
    """Return the target square of each policy plane from each square, [squares, planes]."""
    if game == "chess":
        from pgx._src.games.chess import FROM_PLANE

        return np.asarray(FROM_PLANE)
    from pgx._src.gardner_chess_utils import TO_MAP

    return np.asarray(TO_MAP)


def move_names(actions: Any, to: Any, black: bool) -> list[str]:
    """Return actions as UCI moves; squares are numbered up the files, from the side to move."""
    size = round(len(to) ** 0.5)

    def square(index: int) -> str:
        file, rank = divmod(index, size)
        return f"{'abcdefgh'[file]}{size - rank if black else rank + 1}"

    names = []
    for action in actions:
        origin, plane = divmod(int(action), to.shape[1])
        names.append(square(origin) + square(int(to[origin, plane])) + ("rbn"[plane // 3] if plane < 9 else ""))
    return names


def play(game: str, games: int, seed: int) -> list[dict[str, Any]]:
    """Play random games to their end and return their plies and results."""
    import jax
    import pgx

    env = pgx.make(game)
    step = jax.jit(jax.vmap(env.step))
    state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(seed), games))
    to = targets(game)
    chance = np.random.default_rng(seed)
    played: list[dict[str, Any]] = [{"plies": [], "lost": None} for _ in range(games)]
    while any(each["lost"] is None for each in played):
        legal, over = np.asarray(state.legal_action_mask), np.asarray(state.terminated)
        black = np.asarray(state._x.color if game == "chess" else state._turn) == 1
        mover, rewards = np.asarray(state.current_player), np.asarray(state.rewards)
        actions = np.zeros(games, np.int32)
        for index, each in enumerate(played):
            if each["lost"] is not None:
                continue
            if over[index]:
                each["lost"] = bool(rewards[index, mover[index]] < 0)
                continue
            (choices,) = np.nonzero(legal[index])
            actions[index] = chance.choice(choices)
            names = move_names(choices, to, bool(black[index]))
            move = names[list(choices).index(actions[index])]
            each["plies"].append({"legal": sorted(names), "move": move})
        state = step(state, actions)
    return played


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the games."""
    parser = Parser(__doc__)
    parser.add_argument("--game", choices=GAMES, default="gardner_chess")
    parser.add_argument("--games", type=positive, default=24)
    parser.add_argument("--seed", type=positive, default=1)
    chosen = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    if missing := load("jax", "pgx"):
        refuse(missing)
    json.dump(play(chosen.game, chosen.games, chosen.seed), sys.stdout)


if __name__ == "__main__":
    main()
