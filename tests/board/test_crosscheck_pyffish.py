"""Random games beside Fairy-Stockfish's rules: atomic once more, and Gardner, which python-chess does not know."""

from __future__ import annotations

import pyffish
import pytest

from crosscheck import EIGHT_BY_EIGHT, play_game
from selfmate import VARIANTS, Position

GAMES = {"atomic": 5, "atomic960": 3, "gardner": 10}
"""By variant. Each call of pyffish costs some milliseconds; these are two to four seconds each."""


@pytest.mark.parametrize("variant", GAMES)
def test_random_games(variant: str) -> None:
    for seed in range(1000, 1000 + GAMES[variant]):
        play_game(variant, seed, ["pyffish"], max_plies=120)


@pytest.mark.parametrize("variant", [name for name in EIGHT_BY_EIGHT if name not in GAMES])
def test_one_game_of_the_others(variant: str) -> None:
    play_game(variant, 1, ["pyffish", "python-chess"], max_plies=60)


@pytest.mark.parametrize("variant", VARIANTS)
def test_names_and_start_positions_are_those_of_fairy_stockfish(variant: str) -> None:
    assert variant in pyffish.variants()
    assert Position(variant).fen() == pyffish.start_fen(variant)
