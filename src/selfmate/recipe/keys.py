"""The keys of a recipe as plain data, read back from the declarations in `recipe/schema.py`.

>>> KEYS["learner.value_mix"].expected
'a number from 0 to 1'
>>> KEYS["selfplay.visits"].expected, KEYS["selfplay.visits"].is_scheduled
('a whole number from 1 to 100,000', True)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

from selfmate.recipe.schema import Recipe, VariantPart
from selfmate.recipe.types import TRAINABLE

__all__ = ["KEYS", "MAY_CHANGE", "MOVED", "Key"]

MAY_CHANGE: Final = frozenset(
    f"{part}.{key}"
    for part, keys in {
        "net": "blocks channels",
        "selfplay": "cycles slots cache visits fast_visits full_probability temperature",
        "learner": "learning_rate weight_decay reuse window value_mix grow_steps keep_every log_every",
        "gate": "games visits rule threshold p0 p1 alpha beta every final_games final_visits",
        "progress": "games every visits engine engine_games engine_elo",
    }.items()
    for key in keys.split()
)
"""Keys that `--set` may change when a run is resumed: rates, window, visits, and whatever only measures.

The net may get a schedule that begins as it is now (`rundir/directory.py` checks that)."""

MOVED: Final = {"gate.anchor_games": "progress.games", "gate.anchor_every": "progress.every"}
"""Keys in recipes that earlier versions archived, and their present names."""


class Key(NamedTuple):
    """A key as it was declared."""

    section: str
    name: str
    type: Literal["integer", "number", "boolean", "string", "array"]
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
        if self.above is not None and self.below is not None:
            return f"above {self.above:,.12g} and below {self.below:,.12g}"
        return ""

    @property
    def expected(self) -> str:
        """What a value of the key is, in words, without the possibility of a schedule."""
        kinds = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "text"}
        kinds["array"] = "a list [[move, number], ...]"
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
            kinds = [kind for kind in entry.get("oneOf") or entry.get("anyOf") or [entry] if kind.get("type") != "null"]
            is_scheduled = "oneOf" in entry or "oneOf" in kinds[0]
            kinds = kinds[0].get("oneOf", kinds)
            yield Key(
                section=section,
                name=name,
                type=kinds[0]["type"],
                help=entry["description"],
                is_required=name in schema.get("required", ()),
                default=entry.get("default"),
                choices=TRAINABLE if part is VariantPart else tuple(kinds[0].get("enum", ())),
                is_scheduled=is_scheduled,
                minimum=kinds[0].get("minimum"),
                maximum=kinds[0].get("maximum"),
                above=kinds[0].get("exclusiveMinimum"),
                below=kinds[0].get("exclusiveMaximum"),
            )


KEYS: Final = {f"{declared.section}.{declared.name}": declared for declared in _declared()}
"""Every key of a recipe by its dotted name, in the order of declaration."""
