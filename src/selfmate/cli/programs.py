"""`selfmate play`, `uci` and `demo`: the programs around a player."""

from __future__ import annotations

import contextlib
import random
import sys
from pathlib import Path
from typing import Annotated

import typer

from selfmate.cli.complete import complete_player, complete_variant
from selfmate.errors import SelfmateError, clip
from selfmate.match.options import PLAYER_HELP, read_seed

__all__ = ["demo", "play", "uci"]


def play(
    player: Annotated[
        str | None,
        typer.Argument(
            metavar="PLAYER",
            help=f"Your opponent: {PLAYER_HELP} (default: the shipped net of the variant, else heuristic-1).",
            autocompletion=complete_player,
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option("--variant", help="Variant (default: the net's, else chess).", autocompletion=complete_variant),
    ] = None,
    color: Annotated[str, typer.Option("--color", help="Your colour: white, black or random.")] = "white",
    level: Annotated[
        int | None, typer.Option("--level", min=1, max=8, help="Strength, 1 (weak) to 8 (strong).")
    ] = None,
    visits: Annotated[int | None, typer.Option("--visits", min=1, max=10_000_000, help="Visits per move.")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", min=0.01, max=3600, help="Seconds per move.")] = None,
    fen: Annotated[str | None, typer.Option("--fen", help="Start position (default: that of the variant).")] = None,
    pgn: Annotated[Path | None, typer.Option("--pgn", help="Append the games to this PGN file.")] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", parser=read_seed, metavar="N", help="Random seed of the opponent (default: a new one)."),
    ] = None,
) -> None:
    """Play against a net or any other player, in the terminal.

    Example: selfmate play runs/gardner-laptop --level 4

    Example: selfmate play --variant atomic --color black --visits 800 --pgn mine.pgn
    """
    # long because every option is declared with its help
    import secrets

    from rich.console import Console

    from selfmate.app.play import LEVEL_VISITS, PlaySession
    from selfmate.board.position import chess960_fen
    from selfmate.cli.common import read_fen
    from selfmate.search.limit import Limit
    from selfmate.search.player import Player
    from selfmate.search.spec import default_player
    from selfmate.util.files import check_target

    check_target(pgn)
    if level is not None and (visits is not None or seconds is not None):
        raise SelfmateError("--level cannot be combined with --visits or --seconds")
    is_white = _read_color(color)
    if visits is None and seconds is None:
        visits = LEVEL_VISITS[(level or 6) - 1]
    opponent = None if player is None else Player(player)
    name = variant or (opponent and opponent.variant) or "chess"
    if fen is None and name.endswith("960"):
        fen = chess960_fen(secrets.randbelow(960))
    start = read_fen(name, fen, hint=variant is None)
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  # gives the prompt a history
    session = PlaySession(
        opponent or Player(default_player(name, timed=seconds is not None)),
        start,
        Limit(visits=visits, seconds=seconds),
        Console(highlight=False),
        color=is_white,
        pgn=pgn,
        seed=seed,
    )
    session.run()
    if session.unsaved:  # the session has printed why
        sys.exit(2)


def _read_color(text: str) -> bool:
    """Return whether --color means White; raise SelfmateError for anything but white, black and random."""
    colors = {"white": True, "w": True, "black": False, "b": False, "random": random.random() < 0.5}
    if text.lower() not in colors:
        raise SelfmateError(f"--color: unknown colour {clip(text)!r}; use white, black or random", text)
    return colors[text.lower()]


def uci(
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit if a net cannot be loaded, instead of playing on with heuristic-1."),
    ] = False,
) -> None:
    """Run the UCI engine, for chess GUIs, lichess-bot, fastchess or python-chess.

    `selfmate-uci` is the same, for programs that take no arguments. docs/uci.md lists the options.

    Example: selfmate uci --strict
    """
    from selfmate.uci.server import main as run

    run(strict=strict)


def demo(
    variant: Annotated[str, typer.Argument(help="chess, atomic, gardner, … or chess960, atomic960")] = "atomic",
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            parser=read_seed,
            metavar="N",
            help="Random seed; the same seed repeats a game (default: a new one).",
        ),
    ] = None,
    delay: Annotated[
        float | None, typer.Option("--delay", min=0, max=60, help="Seconds between moves (default: 0.4 in a terminal).")
    ] = None,
) -> None:
    """Play a short random game in the terminal.

    Example: selfmate demo atomic --seed 7
    """
    import secrets

    from rich.console import Console

    from selfmate.app.demo import play_demo

    console = Console(highlight=False)
    pause = (0.4 if console.is_terminal else 0.0) if delay is None else delay
    play_demo(variant, secrets.randbelow(1_000_000) if seed is None else seed, console, delay=pause)
