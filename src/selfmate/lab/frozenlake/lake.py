"""The lake: Gymnasium's Frozen Lake with its own map generator and transition table, checked, and as arrays.

A state is a square, numbered row by row from 0; the actions are 0 left, 1 down, 2 right, 3 up.

>>> lake = Lake(SMALL_MAP, slippery=False)
>>> lake.states, lake.start, lake.goal, lake.shortest_path()
(16, 0, 15, 6)
>>> Lake(("SF", "HH"))
Traceback (most recent call last):
...
selfmate.errors.LabError: the map has no goal: one square must be G
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import re
from collections import deque
from collections.abc import Sequence
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfmate.errors import LabError, MissingExtra

if TYPE_CHECKING:
    from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

__all__ = [
    "ACTIONS",
    "ARROWS",
    "SMALL_MAP",
    "Lake",
    "LakeArrays",
    "LakeEpisode",
    "generate_map",
    "need",
    "read_map",
    "read_text",
    "seed_map",
]

ACTIONS: Final = ("left", "down", "right", "up")
ARROWS: Final = "←↓→↑"
OUTCOMES: Final = 3
"""Most outcomes of an action: the move and its two sides."""
SMALL_MAP: Final = ("SFFF", "FHFH", "FFFH", "HFFG")
"""Gymnasium's map of 4 by 4 squares."""
SMALLEST, LARGEST = 2, 64
TILES: Final = "SFHG"
SEED_MAP_SEED: Final = 48
SEED_MAP_SIZE: Final = 8
MAX_BYTES: Final = 64 << 10
"""Longest file that is read as a map or as settings."""
OLDEST: Final = {"gymnasium": (1, 2, 1), "pillow": (10, 1)}
"""Versions of the extra `lab` from which on there are chances to slip, and letters of any size."""
MOST_DRAWN: Final = 1000
"""Maps that are drawn before a share of frozen squares is refused."""


class LakeArrays(NamedTuple):
    """The transition table: what each action in each state leads to, at most three outcomes; S states."""

    probabilities: NDArray[np.float64]
    """[S, 4, 3]; 0 beyond the last outcome."""
    next: NDArray[np.int32]
    """[S, 4, 3]"""
    rewards: NDArray[np.float64]
    """[S, 4, 3]"""
    ends: NDArray[np.bool_]
    """[S, 4, 3]: whether the episode is over, in a hole or at the goal."""
    bounds: NDArray[np.uint64]
    """[S, 4, 2]: outcome 0 is drawn by 32 random bits below the first bound, outcome 1 below the second, else 2."""


class Lake:
    """A map with its dynamics, rewards and step limit.

    `success_rate` is the chance that a move on a slippery lake goes where it should; the rest is shared by the two
    directions at its sides. `rewards` are those of reaching the goal, of falling into a hole and of any other move.
    Raises `LabError` for a map that cannot be played, and for numbers out of range.
    """

    def __init__(
        self,
        rows: Sequence[str],
        *,
        slippery: bool = True,
        success_rate: float = 1 / 3,
        rewards: tuple[float, float, float] = (100.0, -100.0, -1.0),
        step_limit: int = 200,
    ) -> None:
        self.rows = check_map(rows)
        self.size = len(self.rows)
        self.states = self.size**2
        self.slippery, self.success_rate, self.rewards, self.step_limit = slippery, success_rate, rewards, step_limit
        tiles = "".join(self.rows)
        self.tiles = tiles
        self.start, self.goal = tiles.index("S"), tiles.index("G")
        self.is_over = np.array([tile in "GH" for tile in tiles])
        """bool[S]: whether the episode is over on the square."""
        if not 0 <= success_rate <= 1:
            raise LabError(f"success_rate: a chance is from 0 to 1, not {success_rate}", str(success_rate))
        if step_limit < (shortest := self.shortest_path()):
            hint = f"step_limit must be at least {shortest}, the moves of the shortest path"
            raise LabError(f"{hint}, not {step_limit}", str(step_limit))

    def shortest_path(self) -> int:
        """Return the fewest moves from the start to the goal, without slips."""
        return path_lengths(self.rows)[self.start]

    @functools.cached_property
    def env(self) -> FrozenLakeEnv:
        """Gymnasium's environment, without a step limit."""
        lake = need("gymnasium.envs.toy_text.frozen_lake")
        env: FrozenLakeEnv = lake.FrozenLakeEnv(
            desc=list(self.rows),
            is_slippery=self.slippery,
            success_rate=self.success_rate,
            reward_schedule=self.rewards,
        )
        return env

    @functools.cached_property
    def arrays(self) -> LakeArrays:
        """Gymnasium's transition table as arrays; outcomes with the same square are one."""
        shape = (self.states, len(ACTIONS), OUTCOMES)
        found = LakeArrays(
            np.zeros(shape), np.zeros(shape, np.int32), np.zeros(shape), np.zeros(shape, bool),
            np.full((*shape[:2], OUTCOMES - 1), 1 << 32, np.uint64),
        )  # fmt: skip
        for state, actions in self.env.P.items():
            for action, transitions in actions.items():
                merged: dict[tuple[int, float, bool], float] = {}
                for probability, after, reward, ends in transitions:
                    outcome = (int(after), float(reward), bool(ends))
                    merged[outcome] = merged.get(outcome, 0.0) + float(probability)
                for number, ((after, reward, ends), probability) in enumerate(merged.items()):
                    at = (state, action, number)
                    found.probabilities[at], found.next[at] = probability, after
                    found.rewards[at], found.ends[at] = reward, ends
                below = np.cumsum([*merged.values()])[: len(merged) - 1]
                found.bounds[state, action, : len(below)] = np.rint(below * 2.0**32).astype(np.uint64)
        return found

    def episode(self, seed: int) -> LakeEpisode:
        """Return a player's view of the lake, whose random numbers are those of Gymnasium with this seed."""
        return LakeEpisode(self, seed)


class LakeEpisode:
    """Episodes on a lake, one after the other: `reset`, then `step` until it is over.

    It draws from Gymnasium's table with Gymnasium's random numbers, so that it goes where `lake.env` goes after
    `lake.env.reset(seed=seed)`, several times faster.
    """

    def __init__(self, lake: Lake, seed: int) -> None:
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._start, self._limit = lake.start, lake.step_limit
        self._table = [
            [_cumulative(lake.env.P[state][action]) for action in range(len(ACTIONS))] for state in range(lake.states)
        ]
        self.state, self.moves = lake.start, 0

    def reset(self) -> int:
        """Begin an episode; return the start."""
        self._random.random()  # Gymnasium draws one of one start
        self.state, self.moves = self._start, 0
        return self.state

    def step(self, action: int) -> tuple[int, float, bool, bool]:
        """Move; return the next state, the reward, whether the episode is over, and whether its moves are used up."""
        drawn = self._random.random()
        outcomes = self._table[self.state][action]
        number = 0
        while number < len(outcomes) - 1 and drawn >= outcomes[number][0]:
            number += 1
        _, after, reward, ends = outcomes[number]
        self.state = after
        self.moves += 1
        return after, reward, ends, not ends and self.moves >= self._limit


def _cumulative(transitions: list[tuple[float, int, float, bool]]) -> list[tuple[float, int, float, bool]]:
    """Return the transitions with the sum of the probabilities up to each; the last sum is 1 but for rounding."""
    sums = np.cumsum([probability for probability, *_ in transitions])
    return [
        (float(below), int(after), float(reward), bool(ends))
        for below, (_, after, reward, ends) in zip(sums, transitions, strict=True)
    ]


# -- maps -----------------------------------------------------------------------------------------------------------


def check_map(rows: Sequence[str]) -> tuple[str, ...]:
    """Return the rows of a map that can be played; raise `LabError` that says what is wrong with any other."""
    size = len(rows)
    if not SMALLEST <= size <= LARGEST:
        raise LabError(f"a map has from {SMALLEST} to {LARGEST} rows, not {size}", str(size))
    for number, row in enumerate(rows, 1):
        if len(row) != size:
            raise LabError(f"row {number} of the map has {len(row)} squares instead of {size}: a map is a square", row)
        if unknown := [tile for tile in row if tile not in TILES]:
            tiles = "S start, F frozen, H hole, G goal"
            raise LabError(f"row {number} of the map has an unknown tile {unknown[0]!r}; tiles: {tiles}", unknown[0])
    text = "".join(rows)
    for tile, name in (("S", "start"), ("G", "goal")):
        if (count := text.count(tile)) != 1:
            raise LabError(f"the map has {count or 'no'} {name}{'s' * (count > 1)}: one square must be {tile}", tile)
    if text.index("S") not in path_lengths(rows):
        raise LabError("the map has no path from S to G around the holes; change an H to F")
    return tuple(rows)


def path_lengths(rows: Sequence[str]) -> dict[int, int]:
    """Return, for every square that has a path to the goal, its moves."""
    size, tiles = len(rows), "".join(rows)
    goal = tiles.index("G")
    found = {goal: 0}
    queue = deque([goal])
    while queue:
        square = queue.popleft()
        row, column = divmod(square, size)
        for near_row, near_column in ((row, column - 1), (row + 1, column), (row, column + 1), (row - 1, column)):
            near = near_row * size + near_column
            inside = 0 <= near_row < size and 0 <= near_column < size
            if inside and near not in found and tiles[near] != "H":
                found[near] = found[square] + 1
                queue.append(near)
    return found


def generate_map(size: int, seed: int, frozen: float = 0.8) -> tuple[str, ...]:
    """Return the map that Gymnasium's generator makes of a seed: a path from corner to corner, holes elsewhere.

    The map of the seed's chapter (8 by 8, seed 48) is read from a file, since generators change.

    >>> generate_map(4, 1)
    ('SHFH', 'FFHF', 'FFFF', 'FFFG')
    """
    if not SMALLEST <= size <= LARGEST:
        raise LabError(f"a map has from {SMALLEST} to {LARGEST} rows, not {size}", str(size))
    if not 0 < frozen <= 1:
        raise LabError(f"frozen: the share of frozen squares is above 0, at most 1, not {frozen}", str(frozen))
    if (size, seed, frozen) == (SEED_MAP_SIZE, SEED_MAP_SEED, 0.8):
        return seed_map()
    lake = need("gymnasium.envs.toy_text.frozen_lake")
    # The generator draws maps until one has a path: where hardly any has, it would never return.
    draw = np.random.default_rng(seed)
    for _ in range(MOST_DRAWN):
        board = np.where(draw.random((size, size)) < frozen, "F", "H")
        board[0, 0], board[-1, -1] = "S", "G"
        if lake.is_valid(board, size):
            break
    else:
        hint = f"none of {MOST_DRAWN:,} maps of {size} by {size} squares has a path; the share must be larger"
        raise LabError(f"frozen: with a share of {frozen:g} {hint}", str(frozen))
    return tuple(str(row) for row in lake.generate_random_map(size=size, p=frozen, seed=seed))


def seed_map() -> tuple[str, ...]:
    """Return the map of 8 by 8 squares with seed 48, as Gymnasium 1.4.0 makes it."""
    text = (resources.files("selfmate.lab.frozenlake") / "maps" / "8x8-48.txt").read_text("utf-8")
    return tuple(text.split())


def read_map(path: Path) -> tuple[str, ...]:
    """Read a map from a text file, a row in each line, or Gymnasium's `4x4` or `8x8`; raise `LabError`."""
    if str(path) in ("4x4", "8x8"):
        return tuple(need("gymnasium.envs.toy_text.frozen_lake").MAPS[str(path)])
    text = read_text(path)
    try:
        return check_map([line.strip() for line in text.splitlines() if line.strip()])
    except LabError as error:
        raise LabError(f"{path}: {error}", error.part) from None


def read_text(path: Path) -> str:
    """Return the text of a map or of settings; raise `LabError` for what is no short text file."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)  # no more: a device has no end
        if len(data) > MAX_BYTES:
            raise LabError(f"{path}: longer than {MAX_BYTES >> 10} KiB", str(path))
        return data.decode("utf-8-sig")
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}", str(path)) from None
    except UnicodeDecodeError:
        raise LabError(f"{path}: not a text file", str(path)) from None


def need(module: str) -> Any:
    """Import a module of the extra `lab`; raise `MissingExtra` with the command that installs or renews it."""
    package = {"PIL": "pillow"}.get(module.partition(".")[0], module.partition(".")[0])
    try:
        found = importlib.import_module(module)
    except ImportError:
        raise MissingExtra(f"{package} is not installed; run: pip install 'selfmate[lab]'", package) from None
    _check_version(package)
    return found


@functools.cache
def _check_version(package: str) -> None:
    """Raise `MissingExtra` for a package that is too old: another extra, or none, may have brought it."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        version = metadata.version(package)
        if tuple(map(int, re.findall(r"\d+", version)[:3])) < OLDEST.get(package, ()):
            raise MissingExtra(f"{package} {version} is too old; run: pip install --upgrade 'selfmate[lab]'", package)
