"""A cluster of Ray: connecting to it, its machines, and workers as actors."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import ray
from ray._private.authentication.authentication_token_setup import ensure_token_if_auth_enabled
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from selfmate.cluster.engine_builds import EngineQuestion
from selfmate.cluster.engine_worker import LeasedEngineGames
from selfmate.cluster.fleet import Reply, Seat
from selfmate.cluster.identity import MachineFacts, make_probe, read_facts
from selfmate.cluster.match_worker import LeasedMatches
from selfmate.cluster.messages import ClusterError, one_line
from selfmate.cluster.worker import LeasedPlay
from selfmate.errors import SelfmateError
from selfmate.search.autotune import GPU_LANES
from selfmate.util.cpu import cores

__all__ = ["LOCAL", "RayEngineWorker", "RayFleet", "RayMatchWorker", "connect", "ray_nodes"]

LOCAL: Final = "local"
"""Address of a cluster on this machine alone, for this session."""

STORE_BYTES: Final = 256 << 20
"""Object store of such a cluster: nets and reports."""

WORKER_LANES: Final = 8
"""Most lanes of a worker on CPUs: they share one interpreter."""

CONNECT_SECONDS: Final = 5.0
PROBE_SECONDS: Final = 120.0
"""For the first answer of a machine; importing torch takes a while."""
GET_SECONDS: Final = 30.0
"""For a report that is ready to cross the network."""


@contextlib.contextmanager
def connect(address: str, gpus: Sequence[str] | None = None) -> Iterator[None]:
    """Connect to the cluster at an address within a block: `local`, `auto`, or HOST:PORT of its head.

    A local one has these `gpus`, as CUDA_VISIBLE_DEVICES names them; all of this machine when None. Raises
    `ClusterError` in one line if there is no cluster, or one of another version.
    """
    if address == LOCAL:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Ray would give workers the priority 15; here they share the cores with the learner, as without Ray.
        os.environ.setdefault("RAY_worker_niceness", "0")
        # Ray ends a process that has not started within 60 s, and if it was the first one, `ray.init` waits forever.
        os.environ.setdefault("RAY_worker_register_timeout_seconds", "600")
        if not {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & set(os.environ):
            # Ray gives a local cluster a token, and would write it to a file that every user of the machine can read.
            os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
        options = {"num_cpus": cores(), "include_dashboard": False, "object_store_memory": STORE_BYTES}
        options |= {} if gpus is None else {"num_gpus": len(gpus)}
    else:
        if address != "auto":
            _reach(address)
            _authenticate(address)
        options = {}
    try:
        with _visible(gpus if address == LOCAL else None):
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
    except (ConnectionError, OSError, RayError, RuntimeError, ValueError) as error:
        raise ClusterError(f"{address}: {_explain(error)}", address) from None
    try:
        yield
    finally:
        ray.shutdown()


@contextlib.contextmanager
def _visible(gpus: Sequence[str] | None) -> Iterator[None]:
    """Let Ray, which reads CUDA_VISIBLE_DEVICES when it starts, see these GPUs alone; None: as it is."""
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    if gpus is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    try:
        yield
    finally:
        if gpus is not None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
            os.environ |= {} if before is None else {"CUDA_VISIBLE_DEVICES": before}


def _reach(address: str) -> None:
    """Raise `ClusterError` if nothing listens at HOST:PORT; Ray itself would try for a minute."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal():
        raise ClusterError(
            f"{address}: not an address of a cluster; give HOST:PORT of its head, as ray start prints it", address
        )
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ClusterError(
            f"{address}: no cluster answers there ({reason}); start one with: ray start --head --port={port}; "
            f"--ray without an address makes one on this machine",
            address,
        ) from None


def _authenticate(address: str) -> None:
    """Raise `ClusterError` if the head refuses the token; `ray.init` tries for a minute, with a line each second."""
    try:
        ensure_token_if_auth_enabled(None, create_token_if_missing=False)  # without one the client aborts the process
        with _without_stderr():
            importlib.import_module("ray._raylet").GcsClient(address=address)  # not in the stubs of Ray
    except RayError as error:
        raise ClusterError(f"{address}: {_explain(error)}", address) from None


@contextlib.contextmanager
def _without_stderr() -> Iterator[None]:
    """Hide what the core of Ray writes to descriptor 2, which is not `sys.stderr`."""
    kept = os.dup(2)
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _explain(error: Exception) -> str:
    text = str(error)
    if "Version mismatch" in text or "was started with" in text:
        facts = [line.strip() for line in text.splitlines() if line.strip().startswith(("Ray:", "Python:"))]
        theirs, ours = ", ".join(facts[:2]), ", ".join(facts[2:4])
        return f"the cluster has {theirs}, this machine {ours}; use the same on both"
    if "uthentication" in text or "oken" in text:
        return "the cluster wants another token; set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as on its head"
    if "Could not find any running Ray instance" in text:
        return "this machine is in no cluster; give HOST:PORT of its head, or --ray alone for one on this machine"
    return f"cannot connect: {one_line(text)}"


class RayNode(NamedTuple):
    """A machine of the cluster, and what Ray counts on it."""

    key: str
    name: str
    cpus: int
    gpus: int

    def seats(self, device: str) -> list[Seat]:
        """Return the places for workers: one for each GPU, or for each group of cores."""
        count = self.gpus if device != "cpu" else -(-self.cpus // WORKER_LANES)
        if not count:
            return []
        lanes = self.cpus // count if device == "cpu" else GPU_LANES
        names = [self.name if count == 1 else f"{self.name}.{index}" for index in range(count)]
        return [Seat(f"{self.key}/{index}", name, lanes, count, self.name) for index, name in enumerate(names)]


def ray_nodes() -> list[RayNode]:
    """Return the machines that are in the cluster now."""
    found = []
    for node in ray.nodes():
        if node["Alive"]:
            amounts = node["Resources"]
            name = node["NodeManagerHostname"] or node["NodeName"]
            found.append(RayNode(node["NodeID"], name, int(amounts.get("CPU", 0)), int(amounts.get("GPU", 0))))
    names = [node.name for node in found]
    return [node._replace(name=f"{node.name}-{node.key[:4]}") if names.count(node.name) > 1 else node for node in found]


class RayWorker(LeasedPlay):
    """The actor; a block of the object store arrives as an array that no copy was made of."""

    def exchange(self, message: bytes, net: Any = None) -> bytes:
        """As of `LeasedPlay`."""
        return super().exchange(message, None if net is None else memoryview(net))


class RayMatchWorker(LeasedMatches):
    """The actor of matches."""

    def exchange(self, message: bytes, net: Any = None) -> bytes:
        """As of `LeasedMatches`."""
        return super().exchange(message, None if net is None else memoryview(net))


class RayEngineWorker(LeasedEngineGames):
    """The actor of matches with engines."""

    def exchange(self, message: bytes, net: Any = None) -> bytes:
        """As of `LeasedEngineGames`."""
        return super().exchange(message, None if net is None else memoryview(net))


class RayFleet:
    """The machines of the cluster that this process is connected to. `check` raises for one that cannot be used.

    `worker` is the class of the actors, and `engines` what every machine is asked about.
    """

    def __init__(
        self,
        device: str,
        check: Callable[[RayNode, MachineFacts], None],
        worker: type[Any] = RayWorker,
        engines: Sequence[EngineQuestion] = (),
    ) -> None:
        self.device = device
        self.check = check
        self.worker = worker
        self.engines = engines
        self._good: dict[str, bool] = {}  # machines that have answered
        self._probes: dict[str, Any] = {}
        self._notices: list[str] = []
        self._nodes: dict[str, RayNode] = {}
        self._actors: dict[str, Any] = {}
        self._calls: dict[Any, str] = {}  # worker by reference of its report

    # -- machines -----------------------------------------------------------------------------------------------------

    def check_all(self) -> None:
        """Ask every machine of the cluster, and raise `ClusterError` for the first that cannot be used.

        One that leaves meanwhile is left out: Ray lists a machine that was lost for some seconds.
        """
        nodes = ray_nodes()
        for node in nodes:
            self._probe(node)
        for node in nodes:
            if node.key in self._probes:
                ready, _ = ray.wait([self._probes[node.key]], timeout=PROBE_SECONDS)
                if not ready:
                    raise ClusterError(
                        f"{node.name} has not answered for {PROBE_SECONDS:.0f} s; is its disk or CPU busy?"
                    )
                self._judge(node)

    def seats(self) -> list[Seat]:
        """Return the seats of the machines that can be used; a machine that has joined is asked first."""
        found = []
        self._nodes = {node.key: node for node in ray_nodes()}
        for node in self._nodes.values():
            if node.key not in self._good:
                self._probe(node)
                if ray.wait([self._probes[node.key]], timeout=0)[0]:
                    try:
                        self._judge(node)
                    except SelfmateError as error:
                        self._good[node.key] = False
                        self._notices.append(f"A machine is not used: {one_line(str(error))}")
            if self._good.get(node.key):
                found += node.seats(self.device)
        return found

    def notices(self) -> list[str]:
        """Return lines about machines that cannot be used, each once."""
        lines, self._notices = self._notices, []
        return lines

    def _probe(self, node: RayNode) -> None:
        if node.seats(self.device) and node.key not in self._probes:
            remote = ray.remote(make_probe(self.engines)).options(
                num_cpus=0, max_retries=0, scheduling_strategy=_on(node.key), runtime_env=None
            )
            self._probes[node.key] = remote.remote()
        elif not node.seats(self.device):
            self._good[node.key] = False

    def _judge(self, node: RayNode) -> None:
        """Read the answer of a machine; raise `SelfmateError` if it cannot be used, or has not given one.

        A machine that has left the cluster is not used either, without an error.
        """
        try:
            answer = ray.get(self._probes[node.key], timeout=GET_SECONDS)
        except RayError as error:
            if node.key not in {each.key for each in ray_nodes()}:
                self._good[node.key] = False
                return
            reason = one_line(str(error.cause) if isinstance(error, RayTaskError) else str(error))
            raise ClusterError(
                f"{node.name} cannot be asked what it has ({reason}); stop Ray there, and start it again", node.name
            ) from None
        self.check(node, read_facts(answer))
        self._good[node.key] = True

    # -- workers ------------------------------------------------------------------------------------------------------

    def put(self, data: bytes) -> Any:
        """Store a block, one copy for each machine that needs it."""
        return ray.put(np.frombuffer(data, np.uint8))

    def start(self, worker: str, seat: Seat, setup: bytes) -> None:
        """Start an actor on the machine of the seat; it is not restarted by Ray, but by the dispatcher."""
        node = self._nodes[seat.key.partition("/")[0]]
        gpus = 0 if self.device == "cpu" else 1
        self._actors[worker] = (
            ray.remote(self.worker)
            .options(
                num_cpus=node.cpus // seat.pools,
                num_gpus=gpus,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy=_on(node.key),
            )
            .remote(setup)
        )

    def call(self, worker: str, orders: bytes, net: Any | None) -> None:
        """Send orders to a worker."""
        self._calls[self._actors[worker].exchange.remote(orders, net)] = worker

    def replies(self, seconds: float) -> list[Reply]:
        """Return the reports that there are; wait for the first, at most for `seconds`."""
        calls = list(self._calls)
        if not calls or not ray.wait(calls, timeout=seconds)[0]:
            return []
        ready, _ = ray.wait(calls, num_returns=len(calls), timeout=0)
        return [_reply(self._calls.pop(reference), reference) for reference in ready]

    def kill(self, worker: str) -> None:
        """End a worker."""
        self._calls = {reference: name for reference, name in self._calls.items() if name != worker}
        actor = self._actors.pop(worker, None)
        if actor is not None:
            with contextlib.suppress(RayError):
                ray.kill(actor, no_restart=True)

    def close(self) -> None:
        """End all workers."""
        for worker in list(self._actors):
            self.kill(worker)


def _on(node: str) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node, soft=False)


def _reply(worker: str, reference: Any) -> Reply:
    try:
        return Reply(worker, ray.get(reference, timeout=GET_SECONDS), "")
    except RayTaskError as error:
        return Reply(worker, None, one_line(f"{type(error.cause).__name__}: {error.cause}"))
    except RayActorError as error:
        return Reply(worker, None, _why_gone(error))
    except (GetTimeoutError, RayError) as error:
        return Reply(worker, None, one_line(f"{type(error).__name__}: {error}"))


def _why_gone(error: RayActorError) -> str:
    """Return why an actor has ended, in a few words."""
    text = str(error)
    if "node" in text.lower() and ("died" in text or "dead" in text or "terminated" in text):
        return "its machine has left"
    if "OOM" in text or "out of memory" in text.lower():
        return "its process ran out of memory"
    return "its process has ended"
