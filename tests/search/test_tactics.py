"""Forced wins, proved by looking at everything: the listed moves are exactly those that keep the shortest win."""

from __future__ import annotations

from pathlib import Path

import pytest

from selfmate.board.epd import Tactic, read_tactics
from solver import shortest_win, winning_moves

FILES = sorted((Path(__file__).parents[1] / "tactics").glob("*.epd"))

TACTICS = [
    pytest.param(tactic, id=f"{path.stem}-{index}")
    for path in FILES
    for index, tactic in enumerate(read_tactics(path, path.stem.partition("_")[0]), start=1)
]


def test_all_files_are_here() -> None:
    assert [path.stem for path in FILES] == [
        f"{variant}_mate{moves}" for variant in ("atomic", "chess", "gardner") for moves in (1, 2, 3)
    ]


@pytest.mark.parametrize("tactic", TACTICS)
def test_listed_moves_are_those_that_keep_the_shortest_win(tactic: Tactic) -> None:
    position = tactic.position
    before = position.fen()
    assert shortest_win(position, tactic.mate_in - 1) is None
    assert winning_moves(position, tactic.mate_in) == {position.uci(move) for move in tactic.best_moves}
    assert position.fen() == before
