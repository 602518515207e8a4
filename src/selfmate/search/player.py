"""A player: a position and a limit in, what the search found out.

>>> from selfmate.board.position import Position
>>> position = Position("atomic", "r1b1kb2/1ppq2p1/4ppN1/p7/3p3P/4P1P1/PP1P1P2/R3K2R w KQq - 2 10")
>>> result = Player("heuristic-1").search(position, Limit(visits=100))
>>> position.san(result.best), result.proven, result.value
('Nxf8#', 1, 1.0)

Who plays is said by one word, its spec: an evaluator of the core (`heuristic-1`, `uniform`, `fake`), `random`, the
folder or the ONNX file of a net, the name of one that `selfmate nets` lists, or the directory of a run, which stands
for its champion; `runs/NAME:untrained`, `runs/NAME:newest` and `runs/NAME:12` are other nets of a run.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfmate import _core
from selfmate._core import Search, SearchConfig
from selfmate.errors import SearchError, clip
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import open_evaluator

if TYPE_CHECKING:
    from selfmate.nn.net import Net
from selfmate.errors import PlayerError
from selfmate.search.limit import MAX_VISITS, Limit
from selfmate.search.result import MoveResult, Result, result_of
from selfmate.search.spec import RANDOM, find_player

__all__ = ["Player", "batch_size", "play_config"]


# Leaves of one tree that are evaluated at once are chosen without knowing of each other. Batches against single leaves
# (heuristic-1, atomic, 800 visits; docs/log.md): 50 ± 6 % with 8 leaves, 45 ± 6 % with 16, 33 ± 9 % with 64. So a batch
# grows with the tree, from as many as a net does in about the time of one.
SMALLEST_BATCH: Final = 8


LARGEST_BATCH: Final = 64


VISITS_PER_LEAF: Final = 64


NATIVE_VISITS: Final = 2000
"""Visits between two looks at the clock, with an evaluator of the core: some milliseconds."""


NOISE: Final = 0.25
"""Share of Dirichlet noise in the priors of the root, as AlphaZero has it."""


MAX_TREE_BYTES: Final = 1 << 30
"""A tree of this size gives up its least visited half."""


class Player:
    """Somebody who plays: a net, or an evaluator of the core, behind a search; or `random`.

    `source` is a spec (see above), an evaluator, or a net in memory. `threads`, `device` and `backend` are those of the
    net (see `open_evaluator`).

    >>> Player("heuristik-1")
    Traceback (most recent call last):
    ...
    selfmate.errors.PlayerError: no player is called 'heuristik-1'; did you mean 'heuristic-1'?
    """

    def __init__(
        self,
        source: str | Path | Evaluator | Net,
        *,
        device: str = "cpu",
        threads: int | None = None,
        backend: str | None = None,
    ) -> None:
        self.evaluator: Evaluator | str
        """What judges positions: an evaluator, or the name of one of the core, or `random`."""
        self.name: str
        """Printable, for tables and PGN."""
        self.path: Path | None = None
        """Where its net lies, if it comes from a file: a folder, or an ONNX file."""
        options: dict[str, Any] = {"device": device, "threads": threads}
        if backend is not None:
            options["backend"] = backend
        if isinstance(source, Evaluator):
            self.name, self.evaluator = source.net_id[:12], source
        elif isinstance(source, str | Path):
            name, where = find_player(str(source))
            self.name = "".join(letter if letter.isprintable() else "?" for letter in name)
            self.path = where if isinstance(where, Path) else None
            self.evaluator = where if isinstance(where, str) else open_evaluator(where, **options)
        else:
            self.evaluator = open_evaluator(source, **options)
            self.name = self.evaluator.net_id[:12]

    @property
    def variant(self) -> str | None:
        """The variant that it can play; None when it plays all of them."""
        return None if isinstance(self.evaluator, str) else self.evaluator.variant

    def check(self, variant: str) -> None:
        """Refuse a variant that it cannot play (`chess960` is chess here)."""
        if self.variant is not None and variant.removesuffix("960") != self.variant.removesuffix("960"):
            raise PlayerError(f"{self.name} plays {self.variant}, not {clip(variant)}", variant)

    def search(self, position: _core.Position, limit: Limit, *, noise: bool = False, seed: int = 0) -> Result:
        """Search a position that is not over. `noise` (drawn from `seed`) makes the player try other moves too.

        >>> from selfmate.board.position import Position
        >>> result = Player("uniform").search(Position("gardner"), Limit(visits=50))
        >>> result.visits, sum(each.visits for each in result.moves), result.best == result.pv[0]
        (50, 50, True)
        """
        self.check(position.variant)
        if position.outcome() is not None:
            raise SearchError("there is no move to search for: the game is over", position.fen())
        check_limit(limit)
        began = time.perf_counter()
        if self.evaluator == RANDOM:
            return _random_result(position, seed, began)
        search = Search(position, play_config(noise=noise), limit.visits or MAX_VISITS, seed)
        room = MAX_VISITS if limit.nodes is None else limit.nodes
        while not search.done() and room > 0:
            self._search_on(search, room)
            if limit.seconds is not None and time.perf_counter() - began >= limit.seconds:
                break
            if limit.nodes is not None:
                room = limit.nodes - search.result().nodes
        return result_of(search.result(), time.perf_counter() - began)

    def _search_on(self, search: Search, room: int) -> None:
        """Go on with a search for a short time, and for `room` positions at most."""
        if isinstance(self.evaluator, str):
            search.run(self.evaluator, min(NATIVE_VISITS, room))
            return
        leaves = search.gather(min(batch_size(search.visits), room))
        if leaves.size:  # else every playout ended by the rules
            priors, wdl, _ = self.evaluator.evaluate(leaves)
            search.apply(leaves.ticket, priors, wdl)


def check_limit(limit: Limit) -> None:
    """Raise `PlayerError` for a limit that might never end a search, or that only the UCI engine can keep."""
    if limit.visits is None and limit.seconds is None and limit.nodes is None:
        raise PlayerError("a limit needs visits, seconds or nodes")
    if limit.clock is not None:
        raise PlayerError("only the UCI engine plays by a clock; give seconds")


def play_config(
    *,
    lcb: bool = True,
    noise: bool = False,
    gumbel: bool = False,
    draw_score: float = 0.0,
    max_bytes: int = MAX_TREE_BYTES,
) -> SearchConfig:
    """Give the search of everybody who plays to win, the choice of the move included; training has one of its own.

    `lcb` plays the move whose value is surely the highest, and otherwise it is the most visited one: 50 to 58 % for it
    in matches (docs/log.md). `noise` is for other moves than the surest, so the visits choose; a `gumbel` root,
    which has no noise here, has a choice of its own.
    """
    return SearchConfig(
        stop_when_proven=False,  # a proven win is searched on: a shorter one may be there
        lcb=lcb and not noise and not gumbel,
        gumbel=gumbel,
        gumbel_scale=0.0,
        noise_epsilon=NOISE if noise else 0.0,
        draw_score=draw_score,
        max_bytes=max_bytes,
    )


def batch_size(visits: int) -> int:
    """Say how many leaves to evaluate at once in a tree of so many visits.

    >>> [batch_size(visits) for visits in (0, 800, 100_000)]
    [8, 12, 64]
    """
    return max(SMALLEST_BATCH, min(LARGEST_BATCH, visits // VISITS_PER_LEAF))


def _random_result(position: _core.Position, seed: int, began: float) -> Result:
    """Choose any move; the same one for the same seed, position and number of moves played."""
    legal = position.legal_moves
    random.Random(f"{seed} {len(position.move_stack)} {position.key}").shuffle(legal)
    share = 1 / len(legal)
    moves = tuple(
        MoveResult(move=move, visits=0, value=0.0, draw=1 / 3, prior=share, proven=None, pv=(move,)) for move in legal
    )
    return Result(
        best=legal[0],
        value=0.0,
        wdl=(1 / 3, 1 / 3, 1 / 3),
        proven=None,
        pv=(legal[0],),
        moves=moves,
        visits=0,
        nodes=0,
        seconds=time.perf_counter() - began,
        depth=0.0,
        seldepth=0,
    )
