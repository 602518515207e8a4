"""The sections of a recipe: type, range, default and help of each key, declared once.

Reader, writer, `docs/recipes.md` and error messages all take them from here (`recipe/keys.py`). The keys that the
native core consumes (`visits`, `cpuct`, …) are declared beside its structs, in `SearchConfig.fields()` and
`SelfPlayConfig.fields()`; the others below. A number marked `Scheduled` may be a schedule by cycle.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from selfmate._core import Encoding, SearchConfig, SelfPlayConfig
from selfmate.nn.config import LIMITS, ActivationName, Context, EncoderName, Heads, NetConfig, PolicyName, ValueName
from selfmate.nn.encodings import encoding_of, sized_for
from selfmate.recipe.types import MAX_CYCLE, CorePart, Part, Scheduled, Size, VariantName, core_keys, key, number, whole

__all__ = [
    "GatePart",
    "LearnerPart",
    "NetPart",
    "ProgressPart",
    "Recipe",
    "SearchPart",
    "SelfPlayPart",
    "VariantPart",
]

MAX_VISITS: Final = next(field.maximum for field in SelfPlayConfig.fields() if field.name == "visits")
MAX_GAMES: Final = 1_000_000
MAX_MATCH_GAMES: Final = 100_000


class VariantPart(Part):
    """The game."""

    name: VariantName = key("name of the variant, as in `selfmate perft`")


class NetPart(Part):
    """The net. It cannot change during a run, so no key may be a schedule."""

    size: Size = key("named size; the keys below change it")
    blocks: Annotated[int, whole(*LIMITS["blocks"])] | None = key("residual blocks", None)
    channels: Annotated[int, whole(*LIMITS["channels"])] | None = key("channels of the residual tower", None)
    context: Context | None = key("how blocks see the whole board: squeeze-and-excite, pooling, or not", None)
    context_blocks: str = key('first and last block with a context, as in "7-10"; empty: all', "")
    widths: str = key(
        'channels of a plain tower without residual blocks, as in "256,512,1024"; empty: a residual one', ""
    )
    activation: ActivationName = key("activation of every layer", "relu")
    encoder: EncoderName = key(
        "planes of a position: full and pieces12 as the side to move sees it, else as White", "full"
    )
    history: Annotated[int, whole(*LIMITS["history"])] = key("positions that the encoder sees", 1)
    policy: PolicyName = key(
        "logits of moves: by direction and distance, by from- and to-square, by a sum of from-square and move, or none "
        "and equal priors",
        "planes",
    )
    underpromotions: Annotated[bool, Field(strict=True)] = key(
        "whether fromto and factored tell promotions to other pieces from that to a queen", True
    )
    value: ValueName = key(
        "win-draw-loss, a number by tanh, a number without bounds, or two of these: one for either colour", "wdl"
    )
    heads: Heads = key("heads by 1x1 convolutions and pooling, or by layers connected to every square", "conv")
    policy_channels: Annotated[int, whole(*LIMITS["policy_channels"])] | None = key("channels of the policy head", None)
    value_channels: Annotated[int, whole(*LIMITS["value_channels"])] | None = key(
        "channels of the value head; 0, with full heads: the tower itself", None
    )
    value_hidden: Annotated[int, whole(*LIMITS["value_hidden"])] = key(
        "neurons between board and value, with full heads; 0: none", 0
    )

    def changes(self) -> dict[str, Any]:
        """Return what differs from the named size, for `NetConfig.sized`."""
        return {name: value for name, value in self if name != "size" and value is not None}


@core_keys(SearchConfig.fields(), gumbel=True)  # the struct's default is for playing
class SearchPart(CorePart):
    """The search, in self-play and in matches (matches drop the noise)."""


@core_keys(SelfPlayConfig.fields())
class SelfPlayPart(CorePart):
    """Self-play games."""

    cycles: Annotated[int, whole(1, MAX_CYCLE)] = key("cycles after which the run is complete")
    games: Scheduled[Annotated[int, whole(1, MAX_GAMES)]] = key("games per cycle, counted by id")
    slots: Annotated[int, whole(0, 65_536)] = key("games at once (speed, not content); 0: chosen for the device", 0)
    leaves: Annotated[int, whole(1, 64)] = key("leaves of one search that are evaluated at once", 1)
    uniform_cycles: Annotated[int, whole(0, MAX_CYCLE)] = key(
        "first cycles that are played without the net: equal priors, and every value a draw", 0
    )


class LearnerPart(Part):
    """Learning from the games."""

    optimizer: Literal["adamw", "sgd"] = key("adamw, or sgd with Nesterov momentum 0.9", "adamw")
    learning_rate: Scheduled[Annotated[float, number(above=0, maximum=10)]] = key("learning rate after the warm-up")
    warmup: Annotated[int, whole(0, 10_000_000)] = key("steps over which the learning rate rises from zero", 100)
    weight_decay: Scheduled[Annotated[float, number(0, 10)]] = key(
        "on matrices only; decoupled in adamw, L2 in sgd", 1e-4
    )
    clip: Scheduled[Annotated[float, number(above=0, maximum=1e9)]] = key("largest norm of the gradient", 1.0)
    batch: Scheduled[Annotated[int, whole(1, 65_536)]] = key("positions per step")
    reuse: Scheduled[Annotated[float, number(above=0, maximum=1000)]] = key("mean times that a position is sampled")
    window: Scheduled[Annotated[int, whole(1, 100_000_000)]] = key("newest positions that are sampled from")
    mirror: Annotated[bool, Field(strict=True)] = key("also sample left-right mirror images where they are legal", True)
    ema: Annotated[float, number(0, below=1)] = key("decay of the averaged weights, which play", 0.99)
    value_mix: Scheduled[Annotated[float, number(0, 1)]] = key(
        "share of the search's value in the value target; the rest is the result of the game"
    )
    value_weight: Scheduled[Annotated[float, number(0, 100)]] = key("weight of the win-draw-loss loss", 1.0)
    plies_weight: Scheduled[Annotated[float, number(0, 100)]] = key("weight of the plies-left loss", 0.01)
    holdout: Annotated[int, whole(0, 1_000_000)] = key("one game in this many only validates; 0: none", 16)


@core_keys(SearchConfig.fields(), optional=True)
class GatePart(CorePart):
    """Matches between candidate and champion, and the final matches.

    Every key of `[search]` may stand here too: it overrides the search in these matches, which have no noise otherwise.
    """

    games: Scheduled[Annotated[int, whole(0, MAX_MATCH_GAMES)]] = key(
        "games of candidate against champion; 0: every candidate becomes champion", 0
    )
    visits: Scheduled[Annotated[int, whole(1, MAX_VISITS)]] = key("visits per move in the gate", 32)
    threshold: Scheduled[Annotated[float, number(0, 1)]] = key("score that makes a candidate champion", 0.5)
    every: Scheduled[Annotated[int, whole(1, MAX_CYCLE)]] = key("cycles between gates", 1)
    random_plies: Scheduled[Annotated[int, whole(1, 100)]] = key("random plies of the paired openings", 4)
    final_games: Scheduled[Annotated[int, whole(0, MAX_MATCH_GAMES)]] = key("games of each final match; 0: none", 200)
    final_visits: Scheduled[Annotated[int, whole(1, MAX_VISITS)]] = key("visits per move in the final matches", 64)


class ProgressPart(Part):
    """Measurements of the champion on the scale of `selfmate progress`."""

    games: Scheduled[Annotated[int, whole(0, MAX_MATCH_GAMES)]] = key("games with each of two opponents; 0: none", 0)
    every: Scheduled[Annotated[int, whole(1, MAX_CYCLE)]] = key("cycles between measurements", 10)
    visits: Scheduled[Annotated[int, whole(1, MAX_VISITS)]] = key("visits per move in the measurements", 64)


class Recipe(Part):
    """A whole recipe. `at(recipe.learner.reuse, cycle)` is the value of a scheduled number at a cycle."""

    variant: VariantPart
    net: NetPart
    search: SearchPart
    selfplay: SelfPlayPart
    learner: LearnerPart
    gate: GatePart
    progress: ProgressPart

    def net_config(self) -> NetConfig:
        """Return the net; raise `NetError` where its keys contradict each other."""
        return sized_for(self.variant.name, self.net.size, **self.net.changes())

    def encoding(self) -> Encoding:
        """Return the encoding of the positions that the net reads."""
        return encoding_of(self.net_config())

    def flat(self) -> dict[str, Any]:
        """Return all values by their dotted keys."""
        return {f"{section}.{name}": value for section, part in self for name, value in part}
