"""Time management, on tables: it never asks the clock."""

from __future__ import annotations

import itertools
import random

import pytest

from selfmate.uci.time_manager import Budget, Clock, Signs, budget, gain, is_decided, stretch

CLOCKS = [
    Clock(remaining=remaining, increment=increment, moves_to_go=moves)
    for remaining, increment, moves in itertools.product(
        (0.0, 0.001, 0.02, 0.1, 1.0, 10.0, 180.0, 7200.0), (0.0, 0.02, 1.0, 30.0), (None, 1, 2, 10, 40, 500)
    )
]


@pytest.mark.parametrize("overhead", [0.0, 0.03, 1.0])
@pytest.mark.parametrize("clock", CLOCKS, ids=lambda clock: f"{clock.remaining}+{clock.increment}/{clock.moves_to_go}")
def test_no_budget_exceeds_the_clock(clock: Clock, overhead: float) -> None:
    for legal_moves, phase, ponder in itertools.product((1, 2, 30, 200), (0.0, 0.5, 1.0), (False, True)):
        given = budget(clock, overhead=overhead, legal_moves=legal_moves, phase=phase, ponder=ponder)
        assert 0 <= given.aim <= given.most <= max(0.0, clock.remaining - overhead)
        for signs in (Signs(), Signs(changes=100, drop=2.0), Signs(share=1.0)):
            assert 0 <= stretch(given, signs) <= given.most


@pytest.mark.parametrize(
    ("base", "increment", "moves_to_go", "overhead", "lag"),
    [
        (1.0, 0.02, None, 0.03, 0.03),
        (1.0, 0.0, None, 0.03, 0.03),
        (0.1, 0.0, None, 0.01, 0.01),
        (60.0, 0.0, None, 0.03, 0.03),
        (60.0, 1.0, None, 0.1, 0.1),
        (10.0, 0.0, 40, 0.03, 0.03),
        (0.5, 0.0, 1, 0.03, 0.03),
    ],
)
def test_a_game_in_which_every_move_takes_all_it_may_is_not_lost_on_time(
    base: float, increment: float, moves_to_go: int | None, overhead: float, lag: float
) -> None:
    remaining = base
    dice = random.Random(1)
    for number in range(80):
        to_go = None if moves_to_go is None else moves_to_go - number % moves_to_go
        clock = Clock(remaining=remaining, increment=increment, moves_to_go=to_go)
        phase = max(0.0, 1 - number / 60)
        given = budget(clock, overhead=overhead, legal_moves=dice.randint(1, 60), phase=phase)
        # A move that may take no time at all still takes some of its overhead.
        remaining -= given.most + (lag if given.most else lag / 10)
        assert remaining > 0, number
        remaining += increment
        if to_go == 1:
            remaining += base


def test_a_game_uses_most_of_its_clock() -> None:
    for base, increment in ((60.0, 0.0), (180.0, 2.0), (10.0, 0.1)):
        remaining = base
        for number in range(60):
            given = budget(Clock(remaining=remaining, increment=increment), overhead=0.03, phase=1 - number / 70)
            remaining += increment - given.aim - 0.03
        assert remaining < 0.4 * base


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (Clock(remaining=10), Clock(remaining=20)),
        (Clock(remaining=10), Clock(remaining=10, increment=1)),
        (Clock(remaining=10, moves_to_go=20), Clock(remaining=10, moves_to_go=5)),
    ],
)
def test_more_time_gives_more_time(less: Clock, more: Clock) -> None:
    assert budget(less, overhead=0.03).aim < budget(more, overhead=0.03).aim
    assert budget(less, overhead=0.1).aim < budget(less, overhead=0.03).aim


def test_branching_and_phase_count() -> None:
    def aim(**how: float) -> float:
        return budget(Clock(remaining=60.0), overhead=0.03, **how).aim  # type: ignore[arg-type]

    assert aim(legal_moves=5) < aim(legal_moves=20) < aim(legal_moves=40)
    assert aim(phase=1.0) < aim(phase=0.3)  # fewer moves are still to come
    assert aim(legal_moves=1) == 0
    assert budget(Clock(remaining=60.0), overhead=0.03, ponder=True).aim > aim()


def test_the_last_move_before_the_control_may_take_nearly_all() -> None:
    given = budget(Clock(remaining=10.0, moves_to_go=1), overhead=0.03)
    assert 5 < given.aim <= 10 - 0.06


def test_doubt_takes_longer_and_sureness_shorter() -> None:
    planned = Budget(1.0, 3.0)
    usual = stretch(planned, Signs(share=0.4))
    assert stretch(planned, Signs(share=0.4, changes=1)) > usual
    assert stretch(planned, Signs(share=0.4, drop=0.2)) > usual
    assert stretch(planned, Signs(share=0.9)) < usual
    assert stretch(planned, Signs(changes=50, drop=2)) == 3.0


def test_decided() -> None:
    assert is_decided([100, 10, 10], 80)
    assert not is_decided([100, 10, 10], 90)
    assert not is_decided([], 1)
    assert is_decided([0], 1)


def test_gain() -> None:
    assert gain({}, {"a": 10}) == float("inf")
    assert gain({"a": 10}, {"a": 10}) == float("inf")
    small = gain({"a": 500, "b": 500}, {"a": 610, "b": 590})
    large = gain({"a": 500, "b": 500}, {"a": 700, "b": 500})
    assert 0 < small < large
