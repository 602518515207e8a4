"""What the JSON files of a run directory hold, and their version."""

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
    "Checkpoint",
    "Manifest",
    "Parent",
    "RunError",
    "Shard",
    "State",
    "describe_format",
    "read_committed",
    "read_state",
]


FORMAT: Final = 2
"""Version of the directory's format. A directory of another version is refused."""


FIRST_NET: Final = "00000"
"""The folder of the untrained net, which the first commit names."""


LEARNER_TENSORS: Final = "learner.safetensors"
LEARNER_JSON: Final = "learner.json"
"""The files of a learner's state."""

MOMENT_PREFIX: Final = "optimizer."
AVERAGE_PREFIX: Final = "average."
"""First parts of tensor names in LEARNER_TENSORS: moments of the optimizer, weights of the averaged net."""


MAX_JSON: Final = 64 << 20


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
