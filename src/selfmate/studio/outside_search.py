"""Outside engines at work: their moves in games, and their analysis of positions beside ours."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from selfmate._core import Move
from selfmate.app.marks import value_of_score
from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.match.spec import go_command
from selfmate.match.uci_client import EngineError, Interrupted, UciClient
from selfmate.match.uci_parse import EngineMove, EngineScore, is_main_line, line_number, parse_info
from selfmate.search.limit import Clock, Limit
from selfmate.studio.board_view import for_white, play_line, san_of_uci, start_position, wdl_for_white
from selfmate.studio.engine_move import MOST_SECONDS, ChosenMove
from selfmate.studio.messages import EngineLine, EngineUpdate, Event, Explanation, StartEngine
from selfmate.studio.outside_engine import OutsideEngine, open_engine
from selfmate.studio.page_worker import PageWorker
from selfmate.studio.players import PlayerCatalog

__all__ = ["EngineSearcher", "EngineWorker"]

LIMITED_SECONDS: Final = 1.0
"""Time for a move of an engine whose strength is limited by its own option, and for a hint."""
UPDATE_SECONDS: Final = 0.2
MOST_ANALYSIS_SECONDS: Final = 300.0


class EngineSearcher:
    """The moves of an outside engine in one game: by its own rating if `elo` is given, else `nodes` for a move."""

    def __init__(self, engine: OutsideEngine, variant: str, *, nodes: int, elo: int | None) -> None:
        self.name = engine.name
        self._engine = engine
        self._variant = variant
        self._nodes = nodes
        self._elo = elo
        self._client: UciClient | None = None
        self._stopped: Callable[[], bool] = lambda: False
        self._searching = threading.RLock()
        """Held by a search: one that was stopped may not have ended when the next one begins."""

    def release(self) -> None:
        """End the process; the next search starts another. A search that runs is waited for."""
        with self._searching:
            if self._client is not None:
                self._client.close()
                self._client = None

    def check(self) -> None:
        """Start the process; raises a `SelfmateError` if it does not play the variant."""
        self._open(lambda: False)

    def choose(self, position: Position, clock: Clock | None, stopped: Callable[[], bool]) -> ChosenMove | None:
        """Return the move of the engine; None if it was stopped. An illegal one raises `EngineError`."""
        limit = Limit(nodes=self._nodes, seconds=MOST_SECONDS)
        if clock is not None:
            limit = Limit(clock=clock)
        elif self._elo is not None:
            limit = Limit(seconds=LIMITED_SECONDS)
        reply = self._search(position, limit, stopped)
        if reply is None:
            return None
        try:
            move = position.parse_uci(reply.move)
        except SelfmateError:
            raise EngineError(f"{self.name} wants to play {reply.move!r}, which is not legal", reply.move) from None
        value = 0.0 if reply.score is None else value_of_score(reply.score.centipawns)
        return ChosenMove(position.uci(move), _explain(position, move, reply, value), value)

    def hint(self, position: Position, stopped: Callable[[], bool]) -> tuple[Move, str] | None:
        """Return the move of the engine at full strength, and a sentence on it; None if it was stopped."""
        with self._searching:
            client = self._open(stopped)
            if self._elo is not None:
                client.set_option("UCI_LimitStrength", "false")
            reply = self._search(position, Limit(seconds=LIMITED_SECONDS), stopped)
            if self._elo is not None and self._client is not None:
                self._client.set_option("UCI_LimitStrength", "true")
        if reply is None:
            return None
        line = " ".join(san_of_uci(position, reply.pv or (reply.move,), 5))
        score = "" if reply.score is None else f", {reply.score} for you"
        return position.parse_uci(reply.move), f"{line}{score}"

    def _search(self, position: Position, limit: Limit, stopped: Callable[[], bool]) -> EngineMove | None:
        with self._searching:
            return self._search_now(position, limit, stopped)

    def _search_now(self, position: Position, limit: Limit, stopped: Callable[[], bool]) -> EngineMove | None:
        client = self._open(stopped)
        clocks = (0.0, 0.0) if limit.clock is None else (limit.clock.remaining, limit.clock.remaining)
        seconds = limit.seconds if limit.clock is None else limit.clock.remaining
        start, moves = _line_to(position)
        try:
            return client.search(start, moves, go_command(limit, clocks), seconds=seconds or MOST_SECONDS)
        except Interrupted:
            self._end()
            return None
        except EngineError:
            self._end()
            raise

    def _open(self, stopped: Callable[[], bool]) -> UciClient:
        self._stopped = stopped
        if self._client is None or not self._client.is_running:
            self._client = open_engine(self._engine, lambda: self._stopped())
            try:
                self._client.set_variant(self._variant)
                if self._elo is not None:
                    self._client.set_option("UCI_LimitStrength", "true")
                    self._client.set_option("UCI_Elo", str(self._elo))
                self._client.new_game()
            except (EngineError, Interrupted):
                self._end()
                raise
        return self._client

    def _end(self) -> None:
        if self._client is not None:
            self._client.kill()
            self._client = None


def _line_to(position: Position) -> tuple[str, list[str]]:
    """Return the FEN of the start of a game and its moves in UCI notation."""
    place = position.copy()
    moves = list(place.move_stack)
    for _ in moves:
        place.undo()
    start, line = place.fen(), []
    for move in moves:
        line.append(place.uci(move))
        place.play(move)
    return start, line


def _explain(position: Position, move: Move, reply: EngineMove, value: float) -> Explanation:
    line = san_of_uci(position, reply.pv, 7) or [position.san(move)]
    words = [] if reply.score is None else [f"{reply.score} for itself"]
    words += [] if reply.depth is None else [f"depth {reply.depth}"]
    text = f"{position.san(move)}: {', '.join(words)}" if words else position.san(move)
    text += f"; the answer it expects is {line[1]}." if len(line) > 1 else "."
    win = (1 + value) / 2
    return Explanation(
        ply=len(position.move_stack),
        text=text,
        line=line,
        wdl=wdl_for_white((win, 0.0, 1 - win), position.turn),
        value=for_white(value, position.turn),
        visits=reply.nodes or 0,
    )


class EngineWorker(PageWorker):
    """The analysis of one outside engine at a time for a page; its process is kept for the next for a while."""

    def __init__(self, catalog: PlayerCatalog, send: Callable[[Event], None]) -> None:
        super().__init__(send)
        self._catalog = catalog
        self._client: tuple[str, UciClient] | None = None

    def start(self, request: StartEngine) -> None:
        """Replace the present analysis by another; raises a `SelfmateError` for what cannot be analysed."""
        engine = self._catalog.engine(request.engine)
        position = start_position(request.variant, request.fen)
        start = position.fen()
        play_line(position, request.moves)
        if position.outcome() is not None:
            raise SelfmateError("the game is over in this position")
        self._begin(lambda stop: self._analyse(request, engine, start, position, stop), request.ask)

    def _analyse(
        self, request: StartEngine, engine: OutsideEngine, start: str, position: Position, stop: threading.Event
    ) -> None:
        if stop.is_set():
            return
        try:
            client = self._open(engine)
            client.set_variant(request.variant)
            if "multipv" in client.options:
                client.set_option("MultiPV", str(request.lines))
            seconds = min(MOST_ANALYSIS_SECONDS, request.seconds or MOST_ANALYSIS_SECONDS)
            began, sent = time.monotonic(), 0.0
            lines: dict[int, EngineMove] = {}
            for text in client.analyse(start, request.moves, seconds=seconds, stopped=stop.is_set):
                if " score " not in text or " pv " not in text or not is_main_line(_as_first(text)):
                    continue
                now = time.monotonic()
                lines[line_number(text)] = parse_info(text, "", now - began, late=False)
                if now - sent >= UPDATE_SECONDS:
                    self._send(_update(request, engine, position, lines, now - began, done=False))
                    sent = now
            if not stop.is_set():
                self._send(_update(request, engine, position, lines, time.monotonic() - began, done=True))
        except EngineError:
            self._release()
            raise

    def _open(self, engine: OutsideEngine) -> UciClient:
        if self._client is None or self._client[0] != engine.id or not self._client[1].is_running:
            self._release()
            self._client = engine.id, open_engine(engine)
        return self._client[1]

    def _release(self) -> None:
        """End the process."""
        if self._client is not None:
            self._client[1].close()
            self._client = None


def _as_first(text: str) -> str:
    """Return an `info` line as if it were about the first of several lines."""
    number = line_number(text)
    return text.replace(f" multipv {number} ", " multipv 1 ", 1)


def _update(
    request: StartEngine, engine: OutsideEngine, position: Position, lines: dict[int, EngineMove], seconds: float,
    *, done: bool,
) -> EngineUpdate:  # fmt: skip
    shown = [lines[number] for number in sorted(lines) if number <= request.lines]
    found: list[EngineLine] = []
    for line in shown:
        words = san_of_uci(position, line.pv, 10)
        score = line.score or EngineScore(cp=0)
        if words:
            found.append(
                EngineLine(
                    uci=line.pv[0],
                    score=str(score if position.turn else -score),
                    value=for_white(value_of_score(score.centipawns), position.turn),
                    pv=words,
                )
            )
    return EngineUpdate(
        ask=request.ask,
        engine=engine.id,
        name=engine.title,
        fen=position.fen(),
        depth=max((line.depth or 0 for line in shown), default=0),
        nodes=max((line.nodes or 0 for line in shown), default=0),
        seconds=round(seconds, 2),
        lines=found,
        done=done,
    )
