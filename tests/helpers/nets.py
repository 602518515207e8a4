"""Nets, leaves and comparisons of evaluations that several tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from selfmate.evaluator.base import Evaluation
from selfmate.nn.config import GARDNER, Context, NetConfig
from selfmate.nn.leaves import LeafBatch
from selfmate.nn.net import Net

CHESS = GARDNER._replace(variant="chess", files=8, ranks=8, planes=73)

torch.set_num_threads(1)  # tests run in parallel: threads of one net would wait for each other


def some_net(context: Context = "se", seed: int = 1, facts: Any = GARDNER, size: str = "tiny") -> Net:
    """Return a small net with random weights that are large enough for uneven priors."""
    changes = {"blocks": 2, "channels": 16} if size == "tiny" else {}
    return perturbed(Net(NetConfig.sized(facts, size, context=context, **changes), seed=seed), seed)


def perturbed(net: Net, seed: int = 3) -> Net:
    """Add noise to the weights and statistics of a net, as if it had learned; return the net."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in net.state_dict().items():
            noise = torch.randn(tensor.shape, generator=generator)
            tensor.copy_(1 + noise.abs() if name.endswith("running_var") else tensor + 0.2 * noise)
    return net.eval()


def some_leaves(size: int, policy_size: int = 1225, seed: int = 0, width: int = 128) -> LeafBatch:
    """Return random leaves; all rows differ, row 3 has no moves."""
    random = np.random.default_rng(seed)
    most = np.iinfo(np.uint64).max
    bits = random.integers(0, most, (size, 16), np.uint64) & random.integers(0, most, (size, 16), np.uint64)
    moves = np.zeros((size, width), np.uint16)
    counts = random.integers(1, 40, size).astype(np.uint16)
    if size > 3:
        counts[3] = 0
    for row, count in zip(moves, counts, strict=True):
        row[:count] = random.choice(policy_size, count, replace=False)
    return LeafBatch(
        bits, random.random((size, 4), np.float32), moves, counts, random.integers(0, most, size, np.uint64)
    )


def equal(here: Evaluation, there: Evaluation) -> bool:
    pairs = zip(here, there, strict=True)
    return all(one is other if one is None or other is None else np.array_equal(one, other) for one, other in pairs)


def close(here: Evaluation, there: Evaluation, tolerance: float) -> bool:
    scales = (1.0, 1.0, 32.0)  # plies are about 32 times as large
    pairs = zip(here, there, scales, strict=True)
    return all(
        one is not None and other is not None and float(np.abs(one - other).max()) < tolerance * scale
        for one, other, scale in pairs
    )
