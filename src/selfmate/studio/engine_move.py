"""The moves of a player in a game: a search by visits or by the clock, the choice, and one sentence on it.

Functions here run in worker threads; `stopped` ends a search early.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from selfmate._core import Move, SearchResult
from selfmate.app.notation import describe_proof
from selfmate.board.position import Position
from selfmate.errors import PlayerError
from selfmate.search.config import play_config
from selfmate.search.limit import Clock, Limit
from selfmate.search.player import Player
from selfmate.search.result import MoveResult, Result
from selfmate.search.spec import RANDOM
from selfmate.search.strength import Strength
from selfmate.search.tree_session import TreeSession
from selfmate.studio.board_view import for_white, san_words, wdl_for_white
from selfmate.studio.messages import Explanation
from selfmate.studio.players import GameStrength
from selfmate.uci.time_manager import Progress, TimeManager, budget

__all__ = ["AbsentSearcher", "ChosenMove", "GameSearcher", "MoveSearcher", "accepts_draw", "hint_text"]

VARIED_PLIES: Final = 6
"""Plies at the start of a game in which the search has noise, so that games differ (as in `selfmate play`)."""
OVERHEAD_SECONDS: Final = 0.1
"""Time that a message and a busy machine may take, of every move on a clock."""
MOST_SECONDS: Final = 20.0
"""Longest search of a move without a clock: a limit by visits on a slow machine must end, too."""
MEMORY_BYTES: Final = 48 << 20
"""Memory of the tree and the cache of one game."""
CHECK_SECONDS: Final = 0.02
"""Time between two looks at the figures of a search on a clock."""
DRAW_VALUE: Final = 0.05
"""A draw offer is accepted by a player whose expectation is at most this."""


@dataclass(frozen=True, slots=True)
class ChosenMove:
    """A move that a player chose, with the search behind it (None for random moves)."""

    uci: str
    explanation: Explanation | None
    value: float
    """For the side that moves."""


class MoveSearcher(Protocol):
    """What chooses the moves of an opponent in one game."""

    name: str

    def choose(self, position: Position, clock: Clock | None, stopped: Callable[[], bool]) -> ChosenMove | None:
        """Return the move to play; None if it was stopped before there was one."""

    def hint(self, position: Position, stopped: Callable[[], bool]) -> tuple[Move, str] | None:
        """Return a good move and a sentence on it; None if there is none."""

    def release(self) -> None:
        """Free what the next search can make again. A search that runs is waited for."""


class GameSearcher:
    """Searches the positions of one game with one tree.

    `open_player` is called again after `release`: a game that rests keeps no net in memory.
    """

    def __init__(self, open_player: Callable[[], Player], skill: GameStrength) -> None:
        player = open_player()
        self.name = player.name
        self.skill = skill
        self._open_player = open_player
        self._is_random = player.evaluator == RANDOM
        self._kept: TreeSession | None = None
        self._searching = threading.Lock()
        """Held by a search: one that was stopped may not have ended when the next one begins."""

    def release(self) -> None:
        """Free the tree; the next search begins with a new one. A search that runs is waited for."""
        with self._searching:
            self._kept = None

    @property
    def _session(self) -> TreeSession | None:
        if self._kept is None and not self._is_random:
            self._kept = TreeSession(self._open_player().evaluator, memory=MEMORY_BYTES)
        return self._kept

    def choose(self, position: Position, clock: Clock | None, stopped: Callable[[], bool]) -> ChosenMove | None:
        """Search a position and return the move to play; None if it was stopped before the first evaluation."""
        if self._is_random:
            move = random.choice(position.legal_moves)
            return ChosenMove(position.uci(move), None, 0.0)
        with self._searching:
            result = self._search(position, clock, stopped)
        if result is None:
            return None
        chosen = Strength(self.skill.visits, self.skill.temperature).choose(result)
        return ChosenMove(position.uci(chosen.move), _explain(position, result, chosen), chosen.value)

    def hint(self, position: Position, stopped: Callable[[], bool]) -> tuple[Move, str] | None:
        """Return a good move and a sentence on it, at full strength whatever the skill."""
        with self._searching:
            session = self._session
            if session is None:
                return None
            session.begin(position, Limit(visits=max(400, self.skill.visits), seconds=2.0))
            for _ in session.steps(stopped):
                pass
            session.stop()
            result = session.result()
        return None if result is None else (result.best, hint_text(position, result))

    def _search(self, position: Position, clock: Clock | None, stopped: Callable[[], bool]) -> Result | None:
        session = self._session
        assert session is not None
        ply = len(position.move_stack)
        limit = Limit(visits=self.skill.visits, seconds=MOST_SECONDS)
        session.begin(position, limit, config=play_config(noise=ply < VARIED_PLIES), seed=random.getrandbits(32))
        manager = None
        if clock is not None:
            planned = budget(clock, overhead=OVERHEAD_SECONDS, legal_moves=len(position.legal_moves))
            manager = TimeManager(planned)
        began = looked = time.perf_counter()
        for _ in session.steps(stopped):
            now = time.perf_counter()
            if manager is not None and now - looked >= CHECK_SECONDS:
                looked = now
                found = session.snapshot()
                if found is not None and manager.should_stop(
                    _progress(found, session.visits, now - began), now - began
                ):
                    break
        session.stop()
        return session.result()


class AbsentSearcher:
    """The opponent of a game that was kept, if it is not here any more: the game can be seen, but not go on."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = reason

    def choose(self, position: Position, clock: Clock | None, stopped: Callable[[], bool]) -> ChosenMove | None:
        """Raise the reason."""
        raise PlayerError(self._reason, self.name)

    def hint(self, position: Position, stopped: Callable[[], bool]) -> tuple[Move, str] | None:
        """Return None: there is no hint."""
        return None

    def release(self) -> None:
        """Do nothing."""


def _progress(found: SearchResult, visits: int, seconds: float) -> Progress:
    moves = {each.move: each.visits for each in found.moves}
    return Progress(
        best=found.best,
        value=found.value,
        is_proven=found.proven is not None,
        visits=visits,
        seconds=seconds,
        move_visits=moves,
    )


def _explain(position: Position, result: Result, chosen: MoveResult) -> Explanation:
    line = san_words(position, chosen.pv or (chosen.move,), 7)
    total = sum(each.visits for each in result.moves) or 1
    if chosen.proven is not None:
        reason = f"{line[0]}: it {describe_proof(chosen.proven, 'move')}, whatever the answer."
    elif chosen.move == result.best:
        reason = f"{line[0]} had {100 * chosen.visits / total:.0f} % of {total:,} visits"
        reason += f"; the answer it expects is {line[1]}." if len(line) > 1 else "."
    else:
        best = position.san(result.best)
        reason = f"{line[0]}, drawn at random among its moves; at full strength it prefers {best}."
    return Explanation(
        ply=len(position.move_stack),
        text=reason,
        line=line,
        wdl=wdl_for_white(result.wdl, position.turn),
        value=for_white(result.value, position.turn),
        visits=result.visits,
    )


def hint_text(position: Position, result: Result) -> str:
    """Return a sentence on the best move of a search."""
    line = " ".join(san_words(position, result.pv, 5))
    if result.proven is not None and result.proven > 0:
        return f"{line}: {describe_proof(result.proven, 'move')}"
    value = f"{result.value:+.2f}".replace("-", "\N{MINUS SIGN}")
    return f"{line}, value {value} for you"


def accepts_draw(value: float, plies: int) -> bool:
    """Return whether a player whose last value was `value`, for itself, takes a draw; not in the first moves.

    >>> accepts_draw(-0.3, 40), accepts_draw(0.4, 40), accepts_draw(-0.3, 4)
    (True, False, False)
    """
    return plies >= 20 and value <= DRAW_VALUE
