"""Weaker players: how they choose, and how measured ratings are used."""

from __future__ import annotations

import itertools
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from results import MOVES, result
from selfmate.nn import shipped as nets
from selfmate.search.strength import FILE_NAME, Strength, StrengthError, read_strength_table, strength_at
from uci_process import Uci, field, infos, said

ANCHORS = [(600, 150.0), (900, 500.0), (1500, 1100.0)]


def levels_json(net_id: str = "0" * 64, anchors: list[tuple[int, float]] = ANCHORS, **other: object) -> dict[str, Any]:
    """Return the content of a `levels.json`."""
    rows = [{"dial": nominal, "elo": elo, "error": 25.0, "games": 400} for nominal, elo in anchors]
    return {"net_id": net_id, "scale": "random = 0", "anchors": rows} | other


def test_a_weaker_player_draws_by_visits_and_never_what_is_lost() -> None:
    drawn = Counter(Strength(64, 1.0).choose(result([60, 30, 10, 0])).move for _ in range(3000))
    assert set(drawn) == set(MOVES[:3])
    assert drawn[MOVES[0]] == pytest.approx(1800, abs=200)
    known = result([60, 30, 10], proven=[None, -2, None])
    assert {Strength(64, 5.0).choose(known).move for _ in range(200)} == {MOVES[0], MOVES[2]}
    won = result([10, 60, 10], proven=[3, None, None])
    assert {Strength(64, 5.0).choose(won).move for _ in range(50)} == {MOVES[0]}
    assert strength_at(2850).choose(result([10, 9, 9])).move == MOVES[0]


def test_strength_rises_with_the_rating() -> None:
    strengths = [strength_at(elo) for elo in range(600, 2851, 50)]
    assert all(low.visits <= high.visits for low, high in itertools.pairwise(strengths))
    assert all(low.temperature >= high.temperature for low, high in itertools.pairwise(strengths))


def test_a_rating_is_looked_up_between_what_was_measured(tmp_path: Path) -> None:
    assert read_strength_table(tmp_path, "0" * 64) is None
    (tmp_path / FILE_NAME).write_text(json.dumps(levels_json()))
    found = read_strength_table(tmp_path, "0" * 64)
    assert found is not None
    assert [found.nominal(elo) for elo in (-100, 150, 325, 500, 800, 1100, 2850)] == [
        600,
        600,
        750,
        900,
        1200,
        1500,
        1500,
    ]
    assert found.describe(500) == "plays like 500 (give or take 25, random = 0)"
    assert found.describe(2000) == "plays like 1100, the strongest that was measured (give or take 25, random = 0)"
    assert found.describe(100) == "plays like 150, the weakest that was measured (give or take 25, random = 0)"


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("{", "damaged"),
        (json.dumps(levels_json(anchors=ANCHORS[:1])), "damaged"),
        (json.dumps(levels_json(anchors=[(100, 5.0), (700, 9.0)])), "damaged"),
        (json.dumps(levels_json(more=1)), "more"),
        (json.dumps(levels_json(net_id="1" * 64)), "another net (111111111111)"),
        (json.dumps(levels_json(anchors=[(600, 500.0), (900, 400.0)])), "must both rise"),
        (json.dumps(levels_json(anchors=[(900, 400.0), (600, 500.0)])), "must both rise"),
    ],
)
def test_a_bad_file_is_one_clear_line(tmp_path: Path, content: str, part: str) -> None:
    (tmp_path / FILE_NAME).write_text(content)
    with pytest.raises(StrengthError) as raised:
        read_strength_table(tmp_path, "0" * 64)
    assert part in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_engine_plays_by_measured_levels(tmp_path: Path) -> None:
    folder = nets.find("gardner")
    assert folder is not None
    net = tmp_path / "net"
    shutil.copytree(folder, net)
    (net / FILE_NAME).unlink(missing_ok=True)
    net_id = json.loads((net / "net.json").read_text())["net_id"]
    limit = ("setoption name UCI_LimitStrength value true", "setoption name UCI_Elo value 800")
    with Uci() as uci:
        uci.send("setoption name UCI_Variant value gardner", f"setoption name WeightsFile value {net}", *limit)
        assert any("estimate" in text for text in said(uci.ready()))
        assert field(infos(uci.ask("go movetime 60000"))[-1], "nodes") == str(strength_at(800).visits)
    (net / FILE_NAME).write_text(json.dumps(levels_json(net_id)))
    with Uci() as uci:
        uci.send("setoption name UCI_Variant value gardner", f"setoption name WeightsFile value {net}", *limit)
        assert "plays like 800 (give or take 25, random = 0)" in said(uci.ready())
        assert not said(uci.ready())  # only once
        assert field(infos(uci.ask("go movetime 60000"))[-1], "nodes") == str(strength_at(1200).visits)
    (net / FILE_NAME).write_text("[]")
    with Uci() as uci:
        uci.send("setoption name UCI_Variant value gardner", f"setoption name WeightsFile value {net}", *limit)
        texts = said(uci.ready())
        assert any("damaged" in text and "levels are estimates" in text for text in texts)
        assert any("estimate" in text for text in texts)


def test_the_levels_of_the_shipped_net_are_measured() -> None:
    folder = nets.find("gardner")
    assert folder is not None
    found = read_strength_table(folder, json.loads((folder / "net.json").read_text())["net_id"])
    assert found is not None
    assert len(found.anchors) >= 5
    assert all(anchor.games >= 60 and 0 < anchor.error < 100 for anchor in found.anchors)
    weakest, *_, strongest = found.anchors
    assert strongest.elo > weakest.elo + 800
    with Uci() as uci:
        uci.send("setoption name UCI_Variant value gardner", "setoption name UCI_LimitStrength value true")
        uci.send("setoption name UCI_Elo value 600")
        assert found.describe(600) in said(uci.ready())
        nodes = field(infos(uci.ask("go movetime 60000"))[-1], "nodes")
        assert nodes == str(strength_at(found.nominal(600)).visits)
