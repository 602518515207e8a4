"""The dispatcher with many workers, and the model of bench/scale.py."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from selfmate._core import GameRecord
from selfmate.cluster.dispatcher import Dispatcher
from selfmate.cluster.states import Shares, Times
from selfmate.nn import checkpoint
from selfmate.nn.net import Net
from selfmate.recipe.reader import load, smoke
from selfmate.recipe.schema import Recipe

QUICK = Times(report=0.01, longest=0.01, report_per_worker=0.0, seats=1e6)


@pytest.fixture(scope="module")
def scale() -> ModuleType:
    """The script as a module."""
    path = Path(__file__).parents[2] / "bench" / "scale.py"
    spec = importlib.util.spec_from_file_location("scale", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["scale"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return smoke(load("gardner-laptop"))


@pytest.fixture(scope="module")
def games(scale: ModuleType, recipe: Recipe) -> list[bytes]:
    found: list[bytes] = scale.recorded_games(recipe, None, 12)
    return found


@pytest.fixture
def net(tmp_path: Path, recipe: Recipe) -> Path:
    checkpoint.save(Net(recipe.net_config(), seed=1), tmp_path)
    return tmp_path


def test_a_recorded_game_under_another_id(scale: ModuleType, games: list[bytes]) -> None:
    before, after = (GameRecord.from_bytes(each) for each in (games[3], scale.relabelled(games[3], 1 << 40)))
    assert (before.game_id, after.game_id) == (3, 1 << 40)
    assert scale.relabelled(after.to_bytes(), 3) == games[3]


def test_every_game_of_three_hundred_workers_arrives_and_a_step_computes_shares_once(
    scale: ModuleType, recipe: Recipe, games: list[bytes], net: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of a step was the square of the number of workers that wait for games."""
    counts = {"steps": 0, "shares": 0}
    step, shares = Dispatcher.step, Dispatcher._shares

    def count_step(self: Dispatcher) -> None:
        counts["steps"] += 1
        step(self)

    def count_shares(self: Dispatcher) -> Shares:
        counts["shares"] += 1
        return shares(self)

    monkeypatch.setattr(Dispatcher, "step", count_step)
    monkeypatch.setattr(Dispatcher, "_shares", count_shares)
    fleet = scale.InstantFleet(300, 2, games)
    spent, _ = scale.play_all(fleet, recipe, net, 900, QUICK)
    assert spent > 0
    assert 0 < counts["shares"] <= counts["steps"]
    assert fleet.reports >= 300 + 900 / 2


@pytest.mark.parametrize(
    ("rate", "workers", "seconds"), [(0, 1, 0.25), (10, 1, 2), (128, 1, 1), (1e5, 1, 0.25), (10, 1000, 10)]
)
def test_a_report_waits_for_games_but_not_for_long(rate: float, workers: int, seconds: float) -> None:
    """For 128 games or two seconds, whatever is first; not below a quarter of a second, nor below 10 ms a worker."""
    assert Times().interval(rate, workers) == pytest.approx(seconds)


# -- the model ----------------------------------------------------------------------------------------------------


def costs_of(scale: ModuleType, **changes: float) -> Any:
    values = {"report": 1e-3, "game": 1e-4, "worker": 0.0, "call": 1e-3, "trainer_game": 1e-4, "shard_game": 1e-6}
    return scale.Costs(**(values | {"game_bytes": 700.0, "net_bytes": 1000} | changes))


def test_an_idle_driver_is_busy_as_the_sum_of_its_work(scale: ModuleType) -> None:
    """100 workers report every second with ten games: 100 times 2 ms and 1,000 times 0.1 ms in a second."""
    often = Times(longest=0.25)
    load = scale.simulate(costs_of(scale), 100, 10.0, times=often)
    assert load.interval == 1.0
    assert load.busy == pytest.approx(0.3, rel=0.02)
    assert load.games_per_second == pytest.approx(1000, rel=0.02)
    assert load.idle == 0.0
    assert load.wait < 0.05
    # With a cost for each worker that is looked at, 100 times 100 times 10 us more.
    assert scale.simulate(costs_of(scale, worker=1e-5), 100, 10.0, times=often).busy == pytest.approx(0.4, rel=0.02)


def test_a_driver_with_too_much_to_do_passes_on_what_it_can(scale: ModuleType) -> None:
    """At 1 ms a game one driver takes less than 1,000 games a second; sixteen collectors take all."""
    costs = costs_of(scale, game=1e-3)
    one = scale.simulate(costs, 1000, 10.0)
    assert one.busy == pytest.approx(1.0, abs=0.02)
    assert 900 < one.games_per_second < 1000
    assert one.idle > 0.5
    assert one.wait > one.interval
    many = scale.simulate(costs, 1000, 10.0, collectors=32)
    assert many.games_per_second == pytest.approx(10_000, rel=0.05)
    assert many.idle == 0.0
    needed = scale.collectors_for(costs, 1000, 10.0)
    assert scale.simulate(costs, 1000, 10.0, collectors=needed).busy <= 0.52
    assert scale.simulate(costs, 1000, 10.0, collectors=needed // 2).busy > 0.5
