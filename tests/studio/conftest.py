"""Fixtures of the tests in a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from studio_browser import FLAGS, PATIENCE_MS, PICTURES, Open
from studio_server import StudioServer


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start Chromium; skip where it or playwright is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: make teststudio")
    playwright.expect.set_options(timeout=15_000)  # two browsers share two cores
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Any, server: StudioServer) -> Iterator[Open]:
    """Open a page at an address of the studio; at the end of the test it must have had no error."""
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
