"""The measurements beside other systems (bench/peers): that their counts are right, on small cases.

Tests that need JAX run another process, with the Python of SELFMATE_JAX_PYTHON (default: this one); pgx and mctx may be
in .carry/pgx (bench/peers/carry_pgx.sh). Without them these tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ours
import peer_report
import same_terms
import seed_designs
from selfmate import Position, SelfmateError, read_tactics
from selfmate._core import Pool, SearchConfig, Seat, SelfPlayConfig
from selfmate.evaluator.base import Evaluation, Evaluator
from selfmate.nn.leaves import LeafBatch, Leaves

TACTICS = Path(__file__).parents[1] / "tactics"
PEERS = Path(same_terms.__file__).parent
CARRY = PEERS.parents[1] / ".carry" / "pgx"
JAX_PYTHON = os.environ.get("SELFMATE_JAX_PYTHON", sys.executable)


class Uniform(Evaluator):
    """Uniform priors and equal chances; keeps the sizes of its batches."""

    name, net_id = "uniform", "0" * 64

    def __init__(self, variant: str = "atomic") -> None:
        self.variant = variant
        self.sizes: list[int] = []

    def evaluate(self, leaves: Leaves) -> Evaluation:
        """Return uniform priors."""
        self.sizes.append(leaves.size)
        real = np.arange(leaves.moves.shape[1]) < leaves.counts[:, None]
        priors = (real / leaves.counts[:, None]).astype(np.float32)
        return Evaluation(priors, np.full((leaves.size, 3), 1 / 3, np.float32), np.zeros(leaves.size, np.float32))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[object, str, str]]:
    """Run one of the commands in this process; return its exit code and output."""

    def run_command(main: Callable[[list[str]], None], *arguments: str) -> tuple[object, str, str]:
        code: object = 0
        try:
            main(list(arguments))
        except SystemExit as leaving:
            code = leaving.code
        out, err = capsys.readouterr()
        return code, out, err

    return run_command


# -- ours on the same terms -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_window_counts_its_moves_playouts_and_leaves(lanes: int) -> None:
    evaluator = Uniform("chess")
    pool = Pool(
        "chess",
        same_terms.search_config(),
        SelfPlayConfig(visits=8, full_probability=1, random_plies=0, temperature=0, max_plies=40),
        seed=1,
        slots=6,
        lanes=lanes,
        threads=1,
    )
    window = ours.play(pool, evaluator, lanes=lanes, device="cpu", seconds=0.3, warm_up=100)
    assert window.moves > 0
    assert window.seconds >= 0.3
    # The first moves of chess are neither forced nor decided, and most positions are not: eight playouts for a move.
    assert 7.5 * window.moves <= window.playouts <= 8 * window.moves
    # All leaves since the start, less the warm-up: at least 100, and at most a batch more.
    assert 100 <= sum(evaluator.sizes) - window.evaluations < 100 + pool.lane_rows
    assert window.batches == len(evaluator.sizes) - -(-100 // pool.lane_rows)
    # A root and its playouts, less those that ended by the rules; games that are not at their move's end count too.
    assert window.evaluations == pytest.approx(9 * window.moves, rel=0.2, abs=60)
    assert window.as_json()["moves_per_second"] == round(window.moves / window.seconds, 1)
    assert set(window.lane_seconds) == {"gather", "evaluate", "apply", "wait"}
    assert sum(window.lane_seconds.values()) <= lanes * window.seconds + 0.001


def test_a_search_goes_on_when_a_win_is_proven() -> None:
    problem = next(iter(read_tactics(TACTICS / "gardner_mate2.epd", "gardner")))
    visits = {}
    for name, config in (("terms", same_terms.search_config()), ("default", SearchConfig(gumbel=True))):
        pool = Pool("gardner", [Seat(visits=512, search=config)], max_plies=1, slots=2, threads=1)
        pool.start_games([(problem.position.fen(), 0, 0)] * 2)
        pool.run("heuristic-1")
        assert pool.searched_plies == 2
        visits[name] = pool.playouts / 2
    assert visits["default"] < 512
    assert visits["terms"] == 512


def test_ours_measures_every_number_of_games() -> None:
    rows = same_terms.measure_ours(
        "gardner", (2, 4), visits=4, blocks=1, channels=8, device="cpu", budget=0.1, lanes=(1, 2)
    )
    assert [(row["games"], row["lanes"]) for row in rows] == [(2, 1), (2, 2), (4, 1), (4, 2)]
    for row in rows:
        assert row["moves"] > 0
        assert row["simulations_missing"] == round(1 - row["playouts"] / (4 * row["moves"]), 5)
        assert row["mean_batch"] <= -(-row["games"] // row["lanes"])


def ours_row(variant: str, games: int, lanes: int, moves: float) -> dict[str, Any]:
    per_second = {"moves_per_second": moves, "playouts_per_second": 30 * moves, "evaluations_per_second": 33 * moves}
    return {"variant": variant, "games": games, "lanes": lanes, "simulations_missing": 0.0625} | per_second


PEER_ROW = {
    "game": "gardner_chess",
    "batch": 4,
    "moves_per_second": 50.0,
    "simulations_per_second": 1600,
    "evaluations_per_second": 1650,
}


def test_the_ratio_that_counts_is_the_smallest() -> None:
    measured = [ours_row("gardner", 4, 1, 400.0), ours_row("gardner", 4, 2, 500.0), ours_row("gardner", 8, 1, 600.0)]
    first, second = same_terms.compare(measured, [PEER_ROW])
    assert (first["games"], first["lanes"], first["ours_moves_per_second"]) == (4, 2, 500.0)
    assert first["ratios"] == {"moves": 10.0, "simulations": 9.38, "evaluations": 10.0}
    assert first["ratio"] == 9.38
    # A number of games that the peer did not play is compared with the peer's best; another variant with nothing.
    assert (second["games"], second["peer_games"], second["peer_moves_per_second"]) == (8, 4, 50.0)
    (alone,) = same_terms.compare([ours_row("chess", 8, 1, 600.0)], [PEER_ROW])
    assert (alone["ratio"], alone["peer_games"], alone["peer_moves_per_second"]) == (None, None, None)
    text = same_terms.shown([first, alone], ["gardner"])
    assert "| gardner | 4 | 4 | 2 | 500.0 | 50.00 | 10.00 | 9.38 | 10.00 | 6.25% |" in text
    assert "| chess | 8 | - | 1 | 600.0 | - | - | - | - | 6.25% |" in text
    assert "gardner: planes into the net" in text
    assert "chess: planes" not in text


def test_same_terms_with_figures_of_the_peer(tmp_path: Path, run: Callable[..., tuple[object, str, str]]) -> None:
    peer = tmp_path / "peer.json"
    peer.write_text(json.dumps({"rows": [PEER_ROW]}), encoding="utf-8")
    small = ["--device", "cpu", "--variants", "gardner", "--games", "4", "--visits", "4", "--seconds", "0.1"]
    small += ["--blocks", "1", "--channels", "8", "--lanes", "1"]
    code, out, err = run(same_terms.main, *small, "--peer-json", str(peer), "--json", "-")
    assert code == 0, err
    values = json.loads(out)
    (row,) = values["rows"]
    assert row["ratio"] == min(row["ratios"].values())
    assert row["ratios"]["moves"] == round(values["ours"][0]["moves_per_second"] / 50.0, 2)
    assert values["terms"]["visits"] == 4
    assert list(values["differences"]) == ["both", "gardner"]


# -- the designs of the seeds -----------------------------------------------------------------------------------------


def test_a_game_goes_on_by_itself() -> None:
    game, evaluator = seed_designs.Game(1, visits=20), Uniform()
    playouts = 0
    for _ in range(100):
        before = game.search.visits, game.moves
        leaves = game.gather(8)
        assert 1 <= leaves.size <= 8
        priors, wdl, _ = evaluator.evaluate(leaves)
        game.search.apply(leaves.ticket, priors, wdl)
        playouts += game.search.visits - (before[0] if game.moves == before[1] else 0)
    assert game.moves >= 20
    # A root needs an evaluation and is no playout; some playouts end by the rules and need none.
    assert sum(evaluator.sizes) - game.moves - 1 <= playouts


def test_rows_of_several_workers_become_one_batch() -> None:
    batches = []
    for seed, size in ((1, 3), (2, 5)):
        pool = Pool(
            "atomic",
            SearchConfig(),
            SelfPlayConfig(visits=4, full_probability=1, random_plies=10, temperature=0),
            seed=seed,
            slots=size,
            threads=1,
        )
        pool.start(0, size)
        leaves = pool.gather()
        width = int(leaves.counts.max())
        batches.append(LeafBatch(leaves.bits, leaves.scalars, leaves.moves[:, :width], leaves.counts, leaves.keys))
    together = seed_designs.joined(batches)
    assert together.size == 8
    assert together.moves.shape[1] == max(batch.moves.shape[1] for batch in batches)
    rows = [(batch, row) for batch in batches for row in range(batch.size)]
    for index, (batch, row) in enumerate(rows):
        count = batch.counts[row]
        assert (together.bits[index] == batch.bits[row]).all()
        assert (together.moves[index, :count] == batch.moves[row, :count]).all()
        assert together.counts[index] == count


def test_workers_are_served_through_the_queue() -> None:
    evaluator = Uniform()
    with seed_designs.Workers(3, visits=16, leaves=4) as workers:
        for count in (1, 3, 2):
            evaluator.sizes.clear()
            row = workers.serve(evaluator, count, 0.2)
            assert row["workers"] == count
            assert row["evaluations"] == sum(evaluator.sizes) > 0
            assert row["batches"] == len(evaluator.sizes)
            assert max(evaluator.sizes) <= 4 * count
            assert row["mean_batch"] == round(row["evaluations"] / row["batches"], 1)
        evaluator.sizes.clear()
        workers.serve(evaluator, 3, 0.2, largest=5)
        assert max(evaluator.sizes) <= 5
    assert not any(process.is_alive() for process in workers.processes)


def test_a_worker_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with seed_designs.Workers(2, visits=16, leaves=4) as workers:
        workers.processes[1].kill()
        workers.processes[1].join()
        monkeypatch.setattr(seed_designs, "START_SECONDS", 0.2)
        with pytest.raises(SelfmateError, match=r"worker 1 has exited|1 of 2 workers did not answer"):
            workers.serve(Uniform(), 2, 0.2)
    assert not any(process.is_alive() for process in workers.processes)


@pytest.mark.parametrize("under_way", [1, 2])
def test_one_tree_counts_its_leaves(under_way: int) -> None:
    evaluator = Uniform()
    found = seed_designs.one_tree(evaluator, 16, 0.2, under_way=under_way)
    assert found["evaluations"] > 16
    # What was still under way at the end is not counted.
    assert 0 <= sum(evaluator.sizes) - found["evaluations"] <= 16 * (under_way - 1) * found["trees"]
    assert max(evaluator.sizes) <= 16
    assert found["mean_batch"] > 8


def test_times_are_brought_into_the_rows_of_the_seed() -> None:
    spent = {"gather": 3.0, "evaluate": 6.0, "apply": 1.0, "leaves": 2000.0}
    found = seed_designs.components(spent, visits=100, positions_per_second=4000.0)
    assert found["moves"] == 20
    assert found["milliseconds_per_move"] == 500.0
    assert found["components"] == {
        "net": {"milliseconds": 300.0, "share": 0.6},
        "tree": {"milliseconds": 175.0, "share": 0.35},
        "legal moves": {"milliseconds": 25.0, "share": 0.05},
    }


def test_all_parts(run: Callable[..., tuple[object, str, str]]) -> None:
    small = ["--device", "cpu", "--seconds", "0.5", "--workers", "1,2", "--batches", "1,4", "--games", "8"]
    small += ["--visits", "20", "--blocks", "1", "--channels", "8"]
    code, out, err = run(seed_designs.main, *small, "--json", "-")
    assert code == 0, err
    values = json.loads(out)
    queue = values["queue"]
    assert [row["workers"] for row in queue["rows"]] == [1, 2]
    assert [row["pool"]["games"] for row in queue["rows"]] == [1, 2]
    assert queue["many_games"]["games"] == 8
    assert [row["batch"] for row in values["batches"]] == [1, 4]
    assert values["batches"][0]["speed_up"] == 1.0
    assert values["batches"][0]["one_tree"]["mean_batch"] == 1.0
    assert values["batches"][1]["one_tree"]["mean_batch"] > 1.5
    shares = values["shares"]
    for where in ("one_tree", "pool_one_lane", "pool"):
        assert list(shares[where]["components"]) == list(seed_designs.SEED_TABLE)
        assert sum(part["share"] for part in shares[where]["components"].values()) == pytest.approx(1, abs=0.001)
    assert seed_designs.queue_table(queue, 20).count("\n| ") == 3
    assert seed_designs.batches_table(values["batches"]).count("\n") == 3
    assert "| net | 120.0 | 65% |" in seed_designs.shares_table(shares)


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("main", "arguments", "part"),
    [
        (same_terms.main, ["--games", "0"], "from 1 on"),
        (same_terms.main, ["--games", "1024,many"], "'many'"),
        (same_terms.main, ["--variants", "gardener"], "chess, gardner"),
        (same_terms.main, ["--seconds", "nan"], "'nan'"),
        (same_terms.main, ["--device", "tpu"], "tpu"),
        (same_terms.main, ["--device", "cpu", "--peer-json", "/no/such/file.json"], "/no/such/file.json"),
        (same_terms.main, ["--device", "cpu", "--peer-json", __file__], "test_peers.py"),
        (same_terms.main, ["--device", "cpu", "--peer-python", "/no/such/python"], "/no/such/python"),
        (seed_designs.main, ["--parts", "queue,figures"], "queue, batches, shares"),
        (seed_designs.main, ["--workers", "-1"], "from 1 on"),
    ],
)
def test_bad_input_is_one_line(
    run: Callable[..., tuple[object, str, str]], main: Callable[[list[str]], None], arguments: list[str], part: str
) -> None:
    code, out, err = run(main, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert part in err


def test_a_peer_that_cannot_be_measured_is_named(run: Callable[..., tuple[object, str, str]]) -> None:
    """Ours is measured all the same, and the last line has the reason."""
    small = ["--device", "cpu", "--variants", "gardner", "--games", "2", "--visits", "2", "--seconds", "0.05"]
    small += ["--blocks", "1", "--channels", "8", "--lanes", "1", "--carry", str(PEERS / "nothing")]
    code, out, err = run(same_terms.main, *small, "--peer-python", sys.executable, "--peer-limit", "0.001")
    assert code == 1
    assert "| gardner | 2 | - | 1 |" in out
    assert err.splitlines()[-1] == "pgx + mctx was not measured, or not wholly: not done after 0 s"


def test_tables() -> None:
    text = peer_report.table(["a", "b"], [(1234, 0.5), (None, 12345.6), (99.994, 123.45)])
    assert text.splitlines()[2:] == ["| 1,234 | 0.50 |", "| - | 12,346 |", "| 99.99 | 123.5 |"]


# -- the peer ---------------------------------------------------------------------------------------------------------


def peer(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the peer with the Python that has jax."""
    environment = dict(os.environ, JAX_PLATFORMS="cpu")
    if CARRY.exists():
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(CARRY), environment.get("PYTHONPATH", "")]))
    command = [JAX_PYTHON, str(PEERS / script), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def _jax() -> None:
    if sys.executable == JAX_PYTHON:
        pytest.importorskip("jax", reason="needs JAX: pip install jax")
        if not CARRY.exists():
            for name in ("mctx", "pgx"):
                pytest.importorskip(name, reason=f"needs {name}: bench/peers/carry_pgx.sh")


@pytest.mark.usefixtures("_jax")
def test_the_peer_counts_its_moves() -> None:
    small = ["--games", "gardner_chess", "--batch", "3", "--simulations", "5", "--seconds", "0.2"]
    done = peer("pgx_mctx.py", *small, "--blocks", "1", "--channels", "8", "--platform", "cpu", "--json", "-")
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    (row,) = values["rows"]
    assert (row["game"], row["batch"], row["inputs"]) == ("gardner_chess", 3, 115)
    assert row["moves"] == 3 * row["steps"] > 0
    assert row["simulations"] == 5 * row["moves"]
    assert row["evaluations"] == 6 * row["moves"]
    assert row["moves_per_second"] == pytest.approx(row["moves"] / row["seconds"], rel=0.01)
    assert values["versions"]["pgx"] == "2.6.0"
    assert row.keys() >= same_terms.PEER_KEYS


@pytest.mark.usefixtures("_jax")
def test_the_peer_refuses_another_device() -> None:
    done = peer("pgx_mctx.py", "--platform", "gpu")
    assert (done.returncode, done.stdout) == (2, "")
    assert "computes on cpu here, not on gpu" in done.stderr.splitlines()[-1]


@pytest.mark.usefixtures("_jax")
@pytest.mark.parametrize(("game", "variant"), [("gardner_chess", "gardner"), ("chess", "chess")])
def test_both_sides_play_the_same_game(game: str, variant: str) -> None:
    """The same legal moves in every position of random games, and the same ends."""
    done = peer("pgx_rules.py", "--game", game, "--games", "16")
    assert done.returncode == 0, done.stderr
    games = json.loads(done.stdout)
    assert len(games) == 16
    for played in games:
        position = Position(variant)
        for ply in played["plies"]:
            assert position.outcome(claim_draw=True) is None
            ours_legal = {position.uci(move).removesuffix("q"): move for move in position.legal_moves}
            assert sorted(ours_legal) == ply["legal"]
            position.play(ours_legal[ply["move"]])
        outcome = position.outcome(claim_draw=True)
        if len(played["plies"]) < same_terms.MAX_PLIES[variant]:
            assert outcome is not None
        assert played["lost"] == (outcome is not None and outcome.winner is not None)
