r"""A match on disk: a PGN file of its games, and its settings beside it (`games.pgn.json`).

Games are appended as they end. An incomplete last game, left by a crash, is cut off when the file is opened again. A
match is resumed with equal settings; only the number of openings may grow.

>>> import tempfile
>>> settings = MatchSettings(variant="gardner", players=("a", "b"), openings=("",), rules={"seed": "1"})
>>> with tempfile.TemporaryDirectory() as folder:
...     with MatchFile(Path(folder, "games.pgn"), settings) as file:
...         file.add(['[White "a"]\n[Black "b"]\n[Result "1-0"]\n[Round "0"]\n\n1-0'])
...     with MatchFile(Path(folder, "games.pgn"), settings) as file:
...         [(entry.number, entry.white, entry.black, entry.result) for entry in file.entries]
[(0, 0, 1, '1-0')]
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import msgspec
from msgspec import Struct

from selfmate.board.pgn import Game, read_games
from selfmate.errors import PgnError, SelfmateError, clip
from selfmate.match.referee import reason_kind
from selfmate.rating.match_stats import SideResult
from selfmate.search.spec import current_name
from selfmate.util.files import write_file
from selfmate.util.text import many, other_format

__all__ = ["GameEntry", "MatchFile", "MatchFileError", "MatchSettings"]

FORMAT: Final = 1
MAX_BYTES: Final = 1 << 24
END: Final = re.compile(rb"(?:^|[\s}])(?:1-0|0-1|1/2-1/2|\*)\n\n")
"""The end of a game: its result, which no other line ends with, and an empty line."""


class MatchFileError(SelfmateError):
    """A match that cannot be resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchSettings:
    """Everything that must be equal when a match is resumed."""

    variant: str
    players: tuple[str, ...]
    """Labels, as in the PGN."""
    openings: tuple[str, ...]
    """FENs, each played twice by every pair of players. A resumed match may have more of them."""
    rules: dict[str, str]
    """All other settings, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GameEntry:
    """The result of one game of a match."""

    number: int
    white: int
    black: int
    result: str
    reason: str
    """The rule by which it ended, `cut off`, or the fault of the loser."""
    fault: str | None
    """Fault of the loser (`match.uci_client.Fault`)."""
    plies: int

    def side_result(self, player: int) -> SideResult:
        """Return the result for one of its players."""
        return SideResult(self.number // 2, self.white == player, self.result)


class _SavedSettings(Struct, frozen=True, kw_only=True):
    """Contents of `games.pgn.json`."""

    format: int
    variant: str
    players: tuple[str, ...]
    openings: int
    digest: str
    rules: dict[str, str]


class MatchFile:
    """The file of a match, opened for appending and locked; `restart` replaces a match that is there.

    Raises `MatchFileError` if the file is locked, is not a match, or is a match with other settings.
    """

    def __init__(self, path: Path, settings: MatchSettings, *, restart: bool = False) -> None:
        self.path = path
        self.entries: list[GameEntry] = []
        """Games that were in the file when it was opened."""
        self._settings = settings
        self._json = path.with_name(f"{path.name}.json")
        if path.exists() and not path.is_file():
            raise MatchFileError(f"{path}: not a file", str(path))
        self._file: IO[bytes] = path.open("ab+")
        try:
            self._open(restart)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> MatchFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def add(self, games: Iterable[str]) -> None:
        """Append games (PGN texts) and flush them to disk."""
        try:
            self._file.write("".join(f"{game}\n\n" for game in games).encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            message = f"{self.path}: {error.strerror}; earlier games are safe, run the same command again to resume"
            raise MatchFileError(message, str(self.path)) from error

    def _open(self, restart: bool) -> None:
        # 1. Lock.
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise MatchFileError(f"{self.path}: another match is writing to it", str(self.path)) from None
        # 2. Check that it is this match.
        if restart:
            self._file.truncate(0)
        elif self._file.tell():
            self._check(self._read_json())
            self._cut_incomplete()
            self.entries = [self._entry(game) for game in self._games()]
        write_file(self._json, msgspec.json.format(msgspec.json.encode(self._to_save())) + b"\n")

    def _read_json(self) -> _SavedSettings:
        try:
            with self._json.open("rb") as file:
                saved = msgspec.json.decode(file.read(MAX_BYTES), type=_SavedSettings)
        except FileNotFoundError:
            message = f"{self.path}: already exists and is not a resumable match; choose another file, or --force"
            raise MatchFileError(message, str(self.path)) from None
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise MatchFileError(f"{self._json}: damaged; --force starts the match again", str(self._json)) from None
        if saved.format != FORMAT:
            older = "resume it with the version that started it, choose another file, or start again with --force"
            raise MatchFileError(
                f"{self._json}: a match of {other_format(saved.format, FORMAT, older)}", str(self._json)
            )
        return saved

    def _to_save(self) -> _SavedSettings:
        settings = self._settings
        return _SavedSettings(
            format=FORMAT,
            variant=settings.variant,
            players=settings.players,
            openings=len(settings.openings),
            digest=_digest(settings.openings),
            rules=settings.rules,
        )

    def _check(self, saved: _SavedSettings) -> None:
        """Raise `MatchFileError`, with the first difference, if the settings are not those of the file."""
        own = self._settings
        differ = [("variant", saved.variant, own.variant)]
        differ.append(("players", str(len(saved.players)), str(len(own.players))))
        names = zip(map(current_name, saved.players), own.players, strict=False)
        differ += [(f"player {index}", before, now) for index, (before, now) in enumerate(names, start=1)]
        for name in (*saved.rules, *own.rules):
            differ.append((name, saved.rules.get(name, "none"), own.rules.get(name, "none")))
        for name, before, now in differ:
            if before != now:
                way = "resume it with the same settings, or start again with --force"
                raise MatchFileError(f"{self.path}: started with {name} {clip(before)}, not {clip(now)}; {way}", name)
        if saved.openings > len(own.openings):
            raise MatchFileError(
                f"{self.path}: started with {many(saved.openings, 'opening')} "
                f"({2 * saved.openings} games of each pair), not {len(own.openings)}; use more, or --force",
                "openings",
            )
        if saved.digest != _digest(own.openings[: saved.openings]):
            raise MatchFileError(f"{self.path}: started with other openings; --force starts it again", "openings")

    def _cut_incomplete(self) -> None:
        """Cut off a last game that was not written completely."""
        self._file.seek(0)
        data = self._file.read()
        end = max((found.end() for found in END.finditer(data)), default=0)
        if end < len(data):
            self._file.truncate(end)
        self._file.seek(0, os.SEEK_END)

    def _games(self) -> Iterable[Game]:
        try:
            yield from read_games(self.path)
        except PgnError as error:
            raise MatchFileError(f"{self.path}: {error}; --force starts the match again", error.part) from None

    def _entry(self, game: Game) -> GameEntry:
        names, headers = self._settings.players, game.headers
        number = headers["Round"]
        white, black = (current_name(headers[side]) for side in ("White", "Black"))
        if not number.isdecimal() or white not in names or black not in names:
            raise MatchFileError(f"{self.path}: game {clip(number)} does not belong to this match", number)
        reason = game.end().comment.rpartition("; ")[2]
        fault = headers.get("Fault")
        return GameEntry(
            number=int(number),
            white=names.index(white),
            black=names.index(black),
            result=game.result,
            reason=fault or reason_kind(reason),
            fault=fault,
            plies=sum(1 for _ in game.mainline()),
        )


def _digest(openings: tuple[str, ...]) -> str:
    return hashlib.sha256("\n".join(openings).encode()).hexdigest()
