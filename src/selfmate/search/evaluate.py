"""Evaluations of positions without a search: priors by move, win-draw-loss and plies left.

>>> found = evaluate("gardner-laptop", [Position("gardner")])[0]
>>> len(found.priors), round(sum(found.priors.values()), 3), round(sum(found.wdl), 3)
(7, 1.0, 1.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfmate import _core
from selfmate._core import Move
from selfmate.board.encoding import checked_positions
from selfmate.board.position import Position
from selfmate.errors import EvaluatorError, PlayerError, SearchError
from selfmate.evaluator.base import Evaluation, Evaluator, checked_evaluation
from selfmate.search.player import Player
from selfmate.search.spec import RANDOM

if TYPE_CHECKING:
    from selfmate.nn.net import Net

__all__ = ["PositionEvaluation", "evaluate"]

BATCH: Final = 1024
"""Positions that are encoded at once, which bounds the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionEvaluation:
    """What an evaluator says of one position, for the side to move.

    >>> PositionEvaluation(priors={}, wdl=(0.5, 0.3, 0.2)).value
    0.3
    """

    priors: dict[Move, float]
    """Of every legal move; they sum to one."""
    wdl: tuple[float, float, float]
    """Probabilities of win, draw and loss."""
    plies: float | None = None
    """Expected plies to the end of the game; None for evaluators that do not tell."""

    @property
    def value(self) -> float:
        """Win minus loss, -1 to 1."""
        return round(self.wdl[0] - self.wdl[2], 12)

    @property
    def best(self) -> Move:
        """The move with the highest prior."""
        return max(self.priors, key=self.priors.__getitem__)


def evaluate(source: str | Path | Player | Evaluator | Net, positions: Sequence[Position]) -> list[PositionEvaluation]:
    """Return the evaluation of each position by a net, without a search.

    `source` is a player's spec (`selfmate.search.spec`), a player, an evaluator, or a net in memory; open a `Player`
    once for many calls. Positions are evaluated in batches. Raises `PlayerError` for a spec that names no net and for a
    position of another variant, `SearchError` for one without legal moves, `ArrayError` for anything but positions, and
    `EvaluatorError` for answers of a custom evaluator that do not fit.

    >>> found = evaluate("heuristic-1", [Position("chess", "4k3/8/8/8/8/8/8/Q3K3 w - - 0 1")])[0]
    >>> found.value > 0.5, found.plies
    (True, None)
    """
    player = source if isinstance(source, Player) else Player(source)
    if player.evaluator == RANDOM:
        raise PlayerError(f"{RANDOM} does not evaluate", RANDOM)
    checked = checked_positions(positions)
    for row, position in enumerate(checked):
        player.check(position.variant)
        if not position.legal_moves:
            raise SearchError(f"position {row} has no legal moves: the game is over", position.fen())
    if isinstance(player.evaluator, str):
        return [_native(position, player.evaluator) for position in checked]
    found: list[PositionEvaluation] = []
    for begin in range(0, len(checked), BATCH):
        found += _by_net(player.evaluator, checked[begin : begin + BATCH])
    return found


def _native(position: Position, name: str) -> PositionEvaluation:
    priors, wdl = _core.evaluate(position, name)
    win, draw, loss = wdl.tolist()
    return PositionEvaluation(
        priors=dict(zip(position.legal_moves, priors.tolist(), strict=True)), wdl=(win, draw, loss)
    )


def _by_net(evaluator: Evaluator, positions: list[Position]) -> list[PositionEvaluation]:
    leaves = _core.encode_positions(positions, evaluator.encoding)
    answer: Evaluation = checked_evaluation(evaluator.evaluate(leaves), leaves, evaluator.name)
    plies = [None] * len(positions) if answer.plies is None else answer.plies.tolist()
    found = []
    for row, position in enumerate(positions):
        moves = position.legal_moves
        priors = answer.priors[row, : len(moves)].tolist()
        priors += [0.0] * (len(moves) - len(priors))  # beyond `max_moves`
        win, draw, loss = answer.wdl[row].tolist()
        found.append(
            PositionEvaluation(priors=dict(zip(moves, priors, strict=True)), wdl=(win, draw, loss), plies=plies[row])
        )
    if len(found) != len(positions):
        raise EvaluatorError(f"{len(found)} evaluations of {len(positions)} positions")
    return found
