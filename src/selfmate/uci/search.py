"""What the UCI engine does between `go` and `bestmove`: think, look at the clock, tell, choose."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from selfmate import _core
from selfmate._core import Move, centipawns
from selfmate.errors import EvaluatorError, SelfmateError
from selfmate.search.limit import MAX_VISITS
from selfmate.search.player import Player, play_config
from selfmate.search.result import Result, result_of
from selfmate.search.strength import Levels, LevelsError, guess_dial, level_of, read_levels
from selfmate.search.tree_session import TURN, Thinker
from selfmate.uci import time_manager as clock
from selfmate.uci.info import info_lines, move_statistics, uci_line
from selfmate.uci.limits import Go
from selfmate.uci.options import Settings

__all__ = ["Searcher"]


FALLBACK: Final = "heuristic-1"
"""Plays every variant, without a net."""


GAIN_VISITS: Final = 100
"""Visits between two looks at how much the policy still changes (lc0's KLDGainAverageInterval)."""


SPEED_KNOWN: Final = 0.005
"""Seconds after which the speed of a search can be believed."""


TELL_AFTER: Final = 0.05


TELL_EVERY: Final = 0.5


@dataclass(slots=True)
class Pace:
    """What a search on a clock has shown so far."""

    planned: clock.Budget
    last_value: float | None
    """The value after our last move, where there was one."""
    changes: float = 0.0
    best: Move | None = None
    doubled: int = 64
    compared: dict[str, int] = field(default_factory=dict)

    def seconds(self, result: Result) -> float:
        """Look at a result, and give the seconds that the move may take in its light."""
        if self.best is not None and result.best != self.best:
            self.changes += 1
        self.best = result.best
        if result.visits >= self.doubled:  # what was long ago counts less
            self.doubled = 2 * result.visits
            self.changes /= 2
        total = sum(move.visits for move in result.moves)
        signs = clock.Signs(
            changes=self.changes,
            drop=max(0.0, self.last_value - result.value) if self.last_value is not None else 0.0,
            share=result.moves[0].visits / total if total else 0.0,
        )
        return clock.stretch(self.planned, signs)

    def has_settled(self, result: Result, least_gain: float) -> bool:
        """Whether new visits no longer change what the search would play, by the divergence of the visits."""
        if not least_gain or result.visits < sum(self.compared.values()) + GAIN_VISITS:
            return False
        now = {move.move.uci(): move.visits for move in result.moves}
        before, self.compared = self.compared, now
        return clock.gain(before, now) < least_gain


class Searcher:
    """Answers one `go` after another; it keeps the net and the tree in between."""

    def __init__(self, write: Callable[..., None], say: Callable[[str], None]) -> None:
        self._write = write
        self._say = say
        self._opened: tuple[object, ...] | None = None
        self._thinker: Thinker | None = None
        self._last: tuple[int, float] | None = None
        """Moves played and value when we last moved."""
        self._levels: Levels | None = None
        self._told_level: tuple[object, ...] | None = None

    # -- who plays ----------------------------------------------------------------------------------------------------

    def prepare(self, settings: Settings) -> Thinker:
        """Open the evaluator that the settings ask for, unless it is open."""
        wanted = (settings.variant, settings.weights, settings.backend, settings.threads, settings.hash)
        if self._thinker is None or wanted != self._opened:
            self._thinker = None  # before another takes memory
            self._thinker = self._open(settings)
            self._opened = wanted
            self._levels = self._read_levels(self._thinker.player)
        # What a level is worth can be said when it is known who plays.
        if settings.limit_strength and self._told_level != (settings.elo, *wanted):
            self._told_level = (settings.elo, *wanted)
            if self._levels is not None:
                self._say(self._levels.describe(settings.elo))
            else:
                self._say(
                    f"plays like about {guess_dial(settings.elo)}, by an estimate that no match has confirmed yet"
                )
        return self._thinker

    def _read_levels(self, player: Player) -> Levels | None:
        """Read what was measured of the levels of a net, where that was done."""
        if player.path is None or isinstance(player.evaluator, str):
            return None
        try:
            return read_levels(player.path if player.path.is_dir() else player.path.parent, player.evaluator.net_id)
        except LevelsError as error:
            self._say(f"{error}; levels are estimates")
            return None

    def _open(self, settings: Settings) -> Thinker:
        def thinker(player: Player) -> Thinker:
            made = Thinker(player, threads=settings.threads, memory=settings.hash << 20)
            # A first word, so that the clock does not pay for what is loaded with it.
            made.begin(_core.Position(settings.variant), visits=1)
            while not made.done:
                made.go_on()
            made.forget()
            return made

        def net(source: str | Path) -> Thinker:
            """Open a net; on the best backend there is if the one that was asked for is not there."""
            try:
                return thinker(open_player(source, settings.backend))
            except EvaluatorError as error:
                if settings.backend == "auto":
                    raise
                self._say(f"{error}; Backend auto instead")
                return thinker(open_player(source, "auto"))

        try:
            source, shipped = settings.weights or _shipped(settings.variant), not settings.weights
            if source is not None:
                made = net(source)
                name = f"the shipped net {made.player.name}" if shipped else made.player.name
                self._say(f"{name} plays {settings.variant} ({_computes(made.player)})")
                return made
            self._say(f"no net for {settings.variant} is shipped or chosen: {FALLBACK} plays")
        except SelfmateError as error:
            self._say(f"{error}; {FALLBACK} plays instead")
        return thinker(Player(FALLBACK))

    def forget(self) -> None:
        """Begin a new game: nothing of the last one is kept."""
        self._last = None
        if self._thinker is not None:
            self._thinker.forget()

    # -- `go perft` ---------------------------------------------------------------------------------------------------

    def perft(self, go: Go) -> None:
        """Count the leaves of the tree of legal moves, with a line for each move."""
        depth = go.limits.perft or 0
        total = 1 if depth == 0 else 0
        for uci, move in sorted((go.position.uci(move), move) for move in go.position.legal_moves if depth):
            if go.stopped:
                return
            counted = _count(go, move, depth - 1)
            total += counted
            self._write(f"{uci}: {counted}")
        if not go.stopped:
            self._write("", f"Nodes searched: {total}")

    # -- `go` ---------------------------------------------------------------------------------------------------------

    def search(self, go: Go, *, debug: bool) -> None:
        """Search, and send the `bestmove` whatever happens."""
        if not go.position.legal_moves:
            self._tell_of_the_end(go)
            return
        answer: tuple[Move, ...] = ()
        try:
            answer = self._search(go, debug=debug)
        except SelfmateError as error:
            self._say(str(error))
        except Exception as error:  # a fault of ours, or no memory, must not cost the game
            traceback.print_exc()
            self._say(f"a fault inside: {type(error).__name__}: {error}")
            self._thinker = None
        if not answer:
            _wait_for_the_word(go)
            answer = _at_once(go).pv
        best, *reply = uci_line(go.position, answer[:2])
        go.answered = True
        self._write(f"bestmove {best} ponder {reply[0]}" if reply else f"bestmove {best}")

    def _tell_of_the_end(self, go: Go) -> None:
        outcome = go.position.outcome()
        score, reason = "cp 0", "no move"
        if outcome is not None:
            reason = outcome.reason
            if outcome.winner is not None:
                score = f"cp {centipawns(1.0)}" if outcome.winner == go.position.turn else "mate 0"
        self._say(f"the game is over ({reason}): there is no move")
        self._write(f"info depth 0 score {score}")
        _wait_for_the_word(go)
        go.answered = True
        self._write("bestmove (none)")

    def _search(self, go: Go, *, debug: bool) -> tuple[Move, ...]:
        """Search until it is time, and give the line that begins with the move to play."""
        settings, limits, position = go.settings, go.limits, go.position
        thinker = self.prepare(settings)
        level = None
        if settings.limit_strength and not settings.analyse:
            elo, levels = settings.elo, self._levels
            level = level_of(guess_dial(elo) if levels is None else levels.dial_of(elo))
        visits = limits.nodes or MAX_VISITS
        if level is not None:
            visits = min(visits, level.visits)
        # 1. While pondering the root is the position before the expected move, so that what is found out about the
        #    other moves is there if one of them is played.
        root, expected = position, None
        if limits.ponder and position.move_stack and not limits.moves:
            root = _core.Position(position)
            expected = root.undo()

        def begin(root: _core.Position, expected: Move | None) -> bool:
            contempt = 0 if settings.analyse else settings.contempt
            return thinker.begin(
                root,
                visits=visits if expected is None else MAX_VISITS,
                moves=limits.moves,
                draw_score=(contempt if expected is not None else -contempt) / 100,
                lcb=settings.final_choice == "lcb",
            )

        kept = begin(root, expected)
        pondering = limits.ponder
        pace = self._pace(go)
        since = go.began
        """When the clock that counts began to run."""
        told = since
        told_best: Move | None = None
        if debug:
            self._say(f"{'kept' if kept else 'no'} tree; {pace.planned if pace is not None else 'no clock'}")

        def until() -> float:
            """The last moment of the search, as far as it is known."""
            if pondering or limits.infinite:
                return float("inf")
            ends = [float("inf")]
            if limits.move_time is not None:
                ends.append(since + move_seconds(limits.move_time, settings.move_overhead))
            if pace is not None:
                ends.append(since + pace.planned.most)
            return min(ends)

        def interrupted() -> bool:
            return go.stopped or (pondering and go.hit_at is not None) or time.perf_counter() >= until()

        # 2. Think in short turns.
        while not go.stopped:
            now = time.perf_counter()
            if pondering and go.hit_at is not None:
                go.woken.clear()
                pondering, since = False, go.hit_at
                if expected is not None:
                    expected = None
                    begin(position, None)
            result = _of_moves(thinker.result(expected), limits.moves)
            idle = thinker.done or _is_exhausted(result)
            may_end = not pondering and not limits.is_endless
            if may_end and now >= until():
                break
            if result is not None:
                pause = TELL_AFTER if result.best != told_best else TELL_EVERY
                if now - told >= pause or (idle and told_best is None):
                    told, told_best = now, result.best
                    self._tell(go, result, thinker, statistics=settings.live)
                if may_end and (idle or self._is_over(go, result, pace)):
                    break
            if idle:  # nothing is left to do before the next word
                go.woken.wait()
                continue
            left = until() - time.perf_counter()
            thinker.go_on(min(TURN, max(left, 0.0005)), interrupted)
        # 3. Choose.
        thinker.stop()
        # Before a net has said a word, or when nothing is known of the expected move, the heuristic must do.
        found = thinker.result(expected)
        if found is None and thinker.player.evaluator != FALLBACK:
            self._say(f"no time for the net to answer: the move is that of {FALLBACK}")
        result = _of_moves(found or _at_once(go), limits.moves)
        assert result is not None
        self._tell(go, result, thinker, statistics=settings.verbose)
        self._last = (len(position.move_stack), result.value)
        chosen = result.moves[0] if level is None else level.choose(result)
        return chosen.pv

    def _is_over(self, go: Go, result: Result, pace: Pace | None) -> bool:
        """Whether the search has done what it was asked for, before its time is up."""
        limits = go.limits
        if limits.depth is not None and result.depth >= limits.depth:
            return True
        if limits.mate is not None and result.proven is not None and 0 < result.proven < 2 * limits.mate:
            return True
        if pace is None:
            return False
        # On a clock: what is proven is played; so is what no other move can overtake any more.
        if result.proven is not None:
            return True
        now = time.perf_counter()
        seconds = pace.seconds(result)
        # What was thought while pondering counts towards the plan.
        if now - go.began >= seconds:
            return True
        if pace.has_settled(result, float(go.settings.least_gain)):
            return True
        if result.seconds < SPEED_KNOWN:
            return False
        still = result.visits / result.seconds * (go.began + seconds - now)
        return clock.is_decided([move.visits for move in result.moves], still)

    def _pace(self, go: Go) -> Pace | None:
        """Plan the move, if there is a clock."""
        limits, position = go.limits, go.position
        times = (limits.white_time, limits.black_time) if position.turn else (limits.black_time, limits.white_time)
        remaining = times[0] if times[0] is not None else times[1]
        if remaining is None or limits.infinite:
            return None
        increment = limits.white_increment if position.turn else limits.black_increment
        planned = clock.budget(
            clock.Clock(remaining=remaining / 1000, increment=increment / 1000, moves_to_go=limits.moves_to_go),
            overhead=go.settings.move_overhead / 1000,
            legal_moves=len(limits.moves or position.legal_moves),
            phase=_phase(position),
            ponder=go.settings.ponder,
        )
        last = self._last
        follows = last is not None and last[0] + 2 == len(position.move_stack)
        return Pace(planned, last[1] if follows and last is not None else None)

    def _tell(self, go: Go, result: Result, thinker: Thinker, *, statistics: bool) -> None:
        """Send what is known."""
        best = [move for move in result.moves if move.visits or move.proven is not None][: go.settings.multipv]
        milliseconds = int(1000 * (time.perf_counter() - go.began))
        self._write(
            *info_lines(
                go.position,
                result,
                best or result.moves[:1],
                milliseconds=milliseconds,
                fullness=thinker.fullness,
                show_wdl=go.settings.show_wdl,
            ),
            *(move_statistics(go.position, result) if statistics else ()),
        )


def move_seconds(milliseconds: int, overhead: int) -> float:
    """Give the seconds of a fixed time for a move: less the overhead, but not less than most of it.

    >>> move_seconds(1000, 30), move_seconds(20, 30)
    (0.97, 0.016)
    """
    return (milliseconds - min(overhead, milliseconds // 5)) / 1000


def open_player(source: str | Path, backend: str) -> Player:
    """Open a net, or an evaluator of the core, on the backend that was chosen; `threads` of it are ours."""
    if backend == "cuda":
        return Player(str(source), device="cuda")
    return Player(str(source), threads=1, backend=backend)


def _computes(player: Player) -> str:
    """Say what computes, and why, where the choice was ours."""
    if isinstance(player.evaluator, str):
        return player.evaluator
    chosen = player.evaluator.chosen
    return f"{player.evaluator.name}{f'; auto: {chosen}' if chosen else ''}"


def _shipped(variant: str) -> Path | None:
    """Give the net that came with Selfmate for a variant, if there is one."""
    from selfmate.nn import shipped as nets

    return nets.find(variant)


def _phase(position: _core.Position) -> float:
    """Say how full the board is, 1 as at the start."""
    pieces = sum(letter.isalpha() for letter in position.board_fen())
    start = sum(letter.isalpha() for letter in _core.Position(position.variant).board_fen())
    return min(1.0, pieces / start)


def _of_moves(result: Result | None, moves: Sequence[Move]) -> Result | None:
    """Leave out what must not be considered; a tree that was kept knows of all moves."""
    if result is None or not moves:
        return result
    return replace(result, moves=tuple(move for move in result.moves if move.move in moves))


def _is_exhausted(result: Result | None) -> bool:
    """Whether every move is proven, so that nothing can change any more."""
    return result is not None and all(move.proven is not None for move in result.moves)


def _wait_for_the_word(go: Go) -> None:
    """Wait for `stop` (or `ponderhit`) where the answer must not come before it."""
    while not go.stopped and (go.limits.is_endless or (go.limits.ponder and go.hit_at is None)):
        go.woken.wait(1.0)


def _at_once(go: Go) -> Result:
    """Find a move without the evaluator that was asked for, in about a millisecond."""
    search = _core.Search(go.position, play_config(), 200, 0, list(go.limits.moves))
    search.run(FALLBACK)
    return result_of(search.result(), 0.0)


def _count(go: Go, move: Move, depth: int) -> int:
    """Count the leaves behind a move, reply by reply, so that `stop` is heard."""
    position = _core.Position(go.position)
    position.play(move)
    if depth < 4:
        return position.perft(depth)
    total = 0
    for reply in position.legal_moves:
        if go.stopped:
            break
        after = _core.Position(position)
        after.play(reply)
        total += after.perft(depth - 1, go.settings.threads)
    return total
