"""Tree sessions: the same searches as a player's, limits, kept trees, memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from selfmate import Position
from selfmate.errors import PlayerError
from selfmate.evaluator.base import Evaluation, Evaluator
from selfmate.nn.leaves import Leaves
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.result import Result
from selfmate.search.tree_session import TreeSession


class Hashed(Evaluator):
    """Evaluates by a hash of what is seen; counts how often it is asked."""

    name = "hashed"
    net_id = "0" * 64
    variant = "gardner"

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def evaluate(self, leaves: Leaves) -> Evaluation:
        """Answer a batch of any size."""
        self.sizes.append(leaves.size)
        priors = np.zeros(leaves.moves.shape, np.float32)
        wdl = np.zeros((leaves.size, 3), np.float32)
        for row in range(leaves.size):
            seed = int(leaves.keys[row])
            count = int(leaves.counts[row])
            weights = np.array([1 + (seed * (3 + 2 * i)) % 97 for i in range(count)], np.float32)
            priors[row, :count] = weights / weights.sum()
            win = (seed % 1013) / 1013
            wdl[row] = 0.8 * win, 0.2, 0.8 * (1 - win)
        return Evaluation(priors, wdl, np.zeros(leaves.size, np.float32))


def never() -> bool:
    """Let a net be evaluated in another thread, as in the UCI engine."""
    return False


def finish(session: TreeSession) -> Result:
    """Search to the end, as the UCI engine does."""
    for _ in session.steps(never):
        pass
    result = session.result()
    assert result is not None
    return result


@pytest.mark.parametrize("source", ["heuristic-1", "net"])
def test_one_thread_searches_as_a_player_does(source: str) -> None:
    position = Position("gardner")
    player = Player(Hashed() if source == "net" else source)
    session = TreeSession(player.evaluator)
    assert not session.begin(position, Limit(visits=700))
    interruptible, other = finish(session), player.search(position, Limit(visits=700))
    assert [move.visits for move in interruptible.moves] == [move.visits for move in other.moves]
    session.forget()
    session.begin(position, Limit(visits=700))
    assert [move.visits for move in session.run().moves] == [move.visits for move in other.moves]


def test_how_a_batch_is_cut_never_shows() -> None:
    position = Position("gardner")
    found = []
    for seconds_per_leaf in (0.0, 1e-9, 1.0):
        evaluator = Hashed()
        session = TreeSession(evaluator)
        session.begin(position, Limit(visits=2000))
        for _ in session.steps(never):
            session._seconds_per_leaf = seconds_per_leaf
        found.append([move.visits for move in finish(session).moves])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("threads", [2, 3])
def test_batches_are_evaluated_side_by_side_and_no_visit_is_lost(threads: int) -> None:
    session = TreeSession(Hashed(), threads=threads)
    session.begin(Position("gardner"), Limit(visits=1500))
    result = finish(session)
    assert result.visits == 1500 == sum(move.visits for move in result.moves)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_search_is_at_rest_and_can_continue(threads: int) -> None:
    session, position = TreeSession(Hashed(), threads=threads), Position("gardner")
    session.begin(position, Limit(visits=5000))
    while session.visits < 200:
        looks = iter(range(2))
        session.step(lambda looks=looks: next(looks, None) is None)  # type: ignore[misc]
        if session.visits > 100:
            session.stop()
    middle = session.result()
    assert middle is not None
    assert sum(move.visits for move in middle.moves) == middle.visits < 5000
    assert finish(session).visits == 5000


def test_the_cache_answers_what_is_asked_again() -> None:
    evaluator = Hashed()
    session, position = TreeSession(evaluator), Position("gardner")
    session.begin(position, Limit(visits=500))
    first = finish(session)
    asked = sum(evaluator.sizes)
    session.forget()
    assert not session.begin(position, Limit(visits=500))
    assert [move.visits for move in finish(session).moves] == [move.visits for move in first.moves]
    assert sum(evaluator.sizes) == asked


@pytest.mark.parametrize("source", ["heuristic-1", "net"])
def test_a_tree_is_kept_along_a_game(source: str) -> None:
    session, position = TreeSession(Hashed() if source == "net" else source), Position("gardner")
    session.begin(position, Limit(visits=1000))
    for _ in range(3):
        result = finish(session)
        for move in result.pv[:2]:
            position.play(move)
        if position.outcome() is not None:
            break
        assert session.begin(position, Limit(visits=1000))
        kept = session.result()
        assert kept is not None
        assert kept.visits == 0
        assert sum(move.visits for move in kept.moves) > 10


@pytest.mark.parametrize("source", ["heuristic-1", "net"])
@pytest.mark.parametrize("threads", [1, 2])
def test_memory_is_kept_and_the_search_continues(source: str, threads: int) -> None:
    session = TreeSession(Hashed() if source == "net" else source, threads=threads, memory=1 << 20)
    session.begin(Position("gardner"), Limit(visits=6000))
    fullest = 0.0
    for _ in session.steps(never):
        fullest = max(fullest, session.fullness)
        assert session._search is not None
        if session._pruning is None:
            assert session._search.bytes <= session._tree_bytes * 1.1
    assert fullest > 0.9
    result = session.result()
    assert result is not None
    assert result.visits == 6000


def test_there_is_a_result_while_the_tree_is_pruned() -> None:
    session = TreeSession("heuristic-1", memory=8 << 20)
    session.begin(Position("chess"))
    while not session._tree.full():
        session.step(never)
    before = session._tree.result()
    session.step(lambda: True)  # which is not waited for
    during = session.result()
    assert during is not None
    assert during.visits == before.visits
    session.step(never)
    session.step(never)
    after = session.result()
    assert after is not None
    assert after.visits >= during.visits


def test_a_search_ends_at_the_first_of_its_limits() -> None:
    session = TreeSession("heuristic-1")
    mate_in_two = Position("gardner", "5/1P3/2KN1/5/k4 w - - 1 29")

    def search(position: Position, limit: Limit) -> Result:
        session.forget()
        session.begin(position, limit)
        return session.run()

    assert search(Position("chess"), Limit(visits=300, depth=50)).visits == 300
    assert search(Position("chess"), Limit(visits=1 << 20, depth=3)).depth >= 3
    assert search(Position("chess"), Limit(visits=1 << 20, nodes=200)).nodes in (200, 201)
    assert 0.05 <= search(Position("chess"), Limit(visits=1 << 30, seconds=0.05)).seconds < 5
    found = search(mate_in_two, Limit(visits=1 << 30, mate=2))
    assert found.proven == 3
    assert found.visits < 1 << 20


def test_a_net_is_not_waited_for_when_the_time_is_up() -> None:
    session = TreeSession(Hashed())
    session.begin(Position("gardner"), Limit(seconds=1e-9))
    assert list(session.steps(never)) == []
    assert session.result() is None
    assert session.run().nodes == 1  # but `run` always has a result


def test_random_does_not_search() -> None:
    with pytest.raises(PlayerError, match="random"):
        TreeSession("random")
    with pytest.raises(PlayerError, match="begin"):
        TreeSession("uniform").step()


def test_a_session_imports_no_torch(tmp_path: Path) -> None:
    import subprocess
    import sys

    heavy = "{'torch', 'onnxruntime', 'pydantic'}"
    code = f"import sys, selfmate.search.tree_session; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=tmp_path)
