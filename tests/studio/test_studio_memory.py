"""Memory comes back: trees of analyses that ended, of games that rest, of pages that left; nets that nothing uses."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfmate.search.tree_session import TreeSession
from selfmate.studio import analysis, engine_move, kept_trees, page_worker, players
from selfmate.studio.players import PlayerCatalog
from selfmate.util.memory import trim_heap
from studio_server import Page, StudioServer, studio_server


class Trees:
    """The trees that a server made and that are still in memory."""

    def __init__(self) -> None:
        self._made: list[weakref.ref[TreeSession]] = []
        self.made = 0

    def make(self, *arguments: Any, **options: Any) -> TreeSession:
        """Make a tree; in the place of `TreeSession`."""
        session = TreeSession(*arguments, **options)
        self._made.append(weakref.ref(session))
        self.made += 1
        return session

    @property
    def alive(self) -> int:
        """How many are in memory, without the help of the garbage collector."""
        return sum(each() is not None for each in self._made)

    def become(self, number: int, seconds: float = 20.0) -> None:
        """Wait until a number is alive."""
        wait_until(lambda: self.alive == number, seconds)


def wait_until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def trees(monkeypatch: pytest.MonkeyPatch) -> Trees:
    found = Trees()
    monkeypatch.setattr(analysis, "TreeSession", found.make)
    monkeypatch.setattr(engine_move, "TreeSession", found.make)
    return found


def analyse(page: Page, **body: Any) -> None:
    number = page.send("analysis.start", variant="gardner", visits=50, **body)
    page.until("analysis.update", ask=number, done=True)


def test_the_tree_of_an_analysis_is_kept_for_a_while(
    server: StudioServer, trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server.page() as page:
        analyse(page)
        analyse(page)
        assert (trees.made, trees.alive) == (1, 1)  # the second search had the tree of the first
        monkeypatch.setattr(page_worker, "KEEP_SECONDS", 0.2)
        analyse(page)
        trees.become(0)
        analyse(page)
        assert trees.made == 2


def test_the_tree_of_an_analysis_goes_with_its_page(server: StudioServer, trees: Trees) -> None:
    with server.page() as page:
        analyse(page)
        assert trees.alive == 1
    trees.become(0)
    with server.page() as page:
        page.send("analysis.start", variant="gardner", player="heuristic-1")
        page.until("analysis.update")
        assert trees.alive == 1
    trees.become(0)
    wait_until(lambda: not any(thread.name == "analysis" for thread in threading.enumerate()))


def play_one(page: Page) -> dict[str, Any]:
    game = page.game(variant="gardner", color="white", player="heuristic-1", visits=50)
    page.send("game.move", id=game["id"], ply=0, uci=game["board"]["legal"][0]["uci"])
    return page.your_turn()


def test_few_games_keep_a_tree_and_only_while_they_are_seen(server: StudioServer, trees: Trees) -> None:
    with server.page() as page:
        for _ in range(kept_trees.MOST_TREES + 3):
            game = play_one(page)
        assert trees.made == kept_trees.MOST_TREES + 3
        trees.become(kept_trees.MOST_TREES)
        page.send("game.leave", id=game["id"])
        trees.become(kept_trees.MOST_TREES - 1)
        # The next search of that game makes another, also after a hint.
        page.ask("game.open", id=game["id"])
        assert page.ask("game.hint", id=game["id"])["type"] == "game.hint"
        trees.become(kept_trees.MOST_TREES)
        page.send("game.resign", id=game["id"])
        trees.become(kept_trees.MOST_TREES - 1)
    trees.become(0)


def test_a_game_that_rests_frees_its_tree(server: StudioServer, trees: Trees, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_trees, "TREE_SECONDS", 0.2)
    with server.page() as page:
        game = play_one(page)
        trees.become(0)
        page.send("game.move", id=game["id"], ply=2, uci=game["board"]["legal"][0]["uci"])
        while len((game := page.your_turn())["moves"]) < 4:
            pass
        assert trees.made == 2


def test_a_net_is_opened_once_and_closed_when_nothing_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = PlayerCatalog(None)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(catalog.open("gardner-laptop"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(player) for player in found}) == 1
    net = weakref.ref(catalog.open("gardner-laptop").evaluator)
    found.clear()
    catalog.close_unused()
    assert net() is not None
    monkeypatch.setattr(players, "UNUSED_SECONDS", -1.0)
    catalog.close_unused()
    assert net() is None


def test_a_match_that_is_over_keeps_no_net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nets: list[weakref.ref[Any]] = []
    opened = PlayerCatalog.open

    def open_player(self: PlayerCatalog, player_id: str) -> Any:
        player = opened(self, player_id)
        nets.append(weakref.ref(player))
        return player

    monkeypatch.setattr(PlayerCatalog, "open", open_player)
    monkeypatch.setattr(players, "MOST_OPEN", 0)  # the catalog keeps none
    with studio_server(tmp_path) as server, server.page() as page:
        page.send("match.start", variant="gardner", first="heuristic-1", second="random", games=2, visits=1)
        page.until("match.view", 60, status="done")
        assert len(nets) == 2
        wait_until(lambda: all(net() is None for net in nets))


def test_the_heap_can_be_trimmed() -> None:
    trim_heap()
