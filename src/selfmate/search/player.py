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
from typing import TYPE_CHECKING, Any, Final

from selfmate import _core
from selfmate._core import SearchConfig
from selfmate.errors import PlayerError, SearchError, VariantMismatch, clip
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import check_options, open_evaluator
from selfmate.search.config import play_config
from selfmate.search.limit import Limit
from selfmate.search.result import MoveResult, Result
from selfmate.search.spec import RANDOM, find_player
from selfmate.search.tree import SearchTree
from selfmate.search.tree_session import TreeSession
from selfmate.util.numbers import flag, whole_number

if TYPE_CHECKING:
    from selfmate.nn.net import Net

__all__ = ["Player"]

MIN_TREE_BYTES: Final = 1 << 20
"""Smallest limit on the memory of a tree: the root and its moves always fit."""


class Player:
    """A net or an evaluator of the core, behind a search; or `random`.

    `source` is a spec (`selfmate.search.spec`), an evaluator, or a net in memory. `threads`, `device` and `backend` are
    those of the net (see `open_evaluator`); they are checked for a player without one, too.

    >>> Player("heuristik-1")
    Traceback (most recent call last):
    ...
    selfmate.errors.PlayerError: unknown player 'heuristik-1'; did you mean 'heuristic-1'?
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
        """The folder or ONNX file of its net; None for any other player, also for an untrained twin."""
        check_options(device, threads, backend)
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
        elif not hasattr(source, "config"):
            kind = type(source).__name__
            raise PlayerError(f"a player is a spec, an evaluator or a net, not {kind}", kind)
        else:
            self.evaluator = open_evaluator(source, **options)
            self.name = self.evaluator.net_id[:12]

    def __repr__(self) -> str:
        """Return the name, and the variant where only one is played.

        >>> Player("heuristic-1"), Player("gardner-laptop")
        (<Player heuristic-1>, <Player gardner-laptop: gardner>)
        """
        return f"<Player {self.name}>" if self.variant is None else f"<Player {self.name}: {self.variant}>"

    @property
    def variant(self) -> str | None:
        """The variant of its net; None when it plays every variant."""
        return None if isinstance(self.evaluator, str) else self.evaluator.variant

    def check(self, variant: str) -> None:
        """Raise `VariantMismatch`, a `PlayerError`, for a variant that it does not play (`chess960` is chess here)."""
        if self.variant is not None and variant.removesuffix("960") != self.variant.removesuffix("960"):
            raise VariantMismatch(f"{self.name} plays {self.variant}, not {clip(variant)}", variant)

    def search(
        self,
        position: _core.Position,
        limit: Limit,
        *,
        noise: bool = False,
        seed: int = 0,
        config: SearchConfig | None = None,
    ) -> Result:
        """Search a position and return the result; a game that is over raises `SearchError`.

        `noise` (drawn from `seed`) is added to the priors of the root, so that games differ. `config` replaces the
        configuration of play, `play_config()`, as a whole; with it, noise is a field of the configuration. Raises
        `PlayerError` for another variant, for a limit without an end and for `noise` beside a `config`.

        >>> from selfmate.board.position import Position
        >>> result = Player("uniform").search(Position("gardner"), Limit(visits=50))
        >>> result.visits, sum(each.visits for each in result.moves), result.best == result.pv[0]
        (50, 50, True)
        >>> config = play_config().replace(cpuct=2.5)
        >>> Player("uniform").search(Position("gardner"), Limit(visits=50), config=config).visits
        50
        """
        chosen = self._check(position, limit, noise, seed, config)
        if self.evaluator == RANDOM:
            return _random_result(position, seed)
        return self._begin(position, limit, chosen, seed).run()

    def search_tree(
        self,
        position: _core.Position,
        limit: Limit,
        *,
        noise: bool = False,
        seed: int = 0,
        config: SearchConfig | None = None,
        max_depth: int = 1000,
        max_nodes: int = 10_000,
        min_visits: int = 1,
    ) -> SearchTree:
        """Search a position as `search` does, and return the tree: objects, JSON or a DataFrame.

        At most `max_nodes` nodes are returned, the most visited, at most `max_depth` plies deep, of moves with at least
        `min_visits` visits (0: all legal moves) or a proven result. Raises what `search` raises; `random` raises
        `PlayerError`.

        >>> from selfmate.board.position import Position
        >>> tree = Player("heuristic-1").search_tree(Position("chess"), Limit(visits=100), max_depth=1)
        >>> tree.root.visits, len(tree.root.children) <= 20
        (101, True)
        """
        chosen = self._check(position, limit, noise, seed, config)
        session = self._begin(position, limit, chosen, seed)
        session.run()
        return session.tree(position, max_depth=max_depth, max_nodes=max_nodes, min_visits=min_visits)

    def _check(
        self, position: _core.Position, limit: Limit, noise: bool, seed: int, config: SearchConfig | None
    ) -> SearchConfig:
        """Return the configuration of a search, or raise what `search` raises."""
        _check_type(position, _core.Position, "Position('chess')")
        self.check(position.variant)
        if position.outcome() is not None:
            raise SearchError("there is no move to search for: the game is over", position.fen())
        check_limit(limit)
        whole_number("seed", seed, 0, (1 << 64) - 1, PlayerError)
        noise = flag("noise", noise, PlayerError)
        if config is not None and noise:
            raise PlayerError("give noise, or a config with noise_epsilon; not both")
        if config is not None and not isinstance(config, SearchConfig):
            raise PlayerError(f"config must be a SearchConfig, not {type(config).__name__}", type(config).__name__)
        if config is not None and config.max_bytes < MIN_TREE_BYTES:
            message = f"max_bytes of a config must be at least {MIN_TREE_BYTES}, not {config.max_bytes}"
            raise PlayerError(message, str(config.max_bytes))
        return play_config(noise=noise) if config is None else config

    def _begin(self, position: _core.Position, limit: Limit, config: SearchConfig, seed: int) -> TreeSession:
        # No cache, and whole batches: the result of a net does not depend on earlier searches or on timing.
        session = TreeSession(self.evaluator, memory=config.max_bytes, cached=False)
        session.begin(position, limit, config=config, seed=seed)
        return session


def check_limit(limit: Limit) -> None:
    """Raise `PlayerError` for a limit that might never end a search, or that only the UCI engine can keep."""
    _check_type(limit, Limit, "Limit(visits=100)")
    if limit.visits is None and limit.seconds is None and limit.nodes is None:
        raise PlayerError("a limit needs visits, seconds or nodes")
    if limit.clock is not None:
        raise PlayerError("only the UCI engine plays by a clock; give seconds")


def _check_type(value: object, kind: type, example: str) -> None:
    """Raise `PlayerError` unless a value is of a kind."""
    if not isinstance(value, kind):
        given = type(value).__name__
        raise PlayerError(f"a {kind.__name__} is needed, such as {example}, not {given}", given)


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
