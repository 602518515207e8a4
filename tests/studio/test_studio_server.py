"""Games, analyses and game trees through the WebSocket, as a page uses them."""

from __future__ import annotations

import json
import random
import threading
import time
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from selfmate._core import VARIANTS
from selfmate.board.position import Position
from selfmate.studio import game_table, games
from selfmate.studio.engine_move import GameSearcher
from selfmate.studio.players import PlayerCatalog
from studio_server import StudioServer
from studio_texts import INJECTIONS


def test_a_game_of_atomic_is_won_by_an_explosion(server: StudioServer) -> None:
    with server.page() as page:
        view = page.game(variant="atomic", color="white", player="random", fen="4k3/5p2/8/4N3/8/8/8/4K3 w - - 0 1")
        page.send("game.move", id=view["id"], ply=0, uci="e5f7")
        view = page.until("game.view")
        assert view["board"]["result"] == "1-0"
        assert view["board"]["reason"] == "king exploded"
        assert view["moves"][0]["exploded"][0] == "f7"
        assert "e8" in view["moves"][0]["exploded"]
        assert view["board"]["legal"] == []
        assert "king exploded" in page.ask("game.pgn", id=view["id"])["text"]


@pytest.mark.parametrize("variant", [*VARIANTS, "chess960", "atomic960"])
def test_the_default_player_answers_in_every_variant(server: StudioServer, variant: str) -> None:
    with server.page() as page:
        view = page.game(variant=variant, color="white", visits=4)
        page.send("game.move", id=view["id"], ply=0, uci=view["board"]["legal"][0]["uci"])
        view = page.your_turn()
        assert len(view["moves"]) == 2
        note = view["explanation"]
        assert note["line"][0] == view["moves"][1]["san"]
        assert abs(sum(note["wdl"]) - 1) < 0.01
        place = Position(variant, view["start"])
        for move in view["moves"]:
            place.play(move["uci"])
            assert move["fen"] == place.fen()


def test_a_reloaded_page_and_a_second_one_see_the_same_game(server: StudioServer) -> None:
    with server.page() as first:
        game = first.game(variant="gardner", color="white", player="random")
    with server.page() as again, server.page() as second:
        assert again.ask("game.open", id=game["id"])["board"]["fen"] == game["board"]["fen"]
        assert second.ask("game.open", id=game["id"])["moves"] == []
        again.send("game.move", id=game["id"], ply=0, uci=game["board"]["legal"][0]["uci"])
        assert len(second.your_turn()["moves"]) == 2
        assert second.ask("game.list")["games"][0]["id"] == game["id"]


def test_moves_out_of_turn_change_nothing(server: StudioServer) -> None:
    with server.page() as page:
        game = page.game(variant="chess", color="white", player="random")
        for ply, uci, sentence in (
            (0, "e2e5", "not legal"),
            (1, "e2e4", "gone on"),
            (7, "e2e4", "gone on"),
        ):
            answer = page.ask("game.move", id=game["id"], ply=ply, uci=uci)
            assert answer["type"] == "failure"
            assert sentence in answer["message"]
        assert page.ask("game.open", id=game["id"])["moves"] == []
        assert page.ask("game.open", id="0" * 16)["message"].startswith("This game is not on the server")


def test_take_back_stops_the_answer_that_is_being_searched(server: StudioServer) -> None:
    with server.page() as page:
        game = page.game(variant="chess", color="white", player="heuristic-1", visits=10_000_000)
        page.send("game.move", id=game["id"], ply=0, uci="e2e4")
        assert page.until("game.view")["thinking"]
        began = time.monotonic()
        page.send("game.takeback", id=game["id"])
        view = page.until("game.view", thinking=False)
        assert view["moves"] == []
        assert time.monotonic() - began < 2
        time.sleep(0.3)
        assert page.ask("game.open", id=game["id"])["moves"] == []


def test_a_lost_clock_ends_the_game_by_itself(server: StudioServer) -> None:
    with server.page() as page:
        game = page.game(variant="gardner", color="white", player="random", clock={"seconds": 0.6})
        page.send("game.move", id=game["id"], ply=0, uci=game["board"]["legal"][0]["uci"])
        view = page.your_turn()
        assert view["clock"]["running"] == "white"
        view = page.until("game.view", seconds=5)
        assert (view["board"]["result"], view["clock"]["white"]) == ("0-1", 0)
        assert "ran out of time" in view["board"]["reason"]


def test_the_player_keeps_to_its_clock(server: StudioServer) -> None:
    with server.page() as page:
        game = page.game(
            variant="gardner", color="white", player="heuristic-1", visits=10_000_000, clock={"seconds": 4}
        )
        for _ in range(3):
            view = page.ask("game.open", id=game["id"])
            if view["board"]["result"]:
                break
            page.send("game.move", id=game["id"], ply=len(view["moves"]), uci=view["board"]["legal"][0]["uci"])
            view = page.your_turn()
        assert view["clock"]["black"] > 1000 if view["you"] == "white" else view["clock"]["white"] > 1000


def test_draw_resign_rematch_and_hint(server: StudioServer) -> None:
    with server.page() as page:
        game = page.game(variant="atomic", color="white", player="heuristic-1", visits=50)
        hint = page.ask("game.hint", id=game["id"])
        assert hint["uci"] in {move["uci"] for move in game["board"]["legal"]}
        page.send("game.draw", id=game["id"])
        assert "declined" in page.until("game.view")["notice"]
        page.send("game.resign", id=game["id"])
        assert page.until("game.view")["board"]["result"] == "0-1"
        second = page.ask("game.rematch", id=game["id"])
        assert (second["you"], second["variant"]) == ("black", "atomic")
        assert page.ask("game.rematch", id=game["id"])["id"] == second["id"]


def test_a_page_may_have_so_many_unfinished_games(server: StudioServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game_table, "MOST_UNFINISHED", 3)
    choice: dict[str, Any] = {"variant": "gardner", "color": "white", "player": "random"}
    sentence = "3 games of this page are not over: end one of them, or reload the page."
    with server.page() as other, server.page() as page:
        other.game(**choice)
        asked = {page.send("game.new", **choice) for _ in range(5)}  # at the same time
        answers: list[dict[str, Any]] = []
        while len(answers) < len(asked):
            event = page.next()
            answers += [event] if event["ask"] in asked else []
        assert [each["message"] for each in answers if each["type"] == "failure"] == [sentence] * 2
        game, *_ = [each for each in answers if each["type"] == "game.view"]
        assert other.game(**choice)["type"] == "game.view"  # another page has its own
        page.ask("game.open", id=game["id"])
        page.send("game.resign", id=game["id"])
        page.until("game.view", id=game["id"], thinking=False)
        # A rematch is a new game, and the same one when it is asked for again.
        again = page.ask("game.rematch", id=game["id"])
        assert again["type"] == "game.view"
        assert page.ask("game.new", **choice)["message"] == sentence
        assert page.ask("game.rematch", id=game["id"])["id"] == again["id"]


def test_a_full_server_drops_games_that_no_page_follows(server: StudioServer, monkeypatch: pytest.MonkeyPatch) -> None:
    choice: dict[str, Any] = {"variant": "gardner", "color": "white", "player": "random"}
    with server.page() as page, server.page() as other:
        mine = page.game(**choice)
        abandoned = other.game(**choice)
        other.send("game.leave", id=abandoned["id"])
        monkeypatch.setattr(games, "MOST_GAMES", 2)
        new = other.game(**choice)
        listed = [each["id"] for each in other.ask("game.list")["games"]]
        assert listed[:2] == [new["id"], mine["id"]]  # in memory, before those in files
        page.send("game.move", id=mine["id"], ply=0, uci=mine["board"]["legal"][0]["uci"])
        assert page.until("game.view", id=mine["id"])["moves"]


def test_a_position_can_be_given_and_is_checked(server: StudioServer) -> None:
    with server.page() as page:
        view = page.ask("position.ask", variant="gardner", fen="4k/P4/5/5/4K w - - 0 1", moves=["a4a5q"])
        assert view["board"]["check"] == "e5"
        assert view["moves"][0]["san"] == "a5=Q+"
        number = page.ask("position.ask", variant="chess960", chess960=0)
        assert number["start"].startswith("bbqnnrkr/")
        for body in (
            {"variant": "chess", "fen": "8/8/8/8/8/8/8/8 w - - 0 1"},
            {"variant": "nothing"},
            {"variant": "chess", "chess960": 3},
            {"variant": "chess", "moves": ["e2e5"]},
        ):
            answer = page.ask("position.ask", **body)
            assert answer["type"] == "failure"
            assert "\n" not in answer["message"]


def test_an_analysis_streams_and_is_replaced_by_the_next(server: StudioServer) -> None:
    with server.page() as page:
        ask = page.send("analysis.start", variant="gardner", player="heuristic-1")
        first = page.until("analysis.update", ask=ask)
        later = page.until("analysis.update", ask=ask)
        assert later["visits"] > first["visits"]
        assert abs(sum(each["share"] for each in later["candidates"]) - 1) < 0.01
        assert abs(sum(each["prior"] for each in later["candidates"]) - 1) < 0.01
        fen = "4k/5/3q1/5/K4 w - - 0 1"  # black is ahead: values are White's
        ask = page.send("analysis.start", variant="gardner", fen=fen, player="heuristic-1", visits=300, tree_nodes=50)
        update = page.until("analysis.update", ask=ask, done=True)
        assert update["value"] < -0.5
        assert update["wdl"][2] > update["wdl"][0]
        assert update["tree"][0]["parent"] == -1
        assert 1 < len(update["tree"]) <= 50
        for number, node in enumerate(update["tree"][1:], start=1):
            assert 0 <= node["parent"] < number
        page.send("analysis.stop")
        time.sleep(0.3)
        assert page.ask("game.list")["type"] == "game.list"  # nothing else is in the queue


def test_values_are_whites_whoever_moves(server: StudioServer) -> None:
    with server.page() as page:
        for turn in "wb":
            fen = f"4k/5/5/2Q2/K4 {turn} - - 0 1"
            choice: dict[str, Any] = {
                "variant": "gardner",
                "fen": fen,
                "player": "heuristic-1",
                "visits": 200,
                "tree_nodes": 300,
            }
            ask = page.send("analysis.start", **choice)
            update = page.until("analysis.update", ask=ask, done=True)
            assert update["value"] > 0.5, turn
            assert update["candidates"][0]["value"] > 0.5
            assert update["wdl"][0] > update["wdl"][2]
            # In the tree, values are those of the side that makes the move: here White's moves, there Black's.
            tree = update["tree"]
            for node in tree[1:]:
                is_root_move = node["parent"] == 0
                is_reply = node["parent"] > 0 and tree[node["parent"]]["parent"] == 0
                if (is_root_move or is_reply) and node["visits"] > 5:
                    assert (node["value"] > 0) == ((turn == "w") == is_root_move), node


def test_a_review_finds_the_blunder(server: StudioServer) -> None:
    fen = "r3k/ppp1p/5/PPPQP/R3K w - - 0 1"
    moves = ["a1b1", "a5b5", "d2d4"]  # the king takes the queen
    with server.page() as page:
        ask = page.send("review.start", variant="gardner", fen=fen, moves=moves, visits=100)
        found: list[dict[str, Any]] = []
        while not found or not found[-1]["done"]:
            found.append(page.until("review.move", 60, ask=ask))
        assert [each["ply"] for each in found] == [0, 1, 2]
        worst = max(found, key=lambda each: each["loss"])
        assert worst["ply"] == 2
        assert worst["mark"] == "??"
        assert worst["value"] < worst["before"]  # White's mistake is bad for White


def test_pgn_is_read_and_written_with_variations_and_comments(server: StudioServer) -> None:
    text = '[White "<b>Anna</b>"]\n[Variant "Atomic"]\n\n1. Nf3 {quiet} f6 (1... d5 $1 2. e4) 2. d4 *'
    with server.page() as page:
        game = page.ask("pgn.load", text=text)
        assert game["variant"] == "atomic"
        assert game["headers"]["White"] == "<b>Anna</b>"
        assert [(node["parent"], node["san"]) for node in game["nodes"]] == [
            (-1, "Nf3"), (0, "f6"), (1, "d4"), (0, "d5"), (3, "e4"),
        ]  # fmt: skip
        saved = page.ask("pgn.save", variant="atomic", headers=game["headers"], nodes=game["nodes"])["text"]
        again = page.ask("pgn.load", text=saved)
        assert again["nodes"] == game["nodes"]
        assert page.ask("pgn.load", text="no game at all")["type"] == "failure"
        assert page.ask("pgn.save", variant="chess", nodes=[{"parent": 0, "uci": "e2e4"}])["type"] == "failure"
        assert page.ask("pgn.save", variant="chess", nodes=[{"parent": -1, "uci": "e2e5"}])["type"] == "failure"


def test_a_broken_pgn_says_what_was_left_out(server: StudioServer) -> None:
    with server.page() as page:
        assert page.ask("pgn.load", text="1. e4 e5 *")["repair"] == ""
        game = page.ask("pgn.load", text="1. e4 g7-g5 (1... zz) 2. Qxf7 Nc6 *")
        assert [node["san"] for node in game["nodes"]] == ["e4", "g5"]
        assert game["repair"].startswith("Line 1, column 26: 'Qxf7' is not legal")
        assert game["repair"].endswith("the rest of the game is left out.")
        for text in ('[Variant "Nosuch"]\n\n1. e4 *', '[FEN "bad"]\n\n1. e4 *', "1. Qxf7 *"):
            answer = page.ask("pgn.load", text=text)
            assert answer["type"] == "failure"
            assert answer["message"].startswith("Line "), answer


def test_injected_text_comes_back_as_text_or_not_at_all(server: StudioServer) -> None:
    with server.page() as page:
        for text in INJECTIONS:
            bodies: tuple[tuple[str, dict[str, Any]], ...] = (
                ("game.new", {"variant": text[:200] or "x"}),
                ("game.new", {"variant": "chess", "player": text[:200] or "x"}),
                ("position.ask", {"variant": "chess", "fen": text[:200]}),
                ("run.watch", {"id": text[:100]}),
            )
            for kind, body in bodies:
                answer = page.ask(kind, **body)
                assert answer["type"] == "failure", (kind, text)
                assert "Traceback" not in answer["message"]
                assert "\n" not in answer["message"]
            time.sleep(0.05)  # the limit of requests a second


def test_random_frames_never_end_the_server(server: StudioServer) -> None:
    rng = random.Random(17)
    kinds = ["hello", "game.new", "game.move", "analysis.start", "pgn.load", "pgn.save", "run.start", "x", ""]
    values = [None, 0, -1, 1e308, "", "chess", "x" * 5000, [], {}, ["e2e4"], {"seconds": 1}, True, "e2e4", "\ud800"]
    names = ["variant", "id", "ply", "uci", "moves", "nodes", "text", "fen", "player", "recipe", "clock", "ask"]
    with server.page() as page:
        for _ in range(200):
            frame = {"type": rng.choice(kinds), "ask": rng.choice([1, 2, -1, "a"])}
            frame |= {rng.choice(names): rng.choice(values) for _ in range(rng.randrange(4))}
            text = json.dumps(frame)
            page.socket.send(text if rng.random() < 0.8 else text[: rng.randrange(len(text))])
        page.send("analysis.stop")
    with server.page() as page:
        assert page.ask("hello")["type"] == "welcome"


def test_a_flood_is_cut_off_and_others_are_still_answered(server: StudioServer) -> None:
    def flood() -> None:
        for _ in range(3000):
            page.send("game.list")
        while True:
            page.next()

    with server.page() as page, pytest.raises(ConnectionClosed):
        flood()
    with server.page() as page:
        assert page.ask("hello")["type"] == "welcome"


def test_the_inside_of_a_net_is_seen_by_the_side_to_move(server: StudioServer) -> None:
    with server.page() as page:
        for fen, turn in (("4k/5/5/5/K1Q2 w - - 0 1", "white"), ("k1q2/5/5/5/4K b - - 0 1", "black")):
            inside = page.ask("net.inside", variant="gardner", fen=fen)
            planes = {plane["name"]: plane["values"] for plane in inside["planes"]}
            # Black's board is turned: the king is on its own first rank, at the a-file, in both positions.
            assert [number for number, value in enumerate(planes["own king"]) if value] == [0]
            assert sum(planes["own queen"]) == 1
            assert planes["their queen"] == [0]
            net, untrained = inside["opinions"]
            assert (net["name"], untrained["name"]) == ("gardner-laptop", "gardner-laptop untrained")
            share = 1 / len(untrained["priors"])
            assert all(0.7 * share < prior < 1.4 * share for prior in untrained["priors"].values())
            assert len(set(untrained["priors"].values())) > 1
            assert abs(untrained["wdl"][0] - untrained["wdl"][2]) < 0.1
            assert abs(sum(net["priors"].values()) - 1) < 0.01
            ahead = net["wdl"][0] - net["wdl"][2]
            assert ahead > 0 if turn == "white" else ahead < 0  # win-draw-loss is White's


def test_a_second_search_of_a_game_waits_for_the_first(server: StudioServer) -> None:
    """A tree has one search at a time, however fast a page asks."""
    with server.page() as page:
        game = page.game(variant="chess", color="white", player="heuristic-1", visits=20_000)
        for _ in range(12):
            page.send("game.hint", id=game["id"])
        page.send("game.move", id=game["id"], ply=0, uci="e2e4")
        for _ in range(6):
            page.send("game.takeback", id=game["id"])
            page.send("game.move", id=game["id"], ply=0, uci="d2d4")
        page.send("game.takeback", id=game["id"])
        end = time.monotonic() + 60
        while (view := page.ask("game.open", 60, id=game["id"]))["moves"] and time.monotonic() < end:
            time.sleep(0.1)
        assert view["board"]["turn"] == "white"


def test_searches_of_one_game_do_not_overlap() -> None:
    catalog = PlayerCatalog(None)
    searcher = GameSearcher(lambda: catalog.open("heuristic-1"), catalog.skill("heuristic-1", None, 400))
    running, most = [0], [0]
    begin = searcher._search

    def counted(*arguments: Any) -> Any:
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.01)
        found = begin(*arguments)
        running[0] -= 1
        return found

    searcher._search = counted  # type: ignore[method-assign, assignment]
    threads = [
        threading.Thread(target=searcher.choose, args=(Position("gardner"), None, lambda: False)) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
