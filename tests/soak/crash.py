"""Kill a training run at random instants, and check that nothing committed is lost or duplicated (`make crash`).

    python tests/soak/crash.py --kills 100
    python tests/soak/crash.py --kills 30 --every-option

1. A tiny run is made once without interruption. Then the same run is made again and again, killed (SIGKILL) at random
   instants and restarted each time, until 100 kills are done: every finished run has the same games, the same
   weights and the same optimizer state as the first, bit for bit; and no restart finds less than was there before.
2. The same with a kill at chosen file operations: before and after a sync or a rename, where a random instant
   hardly ever falls.
3. The same with a disk that is full at such an operation, and with a real limit on the size of files: the run ends
   with one line, and resumes when there is space again.
4. Committed files cut short or changed by one bit: refused with one line, and nothing is overwritten.

Each count is printed; any miss exits with 1.
"""

from __future__ import annotations

import argparse
import errno
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import onnx  # noqa: F401  imported before the forks, so that no child imports it
import onnxruntime  # noqa: F401
import torch
import torch._dynamo

from run_options import EVERY_OPTION
from selfmate import SelfmateError
from selfmate._core import GameRecord
from selfmate.recipe.reader import load, smoke
from selfmate.rundir.directory import Run
from selfmate.rundir.format import State
from selfmate.train.session import train

RECIPE = "gardner-laptop"
SETTINGS = ["selfplay.max_plies=20", "gate.final_games=2"]
REFUSED = 3
"""Exit code of a trainer that stopped with a one-line error."""


def begin(directory: Path, prepare: Callable[[], None] = lambda: None) -> int:
    """Fork a trainer and return its process id; its output goes to `trainer.log` beside the directory."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        log = os.open(directory.parent / "trainer.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        prepare()
        try:
            code = 0 if train(RECIPE, run=directory, overrides=SETTINGS, smoke=True).reason == "complete" else 1
        except (SelfmateError, OSError) as error:  # as the command line does
            print(f"selfmate: {error}", flush=True)
            code = REFUSED
    finally:
        os._exit(code)


def end(child: int) -> int:
    """Wait for a trainer and return its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def last_line(directory: Path) -> str:
    lines = (directory.parent / "trainer.log").read_text("utf-8", "replace").splitlines()
    return lines[-1] if lines else ""


def committed(directory: Path) -> State:
    path = directory / "state.json"
    return msgspec.json.decode(path.read_bytes(), type=State) if path.exists() else State()


def fingerprint(directory: Path) -> dict[str, Any]:
    """Return everything of a finished run that must be equal, its games by id."""
    with Run.open(directory, smoke(load(RECIPE)), name=RECIPE, settings=SETTINGS, smoke=True) as run:
        state = run.state
        records = [record for shard in state.shards for record in run.read_shard(shard)]
        for checkpoint in state.checkpoints:
            run.verify(checkpoint)
    games = {GameRecord.from_bytes(record).game_id: record for record in records}
    assert len(games) == len(records), "a game is there twice"
    assert sorted(games) == list(range(len(games))), "a game is missing"
    assert state.learner is not None
    return {
        "cycle": state.cycle,
        "champion": state.champion,
        "games": games,
        "nets": {checkpoint.name: checkpoint.files for checkpoint in state.checkpoints},
        "learner": state.learner.files,
        "matches": state.matches,
        "goal": (state.goal, state.owed),
    }


def same_as(reference: dict[str, Any], directory: Path) -> bool:
    found = fingerprint(directory)
    for key, value in reference.items():
        if found[key] != value:
            print(f"  {key} differs from the uninterrupted run", flush=True)
    return found == reference


def is_behind(before: State, after: State) -> bool:
    """Return whether a restart has less than was committed before it."""
    return (after.cycle, after.games) < (before.cycle, before.games) or not set(before.shards) <= set(after.shards)


class Crash:
    """All checks, over one scratch folder."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder = folder
        self.chance = chance
        self.misses = 0
        self.number = 0
        # 0. The uninterrupted run
        first = self.new()
        began = time.monotonic()
        if end(begin(first)) != 0:
            sys.exit(f"the uninterrupted run failed: {last_line(first)}")
        self.duration = time.monotonic() - began
        self.reference = fingerprint(first)
        print(f"uninterrupted: {len(self.reference['games'])} games in {self.duration:.1f} s", flush=True)

    def new(self) -> Path:
        self.number += 1
        home = self.folder / f"{self.number:04}"
        home.mkdir()
        return home / "run"

    def miss(self, what: str) -> None:
        self.misses += 1
        print(f"MISS: {what}", flush=True)

    def finish(self, directory: Path, what: str) -> None:
        """Resume a run to its end, compare it with the first, and remove it."""
        if end(begin(directory)) != 0:
            self.miss(f"{what}: the run did not finish: {last_line(directory)}")
        elif not same_as(self.reference, directory):
            self.miss(f"{what}: another outcome")
        else:
            shutil.rmtree(directory.parent)

    def kill_at_random(self, kills: int) -> None:
        """Kill and restart `kills` times; a run that gets to its end is compared, and a new one begun."""
        done = runs = 0
        while done < kills:
            directory = self.new()
            while done < kills:
                before = committed(directory)
                child = begin(directory)
                time.sleep(self.chance.uniform(0, 0.7 * self.duration))
                os.kill(child, signal.SIGKILL)
                code = end(child)
                if code == 0:
                    break  # it finished before the kill
                if code != -signal.SIGKILL:
                    self.miss(f"a restart failed ({code}): {last_line(directory)}")
                    break
                done += 1
                if is_behind(before, committed(directory)):
                    self.miss("something committed was lost")
            self.finish(directory, "random kills")
            runs += 1
        print(f"{done} kills at random instants in {runs} runs", flush=True)

    def fail_at_operations(self, what: str, fail: Callable[[], None], code: int, count: int) -> None:
        """Fail at `count` file operations spread over a run, each in a separate run that is then resumed to its end."""
        total = self._count_operations()
        operations = sorted({1 + total * index // count for index in range(count)})
        for number in operations:
            directory = self.new()
            found = end(begin(directory, lambda number=number: at_operation(number, fail)))  # type: ignore[misc]
            if found not in (code, 0):  # a run may need fewer operations
                self.miss(f"{what} at operation {number}: exit {found}: {last_line(directory)}")
            if found == REFUSED and not last_line(directory).startswith("selfmate: "):
                self.miss(f"{what} at operation {number}: more than one line")
            self.finish(directory, f"{what} at operation {number}")
        print(f"{what} at {len(operations)} of {total} file operations", flush=True)

    def _count_operations(self) -> int:
        directory = self.new()
        counted = directory.parent / "operations"

        def prepare() -> None:
            at_operation(0, lambda: None, counted)

        if end(begin(directory, prepare)) != 0:
            self.miss(f"the run with counted operations failed: {last_line(directory)}")
        return len(counted.read_bytes())

    def limit_files(self) -> None:
        """Limit the size of files as `ulimit -f` does, so that a write really fails."""
        for kilobytes in (1, 2, 8, 20):
            directory = self.new()

            def prepare(kilobytes: int = kilobytes) -> None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes << 10, kilobytes << 10))

            code = end(begin(directory, prepare))
            if code not in (REFUSED, 0):
                self.miss(f"files limited to {kilobytes} KiB: exit {code}: {last_line(directory)}")
            self.finish(directory, f"files limited to {kilobytes} KiB")
        print("4 limits on the size of files", flush=True)

    def damage(self) -> None:
        """Damage every kind of committed file: the run is refused in one line and nothing is changed."""
        directory = self.new()
        if end(begin(directory)) != 0:
            self.miss("the run to be damaged did not finish")
        state = committed(directory)
        assert state.learner is not None
        # 1. Remove its last match, so that the run has work left and reads all its files
        (directory / "state.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(state, matches=())))
        for match in state.matches:
            (directory / match).unlink()
        names = dict.fromkeys(("state.json", "manifest.json", "recipe.toml", "metrics.jsonl"), True)
        net, learner = state.checkpoint(state.champion).name, state.learner.name
        for name in (f"{net}/net", f"{learner}/learner"):
            names |= {f"{name}.json": False, f"{name}.safetensors": False}
        names |= {"recipe.toml": False, state.shards[-1].name: False}
        # 2. Truncate, empty, change one bit (after which a text may still be valid)
        refused = 0
        for name, is_text in names.items():
            path = directory / name
            good = path.read_bytes()
            middle = len(good) // 2
            flipped = good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :]
            for bad in (good[:middle], good[:-3], b"") if is_text else (good[:middle], good[:-1], b"", flipped):
                path.write_bytes(bad)
                before = contents(directory)
                code = end(begin(directory))
                if code != REFUSED or not last_line(directory).startswith("selfmate: "):
                    self.miss(f"damaged {name}: exit {code}: {last_line(directory)}")
                elif contents(directory) != before:
                    self.miss(f"damaged {name}: files were changed")
                refused += 1
            path.write_bytes(good)
        # 3. Undo the damage: the run resumes
        self.finish(directory, "damage undone")
        print(f"{refused} damaged files refused", flush=True)


def contents(directory: Path) -> dict[str, bytes]:
    """Return the files of a run, without its lock and its log, which also has what was refused."""
    apart = ("lock", "console.log")
    files = (path for path in sorted(directory.rglob("*")) if path.is_file() and path.name not in apart)
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def at_operation(number: int, fail: Callable[[], None], counted: Path | None = None) -> None:
    """Make the `number`th sync, rename or removal of this process fail; or count them in a file."""
    calls = 0

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if counted is not None:
                with counted.open("ab") as file:
                    file.write(b".")
            if calls == number:
                fail()
            return real(*arguments, **options)

        return call

    for name in ("fsync", "truncate"):
        setattr(os, name, watched(getattr(os, name)))
    for name in ("replace", "rename", "unlink", "mkdir"):
        setattr(Path, name, watched(getattr(Path, name)))


def kill_myself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def no_space() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def main() -> None:
    """Run all checks and print the counts."""
    parser = argparse.ArgumentParser(description="Kill a tiny training run and see what is left.")
    parser.add_argument("--kills", type=int, default=100, help="kills at random instants")
    parser.add_argument("--operations", type=int, default=24, help="file operations to fail at, each way")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the random instants")
    parser.add_argument("--every-option", action="store_true", help="a run with every option on that can go together")
    options = parser.parse_args()
    SETTINGS.extend(EVERY_OPTION if options.every_option else ())
    torch.set_num_threads(1)
    print(f"seed {options.seed}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="selfmate-crash-") as folder:
        crash = Crash(Path(folder), random.Random(options.seed))
        crash.kill_at_random(options.kills)
        crash.fail_at_operations("killed", kill_myself, -signal.SIGKILL, options.operations)
        crash.fail_at_operations("disk full", no_space, REFUSED, options.operations)
        crash.limit_files()
        crash.damage()
    print(f"{crash.misses} misses in {time.monotonic() - began:.0f} s")
    sys.exit(1 if crash.misses else 0)


if __name__ == "__main__":
    main()
