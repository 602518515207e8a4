"""Many games at once in the core: one call makes a move in each, and writes planes and masks into arrays.

>>> games = BatchedGames("gardner", 4, seed=1)
>>> games.planes.shape, games.masks.shape
((4, 20, 5, 5), (4, 1225))
>>> step = games.step(games.random_actions())
>>> step.rewards.tolist(), games.turns.tolist()
([0.0, 0.0, 0.0, 0.0], [False, False, False, False])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfmate import _core
from selfmate.board.position import chess960_fen
from selfmate.errors import ArrayError, EnvError, clip_repr
from selfmate.util.numbers import whole_number

__all__ = ["MAX_PLIES", "BatchedGames", "StepArrays", "checked_action", "checked_seed", "start_fens"]

MAX_GAMES: Final = 65_536
"""Observations of so many games of chess take 0.6 GiB."""
MAX_PLIES: Final = 65_535
MAX_THREADS: Final = 1024
MAX_SEED: Final = (1 << 64) - 1


class StepArrays(NamedTuple):
    """What a step of N games returns beside planes and masks."""

    rewards: NDArray[np.float32]
    """[N] 1, 0 or -1 for the side that moved; 0 unless the game ended by the rules."""
    terminated: NDArray[np.bool_]
    """[N] whether the game ended by the rules, where every draw that can be claimed is claimed."""
    truncated: NDArray[np.bool_]
    """[N] whether the game was ended by its length."""


class BatchedGames:
    """N games of one variant that are stepped together; a game that has ended begins again in the same step.

    Each step makes one move in every game, for the side to move there; observations are those of the next side to move,
    of a new game where one has ended. `planes` float32 [N, C, H, W] and `masks` bool [N, policy_size] are overwritten
    by every step; give arrays of your own (such as pinned memory) to have them written there.

    `variant` is a name of `VARIANTS`, or `chess960` or `atomic960`, whose games begin at one of the 960 starting
    positions; `starts` are other starting positions (FEN), drawn at random. There are at most 65,536 `games`; those
    longer than `max_plies` are truncated. Equal seeds and actions give equal games on any number of `threads`.

    Raises `EnvError` for numbers out of range, `FenError` or `SetupError` for a bad start, `ArrayError` for arrays that
    do not fit.

    >>> games = BatchedGames("chess", 2, starts=["7k/5Q2/6K1/8/8/8/8/8 w - - 0 1"])
    >>> from selfmate import Position, action_of
    >>> mate = action_of(Position("chess", "7k/5Q2/6K1/8/8/8/8/8 w - - 0 1"), "f7g7")
    >>> step = games.step(np.array([mate, mate]))
    >>> step.rewards.tolist(), step.terminated.tolist(), games.turns.tolist()
    ([1.0, 1.0], [True, True], [True, True])
    """

    def __init__(
        self,
        variant: str,
        games: int,
        *,
        seed: int = 0,
        starts: Sequence[str] = (),
        max_plies: int = 512,
        threads: int = 1,
        planes: NDArray[np.float32] | None = None,
        masks: NDArray[np.bool_] | None = None,
    ) -> None:
        games = whole_number("games", games, 1, MAX_GAMES, EnvError)
        sizes = _core.encoding(variant)
        self.variant = variant
        self.seed = checked_seed(seed)
        self._core = _core.GameBatch(
            variant,
            games,
            starts=start_fens(variant, starts),
            seed=self.seed,
            max_plies=whole_number("max_plies", max_plies, 1, MAX_PLIES, EnvError),
            threads=whole_number("threads", threads, 1, MAX_THREADS, EnvError),
        )
        self.planes = (
            np.empty((games, _core.DENSE_PLANES, sizes.ranks, sizes.files), np.float32) if planes is None else planes
        )
        """float32 [N, C, H, W] of the positions, as `encode_planes` makes them."""
        self.masks = np.empty((games, sizes.policy_size), np.bool_) if masks is None else masks
        """bool [N, policy_size], the legal actions."""
        self._actions = np.empty(games, np.int64)
        self._step = StepArrays(np.empty(games, np.float32), np.empty(games, np.bool_), np.empty(games, np.bool_))
        self.reset()

    def __len__(self) -> int:
        return self._core.games

    def reset(self, seed: int | None = None) -> None:
        """Begin all games again; with `seed` the games of that seed."""
        if seed is not None:
            self.seed = checked_seed(seed)
        self._core.reset(self.seed, self.planes, self.masks)

    def step(self, actions: NDArray[np.int64]) -> StepArrays:
        """Make one move in each game; `actions` is int64 [N]. The arrays returned are overwritten by the next step.

        An action that is not legal raises `IllegalMove`, and no game changes. Another shape or dtype raises
        `ArrayError`.
        """
        rewards, terminated, truncated = self._step
        self._core.step(actions, self.planes, self.masks, rewards, terminated, truncated)
        return self._step

    def random_actions(self) -> NDArray[np.int64]:
        """Return a legal action of each game, drawn uniformly; int64 [N], overwritten by the next call."""
        self._core.random_actions(self._actions)
        return self._actions

    @property
    def turns(self) -> NDArray[np.bool_]:
        """bool [N], true where White is to move."""
        return self._core.turns().astype(np.bool_)

    def fens(self) -> list[str]:
        """Return the positions as FEN.

        >>> BatchedGames("gardner", 1).fens()
        ['rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1']
        """
        return self._core.fens()


def start_fens(variant: str, starts: Sequence[str]) -> list[str]:
    """Return the starting positions of an environment: those given, or the variant's; all 960 of a shuffled one.

    >>> len(start_fens("atomic960", ())), start_fens("atomic", ())
    (960, [])
    """
    given: object = starts
    if not isinstance(given, Sequence) or isinstance(given, str) or not all(isinstance(fen, str) for fen in starts):
        raise EnvError("starts is a list of FENs", clip_repr(starts))
    if not starts and variant.endswith("960"):
        return [chess960_fen(number) for number in range(960)]
    return list(starts)


def checked_seed(seed: Any) -> int:
    """Return a seed of the core; anything but a whole number from 0 to 2^64 - 1 raises `EnvError`.

    >>> checked_seed(np.int64(7))
    7
    """
    return whole_number("seed", seed, 0, MAX_SEED, EnvError)


def checked_action(action: Any) -> int:
    """Return an action as an int; anything but a whole number or an array of one raises `ArrayError`.

    >>> checked_action(np.array(12))
    12
    """
    array = np.asarray(action)
    if array.size != 1 or not np.issubdtype(array.dtype, np.integer):
        shown = clip_repr(action)
        raise ArrayError(f"an action is a whole number, not {shown}", shown)
    return int(array.reshape(-1)[0])
