"""The evaluation cache: counts exactly, and changes no evaluation."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from nets import equal, some_leaves, some_net
from selfmate import VARIANTS, Position
from selfmate._core import Search, SearchConfig, encoding
from selfmate.evaluator.base import Evaluation, Evaluator
from selfmate.evaluator.cache import WIDTH, CachedEvaluator, EvaluationCache
from selfmate.evaluator.onnx import OnnxEvaluator
from selfmate.nn.config import FixedFacts
from selfmate.nn.leaves import LeafBatch, Leaves
from selfmate.nn.onnx import to_onnx


class Counting(Evaluator):
    """Answers by the moves alone, so that their order shows, and counts the leaves."""

    def __init__(self, net: str = "one") -> None:
        self.name, self.net_id, self.variant = "counting", net, "gardner"
        self.asked: list[NDArray[np.uint64]] = []

    def evaluate(self, leaves: Leaves) -> Evaluation:
        self.asked.append(leaves.keys.copy())
        real = np.arange(leaves.moves.shape[1]) < leaves.counts[:, None]
        priors = np.where(real, leaves.moves.astype(np.float32) + 1, 0).astype(np.float32)
        priors /= np.maximum(priors.sum(1, keepdims=True), 1)
        mark = (leaves.keys % np.uint64(1000)).astype(np.float32) + (0.5 if self.net_id == "two" else 0.0)
        return Evaluation(priors, np.stack([mark, mark, mark], 1))


def test_cache_counts_exactly_and_changes_nothing() -> None:
    inner, plain = Counting(), Counting()
    cached = CachedEvaluator(inner, 1 << 10)
    pool = some_leaves(100)
    random = np.random.default_rng(2)
    seen: set[int] = set()
    hits = duplicates = misses = 0
    for _ in range(30):
        rows = random.integers(0, 100, 40)
        leaves = pool.take(rows)
        assert equal(cached.evaluate(leaves), plain.evaluate(leaves))
        new = set(rows.tolist()) - seen
        hits += sum(row not in new for row in rows.tolist())
        misses += len(new)
        duplicates += sum(row in new for row in rows.tolist()) - len(new)
        seen |= new
        assert cached.counts == (hits, duplicates, misses)
    asked = np.concatenate(inner.asked)
    assert len(asked) == len(set(asked.tolist())) == misses


def test_cache_asks_in_the_order_of_the_batch() -> None:
    inner = Counting()
    pool = some_leaves(20)
    rows = np.array([7, 3, 7, 11, 3, 0, 19])
    CachedEvaluator(inner).evaluate(pool.take(rows))
    assert inner.asked[0].tolist() == pool.keys[[7, 3, 11, 0, 19]].tolist()


@pytest.mark.parametrize("together", [True, False])
def test_cache_knows_moves_in_another_order(together: bool) -> None:
    """A view of the board with its moves in another order (seen by the other colour) is the same entry."""
    leaves = some_leaves(10)
    moves = leaves.moves.copy()
    for row, count in zip(moves, leaves.counts, strict=True):
        row[:count] = np.roll(row[:count], 1)  # not its own inverse
        row[count:] = 77  # padding does not matter
    turned = LeafBatch(leaves.bits, leaves.scalars, moves, leaves.counts, leaves.keys)
    inner = Counting()
    cached = CachedEvaluator(inner)
    if together:
        both = LeafBatch(
            *(np.concatenate([getattr(part, name) for part in (leaves, turned)]) for name in LeafBatch.__slots__)
        )
        assert equal(cached.evaluate(both), Counting().evaluate(both))
        assert cached.counts == (0, 10, 10)
    else:
        cached.evaluate(leaves)
        assert equal(cached.evaluate(turned), Counting().evaluate(turned))
        assert cached.counts == (10, 0, 10)


@pytest.mark.parametrize("together", [True, False])
def test_cache_survives_equal_keys_of_different_positions(together: bool) -> None:
    leaves = some_leaves(3)
    clash = LeafBatch(leaves.bits, leaves.scalars, leaves.moves, leaves.counts, np.zeros(3, np.uint64))
    cached = CachedEvaluator(Counting())
    expected = Counting().evaluate(clash)
    if together:
        assert equal(cached.evaluate(clash), expected)
    else:
        for row in range(3):
            answer = cached.evaluate(clash.take(slice(row, row + 1)))
            assert equal(answer, expected.rows(slice(row, row + 1)))
    assert cached.counts == (0, 0, 3)


def test_cache_keeps_nets_apart() -> None:
    cache = EvaluationCache(100)
    leaves = some_leaves(10)
    evaluators = [CachedEvaluator(Counting(net), cache=cache) for net in ("one", "two")]
    for _ in range(2):
        for evaluator in evaluators:
            answer = evaluator.evaluate(leaves)
            assert equal(answer, Counting(evaluator.net_id).evaluate(leaves))
    assert [evaluator.counts for evaluator in evaluators] == [(10, 0, 10)] * 2


def test_many_moves_are_not_kept() -> None:
    leaves = some_leaves(4)
    leaves.counts[:2] = WIDTH + 1
    leaves = leaves.take(np.array([0, 1, 2, 0]))
    cached = CachedEvaluator(Counting())
    for _ in range(2):
        assert equal(cached.evaluate(leaves), Counting().evaluate(leaves))
    assert cached.counts == (1, 0, 7)


@pytest.mark.parametrize("capacity", [1, 2, 4, 64, 1000])
def test_small_cache_forgets_but_never_lies(capacity: int) -> None:
    cached = CachedEvaluator(Counting(), capacity)
    pool = some_leaves(500)
    random = np.random.default_rng(3)
    for _ in range(30):
        leaves = pool.take(random.integers(0, 500, 50))
        assert equal(cached.evaluate(leaves), Counting().evaluate(leaves))
    assert sum(cached.counts) == 1500
    assert cached.cache.capacity <= max(4, 2 * capacity)


def test_narrow_leaves() -> None:
    leaves = some_leaves(10, width=48)
    cached = CachedEvaluator(Counting())
    for _ in range(2):
        assert equal(cached.evaluate(leaves), Counting().evaluate(leaves))
    assert cached.counts == (10, 0, 10)
    assert cached.evaluate(some_leaves(0)).priors.shape == (0, 128)


def test_cache_of_a_real_net_under_threads() -> None:
    cached = CachedEvaluator(OnnxEvaluator(to_onnx(some_net()), threads=2), 64)
    pool = some_leaves(200)
    expected = cached.evaluator.evaluate(pool)._replace(plies=None)
    wrong: list[int] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(10):
            rows = random.integers(0, 200, 30)
            if not equal(cached.evaluate(pool.take(rows)), expected.rows(rows)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(cached.counts) == 900


@pytest.mark.parametrize("variant", VARIANTS)
def test_search_with_and_without_the_cache(variant: str) -> None:
    """Real leaves of every variant: they fit the net, and the cache changes no visit."""
    sizes = encoding(variant)
    facts = FixedFacts(variant, sizes.files, sizes.ranks, sizes.bitboards, sizes.scalars, sizes.planes)
    net = some_net(facts=facts)
    assert net.config.policy_size == sizes.policy_size
    plain = OnnxEvaluator(to_onnx(net), threads=1)
    cached = CachedEvaluator(plain)
    found = []
    for evaluator in (plain, cached, cached):
        search = Search(Position(variant), SearchConfig(), 200, 1)
        while not search.done():
            leaves = search.gather(16)
            answer = evaluator.evaluate(leaves)
            search.apply(leaves.ticket, answer.priors, answer.wdl)
        found.append([(move.move, move.visits, move.value) for move in search.result().moves])
    assert found[0] == found[1] == found[2]
    hits, duplicates, misses = cached.counts
    assert hits >= misses > 0  # the second search asked nothing new
    assert duplicates >= 0
