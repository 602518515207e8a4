"""A Gymnasium environment: one seat of a game against a chosen player.

>>> env = VariantEnv("gardner", opponent="heuristic-1")
>>> observation, info = env.reset(seed=1)
>>> observation["observation"].shape, int(observation["action_mask"].sum())
((20, 5, 5), 7)
>>> action = int(observation["action_mask"].argmax())
>>> observation, reward, terminated, truncated, info = env.step(action)
>>> reward, terminated, truncated
(0.0, False, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from selfmate.envs.batched import checked_seed
from selfmate.envs.game import ON_ILLEGAL, EnvGame, GameEnd, check_choice
from selfmate.errors import EnvError, IllegalMove
from selfmate.evaluator.base import Evaluator
from selfmate.search.limit import Limit
from selfmate.search.player import Player, check_limit
from selfmate.search.spec import RANDOM
from selfmate.util.numbers import flag

__all__ = ["SEATS", "VariantEnv", "observation_space"]

SEATS: Final = ("white", "black", "random")
RENDER_MODES: Final = ("ansi", "svg")
MAX_STARTS: Final = 100
"""Games that `reset` begins before it gives up, because the opponent's first move ended them all."""

Observation = dict[str, NDArray[Any]]


def observation_space(game: EnvGame) -> spaces.Space[Any]:
    """Return the space of observations: planes in 0 to 1, and the mask of legal actions."""
    return spaces.Dict(
        {
            "observation": spaces.Box(0.0, 1.0, game.plane_shape, np.float32),
            "action_mask": spaces.Box(0, 1, (game.sizes.policy_size,), np.int8),
        }
    )


class VariantEnv(gymnasium.Env[Observation, int]):
    """One seat of a game of any variant; the other seat is a player.

    An observation is a dictionary: `observation` float32 [C, H, W] as `encode_planes` makes it, seen by the seat, and
    `action_mask` int8 [policy_size], which `action_space.sample(mask)` takes; `action_masks()` returns it as bool. The
    reward is 1, 0 or -1 at the end of the game, else 0. Draws are claimed where they can be. `info` has `result` and
    `reason` at the end. An action that is not legal loses the game (`info["illegal_action"]`), or raises `IllegalMove`
    with `on_illegal="raise"`.

    `opponent` is a player's spec, a player or an evaluator; it plays by `limit` (default: 64 visits a move), with
    `noise` in its priors if games shall differ. `seat` is `white`, `black` or `random`. `starts` are starting positions
    (FEN), drawn at random; `chess960` and `atomic960` begin at one of the 960. `reset(options={"fen": …})` starts one
    game elsewhere. Games longer than `max_plies` are truncated.

    Raises `EnvError`, `PlayerError`, `UnknownVariant` or `FenError` for arguments that cannot be played.

    >>> VariantEnv("gardner", seat="left")
    Traceback (most recent call last):
    ...
    selfmate.errors.EnvError: seat must be white or black or random, not 'left'
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        variant: str = "chess",
        *,
        opponent: str | Path | Player | Evaluator = RANDOM,
        limit: Limit | None = None,
        seat: str = "white",
        noise: bool = False,
        starts: Sequence[str] = (),
        max_plies: int = 512,
        on_illegal: str = "lose",
        render_mode: str | None = None,
    ) -> None:
        check_choice("seat", seat, SEATS)
        check_choice("on_illegal", on_illegal, ON_ILLEGAL)
        if render_mode is not None:
            check_choice("render_mode", render_mode, RENDER_MODES)
        self.game = EnvGame(variant, starts, max_plies)
        self.player = opponent if isinstance(opponent, Player) else Player(opponent)
        self.player.check(variant)
        self.limit = Limit(visits=64) if limit is None else limit
        check_limit(self.limit)
        self.seat = seat
        self.noise = flag("noise", noise, EnvError)
        self.on_illegal = on_illegal
        self.render_mode = render_mode
        self.white = True
        """Whether the seat of the present game is White's."""
        self.observation_space = observation_space(self.game)
        self.action_space = spaces.Discrete(self.game.sizes.policy_size)  # type: ignore[assignment]
        self._is_over = True
        self._mask = np.zeros(self.game.sizes.policy_size, np.int8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a game, and return observation and info; the opponent has moved if it is White."""
        super().reset(seed=None if seed is None else checked_seed(seed))
        random = self.np_random
        self.white = self.seat == "white" if self.seat != "random" else bool(random.integers(2))
        for _ in range(MAX_STARTS):  # a game that the opponent's first move ends is begun again
            self.game.start(random, options)
            if self.game.position.turn == self.white or self._reply() is None:
                self._is_over = False
                return self._observe(), {}
        raise EnvError(f"the opponent's first move has ended {MAX_STARTS} games; choose other starts")

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play an action and the opponent's answer; return observation, reward, terminated, truncated and info."""
        if self._is_over:
            raise EnvError("the game is over; call reset")
        if not self.game.play(action):
            if self.on_illegal == "raise":
                raise IllegalMove(f"action {action} is not legal ({self.game.position.fen()})", str(action))
            self._is_over = True
            return self._observe(), -1.0, True, False, {"illegal_action": True}
        end = self.game.end() or self._reply()
        if end is None:
            return self._observe(), 0.0, False, False, {}
        self._is_over = True
        return self._observe(), end.reward(self.white), end.outcome is not None, end.outcome is None, end.info()

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions of the last observation, bool [policy_size]."""
        return self._mask.astype(np.bool_)

    def render(self) -> Any:
        """Return the board as text or SVG, by `render_mode`."""
        return self.game.render(self.render_mode)

    def _observe(self) -> Observation:
        planes, self._mask = self.game.observe(self.white)
        if self._is_over:
            self._mask[:] = 0
        return {"observation": planes, "action_mask": self._mask.copy()}

    def _reply(self) -> GameEnd | None:
        """Play a move of the opponent; return the end of the game, if it is one."""
        position, random = self.game.position, self.np_random
        if self.player.evaluator == RANDOM:
            legal = position.legal_moves
            move = legal[int(random.integers(len(legal)))]
        else:
            seed = int(random.integers(1 << 32))
            move = self.player.search(position, self.limit, noise=self.noise, seed=seed).best
        self.game.play_move(move)
        return self.game.end()
