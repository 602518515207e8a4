"""A player with a memory: the same searches as without one, kept trees, a limit that holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from selfmate import Position
from selfmate.errors import PlayerError
from selfmate.evaluator.base import Answer, Evaluator
from selfmate.nn.leaves import Leaves
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.result import Result
from selfmate.search.tree_session import Thinker


class Hashed(Evaluator):
    """Evaluates by a hash of what is seen; counts how often it is asked."""

    name = "hashed"
    net_id = "0" * 64
    variant = "gardner"

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def evaluate(self, leaves: Leaves) -> Answer:
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
        return Answer(priors, wdl, np.zeros(leaves.size, np.float32))


def finish(thinker: Thinker) -> Result:
    """Go on to the end."""
    while not thinker.done:
        thinker.go_on()
    result = thinker.result()
    assert result is not None
    return result


@pytest.mark.parametrize("source", ["heuristic-1", "net"])
def test_one_thread_searches_as_a_player_does(source: str) -> None:
    position = Position("gardner")
    player = Player(Hashed() if source == "net" else source)
    thinker = Thinker(player)
    assert not thinker.begin(position, visits=700)
    mine, other = finish(thinker), player.search(position, Limit(visits=700))
    assert [move.visits for move in mine.moves] == [move.visits for move in other.moves]


def test_how_a_batch_is_cut_never_shows() -> None:
    position = Position("gardner")
    found = []
    for seconds_per_leaf in (0.0, 1e-9, 1.0):
        evaluator = Hashed()
        thinker = Thinker(Player(evaluator))
        thinker.begin(position, visits=2000)
        while not thinker.done:
            thinker._seconds_per_leaf = seconds_per_leaf
            thinker.go_on()
        found.append([move.visits for move in finish(thinker).moves])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("threads", [2, 3])
def test_batches_fly_beside_each_other_and_no_visit_is_lost(threads: int) -> None:
    thinker = Thinker(Player(Hashed()), threads=threads)
    thinker.begin(Position("gardner"), visits=1500)
    result = finish(thinker)
    assert result.visits == 1500 == sum(move.visits for move in result.moves)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_search_is_at_rest_and_can_go_on(threads: int) -> None:
    thinker, position = Thinker(Player(Hashed()), threads=threads), Position("gardner")
    thinker.begin(position, visits=5000)
    while thinker.visits < 200:
        looks = iter(range(2))
        thinker.go_on(interrupted=lambda looks=looks: next(looks, None) is None)  # type: ignore[misc]
        if thinker.visits > 100:
            thinker.stop()
    middle = thinker.result()
    assert middle is not None
    assert sum(move.visits for move in middle.moves) == middle.visits < 5000
    assert finish(thinker).visits == 5000


def test_the_cache_answers_what_is_asked_again() -> None:
    evaluator = Hashed()
    thinker, position = Thinker(Player(evaluator)), Position("gardner")
    thinker.begin(position, visits=500)
    first = finish(thinker)
    asked = sum(evaluator.sizes)
    thinker.forget()
    assert not thinker.begin(position, visits=500)
    assert [move.visits for move in finish(thinker).moves] == [move.visits for move in first.moves]
    assert sum(evaluator.sizes) == asked


@pytest.mark.parametrize("source", ["heuristic-1", "net"])
def test_a_tree_is_kept_along_a_game(source: str) -> None:
    thinker, position = Thinker(Player(Hashed() if source == "net" else source)), Position("gardner")
    thinker.begin(position, visits=1000)
    for _ in range(3):
        result = finish(thinker)
        for move in result.pv[:2]:
            position.play(move)
        if position.outcome() is not None:
            break
        assert thinker.begin(position, visits=1000)
        kept = thinker.result()
        assert kept is not None
        assert kept.visits == 0
        assert sum(move.visits for move in kept.moves) > 10


@pytest.mark.parametrize("source", ["heuristic-1", "net"])
@pytest.mark.parametrize("threads", [1, 2])
def test_memory_is_kept_and_the_search_goes_on(source: str, threads: int) -> None:
    thinker = Thinker(Player(Hashed() if source == "net" else source), threads=threads, memory=1 << 20)
    thinker.begin(Position("gardner"), visits=6000)
    fullest = 0.0
    while not thinker.done:
        thinker.go_on()
        fullest = max(fullest, thinker.fullness)
        assert thinker._search is not None
        if thinker._pruning is None:
            assert thinker._search.bytes <= thinker._tree_bytes * 1.1
    assert fullest > 0.9
    result = thinker.result()
    assert result is not None
    assert result.visits == 6000


def test_an_answer_can_be_had_while_room_is_made() -> None:
    thinker = Thinker(Player("heuristic-1"), memory=8 << 20)
    thinker.begin(Position("chess"))
    while not thinker._tree.full():
        thinker.go_on()
    before = thinker._tree.result()
    thinker.go_on(interrupted=lambda: True)  # nobody waits until it is done
    during = thinker.result()
    assert during is not None
    assert during.visits == before.visits
    thinker.go_on()
    thinker.go_on()
    after = thinker.result()
    assert after is not None
    assert after.visits >= during.visits


def test_random_does_not_think() -> None:
    with pytest.raises(PlayerError, match="random"):
        Thinker(Player("random"))
    with pytest.raises(PlayerError, match="begin"):
        Thinker(Player("uniform")).go_on()


def test_a_thinker_imports_no_torch(tmp_path: Path) -> None:
    import subprocess
    import sys

    heavy = "{'torch', 'onnxruntime', 'pydantic'}"
    code = f"import sys, selfmate.search.tree_session; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=tmp_path)
