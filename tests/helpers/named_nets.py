"""Nets of every kind that a config names: encoders, policies, values, heads, activations and towers."""

from __future__ import annotations

from typing import Any, Final

from nets import perturbed
from selfmate.nn.encodings import sized_for
from selfmate.nn.net import Net

SMALL: Final[dict[str, Any]] = {"blocks": 2, "channels": 8, "policy_channels": 4, "value_channels": 4}
PLAIN: Final[dict[str, Any]] = {"widths": "8,12,16", "heads": "full", "value_channels": 0, "activation": "leaky"}

KINDS: Final[dict[str, dict[str, Any]]] = {
    "thesis": SMALL
    | {"encoder": "pieces12", "policy": "fromto", "underpromotions": False, "value": "tanh", "heads": "full"}
    | {"policy_channels": 2, "value_channels": 1, "value_hidden": 8, "context": "none"},
    "sigmazero": SMALL | {"encoder": "planes19", "value": "tanh", "heads": "full", "value_hidden": 8},
    "selflearning": SMALL
    | {"encoder": "planes18", "policy": "factored", "underpromotions": False, "value": "tanh", "heads": "full"}
    | {"value_hidden": 8, "context": "none"},
    "gardner-value": PLAIN | {"encoder": "pieces12", "policy": "none", "value": "linear"},
    "gardner-two-heads": PLAIN | {"encoder": "pieces13", "policy": "none", "value": "two"},
    "cloud": SMALL
    | {"encoder": "planes16", "policy": "fromto", "value": "tanh", "heads": "full", "activation": "mish"}
    | {"context_blocks": "2-2", "value_channels": 1, "value_hidden": 8},
    "counters": SMALL | {"encoder": "planes21", "policy": "factored", "value": "tanh", "history": 2},
    "history": SMALL | {"history": 8, "policy": "fromto", "context": "pool"},
    "plain": {"encoder": "pieces12", "widths": "8,12", "policy_channels": 4, "value_channels": 4},
}
"""One kind of net for each system, and three for what is left."""


def named_net(kind: str, variant: str = "gardner", seed: int = 1) -> Net:
    """Return a small net of a kind, with random weights that are large enough for uneven priors."""
    return perturbed(Net(sized_for(variant, "tiny", **KINDS[kind]), seed=seed), seed)
