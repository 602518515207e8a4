"""What only a GPU can show; without one these tests are skipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from named_nets import KINDS, named_net
from selfmate import _core
from selfmate._core import Buffer, Pool, SearchConfig, SelfPlayConfig
from selfmate.evaluator.base import Evaluation
from selfmate.evaluator.torch import TorchEvaluator
from selfmate.nn.checkpoint import save
from selfmate.nn.config import NetConfig
from selfmate.nn.encodings import encoding_of
from selfmate.nn.leaves import LeafBatch
from selfmate.nn.net import Net
from selfmate.recipe.reader import change, load
from selfmate.search.driver import drive
from selfmate.train.learner import Learner
from selfmate.train.session import Summary, train
from uci_process import Uci, best_move, field, infos, said

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU")


def some_net(variant: str = "atomic", seed: int = 3) -> Net:
    net = Net(NetConfig.sized(_core.encoding(variant), "tiny"), seed=seed)
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in net.state_dict().items():  # away from the silence of an untrained net
        if name.endswith("weight") and tensor.ndim >= 2:
            tensor.add_(0.05 * torch.randn(tensor.shape, generator=generator))
    return net


def some_pool(variant: str, slots: int, lanes: int = 1, seed: int = 1) -> Pool:
    pool = Pool(
        variant,
        SearchConfig(),
        SelfPlayConfig(visits=16, full_probability=1, random_plies=20, temperature=0),
        seed=seed,
        slots=slots,
        lanes=lanes,
        threads=2,
    )
    pool.start(0, slots)
    return pool


def some_buffer() -> Buffer:
    pool = some_pool("atomic", 64)
    pool.run("heuristic-1")
    buffer = Buffer("atomic", 100000, 2)
    for record in pool.drain():
        buffer.add(record)
    return buffer


def near(first: Evaluation, second: Evaluation, tolerance: float) -> bool:
    pairs: list[tuple[Any, Any]] = [(first.priors, second.priors), (first.wdl, second.wdl)]
    if first.plies is not None and second.plies is not None:
        pairs.append((first.plies / 100, second.plies / 100))
    return all(np.abs(a - b).max() < tolerance for a, b in pairs)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_net(kind: str, compiled: bool) -> None:
    """Also by self-play, whose leaves are written into pinned memory."""
    net = named_net(kind)
    encoding = encoding_of(net.config)
    selfplay = SelfPlayConfig(visits=8, full_probability=1, random_plies=8, temperature=0, max_plies=40)
    pool = Pool("gardner", SearchConfig(), selfplay, seed=1, slots=600, threads=2, encoding=encoding)
    pool.start(0, 600)
    on_gpu = TorchEvaluator(net, device="cuda", compile=compiled)
    leaves = pool.gather()
    assert near(on_gpu.evaluate(leaves), TorchEvaluator(net).evaluate(leaves), 0.15)
    pool.apply_native(leaves.ticket, "uniform")
    drive(pool, [on_gpu], lanes=1)
    assert len(pool.drain()) == 600


@pytest.mark.parametrize(
    ("variant", "compiled"),
    [
        ("atomic", False),
        ("gardner", False),
        ("antichess", False),
        pytest.param("atomic", True, id="atomic-compiled"),
    ],
)
def test_the_gpu_says_what_the_processor_says(variant: str, compiled: bool) -> None:
    net = some_net(variant)
    leaves = some_pool(variant, 700).gather()
    expected = TorchEvaluator(net).evaluate(leaves)
    exact = TorchEvaluator(net, device="cuda", precision="f32", compile=compiled)
    assert near(exact.evaluate(leaves), expected, 5e-3)
    assert near(TorchEvaluator(net, device="cuda", compile=compiled).evaluate(leaves), expected, 0.1)
    encoding = _core.encoding(variant)
    batch = LeafBatch.of(leaves, encoding.bitboards, encoding.scalars, encoding.policy_size)
    for size in (1, 31, 33, 500):
        part = exact.evaluate(batch.take(slice(0, size)))
        assert near(part, expected.rows(slice(0, size)), 5e-3), size


def test_a_lane_gathers_and_evaluates() -> None:
    """The leaves that a pool writes into pinned memory are those that it gives otherwise."""
    evaluator = TorchEvaluator(some_net(), device="cuda")
    plain, into = some_pool("atomic", 300), some_pool("atomic", 300)
    lane = evaluator.lane(into.lane_rows)
    for _ in range(5):
        leaves, pinned = plain.gather(), lane.gather(into, 0)
        assert leaves.size == pinned.size
        expected, answer = evaluator.evaluate(leaves), lane.evaluate(pinned)
        assert answer.plies is None
        width = answer.priors.shape[1]
        assert width < expected.priors.shape[1]
        assert not expected.priors[:, width:].any()
        assert near(answer, expected._replace(priors=expected.priors[:, :width]), 1e-2)
        plain.apply(leaves.ticket, expected.priors, expected.wdl)
        into.apply(pinned.ticket, np.ascontiguousarray(expected.priors[:, :width]), expected.wdl)


def test_many_lanes_play_all_games() -> None:
    pool = some_pool("gardner", 200, lanes=3)
    pool.start(200, 300)
    drive(pool, [TorchEvaluator(some_net("gardner"), device="cuda")], lanes=3)
    assert sorted(record.game_id for record in pool.drain()) == list(range(500))


def test_a_lane_that_begins_while_the_gpu_is_busy() -> None:
    """A learner has its work in the current stream; weights and buffers of a new evaluator must not come after it."""
    leaves = some_pool("atomic", 300).gather()
    expected = TorchEvaluator(some_net()).evaluate(leaves)
    torch.cuda._sleep(2_000_000_000)  # type: ignore[no-untyped-call]  # cycles of the GPU, about a second
    assert near(TorchEvaluator(some_net(), device="cuda").evaluate(leaves), expected, 0.1)


def test_other_weights() -> None:
    evaluator = TorchEvaluator(some_net(seed=3), device="cuda")
    leaves = some_pool("atomic", 100).gather()
    before = evaluator.evaluate(leaves)
    evaluator.replace(some_net(seed=4))
    expected = TorchEvaluator(some_net(seed=4), device="cuda").evaluate(leaves)
    assert near(evaluator.evaluate(leaves), expected, 1e-2)
    assert not near(before, expected, 1e-2)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_learning(compiled: bool) -> None:
    buffer, part = some_buffer(), change(load("atomic-laptop"), ["learner.batch=256"]).learner
    exact = Learner(some_net(), part, seed=1)
    learner = Learner(some_net(), part, seed=1, device="cuda", compile=compiled)
    first, second = exact.learn(buffer, 20, 0), learner.learn(buffer, 20, 0)
    assert first is not None
    assert second is not None
    assert learner.step == 20
    assert np.abs(np.array(first) - np.array(second)).max() < 0.1


def test_a_restored_learner_goes_on(tmp_path: Path) -> None:
    """The graphs of a learner hold its memory; after a restore they must be those of the new state."""
    buffer, part = some_buffer(), change(load("atomic-laptop"), ["learner.batch=256"]).learner
    learner = Learner(some_net(), part, seed=1, device="cuda")
    learner.learn(buffer, 10, 0)
    learner.save(tmp_path)
    first = learner.learn(buffer, 30, 0)
    learner.restore(tmp_path)
    again = learner.learn(buffer, 30, 0)
    other = Learner(some_net(seed=9), part, seed=1, device="cuda")
    other.restore(tmp_path)
    elsewhere = other.learn(buffer, 30, 0)
    assert first is not None
    assert again is not None
    assert elsewhere is not None
    assert np.abs(np.array(first) - np.array(again)).max() < 0.01
    assert np.abs(np.array(first) - np.array(elsewhere)).max() < 0.01


def test_a_run_plays_and_learns_on_one_gpu(tmp_path: Path) -> None:
    """Lanes of self-play and a learner that compiles and captures share the card; what is in flight is taken up."""
    settings = ["selfplay.slots=600", "selfplay.leaves=1", "selfplay.games=200", "selfplay.visits=8", "gate.games=0"]
    settings += ["selfplay.cycles=5", "learner.batch=128", "learner.window=20000", "gate.final_games=0"]
    settings += ["progress.games=0", "learner.weight_decay=[[0, 1e-4], [2, 1e-5]]"]  # new constants: a new graph

    def go(cycles: int) -> Summary:
        return train(
            "gardner-laptop", tmp_path / "run", overrides=[*settings, f"selfplay.cycles={cycles}"], device="cuda"
        )

    assert go(3).cycle == 3
    again = go(5)
    assert (again.cycle, again.games) == (5, 1000)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_uci_engine_plays_on_the_gpu(tmp_path: Path, threads: int) -> None:
    save(some_net("gardner"), tmp_path / "net")
    legal = {str(move) for move in _core.Position("gardner").legal_moves}
    with Uci() as uci:
        uci.send("setoption name UCI_Variant value gardner", f"setoption name WeightsFile value {tmp_path / 'net'}")
        uci.send("setoption name Backend value cuda", f"setoption name Threads value {threads}")
        assert any("plays gardner (torch bf16 on cuda" in text for text in said(uci.ready()))
        lines = uci.ask("go nodes 3000")  # batches of 8 leaves and of more
        assert best_move(lines) in legal
        assert field(infos(lines)[-1], "nodes") == "3000"
        assert best_move(uci.ask("ucinewgame", "position startpos", "go wtime 2000 btime 2000")) in legal
        uci.send("go infinite")
        uci.until("info depth")
        assert best_move(uci.ask("stop")) in legal
        assert uci.quit() == 0
        assert not uci.errors


def test_the_uci_engine_opens_the_shipped_net_on_the_gpu() -> None:
    with Uci() as uci:
        uci.send("setoption name UCI_Variant value gardner", "setoption name Backend value cuda")
        assert any("shipped net" in text and "on cuda" in text for text in said(uci.ready()))
        assert uci.ask("go movetime 200")[-1].startswith("bestmove")
