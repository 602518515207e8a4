"""Mutation tests: each one-line fault of `tests/mutations.toml` must be caught by the test that the list names.

    python tools/mutate.py                      all of them, in build/mutate
    python tools/mutate.py --only puct          those whose description or file contains a word
    python tools/mutate.py --out docs/results/mutations.md

The faults are applied in a scratch copy of the tracked files, one at a time; a fault in `cpp/` rebuilds the core (one
level of CPU) incrementally. Caught means that pytest ran the named test and it failed. A fault that does not apply to
exactly one place, does not compile, or breaks the collection of tests is an error of the list, not a catch.
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
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SCRATCH: Final = ROOT / "build" / "mutate"
TREE: Final = SCRATCH / "tree"
BUILD: Final = SCRATCH / "build"
CORE: Final = "v2"
"""The level of CPU that is built: every machine runs it."""
PYTEST_FAILED: Final = 1
SECONDS: Final = 600
"""A fault may make a test hang: that counts as caught."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """A fault: `old` in `file` becomes `new`, and `test` (pytest's notation, several with spaces) must fail."""

    file: str
    old: str
    new: str
    what: str
    test: str


def read_mutations(path: Path) -> list[Mutation]:
    """Read the list; a missing or unknown key raises TypeError with its name."""
    return [Mutation(**entry) for entry in tomllib.loads(path.read_text("utf-8"))["mutation"]]


def make_scratch() -> Path:
    """Copy the files of the work tree that git does not ignore, and make a Python that imports the copy; return it.

    A file is written only where it differs, so that the build compiles what a mutation of an earlier run has left.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    )  # fmt: skip
    names = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    for path in [path for path in TREE.rglob("*") if path.is_file() and path.suffix != ".so"]:
        if str(path.relative_to(TREE)) not in names:
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
    """Build the core of the scratch copy; return what the compiler said if it failed, else nothing."""
    commands = [["cmake", "--build", str(BUILD), "--target", f"_core_{CORE}", "_cpu"]]
    if not (BUILD / "build.ninja").exists():
        flags = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"]  # compiles in half the time
        configure = ["cmake", "-S", str(TREE), "-B", str(BUILD), "-G", "Ninja", *flags]
        commands.insert(0, [*configure, f"-DPython_EXECUTABLE={python}"])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done.stdout[-2000:] + done.stderr[-2000:]
    for module in BUILD.glob("_c*.so"):
        shutil.copy2(module, TREE / "src" / "selfmate" / module.name)
    return ""


def run_tests(python: Path, tests: str) -> int:
    """Run tests in the scratch copy, to the first failure; return pytest's exit code (1 for a test that hangs)."""
    command = [str(python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests.split()]
    environment = os.environ | {"SELFMATE_CORE": CORE, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return subprocess.run(command, cwd=TREE, env=environment, capture_output=True, timeout=SECONDS).returncode
    except subprocess.TimeoutExpired:
        return PYTEST_FAILED


def try_mutation(python: Path, mutation: Mutation) -> str:
    """Apply a fault, run its test, and restore the file; return `caught`, `NOT CAUGHT` or an error in one line."""
    path = TREE / mutation.file
    text = path.read_text("utf-8")
    if (count := text.count(mutation.old)) != 1:
        return f"error: stands {count} times in the file"
    path.write_text(text.replace(mutation.old, mutation.new), "utf-8")
    try:
        if build(python):  # also for a fault in Python: the fault before may have been in the core
            return "error: does not compile"
        code = run_tests(python, mutation.test)
    finally:
        path.write_text(text, "utf-8")
    return {PYTEST_FAILED: "caught", 0: "NOT CAUGHT"}.get(code, f"error: pytest ended with {code}")


def main() -> int:
    """Try the mutations; return 0 when every one is caught."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", type=Path, default=ROOT / "tests" / "mutations.toml", help="the list of faults")
    parser.add_argument("--only", default="", help="only faults whose description or file contains this")
    parser.add_argument("--out", type=Path, help="write the table as Markdown")
    arguments = parser.parse_args()
    mutations = [each for each in read_mutations(arguments.list) if arguments.only in f"{each.file} {each.what}"]
    mutations.sort(key=lambda each: (not each.file.startswith("cpp/"), each.file))  # a file is compiled in one row
    began = time.monotonic()
    # 1. Without a fault every named test passes.
    python = make_scratch()
    if failed := build(python):
        print(failed, file=sys.stderr)
        return 2
    named = sorted({test for each in mutations for test in each.test.split()})
    if run_tests(python, " ".join(named)):
        print("a named test fails without any mutation:", " ".join(named), file=sys.stderr)
        return 2
    # 2. Each fault by itself.
    rows = ["| file | mutation | test | result | seconds |", "|---|---|---|---|---|"]
    caught = 0
    for index, each in enumerate(mutations, start=1):
        start = time.monotonic()
        result = try_mutation(python, each)
        caught += result == "caught"
        seconds = time.monotonic() - start
        print(f"{index}/{len(mutations)} {result}: {each.what} ({each.file}), {seconds:.0f} s", flush=True)
        rows.append(f"| `{each.file}` | {each.what} | `{each.test}` | {result} | {seconds:.0f} |")
    total = f"{caught} of {len(mutations)} caught in {(time.monotonic() - began) / 60:.0f} minutes."
    print(total)
    if arguments.out:
        title = "# Mutations\n\n`make mutate`: one-line faults, each applied alone, and the test that must fail.\n"
        arguments.out.write_text("\n".join([title, total, "", *rows]) + "\n", "utf-8")
    return 0 if caught == len(mutations) else 1


if __name__ == "__main__":
    sys.exit(main())
