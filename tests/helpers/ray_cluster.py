"""A cluster of Ray on this machine: every node is a `ray start --block` of its own, which can be killed or stopped."""

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

RAY: Final = Path(sys.executable).with_name("ray")
STORE: Final = 80 << 20
START_SECONDS: Final = 240.0
AGENTS: Final = ("runtime-env-agent", "dashboard-agent-grpc", "dashboard-agent-listen", "metrics-export")
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

    def __init__(self, folder: Path, cpus: int = 1) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.environment = os.environ | {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(16),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_raylet_start_wait_time_s": "180",  # a busy machine
        }
        self.nodes: list[subprocess.Popen[bytes]] = []
        self._cpus = cpus

    def __enter__(self) -> Self:
        try:
            self._start("--head", f"--port={self.port}", f"--num-cpus={self._cpus}", "--include-dashboard=false")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def add(self, cpus: int = 1) -> subprocess.Popen[bytes]:
        """Join another node, and wait until it has joined."""
        return self._start(f"--address={self.address}", f"--num-cpus={cpus}")

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        # Ports that are given need not be waited for: on a busy machine Ray's own limit of 15 s for them is too short.
        ports = [f"--{name}-port={free_port()}" for name in AGENTS]
        fixed = ["--block", "--disable-usage-stats", f"--object-store-memory={STORE}", *ports]
        command = [str(RAY), "start", *fixed, *arguments]
        path = self.folder / f"node{len(self.nodes)}.log"
        with path.open("wb") as log:
            node = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, start_new_session=True)
        self.nodes.append(node)
        deadline = time.monotonic() + START_SECONDS
        while "Ray runtime started" not in path.read_text():
            assert node.poll() is None, path.read_text()
            assert time.monotonic() < deadline, f"a node of the cluster did not start\n{path.read_text()}"
            time.sleep(0.1)
        return node

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
def ray_cluster(folder: Path, nodes: int = 1) -> Iterator[RayCluster]:
    """Yield a cluster of so many nodes with a core each."""
    with RayCluster(folder) as cluster:
        for _ in range(nodes - 1):
            cluster.add()
        yield cluster
