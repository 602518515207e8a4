"""Build wheels that install without a compiler, and try each of them in a fresh environment.

Python 3.11 has a wheel of its own; one for the stable ABI serves Python 3.12 and later. auditwheel checks which Linux
they run on, and names them by it (manylinux). Every Python at hand then installs its wheel into a new virtual
environment, with a PATH that has no compiler, and runs the program.

    python tools/wheels.py             # both wheels and the source distribution into dist, tried with every Python
    python tools/wheels.py --dev       # one wheel from build/dev for the Python of .venv, in seconds
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Interpreter", "build_wheel", "find_interpreters", "main", "try_wheel", "wheel_of"]

ROOT: Final = Path(__file__).resolve().parents[1]
DIST: Final = ROOT / "dist"
WORK: Final = ROOT / "build" / "wheels"
MINORS: Final = (11, 12, 13, 14, 15)
"""Versions 3.x that are looked for."""
STABLE: Final = 12
"""The first version of the stable ABI that nanobind compiles for; `wheel.py-api` in pyproject.toml."""
TOOLS: Final = ("cmake", "nanobind", "ninja", "scikit-build-core")
PERFT: Final = (("atomic", "3", 8902), ("chess", "3", 8902), ("gardner", "3", 506))
"""Variant, depth, positions."""


class Interpreter(NamedTuple):
    """A Python on this machine."""

    minor: int
    path: str


def find_interpreters(commands: Sequence[str] = ()) -> list[Interpreter]:
    """Return the named Pythons, or the first of each version on PATH or in pyenv, oldest first.

    Raises `SystemExit` for a command that is no Python of a version that is supported.
    """
    if commands:
        found = [_probe(command) for command in commands]
        for command, interpreter in zip(commands, found, strict=True):
            if interpreter is None or interpreter.minor < MINORS[0]:
                sys.exit(f"wheels: {command} is no Python 3.{MINORS[0]} or later")
        return sorted(each for each in found if each is not None)
    chosen: dict[int, Interpreter] = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [sys.executable, *(f"python3.{minor}" for minor in MINORS)]
    candidates += [str(path) for minor in MINORS for path in sorted(pyenv.glob(f"*/bin/python3.{minor}"))]
    for candidate in candidates:
        if (interpreter := _probe(candidate)) is not None and interpreter.minor in MINORS:
            chosen.setdefault(interpreter.minor, interpreter)
    return sorted(chosen.values())


def _probe(command: str) -> Interpreter | None:
    """Return the interpreter behind a command that can make environments; None if there is none."""
    # `_base_executable`: an environment made from an environment would see the packages of neither.
    code = "import ensurepip, venv, sys; print(sys.version_info[1], sys._base_executable)"
    try:
        answer = subprocess.run([command, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    minor, _, path = answer.stdout.strip().partition(" ")
    return Interpreter(int(minor), path)


# -- building ---------------------------------------------------------------------------------------------------------


def build_wheel(interpreter: Interpreter) -> Path:
    """Build the wheel of an interpreter in an environment and a build folder of its own; return its path in `dist`."""
    environment = WORK / f"tools-3.{interpreter.minor}"
    if not (environment / "bin" / "pip").exists():
        _call([interpreter.path, "-m", "venv", "--clear", str(environment)])
    python = str(environment / "bin" / "python")
    _call([python, "-m", "pip", "install", "--quiet", "--constraint", "constraints.txt", *TOOLS])
    path = os.pathsep.join([str(environment / "bin"), os.environ.get("PATH", os.defpath)])
    return _make(python, f"build/wheel-3.{interpreter.minor}", variables={"PATH": path})


def build_dev_wheel() -> Path:
    """Make a wheel of what `make test` has compiled in build/dev; return its path in `dist`."""
    return _make(sys.executable, "build/dev", "--config-settings=cmake.define.SELFMATE_TESTS=ON")


def _make(python: str, folder: str, *settings: str, variables: Mapping[str, str] | None = None) -> Path:
    with tempfile.TemporaryDirectory() as raw:
        command = [python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", raw]
        _call([*command, f"--config-settings=build-dir={folder}", *settings, "."], variables)
        (wheel,) = Path(raw).glob("*.whl")
        # auditwheel refuses what no manylinux has, and chooses the oldest one that has everything.
        repaired = Path(raw) / "repaired"
        _call([sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(repaired), str(wheel)])
        (repaired_wheel,) = repaired.glob("*.whl")
        DIST.mkdir(exist_ok=True)
        return Path(shutil.move(repaired_wheel, DIST / repaired_wheel.name))


def build_sdist() -> Path:
    """Write the source distribution; return its path in `dist`."""
    DIST.mkdir(exist_ok=True)
    code = f"from scikit_build_core.build import build_sdist; print(build_sdist({str(DIST)!r}))"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return DIST / answer.stdout.splitlines()[-1]


def wheel_of(interpreter: Interpreter, wheels: Sequence[Path]) -> Path | None:
    """Return the wheel that an interpreter installs, or None.

    >>> wheels = [Path("selfmate-1-cp311-cp311-linux.whl"), Path("selfmate-1-cp312-abi3-linux.whl")]
    >>> [str(wheel_of(Interpreter(minor, "python"), wheels)) for minor in (11, 12, 14)]
    ['selfmate-1-cp311-cp311-linux.whl', 'selfmate-1-cp312-abi3-linux.whl', 'selfmate-1-cp312-abi3-linux.whl']
    """
    tag = f"-cp3{STABLE}-abi3-" if interpreter.minor >= STABLE else f"-cp3{interpreter.minor}-"
    return next((wheel for wheel in wheels if tag in wheel.name), None)


# -- trying -----------------------------------------------------------------------------------------------------------


def try_wheel(interpreter: Interpreter, wheel: Path) -> None:
    """Install a wheel into a fresh environment without a compiler, and run the program; raise if anything differs."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        _call([interpreter.path, "-m", "venv", str(home / "venv")])
        programs = home / "venv" / "bin"
        # Nothing else on PATH: no compiler, no cmake. The source tree and its settings do not count either.
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CMAKE", "SKBUILD"))
        }
        variables = {**kept, "PATH": str(programs), "COLUMNS": "80"}
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel)]
        subprocess.run(pip, check=True, env=variables, cwd=home)
        for name, fine in _trials(programs, variables, home):
            if not fine:
                sys.exit(f"wheels: {wheel.name} with Python 3.{interpreter.minor}: failed: {name}")


def _trials(programs: Path, variables: Mapping[str, str], home: Path) -> Iterator[tuple[str, bool]]:
    """Run the installed program; yield the name of each trial and whether it went well."""

    def selfmate(*arguments: str, text: str = "", code: int = 0) -> str:
        answer = subprocess.run(
            [str(programs / "selfmate"), *arguments],
            input=text, capture_output=True, text=True, env=variables, cwd=home, timeout=300,
        )  # fmt: skip
        if answer.returncode != code:
            sys.exit(f"wheels: selfmate {' '.join(arguments)}: exit code {answer.returncode}: {answer.stderr}")
        return answer.stdout + answer.stderr

    inside = "import selfmate, sys; print(selfmate.Position('atomic').fen(), selfmate.__file__)"
    answer = subprocess.run(
        [str(programs / "python"), "-c", inside], capture_output=True, text=True, env=variables, cwd=home, check=True
    )
    yield "import", "rnbqkbnr/" in answer.stdout and str(home) in answer.stdout
    yield "--version", selfmate("--version").startswith("selfmate 0.")
    for variant, depth, nodes in PERFT:
        yield f"perft {variant}", selfmate("perft", variant, depth) == f"Nodes searched: {nodes}\n"
    yield "play --help", "Usage: selfmate play" in selfmate("play", "--help")
    yield "uci", _plays_uci(programs / "selfmate-uci", variables, home)
    yield "analyse with a shipped net", "gardner" in selfmate("analyse", "--variant", "gardner", "--visits", "20")
    report = json.loads(selfmate("doctor", "--json"))
    yield "doctor", report["problems"] == [] and {net["state"] for net in report["nets"]} == {"ready"}
    missing = [backend["name"] for backend in report["backends"] if backend["state"] != "ready"]
    yield "doctor without extras", {"torch", "openvino"} <= set(missing) and "onnx" not in missing
    # Recipes are read before torch is looked for only where it is installed: the message names the extra.
    yield "train", "pip install 'selfmate[train]'" in selfmate("train", "gardner-laptop", code=2)
    package = Path(answer.stdout.split()[-1]).parent
    data = ("py.typed", "_core.pyi", "recipes/gardner-laptop.toml", "ladder/data/atomic.json")
    yield "data", all((package / name).is_file() for name in data)


def _plays_uci(engine: Path, variables: Mapping[str, str], home: Path) -> bool:
    """Let the engine find a move."""
    process = subprocess.Popen(
        [str(engine)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(variables), cwd=home
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write("uci\nsetoption name UCI_Variant value atomic\nisready\nposition startpos\ngo nodes 50\n")
        process.stdin.flush()
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("bestmove"):
                break
        process.stdin.write("quit\n")
        process.stdin.flush()
        process.wait(20)
    return {"uciok\n", "readyok\n"} <= set(lines) and len(lines[-1].split()[1]) == 4


def _call(command: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
    """Run a command; show what it printed only if it fails."""
    answer = subprocess.run(command, cwd=ROOT, env={**os.environ, **(variables or {})}, capture_output=True, text=True)
    if answer.returncode:
        sys.exit(f"{answer.stdout}{answer.stderr}wheels: failed: {' '.join(command)}")


def main() -> None:
    """Build, then try."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--dev", action="store_true", help="one wheel from build/dev, for the Python that runs this")
    parser.add_argument("--python", action="append", default=[], metavar="PYTHON", help="a Python to use; repeatable")
    arguments = parser.parse_args()
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {text}", flush=True)

    interpreters = find_interpreters([sys.executable] if arguments.dev else arguments.python)
    if not arguments.dev:
        shutil.rmtree(DIST, ignore_errors=True)
    wheels: list[Path] = []
    for interpreter in interpreters:
        if wheel_of(interpreter, wheels) is None:
            wheels.append(build_dev_wheel() if arguments.dev else build_wheel(interpreter))
            say(f"built {wheels[-1].relative_to(ROOT)}, {wheels[-1].stat().st_size / 2**20:.1f} MiB")
    if not arguments.dev:
        say(f"built {build_sdist().relative_to(ROOT)}")
    for interpreter in interpreters:
        wheel = wheel_of(interpreter, wheels)
        assert wheel is not None
        try_wheel(interpreter, wheel)
        say(f"tried {wheel.name} with Python 3.{interpreter.minor}")


if __name__ == "__main__":
    main()
