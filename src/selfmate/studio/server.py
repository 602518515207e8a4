"""`selfmate studio`: starts the server and opens the page."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from selfmate.errors import SelfmateError
from selfmate.studio.security import Access, is_loopback

__all__ = ["ServerError", "serve"]

DEFAULT_PORT: Final = 8765
MOST_FRAME_BYTES: Final = 2 << 20
PORTS_TO_TRY: Final = 20


class ServerError(SelfmateError):
    """The server cannot be started."""


def bind(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens; without a port the usual one, or the next that is free. Raises `ServerError`."""
    wanted = [port] if port is not None else list(range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TO_TRY))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for each in wanted:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, each))
            listener.listen(256)
        except OSError as error:
            listener.close()
            if error.errno == errno.EADDRINUSE and port is None:
                continue
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                raise ServerError(f"--host {host} is no address of this machine", host) from None
            reason = " is in use" if error.errno == errno.EADDRINUSE else f": {(error.strerror or str(error)).lower()}"
            raise ServerError(f"port {each} of {host}{reason}; choose another with --port", str(each)) from None
        return listener
    raise ServerError(f"ports {wanted[0]} to {wanted[-1]} are in use; choose another with --port", str(wanted[0]))


def serve(host: str, port: int | None, runs: Path, *, browser: bool, engines: Sequence[str] = ()) -> None:
    """Run the server until Ctrl-C or SIGTERM; print its address, and open the page where there is a display.

    `engines` are outside engines as `NAME=COMMAND`; each is started once, to see that it is there.
    """
    import uvicorn

    from selfmate.studio.app import make_app, static_folder
    from selfmate.studio.outside_engine import read_engines
    from selfmate.studio.state import Studio

    if not (static_folder() / "index.html").is_file():
        raise ServerError("the page is not built: run `make page` in a source checkout")
    if runs.exists() and not runs.is_dir():
        raise ServerError(f"{runs} is a file: --runs takes the folder of the training runs", str(runs))
    Access.for_host(host, 0)  # refuse before a port is taken
    known = read_engines(engines) if engines else []
    listener = bind(host, port)
    chosen = listener.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{chosen}/"
    app = make_app(Studio(runs, known), Access.for_host(host, chosen))
    logging.basicConfig(level=logging.WARNING, format="selfmate: %(message)s")
    server = uvicorn.Server(
        uvicorn.Config(
            app, log_level="warning", access_log=False, ws="websockets-sansio", ws_max_size=MOST_FRAME_BYTES,
            ws_per_message_deflate=False, server_header=False, timeout_graceful_shutdown=1, lifespan="on",
        )
    )  # fmt: skip
    end = server.handle_exit

    def handle_exit(number: int, frame: FrameType | None) -> None:
        # At a second Ctrl-C uvicorn would skip the shutdown of the app, which takes a second, and print a traceback.
        if not server.should_exit:
            end(number, frame)

    server.handle_exit = handle_exit  # type: ignore[assignment, method-assign]
    print(f"The studio is at {address} (Ctrl-C ends it).", flush=True)
    if browser and is_loopback(host) and _has_display():
        threading.Timer(0.3, _open_browser, (address,)).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listener])


def _has_display() -> bool:
    """Return whether a browser can be opened: there is a display, and no remote shell."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and not os.environ.get("SSH_CONNECTION")


def _open_browser(address: str) -> None:
    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(address)
