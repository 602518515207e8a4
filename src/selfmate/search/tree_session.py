"""A player with a memory: the tree of one search serves the next, within a limit of memory.

>>> from selfmate.board.position import Position
>>> from selfmate.search.player import Player
>>> thinker, position = Thinker(Player("heuristic-1")), Position("gardner")
>>> thinker.begin(position, visits=500)
False
>>> while not thinker.done:
...     thinker.go_on()
>>> result = thinker.result()
>>> result.visits, thinker.begin(position, visits=500)
(500, True)

A search goes on in short turns, each of a few milliseconds, so that whoever drives it can look at the clock and at what
others say. One thread drives; the tree's own threads and those of a net work beneath it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final

from selfmate import _core
from selfmate._core import Leaves, Move, Search, SearchResult
from selfmate.errors import PlayerError
from selfmate.evaluator.base import Answer, Evaluator
from selfmate.evaluator.cache import CachedEvaluator
from selfmate.search.limit import MAX_VISITS
from selfmate.search.player import Player, batch_size, play_config
from selfmate.search.result import Result, result_of
from selfmate.search.spec import RANDOM

__all__ = ["Thinker"]


TURN: Final = 0.01
"""Seconds of a turn with an evaluator of the core."""


PIECE: Final = 0.015
"""Seconds that a net may compute before somebody looks at the clock again."""


LOOK: Final = 0.005
"""Seconds between two looks while others compute."""


SMALLEST_PIECE: Final = 8
"""Leaves that a net computes in about the time of one."""


CACHE_SHARE: Final = 4
"""One part in so many of the memory is for answers of the net, the others for the tree."""


CACHED_BYTES: Final = 432
"""What an answer of a net takes in the cache."""


class Thinker:
    """Searches one position after another with one tree.

    `memory` is what tree and cache may take together, in bytes; when it is used up the least visited part of the tree
    is given up, and the search goes on. `threads` share the tree (an evaluator of the core) or evaluate batches beside
    each other (a net); with one thread the same search always gives the same result.
    """

    def __init__(self, player: Player, *, threads: int = 1, memory: int = 256 << 20) -> None:
        if player.evaluator == RANDOM:
            raise PlayerError("random does not think", RANDOM)
        self.player = player
        self.memory = memory
        self.threads = threads
        self._evaluator: Evaluator | str = player.evaluator
        self._tree_bytes = memory
        self._pool: ThreadPoolExecutor | None = None
        if isinstance(player.evaluator, Evaluator):
            share = memory // CACHE_SHARE
            self._tree_bytes -= share
            # A power of two: the cache rounds up, and the limit must hold.
            self._evaluator = CachedEvaluator(player.evaluator, 1 << max(4, (share // CACHED_BYTES).bit_length() - 1))
            self._pool = ThreadPoolExecutor(threads, "net")
        self._flying: dict[Future[tuple[int, Answer]], int] = {}
        self._seconds_per_leaf = 0.0
        self._search: Search | None = None
        self._pruning: threading.Thread | None = None
        self._before_pruning: SearchResult | None = None
        self._began = 0.0

    def begin(
        self,
        position: _core.Position,
        *,
        visits: int = MAX_VISITS,
        moves: Sequence[Move] = (),
        draw_score: float = 0.0,
        lcb: bool = True,
        noise: bool = False,
        seed: int = 0,
    ) -> bool:
        """Begin a search, and say whether something was known of the position.

        `visits` are those of this search alone. `moves`, if there are any, are the only ones to consider; `draw_score`
        is what a draw is worth to the side to move; `lcb` and `noise` are those of `play_config`.
        """
        self.player.check(position.variant)
        self._settle()
        config = play_config(lcb=lcb, noise=noise, draw_score=draw_score, max_bytes=self._tree_bytes)
        self._began = time.perf_counter()
        if self._search is None or noise:
            self._search = Search(position, config, visits, seed, list(moves))
            return False
        return self._search.move_to(position, config, visits, seed, list(moves))

    def forget(self) -> None:
        """Give up the tree."""
        self._settle()
        self._search = None

    @property
    def done(self) -> bool:
        """Whether the visits are used up, or nothing is left to find out."""
        return self._pruning is None and self._tree.done()

    @property
    def visits(self) -> int:
        """Visits of this search so far."""
        return self._tree.visits

    def go_on(self, seconds: float = TURN, interrupted: Callable[[], bool] = lambda: False) -> None:
        """Search for one turn of about so many seconds; less when interrupted."""
        tree = self._tree
        if self._pruning is not None or (tree.full() and not self._flying):
            self._prune(interrupted)
        elif isinstance(self._evaluator, str):
            tree.run_for(seconds, self._evaluator, MAX_VISITS, self.threads)
        elif self._pool is not None and self.threads == 1:
            self._take_batch(self._evaluator, self._pool, interrupted)
        elif self._pool is not None:
            self._keep_flying(self._evaluator, self._pool, interrupted)

    def result(self, after: Move | None = None) -> Result | None:
        """Give what is known of the position, or of the one after a move; None while that is nothing."""
        seconds = time.perf_counter() - self._began
        if after is None and self._before_pruning is not None:
            return result_of(self._before_pruning, seconds)
        self._settle_pruning()
        if after is None:
            return result_of(self._tree.result(), seconds) if self._tree.is_rooted() else None
        found = self._tree.result_after(after)
        return result_of(found, seconds) if found is not None else None

    @property
    def fullness(self) -> float:
        """How much of the tree's memory is used, 0 to 1."""
        if self._before_pruning is not None:
            return 1.0
        return min(1.0, self._tree.bytes / self._tree_bytes)

    def stop(self) -> None:
        """Give up what is being computed: the tree is at rest after this."""
        for future in self._flying:
            future.cancel()
        self._flying.clear()
        if self._pruning is None and self._search is not None:
            self._search.abandon()

    @property
    def _tree(self) -> Search:
        if self._search is None:
            raise PlayerError("begin a search first")
        return self._search

    def _settle(self) -> None:
        """Wait until nothing works on the tree."""
        self.stop()
        self._settle_pruning()

    # -- memory -------------------------------------------------------------------------------------------------------

    def _prune(self, interrupted: Callable[[], bool]) -> None:
        """Make room. It may take longer than anybody waits for an answer: what is known until then is kept aside."""
        tree = self._tree
        if self._pruning is None:
            self._before_pruning = tree.result()
            self._pruning = threading.Thread(target=tree.prune, daemon=True)
            self._pruning.start()
        while self._pruning.is_alive() and not interrupted():
            self._pruning.join(LOOK)
        if not self._pruning.is_alive():
            self._settle_pruning()

    def _settle_pruning(self) -> None:
        if self._pruning is not None:
            self._pruning.join()
        self._pruning = self._before_pruning = None

    # -- a net --------------------------------------------------------------------------------------------------------

    def _take_batch(self, evaluator: Evaluator, pool: ThreadPoolExecutor, interrupted: Callable[[], bool]) -> None:
        """Gather a batch as `Player` does and evaluate it piece by piece; how it is cut never shows in the tree.

        A net on a busy machine may take any time: nobody waits for it who is interrupted.
        """
        tree = self._tree
        tickets, room, piece = [], batch_size(tree.visits), self._piece()
        while room > 0:
            leaves = tree.gather(min(room, piece))
            if not leaves.size:
                break
            tickets.append(leaves)
            room -= leaves.size
            if leaves.size < piece:
                break
        for leaves in tickets:
            future = pool.submit(self._evaluate, evaluator, leaves)
            while not wait([future], LOOK).done and not interrupted():
                pass
            if not future.done():
                break
            ticket, answer = future.result()
            tree.apply(ticket, answer.priors, answer.wdl)
            if interrupted():
                break
        tree.abandon()

    def _keep_flying(self, evaluator: Evaluator, pool: ThreadPoolExecutor, interrupted: Callable[[], bool]) -> None:
        """Keep every thread of the net at work, and take in what they have finished."""
        tree = self._tree
        # 1. One batch for each thread, and one that waits.
        size = min(self._piece(), max(1, batch_size(tree.visits) // self.threads))
        while len(self._flying) <= self.threads and not tree.full():
            leaves = tree.gather(size)
            if not leaves.size:
                break
            self._flying[pool.submit(self._evaluate, evaluator, leaves)] = leaves.size
        # 2. The first that comes back.
        finished: set[Future[tuple[int, Answer]]] = set()
        while self._flying and not finished and not interrupted():
            finished = wait(self._flying, LOOK, FIRST_COMPLETED).done
        for future in finished:
            del self._flying[future]
            ticket, answer = future.result()
            tree.apply(ticket, answer.priors, answer.wdl)

    def _evaluate(self, evaluator: Evaluator, leaves: Leaves) -> tuple[int, Answer]:
        began = time.perf_counter()
        answer = evaluator.evaluate(leaves)
        seconds = (time.perf_counter() - began) / max(leaves.size, SMALLEST_PIECE)
        known = self._seconds_per_leaf
        self._seconds_per_leaf = seconds if not known else known + (seconds - known) / 8
        return leaves.ticket, answer

    def _piece(self) -> int:
        """Leaves that the net computes in a short time."""
        if not self._seconds_per_leaf:
            return SMALLEST_PIECE
        return max(SMALLEST_PIECE, int(PIECE / self._seconds_per_leaf))
