"""How many workers one driver of `selfmate train --ray` carries: costs measured here, a model, and runs that check it.

    python bench/scale.py --check                  # costs, the check on Ray with 1, 2, 4 and 8 workers, the table
    python bench/scale.py --run RUN --rate 20      # with the games of a run, and workers of 20 games a second

1. Costs. Recorded games are sent through the real dispatcher by a fleet that answers at once: processor time of its
   thread per report, per game, and per report and worker (it looks at every worker), bytes per game, bytes of a net,
   and what the trainer does with a game afterwards (write, read, and add to the window). Then the same for reports of
   128 games, as workers send them: processor time and wall time for 1,000 games.
2. Check. Ray's actors send the same games at a set rate, as 1, 2, 4 and 8 workers; what their driver took is compared
   with the model, in which only the cost of Ray's call is taken from the run with one worker.
3. Model. Reports of 1 to 10,000 workers queue for the driver, event by event: how busy it is, how long a report waits,
   how long workers have nothing to play. Then the same with several collectors, each of which has its own share of the
   game ids, checks the games and passes on shards.

Times are processor times; a busy machine makes them larger, but not by its waiting.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from selfmate._core import Buffer, GameRecord
from selfmate.cluster.fleet import Reply, Seat
from selfmate.cluster.games import ClusterGames
from selfmate.cluster.messages import Orders, Report, pack_net, read_orders
from selfmate.cluster.states import Times
from selfmate.nn import checkpoint
from selfmate.nn.net import Net
from selfmate.recipe.reader import change, load
from selfmate.recipe.schema import Recipe
from selfmate.rundir.format import read_committed, read_state
from selfmate.rundir.games import decode_games, pack_games, shard_rows, unpack_games
from selfmate.search.driver import drive
from selfmate.train.selfplay import Concurrency, CycleGames, selfplay_pool

ID = slice(4, 12)
"""Bytes of a record that hold its game's id."""
SLOTS = 64
GIGABIT = 1e9 / 8
SECONDS = 600.0
"""Simulated time."""
DEFAULT = Times()
COUNTS = (1, 10, 100, 1000, 3000, 10_000)


class Costs(NamedTuple):
    """Processor seconds of the driver, and bytes."""

    report: float
    game: float
    worker: float
    """For each report and each worker that there is."""
    call: float
    """Of Ray's exchange, for each report; 0 where it was not measured."""
    trainer_game: float
    """Of the trainer, after the dispatcher has taken a game; the same without a cluster."""
    shard_game: float
    """Of a trainer that gets checked shards from collectors: checksum and decompression."""
    game_bytes: float
    net_bytes: int

    def of_report(self, games: float, workers: int) -> float:
        """Return the time that a report takes."""
        return self.report + self.call + games * self.game + workers * self.worker


# -- games ---------------------------------------------------------------------------------------------------------


def relabelled(record: bytes, game: int) -> bytes:
    """Return a recorded game under another id."""
    return record[: ID.start] + game.to_bytes(8, "little") + record[ID.stop :]


def recorded_games(recipe: Recipe, run: Path | None, count: int) -> list[bytes]:
    """Return the newest games of a run; without one, games that heuristic-1 plays with the recipe's visits."""
    if run is not None:
        shards = sorted(read_state(run).shards, key=lambda shard: -shard.cycle)
        found = [data for shard in shards for data in unpack_games(read_committed(run, shard.name, shard.stamp))]
        return found[:count]
    pool = selfplay_pool(recipe, 0, seed=1, concurrency=Concurrency(SLOTS, 0, ""), lanes=1, threads=1)
    pool.start(0, count)
    drive(pool, ["heuristic-1"], lanes=1)
    return [record.to_bytes() for record in pool.drain()]


# -- costs ---------------------------------------------------------------------------------------------------------


class InstantFleet:
    """Workers that answer at once with `batch` games of their lease, one reply to each call of `replies`."""

    def __init__(self, workers: int, batch: int, games: Sequence[bytes]) -> None:
        self.count, self.batch, self.games = workers, batch, games
        self.seconds, self.wall, self.reports = 0.0, 0.0, 0
        """Processor time and wall time of the fleet itself, and its reports."""
        self._queues: dict[str, list[int]] = {}
        self._waiting: list[str] = []
        self._net = ""

    def seats(self) -> list[Seat]:
        return [Seat(f"seat{index}", f"machine{index}", 1) for index in range(self.count)]

    def notices(self) -> list[str]:
        return []

    def put(self, data: bytes) -> bytes:
        return data

    def start(self, worker: str, seat: Seat, setup: bytes) -> None:
        self._queues[worker] = []

    def call(self, worker: str, orders: bytes, net: Any | None) -> None:
        began = time.thread_time(), time.monotonic()
        read = read_orders(orders)
        self._queues[worker] += read.games
        self._net = read.net
        self._waiting.append(worker)
        self._count(began)

    def replies(self, seconds: float) -> list[Reply]:
        began = time.thread_time(), time.monotonic()
        found = []
        if self._waiting:
            worker = self._waiting.pop(0)
            queue = self._queues[worker]
            done, self._queues[worker] = queue[: self.batch], queue[self.batch :]
            found.append(Reply(worker, replayed(self.games, done, self._net, len(queue) - len(done)), ""))
            self.reports += 1
        self._count(began)
        return found

    def _count(self, began: tuple[float, float]) -> None:
        self.seconds += time.thread_time() - began[0]
        self.wall += time.monotonic() - began[1]

    def kill(self, worker: str) -> None:
        raise RuntimeError(f"{worker} was ended")

    def close(self) -> None:
        """There is nothing to end."""


def replayed(games: Sequence[bytes], done: Sequence[int], net: str, unfinished: int) -> bytes:
    """Return a report with recorded games under the given ids."""
    records = [relabelled(games[game % len(games)], game) for game in done]
    shard = pack_games(records) if records else b""
    report = Report(net=net, games=shard, flight=b"", slots=SLOTS, unfinished=unfinished, evaluations=len(records))
    return report.to_bytes()


def play_all(fleet: Any, recipe: Recipe, net: Path, games: int, times: Times) -> tuple[float, float]:
    """Have games played by a fleet; return the processor time of the dispatcher's thread, and the seconds."""
    source = ClusterGames(fleet, recipe, 1, "cpu", say=lambda line: None, times=times)
    source.prepare(net)

    def tell(games: CycleGames) -> None:
        """Show nothing."""

    began = time.monotonic()
    found = source.play(0, range(games), stopping=lambda: False, tell=tell)
    seconds = time.monotonic() - began
    source.close()
    assert len(found.records) == games
    return source.dispatcher.counts.dispatcher_seconds, seconds


def measure_costs(recipe: Recipe, games: Sequence[bytes], net: Path) -> Costs:
    """Fit the costs of a report, a game and a worker to runs of different sizes; measure the others."""
    rows, spent = [], []
    quick = Times(report=0.01, longest=0.01, report_per_worker=0.0, seats=1e6, silence=1e6, loss=1e6, start=1e6)
    for workers, batch, count in (
        (1, 1, 600),
        (1, 16, 3200),
        (1, 128, 6400),
        (8, 4, 1600),
        (64, 4, 1600),
        (512, 2, 2048),
        (2048, 2, 4096),
    ):
        fleet = InstantFleet(workers, batch, games)
        seconds, _ = play_all(fleet, recipe, net, count, quick)
        rows.append([fleet.reports, count, workers * fleet.reports])
        spent.append(seconds - fleet.seconds)
    matrix, target = np.array(rows, float), np.array(spent)
    weights = 1 / target  # relative errors count
    fitted = np.linalg.lstsq(matrix * weights[:, None], target * weights, rcond=None)[0]
    report, game, worker = (float(max(0.0, each)) for each in fitted)
    for (reports, count, looks), seconds, model in zip(rows, spent, matrix @ fitted, strict=True):
        times = [f"{1e6 * each / reports:.0f} µs" for each in (seconds, model)]
        sizes = f"{looks // reports:5} workers, {count / reports:4.1f} games a report"
        print(f"  {sizes}: {times[0]} a report, fitted {times[1]}")
    return Costs(
        report=report,
        game=game,
        worker=worker,
        call=0.0,
        trainer_game=_trainer_time(recipe, games),
        shard_game=_shard_time(games),
        game_bytes=len(pack_games(games)) / len(games),
        net_bytes=len(pack_net(net)[1]),
    )


def show_overhead(recipe: Recipe, games: Sequence[bytes], net: Path, rounds: int = 5) -> None:
    """Print what 1,000 games in reports of 128 cost the driver, without Ray: the best of some rounds."""
    quick = Times(report=0.01, longest=0.01, report_per_worker=0.0, seats=1e6, silence=1e6, loss=1e6, start=1e6)
    found, count = [], 50 * 128
    for _ in range(rounds):
        fleet = InstantFleet(1, 128, games)
        before = time.process_time()
        thread, wall = play_all(fleet, recipe, net, count, quick)
        process = time.process_time() - before - fleet.seconds
        found.append([1e6 * each / count for each in (thread - fleet.seconds, process, wall - fleet.wall)])
    for row in found:
        print(
            "  1,000 games: {:.1f} ms of the dispatcher's thread, {:.1f} ms of the process, {:.0f} ms wall".format(*row)
        )
    thread, process, wall = map(min, zip(*found, strict=True))
    print(f"  best: {thread:.1f} ms, {process:.1f} ms, {wall:.0f} ms")


def _trainer_time(recipe: Recipe, games: Sequence[bytes]) -> float:
    """Return the processor time per game of writing a shard, reading it again and adding it to the window."""
    records = [GameRecord.from_bytes(each) for each in games]
    began = time.process_time()
    data = pack_games([row[2] for row in shard_rows(records)])
    window = Buffer(recipe.variant.name, 10_000_000, 1)
    for record in decode_games(unpack_games(data)):
        window.add(record)
    return (time.process_time() - began) / len(games)


def _shard_time(games: Sequence[bytes]) -> float:
    data, began, rounds = pack_games(games), time.process_time(), 20
    for _ in range(rounds):
        unpack_games(data)
    return (time.process_time() - began) / rounds / len(games)


# -- the model -----------------------------------------------------------------------------------------------------


class Load(NamedTuple):
    """How a driver, or each of several collectors, stands with a number of workers."""

    workers: int
    collectors: int
    games_per_second: float
    interval: float
    """Seconds between two reports of a worker."""
    busy: float
    """Share of its time."""
    wait: float
    """Seconds that a report waits, in the worst hundredth of them."""
    idle: float
    """Share of their time in which workers have nothing to play."""


def simulate(
    costs: Costs, workers: int, rate: float, *, collectors: int = 1, times: Times = DEFAULT, seconds: float = SECONDS
) -> Load:
    """Let the workers of one collector report for some time, each with `rate` games a second.

    A worker has the games of two intervals: it plays on while its report waits, and has nothing left when the wait is
    longer than an interval.
    """
    own = math.ceil(workers / collectors)
    interval = times.interval(rate, own)
    chance = np.random.default_rng(1)
    events = [(float(first), index) for index, first in enumerate(chance.uniform(0, interval, own))]
    heapq.heapify(events)
    began = np.zeros(own)  # of the present interval
    owed = np.zeros(own)  # fractions of games
    free_at = busy = idle = games = 0.0
    waits: list[float] = []
    while events:
        ready, index = heapq.heappop(events)
        if ready > seconds:
            break
        wait = max(0.0, free_at - ready)
        playing = min(ready - began[index] + wait, 2 * interval)
        idle += ready - began[index] + wait - playing
        owed[index] += rate * playing
        sent = math.floor(owed[index])
        owed[index] -= sent
        games += sent
        service = costs.of_report(sent, own)
        free_at = ready + wait + service
        busy += service
        waits.append(wait)
        began[index] = ready + wait
        heapq.heappush(events, (free_at + interval, index))
    elapsed = max(seconds, free_at)  # a driver that has fallen behind is not done at the end
    return Load(
        workers,
        collectors,
        games * collectors / elapsed,
        interval,
        busy / elapsed,
        float(np.quantile(waits, 0.99)) if waits else 0.0,
        idle / (own * elapsed),
    )


def collectors_for(costs: Costs, workers: int, rate: float, most: float = 0.5) -> int:
    """Return how many collectors keep each of them busy for half of its time at most."""
    count = 1
    while simulate(costs, workers, rate, collectors=count, seconds=120).busy > most and count < workers:
        count *= 2
    return count


# -- the check on Ray ----------------------------------------------------------------------------------------------


class ReplayWorker:
    """An actor that sends recorded games at a rate."""

    def __init__(self, games: list[bytes], rate: float) -> None:
        self.games, self.rate = games, rate
        self.queue: list[int] = []
        self.owed, self.last = 0.0, time.monotonic()

    def exchange(self, message: bytes, net: Any = None) -> bytes:
        """As of `LeasedPlay`."""
        orders: Orders = read_orders(message)
        self.queue += orders.games
        deadline = time.monotonic() + orders.seconds
        while self.queue and time.monotonic() < deadline:
            time.sleep(0.005)
        now = time.monotonic()
        self.owed = min(self.owed + self.rate * (now - self.last), 2 * self.rate * max(1.0, orders.seconds))
        self.last = now
        count = min(len(self.queue), int(self.owed))
        self.owed -= count
        done, self.queue = self.queue[:count], self.queue[count:]
        return replayed(self.games, done, orders.net, len(self.queue))


def check_on_ray(recipe: Recipe, games: list[bytes], net: Path, costs: Costs, rate: float) -> tuple[Costs, list[Any]]:
    """Compare the model with actors of Ray; return the costs with that of Ray's call, and a row for each run."""
    import ray

    from selfmate.cluster.ray_fleet import LOCAL, RayFleet, connect

    class ReplayFleet(RayFleet):
        """Some seats on this machine, with replaying actors."""

        def __init__(self, workers: int) -> None:
            super().__init__("cpu", lambda node, facts: None)
            self.count, self.reports, self.first_reply = workers, 0, 0.0
            self.began = time.monotonic()

        def seats(self) -> list[Seat]:
            return [Seat(f"seat/{index}", f"machine{index}", 1) for index in range(self.count)]

        def start(self, worker: str, seat: Seat, setup: bytes) -> None:
            actor = ray.remote(ReplayWorker).options(num_cpus=0, max_restarts=0)
            self._actors[worker] = actor.remote(games, rate)

        def replies(self, seconds: float) -> list[Reply]:
            found = super().replies(seconds)
            self.reports += len(found)
            self.first_reply = self.first_reply or (time.monotonic() - self.began if found else 0.0)
            return found

    rows = []
    with connect(LOCAL):
        for workers in (1, 2, 4, 8):
            fleet = ReplayFleet(workers)
            count = int(20 * rate * workers)
            began = time.process_time()
            spent, seconds = play_all(fleet, recipe, net, count, Times())
            process = time.process_time() - began
            if workers == 1:
                costs = costs._replace(call=max(0.0, (spent - count * costs.game) / fleet.reports - costs.report))
            model = fleet.reports * costs.of_report(count / fleet.reports, workers)
            rows.append([workers, count, fleet.reports, seconds, spent, model, process, fleet.first_reply])
            print(
                f"  {workers} workers: {count} games in {fleet.reports} reports, {count / seconds:.0f} games/s; the "
                f"dispatcher's thread took {spent:.3f} s ({1e6 * spent / count:.1f} ms for 1,000), "
                f"the model {model:.3f} s; "
                f"the whole driver {process:.2f} s ({1e6 * process / count:.0f} ms for 1,000); "
                f"first report after {fleet.first_reply:.1f} s",
                flush=True,
            )
    return costs, rows


# -- the command ---------------------------------------------------------------------------------------------------


def show_loads(costs: Costs, rate: float) -> list[Load]:
    """Print a row for each number of workers; return them."""
    heads = ["workers", "collectors", "games/s", "a report every", "busy", "a report waits, 99 %", "workers idle"]
    heads += ["in, MB/s", "net to all"]
    print(f"\n| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    loads = []
    for workers in COUNTS:
        needed = collectors_for(costs, workers, rate)
        for collectors in dict.fromkeys((1, needed)):
            load = simulate(costs, workers, rate, collectors=collectors)
            loads.append(load)
            cells = [f"{workers:,}", str(collectors), f"{load.games_per_second:,.0f}", f"{load.interval:.2f} s"]
            cells += [f"{load.busy:.1%}", f"{load.wait:.3f} s", f"{load.idle:.1%}"]
            cells += [f"{load.games_per_second * costs.game_bytes / 1e6:.2f}"]
            cells += [f"{costs.net_bytes * workers / GIGABIT:,.1f} s"]
            print(f"| {' | '.join(cells)} |")
    print(f"\nThe trainer itself is busy all the time on one core at {1 / costs.trainer_game:,.0f} games/s; "
          f"with shards of collectors, that it need not check, at {1 / costs.shard_game:,.0f}.")  # fmt: skip
    return loads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="gardner-laptop")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--run", type=Path, help="a run with games (default: heuristic-1 plays some)")
    parser.add_argument("--games", type=int, default=400, help="recorded games")
    parser.add_argument("--rate", type=float, default=10.0, help="games a second of a worker, in the model")
    parser.add_argument("--check", action="store_true", help="compare the model with workers on Ray")
    parser.add_argument("--check-rate", type=float, default=60.0, help="games a second of a worker, in the check")
    parser.add_argument("--out", type=Path, help="write everything as JSON")
    given = parser.parse_args()
    recipe = change(load(given.recipe), given.set)
    games = recorded_games(recipe, given.run, given.games)
    plies = sum(len(GameRecord.from_bytes(each).moves) for each in games) / len(games)
    with tempfile.TemporaryDirectory() as folder:
        net = Path(folder)
        checkpoint.save(Net(recipe.net_config(), seed=1), net)
        print(f"Costs, {len(games)} games of {plies:.0f} plies:")
        costs = measure_costs(recipe, games, net)
        show_overhead(recipe, games, net)
        rows: list[Any] = []
        if given.check:
            print("Check on Ray:")
            costs, rows = check_on_ray(recipe, games, net, costs, given.check_rate)
    print(
        f"Per report {1e6 * costs.report:.0f} µs, per game {1e6 * costs.game:.0f} µs, per report and worker "
        f"{1e6 * costs.worker:.2f} µs, Ray's call {1e6 * costs.call:.0f} µs, the trainer "
        f"{1e6 * costs.trainer_game:.0f} µs a game, a checked shard "
        f"{1e6 * costs.shard_game:.1f} µs a game; {costs.game_bytes:.0f} bytes a game, "
        f"{costs.net_bytes:,} bytes a net."
    )
    loads = show_loads(costs, given.rate)
    if given.out is not None:
        facts = {"costs": costs._asdict(), "check": rows, "loads": [each._asdict() for each in loads]}
        given.out.write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
