"""Real games between two instances of the UCI engine under an outside referee: python-chess, and pyffish for Gardner.

    python tests/soak/uci_games.py --games 100 --base 1 --increment 0.02 --overhead 30 --concurrency 2

The variants take turns, and every game begins with a few random moves. Counted are illegal moves, losses on time (by
the referee's clock, which includes the pipes), hangs, and engine processes left at the end; any of them gives exit code
1. --busy N starts N processes that only keep the cores busy.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import chess
import chess.variant
import pyffish

from selfmate import VARIANTS
from uci_process import Uci

GARDNER_START = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"
HANG = 30.0
MOST_PLIES = 400


class Referee(Protocol):
    """The rules of another project."""

    moves: list[str]

    def legal(self) -> list[str]:
        """Legal moves in UCI."""

    def play(self, move: str) -> None:
        """Play a legal move."""

    def result(self) -> str | None:
        """Return the result, or None while the game continues."""


class PythonChess:
    """python-chess: every variant but Gardner."""

    def __init__(self, variant: str) -> None:
        self.board = chess.variant.find_variant(variant)()
        self.moves: list[str] = []

    def legal(self) -> list[str]:
        """Legal moves in UCI."""
        return [move.uci() for move in self.board.legal_moves]

    def play(self, move: str) -> None:
        """Play a legal move."""
        self.board.push_uci(move)
        self.moves.append(move)

    def result(self) -> str | None:
        """Return the result, or None while the game continues."""
        if self.board.is_repetition(3) or self.board.is_fifty_moves():
            return "1/2-1/2"
        outcome = self.board.outcome()
        return outcome.result() if outcome is not None else None


class Pyffish:
    """pyffish: Gardner."""

    def __init__(self, variant: str) -> None:
        self.variant = variant
        self.moves: list[str] = []

    def legal(self) -> list[str]:
        """Legal moves in UCI."""
        found: list[str] = pyffish.legal_moves(self.variant, GARDNER_START, self.moves)
        return found

    def play(self, move: str) -> None:
        """Play a legal move."""
        self.moves.append(move)

    def result(self) -> str | None:
        """Return the result, or None while the game continues."""
        if not self.legal():
            value = pyffish.game_result(self.variant, GARDNER_START, self.moves)
            white = len(self.moves) % 2 == 0
            return "1/2-1/2" if value == 0 else "1-0" if (value > 0) == white else "0-1"
        over, _ = pyffish.is_optional_game_end(self.variant, GARDNER_START, self.moves)
        bare = all(pyffish.has_insufficient_material(self.variant, GARDNER_START, self.moves))
        return "1/2-1/2" if over or bare else None


@dataclass
class Tally:
    """Counts over all games."""

    results: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    plies: int = 0
    least: float = float("inf")
    """The least time on any clock, in seconds."""


@dataclass(frozen=True)
class Control:
    """Time control in seconds, and options."""

    base: float
    increment: float
    overhead: int
    ponder: bool
    options: tuple[str, ...] = ()
    """Further options of the engines, as NAME=VALUE."""


def play(number: int, variant: str, control: Control, tally: Tally) -> None:
    """Play one game and add it to the counts."""
    dice = random.Random(number)
    referee: Referee = Pyffish(variant) if variant == "gardner" else PythonChess(variant)
    for _ in range(dice.randrange(2, 7)):
        move = dice.choice(referee.legal())
        referee.play(move)
        if referee.result() is not None:  # too short: begin again
            referee = Pyffish(variant) if variant == "gardner" else PythonChess(variant)
    with Uci() as white, Uci() as black:
        engines = (white, black)
        for engine in engines:
            engine.send(f"setoption name UCI_Variant value {variant}")
            engine.send(f"setoption name Move Overhead value {control.overhead}", "setoption name Hash value 32")
            if control.ponder:
                engine.send("setoption name Ponder value true")
            for option in control.options:
                engine.send("setoption name {} value {}".format(*option.split("=", 1)))
            engine.send("ucinewgame")
            engine.ready()
        clocks = [control.base, control.base]
        pondered: list[str | None] = [None, None]
        try:
            while referee.result() is None and len(referee.moves) < MOST_PLIES:
                side = len(referee.moves) % 2
                engine = engines[side]
                times = "wtime {:.0f} btime {:.0f}".format(*(1000 * clock for clock in clocks))
                times += f" winc {1000 * control.increment:.0f} binc {1000 * control.increment:.0f}"
                began = time.monotonic()
                if pondered[side] is not None and referee.moves[-1] == pondered[side]:
                    engine.send("ponderhit")
                else:
                    if pondered[side] is not None:
                        engine.ask("stop")
                    engine.send(f"position startpos moves {' '.join(referee.moves)}", f"go {times}")
                answer = engine.until("bestmove", HANG)[-1].split()
                taken = time.monotonic() - began
                clocks[side] -= taken
                tally.least = min(tally.least, clocks[side])
                if clocks[side] < 0:
                    left = clocks[side] + taken
                    tally.wrong.append(
                        f"game {number} ({variant}): move {len(referee.moves)} took {taken:.3f} s of {left:.3f} s"
                    )
                    return
                clocks[side] += control.increment
                if answer[1] not in referee.legal():
                    tally.wrong.append(f"game {number} ({variant}): {answer[1]} after {' '.join(referee.moves)}")
                    return
                referee.play(answer[1])
                pondered[side] = None
                if control.ponder and len(answer) > 3 and referee.result() is None:
                    if answer[3] not in referee.legal():
                        tally.wrong.append(f"game {number} ({variant}): ponder {answer[3]}")
                        return
                    pondered[side] = answer[3]
                    engine.send(
                        f"position startpos moves {' '.join([*referee.moves, answer[3]])}", f"go ponder {times}"
                    )
            tally.results[referee.result() or "*"] += 1
            tally.plies += len(referee.moves)
        except (TimeoutError, EOFError) as error:
            tally.wrong.append(f"game {number} ({variant}): {type(error).__name__}: {error}")
            return
        for engine in engines:
            if engine.quit() != 0:
                tally.wrong.append(f"game {number} ({variant}): exit code {engine.process.returncode}")
            if engine.errors:
                tally.wrong.append(f"game {number} ({variant}): {b''.join(engine.errors).decode()[-500:]}")


def keep_busy() -> None:
    """Keep a core busy."""
    while os.getppid() != 1:
        for _ in range(1_000_000):
            pass


def run(games: int, control: Control, concurrency: int, busy: int = 0, variants: Sequence[str] = VARIANTS) -> Tally:
    """Play all games, print the counts and return them."""
    tally = Tally()
    others = [multiprocessing.Process(target=keep_busy, daemon=True) for _ in range(busy)]
    for other in others:
        other.start()
    try:
        with ThreadPoolExecutor(concurrency) as pool:
            done = [
                pool.submit(play, number, variants[number % len(variants)], control, tally) for number in range(games)
            ]
            for game in done:
                game.result()
    finally:
        for other in others:
            other.terminate()
            other.join()
    print(f"{games} games at {control.base:g}+{control.increment:g} s, {tally.plies} plies, {dict(tally.results)}")
    print(f"least time ever left: {1000 * tally.least:.0f} ms; {len(tally.wrong)} wrong")
    for each in tally.wrong[:20]:
        print(each)
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--base", type=float, default=1.0, help="seconds")
    parser.add_argument("--increment", type=float, default=0.02, help="seconds")
    parser.add_argument("--overhead", type=int, default=30, help="milliseconds")
    parser.add_argument("--concurrency", type=int, default=2, help="games at a time")
    parser.add_argument("--ponder", action="store_true")
    parser.add_argument("--busy", type=int, default=0, help="processes that keep the cores busy")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option; repeatable")
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="default: all; repeatable")
    arguments = parser.parse_args()
    control = Control(arguments.base, arguments.increment, arguments.overhead, arguments.ponder, tuple(arguments.set))
    found = run(arguments.games, control, arguments.concurrency, arguments.busy, arguments.variant or VARIANTS)
    sys.exit(1 if found.wrong else 0)
