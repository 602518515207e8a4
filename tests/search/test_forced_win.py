"""The alpha-beta search for a forced win before the first playout, against plain minimax over the Python rules."""

from __future__ import annotations

import functools
import random

import pytest

from selfmate import VARIANTS, Move, Position, _core
from selfmate._core import Search, SearchConfig
from selfmate.search.config import FORCED_WIN_NODES, play_config
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.tree_session import TreeSession

MATE_IN_THREE = "r1bqk/P3p/1p1Pp/1P3/1RB1K b - - 0 7"
"""Gardner: the queen takes on d3, and mates two moves later."""
ROOK_ENDING = "8/8/8/8/8/2k5/7r/K7 b - - {} 60"
"""Chess, with a halfmove clock: mate in two by Kb3."""
WITH = SearchConfig(forced_win_nodes=FORCED_WIN_NODES, stop_when_proven=False)


def at_root(position: Position, config: SearchConfig = WITH, visits: int = 2000, **more: object) -> _core.SearchResult:
    """Return the result after the playout of the root: its proofs are those of alpha-beta and of the rules."""
    search = Search(position, config, visits, **more)  # type: ignore[arg-type]
    search.run("uniform", 1)
    return search.result()


@functools.cache
def wins_within(variant: str, fen: str, plies: int) -> bool:
    """Return whether the side to move wins in at most so many plies, by trying every move."""
    position = Position(variant, fen)
    mover = position.turn
    if (over := position.outcome()) is not None:
        return over.winner == mover
    if plies <= 0:
        return False
    return any(loses_within(variant, after(variant, fen, move), plies - 1) for move in position.legal_moves)


@functools.cache
def loses_within(variant: str, fen: str, plies: int) -> bool:
    """Return whether the side to move loses in at most so many plies, whatever it plays."""
    position = Position(variant, fen)
    if (over := position.outcome()) is not None:
        return over.winner is not None and over.winner != position.turn
    if plies <= 0:
        return False
    return all(wins_within(variant, after(variant, fen, move), plies - 1) for move in position.legal_moves)


@functools.cache
def after(variant: str, fen: str, move: Move) -> str:
    position = Position(variant, fen)
    position.play(move)
    return position.fen()


def wild_positions(variant: str, count: int, plies: range) -> list[Position]:
    """Return positions of random games that are not over, after some of so many plies, without the game before them."""
    source = random.Random(7)
    found: list[Position] = []
    while len(found) < count:
        position = Position(variant)
        for _ in range(source.choice(plies)):
            if position.outcome() is not None:
                break
            position.play(source.choice(position.legal_moves))
        if position.outcome() is None:
            found.append(Position(variant, position.fen()))
    return found


@pytest.mark.parametrize(
    ("variant", "count", "plies"),
    [("gardner", 400, range(10, 60)), ("atomic", 60, range(10, 40)), ("3check", 30, range(20, 60))],
)
def test_wins_in_two_moves_are_those_of_minimax(variant: str, count: int, plies: range) -> None:
    """A win in one stands in the rules of the root; those in three plies are alpha-beta's alone."""
    in_three = 0
    for position in wild_positions(variant, count, plies):
        fen = position.fen()
        found = at_root(position).proven
        shortest = next((length for length in (1, 3) if wins_within(variant, fen, length)), None)
        if shortest is not None or found in (1, 3):
            assert found == shortest, fen
        in_three += shortest == 3
        assert at_root(position, SearchConfig()).proven in (None, 1, -1, -2, 0), fen
    assert in_three >= count // 40


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_claimed_win_is_won_by_its_line(variant: str) -> None:
    """The move that is claimed to win is played to the end, against the defence that alpha-beta finds best."""
    claims = 0
    for position in wild_positions(variant, 150, range(10, 80)):
        found = at_root(position)
        if found.proven is None or found.proven <= 1:
            continue
        mover = position.turn
        for move in found.pv:
            position.play(move)
        over = position.outcome()
        assert over is not None
        assert over.winner == mover
        assert len(found.pv) <= found.proven
        claims += 1
    assert claims >= {"racingkings": 0, "chess": 1}.get(variant, 5)


def test_the_shortest_win_is_played_with_its_line() -> None:
    position = Position("gardner", MATE_IN_THREE)
    result = Player("uniform").search(position, Limit(visits=2000))
    assert (result.best.uci(), result.proven) == ("d5d3", 5)
    assert len(result.pv) == 5
    for move in result.pv:
        position.play(move)
    outcome = position.outcome()
    assert outcome is not None
    assert outcome.result() == "0-1"


def test_it_is_off_in_training_and_with_few_visits_and_in_short_times() -> None:
    position = Position("chess", ROOK_ENDING.format(0))
    assert SearchConfig().forced_win_nodes == 0
    assert play_config().forced_win_nodes == FORCED_WIN_NODES
    assert at_root(position, SearchConfig()).proven is None
    assert at_root(position, visits=399).proven is None
    assert at_root(position, visits=400).proven == 3
    assert at_root(position, WITH.replace(solver=False)).proven is None
    for seconds, nodes in ((0.09, 0), (0.1, FORCED_WIN_NODES), (None, FORCED_WIN_NODES)):
        session = TreeSession("uniform")
        session.begin(position, Limit(visits=1000, seconds=seconds))
        assert session.config.forced_win_nodes == nodes


def test_a_search_has_ten_positions_for_each_visit() -> None:
    position = Position("gardner", MATE_IN_THREE)  # alpha-beta needs more than 4,000 positions, and fewer than 10,000
    few = WITH.replace(forced_win_nodes=4000)
    assert [at_root(position, visits=visits).proven for visits in (400, 1000)] == [None, 5]
    assert [at_root(position, few, visits).proven for visits in (1000, 100_000)] == [None, None]


@pytest.mark.parametrize(("clock", "proven"), [(0, 3), (97, 3), (98, None), (99, None)])
def test_a_win_after_the_fifty_move_rule_is_none(clock: int, proven: int | None) -> None:
    assert at_root(Position("chess", ROOK_ENDING.format(clock))).proven == proven


def test_behind_a_position_that_occurred_twice_nothing_is_claimed() -> None:
    position = Position("gardner", MATE_IN_THREE)
    for uci in ("a5b5", "b1a1", "b5a5", "a1b1"):
        assert at_root(Position("gardner", position.fen())).proven == at_root(position).proven
        position.play(Move.from_uci(uci))
    assert at_root(position).proven is None
    assert at_root(Position("gardner", position.fen())).proven == 5


def test_other_root_moves_may_be_asked_for() -> None:
    position = Position("gardner", MATE_IN_THREE)
    other = Move.from_uci("c5b4")
    search = Search(position, WITH, 2000, 0, [other])
    search.run("uniform")
    assert search.result().best == other


def test_a_tree_that_is_kept_looks_too() -> None:
    position = Position("gardner", MATE_IN_THREE)
    session = TreeSession("uniform")
    session.begin(position, Limit(visits=50), config=play_config().replace(forced_win_nodes=0))
    assert session.run().proven is None
    assert session.begin(position, Limit(visits=2000))
    result = session.result()
    assert result is not None
    assert (result.proven, result.best.uci(), len(result.pv)) == (5, "d5d3", 5)


def test_the_next_move_is_won_too() -> None:
    position = Position("gardner", MATE_IN_THREE)
    session = TreeSession("uniform")
    session.begin(position, Limit(visits=2000))
    line = session.run().pv
    for move in line[:2]:
        position.play(move)
    session.begin(position, Limit(visits=2000))
    again = session.run()
    assert (again.proven, again.best) == (3, line[2])
