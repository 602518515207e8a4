"""The games of the server as files, one JSON file each, so that they outlive it. Every write is atomic.

>>> import tempfile
>>> card = GameCard(
...     id="0123456789abcdef", variant="gardner", fen="", opponent="random", you="white", plies=0, your_turn=True,
...     result=None,
... )
>>> saved = SavedGame(card=card, start="", moves=[], player="random", visits=1, temperature=0.0, text="")
>>> with tempfile.TemporaryDirectory() as folder:
...     files = GameFiles(Path(folder))
...     files.write(saved)
...     files.read_all() == [saved]
True
"""

from __future__ import annotations

import contextlib
import logging
import re
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from selfmate.studio.messages import GameCard, TimeControl
from selfmate.util.files import write_file

__all__ = ["MOST_KEPT", "GameFiles", "SavedGame"]

MOST_KEPT: Final = 200
"""Games that are kept as files: those that changed last."""
MOST_BYTES: Final = 1 << 18
log = logging.getLogger("selfmate.studio")


class SavedGame(Struct, frozen=True, kw_only=True):
    """A game as it stands; what can be computed from the moves is not kept."""

    card: GameCard
    start: str
    moves: list[str]
    player: str
    visits: int
    temperature: float
    text: str
    """The strength of the player in words."""
    elo: int | None = None
    control: TimeControl | None = None
    left: tuple[float, float] = (0.0, 0.0)
    """Seconds that White and Black have left."""
    result: str | None = None
    """Result that the rules did not decide."""
    reason: str | None = None
    rematch: str | None = None


class GameFiles:
    """The files of a folder, which is made with the first game."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read_all(self) -> list[SavedGame]:
        """Return the games that changed last, the oldest first; what cannot be read is left out."""
        found: list[tuple[float, Path]] = []
        with contextlib.suppress(OSError):
            found = sorted((path.stat().st_mtime, path) for path in self._folder.glob("*.json"))
        games = []
        for _, path in found[-MOST_KEPT:]:
            try:
                with path.open("rb") as file:
                    game = msgspec.json.decode(file.read(MOST_BYTES), type=SavedGame)
            except (OSError, msgspec.MsgspecError, UnicodeError) as error:
                log.warning("a game cannot be read and is left out: %s: %s", path.name, error)
                continue
            if game.card.id == path.stem and re.fullmatch(r"[0-9a-z]{8,32}", path.stem):
                games.append(game)
        for _, path in found[:-MOST_KEPT]:
            self.remove(path.stem)
        return games

    def write(self, game: SavedGame) -> None:
        """Write a game; raises `OSError` or a `SelfmateError` where it cannot be written."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_file(self._folder / f"{game.card.id}.json", msgspec.json.encode(game))

    def remove(self, game_id: str) -> None:
        """Remove the file of a game, if there is one."""
        with contextlib.suppress(OSError):
            (self._folder / f"{game_id}.json").unlink(missing_ok=True)
