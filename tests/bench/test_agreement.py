"""`selfmate bench agreement`: equal backends agree, int8 is near, and another net is seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nets import equal, some_leaves
from selfmate.bench.agreement import agreement
from selfmate.evaluator import open as evaluators
from selfmate.evaluator.base import Evaluator
from selfmate.nn.config import GARDNER, NetConfig
from selfmate.nn.net import Net

SHIPPED = Path(evaluators.__file__).parents[1] / "nets_data" / "gardner-laptop"


def test_agreement_of_a_backend_with_itself_and_with_int8() -> None:
    told: list[int] = []
    report = agreement(
        SHIPPED, backends=["torch", "onnx-int8"], visits=20, count=12, tell=lambda done, total, note: told.append(done)
    )
    torch_row, int8_row = report.values["backends"]
    assert torch_row["same_move"] == 1.0
    assert torch_row["value_max"] < 1e-4
    assert torch_row["value_lost"] == 0.0
    assert 0 < int8_row["policy_mean"] < 0.02
    assert int8_row["same_move"] >= 0.5
    assert told == list(range(36))
    assert "same move" in report.tables[0].columns


def test_agreement_sees_another_net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure that could not fail would be worth nothing."""
    other = Net(NetConfig.sized(GARDNER, "tiny"), seed=3)
    inner = evaluators.open_evaluator

    def swapped(source: Any, *, threads: int | None = None, backend: str | None = None) -> Evaluator:
        return inner(other if backend == "torch" else source, threads=threads, backend=backend)

    monkeypatch.setattr("selfmate.bench.agreement.open_evaluator", swapped)
    row = agreement(SHIPPED, backends=["torch"], visits=20, count=30).values["backends"][0]
    assert row["same_move"] < 0.8
    assert row["policy_mean"] > 0.1
    assert row["value_lost"] > 0
    assert equal(inner(SHIPPED).evaluate(some_leaves(3)), inner(SHIPPED).evaluate(some_leaves(3)))
