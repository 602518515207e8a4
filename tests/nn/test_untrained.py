"""Untrained twins: NumPy's draws have the distributions of PyTorch's, tensor by tensor and in what the nets answer."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from selfmate.board.position import Position
from selfmate.evaluator.open import open_evaluator
from selfmate.nn import shipped
from selfmate.nn.architecture import SMALL_WEIGHT, layers, tensor_shapes
from selfmate.nn.checkpoint import read_net_config, save, tensors_of, with_card
from selfmate.nn.encodings import sized_for
from selfmate.nn.net import Net, rounded
from selfmate.nn.untrained import draw_tensors, untrained_twin
from selfmate.search.evaluate import evaluate

ARCHITECTURES: dict[str, dict[str, Any]] = {
    "squeeze-and-excite": {},
    "pooled bias": {"context": "pool"},
    "no context": {"context": "none"},
    "full heads": {"heads": "full", "value": "tanh", "value_hidden": 24, "policy": "fromto"},
    "factored policy": {"policy": "factored", "activation": "mish"},
    "plain tower": {"widths": "16,24", "value": "linear"},
    "no policy": {"policy": "none", "encoder": "pieces12"},
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_tensor_has_mean_and_spread_of_the_one_in_torch(name: str) -> None:
    config = sized_for("gardner", **ARCHITECTURES[name])
    drawn, theirs = draw_tensors(config, seed=2), tensors_of(Net(config, seed=2))
    assert {key: tensor.shape for key, tensor in drawn.items()} == tensor_shapes(config)
    assert {tensor.dtype for tensor in drawn.values()} == {np.dtype(np.float32)}
    for key, numbers in drawn.items():
        theirs_of_key = theirs[key]
        if theirs_of_key.std() == 0:
            assert np.array_equal(numbers, theirs_of_key), key
            continue
        spread, error = float(theirs_of_key.std()), 5 / np.sqrt(numbers.size)  # five standard errors
        assert abs(numbers.mean() - theirs_of_key.mean()) < error * np.sqrt(2) * spread, key
        assert abs(numbers.std() / spread - 1) < error, key  # of a ratio of two spreads: sqrt(2) / sqrt(2 n)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_spread_is_the_one_of_kaiming_in_torch(name: str) -> None:
    """Neither side is asked here: PyTorch's own `kaiming_normal_` and `BatchNorm2d` are."""
    config = sized_for("gardner", **ARCHITECTURES[name])
    drawn, generator = draw_tensors(config, seed=3), torch.Generator().manual_seed(3)
    for layer in layers(config):
        weight = f"{layer.name}.conv.weight" if layer.normed else f"{layer.name}.weight"
        numbers = drawn[weight]
        if layer.start == "zero" and not layer.normed:
            assert not numbers.any(), weight
            continue
        usual = nn.init.kaiming_normal_(torch.empty(layer.weight_shape), nonlinearity="relu", generator=generator)
        expected = SMALL_WEIGHT if layer.start == "small" else float(usual.std())
        assert abs(numbers.std() / expected - 1) < 5 / np.sqrt(numbers.size), weight
        if layer.normed:
            norm = nn.BatchNorm2d(layer.outputs).state_dict()
            for part in ("bias", "running_mean", "running_var"):
                assert np.array_equal(drawn[f"{layer.name}.norm.{part}"], norm[part].numpy()), layer.name
            started = 0 if layer.start == "zero" else norm["weight"].numpy()
            assert (drawn[f"{layer.name}.norm.weight"] == started).all(), layer.name
        else:
            assert not drawn[f"{layer.name}.bias"].any(), layer.name


def positions_of_a_game(variant: str) -> list[Position]:
    source, position = random.Random(4), Position(variant)
    found: list[Position] = []
    while position.outcome() is None and len(found) < 24:
        if len(position.legal_moves) > 1:
            found.append(position.copy())
        position.play(source.choice(position.legal_moves))
    return found


def answers(source: Any, positions: list[Position]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values, and the priors as multiples of an equal share, of all moves of all positions."""
    found = evaluate(open_evaluator(source, threads=1), positions)
    values = np.array([each.wdl[0] - each.wdl[2] for each in found])
    return values, np.concatenate([np.array(list(each.priors.values())) * len(each.priors) for each in found])


def test_values_and_priors_are_spread_as_those_of_nets_that_runs_begin_with(tmp_path: Path) -> None:
    config, positions = sized_for("gardner"), positions_of_a_game("gardner")
    ours, theirs = [], []
    for seed in range(16):
        ours.append(answers(with_card(config, draw_tensors(config, seed)), positions))
        save(rounded(Net(config, seed=seed)), tmp_path / str(seed))  # as a run writes its first net
        theirs.append(answers(tmp_path / str(seed), positions))
    (values, priors), (their_values, their_priors) = (map(np.stack, zip(*each, strict=True)) for each in (ours, theirs))
    assert 0.9 < np.log(priors).std() / np.log(their_priors).std() < 1.1
    assert 0.6 < values.std() / their_values.std() < 1.6  # 16 draws of a net say no more of it
    assert abs(values.mean()) < values.std()
    assert abs(priors.mean() - 1) < 1e-5


@pytest.mark.parametrize("net", shipped.shipped(), ids=lambda net: net.name)
def test_the_twin_of_a_shipped_net_is_nearly_uniform_and_even(net: shipped.ShippedNet) -> None:
    twin = untrained_twin(net.folder)
    assert twin.config == read_net_config(net.folder)
    assert twin.card.net_id != net.net_id
    values, priors = answers(twin, positions_of_a_game(net.variant))
    assert 0.5 < priors.min() < priors.max() < 2
    assert priors.std() > 0.01
    assert 0 < np.abs(values).max() < 0.2


def test_every_backend_computes_the_twin(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="needs onnx: pip install 'selfmate[train]'")
    save(Net(sized_for("gardner", blocks=1, channels=8)), tmp_path)
    twin, positions = untrained_twin(tmp_path), positions_of_a_game("gardner")
    expected = answers(twin, positions)
    for backend in ("onnx", "torch"):
        found = evaluate(open_evaluator(twin, backend=backend, threads=1), positions)
        assert np.allclose([each.wdl[0] - each.wdl[2] for each in found], expected[0], atol=1e-5)
    assert open_evaluator(twin, threads=1).net_id == twin.card.net_id


def test_the_seed_alone_decides_the_twin(tmp_path: Path) -> None:
    save(Net(sized_for("gardner", blocks=1, channels=8)), tmp_path)
    first, again, other = (untrained_twin(tmp_path, seed).card for seed in (1, 1, 2))
    assert first == again
    assert first.net_id != other.net_id


def test_a_twin_needs_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = sys.modules['onnx'] = None; "
        "from selfmate import Limit, Player, Position; "
        "Player('gardner-laptop:untrained').search(Position('gardner'), Limit(visits=9))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
