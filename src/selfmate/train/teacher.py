"""A UCI engine as a teacher of values: in the first cycles of a run its scores are the value target.

Each sampled position is asked for once, in a search that remembers nothing of the positions before it, so that an
engine with a fixed number of nodes gives the same values in a run that is resumed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from selfmate._core import GameRecord, Samples
from selfmate.board.position import Position
from selfmate.match.uci_client import UciClient, close_all
from selfmate.train.engines import ask_value, read_valuer

__all__ = ["Teacher"]


class Teacher:
    """Engines, each in a thread of its own, and the values that they gave so far; `close` ends them."""

    def __init__(self, text: str, variant: str, engines: int = 1) -> None:
        contestant = read_valuer(text)
        assert contestant.engine is not None
        self._spec, self._limit = contestant.engine, contestant.limit
        self._variant = variant
        self._workers = ThreadPoolExecutor(engines, thread_name_prefix="teacher")  # an engine ends with its thread
        self._own = threading.local()
        self._clients: list[UciClient] = []
        self._records: dict[int, GameRecord] = {}
        self._values: dict[tuple[int, int], float] = {}

    def add(self, records: Iterable[GameRecord]) -> None:
        """Add games whose positions may be asked for."""
        self._records.update((record.game_id, record) for record in records)

    def adjust(self, samples: Samples) -> None:
        """Replace the search's values in a batch by the teacher's; draws have the most room that the value leaves.

        Positions of truncated games get a value, too.
        """
        keys = list(zip(samples.game_ids.tolist(), samples.played.astype(int).tolist(), strict=True))
        missing = sorted(set(keys) - self._values.keys())
        self._values.update(zip(missing, self._workers.map(self._ask, missing), strict=True))
        samples.root_value[:] = [self._values[key] for key in keys]
        samples.root_draw[:] = 1 - np.abs(samples.root_value)
        samples.value_weight[:] = 1

    def _ask(self, key: tuple[int, int]) -> float:
        """Return the value of a position, (game, ply), for the side to move; in a thread of the engines."""
        record, ply = self._records[key[0]], key[1]
        position = Position(self._variant, record.start_fen)
        for move in record.moves[:ply]:
            position.play(move)
        return ask_value(self._engine(), self._limit, position.fen())

    def _engine(self) -> UciClient:
        if not hasattr(self._own, "client"):
            client = UciClient(self._spec)
            client.set_variant(self._variant)
            self._own.client = client
            self._clients.append(client)
        found: UciClient = self._own.client
        return found

    def close(self) -> None:
        """End the engines. A second call does nothing."""
        close_all(self._clients)
        self._workers.shutdown()
