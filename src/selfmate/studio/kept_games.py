"""Keeps the games of the server in files while they are played, and finds those of an earlier server again."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from selfmate.errors import SelfmateError
from selfmate.studio.game_files import MOST_KEPT, GameFiles, SavedGame

__all__ = ["KeptGames"]

Complain = Callable[[str, str], None]
log = logging.getLogger("selfmate.studio")


class KeptGames:
    """The last state of each game. Files are written by one thread, in order, and only the newest state of a game.

    `complain` is called from that thread with the id of a game that cannot be kept, and the reason.
    """

    def __init__(self, files: GameFiles, complain: Complain) -> None:
        self._files = files
        self._complain = complain
        self._games: OrderedDict[str, SavedGame] = OrderedDict()
        self._pending: dict[str, SavedGame] = {}
        self._writer = ThreadPoolExecutor(1, "games-files")
        self._is_failing = False

    def load(self) -> None:
        """Read the games of an earlier server."""
        self._games = OrderedDict((game.card.id, game) for game in self._files.read_all())

    def get(self, game_id: str) -> SavedGame | None:
        """Return the last state of a game, None if it is not kept."""
        return self._games.get(game_id)

    def newest_first(self) -> list[SavedGame]:
        """List the games, the one that changed last first."""
        return list(reversed(self._games.values()))

    def put(self, game: SavedGame) -> None:
        """Keep a game; the one that has not changed for longest makes room."""
        game_id = game.card.id
        if self._games.get(game_id) == game:
            return
        self._games[game_id] = game
        self._games.move_to_end(game_id)
        self._pending[game_id] = game
        self._writer.submit(self._write, game_id)
        while len(self._games) > MOST_KEPT:
            oldest, _ = self._games.popitem(last=False)
            self._pending.pop(oldest, None)
            self._writer.submit(self._files.remove, oldest)

    def close(self) -> None:
        """Wait until everything is written."""
        self._writer.shutdown(wait=True)

    def _write(self, game_id: str) -> None:
        game = self._pending.pop(game_id, None)
        if game is None:  # an earlier call wrote the newest state
            return
        try:
            self._files.write(game)
            self._is_failing = False
        except (OSError, SelfmateError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            if not self._is_failing:  # once, not with every move
                log.warning("games cannot be kept: %s", reason)
            self._is_failing = True
            self._complain(game_id, reason)
