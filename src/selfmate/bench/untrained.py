"""Nets with random weights, for measurements of speed, which weights do not change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from selfmate.errors import SelfmateError
from selfmate.util.packages import install_hint

if TYPE_CHECKING:
    from selfmate.nn.net import Net

__all__ = ["untrained_net"]


def untrained_net(variant: str, size: str, *, seed: int = 1, **changes: Any) -> Net:
    """Return a net of a named size with random weights; `changes` are fields of `NetConfig`.

    Raises `SelfmateError` where PyTorch is not installed.
    """
    try:
        from selfmate.nn.encodings import sized_for
        from selfmate.nn.net import Net
    except ModuleNotFoundError as error:
        raise SelfmateError(f"{install_hint(error.name)}, or name a net") from None
    return Net(sized_for(variant, size, **changes), seed=seed)
