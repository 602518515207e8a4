"""The options of `selfmate ladder`, each declared once: type, default, range and help.

The command line makes its parameters of the fields (`selfmate.cli.common.takes_options`), so this module is light.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from typer import Argument, Option

from selfmate.match.options import MOST_VISITS, PLAYER_HELP, RayAddress, read_seed

__all__ = ["LadderOptions"]

GAMES: Final = 300
ERROR: Final = 40.0
MEASURE_GAMES: Final = 1_000_000
MEASURE_ERROR: Final = 20.0
MEASURE_MINUTES: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderOptions:
    """What to rate on a ladder, or which ladder to measure, and when to stop."""

    net: Annotated[
        str | None,
        Argument(metavar="NET", help=f"Player to rate: {PLAYER_HELP}; or uci:COMMAND?nodes=N.", show_default=False),
    ] = None
    variant: Annotated[str | None, Option("--variant", help="Variant (default: that of the net).")] = None
    visits: Annotated[
        int | None, Option("--visits", min=1, max=MOST_VISITS, help="Visits per move for the net (default: 64).")
    ] = None
    movetime: Annotated[
        int | None, Option("--movetime", min=1, max=86_400_000, help="Milliseconds per move instead of visits.")
    ] = None
    games: Annotated[
        int | None,
        Option("--games", min=2, max=1_000_000, help="Stop after this many games, an even number (default: 300)."),
    ] = None
    error: Annotated[
        float | None,
        Option("--error", min=1, max=1000, help="Stop when the 95 % interval is ± this many Elo (default: 40)."),
    ] = None
    minutes: Annotated[
        float | None, Option("--minutes", min=0.01, max=1_000_000, help="Stop after this many minutes.")
    ] = None
    engine: Annotated[
        str | None,
        Option(
            "--engine",
            metavar="COMMAND",
            help="Command of Fairy-Stockfish (default: the first that is found and passes the checks).",
        ),
    ] = None
    without_engine: Annotated[
        bool, Option("--without-engine", help="Play only ladder players that need no engine.")
    ] = False
    build_engine: Annotated[bool, Option("--build-engine", help="Build Fairy-Stockfish and exit.")] = False
    measure: Annotated[
        str | None,
        Option(
            "--measure",
            metavar="VARIANT",
            help="Calibrate the ladder of a variant (30 minutes unless --minutes is given).",
        ),
    ] = None
    spacing: Annotated[
        Path | None, Option("--spacing", help="Calibration file (default: the shipped one); --measure writes it.")
    ] = None
    leave_out: Annotated[
        list[str] | None, Option("--leave-out", metavar="NAME", help="A ladder player that does not play; repeatable.")
    ] = None
    note: Annotated[str, Option("--note", help="With --measure: a note on machine and engine build.")] = ""
    seed: Annotated[int, Option("--seed", parser=read_seed, metavar="N", help="Random seed of the openings.")] = 0
    device: Annotated[str, Option("--device", help="Where the net computes: cpu or cuda.")] = "cpu"
    ray: RayAddress = None
    pgn: Annotated[
        Path | None, Option("--pgn", help="Keep the games in this file; run the same command again to resume.")
    ] = None
    plot: Annotated[Path | None, Option("--plot", help="Draw the result to this file, .svg or .png.")] = None
    force: Annotated[bool, Option("--force", help="Start again and replace the games in the file.")] = False
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False

    @property
    def most_games(self) -> int:
        """Games after which to stop."""
        return self.games or (GAMES if self.measure is None else MEASURE_GAMES)

    @property
    def target_error(self) -> float:
        """Half the 95 % interval at which to stop, in Elo."""
        return self.error or (ERROR if self.measure is None else MEASURE_ERROR)

    @property
    def most_minutes(self) -> float | None:
        """Minutes after which to stop; None for no limit."""
        return self.minutes or (None if self.measure is None else MEASURE_MINUTES)
