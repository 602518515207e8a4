"""The search: the C++ tree and the plain one are equal number by number; values and roll-outs mean what they should."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'selfmate[lab]'")

from selfmate._core import LakeSearch, portable_log
from selfmate.errors import ArrayError, LabError
from selfmate.lab.frozenlake.agents import plan_policy
from selfmate.lab.frozenlake.lake import SMALL_MAP, Lake, seed_map
from selfmate.lab.frozenlake.mcts import PlainSearch, RandomBits
from selfmate.lab.frozenlake.planner import MctsSettings, make_search, plan, reachable
from selfmate.lab.frozenlake.settings import LakeSettings, change
from selfmate.lab.frozenlake.truth import best_values, evaluate_policy, greedy

ICE = Lake(seed_map())
DRY = Lake(SMALL_MAP, slippery=False)
BEST = greedy(best_values(ICE, 0.99))


def assert_equal_trees(fast: LakeSearch, plain: PlainSearch) -> None:
    states, visits, action_visits, value_sums, children = fast.tree()
    assert states.tolist() == [node.state for node in plain.nodes]
    assert visits.tolist() == [node.visits for node in plain.nodes]
    assert action_visits.tolist() == [node.action_visits for node in plain.nodes]
    assert value_sums.tolist() == [node.value_sums for node in plain.nodes]  # equal to the last bit
    table = children.reshape(-1, 4, 3)
    for index, node in enumerate(plain.nodes):
        found = {(a, o): int(table[index, a, o]) for a in range(4) for o in range(3) if table[index, a, o]}
        assert found == node.children
    assert fast.best_action() == plain.best_action()


@pytest.mark.parametrize(
    ("lake", "root", "c", "gamma", "steps", "policy", "values"),
    [
        (ICE, 0, 1.0, 0.99, 50, None, None),
        (ICE, 0, 100.0, 0.99, 50, BEST, None),
        (ICE, 27 + 12, 30.0, 0.9, 7, BEST, best_values(ICE, 0.9).max(1)),
        (ICE, 20, 100.0, 0.99, 0, BEST, best_values(ICE, 0.99).max(1)),
        (Lake(seed_map(), success_rate=0.9), 1, 5.0, 1.0, 20, None, None),
        (DRY, 0, 1.0, 0.99, 50, None, None),
        (DRY, 14, 100.0, 0.99, 3, None, None),
    ],
)
def test_both_trees_are_equal(
    lake: Lake, root: int, c: float, gamma: float, steps: int, policy: Any, values: Any
) -> None:
    fast = make_search(lake, MctsSettings(c=c, gamma=gamma, rollout_steps=steps), policy, values)
    plain = PlainSearch(lake, c=c, gamma=gamma, rollout_steps=steps, policy=policy, leaf_values=values)
    for simulations, seed, stream in ((700, 3, 0), (5, 4, 1), (1, 4, 2)):
        fast.run(root, simulations, seed, stream)
        plain.run(root, simulations, seed, stream)
        assert_equal_trees(fast, plain)


def test_plans_count_the_best_actions() -> None:
    search = make_search(ICE, MctsSettings(c=100.0), BEST)
    found = search.plan([0, 9], 200, 5, seed=7)
    for row, square in enumerate((0, 9)):
        counts = [0] * 4
        for stream in range(5):
            search.run(square, 200, 7, stream)
            counts[search.best_action()] += 1
        assert found[row].tolist() == counts
    policy = plan(ICE, MctsSettings(50, 100.0, repeats=4), 1, BEST)
    assert policy.sum(1) == pytest.approx(np.ones(64))
    assert policy[9] == pytest.approx(search.plan([9], 50, 4, seed=1)[0] / 4)
    assert reachable(ICE).sum() < 64
    assert (policy[~reachable(ICE)] == 0.25).all()  # no search was made there
    assert not reachable(ICE)[ICE.is_over].any()


def test_plans_by_visits_are_the_shares_of_all_actions() -> None:
    policy = plan(ICE, MctsSettings(60, 100.0, repeats=3, choose="visits"), 5, BEST)
    search = PlainSearch(ICE, c=100.0, policy=BEST)
    for square in (0, 9):
        shares = []
        for stream in range(3):
            search.run(square, 60, 5, stream)
            shares.append(search.visit_shares())
            assert shares[-1] == [visits / 60 for visits in search.nodes[0].action_visits]
        assert policy[square] == pytest.approx(np.mean(shares, 0), abs=1e-12)
        assert policy[square].min() > 0


def test_what_roll_outs_follow() -> None:
    """The settings' word, learned values or none, and the policy and the values of a leaf that the search is given."""
    learned, best = np.random.default_rng(1).random((64, 4)), best_values(ICE, 0.99)
    for rollout, values, followed, leaf_values, steps in (
        ("learned", learned, greedy(learned), None, 50), ("learned", None, None, None, 50),
        ("random", learned, None, None, 50), ("best", learned, BEST, None, 50), ("best", None, BEST, None, 50),
        ("exact", learned, BEST, best.max(1), 0),
    ):  # fmt: skip
        settings = change(LakeSettings(), [f"mcts.rollout={rollout}", "mcts.simulations=60", "mcts.repeats=3"])
        wanted = plan(ICE, MctsSettings(60, rollout_steps=steps, repeats=3), 1, followed, leaf_values)
        assert (plan_policy(settings, ICE, 1, values) == wanted).all(), rollout


def test_one_simulation_in_a_world_without_chance() -> None:
    """The first simulation goes left from square 14 and then, by the policy, along 13, 9, 10, 14 to the goal."""
    policy = np.array([1, 0, 0, 0, 1, 0, 1, 0, 2, 2, 1, 0, 0, 3, 2, 0], np.int8)
    search = PlainSearch(DRY, gamma=0.5, policy=policy)
    search.begin(14, seed=1)
    assert search.simulate() == [0, 1]
    assert search.rollout == [13, 9, 10, 14, 15]
    rollout = -1 - 0.5 - 0.25 + 0.125 * 100
    assert search.returns == [-1 + 0.5 * rollout, rollout]
    assert search.nodes[0].value_sums == [-1 + 0.5 * rollout, 0, 0, 0]
    assert search.nodes[1].visits == 1
    # Down stays, right is the goal, up is square 10; then UCT takes the goal again, which adds no node.
    assert [search.simulate() for _ in range(4)] == [[0, 2], [0, 3], [0, 4], [0, 3]]
    assert search.nodes[3].is_terminal
    assert search.nodes[0].value_sums[2] == 200
    assert search.best_action() == 2


def test_uct_weighs_values_and_visits() -> None:
    search = PlainSearch(DRY, c=2.0)
    search.begin(0, 1)
    node = search.nodes[0]
    node.visits, node.action_visits, node.value_sums = 20, [5, 5, 5, 5], [5.0, 10.0, 0.0, 5.0]
    assert search.select_action(node) == 1
    node.action_visits, node.value_sums = [1, 9, 5, 5], [1.0, 18.0, 0.0, 5.0]
    assert search.select_action(node) == 0  # 1 + 2 sqrt(ln 20) = 4.46 beats 2 + 2 sqrt(ln 20 / 9) = 3.15
    assert PlainSearch(DRY, c=0.1).select_action(node) == 1
    # The values of 1 and 9 visits of 20 are equal in UCT where they differ by sqrt(ln 20) - sqrt(ln 20 / 9) = 1.154
    node.action_visits, node.value_sums = [1, 9, 5, 5], [0.0, 9 * 1.15, -50.0, -50.0]
    assert PlainSearch(DRY, c=1.0).select_action(node) == 0
    node.value_sums[1] = 9 * 1.16
    assert PlainSearch(DRY, c=1.0).select_action(node) == 1


def test_the_best_action_among_equal_values_has_more_visits() -> None:
    search = PlainSearch(DRY)
    search.begin(0, 1)
    root = search.nodes[0]
    root.action_visits, root.value_sums = [0, 2, 5, 5], [0.0, 6.0, 15.0, 15.0]
    assert search.best_action() == 2
    root.value_sums[1] = 6.5
    assert search.best_action() == 1


@pytest.mark.parametrize("steps", [0, 1, 3, 50])
def test_with_the_best_policy_every_first_return_is_the_exact_value(steps: int) -> None:
    """Nothing slips, so a roll-out and the value where it stops are together the best return, discounted as it is."""
    values = best_values(DRY, 0.9)
    for square in (0, 9, 14):
        fast = make_search(DRY, MctsSettings(gamma=0.9, rollout_steps=steps), greedy(values), values.max(1))
        plain = PlainSearch(DRY, gamma=0.9, rollout_steps=steps, policy=greedy(values), leaf_values=values.max(1))
        fast.run(square, 4, 1)
        plain.run(square, 4, 1)
        _, _, _, sums, _ = fast.tree()
        assert sums[0] == pytest.approx(values[square])
        assert plain.nodes[0].value_sums == pytest.approx(values[square])


def test_slips_have_their_probabilities() -> None:
    """Right from square 9 is square 10, with square 1 and square 17 at its sides."""
    search = PlainSearch(Lake(seed_map(), success_rate=0.8))
    draw = RandomBits(5)
    squares = [search._next[9][2][search._draw(9, 2, draw.bits() >> 32)] for _ in range(30_000)]
    counts = np.bincount(squares, minlength=64)
    assert counts[[1, 10, 17]] / 30_000 == pytest.approx([0.1, 0.8, 0.1], abs=0.012)


def test_more_simulations_help_where_c_fits_the_returns() -> None:
    chances = [
        evaluate_policy(ICE, plan(ICE, MctsSettings(count, 100.0, repeats=4), 1, BEST)).chance for count in (10, 1000)
    ]
    assert chances[1] > chances[0] + 0.3


def test_the_logarithm() -> None:
    for number in (1, 2, 3, 10, 12345, 10**7):
        assert portable_log(number) == pytest.approx(float(np.log(number)), rel=1e-9, abs=1e-12)
    with pytest.raises(LabError):
        portable_log(0)


def test_what_the_core_refuses() -> None:
    table = ICE.arrays
    good: dict[str, Any] = {
        "policy": BEST, "leaf_values": np.zeros(64), "c": 1.0, "gamma": 0.99, "rollout_steps": 50,
    }  # fmt: skip
    arrays = (table.next, table.bounds, table.rewards, table.ends)
    search = LakeSearch(*arrays, **good)
    with pytest.raises(LabError, match="run a search first"):
        search.best_action()
    for root, simulations in ((-1, 1), (64, 1), (0, 0), (0, 10**8)):
        with pytest.raises(LabError):
            search.run(root, simulations, 1)
    with pytest.raises(LabError):
        search.plan([0], 10, 0, 1)
    for name, value in (
        ("c", -1.0), ("c", float("nan")), ("gamma", 1.1), ("rollout_steps", -1), ("policy", BEST + 4),
    ):  # fmt: skip
        with pytest.raises(LabError):
            LakeSearch(*arrays, **(good | {name: value}))
    with pytest.raises(LabError, match="a square that the lake does not have"):
        LakeSearch(table.next + 1, *arrays[1:], **good)
    with pytest.raises(ArrayError, match="rewards: float64"):
        LakeSearch(table.next, table.bounds, table.rewards[:10], table.ends, **good)


def test_speed() -> None:
    """A million simulations a second on one core; a busy machine is given the best of several tries, and a third."""
    search = make_search(ICE, MctsSettings(c=100.0), BEST)
    rates = []
    for _ in range(5):
        began = time.process_time()
        search.plan([0], 10_000, 5, 1)
        rates.append(50_000 / (time.process_time() - began))
    assert max(rates) > 330_000
