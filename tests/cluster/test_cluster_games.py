"""Games of a cluster: the same as on one machine, none lost and none twice, whatever happens to the workers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from selfmate._core import GameRecord
from selfmate.cluster.dispatcher import MAX_FAILURES
from selfmate.cluster.games import ClusterGames
from selfmate.cluster.messages import ClusterError, Report
from selfmate.cluster.states import Times
from selfmate.cluster.worker import pack_records
from selfmate.nn import checkpoint
from selfmate.nn.net import Net
from selfmate.recipe.reader import change, load
from selfmate.recipe.reader import smoke as smoke_recipe
from selfmate.recipe.schema import Recipe
from selfmate.rundir.games import unpack_games
from selfmate.train import dashboard
from selfmate.train.selfplay import CycleGames, SelfPlay
from selfmate.train.status import MachineStatus, TrainingStatus
from thread_fleet import Fault, ThreadFleet

QUICK = Times(
    report=0.02, longest=0.02, report_per_worker=0, silence=0.6, loss=3, start=60, seats=0.05, rest=20, retry=0.01
)
SETTINGS = ("selfplay.max_plies=16", "selfplay.games=24", "selfplay.slots=6")
SEED = 7


def recipe_with(*settings: str) -> Recipe:
    return change(smoke_recipe(load("gardner-laptop")), (*SETTINGS, *settings))


def longer_games() -> Recipe:
    """Return a recipe whose games need many reports, for faults in one that is not the first."""
    return recipe_with("selfplay.max_plies=40", "selfplay.visits=64", "selfplay.fast_visits=64")


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two untrained nets that differ."""
    folders = []
    for seed in (1, 2):
        folder = tmp_path_factory.mktemp("net") / f"net{seed}"
        folder.mkdir()
        checkpoint.save(Net(recipe_with().net_config(), seed=seed), folder)
        folders.append(folder)
    return folders[0], folders[1]


class Source:
    """A cluster's game source with its fleet and the lines that it said."""

    def __init__(self, fleet: ThreadFleet, recipe: Recipe, begun: Sequence[GameRecord] = (), **options: Any) -> None:
        self.fleet = fleet
        self.lines: list[str] = []
        options = {"times": QUICK} | options
        self.games = ClusterGames(fleet, recipe, SEED, "cpu", begun, say=self.lines.append, **options)

    @property
    def said(self) -> list[str]:
        """What was said, but for workers that begin."""
        return [line for line in self.lines if not line.endswith("at once.")]

    @property
    def counts(self) -> Any:
        return self.games.dispatcher.counts

    def play(self, ids: Sequence[int], cycle: int = 0, most: int = 1000) -> list[GameRecord]:
        """Play games; stop when there are as many as `most`."""
        found: list[GameRecord] = []

        def tell(games: CycleGames) -> None:
            found[:] = games.records

        return self.games.play(cycle, ids, stopping=lambda: len(found) >= most, tell=tell).records


@pytest.fixture
def make(nets: tuple[Path, Path]) -> Iterator[Callable[..., Source]]:
    made: list[Source] = []

    def make_source(fault: Fault | None = None, *, seats: int = 1, recipe: Recipe | None = None, **more: Any) -> Source:
        fleet = ThreadFleet(seats) if fault is None else ThreadFleet(seats, fault)
        made.append(Source(fleet, recipe or recipe_with(), **more))
        made[-1].games.prepare(nets[0])
        return made[-1]

    yield make_source
    for source in made:
        source.games.close()


def local(net: Path, ids: Sequence[int], recipe: Recipe | None = None, cycle: int = 0) -> list[bytes]:
    """Return the games of one machine without a cluster."""
    selfplay = SelfPlay(recipe or recipe_with(), SEED, "cpu")
    selfplay.prepare(net)
    games = selfplay.play(cycle, list(ids), stopping=lambda: False, tell=lambda games: None)
    selfplay.close()
    return as_bytes(games.records)


def as_bytes(records: Sequence[GameRecord]) -> list[bytes]:
    return [record.to_bytes() for record in records]


# -- the games ---------------------------------------------------------------------------------------------------------


def test_the_games_of_workers_are_those_of_one_machine(make: Callable[..., Source], nets: tuple[Path, Path]) -> None:
    """Game by game, for one worker and for three, in this cycle and in the next one with another net."""
    first, second = local(nets[0], range(24)), local(nets[1], range(24, 48), cycle=1)
    assert first != second
    for seats in (1, 3):
        source = make(seats=seats)
        assert as_bytes(source.play(range(24))) == first
        source.games.prepare(nets[1])
        assert as_bytes(source.play(range(24, 48), cycle=1)) == second
        assert len([worker for worker, has_net in source.fleet.nets if has_net]) == 2 * seats
        assert source.fleet.blocks == 2
        assert source.counts.repeated == source.counts.lost == source.counts.refused == 0


def test_games_without_a_net_are_the_same_too(make: Callable[..., Source], nets: tuple[Path, Path]) -> None:
    recipe = recipe_with("selfplay.uniform_cycles=1")
    expected = local(nets[0], range(24), recipe)
    source = make(seats=2, recipe=recipe)
    assert as_bytes(source.play(range(24))) == expected
    assert source.fleet.nets == [(worker, False) for worker, _ in source.fleet.nets]
    assert as_bytes(source.play(range(24, 30), cycle=1)) == local(nets[0], range(24, 30), recipe, cycle=1)


def test_drawn_starts_and_judges_are_the_same_too(make: Callable[..., Source], nets: tuple[Path, Path]) -> None:
    recipe = recipe_with("selfplay.starts=generated", "selfplay.starts_share=0.5", "selfplay.judge=material")
    records = make(seats=2, recipe=recipe).play(range(24))
    assert as_bytes(records) == local(nets[0], range(24), recipe)
    assert any(record.judgement for record in records)
    assert len({record.start_fen for record in records}) > 4


def test_only_missing_games_are_played_and_told_as_they_come(make: Callable[..., Source]) -> None:
    source = make(seats=2)
    told: list[CycleGames] = []
    ids = [1, 2, 7, 11]
    games = source.games.play(0, ids, stopping=lambda: False, tell=told.append)
    assert [record.game_id for record in games.records] == ids
    assert len(told[-1].records) == len(told[-1].finished) == 4
    assert games.evaluations > 0


# -- a stop, and the next session --------------------------------------------------------------------------------------


def test_games_in_flight_go_on_in_the_next_session_as_if_nothing_had_been(
    make: Callable[..., Source], nets: tuple[Path, Path]
) -> None:
    recipe = recipe_with("selfplay.max_plies=80", "selfplay.visits=64", "selfplay.fast_visits=64", "selfplay.slots=4")
    expected = local(nets[0], range(24), recipe)
    source = make(seats=2, recipe=recipe)
    done = source.play(range(24), most=1)
    flight = source.games.in_flight()
    ids = {record.game_id for record in done}
    assert 0 < len(ids) < 24
    assert not ids & {record.game_id for record in flight}
    saved = [GameRecord.from_bytes(record.to_bytes()) for record in flight if record.moves]
    missing = [game for game in range(24) if game not in ids]
    later = make(seats=3, recipe=recipe, begun=saved)
    rest = later.play(missing)
    assert as_bytes(sorted([*done, *rest], key=lambda record: record.game_id)) == expected
    assert saved
    # The same games in flight go on without a cluster.
    selfplay = SelfPlay(recipe, SEED, "cpu", saved)
    selfplay.prepare(nets[0])
    alone = selfplay.play(0, missing, stopping=lambda: False, tell=lambda games: None)
    assert as_bytes(alone.records) == as_bytes(rest)


def test_a_stop_comes_back_at_once(make: Callable[..., Source]) -> None:

    def slow(worker: str, call: int, report: Report) -> Report:
        time.sleep(2)
        return report

    source = make(slow)
    began = time.monotonic()
    assert source.play(range(24), most=0) == []
    assert time.monotonic() - began < 1.5


# -- workers that fail -------------------------------------------------------------------------------------------------


def fails_on(number: int, answer: Callable[[Report], object]) -> Fault:
    """Return a fault of the first worker's call of this number."""

    def fault(worker: str, call: int, report: Report) -> object:
        return answer(report) if worker.endswith("-1") and call == number else report

    return fault


@pytest.mark.parametrize("seats", [1, 2])
def test_games_of_a_worker_that_ends_are_played_by_others(
    make: Callable[..., Source], nets: tuple[Path, Path], seats: int
) -> None:
    recipe = longer_games()
    source = make(fails_on(3, lambda report: RuntimeError("its process has ended")), seats=seats, recipe=recipe)
    assert as_bytes(source.play(range(24))) == local(nets[0], range(24), recipe)
    assert source.counts.lost == 1
    assert source.counts.given_again > 0
    limit = time.monotonic() + 20  # a second worker can play all games before the one that is lost has a successor
    while (metrics := source.games.metrics())["workers"] < seats and time.monotonic() < limit:
        time.sleep(0.02)
    assert (metrics["workers"], metrics["workers_lost"], metrics["reports_refused"]) == (seats, 1, 0)
    assert metrics["dispatcher_seconds"] > 0
    assert "Worker machine0-1 plays 6 games at once." in source.lines
    assert source.said[0].startswith("Lost worker machine0-1: its process has ended; ")


def corrupt(report: Report) -> Report:
    return msgspec.structs.replace(report, games=(report.games or b"x" * 40)[:-1] + b"\0")


def of_another_game(report: Report) -> Report:
    return msgspec.structs.replace(report, games=pack_records(OTHER))


OTHER: list[GameRecord] = []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda report: b"garbage", "not a report"),
        (lambda report: {"games": 1}, "not a report"),
        (corrupt, "games"),
        (lambda report: msgspec.structs.replace(report, net="0" * 64), "unknown net 000000000000"),
        (lambda report: report.to_bytes()[:-3], "not a report"),
        (of_another_game, "was not given to it"),
    ],
)
def test_what_a_worker_cannot_have_sent_is_refused(
    make: Callable[..., Source], nets: tuple[Path, Path], answer: Callable[[Report], object], reason: str
) -> None:
    recipe = longer_games()
    if not OTHER:
        selfplay = SelfPlay(recipe, SEED, "cpu")
        selfplay.prepare(nets[0])
        OTHER.extend(selfplay.play(0, [500], stopping=lambda: False, tell=lambda games: None).records)
    source = make(fails_on(3, answer), seats=2, recipe=recipe)
    assert as_bytes(source.play(range(24))) == local(nets[0], range(24), recipe)
    assert source.counts.refused == 1
    assert source.fleet.killed[:1] == ["machine0-1"]
    assert reason in source.said[0]


def test_games_of_another_variant_or_start_are_refused(make: Callable[..., Source]) -> None:
    source = make(recipe=recipe_with("selfplay.starts=generated", "selfplay.starts_share=1"))
    record = source.play([3])[0]
    assert source.games._problem(record, 0, True) is None
    other = make().play([3])[0]
    assert source.games._problem(other, 0, True) == "has another start position"
    atomic = ClusterGames(ThreadFleet(), load("atomic-laptop"), SEED, "cpu", say=lambda line: None)
    assert atomic._problem(other, 0, True) == "is one of gardner"
    longer = ClusterGames(ThreadFleet(), recipe_with("selfplay.max_plies=300"), SEED, "cpu", say=lambda line: None)
    truncated = next(record for record in make().play(range(24)) if record.outcome is None)
    assert longer._problem(truncated, 0, True) == "is not over"
    assert longer._problem(truncated, 0, False) is None


def test_a_silent_worker_loses_its_games_and_is_heard_when_it_comes_back(
    make: Callable[..., Source], nets: tuple[Path, Path]
) -> None:
    """Its games are played twice; what comes second is counted as repeated and not taken."""
    back = threading.Event()

    def stands_still(worker: str, call: int, report: Report) -> Report:
        if worker == "machine0-1" and report.games:
            back.wait(30)
        return report

    source = make(stands_still, seats=2, times=QUICK._replace(loss=60))
    assert as_bytes(source.play(range(24))) == local(nets[0], range(24))
    assert source.counts.given_again > 0
    assert "machine0-1 is silent" in source.said[0]
    back.set()
    assert as_bytes(source.play(range(24, 48), cycle=1)) == local(nets[0], range(24, 48), cycle=1)
    assert source.counts.lost == 0
    assert source.counts.repeated > 0


def test_a_worker_that_is_silent_for_too_long_is_ended_and_replaced(
    make: Callable[..., Source], nets: tuple[Path, Path]
) -> None:
    back = threading.Event()
    recipe, times = longer_games(), QUICK._replace(silence=0.2, loss=0.5)
    source = make(fails_on(2, lambda report: back.wait(20) and report), recipe=recipe, times=times)
    assert as_bytes(source.play(range(24))) == local(nets[0], range(24), recipe)
    assert source.fleet.killed == ["machine0-1"]
    assert "silent for" in source.said[-1]
    back.set()


def test_machines_join_and_leave(make: Callable[..., Source], nets: tuple[Path, Path]) -> None:
    recipe = longer_games()
    source = make(seats=1, recipe=recipe)
    fleet = source.fleet
    joined = threading.Event()

    def move(worker: str, call: int, report: Report) -> object:
        """The third report of the first machine comes when it has left and two others have begun."""
        if worker == "machine0-1" and call == 3:
            fleet.present = [fleet.seat(1), fleet.seat(2)]
            joined.wait(20)
        elif {"machine1-2", "machine2-3"} <= set(fleet.calls):
            joined.set()
        return report

    fleet.fault = move
    assert as_bytes(source.play(range(60))) == local(nets[0], range(60), recipe)
    assert set(fleet.calls) >= {"machine0-1", "machine1-2", "machine2-3"}
    assert any("its machine has left" in line for line in source.said)


def test_a_run_without_machines_waits_for_one(make: Callable[..., Source]) -> None:
    source = make(seats=0)
    threading.Timer(0.4, lambda: source.fleet.present.append(source.fleet.seat(5))).start()
    assert len(source.play(range(6))) == 6


def test_machines_that_always_fail_end_the_session_in_one_line(make: Callable[..., Source]) -> None:
    source = make(lambda worker, call, report: RuntimeError("no space left"), seats=2)
    with pytest.raises(ClusterError, match=f"each has failed {MAX_FAILURES} times"):
        source.play(range(6))
    assert len(source.fleet.killed) == 2 * MAX_FAILURES
    assert source.said[-1].endswith("is not used any more.")


# -- leases follow the speed -------------------------------------------------------------------------------------------


def test_a_slow_worker_gets_fewer_games(make: Callable[..., Source]) -> None:
    arrived: dict[str, int] = {}

    def slow(worker: str, call: int, report: Report) -> object:
        arrived[worker] = arrived.get(worker, 0) + (len(unpack_games(report.games)) if report.games else 0)
        if worker == "machine0-1" and call > 1:
            time.sleep(0.4)
        return report

    source = make(slow, seats=2)
    assert len(source.play(range(150))) == 150
    assert arrived["machine1-2"] > 2 * arrived["machine0-1"] > 0


# -- self-play that goes on from cycle to cycle ------------------------------------------------------------------------


def test_continuous_self_play_begins_later_games_and_takes_the_next_net(
    make: Callable[..., Source], nets: tuple[Path, Path]
) -> None:
    source = make(seats=2, continuous=True)
    seen: list[int] = []
    for cycle in range(4):
        source.games.prepare(nets[cycle % 2])
        ids = range(24 * cycle, 24 * cycle + 24)
        records = source.play(ids, cycle)
        assert [record.game_id for record in records] == list(ids)
        seen += [record.game_id for record in records]
        time.sleep(0.1)  # workers go on
    left = [record.game_id for record in source.games.in_flight()]
    assert left
    assert not set(left) & set(seen)
    assert len(left) == len(set(left))
    worker = next(iter(source.fleet.workers.values()))
    assert worker._pool is None  # at rest
    assert source.counts.lost == source.counts.refused == 0


# -- what is shown -----------------------------------------------------------------------------------------------------


def test_every_machine_is_shown_with_its_speed_and_losses(make: Callable[..., Source]) -> None:
    shown: list[dict[str, MachineStatus]] = []

    def show(machines: Sequence[MachineStatus]) -> None:
        shown.append({each.name: each for each in machines})

    fault = fails_on(3, lambda report: RuntimeError("its process has ended"))
    source = make(fault, seats=2, recipe=longer_games(), show=show)
    source.play(range(60))
    for first in range(60, 1260, 60):  # machines are shown now and then: a fast one may have had no games just then
        if any("machine1" in each and each["machine1"].games for each in shown):
            break
        source.play(range(first, first + 60))
    now = {each.name: each for each in source.games.machines()}
    assert set(now) == {"machine0", "machine1"}
    assert [now[name].lost for name in sorted(now)] == [1, 0]
    assert now["machine1"].games_per_second > 0
    assert now["machine1"].evaluations_per_second > now["machine1"].games_per_second
    assert [each.games for each in now.values()] == [0, 0]  # all have come back
    during = [each["machine1"] for each in shown if "machine1" in each]
    assert max(each.games for each in during) > 0
    assert max(each.lease_age for each in during) > 0
    status = TrainingStatus(machines=[MachineStatus("node1", 2, 12.5, 3000.0, 64, 7.0, 1)])
    line = "2 workers, 12.5 games/s, 3,000 evaluations/s, oldest game 7 s, 1 worker lost"
    assert ("node1", line) in dashboard._rows(status)


@pytest.mark.ray
def test_machines_are_among_the_metrics_of_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="Ray is not installed; run: make testray")
    from selfmate.cluster import ray_metrics

    values: dict[tuple[str, str], float] = {}

    class Recorder:
        def __init__(self, name: str, description: str, tag_keys: tuple[str, ...]) -> None:
            assert (bool(description), tag_keys) == (True, ("machine",))
            self.name = name

        def set(self, value: float, tags: dict[str, str]) -> None:
            values[self.name, tags["machine"]] = value

    monkeypatch.setattr(ray_metrics, "Gauge", Recorder)
    ray_metrics.RayMetrics().show([MachineStatus("node1", 2, 12.5, 3000.0, 64, 7.0, 1)])
    assert values == {
        ("selfmate_workers", "node1"): 2,
        ("selfmate_games_per_second", "node1"): 12.5,
        ("selfmate_evaluations_per_second", "node1"): 3000,
        ("selfmate_games_out", "node1"): 64,
        ("selfmate_lease_age_seconds", "node1"): 7,
        ("selfmate_workers_lost", "node1"): 1,
    }
