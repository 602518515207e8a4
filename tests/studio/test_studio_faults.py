"""What can be missing or break around the server: PyTorch, a net, the disk, the port. Each is one sentence."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import pytest

from command import Run
from selfmate.nn import shipped
from selfmate.studio.messages import InstallProgress
from selfmate.studio.runs import Runs
from selfmate.studio.train_extra import TrainExtra
from shipped_nets import GARDNER_NET
from studio_server import StudioServer, studio_server


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch is not installed."""
    monkeypatch.setattr(TrainExtra, "is_installed", property(lambda self: False))


def test_what_to_do_without_pytorch_depends_on_how_selfmate_was_installed(no_torch: None, tmp_path: Path) -> None:
    checkout = TrainExtra(tmp_path / "log")
    assert checkout.can_install == (sys.prefix != sys.base_prefix)
    assert checkout.command()[-2:] == ["onnx", "torch"]
    assert str(Path(__file__).parents[2] / "constraints.txt") in checkout.command()
    wheel = TrainExtra(tmp_path / "log", package=tmp_path / "lib" / "site-packages" / "selfmate")
    assert not wheel.can_install
    assert wheel.hint == "Training needs PyTorch: run pip install 'selfmate[train]', then start the studio again."


def test_the_page_is_told_that_training_needs_pytorch(no_torch: None, server: StudioServer) -> None:
    with server.page() as page:
        welcome = page.ask("hello")
        assert not welcome["can_train"]
        assert "PyTorch" in welcome["training_hint"]
        answer = page.ask("run.start", recipe="gardner-laptop", name="first", minutes=2)
        assert answer["message"] == welcome["training_hint"]


def installed(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[InstallProgress]:
    """Return the progress of an installation by a program instead of pip."""
    done = tmp_path / "done"
    monkeypatch.setattr(TrainExtra, "is_installed", property(lambda self: done.exists()))
    monkeypatch.setattr(TrainExtra, "command", lambda self: [sys.executable, "-c", program, str(done)])
    heard: list[InstallProgress] = []
    extra = TrainExtra(tmp_path / "logs" / "install.log")
    extra.install(heard.append)
    extra.install(heard.append)  # a second page follows the same installation
    end = time.monotonic() + 60
    while heard[-1].status == "running" and time.monotonic() < end:
        time.sleep(0.05)
    return heard


def test_an_installation_is_followed_line_by_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import sys; print('Collecting torch\\n\\nInstalling'); open(sys.argv[1], 'w').close()"
    heard = installed(program, tmp_path, monkeypatch)
    assert (heard[-1].status, heard[-1].line) == ("done", "PyTorch is installed")
    assert {"Collecting torch", "Installing"} <= {each.line for each in heard}
    assert "Collecting torch" in (tmp_path / "logs" / "install.log").read_text()


def test_an_installation_that_fails_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    heard = installed("raise SystemExit('ERROR: No matching distribution')", tmp_path, monkeypatch)
    assert heard[-1].status == "failed"
    assert heard[-1].line == "PyTorch could not be installed: ERROR: No matching distribution"
    assert "No matching distribution" in caplog.text


def test_a_broken_net_is_one_sentence(server: StudioServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(GARDNER_NET, broken)
    for path in broken.iterdir():
        if path.suffix != ".json":
            path.write_bytes(path.read_bytes()[:100])
    named = shipped.named
    monkeypatch.setattr(shipped, "named", lambda name: broken if name == "broken" else named(name))
    with server.page() as page:
        for kind in ("game.new", "analysis.start", "net.inside"):
            answer = page.ask(kind, variant="gardner", player="broken")
            assert answer["type"] == "failure"
            assert "\n" not in answer["message"]
            assert "terminal" not in answer["message"], answer
            assert answer["message"].startswith("broken/net."), answer  # and no path of this machine


def test_a_full_disk_when_a_training_starts_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Runs, "_spawn", full)
    monkeypatch.setattr(TrainExtra, "is_installed", property(lambda self: True))
    with studio_server(tmp_path) as server, server.page() as page:
        answer = page.ask("run.start", 60, recipe="gardner-laptop")
        assert answer["message"] == "No space left on device."


def test_a_port_in_use_is_one_line_in_the_terminal(server: StudioServer, run: Run, tmp_path: Path) -> None:
    answer = run("studio", "--no-browser", "--port", str(server.port), "--runs", tmp_path)
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert f"port {server.port} of 127.0.0.1 is in use; choose another with --port" in answer.err


def test_a_file_is_no_folder_of_runs(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "runs"
    file.write_text("")
    answer = run("studio", "--no-browser", "--port", "0", "--runs", str(file))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"selfmate: {file} is a file: --runs takes the folder of the training runs\n"
