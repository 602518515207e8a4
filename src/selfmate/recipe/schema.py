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
from selfmate.recipe.schedule import at
from selfmate.recipe.selfplay_types import JudgeName, TemperatureSteps
from selfmate.recipe.types import MAX_CYCLE, CorePart, Part, Scheduled, Size, VariantName, core_keys, key, number, whole

__all__ = [
    "TRAINING_HEADS",
    "GatePart",
    "LearnerPart",
    "NetPart",
    "ProgressPart",
    "Recipe",
    "SearchPart",
    "SelfPlayPart",
    "VariantPart",
]

TRAINING_HEADS: Final = ("soft", "reply", "ahead")
"""Heads that only train (train/heads.py), and their losses; `learner.NAME_weight` are their weights."""

MAX_VISITS: Final = next(field.maximum for field in SelfPlayConfig.fields() if field.name == "visits")
MAX_GAMES: Final = 1_000_000
MAX_MATCH_GAMES: Final = 100_000


class VariantPart(Part):
    """The game."""

    name: VariantName = key("name of the variant, as in `selfmate perft`")


class NetPart(Part):
    """The net. It may grow in a run, by schedules of `blocks` and `channels`; nothing else of it changes.

    At the cycle of a change the net gets the new blocks and channels, computes the same as before, and learns
    `learner.grow_steps` from the window before it plays (with a gate: before it is judged).
    """

    size: Size = key("named size; the keys below change it")
    blocks: Scheduled[Annotated[int, whole(*LIMITS["blocks"])]] | None = key("residual blocks", None)
    channels: Scheduled[Annotated[int, whole(*LIMITS["channels"])]] | None = key("channels of the residual tower", None)
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

    def changes(self, cycle: int = 0) -> dict[str, Any]:
        """Return what differs from the named size at a cycle, for `NetConfig.sized`."""
        return {name: at(value, cycle) for name, value in self if name != "size" and value is not None}


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
    cache: Annotated[bool, Field(strict=True)] = key(
        "whether a position that recurs in a game's search, or in its next one, is evaluated once (speed, not content)",
        True,
    )
    uniform_cycles: Annotated[int, whole(0, MAX_CYCLE)] = key(
        "first cycles that are played without the net: equal priors, and every value a draw", 0
    )
    explorer: Literal["net", "heuristic-1"] = key(
        "what plays the games until a candidate has passed the gate: the untrained net, or heuristic-1", "net"
    )
    explorer_cycles: Annotated[int, whole(1, MAX_CYCLE)] = key(
        "first cycles in which heuristic-1 plays, if it is the explorer, also after a candidate has passed", 1
    )
    temperature_by_move: TemperatureSteps = key(
        "temperature from a move of the game on (two plies each, the first is 0); if not empty, it replaces "
        "`temperature` and `temperature_plies`",
        (),
    )
    starts: str = key(
        "where a share of the games begins: a file of puzzles (Lichess's CSV) or of FENs or EPDs, or `middlegames`, "
        "`endgames` or `generated` (both) of random games, or `handicaps`, the start without some men of a side",
        "",
    )
    starts_share: Scheduled[Annotated[float, number(0, 1)]] = key("share of the games that begin at `starts`", 0.6)
    starts_even: Annotated[bool, Field(strict=True)] = key(
        "draw as many of `starts` with White as with Black to move", False
    )
    judge: JudgeName = key(
        "what values truncated games: `none`, `search`, `material`, `heuristic-1`, or an engine, `uci:COMMAND?nodes=N`",
        "none",
    )
    judge_value: Annotated[float, number(0, 1)] = key("value of the side with more material, by `material`", 0.25)


class LearnerPart(Part):
    """Learning from the games."""

    optimizer: Literal["adamw", "adam", "sgd", "muon"] = key(
        "adamw, adam, sgd with momentum, or muon (orthogonalised updates) for the tower and adamw for the rest", "adamw"
    )
    beta2: Annotated[float, number(0, below=1)] = key(
        "decay of the mean squared gradient, in adamw, adam and muon", 0.95
    )
    momentum: Annotated[float, number(0, below=1)] = key("momentum of sgd, and of muon's tower", 0.9)
    nesterov: Annotated[bool, Field(strict=True)] = key("whether that momentum is Nesterov's", True)
    learning_rate: Scheduled[Annotated[float, number(above=0, maximum=10)]] = key("learning rate after the warm-up")
    warmup: Annotated[int, whole(0, 10_000_000)] = key("steps over which the learning rate rises from zero", 100)
    cosine_end: Scheduled[Annotated[float, number(0, 1)]] = key(
        "share of the learning rate to which it falls within each cycle, along a cosine; 1: it is constant", 1.0
    )
    weight_decay: Scheduled[Annotated[float, number(0, 10)]] = key(
        "on matrices only; decoupled in adamw, L2 in adam and sgd", 1e-4
    )
    clip: Scheduled[Annotated[float, number(above=0, maximum=1e9)]] = key("largest norm of the gradient", 1.0)
    batch: Scheduled[Annotated[int, whole(1, 65_536)]] = key("positions per step")
    reuse: Scheduled[Annotated[float, number(above=0, maximum=1000)]] = key("mean times that a position is sampled")
    window: Scheduled[Annotated[int, whole(1, 100_000_000)]] = key("newest positions that are sampled from")
    window_cycles: Scheduled[Annotated[int, whole(0, MAX_CYCLE)]] = key(
        "newest cycles that are sampled from, within `window`; 0: any number", 0
    )
    epochs: Scheduled[Annotated[float, number(0, 1000)]] = key(
        "passes over the whole window in each cycle, instead of `reuse`; 0: steps follow `reuse`", 0.0
    )
    recency: Scheduled[Annotated[float, number(0, 100)]] = key(
        "preference r for newer positions: at share y of the window, 1 the newest, the density is (1 + r) y^r", 0.0
    )
    weigh_by: Literal["none", "game", "ply"] = key(
        "positions count alike, by the length of their game, or by their own ply", "none"
    )
    alternate: Annotated[bool, Field(strict=True)] = key(
        "learn and judge the candidate before the games of a cycle, not beside them: the accepted net plays them", False
    )
    mirror: Annotated[bool, Field(strict=True)] = key("also sample left-right mirror images where they are legal", True)
    ema: Annotated[float, number(0, below=1)] = key("decay of the averaged weights, which play", 0.99)
    swa: Annotated[int, whole(0, 10_000_000)] = key(
        "steps between snapshots of a stochastic weight average, which plays instead; 0: the average of `ema` plays", 0
    )
    swa_snapshots: Annotated[int, whole(1, 100_000)] = key("snapshots that count alike in that average", 10)
    policy_loss: Literal["legal", "all"] = key(
        "softmax over the legal moves, or over all: then the net learns which are legal", "legal"
    )
    target_power: Scheduled[Annotated[float, number(above=0, maximum=100)]] = key(
        "power of the policy target's weights: above 1 sharper, below 1 flatter", 1.0
    )
    smoothing: Scheduled[Annotated[float, number(0, 1)]] = key(
        "share of the policy target that is spread evenly over the legal moves", 0.0
    )
    value_loss: Literal["ce", "mse", "huber"] = key(
        "cross-entropy of win-draw-loss, or squared or Huber's error of the expected value", "ce"
    )
    value_mix: Scheduled[Annotated[float, number(0, 1)]] = key(
        "share of the search's value in the value target; the rest is the result of the game"
    )
    draw_target: Scheduled[Annotated[float, number(-1, 1)]] = key("value of a drawn game, for both sides", 0.0)
    material_nudge: Scheduled[Annotated[float, number(0, 1)]] = key(
        "value of a drawn game that goes from one side to the one with more material at its end", 0.0
    )
    shaping: Scheduled[Annotated[float, number(0, 100)]] = key("rewards per pawn of material that a move gains", 0.0)
    shaping_discount: Scheduled[Annotated[float, number(above=0, maximum=1)]] = key(
        "discount by ply of these rewards and of the result", 1.0
    )
    step_cost: Scheduled[Annotated[float, number(0, 10)]] = key("cost of each own move in the value target", 0.0)
    teacher: str = key("engine whose value is learned in the first cycles, such as uci:stockfish?nodes=1000", "")
    teacher_cycles: Annotated[int, whole(0, MAX_CYCLE)] = key("first cycles whose value target is the teacher's", 0)
    value_weight: Scheduled[Annotated[float, number(0, 100)]] = key("weight of the value loss", 1.0)
    plies_weight: Scheduled[Annotated[float, number(0, 100)]] = key("weight of the plies-left loss", 0.01)
    soft_weight: Scheduled[Annotated[float, number(0, 100)]] = key(
        "weight of a head that only trains: the search's moves at temperature 4 (KataGo: 8); 0: no such head", 0.0
    )
    reply_weight: Scheduled[Annotated[float, number(0, 100)]] = key(
        "weight of a head that only trains: the other side's next move (KataGo: 0.15); 0: no such head", 0.0
    )
    ahead_weight: Scheduled[Annotated[float, number(0, 100)]] = key(
        "weight of a head that only trains: values 6 and 16 plies later (KataGo: 0.6); 0: no such head", 0.0
    )
    grow_steps: Scheduled[Annotated[int, whole(0, 10_000_000)]] = key(
        "steps that a net which has grown learns from the window before it plays", 2000
    )
    holdout: Annotated[int, whole(0, 1_000_000)] = key("one game in this many only validates; 0: none", 16)
    keep_every: Annotated[int, whole(0, 10_000_000)] = key("steps between nets that are kept for good; 0: none", 0)
    log_every: Annotated[int, whole(0, 10_000_000)] = key("steps between lines of losses in the metrics; 0: none", 0)


@core_keys(SearchConfig.fields(), optional=True)
class GatePart(CorePart):
    """Matches between candidate and champion, and the final matches.

    Every key of `[search]` may stand here too: it overrides the search in these matches, which have no noise otherwise.
    """

    games: Scheduled[Annotated[int, whole(0, MAX_MATCH_GAMES)]] = key(
        "games of candidate against champion; 0: every candidate becomes champion", 0
    )
    visits: Scheduled[Annotated[int, whole(1, MAX_VISITS)]] = key("visits per move in the gate", 32)
    rule: Literal["score", "wins", "sprt"] = key(
        "what makes a candidate champion: its score or its share of wins, at least `threshold`, or a sequential test",
        "score",
    )
    threshold: Scheduled[Annotated[float, number(0, 1)]] = key("score, or share of wins, that a candidate needs", 0.5)
    p0: Scheduled[Annotated[float, number(above=0, below=1)]] = key("score of the null hypothesis of sprt", 0.5)
    p1: Scheduled[Annotated[float, number(above=0, below=1)]] = key(
        "score that sprt must find; not found within `games`: not passed", 0.55
    )
    alpha: Scheduled[Annotated[float, number(above=0, below=0.5)]] = key("chance that sprt passes a score of p0", 0.05)
    beta: Scheduled[Annotated[float, number(above=0, below=0.5)]] = key("chance that sprt refuses a score of p1", 0.05)
    every: Scheduled[Annotated[int, whole(1, MAX_CYCLE)]] = key("cycles between gates", 1)
    random_plies: Scheduled[Annotated[int, whole(1, 100)]] = key("random plies of the paired openings", 4)
    final_games: Scheduled[Annotated[int, whole(0, MAX_MATCH_GAMES)]] = key("games of each final match; 0: none", 200)
    final_visits: Scheduled[Annotated[int, whole(1, MAX_VISITS)]] = key("visits per move in the final matches", 64)


class ProgressPart(Part):
    """Measurements of the champion on the scale of `selfmate progress`."""

    games: Scheduled[Annotated[int, whole(0, MAX_MATCH_GAMES)]] = key("games with each of two opponents; 0: none", 0)
    every: Scheduled[Annotated[int, whole(1, MAX_CYCLE)]] = key("cycles between measurements", 10)
    visits: Scheduled[Annotated[int, whole(1, MAX_VISITS)]] = key("visits per move in the measurements", 64)
    engine: str = key("engine that each new champion plays, such as uci:stockfish?nodes=1000; none where empty", "")
    engine_games: Scheduled[Annotated[int, whole(2, MAX_MATCH_GAMES)]] = key("games with that engine", 20)
    engine_elo: Annotated[float, number(-10_000, 10_000)] = key(
        "rating of that engine, on which the champion's is based", 0.0
    )


class Recipe(Part):
    """A whole recipe. `at(recipe.learner.reuse, cycle)` is the value of a scheduled number at a cycle."""

    variant: VariantPart
    net: NetPart
    search: SearchPart
    selfplay: SelfPlayPart
    learner: LearnerPart
    gate: GatePart
    progress: ProgressPart

    def net_config(self, cycle: int = 0) -> NetConfig:
        """Return the net of a cycle; raise `NetError` where its keys contradict each other."""
        return sized_for(self.variant.name, self.net.size, **self.net.changes(cycle))

    def encoding(self) -> Encoding:
        """Return the encoding of the positions that the net reads."""
        return encoding_of(self.net_config())

    def flat(self) -> dict[str, Any]:
        """Return all values by their dotted keys."""
        return {f"{section}.{name}": value for section, part in self for name, value in part}
