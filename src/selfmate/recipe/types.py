"""The types of keys: constraints of numbers, schedules by cycle, and sections whose keys the native core declares."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, create_model
from pydantic_core import PydanticCustomError

from selfmate._core import VARIANTS, ConfigField, Position
from selfmate.errors import UnknownVariant
from selfmate.nn.config import SIZES
from selfmate.recipe.schedule import at

__all__ = [
    "MAX_CYCLE",
    "TRAINABLE",
    "CorePart",
    "Part",
    "Scheduled",
    "Size",
    "VariantName",
    "core_keys",
    "key",
    "number",
    "whole",
]

MAX_CYCLE: Final = 1_000_000


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


VariantName: TypeAlias = Annotated[str, AfterValidator(_check_variant)]

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
        """Return the values of the core's keys at a cycle, without absent ones, as arguments of their struct."""
        return {name: at(value, cycle) for name, value in self if name in self.core_keys and value is not None}


AnyCorePart = TypeVar("AnyCorePart", bound=CorePart)


def core_keys(
    fields: Iterable[ConfigField], *, optional: bool = False, **defaults: Any
) -> Callable[[type[AnyCorePart]], type[AnyCorePart]]:
    """Add the fields of a struct of the core to a section, after its own keys; `defaults` replace the struct's.

    `optional`: a key that the recipe does not have is None, for a section that overrides another one.
    """

    def add(part: type[AnyCorePart]) -> type[AnyCorePart]:
        keys = {}
        for field in fields:
            if field.in_recipe and optional:
                keys[field.name] = (_core_type(field) | None, key(field.help, None))
            elif field.in_recipe:
                default = ... if field.is_required else defaults.get(field.name, field.default)
                keys[field.name] = (_core_type(field), key(field.help, default))
        made = create_model(part.__name__, __base__=part, __module__=part.__module__, __doc__=part.__doc__, **keys)  # type: ignore[call-overload]
        made.core_keys = frozenset(keys)
        return made  # type: ignore[no-any-return]

    return add


def _core_type(field: ConfigField) -> Any:
    """Return the type of a field of the core: a flag, one of some names, or a number that may be a schedule."""
    if field.type is bool:
        return Annotated[bool, Field(strict=True)]
    if field.type is str:
        return Literal[tuple(field.choices)]
    if field.type is int:
        bounds = whole(field.minimum, field.maximum)
    elif field.is_above_minimum:
        bounds = number(above=field.minimum, maximum=field.maximum)
    else:
        bounds = number(field.minimum, field.maximum)
    scheduled: Any = Scheduled
    return scheduled[Annotated[field.type, bounds]]
