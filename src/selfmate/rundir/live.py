"""Games in flight of a training, for a page that watches them: two small files in the run's directory.

A watcher touches `watched` (`ask_for_live`). While that was less than `PATIENCE_SECONDS` ago, the trainer replaces
`live.json` once a second. Without a watcher it looks at one time stamp a second and writes nothing.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from selfmate._core import GameRecord
from selfmate.board.position import Position

__all__ = ["GameInFlight", "GamesInFlight", "LiveWriter", "Watch", "ask_for_live", "game_in_flight", "read_live"]

WATCHED: Final = "watched"
LIVE: Final = "live.json"
PATIENCE_SECONDS: Final = 10.0
"""Age of `watched` from which nothing is written."""
SHOWN_SECONDS: Final = 4.0
"""Age of `live.json` from which its games are not in flight any more: a long pause, or the end of the training."""
WRITE_SECONDS: Final = 1.0
SHOWN_GAMES: Final = 12
MOST_BYTES: Final = 1 << 20


Watch = Callable[[Callable[[int], Sequence[GameRecord]]], None]
"""Called several times a second with a function that returns so many of the unfinished games (`LiveWriter.tell`)."""


class GameInFlight(msgspec.Struct, frozen=True, kw_only=True):
    """A game as it stands."""

    game: int
    board: str
    """First field of the FEN."""
    last: str
    """Last move; empty before the first."""
    plies: int


class GamesInFlight(msgspec.Struct, frozen=True, kw_only=True):
    """What `live.json` has: some of the games that are being played, those with the smallest ids."""

    time: float
    """Seconds since the epoch."""
    games: tuple[GameInFlight, ...]


def game_in_flight(record: GameRecord) -> GameInFlight:
    """Return the last position of a game."""
    position = Position(f"{record.variant}960" if record.chess960 else record.variant, record.start_fen)
    moves = record.moves
    last = ""
    for move in moves:
        last = position.uci(move)
        position.play(move)
    return GameInFlight(game=record.game_id, board=position.board_fen(), last=last, plies=len(moves))


class LiveWriter:
    """The trainer's side. `tell` is called often; nearly always it returns at once.

    Failures are ignored: a full disk must not end a training for a picture of it.
    """

    def __init__(
        self, directory: Path, *, clock: Callable[[], float] = time.monotonic, now: Callable[[], float] = time.time
    ) -> None:
        self._directory = directory
        self._clock, self._now = clock, now
        self._next = 0.0

    def tell(self, unfinished: Callable[[int], Sequence[GameRecord]]) -> None:
        """Write some of the unfinished games if they are watched; `unfinished` returns that many of them."""
        if self._clock() < self._next:
            return
        with contextlib.suppress(OSError):
            if self._now() - (self._directory / WATCHED).stat().st_mtime < PATIENCE_SECONDS:
                games = tuple(game_in_flight(record) for record in unfinished(SHOWN_GAMES))
                if not games:  # between two cycles: the first games of the next one are not to wait for a second
                    return
                self._write(GamesInFlight(time=self._now(), games=games))
        self._next = self._clock() + WRITE_SECONDS

    def _write(self, games: GamesInFlight) -> None:
        """Replace the file. It is not synchronised: what a crash leaves is not read, because it is old."""
        part = self._directory / f".{LIVE}"
        part.write_bytes(msgspec.json.encode(games))
        part.replace(self._directory / LIVE)


def ask_for_live(directory: Path) -> None:
    """Ask the trainer of a run for its games in flight, for the next seconds; a directory that is gone is ignored."""
    with contextlib.suppress(OSError):
        (directory / WATCHED).touch()


def read_live(directory: Path, now: float | None = None) -> GamesInFlight | None:
    """Return the games in flight of a run; None if nothing was written lately, or it cannot be read."""
    try:
        with (directory / LIVE).open("rb") as file:
            live = msgspec.json.decode(file.read(MOST_BYTES), type=GamesInFlight)
    except (OSError, msgspec.MsgspecError):
        return None
    age = (time.time() if now is None else now) - live.time
    return live if -1 < age < SHOWN_SECONDS else None
