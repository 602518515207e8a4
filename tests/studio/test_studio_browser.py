"""The studio in a real browser: Debian's Chromium, driven by playwright. `make teststudio` installs what is missing.

Screenshots go to build/studio, for people to look at.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfmate.board.position import Position
from studio_browser import PATIENCE_MS, ROOT, Open, click_move, drag_move, game_now, new_game, picture, shows
from studio_server import StudioServer, studio_server

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: make teststudio")
expect = playwright.expect

pytestmark = pytest.mark.browser

AXE = ROOT / "studio" / "node_modules" / "axe-core" / "axe.min.js"
BLUNDER = """[Variant "Gardner"]
[SetUp "1"]
[FEN "r3k/ppp1p/5/PPPQP/R3K w - - 0 1"]
[White "<img src=x onerror=alert(1)>"]
[Black "<script>alert(2)</script>"]

1. Rb1 Rb5 2. Qd4+ {<b>why?</b>} Kxd4 *
"""
"""White gives the queen away with the second move; the names would be scripts if they were not text."""

SEE_EXPLOSION = """new MutationObserver(() => {
    if (document.querySelector('.explosion')) window.exploded = true;
}).observe(document.body, {childList: true, subtree: true})"""


# -- play --------------------------------------------------------------------------------------------------------------


def test_the_first_door_leads_to_a_game_that_is_answered(open_page: Open, server: StudioServer) -> None:
    page = open_page()
    expect(page.get_by_role("heading", name="Play it, look inside it, teach it.")).to_be_visible()
    assert page.locator(".door").count() == 3
    picture(page, "home-light-1440.png")
    page.get_by_text("Play a game →").click()
    page.locator(".game-panel").wait_for()
    click_move(page, "g1f3")
    expect(page.locator(".moves .mv")).to_have_count(2)
    expect(page.locator(".say")).not_to_contain_text("Thinking", timeout=PATIENCE_MS)
    game_id = page.url.rpartition("/")[2]
    game = game_now(server, game_id)
    assert game["moves"][0]["uci"] == "g1f3"
    shows(page, game["board"]["fen"])
    picture(page, "play-light-1440.png")
    page.go_back()


def test_an_atomic_game_is_won_by_an_explosion(open_page: Open, server: StudioServer) -> None:
    fen = "rnbqkbnr/pppp2pp/8/4pp2/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 0 3"
    game = new_game(server, variant="atomic", color="white", player="random", fen=fen)
    page = open_page(f"#play/{game['id']}")
    shows(page, fen)
    page.evaluate(SEE_EXPLOSION)
    drag_move(page, "f3e5")  # the knight and the pawn vanish
    expect(page.locator(".moves .mv").nth(1)).to_be_visible()  # answered at once, and yet the explosion was seen
    assert page.evaluate("window.exploded")
    expect(page.locator(".moves .mv").first).to_have_text("Nxe5")
    now = game_now(server, game["id"])
    assert now["moves"][0]["exploded"] == ["e5"]

    fen = "4k3/5p2/8/4N3/8/8/8/4K3 w - - 0 1"
    game = new_game(server, variant="atomic", color="white", player="random", fen=fen)
    page.goto(server.url + f"#play/{game['id']}")
    shows(page, fen)
    click_move(page, "e5f7")
    expect(page.locator(".say")).to_contain_text("White wins: king exploded.")
    page.locator(".under circle").wait_for(state="attached")  # the scorch stays
    picture(page, "play-explosion-light-1440.png")
    shows(page, "8/8/8/8/8/8/8/4K3 b - - 0 1")


def test_a_promotion_is_chosen_by_mouse_and_by_key(open_page: Open, server: StudioServer) -> None:
    fen = "4k/P4/5/5/4K w - - 0 1"
    by_mouse: Callable[[Any], None] = lambda page: page.get_by_role("button", name="knight").click()  # noqa: E731
    by_key: Callable[[Any], None] = lambda page: page.keyboard.press("r")  # noqa: E731
    for choose, san in ((by_mouse, "a5=N"), (by_key, "a5=R+")):
        game = new_game(server, variant="gardner", color="white", player="random", fen=fen)
        page = open_page(f"#play/{game['id']}")
        shows(page, fen)
        click_move(page, "a4a5")
        expect(page.locator(".promotion button")).to_have_count(4)
        choose(page)
        expect(page.locator(".moves .mv").first).to_have_text(san)


def test_a_lost_clock_a_taken_back_move_and_a_rematch(open_page: Open, server: StudioServer) -> None:
    game = new_game(server, variant="gardner", color="white", player="random", clock={"seconds": 2})
    page = open_page(f"#play/{game['id']}")
    shows(page, game["board"]["fen"])
    click_move(page, "b1c3")
    expect(page.locator(".clock.on")).to_have_count(1)
    expect(page.locator(".say")).to_contain_text("White ran out of time", timeout=10_000)
    assert page.locator(".clock").last.inner_text() == "0:00.0"
    page.keyboard.press("u")
    expect(page.locator(".moves .mv")).to_have_count(0)
    shows(page, game["board"]["fen"])
    page.get_by_role("button", name="Resign").click()
    page.get_by_role("button", name="Press again to resign").click()
    expect(page.locator(".say")).to_contain_text("White resigned")
    page.get_by_role("button", name="Rematch").click()
    expect(page.locator(".moves .mv")).not_to_have_count(0)
    assert game_now(server, page.url.rpartition("/")[2])["you"] == "black"


def test_gardner_as_black_with_reload_and_two_browsers(open_page: Open, server: StudioServer) -> None:
    game = new_game(server, variant="gardner", color="black", player="heuristic-1", visits=20)
    page, second = open_page(f"#play/{game['id']}"), open_page(f"#play/{game['id']}", theme="dark")
    expect(page.locator(".moves .mv")).to_have_count(1)
    now = game_now(server, game["id"])
    legal = [move["uci"] for move in now["board"]["legal"]]
    drag_move(page, legal[0], flipped=True)
    for each in (page, second):
        expect(each.locator(".moves .mv")).to_have_count(3)
    page.reload()
    now = game_now(server, game["id"])
    for each in (page, second):
        shows(each, now["board"]["fen"])
        expect(each.locator(".moves .mv")).to_have_count(3)
    picture(second, "play-gardner-dark-1440.png")
    # Earlier positions, and back.
    page.keyboard.press("Home")
    shows(page, now["start"])
    page.keyboard.press("End")
    shows(page, now["board"]["fen"])


def test_a_premove_is_played_when_its_turn_comes(open_page: Open, server: StudioServer) -> None:
    game = new_game(server, variant="chess", color="white", player="heuristic-1", visits=400_000)
    page = open_page(f"#play/{game['id']}")
    shows(page, game["board"]["fen"])
    click_move(page, "e2e4")
    expect(page.locator(".say")).to_contain_text("Thinking")
    click_move(page, "d2d3")
    expect(page.locator("square.current-premove")).to_have_count(2)
    expect(page.locator(".moves .mv").nth(2)).to_have_text("d3", timeout=60_000)


def test_a_move_and_a_promotion_by_keyboard_only(open_page: Open, server: StudioServer) -> None:
    fen = "4k/P4/5/5/4K w - - 0 1"
    game = new_game(server, variant="gardner", color="white", player="random", fen=fen)
    page = open_page(f"#play/{game['id']}")
    shows(page, fen)
    page.locator(".board").focus()
    for key in ("ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "Enter", "ArrowUp", "Enter"):  # a1, then up to a4
        page.keyboard.press(key)
    page.locator(".promotion").wait_for()
    page.keyboard.press("q")
    expect(page.locator(".moves .mv").first).to_have_text("a5=Q+")
    game = new_game(server, variant="chess", color="white", player="random")
    page.goto(server.url + f"#play/{game['id']}")
    page.get_by_placeholder("Type a move").fill("nf3")
    page.keyboard.press("Enter")
    expect(page.locator(".moves .mv").first).to_have_text("Nf3")


def test_a_position_is_set_up_and_refused_where_the_rules_forbid_it(open_page: Open) -> None:
    page = open_page("#play?variant=gardner")
    page.get_by_role("button", name="Position").click()
    page.get_by_role("button", name="Empty board").click()
    page.get_by_role("button", name="white queen").click()
    page.get_by_role("button", name="c3, empty").click()
    expect(page.get_by_label("FEN")).to_have_value("2k2/5/2Q2/5/2K2 w - - 0 1")
    expect(page.locator(".problem")).to_contain_text("attacked")
    page.get_by_role("button", name="Black to move").click()
    expect(page.locator(".problem")).to_have_count(0)
    page.get_by_role("button", name="Use this position").click()
    page.get_by_role("button", name="Black", exact=True).click()  # else the engine moves at once
    page.get_by_role("button", name="Start", exact=True).last.click()
    shows(page, "2k2/5/2Q2/5/2K2 b - - 0 1")
    page.goto(page.url.partition("#")[0] + "#play?variant=chess")
    page.get_by_role("button", name="Position").click()
    page.get_by_role("button", name="Empty board").click()
    page.get_by_role("button", name="white rook").click()
    page.get_by_role("button", name="h1, empty").click()
    page.get_by_label("White O-O", exact=True).check()
    expect(page.get_by_label("FEN")).to_have_value("4k3/8/8/8/8/8/8/4K2R w K - 0 1")
    page.get_by_label("Black O-O", exact=True).check()
    expect(page.locator(".problem")).to_have_text("Black has no rook on h8 to castle with.")


# -- study -------------------------------------------------------------------------------------------------------------


def test_a_pgn_is_loaded_and_its_blunder_found(open_page: Open) -> None:
    page = open_page("#study?open=1")
    page.get_by_label("PGN: paste").fill(BLUNDER)
    page.get_by_role("button", name="Open", exact=True).last.click()
    expect(page.locator(".gcol .mv")).to_have_count(5)  # four moves, and the gap before the last one
    expect(page.locator(".gcol .ghd")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator(".gcol .comment")).to_have_text("<b>why?</b>")
    page.get_by_role("button", name="Find the mistakes").click()
    worst = page.locator(".gcol .worst button", has_text="Qd4+")
    worst.wait_for(timeout=90_000)
    expect(worst).to_contain_text("??")
    worst.click()
    expect(page.locator(".crow").first).to_be_visible()
    value = page.locator(".ewdl .val")
    expect(value).not_to_have_text("…")
    picture(page, "study-light-1440.png")
    # A move on the board becomes a variation, which the PGN has.
    click_move(page, "d2d3")
    expect(page.locator(".gcol .var")).to_contain_text("Qd3")


def test_an_analysis_streams_arrows_and_candidates(open_page: Open) -> None:
    page = open_page("#study?variant=gardner")
    page.locator(".crow").first.wait_for()
    expect(page.locator(".over .arrow").first).to_be_attached()
    shares = [float(text.split(" %")[0]) for text in page.locator(".crow .r.num b").all_inner_texts() if "%" in text]
    assert 50 < sum(shares) <= 106
    page.keyboard.press("a")
    expect(page.locator(".under .heat.visits").first).to_be_attached()
    page.keyboard.press("a")
    expect(page.locator(".under .heat.prior").first).to_be_attached()
    page.keyboard.press(" ")
    expect(page.get_by_role("switch", name="Analysis")).to_have_attribute("aria-checked", "false")


def test_a_search_is_stepped_through(open_page: Open) -> None:
    page = open_page("#study/tree?variant=gardner", theme="dark")
    page.locator(".nd").nth(3).wait_for()
    page.get_by_role("button", name="Step through playouts").click()
    expect(page.locator(".stepper .count")).to_have_text("playout 1 of 120")
    for phase in ("Select", "Expand", "Evaluate", "Back up"):
        expect(page.locator(".phases [aria-current=step]")).to_contain_text(phase)
        page.keyboard.press(".")
    expect(page.locator(".stepper .count")).to_have_text("playout 2 of 120")
    page.get_by_label("Playout", exact=True).fill("100")
    root = page.locator(".nd").first
    expect(root).to_contain_text("100")
    page.keyboard.press("Tab")
    assert page.locator(".over .arrow.path").count() >= 1
    assert page.locator(".nd.on").count() >= 2
    page.get_by_label("follow").uncheck()  # the picture has the root and its moves
    page.evaluate("document.querySelector('.treew').scrollTo(0, 0)")
    picture(page, "study-tree-dark-1440.png")


# -- train -------------------------------------------------------------------------------------------------------------


def look_at_games_and_probes(page: Any) -> None:
    """Finished games with their judgements, probes of the nets, and a second run beside the first."""
    page.get_by_role("tab", name="Games").click()
    page.locator(".game-card").first.click()
    page.locator(".judged .uplot canvas").wait_for()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".judged [aria-live]")).to_contain_text("ply 1 of")
    expect(page.locator(".then-now dd").last).to_have_text(re.compile(r"\d"))
    picture(page, "train-games-dark-1440.png")
    cycle = page.locator(".cycle-bar b").inner_text()
    page.get_by_role("button", name="Later cycle").click()  # there is one as soon as the run has played it
    expect(page.locator(".cycle-bar b")).not_to_have_text(cycle)
    page.get_by_role("tab", name="Probes").click()
    expect(page.locator(".uplot canvas")).to_have_count(2)
    picture(page, "train-probes-dark-1440.png")
    assert serious_faults(page) == []
    page.get_by_role("tab", name="Watch").click()
    page.locator(".uplot canvas").first.wait_for()
    assert serious_faults(page) == []


def test_a_run_is_started_seen_to_grow_stopped_and_resumed(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'selfmate[train]'")
    with studio_server(tmp_path) as server:
        context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="dark", bypass_csp=True)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.goto(server.url)
        page.get_by_text("Start training →").click()
        page.get_by_label("games", exact=True).first.fill("8")
        page.get_by_label("slots").fill("8")
        page.get_by_label("Minutes").fill("5")
        expect(page.locator(".cmd")).to_contain_text("--set selfplay.games=8 --set selfplay.slots=8")
        # A schedule over the cycles, and back to one value.
        page.get_by_role("button", name="visits: a schedule over the cycles", exact=True).click()
        page.get_by_label("visits, step 2: value").fill("4")
        expect(page.locator(".cmd")).to_contain_text("selfplay.visits=[[0, 16], [20, 4]]")
        page.get_by_label("visits, step 2: from cycle").fill("0")
        expect(page.locator(".steps [role=alert]")).to_have_text("Cycles rise from step to step.")
        page.get_by_role("button", name="visits: one value for all cycles").click()
        page.get_by_label("visits", exact=True).first.fill("0")
        expect(page.locator("[role=alert]")).to_contain_text("selfplay.visits")
        page.get_by_label("visits", exact=True).first.fill("2")
        expect(page.locator("[role=alert]")).to_have_count(0)
        page.get_by_role("button", name="Start training").click()
        expect(page.locator(".pill")).to_have_text("running", timeout=60_000)
        page.locator(".uplot canvas").first.wait_for()
        page.locator(".wall.live .wb").first.wait_for()  # games in flight
        wall = page.locator(".wall.live")
        before = wall.inner_text()
        expect(wall).not_to_have_text(before)  # the boards move
        look_at_games_and_probes(page)
        page.locator(".wall.live .wb").first.wait_for()
        picture(page, "train-dark-1440.png")
        page.set_viewport_size({"width": 390, "height": 844})
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        picture(page, "train-run-dark-390.png")
        page.set_viewport_size({"width": 1440, "height": 900})
        page.get_by_role("button", name="Pause").click()
        expect(page.locator(".pill")).to_have_text("paused", timeout=60_000)
        expect(page.locator(".top")).to_contain_text(re.compile(r"[34]:\d\d left"))
        picture(page, "train-paused-dark-1440.png")
        page.get_by_role("button", name="Resume").click()
        expect(page.locator(".pill")).to_have_text("running", timeout=60_000)
        page.get_by_role("button", name="Stop").click()
        expect(page.locator(".pill")).to_have_text("stopped", timeout=60_000)
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)
        use_a_stopped_run(page, tmp_path)
        context.close()


def use_a_stopped_run(page: Any, folder: Path) -> None:
    """A second run on the same charts, the sentence of a failure, all nets for a match, a game against the new net."""
    shutil.copytree(folder / "first", folder / "second")  # a run that another program made appears by itself
    page.get_by_label(re.compile("^second")).check()
    expect(page.locator(".ch", has_text="Policy loss").locator(".series-names")).to_contain_text("second")
    (folder / ".studio" / "first.log").write_text("selfmate: state.json: No space left on device\n")
    expect(page.get_by_role("alert")).to_have_text("The training ended: state.json: No space left on device")
    # What the run was started with, and a form with the same.
    changed = page.locator(".run-recipe .settings")
    expect(changed).to_contain_text(re.compile(r"selfplay\.games\s*8\s*selfplay\.slots\s*8\s*selfplay\.visits\s*2"))
    page.get_by_role("link", name="Another run like it").click()
    expect(page.get_by_label("visits", exact=True).first).to_have_value("2")
    expect(page.locator(".start-card .settings dt")).to_have_count(3)
    page.get_by_role("button", name="10 min", exact=True).click()
    expect(page.locator(".cmd")).to_contain_text("--minutes 10 --set selfplay.games=8")
    page.go_back()
    page.get_by_role("tab", name="Match").click()
    kept = sorted((path.name for path in (folder / "first" / "checkpoints").iterdir()), reverse=True)
    first = page.locator(".matchv select").first
    expect(first).to_have_value(f"run/first/{int(kept[0])}")
    names = [f"first cycle {int(name)}" if int(name) else "first untrained" for name in kept]
    expect(first.locator("option[value^='run/first/']")).to_have_text(names)
    # The page was opened before this net was there.
    page.get_by_role("link", name="Play it").click()
    expect(page.locator("select[name=player]")).to_have_value(re.compile("^run/first/"))
    page.get_by_role("button", name="Start", exact=True).last.click()
    expect(page.locator(".game-panel")).to_be_visible()
    expect(page.locator(".top .sub")).to_contain_text("against first")


def test_a_match_is_watched(open_page: Open) -> None:
    page = open_page("#nets/gardner")
    page.locator(".matchv select").first.select_option("heuristic-1")
    page.locator(".matchv select").last.select_option("random")
    page.get_by_label("Games", exact=True).fill("10")
    page.get_by_role("button", name="Play the match").click()
    expect(page.locator(".match-result .pill")).to_have_text("played", timeout=60_000)
    expect(page.locator(".figures b").last).to_have_text("10 of 10")
    wins = int(page.locator(".scorebar .a").inner_text())
    assert wins >= 8
    assert page.locator(".match-result .wb").count() >= 8
    picture(page, "match-light-1440.png")
    # The table has it, from both sides, with its games behind the cell.
    page.get_by_role("button", name=re.compile("^heuristic-1 against random: .* 10 games")).click()
    dialog = page.get_by_role("dialog", name=re.compile("heuristic-1 .* random"))
    expect(dialog.locator(".game-card")).to_have_count(10)
    expect(dialog).to_contain_text(f"{wins} won")
    picture(page, "match-games-light-1440.png")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Match of gardner-laptop against random").click()
    expect(page.locator(".matchv select").first).to_have_value("gardner-laptop")
    expect(page.locator(".matchv select").last).to_have_value("random")


def test_a_tour_leads_through_the_views_and_can_be_left(open_page: Open) -> None:
    page = open_page()
    page.get_by_role("button", name="A tour of one minute").click()
    for number, view in enumerate(("Play", "Study", "Train", "Nets")):
        tour = page.get_by_role("dialog", name=view)
        expect(tour).to_contain_text(f"{number + 1} of 4")
        expect(page.locator("nav [aria-current=page]")).to_contain_text(view)
        if view == "Study":
            picture(page, "tour-light-1440.png")
        tour.get_by_role("button", name="Done" if view == "Nets" else "Next").click()
    expect(page.locator(".tour")).to_have_count(0)
    page.goto(page.url.partition("#")[0] + "#home")
    page.get_by_role("button", name="A tour of one minute").click()
    expect(page.locator(".tour")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".tour")).to_have_count(0)


def test_a_move_that_the_search_does_not_like_gets_an_answer(open_page: Open) -> None:
    page = open_page("#study?variant=atomic&fen=rnbqkbnr/pppp2pp/8/4pp2/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 0 3")
    page.locator(".crow").first.wait_for()
    page.wait_for_function("() => Number(document.querySelector('.ehd .sm')?.textContent?.split(' ')[0]) > 20")
    click_move(page, "a2a3")
    expect(page.locator(".why")).to_contain_text("Why not a3?", timeout=PATIENCE_MS)
    expect(page.locator(".why")).to_contain_text(re.compile(r"[2-9]\d visits of its own|\d{3} visits of its own"))
    picture(page, "study-why-light-1440.png")
    page.locator(".why").get_by_role("button", name="Back").click()
    expect(page.locator(".gcol .mv[aria-current=true]")).to_have_count(0)


def test_the_tree_is_panned_zoomed_and_unfolded(open_page: Open) -> None:
    page = open_page("#study/tree?variant=gardner")
    page.locator(".nd").nth(3).wait_for()
    page.get_by_role("switch", name="Analysis").click()  # a tree that stands still
    tree = page.locator(".treew")
    box = tree.bounding_box()
    width = page.locator(".treew svg").bounding_box()["width"]
    page.mouse.move(box["x"] + 300, box["y"] + box["height"] - 12)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_function("width => document.querySelector('.treew svg').clientWidth > 1.3 * width", arg=width)
    before = page.locator(".nd").count()
    closed = page.locator(".nd[aria-expanded=false]").first
    closed.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("before => document.querySelectorAll('.nd').length > before", arg=before)
    page.get_by_role("button", name="usual size").click()


# -- all views ---------------------------------------------------------------------------------------------------------

STUDIES = [f"#study{tab}?variant=gardner" for tab in ("", "/tree", "/net")]
VIEWS = ["", "#play?variant=atomic", *STUDIES, "#train", "#nets"]
DIALOGS = [("#play?variant=gardner", "Position"), ("#study?variant=gardner", "Open"), ("#home", "Keys")]


@pytest.mark.parametrize("width", [390, 720, 1024, 1440])
def test_no_view_scrolls_sideways_in_either_theme(open_page: Open, width: int) -> None:
    """720 by 450 is what a window of 1440 by 900 has at a zoom of 200 %."""
    page = open_page(width=width, height={390: 844, 720: 450}.get(width, 900))
    for theme in ("light", "dark"):
        for view in VIEWS:
            page.goto(page.url.partition("#")[0] + (view or "#home"))
            page.locator("section.view").wait_for()
            page.wait_for_timeout(500)
            name = (view.strip("#").split("?")[0] or "home").replace("/", "-")
            picture(page, f"view-{name}-{theme}-{width}.png")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (view, theme)
        page.keyboard.press("Shift+L")
        expect(page.locator("html")).to_have_attribute("data-theme", "dark" if theme == "light" else "light")


def serious_faults(page: Any) -> list[tuple[str, str]]:
    """Return rules and elements of impact serious or critical; the page must have been opened with `bypass_csp`."""
    if not AXE.is_file():
        pytest.skip("needs axe-core: make studio/node_modules")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        (fault["id"], fault["nodes"][0]["html"][:200])
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


def test_axe_finds_no_serious_fault(open_page: Open) -> None:
    page = open_page(bypass_csp=True)
    faults = []
    for theme in ("light", "dark"):
        for view in (*VIEWS, "#play?variant=gardner&start=1"):
            page.goto(page.url.partition("#")[0] + (view or "#home"))
            page.wait_for_timeout(700)
            faults += [(theme, view, *fault) for fault in serious_faults(page)]
        for view, button in DIALOGS:
            page.goto(page.url.partition("#")[0] + view)
            page.get_by_role("button", name=button, exact=True).first.click()
            page.get_by_role("dialog").wait_for()
            faults += [(theme, f"{view} {button}", *fault) for fault in serious_faults(page)]
            page.keyboard.press("Escape")
        page.keyboard.press("Shift+L")
    assert faults == []


def test_a_lost_server_is_said_and_found_again(browser: Any, tmp_path: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    with studio_server(tmp_path) as server:
        page.goto(server.url)
        page.locator(".door").first.wait_for()
    expect(page.locator(".banner.lost")).to_be_visible()
    # The token is another one now: the page gets it by itself.
    with studio_server(tmp_path, port=server.port):
        expect(page.locator(".banner.lost")).to_have_count(0, timeout=20_000)
        page.goto(f"{server.url}#play?variant=gardner&start=1")
        page.locator(".game-panel").wait_for()
    context.close()


def test_boards_of_all_variants_are_drawn(open_page: Open, server: StudioServer) -> None:
    page = open_page("#play?variant=horde")
    for variant in ("horde", "racingkings", "antichess", "3check"):
        page.goto(server.url + f"#play?variant={variant}")
        shows(page, Position(variant).fen())


def test_an_engine_without_ratings_is_limited_by_visits(browser: Any, tmp_path: Path) -> None:
    engine = f"fish={sys.executable} -S {ROOT / 'tests' / 'helpers' / 'fake_engine.py'} none"
    with studio_server(tmp_path, engines=[engine]) as other:
        page = browser.new_page()
        page.goto(f"{other.url}#play?variant=chess")
        expect(page.get_by_label("Strength in Elo")).to_be_visible(timeout=PATIENCE_MS)
        page.locator("select[name=player]").select_option("engine/fish")
        expect(page.get_by_label("Visits for a move")).to_be_visible()
        expect(page.get_by_role("button", name="By rating")).to_have_count(0)
        # Beside our analysis.
        page.goto(f"{other.url}#study?variant=chess")
        page.get_by_label("Outside engine", exact=True).last.select_option("engine/fish")
        line = page.locator(".engine-line").first
        expect(line).to_contain_text(re.compile("^[+\N{MINUS SIGN}]?([0-9]|M)"))
        expect(page.locator(".crow").first).to_be_visible()
        # It stays within the panel, its lines below each other and as wide as the moves above them.
        edge = page.locator(".eng").bounding_box()
        for part in (
            line,
            page.get_by_label("Outside engine", exact=True).last,
            page.get_by_text(re.compile("^depth.*nodes")),
        ):
            box = part.bounding_box()
            assert box["x"] >= edge["x"] + 8, part
            assert box["x"] + box["width"] <= edge["x"] + edge["width"] - 8, part
        assert line.bounding_box()["width"] > 0.8 * edge["width"]
        page.close()
