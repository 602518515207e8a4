"""A game of the server: with its opponent, what is known of its last search, and the pages that follow it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from selfmate.errors import SelfmateError
from selfmate.studio.engine_move import MoveSearcher
from selfmate.studio.game_files import SavedGame
from selfmate.studio.live_game import LiveGame
from selfmate.studio.messages import Explanation, GameCard, GameView
from selfmate.studio.players import GameStrength

__all__ = ["MOST_UNFINISHED", "Follower", "Table", "TooManyGames", "check_room", "next_to_drop"]

MOST_UNFINISHED: Final = 50
"""Games of one page that are not over; a page could fill the server with its own otherwise."""
Follower = Callable[[GameView], None]


class TooManyGames(SelfmateError):
    """A page has as many unfinished games as it may have."""


@dataclass
class Table:
    """A game with its opponent and the pages that follow it."""

    id: str
    game: LiveGame
    variant: str
    player: str
    skill: GameStrength
    searcher: MoveSearcher
    page: object = None
    """What stands for the page that started the game; None: it was restored."""
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
            opponent=self.searcher.name,
            opponent_detail=self.skill.text,
            control=game.control,
            clock=game.clock(),
            thinking=self.thinking,
            explanation=self.explanation,
            notice=self.notice,
            can_take_back=game.can_take_back(),
            rematch=self.rematch,
        )

    def saved(self) -> SavedGame:
        """Return the game as its file keeps it."""
        game = self.game
        return SavedGame(
            card=self.card(),
            start=game.start.fen(),
            moves=[move.uci for move in game.moves],
            player=self.player,
            visits=self.skill.visits,
            temperature=self.skill.temperature,
            text=self.skill.text,
            elo=self.skill.elo,
            control=game.control,
            left=(game.seconds_left("white"), game.seconds_left("black")),
            result=game.result,
            reason=game.reason,
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
            opponent=self.searcher.name,
            you=game.you,
            plies=len(game.moves),
            your_turn=game.turn == game.you and board.result is None,
            result=board.result,
        )


def check_room(tables: Collection[Table], page: object) -> None:
    """Raise `TooManyGames` if a page may not start another game; None is no page."""
    unfinished = sum(table.page is page and not table.game.is_over for table in tables)
    if page is not None and unfinished >= MOST_UNFINISHED:
        raise TooManyGames(f"{MOST_UNFINISHED} games of this page are not over: end one of them, or reload the page")


def next_to_drop(tables: Collection[Table]) -> Table:
    """Return the game that makes room for a new one: the oldest that no page follows; if there is none, the oldest."""
    return min(tables, key=lambda table: bool(table.followers))
