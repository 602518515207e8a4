"""What tests of the studio in Chromium share: games of the server, moves on the board, screenshots.

The fixtures `browser` and `open_page` are in tests/studio/conftest.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from studio_server import StudioServer

__all__ = [
    "FLAGS",
    "PATIENCE_MS",
    "PICTURES",
    "ROOT",
    "Open",
    "click_move",
    "drag_move",
    "game_now",
    "new_game",
    "picture",
    "place",
    "shows",
]

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "studio"
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE_MS = 30_000

Open = Callable[..., Any]


def new_game(server: StudioServer, **choice: Any) -> dict[str, Any]:
    with server.page() as page:
        return page.game(**choice)


def game_now(server: StudioServer, game_id: str) -> dict[str, Any]:
    with server.page() as page:
        return page.ask("game.open", id=game_id)


def place(page: Any, square: str, *, flipped: bool = False) -> tuple[float, float]:
    """Return the middle of a square of the board, in pixels of the page."""
    board = page.locator(".board:not(.mini)").first
    box = board.bounding_box()
    files = (
        5
        if len(board.get_attribute("data-fen").split("/")[0]) and board.get_attribute("data-fen").count("/") == 4
        else 8
    )
    file, rank = "abcdefgh".index(square[0]), int(square[1]) - 1
    across, down = (file, files - 1 - rank) if not flipped else (files - 1 - file, rank)
    size = box["width"] / files
    return box["x"] + (across + 0.5) * size, box["y"] + (down + 0.5) * size


def click_move(page: Any, uci: str) -> None:
    for square in (uci[:2], uci[2:4]):
        page.mouse.click(*place(page, square))


def drag_move(page: Any, uci: str, *, flipped: bool = False) -> None:
    page.mouse.move(*place(page, uci[:2], flipped=flipped))
    page.mouse.down()
    page.mouse.move(*place(page, uci[2:4], flipped=flipped), steps=6)
    page.mouse.up()


def shows(page: Any, fen: str) -> None:
    """Wait until the board shows a position, and its pieces stand where the position has them."""
    from playwright.sync_api import expect

    expect(page.locator(f'.board[data-fen="{fen}"]')).to_be_visible(timeout=PATIENCE_MS)
    count = sum(letter.isalpha() for letter in fen.split(" ")[0])
    expect(page.locator(".ground piece:not(.ghost):not(.fading)")).to_have_count(count)


def picture(page: Any, name: str) -> None:
    """Keep a screenshot; playwright's own style sheet, which hides the caret, would offend the page's policy."""
    page.screenshot(path=PICTURES / name, caret="initial")
