"""Faults of a cluster of Ray while a run trains on it; nothing is lost or counted twice (`make chaos`).

    python tests/soak/chaos.py --workers 50 --drivers 20 --nodes 10 --stops 3 --hangs 3 --slow 3 --stores 3

A cluster of two nodes on this machine trains a small Gardner run; where network namespaces can be made, the nodes are
in two of them. Faults come in a random order, each after the run has committed games since the last one:

1. a worker is killed (SIGKILL);
2. the driver is killed, and started again;
3. a node is killed with all its processes, and another one joins;
4. all processes of a node are stopped (SIGSTOP) for some seconds, and go on;
5. a worker is stopped for as long: it hangs;
6. the network between the nodes carries 256 kbit/s for some seconds (a token bucket filter, `tc tbf`);
7. another program fills the object stores of both nodes for some seconds.

After every fault the run must commit games again. At the end it is stopped, and a run without Ray is made up to the
same cycle: every committed game is there once, and games and nets are the same, bit for bit. The driver's memory is
printed. SIGTERM ends the battery after the present fault; what was done until then is checked and printed. Garbage and
games of unknown nets are in tests/cluster/test_cluster_games.py.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from network_namespaces import NetworkPair, why_not
from ray_cluster import RayCluster
from selfmate._core import GameRecord
from selfmate.rundir.format import State, read_committed, read_state
from selfmate.rundir.games import unpack_games

GAMES = 120
SETTINGS = (f"selfplay.games={GAMES}", "selfplay.slots=8", "gate.games=0", "gate.final_games=0", "progress.games=0")
PATIENCE = 900.0
"""Seconds after a fault in which the run must commit games; with a load of 14 on two cores a driver started in 300."""
SLOW_KILOBITS = 256
FILL = """
import sys, time, logging, numpy, ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
ray.init(address=sys.argv[1], log_to_driver=False, logging_level=logging.ERROR)

@ray.remote(num_cpus=0)
def fill(seconds):
    kept = [ray.put(numpy.zeros(8 << 20, numpy.uint8)) for _ in range(12)]
    time.sleep(seconds)
    return len(kept)

nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
on = [fill.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=True)) for node in nodes]
print(ray.get([each.remote(float(sys.argv[2])) for each in on]))
"""
"""96 MiB on every node, whose store has 80."""


def command(directory: Path, cycles: int, *more: str) -> list[str]:
    """Return the command that trains."""
    settings = [word for setting in (*SETTINGS, f"selfplay.cycles={cycles}") for word in ("--set", setting)]
    recipe = ["train", "gardner-laptop", "--smoke", "--device", "cpu", "--run", str(directory)]
    return [sys.executable, "-m", "selfmate", *recipe, *settings, *more]


def state_of(directory: Path) -> State:
    """Return the last commit."""
    return read_state(directory) if (directory / "state.json").exists() else State()


KINDS = {"workers": 50, "drivers": 20, "nodes": 10, "stops": 3, "hangs": 3, "slow": 3, "stores": 3}
"""Faults and how often each comes, unless said otherwise."""


class Battery:
    """A run on a cluster, and what is done to it."""

    def __init__(self, folder: Path, cluster: RayCluster) -> None:
        self.folder = folder
        self.directory = folder / "run"
        self.cluster = cluster
        self.second = cluster.add()
        self.faults: Counter[str] = Counter()
        self.longest: dict[str, float] = {}
        """Seconds until the run has committed games after a fault, the worst of each kind."""
        self.memory: list[int] = []
        self.is_stopped = False
        signal.signal(signal.SIGTERM, self.stop)
        self.driver = self.start()

    def stop(self, *signal_and_frame: object) -> None:
        """Let `run` end after the present fault."""
        self.is_stopped = True

    def start(self) -> subprocess.Popen[bytes]:
        """Start the driver; its output is appended to driver.log."""
        with (self.folder / "driver.log").open("ab") as log:
            return subprocess.Popen(
                self.cluster.inside(command(self.directory, 100_000, "--ray", self.cluster.address)),
                env=self.cluster.environment,
                stdout=log,
                stderr=log,
            )

    def await_games(self) -> float:
        """Wait until more games are committed than now; return the seconds."""
        began, games = time.monotonic(), state_of(self.directory).games
        while state_of(self.directory).games <= games:
            if self.driver.poll() is not None:
                raise AssertionError(f"the driver has ended with {self.driver.returncode}; see driver.log")
            if time.monotonic() - began > PATIENCE:
                raise AssertionError(f"no games for {PATIENCE:.0f} s; see driver.log")
            time.sleep(0.05)
        status = Path(f"/proc/{self.driver.pid}/status").read_text()
        self.memory.append(int(status.partition("VmRSS:")[2].split()[0]) >> 10)
        return time.monotonic() - began

    def kill_worker(self) -> None:
        """Kill a worker."""
        workers = self.cluster.workers()
        if workers:
            os.kill(random.choice(workers), signal.SIGKILL)

    def kill_driver(self) -> None:
        """Kill the driver, and start it again."""
        before = state_of(self.directory)
        self.driver.kill()
        self.driver.wait()
        after = state_of(self.directory)
        assert (after.games, after.cycle) >= (before.games, before.cycle)
        self.driver = self.start()

    def kill_node(self) -> None:
        """Kill the second node; another one joins."""
        self.cluster.kill(self.second)
        self.cluster.nodes.remove(self.second)
        self.second = self.cluster.add()

    def stop_node(self, seconds: float) -> None:
        """Stop the second node for a while."""
        self.cluster.send(self.second, signal.SIGSTOP)
        time.sleep(seconds)
        self.cluster.send(self.second, signal.SIGCONT)

    def stop_worker(self, seconds: float) -> None:
        """Stop a worker for a while."""
        for worker in random.sample(self.cluster.workers(), 1):
            os.kill(worker, signal.SIGSTOP)
            time.sleep(seconds)
            with contextlib.suppress(ProcessLookupError):  # the run may have ended it meanwhile
                os.kill(worker, signal.SIGCONT)

    def slow_network(self, seconds: float) -> None:
        """Slow the network between the nodes down for a while."""
        assert self.cluster.network is not None
        self.cluster.network.slow_down(SLOW_KILOBITS)
        time.sleep(seconds)
        self.cluster.network.speed_up()

    def fill_stores(self, seconds: float) -> None:
        """Fill the object stores for a while."""
        words = self.cluster.inside([sys.executable, "-c", FILL, self.cluster.address, str(seconds)])
        subprocess.run(words, env=self.cluster.environment, capture_output=True, check=False, timeout=PATIENCE)

    def run(self, plan: list[str], stop_seconds: float) -> None:
        """Do what is planned."""
        actions: dict[str, Callable[[], None]] = {
            "worker killed": self.kill_worker,
            "driver killed": self.kill_driver,
            "node killed": self.kill_node,
            f"node stopped for {stop_seconds:g} s": lambda: self.stop_node(stop_seconds),
            f"worker hung for {stop_seconds:g} s": lambda: self.stop_worker(stop_seconds),
            f"network at {SLOW_KILOBITS} kbit/s for {stop_seconds:g} s": lambda: self.slow_network(stop_seconds),
            f"object stores full for {stop_seconds:g} s": lambda: self.fill_stores(stop_seconds),
        }
        names = dict(zip(KINDS, actions, strict=True))
        self.await_games()
        for number, kind in enumerate(plan, 1):
            if self.is_stopped:
                break
            name = names[kind]
            actions[name]()
            seconds = self.await_games()
            self.faults[name] += 1
            self.longest[name] = max(self.longest.get(name, 0.0), seconds)
            print(f"{number}/{len(plan)} {name}: games after {seconds:.1f} s", flush=True)
        self.driver.send_signal(signal.SIGINT)
        self.driver.wait(PATIENCE)


def games_of(directory: Path, cycles: int) -> tuple[list[int], dict[int, bytes]]:
    """Return the ids of all committed games of the first cycles, and the games by id."""
    ids, games = [], {}
    for shard in read_state(directory).shards:
        if shard.cycle < cycles:
            for data in unpack_games(read_committed(directory, shard.name, shard.stamp)):
                record = GameRecord.from_bytes(data)
                ids.append(record.game_id)
                assert record.to_bytes() == data, f"game {record.game_id} is not written as it was read"
                games[record.game_id] = data
    return ids, games


def nets_of(directory: Path, cycles: int) -> dict[str, str]:
    """Return the sha256 of the weights of the first cycles, by folder."""
    nets = {each.name: each for each in read_state(directory).checkpoints if each.cycle <= cycles}
    return {name: nets[name].files["net.safetensors"].sha256 for name in sorted(nets)}


def check(directory: Path, alone: Path) -> str:
    """Compare the run with one without Ray; return what was compared."""
    cycles = read_state(directory).cycle
    subprocess.run(command(alone, cycles), check=True, capture_output=True)
    ids, games = games_of(directory, cycles)
    assert sorted(ids) == list(range(GAMES * cycles)), "a game is lost or doubled"
    assert games == games_of(alone, cycles)[1], "a game differs"
    ours, theirs = nets_of(directory, cycles), nets_of(alone, cycles)
    common = ours.keys() & theirs.keys()
    assert common
    assert all(ours[name] == theirs[name] for name in common), "a net differs"
    return f"{len(ids):,} games of {cycles} cycles and {len(common)} nets equal those of a run without Ray"


def main() -> None:
    """Run the battery and print its table."""
    parser = argparse.ArgumentParser(description="Faults of a cluster of Ray while a run trains on it.")
    for name, count in KINDS.items():
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--stop-seconds", type=float, default=40.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random.seed(options.seed)
    if reason := why_not():
        print(f"no network namespaces, and no slow network: {reason}")
        options.slow = 0
    plan = [kind for kind in KINDS for _ in range(getattr(options, kind))]
    random.shuffle(plan)
    folder = Path(tempfile.mkdtemp(prefix="selfmate-chaos-"))
    print(f"logs: {folder}", flush=True)
    with contextlib.ExitStack() as stack:
        network = None if reason else stack.enter_context(NetworkPair())
        cluster = stack.enter_context(RayCluster(folder, network=network))
        battery = Battery(folder, cluster)
        try:
            battery.run(plan, options.stop_seconds)
        finally:
            battery.driver.kill()
    compared = check(battery.directory, folder / "alone")
    print("\n| fault | times | games committed again after, at most |\n|---|---|---|")
    for name, count in battery.faults.items():
        print(f"| {name} | {count} | {battery.longest[name]:.0f} s |")
    print(f"\n{compared}; memory of the driver {battery.memory[0]} MiB at first, {max(battery.memory)} MiB at most.")


if __name__ == "__main__":
    main()
