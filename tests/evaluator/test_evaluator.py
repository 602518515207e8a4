"""Evaluators: torch, ONNX Runtime and the cache give one answer, whatever the batch around a leaf."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from nets import CHESS, close, equal, some_leaves, some_net
from onnx_damages import ONNX_DAMAGES
from selfmate.errors import DeviceError, EvaluatorError
from selfmate.evaluator.backends import Precision
from selfmate.evaluator.base import Evaluation, Evaluator, pieces
from selfmate.evaluator.cuda import device_errors
from selfmate.evaluator.onnx import OnnxEvaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.evaluator.torch import TorchEvaluator
from selfmate.evaluator.winograd import WinogradEvaluator
from selfmate.nn.checkpoint import WeightsError, net_id, save
from selfmate.nn.config import GARDNER, Context
from selfmate.nn.leaves import LeafBatch
from selfmate.nn.net import Net
from selfmate.nn.onnx import export_onnx, to_onnx

torch.set_num_threads(1)  # tests share the cores: threads of one net would wait for each other


# -- one answer -----------------------------------------------------------------------------------


@pytest.mark.parametrize("facts", [GARDNER, CHESS])
@pytest.mark.parametrize("context", ["se", "pool", "none"])
def test_onnx_and_torch_agree_with_the_net(facts: Any, context: Context) -> None:
    net = some_net(context, facts=facts)
    leaves = some_leaves(50, net.config.policy_size)
    with torch.inference_mode():
        arrays = (leaves.bits.view(np.int64), leaves.scalars, leaves.moves.astype(np.int64), leaves.counts.astype(int))
        expected = Evaluation(
            *(output.numpy() for output in net.evaluate(*(torch.from_numpy(array) for array in arrays)))
        )
    assert expected.priors.max() > 0.2  # not the uniform answer
    for evaluator in (TorchEvaluator(net), OnnxEvaluator(to_onnx(net), threads=2)):
        answer = evaluator.evaluate(leaves)
        assert [array.dtype for array in answer if array is not None] == [np.float32] * 3
        assert answer.priors.shape == leaves.moves.shape
        assert close(answer, expected, 1e-4)
        real = np.arange(128) < leaves.counts[:, None]
        assert (answer.priors[~real] == 0).all()
        assert answer.priors.sum(1) == pytest.approx((leaves.counts > 0).astype(float), abs=1e-5)
        assert evaluator.net_id == net_id(net)
        assert evaluator.variant == net.config.variant


@pytest.mark.parametrize("size", ["small", "medium"])
def test_larger_nets_agree(size: str) -> None:
    net = some_net(size=size)
    for name, tensor in net.state_dict().items():
        if "second.conv" in name:  # or the numbers grow without bound from block to block
            tensor.mul_(0.1)
    leaves = some_leaves(4)
    assert close(TorchEvaluator(net).evaluate(leaves), OnnxEvaluator(to_onnx(net)).evaluate(leaves), 1e-4)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_answer_does_not_depend_on_the_batch(threads: int) -> None:
    """In ONNX Runtime not by a bit: neither on the size of the batch, nor on the place in it, nor on threads."""
    data = to_onnx(some_net())
    leaves = some_leaves(200)
    expected = OnnxEvaluator(data, threads=1).evaluate(leaves)
    evaluator = OnnxEvaluator(data, threads=threads)
    assert equal(evaluator.evaluate(leaves), expected)
    order = np.random.default_rng(1).permutation(200)
    assert equal(evaluator.evaluate(leaves.take(order)), expected.rows(order))
    for size in (1, 2, 3, 7, 17, 64, 65, 131):
        answer = evaluator.evaluate(leaves.take(slice(5, 5 + size)))
        assert equal(answer, expected.rows(slice(5, 5 + size))), size


def test_torch_pads_to_few_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = TorchEvaluator(some_net())
    sizes = []
    inner = evaluator._net.evaluate

    def watched(bits: torch.Tensor, *others: torch.Tensor) -> Any:
        sizes.append(len(bits))
        return inner(bits, *others)

    monkeypatch.setattr(evaluator._net, "evaluate", watched)
    leaves = some_leaves(300)
    whole = evaluator.evaluate(leaves)
    for size in (1, 31, 32, 33, 100, 256):
        part = evaluator.evaluate(leaves.take(slice(0, size)))
        assert close(part, whole.rows(slice(0, size)), 1e-5)
    assert sizes == [256, 256, 32, 32, 32, 64, 128, 256]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate"), "out of memory; reduce selfplay.slots"),
        (
            RuntimeError("CUDA error: unspecified launch failure\nmore\nlines"),
            "the GPU failed: CUDA error: unspecified",
        ),
        (RuntimeError("The NVIDIA driver on your system is too old: CUDA"), "the GPU failed: The NVIDIA driver"),
    ],
)
def test_what_a_gpu_complains_of_is_one_line(error: Exception, said: str) -> None:
    with pytest.raises(DeviceError, match=said) as raised, device_errors():
        raise error
    assert "\n" not in str(raised.value)
    with pytest.raises(RuntimeError, match="our own mistake"), device_errors():
        raise RuntimeError("our own mistake")


def test_bf16_is_near() -> None:
    precisions: list[Precision] = ["f32", "bf16"]
    net = some_net()
    leaves = some_leaves(20)
    exact, rough = (TorchEvaluator(net, precision=precision).evaluate(leaves) for precision in precisions)
    assert close(exact, rough, 0.1)
    assert rough.priors.dtype == np.float32


@pytest.mark.parametrize("make", [TorchEvaluator, lambda net: OnnxEvaluator(to_onnx(net))])
def test_no_leaves(make: Callable[[Net], Evaluator]) -> None:
    answer = make(some_net()).evaluate(some_leaves(0))
    assert [array.shape for array in answer if array is not None] == [(0, 128), (0, 3), (0,)]


def test_pieces_cover_the_batch() -> None:
    for size in range(300):
        parts = list(pieces(size, 64))
        assert [row for begin, end in parts for row in range(begin, end)] == list(range(size))
        assert all(end - begin <= 64 for begin, end in parts)


# -- what is wrong is said ------------------------------------------------------------------------


@pytest.mark.parametrize("make", [TorchEvaluator, lambda net: OnnxEvaluator(to_onnx(net))])
def test_answers_that_are_no_numbers(make: Callable[[Net], Evaluator]) -> None:
    net = some_net()
    with torch.no_grad():
        net.get_parameter("value.wdl.bias")[0] = float("nan")
    with pytest.raises(EvaluatorError, match=f"the wdl of net {net_id(net)[:12]} are not finite"):
        make(net).evaluate(some_leaves(5))


@pytest.mark.parametrize("make", [TorchEvaluator, lambda net: OnnxEvaluator(to_onnx(net))])
def test_leaves_that_do_not_fit(make: Callable[[Net], Evaluator]) -> None:
    evaluator, leaves = make(some_net()), some_leaves(5)
    for bad in (
        LeafBatch(leaves.bits[:, :15], leaves.scalars, leaves.moves, leaves.counts, leaves.keys),
        LeafBatch(leaves.bits, leaves.scalars[:4], leaves.moves, leaves.counts, leaves.keys),
        LeafBatch(leaves.bits, leaves.scalars, leaves.moves + np.uint16(1225), leaves.counts, leaves.keys),
        LeafBatch(leaves.bits, leaves.scalars, leaves.moves[:, :3], leaves.counts, leaves.keys),
    ):
        with pytest.raises(EvaluatorError):
            evaluator.evaluate(bad)


def test_plies_are_bounded() -> None:
    net = some_net()
    with torch.no_grad():
        net.get_parameter("value.plies.bias").fill_(1e6)
    plies = OnnxEvaluator(to_onnx(net)).evaluate(some_leaves(5)).plies
    assert plies is not None
    assert plies.tolist() == [1000.0] * 5


def test_unknown_device() -> None:
    with pytest.raises(EvaluatorError, match="valid devices: cpu, cuda"):
        TorchEvaluator(some_net(), device="meta")
    if not torch.cuda.is_available():
        with pytest.raises(EvaluatorError, match="PyTorch finds no GPU"):
            open_evaluator(some_net(), device="cuda")
        with pytest.raises(EvaluatorError, match="PyTorch finds no GPU"):
            open_evaluator(some_net(), backend="cuda")


# -- opening and ONNX files -----------------------------------------------------------------------


def test_open_evaluator(tmp_path: Path) -> None:
    net, leaves = some_net(), some_leaves(10)
    card = save(net, tmp_path / "net", step=5)
    from_folder = open_evaluator(tmp_path / "net")
    export_onnx(net, tmp_path / "net" / "net.onnx", card)
    for evaluator, kind in (
        (open_evaluator(net), WinogradEvaluator),
        (open_evaluator(str(tmp_path / "net")), WinogradEvaluator),
        (open_evaluator(tmp_path / "net", backend="onnx"), OnnxEvaluator),
        (open_evaluator(tmp_path / "net" / "net.onnx", threads=1), OnnxEvaluator),
    ):
        assert isinstance(evaluator, kind)
        assert evaluator.net_id == card.net_id
        assert close(evaluator.evaluate(leaves), from_folder.evaluate(leaves), 1e-4)
        if kind is WinogradEvaluator:
            assert equal(evaluator.evaluate(leaves), from_folder.evaluate(leaves))
    with pytest.raises(WeightsError, match="No such file"):
        open_evaluator(tmp_path / "nothing")


def test_onnx_of_another_net_in_the_folder(tmp_path: Path) -> None:
    save(some_net(seed=1), tmp_path / "net")
    export_onnx(some_net(seed=2), tmp_path / "net" / "net.onnx")
    with pytest.raises(WeightsError, match=r"net\.onnx is not the net that net\.json names"):
        open_evaluator(tmp_path / "net", backend="onnx")


def test_onnx_is_the_same_every_time_and_valid() -> None:
    data = to_onnx(some_net())
    assert to_onnx(some_net()) == data
    model = onnx.load_from_string(data)
    onnx.checker.check_model(model, full_check=True)
    assert [entry.key for entry in model.metadata_props] == ["selfmate", "sha256"]


def test_playing_needs_no_torch(tmp_path: Path) -> None:
    save(some_net(), tmp_path / "net")
    export_onnx(some_net(), tmp_path / "net" / "net.onnx")
    program = """
import sys
import selfmate, selfmate.uci.server
from selfmate.evaluator.open import open_evaluator
for path in sys.argv[1:]:
    evaluator = open_evaluator(path)
    assert evaluator.variant == "gardner"
    print([name for name in ("torch", "onnx", "safetensors") if name in sys.modules])
"""
    command = [sys.executable, "-c", program, str(tmp_path / "net" / "net.onnx"), str(tmp_path / "net")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout == "[]\n['safetensors']\n"
    assert result.stderr == ""


@pytest.mark.parametrize("damage", ONNX_DAMAGES)
def test_damaged_onnx_is_refused_with_one_line(tmp_path: Path, damage: str) -> None:
    change, message = ONNX_DAMAGES[damage]
    path = tmp_path / "net.onnx"
    path.write_bytes(change(to_onnx(some_net())))
    with pytest.raises(WeightsError) as caught:
        open_evaluator(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
