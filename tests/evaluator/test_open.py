"""The choice of a backend: every one opens every kind of net it can, and a wrong choice is one clear line."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from nets import some_net
from selfmate.errors import EvaluatorError
from selfmate.evaluator import open as evaluators
from selfmate.evaluator.agreement import difference, leaves_of
from selfmate.evaluator.backends import BACKEND_CHOICES, BACKENDS, CPU_BACKENDS
from selfmate.evaluator.open import open_evaluator
from selfmate.evaluator.torch import TorchEvaluator
from selfmate.nn import shipped as nets
from selfmate.nn.calibration import game_positions
from selfmate.nn.checkpoint import WeightsError, save
from selfmate.nn.net import Net
from selfmate.nn.onnx import INT8_NAME, ONNX_NAME, export_onnx, to_onnx
from selfmate.nn.quantize import quantize
from shipped_nets import GARDNER_NET

INSTALLED = [name for name in CPU_BACKENDS if BACKENDS[name].is_installed]


@pytest.mark.parametrize("backend", ["auto", *INSTALLED])
def test_every_backend_opens_every_kind_of_net(tmp_path: Path, backend: str) -> None:
    net = some_net()
    leaves = leaves_of(game_positions("gardner", 10))
    expected = TorchEvaluator(net).evaluate(leaves)
    save(net, tmp_path / "net")
    export_onnx(net, tmp_path / "net.onnx")
    sources: list[Net | Path] = [net, tmp_path / "net"]
    if backend == "auto" or BACKENDS[backend].reads == "onnx":
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
    (tmp_path / "net" / INT8_NAME).write_bytes(quantize(to_onnx(net)))
    monkeypatch.setattr("selfmate.nn.quantize.quantize", None)
    assert "int8" in open_evaluator(tmp_path / "net", backend="onnx-int8").name
    assert "int8" not in open_evaluator(tmp_path / "net").name  # training stays exact
    assert "int8" not in open_evaluator(tmp_path / "net", backend="onnx").name
    (tmp_path / "net" / INT8_NAME).write_bytes(quantize(to_onnx(some_net(seed=2))))
    with pytest.raises(WeightsError, match=r"net\.int8\.onnx is not the net that net\.json names"):
        open_evaluator(tmp_path / "net", backend="onnx-int8")


def test_an_int8_file_is_opened_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "small.onnx"
    path.write_bytes((GARDNER_NET / INT8_NAME).read_bytes())
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
    assert "exact" in shipped.choice_reason
    assert not open_evaluator(nets.find("gardner") or tmp_path, backend="onnx").choice_reason
    file = open_evaluator((nets.find("gardner") or tmp_path) / INT8_NAME, backend="auto", threads=1)
    assert file.name.startswith("onnx int8")
    assert "small" in file.choice_reason or "not installed" in file.choice_reason


def test_the_uci_option_lists_every_backend() -> None:
    from selfmate.uci.options import OPTIONS

    assert OPTIONS["backend"].choices == BACKEND_CHOICES
    assert set(BACKEND_CHOICES) == {"auto", *BACKENDS}


def test_bad_choices_are_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EvaluatorError, match=r"^net\.onnx: torch does not read ONNX files; give the folder of the net"):
        open_evaluator("net.onnx", backend="torch")
    with pytest.raises(EvaluatorError, match=r"^net\.onnx: winograd does not read ONNX files; give the folder"):
        open_evaluator("net.onnx", backend="winograd")
    with pytest.raises(EvaluatorError, match="unknown backend 'tensorflow'; valid backends: auto, winograd, onnx"):
        open_evaluator(GARDNER_NET, backend="tensorflow")
    with pytest.raises(EvaluatorError, match="the backend onnx-int8 computes on the CPU, not on 'cuda'"):
        open_evaluator(GARDNER_NET, backend="onnx-int8", device="cuda")
    monkeypatch.setitem(sys.modules, "openvino", None)
    monkeypatch.delitem(sys.modules, "selfmate.evaluator.openvino", raising=False)
    with pytest.raises(EvaluatorError, match=r"openvino is not installed; run: pip install 'selfmate\[openvino\]'$"):
        open_evaluator(GARDNER_NET, backend="openvino")
    monkeypatch.setitem(sys.modules, "onnx", None)
    quantize.cache_clear()
    with pytest.raises(EvaluatorError, match=r"onnx is not installed; run: pip install 'selfmate\[train\]'$"):
        open_evaluator(GARDNER_NET / ONNX_NAME, backend="onnx-int8")


@pytest.mark.parametrize("backend", [None, "auto"])
def test_a_folder_that_is_no_net_is_named_with_its_fault(tmp_path: Path, backend: str | None) -> None:
    (tmp_path / "net.json").write_text("garbage")
    with pytest.raises(WeightsError, match=r"net\.json: not the JSON of a net"):
        open_evaluator(tmp_path, backend=backend)
