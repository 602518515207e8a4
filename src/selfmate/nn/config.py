"""What shape a net has, and the tensors that follow from it; playing asks this without torch.

>>> config = NetConfig.sized(GARDNER, "tiny")
>>> config.blocks, tensor_shapes(config)["stem.conv.weight"]
(4, (32, 21, 3, 3))
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Protocol, Self, get_args

from selfmate.errors import SelfmateError, clip

__all__ = [
    "GARDNER",
    "NORM_EPSILON",
    "SIZES",
    "Context",
    "Facts",
    "FixedFacts",
    "LayerShape",
    "NetConfig",
    "NetError",
    "layers",
    "tensor_shapes",
]


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
"""The range of every number of a config, so that one from a file is refused before a net is built from it."""


class NetError(SelfmateError):
    """A net that cannot be made: an unknown size or key, a number out of range, towers that do not fit."""


class Facts(Protocol):
    """What a net must know of a variant; `selfmate._core.Encoding` says it."""

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
    """Facts written down by hand."""

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
    """Everything that determines a net but its weights.

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
        variant: object = self.variant  # from a file it may be anything
        if not isinstance(variant, str) or not 1 <= len(variant) <= 32:
            raise NetError(f"variant of a net must be a name, not {clip(repr(variant))}", "variant")
        if self.context not in get_args(Context):
            names = ", ".join(get_args(Context))
            raise NetError(f"context of a net must be one of {names}, not {clip(repr(self.context))}", "context")

    @property
    def policy_size(self) -> int:
        """How many moves the policy can name: planes times squares."""
        return self.planes * self.ranks * self.files

    @classmethod
    def sized(cls, facts: Facts, size: str = "tiny", **changes: object) -> Self:
        """Make the config of a named size for a variant, with single keys changed as a recipe says."""
        if size not in SIZES:
            raise NetError(f"no net size is called {clip(repr(size))}; there are {', '.join(SIZES)}", str(size))
        return cls.from_dict({key: getattr(facts, key) for key in FixedFacts._fields} | SIZES[size] | changes)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Make a config from what `to_dict` gave; a key that is unknown or missing is an error."""
        fields = {field.name: field for field in dataclasses.fields(cls)}
        for key in values:
            if key not in fields:
                near = difflib.get_close_matches(clip(key), fields, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(fields)}"
                raise NetError(f"a net has no {clip(key)!r}{hint}", key)
        for key, field in fields.items():
            if key not in values and field.default is dataclasses.MISSING:
                raise NetError(f"{key} of the net is missing", key)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Give every field by name, as JSON can hold it."""
        return dataclasses.asdict(self)


NORM_EPSILON: Final = 1e-5
"""What a norm adds to a variance."""


class LayerShape(NamedTuple):
    """A layer of a net with weights."""

    name: str
    outputs: int
    inputs: int
    size: int | None
    """Of a convolution; a full layer has none."""
    normed: bool = False
    """Whether a norm follows, which has the bias."""


def layers(config: NetConfig) -> Iterator[LayerShape]:
    """Walk over the layers of a net in the order in which they are computed.

    >>> [layer.name for layer in layers(NetConfig.sized(GARDNER, "tiny", blocks=1))][:4]
    ['stem', 'blocks.0.first', 'blocks.0.second', 'blocks.0.context.squeeze']
    """
    channels, pooled = config.channels, 2 * config.value_channels
    yield LayerShape("stem", channels, config.bitboards + config.scalars + 1, 3, True)
    for block in (f"blocks.{index}" for index in range(config.blocks)):
        yield LayerShape(f"{block}.first", channels, channels, 3, True)
        yield LayerShape(f"{block}.second", channels, channels, 3, True)
        if config.context == "se":
            squeezed = max(16, channels // 4)
            yield LayerShape(f"{block}.context.squeeze", squeezed, channels, None)
            yield LayerShape(f"{block}.context.excite", 2 * channels, squeezed, None)
        elif config.context == "pool":
            yield LayerShape(f"{block}.context.bias", channels, 2 * channels, None)
    yield LayerShape("policy.reduce", config.policy_channels, channels, 1, True)
    yield LayerShape("policy.planes", config.planes, config.policy_channels, 1)
    yield LayerShape("value.reduce", config.value_channels, channels, 1, True)
    yield LayerShape("value.hidden", pooled, pooled, None)
    yield LayerShape("value.wdl", 3, pooled, None)
    yield LayerShape("value.plies", 1, pooled, None)


def tensor_shapes(config: NetConfig) -> dict[str, tuple[int, ...]]:
    """Give the name and shape of every tensor of a net, all float32."""
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in layers(config):
        size = () if layer.size is None else (layer.size, layer.size)
        shapes[f"{layer.name}{'.conv' if layer.normed else ''}.weight"] = (layer.outputs, layer.inputs, *size)
        if not layer.normed:
            shapes[f"{layer.name}.bias"] = (layer.outputs,)
            continue
        for each in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{layer.name}.norm.{each}"] = (layer.outputs,)
    return shapes
