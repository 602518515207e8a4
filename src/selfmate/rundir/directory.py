"""A run is one directory.

    recipe.toml      the recipe as it ran, with every key
    starts.fen       start positions of self-play, where the recipe names a file of them
    manifest.json    format, variant, seed, versions, commit, hardware, what `--set` changed later
    state.json       THE COMMIT: names every file that counts, replaced last
    games/           shards of compressed game records
    checkpoints/     nets that play, a folder each; 00000 is the untrained one
    learner/         weights in training with their average and the optimizer's state
    metrics.jsonl    a line per step of the loop; valid up to the length in state.json
    matches/         results and games of the final matches
    pgn/             of each cycle some games, and those of the gate
    progress/        games and pictures of `selfmate progress`; not part of the commit, as they never become invalid
    lock             held by the one trainer at work

Nothing is changed in place. A file is written under a temporary name, synced, renamed, and its directory synced;
`state.json` is replaced after all the files that it names. So at every instant the directory holds exactly one
committed state: whatever `state.json` does not name was left by a killed trainer, and is removed when the next one
opens the run. Only `metrics.jsonl` grows at its end, and is cut back to its committed length.

A directory is either read, or refused with one line that says what to do.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, Self

import msgspec
from msgspec import Struct

from selfmate.errors import clip
from selfmate.recipe.keys import MAY_CHANGE
from selfmate.recipe.reader import RecipeError, change, differences
from selfmate.recipe.schema import Recipe
from selfmate.recipe.writer import to_toml
from selfmate.rundir.archive import archived_recipe, current_recipe
from selfmate.rundir.format import (
    FORMAT,
    MISSING,
    RESTORE,
    STARTS,
    Appendix,
    Checkpoint,
    Manifest,
    Parent,
    RunError,
    Shard,
    State,
    read_committed,
    read_json,
    read_state,
)
from selfmate.rundir.games import pack_games, unpack_games
from selfmate.rundir.lock import lock_directory
from selfmate.rundir.provenance import describe_hardware, now, package_versions, source_commit
from selfmate.util.files import explain_full_disk, new_folder, remove, stamp_folder, write_file
from selfmate.util.text import is_utf8

__all__ = ["Run"]


KEEP_NEWEST: Final = 4
KEEP_EVERY: Final = 10
"""Checkpoints that are kept: the untrained one, the champion, the newest four, and every tenth for later ladders."""

FOLDERS: Final = ("games", "checkpoints", "learner", "matches", "pgn")
TEMPORARY: Final = re.compile(r"\..*\.tmp")


class Run:
    """An open run. `Run.open` locks the directory, checks it and removes what was never committed; `close` unlocks."""

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
        starts: Sequence[str] = (),
    ) -> Self:
        """Start a run in an empty or new directory, or resume the one in it.

        `recipe` is without `settings` (`section.key=value`), which are applied here. `seed` is 1 for a new run unless
        given; `parent` is the run whose games a new one begins with; `starts` are the start positions (FENs) of a new
        run's `selfplay.starts`. Raises `RunError` for a run of another recipe,
        variant, seed or format, and for a directory that holds anything else.
        """
        manifest_path = directory / "manifest.json"
        if not manifest_path.exists():
            _refuse_foreign(directory)
        directory.mkdir(parents=True, exist_ok=True)
        lock = lock_directory(directory)
        assert lock is not None
        try:
            if manifest_path.exists():
                manifest, wanted, state = _resume(directory, recipe, name, seed, settings, smoke)
            else:
                first = 1 if seed is None else seed
                manifest, wanted, state = _begin(directory, recipe, name, first, settings, smoke, parent, starts)
            _clean(directory, state)
            return cls(directory, wanted, manifest, state, lock)
        except BaseException:
            lock.close()
            raise

    @staticmethod
    @contextlib.contextmanager
    def hold(directory: Path) -> Iterator[None]:
        """Hold the lock of a run while it is read as a whole; a read-only directory needs none."""
        with lock_directory(directory, reading=True) or contextlib.nullcontext():
            yield

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files and release the lock."""
        self._metrics.close()
        self._lock.close()

    # 1. Writing, before a commit names the files

    def log(self, **values: Any) -> None:
        """Append a line to metrics.jsonl; it is valid from the next commit on."""
        line = msgspec.json.encode(values) + b"\n"
        with explain_full_disk(self.directory / "metrics.jsonl", 0):
            if self._metrics.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write_shard(
        self, cycle: int, net: int, records: Sequence[tuple[int, int, bytes]], flight: bool = False
    ) -> Shard:
        """Write games of a cycle, (id, positions, record) each, in the order of their ids; return their shard.

        `net` is the cycle of the net that played. Unfinished games (`flight`) get a name that no committed file has.
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
        """Yield a temporary folder to fill; it gets its name when the block ends. Then `stamp` it."""
        with new_folder(self.directory / name, size) as folder:
            yield folder

    def stamp(self, name: str, cycle: int, step: int) -> Checkpoint:
        """Return the entry of a folder that was just written, for a commit."""
        return Checkpoint(name=name, cycle=cycle, step=step, files=stamp_folder(self.directory / name))

    def write_text(self, name: str, text: str) -> str:
        """Write a small text file (a match, sample games); return its name, for a commit."""
        write_file(self.directory / name, text.encode("utf-8"))
        return name

    # 2. The commit

    def commit(self, **changes: Any) -> State:
        """Replace fields of the state at one instant, then remove the files that it no longer names."""
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

    # 3. Reading committed files

    def read_shard(self, shard: Shard) -> list[bytes]:
        """Return the records of a shard, lowest game id first."""
        return unpack_games(read_committed(self.directory, shard.name, shard.stamp), str(self.directory / shard.name))

    def read_starts(self) -> list[str]:
        """Return the start positions (FENs) that the run was begun with; none where its recipe names no file."""
        if self.manifest.starts_stamp is None:
            return []
        return read_committed(self.directory, STARTS, self.manifest.starts_stamp).decode("ascii").splitlines()

    def verify(self, checkpoint: Checkpoint) -> Path:
        """Check every file of a checkpoint against the commit; return the path of its folder."""
        for name, stamp in checkpoint.files.items():
            read_committed(self.directory, f"{checkpoint.name}/{name}", stamp)
        return self.directory / checkpoint.name


def _kept(state: State) -> tuple[Checkpoint, ...]:
    """Return the checkpoints that are kept."""
    newest = max((checkpoint.cycle for checkpoint in state.checkpoints), default=0)
    return tuple(
        checkpoint
        for checkpoint in state.checkpoints
        if checkpoint.cycle in (0, state.champion)
        or checkpoint.cycle % KEEP_EVERY == 0
        or checkpoint.cycle > newest - KEEP_NEWEST
    )


def _refuse_foreign(directory: Path) -> None:
    """Raise for a directory that is neither empty nor a run that was killed while it was started."""
    if not is_utf8(str(directory)):  # its name stands in the manifest
        raise RunError(f"{str(directory)!a}: the name of a run's directory must be UTF-8", str(directory))
    if not directory.exists():
        return
    if not directory.is_dir():
        raise RunError(f"{directory}: not a directory; use another --run", str(directory))
    for entry in directory.iterdir():
        if entry.name not in ("lock", "recipe.toml", STARTS) and not TEMPORARY.fullmatch(entry.name):
            raise RunError(
                f"{directory}: not a run directory, and not empty (it has {clip(entry.name)!r}); use another --run",
                str(directory),
            )


def _begin(
    directory: Path,
    recipe: Recipe,
    name: str,
    seed: int,
    settings: Sequence[str],
    smoke: bool,
    parent: Parent | None,
    starts: Sequence[str],
) -> tuple[Manifest, Recipe, State]:
    """Write recipe.toml, the start positions and, last, manifest.json, which makes the directory a run."""
    wanted = change(recipe, settings)
    stamp = write_file(directory / "recipe.toml", to_toml(wanted).encode("utf-8"))
    starts_text = "".join(f"{fen}\n" for fen in starts).encode("ascii")
    manifest = Manifest(
        format=FORMAT,
        variant=wanted.variant.name,
        recipe=name,
        recipe_stamp=stamp,
        seed=seed,
        smoke=smoke,
        settings=tuple(settings),
        created=now(),
        versions=package_versions(),
        commit=source_commit(),
        hardware=describe_hardware(),
        name=directory.resolve().name,
        parent=parent,
        starts_stamp=write_file(directory / STARTS, starts_text) if starts else None,
    )
    _write_json(directory / "manifest.json", manifest)
    return manifest, wanted, State()


def _resume(
    directory: Path, recipe: Recipe, name: str, seed: int | None, settings: Sequence[str], smoke: bool
) -> tuple[Manifest, Recipe, State]:
    """Read the run in the directory, and check that it is the one asked for."""
    manifest = read_json(directory / "manifest.json", Manifest)
    # 1. The same run
    for what, theirs, ours in (
        ("variant", manifest.variant, recipe.variant.name),
        ("recipe", manifest.recipe, name),
        ("seed", manifest.seed, manifest.seed if seed is None else seed),
    ):
        if theirs != ours:
            raise RunError(f"{directory}: this run was started with {what} {theirs}; use another --run", str(directory))
    if manifest.smoke != smoke:
        how = "with --smoke" if manifest.smoke else "without --smoke"
        raise RunError(
            f"{directory}: this run was started {how}; resume it {how}, or use another --run", str(directory)
        )
    edited = differences(archived_recipe(directory, manifest), change(recipe, manifest.settings))
    if edited:
        raise RunError(
            f"{directory}: recipe {name!r} has changed since the run was started ({', '.join(edited)}); "
            f"use --set for keys that may change, or another --run",
            edited[0],
        )
    # 2. Changes by --set
    state = read_state(directory)
    current = current_recipe(directory, manifest)
    wanted = change(current, settings)
    changed = differences(current, wanted)
    for key in changed:
        if key not in MAY_CHANGE:
            raise RecipeError(f"{key}: cannot be changed during a run; use another --run", key)
    net, net_wanted = (each.net_config(state.cycle) for each in (current, wanted))
    for name in ("blocks", "channels"):
        old, new_size = getattr(net, name), getattr(net_wanted, name)
        if old != new_size:
            how = f"[[0, {old}], [{state.cycle + 1}, {new_size}]]"
            raise RecipeError(f"net.{name}: a net cannot change at once; a schedule such as {how} lets it grow", name)
    if changed:
        new = tuple(setting for setting in settings if setting.partition("=")[0].strip() in changed)
        appendix = Appendix(cycle=state.cycle, when=now(), settings=new)
        manifest = msgspec.structs.replace(manifest, appendices=(*manifest.appendices, appendix))
        _write_json(directory / "manifest.json", manifest)
    return manifest, wanted, state


def _clean(directory: Path, state: State) -> None:
    """Check that all committed files exist; then remove uncommitted ones, recognised by their names."""
    kept = state.names()
    for name in kept:
        if not (directory / name).exists():
            raise RunError(f"{directory / name}: {MISSING}", name)
    metrics = directory / "metrics.jsonl"
    length = metrics.stat().st_size if metrics.exists() else 0
    if length < state.metrics_bytes:
        raise RunError(f"{metrics}: {length} bytes instead of {state.metrics_bytes}: {RESTORE}", str(metrics))
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
