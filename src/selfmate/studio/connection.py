"""A page that is connected: its requests are answered, and what it follows is sent to it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from selfmate.errors import SelfmateError
from selfmate.studio import messages
from selfmate.studio.analysis import AnalysisWorker
from selfmate.studio.inside import look_inside
from selfmate.studio.messages import Event, Failure, GameView, Request, decode_request, encode_event
from selfmate.studio.outside_search import EngineWorker
from selfmate.studio.playouts import trace_playouts
from selfmate.studio.run_games import judge_game, run_games
from selfmate.studio.study import load_pgn, position_view, save_pgn

if TYPE_CHECKING:
    from selfmate.studio.state import Studio

__all__ = ["Connection", "Outbox", "RateLimit"]

MOST_WAITING: Final = 200
"""Messages that wait for a page which does not read them; then it is disconnected."""
MOST_FOLLOWED: Final = 20
"""Games that one page follows."""
RECIPES_LATER_SECONDS: Final = 0.5
"""Time between the first welcome of a server and the reading of the recipes: the first board comes before."""
REQUESTS_PER_SECOND: Final = 60
BURST: Final = 300
log = logging.getLogger("selfmate.studio")


class Outbox:
    """Messages that wait to be sent. Of those with the same key only the newest waits: a slow page skips frames."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[object, Event] = OrderedDict()
        self._ready = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.is_full = False

    def put(self, event: Event, key: object = None) -> None:
        """Add a message, in the event loop; one with a key replaces the waiting one of that key."""
        if len(self._waiting) >= MOST_WAITING:
            self.is_full = True
        else:
            self._waiting[key if key is not None else object()] = event
        self._ready.set()

    def put_from_thread(self, event: Event, key: object = None) -> None:
        """Add a message from any thread; after the loop has ended, nothing happens."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.put, event, key)

    async def get(self) -> Event:
        """Return the next message, once there is one."""
        while not self._waiting:
            self._ready.clear()
            await self._ready.wait()
        return self._waiting.popitem(last=False)[1]


class RateLimit:
    """A bucket of `burst` requests that fills with `rate` a second.

    >>> seconds = [0.0]
    >>> limit = RateLimit(rate=1, burst=2, now=lambda: seconds[0])
    >>> limit.allows(), limit.allows(), limit.allows()
    (True, True, False)
    """

    def __init__(self, rate: float, burst: float, now: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._now = rate, burst, now
        self._left, self._at = burst, now()

    def allows(self) -> bool:
        """Take one request from the bucket, and return whether it had one."""
        now = self._now()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Connection:
    """One page. `run` returns when it has left; its searches are stopped then."""

    def __init__(self, studio: Studio, socket: WebSocket) -> None:
        self._studio = studio
        self._socket = socket
        self._outbox = Outbox()
        self._limit = RateLimit(REQUESTS_PER_SECOND, BURST)
        self._followed: set[str] = set()
        self._mark = object()
        """Stands for this page in the games that it starts, which outlive it."""
        self._analysis = AnalysisWorker(studio.catalog, self._send_analysis)
        self._engine = EngineWorker(studio.catalog, self._send_analysis)
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_left = threading.Event()
        self._one_at_a_time = asyncio.Lock()

    async def run(self) -> None:
        """Answer requests until the page leaves."""
        await self._socket.accept()
        sender = asyncio.create_task(self._send_all())
        try:
            while True:
                text = await self._socket.receive_text()
                if not self._limit.allows():
                    await self._socket.close(1008, "too many requests")
                    break
                self._take(text)
        except (WebSocketDisconnect, KeyError):  # KeyError: a binary frame, which has no text
            pass
        finally:
            self._has_left.set()
            sender.cancel()
            for task in self._tasks:
                task.cancel()
            self._analysis.close()
            self._engine.close()
            self._studio.extra.unfollow(self._send_install)
            self._studio.runs.unfollow(self.send_run)
            self._studio.matches.unfollow(self._outbox_match)
            for game_id in self._followed:
                self._studio.games.leave(game_id, self._send_game)

    # -- out ----------------------------------------------------------------------------------------------------------

    async def _send_all(self) -> None:
        try:
            while not self._outbox.is_full:
                await self._socket.send_text(encode_event(await self._outbox.get()).decode())
            await self._socket.close(1008, "the page does not read what it asked for")
        except (WebSocketDisconnect, RuntimeError):  # closed meanwhile
            pass

    def _send_game(self, view: GameView) -> None:
        self._outbox.put(view, ("game", view.id, len(view.moves)))  # every move is shown, also one answered at once

    def _send_analysis(self, event: Event) -> None:
        streams = messages.AnalysisUpdate | messages.EngineUpdate
        key = ("analysis", event.ask) if isinstance(event, streams) else None
        self._outbox.put_from_thread(event, key)

    def send_run(self, event: Event) -> None:
        """Send a list of runs or a run; a newer one replaces one that waits."""
        self._outbox.put(event, type(event))

    # -- in -----------------------------------------------------------------------------------------------------------

    def _take(self, text: str) -> None:
        try:
            request = decode_request(text)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            self._outbox.put(messages.refusal(text, error))
            return
        task = asyncio.create_task(self._answer(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, request: Request) -> None:
        handler: Callable[[Any], Awaitable[Event | None]] = getattr(self, HANDLERS[type(request)])
        try:
            if isinstance(request, messages.GameRequest):
                await self._studio.games.restore(request.id)
            answer = await handler(request)
        except SelfmateError as error:
            answer = messages.failure(request.ask, str(error))
        except OSError as error:
            answer = messages.failure(request.ask, error.strerror or "a file could not be used")
        except Exception:
            log.exception("a request failed: %s", type(request).__name__)
            answer = Failure(ask=request.ask, message="The server could not do this; its terminal says why.")
        if answer is not None:
            self._outbox.put(answer)

    async def _hello(self, request: messages.Hello) -> Event | None:
        """Answer at once; if the recipes were not read yet, send a second welcome with them once they are."""
        self._outbox.put(await asyncio.to_thread(self._studio.welcome, request.ask))
        if not self._studio.knows_recipes:
            await asyncio.sleep(RECIPES_LATER_SECONDS)
            await asyncio.to_thread(self._studio.read_recipes)
            return await asyncio.to_thread(self._studio.welcome, 0)
        return None

    async def _new_game(self, request: messages.NewGame) -> Event:
        table = await self._studio.games.new(request, self._mark)
        self._follow(table.id)
        return table.view(request.ask)

    async def _open_game(self, request: messages.OpenGame) -> Event:
        self._follow(request.id)
        return self._studio.games.table(request.id).view(request.ask)

    async def _leave_game(self, request: messages.LeaveGame) -> None:
        self._followed.discard(request.id)
        self._studio.games.leave(request.id, self._send_game)

    async def _move(self, request: messages.PlayMove) -> None:
        self._studio.games.move(request.id, request.ply, request.uci)

    async def _take_back(self, request: messages.TakeBack) -> None:
        self._studio.games.take_back(request.id)

    async def _resign(self, request: messages.ResignGame) -> None:
        self._studio.games.resign(request.id)

    async def _draw(self, request: messages.OfferDraw) -> None:
        self._studio.games.offer_draw(request.id)

    async def _rematch(self, request: messages.Rematch) -> Event:
        table = await self._studio.games.rematch(request.id, self._mark)
        self._follow(table.id)
        return table.view(request.ask)

    async def _hint(self, request: messages.AskHint) -> Event:
        return await self._studio.games.hint(request.id, request.ask)

    async def _list_games(self, request: messages.ListGames) -> Event:
        return messages.GameList(ask=request.ask, games=self._studio.games.cards()[:30])

    async def _game_pgn(self, request: messages.AskGamePgn) -> Event:
        return messages.PgnText(ask=request.ask, text=self._studio.games.pgn(request.id))

    async def _position(self, request: messages.AskPosition) -> Event:
        return position_view(request)

    async def _start_analysis(self, request: messages.StartAnalysis) -> None:
        self._analysis.start(request)

    async def _playouts(self, request: messages.StepPlayouts) -> Event:
        return await self._in_thread(trace_playouts, self._studio.catalog, request, self._has_left.is_set)

    async def _look_inside(self, request: messages.LookInside) -> Event:
        return await self._in_thread(look_inside, self._studio.catalog, request)

    async def _stop_analysis(self, request: messages.StopAnalysis) -> None:
        self._analysis.stop()

    async def _start_engine(self, request: messages.StartEngine) -> None:
        self._engine.start(request)

    async def _stop_engine(self, request: messages.StopEngine) -> None:
        self._engine.stop()

    async def _review(self, request: messages.ReviewGame) -> None:
        self._analysis.review(request)

    async def _load_pgn(self, request: messages.LoadPgn) -> Event:
        return await self._in_thread(load_pgn, request)

    async def _save_pgn(self, request: messages.SavePgn) -> Event:
        return await self._in_thread(save_pgn, request)

    async def _list_runs(self, request: messages.ListRuns) -> Event:
        return await self._studio.runs.follow_list(self.send_run, request.ask)

    async def _watch_run(self, request: messages.WatchRun) -> Event | None:
        return await self._studio.runs.follow_run(request.id, self.send_run, request.ask)

    async def _look_at_run(self, request: messages.LookAtRun) -> Event:
        return await self._studio.runs.look(request.id, request.ask)

    async def _run_games(self, request: messages.AskRunGames) -> Event:
        directory = self._studio.runs.files(request.id).directory
        return await self._in_thread(run_games, directory, request)

    async def _judge(self, request: messages.AskJudgement) -> Event:
        directory = self._studio.runs.files(request.id).directory
        return await self._in_thread(judge_game, self._studio.catalog, directory, request)

    async def _probes(self, request: messages.AskProbes) -> Event:
        return await self._studio.runs.probes(request)

    async def _start_run(self, request: messages.StartRun) -> Event:
        return await self._studio.runs.start(request)

    async def _stop_run(self, request: messages.StopRun) -> None:
        await self._studio.runs.stop(request.id, pause=request.pause)

    async def _install(self, request: messages.InstallTraining) -> None:
        self._studio.extra.install(self._send_install)

    def _send_install(self, event: messages.InstallProgress) -> None:
        self._outbox.put_from_thread(event, messages.InstallProgress)

    async def _recipe(self, request: messages.AskRecipe) -> Event:
        from selfmate.studio.recipes import recipe_form  # slow to import, and not needed to play

        return await self._in_thread(recipe_form, request)

    async def _start_match(self, request: messages.StartMatch) -> Event:
        return await self._studio.matches.start(request, self._outbox_match)

    async def _watch_match(self, request: messages.WatchMatch) -> Event | None:
        return self._studio.matches.follow(request.id, self._outbox_match, request.ask)

    async def _stop_match(self, request: messages.StopMatch) -> None:
        self._studio.matches.stop(request.id)

    async def _match_games(self, request: messages.AskMatchGames) -> Event:
        return await self._in_thread(self._studio.matches.games, request.id, request.ask)

    async def _match_table(self, request: messages.AskMatchTable) -> Event:
        return self._studio.matches.table(request.variant, request.ask)

    def _outbox_match(self, view: messages.MatchView) -> None:
        self._outbox.put_from_thread(view, ("match", view.id))

    async def _nets(self, request: messages.AskNets) -> Event:
        return await self._in_thread(self._studio.nets, request)

    async def _in_thread(self, work: Callable[..., Event], *arguments: Any) -> Event:
        """Answer a request that takes long, one at a time for each page: its others wait, other pages do not."""
        async with self._one_at_a_time:
            return await asyncio.to_thread(work, *arguments)

    def _follow(self, game_id: str) -> None:
        if len(self._followed) >= MOST_FOLLOWED:
            oldest = next(iter(self._followed))
            self._followed.discard(oldest)
            self._studio.games.leave(oldest, self._send_game)
        self._studio.games.follow(game_id, self._send_game)
        self._followed.add(game_id)


HANDLERS: Final[dict[type[Request], str]] = {
    messages.Hello: "_hello",
    messages.NewGame: "_new_game",
    messages.OpenGame: "_open_game",
    messages.LeaveGame: "_leave_game",
    messages.PlayMove: "_move",
    messages.TakeBack: "_take_back",
    messages.ResignGame: "_resign",
    messages.OfferDraw: "_draw",
    messages.Rematch: "_rematch",
    messages.AskHint: "_hint",
    messages.ListGames: "_list_games",
    messages.AskGamePgn: "_game_pgn",
    messages.AskPosition: "_position",
    messages.StartAnalysis: "_start_analysis",
    messages.StepPlayouts: "_playouts",
    messages.LookInside: "_look_inside",
    messages.StopAnalysis: "_stop_analysis",
    messages.StartEngine: "_start_engine",
    messages.StopEngine: "_stop_engine",
    messages.ReviewGame: "_review",
    messages.LoadPgn: "_load_pgn",
    messages.SavePgn: "_save_pgn",
    messages.ListRuns: "_list_runs",
    messages.WatchRun: "_watch_run",
    messages.LookAtRun: "_look_at_run",
    messages.StartRun: "_start_run",
    messages.StopRun: "_stop_run",
    messages.InstallTraining: "_install",
    messages.AskRecipe: "_recipe",
    messages.StartMatch: "_start_match",
    messages.WatchMatch: "_watch_match",
    messages.StopMatch: "_stop_match",
    messages.AskNets: "_nets",
    messages.AskRunGames: "_run_games",
    messages.AskJudgement: "_judge",
    messages.AskProbes: "_probes",
    messages.AskMatchGames: "_match_games",
    messages.AskMatchTable: "_match_table",
}
"""The method that answers each request."""
