"""Runs that are paused: resumed for the rest of their time, also by another server. Their trainer is a stand-in."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from selfmate.studio.run_files import trainer_of
from selfmate.studio.runs import Runs
from selfmate.studio.train_extra import TrainExtra
from studio_server import Page, studio_server
from studio_trainer import MANIFEST, TRAINER


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """The arguments of the trainings that a server starts."""
    found: list[list[str]] = []
    processes: list[subprocess.Popen[bytes]] = []

    def spawn(self: Runs, directory: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
        found.append(arguments)
        command = [sys.executable, "-S", "-c", TRAINER, str(directory), json.dumps(MANIFEST)]
        processes.append(subprocess.Popen(command))
        return processes[-1]

    monkeypatch.setattr(Runs, "_spawn", spawn)
    monkeypatch.setattr(TrainExtra, "check", lambda self: None)
    yield found
    for process in processes:
        process.kill()  # one that has ended already ignores it


def until(page: Page, status: str) -> dict[str, Any]:
    """Return the run once it has a status."""
    while (run := page.until("run.view", 60)["run"])["status"] != status:
        pass
    return dict(run)


def minutes(arguments: list[str]) -> float | None:
    return float(arguments[arguments.index("--minutes") + 1]) if "--minutes" in arguments else None


def test_a_paused_run_goes_on_for_the_rest_of_its_time(tmp_path: Path, started: list[list[str]]) -> None:
    with studio_server(tmp_path) as server, server.page() as page:
        page.ask("run.start", 60, recipe="gardner-laptop", name="mine", minutes=30)
        assert page.ask("run.watch", id="mine")["run"]["status"] == "running"
        page.send("run.stop", id="mine", pause=True)
        paused = until(page, "paused")
        assert 1700 < paused["seconds_left"] < 1800
        assert trainer_of(tmp_path / "mine") is None
    with studio_server(tmp_path) as server, server.page() as page:  # another server knows it, too
        assert page.ask("run.list")["runs"] == [paused]
        page.ask("run.start", 60, resume="mine")
        assert page.ask("run.watch", id="mine")["run"]["status"] == "running"
        assert minutes(started[-1]) == pytest.approx(paused["seconds_left"] / 60, rel=1e-4)
        # A run that is paused can be stopped: it has no time left over, and resumes without a limit.
        page.send("run.stop", id="mine", pause=True)
        assert until(page, "paused")["seconds_left"] <= paused["seconds_left"]
        page.send("run.stop", id="mine")
        assert until(page, "stopped")["seconds_left"] is None
        for pause in (False, True):
            assert page.ask("run.stop", id="mine", pause=pause)["type"] == "failure"
        page.ask("run.start", 60, resume="mine")
        assert minutes(started[-1]) is None
        until(page, "running")
        page.send("run.stop", id="mine")
        until(page, "stopped")


def test_a_run_without_a_limit_is_paused_and_resumed_elsewhere(tmp_path: Path, started: list[list[str]]) -> None:
    with studio_server(tmp_path) as server, server.page() as page:
        page.ask("run.start", 60, recipe="gardner-laptop", name="mine")
        page.ask("run.watch", id="mine")
        page.send("run.stop", id="mine", pause=True)
        assert until(page, "paused")["seconds_left"] is None
        # In a terminal: it trains, and is not paused any more when it ends there.
        command = [sys.executable, "-S", "-c", TRAINER, str(tmp_path / "mine"), json.dumps(MANIFEST)]
        with subprocess.Popen(command) as trainer:
            until(page, "running")
            trainer.terminate()
        until(page, "stopped")
        assert len(started) == 1
