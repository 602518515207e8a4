"""Reading a run: games, metrics and samples, also while it is damaged or being written."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import selfmate
from selfmate import GameRecord, Position, RecordError, Run, RunError, SelfmateError, _core
from selfmate.recipe.reader import load, smoke
from selfmate.rundir.directory import Run as TrainersRun
from selfmate.util.files import write_file

POLICY_SIZE = _core.encoding("gardner").policy_size


@pytest.fixture
def directory(games: list[GameRecord], tmp_path: Path) -> Path:
    """Return a run of two cycles, forty games and twenty."""
    place = tmp_path / "run"
    with TrainersRun.open(place, smoke(load("gardner-laptop")), name="gardner-laptop", smoke=True) as run:
        for cycle, played in enumerate((games[:40], games[40:])):
            records = [(game.game_id, game.positions, game.to_bytes()) for game in played]
            shard = run.write_shard(cycle, max(0, cycle - 1), records)
            run.log(stage="selfplay", cycle=cycle, games=len(played))
            run.log(stage="learn", cycle=cycle, policy=2.5 - cycle, nested={"a": 1})
            with run.new_folder(f"checkpoints/{cycle:05}") as folder:
                write_file(folder / "net.json", b"{}")
            checkpoint = run.stamp(f"checkpoints/{cycle:05}", cycle, 0)
            run.commit(
                cycle=cycle + 1,
                shards=(*run.state.shards, shard),
                checkpoints=(*run.state.checkpoints, checkpoint),
                games=run.state.games + len(played),
            )
    return place


def test_games_are_those_that_were_played(directory: Path, games: list[GameRecord]) -> None:
    run = Run.open(directory)
    assert (run.variant, run.cycle, run.state.games) == ("gardner", 2, 60)
    assert "gardner" in repr(run)
    assert [game.to_bytes() for game in run.games()] == [game.to_bytes() for game in games]
    for newest in (1, 19, 20, 21, 60, 1000):
        assert [game.game_id for game in run.games(newest=newest)] == [game.game_id for game in games[-newest:]]
    assert len(list(Run.open(str(directory)).games())) == 60


def test_metrics(directory: Path) -> None:
    run = Run.open(directory)
    assert [line["stage"] for line in run.metrics()] == ["selfplay", "learn"] * 2
    assert [line["policy"] for line in run.metrics("learn")] == [2.5, 1.5]
    assert run.metrics("nothing") == []
    with (directory / "metrics.jsonl").open("ab") as file:
        file.write(b"not committed")
    assert len(Run.open(directory).metrics()) == 4


def test_samples_have_the_targets_of_the_learner(directory: Path, games: list[GameRecord]) -> None:
    samples = list(Run.open(directory).samples())
    assert len(samples) == sum(game.positions for game in games)
    by_id = {game.game_id: game for game in games}
    results = set()
    for sample in samples:
        game = by_id[sample.game_id]
        assert sample.cycle == (0 if sample.game_id in [each.game_id for each in games[:40]] else 1)
        board = Position("gardner", game.start_fen)
        for move in game.moves[: sample.ply]:
            board.push(move)
        assert sample.position == board
        assert set(sample.policy) <= set(board.legal_moves)
        assert sum(sample.policy.values()) == pytest.approx(1)
        assert sample.plies == len(game.moves) - sample.ply
        expected = None
        if game.result != "*":
            white = {"1-0": 1.0, "0-1": -1.0, "1/2-1/2": 0.0}[game.result]
            expected = white if board.turn else -white
        assert sample.result == expected
        results.add((sample.result, board.turn))
    assert {(1.0, True), (-1.0, True), (1.0, False), (-1.0, False), (0.0, True), (None, True)} <= results


def test_a_batch_is_what_the_learner_draws(directory: Path, games: list[GameRecord]) -> None:
    buffer = _core.Buffer("gardner", 100_000, 1)
    for game in games:
        buffer.add(GameRecord.from_bytes(game.to_bytes()))
    batch, expected = Run.open(directory).batch(32, seed=5), buffer.sample(32, 5, True)
    for name in ("bits", "scalars", "policy_index", "policy_weight", "wdl", "plies", "game_ids"):
        np.testing.assert_array_equal(getattr(batch, name), getattr(expected, name))
    newest = Run.open(directory).batch(64, newest=1, mirror=False)
    assert len(set(newest.game_ids.tolist())) == 1


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(directory: Path, games: list[GameRecord], library: str) -> None:
    pytest.importorskip(library, reason=f"needs {library}")
    run = Run.open(directory)
    frame = run.games_frame(library=library)
    assert list(frame["game_id"]) == [game.game_id for game in games]
    assert list(frame["cycle"]) == [0] * 40 + [1] * 20
    assert list(frame["result"]) == [game.result for game in games]
    assert list(frame["plies"]) == [len(game.moves) for game in games]
    assert next(iter(frame["moves"])).split() == [move.uci() for move in games[0].moves]
    assert len(run.games_frame(newest=3, library=library)) == 3
    metrics = run.metrics_frame(library=library)
    assert (len(metrics), list(metrics["cycle"])) == (4, [0, 0, 1, 1])
    assert list(run.metrics_frame("learn", library=library)["policy"]) == [2.5, 1.5]
    samples = run.samples_frame(newest=5, library=library)
    assert len(samples) == sum(game.positions for game in games[-5:])
    assert all(Position("gardner", fen) for fen in samples["fen"])
    assert [len(moves) for moves in samples["moves"]] == [len(weights) for weights in samples["weights"]]


def test_an_empty_table_has_its_columns(directory: Path) -> None:
    run = Run.open(directory)
    assert list(run.metrics_frame("nothing").columns) == []
    run.state = _without_shards(run.state)
    assert list(run.games_frame().columns)[:2] == ["game_id", "cycle"]
    with pytest.raises(RecordError, match="no trained positions"):
        run.batch(4)


def _without_shards(state: Any) -> Any:
    import msgspec

    return msgspec.structs.replace(state, shards=())


# -- what cannot be read ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["nowhere", "", "\0", "x" * 5000, "x" * 1_000_000])
def test_no_run(place: str, tmp_path: Path) -> None:
    with pytest.raises(SelfmateError) as caught:
        Run.open(tmp_path / place)
    assert isinstance(caught.value, RunError)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["manifest.json", "state.json"])
@pytest.mark.parametrize("content", [b"", b"\xff\x00rubbish", b"[]", b'{"format": 99}'])
def test_damaged_json(directory: Path, name: str, content: bytes) -> None:
    (directory / name).write_bytes(content)
    with pytest.raises(RunError):
        Run.open(directory)


def test_damaged_games(directory: Path) -> None:
    shard = directory / Run.open(directory).state.shards[0].name
    data = shard.read_bytes()
    for content in (b"", data[:-1], data[:50] + b"\0" + data[51:], data + b"\0"):
        shard.write_bytes(content)
        with pytest.raises(RunError):
            list(Run.open(directory).games())
    shard.unlink()
    with pytest.raises(RunError, match="missing"):
        list(Run.open(directory).games())
    assert len(list(Run.open(directory).games(newest=20))) == 20  # the other file is whole


def test_damaged_metrics(directory: Path) -> None:
    path = directory / "metrics.jsonl"
    path.write_bytes(b"\xff" * len(path.read_bytes()))
    with pytest.raises(RunError):
        Run.open(directory).metrics()
    path.unlink()
    with pytest.raises(RunError):
        Run.open(directory).metrics()


@pytest.mark.parametrize("number", [0, -1, 1.5, float("nan"), "3", 10**30, True])
def test_numbers_out_of_range(directory: Path, number: Any) -> None:
    run = Run.open(directory)
    with pytest.raises(RunError, match="must be a whole number"):
        list(run.games(newest=number))
    with pytest.raises(RunError, match="must be a whole number"):
        run.batch(number)


@pytest.mark.parametrize("cycle", [-1, 1.5, float("nan"), "x", pytest.param(10**5000, id="5001 digits"), True])
def test_a_cycle_is_a_number(directory: Path, cycle: Any) -> None:
    with pytest.raises(RunError, match=r"^cycle must be a whole number from 0 to "):
        list(Run.open(directory).games(cycle=cycle))
    assert list(Run.open(directory).games(cycle=99)) == []


def test_the_stages_of_a_training_are_listed() -> None:
    """The docstring of `metrics` names what the trainer logs, and nothing else."""
    sources = Path(selfmate.__file__).parent.joinpath("train").glob("*.py")
    logged = {name for path in sources for name in re.findall(r'\blog\("(\w+)"', path.read_text())}
    assert Run.metrics.__doc__
    stages = Run.metrics.__doc__.partition("The stages of a training are ")[2].partition(" A run")[0]
    assert set(re.findall(r"`(\w+)`", stages)) == logged


def test_a_stage_is_a_name(directory: Path) -> None:
    for call in (Run.open(directory).metrics, Run.open(directory).metrics_frame):
        with pytest.raises(RunError, match=r"^stage must be the name of a step of the loop, such as 'learn', not 5$"):
            call(5)  # type: ignore[arg-type]


def test_a_run_on_a_read_only_disk_is_not_changed(directory: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    run = Run.open(copy)
    assert len(list(run.games())) == 60
    run.metrics()
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
