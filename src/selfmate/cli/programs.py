"""`selfmate play`, `uci` and `demo`: the programs around a player."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from selfmate.errors import SelfmateError
from selfmate.match.options import PLAYER_HELP

__all__ = ["demo", "play", "uci"]


def play(
    player: Annotated[str, typer.Argument(metavar="PLAYER", help=f"Your opponent: {PLAYER_HELP}.")] = "heuristic-1",
    variant: Annotated[str | None, typer.Option("--variant", help="Variant (default: the net's, else chess).")] = None,
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
        typer.Option("--seed", min=0, max=2**63, help="Random seed of the opponent."),
    ] = None,
) -> None:
    """Play against a net or any other player, in the terminal.

    Example: selfmate play runs/gardner-laptop --level 4

    Example: selfmate play --variant atomic --color black --visits 800 --pgn mine.pgn
    """
    import secrets

    from rich.console import Console

    from selfmate.app.play import LEVEL_VISITS, PlaySession
    from selfmate.board.position import Position, chess960_fen
    from selfmate.search.limit import Limit
    from selfmate.search.player import Player
    from selfmate.util.files import check_target

    check_target(pgn)
    if level is not None and (visits is not None or seconds is not None):
        raise SelfmateError("--level cannot be combined with --visits or --seconds")
    colors = {"white": True, "w": True, "black": False, "b": False, "random": bool(secrets.randbits(1))}
    if color.lower() not in colors:
        raise SelfmateError(f"--color: white, black or random, not {color!r}", color)
    if visits is None and seconds is None:
        visits = LEVEL_VISITS[(level or 6) - 1]
    opponent = Player(player)
    name = variant or opponent.variant or "chess"
    if fen is None and name.endswith("960"):
        fen = chess960_fen(secrets.randbelow(960))
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  # gives the prompt a history
    session = PlaySession(
        opponent,
        Position(name, fen),
        Limit(visits=visits, seconds=seconds),
        Console(highlight=False),
        color=colors[color.lower()],
        pgn=pgn,
        seed=seed,
    )
    session.run()


def uci() -> None:
    """Run the UCI engine, for chess GUIs, lichess-bot, fastchess or python-chess.

    `selfmate-uci` is the same, for programs that take no arguments. docs/uci.md lists the options.

    Example: selfmate uci
    """
    from selfmate.uci.server import main as run

    run()


def demo(
    variant: Annotated[str, typer.Argument(help="chess, atomic, gardner, … or chess960, atomic960")] = "atomic",
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Repeat a game (default: a new one).")] = None,
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
