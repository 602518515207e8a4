"""The HTTP side of the server: the page and its files, a small API, and the WebSocket of `connection`.

The routes of the API are declared once, in `API`, from which `/api/openapi.json` is written, too.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request as HttpRequest
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from selfmate.errors import SelfmateError
from selfmate.studio.connection import Connection
from selfmate.studio.games import UnknownGame
from selfmate.studio.messages import GameList, RunList, Welcome
from selfmate.studio.security import Access, Guard
from selfmate.studio.state import Studio

__all__ = ["API", "make_app", "openapi", "static_folder"]

MOST_CONNECTIONS: Final = 300
LOGIN_PAGE: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Selfmate studio</title>
<meta name="viewport" content="width=device-width"><h1>Selfmate studio</h1>
<form method="post" action="/api/login"><label>Token <input type="password" name="token" autofocus></label>
<button>Open</button></form></html>
"""


def static_folder() -> Path:
    """Return the folder of the built page."""
    return Path(str(resources.files("selfmate") / "studio" / "static"))


class HashedFiles(StaticFiles):
    """Files whose names contain a hash of their content: a browser need never ask for them again."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "public, max-age=31536000, immutable"
        return response


@dataclass(frozen=True, slots=True)
class Operation:
    """A route of the API: what it returns, and in which media type."""

    path: str
    summary: str
    answer: type | None
    """Type of the JSON; None: text."""
    handler: Callable[[Studio, HttpRequest], Awaitable[Response]]


async def _info(studio: Studio, request: HttpRequest) -> Response:
    await asyncio.to_thread(studio.read_recipes)
    return _json(await asyncio.to_thread(studio.welcome, 0))


async def _games(studio: Studio, request: HttpRequest) -> Response:
    return _json(GameList(games=studio.games.cards()))


async def _game_pgn(studio: Studio, request: HttpRequest) -> Response:
    game_id = request.path_params["id"]
    await studio.games.restore(game_id)
    return PlainTextResponse(studio.games.pgn(game_id), media_type="application/x-chess-pgn")


async def _runs(studio: Studio, request: HttpRequest) -> Response:
    return _json(RunList(runs=await studio.runs.cards()))


API: Final = (
    Operation("/api/info", "Version, variants, players and recipes", Welcome, _info),
    Operation("/api/games", "The games of this server", GameList, _games),
    Operation("/api/games/{id}/pgn", "A game as PGN", None, _game_pgn),
    Operation("/api/runs", "The training runs", RunList, _runs),
)


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document of the API.

    >>> sorted(openapi()["paths"])
    ['/api/games', '/api/games/{id}/pgn', '/api/info', '/api/runs']
    """
    types = [operation.answer for operation in API if operation.answer is not None]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, Any] = {}
    error = {"description": "One sentence", "content": {"text/plain": {"schema": {"type": "string"}}}}
    for operation in API:
        if operation.answer is None:
            content: dict[str, Any] = {"application/x-chess-pgn": {"schema": {"type": "string"}}}
        else:
            content = {"application/json": {"schema": by_type[operation.answer]}}
        answers: dict[str, Any] = {"200": {"description": operation.summary, "content": content}, "default": error}
        described: dict[str, Any] = {"summary": operation.summary, "responses": answers}
        if "{id}" in operation.path:
            answers["404"] = error
            described["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
        paths[operation.path] = {"get": described}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Selfmate studio", "version": "1"},
        "paths": paths,
        "components": {"schemas": components},
    }


def make_app(studio: Studio, access: Access) -> Starlette:
    """Return the application of a server."""
    folder = static_folder()
    connections: set[Connection] = set()

    async def index(request: HttpRequest) -> Response:
        if not access.is_open and not access.knows_token(request.headers.get("cookie")):
            return Response(LOGIN_PAGE, media_type="text/html")
        headers = {"cache-control": "no-cache", "set-cookie": access.cookie()}
        return FileResponse(folder / "index.html", headers=headers)

    async def icon(request: HttpRequest) -> Response:
        return FileResponse(folder / "favicon.svg")

    async def login(request: HttpRequest) -> Response:
        form = (await request.body()).decode("utf-8", "replace")
        given = parse_qs(form).get("token", [""])[0]
        if not access.is_token(given):
            return PlainTextResponse("wrong token\n", 401)
        return RedirectResponse("/", 303, headers={"set-cookie": access.cookie()})

    async def document(request: HttpRequest) -> Response:
        return _json(openapi())

    async def socket(websocket: WebSocket) -> None:
        if len(connections) >= MOST_CONNECTIONS:
            await websocket.close(1013, "too many pages are open")
            return
        connection = Connection(studio, websocket)
        connections.add(connection)
        try:
            await connection.run()
        finally:
            connections.discard(connection)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with studio:
            yield

    return Starlette(
        routes=[
            Route("/", index),
            Route("/favicon.svg", icon),
            Route("/api/login", login, methods=["POST"]),
            Route("/api/openapi.json", document),
            *(Route(each.path, _endpoint(studio, each)) for each in API),
            WebSocketRoute("/ws", socket),
            Mount("/assets", HashedFiles(directory=folder / "assets", check_dir=False)),
        ],
        middleware=[Middleware(Guard, access=access), Middleware(GZipMiddleware, minimum_size=1000)],
        exception_handlers={404: _not_found, SelfmateError: _refused, UnknownGame: _not_found},
        lifespan=lifespan,
    )


def _endpoint(studio: Studio, operation: Operation) -> Callable[[HttpRequest], Awaitable[Response]]:
    async def answer(request: HttpRequest) -> Response:
        return await operation.handler(studio, request)

    return answer


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


async def _not_found(request: HttpRequest, error: Exception) -> Response:
    return PlainTextResponse("there is nothing here\n", 404)


async def _refused(request: HttpRequest, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", 400)
