"""A packed run: small, complete in itself, and it goes on; the run that it was made from stays as it was."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from command import Run as Command
from selfmate.rundir.format import RunError, read_run
from selfmate.rundir.games import decode_games, unpack_games
from selfmate.rundir.pack import Packed, pack
from selfmate.train.session import train

SETTINGS = ("selfplay.max_plies=12", "progress.games=0", "gate.final_games=2", "selfplay.cycles=3")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run of three tiny cycles."""
    directory = tmp_path_factory.mktemp("pack") / "run"
    train("gardner-laptop", run=directory, overrides=SETTINGS, smoke=True, device="cpu")
    return directory


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def size_without_games(run: Path, whole: Packed) -> int:
    """Return the bytes that `pack` needs for everything but games; `whole` is a copy with all of them."""
    copied = read_run(Path(whole.directory))[1]
    games = sum(shard.stamp.bytes for shard in copied.shards)
    return whole.bytes - games - len(copied.to_json()) + len(read_run(run)[1].to_json())


def test_a_copy_goes_on(source: Path, tmp_path: Path) -> None:
    (source / "progress").mkdir(exist_ok=True)
    (source / "progress" / "a.pgn").write_text("measured\n")
    before = contents(source)
    packed = pack(source, tmp_path / "small", 64)
    assert contents(source) == before
    assert (tmp_path / "small" / "progress" / "a.pgn").read_text() == "measured\n"
    assert packed.games == packed.all_games == read_run(source)[1].games
    assert packed.bytes == sum(path.stat().st_size for path in (tmp_path / "small").rglob("*") if path.is_file())
    card = json.loads(next((tmp_path / "small" / "learner").glob("*/learner.json")).read_text())
    assert not card["has_moments"]
    more = train(
        "gardner-laptop",
        run=tmp_path / "small",
        overrides=(*SETTINGS[:-1], "selfplay.cycles=5"),
        smoke=True,
        device="cpu",
    )
    assert (more.reason, more.cycle) == ("complete", 5)
    assert set(more.scores) == {"heuristic-1"}  # the untrained net is not in the copy
    step = read_run(tmp_path / "small")[1].learner
    assert step is not None
    assert step.step > card["step"]


def test_the_newest_games_come_first(source: Path, tmp_path: Path) -> None:
    """Of the oldest file only the newest games have room, and the entry says which."""
    state = read_run(source)[1]
    whole = pack(source, tmp_path / "whole", 64)
    room = size_without_games(source, whole) + sum(shard.stamp.bytes for shard in state.shards) - 200
    less = pack(source, tmp_path / "less", room / (1 << 20))
    kept = read_run(tmp_path / "less")[1].shards
    assert less.bytes <= room
    assert [shard.name for shard in kept] == [shard.name for shard in state.shards]
    assert kept[1:] == state.shards[1:]
    before, after = (
        unpack_games((folder / kept[0].name).read_bytes()) for folder in (tmp_path / "whole", tmp_path / "less")
    )
    assert 0 < len(after) < len(before)
    assert after == before[-len(after) :]
    games = decode_games(after)
    assert (kept[0].first, kept[0].last) == (games[0].game_id, games[-1].game_id)
    assert (kept[0].games, kept[0].positions) == (len(games), sum(game.positions for game in games))
    assert less.games == whole.games - len(before) + len(after)


def test_a_copy_of_few_games_goes_on(source: Path, tmp_path: Path) -> None:
    """The newest file of games does not fit as a whole; the copy learns from a part of it and plays on."""
    state = read_run(source)[1]
    whole = pack(source, tmp_path / "whole", 64)
    room = size_without_games(source, whole) + state.shards[-1].stamp.bytes - 200
    little = pack(source, tmp_path / "little", room / (1 << 20))
    assert 0 < little.games < state.shards[-1].games
    settings = (*SETTINGS[:-1], "selfplay.cycles=4")
    more = train("gardner-laptop", run=tmp_path / "little", overrides=settings, smoke=True, device="cpu")
    assert (more.reason, more.cycle) == ("complete", 4)


def test_a_copy_without_games_says_so(source: Path, tmp_path: Path, run: Command) -> None:
    """Nothing but games is nearly as large as allowed: the copy is made, and a line says what would be enough."""
    whole = pack(source, tmp_path / "whole", 64)
    rest = size_without_games(tmp_path / "whole", whole)
    (tmp_path / "whole" / "progress").mkdir(exist_ok=True)
    (tmp_path / "whole" / "progress" / "large").write_bytes(bytes((2 << 20) - rest - 100))
    done = run("pack", str(tmp_path / "whole"), str(tmp_path / "small"), "--mib", "2")
    assert (done.code, "with 0 of 24 games." in done.out) == (0, True)
    assert done.err.startswith("selfmate: no game fits into 2 MiB; ")
    enough = done.err.split("give --mib ")[1].split()[0]
    done = run("pack", str(tmp_path / "whole"), str(tmp_path / "enough"), "--mib", enough)
    assert (done.code, done.err) == (0, "")
    assert "with 0 of" not in done.out


def test_a_run_on_a_read_only_disk_can_be_packed_and_inherited(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that opens, makes or removes a file below the run fails, as on a read-only disk."""

    def refuse(path: object, writes: bool) -> None:
        if writes and isinstance(path, str | Path) and Path(path).is_relative_to(source):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    io_open, os_open, mkdir, truncate = io.open, os.open, os.mkdir, os.truncate

    def open_file(path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        refuse(path, any(letter in mode for letter in "wax+"))
        return io_open(path, mode, *arguments, **options)

    def open_descriptor(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        refuse(path, bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)))
        return os_open(path, flags, *arguments, **options)

    def make_folder(path: Any, *arguments: Any, **options: Any) -> None:
        refuse(path, True)
        mkdir(path, *arguments, **options)

    def cut(path: Any, length: int) -> None:
        refuse(path, True)
        truncate(path, length)

    monkeypatch.setattr(io, "open", open_file)
    monkeypatch.setattr(os, "open", open_descriptor)
    monkeypatch.setattr(os, "mkdir", make_folder)
    monkeypatch.setattr(os, "truncate", cut)
    with pytest.raises(OSError, match="Read-only file system"):
        (source / "new").write_text("")
    assert pack(source, tmp_path / "small", 64).games == 24
    more = train(
        "gardner-laptop",
        run=tmp_path / "next",
        overrides=(*SETTINGS[:-1], "selfplay.cycles=4"),
        smoke=True,
        device="cpu",
        source=source,
    )
    assert (more.reason, more.cycle) == ("complete", 4)


def test_what_cannot_be_packed(source: Path, tmp_path: Path, run: Command) -> None:
    (tmp_path / "there").mkdir()
    for arguments, message in (
        ((tmp_path / "nowhere", tmp_path / "a"), "not a run"),
        ((source, tmp_path / "there"), "already exists; choose a new folder"),
        ((source, tmp_path / "no" / "such"), "there is no folder"),
        ((source, tmp_path / "a", "--mib", "inf"), "expected a number from 1 to 1,000,000,000, not 'inf'"),
        ((source, tmp_path / "a", "--mib", "nan"), "--mib"),
    ):
        done = run("pack", *map(str, arguments))
        assert (done.code, message in done.err, done.err.count("\n")) == (2, True, 1), done.err
    with pytest.raises(RunError, match="a copy needs at least 1 MiB even without games"):
        pack(source, tmp_path / "tiny", 0.01)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there"]


def test_a_damaged_run_is_not_copied(source: Path, tmp_path: Path) -> None:
    pack(source, tmp_path / "copy", 64)
    shard = next((tmp_path / "copy" / "games").iterdir())
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(RunError, match=rf"{shard.name}: checksum mismatch: the file was changed or is damaged"):
        pack(tmp_path / "copy", tmp_path / "other", 64)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("name", ["recipe.toml", "metrics.jsonl"])
def test_a_run_that_could_not_be_resumed_is_not_copied(name: str, source: Path, tmp_path: Path) -> None:
    pack(source, tmp_path / "copy", 64)
    damaged = tmp_path / "copy" / name
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(RunError, match=rf"{name}: .*: the file was changed or is damaged; restore it from a copy"):
        pack(tmp_path / "copy", tmp_path / "other", 64)
    assert not (tmp_path / "other").exists()
