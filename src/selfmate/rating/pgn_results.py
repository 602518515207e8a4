r"""Players and results of PGN files of any game: only the tags White, Black and Result are read.

>>> import io
>>> text = '[White "Anna"]\n[Black "Ben"]\n[Result "1-0"]\n\n1. e4 1-0\n\n[White "Ben"]\n[Black "Anna"]\n\n1/2-1/2\n'
>>> list(read_results(io.BytesIO(text.encode())))
[('Anna', 'Ben', '1-0'), ('Ben', 'Anna', '*')]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

from selfmate.board.pgn_writer import TAG_NAME
from selfmate.errors import PgnError, SelfmateError
from selfmate.rating.elo import RESULTS
from selfmate.util.text import many
from selfmate.util.text_lines import decode

__all__ = ["Played", "read_all", "read_results"]


LONGEST_LINE: Final = 1 << 16
"""A longer line is read in pieces; no tag is so long."""


BEFORE_A_TAG: Final = 1 << 20
"""Bytes without a tag after which a file is not PGN."""


TAG: Final = re.compile(rf'\s*+\[\s*+({TAG_NAME})\s+"(.*)"\s*+\]'.encode())


DRAWS: Final = ("1/2", "½-½", "0.5-0.5")


NAMES: Final = {b"White": 0, b"Black": 1, b"Result": 2}


BLANK: Final = b" \t\xef\xbb\xbf"
"""What may stand before a tag: spaces, and at the beginning of a file the mark of UTF-8."""


class Played(NamedTuple):
    """The finished games of some files, in their order, and how many were left out."""

    games: list[tuple[str, str, str]]
    unfinished: int


def read_results(source: IO[bytes]) -> Iterator[tuple[str, str, str]]:
    """Read White, Black and result of every game; `*` where there is no result, `?` where there is no name.

    The moves are passed over, whatever they are: it takes a second or two for a hundred thousand games.
    """
    game: list[str | None] | None = None
    in_tags = False
    seen = 0
    for line in iter(lambda: source.readline(LONGEST_LINE), b""):
        # 1. Pass over moves. A file in which no tag comes for long is none of ours.
        if line[:1] != b"[" and line.lstrip(BLANK)[:1] != b"[":
            if game is None:
                seen += len(line)
                if seen > BEFORE_A_TAG:
                    return
            in_tags = in_tags and line.isspace()
            continue
        # 2. A tag after moves begins a game. Of other tags only three are of interest.
        if in_tags and line[1:2].isalpha() and line[1:3] not in (b"Wh", b"Bl", b"Re"):
            continue
        found = TAG.match(line.lstrip(BLANK))
        if found is None:
            continue
        place = NAMES.get(found[1])
        # 3. So does a tag for the second time: the game before had no moves.
        if game is None or not in_tags or (place is not None and game[place] is not None):
            if game is not None:
                yield _named(game)
            game, in_tags = [None, None, None], True
        if place is not None:
            game[place] = decode(found[2]).replace('\\"', '"').replace("\\\\", "\\").strip()
    if game is not None:
        yield _named(game)


def _named(game: Sequence[str | None]) -> tuple[str, str, str]:
    white, black, result = game
    return white or "?", black or "?", result or "*"


def read_all(paths: Iterable[str]) -> Played:
    """Read the finished games of PGN files; `-` is standard input."""
    games: list[tuple[str, str, str]] = []
    unfinished = 0
    for path in paths:
        found = 0
        with sys.stdin.buffer if path == "-" else Path(path).open("rb") as file:
            for white, black, result in read_results(file):
                found += 1
                plain = "1/2-1/2" if result in DRAWS else result
                if plain in RESULTS and "?" not in (white, black) and white != black:
                    games.append((white, black, plain))
                else:
                    unfinished += 1
        if not found:
            raise PgnError(f'{path}: no PGN: there is no tag such as [White "Anna"]', path)
    if not games:
        files = "this file" if unfinished == 1 else "these files"
        raise SelfmateError(f"no finished game between two named players among the {unfinished} of {files}")
    return Played(games, unfinished)


def leave_out(played: Played, least: int) -> Played:
    """Leave out the games of players with fewer than `least`, until none is left that has fewer."""
    games = played.games
    while True:
        count: dict[str, int] = {}
        for white, black, _ in games:
            count[white] = count.get(white, 0) + 1
            count[black] = count.get(black, 0) + 1
        kept = [game for game in games if count[game[0]] >= least and count[game[1]] >= least]
        if len(kept) == len(games):
            break
        games = kept
    if not games:
        raise SelfmateError(f"no players with {many(least, 'game')} or more against each other")
    return Played(games, played.unfinished)
