"""Where the games of a match are played: those of our own players batched in a pool, those of engines by processes.

Our players sit in a pool, which searches for all of them at once. A game against an engine is a game of the pool too,
 in which one seat is played from outside: attendants bring each such position to a process and the
answer back, while the pool searches the other games. Games between engines need no pool.

An engine that fails loses the game it was in, is started again, and the match goes on. One that does not start any
more is out; the games of the others are unharmed.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from selfmate._core import GameRecord, Move, Pool, ScoreRules
from selfmate.match.pool import seat_players
from selfmate.match.referee import Table, Terms, play_game
from selfmate.match.spec import Contestant
from selfmate.match.uci_client import Engine, EngineError, Fault, Interrupted, close_all
from selfmate.search.driver import drive, one_thread
from selfmate.search.player import Player

__all__ = ["Attendants", "Evaluated", "Fixture", "play_engines", "play_seats"]


TELL_SECONDS: Final = 0.1


STARTS: Final = 3
"""An engine that cannot be started so often in a row is out."""


PAUSE: Final = 0.5
"""Seconds between them."""


KEPT: Final = 4
"""Engines that a worker keeps running at most."""


OUT: Final = "out"
"""Why a game ends that nobody can play any more; it does not count."""


@dataclass(frozen=True, slots=True)
class Fixture:
    """A game that is to be played: where it begins (a FEN, or nothing for the usual start) and who has which colour."""

    number: int
    opening: str
    white: int
    black: int


@dataclass(frozen=True, slots=True)
class Evaluated:
    """How much was searched: leaves, and the batches in which they went to an evaluator.

    >>> Evaluated(6, 2) + Evaluated(3, 1)
    Evaluated(leaves=9, batches=3)
    """

    leaves: int = 0
    batches: int = 0

    def __add__(self, other: Evaluated) -> Evaluated:
        return Evaluated(self.leaves + other.leaves, self.batches + other.batches)


class Out(Exception):
    """A contestant that cannot play any more."""


class Crowd:
    """Threads that work on the same thing; the first failure of any stops all, and is raised in the end."""

    def __init__(self, stopping: Callable[[], bool]) -> None:
        self._stopping = stopping
        self._failures: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def halted(self) -> bool:
        """Whether to stop."""
        return bool(self._failures) or self._stopping()

    def run(self, work: Callable[[], None]) -> None:
        """Do some work; what goes wrong is kept."""
        try:
            work()
        except Interrupted:
            pass
        except BaseException as error:
            self._failures.append(error)

    def start(self, works: Sequence[Callable[[], None]]) -> None:
        """Start a thread for each."""
        for work in works:
            self._threads.append(threading.Thread(target=self.run, args=(work,), daemon=True))
            self._threads[-1].start()

    def join(self) -> None:
        """Wait for all of them."""
        for thread in self._threads:
            while thread.is_alive():  # in small pieces, so that Ctrl-C is heard
                thread.join(0.1)
        self._threads.clear()
        if self._failures:
            raise self._failures[0]


class Roll:
    """Who takes part with which engine, and who is out and why. Any thread may ask."""

    def __init__(
        self, contestants: Sequence[Contestant], variant: str, terms: Terms, stopping: Callable[[], bool]
    ) -> None:
        self.contestants = contestants
        self.variant = variant
        self.terms = terms
        self.out: dict[int, str] = {}
        self.crowd = Crowd(stopping)
        """Whoever works for these contestants: when one fails, all stop."""

    def start(self, index: int) -> Engine:
        """Start an engine, or say that it is out."""
        spec = self.contestants[index].engine
        assert spec is not None
        for attempt in range(STARTS):
            if index in self.out:
                break
            if attempt:
                time.sleep(PAUSE)
            try:
                engine = Engine(spec, patience=self.terms.patience, stopping=self.crowd.halted)
            except EngineError as error:
                reason = str(error)
                continue
            try:
                engine.play_variant(self.variant)
            except BaseException as error:
                engine.kill()
                if not isinstance(error, EngineError):
                    raise
                reason = str(error)
                continue
            return engine
        else:
            self.out.setdefault(index, reason)
        raise Out

    def table(self, fixture: Fixture, *, by_score: bool) -> Table:
        """Set up a game; where somebody else sees that it ends by score, the table does not."""
        limits = self.contestants[fixture.white].limit, self.contestants[fixture.black].limit
        terms = self.terms if by_score else replace(self.terms, resign=None, win=None, draw=None)
        return Table(fixture.number, self.variant, fixture.opening or None, limits, terms)


# -- engine against engine --------------------------------------------------------------------------------------------


def play_engines(
    roll: Roll, fixtures: Iterable[Fixture], *, concurrency: int, done: Callable[[Fixture, Table], None]
) -> None:
    """Play games between engines, `concurrency` at a time; `done` hears of each that is over, one at a time."""
    todo = deque(fixtures)
    lock = threading.Lock()

    def next_fixture() -> Fixture | None:
        with lock:
            while todo and not roll.crowd.halted():
                fixture = todo.popleft()
                if not {fixture.white, fixture.black} & roll.out.keys():
                    return fixture
            return None

    def work() -> None:
        engines: dict[int, Engine] = {}
        try:
            while (fixture := next_fixture()) is not None:
                # 1. Both sides; who cannot be started is out.
                try:
                    for index in (fixture.white, fixture.black):
                        engines[index] = engines.pop(index) if index in engines else roll.start(index)
                except Out:
                    continue
                # 2. The game. Whoever did wrong is started anew.
                table = roll.table(fixture, by_score=True)
                verdict = play_game(table, (engines[fixture.white], engines[fixture.black]))
                if verdict.fault is not None:
                    engines.pop(fixture.white if verdict.result == "0-1" else fixture.black).close()
                with lock:
                    done(fixture, table)
                while len(engines) > KEPT:
                    engines.pop(next(iter(engines))).close()
        finally:
            close_all(engines.values())

    roll.crowd.start([work] * min(concurrency, len(todo)))
    roll.crowd.join()


# -- our own players --------------------------------------------------------------------------------------------------


def play_seats(
    variant: str,
    players: Sequence[Player | None],
    visits: Sequence[int],
    fixtures: Sequence[Fixture],
    *,
    gumbel: bool = False,
    seed: int = 0,
    max_plies: int = 512,
    rules: ScoreRules | None = None,
    stopping: Callable[[], bool] = lambda: False,
    done: Callable[[list[GameRecord]], None],
    attendants: Attendants | None = None,
    lanes: int | None = None,
    needed: int | None = None,
) -> Evaluated:
    """Play games between our own players, and with `attendants` those between them and engines, batched in one pool.

    `players` are by number, None for an engine; `visits` are theirs for a move. Nobody's search has noise. The root is
    that of PUCT, or of Gumbel as in self-play and at the gate. `seed` is for the moves of `random`, `rules` say what
    ends by score. `done` hears of the games that are over, now and then. `needed` is for a test, which takes games in
    their order and expects to need so many: no more are played at once, and none far ahead of the oldest.
    """
    # 1. A pool that suits them.
    seating = seat_players(
        variant,
        players,
        visits,
        min(len(fixtures), needed or len(fixtures)),
        gumbel=gumbel,
        seed=seed,
        max_plies=max_plies,
        rules=rules,
        slots=None if attendants is None else attendants.games,
        lanes=lanes if attendants is None else attendants.lanes,
        in_order=needed is not None,
    )
    pool, evaluated = seating.pool, Evaluated()
    for run in _runs(fixtures):
        pool.start_games([(each.opening, each.white, each.black) for each in run], first_game=run[0].number)
    # 2. Play; a clerk says now and then what is over, beside the lanes: it may have much to write.
    crowd = Crowd(stopping) if attendants is None else attendants.roll.crowd
    over = threading.Event()

    def clerk() -> None:
        while not over.wait(TELL_SECONDS):
            if pool.finished:
                done(pool.drain())

    def count(leaves: int) -> None:
        nonlocal evaluated
        evaluated += Evaluated(leaves, 1)

    crowd.start([clerk])
    try:
        with contextlib.nullcontext() if attendants is None else attendants.serving(pool):
            drive(pool, seating.evaluators, lanes=seating.lanes, stopping=crowd.halted, prepare=one_thread, tell=count)
    finally:
        over.set()
        crowd.join()
    if records := pool.drain():
        done(records)
    return evaluated


def _runs(fixtures: Sequence[Fixture]) -> list[list[Fixture]]:
    """Cut a list of games where their numbers do not follow each other.

    >>> [len(run) for run in _runs([Fixture(number, "", 0, 1) for number in (0, 1, 4, 5, 6)])]
    [2, 3]
    """
    runs: list[list[Fixture]] = []
    for fixture in fixtures:
        if not runs or runs[-1][-1].number + 1 != fixture.number:
            runs.append([])
        runs[-1].append(fixture)
    return runs


# -- our own players against engines ----------------------------------------------------------------------------------


class Attendants:
    """Bring the positions of a pool that wait for a move from outside to engines, and the moves back.

    Every one of the `games` at a time has a process of its own; `thinkers` of them think at a time.
    """

    def __init__(self, roll: Roll, fixtures: Sequence[Fixture], *, games: int, thinkers: int, lanes: int) -> None:
        self.games = games
        self.thinkers = thinkers
        self.lanes = lanes
        self.tables: dict[int, Table] = {}
        """What the engines did, by the numbers of the games; whoever writes them down takes them out."""
        self.roll = roll
        self._fixtures = {fixture.number: fixture for fixture in fixtures}
        self._engines: dict[int, tuple[int, int, Engine]] = {}  # of a slot: player, game, process

    @contextlib.contextmanager
    def serving(self, pool: Pool) -> Iterator[None]:
        """Serve a pool."""
        crowd = self.roll.crowd
        waiting: queue.SimpleQueue[tuple[int, int, list[Move]] | None] = queue.SimpleQueue()
        over, closed, at_rest = threading.Event(), threading.Event(), threading.Semaphore(0)

        def usher() -> None:
            while not over.is_set() and not crowd.halted():
                for slot, number, _, moves in pool.awaiting(TELL_SECONDS):
                    waiting.put((slot, number, moves))
            for _ in range(self.thinkers):
                waiting.put(None)

        def answer_all() -> None:
            while (game := waiting.get()) is not None and not crowd.halted():
                self.answer(pool, *game)

        def attend() -> None:
            crowd.run(answer_all)
            at_rest.release()
            closed.wait()  # a process dies with the thread that started it

        crowd.start([usher, *[attend] * self.thinkers])
        try:
            yield
        finally:
            over.set()
            try:
                for _ in range(self.thinkers):
                    while not at_rest.acquire(timeout=0.1):  # in small pieces, so that Ctrl-C is heard
                        pass
                close_all(engine for _, _, engine in self._engines.values())
            finally:  # also when Ctrl-C is pressed again
                closed.set()

    def answer(self, pool: Pool, slot: int, number: int, moves: Sequence[Move]) -> None:
        """Play the move that a game waits for."""
        fixture = self._fixtures[number]
        table = self.tables.get(number)
        if table is None:
            table = self.tables[number] = self.roll.table(fixture, by_score=False)
        for move in moves[len(table.moves) :]:
            table.play(move)
        index = fixture.white if table.side == 0 else fixture.black
        try:
            engine = self._engine(slot, index, number, table)
        except Out:
            del self.tables[number]
            pool.forfeit(slot, "*", OUT)
            return
        found = table.ask(engine) if engine is not None else None
        if found is not None:
            score = table.turns[-1].score
            pool.play(slot, found, None if score is None else score.centipawns)
            return
        assert table.verdict is not None
        self._drop(slot)
        pool.forfeit(slot, table.verdict.result, table.verdict.reason)

    def _engine(self, slot: int, index: int, number: int, table: Table) -> Engine | None:
        """Give the process of a slot, at the beginning of a game if it is one; None when it failed just then."""
        player, game, engine = self._engines.get(slot, (-1, -1, None))
        if player != index or engine is None:
            self._drop(slot)
            engine, game = self.roll.start(index), -1
        self._engines[slot] = index, number, engine
        if game != number:
            try:
                engine.new_game()
            except EngineError as error:
                table.forfeit(table.side, error.fault or Fault.CRASH, str(error))
                return None
        return engine

    def _drop(self, slot: int) -> None:
        if slot in self._engines:
            self._engines.pop(slot)[2].close()
