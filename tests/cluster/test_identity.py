"""What is wrong with a cluster is said in one line, before anything starts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from command import Run as Command
from selfmate.cluster.identity import MachineFacts, check_machine, describe_machine, make_probe, read_facts
from selfmate.cluster.messages import ClusterError, pack_net, unpack_net
from selfmate.errors import SelfmateError
from selfmate.recipe.reader import change, load

OURS = MachineFacts(python="3.11.7", selfmate="0.1.0", sources="5bbd0c", memory=16 << 30, gpus=1)
RECIPE = change(load("gardner-laptop"), ["selfplay.visits=100000", "selfplay.slots=64"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"python": "3.12.1"}, "node2 has Python 3.12.1, this machine 3.11.7; use the same on both"),
        ({"selfmate": "0.2.0"}, "node2 has Selfmate 0.2.0, this machine 0.1.0; install the same on both"),
        (
            {"sources": "aaaaaa"},
            "node2 has other sources of Selfmate 0.1.0 (aaaaaa, here 5bbd0c); install the same on both",
        ),
        (
            {"selfmate": "", "problem": "ModuleNotFoundError: No module\nnamed 'selfmate'"},
            "node2 cannot use Selfmate (ModuleNotFoundError: No module named 'selfmate'); install selfmate[ray,train] "
            "there, version 0.1.0",
        ),
        (
            {"gpus": 0},
            "node2: Ray counts a GPU there, and torch sees none; install a torch with CUDA, or give --device cpu",
        ),
        (
            {"memory": 8 << 30},
            "selfplay.visits: 64 search trees of 100,000 visits need about 9.3 GiB of memory, and node2 has 8.0 GiB; "
            "lower selfplay.visits or selfplay.slots",
        ),
    ],
)
def test_a_machine_that_differs_is_refused(changes: dict[str, Any], message: str) -> None:
    check_machine("node2", OURS, OURS, RECIPE, device="cuda", pools=1)
    facts = msgspec.structs.replace(OURS, **changes)
    with pytest.raises(SelfmateError) as caught:
        check_machine("node2", facts, OURS, RECIPE, device="cuda", pools=1)
    assert str(caught.value) == message
    if "gpus" in changes:
        check_machine("node2", facts, OURS, RECIPE, device="cpu", pools=1)


def test_the_pools_of_a_machine_share_its_memory() -> None:
    with pytest.raises(SelfmateError, match="128 search trees of 100,000 visits need about 18"):
        check_machine("node2", OURS, OURS, RECIPE, device="cpu", pools=2)


def test_a_probe_tells_about_this_machine() -> None:
    facts = read_facts(make_probe()())
    assert facts == msgspec.convert(describe_machine(), MachineFacts)
    assert len(facts.sources) == 12
    assert facts.problem == ""
    for answer in (None, "{", b"{}", '{"python": 3}'):
        with pytest.raises(ClusterError, match="the answer of a probe cannot be read"):
            read_facts(answer)


def test_a_net_that_arrives_damaged_is_refused(tmp_path: Path) -> None:
    folder, copy = tmp_path / "net", tmp_path / "copy"
    for each in (folder, copy):
        each.mkdir()
    (folder / "net.json").write_text("{}")
    name, data = pack_net(folder)
    unpack_net(name, data, copy)
    assert (copy / "net.json").read_text() == "{}"
    with pytest.raises(ClusterError, match="a net arrived damaged"):
        unpack_net(name, data[:-1] + b"]", copy)


def test_a_net_cannot_be_written_elsewhere(tmp_path: Path) -> None:
    import hashlib

    data = msgspec.msgpack.encode({"../outside": b"x"})
    with pytest.raises(msgspec.ValidationError):
        unpack_net(hashlib.sha256(data).hexdigest(), data, tmp_path)
    assert not (tmp_path.parent / "outside").exists()


def test_without_ray_the_command_says_what_to_install(tmp_path: Path) -> None:
    program = "import sys; sys.modules['ray'] = None; from selfmate.cli.main import main; main()"
    command = [sys.executable, "-c", program, "train", "gardner-laptop", "--run", str(tmp_path / "run"), "--ray"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    remedy = "pip install 'selfmate[ray]'"
    assert (done.returncode, done.stderr) == (2, f"selfmate: ray is not installed; run: {remedy}\n")
    assert not (tmp_path / "run").exists()


# -- with Ray, but without a cluster ----------------------------------------------------------------------------------


@pytest.mark.ray
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ray", "127.0.0.1:1"], "127.0.0.1:1: no cluster answers there (Connection refused); start one with: "),
        (["--ray", "ray://head:10001"], "ray://head:10001: not an address of a cluster; give HOST:PORT of its head"),
        (["--ray", "head:port"], "head:port: not an address of a cluster"),
        (["--ray", "--learn-only"], "--learn-only plays no games; leave out --ray"),
        (["--ray", "--set", "selfplay.slots=0", "--set", "selfplay.visits=1000000000"], "selfplay.visits: "),
        (["--ray", "--device", "gpu"], "unknown device 'gpu'"),
        (["--ray", "--device", "cuda"], "torch sees no GPU"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(
    run: Command, tmp_path: Path, arguments: list[str], message: str
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed; run: make testray")
    done = run("train", "gardner-laptop", "--run", tmp_path / "run", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"selfmate: {message}")
    assert done.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.ray
def test_seats_are_gpus_or_groups_of_cores() -> None:
    pytest.importorskip("ray", reason="Ray is not installed; run: make testray")
    from selfmate.cluster.ray_fleet import RayNode
    from selfmate.cluster.session import choose_device

    node = RayNode("id", "host", 20, 2)
    assert [(seat.key, seat.name, seat.lanes, seat.pools) for seat in node.seats("cpu")] == [
        ("id/0", "host.0", 6, 3),
        ("id/1", "host.1", 6, 3),
        ("id/2", "host.2", 6, 3),
    ]
    assert [seat.name for seat in node.seats("cuda")] == ["host.0", "host.1"]
    assert [seat.lanes for seat in RayNode("id", "host", 2, 0).seats("cpu")] == [2]
    assert RayNode("id", "host", 0, 0).seats("cpu") == RayNode("id", "host", 4, 0).seats("cuda") == []
    assert choose_device("auto", [node]) == "cuda"
    assert choose_device("cpu", [node]) == choose_device("auto", [RayNode("id", "host", 2, 0)]) == "cpu"
    with pytest.raises(ClusterError, match="the cluster has no GPU; --device cpu plays on its cores"):
        choose_device("cuda", [RayNode("id", "host", 2, 0)])
    with pytest.raises(ClusterError, match="no core to play on"):
        choose_device("auto", [RayNode("id", "host", 0, 0)])


@pytest.mark.ray
def test_a_machine_without_selfmate_can_be_asked(tmp_path: Path) -> None:
    """The probe travels by value."""
    cloudpickle = pytest.importorskip("ray.cloudpickle", reason="Ray is not installed; run: make testray")
    (tmp_path / "probe").write_bytes(cloudpickle.dumps(make_probe()))
    program = (
        "import sys, pickle; sys.modules['selfmate'] = None; "
        f"print(pickle.load(open({str(tmp_path / 'probe')!r}, 'rb'))())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=True)
    answer = json.loads(done.stdout)
    assert answer["python"]
    assert answer["problem"].startswith("ModuleNotFoundError: ")


@pytest.mark.ray
def test_a_machine_that_does_not_fit_is_an_error_at_first_and_left_out_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with it: memory, sources, or no answer at all."""
    pytest.importorskip("ray", reason="Ray is not installed; run: make testray")
    from ray.exceptions import RayError, WorkerCrashedError

    from selfmate.cluster import ray_fleet

    nodes = [ray_fleet.RayNode(name, name, 1, 0) for name in ("good", "small", "other", "dead")]
    answers: dict[str, object] = {
        "good": OURS,
        "small": msgspec.structs.replace(OURS, memory=1 << 30),
        "other": msgspec.structs.replace(OURS, sources="aaaaaa"),
        "dead": WorkerCrashedError(),
    }

    def get(node: str, timeout: float) -> str:
        answer = answers[node]
        if isinstance(answer, RayError):
            raise answer
        return msgspec.json.encode(answer).decode()

    def check(node: ray_fleet.RayNode, facts: MachineFacts) -> None:
        check_machine(node.name, facts, OURS, RECIPE, device="cpu", pools=1)

    def probe(fleet: ray_fleet.RayFleet, node: ray_fleet.RayNode) -> None:
        fleet._probes[node.key] = node.key

    monkeypatch.setattr(ray_fleet.RayFleet, "_probe", probe)
    monkeypatch.setattr("ray.wait", lambda probes, timeout: (probes, []))
    monkeypatch.setattr("ray.get", get)
    for bad, message in (
        ("small", "small has 1.0 GiB"),
        ("other", "other has other sources"),
        ("dead", "dead cannot be asked what it has"),
    ):
        monkeypatch.setattr(ray_fleet, "ray_nodes", lambda bad=bad: [nodes[0], *(n for n in nodes if n.name == bad)])
        with pytest.raises(SelfmateError, match=message) as caught:
            ray_fleet.RayFleet("cpu", check).check_all()
        assert "\n" not in str(caught.value)
    # A machine that Ray still lists when all are asked, and not any more when its answer is an error.
    listed = iter([[nodes[0], nodes[3]], [nodes[0]], [nodes[0]]])
    monkeypatch.setattr(ray_fleet, "ray_nodes", lambda: next(listed))
    fleet = ray_fleet.RayFleet("cpu", check)
    fleet.check_all()
    assert [seat.name for seat in fleet.seats()] == ["good"]
    assert fleet.notices() == []

    monkeypatch.setattr(ray_fleet, "ray_nodes", lambda: nodes)
    fleet = ray_fleet.RayFleet("cpu", check)
    for _ in range(2):
        assert [seat.name for seat in fleet.seats()] == ["good"]
    lines = fleet.notices()
    assert len(lines) == 3
    assert all(line.startswith("A machine is not used: ") for line in lines)
    assert fleet.notices() == []


@pytest.mark.ray
def test_what_ray_says_becomes_one_line() -> None:
    pytest.importorskip("ray", reason="Ray is not installed; run: make testray")
    from selfmate.cluster.ray_fleet import _explain

    versions = "Ray: 2.60.0\n    Python: {}\n"
    mismatch = f"The cluster was started with:\n    {versions}This process on here was started with:\n    {versions}"
    for said, line in (
        (
            f"Version mismatch: {mismatch.format('3.12.1', '3.11.7')}",
            "the cluster has Ray: 2.60.0, Python: 3.12.1, this machine Ray: 2.60.0, Python: 3.11.7; use the same "
            "on both",
        ),
        (
            "Could not find any running Ray instance. Please specify the one to connect to by setting `--address` flag",
            "this machine is in no cluster; give HOST:PORT of its head, or --ray alone for one on this machine",
        ),
        ("lost\nit", "cannot connect: lost it"),
    ):
        assert _explain(RuntimeError(said)) == line
