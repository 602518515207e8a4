"""What a user meets after the install: `--version`, `doctor`, shell completion."""

from __future__ import annotations

import errno
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import pytest

import selfmate
from command import Answer, Run
from selfmate import CORE, VARIANTS, _cpu
from selfmate.cli import diagnosis
from selfmate.cli.diagnosis import Diagnosis, diagnose
from selfmate.cli.doctor import report
from selfmate.errors import MissingExtra
from selfmate.evaluator.backends import BACKENDS
from selfmate.nn import shipped

# -- the version ------------------------------------------------------------------------------------------------------


def test_version_names_the_build(run: Run) -> None:
    commit = f"commit {_cpu.commit()}, " if _cpu.commit() else ""
    line = f"selfmate {metadata.version('selfmate')} ({commit}core {CORE}, Python {platform.python_version()})\n"
    assert run("--version") == Answer(0, line, "")
    assert "--version" in run("--help").out


# -- doctor -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the trial of the backends, which takes seconds."""
    monkeypatch.setattr(diagnosis, "_backends", lambda nets, graphics: ())


@pytest.fixture(scope="module")
def found() -> Diagnosis:
    """Return the diagnosis of this machine."""
    return diagnose()


def test_doctor_finds_no_problem_here(found: Diagnosis) -> None:
    assert found.problems == ()
    assert [each.name for each in found.backends] == list(BACKENDS)
    for each in found.backends:
        needed = not BACKENDS[each.name].package
        assert each.state == "ready" if needed else each.state in ("ready", "missing"), each
    assert {net.name for net in found.nets} == {net.name for net in shipped.shipped()}
    assert {net.state for net in found.nets} == {"ready"}
    assert found.machine.cores >= 1
    assert found.machine.memory_bytes >= found.machine.available_bytes > 0
    assert CORE in found.machine.runs_cores
    assert bool(found.graphics.gpus) != bool(found.graphics.reason)


def test_doctor_lists_the_packages_of_pyproject(found: Diagnosis) -> None:
    needed = {each.name: each for each in found.packages if not each.extra}
    assert {"numpy", "onnxruntime", "typer"} <= set(needed)
    assert needed["numpy"].version == metadata.version("numpy")
    assert needed["numpy"].needed == "1.26"
    assert {each.extra for each in found.packages} >= {"", "openvino", "train"}
    assert "dev" not in {each.extra for each in found.packages}


@pytest.mark.parametrize("columns", [80, 100, 300])
def test_report_fits_its_columns(found: Diagnosis, columns: int) -> None:
    lines = report(found, columns).splitlines()
    assert max(len(line) for line in lines if str(Path.cwd()) not in line) <= min(columns, 100)
    assert not any("\x1b" in line or line.endswith(" ") for line in lines)
    assert "  kingofthehill-gpu kingofthehill, ready" in lines


def test_report_says_how_to_add_what_is_missing(found: Diagnosis) -> None:
    packages = tuple(
        msgspec.structs.replace(each, state="missing", version="") if each.extra == "train" else each
        for each in found.packages
    )
    bare = msgspec.structs.replace(found, packages=packages, stockfish=None, fairy_stockfish=())
    assert bare.missing_extras == sorted({"train", *found.missing_extras})
    assert "pip install 'selfmate[train]'" in report(bare, 44)  # never broken: it is there to be copied
    text = " ".join(report(bare, 80).split())
    assert "torch missing; to install: pip install 'selfmate[train]'" in text
    assert "stockfish not found on PATH (Debian: apt install stockfish)" in text
    assert "selfmate ladder --build-engine builds it" in text
    assert text.endswith("Problems none")


@pytest.mark.usefixtures("no_backends")
def test_doctor_prints_json(run: Run) -> None:
    answer = run("doctor", "--json")
    assert (answer.code, answer.err) == (0, "")
    values: dict[str, Any] = json.loads(answer.out)
    assert values["build"]["version"] == metadata.version("selfmate")
    assert values["build"]["core"] == CORE
    assert values["machine"]["kernels"] in ("base", "avx2", "avx512")
    assert values["problems"] == []


@pytest.mark.usefixtures("no_backends")
def test_a_damaged_net_is_a_problem(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(net: shipped.ShippedNet) -> None:
        if net.variant == "gardner":
            raise shipped.NetsError("checksum mismatch")

    monkeypatch.setattr(shipped, "check", refuse)
    answer = run("doctor")
    assert answer.code == 1
    assert answer.out.endswith("Problems\n  the shipped net gardner-laptop is damaged; install Selfmate again\n")
    assert "gardner, broken" in answer.out


@pytest.mark.usefixtures("no_backends")
@pytest.mark.parametrize(
    ("installed", "wrong"),
    [(None, "numpy is not installed"), ("1.9.9", "numpy 1.9.9 is too old"), ("1.26", ""), ("10.0rc1", "")],
)
def test_a_needed_package_that_is_missing_or_old_is_a_problem(
    run: Run, monkeypatch: pytest.MonkeyPatch, installed: str | None, wrong: str
) -> None:
    true_version: Callable[[str], str] = metadata.version

    def version(name: str) -> str:
        if name == "numpy":
            if installed is None:
                raise metadata.PackageNotFoundError(name)
            return installed
        return true_version(name)

    monkeypatch.setattr(metadata, "version", version)
    answer = run("doctor")
    assert answer.code == (1 if wrong else 0)
    assert answer.out.endswith(f"  {wrong}; run: pip install 'numpy>=1.26'\n" if wrong else "Problems\n  none\n")


def test_a_broken_backend_of_the_default_install_is_a_problem(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(backend: Any, net: Any, graphics: Any) -> diagnosis.BackendReport:
        state = {"onnx": "broken", "torch": "broken"}.get(backend.name, "ready")
        return diagnosis.BackendReport(backend.name, state, "libx.so is missing" if state == "broken" else "")  # type: ignore[arg-type]

    monkeypatch.setattr(diagnosis, "_try_backend", broken)
    answer = run("doctor")
    assert answer.code == 1
    assert answer.out.endswith("Problems\n  the backend onnx does not work: libx.so is missing\n")  # torch is an extra


def test_a_backend_that_raises_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no such\ninstruction")

    monkeypatch.setattr("selfmate.search.player.open_evaluator", fail)
    net = diagnosis.NetReport("gardner-laptop", "gardner", "ready")
    found = diagnosis._try_backend(BACKENDS["onnx"], net, diagnosis.Graphics((), "none"))
    assert found == diagnosis.BackendReport("onnx", "broken", "no such instruction")
    cuda = diagnosis._try_backend(BACKENDS["cuda"], net, diagnosis.Graphics((), "no driver"))
    assert (cuda.state, cuda.note) == ("missing", "no driver")


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = diagnosis._folder(tmp_path / "runs" / "deep")
    assert (found.path, found.writable, found.reason) == (str(tmp_path / "runs" / "deep"), True, "")
    assert found.free_bytes > 0
    assert not any(tmp_path.iterdir())  # nothing is left behind
    file = tmp_path / "file"
    file.touch()
    assert not diagnosis._folder(file / "runs").writable

    def refuse(**_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    found = diagnosis._folder(tmp_path)
    assert (found.writable, found.reason) == (False, "Read-only file system")


def test_an_engine_that_answers_is_named_and_one_that_fails_is_broken(tmp_path: Path) -> None:
    ours = diagnosis._start((sys.executable, "-m", "selfmate", "uci"))
    assert ours.state == "ready"
    assert ours.name.startswith("Selfmate")
    assert diagnosis._start((str(tmp_path / "none"),)).state == "broken"


# -- completion -------------------------------------------------------------------------------------------------------


def complete(shell: str, words: str, cwd: Path | None = None) -> list[str]:
    """Return what a shell is told to offer after these words, as the installed script asks for it."""
    variables = {"_SELFMATE_COMPLETE": f"complete_{shell}"}
    if shell == "bash":
        variables |= {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    else:
        variables |= {"_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    result = subprocess.run(
        [sys.executable, "-m", "selfmate"], env=os.environ | variables, capture_output=True, text=True, cwd=cwd
    )
    assert result.stderr == ""
    return result.stdout.splitlines()


def test_commands_are_completed() -> None:
    assert complete("bash", "selfmate per") == ["perft"]
    assert {"play", "perft", "pack", "progress"} == set(complete("bash", "selfmate p"))
    assert [line.split("\t")[0] for line in complete("fish", "selfmate doc")] == ["doctor"]
    assert "doctor" in " ".join(complete("zsh", "selfmate doc"))


def test_values_are_completed(tmp_path: Path) -> None:
    assert set(complete("bash", "selfmate perft ")) == {*VARIANTS, "atomic960", "chess960"}
    assert "gardner-laptop" in complete("bash", "selfmate train gardner")
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "manifest.json").touch()
    assert complete("bash", "selfmate play runs/", tmp_path) == ["runs/mine"]
    assert complete("bash", "selfmate play ran") == ["random"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_can_be_shown(shell: str) -> None:
    # Typer asks the process above for its shell; this variable lets the test name one.
    variables = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [sys.executable, "-m", "selfmate", "--show-completion", shell]
    result = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"_SELFMATE_COMPLETE=complete_{shell}" in result.stdout


# -- packages of others -----------------------------------------------------------------------------------------------


def test_onnxruntime_writes_nothing_into_the_home_folder(tmp_path: Path) -> None:
    kept = {name: text for name, text in os.environ.items() if name not in ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")}
    command = [sys.executable, "-B", "-c", "import selfmate.evaluator.onnx"]
    result = subprocess.run(command, env=kept | {"HOME": str(tmp_path)}, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_onnxruntime_is_imported_in_one_place() -> None:
    package = Path(selfmate.__file__).parent
    importing = [path for path in package.rglob("*.py") if "import onnxruntime\n" in path.read_text("utf-8")]
    assert importing == [package / "util" / "packages.py"]


# -- extras -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["VariantEnv", "GamesVectorEnv"])
def test_environments_name_their_extra(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for module in [each for each in sys.modules if each.startswith("selfmate.envs")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtra, match=r"^gymnasium is not installed; run: pip install 'selfmate\[envs\]'$"):
        getattr(importlib.import_module("selfmate.envs"), name)
