"""The keys of a recipe: type, range, default and help of each, declared once.

Reader, writer, `docs/recipes.md` and error messages all take them from here. The keys that the native core
consumes (`visits`, `cpuct`, …) are declared beside its structs, in `SearchConfig.fields()` and
`SelfPlayConfig.fields()`; the others below. A number marked `Scheduled` may be a schedule by cycle.

>>> KEYS["learner.value_mix"].expected
'a number from 0 to 1'
>>> KEYS["selfplay.visits"].expected, KEYS["selfplay.visits"].is_scheduled
('a whole number from 1 to 100,000', True)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, create_model
from pydantic_core import PydanticCustomError

from selfmate._core import VARIANTS, ConfigField, Position, SearchConfig, SelfPlayConfig
from selfmate.errors import UnknownVariant
from selfmate.nn.config import LIMITS, SIZES, Context
from selfmate.recipe.schedule import at, start_cycles

__all__ = [
    "KEYS",
    "MAY_CHANGE",
    "MOVED",
    "TRAINABLE",
    "GatePart",
    "Key",
    "LearnerPart",
    "NetPart",
    "ProgressPart",
    "Recipe",
    "SearchPart",
    "SelfPlayPart",
    "VariantPart",
    "contradictions",
]

MAY_CHANGE: Final = frozenset(
    f"{part}.{key}"
    for part, keys in {
        "selfplay": "cycles slots visits fast_visits full_probability temperature",
        "learner": "learning_rate weight_decay reuse window value_mix",
        "gate": "games visits threshold every final_games final_visits",
        "progress": "games every visits",
    }.items()
    for key in keys.split()
)
"""Keys that `--set` may change when a run is resumed: rates, window, visits, and whatever only measures."""

MOVED: Final = {"gate.anchor_games": "progress.games", "gate.anchor_every": "progress.every"}
"""Keys in recipes that earlier versions archived, and their present names."""

MAX_CYCLE: Final = 1_000_000
MAX_VISITS: Final = next(field.maximum for field in SelfPlayConfig.fields() if field.name == "visits")
MAX_GAMES: Final = 1_000_000
MAX_MATCH_GAMES: Final = 100_000


# -- types ----------------------------------------------------------------------------------------


def whole(minimum: int, maximum: int) -> Any:
    """Return the constraint of a whole number; `true` and `1.0` are not whole numbers."""
    return Field(strict=True, ge=minimum, le=maximum)


def number(
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
) -> Any:
    """Return the constraint of a finite number; `above` and `below` are bounds that it may not reach."""
    return Field(strict=True, allow_inf_nan=False, ge=minimum, le=maximum, gt=above, lt=below)


def key(help: str, default: Any = ...) -> Any:
    """Declare a key with its help and its default; without a default the recipe must have it."""
    return Field(default, description=help)


Number = TypeVar("Number")


def _check_cycles(schedule: tuple[tuple[int, Number], ...]) -> tuple[tuple[int, Number], ...]:
    starts = [start for start, _ in schedule]
    if not starts or starts[0] != 0 or starts != sorted(set(starts)):
        raise PydanticCustomError("schedule", "a schedule begins at cycle 0 and its cycles rise")
    return schedule


def _kind(value: object) -> str:
    return "schedule" if isinstance(value, list | tuple) else "number"


Cycle: TypeAlias = Annotated[int, whole(0, MAX_CYCLE)]
Scheduled: TypeAlias = Annotated[
    Annotated[Number, Tag("number")]
    | Annotated[tuple[tuple[Cycle, Number], ...], AfterValidator(_check_cycles), Tag("schedule")],
    Discriminator(_kind),
]
"""A number, or a schedule [[cycle, number], ...]. An error names one of the two kinds, never both."""


def _with_960(names: Iterable[str]) -> Iterator[str]:
    """Yield each variant, followed by its form with Chess960 start positions where the rules have one."""
    for name in names:
        yield name
        with contextlib.suppress(UnknownVariant):
            Position(f"{name}960")
            yield f"{name}960"


TRAINABLE: Final = tuple(_with_960(VARIANTS))
"""Variants that a recipe may name. Games of `chess960` and `atomic960` begin at random start positions."""


def _check_variant(name: str) -> str:
    if name not in TRAINABLE:
        raise UnknownVariant.named(name, TRAINABLE)
    return name


if TYPE_CHECKING:
    Size: TypeAlias = str
else:
    Size = Literal[tuple(SIZES)]


class Part(BaseModel):
    """A section of a recipe. Iterating yields (key, value) in the order of declaration."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CorePart(Part):
    """A section with keys that the native core consumes; `core_keys` names them."""

    core_keys: ClassVar[frozenset[str]] = frozenset()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the core's keys are known at run time only

    def core_values(self, cycle: int) -> dict[str, Any]:
        """Return the values of the core's keys at a cycle, as keyword arguments of their struct."""
        return {name: at(value, cycle) for name, value in self if name in self.core_keys}


AnyCorePart = TypeVar("AnyCorePart", bound=CorePart)


def core_keys(fields: Iterable[ConfigField], **defaults: Any) -> Callable[[type[AnyCorePart]], type[AnyCorePart]]:
    """Add the fields of a struct of the core to a section, after its own keys; `defaults` replace the struct's."""

    def add(part: type[AnyCorePart]) -> type[AnyCorePart]:
        keys = {}
        for field in fields:
            if field.in_recipe:
                default = ... if field.is_required else defaults.get(field.name, field.default)
                keys[field.name] = (_core_type(field), key(field.help, default))
        made = create_model(part.__name__, __base__=part, __module__=__name__, __doc__=part.__doc__, **keys)  # type: ignore[call-overload]
        made.core_keys = frozenset(keys)
        return made  # type: ignore[no-any-return]

    return add


def _core_type(field: ConfigField) -> Any:
    """Return the type of a field of the core: a flag, or a number that may be a schedule."""
    if field.type is bool:
        return Annotated[bool, Field(strict=True)]
    if field.type is int:
        bounds = whole(field.minimum, field.maximum)
    elif field.is_above_minimum:
        bounds = number(above=field.minimum, maximum=field.maximum)
    else:
        bounds = number(field.minimum, field.maximum)
    scheduled: Any = Scheduled
    return scheduled[Annotated[field.type, bounds]]


# -- sections -------------------------------------------------------------------------------------


class VariantPart(Part):
    """The game."""

    name: Annotated[str, AfterValidator(_check_variant)] = key("name of the variant, as in `selfmate perft`")


class NetPart(Part):
    """The net. It cannot change during a run, so no key may be a schedule."""

    size: Size = key("named size; the keys below change it")
    blocks: Annotated[int, whole(*LIMITS["blocks"])] | None = key("residual blocks", None)
    channels: Annotated[int, whole(*LIMITS["channels"])] | None = key("channels of the residual tower", None)
    context: Context | None = key("how blocks see the whole board: squeeze-and-excite, pooling, or not", None)

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


class GatePart(Part):
    """Matches between candidate and champion, and the final matches."""

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

    def flat(self) -> dict[str, Any]:
        """Return all values by their dotted keys."""
        return {f"{section}.{name}": value for section, part in self for name, value in part}


# -- what is declared, as plain data --------------------------------------------------------------


class Key(NamedTuple):
    """A key as it was declared."""

    section: str
    name: str
    type: Literal["integer", "number", "boolean", "string"]
    help: str
    is_required: bool
    default: Any
    """None for a required key, and where the default is that the key is absent."""
    choices: tuple[str, ...]
    is_scheduled: bool
    minimum: float | None
    maximum: float | None
    above: float | None
    """The number lies above this bound; likewise `below`."""
    below: float | None

    @property
    def bounds(self) -> str:
        """The range in words.

        >>> KEYS["learner.ema"].bounds, KEYS["learner.clip"].bounds
        ('from 0 to below 1', 'above 0, at most 1,000,000,000')
        """
        if self.minimum is not None and self.maximum is not None:
            return f"from {self.minimum:,.12g} to {self.maximum:,.12g}"
        if self.above is not None and self.maximum is not None:
            return f"above {self.above:,.12g}, at most {self.maximum:,.12g}"
        if self.minimum is not None and self.below is not None:
            return f"from {self.minimum:,.12g} to below {self.below:,.12g}"
        return ""

    @property
    def expected(self) -> str:
        """What a value of the key is, in words, without the possibility of a schedule."""
        kinds = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "text"}
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return f"{kinds[self.type]} {self.bounds}".rstrip()


def _declared() -> Iterator[Key]:
    """Read the declarations back from the models' JSON schema."""
    for section, field in Recipe.model_fields.items():
        part: Any = field.annotation
        schema = part.model_json_schema()
        for name, entry in schema["properties"].items():
            # A schedule is the second of two choices, "absent" is a null among them.
            kinds = [kind for kind in entry.get("oneOf") or entry.get("anyOf") or [entry] if kind["type"] != "null"]
            yield Key(
                section=section,
                name=name,
                type=kinds[0]["type"],
                help=entry["description"],
                is_required=name in schema.get("required", ()),
                default=entry.get("default"),
                choices=TRAINABLE if part is VariantPart else tuple(kinds[0].get("enum", ())),
                is_scheduled="oneOf" in entry,
                minimum=kinds[0].get("minimum"),
                maximum=kinds[0].get("maximum"),
                above=kinds[0].get("exclusiveMinimum"),
                below=kinds[0].get("exclusiveMaximum"),
            )


KEYS: Final = {f"{declared.section}.{declared.name}": declared for declared in _declared()}
"""Every key of a recipe by its dotted name, in the order of declaration."""


# -- what cannot go together ----------------------------------------------------------------------


def contradictions(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Yield every (key, reason) that makes the recipe impossible, at any cycle of its schedules."""
    selfplay, learner, search = recipe.selfplay, recipe.learner, recipe.search
    if learner.holdout == 1:
        yield "learner.holdout", "every game would only validate; 0 means none, 16 one in sixteen"
    for cycle in start_cycles(recipe.flat().values()):
        when = f" (from cycle {cycle})" if cycle else ""
        visits, fast = at(selfplay.visits, cycle), at(selfplay.fast_visits, cycle)
        share = at(selfplay.full_probability, cycle)
        if share < 1 and "fast_visits" not in selfplay.model_fields_set:
            yield "selfplay.fast_visits", f"needed while selfplay.full_probability is below 1{when}"
        if fast > visits:
            yield "selfplay.fast_visits", f"{fast} is more than the {visits} visits of a full search{when}"
        if share == 0:
            yield "selfplay.full_probability", f"without full searches there is nothing to learn from{when}"
        if search.gumbel and at(search.noise_epsilon, cycle) > 0:
            yield "search.noise_epsilon", f"a Gumbel root has its own noise; set one of the two to zero{when}"
        if not search.gumbel and at(search.noise_epsilon, cycle) == 0 and at(selfplay.temperature, cycle) == 0:
            yield "search.noise_epsilon", f"without noise, temperature and Gumbel root self-play explores nothing{when}"
        if at(selfplay.random_plies, cycle) >= at(selfplay.max_plies, cycle):
            yield "selfplay.max_plies", f"the game would end within its random plies{when}"
        if at(learner.batch, cycle) > at(learner.window, cycle):
            yield "learner.window", f"smaller than one batch of {at(learner.batch, cycle)}{when}"
        for name, games in (
            ("gate.games", recipe.gate.games),
            ("gate.final_games", recipe.gate.final_games),
            ("progress.games", recipe.progress.games),
        ):
            if at(games, cycle) % 2:
                yield name, f"openings are played in pairs, so the number is even{when}"
