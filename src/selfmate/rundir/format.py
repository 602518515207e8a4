"""The JSON files of a run directory, and reading committed files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from selfmate.errors import SelfmateError
from selfmate.util.files import Stamp, stamp_of
from selfmate.util.text import other_format

__all__ = [
    "FIRST_NET",
    "FORMAT",
    "STARTS",
    "Checkpoint",
    "Manifest",
    "Parent",
    "RunError",
    "Shard",
    "State",
    "describe_format",
    "read_committed",
    "read_json",
    "read_metrics",
    "read_run",
    "read_state",
]


FORMAT: Final = 2
"""Version of the directory's format. A directory of another version is refused."""

STARTS: Final = "starts.fen"
"""File of the start positions that the recipe's `starts` had when the run was begun, a FEN per line."""

FIRST_NET: Final = "00000"
"""Folder of the untrained net, which the first commit names."""

LEARNER_TENSORS: Final = "learner.safetensors"
LEARNER_JSON: Final = "learner.json"
"""The files of a learner's state."""

MOMENT_PREFIX: Final = "optimizer."
AVERAGE_PREFIX: Final = "average."
HEADS_PREFIX: Final = "heads."
"""First parts of tensor names in LEARNER_TENSORS: moments of the optimizer, weights of the averaged net, and of heads
that only train."""


MAX_JSON: Final = 64 << 20
"""Longest JSON file that is read."""

RESTORE: Final = "the file was changed or is damaged; restore it from a copy, or use another --run"
MISSING: Final = "this committed file is missing; restore it from a copy, or use another --run"
"""What is wrong with a committed file, and what to do."""


class RunError(SelfmateError):
    """A run directory cannot be used as asked, or a file of it is damaged; the line says what to do."""


Name: TypeAlias = Annotated[str, Meta(pattern=r"^(games|checkpoints|learner|matches|pgn)/[0-9][a-z0-9.-]{0,60}$")]
"""A file or folder of the run. A commit can name nothing else, so nothing else is read or removed."""


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
    """A folder of files: a net that plays, made after `cycle` cycles, or the state of the learner at a step."""

    name: Name
    cycle: int
    step: int
    files: dict[FileName, Stamp]


class State(Struct, frozen=True, kw_only=True):
    """A commit: everything that counts in the directory.

    The run is in `cycle`, whose games have ids from `first_game` on, and in which the learner trains up to step `goal`.
    When both are done the candidate is judged and the next cycle begins.
    """

    format: int = FORMAT
    cycle: int = 0
    first_game: int = 0
    first_step: int = 0  # at which the learner began the cycle
    goal: int = 0
    grow_goal: int = 0  # step up to which a net that has grown learns before the cycle begins; 0: it has not
    owed: int = 0  # samples due for the positions so far that did not fill a batch
    champion: int = 0
    judged: int = 0  # newest candidate that was judged before the games of its cycle (`learner.alternate`)
    shards: tuple[Shard, ...] = ()
    flight: Shard | None = None  # unfinished games of the last session, with their moves so far
    checkpoints: tuple[Checkpoint, ...] = ()
    kept_nets: tuple[Checkpoint, ...] = ()  # made at the steps that the recipe names, and never removed
    learner: Checkpoint | None = None
    matches: tuple[Name, ...] = ()
    pgn: tuple[Name, ...] = ()
    metrics_bytes: int = 0
    seconds: float = 0.0
    games: int = 0
    positions: int = 0
    alarms: int = 0  # cycles in a row in which held-out games were predicted worse than learned ones

    def checkpoint(self, cycle: int) -> Checkpoint:
        """Return the net that was made after `cycle` cycles."""
        return next(checkpoint for checkpoint in self.checkpoints if checkpoint.cycle == cycle)

    def newest(self) -> Checkpoint:
        """Return the newest net."""
        return max(self.checkpoints, key=lambda checkpoint: checkpoint.cycle)

    def to_json(self) -> bytes:
        """Return the text of state.json."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1)

    def names(self) -> set[str]:
        """Return every file and folder that this commit names, relative to the run's directory."""
        kept = {shard.name for shard in self.shards} | {each.name for each in (*self.checkpoints, *self.kept_nets)}
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
    """Where a run comes from: everything that is fixed when it is started."""

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
    name: str = ""  # of its first directory; its nets keep this name wherever the run is copied
    parent: Parent | None = None
    appendices: tuple[Appendix, ...] = ()
    starts_stamp: Stamp | None = None  # of starts.fen; None where the recipe names no file of start positions


class Format(Struct):
    """The part of a JSON file that tells whether this version can read the rest."""

    format: int


def read_state(directory: Path) -> State:
    """Return the last commit; an empty one for a run that was stopped before its first."""
    if (directory / "state.json").exists():
        return read_json(directory / "state.json", State)
    begun = [*directory.glob("games/*"), *directory.glob("pgn/*"), *directory.glob("matches/*")]
    begun += [path for path in directory.glob("checkpoints/*") if path.name not in (FIRST_NET, f".{FIRST_NET}.tmp")]
    if begun:
        raise RunError(
            f"{directory}: state.json is missing, but {begun[0].relative_to(directory)} exists; "
            f"restore it from a copy, or use another --run",
            str(directory),
        )
    return State()


Json = TypeVar("Json")


def read_json(path: Path, kind: type[Json]) -> Json:
    """Return a JSON file of the run; its format is read first, so that a newer one is not called damaged."""
    data = read_committed(path.parent, path.name)
    try:
        found = msgspec.json.decode(data, type=Format).format
        if found != FORMAT:
            raise RunError(describe_format(path.parent, found), str(path.parent))
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: damaged: {' '.join(str(error).split())}; restore it from a copy", str(path)) from error


def describe_format(directory: Path, found: int) -> str:
    """Return one line for a run of another version: which it is, and what to do.

    >>> describe_format(Path("runs/old"), 1).split(": ")[1]
    'a run of format 1, older than format 2 of this version of Selfmate'
    """
    older = (
        "resume it with the version that started it (see manifest.json), or start a new run with another --run; "
        f"its nets can be played as they are, such as {directory}/checkpoints/{FIRST_NET}"
    )
    return f"{directory}: a run of {other_format(found, FORMAT, older)}"


def read_committed(directory: Path, name: str, stamp: Stamp | None = None) -> bytes:
    """Return the bytes of a file of the run; with a stamp, check that they are the committed ones."""
    path = directory / name
    try:
        size = path.stat().st_size
        if size > (MAX_JSON if stamp is None else stamp.bytes):
            raise RunError(f"{path}: {size} bytes long: {RESTORE}", name)
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise RunError(f"{path}: {MISSING}", name) from error
    if stamp is not None and stamp_of(data) != stamp:
        raise RunError(f"{path}: checksum mismatch: {RESTORE}", name)
    return data


def read_run(directory: Path) -> tuple[Manifest, State]:
    """Return the manifest and the last commit of a run, without locking it: a trainer may be at work in it.

    >>> read_run(Path("nowhere"))
    Traceback (most recent call last):
    ...
    selfmate.rundir.format.RunError: nowhere: not a run directory: it has no manifest.json
    """
    if not (directory / "manifest.json").is_file():
        raise RunError(f"{directory}: not a run directory: it has no manifest.json", str(directory))
    manifest, state = read_json(directory / "manifest.json", Manifest), read_state(directory)
    if not state.checkpoints:
        raise RunError(f"{directory}: this run has no net yet; train it first", str(directory))
    return manifest, state


def read_metrics(directory: Path, state: State) -> list[dict[str, Any]]:
    """Return the committed lines of metrics.jsonl."""
    with (directory / "metrics.jsonl").open("rb") as file:
        data = file.read(state.metrics_bytes)
    try:
        return [msgspec.json.decode(line, type=dict[str, Any]) for line in data.splitlines()]
    except msgspec.DecodeError as error:
        path = directory / "metrics.jsonl"
        raise RunError(f"{path}: damaged: {' '.join(str(error).split())}", str(path)) from error
