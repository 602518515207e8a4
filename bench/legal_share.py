"""How much of a net's bare policy, a softmax over all moves of its policy space, lies on legal moves?

    python bench/legal_share.py runs/chess-sigmazero runs/chess-sigmazero:untrained chess-gpu

Seed 001 shows pictures of policy planes from which this can be read only roughly. Positions come from random games, one
from each. Beside the share stands what equal logits would give: legal moves by all moves of the policy space. A net
that learned with `learner.policy_loss = "legal"` never saw the logits of illegal moves, so its share says nothing.
"""

from __future__ import annotations

import argparse
import random
from statistics import fmean, stdev

import torch

from selfmate import Position
from selfmate._core import encode_positions
from selfmate.nn.checkpoint import load
from selfmate.nn.encodings import encoding_of
from selfmate.nn.leaves import LeafBatch
from selfmate.search.spec import find_net


def random_positions(variant: str, count: int, seed: int) -> list[Position]:
    """Return positions with legal moves after 4 to 80 random plies, each of its own game."""
    numbers = random.Random(seed)
    found: list[Position] = []
    while len(found) < count:
        position = Position(variant)
        for _ in range(numbers.randint(4, 80)):
            if position.outcome() is not None:
                break
            position.play(numbers.choice(position.legal_moves))
        if position.outcome() is None:
            found.append(position)
    return found


def legal_shares(spec: str, positions: list[Position]) -> list[float]:
    """Return the sum of a net's bare policy over the legal moves of each position."""
    net, _ = load(find_net(spec))
    net.eval()
    config = net.config
    leaves = encode_positions(positions, encoding_of(config))
    batch = LeafBatch.of(leaves, config.bitboards, config.scalars, config.policy_size)
    bits = torch.from_numpy(batch.bits.view("int64").copy())
    with torch.no_grad():
        logits, _, _ = net(bits, torch.from_numpy(batch.scalars.copy()))
    if logits is None:
        raise SystemExit(f"{spec} has no policy")
    policy = logits.softmax(1)
    return [
        float(policy[row, torch.from_numpy(batch.moves[row, :count].astype("int64"))].sum())
        for row, count in enumerate(batch.counts.tolist())
    ]


def main() -> None:
    """Print a line for each net."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nets", nargs="+", help="runs or nets, as for `selfmate arena`")
    parser.add_argument("--variant", default="chess")
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    positions = random_positions(wanted.variant, wanted.positions, wanted.seed)
    for spec in wanted.nets:
        shares = legal_shares(spec, positions)
        equal = fmean(len(position.legal_moves) for position in positions) / load(find_net(spec))[0].config.policy_size
        error = 1.96 * stdev(shares) / len(shares) ** 0.5
        print(f"{spec}: {fmean(shares):.1%} +- {error:.1%} on legal moves; equal logits: {equal:.2%}")


if __name__ == "__main__":
    main()
