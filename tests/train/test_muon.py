"""Muon: orthogonalised updates against the singular value decomposition, and the rest as in AdamW."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from selfmate._core import Buffer, GameRecord
from selfmate.nn.config import GARDNER, NetConfig
from selfmate.nn.net import Net
from selfmate.recipe.reader import change, load
from selfmate.recipe.schema import LearnerPart
from selfmate.train.learner import Learner
from selfmate.train.optimizer import (
    NEWTON_SCHULZ,
    NEWTON_SCHULZ_STEPS,
    Muon,
    is_tower,
    make_optimizer,
    orthogonalised,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def part_of(*settings: str) -> LearnerPart:
    return change(load("gardner-laptop"), ["learner.optimizer=muon", *settings]).learner


@pytest.mark.parametrize("shape", [(8, 72), (72, 8), (32, 32)])
def test_newton_schulz_moves_singular_values_only(shape: tuple[int, int]) -> None:
    """The result has the singular vectors of the SVD, and the quintic of its singular values."""
    matrix = torch.randn(3, *shape, generator=torch.Generator().manual_seed(1))
    found = orthogonalised(matrix)
    left, values, right = torch.linalg.svd(matrix.double(), full_matrices=False)
    wanted = values / values.norm(dim=1, keepdim=True)
    a, b, c = NEWTON_SCHULZ
    for _ in range(NEWTON_SCHULZ_STEPS):
        wanted = a * wanted + b * wanted**3 + c * wanted**5
    assert torch.allclose(found.double(), left @ torch.diag_embed(wanted) @ right, atol=2e-3)
    large = values / values.norm(dim=1, keepdim=True) > 0.02
    assert bool(((wanted[large] > 0.6) & (wanted[large] < 1.3)).all())
    assert torch.allclose(orthogonalised(1000 * matrix), found, atol=1e-4)  # of any scale
    assert not orthogonalised(torch.zeros(1, *shape)).any()


@pytest.mark.parametrize("nesterov", [True, False])
def test_two_steps_are_those_of_the_formulas(nesterov: bool) -> None:
    rate, decay, momentum = 0.01, 0.1, 0.8
    part = part_of(f"learner.momentum={momentum}", f"learner.nesterov={str(nesterov).lower()}")
    weight = torch.nn.Parameter(torch.randn(6, 4, 3, 3, generator=torch.Generator().manual_seed(1)))
    plain, moment = weight.detach().clone(), torch.zeros_like(weight)
    optimizer = make_optimizer(part, {"blocks.0.first.conv.weight": weight, "stem.bias": _vector()}, rate)
    assert isinstance(optimizer, Muon)
    for group in optimizer.param_groups:
        group["weight_decay"] = decay
    for step in range(2):
        gradient = torch.randn(6, 4, 3, 3, generator=torch.Generator().manual_seed(10 + step))
        weight.grad = gradient.clone()
        optimizer.step()
        moment = momentum * moment + (1 - momentum) * gradient
        looked = momentum * moment + (1 - momentum) * gradient if nesterov else moment
        update = orthogonalised(looked.reshape(1, 6, 36))[0].reshape(6, 4, 3, 3)
        plain = plain * (1 - rate * decay) - rate * 0.2 * np.sqrt(36) * update
        assert torch.allclose(weight.detach(), plain, atol=1e-6)
    # Each element of an update is about 0.2 at a rate of 1, as AdamW's are.
    assert float((0.2 * 6 * update).square().mean().sqrt()) == pytest.approx(0.2, rel=0.3)


def _vector() -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.zeros(3))


def test_only_convolutions_of_the_tower_are_orthogonalised() -> None:
    net = Net(NetConfig.sized(GARDNER, blocks=2, channels=8))
    tower = {name for name, parameter in net.named_parameters() if is_tower(name, parameter)}
    assert tower == {f"blocks.{block}.{layer}.conv.weight" for block in (0, 1) for layer in ("first", "second")}
    # All others move as AdamW moves them.
    twin = Net(NetConfig.sized(GARDNER, blocks=2, channels=8))
    muon = make_optimizer(part_of(), dict(net.named_parameters()), 0.01)
    adamw = make_optimizer(load("gardner-laptop").learner, dict(twin.named_parameters()), 0.01)
    for _ in range(3):
        for parameter in (*net.parameters(), *twin.parameters()):
            parameter.grad = torch.full_like(parameter, 0.5)
        muon.step()
        adamw.step()
    ours, theirs = net.state_dict(), twin.state_dict()
    for name in ours:
        assert torch.equal(ours[name], theirs[name]) != (name in tower), name


def window_of(games: list[GameRecord]) -> Buffer:
    buffer = Buffer("gardner", 10_000, 1)
    for game in games:
        buffer.add(game)
    return buffer


def test_a_learner_with_muon_learns_and_resumes_bit_for_bit(games: list[GameRecord], tmp_path: Path) -> None:
    window, config = window_of(games), NetConfig.sized(GARDNER, blocks=2, channels=8)

    def fresh() -> Learner:
        return Learner(Net(config, seed=1), part_of("learner.batch=16", "learner.learning_rate=0.01"), seed=1)

    whole = fresh()
    first = whole.learn(window, 4, 0)
    last = whole.learn(window, 16, 0)
    assert first is not None
    assert last is not None
    assert last.total < first.total
    part = fresh()
    part.learn(window, 7, 0)
    part.save(tmp_path)
    resumed = fresh()
    resumed.restore(tmp_path)
    resumed.learn(window, 16, 0)
    ours, theirs = whole.net.state_dict(), resumed.net.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
