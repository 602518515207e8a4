"""The game inside the environments of one game: start, action, end, observation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfmate import _core
from selfmate._core import Move, Outcome
from selfmate.board.encoding import move_of
from selfmate.board.position import Position
from selfmate.envs.batched import MAX_PLIES, checked_action, start_fens
from selfmate.errors import EnvError, IllegalMove, clip, clip_repr
from selfmate.util.numbers import whole_number

__all__ = ["ON_ILLEGAL", "EnvGame", "GameEnd", "check_choice"]

ON_ILLEGAL: Final = ("lose", "raise")
"""What an action that is not legal does: end the game with reward -1 for its player, or raise `IllegalMove`."""


class GameEnd(NamedTuple):
    """The end of a game in an environment."""

    outcome: Outcome | None
    """None for a game that was truncated."""

    def reward(self, white: bool) -> float:
        """Return 1, 0 or -1 for a side."""
        winner = None if self.outcome is None else self.outcome.winner
        return 0.0 if winner is None else 1.0 if winner == white else -1.0

    def info(self) -> dict[str, Any]:
        """Return result and reason, for the info dictionary of a last step."""
        if self.outcome is None:
            return {"result": "*", "reason": "truncated"}
        return {"result": self.outcome.result(), "reason": self.outcome.reason}


class EnvGame:
    """A game of a variant that is played by actions; raises `EnvError` for what cannot be played.

    >>> game = EnvGame("gardner")
    >>> game.start(np.random.default_rng(1))
    >>> planes, mask = game.observe(white=True)
    >>> planes.shape, int(mask.sum()), game.play(int(mask.argmax())), game.end()
    ((20, 5, 5), 7, True, None)
    """

    def __init__(self, variant: str, starts: Sequence[str] = (), max_plies: int = 512) -> None:
        self.sizes = _core.encoding(variant)
        self.variant = variant
        self.max_plies = whole_number("max_plies", max_plies, 1, MAX_PLIES, EnvError)
        self.plane_shape = (_core.DENSE_PLANES, self.sizes.ranks, self.sizes.files)
        self._starts = [self._checked_start(fen) for fen in start_fens(variant, starts)] or [Position(variant)]
        self.position = self._starts[0].copy()
        self._plies = 0

    def _checked_start(self, fen: str) -> Position:
        position = Position(self.variant, fen)
        if position.is_game_over(claim_draw=True):
            raise EnvError(f"a game cannot start where it is over: {clip(fen)}", fen)
        return position

    def start(self, random: np.random.Generator, options: Mapping[str, Any] | None = None) -> None:
        """Begin a game at a starting position drawn at random, or at the FEN of `options["fen"]`."""
        if not isinstance(options, Mapping | None):
            raise EnvError(f"options must be a dictionary, not {clip_repr(options)}", clip_repr(options))
        if options and "fen" in options:
            self.position = self._checked_start(str(options["fen"]))
        else:
            self.position = self._starts[int(random.integers(len(self._starts)))].copy()
        self._plies = 0

    def play(self, action: Any) -> bool:
        """Play an action; return False, and change nothing, if it is not legal."""
        try:
            move = move_of(self.position, checked_action(action))
        except IllegalMove:
            return False
        self.play_move(move)
        return True

    def play_move(self, move: Move) -> None:
        """Play a legal move."""
        self.position.play(move)
        self._plies += 1

    def end(self) -> GameEnd | None:
        """Return the end of the game, or None; every draw that can be claimed is claimed."""
        outcome = self.position.outcome(claim_draw=True)
        return GameEnd(outcome) if outcome is not None or self._plies >= self.max_plies else None

    def observe(self, white: bool) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """Return new arrays of what a side sees: planes float32 [C, H, W], legal actions int8 [policy_size].

        No action is legal for the side that is not to move.
        """
        planes, mask = np.empty(self.plane_shape, np.float32), np.empty(self.sizes.policy_size, np.int8)
        _core.observe(self.position, white, planes, mask)
        return planes, mask

    def render(self, mode: str | None) -> str | None:
        """Return the board as text (`ansi`) or as SVG (`svg`); None without a mode."""
        return None if mode is None else self.position.svg() if mode == "svg" else f"{self.position}\n"


def check_choice(name: str, given: object, choices: Sequence[str]) -> None:
    """Raise `EnvError` unless a parameter has one of its values.

    >>> check_choice("on_illegal", "ignore", ON_ILLEGAL)
    Traceback (most recent call last):
    ...
    selfmate.errors.EnvError: on_illegal must be lose or raise, not 'ignore'
    """
    if not isinstance(given, str) or given not in choices:
        shown = clip_repr(given)
        raise EnvError(f"{name} must be {' or '.join(choices)}, not {shown}", shown)
