"""The tree of a search as objects, JSON and DataFrame, against the result of the same search."""

from __future__ import annotations

import importlib.util
import json
import pickle
from typing import Any

import pytest

from selfmate import Limit, MissingExtra, Move, Player, PlayerError, Position, SearchError, SelfmateError
from selfmate.search.tree_session import TreeSession
from selfmate.util.frames import to_frame

POSITION = Position("atomic", "r1bqkbnr/ppp1pppp/2n5/3p4/8/4PN2/PPPP1PPP/RNBQKB1R w KQkq - 0 3")
LIMIT = Limit(visits=400)


def test_the_tree_agrees_with_the_result() -> None:
    player = Player("heuristic-1")
    result, tree = player.search(POSITION, LIMIT), player.search_tree(POSITION, LIMIT)
    root = tree.root
    assert (root.move, root.parent, root.depth, root.prior) == (None, None, 0, 1.0)
    assert root.value == pytest.approx(result.value)
    assert root.net_value == pytest.approx(result.net_value)
    found = {node.move: node for node in root.children}
    for move in result.moves:
        if move.visits:
            node = found[move.move]
            assert (node.visits, node.depth, node.proven) == (move.visits, 1, move.proven)
            assert (node.value, node.prior, node.draw) == pytest.approx((move.value, move.prior, move.draw))
            assert node.net_value == (None if move.net_value is None else pytest.approx(move.net_value))
        elif move.proven is None:
            assert move.move not in found
    for node in tree:
        visits = [child.visits for child in node.children]
        assert visits == sorted(visits, reverse=True)
        assert all(child.parent is node and child.depth == node.depth + 1 for child in node.children)
        assert sum(visits) <= node.visits
    assert [node.visits for node in tree][1:] == sorted([node.visits for node in tree][1:], reverse=True)


def test_lines_are_legal_and_values_are_those_of_the_root_side() -> None:
    position = Position("chess", "4k3/8/8/8/8/8/4r3/4K2Q w - - 0 1")
    tree = Player("heuristic-1").search_tree(position, Limit(visits=500))
    for node in tree:
        board = position.copy()
        for move in node.line():
            board.push(move)
        assert len(board.move_stack) == node.depth
    # White takes the rook and is a queen ahead: good for White at every depth of the line.
    line = tree.node("e1e2")
    assert line.value > 0.5
    reply = line.children[0]
    assert reply.value > 0.5
    assert reply.children[0].value > 0.5


def test_proofs_are_seen_by_the_root_side() -> None:
    mate = Position("chess", "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1")
    tree = Player("heuristic-1").search_tree(mate, Limit(visits=50))
    assert (tree.root.proven, tree.node("a1a8").proven, tree.root.value) == (1, 1, 1.0)
    mated = Position("chess", "6k1/5ppp/8/8/8/7P/8/R3K3 b - - 0 1")
    lost = Player("heuristic-1").search_tree(mated, Limit(visits=3000)).root.children
    for node in lost:
        for reply in node.children:
            if reply.move == Move.from_uci("a1a8") and reply.proven is not None:
                assert reply.proven < 0
                assert reply.value == -1.0


def test_depth_size_and_visits_are_bounded() -> None:
    player = Player("heuristic-1")
    whole = player.search_tree(POSITION, LIMIT, max_nodes=1_000_000)
    small = player.search_tree(POSITION, LIMIT, max_nodes=17)
    assert len(small) == 17 < len(whole)
    assert [node.visits for node in small] == [node.visits for node in whole][:17]
    assert max(node.depth for node in player.search_tree(POSITION, LIMIT, max_depth=2)) == 2
    assert len(player.search_tree(POSITION, LIMIT, max_depth=0)) == 1
    often = player.search_tree(POSITION, LIMIT, min_visits=5)
    assert min(node.visits for node in often if node.proven is None) == 5
    every = player.search_tree(POSITION, LIMIT, max_depth=1, min_visits=0)
    assert {node.move for node in every.root.children} == set(POSITION.legal_moves)


@pytest.mark.parametrize(
    "bounds",
    [{"max_nodes": 0}, {"max_nodes": 10**12}, {"max_depth": -1}, {"min_visits": -1}, {"max_nodes": float("nan")}],
)
def test_bounds_out_of_range(bounds: dict[str, Any]) -> None:
    with pytest.raises(SearchError, match="must be a whole number"):
        Player("uniform").search_tree(POSITION, Limit(visits=2), **bounds)


def test_what_has_no_tree() -> None:
    with pytest.raises(PlayerError, match="does not search"):
        Player("random").search_tree(POSITION, Limit(visits=2))
    session = TreeSession("uniform")
    session.begin(POSITION, Limit(visits=2))
    with pytest.raises(SearchError, match="not been evaluated"):
        session.tree(POSITION)
    with pytest.raises(SearchError, match="no move"):
        Player("uniform").search_tree(POSITION, Limit(visits=2)).node("a1a8")


def test_json_is_the_same_tree() -> None:
    tree = Player("heuristic-1").search_tree(POSITION, LIMIT, max_nodes=100)
    found = json.loads(tree.to_json())
    assert (found["variant"], found["fen"]) == ("atomic", POSITION.fen())

    def count(entry: dict[str, Any]) -> int:
        return 1 + sum(count(child) for child in entry["children"])

    assert count(found["root"]) == 100
    best = found["root"]["children"][0]
    assert (best["move"], best["visits"]) == (str(tree.root.children[0].move), tree.root.children[0].visits)


def test_a_deep_tree_can_be_pickled() -> None:
    tree = Player("heuristic-1").search_tree(POSITION, LIMIT)
    found = pickle.loads(pickle.dumps(tree))
    assert found.to_dict() == tree.to_dict()
    assert repr(found) == repr(tree)
    assert found.root.children[0].parent is found.root


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library: str) -> None:
    pytest.importorskip(library, reason=f"needs {library}")
    tree = Player("heuristic-1").search_tree(POSITION, LIMIT, max_nodes=50)
    frame = tree.to_frame(library)
    assert len(frame) == 50
    assert list(frame.columns)[:5] == ["node", "parent", "depth", "line", "move"]
    assert list(frame["visits"]) == [node.visits for node in tree]
    assert list(frame["line"])[:2] == ["", str(tree.nodes[1].move)]
    parents = list(frame["parent"])
    assert all(tree.nodes[parents[row]] is tree.nodes[row].parent for row in range(1, 50))


def test_missing_libraries_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pandas is not installed; run: pip install 'selfmate\[frames\]'"):
        to_frame({"a": [1]})
    with pytest.raises(MissingExtra, match="polars is not installed; run: pip install polars"):
        to_frame({"a": [1]}, "polars")
    with pytest.raises(SelfmateError, match="use pandas or polars"):
        to_frame({"a": [1]}, "excel")


def test_a_position_that_the_rules_decide_has_no_value_of_the_evaluator() -> None:
    mate = Position("chess", "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1")
    tree = Player("heuristic-1").search_tree(mate, Limit(visits=50))
    assert tree.root.net_value is None
    assert Player("heuristic-1").search(mate, Limit(visits=50)).net_value is None
