"""The arithmetic of training, as functions of numbers alone."""

from __future__ import annotations

import math
from typing import Final

from selfmate.util.random_streams import stream

__all__ = ["cooldown", "cosine", "count_steps", "ema_decay", "is_held_out", "learning_rate", "swa_share"]

EMA_DELAY: Final = 10
"""Steps by which the start of the average is damped; see `ema_decay`."""


def count_steps(owed: int, reuse: float, positions: int, batch: int) -> tuple[int, int]:
    """Return the steps that new positions are worth, and the samples that are left over.

        samples = owed + round(reuse · positions)
        steps   = ⌊samples / batch⌋,   left over = samples - steps · batch

    so that over a run every position is sampled `reuse` times on average. `owed` is what was left over before.

    >>> count_steps(owed=30, reuse=2.0, positions=100, batch=64)
    (3, 38)
    """
    return divmod(owed + round(reuse * positions), batch)


def learning_rate(rate: float, step: int, warmup: int) -> float:
    """Return the learning rate of step number `step`, the first of which is 0: rate · min(1, (step + 1) / warmup).

    >>> learning_rate(0.1, 0, 100), learning_rate(0.1, 99, 100), learning_rate(0.1, 0, 0)
    (0.001, 0.1, 0.1)
    """
    return rate * min(1.0, (step + 1) / max(1, warmup))


def cooldown(step: int, first: int, goal: int) -> float:
    """Return the factor of the learning rate in a cooldown from step `first` to `goal`: (goal - step) / (goal - first).

    >>> [cooldown(step, 10, 14) for step in range(10, 14)]
    [1.0, 0.75, 0.5, 0.25]
    """
    return (goal - step) / (goal - first)


def cosine(step: int, first: int, goal: int, end: float) -> float:
    """Return the factor of the learning rate at a step of a cycle that trains from step `first` up to `goal`.

    It falls from 1 to `end` along half a cosine: end + (1 - end) · (1 + cos(π · (step - first) / (goal - first))) / 2.

    >>> [round(cosine(step, 100, 104, 0.1), 3) for step in range(100, 105)]
    [1.0, 0.868, 0.55, 0.232, 0.1]
    """
    if end == 1 or goal <= first:
        return 1.0
    share = min(1.0, max(0.0, (step - first) / (goal - first)))
    return end + (1 - end) * (1 + math.cos(math.pi * share)) / 2


def swa_share(steps: int, every: int, snapshots: int) -> float:
    """Return the share that the weights after `steps` steps get in their stochastic average; 0 between snapshots.

    Every `every` steps a snapshot is taken: average ← (1 - share) · average + share · weights. The share of snapshot
    number n is 1 / n, so that all count alike, up to n = `snapshots`; then older ones fade away.

    >>> [swa_share(steps, 25, 3) for steps in (25, 30, 50, 75, 100)]
    [1.0, 0.0, 0.5, 0.3333333333333333, 0.3333333333333333]
    """
    return 0.0 if steps % every else 1 / min(steps // every, snapshots)


def ema_decay(decay: float, steps: int) -> float:
    """Return the decay of the averaged weights after `steps` steps: min(decay, (1 + steps) / (10 + steps)).

    average ← decay · average + (1 - decay) · weights. The average follows quickly while there are few steps, so that
    the untrained weights are forgotten.

    >>> ema_decay(0.99, 1), ema_decay(0.99, 10_000)
    (0.18181818181818182, 0.99)
    """
    return min(decay, (1 + steps) / (EMA_DELAY + steps))


def is_held_out(game_id: int, one_in: int) -> bool:
    """Return whether a game only validates: one game in `one_in` (0: none), chosen by a hash of its id.

    The choice depends on nothing else, so a game never changes sides.

    >>> sum(is_held_out(game_id, 16) for game_id in range(16_000)), is_held_out(0, 0)
    (1050, False)
    """
    return one_in > 0 and stream(0, "held out", game_id) % one_in == 0
