"""The searching thread of the UCI engine: from `go` to `bestmove`."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from selfmate import _core
from selfmate._core import Move, SearchResult, centipawns
from selfmate.errors import SelfmateError
from selfmate.search.config import play_config
from selfmate.search.limit import Limit
from selfmate.search.result import Result, result_of
from selfmate.search.tree_session import TreeSession
from selfmate.uci.go import SearchJob
from selfmate.uci.info import info_lines, move_statistics, uci_line
from selfmate.uci.load import FALLBACK, LoadedPlayer, load
from selfmate.uci.options import Settings, StrictError
from selfmate.uci.time_manager import Progress, TimeManager, budget

__all__ = ["SearchWorker"]

CHECK_SECONDS: Final = 0.005
"""Time between two looks at the figures of a search."""
INFO_AFTER: Final = 0.05
"""Least time between two `info` lines when the best move has changed."""
INFO_EVERY: Final = 0.5
"""The same while it stays."""
FIRST_SECONDS: Final = 0.25
"""Seconds that a net has for its first evaluation after `stop` or `quit`; else the move is that of `FALLBACK`."""
FALLBACK_VISITS: Final = 200
"""Visits of a move that has to be found in about a millisecond."""

LOADED_BY: Final = ("variant", "weights_file", "strict_weights", "backend", "threads", "hash_mib")
"""Settings that decide what is loaded."""

Write = Callable[..., None]
"""Sends lines, each an argument."""
Say = Callable[[str], None]
"""Sends one `info string`."""


class SearchWorker:
    """Answers one `go` after another; net and tree are kept in between."""

    def __init__(self, write: Write, say: Say) -> None:
        self._write = write
        self._say = say
        self._loaded: LoadedPlayer | None = None
        self._loaded_for: tuple[object, ...] | None = None
        self._said_strength: tuple[object, ...] | None = None
        self._last_move: tuple[int, float] | None = None
        """Number of moves played and value when we last moved."""

    def prepare(self, settings: Settings) -> LoadedPlayer:
        """Return the player that the settings ask for; it is loaded unless it already is."""
        wanted = tuple(getattr(settings, name) for name in LOADED_BY)
        if self._loaded is None or wanted != self._loaded_for:
            self._loaded = None  # free its memory before another is loaded
            self._loaded = load(settings, self._say)
            self._loaded_for = wanted
        if settings.limit_strength and self._said_strength != (settings.elo, *wanted):
            self._said_strength = (settings.elo, *wanted)
            self._say(self._loaded.describe_strength(settings.elo))
        return self._loaded

    def forget(self) -> None:
        """Drop the tree: a new game begins."""
        self._last_move = None
        if self._loaded is not None:
            self._loaded.session.forget()

    def perft(self, job: SearchJob) -> None:
        """Count the leaves of the tree of legal moves, with a line for each move."""
        depth = job.command.perft or 0
        total = 1 if depth == 0 else 0
        for uci, move in sorted((job.position.uci(move), move) for move in job.position.legal_moves if depth):
            if job.stopped:
                return
            counted = _perft_after(job, move, depth - 1)
            total += counted
            self._write(f"{uci}: {counted}")
        if not job.stopped:
            self._write("", f"Nodes searched: {total}")

    def search(self, job: SearchJob, *, debug: bool) -> None:
        """Search, and send one `bestmove` whatever happens."""
        if not job.position.legal_moves:
            self._answer_game_over(job)
            return
        line: tuple[Move, ...] = ()
        try:
            line = self._search(job, debug=debug)
        except StrictError:
            raise
        except SelfmateError as error:
            self._say(str(error))
        except Exception as error:  # neither a bug nor a lack of memory may cost the game
            traceback.print_exc()
            self._say(f"internal error: {type(error).__name__}: {error}")
            self._loaded = None
        if not line:
            job.wait()
            line = _fallback_result(job).pv
        best, *reply = uci_line(job.position, line[:2])
        job.answered = True
        self._write(f"bestmove {best} ponder {reply[0]}" if reply else f"bestmove {best}")

    def _answer_game_over(self, job: SearchJob) -> None:
        outcome = job.position.outcome()
        score, reason = "cp 0", "no move"
        if outcome is not None:
            reason = outcome.reason
            if outcome.winner is not None:
                score = f"cp {centipawns(1.0)}" if outcome.winner == job.position.turn else "mate 0"
        self._say(f"the game is over ({reason}): there is no move")
        self._write(f"info depth 0 score {score}")
        job.wait()
        job.answered = True
        self._write("bestmove (none)")

    def _search(self, job: SearchJob, *, debug: bool) -> tuple[Move, ...]:
        """Search to the end of the job, and return the line that begins with the move to play."""
        loaded, settings = self.prepare(job.settings), job.settings
        strength = loaded.strength(settings)
        search = GoSearch(
            job,
            loaded.session,
            write=self._write,
            debug=self._say if debug else None,
            time_manager=self._time_manager(job),
            max_visits=None if strength is None else strength.visits,
        )
        result = search.run()
        if result is None:  # the net had no time for one evaluation, or nothing is known of the expected move
            if loaded.player.evaluator != FALLBACK:
                self._say(f"no time for the net to answer: the move is that of {FALLBACK}")
            result = _fallback_result(job)
        result = _only(result, job.command.moves)
        search.send_info(result, statistics=settings.verbose_move_stats)
        self._last_move = (len(job.position.move_stack), result.value)
        chosen = result.moves[0] if strength is None else strength.choose(result)
        return chosen.pv

    def _time_manager(self, job: SearchJob) -> TimeManager | None:
        """Return the time manager of a job with a clock."""
        command, position, settings = job.command, job.position, job.settings
        if command.limit.clock is None or command.infinite:
            return None
        planned = budget(
            command.limit.clock,
            overhead=settings.move_overhead_ms / 1000,
            legal_moves=len(command.moves or position.legal_moves),
            phase=_phase(position),
            ponder=settings.ponder,
        )
        last = self._last_move
        follows = last is not None and last[0] + 2 == len(position.move_stack)
        return TimeManager(planned, last[1] if last is not None and follows else None, settings.min_kld_gain)


class GoSearch:
    """The search of one job: a `TreeSession`, with pondering, `info` lines and time management around its steps."""

    def __init__(
        self,
        job: SearchJob,
        session: TreeSession,
        *,
        write: Write,
        debug: Say | None,
        time_manager: TimeManager | None,
        max_visits: int | None,
    ) -> None:
        self._job = job
        self._session = session
        self._write = write
        self._debug = debug
        self._time_manager = time_manager
        self._max_visits = max_visits
        self._expected: Move | None = None
        """While pondering, the move of the opponent that is expected: the root is the position before it."""
        self._next_check = 0.0
        self._info_at = job.began
        self._info_best: Move | None = None

    def run(self) -> Result | None:
        """Search until the `bestmove` may be sent, and return what is known of the position; None: nothing."""
        job, session = self._job, self._session
        # 1. Ponder. The root is the position before the expected move, so that the tree also serves another reply.
        pondered = job.is_pondering
        if pondered:
            root = _core.Position(job.position)
            if root.move_stack and not job.command.moves:
                self._expected = root.undo()
            self._begin(root, Limit(), job.began)
            for _ in session.steps(lambda: job.stopped or not job.is_pondering):
                if self._check():
                    break
            if not job.stopped and job.is_pondering:
                self._wait()
        # 2. Search, unless `stop` ended the pondering.
        if not (pondered and job.stopped):
            self._expected = None
            self._begin(job.position, self._limit(), job.began if job.hit_at is None else job.hit_at)
            patience = time.perf_counter() + FIRST_SECONDS
            for _ in session.steps(lambda: job.stopped and (session.has_result or time.perf_counter() >= patience)):
                if self._check():
                    break
        # 3. There is nothing left to search: `go infinite` still waits for `stop`.
        self._wait()
        session.stop()
        return session.result(self._expected)

    def send_info(self, result: Result, *, statistics: bool) -> None:
        """Send a line for each of the best moves, and `statistics` of all moves."""
        job, settings = self._job, self._job.settings
        best = [move for move in result.moves if move.visits or move.proven is not None][: settings.multipv]
        lines = info_lines(
            job.position,
            result,
            best or result.moves[:1],
            milliseconds=int(1000 * (time.perf_counter() - job.began)),
            fullness=self._session.fullness,
            show_wdl=settings.show_wdl,
        )
        if statistics:
            lines += move_statistics(job.position, result, self._session.config.cpuct)
        self._write(*lines)

    def _begin(self, root: _core.Position, limit: Limit, since: float) -> None:
        settings = self._job.settings
        contempt = 0 if settings.analyse_mode else settings.contempt
        config = play_config(
            lcb=settings.final_choice == "lcb",
            draw_score=(-contempt if self._expected is None else contempt) / 100,
        )
        kept = self._session.begin(root, limit, since=since, moves=self._job.command.moves, config=config)
        if self._debug is not None:
            plan = "no clock" if self._time_manager is None else self._time_manager.planned
            self._debug(f"{'kept' if kept else 'no'} tree; {plan}")

    def _limit(self) -> Limit:
        """Return the limit of the session: that of the job less the overhead, and the most that the clock allows."""
        command, settings = self._job.command, self._job.settings
        limit = Limit() if command.infinite else command.limit
        seconds = [] if limit.seconds is None else [move_seconds(limit.seconds, settings.move_overhead_ms / 1000)]
        if self._time_manager is not None:
            seconds.append(max(self._time_manager.planned.maximum, 1e-9))
        visits = [each for each in (limit.visits, self._max_visits) if each is not None]
        return replace(limit, visits=min(visits, default=None), seconds=min(seconds, default=None), clock=None)

    def _check(self) -> bool:
        """Send `info` lines when they are due, and return whether the search may end before its limit."""
        now = time.perf_counter()
        if now < self._next_check:
            return False
        self._next_check = now + CHECK_SECONDS
        found = self._session.snapshot(self._expected)
        if found is None:
            return False
        if now - self._info_at >= (INFO_AFTER if found.best != self._info_best else INFO_EVERY):
            self._send_current(now)
        moves = self._job.command.moves
        if _is_exhausted(found, moves):
            return True
        if self._time_manager is None or self._job.is_pondering:
            return False
        return self._time_manager.should_stop(_progress(found, moves, self._session.seconds), now - self._job.began)

    def _send_current(self, now: float) -> None:
        result = self._session.result(self._expected)
        if result is not None:
            self._info_at, self._info_best = now, result.best
            self.send_info(_only(result, self._job.command.moves), statistics=self._job.settings.log_live_stats)

    def _wait(self) -> None:
        """Return when the `bestmove` may be sent; if nothing has been shown yet, show it before."""
        if self._job.must_wait and self._info_best is None:
            self._send_current(time.perf_counter())
        self._job.wait()


def move_seconds(seconds: float, overhead: float) -> float:
    """Return the seconds to search of a fixed time for the move: less the overhead, but at least four fifths.

    >>> move_seconds(1.0, 0.03), move_seconds(0.02, 0.03)
    (0.97, 0.016)
    """
    return seconds - min(overhead, seconds / 5)


def _progress(found: SearchResult, moves: tuple[Move, ...], seconds: float) -> Progress:
    """Return the figures that the time manager needs; `moves` are the only ones to consider, if any."""
    return Progress(
        best=found.best,
        value=found.value,
        is_proven=found.proven is not None,
        visits=found.visits,
        seconds=seconds,
        move_visits={each.move: each.visits for each in found.moves if not moves or each.move in moves},
    )


def _only(result: Result, moves: tuple[Move, ...]) -> Result:
    """Return a result without the moves that are not to be considered; a tree that was kept has all of them."""
    if not moves:
        return result
    return replace(result, moves=tuple(each for each in result.moves if each.move in moves))


def _is_exhausted(found: SearchResult, moves: tuple[Move, ...]) -> bool:
    """Return whether every move is proven, so that no search changes anything."""
    if found.proven is None:
        return False
    return all(each.proven is not None for each in found.moves if not moves or each.move in moves)


def _phase(position: _core.Position) -> float:
    """Return how full the board is: 1 as at the start, 0 empty."""
    pieces = sum(letter.isalpha() for letter in position.board_fen())
    start = sum(letter.isalpha() for letter in _core.Position(position.variant).board_fen())
    return min(1.0, pieces / start)


def _fallback_result(job: SearchJob) -> Result:
    """Return the result of a search by `FALLBACK` that takes about a millisecond."""
    search = _core.Search(job.position, play_config(), FALLBACK_VISITS, 0, list(job.command.moves))
    search.run(FALLBACK)
    return result_of(search.result(), 0.0)


def _perft_after(job: SearchJob, move: Move, depth: int) -> int:
    """Return the leaves after a move; deep counts go reply by reply, so that `stop` ends them."""
    position = _core.Position(job.position)
    position.play(move)
    if depth < 4:
        return position.perft(depth)
    total = 0
    for reply in position.legal_moves:
        if job.stopped:
            break
        after = _core.Position(position)
        after.play(reply)
        total += after.perft(depth - 1, job.settings.threads)
    return total
