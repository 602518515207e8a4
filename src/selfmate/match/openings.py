"""Openings of matches: random positions that a search finds about even, or positions from a book.

>>> openings = balanced_openings("gardner", 3, seed=1)
>>> len(set(openings)), openings == balanced_openings("gardner", 3, seed=1)
(3, True)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from selfmate._core import Pool, Seat
from selfmate.board.epd import read_epd
from selfmate.board.pgn import read_and_report
from selfmate.board.position import Position, chess960_fen
from selfmate.errors import SelfmateError
from selfmate.evaluator.base import Evaluator
from selfmate.search.driver import drive
from selfmate.util.text import many

__all__ = ["balanced_openings", "read_openings"]

EVEN: Final = 0.2
"""An opening counts as even if a search of `EVEN_VISITS` visits values it between -0.2 and 0.2.

In all variants but antichess at most one in twenty of these is beyond 0.4 in a search of 2,000 visits (docs/log.md)."""
EVEN_VISITS: Final = 256
SMALLEST_BATCH, LARGEST_BATCH = 32, 1024
"""Positions that are drawn before they are searched."""
SEARCHES: Final = 256
"""Positions that are searched at once."""
DRAWS: Final = 100
"""Most random positions for each opening."""
REPEATS: Final = 50
"""After this many random positions in a row that are not new, openings become two plies longer."""


def balanced_openings(
    variant: str,
    count: int,
    seed: int,
    plies: int = 4,
    *,
    evaluator: Evaluator | str = "heuristic-1",
    visits: int = EVEN_VISITS,
    even: float = EVEN,
    stopping: Callable[[], bool] = lambda: False,
) -> list[str]:
    """Return `count` different positions (FENs), `plies` random moves from the start, that are about even.

    A position is even if a search by `evaluator`, a net or a native evaluator, values it between -`even` and `even`.
    More openings with the same seed begin with the fewer ones. Small variants have few openings: when nearly all of
    them were drawn, the next ones are two plies longer; when none is left, they repeat. In a variant whose name ends
    in 960 every opening has a random start position. Once `stopping` returns True, the list is empty.
    """
    chance = random.Random(seed)
    seen: set[int] = set()
    found: list[str] = []
    draws, repeats = DRAWS * count, 0
    while len(found) < count and draws > 0:
        # 1. Draw new positions.
        drawn: list[str] = []
        wanted = min(LARGEST_BATCH, max(SMALLEST_BATCH, 3 * (count - len(found))))
        while draws > 0 and len(drawn) < wanted and not stopping():
            draws -= 1
            position = _draw(variant, plies, chance)
            if position.key in seen or position.is_game_over(claim_draw=True):
                repeats += 1
                if repeats == REPEATS:
                    plies, repeats = plies + 2, 0
                continue
            repeats = 0
            seen.add(position.key)
            drawn.append(position.fen())
        # 2. Search all of them at once, and keep those that are even, in the order of drawing.
        values = _values(variant, drawn, evaluator, visits, stopping)
        if stopping():
            return []
        found += [fen for fen, value in zip(drawn, values, strict=True) if value is not None and abs(value) <= even]
    found = found[:count] or [Position(variant).fen()]
    return [found[index % len(found)] for index in range(count)]


def _draw(variant: str, plies: int, chance: random.Random) -> Position:
    position = Position(variant, chess960_fen(chance.randrange(960)) if variant.endswith("960") else None)
    for _ in range(plies):
        if position.is_game_over(claim_draw=True):
            break
        position.play(chance.choice(position.legal_moves))
    return position


def _values(
    variant: str, fens: list[str], evaluator: Evaluator | str, visits: int, stopping: Callable[[], bool]
) -> list[float | None]:
    """Return the value of each position by a search (a game of one move); None if there is only one legal move.

    Once `stopping` returns True, values are missing.
    """
    pool = Pool(variant, [Seat(visits=visits)], max_plies=1, slots=SEARCHES, threads=0)
    pool.start_games([(fen, 0, 0) for fen in fens])
    drive(pool, [evaluator], lanes=1, stopping=stopping)
    return [record.values[0][1] if record.values else None for record in pool.drain()]


def read_openings(path: str | Path, variant: str, count: int, plies: int | None = None) -> list[str]:
    """Return the first `count` different openings of a book, as FENs: a PGN file, or FENs or EPDs, one per line.

    An opening of a PGN file is a game after `plies` moves, or after all when None. Equal positions count once: players
    without noise would play the same games again. Raises `SelfmateError` if there are too few.
    """
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_fifo()):  # a device may have no end
        raise SelfmateError(f"{path}: not a file", str(path))
    found: dict[int, str] = {}
    try:
        for where, position in _read_pgn(path, variant, plies) if is_pgn(path) else _read_lines(path, variant, plies):
            if position.is_game_over(claim_draw=True):
                raise SelfmateError(f"{where}: the game is over", position.fen())
            found.setdefault(position.key, position.fen())
    except SelfmateError as error:
        raise SelfmateError(f"{path}: {error}", error.part) from error
    if not found:
        raise SelfmateError(f"{path}: no opening in the file", str(path))
    if len(found) < count:
        raise SelfmateError(
            f"{path}: {many(len(found), 'different opening')}, enough for {2 * len(found)} games, not for {2 * count}",
            str(path),
        )
    return list(found.values())[:count]


def is_pgn(path: str | Path) -> bool:
    """Return whether a book is a PGN file.

    >>> is_pgn("book.PGN"), is_pgn("book.epd")
    (True, False)
    """
    return Path(path).suffix.lower() == ".pgn"


def _read_lines(path: str | Path, variant: str, plies: int | None) -> Iterator[tuple[str, Position]]:
    if plies is not None:
        raise SelfmateError("plies are for PGN books; a file of positions has none", str(plies))
    for number, epd in enumerate(read_epd(path, variant), start=1):
        yield f"opening {number}", epd.position


def _read_pgn(path: str | Path, variant: str, plies: int | None) -> Iterator[tuple[str, Position]]:
    for number, game in enumerate(read_and_report(path, str(path)), start=1):
        # Printed already: a line that was cut off, or text without a game, is no opening of the book.
        if game.error is not None or (game.repairs and game.next is None):
            continue
        if game.variant != variant:
            raise SelfmateError(f"game {number} is {game.variant}, not {variant}", game.variant)
        position = Position(variant, game.position().fen())
        for ply, node in enumerate(game.mainline()):
            if ply == plies:
                break
            position.play(node.move)
        yield f"game {number}", position
