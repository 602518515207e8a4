"""The pool: leaves in buffers of the caller, games that are stopped and resumed, and seats."""

from __future__ import annotations

import _thread
import itertools
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from selfmate import WHITE, IllegalMove, Move, Position, RecordError, SearchError, SelfmateError, Termination
from selfmate._core import GameRecord, LeafBuffers, Pool, ScoreRules, SearchConfig, Seat, SelfPlayConfig
from selfmate._core import encoding as encoding_of
from selfmate.errors import EvaluatorError
from selfmate.evaluator.base import Evaluation, Evaluator, EvaluatorLane
from selfmate.nn.leaves import Leaves
from selfmate.recipe.reader import change, load
from selfmate.search import autotune as pool_module
from selfmate.search.driver import drive
from selfmate.train.selfplay import choose_concurrency


def make_pool(variant: str = "gardner", games: int = 40) -> Pool:
    pool = Pool(
        variant,
        SearchConfig(gumbel=True),
        SelfPlayConfig(
            visits=12,
            fast_visits=4,
            full_probability=0.5,
            random_plies=3,
            temperature=1.0,
            temperature_plies=8,
            max_plies=60,
        ),
        seed=7,
        slots=16,
        lanes=2,
        threads=2,
        leaves_per_slot=2,
    )
    pool.start(0, games)
    return pool


def play_on(pool: Pool, turns: int | None = None) -> None:
    for turn in itertools.count():
        if pool.done() or turn == turns:
            return
        leaves = pool.gather()
        if leaves.size:
            pool.apply_native(leaves.ticket, "fake")


@pytest.mark.parametrize("variant", ["gardner", "atomic"])
def test_leaves_in_memory_of_others_are_the_same(variant: str) -> None:
    plain, into = make_pool(variant), make_pool(variant)
    rows, encoding = into.lane_rows, encoding_of(variant)
    arrays = (
        np.full(rows * encoding.bitboards, 99, np.uint64),
        np.full(rows * encoding.scalars, 99, np.float32),
        np.zeros(rows * encoding.max_moves, np.uint16),
        np.zeros(rows, np.uint16),
    )
    room = LeafBuffers(*arrays, [8, 12, 16, 20, 24, 28, 32, encoding.max_moves])
    widths = set()
    for _ in range(60):
        leaves = plain.gather()
        into.gather_into(room)
        assert (room.size, room.ticket) == (leaves.size, leaves.ticket)
        if not leaves.size:
            continue
        bits, scalars, moves, counts = arrays
        widths.add(room.width)
        assert room.width >= leaves.counts.max()
        assert (bits[: leaves.bits.size].reshape(leaves.bits.shape) == leaves.bits).all()
        assert (scalars[: leaves.scalars.size].reshape(leaves.scalars.shape) == leaves.scalars).all()
        assert (counts[: leaves.size] == leaves.counts).all()
        written = moves[: leaves.size * room.width].reshape(leaves.size, room.width)
        for row in range(leaves.size):
            count = leaves.counts[row]
            assert (written[row, :count] == leaves.moves[row, :count]).all()
        for pool in (plain, into):
            pool.apply_native(leaves.ticket, "fake")
    assert len(widths) > 1


def test_a_room_that_is_too_small_is_refused() -> None:
    facts = encoding_of("gardner")
    room = LeafBuffers(
        np.zeros(facts.bitboards, np.uint64), np.zeros(facts.scalars, np.float32), np.zeros(128, np.uint16),
        np.zeros(1, np.uint16), [128],
    )  # fmt: skip
    with pytest.raises(SearchError, match="room for 1 leaves, not"):
        make_pool().gather_into(room)
    bits, scalars, moves = np.zeros(1, np.uint64), np.zeros(1, np.float32), np.zeros(1, np.uint16)
    with pytest.raises(ValueError, match="as many rows"):
        LeafBuffers(bits, scalars, moves, np.zeros(2, np.uint16), [8])


@pytest.mark.parametrize("turns", [1, 40, 150, 400])
def test_games_in_flight_go_on_as_they_would_have(turns: int) -> None:
    """Stopped anywhere, saved and taken up in another pool, every game is the one that it would have been."""
    whole = make_pool()
    play_on(whole)
    expected = {record.game_id: record.to_bytes() for record in whole.drain()}
    stopped = make_pool()
    play_on(stopped, turns)
    finished = stopped.drain()
    saved = [GameRecord.from_bytes(record.to_bytes()) for record in stopped.unfinished_games()]
    assert saved
    begun = {record.game_id for record in (*finished, *saved)}
    other = make_pool(games=0)
    other.resume(saved)
    assert {record.game_id for record in other.unfinished_games()} == {record.game_id for record in saved}
    for game in sorted(set(expected) - begun):
        other.start(game, 1)
    play_on(other)
    found = {record.game_id: record.to_bytes() for record in (*finished, *other.drain())}
    assert found == expected


def test_a_game_of_another_variant_is_not_taken_up() -> None:
    stopped = make_pool("atomic")
    play_on(stopped, 3)
    with pytest.raises(RecordError, match="a game of atomic in a pool of gardner"):
        make_pool("gardner").resume(stopped.unfinished_games())


# -- games at once --------------------------------------------------------------------------------


def chosen(
    monkeypatch: pytest.MonkeyPatch, speeds: dict[int, float], *settings: str, gpu: bool = False
) -> tuple[int, str, list[int]]:
    """Choose for an evaluator of these speeds; batches that are missing do not fit into its memory."""
    asked: list[int] = []

    def speed(evaluator: Evaluator, rows: int) -> float | None:
        asked.append(rows)
        return speeds.get(rows)

    monkeypatch.setattr(pool_module, "_batch_speed", speed)
    recipe = change(load("atomic"), settings)
    evaluator = SimpleNamespace(name="torch on cuda" if gpu else "onnx")
    slots, rows, why = choose_concurrency(recipe, cast(Evaluator, evaluator), 3)
    assert rows in (0, *speeds)
    return slots, why, asked


FAST = {64: 1e5, 128: 2e5, 256: 4e5, 512: 6e5, 1024: 8e5, 2048: 9e5, 4096: 9.8e5, 8192: 1e6}


def test_the_games_at_once_fit_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    # 2,048 leaves are evaluated at nine tenths of the best speed; the recipe has four leaves of each game.
    slots, why, asked = chosen(monkeypatch, FAST)
    assert slots == 3 * 2048 // 4
    assert "1,536 games at once in 3 lanes: 2,048 leaves are evaluated at 900,000/s, more of them at 1,000,000/s" in why
    assert asked == list(FAST)
    # A GPU has half more of them than full batches need.
    assert chosen(monkeypatch, FAST, gpu=True)[0] == 3 * 3 * 2048 // 4 // 2
    # What does not fit into the device's memory is not taken, and nothing larger is tried.
    assert chosen(monkeypatch, {64: 1e5, 128: 1.2e5})[0] == 3 * 128 // 4
    # A slow device is not kept busy for minutes.
    assert chosen(monkeypatch, dict.fromkeys(FAST, 600.0))[2] == [64]
    # The recipe's own number counts.
    assert chosen(monkeypatch, FAST, "selfplay.slots=77")[0] == 77
    with pytest.raises(EvaluatorError, match="too little memory for 64 leaves"):
        chosen(monkeypatch, {})


def test_the_trees_have_room_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MEMORY_SHARE", 1e-9)
    slots, why, _ = chosen(monkeypatch, FAST)
    assert slots == 3
    assert "the trees of more would not fit into memory" in why


# -- seats ----------------------------------------------------------------------------------------

START = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"
OPENINGS = [START, "rnbqk/1pppp/p4/1PPPP/RNBQK w - - 0 2", "rnbqk/pp1pp/2p2/PPP1P/RNBQK w - - 0 2"]


def games_of(records: list[GameRecord]) -> dict[int, tuple[str, int, int, str, list[str]]]:
    return {
        record.game_id: (
            record.start_fen,
            record.white_seat,
            record.black_seat,
            record.result,
            [move.uci() for move in record.moves],
        )
        for record in records
    }


def test_many_seats_play_as_if_each_game_were_alone() -> None:
    """Three seats on two evaluators, in one pool of two lanes, and every game in a pool of its own."""
    searches = [SearchConfig(), SearchConfig(gumbel=True, gumbel_scale=0.0), SearchConfig(cpuct=3.0)]
    seats = [
        Seat(visits=visits, evaluator=evaluator, search=search)
        for visits, evaluator, search in zip((24, 12, 16), (0, 1, 0), searches, strict=True)
    ]
    pairs = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]
    games = [(opening, white, black) for opening in OPENINGS for white, black in pairs]
    pool = Pool("gardner", seats, max_plies=40, slots=7, lanes=2, threads=2)
    pool.start_games(games, first_game=100)
    drive(pool, ["heuristic-1", "fake"], lanes=2)
    together = games_of(pool.drain())
    assert [game[:3] for game in together.values()] == games
    assert list(together) == list(range(100, 118))
    alone: dict[int, Any] = {}
    for number, game in enumerate(games, start=100):
        pool = Pool("gardner", seats, max_plies=40, slots=1, threads=1)
        pool.start_games([game], first_game=number)
        drive(pool, ["heuristic-1", "fake"], lanes=1)
        alone |= games_of(pool.drain())
    assert together == alone
    assert len({tuple(game[4]) for game in together.values()}) > 12  # the seats differ


def test_ctrl_c_ends_the_lanes_too() -> None:
    """Lanes that ran on would abort the process at its exit."""
    pool = Pool("gardner", [Seat(visits=100_000)], slots=4, lanes=2, threads=1)
    pool.start_games([(OPENINGS[0], 0, 0)] * 4)
    batches: list[int] = []

    def interrupt(leaves: int) -> None:
        batches.append(leaves)
        if len(batches) == 3:
            _thread.interrupt_main()

    with pytest.raises(KeyboardInterrupt):
        drive(pool, ["heuristic-1"], lanes=2, tell=interrupt)
    played = len(batches)
    time.sleep(0.3)
    assert len(batches) == played


def test_leaves_of_seats_with_one_evaluator_are_one_batch() -> None:
    pool = Pool("gardner", [Seat(visits=50), Seat(visits=9), Seat(visits=9, evaluator=1)], slots=6, threads=1)
    pool.start_games([(START, 0, 1), (START, 1, 0), (START, 2, 0)] * 2)
    assert (pool.evaluators, pool.lane_rows) == (2, 6)
    leaves = pool.gather(0)
    assert leaves.size == 4
    assert pool.gather(1).size == 2


@pytest.mark.parametrize("batch", [1, 3, 5])
def test_small_batches_take_the_games_in_turn(batch: int) -> None:
    """Batches without room for every game: none is left behind, and none is another game than with room."""
    seats = [Seat(visits=6), Seat(visits=9, evaluator=1), Seat(visits=0)]
    games = [(opening, white, black) for opening in OPENINGS for white, black in ((0, 1), (1, 0), (0, 2), (2, 1))]
    played = []
    for limit in (0, batch):
        pool = Pool("gardner", seats, seed=4, max_plies=24, slots=8, threads=2, batch=limit)
        pool.start_games(games)
        assert pool.lane_rows == (limit or 8)
        sizes: list[int] = []
        while not pool.done():
            waiting = pool.games_to_evaluate()
            evaluator = waiting.index(max(waiting))
            leaves = pool.gather(evaluator)
            sizes.append(leaves.size)
            if leaves.size:
                pool.apply_native(leaves.ticket, ("heuristic-1", "fake")[evaluator])
        assert max(sizes) == limit if limit else max(sizes) > 5
        played.append(games_of(pool.drain()))
    assert played[0] == played[1]


def test_waiting_says_who_is_asked_next() -> None:
    pool = Pool("gardner", [Seat(visits=5), Seat(visits=5, evaluator=2), Seat.external()], slots=6, batch=2)
    assert pool.games_to_evaluate() == [0, 0, 0]
    pool.start_games([(START, 0, 1)] * 3 + [(START, 1, 0)] + [(START, 2, 0)] * 2)
    assert pool.gather(0).size == 2
    assert pool.games_to_evaluate() == [1, 0, 1]  # two are on their way
    assert pool.gather(2).size == 1
    assert pool.games_to_evaluate() == [1, 0, 0]


def test_lanes_share_the_games_and_no_game_is_in_two_batches() -> None:
    """Evenly, or the first takes what it has room for; few games are not spread over many lanes then."""
    for greedy, games, sizes in (
        (False, 12, [4, 4, 4, 0]),
        (True, 12, [4, 4, 4, 0]),
        (False, 5, [2, 2, 1, 0]),
        (True, 5, [4, 1, 0, 0]),
        (False, 1, [1, 0, 0, 0]),
    ):
        pool = Pool("gardner", [Seat(visits=9)], slots=12, lanes=3, threads=1, batch=4, greedy=greedy)
        pool.start_games([(START, 0, 0)] * games)
        batches = [pool.gather() for _ in range(4)]
        assert [batch.size for batch in batches] == sizes, (greedy, games)
        assert (pool.idle(), pool.games_to_evaluate()) == (True, [0])
        news = pool.event_count
        pool.apply_native(batches[0].ticket, "uniform")  # those games go on, the others are still on their way
        assert (pool.idle(), pool.games_to_evaluate(), pool.event_count > news) == (False, [sizes[0]], True)
        assert pool.gather().size == sizes[0]


def test_a_greedy_gather_waits_for_a_full_batch_while_two_are_on_their_way() -> None:
    pool = Pool("gardner", [Seat(visits=9)], slots=12, lanes=4, threads=1, batch=4, greedy=True)
    pool.start_games([(START, 0, 0)] * 11)
    first, second, third = (pool.gather() for _ in range(3))
    assert [first.size, second.size, third.size] == [4, 4, 0]
    assert (pool.idle(), pool.games_to_evaluate()) == (True, [3])
    pool.apply_native(first.ticket, "uniform")  # now there is only one, and more games wait than a batch has room for
    assert (pool.idle(), pool.games_to_evaluate()) == (False, [7])
    assert pool.gather().size == 4
    assert (pool.idle(), pool.gather().size) == (True, 0)
    pool.apply_native(second.ticket, "uniform")
    assert pool.gather().size == 4


def test_a_seat_without_visits_asks_nobody() -> None:
    pool = Pool("gardner", [Seat(visits=0)], seed=3, slots=2, max_plies=200)
    pool.start_games([(START, 0, 0)] * 4)
    assert pool.evaluators == 0
    drive(pool, [], lanes=1)
    records = pool.drain()
    assert len(records) == 4
    assert all(record.reason for record in records if record.outcome)
    assert len({tuple(record.moves) for record in records}) == 4


def test_seats_and_openings_that_do_not_exist_are_refused() -> None:
    pool = Pool("gardner", [Seat(visits=4), Seat(visits=4, evaluator=1)])
    with pytest.raises(SearchError, match="no seat 2; there are 2"):
        pool.start_games([(START, 0, 1), (START, 0, 2)])
    with pytest.raises(SelfmateError, match="rank"):
        pool.start_games([(START, 0, 1), ("rnbqk/ppppp/5/PPPPP w - - 0 1", 0, 1)])
    assert pool.done()  # nothing was added
    with pytest.raises(EvaluatorError, match="2 evaluators are asked for, not 1"):
        drive(pool, ["uniform"], lanes=1)
    with pytest.raises(ValueError, match="1 to 256 seats"):
        Pool("gardner", [])


# -- moves of external players ---------------------------------------------------------------------------


def outside_pool(games: int = 6, *, slots: int = 4, lanes: int = 1) -> Pool:
    pool = Pool("gardner", [Seat(visits=8), Seat.external()], max_plies=30, slots=slots, lanes=lanes, threads=1)
    pool.start_games([(START, number % 2, 1 - number % 2) for number in range(games)])
    return pool


def test_games_wait_for_moves_of_external_players() -> None:
    pool = outside_pool(games=2, slots=2)
    assert pool.take_move_requests() == []  # no game has begun
    leaves = pool.gather()
    assert leaves.size == 1
    [(slot, game_id, opening, moves)] = pool.take_move_requests()
    assert (slot, game_id, opening, moves) == (1, 1, START, [])
    assert pool.take_move_requests() == []  # each once
    assert pool.idle()  # the other one's leaf is on its way
    pool.apply_native(leaves.ticket, "uniform")
    assert not pool.idle()
    while not pool.idle():
        leaves = pool.gather()
        if leaves.size:
            pool.apply_native(leaves.ticket, "uniform")
    assert not pool.done()
    [(slot, game_id, opening, moves)] = pool.take_move_requests()
    assert (slot, game_id, opening, len(moves)) == (0, 0, START, 1)
    # An illegal move is refused with the reason, and the game waits on.
    for text, why in (("a2a4", "cannot go there"), ("a4a3", "belongs to the other side"), ("c3c4", "no piece")):
        with pytest.raises(IllegalMove, match=why):
            pool.play(1, Move.from_uci(text))
    pool.play(1, Move.from_uci("a2a3"))
    with pytest.raises(SearchError, match="no game in slot 1 waits"):
        pool.play(1, Move.from_uci("a4a3"))
    assert not pool.idle()
    assert [record.moves for record in pool.unfinished_games() if record.game_id == 1] == [[Move.from_uci("a2a3")]]
    with pytest.raises(SearchError, match="no game in slot 9 waits"):
        pool.play(9, Move.from_uci("a2a3"))
    with pytest.raises(SearchError, match=r"an external seat needs Pool\.play"):
        pool.run("uniform")


@pytest.mark.parametrize("result", ["1-0", "0-1", "1/2-1/2", "*"])
def test_a_referee_ends_a_game(result: str) -> None:
    pool = outside_pool(games=2, slots=1)
    leaves = pool.gather()
    assert leaves.size == 1
    while leaves.size:
        pool.apply_native(leaves.ticket, "uniform")
        leaves = pool.gather()
    assert pool.idle()
    with pytest.raises(ValueError, match="a result is"):
        pool.forfeit(0, "2-0", "why")
    with pytest.raises(SearchError, match="waits"):
        pool.forfeit(0, result, "nobody was asked yet")
    [(slot, *_)] = pool.take_move_requests()
    pool.forfeit(slot, result, "seat 1 crashed")
    [record] = pool.drain()
    assert (record.result, record.reason, len(record.moves)) == (result, "seat 1 crashed", 1)
    assert (record.outcome is None) == (result == "*")
    if record.outcome:
        assert record.outcome.termination == Termination.ADJUDICATED
    # The next game takes its place.
    pool.gather()
    assert [game_id for _, game_id, _, _ in pool.take_move_requests()] == [1]


def test_records_of_matches_keep_seats_and_reason() -> None:
    pool = Pool("gardner", [Seat(visits=4), Seat.external(), Seat.external()], slots=1)
    pool.start_games([(START, 2, 1)])
    pool.gather()
    pool.play(pool.take_move_requests()[0][0], Move.from_uci("a2a3"))
    [(slot, *_)] = pool.take_move_requests()
    flight = GameRecord.from_bytes(pool.unfinished_games()[0].to_bytes())
    pool.forfeit(slot, "1-0", "time")
    [record] = pool.drain()
    again = GameRecord.from_bytes(record.to_bytes())
    assert (again.white_seat, again.black_seat, again.result, again.reason) == (2, 1, "1-0", "time")
    assert again.to_bytes() == record.to_bytes()
    # A game in flight goes on between the same seats.
    other = Pool("gardner", [Seat(visits=4), Seat.external(), Seat.external()], slots=1)
    other.resume([flight])
    other.gather()
    [(_, game_id, opening, moves)] = other.take_move_requests()
    assert (game_id, opening, moves) == (0, START, [Move.from_uci("a2a3")])
    with pytest.raises(RecordError, match="no seat 2"):
        Pool("gardner", [Seat(visits=4), Seat.external()]).resume([flight])


def test_castling_from_outside_may_be_written_either_way() -> None:
    fen = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1"
    pool = Pool("chess", [Seat.external()], slots=1)
    pool.start_games([(fen, 0, 0)])
    pool.gather()
    for text in ("e1g1", "e8a8"):
        [(slot, *_)] = pool.take_move_requests()
        pool.play(slot, Move.from_uci(text))
    [(_, _, _, moves)] = pool.take_move_requests()
    assert [move.uci() for move in moves] == ["e1h1", "e8a8"]


# -- ends by score, and games in their order ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "end"),
    [
        (ScoreRules(), None),
        (ScoreRules(resign=(600, 2, 0)), (4, "1-0", "Black resigns by score")),
        (ScoreRules(resign=(600, 2, 3)), (6, "1-0", "Black resigns by score")),
        (ScoreRules(resign=(601, 2, 0)), None),
        (ScoreRules(win=(500, 3, 0)), (6, "1-0", "won by score")),
        (ScoreRules(win=(550, 1, 0)), None),
        (ScoreRules(draw=(600, 1, 0)), (2, "1/2-1/2", "drawn by score")),
    ],
)
def test_games_end_by_what_the_players_say(rules: ScoreRules, end: tuple[int, str, str] | None) -> None:
    pool = Pool("gardner", [Seat.external()], slots=1, max_plies=8, rules=rules)
    pool.start_games([(START, 0, 0)])
    pool.gather()
    scores: list[int | None] = []
    while not pool.done():
        [(slot, _, opening, moves)] = pool.take_move_requests()
        position = Position("gardner", opening)
        for move in moves:
            position.play(move)
        scores.append(500 if position.turn else -600)
        pool.play(slot, min(position.legal_moves, key=str), scores[-1])
    [record] = pool.drain()
    assert record.scores == scores
    assert (len(record.moves), record.result, record.reason) == (end or (8, "*", ""))
    assert (record.outcome is not None and record.outcome.termination == Termination.ADJUDICATED) == (end is not None)


def test_who_said_nothing_is_not_taken_at_its_word() -> None:
    rules = ScoreRules(resign=(100, 2, 0))
    assert rules.end([-200, -200, -200], white_moved=True, number=2) == ("0-1", "White resigns by score")
    assert rules.end([-200, -200, None], white_moved=True, number=2) is None
    assert rules.end([None, -200, -200], white_moved=True, number=2) is None
    assert rules.end([], white_moved=False, number=1) is None
    for wrong in ((-1, 2, 0), (100, 0, 0), (100, 2, -1)):
        with pytest.raises((ValueError, TypeError)):
            ScoreRules(draw=wrong)


def test_searches_say_what_they_found_and_resign() -> None:
    """A queen down, Black gives up; every searched move has its score, also one without a choice."""
    fen = "rnb1k/ppppp/5/PPPPP/RNBQK w - - 0 1"
    pool = Pool("gardner", [Seat(visits=30), Seat(visits=0)], rules=ScoreRules(resign=(200, 2, 0)), max_plies=200)
    pool.start_games([(fen, 0, 0), (fen, 0, 1)])
    pool.run("heuristic-1")
    both, one = pool.drain()
    assert (both.result, both.reason, both.scores.count(None)) == ("1-0", "Black resigns by score", 0)
    assert [score <= -200 for score in both.scores[1::2] if score is not None][-2:] == [True, True]
    assert one.scores[1::2] == [None] * (len(one.moves) // 2)  # a random mover has no score
    assert one.reason == "checkmate"
    assert GameRecord.from_bytes(both.to_bytes()).scores == []


@pytest.mark.parametrize(("ahead", "most"), [(0, 12), (3, 3), (5, 5)])
def test_games_do_not_run_away_from_the_oldest(ahead: int, most: int) -> None:
    pool = Pool("gardner", [Seat.external()], slots=4, lanes=2, max_id_lead=ahead)
    pool.start_games([(START, 0, 0)] * 12)

    waiting: dict[int, int] = {}

    def play_others() -> list[int]:
        """End all games but the oldest, as long as others begin."""
        begun: list[int] = []
        while True:
            pool.gather()
            heard = {game_id: slot for slot, game_id, _, _ in pool.take_move_requests()}
            begun += sorted(heard)
            waiting.update(heard)
            if len(waiting) < 2:
                return begun
            for game_id in sorted(waiting)[1:]:
                pool.forfeit(waiting.pop(game_id), "1-0", "enough")

    assert play_others() == list(range(most))
    assert (pool.idle(), pool.done()) == (True, False)
    assert len(pool.drain()) == most - 1
    # The oldest ends: others may begin.
    pool.forfeit(waiting.pop(0), "1-0", "enough")
    assert play_others() == list(range(most, 12))[: ahead or 12]


@pytest.mark.parametrize("lanes", [1, 2])
def test_lanes_run_while_somebody_outside_plays(lanes: int) -> None:
    """The outside seat plays what `uniform` would, by the pool's own records; nothing waits for it but its games."""
    pool = outside_pool(games=10, slots=4, lanes=lanes)
    ended: list[int] = []

    def outside() -> None:
        while not pool.done():
            for slot, game_id, opening, moves in pool.take_move_requests(seconds=0.05):
                position = Position("gardner", opening)
                for move in moves:
                    position.play(move)
                assert (position.turn == WHITE) == (game_id % 2 == 1)
                if len(moves) > 20:
                    pool.forfeit(slot, "1-0" if position.turn else "0-1", "tired")
                    ended.append(game_id)
                else:
                    pool.play(slot, position.legal_moves[0])

    with ThreadPoolExecutor(1) as executor:
        playing = executor.submit(outside)
        drive(pool, ["heuristic-1"], lanes=lanes, stopping=playing.done)
        playing.result()
    records = pool.drain()
    assert [record.game_id for record in records] == list(range(10))
    assert {record.game_id for record in records if record.reason == "tired"} == set(ended)


def test_an_idle_lane_sleeps() -> None:
    """The external seat has no move yet: the lane blocks, without polling, until one comes."""
    pool = outside_pool(games=1, slots=1)
    gathers: list[float] = []

    class Counting(Evaluator):
        name, net_id, variant = "counting", "counting", "gardner"

        def evaluate(self, leaves: Leaves) -> Evaluation:
            even = np.ones(leaves.moves.shape, np.float32) / leaves.counts[:, None]
            return Evaluation(
                even.astype(np.float32), np.full((leaves.size, 3), 1 / 3, np.float32), np.zeros(leaves.size, np.float32)
            )

    class Watched(EvaluatorLane):
        def gather(self, pool: Pool, evaluator: int) -> Any:
            gathers.append(time.monotonic())
            return super().gather(pool, evaluator)

    counting = Counting()
    counting.lane = lambda rows, *, compiled=True: Watched(counting)  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as executor:
        driving = executor.submit(drive, pool, [counting], lanes=1)
        [(slot, _, _, moves)] = pool.take_move_requests(seconds=20)
        before = len(gathers)
        time.sleep(0.5)
        assert len(gathers) - before < 20
        pool.forfeit(slot, "1-0", "asleep")
        driving.result(timeout=20)
    assert len(moves) == 1
    assert pool.drain()[0].reason == "asleep"


AVAILABLE_CORES = """
import os
from selfmate._core import Pool, SearchConfig, SelfPlayConfig
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
before = len(os.listdir("/proc/self/task"))
pool = Pool("gardner", SearchConfig(), SelfPlayConfig(visits=4), seed=1, threads=0)
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_all_cores_are_those_that_the_process_may_use() -> None:
    done = subprocess.run([sys.executable, "-c", AVAILABLE_CORES], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"  # the caller's own thread does the work of one


def test_a_call_says_how_long_it_waited_for_other_threads() -> None:
    """`run` keeps the pool for itself until its games are over; a call of another thread waits meanwhile."""
    pool = make_pool("gardner", games=400)
    with ThreadPoolExecutor(1) as other:
        running = other.submit(pool.run, "heuristic-1")
        time.sleep(0.02)
        began = time.perf_counter()
        pool.gather()
        took = time.perf_counter() - began
        running.result()
        assert other.submit(Pool.seconds_waited).result() == 0  # each thread has its own
    assert 0 < Pool.seconds_waited() <= took
    assert Pool.seconds_waited() > 0.5 * took
    pool.gather()
    assert Pool.seconds_waited() == 0
