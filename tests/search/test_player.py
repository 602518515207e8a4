"""Players: specs, limits, and the results of searches."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from selfmate import VARIANTS, Position, SearchError
from selfmate.errors import PlayerError
from selfmate.match.openings import balanced_openings
from selfmate.nn.shipped import shipped
from selfmate.search.limit import Clock, Limit
from selfmate.search.player import Player
from selfmate.search.result import Result
from selfmate.search.spec import find_net, net_of_run
from selfmate.search.tree_session import TreeSession

MATE_IN_ONE = "4k/2r1P/p2QB/PpP2/4K w - - 0 16"


@pytest.fixture(scope="session")
def nets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run of two tiny Gardner nets, and one of them as an ONNX file."""
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'selfmate[train]'")
    from selfmate.nn.checkpoint import save
    from selfmate.nn.config import GARDNER, NetConfig
    from selfmate.nn.net import Net
    from selfmate.nn.onnx import export_onnx
    from selfmate.recipe.reader import load, smoke
    from selfmate.rundir.directory import Run

    folder = tmp_path_factory.mktemp("nets")
    with Run.open(folder / "small", smoke(load("gardner-laptop")), name="small", smoke=True) as run:
        for cycle in (0, 3):
            net = Net(NetConfig.sized(GARDNER, "tiny", blocks=1, channels=8), seed=cycle)
            with run.new_folder(f"checkpoints/{cycle:05}") as checkpoint:
                card = save(net, checkpoint)
            stamped = run.stamp(f"checkpoints/{cycle:05}", cycle, step=cycle)
            run.commit(checkpoints=(*run.state.checkpoints, stamped), champion=cycle)
    export_onnx(net, folder / "net.onnx", card)
    return folder


# -- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limit",
    [
        {},
        {"visits": 0},
        {"visits": -1},
        {"nodes": 0},
        {"visits": 1 << 40},
        {"seconds": 0.0},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
        {"depth": 3},
        {"mate": 2},
        {"clock": Clock(60.0)},
        {"visits": 9, "clock": Clock(60.0)},
    ],
)
def test_an_impossible_limit_is_refused(limit: dict[str, object]) -> None:
    with pytest.raises(PlayerError):
        Player("uniform").search(Position("gardner"), Limit(**cast(dict[str, Any], limit)))


def test_visits_and_nodes_are_kept() -> None:
    player, position = Player("heuristic-1"), Position("atomic")
    assert player.search(position, Limit(visits=5000)).visits == 5000
    assert player.search(position, Limit(nodes=3000)).nodes in (3000, 3001)
    assert player.search(position, Limit(visits=100, nodes=5000)).visits == 100


def test_seconds_are_kept() -> None:
    began = time.perf_counter()
    result = Player("uniform").search(Position("chess"), Limit(seconds=0.1))
    assert 0.1 <= time.perf_counter() - began < 2
    assert result.visits > 100
    assert result.seconds >= 0.1
    assert result.nodes_per_second > 0


# -- results ----------------------------------------------------------------------------------------------------------


def check(result: Result, position: Position) -> None:
    """Check what must hold of every result."""
    assert {each.move for each in result.moves} == set(position.legal_moves)
    assert result.best == result.moves[0].move == result.pv[0]
    assert -1 <= result.value <= 1
    assert sum(result.wdl) == pytest.approx(1)
    assert result.wdl[0] - result.wdl[2] == pytest.approx(result.value, abs=1e-5) or result.visits == 0
    assert sum(each.prior for each in result.moves) == pytest.approx(1, abs=1e-3) or result.proven is not None
    for each in result.moves:
        line = position.copy()
        for move in each.pv:
            line.play(move)


@pytest.mark.parametrize("spec", ["heuristic-1", "uniform", "fake", "random"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_players_of_the_core_play_every_variant(spec: str, variant: str) -> None:
    position = Position(variant)
    before = position.fen()
    result = Player(spec).search(position, Limit(visits=200))
    check(result, position)
    assert result.visits == (0 if spec == "random" else 200)
    assert position.fen() == before


def test_the_same_search_gives_the_same_result_and_noise_another() -> None:
    player, position, limit = Player("heuristic-1"), Position("chess"), Limit(visits=300)

    def visits(**options: object) -> list[int]:
        return [each.visits for each in player.search(position, limit, **options).moves]  # type: ignore[arg-type]

    assert visits() == visits()
    assert visits(noise=True, seed=1) == visits(noise=True, seed=1) != visits(noise=True, seed=2)


def test_every_player_makes_the_engines_choice() -> None:
    """The surest move is played, not the most visited one, by a search alone as by one that keeps its tree."""
    player, differ = Player("heuristic-1"), 0
    for fen in balanced_openings("atomic", 40, seed=3):
        position = Position("atomic", fen)
        result = player.search(position, Limit(visits=300))
        session = TreeSession(player.evaluator)
        session.begin(position, Limit(visits=300))
        kept = session.run()
        assert result.best == kept.best
        most = max(result.moves, key=lambda each: each.visits)
        differ += result.proven is None and result.best != most.move
    assert 2 <= differ <= 20


def test_random_depends_on_the_seed() -> None:
    player, position, limit = Player("random"), Position("chess"), Limit(visits=1)
    chosen = [player.search(position, limit, seed=seed).best for seed in range(20)]
    assert len(set(chosen)) > 3
    assert player.search(position, limit, seed=7).best == chosen[7]


def test_a_forced_win_is_found_and_the_shortest_kept() -> None:
    result = Player("heuristic-1").search(Position("gardner", MATE_IN_ONE), Limit(visits=50))
    assert (result.proven, result.value, result.wdl) == (1, 1.0, (1.0, 0.0, 0.0))


def test_a_game_that_is_over_cannot_be_searched() -> None:
    mated = Position("chess", "7k/5QQ1/6K1/8/8/8/8/8 b - - 0 1")
    for spec in ("heuristic-1", "random"):
        with pytest.raises(SearchError, match="over"):
            Player(spec).search(mated, Limit(visits=10))


# -- nets -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("small", "small cycle 3"),
        ("small:champion", "small cycle 3"),
        ("small:untrained", "small untrained"),
        ("small:newest", "small cycle 3"),
        ("small:0", "small untrained"),
        ("small/checkpoints/00003", "small cycle 3"),
        ("small/checkpoints/00003/net.json", "small cycle 3"),
        ("small/checkpoints/00003/net.safetensors", "small cycle 3"),
        ("small/checkpoints/00003:untrained", "small cycle 3 untrained"),
        ("net.onnx", "net"),
    ],
)
def test_a_spec_means_a_net(nets: Path, spec: str, name: str) -> None:
    player = Player(str(nets / spec), threads=1)
    assert (player.name, player.variant) == (name, "gardner")
    position = Position("gardner")
    result = player.search(position, Limit(visits=100))
    check(result, position)
    assert result.visits == 100


def test_a_net_in_memory_or_as_an_evaluator_plays_too(nets: Path) -> None:
    from selfmate.evaluator.open import open_evaluator
    from selfmate.nn.checkpoint import load

    net, _ = load(nets / "small/checkpoints/00003")
    limit, position = Limit(visits=50), Position("gardner")
    first = Player(net, threads=1).search(position, limit)
    second = Player(open_evaluator(nets / "net.onnx", threads=1)).search(position, limit)
    assert [each.visits for each in first.moves] == [each.visits for each in second.moves]


def test_a_shipped_net_has_an_untrained_twin() -> None:
    trained, twin = Player("gardner-laptop", threads=1), Player("gardner-laptop:untrained", threads=1)
    assert (twin.name, twin.variant, twin.path) == ("gardner-laptop untrained", "gardner", None)
    position = Position("gardner")
    spread = {
        player.name: np.std([each.prior for each in player.search(position, Limit(visits=50)).moves])
        for player in (trained, twin)
    }
    assert 0 < 10 * spread[twin.name] < spread[trained.name]
    with pytest.raises(PlayerError, match="gardner-laptop untrained is in no file; give a net's folder"):
        find_net("gardner-laptop:untrained")


def test_time_of_a_net_is_kept(nets: Path) -> None:
    result = Player(nets / "net.onnx", threads=1).search(Position("gardner"), Limit(seconds=0.1))
    assert 0.1 <= result.seconds < 2
    assert result.visits > 10


def test_a_net_plays_its_variant_alone(nets: Path) -> None:
    with pytest.raises(PlayerError, match="net plays gardner, not atomic"):
        Player(nets / "net.onnx").search(Position("atomic"), Limit(visits=1))


def test_playing_an_onnx_file_needs_no_torch(nets: Path) -> None:
    code = (
        "import sys; from selfmate import Limit, Player, Position; "
        f"Player({str(nets / 'net.onnx')!r}).search(Position('gardner'), Limit(visits=9)); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# -- bad specs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ("heuristic", "did you mean 'heuristic-1'?"),
        ("Random", "did you mean 'random'?"),
        ("", "unknown player ''"),
        ("gardner-laptp", "did you mean 'gardner-laptop'?"),
        ("gardner-laptop:7", "did you mean 'gardner-laptop'?"),
        ("heuristic-1:untrained", "did you mean 'heuristic-1'?"),
        ("nobody", "valid players: uniform, heuristic-1, random, 3check-gpu, antichess-gpu, atomic-gpu, chess-gpu"),
        ("uci:stockfish", "engines play in selfmate arena and selfmate ladder"),
        ("heuristic-1?visits=5", "here write heuristic-1 and options"),
        ("/no/such/net", "'/no/such/net': no such file or folder; valid players: "),
        ("/no/such/net.onnx", "no such file or folder"),
        ("nul\0", "unknown player"),
        ("x" * 10_000, "unknown player"),
        ("/tmp", "neither a net"),
        (__file__, "neither a net"),
        ("two\nlines", "unknown player 'two\\nlines'"),
    ],
)
def test_a_wrong_spec_is_refused_in_one_line(spec: str, part: str) -> None:
    with pytest.raises(PlayerError) as refused:
        Player(spec)
    assert part in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_run_without_that_net_is_refused(nets: Path, tmp_path: Path) -> None:
    with pytest.raises(PlayerError, match="valid names: champion, untrained, newest, and the cycles 0, 3"):
        Player(str(nets / "small:7"))
    run = tmp_path / "run"
    shutil.copytree(nets / "small", run)
    state = json.loads((run / "state.json").read_text())
    (run / "state.json").write_text(json.dumps(state | {"format": 99}))
    with pytest.raises(PlayerError, match="format 99, newer than"):
        net_of_run(run)
    (run / "state.json").write_text('{"format": 1, "all": "else"}')
    with pytest.raises(PlayerError, match=r"format 1, older than .* such as .*/checkpoints/00000") as refused:
        net_of_run(run)
    assert (
        Player(str(refused.value).rpartition("such as ")[2]).name == "small untrained"
    )  # it says the truth; a copy keeps its name
    (run / "state.json").write_text(json.dumps(state | {"checkpoints": []}))
    with pytest.raises(PlayerError, match="no net yet"):
        net_of_run(run)
    (run / "state.json").write_text("{")
    with pytest.raises(PlayerError, match="damaged"):
        net_of_run(run)
    (run / "state.json").unlink()
    with pytest.raises(PlayerError, match="no net yet"):
        net_of_run(run)


def test_a_run_nearby_is_suggested(nets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(nets / "small", tmp_path / "runs/small")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlayerError, match="did you mean 'runs/small'"):
        Player("small")


def test_a_shipped_net_plays_by_its_name() -> None:
    for net in shipped():
        player = Player(net.name)
        assert (player.name, player.variant) == (net.name, net.variant)
        assert player.search(Position(net.variant), Limit(visits=8)).visits == 8
