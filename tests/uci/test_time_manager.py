"""Time management, on made-up clocks and searches."""

from __future__ import annotations

import itertools
import random

import pytest

from results import MOVES
from selfmate.search.limit import Clock
from selfmate.uci.time_manager import (
    Budget,
    Progress,
    Stability,
    TimeManager,
    adjusted_seconds,
    budget,
    is_decided,
    kld_gain,
)

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
        assert 0 <= given.optimum <= given.maximum <= max(0.0, clock.remaining - overhead)
        for stability in (
            Stability(),
            Stability(best_move_changes=100, value_drop=2.0),
            Stability(best_move_share=1.0),
        ):
            assert 0 <= adjusted_seconds(given, stability) <= given.maximum


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
        remaining -= given.maximum + (lag if given.maximum else lag / 10)
        assert remaining > 0, number
        remaining += increment
        if to_go == 1:
            remaining += base


def test_a_game_uses_most_of_its_clock() -> None:
    for base, increment in ((60.0, 0.0), (180.0, 2.0), (10.0, 0.1)):
        remaining = base
        for number in range(60):
            given = budget(Clock(remaining=remaining, increment=increment), overhead=0.03, phase=1 - number / 70)
            remaining += increment - given.optimum - 0.03
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
    assert budget(less, overhead=0.03).optimum < budget(more, overhead=0.03).optimum
    assert budget(less, overhead=0.1).optimum < budget(less, overhead=0.03).optimum


def test_branching_and_phase_count() -> None:
    def aim(**how: float) -> float:
        return budget(Clock(remaining=60.0), overhead=0.03, **how).optimum  # type: ignore[arg-type]

    assert aim(legal_moves=5) < aim(legal_moves=20) < aim(legal_moves=40)
    assert aim(phase=1.0) < aim(phase=0.3)  # fewer moves are still to come
    assert aim(legal_moves=1) == 0
    assert budget(Clock(remaining=60.0), overhead=0.03, ponder=True).optimum > aim()


def test_the_last_move_before_the_control_may_take_nearly_all() -> None:
    given = budget(Clock(remaining=10.0, moves_to_go=1), overhead=0.03)
    assert 5 < given.optimum <= 10 - 0.06


def test_doubt_takes_longer_and_sureness_shorter() -> None:
    planned = Budget(1.0, 3.0)
    usual = adjusted_seconds(planned, Stability(best_move_share=0.4))
    assert adjusted_seconds(planned, Stability(best_move_share=0.4, best_move_changes=1)) > usual
    assert adjusted_seconds(planned, Stability(best_move_share=0.4, value_drop=0.2)) > usual
    assert adjusted_seconds(planned, Stability(best_move_share=0.9)) < usual
    assert adjusted_seconds(planned, Stability(best_move_changes=50, value_drop=2)) == 3.0


def test_decided() -> None:
    assert is_decided([100, 10, 10], 80)
    assert not is_decided([100, 10, 10], 90)
    assert not is_decided([], 1)
    assert is_decided([0], 1)


def test_kld_gain() -> None:
    a, b = MOVES[:2]
    assert kld_gain({}, {a: 10}) == float("inf")
    assert kld_gain({a: 10}, {a: 10}) == float("inf")
    small = kld_gain({a: 500, b: 500}, {a: 610, b: 590})
    large = kld_gain({a: 500, b: 500}, {a: 700, b: 500})
    assert 0 < small < large


# -- a search on a clock ----------------------------------------------------------------------------------------------


def progress(visits: list[int], *, best: int = 0, value: float = 0.0, proven: bool = False) -> Progress:
    """Make the figures of a search with these visits of its moves."""
    return Progress(
        best=MOVES[best],
        value=value,
        is_proven=proven,
        visits=sum(visits),
        seconds=1.0,
        move_visits=dict(zip(MOVES, visits, strict=False)),
    )


def test_a_best_move_that_changes_takes_longer_and_a_sure_one_shorter() -> None:
    planned = Budget(1.0, 4.0)
    steady, doubtful, sure = (TimeManager(planned) for _ in range(3))
    for visits in (10, 20, 30):
        usual = steady.seconds(progress([visits, visits, visits]))
    for index in (0, 1, 0):
        longer = doubtful.seconds(progress([10, 10, 10], best=index))
    shorter = sure.seconds(progress([95, 3, 2]))
    assert shorter < usual == 1.0 < longer <= 4.0
    # Changes that lie far back count less and less.
    later = [doubtful.seconds(progress([visits, visits, visits])) for visits in (100, 300, 1000, 3000, 10_000)]
    assert later == sorted(later, reverse=True)
    assert later[-1] < 1.1


def test_a_value_that_drops_takes_longer() -> None:
    planned = Budget(1.0, 4.0)
    assert TimeManager(planned, 0.5).seconds(progress([10, 10, 10], value=0.1)) > 1.5
    assert TimeManager(planned, 0.1).seconds(progress([10, 10, 10], value=0.5)) == 1.0
    assert TimeManager(planned).seconds(progress([10, 10, 10], value=-0.9)) == 1.0


def test_a_policy_settles_only_when_it_is_asked_for() -> None:
    never, soon = TimeManager(Budget(1.0, 4.0)), TimeManager(Budget(1.0, 4.0), min_kld_gain=1e-6)
    for visits in (100, 200, 300):
        assert not never.has_settled(progress([visits, visits]))
    assert not soon.has_settled(progress([100, 100]))  # nothing to compare with yet
    assert not soon.has_settled(progress([110, 110]))  # too few new visits
    assert not soon.has_settled(progress([400, 100]))
    assert soon.has_settled(progress([800, 200]))


def test_a_search_stops_when_it_is_proven_late_or_decided() -> None:
    def stops(found: Progress, elapsed: float) -> bool:
        return TimeManager(Budget(1.0, 4.0)).should_stop(found, elapsed)

    assert not stops(progress([50, 50]), 0.5)
    assert stops(progress([50, 50], proven=True), 0.0)
    assert stops(progress([50, 50]), 1.0)
    assert stops(progress([1000, 1]), 0.39)  # 11 visits are still to come
    assert not stops(progress([60, 40]), 0.39)
