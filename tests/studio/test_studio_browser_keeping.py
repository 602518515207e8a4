"""The studio in Chromium: what is kept when a view is left, mistakes and foreign text, and the look of the views."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from selfmate.board.position import Position
from studio_browser import Open, click_move, new_game, page_opener, picture_difference, shows
from studio_server import StudioServer, studio_server
from studio_texts import INJECTIONS

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: make teststudio")
expect = playwright.expect

pytestmark = pytest.mark.browser

TWO_GAMES = '[White "A"]\n[Black "B"]\n\n1. e4 e5 2. Nf3 *\n\n[White "C"]\n[Black "D"]\n\n1. d4 *\n'
CHECKED = "4k/5/5/Q4/4K w - - 0 1"
MOST_DIFFERENCE = 3.0
"""Mean over a small picture, of 255. Another font makes up to 1.6, numbers of a search 1.5, a board without its pieces
4.5 to 6, without its squares 8 to 11, a missing panel 10 to 20, the other theme more than 100."""


def open_pgn(page: Any, text: str) -> None:
    page.get_by_label("PGN: paste").fill(text)
    page.get_by_role("button", name="Open", exact=True).last.click()


def test_a_study_is_there_again_after_another_view_and_a_reload(open_page: Open) -> None:
    page = open_page("#study?open=1")
    open_pgn(page, TWO_GAMES)
    expect(page.locator(".toast")).to_have_text("The text has more than one game: the first is open.")
    expect(page.locator(".gcol .mv")).to_have_count(3)
    page.keyboard.press("ArrowRight")
    click_move(page, "c7c5")
    expect(page.locator(".gcol .var")).to_contain_text("c5")
    page.get_by_label("Comment").first.fill("what I think")
    page.locator("nav .tab", has_text="Nets").click()
    page.get_by_role("heading", name="Nets", exact=True).wait_for()
    for come_back in (lambda: page.locator("nav .tab", has_text="Study").click(), page.reload):
        come_back()
        expect(page.locator(".gcol .ghd")).to_have_text(re.compile("^A . B"))
        expect(page.locator(".gcol .var [aria-current=true]")).to_contain_text("c5")
        expect(page.get_by_label("Comment").first).to_have_value("what I think")
        expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator("nav .tab", has_text="Study").click()  # once more, in the same view
    expect(page.locator(".gcol .var")).to_contain_text("c5")
    # Another position in the address is another study.
    page.goto(page.url.partition("#")[0] + "#study?variant=gardner")
    expect(page.locator(".gcol .mv")).to_have_count(0)
    expect(page.locator(".sub")).to_have_text("Gardner")


def test_a_game_that_had_a_rematch_can_be_looked_at(open_page: Open, server: StudioServer) -> None:
    game = new_game(server, variant="gardner", color="white", player="random", fen=CHECKED)
    page = open_page(f"#play/{game['id']}")
    shows(page, CHECKED)
    click_move(page, "a2e2")
    expect(page.locator(".moves .mv")).to_have_count(2)
    page.keyboard.press("ArrowLeft")  # the position before the answer: the king is in check
    expect(page.locator("square.check")).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("square.check")).to_have_count(0)
    page.get_by_role("button", name="Resign").click()
    page.get_by_role("button", name="Press again to resign").click()
    page.get_by_role("button", name="Rematch").click()
    expect(page).not_to_have_url(re.compile(game["id"]))
    page.goto(server.url + f"#play/{game['id']}")
    expect(page.locator(".say")).to_contain_text("White resigned")
    page.wait_for_timeout(300)
    assert page.url.endswith(game["id"])


def test_foreign_text_is_shown_as_text(open_page: Open) -> None:
    """The page must not have had a dialog or an error at the end: `open_page` looks."""
    texts = [text.replace("\0", "") for text in INJECTIONS]
    assert len(texts) >= 50
    page = open_page("#study?open=1")
    steps = ("Nf3", "Nf6", "Ng1", "Ng8")
    moves = " ".join(f"{steps[number % 4]} {{{text.replace('}', ')')}}}" for number, text in enumerate(texts))
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in texts]
    names = ["White", "Black", "Event", "Site", "Round", "Annotator"]
    headers = "".join(f'[{name} "{text}"]\n' for name, text in zip(names, quoted, strict=False))
    open_pgn(page, f"{headers}\n{moves} *\n")
    expect(page.locator(".gcol .ghd")).to_contain_text(texts[0])
    comments = page.locator(".gcol .comment")
    expect(comments).to_have_count(len(texts))
    shown = " ".join("".join(comments.all_inner_texts()).split())
    for text in ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "javascript:alert(1)"):
        assert shown.count(text) >= 10
    assert page.locator(".gcol script, .gcol img, .gcol a").count() == 0


def test_mistakes_are_said_where_they_are_made(open_page: Open, server: StudioServer) -> None:
    page = open_page("#play?variant=chess&fen=garbage")
    shows(page, Position("chess").fen())
    expect(page.locator(".toast")).to_contain_text("A FEN has a board")
    page.goto(server.url + "#play/nope")
    expect(page.locator(".toast")).to_have_text("There is nothing with this id.")
    expect(page).to_have_url(server.url + "#play")
    page.goto(server.url + "#study?variant=gardner&fen=garbage")
    shows(page, Position("gardner").fen())
    page.goto(server.url + "#study?variant=nosuch")
    expect(page.locator(".toast")).to_have_text("There is no variant “nosuch”.")
    page.goto(server.url + "#study?variant=chess&player=run/none/3")
    expect(page.locator(".cand")).to_have_text("No such player: 'run/none/3'.")
    page.get_by_role("button", name="Open", exact=True).click()
    open_pgn(page, "1. e4 e5 2. Qxf7 *")
    expect(page.locator(".toast")).to_contain_text("the rest of the game is left out.")
    expect(page.locator(".gcol .mv")).to_have_count(2)
    page.get_by_role("button", name="Open", exact=True).click()
    open_pgn(page, '[Variant "Nosuch"]\n\n1. e4 *')
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("unknown variant 'Nosuch'")
    page.goto(server.url + "#train/new")
    page.get_by_label("Minutes").fill("1e9")
    expect(page.get_by_role("alert")).to_have_text("Minutes are a number above 0, up to 100,000.")
    expect(page.get_by_role("button", name="Start training")).to_be_disabled()


def test_the_choices_of_a_game_stay_within_their_panel(open_page: Open) -> None:
    page = open_page("#play?variant=atomic")
    page.get_by_role("button", name="Start", exact=True).wait_for()
    panel = page.locator(".setup")
    edge = panel.bounding_box()
    for button in panel.get_by_role("button").all():
        box = button.bounding_box()
        assert box["x"] + box["width"] <= edge["x"] + edge["width"] - 8, button.inner_text()


def test_what_is_chosen_is_seen_in_the_colours_of_the_system(open_page: Open) -> None:
    page = open_page("#play?variant=atomic", forced_colors="active")
    colour = "button => getComputedStyle(button).backgroundColor"
    chosen, other = (page.locator(".setup").get_by_role("button", name=name, exact=True) for name in ("White", "Black"))
    expect(chosen).to_have_attribute("aria-pressed", "true")
    assert chosen.evaluate(colour) != other.evaluate(colour)


STILL = {
    "home": ("#home", ".door >> nth=2"),
    "play": ("#play?variant=atomic", ".ground piece >> nth=31"),
    "study": ("#study?variant=gardner", ".crow >> nth=3"),
    "train": ("#train", ".key:visible >> nth=3"),
    "nets": ("#nets", ".ladder svg"),
}


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_views_look_as_they_did(browser: Any, tmp_path: Path, width: int, theme: str) -> None:
    differences = {}
    with studio_server(tmp_path) as server, page_opener(browser, server) as open_page:  # without games and matches
        page = open_page(width=width, height=844 if width == 390 else 900, theme=theme)
        for name, (address, part) in STILL.items():
            page.goto(server.url + address)
            page.locator(part).wait_for()
            page.wait_for_timeout(400)
            differences[name] = picture_difference(page, f"{name}-{theme}-{width}")
    assert {name: found for name, found in differences.items() if found > MOST_DIFFERENCE} == {}
