"""A PettingZoo environment: both seats of a game in turn (AEC).

>>> env = VariantAECEnv("gardner")
>>> env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.last()
>>> env.agent_selection, observation["observation"].shape
('player_0', (20, 5, 5))
>>> env.step(int(observation["action_mask"].argmax()))
>>> env.agent_selection
'player_1'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from selfmate.envs.batched import checked_seed
from selfmate.envs.game import ON_ILLEGAL, EnvGame, GameEnd, check_choice
from selfmate.envs.single import RENDER_MODES, Observation, observation_space
from selfmate.errors import EnvError, IllegalMove

__all__ = ["VariantAECEnv"]

WHITE_AGENT: Final = "player_0"
BLACK_AGENT: Final = "player_1"
AGENTS: Final = (WHITE_AGENT, BLACK_AGENT)
"""Named as in PettingZoo's chess."""


class VariantAECEnv(AECEnv):  # type: ignore[misc]  # PettingZoo has no types
    """Both seats of a game of any variant: `player_0` is White, `player_1` Black.

    Observations and actions are those of `VariantEnv`, each seen by its agent; no action is legal for the agent that is
    not to move. Rewards are 1, 0 or -1 for each agent at the end of the game, else 0; draws are claimed where they can
    be. An action that is not legal ends the game with -1 for its agent and 0 for the other, or raises `IllegalMove`
    with `on_illegal="raise"`. `starts`, `max_plies` and the options of `reset` are as in `VariantEnv`.

    Raises `EnvError`, `UnknownVariant` or `FenError` for arguments that cannot be played.

    >>> VariantAECEnv("chess", max_plies=0)
    Traceback (most recent call last):
    ...
    selfmate.errors.EnvError: max_plies must be a whole number from 1 to 65535, not 0
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": list(RENDER_MODES),
        "name": "selfmate_v0",
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        variant: str = "chess",
        *,
        starts: Sequence[str] = (),
        max_plies: int = 512,
        on_illegal: str = "lose",
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        check_choice("on_illegal", on_illegal, ON_ILLEGAL)
        if render_mode is not None:
            check_choice("render_mode", render_mode, RENDER_MODES)
        self.game = EnvGame(variant, starts, max_plies)
        self.on_illegal = on_illegal
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        self.observation_spaces = {agent: observation_space(self.game) for agent in AGENTS}
        self.action_spaces = {agent: spaces.Discrete(self.game.sizes.policy_size) for agent in AGENTS}
        self.terminations: dict[str, bool] = {}
        self.truncations: dict[str, bool] = {}
        self._random = np.random.default_rng()

    def observation_space(self, agent: str) -> Any:
        """Return the space of observations."""
        check_choice("agent", agent, AGENTS)
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Return the space of actions."""
        check_choice("agent", agent, AGENTS)
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a game."""
        if seed is not None:
            self._random = np.random.default_rng(checked_seed(seed))
        self.game.start(self._random, options)
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in AGENTS}
        self.agent_selection = WHITE_AGENT if self.game.position.turn else BLACK_AGENT

    def observe(self, agent: str) -> Observation:
        """Return what an agent sees; no action is legal when it is not to move or the game is over."""
        check_choice("agent", agent, AGENTS)
        planes, mask = self.game.observe(agent == WHITE_AGENT)
        if any(self.terminations.values()) or any(self.truncations.values()):
            mask[:] = 0
        return {"observation": planes, "action_mask": mask}

    def step(self, action: Any) -> None:
        """Play an action of the agent to move; None for an agent whose game is over."""
        if not self.agents:
            raise EnvError("the game is over; call reset")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        other = BLACK_AGENT if agent == WHITE_AGENT else WHITE_AGENT
        self._cumulative_rewards[agent] = 0.0
        if self.game.play(action):
            if (end := self.game.end()) is not None:
                self._finish(end)
        elif self.on_illegal == "raise":
            raise IllegalMove(f"action {action} is not legal ({self.game.position.fen()})", str(action))
        else:
            self.rewards = {agent: -1.0, other: 0.0}
            self.terminations = dict.fromkeys(AGENTS, True)
            self.infos = {agent: {"illegal_action": True}, other: {}}
        self.agent_selection = other
        self._accumulate_rewards()

    def _finish(self, end: GameEnd) -> None:
        self.rewards = {agent: end.reward(agent == WHITE_AGENT) for agent in AGENTS}
        self.terminations = dict.fromkeys(AGENTS, end.outcome is not None)
        self.truncations = dict.fromkeys(AGENTS, end.outcome is None)
        self.infos = {agent: end.info() for agent in AGENTS}

    def render(self) -> Any:
        """Return the board as text or SVG, by `render_mode`."""
        return self.game.render(self.render_mode)

    def close(self) -> None:
        """Release nothing: the environment holds no resources."""
