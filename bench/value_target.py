"""How well does a self-play search know the value of its root? Two estimates of it beside a longer search.

    python bench/value_target.py --net atomic-gpu --positions 60

Positions come from games of the net with itself. Each is searched as in self-play (a Gumbel root with noise), which
gives the mean of the root and the expectation of the improved policy (the sum of weight times Q over the moves that
were tried or proven; the value target), and by PUCT with more visits, which is taken for the truth. Decided positions
are left out.
"""

from __future__ import annotations

import argparse
import math
import random
from statistics import fmean, stdev

from selfmate import Position
from selfmate._core import Search, SearchConfig, SearchResult
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.search.spec import find_net

SELF_PLAY, TRUTH = SearchConfig(gumbel=True), SearchConfig()
LEAVES = 4
"""Leaves of a batch."""


def search(net: Evaluator, position: Position, visits: int, seed: int, config: SearchConfig) -> SearchResult:
    """Return the search of a position."""
    tree = Search(position, config, visits, seed)
    while not tree.done():
        leaves = tree.gather(LEAVES)
        if leaves.size:
            found = net.evaluate(leaves)
            tree.apply(leaves.ticket, found.priors, found.wdl)
    return tree.result()


def expected(result: SearchResult) -> tuple[float, float]:
    """Return the value and the share of draws that the improved policy expects."""
    known = [move for move in result.moves if move.visits or move.proven is not None]
    total = sum(move.weight for move in known)
    values = [move.value for move in known]  # of a proven move that of its result
    draws = [move.draw if move.proven is None else float(move.proven == 0) for move in known]
    weights = [move.weight / total for move in known]
    return (
        sum(weight * value for weight, value in zip(weights, values, strict=True)),
        sum(weight * draw for weight, draw in zip(weights, draws, strict=True)),
    )


def main() -> None:
    """Print bias and root mean square of the errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", default="atomic-gpu")
    parser.add_argument("--positions", type=int, default=60)
    parser.add_argument("--visits", type=int, default=104, help="of self-play")
    parser.add_argument("--truth", type=int, default=600, help="visits of the longer search")
    wanted = parser.parse_args()
    net, chance = open_evaluator(find_net(wanted.net), device="cpu", threads=1), random.Random(1)
    errors: dict[str, list[float]] = {"mean of the root": [], "improved policy": [], "net alone": []}
    draws: dict[str, list[float]] = {"searched": [], "1 - |mean|": []}
    while len(draws["searched"]) < wanted.positions:
        position = Position(net.variant)
        for _ in range(chance.randrange(4, 40)):
            if not position.is_game_over(claim_draw=True):
                position.push(search(net, position, 12, chance.getrandbits(32), SELF_PLAY).best)
        if position.is_game_over(claim_draw=True) or len(position.legal_moves) < 2:
            continue
        short = search(net, position, wanted.visits, chance.getrandbits(32), SELF_PLAY)
        truth = search(net, position, wanted.truth, 1, TRUTH)
        if short.proven is not None or truth.proven is not None or short.net_value is None:
            continue
        value, draw = expected(short)
        for name, estimate in zip(errors, (short.value, value, short.net_value), strict=True):
            errors[name].append(estimate - truth.value)
        draws["searched"].append(draw)
        draws["1 - |mean|"].append(1 - abs(short.value))
    for name, each in errors.items():
        error = stdev(each) / math.sqrt(len(each))
        print(f"{name}: bias {fmean(each):+.3f} ± {error:.3f}, rms {math.sqrt(fmean(e * e for e in each)):.3f}")
    print("share of draws: " + ", ".join(f"{name} {fmean(each):.2f}" for name, each in draws.items()))


if __name__ == "__main__":
    main()
