"""`make soak`: random games by the million beside python-chess, some of them also beside Fairy-Stockfish.

    python tests/soak/games.py --games 1000000              all variants in turn, on all processors
    python tests/soak/games.py --games 1000000 --first 500  resume: games are numbered
    python tests/soak/games.py --variant atomic --seed 7    one game again

Game number n is the same game on every machine, whatever the number of processes. A million games take some hours on
two cores. The first difference ends the run with exit code 1 and everything needed to see it again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import time
from collections.abc import Iterable
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from crosscheck import EIGHT_BY_EIGHT, Mismatch, play_game

FIRST_SEED = 1_000_000
"""Above the seeds of the tests."""
GAMES_PER_TASK = 20
PYFFISH_EVERY = 50
"""pyffish takes twenty times as long as python-chess, so it judges one game in fifty; Gardner, which only it knows, is
as rare."""


class Game(NamedTuple):
    """One game to be played."""

    number: int
    variant: str
    seed: int
    judges: tuple[str, ...]


def numbered_game(number: int, variants: tuple[str, ...]) -> Game:
    """Return the game with this number.

    >>> numbered_game(0, ("chess",))
    Game(number=0, variant='chess', seed=1000000, judges=('pyffish', 'python-chess'))
    >>> numbered_game(1, ("chess",))
    Game(number=1, variant='chess', seed=1000001, judges=('python-chess',))
    """
    rounds, turn = divmod(number, len(variants))
    variant = variants[turn]
    if variant == "gardner":
        return Game(number, variant, FIRST_SEED + rounds, ("pyffish",))
    if rounds % PYFFISH_EVERY:
        return Game(number, variant, FIRST_SEED + rounds, ("python-chess",))
    # One round in fifty has both judges, with Gardner in the place of the first variant.
    if turn == 0 and len(variants) > 1:
        return Game(number, "gardner", FIRST_SEED + rounds, ("pyffish",))
    return Game(number, variant, FIRST_SEED + rounds, ("pyffish", "python-chess"))


class Task(NamedTuple):
    """A portion of games for one process."""

    start: int
    stop: int
    variants: tuple[str, ...]


def play(game: Game) -> int:
    """Play one game and give the number of positions; raise `Mismatch` at the first difference."""
    return len(play_game(game.variant, game.seed, game.judges).move_stack) + 1


def play_all(task: Task) -> tuple[int, int, str | None]:
    """Play some games; give how many, the number of positions, and the first difference, if there was one."""
    positions = 0
    for number in range(task.start, task.stop):
        try:
            positions += play(numbered_game(number, task.variants))
        except Mismatch as difference:
            return number - task.start, positions, str(difference)
    return task.stop - task.start, positions, None


def portions(first: int, games: int, variants: tuple[str, ...]) -> Iterable[Task]:
    """Cut the games into portions for the processes."""
    for start in range(first, first + games, GAMES_PER_TASK):
        yield Task(start, min(start + GAMES_PER_TASK, first + games), variants)


def ignore_interrupts() -> None:
    """Leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def soak(first: int, games: int, variants: tuple[str, ...], processes: int) -> int:
    """Play the games and give the exit code."""
    console = Console(stderr=True)
    progress = Progress(
        TextColumn("soak"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    started = time.monotonic()
    done = positions = 0
    context = multiprocessing.get_context("spawn")
    with progress, context.Pool(processes, initializer=ignore_interrupts) as pool:
        task = progress.add_task("soak", total=games)
        try:
            # In order, so that "everything before number n is done" holds when it is stopped.
            for more_games, more_positions, difference in pool.imap(play_all, portions(first, games, variants)):
                done += more_games
                positions += more_positions
                if difference is not None:
                    print(difference)
                    return 1
                progress.update(task, completed=done)
        except KeyboardInterrupt:
            pool.terminate()
            print(f"stopped after {done} games; resume with --first {first + done}")
            return 130
    print(f"{done} games, {positions} positions, 0 differences, {time.monotonic() - started:.0f} s")
    return 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Random games against other implementations of the rules.")
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER", help="number of the first game")
    parser.add_argument("--variant", choices=[*EIGHT_BY_EIGHT, "gardner"], help="only this variant")
    parser.add_argument("--seed", type=int, help="only this game of the variant, as a difference names it")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    arguments = parser.parse_args()
    if min(arguments.games, arguments.first, arguments.processes - 1) < 0:
        parser.error("--games and --first go from 0, --processes from 1")
    if arguments.seed is not None:
        if arguments.variant is None:
            parser.error("--seed needs a --variant")
        judges = ("pyffish",) if arguments.variant == "gardner" else ("pyffish", "python-chess")
        try:
            positions = play(Game(0, arguments.variant, arguments.seed, judges))
        except Mismatch as difference:
            print(difference)
            return 1
        print(f"1 game, {positions} positions, 0 differences")
        return 0
    variants = (arguments.variant,) if arguments.variant else EIGHT_BY_EIGHT
    return soak(arguments.first, arguments.games, variants, arguments.processes)


if __name__ == "__main__":
    sys.exit(main())
