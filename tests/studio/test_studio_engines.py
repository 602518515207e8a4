"""Outside UCI engines: named on the command line, as opponents and beside our analysis."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from command import Run
from selfmate.match.uci_client import EngineError
from selfmate.studio.outside_engine import MOST_PROCESSES, OutsideEngineError, count_open, open_engine, read_engines
from studio_server import StudioServer, studio_server

FAKE = Path(__file__).parents[1] / "helpers" / "fake_engine.py"


def command(fault: str) -> str:
    """Return the command of the fake engine, which plays a knight out and back and says 9 pawns for White."""
    return f"{sys.executable} -S {FAKE} {fault}"


@pytest.fixture(scope="module")
def fish(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioServer]:
    """A studio with a fake engine, and one that plays an illegal move."""
    engines = [f"fish={command('none')}", f"cheat={command('illegal')}", f"many={command('plays-chess')}"]
    with studio_server(tmp_path_factory.mktemp("engines"), engines=engines) as found:
        yield found


def test_an_engine_is_listed_by_its_name_and_never_by_its_command(fish: StudioServer) -> None:
    with fish.page() as page:
        welcome = page.ask("hello")
        cards = {each["id"]: each for each in welcome["engines"]}
        assert set(cards) == {"engine/fish", "engine/cheat", "engine/many"}
        assert cards["engine/fish"]["detail"] == "Fake none"
        assert (cards["engine/fish"]["variant"], cards["engine/many"]["variant"]) == ("chess", None)
        assert str(FAKE) not in str(page.heard)
        for player in ("fish", command("none"), "uci:cat", "engine/", "engine/../fish"):
            assert page.ask("game.new", variant="chess", player=player)["type"] == "failure"
            assert page.ask("engine.start", variant="chess", engine=player)["type"] == "failure"


def test_an_engine_answers_moves_and_says_what_it_thinks(fish: StudioServer) -> None:
    with fish.page() as page:
        game = page.game(variant="chess", color="white", player="engine/fish", visits=50)
        assert (game["opponent"], game["opponent_detail"]) == ("fish", "50 nodes")
        page.send("game.move", id=game["id"], ply=0, uci="g1f3")
        view = page.your_turn()
        assert view["moves"][1]["uci"] == "g8f6"
        note = view["explanation"]
        assert note["text"] == "Nf6: -9.00 for itself, depth 2."
        assert note["value"] > 0.5  # Black says that it is nine pawns behind: good for White
        assert note["wdl"][0] > note["wdl"][2]
        hint = page.ask("game.hint", id=game["id"])
        assert hint.get("uci") == "f3g1", hint
        again = page.ask("game.rematch", id=game["id"])
        assert again["opponent"] == "fish"


def test_an_illegal_move_is_one_sentence_and_the_game_can_go_back(fish: StudioServer) -> None:
    with fish.page() as page:
        game = page.game(variant="chess", color="white", player="engine/cheat")
        page.send("game.move", id=game["id"], ply=0, uci="g1f3")
        page.your_turn()
        page.send("game.move", id=game["id"], ply=2, uci="f3g1")
        while not (view := page.until("game.view"))["notice"]:
            pass
        assert view["notice"] == "cheat wants to play 'e2e5', which is not legal"
        assert not view["thinking"]
        page.send("game.takeback", id=game["id"])
        while len(view["moves"]) != 2:
            view = page.until("game.view")
        assert view["notice"] == ""


def test_an_engine_that_does_not_play_a_variant_says_so(fish: StudioServer) -> None:
    with fish.page() as page:
        answer = page.ask("game.new", variant="atomic", player="engine/fish")
        assert answer["message"] == "Fake none does not play atomic: it has no option UCI_Variant."
        assert page.game(variant="atomic", color="white", player="engine/many")["opponent"] == "many"


def test_an_engine_analyses_beside_ours_and_its_scores_are_whites(fish: StudioServer) -> None:
    with fish.page() as page:
        ours = page.send("analysis.start", variant="chess", player="heuristic-1", seconds=20)
        for moves, score in (([], "+9.00"), (["g1f3"], "+9.00")):
            ask = page.send("engine.start", variant="chess", engine="engine/fish", moves=moves)
            update = page.until("engine.update", ask=ask, done=True)
            line = update["lines"][0]
            assert (line["score"], update["name"], update["depth"]) == (score, "Fake none", 2)
            assert line["value"] > 0.5
            assert line["pv"] == (["Nf6"] if moves else ["Nf3"])
        assert page.until("analysis.update", ask=ours)["visits"] > 0
        page.send("engine.stop")
        over = page.ask("engine.start", variant="chess", engine="engine/fish", fen="7k/5KQ1/8/8/8/8/8/8 b - - 0 1")
        assert over["message"] == "The game is over in this position."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("stockfish", "--engine is NAME=COMMAND"),
        ("=x", "--engine is NAME=COMMAND"),
        ("../x=cat", "--engine is NAME=COMMAND"),
        ("x=/nothing/there", "there is no such program"),
        (f"x={command('dies')}", "exited with code 7: cannot find my weights"),
        ("x=cat?option.Hash=x&oops", "what follows ? is KEY=VALUE"),
    ],
)
def test_an_engine_that_is_not_there_is_one_line_at_the_start(
    run: Run, tmp_path: Path, text: str, sentence: str
) -> None:
    answer = run("studio", "--no-browser", "--port", "0", "--runs", tmp_path, "--engine", text)
    assert answer.code == 2
    assert sentence in answer.err
    assert answer.err.count("\n") == 1


def test_names_and_processes_have_bounds() -> None:
    with pytest.raises(OutsideEngineError, match="two engines are named fish"):
        read_engines([f"fish={command('none')}"] * 2)
    engine = read_engines([f"fish={command('none')}"])[0]
    opened = []
    try:
        opened += [open_engine(engine) for _ in range(MOST_PROCESSES - count_open())]
        with pytest.raises(OutsideEngineError, match=f"{MOST_PROCESSES} engines"):
            open_engine(engine)
        opened.pop().close()
        opened.append(open_engine(engine))  # one that has ended makes room
    finally:
        for client in opened:
            client.kill()
    assert not opened[0].is_running


def test_an_analysis_of_an_engine_is_stopped_in_time() -> None:
    engine = read_engines([f"fish={command('waits')}"])[0]
    with open_engine(engine) as client:
        lines = list(client.analyse(None, ["g1f3", "g8f6"], seconds=0.2, stopped=lambda: False))
        assert any("score cp 900" in line for line in lines)
        assert list(client.analyse(None, ["g1f3", "g8f6"], seconds=60, stopped=lambda: True)) == []
        client.wait_until_ready()
    deaf = read_engines([f"fish={command('deaf')}"])[0]
    with open_engine(deaf) as client, pytest.raises(EngineError, match="did not obey stop"):
        list(client.analyse(None, ["g1f3", "g8f6"], seconds=0.1, stopped=lambda: False))


def test_an_engine_outlives_the_thread_that_asked_for_it() -> None:
    """Linux ends a process with the thread that started it; each analysis of a page has a thread of its own."""
    engine = read_engines([f"fish={command('none')}"])[0]
    with ThreadPoolExecutor(1) as pool:
        client = pool.submit(open_engine, engine).result()
    try:
        time.sleep(0.3)  # a signal takes a moment
        assert client.is_running
        client.wait_until_ready()
    finally:
        client.close()


def test_an_engine_plays_a_match_that_is_counted_for_the_right_side(tmp_path: Path) -> None:
    """Our own engine as an outside one, on both sides of the table: it beats random moves."""
    runs = tmp_path / "runs"
    with studio_server(runs, engines=[f"mate={sys.executable} -m selfmate uci"]) as server, server.page() as page:
        for first, second in (("engine/mate", "random"), ("random", "engine/mate")):
            started = page.ask("match.start", 60, variant="gardner", first=first, second=second, games=4, visits=64)
            assert (started["first"], started["second"]) == (
                first.removeprefix("engine/"),
                second.removeprefix("engine/"),
            )
            done = page.until("match.view", 120, status="done")
            assert done["message"] == ""
            assert [done["wins"], done["draws"], done["losses"]] == ([4, 0, 0] if first == "engine/mate" else [0, 0, 4])
            games = page.ask("match.games", id=started["id"])
            assert len(games["games"]) == len(done["boards"]) == 4
            for game, is_white in zip(games["games"], games["first_is_white"], strict=True):
                assert game["result"] == ("1-0" if is_white == (first == "engine/mate") else "0-1")
                assert len(game["boards"]) == len(game["moves"]) + 1
        cells = {(each["row"], each["column"]): each for each in page.ask("match.table", variant="gardner")["cells"]}
        assert cells["engine/mate", "random"]["wins"] == cells["random", "engine/mate"]["losses"] == 8
        assert str(sys.executable) not in str(page.heard)


def test_an_engine_that_cannot_play_a_match_says_why(fish: StudioServer, tmp_path: Path) -> None:
    with fish.page() as page:
        answer = page.ask("match.start", 60, variant="atomic", first="engine/fish", second="random", games=2, visits=1)
        assert answer["message"] == "Fake none does not play atomic: it has no option UCI_Variant."
        # A cheat loses its games, with the reason.
        match = page.ask("match.start", 60, variant="chess", first="random", second="engine/cheat", games=2, visits=1)
        assert page.until("match.view", 60, status="done")["wins"] == 2
        games = page.ask("match.games", id=match["id"])["games"]
        assert all("illegal" in game["reason"] for game in games), games
    starts = tmp_path / "starts"
    starts.write_text("xx")  # one at the start of the server, one when the match is asked for
    engines = [f"tired={command('fails-later')} {starts}"]
    with studio_server(tmp_path / "runs", engines=engines) as server, server.page() as page:
        page.ask("match.start", 60, variant="chess", first="engine/tired", second="random", games=2, visits=1)
        stopped = page.until("match.view", 60, status="stopped")
        assert "exited with code 9" in stopped["message"], stopped


def test_a_match_with_an_engine_is_stopped(fish: StudioServer) -> None:
    with fish.page() as page:
        match = page.ask("match.start", 60, variant="chess", first="heuristic-1", second="engine/many", games=1000)
        page.until("match.view", 60, status="playing")
        page.send("match.stop", id=match["id"])
        assert page.until("match.view", 60, status="stopped")["message"] == ""
