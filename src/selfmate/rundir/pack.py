"""`selfmate pack`: a small copy of a run that can be resumed elsewhere.

A run on a GPU is gigabytes of games, of which the next steps need the newest. The copy has the weights and their
average without the optimizer's state (which builds up again within some dozens of steps), the champion, all
measurements, and as many of the newest games as fit. `selfmate train` with the same recipe resumes it.

Nets that play have weights which bfloat16 holds exactly (`nn.net.rounded`), and are stored in it. The weights in
training have not; `half` rounds them to it, which leaves more room for games.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from selfmate.nn.checkpoint import TENSORS_NAME
from selfmate.nn.tensor_file import compact_tensors, unpack_tensors
from selfmate.rundir.directory import Run
from selfmate.rundir.format import (
    HEADS_PREFIX,
    LEARNER_JSON,
    LEARNER_TENSORS,
    MOMENT_PREFIX,
    RESTORE,
    STARTS,
    Checkpoint,
    Manifest,
    RunError,
    Shard,
    State,
    read_committed,
    read_run,
)
from selfmate.rundir.games import decode_games, pack_games, unpack_games
from selfmate.util.files import Stamp, new_folder, stamp_folder, stamp_of, write_file

__all__ = ["Packed", "copy_committed", "light_learner", "pack"]

SPARE: Final = 0.98
"""Fewer games than the mean size says, because newer ones may be longer."""


class Packed(Struct, frozen=True, kw_only=True):
    """What a copy holds."""

    directory: str
    cycle: int
    games: int
    positions: int
    all_games: int
    bytes: int
    mib_for_games: int
    """A size of a copy, in MiB, that has room for games."""


def pack(run: Path, to: Path, mebibytes: float, *, half: bool = False) -> Packed:
    """Copy a run that is not training into a new folder `to` of at most `mebibytes`. The run is not changed.

    `half` rounds the weights in training and their average to bfloat16.
    """
    read_run(run)  # raises where it is no run
    if to.exists():
        raise RunError(f"{to} already exists; choose a new folder", str(to))
    if not to.parent.is_dir():
        raise RunError(f"{to}: there is no folder {to.parent}", str(to))
    with Run.hold(run), new_folder(to) as folder:
        manifest, state = read_run(run)
        if state.learner is None:
            raise RunError(f"{run}: nothing is committed yet; train it first", str(run))
        # 1. Everything but games
        kept = tuple(each for each in state.checkpoints if each.cycle in (state.champion, state.newest().cycle))
        kept = _copy_all_but_games(run, folder, manifest, state, kept)
        learner = light_learner(run, folder, state.learner, half=half)
        # 2. The newest games that fit, and the unfinished ones
        needed = _size(folder) + len(state.to_json())
        room = int(mebibytes * (1 << 20)) - needed
        if room < 0:
            least = math.ceil(needed / (1 << 20))
            raise RunError(f"{run}: a copy needs at least {least} MiB even without games", str(run))
        shards: list[Shard] = []
        for shard in sorted(state.shards, key=lambda each: (each.cycle, each.first), reverse=True):
            copied = _copy_newest_games(run, folder, shard, room)
            if copied is None:
                break
            shards.append(copied)
            room -= copied.stamp.bytes
            if copied.games < shard.games:
                break
        flight = state.flight if state.flight is not None and state.flight.stamp.bytes <= room else None
        if flight is not None:
            copy_committed(run, folder, flight.name, flight.stamp)
        # 3. The commit, last
        changes = {"shards": tuple(reversed(shards)), "flight": flight, "learner": learner}
        changed: State = msgspec.structs.replace(state, **changes, checkpoints=kept, kept_nets=())
        write_file(folder / "state.json", changed.to_json())
        size = _size(folder)
    return Packed(
        directory=str(to),
        cycle=state.cycle,
        games=sum(shard.games for shard in shards),
        positions=sum(shard.positions for shard in shards),
        all_games=state.games,
        bytes=size,
        mib_for_games=math.ceil(needed / (1 << 20)) + 1,
    )


def _copy_all_but_games(
    run: Path, folder: Path, manifest: Manifest, state: State, checkpoints: Sequence[Checkpoint]
) -> tuple[Checkpoint, ...]:
    """Copy everything but games and learner; return the entries of the nets, which are compact in the copy."""
    copy_committed(run, folder, "manifest.json")
    copy_committed(run, folder, "recipe.toml", manifest.recipe_stamp)
    if manifest.starts_stamp is not None:
        copy_committed(run, folder, STARTS, manifest.starts_stamp)
    with (run / "metrics.jsonl").open("rb") as metrics:
        lines = metrics.read(state.metrics_bytes)
    if len(lines) < state.metrics_bytes:
        path = run / "metrics.jsonl"
        raise RunError(f"{path}: {len(lines)} bytes instead of {state.metrics_bytes}: {RESTORE}", str(path))
    (folder / "metrics.jsonl").write_bytes(lines)
    measured = [f"progress/{path.name}" for path in sorted((run / "progress").glob("*")) if path.is_file()]
    for name in (*state.matches, *state.pgn, *measured):
        copy_committed(run, folder, name)
    return tuple(_compact_net(run, folder, each) for each in checkpoints)


def _compact_net(run: Path, folder: Path, net: Checkpoint) -> Checkpoint:
    """Write a net in bfloat16 where that is exact, so that it has the same id; return its entry."""
    target = folder / net.name
    target.mkdir(parents=True)
    for name, stamp in net.files.items():
        data = read_committed(run, f"{net.name}/{name}", stamp)
        (target / name).write_bytes(compact_tensors(unpack_tensors(data)) if name == TENSORS_NAME else data)
    return msgspec.structs.replace(net, files=stamp_folder(target))


def _copy_newest_games(run: Path, folder: Path, shard: Shard, room: int) -> Shard | None:
    """Copy a file of games, or the newest of them that fit into `room` bytes; return its entry, None without games."""
    data = read_committed(run, shard.name, shard.stamp)
    if len(data) > room:
        records = unpack_games(data, shard.name)
        while len(data) > room:
            count = int(SPARE * len(records) * room / len(data))
            if not count:
                return None
            records = records[-count:]
            data = pack_games(records)
        games = decode_games(records)
        changes = {
            "first": min(game.game_id for game in games),
            "games": len(games),
            "positions": sum(game.positions for game in games),
            "stamp": stamp_of(data),
        }
        shard = msgspec.structs.replace(shard, **changes)
    target = folder / shard.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return shard


def light_learner(
    run: Path,
    folder: Path,
    learner: Checkpoint,
    *,
    optimizer: str | None = None,
    half: bool = False,
    heads: bool = True,
) -> Checkpoint:
    """Write the learner without the optimizer's state; return its entry.

    `optimizer` is another one to go on with; `half` rounds the weights and their average to bfloat16; without `heads`
    those that only train are left out, and begin anew.
    """
    files = {name: read_committed(run, f"{learner.name}/{name}", stamp) for name, stamp in learner.files.items()}
    tensors = unpack_tensors(files[LEARNER_TENSORS])
    target = folder / learner.name
    target.mkdir(parents=True)
    dropped = (MOMENT_PREFIX,) if heads else (MOMENT_PREFIX, HEADS_PREFIX)
    weights = {name: tensor for name, tensor in tensors.items() if not name.startswith(dropped)}
    (target / LEARNER_TENSORS).write_bytes(compact_tensors(weights, exact=not half))
    changes: dict[str, object] = {"has_moments": False} | ({} if optimizer is None else {"optimizer": optimizer})
    changes |= {} if heads else {"heads": []}
    (target / LEARNER_JSON).write_text(json.dumps(json.loads(files[LEARNER_JSON]) | changes))
    return msgspec.structs.replace(learner, files=stamp_folder(target))


def copy_committed(run: Path, folder: Path, name: str, stamp: Stamp | None = None) -> None:
    """Copy a committed file; with a stamp, check that it is the committed one."""
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(read_committed(run, name, stamp))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
