"""What `selfmate ab` compares: arms (named settings), how their nets are made, and how many games they play.

Everything is fixed before the first step: `ab.json` in the folder has it, and the folder is resumed with the same plan
only.

>>> read_arm("muon learner.optimizer=muon match.visits=128")
Arm(name='muon', settings=('learner.optimizer=muon',), play=('visits=128',))
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from selfmate._core import SearchConfig
from selfmate.errors import SelfmateError, clip
from selfmate.recipe.searches import search_contradictions
from selfmate.search.config import play_config

__all__ = ["PLAN_FILE", "AbError", "AbPlan", "Arm", "Pairing", "check_arms", "match_search", "read_arm"]

FORMAT: Final = 1
PLAN_FILE: Final = "ab.json"
MATCH: Final = "match."
"""First part of the keys of an arm that change the search of its matches."""
MOST_VISITS: Final = 10_000_000


class AbError(SelfmateError):
    """A comparison that cannot be made as asked."""


class Arm(Struct, frozen=True):
    """One of the settings that are compared."""

    name: str
    settings: tuple[str, ...] = ()
    """Keys of the recipe, `section.key=value`."""
    play: tuple[str, ...] = ()
    """Fields of the search in matches, `key=value`; `visits` is one of them."""


class Pairing(Struct, frozen=True):
    """A match of two nets, each named by arm and seed."""

    first: tuple[str, int]
    second: tuple[str, int]

    @property
    def file(self) -> str:
        """The name of its file of games."""
        return f"{'-'.join(map(str, self.first))}--{'-'.join(map(str, self.second))}.pgn"


class AbPlan(Struct, frozen=True, kw_only=True):
    """A comparison. The first arm is the base, which all others play."""

    format: int = FORMAT
    source: str
    """The run whose games or weights are used, or the net that plays."""
    source_cycle: int
    """The cycle that the run is in; a run that has gone on since is another one."""
    variant: str
    kind: Literal["data", "forks", "play"]
    """Nets that learn from the games of the run; forks of the run that train on; or one net with different searches."""
    steps: int | None = None
    seconds: float | None = None
    """How long an arm learns: of fixed data by steps or seconds, of forks by seconds."""
    weights: Literal["new", "run"] = "new"
    """Of fixed data: whether nets begin with new weights, or with those of the run that fit."""
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    games: int
    visits: int

    @property
    def trained(self) -> list[tuple[Arm, int]]:
        """Every arm with every seed, in the order in which they are trained: arms take turns."""
        return [] if self.kind == "play" else [(arm, seed) for seed in self.seeds for arm in self.arms]

    @property
    def pairings(self) -> list[Pairing]:
        """The matches: with every seed each arm against the base, and the base with each seed against the next one."""
        base = self.arms[0].name
        found = [Pairing((arm.name, seed), (base, seed)) for seed in self.seeds for arm in self.arms[1:]]
        return found + [
            Pairing((base, seed), (base, before)) for before, seed in zip(self.seeds, self.seeds[1:], strict=False)
        ]


def read_arm(text: str) -> Arm:
    """Return the arm that a text describes: a name, and settings, separated by spaces as in a shell.

    >>> read_arm("visits=3")
    Traceback (most recent call last):
    ...
    selfmate.train.ab_plan.AbError: --arm: begin with a name of small letters, digits, - and _, not 'visits=3'
    """
    try:
        name, *settings = shlex.split(text) or [""]
    except ValueError as error:
        raise AbError(f"--arm: {clip(text)!r}: {error}", text) from None
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,30}", name):
        raise AbError(f"--arm: begin with a name of small letters, digits, - and _, not {clip(name)!r}", text)
    for setting in settings:
        if "=" not in setting:
            raise AbError(f"--arm {name}: write section.key=value, not {clip(setting)!r}", setting)
    play = tuple(each.removeprefix(MATCH) for each in settings if each.startswith(MATCH))
    return Arm(name, tuple(each for each in settings if not each.startswith(MATCH)), play)


def match_search(arm: Arm, visits: int) -> tuple[SearchConfig, int]:
    """Return the search of an arm's matches, and its visits per move; raise `AbError`.

    >>> match_search(read_arm("wide match.cpuct=2.5"), 64)
    (SearchConfig(gumbel_scale=0.0, cpuct=2.5, stop_when_proven=False, lcb=True, forced_win_nodes=20000), 64)
    """
    config = play_config()
    for setting in arm.play:
        key, _, text = (piece.strip() for piece in setting.partition("="))
        shown = f"--arm {arm.name}: {MATCH}{clip(key)}"
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except ValueError:
            value = text
        if key == "visits":
            if type(value) is not int or not 1 <= value <= MOST_VISITS:
                raise AbError(f"{shown}: a whole number from 1 to {MOST_VISITS:,}, not {clip(text)!r}", setting)
            visits = value
            continue
        known = [field.name for field in SearchConfig.fields()]
        if key not in known:
            raise AbError(f"{shown}: unknown; valid keys: visits, {', '.join(known)}", setting)
        try:
            config = config.replace(**{key: value})
        except (ValueError, TypeError) as error:
            raise AbError(f"{shown}: {' '.join(str(error).split())}", setting) from None
    for key, reason in search_contradictions(config):
        raise AbError(f"--arm {arm.name}: {MATCH}{key}: {reason}", key)
    return config, visits


def check_arms(arms: Sequence[Arm], *, is_play: bool) -> None:
    """Raise `AbError` for arms that cannot be compared."""
    if len(arms) < 2:
        raise AbError("give two arms or more: --arm base --arm 'other learner.batch=512'; the first is the base")
    names = [arm.name for arm in arms]
    for name in names:
        if names.count(name) > 1:
            raise AbError(f"--arm {name}: given twice; every arm has its own name", name)
    for arm in arms:
        if is_play and arm.settings:
            raise AbError(
                f"--arm {arm.name}: {clip(arm.settings[0])!r} needs --steps, --seconds or --minutes; "
                f"without them nothing is trained, and keys begin with {MATCH}",
                arm.settings[0],
            )
