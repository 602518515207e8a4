"""The sizes of a net; which layers follow from them is described in `selfmate.nn.architecture`. Needs no PyTorch.

>>> config = NetConfig.sized(GARDNER, "tiny")
>>> config.blocks, config.channels, config.policy_size
(4, 32, 1225)
"""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Protocol, Self, get_args

from selfmate.errors import SelfmateError, clip

__all__ = ["GARDNER", "SIZES", "Context", "Facts", "FixedFacts", "NetConfig", "NetError"]

Context = Literal["se", "pool", "none"]
"""How a block sees the whole board: squeeze-and-excite (scale and shift), a pooled bias (as KataGo's), not at all."""

SIZES: Final[dict[str, dict[str, int]]] = {
    "tiny": {"blocks": 4, "channels": 32, "policy_channels": 32, "value_channels": 16},
    "small": {"blocks": 6, "channels": 64, "policy_channels": 64, "value_channels": 32},
    "medium": {"blocks": 10, "channels": 128, "policy_channels": 64, "value_channels": 32},
}
"""The named sizes: `tiny` and `small` for the cores of a laptop, `medium` for a GPU."""

LIMITS: Final[dict[str, tuple[int, int]]] = {
    "files": (1, 8),
    "ranks": (1, 8),
    "bitboards": (1, 256),
    "scalars": (1, 256),
    "planes": (1, 256),
    "blocks": (1, 80),
    "channels": (1, 1024),
    "policy_channels": (1, 1024),
    "value_channels": (1, 1024),
}
"""The range of every number of a config: a value from a file is refused before a net is built from it."""


class NetError(SelfmateError):
    """A net that cannot be made: unknown size or key, a number out of range, or towers that do not fit."""


class Facts(Protocol):
    """What a net depends on of a variant; `selfmate._core.Encoding` has these fields."""

    @property
    def variant(self) -> str: ...
    @property
    def files(self) -> int: ...
    @property
    def ranks(self) -> int: ...
    @property
    def bitboards(self) -> int: ...
    @property
    def scalars(self) -> int: ...
    @property
    def planes(self) -> int: ...


class FixedFacts(NamedTuple):
    """Facts given as plain numbers."""

    variant: str
    files: int
    ranks: int
    bitboards: int
    scalars: int
    planes: int


GARDNER: Final = FixedFacts("gardner", 5, 5, 16, 4, 49)
"""The facts of Gardner's chess, for examples and tests; elsewhere they come from the encoder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetConfig:
    """Everything that determines a net except its weights.

    >>> NetConfig.sized(GARDNER, "tiny", blocks=3).blocks
    3
    >>> NetConfig.sized(GARDNER, "tiny", block=3)
    Traceback (most recent call last):
    ...
    selfmate.nn.config.NetError: a net has no 'block'; did you mean 'blocks'?
    """

    variant: str
    files: int
    ranks: int
    bitboards: int
    scalars: int
    planes: int
    blocks: int
    channels: int
    context: Context = "se"
    policy_channels: int = 64
    value_channels: int = 32

    def __post_init__(self) -> None:
        for key, (least, most) in LIMITS.items():
            number = getattr(self, key)
            if type(number) is not int or not least <= number <= most:
                shown = clip(repr(number))
                raise NetError(f"{key} of a net must be a whole number from {least} to {most}, not {shown}", key)
        variant: object = self.variant  # may have any type if it comes from a file
        if not isinstance(variant, str) or not 1 <= len(variant) <= 32:
            raise NetError(f"variant of a net must be a name, not {clip(repr(variant))}", "variant")
        if self.context not in get_args(Context):
            names = ", ".join(get_args(Context))
            raise NetError(f"context of a net must be one of {names}, not {clip(repr(self.context))}", "context")

    @property
    def policy_size(self) -> int:
        """Number of moves in the policy: planes times squares."""
        return self.planes * self.ranks * self.files

    @classmethod
    def sized(cls, facts: Facts, size: str = "tiny", **changes: object) -> Self:
        """Return the config of a named size for a variant, with single keys changed as in a recipe."""
        if size not in SIZES:
            raise NetError(f"unknown net size {clip(repr(size))}; valid sizes: {', '.join(SIZES)}", str(size))
        return cls.from_dict({key: getattr(facts, key) for key in FixedFacts._fields} | SIZES[size] | changes)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the config that `to_dict` was called on; an unknown or missing key raises `NetError`."""
        fields = {field.name: field for field in dataclasses.fields(cls)}
        for key in values:
            if key not in fields:
                near = difflib.get_close_matches(clip(key), fields, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; valid keys: {', '.join(fields)}"
                raise NetError(f"a net has no {clip(key)!r}{hint}", key)
        for key, field in fields.items():
            if key not in values and field.default is dataclasses.MISSING:
                raise NetError(f"{key} of the net is missing", key)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return every field by name, as JSON can hold it."""
        return dataclasses.asdict(self)
