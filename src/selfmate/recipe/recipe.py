"""Recipes: one TOML file that says everything about a run.

A number may be a schedule by cycle, `visits = [[0, 16], [20, 32]]`: it steps, that is, each value holds from its
cycle on until the next one takes over. Steps and not slopes, because a step shows in the file, in the metrics and
in the games at one and the same cycle.

>>> recipe = load("gardner-laptop")
>>> recipe.variant.name, recipe.net.size
('gardner', 'tiny')
>>> from_toml(recipe.to_toml()) == recipe
True
>>> at(((0, 16), (20, 32)), cycle=19), at(((0, 16), (20, 32)), cycle=20)
(16, 32)
>>> change(recipe, ["selfplay.vists=64"])
Traceback (most recent call last):
...
selfmate.recipe.recipe.RecipeError: selfplay.vists: there is no such key; did you mean 'selfplay.visits'?
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, get_type_hints, overload

import msgspec
from msgspec import Meta, Struct

from selfmate._core import VARIANTS
from selfmate.errors import SelfmateError, UnknownVariant, clip

__all__ = [
    "MAY_CHANGE",
    "GatePart",
    "LearnerPart",
    "NetPart",
    "ProgressPart",
    "Recipe",
    "RecipeError",
    "SearchPart",
    "SelfPlayPart",
    "VariantPart",
    "at",
    "change",
    "differences",
    "from_toml",
    "load",
    "names",
    "smoke",
]


MAX_BYTES: Final = 64 << 10
"""A longer file is no recipe."""


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
"""Keys that `--set` may change when a run is resumed: rates, window, visits, and what only measures."""


MOVED: Final = {"gate.anchor_games": "progress.games", "gate.anchor_every": "progress.every"}
"""Keys of recipes that earlier versions archived, and what they are now."""


class RecipeError(SelfmateError):
    """A recipe that cannot be used: the line names the key and the reason; `error.part` is the key."""


# Kinds of numbers. Each may be a schedule: ((cycle, value), ...), the first cycle 0.
_Cycle: TypeAlias = Annotated[int, Meta(ge=0)]


_Whole: TypeAlias = Annotated[int, Meta(ge=0)]


_Count: TypeAlias = Annotated[int, Meta(ge=1)]


_Amount: TypeAlias = Annotated[float, Meta(ge=0)]


_Positive: TypeAlias = Annotated[float, Meta(gt=0)]


_Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]


Whole: TypeAlias = _Whole | tuple[tuple[_Cycle, _Whole], ...]


Count: TypeAlias = _Count | tuple[tuple[_Cycle, _Count], ...]


Amount: TypeAlias = _Amount | tuple[tuple[_Cycle, _Amount], ...]


Positive: TypeAlias = _Positive | tuple[tuple[_Cycle, _Positive], ...]


Share: TypeAlias = _Share | tuple[tuple[_Cycle, _Share], ...]


# The sections. The description of a key becomes its comment in the TOML that a run archives.


class VariantPart(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is played."""

    name: Annotated[str, Meta(description="a variant, as `selfmate perft` names it")]


class NetPart(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The net. It cannot change in the course of a run, so nothing here is a schedule."""

    size: Annotated[Literal["tiny", "small", "medium"], Meta(description="named size; the keys below change it")]
    blocks: Annotated[_Count | None, Meta(description="residual blocks")] = None
    channels: Annotated[_Count | None, Meta(description="channels of the tower")] = None
    context: Annotated[Literal["se", "pool", "none"] | None, Meta(description="how blocks see the whole board")] = None

    def changes(self) -> dict[str, Any]:
        """What differs from the named size, for `NetConfig.sized`."""
        keys = {key: getattr(self, key) for key in ("blocks", "channels", "context")}
        return {key: value for key, value in keys.items() if value is not None}


class SearchPart(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The search, in self-play and in matches (which drop the noise)."""

    gumbel: Annotated[bool, Meta(description="Gumbel root (true) or PUCT with Dirichlet noise (false)")] = True
    considered: Annotated[Count, Meta(description="root moves that a Gumbel search looks into")] = 16
    gumbel_scale: Annotated[Amount, Meta(description="size of the Gumbel noise")] = 1.0
    cpuct: Annotated[Positive, Meta(description="exploration constant")] = 1.25
    fpu_reduction: Annotated[Amount, Meta(description="how much worse an unvisited move counts")] = 0.33
    noise_alpha: Annotated[Positive, Meta(description="Dirichlet concentration (PUCT root)")] = 0.3
    noise_epsilon: Annotated[Share, Meta(description="share of Dirichlet noise in the priors (PUCT root)")] = 0.0
    draw_score: Annotated[
        float | tuple[tuple[_Cycle, float], ...], Meta(description="value of a draw inside the search, -1 to 1")
    ] = 0.0


class SelfPlayPart(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Making games."""

    cycles: Annotated[Annotated[int, Meta(ge=1)], Meta(description="cycles after which the run is complete")]
    games: Annotated[Count, Meta(description="games per cycle, counted by id")]
    slots: Annotated[
        Annotated[int, Meta(ge=0, le=65536)],
        Meta(description="games at once: speed, not content; 0: as fits the device"),
    ] = 0
    leaves: Annotated[Annotated[int, Meta(ge=1, le=64)], Meta(description="leaves of one search evaluated at once")] = 1
    visits: Annotated[Count, Meta(description="visits of a full search; its positions are learned")]
    fast_visits: Annotated[Count, Meta(description="visits of a fast search, which only moves the game on")] = 1
    full_probability: Annotated[Share, Meta(description="share of full searches")] = 0.25
    random_plies: Annotated[Whole, Meta(description="a game opens with 0 to this many random plies")] = 4
    temperature: Annotated[Amount, Meta(description="of the choice of moves in the opening")] = 1.0
    temperature_plies: Annotated[Whole, Meta(description="plies that the temperature lasts")] = 10
    max_plies: Annotated[Count, Meta(description="longer games are truncated and teach no value")] = 512


class LearnerPart(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Learning from the games."""

    optimizer: Annotated[Literal["adamw", "sgd"], Meta(description="adamw, or sgd (Nesterov, 0.9)")] = "adamw"
    learning_rate: Annotated[Positive, Meta(description="after the warm-up")]
    warmup: Annotated[Annotated[int, Meta(ge=0)], Meta(description="steps over which the rate rises from zero")] = 100
    weight_decay: Annotated[Amount, Meta(description="on matrices only; decoupled in adamw, L2 in sgd")] = 1e-4
    clip: Annotated[Positive, Meta(description="largest norm of the gradient")] = 1.0
    batch: Annotated[Count, Meta(description="positions per step")]
    reuse: Annotated[Positive, Meta(description="how often a position is learned from on average")]
    window: Annotated[Count, Meta(description="newest positions that are learned from")]
    mirror: Annotated[bool, Meta(description="learn from left-right mirror images where they are legal")] = True
    ema: Annotated[Annotated[float, Meta(ge=0, lt=1)], Meta(description="decay of the averaged net that plays")] = 0.99
    value_mix: Annotated[Share, Meta(description="share of the search's value in the target, the rest is the result")]
    value_weight: Annotated[Amount, Meta(description="weight of the loss of win-draw-loss")] = 1.0
    plies_weight: Annotated[Amount, Meta(description="weight of the loss of plies left")] = 0.01
    holdout: Annotated[Annotated[int, Meta(ge=0)], Meta(description="one game in so many only validates; 0: none")] = 16


class GatePart(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who is champion, and how good."""

    games: Annotated[Whole, Meta(description="candidate against champion; 0: every candidate becomes champion")] = 0
    visits: Annotated[Count, Meta(description="visits of the gate's searches")] = 32
    threshold: Annotated[Share, Meta(description="score that makes a candidate champion")] = 0.5
    every: Annotated[Count, Meta(description="cycles between gates")] = 1
    random_plies: Annotated[Count, Meta(description="random plies of the paired openings")] = 4
    final_games: Annotated[Whole, Meta(description="games of each final match; 0: none")] = 200
    final_visits: Annotated[Count, Meta(description="visits of both sides in the final matches")] = 64


class ProgressPart(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How often the champion is placed on the scale of `selfmate progress`, and what that may cost."""

    games: Annotated[Whole, Meta(description="with each of two opponents; 0: not measured")] = 0
    every: Annotated[Count, Meta(description="cycles between measurements")] = 10
    visits: Annotated[Count, Meta(description="visits of its searches")] = 64


class Recipe(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole recipe; `at` reads a number of it at a cycle."""

    variant: VariantPart
    net: NetPart
    search: SearchPart
    selfplay: SelfPlayPart
    learner: LearnerPart
    gate: GatePart
    progress: ProgressPart

    def to_toml(self) -> str:
        """Write the recipe with every key and its meaning, so that it reads back equal to this one.

        >>> print(load("gardner-laptop").to_toml().partition("[search]")[0].rstrip())
        [variant]
        name = "gardner"  # a variant, as `selfmate perft` names it
        <BLANKLINE>
        [net]
        size = "tiny"  # named size; the keys below change it
        """
        blocks = []
        for part, keys in _fields().items():
            lines = [f"[{part}]"]
            for key, meaning in keys.items():
                value = getattr(getattr(self, part), key)
                if value is not None:
                    lines.append(f"{key} = {_toml(value)}  # {meaning}")
            blocks.append("\n".join(lines) + "\n")
        return "\n".join(blocks)

    def flat(self) -> dict[str, Any]:
        """All values by their dotted keys.

        >>> load("gardner-laptop").flat()["variant.name"]
        'gardner'
        """
        return {f"{part}.{key}": getattr(getattr(self, part), key) for part, keys in _fields().items() for key in keys}


@overload
def at(schedule: int | tuple[tuple[int, int], ...], cycle: int) -> int: ...


@overload
def at(schedule: float | tuple[tuple[int, float], ...], cycle: int) -> float: ...


def at(schedule: float | tuple[tuple[int, float], ...], cycle: int) -> float:
    """Give the number that holds at `cycle`, of a plain number or of a schedule."""
    if not isinstance(schedule, tuple):
        return schedule
    return [value for start, value in schedule if start <= cycle][-1]


def names() -> list[str]:
    """List the recipes that come with Selfmate.

    >>> names()
    ['atomic', 'atomic-laptop', 'gardner-laptop']
    """
    folder = resources.files("selfmate") / "recipes"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load(name: str | Path) -> Recipe:
    """Read one of our recipes by its name, or any other by the path of its file.

    >>> load("gardner-desktop")
    Traceback (most recent call last):
    ...
    selfmate.recipe.recipe.RecipeError: no recipe is called 'gardner-desktop'; did you mean 'gardner-laptop'?
    """
    text = str(name)
    if text in names():
        return from_toml((resources.files("selfmate") / "recipes" / f"{text}.toml").read_text("utf-8"))
    path = Path(name)
    if not path.exists() and "/" not in text and not text.endswith(".toml"):
        raise RecipeError(f"no recipe is called {clip(text)!r}{_hint(text, names())}", text)
    if not path.is_file():
        raise RecipeError(f"{path}: there is no such file", text)
    data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else None
    if data is None:
        raise RecipeError(f"{path}: a recipe is shorter than {MAX_BYTES >> 10} KiB", text)
    try:
        return from_toml(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path}: not UTF-8 text", text) from error
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}", error.part) from error


def from_toml(text: str) -> Recipe:
    """Read a recipe and check it: keys, types, ranges, and what cannot go together."""
    try:
        return _check(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"not TOML: {_one_line(str(error))}", "") from error


def change(recipe: Recipe, settings: Iterable[str]) -> Recipe:
    """Apply `section.key=value` (as after `--set`) and check the outcome as a whole.

    >>> change(load("gardner-laptop"), ["selfplay.visits=[[0, 8], [5, 32]]", "net.size=small"]).net.size
    'small'
    """
    document = _plain(recipe)
    known = list(recipe.flat())
    for setting in settings:
        key, equals, text = (piece.strip() for piece in setting.partition("="))
        if not equals:
            raise RecipeError(f"{clip(setting)!r}: write section.key=value", setting)
        if key not in known:
            raise RecipeError(f"{_show(key)}: there is no such key{_hint(key, known)}", key)
        part, _, name = key.partition(".")
        document[part][name] = _value(key, text)
    return _check(document)


def differences(old: Recipe, new: Recipe) -> list[str]:
    """Name the keys whose values differ.

    >>> recipe = load("gardner-laptop")
    >>> differences(recipe, change(recipe, ["selfplay.games=7"]))
    ['selfplay.games']
    """
    before, after = old.flat(), new.flat()
    return [key for key, value in before.items() if value != after[key]]


def smoke(recipe: Recipe) -> Recipe:
    """Shrink any recipe to seconds, for tests: every step of a run happens, none of them long.

    >>> smoke(load("atomic-laptop")).selfplay.games
    8
    """
    small: dict[str, dict[str, Any]] = {
        "net": {"blocks": 1, "channels": 8},
        "selfplay": {
            "cycles": 3,
            "games": 8,
            "slots": 8,
            "visits": 4,
            "fast_visits": 2,
            "full_probability": 0.5,
            "random_plies": 2,
            "temperature_plies": 6,
            "max_plies": 30,
        },
        "learner": {"batch": 16, "reuse": 1.0, "window": 400, "warmup": 2, "holdout": 4},
        "gate": {
            "games": 2,
            "visits": 2,
            "every": 1,
            "final_games": 4,
            "final_visits": 2,
        },
        "progress": {"games": 2, "every": 2, "visits": 2},
    }
    document = _plain(recipe)
    for part, keys in small.items():
        document[part].update(keys)
    return _check(document)


# -- checking -------------------------------------------------------------------------------------

_KIND: Final = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "array": "a schedule [[cycle, value], ...]",
    "object": "a section",
    "null": "nothing",
}


def _check(document: dict[str, Any]) -> Recipe:
    """Turn the tables of a TOML file into a recipe, or say in one line what is wrong with them."""
    # 1. Keys: an unknown one gets the nearest known name
    fields = _fields()
    document = _moved(document)
    for part, table in document.items():
        if part not in fields:
            raise RecipeError(f"{_show(part)}: there is no such section{_hint(part, fields)}", part)
        if not isinstance(table, dict):
            raise RecipeError(f"{part}: expected a section [{part}], got one value", part)
        for key in table:
            if key not in fields[part]:
                known = [f"{part}.{name}" for name in fields[part]]
                elsewhere = [f"{other}.{key}" for other in fields if key in fields[other]]
                hint = f"; did you mean {elsewhere[0]!r}?" if elsewhere else _hint(f"{part}.{key}", known)
                raise RecipeError(f"{part}.{_show(key)}: there is no such key{hint}", f"{part}.{key}")
    # 2. Types and ranges
    try:
        recipe = msgspec.convert({part: document.get(part, {}) for part in fields}, Recipe)
    except msgspec.ValidationError as error:
        raise _type_error(str(error), document) from error
    # 3. Schedules begin at cycle 0 and go forwards; numbers are finite
    for key, value in recipe.flat().items():
        starts = [start for start, _ in value] if isinstance(value, tuple) else [0]
        if not starts or starts[0] != 0 or starts != sorted(set(starts)):
            raise RecipeError(f"{key}: a schedule begins at cycle 0 and its cycles rise", key)
        if not all(math.isfinite(number) for number in _numbers(value)):
            raise RecipeError(f"{key}: expected a finite number, not {clip(_toml(value))}", key)
    # 4. What cannot go together, or not be left out
    shares = recipe.selfplay.full_probability
    lowest = min(share for _, share in shares) if isinstance(shares, tuple) else shares
    if lowest < 1 and "fast_visits" not in document["selfplay"]:
        key = "selfplay.fast_visits"
        raise RecipeError(f"{key}: needed while selfplay.full_probability is below 1", key)
    for key, reason in _contradictions(recipe):
        raise RecipeError(f"{key}: {reason}", key)
    return recipe


def _moved(document: dict[str, Any]) -> dict[str, Any]:
    """Give keys of earlier versions their present names."""
    for old, new in MOVED.items():
        (part, key), (new_part, new_key) = old.split("."), new.split(".")
        if isinstance(document.get(part), dict) and key in document[part]:
            left = {name: value for name, value in document[part].items() if name != key}
            document = {**document, part: left, new_part: {new_key: document[part][key], **document.get(new_part, {})}}
    return document


def _contradictions(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Give every (key, reason) that makes the recipe impossible, at any cycle of its schedules."""
    try:
        if recipe.variant.name not in VARIANTS:
            raise UnknownVariant.named(recipe.variant.name, VARIANTS)
    except UnknownVariant as error:
        yield "variant.name", str(error)
    values = recipe.flat()
    cycles = sorted({start for value in values.values() if isinstance(value, tuple) for start, _ in value} | {0})
    selfplay, learner, gate, search = recipe.selfplay, recipe.learner, recipe.gate, recipe.search
    for cycle in cycles:
        when = f" (from cycle {cycle})" if cycle else ""
        visits, fast = at(selfplay.visits, cycle), at(selfplay.fast_visits, cycle)
        if fast > visits:
            yield "selfplay.fast_visits", f"{fast} is more than the {visits} visits of a full search{when}"
        if search.gumbel and at(search.noise_epsilon, cycle) > 0:
            yield "search.noise_epsilon", f"a Gumbel root has its own noise; set one of the two to zero{when}"
        if not search.gumbel and at(search.noise_epsilon, cycle) == 0 and at(selfplay.temperature, cycle) == 0:
            yield "search.noise_epsilon", f"without noise, temperature and Gumbel root self-play explores nothing{when}"
        if at(selfplay.full_probability, cycle) == 0:
            yield "selfplay.full_probability", f"without full searches there is nothing to learn from{when}"
        if at(selfplay.random_plies, cycle) >= at(selfplay.max_plies, cycle):
            yield "selfplay.max_plies", f"the game would end within its random plies{when}"
        if at(learner.batch, cycle) > at(learner.window, cycle):
            yield "learner.window", f"smaller than one batch of {at(learner.batch, cycle)}{when}"
        if abs(at(search.draw_score, cycle)) > 1:
            yield "search.draw_score", f"expected a number from -1 to 1{when}"
        for key, games in (
            ("gate.games", gate.games),
            ("gate.final_games", gate.final_games),
            ("progress.games", recipe.progress.games),
        ):
            if at(games, cycle) % 2:
                yield key, f"openings are played in pairs, so the number is even{when}"
    if learner.holdout == 1:
        yield "learner.holdout", "every game would only validate; 0 means none, 16 one in sixteen"


def _type_error(text: str, document: dict[str, Any]) -> RecipeError:
    """Rewrite a message of msgspec: the key first, then the reason in words, then the value that stands there."""
    reason, _, path = text.partition(" - at `$")
    key = path.strip("`.") or "recipe"
    missing = re.search(r"missing required field `(\w+)`", reason)
    if missing:
        where = f"{key}.{missing[1]}" if key != "recipe" else missing[1]
        return RecipeError(f"{where}: this key is missing", where)

    def in_words(match: re.Match[str]) -> str:
        kinds = [_KIND.get(kind.strip(), kind.strip()) for kind in match[1].split("|")]
        return " or ".join(kind for kind in kinds if kind != "nothing")

    reason = re.sub(r"`([^`]+)`", in_words, reason.partition(", got ")[0])
    invalid = re.search(r"Invalid enum value '?(.*?)'?$", reason)
    if invalid:
        part, _, name = key.partition(".")
        choices = _choices(part, name)
        reason = f"no such choice {invalid[1]!r}{_hint(invalid[1], choices)}"
    else:
        value: Any = document
        for step in re.findall(r"\w+", path):
            value = value[int(step) if isinstance(value, list | tuple) else step]
        reason += f", not {clip(_toml(value) if isinstance(value, bool) else repr(value))}"
    return RecipeError(f"{key}: {_one_line(reason[:1].lower() + reason[1:])}", key)


def _choices(part: str, key: str) -> list[str]:
    """List the words that a key may be."""
    found: list[str] = []

    def collect(annotation: Any) -> None:
        for argument in getattr(annotation, "__args__", ()):
            if isinstance(argument, str):
                found.append(argument)
            else:
                collect(argument)

    hints = get_type_hints(Recipe)
    collect(get_type_hints(hints[part], include_extras=True)[key]) if part in hints else None
    return found


def _fields() -> dict[str, dict[str, str]]:
    """Map every section to its keys, each with its meaning."""
    table: dict[str, dict[str, str]] = {}
    for part, kind in get_type_hints(Recipe).items():
        hints = get_type_hints(kind, include_extras=True)
        table[part] = {
            key: next(meta.description or "" for meta in reversed(hints[key].__metadata__) if isinstance(meta, Meta))
            for key in kind.__struct_fields__
        }
    return table


def _numbers(value: object) -> Iterator[float]:
    if isinstance(value, tuple):
        for entry in value:
            yield from _numbers(entry)
    elif isinstance(value, (int, float)):
        yield value


def _plain(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """Give the recipe as the tables that a TOML reader makes."""
    tables: dict[str, dict[str, Any]] = msgspec.to_builtins(recipe)
    return {part: {key: value for key, value in table.items() if value is not None} for part, table in tables.items()}


def _value(key: str, text: str) -> Any:
    """Read a value as TOML has it; a bare word is text."""
    if len(text) <= 1000 and "\n" not in text:
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            if re.fullmatch(r"[\w-]+", text):
                return text
    kinds = "a number, a word, true, false or a schedule [[cycle, value], ...]"
    raise RecipeError(f"{key}: cannot read the value {clip(text)!r}; write {kinds}", key)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(entry) for entry in value) + "]"
    return repr(value)


def _hint(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest of the known names, or list them."""
    import difflib  # not needed until something is wrong

    choices = list(known)
    near = [choice for choice in choices if choice.endswith(f".{name}")]  # the section was forgotten
    near = near or difflib.get_close_matches(clip(name), choices, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    if len(choices) <= 12:
        return f"; there are {', '.join(choices)}"
    return "; recipe.toml of any run has all of them"


def _show(key: str) -> str:
    """Quote a key only where it would not read as one."""
    return key if re.fullmatch(r"[\w.-]{1,60}", key) else repr(clip(key))


def _one_line(text: str) -> str:
    return " ".join(text.split())
