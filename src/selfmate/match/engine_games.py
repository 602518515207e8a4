"""Games with UCI engines: between two engines, and between an engine and a player of a pool.

An engine that fails loses the game and is started again. One that cannot be started `STARTS` times in a row plays no
more games of the match; those of the other players go on.

A game between a pool's player and an engine has its state twice: in a slot of the pool (C++), and in a `RefereedGame`
(Python). They share the work as follows.

1. The slot is the game. It decides every end but faults: by the rules, by score, by length. The score rules of the
   `RefereedGame` are off.
2. When the engine's side is to move the slot waits, and `Pool.take_move_requests` returns the slot, the number of the
   game and all moves so far, once for each move. A worker first plays the moves on the `RefereedGame` that it lacks.
3. The worker replies with exactly one call: `Pool.play` with a legal move and the engine's score, or `Pool.forfeit`
   with the result of a fault, or with `*` when the engine cannot be started. The number of such a game is in
   `EngineWorkers.abandoned` before the call, and its record does not count.
4. The pool's record has all moves, scores and the result. Only the `RefereedGame` has times, clocks, depths and the
   fault; `EngineWorkers.games` keeps it until the record is written.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from selfmate._core import Move, Pool
from selfmate.match.referee import RefereedGame, RefereeSettings, play_game
from selfmate.match.schedule import ScheduledGame
from selfmate.match.spec import Contestant
from selfmate.match.uci_client import EngineError, Fault, UciClient, close_all
from selfmate.match.worker_threads import JOIN_SECONDS, WorkerThreads

__all__ = ["EngineLauncher", "EngineUnavailable", "EngineWorkers", "play_engine_games"]

STARTS: Final = 3
"""Attempts to start an engine."""
RESTART_SECONDS: Final = 0.5
"""Pause between two attempts."""
MOST_KEPT: Final = 4
"""Idle engines that a worker keeps running."""
POLL_SECONDS: Final = 0.1
"""Longest wait for a position before the stop condition is checked again."""
UNAVAILABLE: Final = "engine unavailable"


class EngineUnavailable(Exception):
    """An engine could not be started, and plays no more games of the match."""


class EngineLauncher:
    """Starts the engines of a match; for use from any thread."""

    def __init__(
        self, contestants: Sequence[Contestant], variant: str, settings: RefereeSettings, stopping: Callable[[], bool]
    ) -> None:
        self.contestants = contestants
        self.variant = variant
        self.settings = settings
        self.unavailable: dict[int, str] = {}
        """Players whose engine could not be started, by index, with the reason."""
        self.threads = WorkerThreads(stopping)
        """The threads of the match: when one fails, all stop."""

    def start(self, index: int) -> UciClient:
        """Return a new engine of a player, with the variant set; raises `EngineUnavailable`."""
        spec = self.contestants[index].engine
        assert spec is not None
        for attempt in range(STARTS):
            if index in self.unavailable:
                break
            if attempt:
                time.sleep(RESTART_SECONDS)
            try:
                engine = UciClient(spec, patience=self.settings.patience, stopping=self.threads.halted)
            except EngineError as error:
                reason = str(error)
                continue
            try:
                engine.set_variant(self.variant)
            except BaseException as error:
                engine.kill()
                if not isinstance(error, EngineError):
                    raise
                reason = str(error)
                continue
            return engine
        else:
            self.unavailable.setdefault(index, reason)
        raise EngineUnavailable

    def new_game(self, game: ScheduledGame, *, by_score: bool) -> RefereedGame:
        """Return a scheduled game at its start; `by_score` says whether the score rules are on."""
        limits = self.contestants[game.white].limit, self.contestants[game.black].limit
        settings = self.settings if by_score else replace(self.settings, resign=None, win=None, draw=None)
        return RefereedGame(game.number, self.variant, game.opening or None, limits, settings)


# -- engine against engine --------------------------------------------------------------------------------------------


def play_engine_games(
    launcher: EngineLauncher,
    games: Iterable[ScheduledGame],
    *,
    concurrency: int,
    on_finished: Callable[[ScheduledGame, RefereedGame], None],
) -> None:
    """Play games between engines, `concurrency` at a time; `on_finished` is called for one game at a time."""
    todo = deque(games)
    lock = threading.Lock()

    def next_game() -> ScheduledGame | None:
        with lock:
            while todo and not launcher.threads.halted():
                game = todo.popleft()
                if not {game.white, game.black} & launcher.unavailable.keys():
                    return game
            return None

    def work() -> None:
        engines: dict[int, UciClient] = {}  # by player, the least recently used first
        try:
            while (scheduled := next_game()) is not None:
                # 1. Engines of both sides
                try:
                    for index in (scheduled.white, scheduled.black):
                        engines[index] = engines.pop(index) if index in engines else launcher.start(index)
                except EngineUnavailable:
                    continue
                # 2. The game; an engine with a fault is started again for the next one.
                game = launcher.new_game(scheduled, by_score=True)
                verdict = play_game(game, (engines[scheduled.white], engines[scheduled.black]))
                if verdict.fault is not None:
                    engines.pop(scheduled.white if verdict.result == "0-1" else scheduled.black).close()
                with lock:
                    on_finished(scheduled, game)
                while len(engines) > MOST_KEPT:
                    engines.pop(next(iter(engines))).close()
        finally:
            close_all(engines.values())

    launcher.threads.start([work] * min(concurrency, len(todo)))
    launcher.threads.join()


# -- engine against a player of a pool --------------------------------------------------------------------------------


class _SlotEngine(NamedTuple):
    """The engine that plays in a slot of the pool."""

    player: int
    game: int
    """Number of the game for which it was last used."""
    engine: UciClient


class EngineWorkers:
    """Answers the positions in which a pool waits for a move of an engine (see the top of this module).

    Each of the `concurrency` games at a time has an engine process of its own; `searching` of them search at a time.
    """

    def __init__(
        self,
        launcher: EngineLauncher,
        scheduled: Sequence[ScheduledGame],
        *,
        concurrency: int,
        searching: int,
        lanes: int,
    ) -> None:
        self.concurrency = concurrency
        self.searching = searching
        self.lanes = lanes
        """Lanes that leave enough of the processor to the engines."""
        self.launcher = launcher
        self.games: dict[int, RefereedGame] = {}
        """Games with an engine by number; removed by the writer of the finished game."""
        self.abandoned: set[int] = set()
        """Numbers of games that ended because an engine could not be started; they do not count."""
        self._scheduled = {game.number: game for game in scheduled}
        self._engines: dict[int, _SlotEngine] = {}

    @contextlib.contextmanager
    def serving(self, pool: Pool) -> Iterator[None]:
        """Answer the positions of a pool within the context; at its end all engines are closed."""
        threads = self.launcher.threads
        positions: queue.SimpleQueue[tuple[int, int, list[Move]] | None] = queue.SimpleQueue()
        over, closed, idle = threading.Event(), threading.Event(), threading.Semaphore(0)

        def queue_positions() -> None:
            while not over.is_set() and not threads.halted():
                for slot, number, _, moves in pool.take_move_requests(POLL_SECONDS):
                    positions.put((slot, number, moves))
            for _ in range(self.searching):
                positions.put(None)

        def answer_positions() -> None:
            while (position := positions.get()) is not None and not threads.halted():
                self._answer(pool, *position)

        def work() -> None:
            threads.run(answer_positions)
            idle.release()
            closed.wait()  # an engine dies with the thread that started it

        threads.start([queue_positions, *[work] * self.searching])
        try:
            yield
        finally:
            over.set()
            try:
                for _ in range(self.searching):
                    while not idle.acquire(timeout=JOIN_SECONDS):
                        pass
                close_all(each.engine for each in self._engines.values())
            finally:  # also after a second Ctrl-C
                closed.set()

    def _answer(self, pool: Pool, slot: int, number: int, moves: Sequence[Move]) -> None:
        """Play the move for which a slot waits, or end its game."""
        scheduled = self._scheduled[number]
        game = self.games.get(number)
        if game is None:
            game = self.games[number] = self.launcher.new_game(scheduled, by_score=False)
        for move in moves[len(game.moves) :]:
            game.play(move)
        player = scheduled.white if game.side == 0 else scheduled.black
        try:
            engine = self._engine(slot, player, game)
        except EngineUnavailable:
            del self.games[number]
            self.abandoned.add(number)
            pool.forfeit(slot, "*", UNAVAILABLE)
            return
        found = game.ask(engine) if engine is not None else None
        if found is not None:
            score = game.infos[-1].score
            pool.play(slot, found, None if score is None else score.centipawns)
            return
        assert game.verdict is not None
        self._close(slot)
        pool.forfeit(slot, game.verdict.result, game.verdict.reason)

    def _engine(self, slot: int, player: int, game: RefereedGame) -> UciClient | None:
        """Return the engine of a slot, ready for the game; None, and a verdict against it, if it fails just then."""
        kept = self._engines.get(slot)
        if kept is None or kept.player != player:
            self._close(slot)
            kept = _SlotEngine(player, -1, self.launcher.start(player))
        self._engines[slot] = kept._replace(game=game.number)
        if kept.game != game.number:
            try:
                kept.engine.new_game()
            except EngineError as error:
                game.forfeit(game.side, error.fault or Fault.CRASH, str(error))
                return None
        return kept.engine

    def _close(self, slot: int) -> None:
        if slot in self._engines:
            self._engines.pop(slot).engine.close()
