"""A run is one directory: what was asked, what was played, what was learned.

    recipe.toml      the recipe as it ran, every key
    manifest.json    format, variant, seed, versions, commit, hardware, what `--set` changed later
    state.json       THE COMMIT: names every file that counts, replaced last
    games/           shards of game records, compressed
    checkpoints/     nets that play, a folder each; 00000 is the untrained one
    learner/         weights in training with their average and the optimizer's state
    metrics.jsonl    a line per step of the loop; valid up to the length that state.json says
    matches/ pgn/    match results and sample games
    progress/        games and pictures of `selfmate progress`, which the commit does not name: they stay true
    lock             held by the one trainer at work

Nothing is ever changed in place. A file is written under another name, synced, renamed, and its directory synced;
`state.json` is replaced after all the files it names. So at every instant the directory holds exactly one
committed state: whatever `state.json` does not name is left over from a trainer that was killed, and is removed when
the next one opens the run. `metrics.jsonl` alone grows at its end, and is cut back to its committed length.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, Self

import msgspec
from msgspec import Struct

from selfmate.errors import clip
from selfmate.recipe.recipe import MAY_CHANGE, Recipe, RecipeError, change, differences, from_toml
from selfmate.rundir.format import (
    FORMAT,
    Appendix,
    Checkpoint,
    Manifest,
    Parent,
    RunError,
    Shard,
    State,
    _read_json,
    read_committed,
    read_state,
)
from selfmate.rundir.games import pack_games, unpack_games
from selfmate.rundir.provenance import _commit, _hardware, _now, _versions
from selfmate.util.files import explain_full_disk, new_folder, remove, stamp_folder, write_file

__all__ = ["Run", "read_metrics", "read_run"]


KEEP_NEWEST: Final = 4


KEEP_EVERY: Final = 10
"""Checkpoints that stay: the untrained one, the champion, the newest four, and every tenth for later ladders."""


FOLDERS: Final = ("games", "checkpoints", "learner", "matches", "pgn")


TEMPORARY: Final = re.compile(r"\..*\.tmp")


# -- the directory --------------------------------------------------------------------------------


class Run:
    """An open run: `Run.open` takes the lock, checks everything and removes what was never committed."""

    def __init__(self, directory: Path, recipe: Recipe, manifest: Manifest, state: State, lock: IO[str]) -> None:
        self.directory = directory
        self.recipe = recipe
        self.manifest = manifest
        self.state = state
        self._lock = lock
        self._metrics = (directory / "metrics.jsonl").open("ab", buffering=0)

    @classmethod
    def open(
        cls,
        directory: Path,
        recipe: Recipe,
        *,
        name: str,
        seed: int | None = None,
        settings: Sequence[str] = (),
        smoke: bool = False,
        parent: Parent | None = None,
    ) -> Self:
        """Begin a run in an empty or new directory, or go on with the one that is there.

        `recipe` stands for itself, without `settings`. A run of another recipe, variant, seed or format is refused,
        and so is a directory that holds anything else. A new one that has a `parent` says so.
        """
        manifest_path = directory / "manifest.json"
        if not manifest_path.exists():
            _refuse_foreign(directory)
        directory.mkdir(parents=True, exist_ok=True)
        lock = _take_lock(directory)
        try:
            if manifest_path.exists():
                manifest, wanted, state = _resume(directory, recipe, name, seed, settings, smoke)
            else:
                first = 1 if seed is None else seed
                manifest, wanted, state = _begin(directory, recipe, name, first, settings, smoke, parent)
            _clean(directory, state)
            return cls(directory, wanted, manifest, state, lock)
        except BaseException:
            lock.close()
            raise

    @staticmethod
    @contextlib.contextmanager
    def hold(directory: Path) -> Iterator[None]:
        """Keep trainers away from a run while it is read as a whole."""
        with _take_lock(directory):
            yield

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files and of the lock."""
        self._metrics.close()
        self._lock.close()

    # 1. Things to write before a commit names them

    def log(self, **values: Any) -> None:
        """Add a line to metrics.jsonl; it counts from the next commit on."""
        line = msgspec.json.encode(values) + b"\n"
        with explain_full_disk(self.directory / "metrics.jsonl", 0):
            if self._metrics.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write_shard(
        self, cycle: int, net: int, records: Sequence[tuple[int, int, bytes]], flight: bool = False
    ) -> Shard:
        """Write the games (id, positions, record) of a part of a cycle, in the order of their ids.

        Those in flight are written beside them, under a name that no committed file has.
        """
        part = sum(shard.cycle == cycle for shard in self.state.shards)
        shard = f"games/{cycle:05}-{part:02}.games"
        if flight:
            turn = "b" if self.state.flight is not None and self.state.flight.name.endswith("a.flight") else "a"
            shard = f"games/{cycle:05}-{turn}.flight"
        ordered = sorted(records)
        stamp = write_file(self.directory / shard, pack_games([record for _, _, record in ordered]))
        return Shard(
            name=shard,
            cycle=cycle,
            net=net,
            first=ordered[0][0],
            last=ordered[-1][0],
            games=len(ordered),
            positions=sum(positions for _, positions, _ in ordered),
            stamp=stamp,
        )

    @contextlib.contextmanager
    def new_folder(self, name: str, size: int = 0) -> Iterator[Path]:
        """Give a folder to fill; it has its name when the block ends. `stamp` then makes it a checkpoint."""
        with new_folder(self.directory / name, size) as folder:
            yield folder

    def stamp(self, name: str, cycle: int, step: int) -> Checkpoint:
        """Describe a folder that was just written."""
        return Checkpoint(name=name, cycle=cycle, step=step, files=stamp_folder(self.directory / name))

    def write_text(self, name: str, text: str) -> str:
        """Write a small text file (a match, sample games) and give its name back."""
        write_file(self.directory / name, text.encode("utf-8"))
        return name

    # 2. The commit

    def commit(self, **changes: Any) -> State:
        """Make `changes` to the state true at one instant, then remove the files that it no longer names."""
        with explain_full_disk(self.directory / "metrics.jsonl", 0):
            os.fsync(self._metrics.fileno())
        state = msgspec.structs.replace(self.state, **changes, metrics_bytes=self._metrics.tell())
        state = msgspec.structs.replace(state, checkpoints=_kept(state))
        dropped = self.state.names() - state.names()
        write_file(self.directory / "state.json", state.to_json())
        self.state = state
        for name in dropped:
            remove(self.directory / name)
        return state

    # 3. Reading what was committed

    def read_shard(self, shard: Shard) -> list[bytes]:
        """Read the records of a shard, the oldest game id first."""
        return unpack_games(read_committed(self.directory, shard.name, shard.stamp), str(self.directory / shard.name))

    def verify(self, checkpoint: Checkpoint) -> Path:
        """Check every file of a checkpoint against the commit and give the path of its folder."""
        for name, stamp in checkpoint.files.items():
            read_committed(self.directory, f"{checkpoint.name}/{name}", stamp)
        return self.directory / checkpoint.name


def read_run(directory: Path) -> tuple[Manifest, State]:
    """Read a run without taking it: where it comes from and its last commit. A trainer may be at work in it.

    >>> read_run(Path("nowhere"))
    Traceback (most recent call last):
    ...
    selfmate.rundir.format.RunError: nowhere: not a run: there is no manifest.json
    """
    if not (directory / "manifest.json").is_file():
        raise RunError(f"{directory}: not a run: there is no manifest.json", str(directory))
    manifest, state = _read_json(directory / "manifest.json", Manifest), read_state(directory)
    if not state.checkpoints:
        raise RunError(f"{directory}: this run has no net yet", str(directory))
    return manifest, state


def read_metrics(directory: Path, state: State) -> list[dict[str, Any]]:
    """Read the lines of metrics that are committed."""
    with (directory / "metrics.jsonl").open("rb") as file:
        data = file.read(state.metrics_bytes)
    try:
        return [msgspec.json.decode(line, type=dict[str, Any]) for line in data.splitlines()]
    except msgspec.DecodeError as error:
        path = directory / "metrics.jsonl"
        raise RunError(f"{path}: damaged: {' '.join(str(error).split())}", str(path)) from error


def _kept(state: State) -> tuple[Checkpoint, ...]:
    """Choose the checkpoints that stay."""
    newest = max((checkpoint.cycle for checkpoint in state.checkpoints), default=0)
    return tuple(
        checkpoint
        for checkpoint in state.checkpoints
        if checkpoint.cycle in (0, state.champion)
        or checkpoint.cycle % KEEP_EVERY == 0
        or checkpoint.cycle > newest - KEEP_NEWEST
    )


def _refuse_foreign(directory: Path) -> None:
    """Refuse a directory that is neither empty nor the first moments of a run."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise RunError(f"{directory}: not a directory", str(directory))
    for entry in directory.iterdir():
        if entry.name not in ("lock", "recipe.toml") and not TEMPORARY.fullmatch(entry.name):
            raise RunError(
                f"{directory}: not a run, and not empty ({clip(entry.name)!r} is there); choose another --run",
                str(directory),
            )


def _take_lock(directory: Path) -> IO[str]:
    """Lock the directory for this process; the system unlocks it when the process ends, however it ends."""
    lock = (directory / "lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.seek(0)
        holder = lock.read(20).strip() or "unknown"
        lock.close()
        raise RunError(f"{directory}: another trainer (process {holder}) is at work here", str(directory)) from error
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


def _begin(
    directory: Path,
    recipe: Recipe,
    name: str,
    seed: int,
    settings: Sequence[str],
    smoke: bool,
    parent: Parent | None,
) -> tuple[Manifest, Recipe, State]:
    """Write what a new run begins with; the manifest last, for it makes the directory a run."""
    wanted = change(recipe, settings)
    stamp = write_file(directory / "recipe.toml", wanted.to_toml().encode("utf-8"))
    manifest = Manifest(
        format=FORMAT,
        variant=wanted.variant.name,
        recipe=name,
        recipe_stamp=stamp,
        seed=seed,
        smoke=smoke,
        settings=tuple(settings),
        created=_now(),
        versions=_versions(),
        commit=_commit(),
        hardware=_hardware(),
        name=directory.resolve().name,
        parent=parent,
    )
    _write_json(directory / "manifest.json", manifest)
    return manifest, wanted, State()


def _resume(
    directory: Path, recipe: Recipe, name: str, seed: int | None, settings: Sequence[str], smoke: bool
) -> tuple[Manifest, Recipe, State]:
    """Read a run that is there, and check that it is the one that was asked for."""
    manifest = _read_json(directory / "manifest.json", Manifest)
    # 1. Is it the same run?
    for what, theirs, ours in (
        ("variant", manifest.variant, recipe.variant.name),
        ("recipe", manifest.recipe, name),
        ("seed", manifest.seed, manifest.seed if seed is None else seed),
    ):
        if theirs != ours:
            raise RunError(f"{directory}: a run with {what} {theirs}, not {ours}; choose another --run", str(directory))
    if manifest.smoke != smoke:
        with_it = "with" if manifest.smoke else "without"
        raise RunError(f"{directory}: a run {with_it} --smoke; go on so, or choose another --run", str(directory))
    archived = from_toml(read_committed(directory, "recipe.toml", manifest.recipe_stamp).decode("utf-8"))
    edited = differences(archived, change(recipe, manifest.settings))
    if edited:
        raise RunError(
            f"{directory}: the recipe {name!r} has changed since the run began ({edited[0]}); "
            f"use --set for what may change, or choose another --run",
            edited[0],
        )
    # 2. What --set changes now
    state = read_state(directory)
    current = change(archived, [setting for appendix in manifest.appendices for setting in appendix.settings])
    wanted = change(current, settings)
    changed = differences(current, wanted)
    for key in changed:
        if key not in MAY_CHANGE:
            raise RecipeError(f"{key}: cannot change in the course of a run; choose another --run", key)
    if changed:
        new = tuple(setting for setting in settings if setting.partition("=")[0].strip() in changed)
        appendix = Appendix(cycle=state.cycle, when=_now(), settings=new)
        manifest = msgspec.structs.replace(manifest, appendices=(*manifest.appendices, appendix))
        _write_json(directory / "manifest.json", manifest)
    return manifest, wanted, state


def _clean(directory: Path, state: State) -> None:
    """See that all that is committed is there; then remove what is not committed, but nothing that is not ours."""
    kept = state.names()
    for name in kept:
        if not (directory / name).exists():
            raise RunError(f"{directory / name}: damaged: this committed file is missing", name)
    metrics = directory / "metrics.jsonl"
    length = metrics.stat().st_size if metrics.exists() else 0
    if length < state.metrics_bytes:
        raise RunError(f"{metrics}: damaged: {length} bytes instead of {state.metrics_bytes}", str(metrics))
    if length > state.metrics_bytes:
        os.truncate(metrics, state.metrics_bytes)
    for folder in FOLDERS:
        path = directory / folder
        path.mkdir(exist_ok=True)
        for entry in path.iterdir():
            if f"{folder}/{entry.name}" not in kept and re.fullmatch(r"\.?\d.*", entry.name):
                remove(entry)
    for entry in directory.iterdir():
        if TEMPORARY.fullmatch(entry.name):
            remove(entry)


def _write_json(path: Path, value: Struct) -> None:
    write_file(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
