"""The difference between two evaluators on the same leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from selfmate import _core
from selfmate._core import Encoding
from selfmate.board.position import Position
from selfmate.evaluator.base import Evaluation
from selfmate.nn.leaves import LeafBatch

__all__ = ["difference", "leaves_of"]


def leaves_of(positions: Sequence[Position], encoding: Encoding | None = None) -> LeafBatch:
    """Return positions of one variant as encoded leaves, as a search encodes them for an evaluator of an encoding."""
    sizes = encoding or _core.encoding(positions[0].variant)
    leaves = _core.encode_positions(positions, encoding)
    return LeafBatch.of(leaves, sizes.bitboards, sizes.scalars, sizes.policy_size)


def difference(expected: Evaluation, found: Evaluation) -> dict[str, float]:
    """Return how far two evaluations differ: values, priors (total variation), and the share of equal first moves.

    >>> one = Evaluation(np.array([[0.5, 0.5]]), np.array([[0.6, 0.0, 0.4]]))
    >>> other = Evaluation(np.array([[0.4, 0.6]]), np.array([[0.5, 0.0, 0.5]]))
    >>> {name: round(number, 3) for name, number in difference(one, other).items()}
    {'value_mean': 0.2, 'value_max': 0.2, 'policy_mean': 0.1, 'policy_max': 0.1, 'same_first_prior': 0.0}
    """
    value = np.abs((expected.wdl - found.wdl) @ np.array([1.0, 0.0, -1.0]))
    policy = np.abs(expected.priors - found.priors).sum(1) / 2
    return {
        "value_mean": float(value.mean()),
        "value_max": float(value.max()),
        "policy_mean": float(policy.mean()),
        "policy_max": float(policy.max()),
        "same_first_prior": float((expected.priors.argmax(1) == found.priors.argmax(1)).mean()),
    }
