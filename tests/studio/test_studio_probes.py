"""Probes: positions that a brute-force solver confirms, measured once for each checkpoint."""

from __future__ import annotations

import pytest

from selfmate.studio.probes import CheckpointProbe, ProbeResults, probe_charts, wins
from solver import shortest_win, winning_moves


@pytest.mark.parametrize("variant", ["gardner", "atomic", "racingkings"])
@pytest.mark.parametrize("moves", [1, 2])
def test_solutions_are_all_moves_that_win_so_soon(variant: str, moves: int) -> None:
    found = wins(variant, moves)
    assert len(found) == 40
    assert len({each.position.epd() for each in found}) == 40
    for each in found[:8]:
        assert shortest_win(each.position, 2) == moves
        assert {each.position.uci(move) for move in each.solutions} == winning_moves(each.position, moves)


def test_charts_have_shares_with_intervals_and_the_newest_favourites() -> None:
    probes = {
        "a": CheckpointProbe(cycle=0, found=(0, 4), of=(40, 40), openings={"e4": 0.05, "d4": 0.05}),
        "b": CheckpointProbe(cycle=9, found=(40, 20), of=(40, 40), openings={"e4": 0.2, "d4": 0.7}),
    }
    charts = probe_charts(ProbeResults(created="", checkpoints=probes))
    one, two = charts["wins"]
    assert (one.name, one.x, one.y) == ("in one", [0.0, 9.0], [0.0, 1.0])
    assert two.y == [0.1, 0.5]
    assert one.error is not None
    assert all(0 < error < 0.1 for error in one.error)  # no interval of width 0 at 0 and 1
    assert [(each.name, each.y) for each in charts["openings"]] == [("d4", [0.05, 0.7]), ("e4", [0.05, 0.2])]
    assert probe_charts(ProbeResults(created="")) == {"wins": [], "openings": []}
