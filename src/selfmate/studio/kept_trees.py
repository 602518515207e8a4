"""Which games keep what their last search knows: the tree of a net, the process of an outside engine.

A tree saves some of the next search. It is kept for a while, for a few games that are not over and that pages follow.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from concurrent.futures import Executor
from typing import Final

from selfmate.studio.engine_move import MoveSearcher
from selfmate.studio.game_table import Table
from selfmate.util.memory import trim_heap

__all__ = ["KeptTrees"]

MOST_TREES: Final = 4
"""Games that keep a tree; a tree has up to 48 MB (`engine_move`)."""
TREE_SECONDS: Final = 60.0
"""Time after a search for which its tree is kept."""


class KeptTrees:
    """Called in the event loop; trees are freed in a thread of `workers`."""

    def __init__(self, workers: Executor) -> None:
        self._workers = workers
        self._kept: OrderedDict[str, tuple[Table, asyncio.TimerHandle]] = OrderedDict()

    def keep(self, table: Table) -> None:
        """Keep the tree of a game that was searched, and free those that are too many."""
        self._forget(table)
        timer = asyncio.get_running_loop().call_later(TREE_SECONDS, self.free, table)
        self._kept[table.id] = table, timer
        self.free_unused(table)
        while len(self._kept) > MOST_TREES:
            self.free(next(iter(self._kept.values()))[0])

    def free_unused(self, table: Table) -> None:
        """Free the tree of a game that is over, or that no page follows."""
        if table.game.is_over or not table.followers:
            self.free(table)

    def free(self, table: Table) -> None:
        """Free the tree of a game; that of a game which is being searched is kept or freed after the search."""
        self._forget(table)
        if not table.thinking:
            self._workers.submit(_release, table.searcher)

    def close(self) -> None:
        """Keep nothing any more."""
        for _, timer in self._kept.values():
            timer.cancel()
        self._kept.clear()

    def _forget(self, table: Table) -> None:
        if table.id in self._kept:
            self._kept.pop(table.id)[1].cancel()


def _release(searcher: MoveSearcher) -> None:
    searcher.release()
    trim_heap()
