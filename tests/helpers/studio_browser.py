"""What tests of the studio in Chromium share: games of the server, moves on the board, screenshots.

The fixtures `browser` and `open_page` of tests/conftest.py are `chromium` and `page_opener`.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from studio_server import StudioServer

__all__ = [
    "PATIENCE_MS",
    "ROOT",
    "Open",
    "chromium",
    "click_move",
    "drag_move",
    "game_now",
    "new_game",
    "page_opener",
    "picture",
    "picture_difference",
    "place",
    "shows",
]

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "studio"
KEPT_PICTURES = ROOT / "tests" / "studio" / "pictures"
"""Small pictures of views, to compare with; `RENEW_PICTURES=1 make teststudio` writes them anew."""
SMALLER = 12
"""Pixels of a screenshot for one of a small picture: letters become grey, so that another font is no other picture."""
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE_MS = 30_000

Open = Callable[..., Any]


@contextmanager
def chromium() -> Iterator[Any]:
    """Start Chromium; skip where it or playwright is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: make teststudio")
    playwright.expect.set_options(timeout=15_000)  # two browsers share two cores
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def page_opener(browser: Any, server: StudioServer) -> Iterator[Open]:
    """Yield a function that opens a page at an address of the studio; at the end no page must have had an error."""
    contexts: list[Any] = []
    errors: list[str] = []

    def open_at(
        address: str = "", *, width: int = 1440, height: int = 900, theme: str = "light", **options: Any
    ) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "console",
            lambda message: errors.append(f"{message.text} {message.location}") if message.type == "error" else None,
        )
        page.on("dialog", lambda dialog: errors.append(f"a script ran: {dialog.message}"))
        page.goto(server.url + address)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert errors == [], errors


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


def picture_difference(page: Any, name: str) -> float:
    """Keep a screenshot, and return its mean difference from the kept small one, 0 to 255; skip without Pillow."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow: pip install 'selfmate[lab]'")
    data = page.screenshot(path=PICTURES / f"look-{name}.png", caret="initial")
    shown = image.open(io.BytesIO(data)).convert("RGB")
    small = shown.resize((shown.width // SMALLER, shown.height // SMALLER), image.Resampling.BOX)
    path = KEPT_PICTURES / f"{name}.png"
    if os.environ.get("RENEW_PICTURES"):
        KEPT_PICTURES.mkdir(exist_ok=True)
        small.quantize(64).save(path, optimize=True)
    kept = image.open(path).convert("RGB")
    assert kept.size == small.size, name
    now: bytes = small.tobytes()
    before: bytes = kept.tobytes()
    return sum(abs(one - other) for one, other in zip(now, before, strict=True)) / len(now)
