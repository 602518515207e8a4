"""Games outlive the server: kept in files, found again by pages and lists, within bounds."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from selfmate.board.position import Position
from selfmate.studio.game_files import MOST_KEPT, GameFiles, SavedGame
from selfmate.studio.games import Games
from selfmate.studio.kept_games import KeptGames
from selfmate.studio.live_game import LiveGame
from selfmate.studio.messages import GameCard, NewGame, TimeControl
from selfmate.studio.players import PlayerCatalog
from studio_server import studio_server


def test_a_game_goes_on_after_a_restart(tmp_path: Path) -> None:
    with studio_server(tmp_path) as server, server.page() as page:
        game = page.game(variant="gardner", color="white", player="random", clock={"seconds": 300, "increment": 2})
        page.send("game.move", id=game["id"], ply=0, uci=game["board"]["legal"][0]["uci"])
        before = page.your_turn()
        ended = page.game(variant="atomic", color="black", player="random")
        page.until("game.view", id=ended["id"], thinking=False)
        page.send("game.resign", id=ended["id"])
        while not page.until("game.view", id=ended["id"])["board"]["result"]:
            pass
    with studio_server(tmp_path) as server, server.page() as page:
        assert {each["id"] for each in page.ask("game.list")["games"]} == {game["id"], ended["id"]}
        after = page.ask("game.open", id=game["id"])
        for name in ("variant", "start", "moves", "board", "you", "opponent", "opponent_detail", "control"):
            assert after[name] == before[name], name
        assert after["clock"]["running"] == "white"
        assert 290_000 < after["clock"]["white"] <= before["clock"]["white"]
        page.send("game.move", id=game["id"], ply=2, uci=after["board"]["legal"][0]["uci"])
        while len((view := page.your_turn())["moves"]) < 4:
            pass
        assert view["id"] == game["id"]
        lost = page.ask("game.open", id=ended["id"])
        assert (lost["board"]["result"], lost["board"]["reason"]) == ("1-0", "Black resigned")
        status, _, text = server.get(f"/api/games/{ended['id']}/pgn")
        assert status == 200
        assert b"1-0" in text


def test_the_engine_moves_in_a_game_that_was_left_on_its_turn(tmp_path: Path) -> None:
    with studio_server(tmp_path) as server, server.page() as page:
        game = page.game(variant="chess", color="white", player="heuristic-1", visits=10_000_000)
        page.send("game.move", id=game["id"], ply=0, uci="e2e4")
        assert page.until("game.view", thinking=True)["moves"]
    path = tmp_path / ".studio" / "games" / f"{game['id']}.json"
    saved = json.loads(path.read_bytes())
    assert saved["moves"] == ["e2e4"]
    path.write_text(json.dumps({**saved, "visits": 2}))
    with studio_server(tmp_path) as server, server.page() as page:
        page.send("game.open", id=game["id"])
        assert len(page.your_turn()["moves"]) == 2


def test_a_game_whose_opponent_is_gone_can_still_be_seen(tmp_path: Path) -> None:
    with studio_server(tmp_path) as server, server.page() as page:
        game = page.game(variant="gardner", color="white", player="random")
    path = tmp_path / ".studio" / "games" / f"{game['id']}.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "player": "run/gone/3"}))
    with studio_server(tmp_path) as server, server.page() as page:
        view = page.ask("game.open", id=game["id"])
        assert view["opponent"] == "random"
        page.send("game.move", id=game["id"], ply=0, uci=view["board"]["legal"][0]["uci"])
        while not (view := page.until("game.view"))["notice"]:
            pass
        assert view["notice"] == "no such player: 'run/gone/3'"


def saved_game(number: int, moves: tuple[str, ...] = ()) -> SavedGame:
    card = GameCard(
        id=f"{number:016x}", variant="chess", fen="", opponent="random", you="white", plies=len(moves), your_turn=True,
        result=None,
    )  # fmt: skip
    return SavedGame(
        card=card, start=Position("chess").fen(), moves=list(moves), player="random", visits=1, temperature=0.0, text=""
    )


def test_damaged_files_and_too_many_are_left_out(tmp_path: Path) -> None:
    files = GameFiles(tmp_path)
    assert files.read_all() == []
    for number in range(MOST_KEPT + 5):
        files.write(saved_game(number))
        os.utime(tmp_path / f"{number:016x}.json", (number, number))
    (tmp_path / f"{MOST_KEPT + 4:016x}.json").write_text('{"card":')
    (tmp_path / "renamed00.json").write_bytes((tmp_path / f"{MOST_KEPT + 3:016x}.json").read_bytes())
    os.utime(tmp_path / f"{MOST_KEPT + 4:016x}.json", (1e6, 1e6))
    found = [game.card.id for game in files.read_all()]
    assert found == [f"{number:016x}" for number in range(6, MOST_KEPT + 4)]
    assert len(list(tmp_path.glob("*.json"))) == MOST_KEPT


def test_the_oldest_games_make_room(tmp_path: Path) -> None:
    kept = KeptGames(GameFiles(tmp_path), lambda game, reason: pytest.fail(reason))
    for number in range(MOST_KEPT + 3):
        kept.put(saved_game(number))
    kept.put(saved_game(3, ("e2e4",)))  # changed again: not among the oldest
    kept.put(saved_game(MOST_KEPT + 3))
    kept.close()
    names = {path.stem for path in tmp_path.iterdir()}
    assert len(names) == MOST_KEPT
    assert f"{3:016x}" in names
    assert f"{4:016x}" not in names
    again = KeptGames(GameFiles(tmp_path), lambda game, reason: None)
    again.load()
    found = again.get(f"{3:016x}")
    again.close()
    assert found is not None
    assert found.moves == ["e2e4"]


def test_a_full_disk_is_one_sentence_on_the_page_and_in_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(self: GameFiles, game: SavedGame) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(GameFiles, "write", full)
    with studio_server(tmp_path) as server, server.page() as page:
        game = page.game(variant="gardner", color="white", player="random")
        view = page.until("game.view")
        assert view["notice"] == "This game will be lost when the server ends: No space left on device."
        page.send("game.move", id=game["id"], ply=0, uci=game["board"]["legal"][0]["uci"])
        while len(page.your_turn()["moves"]) < 2:
            pass
    assert [record.getMessage() for record in caplog.records if "kept" in record.getMessage()] == [
        "games cannot be kept: No space left on device"
    ]


def test_the_clocks_of_a_restored_game_go_on_from_now() -> None:
    seconds = [100.0]
    control = TimeControl(seconds=60, increment=0)
    game = LiveGame(Position("chess"), you="white", control=control, now=lambda: seconds[0])
    game.restore(["e2e4", "e7e5"], (50.0, 20.0), None, None)
    seconds[0] += 5
    clock: Any = game.clock()
    assert (clock.white, clock.black, clock.running) == (45_000, 20_000, "white")
    game.play("g1f3")
    game.take_back()
    assert len(game.moves) == 2


def test_games_without_a_folder_write_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def play() -> int:
        games = Games(PlayerCatalog(None))
        await games.begin()
        await games.new(NewGame(ask=1, variant="gardner", color="white", player="random"))
        await games.restore("0" * 16)
        count = len(games.cards())
        await games.close()
        return count

    assert asyncio.run(play()) == 1
    assert list(tmp_path.iterdir()) == []


def test_many_moves_are_written_in_time(tmp_path: Path) -> None:
    """Only the newest state waits for the disk."""
    written: list[int] = []

    class SlowFiles(GameFiles):
        def write(self, game: SavedGame) -> None:
            time.sleep(0.05)
            written.append(len(game.moves))

    kept = KeptGames(SlowFiles(tmp_path), lambda game, reason: None)
    for number in range(50):
        kept.put(saved_game(1, tuple(["e2e4"] * number)))
    kept.close()
    assert written[-1] == 49
    assert len(written) < 10
