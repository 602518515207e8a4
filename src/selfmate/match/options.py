"""The options of a match, each declared once: type, default, range and help (`selfmate arena --help`).

The command line makes its parameters of the fields (`selfmate.cli.common.takes_options`), so this module is light.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from typer import Argument, BadParameter, Option

from selfmate.errors import SelfmateError, clip

__all__ = ["PLAYER_HELP", "MatchOptions", "RayAddress", "check_even", "read_seed"]

PLAYER_HELP: Final = (
    "heuristic-1, uniform, random, a shipped net (selfmate nets), a net's folder or .onnx file, or a run "
    "(runs/NAME, runs/NAME:untrained; NET:untrained has random weights)"
)
"""Ways to write a player, for help texts."""
RayAddress = Annotated[
    str | None,
    Option(
        "--ray",
        metavar="[ADDRESS]",
        help="Play the games on a cluster of Ray: HOST:PORT of its head, or auto; without an address, one on this "
        "machine (docs/cluster.md).",
    ),
]
"""`selfmate.cli.help.with_address` lets its value be left out."""
MOST_VISITS: Final = 10_000_000
GAMES: Final = 100
SPRT_GAMES: Final = 2000


def read_seed(text: str | int) -> int:
    """Return a random seed, a whole number from 0 to 2^63; any other text raises typer's `BadParameter`.

    >>> read_seed("7"), read_seed(str(2**63)) == 2**63
    (7, True)
    """
    word = str(text)
    if not (word.isascii() and word.isdecimal() and len(word) <= 19 and int(word) <= 2**63):
        raise BadParameter(f"{clip(word)!r} is not a whole number from 0 to 2^63.")
    return int(word)


def check_even(games: int | None) -> None:
    """Raise `SelfmateError` for a number of games that cannot be played in pairs."""
    if games is not None and games % 2:
        near = f"{games - 1} or {games + 1}" if games > 1 else "2"
        raise SelfmateError(f"--games: every opening is played twice, so {games} is not possible; {near} is")


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchOptions:
    """A match between two or more players; `selfmate.match.plan.make_plan` makes it playable.

    >>> MatchOptions(players=["heuristic-1", "random"], games=20).openings_count
    10
    """

    players: Annotated[
        list[str],
        Argument(
            metavar="A B …", help=f"Players: {PLAYER_HELP}; or uci:COMMAND?nodes=N (docs/arena.md).", show_default=False
        ),
    ]
    variant: Annotated[str | None, Option("--variant", help="Variant (default: that of the nets, else chess).")] = None
    games: Annotated[
        int | None,
        Option(
            "--games",
            min=2,
            max=1_000_000,
            help="Games per pair of players, an even number (default: 100, with --sprt 2000).",
        ),
    ] = None
    pairs: Annotated[
        int | None, Option("--pairs", min=1, max=500_000, help="Openings, each played twice (instead of --games).")
    ] = None
    visits: Annotated[
        int | None, Option("--visits", min=1, max=MOST_VISITS, help="Visits per move for nets (default: 64).")
    ] = None
    visits_a: Annotated[int | None, Option("--visits-a", min=1, max=MOST_VISITS, help="Visits per move for A.")] = None
    visits_b: Annotated[int | None, Option("--visits-b", min=1, max=MOST_VISITS, help="Visits per move for B.")] = None
    nodes: Annotated[int | None, Option("--nodes", min=1, help="Nodes per move for engines.")] = None
    depth: Annotated[int | None, Option("--depth", min=1, max=1000, help="Depth for engines.")] = None
    movetime: Annotated[
        int | None, Option("--movetime", min=1, max=86_400_000, help="Milliseconds per move for all players.")
    ] = None
    tc: Annotated[
        str | None, Option("--tc", metavar="SECONDS+INCREMENT", help="Clock for all players, such as 10+0.1.")
    ] = None
    openings: Annotated[
        Path | None,
        Option("--openings", help="A book: FENs or EPDs, or .pgn (default: random openings that are about even)."),
    ] = None
    opening_plies: Annotated[
        int | None,
        Option("--opening-plies", min=0, max=1000, help="Plies taken from each game of a PGN book (default: all)."),
    ] = None
    seed: Annotated[int, Option("--seed", parser=read_seed, metavar="N", help="Random seed of the openings.")] = 0
    gumbel: Annotated[bool, Option("--gumbel", help="Gumbel root, as in training, instead of PUCT.")] = False
    concurrency: Annotated[
        int | None,
        Option("--concurrency", min=1, max=1024, help="Games with engines that are played at once (docs/arena.md)."),
    ] = None
    margin: Annotated[
        int | None,
        Option(
            "--margin",
            min=0,
            max=60_000,
            help="Milliseconds by which a move may exceed its time (default: 50, with --movetime 1000).",
        ),
    ] = None
    patience: Annotated[
        float | None,
        Option(
            "--patience",
            min=0.1,
            max=86_400,
            help="Seconds that an engine has to reply (default: 60, at its start 10).",
        ),
    ] = None
    max_plies: Annotated[
        int, Option("--max-plies", min=1, max=10_000, help="Longest game in plies; then it is a draw.")
    ] = 512
    resign: Annotated[
        str | None,
        Option(
            "--resign",
            metavar="CENTIPAWNS,MOVES",
            help="A side resigns when it scores itself this low in this many consecutive moves.",
        ),
    ] = None
    win: Annotated[
        str | None,
        Option(
            "--win",
            metavar="CENTIPAWNS,MOVES",
            help="A side wins when both sides score the game this high for it in this many consecutive moves.",
        ),
    ] = None
    draw: Annotated[
        str | None,
        Option(
            "--draw",
            metavar="CENTIPAWNS,MOVES,AFTER",
            help="Drawn when both sides score the game this low in this many consecutive moves, from move AFTER on.",
        ),
    ] = None
    sprt: Annotated[
        str | None,
        Option("--sprt", metavar="ELO0,ELO1", help="Stop when the test shows that A is ELO1 stronger, or only ELO0."),
    ] = None
    alpha: Annotated[float | None, Option("--alpha", help="Probability of accepting ELO1 wrongly (default: 0.05).")] = (
        None
    )
    beta: Annotated[float | None, Option("--beta", help="Probability of accepting ELO0 wrongly (default: 0.05).")] = (
        None
    )
    model: Annotated[
        str | None, Option("--model", help="Elo of --sprt: normalised or logistic (default: normalised).")
    ] = None
    device: Annotated[str, Option("--device", help="Where nets compute: cpu or cuda.")] = "cpu"
    ray: RayAddress = None
    pgn: Annotated[
        Path | None, Option("--pgn", help="Keep the match in this file; run the same command again to resume.")
    ] = None
    csv: Annotated[Path | None, Option("--csv", help="Write a line for each game to this file.")] = None
    force: Annotated[bool, Option("--force", help="Start again and replace the match in the file.")] = False
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False

    @property
    def openings_count(self) -> int:
        """Openings of each pair of players; raises `SelfmateError` if `games` is odd or contradicts `pairs`."""
        if self.games is not None and self.pairs is not None:
            raise SelfmateError("--games and --pairs cannot be combined")
        check_even(self.games)
        return self.pairs or (self.games or (GAMES if self.sprt is None else SPRT_GAMES)) // 2
