"""Players: a position and a limit in, a result out.

>>> from selfmate.board.position import Position
>>> position = Position("atomic", "r1b1kb2/1ppq2p1/4ppN1/p7/3p3P/4P1P1/PP1P1P2/R3K2R w KQq - 2 10")
>>> result = Player("heuristic-1").search(position, Limit(visits=100))
>>> position.san(result.best), result.proven, result.value
('Nxf8#', 1, 1.0)

A player is named by its spec (`selfmate.search.spec`): a net, a run, or an evaluator of the core.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfmate import _core
from selfmate.errors import PlayerError, SearchError, VariantMismatch, clip
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.search.config import MAX_TREE_BYTES, play_config
from selfmate.search.limit import Limit
from selfmate.search.result import MoveResult, Result
from selfmate.search.spec import RANDOM, find_player
from selfmate.search.tree_session import TreeSession

if TYPE_CHECKING:
    from selfmate.nn.net import Net

__all__ = ["Player"]


class Player:
    """A net or an evaluator of the core, behind a search; or `random`.

    `source` is a spec (`selfmate.search.spec`), an evaluator, or a net in memory. `threads`, `device` and `backend` are
    those of the net (see `open_evaluator`).

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
        """A net, the name of an evaluator of the core, or `random`."""
        self.name: str
        """Printable; for tables and PGN."""
        self.path: Path | None = None
        """The folder or ONNX file of its net; None for any other player."""
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
        """The variant of its net; None when it plays every variant."""
        return None if isinstance(self.evaluator, str) else self.evaluator.variant

    def check(self, variant: str) -> None:
        """Raise `VariantMismatch`, a `PlayerError`, for a variant that it does not play (`chess960` is chess here)."""
        if self.variant is not None and variant.removesuffix("960") != self.variant.removesuffix("960"):
            raise VariantMismatch(f"{self.name} plays {self.variant}, not {clip(variant)}", variant)

    def search(self, position: _core.Position, limit: Limit, *, noise: bool = False, seed: int = 0) -> Result:
        """Search a position and return the result; a game that is over raises `SearchError`.

        `noise` (drawn from `seed`) is added to the priors of the root, so that games differ.

        >>> from selfmate.board.position import Position
        >>> result = Player("uniform").search(Position("gardner"), Limit(visits=50))
        >>> result.visits, sum(each.visits for each in result.moves), result.best == result.pv[0]
        (50, 50, True)
        """
        self.check(position.variant)
        if position.outcome() is not None:
            raise SearchError("there is no move to search for: the game is over", position.fen())
        check_limit(limit)
        if self.evaluator == RANDOM:
            return _random_result(position, seed)
        # No cache, and whole batches: the result of a net does not depend on earlier searches or on timing.
        session = TreeSession(self.evaluator, memory=MAX_TREE_BYTES, cached=False)
        session.begin(position, limit, config=play_config(noise=noise), seed=seed)
        return session.run()


def check_limit(limit: Limit) -> None:
    """Raise `PlayerError` for a limit that might never end a search, or that only the UCI engine can keep."""
    if limit.visits is None and limit.seconds is None and limit.nodes is None:
        raise PlayerError("a limit needs visits, seconds or nodes")
    if limit.clock is not None:
        raise PlayerError("only the UCI engine plays by a clock; give seconds")


def _random_result(position: _core.Position, seed: int) -> Result:
    """Return a random move, which depends on seed, position and number of moves played."""
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
        seconds=0.0,
        depth=0.0,
        seldepth=0,
    )
