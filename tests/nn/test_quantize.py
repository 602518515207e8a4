"""Nets in eight bits, OpenVINO, and the choice of a backend."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from nets import CHESS, close, equal, some_leaves, some_net
from selfmate._core import encoding
from selfmate.bench.agreement import agreement
from selfmate.errors import EvaluatorError
from selfmate.evaluator import open as evaluators
from selfmate.evaluator.agreement import difference, leaves_of
from selfmate.evaluator.base import Answer, Evaluator
from selfmate.evaluator.onnx import OnnxEvaluator
from selfmate.evaluator.open import BACKENDS, open_evaluator
from selfmate.evaluator.torch import TorchEvaluator
from selfmate.nn import shipped as nets
from selfmate.nn.calibration import calibration_leaves, game_positions
from selfmate.nn.checkpoint import WeightsError, net_id, save
from selfmate.nn.config import GARDNER, NetConfig
from selfmate.nn.leaves import LeafBatch
from selfmate.nn.net import Net
from selfmate.nn.onnx import INT8_KEY, INT8_NAME, ONNX_NAME, check_seal, export_onnx, metadata, to_onnx
from selfmate.nn.quantize import quantise

HAS_OPENVINO = importlib.util.find_spec("openvino") is not None
needs_openvino = pytest.mark.skipif(not HAS_OPENVINO, reason="needs OpenVINO: pip install 'selfmate[openvino]'")
SHIPPED = Path(evaluators.__file__).parents[1] / "nets_data" / "gardner-laptop"


@pytest.fixture(scope="module")
def f32() -> bytes:
    """The file of a trained net."""
    return (SHIPPED / ONNX_NAME).read_bytes()


@pytest.fixture(scope="module")
def int8(f32: bytes) -> bytes:
    return quantise(f32)


@pytest.fixture(scope="module")
def positions() -> LeafBatch:
    return leaves_of(game_positions("gardner", 100))


# -- int8 files -----------------------------------------------------------------------------------


def test_only_the_blocks_are_rounded(f32: bytes, int8: bytes) -> None:
    before, after = (onnx.load_from_string(data) for data in (f32, int8))
    count = {kind: sum(node.op_type == kind for node in after.graph.node) for kind in ("Conv", "QuantizeLinear")}
    # Four blocks of two convolutions; each rounds what goes in, the second also what comes out.
    assert count == {"Conv": sum(node.op_type == "Conv" for node in before.graph.node), "QuantizeLinear": 8 + 4}
    kinds = {tensor.name: tensor.data_type for tensor in after.graph.initializer}
    made = {node.output[0]: node for node in after.graph.node}
    plain = [node for node in after.graph.node if node.op_type == "Conv" and node.input[1] in kinds]
    assert len(plain) == 4  # stem, two of the policy, one of the value
    assert {kinds[node.input[1]] for node in plain} == {onnx.TensorProto.FLOAT}
    for node in after.graph.node:
        if node.op_type == "Conv" and node not in plain:
            weight = made[node.input[1]]
            assert weight.op_type == "DequantizeLinear"
            assert kinds[weight.input[0]] == onnx.TensorProto.INT8
            steps = next(tensor for tensor in after.graph.initializer if tensor.name == weight.input[1])
            assert list(steps.dims) == [32]  # one for each channel


def test_an_int8_file_is_whole_and_says_what_it_is(f32: bytes, int8: bytes) -> None:
    assert check_seal(int8) == int8
    assert INT8_KEY in metadata(int8)
    assert INT8_KEY not in metadata(f32)
    assert OnnxEvaluator(int8).net_id == OnnxEvaluator(f32).net_id
    assert OnnxEvaluator(int8, threads=1).name == "onnx int8 on 1 thread"
    assert len(int8) < len(f32) / 2
    quantise.cache_clear()
    assert quantise(f32) == int8


def test_int8_is_near(f32: bytes, int8: bytes, positions: LeafBatch) -> None:
    expected = OnnxEvaluator(f32).evaluate(positions)
    found = difference(expected, OnnxEvaluator(int8).evaluate(positions))
    assert 0 < found["policy_mean"] < 0.01
    assert 0 < found["value_mean"] < 0.01
    assert found["same_first_prior"] >= 0.95


@pytest.mark.parametrize("context", ["se", "pool", "none"])
@pytest.mark.parametrize("facts", [GARDNER, CHESS])
def test_nets_of_all_kinds(facts: Any, context: Any) -> None:
    net = some_net(context, facts=facts)
    leaves = leaves_of(game_positions(facts.variant, 20))
    expected, answer = (OnnxEvaluator(data).evaluate(leaves) for data in (to_onnx(net), quantise(to_onnx(net))))
    assert difference(expected, answer)["policy_mean"] < 0.05
    assert answer.priors.sum(1) == pytest.approx(1, abs=1e-5)


def test_a_layer_that_says_nothing() -> None:
    net = some_net()
    with torch.no_grad():
        net.get_parameter("blocks.0.first.norm.weight").zero_()
        net.get_parameter("blocks.0.first.norm.bias").fill_(-1)
    leaves = leaves_of(game_positions("gardner", 20))
    expected, answer = (OnnxEvaluator(data).evaluate(leaves) for data in (to_onnx(net), quantise(to_onnx(net))))
    assert difference(expected, answer)["policy_mean"] < 0.05


@pytest.mark.parametrize("threads", [1, 3])
def test_int8_in_pieces(int8: bytes, positions: LeafBatch, threads: int) -> None:
    whole = OnnxEvaluator(int8, threads=1).evaluate(positions)
    evaluator = OnnxEvaluator(int8, threads=threads)
    for size in (0, 1, 5, 8, 64, 100):
        part = evaluator.evaluate(positions.take(slice(0, size)))
        assert [len(rows) for rows in part] == [size] * 3
        if size:
            assert close(part, Answer(*(rows[:size] for rows in whole)), 1e-4)


# -- positions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["chess", "gardner", "antichess"])
def test_positions_are_fixed_and_not_those_of_the_calibration(variant: str) -> None:
    positions = game_positions(variant, 60)
    assert len({position.fen() for position in positions}) == 60
    assert [position.fen() for position in positions] == [position.fen() for position in game_positions(variant, 60)]
    assert not any(position.is_game_over(claim_draw=True) for position in positions)
    leaves = calibration_leaves(variant, 200)
    assert leaves.size == 200
    seen = {row.tobytes() for row in leaves.bits}
    assert len(seen) > 150  # from many places
    assert sum(row.tobytes() in seen for row in leaves_of(positions).bits) <= 10  # openings may meet


def test_leaves_of_positions_are_those_of_a_search() -> None:
    from selfmate._core import Search, SearchConfig

    position = game_positions("chess", 1)[0]
    own, theirs = leaves_of([position]), Search(position, SearchConfig(), 10).gather(1)
    facts = encoding("chess")
    expected = LeafBatch.of(theirs, facts.bitboards, facts.scalars, facts.policy_size)
    assert np.array_equal(own.bits, expected.bits)
    assert np.array_equal(own.scalars, expected.scalars)
    count = int(own.counts[0])
    assert count == expected.counts[0]
    assert own.moves[0, :count].tolist() == expected.moves[0, :count].tolist()


# -- OpenVINO -------------------------------------------------------------------------------------


@needs_openvino
@pytest.mark.parametrize("context", ["se", "pool", "none"])
@pytest.mark.parametrize("facts", [GARDNER, CHESS])
def test_openvino_agrees_with_onnx(facts: Any, context: Any) -> None:
    from selfmate.evaluator.openvino import OpenVinoEvaluator

    net = some_net(context, facts=facts)
    data = to_onnx(net)
    leaves = some_leaves(50, net.config.policy_size)
    expected = OnnxEvaluator(data).evaluate(leaves)
    for threads in (1, 2):
        evaluator = OpenVinoEvaluator(data, threads=threads)
        answer = evaluator.evaluate(leaves)
        assert close(answer, expected, 1e-4)
        assert [array.dtype for array in answer] == [np.float32] * 3
        real = np.arange(128) < leaves.counts[:, None]
        assert (answer.priors[~real] == 0).all()
        assert evaluator.net_id == net_id(net)
        assert evaluator.variant == facts.variant
        assert evaluator.name == f"openvino f32 on {threads} thread{'' if threads == 1 else 's'}"


@needs_openvino
def test_openvino_bf16_and_int8_are_near(f32: bytes, int8: bytes, positions: LeafBatch) -> None:
    from selfmate.evaluator.openvino import OpenVinoEvaluator

    expected = OnnxEvaluator(f32).evaluate(positions)
    for evaluator in (OpenVinoEvaluator(f32, precision="bf16"), OpenVinoEvaluator(int8)):
        found = difference(expected, evaluator.evaluate(positions))
        assert found["policy_mean"] < 0.01
        assert found["value_mean"] < 0.01
    assert evaluator.name.startswith("openvino int8")
    # What is rounded only for ONNX Runtime is left out: nearer to f32, and not equal to what ONNX Runtime says.
    exact, rounded = (
        difference(expected, each.evaluate(positions))["policy_mean"] for each in (evaluator, OnnxEvaluator(int8))
    )
    assert 0 < exact < 0.9 * rounded


@needs_openvino
def test_in_bf16_the_heads_stay_in_f32(f32: bytes, int8: bytes) -> None:
    from selfmate.evaluator.openvino import OpenVinoEvaluator

    def outputs(evaluator: OpenVinoEvaluator) -> list[int]:
        return [len(request.get_compiled_model().outputs) for request in evaluator._requests.get()]

    half = OpenVinoEvaluator(f32, precision="bf16")
    assert outputs(half) == [1, 3]  # the tower, then logits, win-draw-loss and plies
    heads = half._requests.get()[-1].get_compiled_model()
    assert heads.get_property("INFERENCE_PRECISION_HINT").get_type_name() == "f32"
    assert outputs(OpenVinoEvaluator(f32)) == outputs(OpenVinoEvaluator(int8)) == [3]


@needs_openvino
def test_openvino_in_pieces_and_from_threads(f32: bytes, positions: LeafBatch) -> None:
    from selfmate.evaluator.openvino import OpenVinoEvaluator

    evaluator = OpenVinoEvaluator(f32, threads=2)
    whole = evaluator.evaluate(positions)
    wrong: list[object] = []

    def ask(seed: int) -> None:
        chance = np.random.default_rng(seed)
        for _ in range(20):
            rows = chance.integers(0, 100, chance.integers(0, 80))
            answer = evaluator.evaluate(positions.take(rows))
            if not close_or_empty(answer, Answer(*(array[rows] for array in whole))):
                wrong.append(seed)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def close_or_empty(here: Answer, there: Answer) -> bool:
    return len(here.wdl) == len(there.wdl) and (len(here.wdl) == 0 or close(here, there, 1e-4))


@needs_openvino
def test_openvino_refuses_what_onnx_runtime_refuses(tmp_path: Path, f32: bytes) -> None:
    from onnx_damages import ONNX_DAMAGES

    for name, (damage, _) in ONNX_DAMAGES.items():
        path = tmp_path / "net.onnx"
        path.write_bytes(damage(to_onnx(some_net())))
        with pytest.raises(WeightsError) as caught:
            open_evaluator(path, backend="openvino")
        assert "\n" not in str(caught.value), name
        assert str(path) in str(caught.value), name


@needs_openvino
def test_openvino_needs_neither_torch_nor_onnx_runtime() -> None:
    program = """
import sys
from selfmate.evaluator.open import open_evaluator
evaluator = open_evaluator(sys.argv[1], backend="openvino-bf16")
assert evaluator.variant == "gardner"
print([name for name in ("torch", "onnx") if name in sys.modules])
"""
    command = [sys.executable, "-c", program, str(SHIPPED)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout == "[]\n"
    assert result.stderr == ""


# -- the choice -----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", [name for name in BACKENDS if HAS_OPENVINO or "openvino" not in name])
def test_every_backend_opens_every_kind_of_net(tmp_path: Path, backend: str) -> None:
    net = some_net()
    leaves = leaves_of(game_positions("gardner", 10))
    expected = TorchEvaluator(net).evaluate(leaves)
    save(net, tmp_path / "net")
    export_onnx(net, tmp_path / "net.onnx")
    sources: list[Net | Path] = [net, tmp_path / "net"]
    if backend not in ("torch", "winograd"):
        sources.append(tmp_path / "net.onnx")
    for source in sources:
        evaluator = open_evaluator(source, backend=backend, threads=1)
        assert difference(expected, evaluator.evaluate(leaves))["policy_mean"] < 0.05
        for word in backend.replace("auto", "").split("-"):
            assert word in evaluator.name


def test_the_int8_file_of_a_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = some_net()
    save(net, tmp_path / "net")
    export_onnx(net, tmp_path / "net" / ONNX_NAME)
    (tmp_path / "net" / INT8_NAME).write_bytes(quantise(to_onnx(net)))
    monkeypatch.setattr("selfmate.nn.quantize.quantise", None)
    assert "int8" in open_evaluator(tmp_path / "net", backend="onnx-int8").name
    assert "int8" not in open_evaluator(tmp_path / "net").name  # training stays exact
    assert "int8" not in open_evaluator(tmp_path / "net", backend="onnx").name
    (tmp_path / "net" / INT8_NAME).write_bytes(quantise(to_onnx(some_net(seed=2))))
    with pytest.raises(WeightsError, match=r"net\.int8\.onnx is not the net that net\.json names"):
        open_evaluator(tmp_path / "net", backend="onnx-int8")


def test_an_int8_file_is_opened_as_it_is(tmp_path: Path, int8: bytes) -> None:
    path = tmp_path / "small.onnx"
    path.write_bytes(int8)
    for backend in (None, "auto", "onnx-int8"):
        assert "int8" in open_evaluator(path, backend=backend).name
    with pytest.raises(EvaluatorError, match=r"small\.onnx is an int8 file; open it with onnx-int8 or openvino-int8"):
        open_evaluator(path, backend="onnx")


@pytest.mark.parametrize(
    ("openvino", "flags", "size", "expected"),
    [
        (True, {"avx512_vnni", "avx512_bf16"}, 3_600_000, "openvino-int8"),
        (True, {"avx512_vnni", "avx512_bf16"}, 156_000, "onnx-int8"),
        (False, {"avx512_vnni", "avx512_bf16"}, 3_600_000, "onnx-int8"),
        (True, {"avx512_vnni", "avx512_bf16"}, None, "openvino-bf16"),
        (True, {"avx2"}, 3_600_000, "onnx"),
        (True, {"avx2"}, None, "onnx"),
        (False, {"avx512_bf16"}, None, "onnx"),
    ],
)
def test_auto_goes_by_what_there_is(
    monkeypatch: pytest.MonkeyPatch, openvino: bool, flags: set[str], size: int | None, expected: str
) -> None:
    monkeypatch.setattr(evaluators, "cpu_flags", lambda: frozenset(flags))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if openvino else None)
    backend, why = evaluators._fastest(int8_bytes=size, has_f32=True)
    assert backend == expected
    assert why
    assert evaluators._fastest(int8_bytes=1000, has_f32=False)[0].endswith("-int8")


def test_auto_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluators, "cpu_flags", lambda: frozenset({"avx512_vnni"}))
    shipped = open_evaluator(nets.find("gardner") or tmp_path, backend="auto", threads=1)
    assert shipped.name.startswith("winograd")
    assert "exact" in shipped.chosen
    assert not open_evaluator(nets.find("gardner") or tmp_path, backend="onnx").chosen
    file = open_evaluator((nets.find("gardner") or tmp_path) / INT8_NAME, backend="auto", threads=1)
    assert file.name.startswith("onnx int8")
    assert "small" in file.chosen or "not installed" in file.chosen


def test_the_uci_option_knows_every_backend() -> None:
    from selfmate.uci import options as uci_options

    assert set(uci_options.BACKENDS) == {*BACKENDS, "cuda"}


def test_bad_choices_are_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EvaluatorError, match=r"^net\.onnx: torch computes no ONNX file; give the folder of the net$"):
        open_evaluator("net.onnx", backend="torch")
    with pytest.raises(EvaluatorError, match=r"^net\.onnx: winograd computes no ONNX file; give the folder"):
        open_evaluator("net.onnx", backend="winograd")
    with pytest.raises(EvaluatorError, match="no backend is called 'tensorflow'; there are auto, winograd, onnx"):
        open_evaluator(SHIPPED, backend="tensorflow")
    with pytest.raises(EvaluatorError, match="the backend onnx-int8 computes on the CPU, not on 'cuda'"):
        open_evaluator(SHIPPED, backend="onnx-int8", device="cuda")
    monkeypatch.setitem(sys.modules, "openvino", None)
    monkeypatch.delitem(sys.modules, "selfmate.evaluator.openvino", raising=False)
    with pytest.raises(EvaluatorError, match=r"openvino is missing; it comes with selfmate\[openvino\]$"):
        open_evaluator(SHIPPED, backend="openvino")
    monkeypatch.setitem(sys.modules, "onnx", None)
    quantise.cache_clear()
    with pytest.raises(EvaluatorError, match=r"onnx is missing; it comes with selfmate\[train\]$"):
        open_evaluator(SHIPPED / ONNX_NAME, backend="onnx-int8")


# -- the report -----------------------------------------------------------------------------------


def test_agreement_of_a_backend_with_itself_and_with_int8() -> None:
    told: list[int] = []
    report = agreement(
        SHIPPED, backends=["torch", "onnx-int8"], visits=20, count=12, tell=lambda done, total, note: told.append(done)
    )
    torch_row, int8_row = report.values["backends"]
    assert torch_row["same_move"] == 1.0
    assert torch_row["value_max"] < 1e-4
    assert torch_row["value_lost"] == 0.0
    assert 0 < int8_row["policy_mean"] < 0.02
    assert int8_row["same_move"] >= 0.5
    assert told == list(range(36))
    assert "same move" in report.tables[0].columns


def test_agreement_sees_another_net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure that could not fail would be worth nothing."""
    other = Net(NetConfig.sized(GARDNER, "tiny"), seed=3)
    inner = evaluators.open_evaluator

    def swapped(source: Any, *, threads: int | None = None, backend: str | None = None) -> Evaluator:
        return inner(other if backend == "torch" else source, threads=threads, backend=backend)

    monkeypatch.setattr("selfmate.bench.agreement.open_evaluator", swapped)
    row = agreement(SHIPPED, backends=["torch"], visits=20, count=30).values["backends"][0]
    assert row["same_move"] < 0.8
    assert row["policy_mean"] > 0.1
    assert row["value_lost"] > 0
    assert equal(inner(SHIPPED).evaluate(some_leaves(3)), inner(SHIPPED).evaluate(some_leaves(3)))
