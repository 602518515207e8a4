"""What others may not do: other names, other pages, no token, other files, long input."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from websockets.exceptions import InvalidStatus

from selfmate.studio.security import COOKIE, TOKEN_VARIABLE, Access, AccessError
from selfmate.studio.server import ServerError, bind
from studio_server import StudioServer, studio_server

TRAVERSALS = [
    f"{prefix}{path}"
    for prefix in ("/", "/assets/", "/api/games/")
    for path in (
        "../app.py",
        "..%2fapp.py",
        "%2e%2e/app.py",
        "....//app.py",
        "..\\app.py",
        "..%5capp.py",
        "%252e%252e%252fapp.py",
        "/etc/passwd",
        "../../../../../../etc/passwd",
        "..%c0%afapp.py",
        "x%00/../app.py",
    )
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_path_leaves_the_page(server: StudioServer, path: str) -> None:
    status, _, body = server.get(path)
    assert status in (400, 404)
    assert b"root:" not in body
    assert b"import" not in body


def test_the_page_comes_with_its_token_and_a_policy_without_inline_script(server: StudioServer) -> None:
    status, headers, body = server.get("/", token=False)
    assert status == 200
    cookie = headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}={server.access.cookie_value};")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert server.access.cookie_value.encode() not in body
    text = body.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>|\son\w+=|\sstyle=", text)
    for path in re.findall(r'(?:src|href)="(/[^"]+)"', text):
        status, found, _ = server.get(path, token=False)
        assert status == 200
        assert found["x-content-type-options"] == "nosniff"


def test_the_api_needs_the_token(server: StudioServer) -> None:
    assert server.get("/api/info")[0] == 200
    for wrong in ("", f"{COOKIE}=", f"{COOKIE}=x{server.access.cookie_value}", f"other={server.access.cookie_value}"):
        assert server.get("/api/info", token=False, cookie=wrong)[0] == 401
    assert server.get("/api/games/0123456789abcdef/pgn")[0] == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "", "localhost.evil.example"]
)
def test_another_name_of_the_server_is_refused(server: StudioServer, host: str) -> None:
    assert server.get("/", host=host)[0] in (400, 421)
    assert server.get("/api/info", host=host)[0] in (400, 421)


def test_the_server_has_its_own_names(server: StudioServer) -> None:
    for name in ("127.0.0.1", "localhost", "LOCALHOST"):
        assert server.get("/api/info", host=f"{name}:{server.port}")[0] == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1", "https://127.0.0.1.evil.example", ""]
)
def test_another_page_cannot_connect(server: StudioServer, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        server.page(origin=origin)
    assert refused.value.response.status_code == 403
    if origin:
        assert server.get("/api/info", origin=origin)[0] == 403


def test_a_page_without_the_token_cannot_connect(server: StudioServer) -> None:
    with pytest.raises(InvalidStatus) as refused:
        server.page(cookie=f"{COOKIE}=guess")
    assert refused.value.response.status_code == 403
    with server.page() as page:
        assert page.ask("hello")["type"] == "welcome"


def test_a_long_body_is_refused(server: StudioServer) -> None:
    origin = server.url.rstrip("/")
    assert server.get("/api/login", method="POST", origin=origin, body=b"x" * (2 << 20))[0] == 413
    assert server.get("/api/login", method="POST", origin=origin, body=b"token=wrong")[0] == 401
    assert server.get("/api/login", method="POST", body=b"token=x")[0] == 403  # no origin
    assert server.get("/api/info", method="DELETE", origin=origin)[0] == 405


def test_a_body_in_chunks_is_refused(server: StudioServer) -> None:
    """Its length is not known before its end, so that it could fill the memory."""
    for path in ("/api/login", "/", "/api/info"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
            origin = server.url.rstrip("/")
            head = f"POST {path} HTTP/1.1\r\nhost: {server.host}\r\norigin: {origin}\r\ncookie: {COOKIE}="
            head += f"{server.access.cookie_value}\r\ntransfer-encoding: chunked\r\n\r\n"
            connection.sendall(head.encode() + b"10\r\ntoken=0123456789\r\n")
            assert connection.recv(200).split(b" ")[1] == b"411", path


def test_another_host_needs_a_token_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    with pytest.raises(AccessError, match=TOKEN_VARIABLE):
        Access.for_host("0.0.0.0", 80)
    assert Access.for_host("127.0.0.1", 80).token != Access.for_host("127.0.0.1", 80).token
    monkeypatch.setenv(TOKEN_VARIABLE, "short")
    with pytest.raises(AccessError, match="16"):
        Access.for_host("0.0.0.0", 80)
    monkeypatch.setenv(TOKEN_VARIABLE, "a secret of some length")
    access = Access.for_host("192.0.2.1", 80)
    assert not access.is_open
    assert not Access.for_host("127.0.0.1", 80).is_open
    assert access.token == "a secret of some length"
    assert access.knows_host("192.0.2.1:80")
    assert not access.knows_host("192.0.2.2:80")


def test_a_port_in_use_is_one_sentence(server: StudioServer) -> None:
    with pytest.raises(ServerError, match=f"port {server.port} of 127.0.0.1 is in use; choose another with --port"):
        bind("127.0.0.1", server.port)


@pytest.mark.parametrize("host", ["999.1.1.1", "2001:db8::1", "no-such-host.invalid"])
def test_a_host_of_another_machine_is_one_sentence(host: str) -> None:
    with pytest.raises(ServerError, match=f"--host {host} is no address of this machine"):
        bind(host, 0)


def test_a_set_token_is_asked_for_in_a_form(tmp_path: Path) -> None:
    secret = 'a secret; "more" & = 100 %'
    with studio_server(tmp_path, token=secret) as server:
        status, headers, body = server.get("/", token=False)
        assert status == 200
        assert "set-cookie" not in headers
        assert b"<form" in body
        origin = server.url.rstrip("/")
        form: dict[str, Any] = {"method": "POST", "token": False, "origin": origin}
        assert server.get("/api/login", body=urlencode({"token": "guess"}).encode(), **form)[0] == 401
        status, headers, _ = server.get("/api/login", body=urlencode({"token": secret}).encode(), **form)
        assert (status, headers["location"]) == (303, "/")
        assert "HttpOnly" in headers["set-cookie"]
        page = server.get("/", token=False, cookie=headers["set-cookie"].partition(";")[0])
        assert b"/assets/" in page[2]
