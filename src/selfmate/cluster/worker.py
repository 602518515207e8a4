"""A worker of self-play: a pool that plays leases of games, with the evaluator and device choice of one machine."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import msgspec

from selfmate._core import GameRecord, Pool
from selfmate.cluster.messages import Orders, Report, Setup, read_orders, unpack_net
from selfmate.evaluator.base import Evaluator
from selfmate.recipe.reader import from_toml
from selfmate.recipe.searches import selfplay_search
from selfmate.rundir.games import decode_games, encode_games, pack_games, unpack_games
from selfmate.train.pool_thread import PoolThread, open_champion
from selfmate.train.selfplay import (
    UNIFORM_GAMES,
    Concurrency,
    choose_concurrency,
    ranges,
    selfplay_config,
    selfplay_pool,
    should_compile,
)
from selfmate.train.starts import StartPositions

__all__ = ["LeasedPlay", "pack_records", "read_records"]


class LeasedPlay:
    """Plays leases: `exchange` takes orders and returns what was finished since the last call. One call at a time.

    On a CPU a pool plays the games of one cycle with one net, and each game is a function of seed, id and net. With
    `Setup.continuous` one pool goes on, and games continue with the next net.
    """

    def __init__(self, setup: bytes) -> None:
        self.setup = msgspec.msgpack.decode(setup, type=Setup)
        self.recipe = from_toml(self.setup.recipe)
        self._starts = StartPositions(self.recipe, self.setup.seed, self.setup.starts)
        self._thread = PoolThread(self.setup.lanes)
        self._native = Concurrency(UNIFORM_GAMES, 0, "")
        self._concurrency: Concurrency | None = None  # with a net; measured once
        self._champion: Evaluator | None = None
        self._net = ""
        self._pool: Pool | None = None
        self._played: tuple[int, str, str] | None = None  # cycle, evaluator and net of the pool
        self._games: set[int] = set()  # in the pool, unfinished
        self._finished: list[GameRecord] = []
        self._reported = 0  # evaluations of earlier reports

    def exchange(self, message: bytes, net: bytes | memoryview | None = None) -> bytes:
        """Follow orders (`Orders`) for their seconds, less if all games are finished; return a `Report`.

        `net` is the block of `pack_net` where the orders name another net than those before.
        """
        orders = read_orders(message)
        if net is not None and orders.net != self._net:
            self._load(orders.net, net)
        if orders.rest:
            return self._report(orders, self._rest()).to_bytes()
        self._follow(orders)
        self._play(orders.seconds)
        return self._report(orders, []).to_bytes()

    def _load(self, name: str, data: bytes | memoryview) -> None:
        """Open a net; the first one measures how many games are played at once."""
        if not self.setup.continuous:
            self._thread.pause()
        device = self.setup.device
        compiled = should_compile(self.recipe, device)
        with tempfile.TemporaryDirectory(prefix="selfmate-net-") as folder:
            unpack_net(name, data, Path(folder))
            self._champion = open_champion(
                Path(folder),
                self._champion,
                device=device,
                continuous=self.setup.continuous,
                compiled=compiled,
                pause=self._thread.pause,
            )
        if self._concurrency is None:
            self._concurrency = choose_concurrency(
                self.recipe, self._champion, self.setup.lanes, pools=self.setup.pools
            )
        self._net = name

    def _follow(self, orders: Orders) -> None:
        """Bring the pool to the cycle and net of the orders, and give it their games."""
        wanted = (orders.cycle, orders.evaluator, orders.net)
        goes_on = self.setup.continuous and self._played is not None and self._played[1] == orders.evaluator
        if self._pool is None or (wanted != self._played and not goes_on):
            self._thread.pause()
            self._games.clear()  # of leases that were given to another worker
            self._pool = self._make_pool(orders)
        elif wanted != self._played:
            part = self.recipe.selfplay
            self._pool.configure(selfplay_search(self.recipe, orders.cycle), selfplay_config(part, orders.cycle))
        self._played = wanted
        new = [game for game in orders.games if game not in self._games]
        resumed = [record for record in read_records(orders.begun) if record.game_id in new]
        self._pool.resume(resumed)
        known = {record.game_id for record in resumed}
        for first, count in ranges([game for game in new if game not in known]):
            self._starts.queue(self._pool, range(first, first + count), orders.cycle)
        self._games.update(new)

    def _make_pool(self, orders: Orders) -> Pool:
        concurrency, lanes, threads = self._concurrency, self.setup.lanes, 1 if self.setup.device == "cpu" else 0
        if orders.evaluator:
            concurrency, lanes, threads = self._native, 1, self.setup.lanes
        assert concurrency is not None
        self._thread.lanes = lanes
        return selfplay_pool(
            self.recipe, orders.cycle, seed=self.setup.seed, concurrency=concurrency, lanes=lanes, threads=threads
        )

    def _play(self, seconds: float) -> None:
        """Play until the time is over or no game is left; errors of the lanes are raised."""
        assert self._pool is not None
        assert self._played is not None
        deadline = time.monotonic() + seconds
        evaluator = self._played[1] or self._champion
        assert evaluator is not None
        while self._games:
            self._thread.start(self._pool, evaluator)
            self._thread.wait(max(0.0, deadline - time.monotonic()))
            self._drain()
            if time.monotonic() >= deadline:
                return

    def _drain(self) -> None:
        assert self._pool is not None
        for record in self._pool.drain():
            self._games.discard(record.game_id)
            self._finished.append(record)

    def _rest(self) -> list[GameRecord]:
        """Stop the pool, and return its unfinished games that have moves; those without a net begin anew later."""
        self._thread.pause()
        if self._pool is None or self._played is None:
            return []
        self._drain()
        flight = [] if self._played[1] else [game for game in self._pool.unfinished_games() if game.moves]
        self._pool, self._played = None, None
        self._games.clear()
        return flight

    def _report(self, orders: Orders, flight: list[GameRecord]) -> Report:
        concurrency = self._native if orders.evaluator else self._concurrency
        finished, self._finished = self._finished, []
        evaluations = self._thread.evaluations - self._reported
        self._reported += evaluations
        return Report(
            net=orders.net,
            games=pack_records(finished),
            flight=pack_records(flight),
            slots=0 if concurrency is None else concurrency.slots,
            unfinished=len(self._games),
            evaluations=evaluations,
        )


def pack_records(records: list[GameRecord]) -> bytes:
    """Return games as the bytes of a shard; empty for no games."""
    return pack_games(encode_games(records)) if records else b""


def read_records(shard: bytes) -> list[GameRecord]:
    """Return the games of `pack_records`; raise `SelfmateError` for other bytes. Every game is replayed."""
    return decode_games(unpack_games(shard)) if shard else []
