r"""A match on disk: the PGN of its games, and beside it (`games.pgn.json`) what it is played with.

Games are added as they end, whole or not at all: what a crash left of the last one is cut off when the file is opened
again. The same settings go on with a match; others are refused, but for more games of the same openings.

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
from selfmate.match.referee import kind_of
from selfmate.rating.match_stats import Scored
from selfmate.util.files import write_file
from selfmate.util.text import many, other_format

__all__ = ["Entry", "MatchFile", "MatchFileError", "MatchSettings"]


FORMAT: Final = 1


MAX_BYTES: Final = 1 << 24


END: Final = re.compile(rb"(?:^|[\s}])(?:1-0|0-1|1/2-1/2|\*)\n\n")
"""The end of a game: its result, which no other line ends with, and an empty line."""


class MatchFileError(SelfmateError):
    """A match that cannot be continued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchSettings:
    """What a match is played with: the same settings make the same match."""

    variant: str
    players: tuple[str, ...]
    """Their labels, which stand in the PGN."""
    openings: tuple[str, ...]
    """Each is played twice by every two players; there may be more of them when a match goes on."""
    rules: dict[str, str]
    """Everything else, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A game that was played, as the table of a match needs it."""

    number: int
    white: int
    black: int
    result: str
    reason: str
    """How it ended: by the rules, `cut off`, or what the loser did wrong."""
    fault: str | None
    """What the loser did wrong."""
    plies: int

    def scored(self, player: int) -> Scored:
        """See the game from the side of one of its players."""
        return Scored(self.number // 2, self.white == player, self.result)


class _Kept(Struct, frozen=True, kw_only=True):
    """What `games.pgn.json` holds."""

    format: int
    variant: str
    players: tuple[str, ...]
    openings: int
    digest: str
    rules: dict[str, str]


class MatchFile:
    """The file of a match, opened for adding; nobody else can add to it meanwhile."""

    def __init__(self, path: Path, settings: MatchSettings, *, anew: bool = False) -> None:
        self.path = path
        self.entries: list[Entry] = []
        """The games that were there already."""
        self._settings = settings
        self._json = path.with_name(f"{path.name}.json")
        if path.exists() and not path.is_file():
            raise MatchFileError(f"{path}: not a file", str(path))
        self._file: IO[bytes] = path.open("ab+")
        try:
            self._open(anew)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> MatchFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def add(self, games: Iterable[str]) -> None:
        """Add games, PGN each; when this returns they are there for good."""
        try:
            self._file.write("".join(f"{game}\n\n" for game in games).encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            message = f"{self.path}: {error.strerror}; what was written before is safe, and the same command goes on"
            raise MatchFileError(message, str(self.path)) from error

    def _open(self, anew: bool) -> None:
        # 1. Nobody else.
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise MatchFileError(f"{self.path}: another match is being written to it", str(self.path)) from None
        # 2. Only a match, and only this one.
        if anew:
            self._file.truncate(0)
        elif self._file.tell():
            self._check(self._read_json())
            self._cut()
            self.entries = [self._entry(game) for game in self._games()]
        write_file(self._json, msgspec.json.format(msgspec.json.encode(self._keep())) + b"\n")

    def _read_json(self) -> _Kept:
        try:
            with self._json.open("rb") as file:
                kept = msgspec.json.decode(file.read(MAX_BYTES), type=_Kept)
        except FileNotFoundError:
            message = f"{self.path}: there already, and not of a match that could go on; give another name, or --force"
            raise MatchFileError(message, str(self.path)) from None
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise MatchFileError(f"{self._json}: damaged; --force begins the match anew", str(self._json)) from None
        if kept.format != FORMAT:
            older = "go on with the version that began it, give another name, or begin anew with --force"
            raise MatchFileError(
                f"{self._json}: a match of {other_format(kept.format, FORMAT, older)}", str(self._json)
            )
        return kept

    def _keep(self) -> _Kept:
        settings = self._settings
        return _Kept(
            format=FORMAT,
            variant=settings.variant,
            players=settings.players,
            openings=len(settings.openings),
            digest=_digest(settings.openings),
            rules=settings.rules,
        )

    def _check(self, kept: _Kept) -> None:
        """Refuse settings that contradict those of the match, in one line that names the first of them."""
        own = self._settings
        differ = [("variant", kept.variant, own.variant)]
        differ.append(("players", str(len(kept.players)), str(len(own.players))))
        names = zip(kept.players, own.players, strict=False)
        differ += [(f"player {index}", before, now) for index, (before, now) in enumerate(names, start=1)]
        for name in (*kept.rules, *own.rules):
            differ.append((name, kept.rules.get(name, "none"), own.rules.get(name, "none")))
        for name, before, now in differ:
            if before != now:
                way = "the same settings go on with it, --force begins it anew"
                raise MatchFileError(f"{self.path}: begun with {name} {clip(before)}, not {clip(now)}; {way}", name)
        if kept.openings > len(own.openings):
            raise MatchFileError(
                f"{self.path}: begun with {many(kept.openings, 'opening')} ({2 * kept.openings} games of every two), "
                f"not {len(own.openings)}; there can only be more, or --force begins it anew",
                "openings",
            )
        if kept.digest != _digest(own.openings[: kept.openings]):
            raise MatchFileError(f"{self.path}: begun with other openings; --force begins it anew", "openings")

    def _cut(self) -> None:
        """Cut off what is left of a game that was not written to its end."""
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
            raise MatchFileError(f"{self.path}: {error}; --force begins the match anew", error.part) from None

    def _entry(self, game: Game) -> Entry:
        names, headers = self._settings.players, game.headers
        number = headers["Round"]
        if not number.isdecimal() or headers["White"] not in names or headers["Black"] not in names:
            raise MatchFileError(f"{self.path}: game {clip(number)} is not of this match", number)
        reason = game.end().comment.rpartition("; ")[2]
        fault = headers.get("Fault")
        return Entry(
            number=int(number),
            white=names.index(headers["White"]),
            black=names.index(headers["Black"]),
            result=game.result,
            reason=fault or kind_of(reason),
            fault=fault,
            plies=sum(1 for _ in game.mainline()),
        )


def _digest(openings: tuple[str, ...]) -> str:
    return hashlib.sha256("\n".join(openings).encode()).hexdigest()
