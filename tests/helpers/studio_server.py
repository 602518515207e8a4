"""A studio server in a thread of the test, and a page without a browser: requests in, events out."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Self

import uvicorn
from websockets.sync.client import ClientConnection, connect

from selfmate.studio.app import make_app
from selfmate.studio.outside_engine import read_engines
from selfmate.studio.security import COOKIE, Access
from selfmate.studio.server import MOST_FRAME_BYTES, bind
from selfmate.studio.state import Studio

__all__ = ["Page", "StudioServer", "studio_server"]


class StudioServer:
    """Where a server listens, and its token."""

    def __init__(self, port: int, access: Access) -> None:
        self.port = port
        self.access = access
        self.host = f"127.0.0.1:{port}"
        self.url = f"http://{self.host}/"

    def get(
        self, path: str, *, token: bool = True, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers (names in lower case) and body of a request; the path is sent as it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            given.setdefault("cookie", f"{COOKIE}={self.access.cookie_value}")
        connection.putrequest(method, path, skip_host="host" in given, skip_accept_encoding=True)
        for name, value in given.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content

    def page(self, **headers: str) -> Page:
        """Return a new connection, as a page of this server makes it; `headers` replace its own."""
        given = {"cookie": f"{COOKIE}={self.access.cookie_value}", "origin": self.url.rstrip("/")} | headers
        origin = given.pop("origin")
        opened = connect(
            f"ws://{self.host}/ws",
            origin=origin or None,  # type: ignore[arg-type]
            additional_headers=given,
            max_size=MOST_FRAME_BYTES,
            compression=None,
            close_timeout=0.5,
        )
        return Page(opened)


class Page:
    """A page without a browser."""

    def __init__(self, opened: AbstractContextManager[ClientConnection]) -> None:
        self._opened = opened
        self.socket = opened.__enter__()
        self.heard: list[dict[str, Any]] = []
        self._ask = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.__exit__(None, None, None)

    def send(self, kind: str, **body: Any) -> int:
        """Send a request and return its number."""
        self._ask += 1
        self.socket.send(json.dumps({"type": kind, "ask": self._ask, **body}))
        return self._ask

    def next(self, seconds: float = 20.0) -> dict[str, Any]:
        """Return the next event."""
        event: dict[str, Any] = json.loads(self.socket.recv(timeout=seconds))
        self.heard.append(event)
        return event

    def until(self, kind: str, seconds: float = 20.0, **fields: Any) -> dict[str, Any]:
        """Return the next event of a kind with these fields; others are dropped."""
        end = time.monotonic() + seconds
        while True:
            event = self.next(max(0.01, end - time.monotonic()))
            assert kind == "failure" or event["type"] != "failure", event
            if event["type"] == kind and all(event[name] == value for name, value in fields.items()):
                return event

    def ask(self, kind: str, seconds: float = 20.0, **body: Any) -> dict[str, Any]:
        """Send a request and return the first event that answers it."""
        number = self.send(kind, **body)
        end = time.monotonic() + seconds
        while True:
            event = self.next(max(0.01, end - time.monotonic()))
            if event["ask"] == number:
                return event

    def game(self, seconds: float = 30.0, **choice: Any) -> dict[str, Any]:
        """Start a game and return its first view."""
        view = self.ask("game.new", seconds, **choice)
        assert view["type"] == "game.view", view
        return view

    def your_turn(self, seconds: float = 30.0) -> dict[str, Any]:
        """Return the next view of a game in which the user is to move, or which is over."""
        while True:
            view = self.until("game.view", seconds)
            if view["board"]["result"] or view["board"]["turn"] == view["you"]:
                return view


@contextmanager
def studio_server(
    runs: Path, *, port: int = 0, token: str | None = None, engines: Sequence[str] = ()
) -> Iterator[StudioServer]:
    """Run a server in a thread while the block runs."""
    listener = bind("127.0.0.1", port)
    chosen = listener.getsockname()[1]
    access = Access("127.0.0.1", chosen, token)
    config = uvicorn.Config(
        make_app(Studio(runs, read_engines(engines)), access),
        log_level="critical",
        ws="websockets-sansio",
        ws_max_size=MOST_FRAME_BYTES,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=1,
        lifespan="on",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield StudioServer(chosen, access)
    finally:
        server.should_exit = True
        thread.join(10)
