"""Where the games of self-play begin: at the start of the variant, at positions of a file, or at generated ones.

The start of a game is a function of the run's seed and the game's id, so that a resumed run begins the same games.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from selfmate._core import Pool
from selfmate.board.position import Position, chess960_fen
from selfmate.board.puzzles import PuzzleFile, read_puzzles
from selfmate.errors import SelfmateError
from selfmate.recipe.check import Problem, RecipeError
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import Recipe, SelfPlayPart
from selfmate.recipe.selfplay_types import GENERATED
from selfmate.util.random_streams import stream

__all__ = ["StartPositions", "describe_starts", "generate", "handicap", "read_starts"]

KEY: Final = "selfplay.starts"

MIDDLEGAME: Final = (0.55, 0.85)
ENDGAME: Final = (0.1, 0.4)
"""Shares of the men of the start position that are left in a generated position."""
HANDICAP: Final = 0.8
"""Largest share of the men of a side, kings apart, that a handicap takes away."""
LONGEST: Final = 400
"""Plies of a random game after which another one is begun."""
ATTEMPTS: Final = 32
"""Random games or handicaps for one position; after them the game begins at the start of the variant."""


def read_starts(recipe: Recipe) -> PuzzleFile | None:
    """Return the positions of the file that a recipe names, None where it names none; raise `RecipeError`."""
    part, variant = recipe.selfplay, recipe.variant.name
    if part.starts == "handicaps" and part.starts_even:
        raise _refusal("handicaps have the side to move of the start: without selfplay.starts_even, or other positions")
    if not part.starts or part.starts in GENERATED:
        return None
    path = Path(part.starts)
    if path.exists() and not (path.is_file() or path.is_fifo()):  # a device may have no end
        raise _refusal(f"{path}: not a file")
    try:
        found = read_puzzles(path, variant)
    except OSError as error:
        raise _refusal(f"{path}: {error.strerror or error}") from error
    except SelfmateError as error:  # compressed, as Lichess publishes its puzzles
        raise _refusal(f"{path}: {error}") from error
    if not found.rows:
        raise _refusal(f"{path}: the file is empty")
    if not found.fens:
        raise _refusal(f"{path}: no position of {variant}: {found.describe_bad()}")
    if part.starts_even and found.white in (0, len(found.fens)):
        side = "White" if found.white else "Black"
        raise _refusal(f"{path}: {side} is to move in every position, so they cannot be drawn evenly")
    return found


def _refusal(reason: str) -> RecipeError:
    problem = Problem(KEY, reason)
    return RecipeError(str(problem), KEY, (problem,))


def describe_starts(part: SelfPlayPart, found: PuzzleFile) -> str:
    """Return what a file of start positions has, in one line: how many, the colours, and what cannot be used."""
    share = found.white / len(found.fens)
    drawn = "half of each are drawn" if part.starts_even else f"{1 - share:.0%} with Black"
    text = f"{part.starts}: {len(found.fens):,} start positions, {share:.0%} with White to move, {drawn}"
    bad = found.describe_bad()
    return f"{text}; {bad}." if bad else f"{text}."


class StartPositions:
    """The start of each game of a run. `seed` is that of its self-play; `fens` are the positions of a file."""

    def __init__(self, recipe: Recipe, seed: int, fens: Sequence[str] = ()) -> None:
        self.variant = recipe.variant.name
        self.part = recipe.selfplay
        self.seed = seed
        self._fens = list(fens)
        sides = [fen.split()[1] for fen in fens]
        self._by_side = [[fen for fen, side in zip(fens, sides, strict=True) if side == turn] for turn in "wb"]

    def is_drawn(self, game: int, cycle: int) -> bool:
        """Return whether a game begins at one of the recipe's `starts`."""
        if not self._fens and self.part.starts not in GENERATED:
            return False
        return stream(self.seed, "starts", game) < at(self.part.starts_share, cycle) * 2.0**64

    def fen(self, game: int, cycle: int) -> str:
        """Return the FEN at which a game begins; empty for the start position of the variant."""
        if self.is_drawn(game, cycle):
            return self._draw(stream(self.seed, "starts row", game))
        if self.variant.endswith("960"):
            return chess960_fen(stream(self.seed, "start position", game) % 960)
        return ""

    def _draw(self, number: int) -> str:
        rows, turn = self._fens, "wb"[number & 1]
        if self._fens:
            if self.part.starts_even:
                rows, number = self._by_side[number & 1], number >> 1
            return rows[number % len(rows)]
        kind = self.part.starts
        if kind == "handicaps":
            return handicap(self.variant, number)
        if kind == "generated":
            kind = ("middlegames", "endgames")[number >> 1 & 1]
        return generate(self.variant, kind, number, turn if self.part.starts_even else None)

    def queue(self, pool: Pool, games: range, cycle: int) -> None:
        """Queue games by their ids. The random plies of the recipe follow no position of `starts`."""
        if not self.part.starts and not self.variant.endswith("960"):
            pool.start(games.start, len(games))
            return
        for drawn, group in groupby(games, key=lambda game: self.is_drawn(game, cycle)):
            ids = list(group)
            pool.start_games([(self.fen(game, cycle), 0, 0) for game in ids], ids[0], random_opening=not drawn)


def generate(variant: str, kind: str, seed: int, turn: str | None = None) -> str:
    """Return a middlegame or endgame (FEN) of a random game: a function of the seed.

    `kind` is `middlegames` or `endgames`; `turn` is the side to move, `w` or `b`, None for any. Every capture that is
    possible is made, so that men leave the board; otherwise moves are drawn uniformly. Only the rules are needed, so
    every variant has such positions. The result is empty if no random game has one.

    >>> generate("gardner", "endgames", 1) == generate("gardner", "endgames", 1) != generate("gardner", "endgames", 2)
    True
    """
    chance = random.Random(seed)
    for _ in range(ATTEMPTS):
        position = Position(variant, chess960_fen(chance.randrange(960)) if variant.endswith("960") else None)
        share = chance.uniform(*(MIDDLEGAME if kind == "middlegames" else ENDGAME))
        wanted = max(3, round(share * _men(position)))
        for reached in _random_game(position, chance):
            if reached < wanted:  # a capture may take several men at once
                break
            if reached == wanted and (turn is None or position.fen().split()[1] == turn):
                return position.fen()
    return ""


def handicap(variant: str, seed: int) -> str:
    """Return a start position (FEN) without some of one side's men: a function of the seed.

    The side with more men loses them, any of the two if they have as many; how many is drawn evenly from one man to
    `HANDICAP` of them, kings apart. A position in which the side to move could take the king is drawn again.

    >>> handicap("horde", 3).split()[0].count("P") < 36
    True
    """
    chance = random.Random(seed)
    for _ in range(ATTEMPTS):
        start = Position(variant, chess960_fen(chance.randrange(960)) if variant.endswith("960") else None)
        board, *rest = start.fen().split()
        white = [index for index, letter in enumerate(board) if letter.isupper()]
        black = [index for index, letter in enumerate(board) if letter.islower()]
        side = chance.choice((white, black)) if len(white) == len(black) else max(white, black, key=len)
        men = [index for index in side if board[index] not in "Kk"]
        taken = set(chance.sample(men, chance.randint(1, max(1, int(HANDICAP * len(men))))))
        left = "".join("1" if index in taken else letter for index, letter in enumerate(board))
        left = re.sub(r"\d+", lambda empty: str(sum(map(int, empty[0]))), left)
        try:  # lenient: rights to castle with a rook that was taken away are dropped
            return Position(variant, Position(variant, " ".join([left, *rest]), lenient=True).fen()).fen()
        except ValueError:
            continue
    return ""


def _random_game(position: Position, chance: random.Random) -> Iterator[int]:
    """Play a random game; yield the number of men after every move but the one that ends the game."""
    for _ in range(LONGEST):
        legal = position.legal_moves
        captures = [move for move in legal if position.is_capture(move)]
        position.play(chance.choice(captures or legal))
        if position.is_game_over(claim_draw=True):
            return
        yield _men(position)


def _men(position: Position) -> int:
    return sum(letter.isalpha() for letter in position.board_fen())
