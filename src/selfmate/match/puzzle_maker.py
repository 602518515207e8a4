"""Puzzles from games: positions after a mistake, which a search finds won for the side to move.

Lichess's puzzles are such positions of its games. These are made from games of a run, or of any PGN file, and stand in
for them where a variant has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from selfmate._core import Move, Pool, Seat, centipawns
from selfmate.board.position import Position
from selfmate.board.puzzles import Puzzle

__all__ = ["SourceGame", "balanced", "make_puzzles"]

WON: Final = 0.6
"""Value above which the side to move has a puzzle to solve; 1.2 pawns by lc0's formula."""
MISTAKE: Final = 0.4
"""Value that the move before must have lost."""
CRUSHING: Final = 600
"""Centipawns above which Lichess calls an advantage crushing."""
OPENING_PLIES: Final = 16
ENDGAME_SHARE: Final = 0.4
"""Of the men of the start position, at most in an endgame."""
GAMES_AT_ONCE: Final = 64
SEARCHES: Final = 256
"""Positions that are searched at once."""


class SourceGame(NamedTuple):
    """A game to look for puzzles in."""

    variant: str
    start_fen: str
    moves: Sequence[Move]
    name: str
    """Where the game is, for the column GameUrl."""


class Searched(NamedTuple):
    """A position of a game after `ply` moves, by a search: its value for the side to move, and the best move."""

    game: int
    ply: int
    fen: str
    value: float
    best: str


def make_puzzles(
    games: Iterable[SourceGame], *, visits: int, tell: Callable[[int, int], None] = lambda games, puzzles: None
) -> list[Puzzle]:
    """Return the puzzles of games of one variant, in their order; equal positions count once.

    Every position with a choice of moves is searched by heuristic-1 with `visits`. A puzzle is a position that is won
    for the side to move (`WON`) by the move before it, which lost at least `MISTAKE`. `tell` is called with the numbers
    of games and puzzles so far.
    """
    source, found, read = iter(games), dict[str, Puzzle](), 0
    while part := list(islice(source, GAMES_AT_ONCE)):
        before: Searched | None = None
        for each in _search(part, visits):
            game = part[each.game]
            is_next = before is not None and (before.game, before.ply + 1) == (each.game, each.ply)
            if before is not None and is_next and each.value >= WON and each.value + before.value >= MISTAKE:
                name = f"{Position(game.variant, each.fen).key:016x}"
                themes = _themes(game, each)
                moves = (_uci(game.variant, before.fen, game.moves[before.ply]), each.best)
                found.setdefault(name, Puzzle(name, before.fen, moves, themes, f"{game.name}#{each.ply}"))
            before = each
        read += len(part)
        tell(read, len(found))
    return list(found.values())


def _search(games: Sequence[SourceGame], visits: int) -> Iterator[Searched]:
    """Yield the positions of games that have a choice of moves, in order, each as a game of one move in a pool."""
    places: list[tuple[int, int, str]] = []
    for number, game in enumerate(games):
        position = Position(game.variant, game.start_fen)
        for ply in range(len(game.moves) + 1):
            if position.is_game_over(claim_draw=True):
                break
            places.append((number, ply, position.fen()))
            if ply < len(game.moves):
                position.play(game.moves[ply])
    if not places:
        return
    pool = Pool(games[0].variant, [Seat(visits=visits)], max_plies=1, slots=SEARCHES, threads=0)
    pool.start_games([(fen, 0, 0) for _, _, fen in places])
    pool.run("heuristic-1")
    for (number, ply, fen), record in zip(places, pool.drain(), strict=True):
        if record.values:  # not where there is only one move
            best = _uci(games[0].variant, fen, record.moves[0])
            yield Searched(number, ply, fen, record.values[0][1], best)


def _uci(variant: str, fen: str, move: Move) -> str:
    return Position(variant, fen).uci(move)


def _themes(game: SourceGame, found: Searched) -> tuple[str, ...]:
    """Return the variant, the phase of the game and the size of the advantage, in Lichess's words."""
    left, men = (
        sum(letter.isalpha() for letter in fen.split()[0]) for fen in (found.fen, Position(game.variant).fen())
    )
    phase = "endgame" if left <= ENDGAME_SHARE * men else "opening" if found.ply < OPENING_PLIES else "middlegame"
    size = "mate" if found.value >= 1 else "crushing" if centipawns(found.value) >= CRUSHING else "advantage"
    return game.variant.removesuffix("960"), phase, size


def balanced(puzzles: Sequence[Puzzle], count: int | None = None) -> list[Puzzle]:
    """Return as many puzzles with White as with Black to solve, the first of each, `count` together at most."""
    sides = {side: [each for each in puzzles if each.fen.split()[1] == side] for side in "wb"}
    most = min(len(sides["w"]), len(sides["b"]))
    most = most if count is None else min(most, count // 2)
    kept = {each.name for side in sides.values() for each in side[:most]}
    return [each for each in puzzles if each.name in kept]
