"""The games of the server: new games, moves of the user and of the players, clocks, and connections that follow.

Everything runs in the event loop but the searches, which run in worker threads. A game stays in memory while the server
runs, so that a page that is loaded again finds it; the oldest ones make room for new ones.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.search.limit import Clock
from selfmate.studio.board_view import start_position
from selfmate.studio.engine_move import ChosenMove, GameSearcher, accepts_draw
from selfmate.studio.live_game import GameOver, LiveGame
from selfmate.studio.messages import (
    Color,
    Explanation,
    Failure,
    GameCard,
    GameView,
    HintFound,
    NewGame,
    TimeControl,
)
from selfmate.studio.players import GameStrength, PlayerCatalog

__all__ = ["Games", "UnknownGame"]

MOST_GAMES: Final = 500
MOST_TREES: Final = 12
"""Games whose search trees are kept; others begin anew with the next move."""
WORKERS: Final = 8
"""Threads that search for games; more moves than that wait for one."""
log = logging.getLogger("selfmate.studio")
Follower = Callable[[GameView], None]


class UnknownGame(SelfmateError):
    """The id of a game that the server does not have."""


@dataclass
class Table:
    """A game with its opponent and the pages that follow it."""

    id: str
    game: LiveGame
    variant: str
    player: str
    skill: GameStrength
    searcher: GameSearcher
    followers: set[Follower] = field(default_factory=set)
    explanation: Explanation | None = None
    notice: str = ""
    thinking: bool = False
    opponent_value: float = 0.0
    rematch: str | None = None
    search_number: int = 0
    """Counts searches: a search of an older number is stopped, and its result dropped."""
    flag: asyncio.TimerHandle | None = None

    def view(self, ask: int = 0) -> GameView:
        """Return the game as the page shows it."""
        game = self.game
        return GameView(
            ask=ask,
            id=self.id,
            variant=self.variant,
            start=game.start.fen(),
            moves=list(game.moves),
            board=game.board(),
            you=game.you,
            player=self.player,
            opponent=self.searcher.player.name,
            opponent_detail=self.skill.text,
            control=game.control,
            clock=game.clock(),
            thinking=self.thinking,
            explanation=self.explanation,
            notice=self.notice,
            can_take_back=game.can_take_back(),
            rematch=self.rematch,
        )

    def card(self) -> GameCard:
        """Return the game for a list."""
        game = self.game
        board = game.board()
        return GameCard(
            id=self.id,
            variant=self.variant,
            fen=board.fen,
            opponent=self.searcher.player.name,
            you=game.you,
            plies=len(game.moves),
            your_turn=game.turn == game.you and board.result is None,
            result=board.result,
        )


class Games:
    """All games of the server."""

    def __init__(self, catalog: PlayerCatalog) -> None:
        self._catalog = catalog
        self._tables: OrderedDict[str, Table] = OrderedDict()
        self._workers = ThreadPoolExecutor(WORKERS, "game")
        self._tasks: set[asyncio.Task[None]] = set()
        self._trees: OrderedDict[str, Table] = OrderedDict()
        """Games with a tree, the one that was searched last at the end."""

    # -- requests -----------------------------------------------------------------------------------------------------

    async def new(self, request: NewGame) -> Table:
        """Start a game; raises a `SelfmateError` for a position or player that there is not."""
        variant = request.variant
        number = request.chess960
        if variant.endswith("960") and request.fen is None and number is None:
            number = secrets.randbelow(960)
        start = start_position(variant, request.fen, number)
        if start.outcome() is not None:
            raise GameOver("in this position the game is over already")
        color: Color = random.choice(("white", "black")) if request.color == "random" else request.color
        player_id = request.player or self._catalog.default(variant)
        return await self._begin(start, variant, color, player_id, request.elo, request.visits, request.clock)

    async def rematch(self, game_id: str) -> Table:
        """Start the same game with the other colour, once; asked again, return that game."""
        old = self.table(game_id)
        if old.rematch is not None and old.rematch in self._tables:
            return self._tables[old.rematch]
        game = old.game
        color: Color = "black" if game.you == "white" else "white"
        table = self._add(
            LiveGame(game.start, you=color, control=game.control),
            old.variant,
            old.player,
            old.skill,
            GameSearcher(old.searcher.player, old.skill),
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
        """List the games, the newest first."""
        return [table.card() for table in reversed(self._tables.values())]

    def follow(self, game_id: str, follower: Follower) -> Table:
        """Call `follower` with the game after each change."""
        table = self.table(game_id)
        table.followers.add(follower)
        return table

    def leave(self, game_id: str, follower: Follower) -> None:
        """Call `follower` no longer; a game that there is not is left already."""
        if (table := self._tables.get(game_id)) is not None:
            table.followers.discard(follower)

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
        if found is None:
            return Failure(ask=ask, message=f"{table.searcher.player.name} has no hint")
        move, text = found
        return HintFound(ask=ask, id=game_id, ply=ply, uci=position.uci(move), san=position.san(move), text=text)

    def pgn(self, game_id: str) -> str:
        """Return a game as PGN."""
        table = self.table(game_id)
        names: dict[Color, str] = {"white": "You", "black": "You"}
        names["black" if table.game.you == "white" else "white"] = f"{table.searcher.player.name} ({table.skill.text})"
        return table.game.game(names).pgn()

    async def close(self) -> None:
        """Stop all searches."""
        for table in self._tables.values():
            table.search_number += 1
            if table.flag is not None:
                table.flag.cancel()
        for task in list(self._tasks):
            task.cancel()
        self._workers.shutdown(wait=False, cancel_futures=True)

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
    ) -> Table:
        def open_player() -> tuple[GameSearcher, GameStrength]:
            player = self._catalog.open(player_id)
            player.check(variant)
            skill = self._catalog.skill(player_id, elo, visits)
            return GameSearcher(player, skill), skill

        searcher, skill = await self._in_thread(open_player)
        table = self._add(LiveGame(start, you=color, control=control), variant, player_id, skill, searcher)
        self._go_on(table)
        return table

    def _add(self, game: LiveGame, variant: str, player: str, skill: GameStrength, searcher: GameSearcher) -> Table:
        while len(self._tables) >= MOST_GAMES:
            _, oldest = self._tables.popitem(last=False)
            oldest.search_number += 1
            if oldest.flag is not None:
                oldest.flag.cancel()
        table = Table(secrets.token_hex(8), game, variant, player, skill, searcher)
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

    def _keep_tree(self, table: Table) -> None:
        """Note that a game has searched; free the trees of games that are over, and the oldest ones."""
        self._trees[table.id] = table
        self._trees.move_to_end(table.id)
        for game_id, each in list(self._trees.items()):
            if not each.thinking and (each.game.is_over or len(self._trees) > MOST_TREES):
                del self._trees[game_id]
                each.searcher.release()

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
            return
        if table.search_number != number or chosen is None:
            return
        if not game.check_clock():
            game.play(chosen.uci)
            table.explanation, table.opponent_value = chosen.explanation, chosen.value
        self._go_on(table)
        self._keep_tree(table)

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
        view = table.view()
        for follower in list(table.followers):
            follower(view)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._workers, work)
