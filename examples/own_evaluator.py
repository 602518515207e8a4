"""A custom evaluator: in a search, in self-play, in a match, and as the teacher of a net.

    python examples/own_evaluator.py

The evaluator counts material. It plays games with itself, their samples teach a linear policy and value in numpy, and
the pupil plays its teacher.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfmate import (
    Buffer,
    FunctionEvaluator,
    Limit,
    Player,
    Position,
    SearchConfig,
    SelfPlayConfig,
    dense_planes,
    encoding,
    play_match,
    selfplay_games,
)
from selfmate.match.openings import balanced_openings

VARIANT = "gardner"
SIZES = encoding(VARIANT)
WORTH = np.array([1, 3, 3, 5, 9, 0], np.float32) / 10

Array = NDArray[Any]


def material(planes: Array) -> tuple[Array, Array]:
    """Return equal logits, and win and loss by the balance of material."""
    balance = np.tanh(planes[:, :6].sum((2, 3)) @ WORTH - planes[:, 6:12].sum((2, 3)) @ WORTH)
    return np.zeros((len(planes), SIZES.policy_size), np.float32), wdl_of(balance)


def wdl_of(value: Array) -> Array:
    """Return win, draw and loss of a value from -1 to 1, without draws."""
    return np.stack([(1 + value) / 2, np.zeros_like(value), (1 - value) / 2], 1).astype(np.float32)


class Pupil:
    """A linear policy and value of the planes, trained by gradient descent."""

    def __init__(self) -> None:
        inputs = 20 * SIZES.ranks * SIZES.files
        self.policy = np.zeros((inputs, SIZES.policy_size), np.float32)
        self.value = np.zeros(inputs, np.float32)

    def __call__(self, planes: Array) -> tuple[Array, Array]:
        flat = planes.reshape(len(planes), -1)
        return flat @ self.policy, wdl_of(np.tanh(flat @ self.value))

    def learn(self, planes: Array, targets: Array, results: Array, rate: float = 0.05) -> float:
        """Make one step; return the cross-entropy of the policy over all moves."""
        flat = planes.reshape(len(planes), -1)
        logits = flat @ self.policy
        shares = np.exp(logits - logits.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        loss = -(targets * np.log(shares + 1e-9)).sum(1).mean()
        self.policy -= rate * flat.T @ (shares - targets) / len(flat)
        guess = np.tanh(flat @ self.value)
        self.value -= rate * flat.T @ ((guess - results) * (1 - guess**2)) / len(flat)
        return float(loss)


def main() -> None:
    """Search, play, learn, and play a match."""
    teacher = FunctionEvaluator(VARIANT, material, name="material")

    # 1. In a search
    position = Position(VARIANT)
    result = Player(teacher).search(position, Limit(visits=200))
    print(f"material plays {position.san(result.best)}, value {result.value:+.2f}")

    # 2. In self-play
    config = SelfPlayConfig(visits=16, full_probability=1.0, random_plies=6, max_plies=80)
    games = selfplay_games(teacher, VARIANT, 24, selfplay=config, seed=1)
    print(f"{len(games)} games with {sum(game.positions for game in games)} samples")

    # 3. As a teacher
    buffer = Buffer(VARIANT, 1_000_000, 1)
    for game in games:
        buffer.add(game)
    pupil = Pupil()
    for step in range(120):
        batch = buffer.sample(128, step)
        planes = dense_planes(VARIANT, batch)
        targets = np.zeros((batch.size, SIZES.policy_size), np.float32)
        np.add.at(targets, (np.arange(batch.size)[:, None], batch.policy_index), batch.policy_weight)
        loss = pupil.learn(planes, targets, batch.wdl[:, 0] - batch.wdl[:, 2])
        if step % 40 == 0 or step == 119:
            print(f"step {step:3}: policy loss {loss:.2f}")

    # 4. In a match
    learned = FunctionEvaluator(VARIANT, pupil, name="pupil")
    openings = balanced_openings(VARIANT, 3, seed=1)
    found = play_match(VARIANT, learned, teacher, openings, search=SearchConfig(), visits=16)
    assert found is not None, "nothing stops the match"
    print(f"pupil against teacher: {found[0]}")


if __name__ == "__main__":
    main()
