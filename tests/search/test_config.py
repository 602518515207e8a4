"""The config structs of the core: every field is checked by its own declaration, and a recipe's keys reach them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from selfmate._core import ConfigField, SearchConfig, SelfPlayConfig
from selfmate.recipe.reader import change, from_toml, load
from selfmate.recipe.searches import match_search, selfplay_search
from selfmate.recipe.writer import to_toml

CONFIGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "search": (SearchConfig, {}),
    "selfplay": (SelfPlayConfig, {"visits": 9}),
}
FIELDS = [(section, field) for section, (config, _) in CONFIGS.items() for field in config.fields()]


def build(section: str, **values: Any) -> Any:
    config, needed = CONFIGS[section]
    return config(**needed | values)


def outside(field: ConfigField) -> list[Any]:
    """Return values that the field must refuse: just outside of its range, far outside, and of other types."""
    if field.type is bool:
        return [0, 1, "yes", None]
    if field.type is str:
        return ["", "PUCT", field.choices[0] + "\0", "\ud800", 0, True, None, []]
    tiny = 1 if field.type is int else 1e-3
    below = field.minimum if field.is_above_minimum else field.minimum - tiny
    wrong: list[Any] = [
        below,
        field.maximum + (1 if field.type is int else 1.0),
        -(10**30),
        10**30,
        True,
        "3",
        None,
        [],
    ]
    return wrong + ([1.5] if field.type is int else [math.nan, math.inf])


@pytest.mark.parametrize(("section", "field"), FIELDS, ids=lambda value: getattr(value, "name", value))
def test_a_field_has_its_default_and_range(section: str, field: ConfigField) -> None:
    assert field.help
    if not field.is_required:
        assert getattr(build(section), field.name) == field.default
        assert type(field.default) is field.type
    inside: list[Any] = [True, False] if field.type is bool else field.choices or [field.maximum]
    if field.type in (int, float) and not field.is_above_minimum:
        inside.append(field.minimum)
    for value in inside:
        assert getattr(build(section, **{field.name: value}), field.name) == value
    for value in outside(field):
        with pytest.raises(ValueError, match=rf"^{field.name}: expected .*, not "):
            build(section, **{field.name: value})


def test_unknown_and_missing_fields_are_refused() -> None:
    with pytest.raises(TypeError, match="SearchConfig has no field 'cpukt'"):
        SearchConfig(cpukt=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="SearchConfig has no field 'fields'"):
        SearchConfig(fields=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="SelfPlayConfig needs visits"):
        SelfPlayConfig()  # type: ignore[call-arg]


def test_numbers_of_numpy_are_numbers() -> None:
    assert SearchConfig(considered=np.int64(7), cpuct=np.float32(2)).considered == 7  # type: ignore[arg-type]


def differences(one: SearchConfig, other: SearchConfig) -> set[str]:
    """Return the names of the fields that differ."""
    return {field.name for field in SearchConfig.fields() if getattr(one, field.name) != getattr(other, field.name)}


def test_a_search_without_noise_differs_in_nothing_else() -> None:
    noisy = SearchConfig(gumbel=True, noise_epsilon=0.25, cpuct=3, max_bytes=1 << 20)
    quiet = noisy.without_noise()
    assert differences(noisy, quiet) == {"gumbel_scale", "noise_epsilon"}
    assert quiet.gumbel_scale == quiet.noise_epsilon == 0


def test_a_search_with_another_size_of_the_tree_differs_in_nothing_else() -> None:
    config = SearchConfig(cpuct=3, max_bytes=1 << 20)
    resized = config.with_max_bytes(1 << 24)
    assert differences(config, resized) == {"max_bytes"}
    assert resized.max_bytes == 1 << 24


@pytest.mark.parametrize(
    ("section", "field"),
    [each for each in FIELDS if each[1].in_recipe],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_key_of_a_recipe_reaches_its_struct(section: str, field: ConfigField) -> None:
    """A schedule has the value of its cycle; nothing else of the struct changes."""
    neutral = ["search.gumbel=false", "search.noise_epsilon=0.5", "selfplay.visits=50", "selfplay.max_plies=900"]
    recipe = change(load("gardner-laptop"), neutral)
    part = getattr(recipe, section)
    old = getattr(part, field.name)
    extra = ["search.noise_epsilon=0"] if field.name in ("gumbel", "select") else []
    if field.type is bool:
        text = "false" if old else "true"
    elif field.type is str:
        text = next(name for name in field.choices if name != old)
    else:
        text = f"[[0, {old}], [3, {7 if field.type is int else 0.875}]]"
    changed_recipe = change(recipe, [*extra, f"{section}.{field.name}={text}"])
    changed = getattr(changed_recipe, section)
    struct = CONFIGS[section][0]
    before, after = struct(**part.core_values(3)), struct(**changed.core_values(3))
    different = {each.name for each in struct.fields() if getattr(before, each.name) != getattr(after, each.name)}
    assert different - ({"noise_epsilon"} if extra else set()) == {field.name}
    if section == "search" and field.type not in (bool, str):
        assert getattr(selfplay_search(changed_recipe, 2), field.name) == getattr(before, field.name)


@pytest.mark.parametrize(
    "field", [each for each in SearchConfig.fields() if each.in_recipe], ids=lambda field: field.name
)
def test_the_gate_overrides_any_key_of_the_search(field: ConfigField) -> None:
    """A key of [gate] changes matches alone; without one they have the search of self-play less its noise."""
    recipe = change(load("gardner-laptop"), ["search.gumbel=false", "search.noise_epsilon=0.5"])
    plain = selfplay_search(recipe, 3).without_noise()
    assert match_search(recipe, 3) == plain
    old = getattr(plain, field.name)
    if field.type is bool:
        text = "false" if old else "true"
    elif field.type is str:
        text = next(name for name in field.choices if name != old)
    else:
        text = f"[[0, {old}], [3, {7 if field.type is int else 0.875}]]"
    changed = change(recipe, [f"gate.{field.name}={text}"])
    assert differences(match_search(changed, 3), plain) == {field.name}
    assert selfplay_search(changed, 3) == selfplay_search(recipe, 3)
    if text.startswith("["):
        assert match_search(changed, 2) == plain
    assert from_toml(to_toml(changed)) == changed
