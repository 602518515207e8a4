"""The search driver of `Player.search`, analysis and UCI: one tree, searched in short slices until a limit is reached.

>>> from selfmate.board.position import Position
>>> session, position = TreeSession("heuristic-1"), Position("gardner")
>>> session.begin(position, Limit(visits=500))
False
>>> session.run().visits
500

The tree is kept: the next search of the same position, or of one at most two plies below it, starts with what is known.

>>> session.begin(position, Limit(visits=500))
True

One thread drives a session and may look at the clock, at commands and at the figures so far between two slices:

>>> slices = 0
>>> for _ in session.steps():
...     slices += 1
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final

from selfmate import _core
from selfmate._core import Leaves, Move, Search, SearchConfig, SearchResult
from selfmate.errors import PlayerError
from selfmate.evaluator.base import Evaluation, Evaluator
from selfmate.evaluator.cache import CachedEvaluator
from selfmate.search.config import batch_size, play_config
from selfmate.search.limit import MAX_VISITS, Limit
from selfmate.search.result import Result, result_of
from selfmate.search.spec import RANDOM
from selfmate.search.tree import SearchTree, read_tree

__all__ = ["TreeSession"]

FORCED_WIN_SECONDS: Final = 0.1
"""A shorter search has no time for alpha-beta before it, which takes some milliseconds."""
SLICE_SECONDS: Final = 0.01
"""Length of a slice with an evaluator of the core."""
SHORTEST_SLICE: Final = 0.0005
SLICE_VISITS: Final = 2000
"""The same without an interruption: visits that take some milliseconds."""
PIECE_SECONDS: Final = 0.015
"""Time that a net may take for a piece of a batch before the clock is looked at again."""
POLL_SECONDS: Final = 0.005
"""Time between two calls of `interrupted` while another thread computes."""
SMALLEST_PIECE: Final = 8
"""Leaves that a net evaluates in about the time of one."""
USUAL_MEMORY: Final = 256 << 20
CACHE_SHARE: Final = 4
"""A quarter of the memory is for the evaluation cache, the rest for the tree."""
CACHED_BYTES: Final = 432
"""Memory of one cached evaluation."""

Interrupted = Callable[[], bool]


class TreeSession:
    """Searches one position after another with one tree.

    `evaluator` is a net, or the name of an evaluator of the core. `memory` is the limit in bytes of tree and evaluation
    cache together; a full tree is pruned to its more visited half, and the search continues. With `cached` a net has a
    cache. `threads` share the tree (an evaluator of the core) or evaluate batches side by side (a net); with one thread
    the same search always has the same result.
    """

    def __init__(
        self, evaluator: Evaluator | str, *, threads: int = 1, memory: int = USUAL_MEMORY, cached: bool = True
    ) -> None:
        if evaluator == RANDOM:
            raise PlayerError(f"{RANDOM} does not search", RANDOM)
        self.evaluator = evaluator
        self.threads = threads
        self.config = SearchConfig()
        """Configuration of the present search."""
        self._tree_bytes = memory
        if cached and isinstance(evaluator, Evaluator):
            cache_bytes = memory // CACHE_SHARE
            self._tree_bytes -= cache_bytes
            # A power of two: the cache would round up, and exceed the limit.
            self.evaluator = CachedEvaluator(evaluator, 1 << max(4, (cache_bytes // CACHED_BYTES).bit_length() - 1))
        self._executor: ThreadPoolExecutor | None = None
        self._in_flight: set[Future[tuple[int, Evaluation]]] = set()
        self._seconds_per_leaf = 0.0
        self._search: Search | None = None
        self._limit = Limit()
        self._began = self._deadline = 0.0
        self._pruning: threading.Thread | None = None
        self._before_pruning: SearchResult | None = None
        self._was_pruned = False

    # -- a search -----------------------------------------------------------------------------------------------------

    def begin(
        self,
        position: _core.Position,
        limit: Limit | None = None,
        *,
        since: float | None = None,
        moves: Sequence[Move] = (),
        config: SearchConfig | None = None,
        seed: int = 0,
    ) -> bool:
        """Begin a search, and return whether the tree has the position already.

        `limit` counts the visits of this search alone, and its seconds from `since` (`time.perf_counter`; default:
        now); its clock is ignored. `moves`, if any, are the only root moves to consider. `config` (default:
        `play_config()`) takes its `max_bytes` from the session; a search with noise begins a new tree.
        """
        self._settle()
        self._was_pruned = False
        self._limit = limit or Limit()
        self._began = time.perf_counter()
        seconds = self._limit.seconds
        self._deadline = float("inf") if seconds is None else (self._began if since is None else since) + seconds
        self.config = (config or play_config()).with_max_bytes(self._tree_bytes)
        if seconds is not None and seconds < FORCED_WIN_SECONDS:
            self.config = self.config.replace(forced_win_nodes=0)
        visits = self._limit.visits or MAX_VISITS
        if self._search is None or self.config.noise_epsilon:
            encoding = self.evaluator.encoding if isinstance(self.evaluator, Evaluator) else None
            self._search = Search(position, self.config, visits, seed, list(moves), encoding)
            return False
        return self._search.move_to(position, self.config, visits, seed, list(moves))

    def run(self) -> Result:
        """Search until the limit is reached, and return the result; at least one batch is searched."""
        for _ in self.steps():
            pass
        self.stop()
        result = self.result()
        assert result is not None, "the first slice evaluates the root"
        return result

    def steps(self, interrupted: Interrupted | None = None) -> Iterator[None]:
        """Search slice by slice until the limit is reached or `interrupted()` is true; yield before each slice.

        With `interrupted`, a slow net is not waited for either when the time is up, and there may be no result.
        """
        while not self._is_over(interrupted):
            yield
            self.step(interrupted)

    def step(self, interrupted: Interrupted | None = None) -> None:
        """Search for one slice: some milliseconds, or one batch of a net; less when interrupted."""
        tree = self._tree
        until: Interrupted | None = None
        if interrupted is not None:
            until = lambda: interrupted() or time.perf_counter() >= self._deadline  # noqa: E731
        if self._pruning is not None or (tree.full() and not self._in_flight):
            self._prune(until)
        elif isinstance(self.evaluator, str) and until is None and self.threads == 1:
            # Counting visits is 10 % faster than reading the clock after each of them.
            tree.run(self.evaluator, min(SLICE_VISITS, self._nodes_left()))
        elif isinstance(self.evaluator, str):
            seconds = max(SHORTEST_SLICE, min(SLICE_SECONDS, self._deadline - time.perf_counter()))
            tree.run_for(seconds, self.evaluator, min(MAX_VISITS, self._nodes_left()), self.threads)
        elif self.threads > 1:
            self._step_side_by_side(self.evaluator, until or (lambda: False))
        elif until is not None:
            self._step_in_pieces(self.evaluator, until)
        else:
            leaves = tree.gather(min(batch_size(tree.visits), self._nodes_left()))
            if leaves.size:  # else every playout ended in a result of the rules
                answer = self.evaluator.evaluate(leaves)
                tree.apply(leaves.ticket, answer.priors, answer.wdl)

    def stop(self) -> None:
        """Abandon every evaluation in flight; nothing changes the tree afterwards."""
        for future in self._in_flight:
            future.cancel()
        self._in_flight.clear()
        if self._pruning is None and self._search is not None:
            self._search.abandon()

    def forget(self) -> None:
        """Drop the tree."""
        self._settle()
        self._search = None

    def _is_over(self, interrupted: Interrupted | None) -> bool:
        """Return whether the search has reached its limit: the one place where limits are checked."""
        if self.done or (interrupted is not None and interrupted()):
            return True
        is_late = time.perf_counter() >= self._deadline
        if is_late and interrupted is not None:
            return True
        limit = self._limit
        if not is_late and limit.nodes is None and limit.depth is None and limit.mate is None:
            return False
        found = self.snapshot()
        if found is None:
            return False
        return (
            is_late
            or (limit.nodes is not None and found.nodes >= limit.nodes)
            or (limit.depth is not None and found.depth >= limit.depth)
            or (limit.mate is not None and found.proven is not None and 0 < found.proven < 2 * limit.mate)
        )

    # -- what is known ------------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether the visits are used up, or the result is proven and cannot improve."""
        return self._pruning is None and self._tree.done()

    @property
    def visits(self) -> int:
        """Visits of this search so far."""
        return self._tree.visits

    @property
    def seconds(self) -> float:
        """Seconds since `begin`."""
        return time.perf_counter() - self._began

    @property
    def fullness(self) -> float:
        """Share of the tree's memory that this search has needed, 0 to 1; it never falls during a search."""
        if self._was_pruned:
            return 1.0
        return min(1.0, self._tree.bytes / self._tree_bytes)

    @property
    def has_result(self) -> bool:
        """Whether the root has been evaluated."""
        return self._before_pruning is not None or self._tree.is_rooted()

    def snapshot(self, after: Move | None = None) -> SearchResult | None:
        """Return what is known of the root, or of the position after a root move, as the core has it; None: nothing.

        It costs a tenth of `result`: only the fields that are read become Python objects.
        """
        if after is None and self._before_pruning is not None:
            return self._before_pruning
        self._settle_pruning()
        if after is not None:
            return self._tree.result_after(after)
        return self._tree.result() if self._tree.is_rooted() else None

    def result(self, after: Move | None = None) -> Result | None:
        """Return what is known of the root, or of the position after a root move; None while that is nothing."""
        found = self.snapshot(after)
        return None if found is None else result_of(found, self.seconds)

    def tree(
        self, position: _core.Position, *, max_depth: int = 1000, max_nodes: int = 10_000, min_visits: int = 1
    ) -> SearchTree:
        """Return the tree of the present search, of `position`, as objects (see `Player.search_tree`)."""
        self._settle_pruning()
        return read_tree(self._tree, position, max_depth=max_depth, max_nodes=max_nodes, min_visits=min_visits)

    # -- memory -------------------------------------------------------------------------------------------------------

    @property
    def _tree(self) -> Search:
        if self._search is None:
            raise PlayerError("begin a search first")
        return self._search

    def _settle(self) -> None:
        """Return once no thread works on the tree."""
        self.stop()
        self._settle_pruning()

    def _prune(self, until: Interrupted | None) -> None:
        """Prune the tree, in a thread if it may be interrupted: the result so far can be asked for meanwhile."""
        tree = self._tree
        self._was_pruned = True
        if until is None:
            tree.prune()
            return
        if self._pruning is None:
            self._before_pruning = tree.result()
            self._pruning = threading.Thread(target=tree.prune, daemon=True)
            self._pruning.start()
        while self._pruning.is_alive() and not until():
            self._pruning.join(POLL_SECONDS)
        if not self._pruning.is_alive():
            self._settle_pruning()

    def _settle_pruning(self) -> None:
        if self._pruning is not None:
            self._pruning.join()
        self._pruning = self._before_pruning = None

    def _nodes_left(self) -> int:
        """Return how many positions the tree may still grow by."""
        if self._limit.nodes is None or not self._tree.is_rooted():
            return self._limit.nodes or MAX_VISITS
        return max(0, self._limit.nodes - self._tree.result().nodes)

    # -- a net whose evaluation can be interrupted --------------------------------------------------------------------

    def _step_in_pieces(self, evaluator: Evaluator, until: Interrupted) -> None:
        """Gather one batch and evaluate it piece by piece; the size of the pieces does not change the tree.

        A piece runs in another thread, so that a net on a busy machine does not delay an interruption.
        """
        tree = self._tree
        batches: list[Leaves] = []
        left, piece = min(batch_size(tree.visits), self._nodes_left()), self._piece()
        while left > 0:
            leaves = tree.gather(min(left, piece))
            if not leaves.size:
                break
            batches.append(leaves)
            left -= leaves.size
            if leaves.size < piece:
                break
        for leaves in batches:
            future = self._submit(evaluator, leaves)
            while not wait([future], POLL_SECONDS).done and not until():
                pass
            if not future.done():
                break
            ticket, answer = future.result()
            tree.apply(ticket, answer.priors, answer.wdl)
            if until():
                break
        tree.abandon()

    def _step_side_by_side(self, evaluator: Evaluator, until: Interrupted) -> None:
        """Keep every thread of the net busy, and apply what is finished."""
        tree = self._tree
        # 1. One batch for each thread, and one that waits.
        size = min(self._piece(), max(1, batch_size(tree.visits) // self.threads))
        while len(self._in_flight) <= self.threads and not tree.full():
            leaves = tree.gather(min(size, self._nodes_left()))
            if not leaves.size:
                break
            self._in_flight.add(self._submit(evaluator, leaves))
        # 2. The first that is finished.
        finished: set[Future[tuple[int, Evaluation]]] = set()
        while self._in_flight and not finished and not until():
            finished = wait(self._in_flight, POLL_SECONDS, FIRST_COMPLETED).done
        for future in finished:
            self._in_flight.remove(future)
            ticket, answer = future.result()
            tree.apply(ticket, answer.priors, answer.wdl)

    def _submit(self, evaluator: Evaluator, leaves: Leaves) -> Future[tuple[int, Evaluation]]:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.threads, "net")
        return self._executor.submit(self._evaluate, evaluator, leaves)

    def _evaluate(self, evaluator: Evaluator, leaves: Leaves) -> tuple[int, Evaluation]:
        began = time.perf_counter()
        answer = evaluator.evaluate(leaves)
        seconds = (time.perf_counter() - began) / max(leaves.size, SMALLEST_PIECE)
        known = self._seconds_per_leaf
        self._seconds_per_leaf = seconds if not known else known + (seconds - known) / 8
        return leaves.ticket, answer

    def _piece(self) -> int:
        """Return the number of leaves that the net evaluates in about `PIECE_SECONDS`."""
        if not self._seconds_per_leaf:
            return SMALLEST_PIECE
        return max(SMALLEST_PIECE, int(PIECE_SECONDS / self._seconds_per_leaf))
