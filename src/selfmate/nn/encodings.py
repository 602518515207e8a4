"""The encoding of a net's leaves, by the names in its config."""

from __future__ import annotations

from typing import Any

from selfmate import _core
from selfmate._core import Encoding
from selfmate.nn.config import FixedFacts, NetConfig, NetError

__all__ = ["encoding_of", "sized_for"]


def encoding_of(config: NetConfig) -> Encoding:
    """Return the encoding that a net reads; raise `NetError` if its sizes are not those of the config.

    >>> from selfmate.nn.config import GARDNER
    >>> encoding_of(NetConfig.sized(GARDNER)).is_default
    True
    """
    encoding = _core.encoding(config.variant, config.encoder, config.policy_space, config.history)
    for key in FixedFacts._fields[1:]:
        if (found := getattr(config, key)) != (needed := getattr(encoding, key)):
            names = f"the encoder {config.encoder} and the policy {config.policy} of {config.variant}"
            raise NetError(f"{key} of the net is {found}, but {needed} for {names}", key)
    return encoding


def sized_for(variant: str, size: str = "tiny", **changes: Any) -> NetConfig:
    """Return the config of a named size for a variant of the core, with single keys changed as in a recipe.

    >>> config = sized_for("chess", encoder="planes18", history=2, policy="factored", underpromotions=False)
    >>> config.bitboards, config.scalars, config.policy_size
    (30, 0, 4096)
    """
    own = _core.encoding(variant)
    # The names are checked before the core is asked for them.
    plain = NetConfig.sized(own, size, **changes)
    facts = _core.encoding(variant, plain.encoder, plain.policy_space, plain.history)
    return NetConfig.sized(facts, size, **changes)
