"""Trainings that fail after they have begun, vanish, or outlive the server; their trainer is a stand-in."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from selfmate.studio import runs
from selfmate.studio.run_files import trainer_of
from selfmate.studio.run_logs import failure_of, wait_for_end
from selfmate.studio.train_extra import TrainExtra
from studio_server import Page, studio_server
from studio_trainer import MANIFEST, TRAINER

FULL_DISK = "games/00001: No space left on device; free some and run the same command again"


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trainer is a stand-in that ends with the line of a full disk when it gets SIGUSR1."""
    program = f"""
import signal, sys
def fail(*_):
    print("selfmate: " + sys.argv[1] + "/{FULL_DISK}")
    sys.exit(2)
signal.signal(signal.SIGUSR1, fail)
sys.argv[1:] = [sys.argv[-1], {json.dumps(MANIFEST)!r}]
{TRAINER}"""
    monkeypatch.setattr(runs, "TRAIN", (sys.executable, "-S", "-u", "-c", program))
    monkeypatch.setattr(TrainExtra, "check", lambda self: None)


def until(page: Page, status: str) -> dict[str, Any]:
    """Return the run once it has a status."""
    while (run := page.until("run.view", 60)["run"])["status"] != status:
        pass
    return dict(run)


def fail(directory: Path, number: signal.Signals) -> None:
    process = trainer_of(directory)
    assert process is not None
    os.kill(process, number)


def test_a_training_that_fails_later_says_why(tmp_path: Path, fails: None) -> None:
    with studio_server(tmp_path) as server, server.page() as page:
        assert page.ask("run.start", 60, recipe="gardner-laptop", name="mine")["type"] == "run.started"
        assert page.ask("run.watch", id="mine")["run"]["message"] == ""
        fail(tmp_path / "mine", signal.SIGUSR1)
        assert until(page, "stopped")["message"] == FULL_DISK
    with studio_server(tmp_path) as server, server.page() as page:  # the next server knows it, too
        assert page.ask("run.watch", id="mine")["run"]["message"] == FULL_DISK
        assert page.ask("run.start", 60, resume="mine")["type"] == "run.started"
        assert page.ask("run.watch", id="mine")["run"]["message"] == ""
        fail(tmp_path / "mine", signal.SIGKILL)
        run = until(page, "stopped")
        while not run["message"]:  # noted when the end of the process is noticed
            run = until(page, "stopped")
        assert run["message"] == "the training was killed, perhaps for want of memory"
        assert page.ask("run.start", 60, resume="mine")["type"] == "run.started"
        page.send("run.stop", id="mine")
        assert until(page, "stopped")["message"] == ""


def test_a_run_that_vanishes_while_it_is_watched_is_one_sentence(tmp_path: Path, fails: None) -> None:
    with studio_server(tmp_path) as server, server.page() as page:
        page.ask("run.start", 60, recipe="gardner-laptop", name="mine")
        page.ask("run.watch", id="mine")
        fail(tmp_path / "mine", signal.SIGTERM)
        until(page, "stopped")
        shutil.rmtree(tmp_path / "mine")
        assert until(page, "broken")["message"] == "this run is not in the folder of runs any more"


def test_a_training_outlives_its_page_and_its_server(tmp_path: Path, fails: None) -> None:
    with studio_server(tmp_path) as server, server.page() as page:
        page.ask("run.start", 60, recipe="gardner-laptop", name="mine")
    process = trainer_of(tmp_path / "mine")
    assert process is not None
    with studio_server(tmp_path) as server, server.page() as page:
        assert [(run["id"], run["status"]) for run in page.ask("run.list")["runs"]] == [("mine", "running")]
        assert trainer_of(tmp_path / "mine") == process
        page.ask("run.watch", id="mine")
        page.send("run.stop", id="mine")
        until(page, "stopped")
        # A run that is started in a terminal appears in the list by itself.
        command = [*runs.TRAIN, str(tmp_path / "other")]
        with subprocess.Popen(command) as other:
            listed = page.until("run.list", 60)["runs"]
            while {(run["id"], run["status"]) for run in listed} != {("mine", "stopped"), ("other", "running")}:
                listed = page.until("run.list", 60)["runs"]
            other.terminate()


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("print('fine')", ""),
        ("import sys; print('selfmate: a warning'); print('goes on')", ""),
        ("import sys; print('selfmate: no space'); print('late'); sys.exit(2)", "no space"),
        ("raise RuntimeError('a fault')", "the training failed: RuntimeError: a fault"),
        ("import os; os._exit(7)", "the training failed: exit code 7"),
        ("import os; os.kill(os.getpid(), 11)", "the training was ended by signal 11"),
        ("import os; os.kill(os.getpid(), 15)", ""),
    ],
)
def test_the_output_of_a_training_says_why_it_ended(tmp_path: Path, program: str, said: str) -> None:
    log = tmp_path / "mine.log"
    with log.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-S", "-c", program], stdout=file, stderr=subprocess.STDOUT)
    wait_for_end(process, log)
    assert failure_of(log, tmp_path / "mine") == said


def test_old_output_says_nothing_of_a_run_that_was_trained_since(tmp_path: Path) -> None:
    log, directory = tmp_path / "mine.log", tmp_path / "mine"
    log.write_text("selfmate: no space\n")
    directory.mkdir()
    (directory / "state.json").write_text("{}")
    assert failure_of(log, directory) == "no space"
    os.utime(log, (0, 0))
    assert failure_of(log, directory) == ""
    assert failure_of(tmp_path / "other.log", directory) == ""
