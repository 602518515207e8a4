"""Experiments as jobs: each is a function of the settings and its arguments, and its result a line of a file.

A folder of results has the settings (`settings.toml`), the map (`map.txt`) and one line of JSON for each finished job
(`results.jsonl`). A second call with the same settings does only the jobs that are missing; with other settings it is
refused. The same settings give the same results, wherever and in whatever order the jobs run.
"""

from __future__ import annotations

import contextlib
import json
import math
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from selfmate.errors import LabError
from selfmate.lab.frozenlake.agents import learn, plan_policy
from selfmate.lab.frozenlake.lake import ACTIONS, Lake, read_map
from selfmate.lab.frozenlake.scores import score
from selfmate.lab.frozenlake.settings import LakeSettings, load, to_toml
from selfmate.lab.frozenlake.truth import find_truth, greedy, one_hot
from selfmate.util.files import write_file
from selfmate.util.signals import end_with_parent

__all__ = ["LakeJob", "LakeResults", "learn_job", "plan_job", "truth_of"]

SETTINGS_NAME, MAP_NAME, RESULTS_NAME = "settings.toml", "map.txt", "results.jsonl"
ROUNDING: Final = 1e-6
TRUTHS: Final[dict[tuple[Any, ...], dict[str, float]]] = {}


class LakeJob(NamedTuple):
    """A unit of work with a name; `arguments` are values that can be sent to another process."""

    name: str
    function: Callable[..., dict[str, Any]]
    arguments: dict[str, Any]

    def run(self) -> dict[str, Any]:
        """Do the work; return values for JSON."""
        return self.function(**self.arguments)


# -- the two kinds of work ------------------------------------------------------------------------------------------


def learn_job(
    learner: str, settings: LakeSettings, seed: int, episodes: tuple[int, ...], tag: str, map_seed: int | None = None
) -> LakeJob:
    """Return the job of a learner on a lake; `tag` tells its settings from others of the same folder."""
    where = "map" if map_seed is None else f"map {map_seed}"
    arguments = {"learner": learner, "settings": settings, "seed": seed, "episodes": episodes, "map_seed": map_seed}
    name = f"learn {learner}, {tag}, {where}, seed {seed}, episodes {' '.join(map(str, episodes))}"
    return LakeJob(name, _learn, arguments)


def _learn(
    learner: str, settings: LakeSettings, seed: int, episodes: tuple[int, ...], map_seed: int | None
) -> dict[str, Any]:
    lake = settings.make_lake(map_seed)
    found: dict[str, Any] = {}
    for each in learn(learner, lake, settings, seed, episodes):
        worth = score(lake, one_hot(greedy(each.values)), settings.run.test_episodes, seed)
        found[str(each.episodes)] = {
            **worth.as_dict(),
            "values": np.round(each.values, 6).tolist(),
            "learning_moves": each.moves,
            "learning_goals": each.reached,
            "seconds": round(each.seconds, 3),
        }
    return found


def plan_job(
    settings: LakeSettings,
    seed: int,
    tag: str,
    values: list[list[float]] | None = None,
    map_seed: int | None = None,
) -> LakeJob:
    """Return the job of a planner: a search from every square, whose roll-outs may follow learned `values`."""
    where = "map" if map_seed is None else f"map {map_seed}"
    arguments = {"settings": settings, "seed": seed, "values": values, "map_seed": map_seed}
    return LakeJob(f"plan, {tag}, {where}, seed {seed}", _plan, arguments)


def _plan(settings: LakeSettings, seed: int, values: list[list[float]] | None, map_seed: int | None) -> dict[str, Any]:
    lake = settings.make_lake(map_seed)
    began = time.perf_counter()
    policy = plan_policy(settings, lake, seed, None if values is None else np.array(values))
    seconds = time.perf_counter() - began
    return {**score(lake, policy, settings.run.test_episodes, seed).as_dict(), "seconds": round(seconds, 3)}


def truth_of(settings: LakeSettings, map_seed: int | None = None) -> dict[str, float]:
    """Return what is true of a lake: `best_chance`, `chance_of_best_return`, its `moves`, and the `shortest` path."""
    lake: Lake = settings.make_lake(map_seed)
    at = (lake.rows, lake.slippery, lake.success_rate, lake.rewards, lake.step_limit, settings.learning.gamma)
    if at not in TRUTHS:
        found = find_truth(lake, settings.learning.gamma)
        TRUTHS[at] = {
            "best_chance": found.best_chance,
            "chance_of_best_return": found.chance_of_best_return,
            "moves": found.moves_of_best_return,
            "shortest": float(lake.shortest_path()),
        }
    return TRUTHS[at]


# -- the folder -------------------------------------------------------------------------------------------------------


class LakeResults:
    """The results of jobs, in a folder that later calls go on with, or in memory without one.

    Raises `LabError` for a folder that has results of other settings or of another map, or other files.
    """

    def __init__(self, settings: LakeSettings, folder: Path | None) -> None:
        self.settings = settings
        self._file = None if folder is None else folder / RESULTS_NAME
        self._done: dict[str, dict[str, Any]] = {}
        rows = settings.make_lake().rows
        _check_other_maps(settings)
        if folder is None:
            return
        if (folder / SETTINGS_NAME).exists():
            _check_same(settings, rows, folder)
        elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise LabError(f"{folder} already exists and has no results; choose another folder", str(folder))
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / SETTINGS_NAME, to_toml(settings).encode())
        write_file(folder / MAP_NAME, ("\n".join(rows) + "\n").encode())
        self._done = dict(_read_lines(folder / RESULTS_NAME))
        _end_last_line(folder / RESULTS_NAME)

    def do(
        self, jobs: Iterable[LakeJob], workers: int = 1, tell: Callable[[int, int, str], None] = lambda *_: None
    ) -> dict[str, dict[str, Any]]:
        """Do the jobs that are missing, each name once, with so many processes; return all results by name."""
        wanted = list({job.name: job for job in jobs}.values())
        missing = [job for job in wanted if job.name not in self._done]
        done = len(wanted) - len(missing)
        tell(done, len(wanted), "")
        for job, result in _run(missing, workers):
            self._keep(job.name, result)
            done += 1
            tell(done, len(wanted), job.name)
        return {job.name: self._done[job.name] for job in wanted}

    def _keep(self, name: str, result: dict[str, Any]) -> None:
        self._done[name] = result
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"job": name, "result": result}) + "\n")


def _run(jobs: list[LakeJob], workers: int) -> Iterator[tuple[LakeJob, dict[str, Any]]]:
    if workers == 1 or len(jobs) < 2:
        for job in jobs:
            yield job, job.run()
        return
    # New processes instead of forks: a fork of a process with PyTorch's threads may hang.
    spawn, size = multiprocessing.get_context("spawn"), min(workers, len(jobs))
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(size, spawn, initializer=_begin_worker, initargs=(os.getpid(),)) as pool:
        try:
            running = {pool.submit(job.run): job for job in jobs}
            for future in as_completed(running):
                yield running[future], future.result()
        except BaseException as error:
            # Ctrl-C, too. A job takes minutes, and the pool would wait for those that run and for the next ones.
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            if isinstance(error, BrokenProcessPool):
                raise LabError(
                    "a process was killed, perhaps because memory ran out; "
                    "run the same command again, with fewer --threads"
                ) from None
            raise


def _begin_worker(parent: int) -> None:
    """Let a worker process end with its parent, and leave Ctrl-C to it."""
    end_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _check_other_maps(settings: LakeSettings) -> None:
    """Raise `LabError` if one of the other maps cannot be played, before any work is done."""
    for number in range(settings.run.maps):
        map_seed = settings.lake.map_seed + 1 + number
        try:
            settings.make_lake(map_seed)
        except LabError as error:
            raise LabError(f"map {map_seed}: {error}", error.part) from None


def _check_same(settings: LakeSettings, rows: tuple[str, ...], folder: Path) -> None:
    """Raise `LabError` if a folder has results of other settings, or of another map in the same file."""
    before = load(folder / SETTINGS_NAME)
    for (section, old), (_, new) in zip(before, settings, strict=True):
        for (name, was), (_, now) in zip(old, new, strict=True):
            if was != now and (section, name) not in {("run", "seeds"), ("run", "maps"), ("run", "study_seeds")}:
                raise LabError(
                    f"{folder} has results with {section}.{name} = {was}, not {now}; "
                    "choose another folder with --out, or use its settings",
                    f"{section}.{name}",
                )
    if (folder / MAP_NAME).exists() and read_map(folder / MAP_NAME) != rows:
        raise LabError(
            f"{folder}: already exists with another map, in {MAP_NAME}; name another folder with --out", str(folder)
        )


def _end_last_line(path: Path) -> None:
    """End a line that a call that was killed has left half written, so that the next result has a line of its own."""
    with contextlib.suppress(FileNotFoundError), path.open("rb+") as file:
        file.seek(0, os.SEEK_END)
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")


def _read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the finished jobs of a file; what is no result, such as a line that was cut off, is skipped."""
    with contextlib.suppress(FileNotFoundError):
        for line in path.read_text("utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError, RecursionError):
                match json.loads(line):
                    case {"job": str(name), "result": dict(result)} if _is_result(name, result):
                        yield name, result


def _is_result(name: str, result: dict[str, Any]) -> bool:
    """Return whether a job of this name may have this result: another one is done again."""
    if not name.startswith("learn "):
        return _is_score(result)
    episodes = name.rpartition("episodes ")[2].split()
    return episodes == [*result] and all(_is_score(each) and _is_learned(each) for each in result.values())


def _is_score(found: Any) -> bool:
    match found:
        case {
            "chance": float(chance), "moves": float() | None, "seconds": int() | float(),
            "reached": int(reached), "tested": int(tested),
        }:  # fmt: skip
            return 0 <= chance <= 1 + ROUNDING and 0 <= reached <= tested > 0
    return False


def _is_learned(found: dict[str, Any]) -> bool:
    match found:
        case {"learning_goals": int(), "learning_moves": int(), "values": [*rows]}:
            return all(isinstance(row, list) and len(row) == len(ACTIONS) and _are_numbers(row) for row in rows)
    return False


def _are_numbers(row: list[Any]) -> bool:
    return all(isinstance(value, int | float) and math.isfinite(value) for value in row)
