"""Matches: counted from the first player's side, watched, and stopped."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from selfmate.studio import matches
from selfmate.studio.match_sides import Side
from selfmate.studio.matches import LiveMatches
from selfmate.studio.messages import StartMatch
from selfmate.studio.security import Access
from studio_server import StudioServer, studio_server


def test_a_match_is_watched_to_its_end(server: StudioServer) -> None:
    with server.page() as page, server.page() as second:
        started = page.ask("match.start", variant="gardner", first="heuristic-1", second="random", games=9, visits=64)
        assert started["games"] == 10  # every opening with both colours
        watched = second.ask("match.watch", id="")
        assert watched["id"] == started["id"]
        view = page.until("match.view", 60)
        boards = []
        while view["status"] in ("preparing", "playing"):
            boards += view["boards"]
            view = page.until("match.view", 60)
        boards += view["boards"]
        assert view["status"] == "done"
        assert view["wins"] + view["draws"] + view["losses"] == 10
        assert view["wins"] >= 8  # the first player is the strong one
        assert view["score_range"][0] <= view["score"] <= view["score_range"][1]
        assert view["llr_bounds"][0] < 0 < view["llr_bounds"][1]
        assert any(board["plies"] for board in boards)
        # The loser resigned nothing: a finished game of the strong side with White is won by White.
        won = [board for board in view["boards"] if board["result"] == "1-0"]
        assert won
        assert all(board["first_is_white"] for board in won)
        assert second.until("match.view", 60, status="done")["wins"] == view["wins"]
        # The table has both sides of it, and the games behind its cells.
        table = page.ask("match.table", variant="gardner")["cells"]
        cells = {(each["row"], each["column"]): each for each in table if started["id"] in each["matches"]}
        strong, weak = cells["heuristic-1", "random"], cells["random", "heuristic-1"]
        assert (strong["wins"], strong["draws"], strong["losses"]) == (weak["losses"], weak["draws"], weak["wins"])
        assert strong["wins"] >= view["wins"]
        games = page.ask("match.games", id=started["id"])
        assert len(games["games"]) == 10
        for game, first_is_white in zip(games["games"], games["first_is_white"], strict=True):
            assert first_is_white == (game["id"] % 2 == 0)
            assert len(game["boards"]) == len(game["moves"]) + 1
        assert page.ask("match.table", variant="horde")["cells"] == []
        assert page.ask("match.games", id="nothing")["type"] == "failure"


def test_a_match_is_stopped_and_bad_players_are_refused(server: StudioServer) -> None:
    with server.page() as page:
        for body in ({"second": "../x"}, {"second": "atomic-gpu"}, {"variant": "nothing"}):
            choice: dict[str, Any] = {"variant": "gardner", "first": "heuristic-1", "second": "random"} | body
            assert page.ask("match.start", **choice)["type"] == "failure"
        match = page.ask(
            "match.start", variant="gardner", first="heuristic-1", second="gardner-laptop", games=1000, visits=400
        )
        page.until("match.view", 60, status="playing")
        page.send("match.stop", id=match["id"])
        assert page.until("match.view", 60, status="stopped")["games"] == 1000
        assert page.ask("match.stop", id="nothing")["type"] == "failure"


def test_searches_are_waited_for_when_the_process_ends(server: StudioServer) -> None:
    """A daemon thread inside the core aborts the process at its end."""
    with server.page() as page:
        page.ask("match.start", variant="gardner", first="heuristic-1", second="random", games=2, visits=1)
        page.send("analysis.start", variant="gardner", seconds=5)
        page.until("analysis.update")
        threads = [thread for thread in threading.enumerate() if thread.name in ("analysis", "match")]
        assert "analysis" in {thread.name for thread in threads}
        assert not any(thread.daemon for thread in threads)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_match_that_chooses_its_openings_does_not_delay_the_end(tmp_path: Path, number: signal.Signals) -> None:
    """Few positions of horde are even: 500 openings take much longer than this test."""
    command = [sys.executable, "-m", "selfmate", "studio", "--no-browser", "--port", "0", "--runs", str(tmp_path)]
    token = "0123456789abcdef" * 2
    environment = {**os.environ, "SELFMATE_STUDIO_TOKEN": token}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as server:
        assert server.stdout is not None
        found = re.search(r":(\d+)/", server.stdout.readline())
        assert found is not None
        known = StudioServer(int(found[1]), Access("127.0.0.1", int(found[1]), token))
        with known.page() as page:
            page.send("match.start", variant="horde", first="heuristic-1", second="random", games=1000, visits=1)
            assert page.until("match.view", 60)["status"] == "preparing"
            time.sleep(0.5)
            server.send_signal(number)
            began = time.monotonic()
            errors = server.communicate(timeout=60)[1]
        assert time.monotonic() - began < 8  # 1 s for open connections, the rest is a busy machine
        assert errors == ""
        assert server.returncode == (-number if number == signal.SIGTERM else 0)  # uvicorn ends by the signal it got


def test_a_second_ctrl_c_ends_the_server_as_the_first_does(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "selfmate", "studio", "--no-browser", "--port", "0", "--runs", str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as server:
        assert server.stdout is not None
        found = re.search(r":(\d+)/", server.stdout.readline())
        assert found is not None
        with socket.create_connection(
            ("127.0.0.1", int(found[1])), 20
        ) as client:  # its handlers are there once it answers
            client.sendall(b"GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
            assert client.recv(4).startswith(b"HTTP")
        server.send_signal(signal.SIGINT)
        time.sleep(0.05)
        server.send_signal(signal.SIGINT)
        errors = server.communicate(timeout=60)[1]
    assert errors == ""
    assert server.returncode == 0


def test_a_match_is_stopped_while_it_chooses_its_openings(server: StudioServer) -> None:
    with server.page() as page:
        match = page.ask("match.start", variant="horde", first="heuristic-1", second="random", games=1000, visits=1)
        assert match["status"] == "preparing"
        page.send("match.stop", id=match["id"])
        stopped = page.until("match.view", 10, status="stopped")
        assert stopped["wins"] + stopped["draws"] + stopped["losses"] == 0


def test_a_match_that_no_page_watches_is_stopped(server: StudioServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matches, "LEFT_SECONDS", 0.3)
    choice = {"variant": "gardner", "first": "heuristic-1", "second": "gardner-laptop", "games": 1000, "visits": 400}
    with server.page() as second:
        with server.page() as page:
            match = page.ask("match.start", 60, **choice)
            assert second.ask("match.watch", id=match["id"])["id"] == match["id"]
        time.sleep(1)  # the second page watches it
        assert second.ask("match.watch", id=match["id"])["status"] in ("preparing", "playing")
    time.sleep(1)
    with server.page() as page:
        assert (
            page.ask("match.watch", id=match["id"])["message"] == "It was stopped because no page watched it any more."
        )
        page.send("match.watch", id=match["id"])
        page.until("match.view", 60, status="stopped")


def test_requests_at_the_same_time_do_not_pass_the_limit_of_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = matches.MOST_RUNNING + 1
    together = threading.Barrier(requests, timeout=30)
    open_sides = LiveMatches._open

    def open_together(self: LiveMatches, request: StartMatch) -> list[Side]:
        sides = open_sides(self, request)
        together.wait()  # none is running yet when the last one has asked
        return sides

    monkeypatch.setattr(LiveMatches, "_open", open_together)
    choice: dict[str, Any] = {
        "variant": "horde",
        "first": "heuristic-1",
        "second": "random",
        "games": 1000,
        "visits": 1,
    }
    with studio_server(tmp_path) as server, server.page() as page:
        asked = {page.send("match.start", **choice) for _ in range(requests)}
        answers: list[dict[str, Any]] = []
        while len(answers) < requests:
            event = page.next()
            answers += [event] if event["ask"] in asked else []
        refused = [each["message"] for each in answers if each["type"] == "failure"]
        assert refused == ["2 matches are running already: stop one of them, or wait."]
        # One that has ended makes room.
        monkeypatch.setattr(LiveMatches, "_open", open_sides)
        first, second = (each for each in answers if each["type"] == "match.view")
        assert page.ask("match.start", **choice)["message"] == refused[0]
        page.send("match.stop", id=first["id"])
        page.until("match.view", 30, id=first["id"], status="stopped")
        third = page.ask("match.start", **choice)
        assert third["type"] == "match.view"
        for match in (second, third):
            page.send("match.stop", id=match["id"])
            page.until("match.view", 30, id=match["id"], status="stopped")
