"""The losses of a batch, and the targets that they compare with.

The loss of a position is the cross-entropy of the policy with the search's weights, plus the weighted loss of the
value, plus a small weighted error in plies left. The value target is a distribution over win, draw and loss for the
side to move: the result of the game mixed with what the search expects. Nets with a win-draw-loss head learn it by
cross-entropy; `mse` and `huber` compare its expected value, wins minus losses, with that of the net. A net whose value
is a scalar gives it in place of the three logits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional

from selfmate.nn.architecture import PADDING_LOGIT, PLIES_UNIT
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import TRAINING_HEADS, LearnerPart
from selfmate.train.batch import Batch

__all__ = [
    "Losses",
    "Mean",
    "alone",
    "compute_losses",
    "is_taught",
    "losses_with_heads",
    "policy_target",
    "shaped_value",
    "value_target",
]


Mean: TypeAlias = Callable[[Tensor], Tensor]
"""Averages a tensor over the processes that share a batch, each with an equal part (train/learner_group.py)."""


def alone(tensor: Tensor) -> Tensor:
    """Return the tensor: the mean over one process, which has the whole batch."""
    return tensor


SOFT_TEMPERATURE: Final = 4.0
"""Of the target of the soft policy (KataGo)."""


class Losses(NamedTuple):
    """Means over positions; `total` is minimised, the others are its terms before they are weighted.

    The last ones are those of heads that only train (train/heads.py), 0 where there are none, as in a validation.
    """

    total: float
    policy: float
    value: float
    plies: float
    soft: float = 0.0
    reply: float = 0.0
    ahead: float = 0.0


def compute_losses(
    outputs: tuple[Tensor | None, Tensor, Tensor | None],
    batch: Batch,
    part: LearnerPart,
    cycle: int,
    mean: Mean = alone,
) -> tuple[Tensor, ...]:
    """Return the total loss and its terms, in the order of `Losses`; each is the mean over the batch.

    Where processes share the batch, the mean of what they return is: positions are weighed by the weights of all.

    `outputs` are those of the net: logits `[B, policy]`, win-draw-loss logits `[B, 3]` or values `[B]`, and plies left
    `[B]`. A net without a policy or without plies has None there, and no loss of it.
    """
    logits, value, plies = outputs
    weights = position_weights(batch, part, mean)
    nothing = value.new_zeros(())

    # 1. Policy: the search's weights against the softmax
    policy_loss = nothing
    if logits is not None:
        rows = policy_losses(logits, batch, part, cycle)
        policy_loss = (rows if weights is None else rows * weights).mean()

    # 2. Value: games without a result have no target
    known = batch.value_weight if weights is None else batch.value_weight * weights
    value_loss = weighted_mean(value_losses(value, batch, part, cycle), known, mean)

    # 3. Plies left, in the unit in which the net predicts them; a taught position of a truncated game has none
    plies_loss = nothing
    if plies is not None:
        errors = functional.huber_loss(plies / PLIES_UNIT, batch.plies / PLIES_UNIT, reduction="none")
        plies_loss = weighted_mean(errors, known * batch.wdl.sum(1) if is_taught(part, cycle) else known, mean)

    # 4. The weighted sum
    total = policy_loss + at(part.value_weight, cycle) * value_loss + at(part.plies_weight, cycle) * plies_loss
    return total, policy_loss, value_loss, plies_loss


def losses_with_heads(
    outputs: tuple[Any, ...],
    heads: dict[str, Tensor],
    batch: Batch,
    part: LearnerPart,
    cycle: int,
    mean: Mean = alone,
) -> tuple[Tensor, ...]:
    """Return what `compute_losses` returns with the weighted losses of heads that only train, and then these losses.

    `heads` are their outputs by name (`TrainingHeads`).
    """
    total, *terms = compute_losses((outputs[0], outputs[1], outputs[2]), batch, part, cycle, mean)
    weights, nothing = position_weights(batch, part, mean), total.new_zeros(())
    extra = {name: head_loss(name, output, batch, part, weights, mean) for name, output in heads.items()}
    for name, loss in extra.items():
        total = total + at(getattr(part, f"{name}_weight"), cycle) * loss
    return total, *terms, *(extra.get(name, nothing) for name in TRAINING_HEADS)


def head_loss(
    name: str, output: Tensor, batch: Batch, part: LearnerPart, weights: Tensor | None, mean: Mean = alone
) -> Tensor:
    """Return the mean loss of a head that only trains; `weights` [B] are those of positions."""
    ones = torch.ones_like(batch.value_weight) if weights is None else weights
    if name == "soft":
        legal, _ = legal_logits(output, batch)
        normaliser = (legal if part.policy_loss == "legal" else output).logsumexp(1)
        target = policy_target(batch.policy_weight, 1 / SOFT_TEMPERATURE)
        weighed = (output.gather(1, batch.policy_index.long()) * target).sum(1)
        return ((normaliser * target.sum(1) - weighed) * ones).mean()
    if name == "reply":
        rows = functional.cross_entropy(output, batch.reply_index.long(), reduction="none")
        return weighted_mean(rows, batch.reply_weight * ones, mean)
    return weighted_mean((output - batch.value_ahead).square().mean(1), batch.ahead_weight * ones, mean)


def weighted_mean(rows: Tensor, weights: Tensor, mean: Mean = alone) -> Tensor:
    """Return the mean of `[B]` numbers with weights of zero or more; 0 where all weights are 0.

    Where processes share the batch, their sums are divided by the mean of their weights, so that the mean over the
    processes is that of all numbers, though one of them may have more weights than another.
    """
    count = mean(weights.sum())
    return (rows * weights).sum() / count.where(count > 0, 1.0)


def position_weights(batch: Batch, part: LearnerPart, mean: Mean = alone) -> Tensor | None:
    """Return how much each position counts, `[B]` with mean 1; None where all count alike.

    Positions of long games, or late positions, count in proportion to the length in plies. The first ply is number 1.
    """
    if part.weigh_by == "none":
        return None
    length = batch.played + batch.plies if part.weigh_by == "game" else batch.played + 1
    return length / mean(length.mean())


def policy_losses(logits: Tensor, batch: Batch, part: LearnerPart, cycle: int) -> Tensor:
    """Return the cross-entropy of the policy target with the softmax of each position, `[B]`.

    The softmax is that over the legal moves, or over all (`policy_loss`): then a net also learns which moves are legal.
    Of a smoothed target a part `smoothing` is spread evenly over the legal moves.
    """
    legal, real = legal_logits(logits, batch)
    normaliser = (legal if part.policy_loss == "legal" else logits).logsumexp(1)
    weight = policy_target(batch.policy_weight, at(part.target_power, cycle))
    weighed = (logits.gather(1, batch.policy_index.long()) * weight).sum(1)
    if smoothing := at(part.smoothing, cycle):
        even = (legal * real).sum(1) / real.sum(1)
        weighed = (1 - smoothing) * weighed + smoothing * weight.sum(1) * even
    return normaliser * weight.sum(1) - weighed


def legal_logits(logits: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the logits of the legal moves, `[B, moves]`, padded with one near minus infinity, and where moves are."""
    width = batch.legal_index.shape[1]
    real = torch.arange(width, device=logits.device) < batch.legal_counts.long()[:, None]
    return logits.gather(1, batch.legal_index.long()).masked_fill(~real, PADDING_LOGIT), real


def policy_target(weight: Tensor, power: float) -> Tensor:
    """Return weights `[B, moves]` raised to a power, each row with the sum that it had (1, or 0 where it is empty).

    >>> sharp = policy_target(torch.tensor([[100 / 110, 10 / 110]]), 1.5)
    >>> round(float(sharp[0, 0] / sharp[0, 1]), 1)
    31.6
    """
    if power == 1:
        return weight
    raised = weight**power
    return raised * (weight.sum(1) / raised.sum(1).clamp(min=1e-30))[:, None]


def value_losses(value: Tensor, batch: Batch, part: LearnerPart, cycle: int) -> Tensor:
    """Return the value loss of each position, `[B]`; `value` are win-draw-loss logits `[B, 3]` or values `[B]`."""
    target = value_target(batch, part, cycle)
    if part.value_loss == "ce":
        return (target * -value.log_softmax(1)).sum(1)
    if value.ndim == 2 and value.shape[1] == 3:
        shares = value.softmax(1)
        value = shares[:, 0] - shares[:, 2]
    wanted = target[:, 0] - target[:, 2]
    if not is_taught(part, cycle):
        wanted = shaped_value(wanted, batch, part, cycle)
    compare = functional.mse_loss if part.value_loss == "mse" else functional.huber_loss
    return compare(value.reshape(wanted.shape), wanted, reduction="none")


def value_target(batch: Batch, part: LearnerPart, cycle: int) -> Tensor:
    """Return the shares of win, draw and loss that the net is to expect, `[B, 3]`, for the side to move.

    A drawn game has the value `draw_target` for both sides; `material_nudge` moves it towards the side with more
    material in the final position. A value d of a draw is one of shares (d, 1 - d, 0), or (0, 1 + d, -d) below zero.
    While a teacher is asked, the target is its value alone.
    """
    result = batch.wdl
    draw, nudge = at(part.draw_target, cycle), at(part.material_nudge, cycle)
    if draw or nudge:
        worth = (draw + nudge * batch.final_material.sign()).clamp(-1, 1)
        shares = torch.stack([worth.clamp(min=0), 1 - worth.abs(), (-worth).clamp(min=0)], dim=1)
        result = torch.where(result[:, 1:2] == 1, shares, result)
    # What the search expects: of value v and draws d, wins are (1 - d + v) / 2 and losses (1 - d - v) / 2
    mix = 1.0 if is_taught(part, cycle) else at(part.value_mix, cycle)
    value, draws = batch.root_value, batch.root_draw
    searched = torch.stack([(1 - draws + value) / 2, draws, (1 - draws - value) / 2], dim=1).clamp(min=0)
    return (1 - mix) * result + mix * searched


def shaped_value(value: Tensor, batch: Batch, part: LearnerPart, cycle: int) -> Tensor:
    """Return the rewards from a position on, summed, `[B]`: of the moves, and `value` at the end of the game.

    A move from s to s' earns its player a · (g · φ(s') - φ(s)) - c, and the other side the opposite without the cost c
    of a step; φ is the material balance. Discounted and summed over the n plies to the end, for the side to move,

        gⁿ · z + a · (gⁿ · φ_end - φ) - c · (1 + g² + g⁴ + … over its own moves)

    where a is `shaping`, g `shaping_discount` and c `step_cost`.
    """
    weight, discount, cost = (at(each, cycle) for each in (part.shaping, part.shaping_discount, part.step_cost))
    if discount == 1 and not weight and not cost:
        return value
    left = discount**batch.plies
    own = torch.ceil(batch.plies / 2)  # moves of the side to move, which has the first
    steps = own if discount == 1 else (1 - discount ** (2 * own)) / (1 - discount**2)
    return left * value + weight * (left * batch.final_material - batch.material) - cost * steps


def is_taught(part: LearnerPart, cycle: int) -> bool:
    """Return whether the value target of a cycle is that of the teacher."""
    return cycle < part.teacher_cycles
