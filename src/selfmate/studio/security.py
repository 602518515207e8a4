"""Which requests the server answers: host and origin of a request, the token, and the headers of every answer.

A page of another site can send requests to this server from the user's browser. So the host and, where there is one,
the origin of every request must be those of the server itself, and everything but the page's own files needs the token,
which the page has as a cookie that other sites cannot send and scripts cannot read.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import secrets
from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from selfmate.errors import SelfmateError

__all__ = ["COOKIE", "TOKEN_VARIABLE", "Access", "AccessError", "Guard", "is_loopback"]

COOKIE: Final = "selfmate_studio"
TOKEN_VARIABLE: Final = "SELFMATE_STUDIO_TOKEN"
SHORTEST_TOKEN: Final = 16
MOST_BODY_BYTES: Final = 1 << 20
OPEN_PATHS: Final = ("/", "/api/login", "/favicon.svg")
"""Paths that need no token; so do the files under `/assets/`."""
HEADERS: Final = {
    # No inline script or style sheet: what a PGN or a name contains can never become code. Style attributes are set by
    # the board and the chart library through the DOM, which the policy does not concern.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class AccessError(SelfmateError):
    """The server cannot be started as asked without becoming open to others."""


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Access:
    """The token of a server and the hosts that it answers to."""

    def __init__(self, host: str, port: int, token: str | None = None) -> None:
        self.is_open = is_loopback(host) and token is None
        """Whether the page needs no login: only this machine can reach it, and no token was set."""
        self.token = token or secrets.token_urlsafe(32)
        self.cookie_value = hashlib.sha256(self.token.encode()).hexdigest()
        """What the page keeps: a secret with any letters, as letters that a cookie may have."""
        names = {host} if host not in ("0.0.0.0", "::") else set()
        names |= {"127.0.0.1", "localhost", "::1"}
        self._any_host = host in ("0.0.0.0", "::")
        self._hosts = {f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names}

    @classmethod
    def for_host(cls, host: str, port: int) -> Access:
        """Return the access of a server; a host other than loopback needs a token in the environment."""
        token = os.environ.get(TOKEN_VARIABLE) or None
        if token is not None and len(token) < SHORTEST_TOKEN:
            raise AccessError(f"{TOKEN_VARIABLE} is shorter than {SHORTEST_TOKEN} characters")
        if not is_loopback(host) and token is None:
            raise AccessError(
                f"--host {host} lets others in: set {TOKEN_VARIABLE} to a secret that the page then asks for"
            )
        return cls(host, port, token)

    def knows_host(self, host: str | None) -> bool:
        """Return whether a request is addressed to this server, whatever name DNS was made to give it."""
        return host is not None and (self._any_host or host.lower() in self._hosts)

    def knows_origin(self, origin: str | None, host: str | None) -> bool:
        """Return whether a request comes from a page of this server."""
        return (
            origin is not None
            and host is not None
            and origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")
        )

    def knows_token(self, cookies: str | None) -> bool:
        """Return whether the cookies of a request hold the token."""
        given = cookie_parser(cookies or "").get(COOKIE, "")
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.cookie_value.encode())

    def is_token(self, given: str) -> bool:
        """Return whether a text is the token, in a time that does not depend on where they differ."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    def cookie(self) -> str:
        """Return the value of the header that gives the page its token."""
        return f"{COOKIE}={self.cookie_value}; HttpOnly; SameSite=Strict; Path=/"


class Guard:
    """Middleware that refuses what `Access` does not know, and adds the headers of `HEADERS` to every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": refusal[1]})
            else:
                response = PlainTextResponse(refusal[1] + "\n", refusal[0], dict(HEADERS))
                await response(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given: Iterable[tuple[bytes, bytes]] = message.get("headers", [])
                message["headers"] = [*given, *((name.encode(), value.encode()) for name, value in HEADERS.items())]
            await send(message)

        await self._app(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and sentence for a request that is refused; None if it is let in."""
        headers, access = Headers(scope=scope), self._access
        host, origin = headers.get("host"), headers.get("origin")
        if not access.knows_host(host):
            return 421, "this server does not have that name"
        is_socket = scope["type"] == "websocket"
        changes = is_socket or scope["method"] not in ("GET", "HEAD", "OPTIONS")
        if (changes or origin is not None) and not access.knows_origin(origin, host):
            return 403, "requests from other pages are refused"
        path: str = scope["path"]
        if path not in OPEN_PATHS and not path.startswith("/assets/") and not access.knows_token(headers.get("cookie")):
            return 401, "open the first page of the studio to get in"
        if not is_socket and "transfer-encoding" in headers:
            return 411, "the request does not say how long it is"  # a body in chunks has no end that is known
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BODY_BYTES:
            return 413, "the request is too long"
        return None
