"""The run directory: a commit is whole or not there, and what is not ours to read or to change is refused."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfmate import SelfmateError
from selfmate.recipe.reader import change, load, smoke
from selfmate.recipe.schema import Recipe
from selfmate.rundir import directory as run_module
from selfmate.rundir.directory import Run
from selfmate.rundir.format import FORMAT
from selfmate.rundir.games import pack_games, unpack_games
from selfmate.util.files import OUTPUT_ADVICE, FileError, check_target, new_folder, write_file, write_output

GARDNER = smoke(load("gardner-laptop"))
RECORDS = [bytes([number] * (20 + number)) for number in range(10)]


def open_run(directory: Path, recipe: Recipe = GARDNER, **options: Any) -> Run:
    return Run.open(directory, recipe, **{"name": "gardner-laptop", "smoke": True, **options})


def commit_cycle(run: Run, cycle: int) -> None:
    """Commit what a cycle leaves behind, with made-up contents."""
    shard = run.write_shard(cycle, cycle, [(10 * cycle + number, 3, record) for number, record in enumerate(RECORDS)])
    with run.new_folder(f"checkpoints/{cycle + 1:05}") as folder:
        write_file(folder / "net.json", b"{}")
    checkpoint = run.stamp(f"checkpoints/{cycle + 1:05}", cycle + 1, 0)
    with run.new_folder(f"learner/{cycle + 1:09}") as folder:
        write_file(folder / "learner.json", str(cycle).encode())
    learner = run.stamp(f"learner/{cycle + 1:09}", cycle, cycle + 1)
    run.log(stage="test", cycle=cycle)
    pgn = run.write_text(f"pgn/{cycle:05}.pgn", "*")
    run.commit(
        cycle=cycle + 1,
        champion=cycle + 1,
        shards=(*run.state.shards, shard),
        checkpoints=(*run.state.checkpoints, checkpoint),
        learner=learner,
        pgn=(*run.state.pgn, pgn),
    )


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def refusal(action: Callable[[], object]) -> str:
    """Give the one line with which an action is refused."""
    with pytest.raises(SelfmateError) as caught:
        action()
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


# -- files ----------------------------------------------------------------------------------------


def fail_at(monkeypatch: pytest.MonkeyPatch, number: int, code: int) -> None:
    """Let the file system fail from its `number`th sync or rename on."""
    calls = 0

    def failing(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls >= number:
                raise OSError(code, os.strerror(code))
            return real(*arguments, **options)

        return call

    monkeypatch.setattr(os, "fsync", failing(os.fsync))
    monkeypatch.setattr(Path, "replace", failing(Path.replace))
    monkeypatch.setattr(Path, "rename", failing(Path.rename))


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    write_file(tmp_path / "file", b"old")
    with monkeypatch.context() as patch:
        fail_at(patch, number, code)
        with pytest.raises(OSError if code == errno.EIO else FileError):
            write_file(tmp_path / "file", b"new")
    assert contents(tmp_path) == {"file": b"old"}


@pytest.mark.parametrize("number", range(1, 25))
def test_a_full_disk_at_any_moment_loses_nothing_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with open_run(tmp_path / "run") as run:
        commit_cycle(run, 0)
        before, old = contents(tmp_path / "run"), run.state
        with monkeypatch.context() as patch:
            fail_at(patch, number, errno.ENOSPC)
            try:
                commit_cycle(run, 1)
            except FileError as error:
                message = str(error)
            else:
                message = ""
    with open_run(tmp_path / "run") as run:
        if message:
            assert "nothing committed is lost" in message
            # At the very last sync the commit is there already, and may stay
            assert run.state.cycle in (1, 2)
        if run.state.cycle == 1:
            assert run.state == old
            assert contents(tmp_path / "run") == before
        commit_cycle(run, run.state.cycle)


def test_a_disk_that_is_nearly_full_is_not_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1 << 20))
    message = refusal(lambda: write_file(tmp_path / "file", b"data"))
    assert "nearly full (1 MiB free, 65 MiB needed)" in message
    assert not any(tmp_path.iterdir())


# -- games ----------------------------------------------------------------------------------------


def test_a_disk_that_is_nearly_full_is_found_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    check_target(tmp_path / "file")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1 << 20))
    with pytest.raises(FileError, match="the disk is nearly full"):
        check_target(tmp_path / "file")
    check_target(Path("/dev/null"))


def test_a_file_that_a_user_named_has_its_own_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is resumed by the same command, which is no advice for a PGN file or an exported net."""
    with monkeypatch.context() as patch:
        fail_at(patch, 1, errno.ENOSPC)
        with pytest.raises(FileError, match=f"No space left on device; {OUTPUT_ADVICE}$"):
            write_output(tmp_path / "net.onnx", b"new")
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1 << 20))
    message = rf"nearly full \(1 MiB free, 64 MiB needed\); {OUTPUT_ADVICE}$"
    with pytest.raises(FileError, match=message):
        check_target(tmp_path / "a.pgn")
    with pytest.raises(FileError, match=message):
        write_output(tmp_path / "a.pgn", b"")
    assert not any(tmp_path.iterdir())


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *arguments: Any, **options: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(OSError, match="Read-only") as caught:
        write_file(tmp_path / "file", b"new")
    assert caught.value.filename == str(tmp_path / "file")
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(OSError, match="Read-only") as caught, new_folder(tmp_path / "folder"):
        pass
    assert caught.value.filename == str(tmp_path / "folder")


def test_games_come_back_as_they_were() -> None:
    for records in ([], [b""], RECORDS):
        assert unpack_games(pack_games(records)) == records


def test_every_damage_to_games_is_seen() -> None:
    data = pack_games(RECORDS)
    for length in range(len(data)):
        assert refusal(lambda length=length: unpack_games(data[:length], "shard")).startswith("shard: ")  # type: ignore[misc]
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 0x10
        assert refusal(lambda changed=changed: unpack_games(bytes(changed), "shard")).startswith("shard: ")  # type: ignore[misc]
    refusal(lambda: unpack_games(data + b"more"))


# -- beginning and resuming -----------------------------------------------------------------------


def test_a_run_comes_back_as_it_was_committed(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", seed=7) as run:
        commit_cycle(run, 0)
        state = run.state
    with open_run(tmp_path / "run") as run:
        assert run.state == state
        assert run.manifest.seed == 7
        assert run.manifest.versions["core"]
        assert run.recipe == GARDNER
        assert run.read_shard(run.state.shards[0]) == RECORDS
        assert run.verify(run.state.newest()).name == "00001"


def test_what_was_not_committed_is_removed_and_the_rest_left_alone(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    with open_run(directory) as run:
        commit_cycle(run, 0)
        before = contents(directory)
        # A trainer that was killed in the midst of everything
        run.write_shard(1, 1, [(10, 1, b"never committed")])
        run.write_text("matches/00001-x.json", "{}")
        run.log(stage="never committed")
        (directory / "checkpoints/.00002.tmp").mkdir()
        (directory / "checkpoints/.00002.tmp/net.json").write_text("{")
        (directory / ".state.json.tmp").write_text("{")
    (directory / "notes.txt").write_text("mine")
    (directory / "games/README").write_text("mine too")
    open_run(directory).close()
    assert contents(directory) == before | {"notes.txt": b"mine", "games/README": b"mine too"}


def test_a_beginning_that_was_killed_begins_again(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    open_run(directory).close()
    (directory / "manifest.json").unlink()
    for folder in run_module.FOLDERS:
        (directory / folder).rmdir()
    (directory / "metrics.jsonl").unlink()
    (directory / ".manifest.json.tmp").write_text("{")
    open_run(directory).close()
    assert json.loads((directory / "manifest.json").read_text())["format"] == FORMAT


def test_two_trainers_do_not_share_a_run(tmp_path: Path) -> None:
    with open_run(tmp_path / "run"):
        assert "another trainer" in refusal(lambda: open_run(tmp_path / "run"))
    open_run(tmp_path / "run").close()


def test_a_run_on_a_read_only_disk_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_run(tmp_path / "run").close()
    open_path = Path.open

    def refuse(self: Path, *arguments: Any) -> Any:
        if self.name == "lock":
            raise OSError(errno.EROFS, "Read-only file system")
        return open_path(self, *arguments)

    monkeypatch.setattr(Path, "open", refuse)
    with Run.hold(tmp_path / "run"):
        pass
    with pytest.raises(OSError, match="Read-only"):
        open_run(tmp_path / "run")


def test_a_run_on_a_full_disk_can_be_read_and_gives_one_clear_error(tmp_path: Path) -> None:
    """The number of the process in the lock is the first thing that is written, and matters least."""
    open_run(tmp_path / "run").close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # every write to a file fails, as on a full disk
    try:
        with Run.hold(tmp_path / "run"):
            pass
        with pytest.raises(FileError, match="nothing committed is lost"):
            open_run(tmp_path / "new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_another_run_is_refused_and_never_overwritten(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    with open_run(directory) as run:
        commit_cycle(run, 0)
    before = contents(directory)
    atomic = smoke(load("atomic-laptop"))
    edited = change(GARDNER, ["learner.learning_rate=0.5"])
    assert "variant" in refusal(lambda: open_run(directory, atomic, name="atomic-laptop"))
    assert "recipe" in refusal(lambda: open_run(directory, name="other"))
    assert "seed" in refusal(lambda: open_run(directory, seed=5))
    assert "--smoke" in refusal(lambda: open_run(directory, smoke=False))
    assert "learner.learning_rate" in refusal(lambda: open_run(directory, edited))
    assert "cannot change at once" in refusal(lambda: open_run(directory, settings=["net.blocks=7"]))
    assert "cannot be changed" in refusal(lambda: open_run(directory, settings=["net.activation=mish"]))
    assert contents(directory) == before


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    assert "not a run" in refusal(lambda: open_run(tmp_path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]
    assert "not a directory" in refusal(lambda: open_run(tmp_path / "thesis.tex"))


@pytest.mark.parametrize("name", ["manifest.json", "state.json"])
def test_another_format_is_refused(tmp_path: Path, name: str) -> None:
    directory = tmp_path / "run"
    with open_run(directory) as run:
        commit_cycle(run, 0)
    values = json.loads((directory / name).read_text())
    (directory / name).write_text(json.dumps({"format": FORMAT + 1, "something": "new"}))
    assert f"format {FORMAT + 1}, newer than" in refusal(lambda: open_run(directory))
    (directory / name).write_text(json.dumps({"format": FORMAT - 1, "something": "old"}))
    assert f"format {FORMAT - 1}, older than" in (said := refusal(lambda: open_run(directory)))
    assert said.endswith(  # what to do
        "resume it with the version that started it (see manifest.json), or start a new run with another --run; "
        f"its nets can be played as they are, such as {directory}/checkpoints/00000"
    )
    for text in ("", "{", "[]", "null", json.dumps(values)[:-5], json.dumps({**values, "format": "x"})):
        (directory / name).write_text(text)
        assert name in refusal(lambda: open_run(directory))


def test_settings_are_kept_and_what_changes_later_is_appended(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    first, second = ["selfplay.visits=5"], ["selfplay.visits=6", "learner.reuse=2.0"]
    open_run(directory, settings=first).close()
    open_run(directory).close()  # the same command, with or without its settings
    with open_run(directory, settings=first) as run:
        assert run.recipe.selfplay.visits == 5
        assert not run.manifest.appendices
        commit_cycle(run, 0)
    open_run(directory, settings=second).close()
    with open_run(directory) as run:
        assert (run.recipe.selfplay.visits, run.recipe.learner.reuse) == (6, 2.0)
        [appendix] = run.manifest.appendices
        assert (appendix.cycle, list(appendix.settings)) == (1, second)


# -- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["games/00000-00.games", "checkpoints/00001/net.json", "learner/000000001/learner.json"]
)
def test_a_damaged_file_is_refused(tmp_path: Path, name: str) -> None:
    directory = tmp_path / "run"
    with open_run(directory) as run:
        commit_cycle(run, 0)
        state = run.state

        def read() -> None:
            assert state.learner is not None
            run.read_shard(state.shards[0])
            run.verify(state.newest())
            run.verify(state.learner)

        read()
        path = directory / name
        good = path.read_bytes()
        for bad in (good[:-1], good + b" ", bytes([good[0] ^ 1]) + good[1:], b"", b"x" * (1 << 20)):
            path.write_bytes(bad)
            assert name in refusal(read)
        path.unlink()
        assert name in refusal(read)
        path.write_bytes(good)
        read()
        (directory / "games/00000-00.games").unlink()
    assert "missing" in refusal(lambda: open_run(directory))


@pytest.mark.parametrize("name", ["games/../../victim", "/etc/passwd", "../victim", "games/.hidden", "state.json"])
def test_a_commit_cannot_name_files_of_others(tmp_path: Path, name: str) -> None:
    directory = tmp_path / "run"
    victim = tmp_path / "victim"
    victim.write_text("precious")
    with open_run(directory) as run:
        commit_cycle(run, 0)
    values = json.loads((directory / "state.json").read_text())
    for key in ("matches", "pgn"):
        (directory / "state.json").write_text(json.dumps({**values, key: [name]}))
        refusal(lambda: open_run(directory))
    values["shards"][0]["name"] = name
    (directory / "state.json").write_text(json.dumps(values))
    refusal(lambda: open_run(directory))
    assert victim.read_text() == "precious"


def test_metrics_that_lost_their_end_are_refused(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    with open_run(directory) as run:
        commit_cycle(run, 0)
    (directory / "metrics.jsonl").write_bytes(b"")
    assert "metrics.jsonl" in refusal(lambda: open_run(directory))


def test_old_checkpoints_go_but_not_all(tmp_path: Path) -> None:
    with open_run(tmp_path / "run") as run:
        for cycle in range(25):
            commit_cycle(run, cycle)
        kept = [checkpoint.cycle for checkpoint in run.state.checkpoints]
        assert kept == [10, 20, 22, 23, 24, 25]
        assert sorted(int(path.name) for path in (tmp_path / "run/checkpoints").iterdir()) == kept
        assert len(list((tmp_path / "run/learner").iterdir())) == 1


def test_a_run_without_its_last_commit_is_refused(tmp_path: Path) -> None:
    """What was trained is never taken for the leavings of a first moment."""
    directory = tmp_path / "run"
    with open_run(directory) as run:
        shard = run.write_shard(0, 0, [(0, 1, b"a game")])
        run.commit(shards=(shard,))
    (directory / "state.json").unlink()
    message = refusal(lambda: open_run(directory))
    assert "state.json is missing, but games/00000-00.games exists; restore it from a copy" in message
    assert (directory / "games/00000-00.games").exists()
    (directory / "games/00000-00.games").unlink()
    with open_run(directory) as run:
        assert run.state.cycle == 0
