"""Training on a real cluster of Ray: two nodes of this machine, some of whose processes are killed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from network_namespaces import NetworkPair, why_not
from ray_cluster import RayCluster, ray_cluster
from selfmate.rundir.format import read_state

pytest.importorskip("ray", reason="Ray is not installed; run: make testray")
pytestmark = pytest.mark.ray

SETTINGS = ("selfplay.cycles=3", "selfplay.games=150", "selfplay.slots=8", "gate.games=0", "gate.final_games=0")
COMMON = ["--smoke", "--device", "cpu", *(word for setting in SETTINGS for word in ("--set", setting))]
PATIENCE = 240
"""Seconds for what takes a few on a free machine."""


def command(directory: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "selfmate", "train", "gardner-laptop", "--run", str(directory), *COMMON, *more]


def digest(directory: Path) -> dict[str, str]:
    """Return the sha256 of every game, checkpoint and learner of a run."""
    files = [path for part in ("games", "checkpoints", "learner") for path in (directory / part).rglob("*")]
    return {
        path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(files)
        if path.is_file()
    }


def games_of(directory: Path) -> int:
    return read_state(directory).games if (directory / "state.json").exists() else 0


def wait_for(condition: object, driver: subprocess.Popen[str], what: str) -> None:
    assert callable(condition)
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert driver.poll() is None, f"the driver has ended before: {what}\n{driver.communicate()}"
        if time.monotonic() > deadline:
            driver.kill()
            raise AssertionError(f"not within {PATIENCE} s: {what}\n{driver.communicate()}")
        time.sleep(0.02)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    """Two nodes in two network namespaces, where those can be made; else in one."""
    folder = tmp_path_factory.mktemp("ray")
    with contextlib.ExitStack() as stack:
        network = None if why_not() else stack.enter_context(NetworkPair())
        yield stack.enter_context(ray_cluster(folder, nodes=2, network=network))


def test_the_nodes_are_in_two_network_namespaces(cluster: RayCluster) -> None:
    """So that they speak over a network, as two machines do; the tests below use them."""
    if cluster.network is None:
        pytest.skip(f"network namespaces cannot be made here: {why_not()}")
    spaces = {Path(f"/proc/{node.pid}/ns/net").readlink() for node in cluster.nodes}
    assert len(spaces) == 2
    assert Path("/proc/self/ns/net").readlink() not in spaces


@pytest.mark.parametrize(
    "changes",
    [{"RAY_AUTH_TOKEN": "00" * 16}, {"RAY_AUTH_TOKEN": ""}, {"RAY_AUTH_TOKEN": "", "RAY_AUTH_MODE": "disabled"}],
    ids=["another token", "no token", "no authentication"],
)
def test_a_driver_without_the_token_is_refused_at_once(
    cluster: RayCluster, changes: dict[str, str], tmp_path: Path
) -> None:
    """In one line: Ray itself tries for a minute."""
    program = f"from selfmate.cluster.ray_fleet import connect; connect({cluster.address!r}).__enter__()"
    done = subprocess.run(
        cluster.inside([sys.executable, "-c", program]),
        env=cluster.environment | {"HOME": str(tmp_path)} | changes,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    message = f"{cluster.address}: the cluster wants another token; set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
    assert done.stderr.splitlines()[-1].startswith(f"selfmate.cluster.messages.ClusterError: {message}")
    assert "gcs_client" not in done.stderr


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without Ray."""
    directory = tmp_path_factory.mktemp("alone") / "run"
    subprocess.run(command(directory), check=True, capture_output=True, timeout=PATIENCE)
    return directory


def test_a_run_with_killed_workers_and_a_killed_node_is_the_run_of_one_machine(
    cluster: RayCluster, alone: Path, tmp_path: Path
) -> None:
    """Bit for bit: games, nets and learner."""
    directory = tmp_path / "run"
    driver = subprocess.Popen(
        cluster.inside(command(directory, "--ray", cluster.address)),
        env=cluster.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_for(lambda: len(cluster.workers()) == 2, driver, "two workers")
        wait_for(lambda: games_of(directory) > 0, driver, "the first games")
        for worker in cluster.workers():  # all of them: the run cannot end without another in their place
            os.kill(worker, signal.SIGKILL)
        cluster.kill(cluster.nodes[-1])
        out, _ = driver.communicate(timeout=PATIENCE)
    finally:
        driver.kill()
    assert driver.returncode == 0, out
    assert "2 workers on 2 machines (cpu)" in out
    assert "Lost worker" in out
    assert digest(directory) == digest(alone)


def test_a_killed_driver_resumes_where_its_last_commit_was(cluster: RayCluster, alone: Path, tmp_path: Path) -> None:
    """A driver that was killed leaves no worker behind; one that was interrupted saves its games in flight."""
    directory = tmp_path / "run"
    for number in (signal.SIGKILL, signal.SIGINT):
        driver = subprocess.Popen(
            cluster.inside(command(directory, "--ray", cluster.address)),
            env=cluster.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        before = games_of(directory)
        wait_for(lambda before=before: games_of(directory) > before, driver, "more games")
        driver.send_signal(number)
        out, _ = driver.communicate(timeout=PATIENCE)
        assert driver.returncode == (-signal.SIGKILL if number is signal.SIGKILL else 130), out
        deadline = time.monotonic() + PATIENCE
        while cluster.workers():
            assert time.monotonic() < deadline, "a worker outlives its driver"
            time.sleep(0.05)
    assert f"--ray {cluster.address}" in out
    done = subprocess.run(
        cluster.inside(command(directory, "--ray", cluster.address)),
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert games_of(directory) == games_of(alone) == 450
    committed = {name: value for name, value in digest(directory).items() if name.startswith("checkpoints")}
    assert committed == {name: value for name, value in digest(alone).items() if name.startswith("checkpoints")}


def test_several_learners_leave_the_other_gpus_to_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray takes our word for the number of GPUs; it gives a worker one of those that the learners leave."""
    import ray

    from selfmate.cluster.ray_fleet import LOCAL, connect
    from selfmate.cluster.session import playing_gpus

    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert [playing_gpus(learners) for learners in (1, 2, 4)] == [None, ["2", "3"], None]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7,5,3,1")
    assert playing_gpus(3) == ["1"]
    with connect(LOCAL, ["5", "3"]):
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "7,5,3,1"
        assert ray.cluster_resources()["GPU"] == 2
        seen = ray.remote(lambda: os.environ["CUDA_VISIBLE_DEVICES"]).options(num_gpus=1)
        assert ray.get(seen.remote()) in ("5", "3")
