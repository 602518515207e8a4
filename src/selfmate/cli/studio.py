"""`selfmate studio`: the page for playing, studying and training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["studio"]


def studio(
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Port (default: 8765, or the next free one).")
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; any but this machine's own needs a token.")
    ] = "127.0.0.1",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, but open no browser.")] = False,
    runs: Annotated[Path, typer.Option("--runs", help="Folder of the training runs.")] = Path("runs"),
    engine: Annotated[
        list[str] | None,
        typer.Option("--engine", metavar="NAME=COMMAND", help="An outside UCI engine; may be given several times."),
    ] = None,
) -> None:
    """Open the studio in a browser: play, study games, and watch nets learn.

    The server listens on this machine only. With another --host the page asks for a token, which the environment
    variable SELFMATE_STUDIO_TOKEN sets.

    An outside UCI engine is an opponent, and analyses beside ours; only those that are named here can be used.

    Example: selfmate studio --no-browser --port 8000 --engine fish=stockfish
    """
    from selfmate.studio.server import serve

    serve(host, port, runs, browser=not no_browser, engines=engine or ())
