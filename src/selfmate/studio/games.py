"""The games of the server: new games, moves of the user and of the players, clocks, and connections that follow.

Everything runs in the event loop but the searches, which run in worker threads. A game stays in memory while the server
runs, so that a page that is loaded again finds it; the oldest ones make room for new ones. Files keep the games that
changed last (`kept_games`), and a game of an earlier server is restored when a page asks for it.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.search.limit import Clock
from selfmate.search.player import Player
from selfmate.studio.board_view import start_position
from selfmate.studio.engine_move import AbsentSearcher, ChosenMove, GameSearcher, MoveSearcher, accepts_draw
from selfmate.studio.game_files import GameFiles
from selfmate.studio.game_table import Follower, Table, check_room, next_to_drop
from selfmate.studio.kept_games import KeptGames
from selfmate.studio.kept_trees import KeptTrees
from selfmate.studio.live_game import GameOver, LiveGame
from selfmate.studio.messages import (
    Color,
    Failure,
    GameCard,
    HintFound,
    NewGame,
    TimeControl,
    failure,
)
from selfmate.studio.outside_engine import ENGINE_PREFIX
from selfmate.studio.outside_search import EngineSearcher
from selfmate.studio.players import GameStrength, PlayerCatalog

__all__ = ["Games", "UnknownGame"]

MOST_GAMES: Final = 500
WORKERS: Final = 8
"""Threads that search for games; more moves than that wait for one."""
log = logging.getLogger("selfmate.studio")


class UnknownGame(SelfmateError):
    """The id of a game that the server does not have."""


class Games:
    """All games of the server. `folder` keeps them; None: they end with the server."""

    def __init__(self, catalog: PlayerCatalog, folder: Path | None = None) -> None:
        self._catalog = catalog
        self._kept = None if folder is None else KeptGames(GameFiles(folder), self._cannot_keep)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tables: OrderedDict[str, Table] = OrderedDict()
        self._workers = ThreadPoolExecutor(WORKERS, "game")
        self._tasks: set[asyncio.Task[None]] = set()
        self._trees = KeptTrees(self._workers)

    async def begin(self) -> None:
        """Read the games of an earlier server."""
        self._loop = asyncio.get_running_loop()
        if self._kept is not None:
            await asyncio.to_thread(self._kept.load)

    # -- requests -----------------------------------------------------------------------------------------------------

    async def new(self, request: NewGame, page: object = None) -> Table:
        """Start a game of a page; raises a `SelfmateError` for a position or player that there is not.

        A page with too many unfinished games gets `TooManyGames`.
        """
        check_room(self._tables.values(), page)
        variant = request.variant
        number = request.chess960
        if variant.endswith("960") and request.fen is None and number is None:
            number = secrets.randbelow(960)
        start = start_position(variant, request.fen, number)
        if start.outcome() is not None:
            raise GameOver("in this position the game is over already")
        color: Color = random.choice(("white", "black")) if request.color == "random" else request.color
        player_id = request.player or self._catalog.default(variant)
        return await self._begin(start, variant, color, player_id, request.elo, request.visits, request.clock, page)

    async def rematch(self, game_id: str, page: object = None) -> Table:
        """Start the same game with the other colour, once; asked again, return that game."""
        old = self.table(game_id)
        if old.rematch is not None and old.rematch in self._tables:
            return self._tables[old.rematch]
        check_room(self._tables.values(), page)
        game = old.game
        searcher = await self._in_thread(lambda: self._searcher(old.player, old.variant, old.skill))
        if old.rematch is not None and old.rematch in self._tables:  # asked for twice at the same time
            return self._tables[old.rematch]
        color: Color = "black" if game.you == "white" else "white"
        table = self._add(
            LiveGame(game.start, you=color, control=game.control),
            old.variant,
            old.player,
            old.skill,
            searcher,
            page=page,
        )
        old.rematch = table.id
        self._changed(old)
        self._go_on(table)
        return table

    def table(self, game_id: str) -> Table:
        """Return a game by its id, or raise `UnknownGame`."""
        found = self._tables.get(game_id)
        if found is None:
            raise UnknownGame("this game is not on the server any more: start a new one", game_id)
        return found

    def cards(self) -> list[GameCard]:
        """List the games, the newest first, then those of earlier servers."""
        cards = [table.card() for table in reversed(self._tables.values())]
        kept = [] if self._kept is None else self._kept.newest_first()
        return cards + [game.card for game in kept if game.card.id not in self._tables]

    def follow(self, game_id: str, follower: Follower) -> Table:
        """Call `follower` with the game after each change."""
        table = self.table(game_id)
        table.followers.add(follower)
        return table

    def leave(self, game_id: str, follower: Follower) -> None:
        """Call `follower` no longer; a game that there is not is left already."""
        if (table := self._tables.get(game_id)) is not None and follower in table.followers:
            table.followers.discard(follower)
            self._trees.free_unused(table)

    def move(self, game_id: str, ply: int, uci: str) -> None:
        """Play a move of the user. A move for another ply than the present one is refused."""
        table = self.table(game_id)
        game = table.game
        if game.check_clock():
            self._changed(table)
        if ply != len(game.moves) or game.turn != game.you:
            raise GameOver("it is not your turn" if ply == len(game.moves) else "the game has gone on meanwhile")
        game.play(uci)
        table.notice = ""
        self._go_on(table)

    def take_back(self, game_id: str) -> None:
        """Take the last move of the user back."""
        table = self.table(game_id)
        table.game.take_back()
        table.explanation, table.notice = None, ""
        self._go_on(table)

    def resign(self, game_id: str) -> None:
        """Give up a game for the user."""
        table = self.table(game_id)
        table.game.resign(table.game.you)
        self._go_on(table)

    def offer_draw(self, game_id: str) -> None:
        """Offer a draw to the player, which answers at once by the value of its last search."""
        table = self.table(game_id)
        game = table.game
        if game.is_over:
            raise GameOver("the game is over")
        if accepts_draw(table.opponent_value, len(game.moves)):
            game.agree_draw()
            self._go_on(table)
            return
        early = len(game.moves) < 20
        table.notice = "Draw declined: it is too early." if early else "Draw declined: it hopes for more."
        self._changed(table)

    async def hint(self, game_id: str, ask: int) -> HintFound | Failure:
        """Return what the opponent would play for the user."""
        table = self.table(game_id)
        game = table.game
        if game.is_over or game.turn != game.you:
            raise GameOver("a hint is for your own move")
        number = table.search_number = table.search_number + 1
        position, ply = game.position.copy(), len(game.moves)
        found = await self._in_thread(lambda: table.searcher.hint(position, lambda: table.search_number != number))
        self._trees.keep(table)
        if found is None:
            return failure(ask, f"{table.searcher.name} has no hint")
        move, text = found
        return HintFound(ask=ask, id=game_id, ply=ply, uci=position.uci(move), san=position.san(move), text=text)

    def pgn(self, game_id: str) -> str:
        """Return a game as PGN."""
        table = self.table(game_id)
        names: dict[Color, str] = {"white": "You", "black": "You"}
        names["black" if table.game.you == "white" else "white"] = f"{table.searcher.name} ({table.skill.text})"
        return table.game.game(names).pgn()

    async def close(self) -> None:
        """Stop all searches."""
        for table in self._tables.values():
            table.search_number += 1
            if table.flag is not None:
                table.flag.cancel()
            self._keep(table)  # with what the clocks show now
        self._trees.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        """Wait for the searches, which end soon, free what they used, and wait until all games are written."""
        self._workers.shutdown(wait=True, cancel_futures=True)
        for table in self._tables.values():
            table.searcher.release()
        if self._kept is not None:
            self._kept.close()

    # -- games that outlive a server ----------------------------------------------------------------------------------

    async def restore(self, game_id: str) -> None:
        """Bring a game of an earlier server back; one that is here, or that there is not, changes nothing."""
        saved = None if self._kept is None or game_id in self._tables else self._kept.get(game_id)
        if saved is None:
            return
        skill = GameStrength(saved.visits, saved.temperature, saved.text, saved.elo)

        def open_game() -> tuple[LiveGame, MoveSearcher]:
            game = LiveGame(start_position(saved.card.variant, saved.start), you=saved.card.you, control=saved.control)
            game.restore(saved.moves, saved.left, saved.result, saved.reason)
            try:
                return game, self._searcher(saved.player, saved.card.variant, skill)
            except SelfmateError as error:
                return game, AbsentSearcher(saved.card.opponent, str(error))

        game, searcher = await self._in_thread(open_game)
        if game_id not in self._tables:  # another page may have asked for it meanwhile
            table = self._add(game, saved.card.variant, saved.player, skill, searcher, game_id)
            table.rematch = saved.rematch
            self._go_on(table)

    def _keep(self, table: Table) -> None:
        if self._kept is not None:
            self._kept.put(table.saved())

    def _cannot_keep(self, game_id: str, reason: str) -> None:
        """Say on the page that a game will not outlive the server; called from the thread that writes."""

        def say() -> None:
            if (table := self._tables.get(game_id)) is not None and not table.notice:
                table.notice = f"This game will be lost when the server ends: {reason}."
                self._send(table)

        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(say)

    # -- a game goes on -----------------------------------------------------------------------------------------------

    async def _begin(
        self,
        start: Position,
        variant: str,
        color: Color,
        player_id: str,
        elo: int | None,
        visits: int | None,
        control: TimeControl | None,
        page: object,
    ) -> Table:
        def open_player() -> tuple[MoveSearcher, GameStrength]:
            skill = self._catalog.skill(player_id, elo, visits)
            return self._searcher(player_id, variant, skill), skill

        searcher, skill = await self._in_thread(open_player)
        table = self._add(LiveGame(start, you=color, control=control), variant, player_id, skill, searcher, page=page)
        self._go_on(table)
        return table

    def _searcher(self, player_id: str, variant: str, skill: GameStrength) -> MoveSearcher:
        """Return what chooses the moves of a player; raises a `SelfmateError` if it does not play the variant."""
        if player_id.startswith(ENGINE_PREFIX):
            engine = self._catalog.engine(player_id)
            searcher = EngineSearcher(engine, variant, nodes=skill.visits, elo=skill.elo)
            searcher.check()
            return searcher

        def open_player() -> Player:
            player = self._catalog.open(player_id)
            player.check(variant)
            return player

        return GameSearcher(open_player, skill)

    def _add(
        self,
        game: LiveGame,
        variant: str,
        player: str,
        skill: GameStrength,
        searcher: MoveSearcher,
        game_id: str | None = None,
        page: object = None,
    ) -> Table:
        check_room(self._tables.values(), page)  # again: requests of a page that wait for a player at the same time
        while len(self._tables) >= MOST_GAMES:
            oldest = self._tables.pop(next_to_drop(self._tables.values()).id)
            oldest.search_number += 1
            if oldest.flag is not None:
                oldest.flag.cancel()
            self._trees.free(oldest)
        table = Table(game_id or secrets.token_hex(8), game, variant, player, skill, searcher, page)
        self._tables[table.id] = table
        return table

    def _go_on(self, table: Table) -> None:
        """Send the game to its followers, set the timer of the clock, and let the player move if it is its turn."""
        game = table.game
        table.search_number += 1
        table.thinking = not game.is_over and game.turn != game.you
        self._set_flag(table)
        self._changed(table)
        if table.thinking:
            self._spawn(self._think(table, table.search_number))
        elif game.is_over:
            self._trees.free(table)

    async def _think(self, table: Table, number: int) -> None:
        game = table.game
        position = game.position.copy()
        clock = None
        if game.control is not None:
            clock = Clock(max(0.05, game.seconds_left(game.turn)), game.control.increment)
        try:
            chosen: ChosenMove | None = await self._in_thread(
                lambda: table.searcher.choose(position, clock, lambda: table.search_number != number)
            )
        except Exception as error:
            if not isinstance(error, SelfmateError):
                log.exception("a search failed")
            table.thinking = False
            table.notice = str(error) if isinstance(error, SelfmateError) else "The search failed; see the terminal."
            self._changed(table)
            self._trees.free(table)
            return
        if table.search_number == number and chosen is not None:
            if not game.check_clock():
                game.play(chosen.uci)
                table.explanation, table.opponent_value = chosen.explanation, chosen.value
            self._go_on(table)
        self._trees.keep(table)

    def _set_flag(self, table: Table) -> None:
        """End the game when the running clock has run out."""
        if table.flag is not None:
            table.flag.cancel()
            table.flag = None
        if table.game.is_timed_now:
            loop = asyncio.get_running_loop()
            table.flag = loop.call_later(table.game.seconds_left(table.game.turn) + 0.01, self._flag, table)

    def _flag(self, table: Table) -> None:
        if table.game.check_clock():
            self._go_on(table)
        else:
            self._set_flag(table)

    def _changed(self, table: Table) -> None:
        self._keep(table)
        self._send(table)

    def _send(self, table: Table) -> None:
        view = table.view()
        for follower in list(table.followers):
            follower(view)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._workers, work)
