"""The search against the published formulas: whole trees, the Gumbel root, and the distributions of its noise."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from oracles import Config, Node, Path, Tree, answer, chi_square_z, considered_visits, encode, hash_net
from oracles import move_index as index_of
from selfmate import Move, Position
from selfmate._core import Search, SearchConfig

NEAR_TIE = 1e-5
"""Scores closer than this may be ordered otherwise in float32."""
SURE = 4.5
"""Standard deviations that no statistic here reaches by chance; seeds are fixed."""
ENDGAMES = {
    "gardner": [
        "5/1P3/2KN1/5/k4 w - - 1 29",
        "2b1k/P1P1P/5/p1p1p/K1B2 w - - 0 1",
        "k4/5/1Q3/5/K4 w - - 96 60",
        "4k/4P/4K/5/5 w - - 0 1",
        "r3k/5/5/5/R3K b - - 97 60",
    ],
    "chess": ["8/8/4k3/8/8/3K4/P7/8 w - - 97 80", "7k/R7/5K2/8/8/8/8/8 w - - 0 1"],
    "atomic": [
        "8/8/1P6/6P1/1Pp5/k7/6P1/1K6 b - b3 0 1",
        "rnbqkbnr/ppp1pppp/8/3p4/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 0 2",
    ],
    "kingofthehill": ["8/8/8/1k6/8/2K5/8/6R1 w - - 0 1"],
    "3check": ["4k3/8/8/8/8/8/8/R3K2R w KQ - 1+1 0 1"],
}


def random_position(draw: random.Random, variant: str) -> Position:
    """Return a position of a random game, with its history, or of a few decisive ones."""
    while True:
        if draw.random() < 0.4:
            position, plies = Position(variant, draw.choice(ENDGAMES[variant])), draw.randrange(6)
        else:
            position, plies = Position(variant), draw.randrange(30)
        for _ in range(plies):
            if position.is_game_over():
                break
            moves = position.legal_moves
            back = [move for move in moves if is_return(position, move)]
            position.play(draw.choice(back if back and draw.random() < 0.4 else moves))  # repetitions in the history
        if not position.is_game_over(claim_draw=True):
            return position


def is_return(position: Position, move: Move) -> bool:
    """Whether a move takes the last own move back."""
    stack = position.move_stack
    return len(stack) > 1 and (move.from_square, move.to_square) == (stack[-2].to_square, stack[-2].from_square)


Leaves = list[tuple[Node, Path]]


def gather(tree: Tree, size: int) -> Leaves:
    """Give up to `size` leaves of the oracle's tree; a bound on playouts that end in a result, as the core has it."""
    found: Leaves = []
    for _ in range(4 * size + 64):
        if len(found) == size or not tree.wants_playout():
            break
        playout = tree.playout()
        if playout == "blocked":
            break
        if isinstance(playout, tuple):
            found.append(playout)
    return found


def run_both(tree: Tree, search: Any, draw: random.Random, most_leaves: int) -> bool:
    """Run both searches: batches of some leaves, up to two of them in flight, answered in any order.

    Returns whether every batch was the same.
    """
    pending: list[tuple[Any, Leaves]] = []
    while not tree.done():
        size = draw.randint(1, most_leaves)
        leaves, found = search.gather(size), gather(tree, size)
        if [tuple(row) for row in leaves.bits.tolist()] != [node.seen.bits for node, _ in found]:
            return False
        for row, (node, _) in enumerate(found):
            if leaves.scalars[row].tolist() != pytest.approx(node.seen.scalars):
                return False
            if leaves.moves[row, : leaves.counts[row]].tolist() != node.indices:
                return False
        if found:
            pending.append((leaves, found))
        while pending and (len(pending) == 2 or not found or draw.random() < 0.5):
            leaves, answered = pending.pop(draw.randrange(len(pending)))
            search.apply(leaves.ticket, *answer(leaves))
            for node, path in answered:
                tree.answer(node, path)
    return True


def proven(proof: tuple[int, int] | None) -> int | None:
    return None if proof is None else proof[0] * proof[1]


def compare_edges(node: Node, stats: dict[Move, Any]) -> None:
    """Compare every number that is shown of the moves of a node."""
    assert {edge.move for edge in node.edges} == stats.keys()
    for edge in node.edges:
        found = stats[edge.move]
        assert found.visits == edge.visits
        assert found.prior == pytest.approx(edge.prior, abs=1e-7)
        assert found.proven == proven(edge.proof)
        if edge.proof is not None:
            assert found.value == edge.proof[0]
        elif edge.values:
            assert found.value == pytest.approx(edge.value, abs=1e-5)
        if edge.values:
            assert found.draw == pytest.approx(math.fsum(edge.draws) / edge.visits, abs=1e-5)
        if edge.child is not None:
            own = None if edge.child.by_rules else pytest.approx(-edge.child.net_value, abs=1e-6)
            assert found.net_value == own


def compare(tree: Tree, search: Any) -> None:
    """Compare the root, everything one ply below it, and the size of the tree."""
    root, result = tree.root, search.result()
    assert root is not None
    assert search.done()
    assert result.visits == tree.done_visits == sum(edge.visits for edge in root.edges)
    assert result.nodes == len(tree.depths)
    assert result.seldepth == max(tree.depths)
    assert result.collisions == tree.collisions
    assert result.depth == pytest.approx(sum(tree.depths) / max(1, tree.done_visits))
    assert result.proven == proven(root.proof)
    compare_edges(root, {stats.move: stats for stats in result.moves})
    # 1. The root's value and win-draw-loss
    value = root.value if root.proof is None else float(root.proof[0])
    draw = (
        sum(sum(edge.draws) for edge in root.edges) / max(1, tree.done_visits)
        if root.proof is None
        else float(root.proof[0] == 0)
    )
    draw = min(draw, 1 - abs(value))
    assert result.value == pytest.approx(value, abs=1e-5)
    assert result.wdl == pytest.approx(((1 - draw + value) / 2, draw, (1 - draw - value) / 2), abs=2e-5)
    assert result.net_value == (None if root.by_rules else pytest.approx(root.net_value, abs=1e-6))
    # 2. The move, and the learner's target
    assert result.best == root.edges[tree.best()].move
    weights = {stats.move: stats.weight for stats in result.moves}
    assert sum(weights.values()) == pytest.approx(1, abs=1e-5)
    for edge, weight in zip(root.edges, tree.improved_policy(), strict=True):
        assert weights[edge.move] == pytest.approx(weight, abs=1e-4)
    # 3. One ply below
    for edge in root.edges:
        after = search.result_after(edge.move)
        assert (after is None) == (edge.child is None or not edge.child.edges)
        if after is not None and edge.child is not None:
            assert after.visits == len(edge.child.values)
            assert after.proven == proven(edge.child.proof)
            if edge.child.proof is None:
                assert after.value == pytest.approx(edge.child.value, abs=1e-5)
                assert sum(stats.visits for stats in after.moves) == after.visits - 1
            compare_edges(edge.child, {stats.move: stats for stats in after.moves})


@pytest.mark.parametrize("gumbel", [False, True])
@pytest.mark.parametrize(
    ("variant", "searches"), [("gardner", 300), ("chess", 40), ("atomic", 40), ("kingofthehill", 40), ("3check", 40)]
)
def test_whole_trees_are_those_of_the_formulas(variant: str, searches: int, gumbel: bool) -> None:
    """PUCT, first-play urgency, virtual loss, back-up, results, proofs; at the root PUCT or sequential halving."""
    draw = random.Random(f"{variant} {gumbel}")
    near_ties, seen = 0, Counter[str]()
    for _ in range(searches):
        config = Config(
            cpuct=draw.choice([0.5, 1.25, 3.0]),
            fpu_reduction=draw.choice([0.0, 0.33, 1.0]),
            draw_score=draw.choice([0.0, 0.0, 0.5, -0.25]),
            virtual_loss=draw.choice([0, 1, 3]),
            gumbel=gumbel,
            considered=draw.choice([1, 2, 4, 5, 8, 16]),
            value_scale=draw.choice([0.1, 0.5]),
            maxvisit_init=draw.choice([50.0, 10.0]),
            stop_when_proven=draw.random() < 0.5,
        )
        position = random_position(draw, variant)
        most_leaves = draw.choice([1, 1, 3, 8])
        visits = draw.choice([1, 7, 30, 60, 120])
        tree = Tree(position, config, visits)
        search = Search(position, SearchConfig(**config._asdict(), gumbel_scale=0.0), visits)
        same = run_both(tree, search, draw, most_leaves)
        if not same and tree.margin < NEAR_TIE:
            near_ties += 1
            continue
        assert same, f"{position!r} {position.move_stack} {config} {visits} {most_leaves}"
        compare(tree, search)
        assert tree.root is not None
        seen["proven"] += tree.root.proof is not None
        seen["draws"] += any(edge.proof == (0, 0) for edge in tree.root.edges)
        seen["lost moves"] += any(edge.proof is not None and edge.proof[0] < 0 for edge in tree.root.edges)
        seen["collisions"] += tree.collisions > 0
    assert near_ties <= searches // 20
    if variant == "gardner":
        assert min(seen[each] for each in ("proven", "draws", "collisions")) >= 3, seen


RULES: dict[str, dict[str, list[Any]]] = {
    "dynamic": {"cpuct_base": [2.0, 50.0, 19652.0]},
    "ucb1": {"select": ["ucb1"], "choose": ["visits", "value"]},
    "noise": {"select": ["noise"], "noise_alpha": [0.3, 1.0, 3.0]},
    "limits": {"top_k": [0, 2, 5], "tail": [0.0, 0.0625, 0.25], "widening": [0.0, 0.5, 1.5]},
    "ends": {"stop_share": [0.25, 0.5], "stop_min_visits": [1, 10, 40]},
    "unproven": {"solver": [False], "select": ["puct", "ucb1", "noise"], "choose": ["visits", "value"]},
    "minimax": {"minimax": [0.25, 0.5, 1.0], "proven_means": [False, True], "gumbel": [False, True]},
    "proven means": {"proven_means": [True], "stop_when_proven": [False, True], "gumbel": [False, True]},
    "repetitions": {"repetition_penalty": [0.125, 1.0], "select": ["puct", "ucb1", "noise"]},
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("variant", "searches"), [("gardner", 40), ("atomic", 8)])
def test_whole_trees_are_those_of_other_rules(variant: str, searches: int, rule: str) -> None:
    """Every rule of selection, limit and end of the search, with leaves in flight, against the plain search."""
    draw = random.Random(f"{variant} {rule}")
    near_ties = different = 0
    for seed in range(searches):
        options = {name: draw.choice(values) for name, values in RULES[rule].items()}
        config = Config(
            cpuct=draw.choice([0.5, 1.5]), virtual_loss=draw.choice([0, 1, 3]), draw_score=draw.choice([0.0, 0.25])
        )._replace(**options)
        position = random_position(draw, variant)
        most_leaves, visits = draw.choice([1, 3, 8]), draw.choice([7, 30, 60, 120])
        tree = Tree(position, config, visits, seed=seed)
        search = Search(position, SearchConfig(**config._asdict(), gumbel_scale=0.0), visits, seed)
        same = run_both(tree, search, draw, most_leaves)
        if not same and tree.margin < NEAR_TIE:
            near_ties += 1
            continue
        assert same, f"{position!r} {position.move_stack} {config} {visits} {most_leaves}"
        compare(tree, search)
        plain = rooted(position, SearchConfig(**Config()._replace(cpuct=config.cpuct)._asdict()), seed, visits)
        different += stats_of(plain) != stats_of(search)
    assert near_ties <= 1 + searches // 20
    assert different > (0 if rule == "repetitions" else searches // 3), "the rule changes nothing"


def stats_of(search: Any) -> dict[Move, int]:
    return {stats.move: stats.visits for stats in search.result().moves}


def test_equal_scores_are_broken_by_index() -> None:
    """With equal priors and values the moves are tried in their order."""
    position = Position("gardner")
    moves = position.legal_moves
    search = Search(position, SearchConfig(fpu_reduction=0.0), len(moves))
    even = np.array([[0.0, 1.0, 0.0]], np.float32)
    for tried in range(len(moves) + 1):
        leaves = search.gather(1)
        priors = np.full(leaves.moves.shape, 1 / len(moves) if tried == 0 else 1 / leaves.counts[0], np.float32)
        search.apply(leaves.ticket, priors, even)
        visited = {stats.move for stats in search.result().moves if stats.visits}
        assert visited == set(moves[:tried])


# -- noise at the root ----------------------------------------------------------------------------


def rooted(position: Position, config: SearchConfig, seed: int, visits: int = 1) -> Any:
    """Search a little with the hash net."""
    search = Search(position, config, visits, seed)
    while not search.done():
        leaves = search.gather(1)
        if leaves.size:
            search.apply(leaves.ticket, *answer(leaves))
    return search


def net_priors(position: Position) -> dict[Move, float]:
    moves = position.legal_moves
    priors, _ = hash_net(encode(position, False), [index_of(position, move) for move in moves])
    return dict(zip(moves, priors, strict=True))


def noisy_priors(position: Position, alpha: float, epsilon: float, seeds: int) -> np.ndarray:
    """Return the priors of the root's moves for many seeds, [seeds, moves], in the order of the legal moves."""
    order = {move: place for place, move in enumerate(position.legal_moves)}
    found = np.zeros((seeds, len(order)))
    config = SearchConfig(noise_alpha=alpha, noise_epsilon=epsilon)
    for seed in range(seeds):
        for stats in rooted(position, config, seed).result().moves:
            found[seed, order[stats.move]] = stats.prior
    return found


DIRICHLET_SEEDS = 3000


@pytest.mark.parametrize(("alpha", "epsilon"), [(0.3, 0.25), (1.0, 0.5), (10.0, 1.0)])
def test_dirichlet_noise_has_its_moments(alpha: float, epsilon: float) -> None:
    """(1 - epsilon) prior + epsilon Dirichlet(alpha): mean, variance, covariance, and the sum of one."""
    position = Position("gardner", "rn1qk/pbppp/1p1PP/PPP2/RNBQK w - - 1 3")
    plain = np.array(list(net_priors(position).values()))
    n = len(plain)
    priors = noisy_priors(position, alpha, epsilon, DIRICHLET_SEEDS)
    assert priors.sum(1) == pytest.approx(1, abs=1e-5)
    noise = (priors - (1 - epsilon) * plain) / epsilon
    assert noise.min() > -1e-6
    variance = (1 / n) * (1 - 1 / n) / (n * alpha + 1)
    # 1. The mean of each move's share
    z = (noise.mean(0) - 1 / n) / math.sqrt(variance / DIRICHLET_SEEDS)
    assert abs(z).max() < SURE
    # 2. Variance and covariance, over all moves; the bound is that of as many draws of numpy
    drawn = np.random.default_rng(1).dirichlet([alpha] * n, (100, DIRICHLET_SEEDS))
    covariance = -1 / (n * n * (n * alpha + 1))
    for measure, expected in ((mean_variance, variance), (mean_covariance, covariance)):
        spread = np.std([measure(each) for each in drawn])
        assert abs(measure(noise) - expected) < SURE * spread
    # 3. The whole marginal distribution: Kolmogorov and Smirnov's distance from numpy's draws
    assert ks_distance(noise[:, 0], drawn[:, :, 0].ravel()) < 2.2 / math.sqrt(DIRICHLET_SEEDS)
    # 4. Moves do not share their noise from seed to seed, and seeds differ
    assert len({tuple(row) for row in noise}) == DIRICHLET_SEEDS
    assert abs(np.corrcoef(noise[:-1, 0], noise[1:, 0])[0, 1]) < SURE / math.sqrt(DIRICHLET_SEEDS)


def mean_variance(noise: np.ndarray) -> float:
    return float(noise.var(0).mean())


def mean_covariance(noise: np.ndarray) -> float:
    """Return the mean covariance of two moves that follow each other."""
    centred = noise - noise.mean(0)
    return float((centred[:, 1:] * centred[:, :-1]).mean())


def ks_distance(sample: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest difference of two empirical distribution functions."""
    reference = np.sort(reference)
    places = np.searchsorted(reference, np.sort(sample), side="right") / len(reference)
    return float(abs(places - np.arange(1, len(sample) + 1) / len(sample)).max())


def test_without_epsilon_there_is_no_noise_and_below_the_root_never() -> None:
    position = Position("gardner")
    plain = net_priors(position)
    for config in (SearchConfig(noise_alpha=0.3), SearchConfig(gumbel=True, noise_epsilon=0.5)):
        result = rooted(position, config, 5).result()
        assert {stats.move: stats.prior for stats in result.moves} == pytest.approx(plain, abs=1e-7)
    search = rooted(position, SearchConfig(noise_epsilon=0.5), 5, visits=60)
    assert {stats.move: stats.prior for stats in search.result().moves} != pytest.approx(plain, abs=1e-3)
    below = 0
    for move in plain:
        after = search.result_after(move)
        position.play(move)
        if after is not None and after.proven is None:
            below += 1
            assert {stats.move: stats.prior for stats in after.moves} == pytest.approx(net_priors(position), abs=1e-7)
        position.undo()
    assert below >= 4


GUMBEL_SEEDS = 4000


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_the_first_gumbel_candidate_is_a_draw_from_the_priors(scale: float) -> None:
    """argmax(logit + scale * Gumbel) has the distribution prior^(1 / scale)."""
    position = Position("gardner")
    plain = net_priors(position)
    config = SearchConfig(gumbel=True, gumbel_scale=scale)
    counts = Counter(rooted(position, config, seed).result().best for seed in range(GUMBEL_SEEDS))
    weights = {move: prior ** (1 / scale) for move, prior in plain.items()}
    total = sum(weights.values())
    expected = [GUMBEL_SEEDS * weight / total for weight in weights.values()]
    assert chi_square_z([counts[move] for move in plain], expected) < SURE


def test_the_considered_moves_are_a_gumbel_top_k() -> None:
    """The first k candidates are a draw from the priors without replacement (Kool et al. 2019)."""
    position = Position("gardner")
    plain = net_priors(position)
    config = SearchConfig(gumbel=True, considered=2)
    counts: Counter[frozenset[Move]] = Counter()
    for seed in range(GUMBEL_SEEDS):
        result = rooted(position, config, seed, visits=2).result()
        visited = [stats.move for stats in result.moves if stats.visits]
        assert len(visited) == 2
        counts[frozenset(visited)] += 1
    pairs = list(itertools.combinations(plain, 2))
    expected = [
        GUMBEL_SEEDS * plain[a] * plain[b] * (1 / (1 - plain[a]) + 1 / (1 - plain[b])) / sum(plain.values()) ** 2
        for a, b in pairs
    ]
    assert sum(expected) == pytest.approx(GUMBEL_SEEDS, rel=1e-4)
    assert chi_square_z([counts[frozenset(pair)] for pair in pairs], expected) < SURE


@pytest.mark.parametrize("considered", [1, 2, 3, 4, 7, 16, 40])
@pytest.mark.parametrize("visits", [1, 5, 16, 50, 200])
def test_sequential_halving_spreads_visits_as_published(considered: int, visits: int) -> None:
    """The visits of the root's moves, sorted, are those that the schedule of mctx gives, whatever the noise."""
    position = Position("gardner", "rn1qk/pbppp/1p1PP/PPP2/RNBQK w - - 1 3")
    legal = len(position.legal_moves)
    counts = sorted(replay_schedule(considered_visits(min(considered, legal), visits)), reverse=True)
    for seed in range(3):
        result = rooted(position, SearchConfig(gumbel=True, considered=considered), seed, visits).result()
        if not any(stats.proven for stats in result.moves):
            assert sorted((stats.visits for stats in result.moves if stats.visits), reverse=True) == counts


def replay_schedule(schedule: list[int]) -> list[int]:
    """Return the visits of candidates that are visited by a schedule."""
    visits: list[int] = []
    for wanted in schedule:
        if wanted == 0:
            visits.append(1)
        else:
            visits[visits.index(wanted)] += 1
    return visits
