r"""Players and results of PGN files of any game: only the tags White, Black and Result are read.

>>> import io
>>> text = '[White "Anna"]\n[Black "Ben"]\n[Result "1-0"]\n\n1. e4 1-0\n\n[White "Ben"]\n[Black "Anna"]\n\n1/2-1/2\n'
>>> list(read_results(io.BytesIO(text.encode())))
[('Anna', 'Ben', '1-0'), ('Ben', 'Anna', '*')]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple

from selfmate.board.pgn_tags import read_tags
from selfmate.errors import PgnError, SelfmateError
from selfmate.rating.elo import RESULTS
from selfmate.util.text import many

__all__ = ["PgnResults", "leave_out", "read_all", "read_results"]

DRAWS: Final = ("1/2", "½-½", "0.5-0.5")
"""Other spellings of `1/2-1/2`."""


class PgnResults(NamedTuple):
    """The finished games of PGN files, in their order."""

    games: list[tuple[str, str, str]]
    """White, Black, and `1-0`, `0-1` or `1/2-1/2`."""
    unfinished: int
    """Games that were left out: without a result, or without two different named players."""


def read_results(source: IO[bytes]) -> Iterator[tuple[str, str, str]]:
    """Yield White, Black and result of every game; `?` for a missing name, `*` for a missing result.

    The moves are skipped, whatever they are: a hundred thousand games take a second or two.
    """
    for tags in read_tags(source, ("White", "Black", "Result")):
        white, black, result = tags.get("White", ""), tags.get("Black", ""), tags.get("Result", "")
        yield white.strip() or "?", black.strip() or "?", result.strip() or "*"


def read_all(paths: Iterable[str]) -> PgnResults:
    """Return the finished games of PGN files; `-` is standard input.

    Raises `PgnError` for a file without tags, compressed or in UTF-16, and `SelfmateError` when no game has a result
    and two players.
    """
    games: list[tuple[str, str, str]] = []
    unfinished = 0
    for path in paths:
        found = 0
        with sys.stdin.buffer if path == "-" else Path(path).open("rb") as file:
            try:
                for white, black, result in read_results(file):
                    found += 1
                    plain = "1/2-1/2" if result in DRAWS else result
                    if plain in RESULTS and "?" not in (white, black) and white != black:
                        games.append((white, black, plain))
                    else:
                        unfinished += 1
            except PgnError as error:
                raise PgnError(f"{path}: {error}", error.part) from error
        if not found:
            raise PgnError(f'{path}: no PGN: there is no tag such as [White "Anna"]', path)
    if not games:
        files = "this file" if unfinished == 1 else "these files"
        raise SelfmateError(f"no finished game between two named players among the {unfinished} of {files}")
    return PgnResults(games, unfinished)


def leave_out(results: PgnResults, least: int) -> PgnResults:
    """Return the results without players of fewer than `least` games; removing one may remove others."""
    games = results.games
    while True:
        count = Counter(name for white, black, _ in games for name in (white, black))
        kept = [game for game in games if count[game[0]] >= least and count[game[1]] >= least]
        if len(kept) == len(games):
            break
        games = kept
    if not games:
        raise SelfmateError(f"no players with {many(least, 'game')} or more against each other")
    return PgnResults(games, results.unfinished)
