"""Player specs: one word that names a player.

- an evaluator of the core: `heuristic-1`, `uniform`, `fake`; or `random`
- a net: its folder, its ONNX file, or the name of one that `selfmate nets` lists
- a run: its directory stands for its champion; `runs/NAME:untrained`, `runs/NAME:newest` and `runs/NAME:12` (a cycle)
  are other nets of it
- `NET:untrained`, of a net's folder or name: its architecture with random weights, always the same ones
"""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path
from typing import Any, Final

from selfmate.errors import PlayerError, SelfmateError, clip
from selfmate.evaluator.base import NATIVE
from selfmate.nn import shipped as nets
from selfmate.nn.checkpoint import JSON_NAME, TENSORS_NAME, NetTensors
from selfmate.nn.onnx import ONNX_NAME
from selfmate.nn.untrained import UNTRAINED, untrained_twin

__all__ = [
    "HEURISTIC",
    "RANDOM",
    "current_name",
    "default_player",
    "find_net",
    "find_player",
    "label",
    "net_name",
    "net_of_run",
    "run_name",
]

RANDOM: Final = "random"
"""The player of random legal moves."""
HEURISTIC: Final = "heuristic-1"
"""The evaluator of the core that plays every variant without a net."""
FAKE: Final = "fake"
"""An evaluator of the core for tests; messages do not list it."""
MAX_STATE_BYTES: Final = 64 << 20


def find_player(spec: str, *, engine: str = "") -> tuple[str, str | Path | NetTensors]:
    """Return the name of a player, and the name of its evaluator of the core, the path of its net or an untrained net.

    A spec that names no player raises `PlayerError`; `engine` is the spec of a UCI engine of that name, for its hint
    where engines can play.

    >>> find_player("heuristic-1")
    ('heuristic-1', 'heuristic-1')
    >>> find_player("gardner-laptop:untrained")[0]
    'gardner-laptop untrained'
    """
    if spec in (*NATIVE, RANDOM):
        return spec, spec
    try:
        path, which = (Path(spec), "") if Path(spec).exists() else _split(spec)
        if path.name in (JSON_NAME, TENSORS_NAME):  # a file of a net's folder
            path = path.parent
        if (path / "manifest.json").is_file():
            return net_of_run(path, which)
        if not which and path.is_file() and path.suffix == ".onnx":
            return path.resolve().stem, path
        if not which and any((path / name).is_file() for name in (JSON_NAME, ONNX_NAME)):
            return _name_of_folder(path.resolve()), path
        if which == UNTRAINED and (path / JSON_NAME).is_file():
            return f"{_name_of_folder(path.resolve())} {UNTRAINED}", untrained_twin(path)
        exists = path.exists()
        name = spec.removesuffix(f":{UNTRAINED}")
        if not exists and (shipped := nets.named(name)) is not None:
            return (spec, shipped) if name == spec else (f"{name} {UNTRAINED}", untrained_twin(shipped))
    except SelfmateError:
        raise
    except (OSError, ValueError):  # too long for a path, or with a NUL
        exists = False
    if spec.strip() and exists and not which:
        meant = f"; did you mean {engine!r}?" if engine and shutil.which(spec) else ""
        raise PlayerError(f"{clip(spec)}: neither a net ({JSON_NAME} or .onnx) nor a run{meant}", spec)
    if "/" in spec:
        raise PlayerError(f"{clip(spec)!r}: no such file or folder; {_hint(spec, engine)}", spec)
    raise PlayerError(f"unknown player {clip(spec)!r}; {_hint(spec, engine)}", spec)


def default_player(variant: str, *, timed: bool) -> str:
    """Return the spec of the player of a variant where none is named: its shipped net, else heuristic-1.

    `timed` says that time is limited, where heuristic-1 is stronger than some nets on a CPU.

    >>> [default_player(variant, timed=False) for variant in ("gardner", "racingkings", "chess")]
    ['gardner-laptop', 'racingkings-gpu', 'chess-gpu']
    >>> [default_player(variant, timed=True) for variant in ("gardner", "racingkings", "chess")]
    ['gardner-laptop', 'heuristic-1', 'chess-gpu']
    """
    net = nets.net_of(variant)
    return net.name if net is not None and (net.on_clock or not timed) else HEURISTIC


def find_net(spec: str) -> Path:
    """Return the folder or ONNX file of the net of a player; a player without a net raises `PlayerError`.

    >>> find_net("heuristic-1")
    Traceback (most recent call last):
    ...
    selfmate.errors.PlayerError: heuristic-1 has no net; give a net's folder, an .onnx file or a run
    """
    name, found = find_player(spec)
    if not isinstance(found, Path):
        reason = "has no net" if isinstance(found, str) else "is in no file"
        raise PlayerError(f"{name} {reason}; give a net's folder, an .onnx file or a run", spec)
    return found


def _name_of_folder(path: Path) -> str:
    """Return the name of the net in a folder; a checkpoint of a run is named by run and cycle."""
    run = path.parent.parent
    if path.parent.name == "checkpoints" and path.name.isdecimal() and (run / "manifest.json").is_file():
        return net_name(run, int(path.name))
    return path.name


def _split(spec: str) -> tuple[Path, str]:
    """Return the two parts of `runs/NAME:which`."""
    path, colon, which = spec.rpartition(":")
    return (Path(path), which) if colon else (Path(spec), "")


def _hint(spec: str, engine: str) -> str:
    """Return what the spec might have meant, for an error message."""
    import difflib  # needed for errors only

    name, question, _ = spec.partition("?")
    if name.startswith("uci:"):
        return "engines play in selfmate arena and selfmate ladder"
    here = [str(path.parent) for path in sorted(Path("runs").glob("*/manifest.json"))]
    names = (*(each for each in NATIVE if each != FAKE), RANDOM, *(net.name for net in nets.shipped()))
    if question and name in names:
        return f"settings after ? are for selfmate arena and selfmate ladder; here write {name} and options"
    known = {each: each for each in names} | {Path(path).name: path for path in here}
    if engine and shutil.which(spec):
        return f"did you mean {engine!r}?"
    near = difflib.get_close_matches(clip(Path(spec).name), known, n=1)
    if near:
        return f"did you mean {known[near[0]]!r}?"
    more = "; a UCI engine is written uci:COMMAND?nodes=1000" if engine else ""
    return f"valid players: {', '.join(names)}, the folder or .onnx file of a net, or a run directory{more}"


def net_of_run(directory: Path, which: str = "") -> tuple[str, Path]:
    """Return name and folder of a net of a run: `champion` (also the empty word), `untrained`, `newest`, or a cycle.

    The run may be training meanwhile: its commits are atomic.
    """
    import msgspec

    from selfmate.rundir.format import FORMAT, Format, State, describe_format

    try:
        data = _read(directory / "state.json")
        found = msgspec.json.decode(data, type=Format).format
        if found != FORMAT:
            raise PlayerError(describe_format(directory, found), str(directory))
        state = msgspec.json.decode(data, type=State)
    except FileNotFoundError:
        raise PlayerError(f"{directory}: this run has no net yet", str(directory)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise PlayerError(f"{directory}: not a run, or damaged: {clip(reason)}", str(directory)) from None
    cycles = sorted(checkpoint.cycle for checkpoint in state.checkpoints)
    if not cycles:
        raise PlayerError(f"{directory}: this run has no net yet", str(directory))
    words = {"": state.champion, "champion": state.champion, UNTRAINED: 0, "newest": cycles[-1]}
    cycle = int(which) if which.isdecimal() and len(which) < 10 else words.get(which)
    if cycle not in cycles:
        there = f"champion, {UNTRAINED}, newest, and the cycles {', '.join(map(str, cycles))}"
        raise PlayerError(f"{directory} has no net {clip(which)!r}; valid names: {there}", which)
    return net_name(directory, cycle), directory / state.checkpoint(cycle).name


def run_name(directory: Path) -> str:
    """Return the name of a run: that of the directory in which it was started, also in a copy of it.

    >>> run_name(Path("runs/first"))
    'first'
    """
    import msgspec

    found = None
    with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
        found = msgspec.json.decode(_read(directory / "manifest.json"), type=dict[str, Any]).get("name")
    return found if found and isinstance(found, str) else directory.resolve().name


def net_name(directory: Path, cycle: int) -> str:
    """Return the name of a net of a run, the same in every table and PGN.

    >>> net_name(Path("runs/first"), 0), net_name(Path("runs/first/"), 12)
    ('first untrained', 'first cycle 12')
    """
    return f"{run_name(directory)} {f'cycle {cycle}' if cycle else UNTRAINED}"


def label(name: str, visits: int) -> str:
    """Return the name of a player with its visits; `random` has none.

    >>> label("first cycle 12", 64), label("heuristic-1", 1), label("random", 0)
    ('first cycle 12 (64 visits)', 'heuristic-1 (1 visit)', 'random')
    """
    return f"{name} ({visits} visit{'' if visits == 1 else 's'})" if visits else name


def current_name(name: str) -> str:
    """Return the present name of a player; files of earlier versions name heuristic-1 by its visits, `heuristic 64`.

    >>> current_name("heuristic 64"), current_name("heuristic 1"), current_name("level 1")
    ('heuristic-1 (64 visits)', 'heuristic-1 (1 visit)', 'level 1')
    """
    found = re.fullmatch(r"heuristic ([0-9]{1,9})", name)
    return name if found is None else label(HEURISTIC, int(found[1]))


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_STATE_BYTES)
