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
import platform
import re
import struct
import subprocess
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import IO, Annotated, Any, Final, Self, TypeAlias, TypeVar

import msgspec
import zstandard
from msgspec import Meta, Struct

from selfmate.errors import SelfmateError, clip
from selfmate.files import Stamp, disk, new_folder, remove, stamp_folder, stamp_of, write_file
from selfmate.recipe import MAY_CHANGE, Recipe, RecipeError, change, differences, from_toml
from selfmate.words import other_format

__all__ = [
    "FORMAT",
    "Checkpoint",
    "Manifest",
    "Parent",
    "Run",
    "RunError",
    "Shard",
    "State",
    "describe_format",
    "pack_games",
    "read_committed",
    "read_metrics",
    "read_run",
    "read_state",
    "unpack_games",
]

FORMAT: Final = 2
"""Version of the directory's format. A directory of another version is refused."""

FIRST_NET: Final = "00000"
"""The folder of the untrained net, which the first commit names."""

KEEP_NEWEST: Final = 4
KEEP_EVERY: Final = 10
"""Checkpoints that stay: the untrained one, the champion, the newest four, and every tenth for later ladders."""

FOLDERS: Final = ("games", "checkpoints", "learner", "matches", "pgn")
TEMPORARY: Final = re.compile(r"\..*\.tmp")
MAX_JSON: Final = 64 << 20
MAX_SHARD: Final = 1 << 30
MAGIC: Final = b"selfmate games\x00\x01"
HEADER: Final = struct.Struct("<16sQII")  # magic, bytes before compression, games, crc32 of the compressed rest
RECORD: Final = struct.Struct("<II")  # length, crc32


class RunError(SelfmateError):
    """A run directory that cannot be used as asked, or a file of it that is damaged."""


# -- what the JSON files hold ---------------------------------------------------------------------


Name: TypeAlias = Annotated[str, Meta(pattern=r"^(games|checkpoints|learner|matches|pgn)/[0-9][a-z0-9.-]{0,60}$")]
"""A file or folder of the run. Nothing else can be named, and so nothing else be read or removed."""
FileName: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,60}$")]


class Shard(Struct, frozen=True, kw_only=True):
    """One file of games, all of one cycle and one net. `first` and `last` are the smallest and largest game id."""

    name: Name
    cycle: int
    net: int  # the cycle whose net played them
    first: int
    last: int
    games: int
    positions: int
    stamp: Stamp


class Checkpoint(Struct, frozen=True, kw_only=True):
    """A folder of files. A net that plays (`cycle` cycles old), or the state of the learner at a step."""

    name: Name
    cycle: int
    step: int
    files: dict[FileName, Stamp]


class State(Struct, frozen=True, kw_only=True):
    """A commit: everything that counts in the directory.

    The run stands in `cycle`, whose games have the ids from `first_game` on, and in which the learner goes on to
    step `goal`. When both are done the candidate is judged and the next cycle begins.
    """

    format: int = FORMAT
    cycle: int = 0
    first_game: int = 0
    goal: int = 0
    owed: int = 0  # samples that the learner may still take for positions that it was given
    champion: int = 0
    shards: tuple[Shard, ...] = ()
    flight: Shard | None = None  # games that a session left unfinished, with their moves so far
    checkpoints: tuple[Checkpoint, ...] = ()
    learner: Checkpoint | None = None
    matches: tuple[Name, ...] = ()
    pgn: tuple[Name, ...] = ()
    metrics_bytes: int = 0
    seconds: float = 0.0
    games: int = 0
    positions: int = 0
    alarms: int = 0  # cycles in a row in which held-out games were predicted worse than learned ones

    def checkpoint(self, cycle: int) -> Checkpoint:
        """Give the net that was made after `cycle` cycles."""
        return next(checkpoint for checkpoint in self.checkpoints if checkpoint.cycle == cycle)

    def newest(self) -> Checkpoint:
        """Give the newest net."""
        return max(self.checkpoints, key=lambda checkpoint: checkpoint.cycle)

    def to_json(self) -> bytes:
        """Write it as state.json has it."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1)

    def names(self) -> set[str]:
        """Give every file and folder that this commit keeps, relative to the run's directory."""
        kept = {shard.name for shard in self.shards} | {checkpoint.name for checkpoint in self.checkpoints}
        kept |= {each.name for each in (self.learner, self.flight) if each is not None}
        return kept | {*self.matches, *self.pgn}


class Appendix(Struct, frozen=True, kw_only=True):
    """What `--set` changed when the run was resumed, from `cycle` on."""

    cycle: int
    when: str
    settings: tuple[str, ...]


class Parent(Struct, frozen=True, kw_only=True):
    """The run whose games another one began with."""

    name: str
    cycle: int
    net_id: str  # of its champion


class Manifest(Struct, frozen=True, kw_only=True):
    """Where a run comes from."""

    format: int
    variant: str
    recipe: str
    recipe_stamp: Stamp  # of recipe.toml
    seed: int
    smoke: bool
    settings: tuple[str, ...]
    created: str
    versions: dict[str, str]
    commit: str | None
    hardware: dict[str, Any]
    name: str = ""  # of its first directory, by which its nets are known wherever it is copied
    parent: Parent | None = None
    appendices: tuple[Appendix, ...] = ()


class Format(Struct):
    """Enough of a JSON file to see whether we may read the rest."""

    format: int


# -- games ----------------------------------------------------------------------------------------


def pack_games(records: Sequence[bytes]) -> bytes:
    """Pack game records (`GameRecord.to_bytes`) into one compressed file.

    Inside the compression each record has its length and crc32 before it.

    >>> unpack_games(pack_games([b"one", b"two"]))
    [b'one', b'two']
    >>> unpack_games(pack_games([b"one"])[:-1], "games/00000")
    Traceback (most recent call last):
    ...
    selfmate.run.RunError: games/00000: damaged: its checksum is wrong
    """
    body = b"".join(RECORD.pack(len(record), zlib.crc32(record)) + record for record in records)
    packed = zstandard.ZstdCompressor(level=9).compress(body)
    return HEADER.pack(MAGIC, len(body), len(records), zlib.crc32(packed)) + packed


def unpack_games(data: bytes, name: str = "games") -> list[bytes]:
    """Read what `pack_games` wrote; `RunError` says in one line what is wrong with anything else."""

    def damaged(reason: str) -> RunError:
        return RunError(f"{name}: damaged: {reason}", name)

    if len(data) < HEADER.size:
        raise damaged("too short for a file of games")
    magic, size, count, checksum = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise RunError(f"{name}: not a file of games of this version", name)
    packed = memoryview(data)[HEADER.size :]
    if zlib.crc32(packed) != checksum:
        raise damaged("its checksum is wrong")
    try:
        # A size that the frame does not claim, or beyond reason, is refused before memory is taken for it.
        if size > MAX_SHARD or zstandard.get_frame_parameters(packed).content_size != size:
            raise damaged("its size is wrong")
        body = zstandard.ZstdDecompressor().decompress(packed, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise damaged("cannot be decompressed") from error
    records: list[bytes] = []
    offset = 0
    while offset < len(body):
        if offset + RECORD.size > len(body):
            raise damaged(f"game {len(records)} is cut off")
        length, checksum = RECORD.unpack_from(body, offset)
        offset += RECORD.size
        record = body[offset : offset + length]
        offset += length
        if len(record) != length or zlib.crc32(record) != checksum:
            raise damaged(f"game {len(records)} is not what was written")
        records.append(record)
    if len(records) != count:
        raise damaged(f"{len(records)} games instead of {count}")
    return records


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
        with disk(self.directory / "metrics.jsonl", 0):
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
        with disk(self.directory / "metrics.jsonl", 0):
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
    selfmate.run.RunError: nowhere: not a run: there is no manifest.json
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


def read_state(directory: Path) -> State:
    """Read the last commit; only a run that was stopped before its first one has none."""
    if (directory / "state.json").exists():
        return _read_json(directory / "state.json", State)
    begun = [*directory.glob("games/*"), *directory.glob("pgn/*"), *directory.glob("matches/*")]
    begun += [path for path in directory.glob("checkpoints/*") if path.name not in (FIRST_NET, f".{FIRST_NET}.tmp")]
    if begun:
        raise RunError(
            f"{directory}: damaged: state.json is missing, but there is {begun[0].relative_to(directory)}; "
            f"put it back, or choose another --run",
            str(directory),
        )
    return State()


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


Json = TypeVar("Json")


def _read_json(path: Path, kind: type[Json]) -> Json:
    """Read one of our JSON files; first its format, so that a newer one is not called damaged."""
    data = read_committed(path.parent, path.name)
    try:
        found = msgspec.json.decode(data, type=Format).format
        if found != FORMAT:
            raise RunError(describe_format(path.parent, found), str(path.parent))
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: damaged: {' '.join(str(error).split())}", str(path)) from error


def describe_format(directory: Path, found: int) -> str:
    """Say in one line that a run is of another version, and what can be done with it.

    >>> describe_format(Path("runs/old"), 1).split(": ")[1]
    'a run of format 1, older than format 2 of this version of Selfmate'
    """
    older = (
        "train on with the version that began it (manifest.json names it), or begin a new run with another --run; "
        f"its nets play as they are, such as {directory}/checkpoints/{FIRST_NET}"
    )
    return f"{directory}: a run of {other_format(found, FORMAT, older)}"


def _write_json(path: Path, value: Struct) -> None:
    write_file(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def read_committed(directory: Path, name: str, stamp: Stamp | None = None) -> bytes:
    """Read a file of the run; with a stamp, exactly the one that was committed."""
    path = directory / name
    try:
        size = path.stat().st_size
        if size > (MAX_JSON if stamp is None else stamp.bytes):
            raise RunError(f"{path}: damaged: {size} bytes long", name)
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise RunError(f"{path}: damaged: this committed file is missing", name) from error
    if stamp is not None and stamp_of(data) != stamp:
        raise RunError(f"{path}: damaged: not what was committed", name)
    return data


# -- where a run comes from -----------------------------------------------------------------------


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _versions() -> dict[str, str]:
    from selfmate._core import CORE

    found = {"python": platform.python_version(), "core": CORE}
    for package in ("selfmate", "torch", "numpy", "msgspec", "zstandard"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def _commit() -> str | None:
    """Give the commit of the source tree that we run from, with a plus when files of it were changed."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", Path(__file__).name)  # not the repository of somebody else's project
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _hardware() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        model = found[1] if found else model
    import torch

    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "gpus": [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())],
        "system": platform.platform(),
    }
