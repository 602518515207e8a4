"""Who sits where, round robins, and the bench of a match."""

from __future__ import annotations

import json

import numpy as np
import pytest

from selfmate import SelfmateError, bench_arena
from selfmate import seating as seating_module
from selfmate.bench_arena import Speed, Stretch
from selfmate.evaluator import Answer, Evaluator, Leaves
from selfmate.openings import balanced_openings
from selfmate.player import Player, PlayerError
from selfmate.population import round_robin
from selfmate.rating import fit, tally
from selfmate.seating import seat_players

OPENINGS = balanced_openings("gardner", 2, seed=3)


class Even(Evaluator):
    """A net that knows nothing."""

    name, variant = "even", "gardner"

    def __init__(self, net_id: str = "even", name: str = "even") -> None:
        self.net_id, self.name = net_id, name

    def evaluate(self, leaves: Leaves) -> Answer:
        priors = (np.arange(leaves.moves.shape[1]) < leaves.counts[:, None]) / np.maximum(leaves.counts[:, None], 1)
        thirds = np.full((leaves.size, 3), 1 / 3, np.float32)
        return Answer(priors.astype(np.float32), thirds, np.zeros(leaves.size, np.float32))


# -- seats ----------------------------------------------------------------------------------------


def test_players_with_the_same_net_share_it() -> None:
    players = [Player(Even("a")), Player(Even("b")), Player("uniform"), Player(Even("a")), Player("uniform")]
    seating = seat_players("gardner", players, [8, 8, 4, 2, 4], games=8)
    assert [seat.evaluator for seat in seating.seats] == [0, 1, 2, 0, 2]
    assert len(seating.evaluators) == seating.pool.evaluators == 3
    # The same net by another backend has other answers.
    assert len(seat_players("gardner", [Player(Even()), Player(Even(name="int8"))], [1, 1], 8).evaluators) == 2
    with pytest.raises(PlayerError, match="plays gardner, not chess"):
        seat_players("chess", players, [1] * 5, games=8)


def test_games_at_once_fit_the_nets(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def batch(net: Evaluator, most: int) -> tuple[int, dict[int, float]]:
        asked.append(most)
        return {"a": 128, "b": 256}[net.net_id], {}

    monkeypatch.setattr(seating_module, "best_batch", batch)
    monkeypatch.setattr(seating_module, "cores", lambda: 2)
    players = [Player(Even("a")), Player(Even("b"))]
    # Two lanes of two batches of the net that wants the larger ones
    many = seat_players("gardner", players, [8, 8], games=10_000)
    assert (many.lanes, many.slots, many.pool.lane_rows) == (2, 2 * 2 * 256, 256)
    assert "1,024 games at once in 2 lanes: nets are nearly as fast as they get with 256 leaves" in many.why
    # One net in both seats needs one batch in each lane.
    assert seat_players("gardner", [players[0], players[0]], [8, 9], games=10_000).slots == 2 * 128
    # Few games are all played at once, and nothing is measured.
    asked.clear()
    few = seat_players("gardner", players, [8, 8], games=40)
    assert (few.slots, few.pool.lane_rows, asked) == (40, 20, [])
    # Trees must have room in memory.
    monkeypatch.setattr(seating_module, "room_for_trees", lambda visits: 1000 // visits)
    assert seat_players("gardner", players, [8, 100], games=10_000).slots == 10
    # Who says how many is obeyed.
    assert seat_players("gardner", players, [8, 8], games=10_000, slots=77).slots == 77


# -- round robins ---------------------------------------------------------------------------------


def test_everybody_plays_everybody_with_either_colour() -> None:
    players = [Player("heuristic-1"), Player(Even()), Player("random"), Player("heuristic-1")]
    heard: list[tuple[int, int]] = []
    report = round_robin(
        players,
        "gardner",
        OPENINGS,
        visits=[32, 8, 8, 4],
        names=["strong", "net", "random", "weak"],
        max_plies=80,
        tell=lambda done, games: heard.append((done, games)),
    )
    assert report.complete
    assert report.visits == (32, 8, 0, 4)
    assert len(report.rows) == report.games == 2 * 6 * 2
    met = [(row.white, row.black) for row in report.rows]
    for one in report.names:
        for other in report.names:
            assert met.count((one, other)) == (0 if one == other else len(OPENINGS))
    for first, second in zip(report.records[::2], report.records[1::2], strict=True):
        assert first.start_fen == second.start_fen
        assert (first.white_seat, first.black_seat) == (second.black_seat, second.white_seat)
    assert sum(map(report.points, report.names)) == report.games
    assert report.points("strong") > report.points("random")
    assert heard[-1] == (24, 24)
    values = json.loads(json.dumps(report.as_json()))
    assert values["rows"][0] == ["strong", "net", report.rows[0].result]
    rated = fit(tally(report.rows), anchors={"random": 0.0})
    assert {rating.player for rating in rated.players} == set(report.names)


def test_a_pair_plays_the_same_games_whoever_else_is_there() -> None:
    players = [Player("heuristic-1"), Player("uniform"), Player("fake")]

    def games(count: int) -> list[tuple[str, ...]]:
        report = round_robin(players[:count], "gardner", OPENINGS, visits=[16] * count, max_plies=40)
        return [
            (record.start_fen, *(move.uci() for move in record.moves))
            for record in report.records
            if {record.white_seat, record.black_seat} == {0, 1}
        ]

    assert games(2) == games(3)


def test_a_game_that_was_cut_off_is_a_draw_and_a_stop_is_told() -> None:
    players = [Player("random"), Player("uniform")]
    cut = round_robin(players, "gardner", OPENINGS, visits=[0, 2], max_plies=2)
    assert {row.result for row in cut.rows} == {"1/2-1/2"}
    assert cut.points("random") == 2.0
    stopped = round_robin(players, "gardner", OPENINGS, visits=[0, 2], stopping=lambda: True)
    assert (stopped.complete, stopped.rows) == (False, [])
    some = round_robin([*players, Player("fake")], "gardner", OPENINGS, visits=[0, 2, 2], max_plies=2, pairs=[(0, 2)])
    assert {frozenset((row.white, row.black)) for row in some.rows} == {frozenset(("random", "fake"))}


def test_bad_round_robins_are_refused() -> None:
    with pytest.raises(SelfmateError, match="a name of its own"):
        round_robin([Player("fake"), Player("fake")], "gardner", OPENINGS, visits=[1, 1])
    with pytest.raises(SelfmateError, match="two players or more"):
        round_robin([Player("fake")], "gardner", OPENINGS, visits=[1])


# -- the bench ------------------------------------------------------------------------------------


def test_the_ceiling_weighs_each_evaluator_by_its_leaves() -> None:
    tops = [Speed(100.0, 50.0), Speed(300.0, 150.0)]
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
