"""Rate the players of a PGN file: `python examples/rate_pgn.py match.pgn`; `selfmate rate` has more models."""

from __future__ import annotations

import sys

from selfmate.rating.elo import fit, tally
from selfmate.rating.pgn_results import read_all


def main(*paths: str) -> None:
    """Print the most likely ratings with their 95 % intervals, best first.

    Without a path it reads what `examples/match_to_pgn.py` has written.
    """
    ratings = fit(tally(read_all(paths or ("match.pgn",)).games))
    for player in ratings.players:
        print(f"{player.player:30} {player.elo:+7.0f} ± {player.error:.0f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
