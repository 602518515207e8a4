"""The studio in Chromium: by finger, for screen readers, proven nodes, Chess960 numbers, the policy of a net."""

from __future__ import annotations

import re
from typing import Any

import pytest

from selfmate.board.position import chess960_fen
from studio_browser import PATIENCE_MS, Open, click_move, game_now, new_game, picture, place, shows
from studio_server import StudioServer

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: make teststudio")
expect = playwright.expect

pytestmark = pytest.mark.browser

MATE_IN_TWO = "7k/8/8/8/8/8/R7/1R4K1 w - - 0 1"
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1"
ONE_MOVE = "7k/8/8/8/8/8/1r6/K6r w - - 0 1"
MATED_IN_ONE = "6k1/R7/8/8/8/8/8/1R4K1 b - - 0 1"
"""Any move of Black's king is answered by mate."""
OPENING = "rnbqkbnr/pppp2pp/8/4pp2/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 0 3"


def touch_drag(page: Any, uci: str) -> None:
    """Drag a piece with one finger: playwright has taps alone."""
    session = page.context.new_cdp_session(page)
    (x, y), (to_x, to_y) = place(page, uci[:2]), place(page, uci[2:4])
    path = [(x + (to_x - x) * step / 6, y + (to_y - y) * step / 6) for step in range(7)]
    for kind, points in [("touchStart", path[:1]), *(("touchMove", [point]) for point in path[1:]), ("touchEnd", [])]:
        session.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": px, "y": py} for px, py in points]}
        )
        page.wait_for_timeout(30)
    session.detach()


def test_a_finger_taps_and_drags_pieces(open_page: Open, server: StudioServer) -> None:
    game = new_game(server, variant="gardner", color="white", player="random")
    page = open_page(f"#play/{game['id']}", width=390, height=844, has_touch=True, is_mobile=True)
    shows(page, game["board"]["fen"])
    page.touchscreen.tap(*place(page, "b1"))
    expect(page.locator("square.move-dest")).to_have_count(2)
    page.touchscreen.tap(*place(page, "c3"))
    expect(page.locator(".moves .mv")).to_have_count(2)
    assert game_now(server, game["id"])["moves"][0]["uci"] == "b1c3"

    fen = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"
    game = new_game(server, variant="gardner", color="white", player="random", fen=fen)
    page.goto(server.url + f"#play/{game['id']}")
    shows(page, fen)
    touch_drag(page, "a2a3")
    expect(page.locator(".moves .mv")).to_have_count(2)
    assert game_now(server, game["id"])["moves"][0]["uci"] == "a2a3"
    # A piece that is dropped where it may not go comes back, and the page has not scrolled away under the finger.
    now = game_now(server, game["id"])
    touch_drag(page, "e1e3")
    shows(page, now["board"]["fen"])
    assert len(game_now(server, game["id"])["moves"]) == 2
    assert page.evaluate("window.scrollY") == 0


def test_the_board_is_spoken(open_page: Open, server: StudioServer) -> None:
    fen = "4k/5/1p3/P4/4K w - - 0 1"
    game = new_game(server, variant="gardner", color="white", player="heuristic-1", visits=1, fen=fen)
    page = open_page(f"#play/{game['id']}")
    shows(page, fen)
    board = page.get_by_role("application", name=re.compile("^Gardner, you play white"))
    expect(board).to_have_attribute(
        "aria-label",
        re.compile(r"White: king e1, pawn a2\. Black: king e5, pawn b3\. White to move\.$"),
    )
    board.focus()
    heard = board.locator("[aria-live=polite]")
    for key, words in (("ArrowUp", "a1, empty"), ("ArrowUp", "a2, white pawn")):
        page.keyboard.press(key)
        expect(heard).to_have_text(words)
    page.keyboard.press("Enter")
    expect(heard).to_have_text(re.compile(r"^a2 chosen, may move to (a3, b3|b3, a3)$"))
    for key in ("ArrowUp", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".moves .mv").nth(1)).to_be_visible()
    # What the opponent played, in words, and the position after it.
    expect(page.locator(".say [aria-live=polite] .sr")).to_have_text(re.compile(r"^king [a-e][1-5]\.\s*$"))
    expect(board).to_have_attribute("aria-label", re.compile(r"White: king e1, pawn b3\. Black: king "))


def test_proven_nodes_of_the_tree_say_so(open_page: Open) -> None:
    page = open_page(f"#study/tree?variant=chess&player=heuristic-1&fen={MATE_IN_TWO}")
    won = page.get_by_role("button", name=re.compile(r"^Ra7 wins in 2, \d+ visits"))
    expect(won).to_have_class(re.compile(r"\bprv\b"))
    expect(won.locator("text.proof")).to_have_text("#2")
    expect(page.locator(".ewdl .val")).to_have_text("White wins in 2")
    expect(page.locator(".nd").first).to_have_class(re.compile(r"\bprv\b"))  # the root is won, too
    open_one = page.locator(".nd:not(.prv)", has_text=re.compile(r"^Rb[3-58]"))  # moves that were not decided
    expect(open_one.first).to_be_visible()
    expect(open_one.locator("text.proof")).to_have_count(0)
    # A win at once needs no node of its own: the number of nodes is not below that of those shown.
    page.goto(page.url.partition("#")[0] + f"#study/tree?variant=chess&player=heuristic-1&fen={MATE_IN_ONE}")
    expect(page.locator(".nd.prv", has_text="Ra8#")).to_contain_text("#1")
    expect(page.locator(".stepper")).to_contain_text("2 nodes")
    expect(page.locator(".stepper")).not_to_contain_text("of")


def test_a_chess960_position_is_chosen_by_its_number(open_page: Open, server: StudioServer) -> None:
    page = open_page("#play?variant=chess", width=390, height=844)
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog", name="New game")
    number = dialog.get_by_label("Position, 0 to 959")
    expect(number).to_have_count(0)  # chess has one start
    dialog.get_by_label("Variant").select_option("chess960")
    start = dialog.get_by_role("button", name="Start", exact=True)
    number.fill("960")
    expect(dialog.get_by_role("alert")).to_have_text("Positions have the numbers 0 to 959.")
    expect(start).to_be_disabled()
    number.fill("42")
    expect(dialog.get_by_role("alert")).to_have_count(0)
    start.click()
    shows(page, chess960_fen(42))
    assert game_now(server, page.url.rpartition("/")[2])["variant"] == "chess960"


def test_a_clock_of_any_time_can_be_chosen(open_page: Open, server: StudioServer) -> None:
    page = open_page("#play?variant=gardner", width=390, height=844)
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog", name="New game")
    minutes, added = dialog.get_by_label("Minutes"), dialog.get_by_label("Seconds a move")
    expect(minutes).to_have_count(0)
    dialog.get_by_role("button", name="Other", exact=True).click()
    start = dialog.get_by_role("button", name="Start", exact=True)
    expect(start).to_be_enabled()  # what stands there at first is a clock
    minutes.fill("181")
    sentence = "Clocks have 0.1 to 180 minutes, and 0 to 180 seconds a move."
    expect(dialog.get_by_role("alert")).to_have_text(sentence)
    expect(start).to_be_disabled()
    picture(page, "play-clock-light-390.png")
    minutes.fill("0.75")
    added.fill("2")
    expect(dialog.get_by_role("alert")).to_have_count(0)
    start.click()
    expect(page.locator(".top .sub")).to_contain_text("Gardner · 0.75 + 2 · against")
    assert game_now(server, page.url.rpartition("/")[2])["control"] == {"seconds": 45.0, "increment": 2.0}
    page.get_by_role("button", name="New", exact=True).click()
    expect(minutes).to_have_value("0.75")  # kept for the next game


def test_a_phone_can_set_up_link_and_flip_a_study(open_page: Open) -> None:
    permissions = ["clipboard-read", "clipboard-write"]
    page = open_page("#study?variant=gardner", width=390, height=844, permissions=permissions)
    board = page.locator(".board:not(.mini)").first
    expect(board.locator(".orientation-white")).to_have_count(1)
    page.get_by_role("button", name="Flip the board (F)").click()
    expect(board.locator(".orientation-black")).to_have_count(1)
    white, black = (page.locator(f".wbar b.{side}").bounding_box() for side in ("bw", "bl"))
    assert white["x"] > 195 > black["x"]  # each number on its own colour
    page.get_by_role("button", name="Link", exact=True).click()
    expect(page.get_by_text("The link to this position is copied.")).to_be_visible()
    assert "#study?variant=gardner&fen=" in page.evaluate("navigator.clipboard.readText()")
    for width in (360, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for name in ("Open", "Set up", "Link", "Flip the board (F)", "Theme"):
            box = page.get_by_role("button", name=name, exact=True).bounding_box()
            assert box["width"] >= 36, (name, width)
            assert box["x"] + box["width"] <= width, (name, width)
    picture(page, "study-tools-light-390.png")
    page.get_by_role("button", name="Set up", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()


def test_the_policy_of_a_net_is_planes_and_arrows(open_page: Open) -> None:
    page = open_page(f"#study/net?variant=atomic&fen={OPENING}")
    planes = page.locator(".policy-plane")
    expect(page.locator(".policy h3")).to_contain_text("73 policy planes")
    page.get_by_role("button", name="Off", exact=True).click()  # the search's arrows would be on the board
    before = planes.count()
    two_up = page.get_by_role("button", name=re.compile(r"^up 2 "))
    two_up.click()
    expect(two_up).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".planes h3").first).to_have_text("The plane “up 2”, by from-square")
    expect(page.locator(".over .arrow.best")).to_have_count(1)
    expect(page.locator(".tri .squares").first).to_have_attribute("aria-label", re.compile("^atomic-gpu: most from d2"))
    assert page.locator(".tri figure").nth(1).locator(".move").count() == 7  # every pawn but the blocked one
    picture(page, "study-policy-light-1440.png")
    page.get_by_label("Moves of").select_option("f3")
    expect(page.locator(".planes h3").first).to_have_text("Moves from f3, by target")
    untrained = page.locator(".tri .squares").nth(1)
    expect(untrained).to_have_attribute("aria-label", re.compile("^atomic-gpu untrained: most to "))
    page.get_by_label("illegal moves, too").check()
    expect(page.locator(".policy p")).to_contain_text("of this policy lie on legal moves")
    assert planes.count() > before
    page.get_by_role("button", name="All moves").click()
    expect(page.locator(".over .arrow")).to_have_count(0)
    page.get_by_label("Player").select_option("heuristic-1")
    expect(page.locator(".policy p")).to_contain_text("heuristic-1 is no net")
    expect(page.get_by_label("illegal moves, too")).to_have_count(0)


def test_keys_reach_variations_and_the_theme_leaves_the_analysis_alone(open_page: Open) -> None:
    page = open_page("#study?variant=gardner&player=heuristic-1&moves=c2c3 b4c3 b2c3")
    shown = page.locator(".gcol [aria-current=true]")
    expect(page.locator(".gcol .mv")).to_have_count(3)
    page.keyboard.press("$")
    expect(shown).to_have_text("bxc3")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".crow").first).to_be_visible()
    click_move(page, "d2c3")
    expect(shown).to_have_text("2. dxc3")  # the server has answered
    for key, san in (("Up", "bxc3"), ("Down", "2. dxc3"), ("Left", "bxc3"), ("Right", "2. dxc3")):
        page.keyboard.press(f"Shift+Arrow{key}")
        expect(shown).to_have_text(san)
    page.keyboard.press("0")
    expect(shown).to_have_count(0)
    analysis = page.get_by_role("switch", name="Analysis")
    page.keyboard.press("Shift+L")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(analysis).to_have_attribute("aria-checked", "true")
    page.keyboard.press("l")
    expect(analysis).to_have_attribute("aria-checked", "false")


def test_keys_of_a_view_go_on_after_a_slider_was_used(open_page: Open) -> None:
    page = open_page("#study/tree?variant=gardner&player=heuristic-1")
    page.get_by_role("button", name="Step through playouts").click()
    slider = page.get_by_label("Playout", exact=True)
    slider.focus()
    page.keyboard.press("ArrowRight")  # the slider's own
    expect(page.locator(".stepper .count")).to_have_text("playout 2 of 120")
    page.keyboard.press(".")
    expect(page.locator(".phases [aria-current=step]")).to_contain_text("Expand")
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_a_whole_share_fits_its_label_and_a_proof_has_a_winner(open_page: Open, server: StudioServer) -> None:
    page = open_page(f"#study?variant=chess&player=heuristic-1&fen={ONE_MOVE}")
    expect(page.locator(".crow")).to_have_count(1)
    page.get_by_role("button", name="Prior", exact=True).click()
    text, label = page.locator(".heat-text").bounding_box(), page.locator(".heat-label").bounding_box()
    assert text["x"] >= label["x"]
    assert text["x"] + text["width"] <= label["x"] + label["width"]
    # The side that moves is mated: the header says who wins, on one line.
    page.goto(f"{server.url}#study?variant=chess&player=heuristic-1&fen={MATED_IN_ONE}")
    value = page.locator(".ewdl .val")
    expect(value).to_have_text("White wins in 1", timeout=PATIENCE_MS)
    assert value.bounding_box()["height"] < 40


@pytest.mark.parametrize(
    ("fen", "moves", "winner", "is_high"),
    [
        ("7k/8/8/8/8/8/R7/1R2K3 w - - 0 1", "a2a7 h8g8 b1b8", "White", True),
        ("1r2k3/r7/8/8/8/8/8/7K b - - 0 1", "a7a2 h1g1 b8b1", "Black", False),
    ],
)
def test_the_value_graph_marks_what_is_proven(
    open_page: Open, fen: str, moves: str, winner: str, is_high: bool
) -> None:
    page = open_page(f"#study?variant=chess&player=heuristic-1&fen={fen}&moves={moves}")
    expect(page.locator(".key-proven")).to_have_count(0)
    page.get_by_role("button", name="Find the mistakes").click()
    page.locator(".key-proven").wait_for(timeout=PATIENCE_MS)
    graph = page.locator(".value-graph")
    words = re.compile(f"After Ra. to Kg. a win of {winner} is proven")
    expect(graph).to_have_attribute("aria-label", words, timeout=PATIENCE_MS)
    mark, plot = graph.locator(".proven").bounding_box(), graph.locator(".plot").bounding_box()
    place = (mark["y"] + mark["height"] / 2 - plot["y"]) / plot["height"]
    assert place < 0.1 if is_high else place > 0.9
    # From the position after the first move to that after the second of three.
    assert mark["x"] == pytest.approx(plot["x"] + plot["width"] / 3, abs=8)
    assert mark["width"] == pytest.approx(plot["width"] / 3, abs=16)


@pytest.mark.parametrize("width", [768, 820, 1024, 1279])
def test_nothing_of_the_study_is_cut_on_a_tablet(open_page: Open, width: int) -> None:
    page = open_page("#study/tree", width=width, height=768)
    page.locator(".nd").first.wait_for()
    edge = page.locator(".eng").bounding_box()
    for part in (page.get_by_role("tab", name="Game"), page.get_by_role("button", name="Larger")):
        box = part.bounding_box()
        assert box["x"] + box["width"] <= edge["x"] + edge["width"], part
    page.get_by_role("tab", name="Candidates").click()
    page.locator(".crow").first.wait_for()
    edge = page.locator(".eng").bounding_box()
    parts = (
        page.get_by_role("tab", name="Game"),
        page.locator(".ewdl .nums > :last-child"),
        page.locator(".chead .lg"),
    )
    for part in (part.last for part in parts):
        box = part.bounding_box()
        assert box["x"] + box["width"] <= edge["x"] + edge["width"], part
    legend, share = page.locator(".chead .lg").last.bounding_box(), page.locator(".chead .r").first.bounding_box()
    assert legend["x"] + legend["width"] <= share["x"] + 16  # the heads of two columns, each as wide as its word
    page.get_by_role("tab", name="Inside the net").click()
    search, edge = page.get_by_role("button", name="the search"), page.locator(".eng").bounding_box()
    expect(search).to_be_visible()
    assert search.bounding_box()["x"] + search.bounding_box()["width"] <= edge["x"] + edge["width"]
    board, flip = page.locator(".sb").bounding_box(), page.locator(".trans .btn").last.bounding_box()
    assert flip["x"] + flip["width"] <= board["x"] + board["width"]


@pytest.mark.parametrize("width", [390, 820, 1024, 1440])
def test_the_ladder_is_seen_whole_and_can_be_read(open_page: Open, width: int) -> None:
    page = open_page("#nets", width=width, height=1180)
    value = page.locator(".ladder .name.num").first
    expect(value).to_contain_text("±")
    edge, box = page.locator(".ladder").bounding_box(), value.bounding_box()
    assert box["x"] + box["width"] <= edge["x"] + edge["width"]
    assert box["height"] >= (9 if width == 390 else 11)


@pytest.mark.parametrize("width", [390, 1440])
def test_the_recipe_of_a_new_run_is_in_sight(open_page: Open, width: int) -> None:
    page = open_page("#train/new?recipe=racingkings", width=width)
    chosen = page.locator(".rc[aria-pressed=true]")
    expect(chosen).to_contain_text("racingkings")
    box, frame = chosen.bounding_box(), page.locator(".rlist").bounding_box()
    assert frame["y"] <= box["y"] + 1
    assert box["y"] + box["height"] <= frame["y"] + frame["height"] + 1


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("7k/8/8/8/8/8/R7/1R4K1 w - -", MATE_IN_TWO),  # without the counters
        ("4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1", "4k3/8/8/8/4P3/8/8/4K3 b - - 0 1"),  # as after any double step
        ("4k2r/8/8/8/8/8/8/4K2R w kK - 0 1", "4k2r/8/8/8/8/8/8/4K2R w Kk - 0 1"),
    ],
)
def test_a_fen_may_be_written_in_several_ways(open_page: Open, written: str, meant: str) -> None:
    page = open_page(f"#study?variant=chess&player=heuristic-1&fen={written}")
    shows(page, meant)
    expect(page.locator(".crow").first).to_be_visible()
    page.locator(".crow").first.click()
    expect(page.locator(".gcol")).to_contain_text("1 ply")


def test_a_finished_game_shows_its_end_and_no_estimate(open_page: Open) -> None:
    page = open_page("#study?variant=chess&fen=8/8/4k3/8/8/3K4/8/8 w - - 0 1")
    expect(page.locator(".ewdl .val")).to_have_text("1/2-1/2, insufficient material")
    expect(page.locator(".wbar")).to_have_attribute("aria-label", "White wins 0 %, draw 100 %, Black wins 0 %")
    expect(page.locator(".toast")).to_have_text("")  # nobody asked for an analysis
    edge, bar = page.locator(".eng").bounding_box(), page.locator(".ewdl .wdl").bounding_box()
    assert bar["x"] + bar["width"] <= edge["x"] + edge["width"] - 8


def test_the_buttons_of_a_dialog_stay_in_it_on_a_phone(open_page: Open) -> None:
    page = open_page("#study?open=1", width=390, height=844)
    dialog, example = page.get_by_role("dialog"), page.get_by_role("button", name="Open an example")
    example.wait_for()
    edge, box = dialog.bounding_box(), example.bounding_box()
    assert box["x"] + box["width"] <= edge["x"] + edge["width"] - 8
