"""The truth: against a recursion in fractions, linear equations, and simulated episodes."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'selfmate[lab]'")

from lake_simulation import reached_of
from selfmate.lab.frozenlake.lake import SMALL_MAP, Lake, generate_map, seed_map
from selfmate.lab.frozenlake.planner import reachable
from selfmate.lab.frozenlake.scores import simulate, wilson
from selfmate.lab.frozenlake.truth import best_chances, best_values, evaluate_policy, find_truth, greedy, one_hot


@pytest.mark.parametrize(("rows", "steps"), [(SMALL_MAP, 30), (("SFH", "FFF", "HFG"), 12), (generate_map(5, 3), 25)])
@pytest.mark.parametrize("slippery", [True, False])
def test_the_largest_chance_by_a_recursion_in_fractions(rows: tuple[str, ...], steps: int, slippery: bool) -> None:
    lake = Lake(rows, slippery=slippery, step_limit=steps)
    tiles = "".join(rows)

    @functools.cache
    def chance(state: int, left: int) -> Fraction:
        if tiles[state] in "GH" or left == 0:
            return Fraction(tiles[state] == "G")
        return max(
            sum((Fraction(p).limit_denominator(9) * chance(after, left - 1) for p, after, _, _ in moves), Fraction())
            for moves in lake.env.P[state].values()
        )

    found = best_chances(lake, steps)
    assert found == pytest.approx([float(chance(state, steps)) for state in range(lake.states)], abs=1e-12)
    assert find_truth(lake, 0.99).best_chance == pytest.approx(float(chance(lake.start, steps)))


@pytest.mark.parametrize(
    ("gamma", "rewards"),
    [
        (0.9, (100.0, -100.0, -1.0)),
        (0.99, (100.0, -100.0, -1.0)),
        (0.999999, (1.0, 0.0, 0.0)),
        (0.999999, (1.0, -3.0, 0.001)),  # staying pays, and its value would rise for millions of rounds
    ],
)
@pytest.mark.parametrize("slippery", [True, False])
def test_the_best_values_solve_the_equations_of_their_policy_and_no_action_is_better(
    gamma: float, rewards: tuple[float, float, float], slippery: bool
) -> None:
    lake = Lake(seed_map(), slippery=slippery, rewards=rewards)
    values = best_values(lake, gamma)
    policy = greedy(values)
    # V = r + gamma P V for the policy, by linear equations over Gymnasium's table
    matrix, right = np.eye(lake.states), np.zeros(lake.states)
    for state in range(lake.states):
        for chance, after, reward, ends in lake.env.P[state][int(policy[state])]:
            right[state] += chance * reward
            matrix[state, after] -= gamma * chance * (not ends)
    solved = np.linalg.solve(matrix, right)
    assert values.max(1) == pytest.approx(solved, abs=1e-6)
    for state in range(lake.states):
        for action in range(4):
            found = sum(p * (r + gamma * (not ends) * solved[s]) for p, s, r, ends in lake.env.P[state][action])
            assert values[state, action] == pytest.approx(found, abs=1e-6)
            assert found <= solved[state] + 1e-6


@pytest.mark.parametrize(("steps", "best", "by_return"), [(200, 93.8, 90.8), (100, 72.6, 69.7)])
def test_the_seeds_map(steps: int, best: float, by_return: float) -> None:
    truth = find_truth(Lake(seed_map(), step_limit=steps), 0.99)
    assert 100 * truth.best_chance == pytest.approx(best, abs=0.05)
    assert 100 * truth.chance_of_best_return == pytest.approx(by_return, abs=0.05)


def test_a_start_that_is_not_the_first_square() -> None:
    """The first square is shut in by holes: what is said of the lake must be that of the square S."""
    lake = Lake(("FHFFG", "HFFFF", "FFFFF", "FFSFF", "FFFFF"), slippery=False, step_limit=9)
    truth = find_truth(lake, 0.99)
    assert (truth.best_chance, truth.chance_of_best_return, truth.moves_of_best_return) == (1.0, 1.0, 5.0)
    assert truth.best_return == pytest.approx(-(1 - 0.99**4) / 0.01 + 100 * 0.99**4)
    assert simulate(lake, one_hot(truth.policy), 3, seed=1) == 3
    assert reachable(lake).tolist() == [tile in "SF" and square > 0 for square, tile in enumerate(lake.tiles)]


def test_the_seeds_map_without_slips() -> None:
    truth = find_truth(Lake(seed_map(), slippery=False), 0.99)
    assert (truth.best_chance, truth.chance_of_best_return, truth.moves_of_best_return) == (1.0, 1.0, 14.0)
    # 13 moves at -1, and 100 at the goal
    assert truth.best_return == pytest.approx(-(1 - 0.99**13) / 0.01 + 100 * 0.99**13)


def test_simulated_episodes_agree_with_exact_evaluation() -> None:
    lake = Lake(seed_map())
    truth = find_truth(lake, 0.99)
    episodes = 40_000
    low, high = wilson(reached_of(lake, one_hot(truth.policy), episodes, seed=1), episodes, z=4)
    assert low < truth.chance_of_best_return < high
    mixture = 0.7 * one_hot(truth.policy) + 0.075
    low, high = wilson(reached_of(lake, mixture, episodes, seed=2), episodes, z=4)
    assert low < evaluate_policy(lake, mixture).chance < high
    low, high = wilson(simulate(lake, mixture, 1000, seed=3), 1000, z=4)
    assert low < evaluate_policy(lake, mixture).chance < high


def test_other_seeds_draw_other_actions() -> None:
    """Without slips, whether an action that a mixture draws falls into a hole is chance, by the seed of the test."""
    lake = Lake(("SFH", "FFH", "FFG"), slippery=False)
    mixture = np.full((9, 4), 0.25)
    reached = {simulate(lake, mixture, 1000, seed) for seed in (1, 2, 3)}
    assert len(reached) > 1
    assert reached == {simulate(lake, mixture, 1000, seed) for seed in (1, 2, 3)}


def test_the_first_of_equal_actions_is_taken() -> None:
    """Values are equal if they differ by rounding only, beside 1 or beside their size."""
    values = np.array([[1, 3, 3, 0], [0, 1e-12, 0, -1], [0, 0, 1e-6, 0], [90, 90 + 1e-8, -100, 0]])
    assert greedy(values).tolist() == [1, 0, 2, 0]


def test_the_moves_of_a_policy() -> None:
    lake = Lake(("SF", "FG"), slippery=False, step_limit=9)
    right_then_down = np.array([2, 1, 2, 0], np.int8)
    assert evaluate_policy(lake, one_hot(right_then_down)) == (1.0, 2.0)
    waits = 0.5 * one_hot(right_then_down) + 0.5 * one_hot(np.array([0, 2, 0, 0], np.int8))
    found = evaluate_policy(Lake(("SF", "FG"), slippery=False, step_limit=3), waits)
    assert found.chance == pytest.approx(0.5)  # two of two, or two of three
    assert found.moves == pytest.approx((2 * 0.25 + 3 * 0.25) / 0.5)
    never = evaluate_policy(lake, one_hot(np.zeros(4, np.int8)))
    assert never.chance == 0
    assert np.isnan(never.moves)
