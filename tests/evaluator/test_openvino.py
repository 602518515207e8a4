"""OpenVINO evaluates as ONNX Runtime does, in f32, bf16 and int8."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nets import CHESS, close, some_leaves, some_net
from selfmate.evaluator.agreement import difference
from selfmate.evaluator.base import Evaluation
from selfmate.evaluator.onnx import OnnxEvaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.nn.checkpoint import WeightsError, net_id
from selfmate.nn.config import GARDNER
from selfmate.nn.leaves import LeafBatch
from selfmate.nn.onnx import to_onnx
from shipped_nets import GARDNER_NET

pytest.importorskip("openvino")


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
        assert [array.dtype for array in answer if array is not None] == [np.float32] * 3
        real = np.arange(128) < leaves.counts[:, None]
        assert (answer.priors[~real] == 0).all()
        assert evaluator.net_id == net_id(net)
        assert evaluator.variant == facts.variant
        assert evaluator.name == f"openvino f32 on {threads} thread{'' if threads == 1 else 's'}"


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


def test_in_bf16_the_heads_stay_in_f32(f32: bytes, int8: bytes) -> None:
    from selfmate.evaluator.openvino import OpenVinoEvaluator

    def outputs(evaluator: OpenVinoEvaluator) -> list[int]:
        return [len(request.get_compiled_model().outputs) for request in evaluator._requests.get()]

    half = OpenVinoEvaluator(f32, precision="bf16")
    assert outputs(half) == [1, 3]  # the tower, then logits, win-draw-loss and plies
    heads = half._requests.get()[-1].get_compiled_model()
    assert heads.get_property("INFERENCE_PRECISION_HINT").get_type_name() == "f32"
    assert outputs(OpenVinoEvaluator(f32)) == outputs(OpenVinoEvaluator(int8)) == [3]


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
            if not close_or_empty(answer, whole.rows(rows)):
                wrong.append(seed)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def close_or_empty(here: Evaluation, there: Evaluation) -> bool:
    return len(here.wdl) == len(there.wdl) and (len(here.wdl) == 0 or close(here, there, 1e-4))


def test_openvino_refuses_what_onnx_runtime_refuses(tmp_path: Path, f32: bytes) -> None:
    from onnx_damages import ONNX_DAMAGES

    for name, (damage, _) in ONNX_DAMAGES.items():
        path = tmp_path / "net.onnx"
        path.write_bytes(damage(to_onnx(some_net())))
        with pytest.raises(WeightsError) as caught:
            open_evaluator(path, backend="openvino")
        assert "\n" not in str(caught.value), name
        assert str(path) in str(caught.value), name


def test_openvino_needs_neither_torch_nor_onnx_runtime() -> None:
    program = """
import sys
from selfmate.evaluator.open import open_evaluator
evaluator = open_evaluator(sys.argv[1], backend="openvino-bf16")
assert evaluator.variant == "gardner"
print([name for name in ("torch", "onnx") if name in sys.modules])
"""
    command = [sys.executable, "-c", program, str(GARDNER_NET)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout == "[]\n"
    assert result.stderr == ""
