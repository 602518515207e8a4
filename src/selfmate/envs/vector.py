"""Many games at once as a Gymnasium vector environment, in which the learner plays both sides.

>>> env = GamesVectorEnv("gardner", 8)
>>> observations, infos = env.reset(seed=1)
>>> observations["observation"].shape, observations["action_mask"].shape
((8, 20, 5, 5), (8, 1225))
>>> observations, rewards, terminated, truncated, infos = env.step(env.random_actions())
>>> infos["white_to_move"].tolist()
[False, False, False, False, False, False, False, False]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from selfmate.envs.batched import BatchedGames
from selfmate.envs.game import EnvGame
from selfmate.envs.single import Observation, observation_space
from selfmate.errors import ArrayError, EnvError, IllegalMove, clip
from selfmate.util.numbers import flag

__all__ = ["GamesVectorEnv"]


class GamesVectorEnv(VectorEnv[Observation, Any, Any]):
    """N games of a variant as a Gymnasium vector environment, stepped by `BatchedGames`.

    Each step makes a move for the side to move in every game, and returns what the next side to move sees; the reward
    is that of the side that moved. A game that has ended begins again in the same step (`AutoresetMode.SAME_STEP`), and
    the last position is not returned. `infos["white_to_move"]` is bool [N]. Arguments are those of `BatchedGames`; with
    `copy=False` observations are overwritten by the next step. An action that is not legal raises `IllegalMove`.

    >>> GamesVectorEnv("chess", 0)
    Traceback (most recent call last):
    ...
    selfmate.errors.EnvError: games must be a whole number from 1 to 65536, not 0
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": [],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        variant: str,
        games: int,
        *,
        seed: int = 0,
        starts: Sequence[str] = (),
        max_plies: int = 512,
        threads: int = 1,
        copy: bool = True,
    ) -> None:
        self.games = BatchedGames(variant, games, seed=seed, starts=starts, max_plies=max_plies, threads=threads)
        self.num_envs = games
        self.copy = flag("copy", copy, EnvError)
        one = EnvGame(variant)
        self.single_observation_space: gymnasium.Space[Any] = observation_space(one)
        self.single_action_space: gymnasium.Space[Any] = spaces.Discrete(one.sizes.policy_size)
        self.observation_space = batch_space(self.single_observation_space, games)
        self.action_space = batch_space(self.single_action_space, games)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Begin all games; `seed` is one number for all of them."""
        self.games.reset(seed)
        return self._observe(), {"white_to_move": self.games.turns}

    def step(
        self, actions: Any
    ) -> tuple[Observation, NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Make one move in each game."""
        chosen = np.asarray(actions)
        if not np.issubdtype(chosen.dtype, np.integer) or chosen.shape != (self.num_envs,):
            given = f"{chosen.dtype}[{', '.join(map(str, chosen.shape))}]"
            raise ArrayError(f"actions: int64[{self.num_envs}] is needed, not {clip(given)}", given)
        if chosen.dtype == np.uint64 and chosen.max() > np.iinfo(np.int64).max:  # it would become a negative number
            largest = int(chosen.max())
            raise IllegalMove(f"action {largest} is not legal in game {int(chosen.argmax())}", str(largest))
        rewards, terminated, truncated = self.games.step(np.ascontiguousarray(chosen, np.int64))
        infos = {"white_to_move": self.games.turns}
        return self._observe(), rewards.copy(), terminated.copy(), truncated.copy(), infos

    def random_actions(self) -> NDArray[np.int64]:
        """Return a legal action of each game, drawn uniformly; int64 [N]."""
        return self.games.random_actions().copy()

    def _observe(self) -> Observation:
        planes, masks = self.games.planes, self.games.masks.view(np.int8)
        return {
            "observation": planes.copy() if self.copy else planes,
            "action_mask": masks.copy() if self.copy else masks,
        }
