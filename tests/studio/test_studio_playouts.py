"""The trace of a search: its scores are those that the core selected by."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from selfmate.errors import SelfmateError
from selfmate.studio import connection
from selfmate.studio.messages import PlayoutTrace, StepPlayouts
from selfmate.studio.players import PlayerCatalog
from selfmate.studio.playouts import trace_playouts
from studio_server import StudioServer

CATALOG = PlayerCatalog(None)


@pytest.mark.parametrize(
    ("variant", "player", "fen"),
    [
        ("gardner", "heuristic-1", None),
        ("gardner", "gardner-laptop", None),
        ("atomic", "heuristic-1", "r1b1k2r/pppp2pp/2n2p2/1B6/1q1PPB2/2N5/PP3PPP/R2QK2R b KQkq - 0 11"),
    ],
)
def test_every_selected_move_has_the_largest_sum(variant: str, player: str, fen: str | None) -> None:
    trace = trace_playouts(CATALOG, StepPlayouts(ask=1, variant=variant, player=player, fen=fen, playouts=120))
    assert len(trace.playouts) >= 100
    checked = 0
    for step in trace.playouts:
        for level, choices in enumerate(step.choices):
            chosen = trace.nodes[step.path[level + 1]].uci
            # In a tie, and where numbers differ in the last digit, the first of equals may be another.
            sums = {each.uci: each.q + each.u for each in choices}
            assert chosen in sums, (chosen, choices)
            assert sums[chosen] >= max(sums.values()) - 0.003
            checked += 1
    assert checked > 100


def test_visits_and_values_grow_as_they_were_backed_up() -> None:
    trace = trace_playouts(CATALOG, StepPlayouts(ask=1, variant="gardner", player="heuristic-1", playouts=60))
    visits = [0] * len(trace.nodes)
    for step in trace.playouts:
        for node, count in zip(step.path, step.visits, strict=True):
            assert count == visits[node] + 1
            visits[node] = count
        parents = [trace.nodes[node].parent for node in step.path]
        assert parents == [-1, *step.path[:-1]]
    assert trace.nodes[0].parent == -1
    # The mean of a node that is visited twice lies between its first value and the one backed up then.
    assert all(-1 <= value <= 1 for step in trace.playouts for value in step.values)


def test_a_forced_win_is_in_the_tree_however_few_visits_it_had(server: StudioServer) -> None:
    fen = "7k/8/8/8/8/8/R7/1R4K1 w - - 0 1"
    with server.page() as page:
        page.send("analysis.start", variant="chess", fen=fen, player="heuristic-1", visits=4000, tree_nodes=30)
        tree = page.until("analysis.update", done=True)["tree"]
        assert tree[0]["proven"] == 3
        wins = {node["san"]: node["proven"] for node in tree if node["parent"] == 0 and (node["proven"] or 0) > 0}
        assert min(wins.values()) == 3
        assert len(wins) == sum(node["parent"] == 0 and (node["proven"] or 0) > 0 for node in tree)  # none is twice


def test_a_page_has_one_trace_at_a_time_which_ends_when_it_leaves(
    server: StudioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = [], threading.Event()

    def trace(catalog: PlayerCatalog, request: StepPlayouts, stopped: Callable[[], bool]) -> PlayoutTrace:
        begun.append(request.ask)
        while not stopped():
            time.sleep(0.01)
        ended.set()
        raise SelfmateError("stopped")

    monkeypatch.setattr(connection, "trace_playouts", trace)
    with server.page() as other:
        with server.page() as page:
            first, *_ = [page.send("analysis.playouts", variant="gardner") for _ in range(20)]
            assert page.ask("game.list")["type"] == "game.list"  # what takes no time is answered
            assert other.ask("pgn.load", text="1. e4 *")["type"] == "pgn.loaded"  # so is another page
            assert begun == [first]
        assert ended.wait(20)
        assert other.ask("game.list")["type"] == "game.list"
        assert begun == [first]  # what the page still waited for is not begun
    with pytest.raises(SelfmateError, match="stopped"):
        trace_playouts(CATALOG, StepPlayouts(ask=1, variant="gardner", playouts=400), lambda: True)
