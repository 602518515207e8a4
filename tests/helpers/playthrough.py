"""Playthroughs: one random game per variant in readable text.

The files of tests/playthroughs/ are replayed line by line by test_conformance.py. After a deliberate
change of behaviour `python tests/helpers/playthrough.py --write` writes them again, and the diff shows the change.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from crosscheck import choose
from selfmate import VARIANTS, Position
from selfmate.board.position import chess960_fen

FOLDER = Path(__file__).parents[1] / "playthroughs"
NAMES = (*VARIANTS, "chess960", "atomic960")
MIN_PLIES, MAX_PLIES = 20, 60


def playthrough(variant: str, fen: str, moves: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a game: at each ply the board, its state, the legal moves in SAN, and the move played."""
    position = Position(variant, fen)
    writer, reader = "tests/helpers/playthrough.py", "tests/board/test_conformance.py"
    yield f"A random game of {variant}. Written by {writer}, replayed by {reader}."
    for ply in range(len(moves) + 1):
        # 1. The position.
        yield ""
        yield f"ply {ply}"
        yield from (f"  {row}" for row in str(position).splitlines())
        yield f"fen: {position.fen(shredder=position.chess960)}"
        yield f"key: {position.key:016x}"
        yield f"check: {'yes' if position.is_check() else 'no'}"
        sides = (("White", True), ("Black", False))
        cannot_win = [name for name, color in sides if position.has_insufficient_material(color)]
        yield f"cannot win: {', '.join(cannot_win) or 'nobody'}"
        yield f"repetitions: {position.repetitions()}"
        # 2. The legal moves.
        legal = sorted(position.legal_moves, key=position.uci)
        yield f"legal: {len(legal)}"
        sans = [position.san(move) for move in legal]
        yield from (f"  {' '.join(sans[start : start + 12])}" for start in range(0, len(sans), 12))
        # 3. The outcome, and the move played.
        outcome = position.outcome(claim_draw=True)
        yield f"outcome: {f'{outcome.result()}, {outcome.reason}' if outcome else 'none yet'}"
        if ply < len(moves):
            move = position.parse_uci(moves[ply])
            yield f"play: {position.uci(move)} {position.san(move)}"
            position.play(move)


def read_moves(lines: Iterable[str]) -> tuple[str, list[str]]:
    """Return the starting FEN and the moves of a playthrough."""
    fens = (line.removeprefix("fen: ") for line in lines if line.startswith("fen: "))
    return next(fens), [line.split()[1] for line in lines if line.startswith("play: ")]


def random_game(variant: str) -> tuple[str, list[str]]:
    """Return start and moves of a random game, of one that ends within `MAX_PLIES` if one is found in 200 tries."""
    chance = random.Random(variant)
    for _ in range(200):
        fen = chess960_fen(chance.randrange(960), shredder=True) if variant.endswith("960") else Position(variant).fen()
        position = Position(variant, fen)
        moves: list[str] = []
        while len(moves) < MAX_PLIES and not position.is_game_over(claim_draw=True):
            style = chance.choice(("random", "captures", "special"))
            move = choose(position, style, position.legal_moves, chance)
            moves.append(position.uci(move))
            position.play(move)
        if len(moves) > MIN_PLIES and position.is_game_over(claim_draw=True):
            break
    return fen, moves


def write_all() -> None:
    """Write every file again; an existing game is kept."""
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        path = FOLDER / f"{name}.txt"
        fen, moves = read_moves(path.read_text(encoding="utf-8").splitlines()) if path.exists() else random_game(name)
        path.write_text("".join(f"{line}\n" for line in playthrough(name, fen, moves)), encoding="utf-8")
        print(f"tests/playthroughs/{path.name}")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python tests/helpers/playthrough.py --write")
    write_all()
