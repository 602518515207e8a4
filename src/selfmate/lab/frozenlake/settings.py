"""The settings of an experiment: one TOML file with ranges and defaults, and one line for all that is wrong with it.

>>> settings = from_toml("[lake]\\nsize = 4\\nmap_seed = 1")
>>> settings.lake.size, settings.mcts.simulations
(4, 5000)
>>> from_toml("[lake]\\nsize = 1\\nsuccess_rate = 2.0")
Traceback (most recent call last):
...
selfmate.errors.LabError: lake.size: expected a whole number from 2 to 64, not 1; lake.success_rate: expected a number
from 0 to 1, not 2.0
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from selfmate.errors import LabError, clip
from selfmate.lab.frozenlake.dqn import DqnSettings
from selfmate.lab.frozenlake.exploration import Exploration
from selfmate.lab.frozenlake.lake import Lake, generate_map, read_map, read_text
from selfmate.lab.frozenlake.q_table import QTableSettings
from selfmate.recipe.check import one_line, show, show_value, suggest
from selfmate.recipe.types import Part, key, number, whole
from selfmate.recipe.writer import toml_value

__all__ = ["LakeSettings", "change", "from_toml", "load", "to_toml"]

LISTED: Final = "selfmate lab frozenlake --settings"
"""What lists all settings, for messages."""


class LakePart(Part):
    """The world."""

    size: Annotated[int, whole(2, 64)] = key("squares of a side", 8)
    map_seed: Annotated[int, whole(0, 2**31)] = key("seed of Gymnasium's map generator", 48)
    frozen: Annotated[float, number(above=0, maximum=1)] = key("share of the squares that are not holes", 0.8)
    map: str = key("text file with a map, or Gymnasium's 4x4 or 8x8, instead of a generated one", "")
    slippery: Annotated[bool, Field(strict=True)] = key("whether a move may go to its sides", True)
    success_rate: Annotated[float, number(0, 1)] = key("chance that a move on ice goes where it should", 1 / 3)
    step_limit: Annotated[int, whole(1, 100_000)] = key("moves after which an episode is cut off", 200)
    goal_reward: Annotated[float, number(-1e6, 1e6)] = key("reward for reaching the goal", 100.0)
    hole_reward: Annotated[float, number(-1e6, 1e6)] = key("reward for falling into a hole", -100.0)
    step_reward: Annotated[float, number(-1e6, 1e6)] = key("reward for any other move", -1.0)


class LearningPart(Part):
    """What the Q-table and the DQN share."""

    episodes: Annotated[int, whole(1, 10_000_000)] = key("episodes to learn from", 1000)
    gamma: Annotated[float, number(0, 0.999999)] = key("discount of a move, also in the search and in the truth", 0.99)
    epsilon_start: Annotated[float, number(0, 1)] = key("chance of a random action at first", 0.8)
    epsilon_end: Annotated[float, number(0, 1)] = key("chance of a random action in the end", 0.01)
    epsilon_decay: Annotated[float, number(above=0, maximum=1e9)] = key("episodes or moves until e⁻¹ of the way", 500.0)
    epsilon_by: Literal["episodes", "moves"] = key("what the decay counts", "episodes")


class QTablePart(Part):
    """Tabular Q-learning."""

    learning_rate: Annotated[float, number(above=0, maximum=1)] = key("share of a new target in the old value", 0.5)
    learning_rate_decay: Annotated[float, number(0, 100)] = key("the rate is divided by 1 + decay · visits", 0.02)


class DqnPart(Part):
    """Deep Q-learning; the defaults are the seed's."""

    hidden: Annotated[int, whole(1, 4096)] = key("width of the two hidden layers", 128)
    replay: Annotated[int, whole(1, 10_000_000)] = key("moves that are remembered", 10_000)
    batch: Annotated[int, whole(1, 65_536)] = key("moves of a step", 64)
    learn_from: Annotated[int, whole(1, 10_000_000)] = key("moves before the first step", 500)
    learn_every: Annotated[int, whole(1, 1_000_000)] = key("moves between two steps", 1)
    target_every: Annotated[int, whole(1, 1_000_000)] = key("steps after which the target net is renewed", 200)
    learning_rate: Annotated[float, number(above=0, maximum=1)] = key("of Adam", 1e-3)
    double: Annotated[bool, Field(strict=True)] = key("double DQN", False)
    average: Annotated[float, number(0, 0.999999)] = key("decay of averaged weights at each step; 0: none", 0.0)
    reward_scale: Annotated[float, number(above=0, maximum=1e6)] = key("factor of the rewards inside", 1.0)
    net: Literal["core", "torch"] = key("what computes the net: the fast core, or PyTorch as its plain twin", "core")


class MctsPart(Part):
    """The search."""

    simulations: Annotated[int, whole(1, 10_000_000)] = key("simulations of a search", 5000)
    c: Annotated[float, number(0, 1e6)] = key("exploration constant of UCT, in units of the return", 1.0)
    rollout: Literal["learned", "random", "best", "exact"] = key(
        "what roll-outs follow: what was learned, chance, the truth's policy; or its exact value without any", "learned"
    )
    rollout_steps: Annotated[int, whole(0, 100_000)] = key("moves of a roll-out", 50)
    repeats: Annotated[int, whole(1, 100_000)] = key("searches from each square, which together are a policy", 20)
    choose: Literal["value", "visits"] = key(
        "what acts: the action with the highest value, or each in proportion to its visits", "value"
    )


class RunPart(Part):
    """How much is measured."""

    seed: Annotated[int, whole(0, 2**31)] = key("seed of everything random but the maps", 1)
    seeds: Annotated[int, whole(1, 1000)] = key("agents of each kind, each with a seed of its own", 1)
    maps: Annotated[int, whole(0, 1000)] = key("other maps of the table: map_seed + 1, map_seed + 2, …", 0)
    study_seeds: Annotated[int, whole(1, 1000)] = key("agents of each point of a study", 5)
    test_episodes: Annotated[int, whole(1, 1_000_000)] = key("episodes that are simulated beside the exact score", 100)


class LakeSettings(BaseModel):
    """All settings; iterating yields (section, part)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lake: LakePart = LakePart()
    learning: LearningPart = LearningPart()
    q_table: QTablePart = QTablePart()
    dqn: DqnPart = DqnPart()
    mcts: MctsPart = MctsPart()
    run: RunPart = RunPart()

    def make_lake(self, map_seed: int | None = None) -> Lake:
        """Return the lake, or the one of another map seed; raise `LabError` for what cannot be played."""
        part = self.lake
        if part.map:
            rows = read_map(Path(part.map))
        else:
            rows = generate_map(part.size, part.map_seed if map_seed is None else map_seed, part.frozen)
        return Lake(
            rows,
            slippery=part.slippery,
            success_rate=part.success_rate,
            rewards=(part.goal_reward, part.hole_reward, part.step_reward),
            step_limit=part.step_limit,
        )

    @property
    def exploration(self) -> Exploration:
        """The schedule of random actions."""
        part = self.learning
        return Exploration(part.epsilon_start, part.epsilon_end, part.epsilon_decay, part.epsilon_by)

    @property
    def of_q_table(self) -> QTableSettings:
        """What the Q-table needs."""
        return QTableSettings(gamma=self.learning.gamma, exploration=self.exploration, **dict(self.q_table))

    @property
    def of_dqn(self) -> DqnSettings:
        """What the DQN needs."""
        return DqnSettings(gamma=self.learning.gamma, exploration=self.exploration, **dict(self.dqn))


def load(path: Path | None) -> LakeSettings:
    """Read settings from a file, or return the defaults, which are the seed's; raise `LabError`."""
    if path is None:
        return LakeSettings()
    text = read_text(path)
    try:
        return from_toml(text)
    except LabError as error:
        raise LabError(f"{path}: {error}", error.part) from None


def from_toml(text: str) -> LakeSettings:
    """Read settings and check keys, types and ranges; raise `LabError` that names everything wrong with them."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # not only TOMLDecodeError: a number may have too many digits
        raise LabError(f"not TOML: {one_line(str(error))}") from None
    return _check(document)


def change(settings: LakeSettings, changes: Iterable[str]) -> LakeSettings:
    """Return the settings with `section.key=value` (as after `--set`) applied; raise `LabError`.

    >>> change(LakeSettings(), ["mcts.rollout=best", "mcts.c=100.0"]).mcts.rollout
    'best'
    """
    document = settings.model_dump()
    for each in changes:
        name, equals, text = (piece.strip() for piece in each.partition("="))
        section, _, last = name.partition(".")
        if not equals:
            raise LabError(f"{clip(each)!r}: write section.key=value", each)
        if last not in document.get(section, {}):
            raise LabError(f"{show(name)}: unknown key{suggest(name, _keys(), 'keys', LISTED)}", name)
        kind = type(document[section][last])
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            value = text
        document[section][last] = float(value) if kind is float and type(value) is int else value
    return _check(document)


def to_toml(settings: LakeSettings) -> str:
    """Return the settings as TOML with every key and its help; `from_toml` reads them back equal."""
    sections = []
    for name, part in settings:
        fields = type(part).model_fields
        lines = [f"{field} = {toml_value(value)}  # {fields[field].description}" for field, value in part]
        sections.append("\n".join([f"[{name}]", *lines]) + "\n")
    return "\n".join(sections)


def _check(document: dict[str, Any]) -> LakeSettings:
    try:
        settings = LakeSettings.model_validate(document)
    except ValidationError as error:
        problems = [_problem(each) for each in error.errors()]
        raise LabError("; ".join(problems), problems[0].partition(":")[0]) from None
    if any(character < " " for character in settings.lake.map):
        raise LabError(f"lake.map: expected the name of a file, not {show_value(settings.lake.map)}", "lake.map")
    if settings.lake.map and settings.run.maps:
        raise LabError("lake.map: a map of a file has no others beside it; set run.maps to 0", "run.maps")
    return settings


def _problem(error: ErrorDetails) -> str:
    """Return pydantic's account of a wrong value as one line: the key, and what would be right."""
    steps = [str(step) for step in error["loc"]]
    name = ".".join(map(show, steps))
    if error["type"] == "extra_forbidden":
        if len(steps) == 1:
            return f"{name}: unknown section{suggest(name, LakeSettings.model_fields, 'sections')}"
        return f"{name}: unknown key{suggest(name, _keys(), 'keys', LISTED)}"
    if len(steps) == 1:
        return f"{name}: expected a section [{name}], not {show_value(error['input'])}"
    return f"{name}: expected {_expected(*steps[:2])}, not {show_value(error['input'])}"


def _keys() -> list[str]:
    return [f"{section}.{name}" for section, part in LakeSettings() for name in type(part).model_fields]


def _expected(section: str, name: str) -> str:
    """Return in words what a value of a key is."""
    part: Any = LakeSettings.model_fields[section].annotation
    entry = part.model_json_schema()["properties"][name]
    if "enum" in entry:
        return f"one of {', '.join(entry['enum'])}"
    kinds = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "text"}
    low = f" from {entry['minimum']:,.12g}" if "minimum" in entry else ""
    low = f" above {entry['exclusiveMinimum']:,.12g}" if "exclusiveMinimum" in entry else low
    return kinds[entry["type"]] + low + (f" to {entry['maximum']:,.12g}" if "maximum" in entry else "")
