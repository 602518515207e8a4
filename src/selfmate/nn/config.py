"""The sizes of a net; which layers follow from them is described in `selfmate.nn.architecture`. Needs no PyTorch.

>>> config = NetConfig.sized(GARDNER, "tiny")
>>> config.blocks, config.channels, config.policy_size
(4, 32, 1225)
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Protocol, Self, get_args

from selfmate.errors import SelfmateError, clip

__all__ = [
    "GARDNER",
    "SIZES",
    "ActivationName",
    "Context",
    "EncoderName",
    "Facts",
    "FixedFacts",
    "Heads",
    "NetConfig",
    "NetError",
    "PolicyName",
    "ValueName",
]

Context = Literal["se", "pool", "none"]
"""How a block sees the whole board: squeeze-and-excite (scale and shift), a pooled bias (as KataGo's), not at all."""

EncoderName = Literal["full", "pieces12", "pieces13", "planes16", "planes18", "planes21", "planes19"]
"""The planes of a position, see cpp/data/encoders.h; `planes21` is `planes18` with its three counters."""
PolicyName = Literal["planes", "fromto", "factored", "none"]
"""The logits of moves: by direction and distance (73 planes in chess), by from- and to-square, the same as the sum of a
logit of the from-square and one of the move, or none at all: equal priors."""
Heads = Literal["conv", "full"]
"""Heads by 1x1 convolutions and pooling, or by layers that are connected to every square."""
ValueName = Literal["wdl", "tanh", "linear", "two"]
"""The output of the value head: win, draw and loss; a number from -1 to 1 by tanh; a number that is clipped to this
range only in evaluations; or two of these, for White to move and for Black to move."""
ActivationName = Literal["relu", "mish", "leaky"]
"""The activation of every layer; `leaky` has the slope 0.01 below zero."""

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
    "scalars": (0, 256),
    "planes": (1, 256),
    "blocks": (1, 80),
    "channels": (1, 1024),
    "policy_channels": (1, 1024),
    "value_channels": (0, 1024),
    "history": (1, 8),
    "value_hidden": (0, 4096),
}
"""The range of every number of a config: a value from a file is refused before a net is built from it."""


CHOICES: Final[dict[str, Any]] = {
    "context": Context,
    "encoder": EncoderName,
    "policy": PolicyName,
    "heads": Heads,
    "value": ValueName,
    "activation": ActivationName,
}
"""The names that a key of a config may have."""


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
    """Channels that the board is reduced to before the value; 0, with full heads: the tower itself."""
    encoder: EncoderName = "full"
    history: int = 1
    """Positions that the encoder sees."""
    policy: PolicyName = "planes"
    underpromotions: bool = True
    """Whether a policy by squares has logits of their own for promotions to other pieces than a queen."""
    heads: Heads = "conv"
    value: ValueName = "wdl"
    value_hidden: int = 0
    """Neurons between board and value with full heads; 0: none."""
    activation: ActivationName = "relu"
    context_blocks: str = ""
    """First and last block with a context, as in "7-10", counted from 1; empty: all blocks."""
    widths: str = ""
    """Channels of the layers of a plain tower, as in "256,512,1024", without residual blocks; empty: a residual one."""

    def __post_init__(self) -> None:
        for key, (least, most) in LIMITS.items():
            number = getattr(self, key)
            if key == "blocks" and self.widths:
                if number != 0:
                    raise NetError("blocks of a net: a plain tower of given widths has none", key)
                continue
            if type(number) is not int or not least <= number <= most:
                shown = clip(repr(number))
                raise NetError(f"{key} of a net must be a whole number from {least} to {most}, not {shown}", key)
        variant: object = self.variant  # may have any type if it comes from a file
        if not isinstance(variant, str) or not 1 <= len(variant) <= 32:
            raise NetError(f"variant of a net must be a name, not {clip(repr(variant))}", "variant")
        for key, choices in CHOICES.items():
            if (name := getattr(self, key)) not in get_args(choices):
                names = ", ".join(get_args(choices))
                raise NetError(f"{key} of a net must be one of {names}, not {clip(repr(name))}", key)
        given: object = self.underpromotions
        if type(given) is not bool:
            shown = clip(repr(given))
            raise NetError(f"underpromotions of a net must be true or false, not {shown}", "underpromotions")
        self._check_tower()
        self._check_heads()

    def _check_tower(self) -> None:
        for key, form, example in (
            ("context_blocks", r"(\d{1,2}-\d{1,2})?", "7-10"),
            ("widths", r"(\d{1,4}(,\d{1,4}){0,31})?", "256,512,1024"),
        ):
            text: object = getattr(self, key)
            if not isinstance(text, str) or not re.fullmatch(form, text):
                raise NetError(f"{key} of a net must be as in {example!r}, not {clip(repr(text))}", key)
        if self.widths and not all(1 <= width <= LIMITS["channels"][1] for width in self.tower_widths):
            raise NetError(f"widths of a net go from 1 to {LIMITS['channels'][1]}, not {self.widths}", "widths")
        if self.widths and self.channels != self.tower_widths[-1]:
            raise NetError("channels of a net with widths are the last of them", "channels")
        if self.context_blocks:
            first, last = self.blocks_with_context
            if not 1 <= first <= last <= self.blocks or self.context == "none":
                reason = f"{self.context_blocks} does not fit {self.blocks} blocks with the context {self.context}"
                raise NetError(f"context_blocks of a net: {reason}", "context_blocks")

    def _check_heads(self) -> None:
        if not self.underpromotions and self.policy not in ("fromto", "factored"):
            raise NetError(f"underpromotions of a net: the policy {self.policy} has no choice", "underpromotions")
        if self.value == "two" and self.encoder != "pieces13":
            raise NetError(f"value of a net: two needs the encoder pieces13, not {self.encoder}", "value")
        if self.heads == "conv" and self.value_hidden:
            raise NetError("value_hidden of a net needs full heads", "value_hidden")
        if self.heads == "conv" and not self.value_channels:
            raise NetError("value_channels of a net: 0 needs full heads", "value_channels")

    @property
    def policy_size(self) -> int:
        """Number of moves in the policy: planes times squares."""
        return self.planes * self.ranks * self.files

    @property
    def is_usual(self) -> bool:
        """Whether its leaves have the variant's own encoding."""
        return (self.encoder, self.policy_space, self.history) == ("full", "planes", 1)

    @property
    def input_planes(self) -> int:
        """Channels of the input: bitboards, scalars, and for `full` a plane of ones."""
        return self.bitboards + self.scalars + (self.encoder == "full")

    @property
    def tower_widths(self) -> tuple[int, ...]:
        """Channels of each layer of a plain tower; empty for a residual one."""
        return tuple(int(width) for width in self.widths.split(",")) if self.widths else ()

    @property
    def blocks_with_context(self) -> tuple[int, int]:
        """First and last block with a context, counted from 1."""
        first, _, last = self.context_blocks.partition("-")
        return (int(first), int(last)) if first else (1, self.blocks)

    @property
    def policy_space(self) -> str:
        """The policy of the core, cpp/data/encoders.h, that names the moves."""
        if self.policy in ("planes", "none"):
            return "planes"
        return "fromto" if self.underpromotions else "fromto_queen"

    @classmethod
    def sized(cls, facts: Facts, size: str = "tiny", **changes: object) -> Self:
        """Return the config of a named size for a variant, with single keys changed as in a recipe."""
        if size not in SIZES:
            raise NetError(f"unknown net size {clip(repr(size))}; valid sizes: {', '.join(SIZES)}", str(size))
        if widths := str(changes.get("widths", "")):
            last = widths.rpartition(",")[2]
            changes = {"blocks": 0} | ({"channels": int(last)} if last.isdecimal() else {}) | changes
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
        """Return the fields by name, as JSON can hold them.

        Of the fields that came after `value_channels`, only those that differ from their default: the nets of earlier
        versions keep their ids.
        """
        values = dataclasses.asdict(self)
        later = list(values)[list(values).index("value_channels") + 1 :]
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return {key: value for key, value in values.items() if key not in later or value != defaults[key]}
