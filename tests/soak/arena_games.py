"""Timed games between two of our engines under our own referee, all variants in turn.

    python tests/soak/arena_games.py --games 100 --tc 1+0.02

Any illegal move, loss on time, disconnect, crash, hang, or engine process left at the end is a fault, and gives exit
code 1. `tests/soak/uci_games.py` does the same under referees of other projects.
"""

from __future__ import annotations

import argparse
import re
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from selfmate import VARIANTS, read_games
from selfmate.match.match_file import MatchFile
from selfmate.match.options import MatchOptions
from selfmate.match.plan import make_plan
from selfmate.match.tournament import play

MARK = "SELFMATE_SOAK"


@dataclass
class Tally:
    """Counts over all games."""

    games: int = 0
    plies: int = 0
    least: float = float("inf")
    """The least time on a clock after a move and its increment, in seconds."""
    results: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def run(
    games: int, tc: str, *, margin: float = 0.05, concurrency: int = 2, variants: Sequence[str] = VARIANTS
) -> Tally:
    """Play at least `games` games, print the counts and return them."""
    tally = Tally()
    mark = secrets.token_hex(8)
    each = -(-games // (2 * len(variants)))  # openings of a variant
    for number, variant in enumerate(variants):
        # The shipped net where there is one, against heuristic-1.
        players = [
            f"uci:{sys.executable} -m selfmate uci?env.{MARK}={mark}&name={name}&option.WeightsFile={weights}&tc={tc}"
            for name, weights in (("default", ""), ("heuristic", "heuristic-1"))
        ]
        options = MatchOptions(
            players=players,
            variant=variant,
            pairs=each,
            seed=number,
            margin=round(1000 * margin),
            concurrency=concurrency,
        )
        plan, seats = make_plan(options)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "games.pgn")
            with MatchFile(path, plan.settings) as file:
                report = play(plan, seats, file)
            ends: dict[int, str] = {}
            for game in read_games(path):
                ends[int(game.headers["Round"])] = game.end().comment
                comments = " ".join(node.comment for node in game.mainline())
                clocks = re.findall(r"\[%clk 0:(\d\d):([0-9.]+)\]", comments)
                tally.least = min([tally.least, *(60 * int(minutes) + float(rest) for minutes, rest in clocks)])
        for entry in report.entries:
            tally.games += 1
            tally.plies += entry.plies
            tally.results[entry.result] += 1
            tally.reasons[entry.reason] += 1
            if entry.fault:
                tally.wrong.append(f"{variant} game {entry.number}: {ends[entry.number]}")
        if not report.complete:
            tally.wrong.append(f"{variant}: {len(report.entries)} of {report.games} games; {report.unavailable}")
    tally.wrong += [f"process {process} is still running" for process in left_behind(mark)]
    print(f"{tally.games} games at {tc} s, {tally.plies} plies, {dict(tally.results)}; {dict(tally.reasons)}")
    print(f"least time on a clock after a move: {tally.least:.1f} s; {len(tally.wrong)} wrong")
    for each_wrong in tally.wrong[:20]:
        print(each_wrong)
    return tally


def left_behind(mark: str) -> list[int]:
    """Return the processes with our mark in their environment, a moment after all should have ended."""
    time.sleep(0.2)
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            pass
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=100, help="at least this many")
    parser.add_argument("--tc", default="1+0.02", help="seconds+increment")
    parser.add_argument("--margin", type=float, default=0.05, help="seconds")
    parser.add_argument("--concurrency", type=int, default=2, help="games at a time")
    parser.add_argument("--variant", action="append", choices=VARIANTS, help="default: all; repeatable")
    arguments = parser.parse_args()
    found = run(
        arguments.games,
        arguments.tc,
        margin=arguments.margin,
        concurrency=arguments.concurrency,
        variants=arguments.variant or VARIANTS,
    )
    sys.exit(1 if found.wrong else 0)
