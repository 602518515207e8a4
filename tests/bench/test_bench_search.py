"""The benchmarks of search, nets, self-play and learner: what they report, on small cases."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from command import Run
from selfmate import Position, SelfmateError
from selfmate._core import Search, SearchConfig
from selfmate.bench import nn as bench_nn
from selfmate.bench import search as bench_search
from selfmate.bench import selfplay as bench_selfplay
from selfmate.bench import tactics as bench_tactics
from selfmate.bench import train as bench_train
from selfmate.bench.report import BenchReport, show
from selfmate.bench.search import POSITIONS
from selfmate.evaluator.base import NATIVE
from selfmate.search.player import Player

TACTICS = Path(__file__).parents[1] / "tactics"


def shown(report: BenchReport) -> str:
    """Return the printed report; its values must be JSON."""
    json.dumps(report.as_json())
    text = io.StringIO()
    show(report, Console(file=text, width=150))
    return text.getvalue()


def test_trees_of_the_positions_grow_full() -> None:
    for fen in POSITIONS:
        for name in NATIVE:
            search = Search(Position("atomic", fen), SearchConfig(), 800)
            search.run(name)
            assert search.visits == 800


def test_search() -> None:
    told: list[tuple[int, int, str]] = []
    report = bench_search.search(
        visits=50, trees=1, games=4, repeats=1, tell=lambda done, total, note: told.append((done, total, note))
    )
    assert [row["evaluator"] for row in report.values["trees"]] == list(NATIVE)
    for row in report.values["trees"]:
        assert row["playouts_per_second"] > 1000
        assert 24 <= row["bytes_per_edge"] <= 40
    assert report.values["games"]["playouts"] > 100
    assert [done for done, _, _ in told] == list(range(told[0][1]))
    assert "heuristic-1" in shown(report)


def test_collisions() -> None:
    report = bench_search.collisions(visits=(1000,), positions=POSITIONS[:2])
    for row in report.values["collisions"]:
        if row["virtual_loss"]:
            assert row["wasted"] < 0.01
            assert row["fill"] > 0.6
            assert row["seed_000"] == 300
    assert "11,000" in shown(report)


def test_tactics_counts_what_is_solved() -> None:
    report = bench_tactics.tactics(TACTICS / "gardner_mate1.epd", visits=10)
    assert report.lines[-1] == "60 solved of 60"
    assert report.values["missed"] == []
    report = bench_tactics.tactics(TACTICS / "gardner_mate1.epd", player=Player("random"), visits=1)
    solved = report.values["solved"]
    assert solved < 40
    assert len(report.values["missed"]) == 60 - solved
    assert shown(report).splitlines()[-1] == f"{solved} solved of 60"


@pytest.mark.parametrize(("moves", "share"), [(1, 0.99), (2, 0.95), (3, 0.8)])
@pytest.mark.parametrize("variant", ["atomic", "chess", "gardner"])
def test_the_heuristic_keeps_the_shortest_win(variant: str, moves: int, share: float) -> None:
    values = bench_tactics.tactics(TACTICS / f"{variant}_mate{moves}.epd").values
    assert values["solved"] >= share * values["positions"]


def test_bad_tactics_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SelfmateError, match=r"mates\.epd: there is no such file"):
        bench_tactics.tactics(tmp_path / "mates.epd")
    (tmp_path / "mates.epd").touch()
    with pytest.raises(SelfmateError, match="unknown variant 'mates'"):
        bench_tactics.tactics(tmp_path / "mates.epd")
    path = tmp_path / "chess_empty.epd"
    path.write_text("# nothing\n", encoding="ascii")
    with pytest.raises(SelfmateError, match="no position"):
        bench_tactics.tactics(path)
    path.write_text("what; e2e4; 1\n", encoding="ascii")
    with pytest.raises(SelfmateError, match=r"chess_empty\.epd: line 1"):
        bench_tactics.tactics(path)


def test_nn(tmp_path: Path) -> None:
    from selfmate.nn.checkpoint import save
    from selfmate.nn.config import GARDNER, NetConfig
    from selfmate.nn.net import Net
    from selfmate.nn.onnx import export_onnx

    report = bench_nn.nn(batches=(1, 8), repeats=1, seconds=0.01)
    speeds = report.values["evaluations_per_second"]
    assert {bench_nn.PLAIN, "torch, threads: 1"} < set(speeds)
    assert any(name.startswith("onnx-int8") for name in speeds)
    assert set(report.values["ratio"][bench_nn.PLAIN].values()) == {1.0}
    assert all(speed > 0 for backend in speeds.values() for speed in backend.values())
    assert "batch 8" in shown(report)

    net = Net(NetConfig.sized(GARDNER, "tiny", blocks=1, channels=8))
    save(net, tmp_path / "net")
    export_onnx(net, tmp_path / "net.onnx")
    for source in (tmp_path / "net", tmp_path / "net.onnx"):
        values = bench_nn.nn(net=source, batches=(3,), repeats=1, seconds=0.01).values
        assert values["variant"] == "gardner"
        assert any(backend.startswith("onnx") for backend in values["evaluations_per_second"])


def test_selfplay(tmp_path: Path) -> None:
    report = bench_selfplay.selfplay(seconds=0.5, trace=tmp_path / "trace.json")
    values = report.values
    assert 0.3 < values["evaluator_share"] <= 1.05  # counted by batches, some of which end after the time
    assert sum(values["lane_share"].values()) <= 1.05
    assert values["fill"] > 0.9
    assert values["evaluations_per_second"] > 100
    assert 0 < values["of_ceiling"] < 3
    assert "the evaluator alone" in shown(report)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["name"].split()[0] for event in events} >= {"gather", "evaluate", "apply"}
    assert all(event["dur"] >= 0 for event in events)


def test_train_speed() -> None:
    values = bench_train.train_speed(seconds=0.3, overrides=["learner.batch=64"]).values
    assert values["batch"] == 64
    assert values["samples_per_second"] > 64
    assert 0.05 < values["of_plain_loop"] < 3
    assert values["sampling"] > values["samples_per_second"]


# -- the commands -----------------------------------------------------------------------------------------------------


def test_commands(run: Run) -> None:
    code, out, err = run("bench", "tactics", str(TACTICS / "atomic_mate1.epd"), "--visits", "5")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "132 solved of 132"
    code, out, err = run("bench", "tactics", str(TACTICS / "atomic_mate1.epd"), "--player", "uniform", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["positions"] == 132
    code, out, err = run("bench", "search", "--visits", "20", "--repeats", "1", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["trees"][0]["visits"] == 20


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("tactics",), "FILE"),
        (("tactics", "/no/such/mates.epd"), "/no/such/mates.epd: there is no such file"),
        (("tactics", "/no/such/chess_mate.epd", "--variant", "chess"), "/no/such/chess_mate.epd"),
        (("tactics", str(TACTICS / "atomic_mate1.epd"), "--player", "nobody"), "nobody"),
        (("nn", "--size", "huge"), "tiny, small, medium"),
        (("nn", "--net", "/no/such/net.onnx"), "/no/such/net.onnx"),
        (("nn", "--backend", "onix"), "did you mean 'onnx'?"),
        (("agreement", "/no/such/net.onnx"), "/no/such/net.onnx"),
        (("selfplay", "nothing"), "unknown recipe 'nothing'"),
        (("selfplay", "--seconds", "0"), "seconds"),
    ],
)
def test_bad_input_is_one_line(run: Run, arguments: tuple[str, ...], part: str) -> None:
    code, out, err = run("bench", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert part in err
