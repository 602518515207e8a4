"""The pool of a match: seats and games at once, round robins, and the bench of a match."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from selfmate import SelfmateError, read_games
from selfmate._core import GameRecord
from selfmate.bench import arena as bench_arena
from selfmate.bench.arena import Stretch
from selfmate.bench.ceiling import EvaluatorSpeed
from selfmate.errors import PlayerError
from selfmate.evaluator.base import Evaluation, Evaluator
from selfmate.match import pool as pool_module
from selfmate.match.match_file import MatchFile
from selfmate.match.openings import balanced_openings
from selfmate.match.options import MatchOptions
from selfmate.match.plan import make_plan
from selfmate.match.pool import MatchPool, make_match_pool
from selfmate.match.runner import play_games
from selfmate.match.schedule import schedule
from selfmate.match.tournament import play
from selfmate.nn.leaves import Leaves
from selfmate.search.player import Player

OPENINGS = balanced_openings("gardner", 2, seed=3)


class Even(Evaluator):
    """A net that knows nothing."""

    name, variant = "even", "gardner"

    def __init__(self, net_id: str = "even", name: str = "even") -> None:
        self.net_id, self.name = net_id, name

    def evaluate(self, leaves: Leaves) -> Evaluation:
        priors = (np.arange(leaves.moves.shape[1]) < leaves.counts[:, None]) / np.maximum(leaves.counts[:, None], 1)
        thirds = np.full((leaves.size, 3), 1 / 3, np.float32)
        return Evaluation(priors.astype(np.float32), thirds, np.zeros(leaves.size, np.float32))


# -- seats ----------------------------------------------------------------------------------------


def test_players_with_the_same_net_share_it() -> None:
    players = [Player(Even("a")), Player(Even("b")), Player("uniform"), Player(Even("a")), Player("uniform")]
    match = make_match_pool("gardner", players, [8, 8, 4, 2, 4], games=8)
    assert [seat.evaluator for seat in match.seats] == [0, 1, 2, 0, 2]
    assert len(match.evaluators) == match.pool.evaluators == 3
    # The same net by another backend has other answers.
    assert len(make_match_pool("gardner", [Player(Even()), Player(Even(name="int8"))], [1, 1], 8).evaluators) == 2
    with pytest.raises(PlayerError, match="plays gardner, not chess"):
        make_match_pool("chess", players, [1] * 5, games=8)


def test_games_at_once_fit_the_nets(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def batch(net: Evaluator, most: int) -> tuple[int, dict[int, float]]:
        asked.append(most)
        return {"a": 128, "b": 256}[net.net_id], {}

    monkeypatch.setattr(pool_module, "best_batch", batch)
    monkeypatch.setattr(pool_module, "cores", lambda: 2)
    players = [Player(Even("a")), Player(Even("b"))]
    # A batch for the other lane and one for each net, of the size that the larger one wants
    many = make_match_pool("gardner", players, [8, 8], games=10_000)
    assert (many.lanes, many.slots, many.pool.lane_rows) == (2, 3 * 256, 256)
    assert "768 games at once in 2 lanes: nets are nearly as fast as they get with 256 leaves" in many.why
    # One net in both seats needs one batch in each lane.
    assert make_match_pool("gardner", [players[0], players[0]], [8, 9], games=10_000).slots == 2 * 128
    # Few games are all played at once, and nothing is measured.
    asked.clear()
    few = make_match_pool("gardner", players, [8, 8], games=40)
    assert (few.slots, few.pool.lane_rows, asked) == (40, 20, [])
    # Trees must have room in memory.
    monkeypatch.setattr(pool_module, "room_for_trees", lambda visits: 1000 // visits)
    assert make_match_pool("gardner", players, [8, 100], games=10_000).slots == 10
    # Who says how many is obeyed.
    assert make_match_pool("gardner", players, [8, 8], games=10_000, slots=77).slots == 77


def test_a_gpu_has_full_batches_and_games_left_to_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "best_batch", lambda net, most: (min(4096, most), {}))
    players = [Player(Even("a", name="torch on cuda")), Player(Even("b", name="torch on cuda"))]

    def seat(games: int, visits: int) -> tuple[int, int, int]:
        found = make_match_pool("gardner", players, [visits, visits], games=games)
        return found.lanes, found.slots, found.pool.lane_rows

    # Games enough for five batches and half as many more, and twice as many to follow
    assert seat(100_000, 64) == (4, 5 * 4096 * 3 // 2, 4096)
    # Fewer games have more leaves each, if the search is long enough for that.
    assert seat(20_000, 64) == (4, 5 * 1024 * 3 // 2, 4096)
    assert seat(20_000, 8) == (4, 5 * 1000 * 3 // 2, 1000)
    # Few games are all played at once, and go into one batch if they wait for the same net.
    assert seat(200, 64) == (4, 200, 800)


# -- round robins ---------------------------------------------------------------------------------


def test_everybody_plays_everybody_with_either_colour_in_one_pool(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pools: list[int] = []

    def seat(*arguments: Any, **options: Any) -> MatchPool:
        pools.append(arguments[3])
        return make_match_pool(*arguments, **options)

    monkeypatch.setattr("selfmate.match.pool_games.make_match_pool", seat)
    names = ["heuristic-1?visits=32&name=strong", "uniform?visits=8", "random", "heuristic-1?visits=4&name=weak"]
    plan, players = make_plan(MatchOptions(players=names, variant="gardner", pairs=2, max_plies=80))
    with MatchFile(tmp_path / "games.pgn", plan.settings) as file:
        report = play(plan, players, file)
    assert report.complete
    assert pools == [24]
    assert len(report.entries) == report.games == 2 * 6 * 2
    met = [(entry.white, entry.black) for entry in report.entries]
    assert all(met.count((one, other)) == 2 * (one != other) for one in range(4) for other in range(4))
    for first, second in zip(report.entries[::2], report.entries[1::2], strict=True):
        assert (first.white, first.black) == (second.black, second.white)
    assert report.match(0, 2).score > 0.5
    games = sorted(read_games(tmp_path / "games.pgn"), key=lambda game: int(game.headers["Round"]))
    assert [game.headers["FEN"] for game in games[::2]] == [game.headers["FEN"] for game in games[1::2]]


def test_a_pair_plays_the_same_games_whoever_else_is_there() -> None:
    players = [Player("heuristic-1"), Player("uniform"), Player("fake")]

    def games(count: int) -> list[tuple[str, ...]]:
        records: list[GameRecord] = []
        scheduled = schedule(count, OPENINGS)
        pool = make_match_pool("gardner", players[:count], [16] * count, len(scheduled))
        play_games(pool, scheduled, on_finished=records.extend)
        return [
            (record.start_fen, *(move.uci() for move in record.moves))
            for record in sorted(records, key=lambda record: record.game_id)
            if {record.white_seat, record.black_seat} == {0, 1}
        ]

    assert games(2) == games(3)


# -- the bench ------------------------------------------------------------------------------------


def test_the_ceiling_weighs_each_evaluator_by_its_leaves() -> None:
    tops = [EvaluatorSpeed(100.0, 50.0), EvaluatorSpeed(300.0, 150.0)]
    # 100 leaves take the first a second, 300 the second one; in four seconds half of the ceiling was reached.
    assert Stretch([100, 300], seconds=4.0, processor=5.0).of_ceiling(tops) == pytest.approx((0.5, 0.8))


def test_the_bench_plays_a_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_arena, "CEILING_SECONDS", 0.05)
    monkeypatch.setattr(bench_arena, "_players", lambda *_: [Player(Even("a")), Player(Even("b"))])
    report = bench_arena.arena(games=12, visits=4, max_plies=10)
    values = json.loads(json.dumps(report.as_json()))
    assert (values["games"], values["slots"], values["variant"]) == (12, 12, "gardner")
    assert values["evaluations_per_second"] > 0
    assert values["of_ceiling"] == pytest.approx(values["evaluations_per_second"] / values["ceiling"], rel=0.01)
    assert sum(values["lane_share"].values()) <= 1.0


def test_the_bench_refuses_what_has_no_ceiling() -> None:
    with pytest.raises(SelfmateError, match="only nets have a ceiling"):
        bench_arena.arena(nets=["uniform", "fake"], games=2)
    with pytest.raises(SelfmateError, match="two players, not 1"):
        bench_arena.arena(nets=["uniform"], games=2)
