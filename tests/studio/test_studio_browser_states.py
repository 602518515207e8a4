"""The studio in Chromium: what views say while something is missing, waits or was refused, and that they recover."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from selfmate.board.position import Position
from studio_browser import PATIENCE_MS, Open, picture, shows
from studio_server import studio_server
from studio_trainer import MANIFEST

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: make teststudio")
expect = playwright.expect

pytestmark = pytest.mark.browser


def test_an_analysis_waits_for_the_review_and_goes_on_after_it(open_page: Open) -> None:
    page = open_page("#study?variant=gardner&player=heuristic-1&moves=c2c3 b4c3 b2c3 a4a3")
    page.locator(".crow").first.wait_for()
    page.get_by_label("Limit").select_option("")
    page.get_by_role("button", name="Find the mistakes").click()
    note = page.locator(".ehd .sm")
    expect(note).to_have_text("waits for the review")
    expect(note).to_contain_text("visits", timeout=PATIENCE_MS)
    page.get_by_role("tab", name="Search tree").click()
    page.locator(".nd").nth(3).wait_for()


def test_a_net_that_cannot_be_read_says_so_inside(open_page: Open) -> None:
    page = open_page("#study/net?variant=gardner&player=run/none/0")
    expect(page.locator(".eng .empty")).to_have_text("No such player: 'run/none/0'.")
    page.get_by_role("tab", name="Search tree").click()
    expect(page.locator(".stepper.live")).to_contain_text("No such player: 'run/none/0'.")
    page.goto(page.url.partition("#")[0] + "#study/net?variant=gardner&player=gardner-laptop")
    page.locator(".planes .pl").first.wait_for(timeout=PATIENCE_MS)
    # A plane of one number says it.
    page.goto(page.url.partition("#")[0] + "#study/net?variant=gardner&fen=r3k/5/5/5/R3K w - - 50 60")
    expect(page.locator(".pl", has_text="half-move clock")).to_contain_text("0.5")


def test_nothing_moves_on_a_phone_when_the_tree_comes(open_page: Open) -> None:
    page = open_page("#study/tree?variant=gardner", width=390, height=844)
    row = page.locator(".tleg")
    row.wait_for()
    top = "() => document.querySelector('.tleg').getBoundingClientRect().top"
    before = page.evaluate(f"() => document.querySelector('.nd') ? null : ({top})()")
    page.locator(".nd").nth(3).wait_for(timeout=PATIENCE_MS)
    assert before in (None, page.evaluate(top))  # None: the tree was there at once


@pytest.mark.parametrize("width", [390, 1280, 1440])
def test_the_zoom_of_the_tree_is_one_line(open_page: Open, width: int) -> None:
    page = open_page("#study/tree?variant=gardner", width=width)
    page.locator(".nd").nth(3).wait_for(timeout=PATIENCE_MS)
    places = [page.get_by_role("button", name=name).bounding_box() for name in ("Smaller", "usual size", "Larger")]
    middles = [box["y"] + box["height"] / 2 for box in places]
    assert max(middles) - min(middles) < 3, middles


def test_the_board_beside_the_form_is_that_of_the_chosen_variant(open_page: Open) -> None:
    page = open_page("#play?variant=crazyhouse")
    expect(page.locator(".toast")).to_contain_text("There is no variant “crazyhouse”.")
    page.locator("select[name=variant]").select_option("gardner")
    shows(page, Position("gardner").fen())
    page.locator("select[name=variant]").select_option("racingkings")
    shows(page, Position("racingkings").fen())
    expect(page.get_by_role("button", name="New", exact=True)).to_be_hidden()  # the form is beside the board


def test_a_refused_training_can_be_started_after_a_change(browser: Any, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with studio_server(runs) as server:
        page = browser.new_page()
        page.goto(f"{server.url}#train/new")
        name, start = page.get_by_label("Name of the run"), page.get_by_role("button", name="Start training")
        page.get_by_label("slots").wait_for()
        if start.is_disabled():
            pytest.skip("needs PyTorch: pip install 'selfmate[train]'")
        name.fill(".first")
        expect(page.get_by_role("alert")).to_have_text("A name begins with a letter or a digit.")
        expect(start).to_be_disabled()
        name.fill("first")
        # No folder of runs can be made here.
        runs.rmdir() if runs.is_dir() else None
        runs.write_text("")
        start.click()
        expect(page.get_by_role("alert")).to_have_text(re.compile("[a-z]+"))
        expect(start).to_be_enabled()
        name.fill("second")
        expect(page.get_by_role("alert")).to_have_count(0)
        page.close()


def test_the_first_screen_goes_on_with_a_study_and_plays_its_game(open_page: Open) -> None:
    page = open_page("#study?variant=gardner&player=heuristic-1")
    page.locator(".crow").first.click()
    expect(page.locator(".gcol .mv")).to_have_count(1)
    page.goto(page.url.partition("#")[0] + "#home")
    expect(page.locator(".cont .row", has_text="study · 1 ply")).to_be_visible()
    door = page.locator(".door").first
    pieces = door.locator(".piece-picture")
    before = pieces.count()
    door.hover()
    expect(pieces).not_to_have_count(before)  # an explosion
    picture(page, "home-again-light-1440.png")
    page.locator(".cont .row", has_text="study").click()
    expect(page.locator(".gcol .mv")).to_have_count(1)


def test_a_phone_shows_the_name_of_a_run(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "gardner-laptop-2").mkdir()
    (tmp_path / "gardner-laptop-2" / "manifest.json").write_text("{")
    with studio_server(tmp_path) as server:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto(f"{server.url}#train")
        select = page.get_by_label("Run", exact=True)
        expect(select).to_have_value("gardner-laptop-2")
        assert select.bounding_box()["width"] > 150
        page.close()


def test_a_zoomed_chart_of_a_growing_run_stays_as_it_was_zoomed(browser: Any, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name in ("growing", "other"):
        (runs / name).mkdir(parents=True)
        (runs / name / "manifest.json").write_text(json.dumps(MANIFEST))
        grow(runs / name, range(20))
    with studio_server(runs) as server:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{server.url}#train/growing")
        card = page.locator(".ch", has=page.get_by_role("heading", name="Plies a game"))
        plot, whole = card.locator(".u-over"), card.get_by_role("button", name="Show all")
        assert ends(page, card) == (0, 19)
        expect(whole).to_have_count(0)
        drag_across(page, plot, 0.5, 0.75)
        expect(whole).to_be_visible()
        zoomed = ends(page, card)
        assert zoomed[0] in (9, 10)
        assert zoomed[1] in (14, 15)
        # New values come, the theme makes the plot anew.
        grow(runs / "growing", range(20, 30))
        expect(card.locator(".plot")).to_have_attribute("aria-label", "Plies a game: plies 59")
        assert ends(page, card) == zoomed
        page.keyboard.press("Shift+L")
        assert ends(page, card) == zoomed
        whole.click()
        expect(whole).to_have_count(0)
        assert ends(page, card) == (0, 29)
        # A chart that is not zoomed grows; a zoom is that of one run.
        grow(runs / "growing", range(30, 40))
        expect(card.locator(".plot")).to_have_attribute("aria-label", "Plies a game: plies 69")
        assert ends(page, card) == (0, 39)
        drag_across(page, plot, 0.1, 0.3)
        expect(whole).to_be_visible()
        page.get_by_role("combobox", name="Run").select_option("other")
        expect(card.locator(".plot")).to_have_attribute("aria-label", "Plies a game: plies 49")
        assert ends(page, card) == (0, 19)
        page.close()


def grow(run: Path, cycles: range) -> None:
    """Append the games of cycles to the measurements of a run."""
    with (run / "metrics.jsonl").open("a") as file:
        for cycle in cycles:
            line = {"stage": "play", "cycle": cycle, "time": float(cycle), "games": 8, "plies": 30.0 + cycle}
            file.write(json.dumps(line) + "\n")


def drag_across(page: Any, plot: Any, start: float, end: float) -> None:
    """Drag the mouse over a share of the width of a chart."""
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] * start, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, box["y"] + 20, steps=5)
    page.mouse.up()


def ends(page: Any, card: Any) -> tuple[int, int]:
    """Return the first and the last cycle that the pointer finds in a chart."""
    place, found = card.locator(".plot"), []
    place.scroll_into_view_if_needed()
    for share in (0.0, 1.0):
        page.mouse.move(5, 5)
        expect(card.locator(".rd")).not_to_contain_text("cycle")
        text = ""
        for shift in range(1, 60):  # the plot may just be made anew, and knows nothing of the pointer then
            box = card.locator(".u-over").bounding_box()
            across = shift % 3 + 1 if share == 0 else box["width"] - shift % 3 - 1
            page.mouse.move(box["x"] + across, box["y"] + box["height"] / 2)
            page.wait_for_timeout(100)
            text = card.locator(".rd").text_content()
            if text.startswith("cycle"):
                break
        found.append(int(re.findall(r"cycle (\d+)", text)[0]))
    return found[0], found[1]
