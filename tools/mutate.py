"""Mutation tests: each one-line fault of `tests/mutations.toml` must be caught by the tests that the list names.

    python tools/mutate.py                      all of them, in build/mutate
    python tools/mutate.py --only puct          those whose description or file contains a word
    python tools/mutate.py --out docs/results/mutations.md

The faults are applied in a scratch copy of the work tree, one at a time; a fault in `cpp/` rebuilds the core (one level
of CPU) incrementally. Caught means that pytest ran the named tests and one of them failed. A fault that does not apply
to exactly one place, does not compile, crashes the process or breaks the collection of tests is an error of the list,
not a catch.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

from selfmate.util.cpu import cores, processor_name

ROOT: Final = Path(__file__).resolve().parents[1]
LIST: Final = ROOT / "tests" / "mutations.toml"
SCRATCH: Final = ROOT / "build" / "mutate"
TREE: Final = SCRATCH / "tree"
BUILD: Final = SCRATCH / "build"
CORE: Final = "v2"
"""The level of CPU that is built: every machine runs it."""
FLAGS: Final = "-O1 -DNDEBUG"
"""Of the compiler: it takes half the time of a release build."""
PYTEST_FAILED: Final = 1
TIMEOUT_SECONDS: Final = 300
"""A fault may make a test hang: that counts as caught."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """A fault: `old` in `file` becomes `new`, and `test` (pytest's notation, several with spaces) must fail."""

    file: str
    what: str
    old: str
    new: str
    test: str


class PytestRun(NamedTuple):
    """Exit code of pytest (that of a failed test if it hung), and the end of its output."""

    code: int
    output: str


def read_mutations(path: Path = LIST) -> list[Mutation]:
    """Return the mutations of a list; raise TypeError for a missing or unknown key."""
    return [Mutation(**entry) for entry in tomllib.loads(path.read_text("utf-8"))["mutation"]]


def make_scratch() -> Path:
    """Copy the files of the work tree that git does not ignore; return a Python that imports the copy.

    Only files that differ are written, so that the build compiles what a mutation of an earlier run has left.
    """
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for path in [path for path in TREE.rglob("*") if path.is_file() and path.suffix != ".so"]:
        if path.relative_to(TREE).as_posix() not in names:
            path.unlink()
    for name in sorted(names):
        data, copy = (ROOT / name).read_bytes(), TREE / name
        if not copy.is_file() or copy.read_bytes() != data:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(data)
    python = SCRATCH / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", SCRATCH / "venv"], check=True)
    (site,) = (SCRATCH / "venv" / "lib").glob("python3*/site-packages")
    # A folder named in a .pth file is added to the path, but its own .pth files (the editable install) are not read.
    packages = [path for path in sys.path if path.endswith("site-packages")]
    (site / "scratch.pth").write_text("\n".join([str(TREE / "src"), *packages]) + "\n")
    return python


def build(python: Path) -> str:
    """Build the core of the scratch copy; return the compiler's messages if it failed, else nothing."""
    commands = [["cmake", "--build", str(BUILD), "--target", f"_core_{CORE}", "_cpu"]]
    if not (BUILD / "build.ninja").exists():
        options = ["-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_FLAGS_RELEASE={FLAGS}", f"-DPython_EXECUTABLE={python}"]
        commands.insert(0, ["cmake", "-S", str(TREE), "-B", str(BUILD), "-G", "Ninja", *options])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done.stdout[-2000:] + done.stderr[-2000:]
    for module in BUILD.glob("_c*.so"):
        shutil.copy2(module, TREE / "src" / "selfmate" / module.name)
    return ""


def run_tests(python: Path, tests: str) -> PytestRun:
    """Run tests in the scratch copy, up to the first failure."""
    command = [str(python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests.split()]
    environment = os.environ | {"SELFMATE_CORE": CORE, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=TREE, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return PytestRun(PYTEST_FAILED, "timeout")
    return PytestRun(done.returncode, done.stdout[-4000:] + done.stderr[-1000:])


def try_mutation(python: Path, mutation: Mutation) -> str:
    """Apply a mutation, run its tests, and restore the file; return `caught`, `NOT CAUGHT` or an error in one line."""
    path = TREE / mutation.file
    text = path.read_text("utf-8")
    if (count := text.count(mutation.old)) != 1:
        return f"error: stands {count} times in the file"
    path.write_text(text.replace(mutation.old, mutation.new), "utf-8")
    try:
        if build(python):  # also for a fault in Python: the fault before may have been in the core
            return "error: does not compile"
        code = run_tests(python, mutation.test).code
    finally:
        path.write_text(text, "utf-8")
    return {PYTEST_FAILED: "caught", 0: "NOT CAUGHT"}.get(code, f"error: pytest ended with {code}")


def table(rows: list[tuple[Mutation, str, float]], total: str) -> str:
    """Return the page of results as Markdown."""
    lines = [
        "# Mutations",
        "",
        "`make mutate`: the one-line faults of `tests/mutations.toml`, each applied alone in a scratch copy, and the",
        "tests that must fail. The time is that of the build and of the tests, up to the first that fails.",
        "",
        f"{processor_name()}, {cores()} cores, {date.today()}: {total}",
        "",
        "| file | mutation | test | result | seconds |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{each.file}` | {each.what} | `{each.test}` | {result} | {seconds:.0f} |" for each, result, seconds in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Try the mutations; return 0 when every one is caught, 2 when a test fails without any."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", type=Path, default=LIST, help="the list of mutations")
    parser.add_argument("--only", default="", help="only mutations whose description or file contains this")
    parser.add_argument("--out", type=Path, help="write the table as Markdown")
    arguments = parser.parse_args()
    mutations = [each for each in read_mutations(arguments.list) if arguments.only in f"{each.file} {each.what}"]
    mutations.sort(key=lambda each: (not each.file.startswith("cpp/"), each.file))  # the same file in a row: one build
    began = time.monotonic()
    # 1. Without a mutation every named test passes.
    python = make_scratch()
    if failed := build(python):
        print(failed, file=sys.stderr)
        return 2
    named = sorted({test for each in mutations for test in each.test.split()})
    if (done := run_tests(python, " ".join(named))).code:
        print(done.output, "A named test fails without any mutation.", sep="\n", file=sys.stderr)
        return 2
    # 2. Each mutation by itself.
    rows: list[tuple[Mutation, str, float]] = []
    for index, each in enumerate(mutations, start=1):
        start = time.monotonic()
        result = try_mutation(python, each)
        rows.append((each, result, time.monotonic() - start))
        print(f"{index}/{len(mutations)} {result}: {each.what} ({each.file}), {rows[-1][2]:.0f} s", flush=True)
    caught = sum(result == "caught" for _, result, _ in rows)
    total = f"{caught} of {len(rows)} caught in {(time.monotonic() - began) / 60:.0f} minutes."
    print(total)
    if arguments.out:
        arguments.out.write_text(table(rows, total), "utf-8")
    return 0 if caught == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
