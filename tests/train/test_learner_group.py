"""Two processes that share every batch make the steps of one that has it all."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from selfmate import SelfmateError
from selfmate._core import Buffer, Pool, SearchConfig, SelfPlayConfig
from selfmate.nn.config import GARDNER, NetConfig
from selfmate.nn.net import Net
from selfmate.recipe.reader import change, load, smoke
from selfmate.recipe.schema import LearnerPart
from selfmate.rundir.format import MOMENT_PREFIX, read_state
from selfmate.train.batch import as_tensors
from selfmate.train.growth import grown_learner
from selfmate.train.learner import Diverged, Learner
from selfmate.train.learner_group import LearnersError, part_of_batch
from selfmate.train.learner_processes import LearnerProcesses, check_learners, learner_processes

pytestmark = pytest.mark.usefixtures("one_thread")

RECIPE = smoke(load("gardner-laptop"))
CONFIG = NetConfig.sized(GARDNER, "tiny", blocks=2, channels=8)
HEADS = ("soft_weight=0.5", "reply_weight=0.3", "ahead_weight=0.7")
SGD = ("optimizer=sgd", "learning_rate=0.1", "warmup=0", "momentum=0.9", "weight_decay=0.0")
PATIENCE = 240


def part(*settings: str) -> LearnerPart:
    return change(RECIPE, [f"learner.{setting}" for setting in ("batch=32", *settings)]).learner


def make(group: LearnerProcesses | None, *settings: str) -> Learner:
    return Learner(Net(CONFIG, seed=3), part(*settings), seed=5, group=group)


def tensors_of(learner: Learner) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in learner._tensors().items()}


@pytest.fixture(scope="module")
def games() -> Buffer:
    """Games of which some are cut off, so that some positions have no value to learn."""
    pool = Pool(
        "gardner",
        SearchConfig(gumbel=True),
        SelfPlayConfig(visits=8, fast_visits=4, full_probability=1, random_plies=2, temperature=1, max_plies=24),
        seed=1,
        threads=1,
    )
    pool.start(0, 60)
    pool.run("heuristic-1")
    buffer = Buffer("gardner", 10_000, 1)
    for game in pool.drain():
        buffer.add(game)
    return buffer


@pytest.fixture(scope="module")
def group() -> Iterator[LearnerProcesses]:
    with learner_processes(2, "cpu") as made:
        assert made is not None
        yield made


def difference(first: dict[str, Tensor], second: dict[str, Tensor], least: float = 1e-3) -> float:
    """Return the largest difference of two learners' tensors, each relative to its largest number, or to `least`."""
    assert first.keys() == second.keys()
    return max(
        float((first[name] - second[name]).abs().max() / first[name].abs().max().clamp(min=least)) for name in first
    )


NOISE = 1e-5


@pytest.mark.parametrize(
    "settings",
    [
        SGD,
        (*SGD, "clip=0.05", "weigh_by='game'", *HEADS),
        (*SGD, "weigh_by='ply'", "value_loss='mse'", "smoothing=0.1", "ema=0.5"),
    ],
)
def test_steps_are_those_of_one_process(games: Buffer, group: LearnerProcesses, settings: tuple[str, ...]) -> None:
    """Weights, running statistics, average, momentum and the losses that are shown, after one step and after four."""
    one, two = make(None, *settings), make(group, *settings)
    start = tensors_of(one)
    for goal in (1, 4):
        alone, shared = one.learn(games, goal, cycle=0), two.learn(games, goal, cycle=0)
        assert alone is not None
        assert shared is not None
        assert tuple(shared) == pytest.approx(tuple(alone), rel=1e-4, abs=1e-6)
        assert difference(tensors_of(one), tensors_of(two)) < NOISE
    # The comparison can fail: the steps have changed every kind of tensor by far more than the noise.
    after = tensors_of(one)
    for kind in ("running_mean", "running_var", "norm.weight", "conv.weight", "norm.bias"):
        names = [name for name in start if name.startswith("net.") and name.endswith(kind)]
        assert difference({name: start[name] for name in names}, {name: after[name] for name in names}) > 100 * NOISE


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_moments_are_those_of_one_process(games: Buffer, group: LearnerProcesses, optimizer: str) -> None:
    """These optimizers divide by the size of a gradient, and make full steps of one that is nothing but rounding."""
    one, two = (make(each, f"optimizer={optimizer}", "warmup=0", "clip=1.0") for each in (None, group))
    for each in (one, two):
        each.learn(games, 1, cycle=0)
    moments = [
        {name: tensor for name, tensor in tensors_of(each).items() if name.startswith(MOMENT_PREFIX)}
        for each in (one, two)
    ]
    assert len(moments[0]) > 20
    assert difference(moments[0], moments[1], least=1e-4) < NOISE
    losses = [each.learn(games, 6, cycle=0) for each in (one, two)]
    assert losses[0] is not None
    assert losses[1] is not None
    assert tuple(losses[1]) == pytest.approx(tuple(losses[0]), rel=0.02)


def test_parts_of_a_batch_are_all_of_it_once(games: Buffer) -> None:
    batch = as_tensors(games.sample(32, 9))
    parts = [part_of_batch(batch, place, 4) for place in range(4)]
    assert [each.bits.shape[0] for each in parts] == [8] * 4
    for whole, *pieces in zip(batch, *parts, strict=True):
        assert torch.equal(torch.cat(pieces), whole)


def test_the_other_process_has_no_state_of_its_own(games: Buffer, group: LearnerProcesses, tmp_path: Path) -> None:
    """A save in the middle changes nothing, to the bit, though another learner has used the processes meanwhile."""
    settings = ("optimizer=adamw", *HEADS)
    straight, first, second = (make(group, *settings) for _ in range(3))
    straight.learn(games, 6, cycle=0)
    first.learn(games, 3, cycle=0, first=0)
    first._span = straight._span
    first.save(tmp_path)
    make(group, *SGD).learn(games, 2, cycle=0)
    second.restore(tmp_path)
    second.learn(games, 6, cycle=0, first=0)
    expected, found = tensors_of(straight), tensors_of(second)
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_a_learner_diverges_and_learns_on(games: Buffer, group: LearnerProcesses, tmp_path: Path) -> None:
    """A loss that is not finite in the other process's part ends the steps of both; then both begin again."""
    learner = make(group, *SGD)
    learner.save(tmp_path)

    def spoil(samples: object) -> None:
        samples.root_value[-1] = float("nan")  # type: ignore[attr-defined]  # the last row: of the other process

    learner.adjust = spoil
    with pytest.raises(Diverged):
        learner.learn(games, 3, cycle=0)
    learner.adjust = lambda samples: None
    learner.restore(tmp_path)
    learner.learn(games, 3, cycle=0)
    straight = make(group, *SGD)
    straight.learn(games, 3, cycle=0)
    assert difference(tensors_of(straight), tensors_of(learner)) == 0


def test_a_net_that_grows_is_shared(games: Buffer, group: LearnerProcesses) -> None:
    larger = NetConfig.sized(GARDNER, "tiny", blocks=3, channels=12)
    grown = []
    for each in (None, group):
        learner = make(each, *SGD)
        learner.learn(games, 2, cycle=0)
        learner = grown_learner(learner, larger, 1)
        learner.learn(games, 4, cycle=1)
        grown.append(tensors_of(learner))
    assert difference(grown[0], grown[1]) < 1e-4


def test_what_cannot_be_shared_is_refused() -> None:
    check_learners(1, "cpu", part("batch=33"))
    check_learners(3, "cpu", part("batch=33"))
    with pytest.raises(SelfmateError, match=r"a batch of 33 has no 2 equal parts; --set learner.batch=34 has"):
        check_learners(2, "cpu", part("batch=[[0, 32], [5, 33]]"))
    with pytest.raises(SelfmateError, match="torch sees"):
        check_learners(16, "cuda", part("batch=32"))


def test_a_process_that_is_lost_is_said_in_one_line(games: Buffer, group: LearnerProcesses) -> None:
    """The last test that uses the processes of this module."""
    learner = make(group, *SGD)
    learner.learn(games, 1, cycle=0)
    group._others[0].kill()
    group._others[0].wait()
    with pytest.raises(LearnersError, match=r"^(a process of the learner is lost|learner process 1 has ended) \(.*\);"):
        learner.learn(games, 3, cycle=0)


# -- a run ------------------------------------------------------------------------------------------------------------


def command(directory: Path) -> list[str]:
    words = [sys.executable, "-m", "selfmate", "train", "gardner-laptop", "--smoke", "--device", "cpu"]
    settings = ("selfplay.cycles=3", "selfplay.games=40", "learner.reuse=8", "gate.games=0", "gate.final_games=0")
    words += [word for setting in settings for word in ("--set", setting)]
    return [*words, "--learners", "2", "--run", str(directory)]


def digest(directory: Path) -> dict[str, str]:
    files = [path for part in ("games", "checkpoints", "learner") for path in (directory / part).rglob("*")]
    return {
        path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(files)
        if path.is_file()
    }


def others_of(driver: int) -> list[int]:
    """Return the other learners of a run, by its process."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if b"selfmate.train.learner_processes" in words and parent == driver:
            found.append(int(folder.name))
    return found


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: object, what: str) -> None:
    assert callable(condition)
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, which Linux has")
def test_a_run_that_is_killed_resumes_bit_for_bit(tmp_path: Path) -> None:
    """It leaves no other learner behind."""
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    subprocess.run(command(straight), check=True, capture_output=True, timeout=PATIENCE)
    driver = subprocess.Popen(command(killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: others_of(driver.pid), "the other learner has started")
        (other,) = others_of(driver.pid)
        wait_for(lambda: (killed / "state.json").exists() and read_state(killed).cycle > 0, "a cycle is committed")
        driver.kill()
        driver.wait(PATIENCE)
    finally:
        driver.kill()
    wait_for(lambda: not is_running(other), "the other learner has ended")
    assert read_state(killed).cycle < 3
    subprocess.run(command(killed), check=True, capture_output=True, timeout=PATIENCE)
    assert read_state(killed).cycle == 3
    assert read_state(killed).goal > 4
    assert digest(killed) == digest(straight)
