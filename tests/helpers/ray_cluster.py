"""A cluster of Ray on this machine: every node is a `ray start --block` of its own, which can be killed or stopped.

With a `NetworkPair` the head and the driver are in one network namespace, and the other nodes in the second.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

from network_namespaces import ADDRESSES, NetworkPair

RAY: Final = Path(sys.executable).with_name("ray")
STORE: Final = 80 << 20
ATTEMPTS: Final = 4
SESSIONS: Final = Path("/tmp/ray")
AGENT_PORTS: Final = ("dashboard_agent_listen_port", "metrics_agent_port", "metrics_export_port")
"""Files in which the agent of a node tells its ports, -1 without the dashboard; a node without them ends after 15 s."""
ACTOR: Final = b"ray::RayWorker"


def children(pid: int) -> list[int]:
    """Return the process ids of all descendants of a process."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            fields = path.read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, waiting = [], [pid]
    while waiting:
        more = parents.get(waiting.pop(), [])
        found += more
        waiting += more
    return found


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RayCluster:
    """A context manager: a head with `cpus` cores; `add` joins another node, `kill` ends one with all its processes."""

    def __init__(self, folder: Path, cpus: int = 1, network: NetworkPair | None = None) -> None:
        self.folder = folder
        self.network = network
        self.port = free_port()
        self.address = f"{'127.0.0.1' if network is None else ADDRESSES[0]}:{self.port}"
        self.environment = os.environ | {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(16),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_raylet_start_wait_time_s": "45",
            "RAY_worker_register_timeout_seconds": "600",  # 60 by default; the first driver hangs after it
            "RAY_worker_niceness": "0",  # 15 by default: beside other work a worker would take minutes to start
        }
        self.nodes: list[subprocess.Popen[bytes]] = []
        self._cpus = cpus

    def __enter__(self) -> Self:
        try:
            head = ["--head", f"--port={self.port}", f"--num-cpus={self._cpus}", "--include-dashboard=false"]
            self._start(0, *head)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def add(self, cpus: int = 1) -> subprocess.Popen[bytes]:
        """Join another node, and wait until it has joined."""
        return self._start(1, f"--address={self.address}", f"--num-cpus={cpus}")

    def inside(self, command: list[str], place: int = 0) -> list[str]:
        """Return a command as it runs on the head's side of the network, or on the other one."""
        return command if self.network is None else [*self.network.prefix(place), *command]

    def _start(self, place: int, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(RAY), "start", "--block", "--disable-usage-stats", f"--object-store-memory={STORE}", *arguments]
        if self.network is not None:
            command = self.inside([*command, f"--node-ip-address={ADDRESSES[place]}"], place)
        path = self.folder / f"node{len(self.nodes)}.log"
        for _ in range(ATTEMPTS):
            name = secrets.token_hex(28)
            with path.open("wb") as log:
                node = subprocess.Popen(
                    [*command, f"--runtime-env-agent-port={free_port()}"],
                    env=self.environment | {"RAY_OVERRIDE_NODE_ID_FOR_TESTING": name},
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            self.nodes.append(node)
            while node.poll() is None:
                if "Ray runtime started" in path.read_text():
                    return node
                self._tell_ports(name)
                time.sleep(0.1)
            self.kill(self.nodes.pop())
        raise AssertionError(f"a node of the cluster did not start\n{path.read_text()}")

    def _tell_ports(self, name: str) -> None:
        """Write the ports of a node's agent, which takes longer than 15 s to start on a busy machine."""
        for session in SESSIONS.glob(f"session_*_{self.nodes[0].pid}"):
            for port in AGENT_PORTS:
                if not (file := session / f"{port}_{name}").exists():
                    file.write_text("-1")

    def workers(self, node: subprocess.Popen[bytes] | None = None) -> list[int]:
        """Return the process ids of our actors, on one node or on all."""
        found = []
        for each in self.nodes if node is None else [node]:
            for pid in children(each.pid):
                with contextlib.suppress(OSError):
                    if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(ACTOR):
                        found.append(pid)
        return found

    def send(self, node: subprocess.Popen[bytes], number: signal.Signals) -> None:
        """Send a signal to all processes of a node."""
        for pid in [node.pid, *children(node.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self, node: subprocess.Popen[bytes]) -> None:
        """End a node as a loss of power would."""
        pids = [node.pid, *children(node.pid)]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        node.wait()

    def close(self) -> None:
        """End all nodes, the head last."""
        for node in reversed(self.nodes):
            if node.poll() is None:
                self.kill(node)


@contextlib.contextmanager
def ray_cluster(folder: Path, nodes: int = 1, network: NetworkPair | None = None) -> Iterator[RayCluster]:
    """Yield a cluster of so many nodes with a core each."""
    with RayCluster(folder, network=network) as cluster:
        for _ in range(nodes - 1):
            cluster.add()
        yield cluster
