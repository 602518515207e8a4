"""Train a net for two minutes and let it play its untrained self: `python examples/train_and_play.py runs/mine 2`."""

from __future__ import annotations

import sys

from selfmate.match.openings import balanced_openings
from selfmate.match.runner import play_match
from selfmate.search.config import play_config
from selfmate.search.player import Player
from selfmate.train.session import train


def main(run: str = "runs/example", minutes: str = "2", *settings: str) -> None:
    """Train by the recipe `gardner-laptop`, with keys changed as by `--set`; the same call resumes the run."""
    summary = train("gardner-laptop", run, float(minutes), settings)
    print(f"{summary.reason} after cycle {summary.cycle}, {summary.games} games")
    trained, untrained = Player(run), Player(f"{run}:untrained")
    openings = balanced_openings("gardner", 10, plies=4, seed=1)
    played = play_match(
        "gardner", trained.evaluator, untrained.evaluator, openings, search=play_config(), visits=16, max_plies=200
    )
    if played is not None:
        match, _ = played
        print(f"{match.score:.0%} of {match.games} games against the untrained net")


if __name__ == "__main__":
    main(*sys.argv[1:])
