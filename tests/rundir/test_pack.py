"""A packed run: small, complete in itself, and it goes on; the run that it was made from stays as it was."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from command import Run as Command
from selfmate.rundir.directory import read_run
from selfmate.rundir.format import RunError
from selfmate.rundir.pack import pack
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
    state = read_run(source)[1]
    whole = pack(source, tmp_path / "whole", 64)
    less = pack(source, tmp_path / "less", (whole.bytes - state.shards[0].stamp.bytes // 2) / (1 << 20))
    kept = [shard.name for shard in read_run(tmp_path / "less")[1].shards]
    assert 0 < less.games < whole.games
    assert kept == [shard.name for shard in state.shards[-len(kept) :]]


def test_what_cannot_be_packed(source: Path, tmp_path: Path, run: Command) -> None:
    (tmp_path / "there").mkdir()
    for arguments, message in (
        ((tmp_path / "nowhere", tmp_path / "a"), "not a run"),
        ((source, tmp_path / "there"), "already exists; choose a new folder"),
        ((source, tmp_path / "no" / "such"), "there is no folder"),
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
