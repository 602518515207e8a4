"""Speed of reading PGN beside python-chess, strictly and leniently, in MB/s.

    python bench/pgn.py [FILE.pgn ...] [--megabytes 1] [--rounds 5]

Without a file, games are made: random moves of chess with clocks in comments, annotations and variations. Every round
measures all readers in turn; the figure is each reader's fastest round. All readers must find the same number of games
and main-line moves.
"""

from __future__ import annotations

import argparse
import io
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import chess.pgn

from selfmate import Game, Position, read_games

Count = tuple[int, int]
"""Games, moves of main lines."""


def make_games(size: int, seed: int = 1) -> str:
    """Return PGN of about `size` characters."""
    chance = random.Random(seed)
    texts: list[str] = []
    while sum(map(len, texts)) < size:
        game = Game()
        game.headers["Round"] = str(len(texts) + 1)
        position = Position("chess")
        node = game.end()
        for ply in range(chance.randrange(40, 120)):
            moves = position.legal_moves
            if not moves:
                break
            other = chance.choice(moves)
            move = chance.choice(moves)
            parent, node = node, node.add_variation(move)
            position.play(move)
            node.comment = f"[%clk 0:{ply % 60:02}:{ply * 7 % 60:02}]" if ply % 2 else ""
            if chance.random() < 0.05:
                node.nags.add(chance.randrange(1, 7))
                if other != move:
                    parent.add_variation(other, comment="better")
        texts.append(f"{game}\n\n")
    return "".join(texts)


def ours(text: str, *, lenient: bool) -> Count:
    """Read with Selfmate."""
    games = moves = 0
    for game in read_games(io.StringIO(text), lenient=lenient):
        games += 1
        moves += sum(1 for _ in game.mainline())
    return games, moves


def theirs(text: str) -> Count:
    """Read with python-chess."""
    games = moves = 0
    file = io.StringIO(text)
    while (game := chess.pgn.read_game(file)) is not None:
        games += 1
        moves += sum(1 for _ in game.mainline())
    return games, moves


READERS: dict[str, Callable[[str], Count]] = {
    "strict": lambda text: ours(text, lenient=False),
    "lenient": lambda text: ours(text, lenient=True),
    "python-chess": theirs,
}


def measure(name: str, text: str, rounds: int) -> None:
    """Print a line of the table."""
    best: dict[str, float] = {}
    counts: dict[str, Count] = {}
    for _ in range(rounds):
        for reader, read in READERS.items():
            begin = time.process_time()
            counts[reader] = read(text)
            best[reader] = min(best.get(reader, 1e9), time.process_time() - begin)
    if len(set(counts.values())) != 1:
        sys.exit(f"{name}: the readers disagree: {counts}")
    games, moves = counts["strict"]
    size = len(text.encode()) / 1e6
    speeds = {reader: size / seconds for reader, seconds in best.items()}
    ratios = [f"{speeds[reader] / speeds['python-chess']:.1f}x" for reader in ("strict", "lenient")]
    cells = [name, f"{size:.2f}", f"{games:,}", f"{moves:,}", *(f"{speeds[reader]:.2f}" for reader in READERS), *ratios]
    print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Read the arguments and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--megabytes", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print("| file | MB | games | moves | strict, MB/s | lenient, MB/s | python-chess, MB/s | strict | lenient |")
    print("|---|---|---|---|---|---|---|---|---|")
    if not arguments.files:
        measure("made games", make_games(int(arguments.megabytes * 1e6)), arguments.rounds)
    for path in arguments.files:
        text = path.read_bytes().decode(errors="replace")[: int(arguments.megabytes * 1e6)]
        measure(path.name, text[: text.rfind("\n\n[Event ") + 2], arguments.rounds)


if __name__ == "__main__":
    main()
