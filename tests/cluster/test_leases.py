"""Leases: every wanted game is taken once, whatever happens to the workers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from selfmate.cluster.leases import Arrival, Leases

WORKERS = ("a", "b", "c")


def test_games_go_out_lowest_first_and_once() -> None:
    leases = Leases()
    leases.want([5, 3, 9])
    leases.want([3, 4])
    assert (leases.missing, leases.pending) == (4, 4)
    assert leases.hand_out("a", 2) == [3, 4]
    assert (leases.out("a"), leases.pending) == (2, 2)
    assert leases.hand_out("b", 10) == [5, 9]
    assert leases.hand_out("c", 10) == []


def test_a_game_of_a_lost_worker_is_given_out_again_and_of_it_no_more_is_taken() -> None:
    leases = Leases()
    leases.want(range(4))
    leases.hand_out("a", 3)
    assert leases.take("a", 1) is Arrival.NEW
    assert leases.lose("a") == 2
    assert leases.hand_out("b", 9) == [0, 2, 3]
    assert leases.take("a", 0) is Arrival.FOREIGN
    assert leases.take("b", 1) is Arrival.REPEATED
    assert leases.take("b", 0) is Arrival.NEW
    assert leases.missing == 2


def test_a_silent_worker_that_comes_back_is_heard() -> None:
    leases = Leases()
    leases.want(range(3))
    leases.hand_out("a", 3)
    assert leases.release("a") == 3
    assert leases.hand_out("b", 1) == [0]
    assert leases.take("a", 0) is Arrival.NEW
    assert leases.out("b") == 0
    assert leases.take("b", 0) is Arrival.REPEATED
    assert leases.take("a", 2) is Arrival.NEW
    assert leases.hand_out("b", 9) == [1]  # not 2, which came back while it was pending


def test_games_of_cycles_that_are_over_are_repeated_ones_and_later_ones_stay_out() -> None:
    leases = Leases()
    leases.want(range(6))
    leases.hand_out("a", 5)
    leases.forget(3)
    assert leases.take("a", 2) is Arrival.REPEATED
    assert leases.out("a") == 2
    assert leases.take("a", 4) is Arrival.NEW
    leases.want(range(6))
    assert (leases.missing, leases.pending) == (2, 1)


def test_a_game_that_was_never_given_out_is_foreign() -> None:
    leases = Leases()
    leases.want(range(3))
    assert leases.take("a", 1) is Arrival.FOREIGN
    leases.hand_out("a", 1)
    assert leases.take("b", 0) is Arrival.FOREIGN
    assert leases.missing == 3


actions = st.tuples(st.sampled_from(["hand", "take", "release", "lose", "want", "forget"]), st.sampled_from(WORKERS))


@given(st.lists(st.tuples(actions, st.integers(0, 11)), max_size=80))
def test_whatever_happens_each_game_is_taken_once_and_can_still_be_finished(
    steps: list[tuple[tuple[str, str], int]],
) -> None:
    leases = Leases()
    leases.want(range(8))
    taken: list[int] = []
    wanted, floor = set(range(8)), 0
    for (action, worker), number in steps:
        if action == "hand":
            assert not set(leases.hand_out(worker, number % 4)) & set(taken)
        elif action == "take" and leases.take(worker, number) is Arrival.NEW:
            taken.append(number)
        elif action == "release":
            leases.release(worker)
        elif action == "lose":
            leases.lose(worker)
        elif action == "want":
            leases.want([number])
            wanted |= {number} if number >= floor else set()
        elif action == "forget" and number > floor:
            floor = number
            leases.forget(floor)
            wanted = {game for game in wanted if game >= floor}
        assert leases.missing == len(wanted - set(taken))
    assert len(taken) == len(set(taken))
    for worker in WORKERS:
        leases.lose(worker)
    assert leases.hand_out("last", 99) == sorted(wanted - set(taken))


def test_the_age_of_a_lease_is_that_of_its_oldest_game() -> None:
    now = [0.0]
    leases = Leases(clock=lambda: now[0])
    leases.want(range(5))
    assert leases.age("a") == 0.0
    leases.hand_out("a", 2)
    now[0] = 3.0
    leases.hand_out("a", 2)
    now[0] = 10.0
    assert leases.age("a") == 10.0
    leases.take("a", 0)
    assert leases.age("a") == 10.0
    leases.take("a", 1)
    assert leases.age("a") == 7.0
    leases.release("a")
    assert leases.age("a") == 0.0
