"""Nets computed by the core: the numbers of torch, for every shape, and by a bit the same in any company."""

from __future__ import annotations

import dataclasses
import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from nets import close, equal, some_leaves, some_net
from selfmate._core import CpuNet, cpu_kernels
from selfmate.errors import EvaluatorError
from selfmate.evaluator.torch import TorchEvaluator
from selfmate.evaluator.winograd import WinogradEvaluator, cpu_layer, cpu_net
from selfmate.nn.architecture import folded_tensors, layers
from selfmate.nn.checkpoint import TENSORS_NAME, WeightsError, save, tensors_of
from selfmate.nn.config import GARDNER, Context, FixedFacts, NetConfig
from selfmate.nn.leaves import LeafBatch
from selfmate.nn.net import Net, rounded

CHESS = FixedFacts("chess", 8, 8, 16, 4, 73)


@pytest.mark.parametrize("context", ["se", "pool", "none"])
@pytest.mark.parametrize("facts", [GARDNER, CHESS])
def test_answers_are_those_of_torch(context: Context, facts: FixedFacts) -> None:
    net = some_net(context, facts=facts)
    leaves = some_leaves(37, net.config.policy_size)
    expected = TorchEvaluator(net).evaluate(leaves)
    answer = WinogradEvaluator(net, threads=1).evaluate(leaves)
    assert close(answer, expected, 1e-4)
    assert np.abs(answer.priors.sum(1) - (leaves.counts > 0)).max() < 1e-5
    assert not answer.priors[np.arange(answer.priors.shape[1]) >= leaves.counts[:, None]].any()
    assert len({float(each) for each in expected.wdl[:, 0]}) > 30  # the net has an opinion


@pytest.mark.parametrize(("ranks", "files"), [(1, 1), (1, 8), (3, 4), (4, 5), (5, 6), (6, 6), (7, 5), (8, 3)])
def test_boards_of_any_size(ranks: int, files: int) -> None:
    facts = FixedFacts("any", files, ranks, 16, 4, 20)
    net = some_net("none", facts=facts)
    random = np.random.default_rng(3)
    batch = LeafBatch(
        random.integers(0, 1 << 63, (9, 16), np.uint64),
        random.random((9, 4), np.float32),
        random.integers(0, 20 * ranks * files, (9, 12)).astype(np.uint16),
        np.full(9, 12, np.uint16),
        np.arange(9, dtype=np.uint64),
    )
    assert close(WinogradEvaluator(net, threads=1).evaluate(batch), TorchEvaluator(net).evaluate(batch), 1e-4)


@pytest.mark.parametrize(
    "sizes",
    [
        {"blocks": 1, "channels": 1, "policy_channels": 1, "value_channels": 1},
        {"blocks": 1, "channels": 33, "policy_channels": 5, "value_channels": 40},
        {"blocks": 3, "channels": 96, "policy_channels": 64, "value_channels": 32},
    ],
)
def test_nets_of_any_width(sizes: dict[str, int]) -> None:
    for context in ("se", "pool", "none"):
        net = Net(NetConfig.sized(CHESS, "tiny", context=context, **sizes), seed=3).eval()
        leaves = some_leaves(5, net.config.policy_size)
        assert close(WinogradEvaluator(net).evaluate(leaves), TorchEvaluator(net).evaluate(leaves), 1e-4), context


@pytest.mark.parametrize("facts", [GARDNER, CHESS])
def test_answers_do_not_depend_on_the_batch_by_a_bit(facts: FixedFacts) -> None:
    """Neither on its size, nor on the place in it, nor on threads: a run on a CPU can be repeated."""
    net = some_net(facts=facts)
    leaves = some_leaves(41, net.config.policy_size)
    whole = WinogradEvaluator(net, threads=1).evaluate(leaves)
    for threads, sizes in itertools.product((1, 2, 3), ([1] * 41, [40, 1], [8, 33], [7, 13, 21])):
        evaluator = WinogradEvaluator(net, threads=threads)
        begin = 0
        for size in sizes:
            rows = slice(begin, begin + size)
            answer = evaluator.evaluate(leaves.take(rows))
            assert equal(answer, whole.rows(rows))
            begin += size
    backwards = WinogradEvaluator(net, threads=1).evaluate(leaves.take(np.arange(40, -1, -1)))
    assert equal(backwards.rows(slice(None, None, -1)), whole)


def test_many_threads_may_ask_at_once() -> None:
    nets = [some_net(seed=1), some_net("pool", seed=2, facts=CHESS)]
    evaluators = [WinogradEvaluator(net, threads=1) for net in nets]
    batches = [[some_leaves(size, net.config.policy_size, seed=size) for size in (1, 9, 30)] for net in nets]
    expected = [
        [evaluator.evaluate(batch) for batch in mine] for evaluator, mine in zip(evaluators, batches, strict=True)
    ]
    work = list(itertools.product(range(2), range(3))) * 20
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda each: evaluators[each[0]].evaluate(batches[each[0]][each[1]]), work))
    assert all(equal(answer, expected[one][two]) for answer, (one, two) in zip(answers, work, strict=True))


def test_an_empty_batch_has_an_empty_answer() -> None:
    answer = WinogradEvaluator(some_net()).evaluate(some_leaves(2).take(slice(0, 0)))
    assert [array.shape for array in answer if array is not None] == [(0, 128), (0, 3), (0,)]


def test_a_folder_needs_nothing_but_its_tensors(tmp_path: Any) -> None:
    net = some_net()
    card = save(net, tmp_path / "net")
    evaluator = WinogradEvaluator(tmp_path / "net", threads=1)
    assert (evaluator.net_id, evaluator.variant) == (card.net_id, "gardner")
    assert cpu_kernels() in evaluator.name
    leaves = some_leaves(4)
    assert equal(evaluator.evaluate(leaves), WinogradEvaluator(net, threads=1).evaluate(leaves))
    path = tmp_path / "net" / TENSORS_NAME
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(WeightsError, match="checksum mismatch"):
        WinogradEvaluator(tmp_path / "net")


def test_wrong_leaves_are_refused() -> None:
    net = some_net()
    evaluator = WinogradEvaluator(net, threads=1)
    with pytest.raises(EvaluatorError, match="do not fit a net"):
        evaluator.evaluate(dataclasses.replace(some_leaves(3), bits=np.zeros((3, 15), np.uint64)))
    with pytest.raises(EvaluatorError, match="beyond the 1225"):
        evaluator.evaluate(some_leaves(3, policy_size=5000))
    core = cpu_net(net.config, tensors_of(net))
    leaves = some_leaves(3)
    out = (np.zeros((3, 128), np.float32), np.zeros((3, 3), np.float32), np.zeros(3, np.float32))
    for bad in (leaves.moves + np.uint16(5000), leaves.moves[:2]):
        with pytest.raises(ValueError, match="do not fit"):
            core.evaluate(leaves.bits, leaves.scalars, bad, leaves.counts, *out)


def test_layers_that_do_not_fit_are_refused() -> None:
    config = some_net("se").config
    weights = folded_tensors(config, tensors_of(some_net("se")))
    specs = {layer.name: layer for layer in layers(config)}

    def build(ranks: int = 5, **changed: dict[str, Any]) -> CpuNet:
        """Make the net with some fields of some layers changed; a layer that is changed to {} is left out."""
        made = []
        for name, spec in specs.items():
            change = changed.get(name.replace(".", "_"))
            if change != {}:
                made.append(cpu_layer(spec._replace(**(change or {})), *weights[name]))
        sizes: dict[str, Any] = {"files": config.files, "bitboards": config.bitboards, "scalars": config.scalars}
        return CpuNet(ranks=ranks, planes=config.planes, plies_unit=32.0, layers=made, **sizes)

    build()
    refused: list[tuple[dict[str, Any], str]] = [
        ({"ranks": 9}, "ranks and files"),
        ({"stem": {"kind": "attention"}}, "stem: unknown kind"),
        ({"stem": {"kernel": 5}}, "stem: the kernel"),
        ({"stem": {"activation": "mish"}}, "stem: unknown activation"),
        ({"stem": {"pooling": "mean"}}, "stem: unknown pooling"),
        ({"stem": {"inputs": 20}}, "stem: the tensors are not of its shape"),
        ({"stem": {"writes": "planes"}}, "stem: writes the input"),
        ({"stem": {}}, "blocks.0.first: reads a register that was not written"),
        ({"blocks_1_first": {"reads": "planes"}}, "blocks.1.first: does not fit the register"),
        ({"blocks_0_context_squeeze": {"pooling": "none"}}, "squeeze: does not fit the register"),
        ({"blocks_0_context_excite": {"onto": ""}}, "excite: scale_shift and shift, and only these"),
        ({"blocks_0_context_excite": {"residual": "planes"}}, "excite: the board that it changes or adds"),
        ({"policy_reduce": {"residual": "trunk"}}, "policy.reduce: no residual"),
        ({"value_wdl": {"activation": "relu"}}, "value.wdl: an output of another form"),
        ({"value_plies": {"writes": "vector"}}, "no layer writes the output plies"),
        ({"policy_planes": {}}, "no layer writes the output policy"),
    ]
    for change, message in refused:
        with pytest.raises(ValueError, match=message):
            build(**change)


def test_a_rounded_net_answers_nearly_as_before() -> None:
    net = some_net()
    leaves = some_leaves(20)
    before, after = (WinogradEvaluator(each, threads=1).evaluate(leaves) for each in (net, rounded(net)))
    assert 0 < np.abs(before.wdl - after.wdl).max() < 0.05
    with torch.no_grad():
        again = rounded(rounded(net))
    assert equal(WinogradEvaluator(again, threads=1).evaluate(leaves), after)
