"""The search: golden trees, proofs, symmetry, and the same result for every number of threads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from selfmate import VARIANTS, IllegalMove, Move, Position, SearchError, _core
from selfmate._core import Pool, Search, SearchConfig, SelfPlayConfig
from selfmate.search.limit import Limit
from selfmate.search.player import Player

GOLDEN = Path(__file__).parents[1] / "golden" / "trees.json"
POSITIONS = {
    "chess": "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "atomic": "rn2kb1r/1pp1p2p/p2q1pp1/3P4/2P3b1/4PN2/PP3PPP/R2QKB1R b KQkq - 0 1",
    "gardner": "rn1qk/pbppp/1p1PP/PPP2/RNBQK w - - 1 3",
}


def searched(position: Position, visits: int, evaluator: str = "fake", **config: object) -> _core.SearchResult:
    """Search a position with a native evaluator."""
    search = Search(position, SearchConfig(**config), visits)  # type: ignore[arg-type]
    search.run(evaluator)
    return search.result()


KINDS: dict[str, dict[str, Any]] = {
    "puct": {},
    "gumbel": {"gumbel": True},
    "mixed": {"minimax": 0.25, "proven_means": True},
    "dynamic": {"cpuct": 1.0, "cpuct_base": 50.0},
    "ucb1": {"select": "ucb1"},
    "noise": {"select": "noise"},
}


def trees() -> dict[str, dict[str, int]]:
    """Visits of every root move under the hash-based evaluator: kinds of root, mixed values, rules of selection."""
    return {
        f"{variant} {kind}": {
            str(stats.move): stats.visits
            for stats in searched(Position(variant, fen), 200, **config).moves
            if stats.visits
        }
        for variant, fen in POSITIONS.items()
        for kind, config in KINDS.items()
    }


def test_golden_trees() -> None:
    # A change that is meant: python tests/search/test_search.py > tests/golden/trees.json
    assert trees() == json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("gumbel", [False, True])
def test_every_visit_is_counted_once(variant: str, gumbel: bool) -> None:
    result = searched(Position(variant), 300, gumbel=gumbel)
    assert result.visits == 300
    assert sum(stats.visits for stats in result.moves) == 300
    assert sum(stats.weight for stats in result.moves) == pytest.approx(1, abs=1e-5)
    assert sum(stats.prior for stats in result.moves) == pytest.approx(1, abs=1e-4)
    assert all(-1 <= stats.value <= 1 for stats in result.moves)


def by_what_is_seen(leaves: _core.Leaves) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate by a hash of the encoded position and of policy indices: without ties, and without colours."""
    priors = np.zeros(leaves.moves.shape, dtype=np.float32)
    wdl = np.zeros((leaves.size, 3), dtype=np.float32)
    for row, count in enumerate(leaves.counts.tolist()):
        seen = hash((*leaves.bits[row].tolist(), *leaves.scalars[row].tolist()))
        weights = np.array([1 + hash((seen, index)) % 1000003 for index in leaves.moves[row, :count].tolist()])
        priors[row, :count] = weights / weights.sum()
        win = (seen % 1013) / 1013
        wdl[row] = win * 0.8, 0.2, (1 - win) * 0.8
    return priors, wdl


@pytest.mark.parametrize("gumbel", [False, True])
@pytest.mark.parametrize("variant", ["chess", "atomic", "gardner"])
def test_colours_exchanged_give_the_same_search(variant: str, gumbel: bool) -> None:
    position = Position(variant, POSITIONS[variant])
    board, turn, castling, ep_square, *clocks = position.fen().split()
    board = "/".join(rank.swapcase() for rank in reversed(board.split("/")))
    rights = "".join(sorted(castling.swapcase())) if castling != "-" else castling
    other = Position(variant, " ".join([board, "b" if turn == "w" else "w", rights, ep_square, *clocks]))

    def seen(start: Position) -> dict[int, tuple[int, float]]:
        search = Search(start, SearchConfig(gumbel=gumbel, gumbel_scale=0.0), 150)
        while not search.done():
            leaves = search.gather(1)
            search.apply(leaves.ticket, *by_what_is_seen(leaves)) if leaves.size else None
        return {_core.move_index(start, s.move): (s.visits, s.value) for s in search.result().moves}

    assert seen(position) == seen(other)


def test_a_king_in_reach_is_taken_at_once() -> None:
    result = searched(Position("atomic", "rnbqkbnr/ppp1pppp/8/3pN3/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3"), 10)
    assert str(result.best) in ("e5d7", "e5f7")
    assert result.proven == 1
    assert result.value == 1


def test_mate_in_two_is_proved_with_its_distance() -> None:
    result = searched(Position("gardner", "5/1P3/2KN1/5/k4 w - - 1 29"), 2000, "heuristic-1", stop_when_proven=False)
    assert str(result.best) == "b4b5q"
    assert result.proven == 3
    assert len(result.pv) == 3


def test_a_lost_position_is_proved_lost() -> None:
    position = Position("gardner", "5/1P3/2KN1/5/k4 w - - 1 29")
    position.play("b4b5q")
    result = searched(position, 2000, "heuristic-1")
    assert result.proven == -2
    assert result.value == -1


def test_a_position_repeated_below_the_root_is_never_evaluated() -> None:
    position = Position("chess", "7k/8/8/8/8/8/R7/K7 w - - 10 80")
    root = _core.encode(position)[0].tolist()
    search = Search(position, SearchConfig(cpuct=8.0), 6000)
    deep = 0
    for leaves in iter(lambda: search.gather(1), None):
        if not leaves.size:
            break
        if search.visits:
            assert leaves.bits[0].tolist() != root
        assert leaves.bits[0, 15] == 0
        deep += 1
        priors = np.full(leaves.moves.shape, 1 / leaves.counts[0], dtype=np.float32)
        search.apply(leaves.ticket, priors, np.full((1, 3), 1 / 3, dtype=np.float32))
    assert deep > 1000
    assert search.result().seldepth >= 5  # deep enough for a rook to go and come back


def test_the_third_occurrence_since_before_the_root_is_a_draw() -> None:
    position = Position("chess")
    for move in ["g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6", "f3g1"]:
        position.play(move)
    result = searched(position, 200, "uniform")
    back = next(stats for stats in result.moves if str(stats.move) == "f6g8")
    assert back.visits > 0
    assert back.proven == 0
    assert next(stats for stats in result.moves if str(stats.move) == "f6g4").proven is None


def test_the_hundredth_ply_without_progress_is_a_draw() -> None:
    kings = searched(Position("chess", "8/8/4k3/8/8/3K4/3P4/8 w - - 99 80"), 50, "uniform")
    quiet = [stats for stats in kings.moves if stats.move.from_square == 19 and stats.visits]
    assert quiet
    assert all(stats.proven == 0 for stats in quiet)


@pytest.mark.parametrize("gumbel", [False, True])
@pytest.mark.parametrize(("draw_score", "wants_the_draw"), [(0.9, True), (-0.9, False)])
def test_a_draw_is_worth_what_the_side_at_the_root_gives_it(
    draw_score: float, wants_the_draw: bool, gumbel: bool
) -> None:
    # Every king's move is a draw by the clock; the pawn's moves go on.
    position = Position("chess", "8/8/4k3/8/8/3K4/P7/8 w - - 99 80")
    result = searched(position, 300, "heuristic-1", draw_score=draw_score, gumbel=gumbel, gumbel_scale=0.0)
    best = result.moves[0]
    assert (best.proven == 0) == wants_the_draw


# -- from one search to the next --------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("plies", [0, 1, 2])
def test_a_tree_is_kept_for_the_moves_that_are_played(variant: str, plies: int) -> None:
    position = Position(variant)
    search = Search(position, SearchConfig(), 3000)
    search.run("heuristic-1")
    before = search.result()
    size, behind = before.nodes, before.moves[0]
    for move in before.pv[:plies]:
        position.play(move)
    assert search.move_to(position, SearchConfig(), 100)
    kept = search.result()
    assert search.visits == 0
    assert kept.nodes == size if plies == 0 else 1 < kept.nodes < size
    if plies == 1:
        assert sum(stats.visits for stats in kept.moves) == behind.visits - 1  # its own evaluation was one
        assert kept.value == pytest.approx(-behind.value, abs=1e-4)
    assert {stats.move for stats in kept.moves} == set(position.legal_moves)
    for stats in kept.moves:
        line = position.copy()
        for move in stats.pv:
            line.play(move)
    search.run("heuristic-1")
    assert search.visits == 100 or search.result().proven is not None


def test_another_position_begins_a_new_tree() -> None:
    position = Position("chess")
    search = Search(position, SearchConfig(), 500)
    search.run("heuristic-1")
    assert not search.move_to(Position("chess", POSITIONS["chess"]), SearchConfig(), 500)
    assert not search.is_rooted()
    search.run("heuristic-1")
    fresh = searched(Position("chess", POSITIONS["chess"]), 500, "heuristic-1")
    assert [stats.visits for stats in search.result().moves] == [stats.visits for stats in fresh.moves]
    assert not search.move_to(Position("atomic", POSITIONS["chess"]), SearchConfig(), 500)


def test_a_tree_with_another_worth_of_draws_is_not_kept() -> None:
    position = Position("chess")
    search = Search(position, SearchConfig(draw_score=-0.2), 500)
    search.run("heuristic-1")
    move = search.result().best
    assert search.move_to(position, SearchConfig(draw_score=-0.2), 500)
    position.play(move)
    assert search.move_to(position, SearchConfig(draw_score=0.2), 500)  # the other side's view of the same
    assert not search.move_to(position, SearchConfig(draw_score=-0.2), 500)


def test_a_repetition_of_the_old_root_is_no_draw_for_the_new_one() -> None:
    # Below the first root, going back to it is a draw at once; after the moves are played it is only the second time.
    position = Position("chess", "7k/8/8/8/8/8/R7/K7 w - - 10 80")
    search = Search(position, SearchConfig(cpuct=8.0), 30_000)
    search.run("uniform")
    for uci in ("a2b2", "h8g8", "b2a2"):
        position.play(uci)
    first = search.result_after(position.move_stack[0])
    assert first is not None
    assert any(stats.proven == 0 for stats in searched(Position("chess", position.fen()), 10, "uniform").moves) is False
    start = Position("chess", "7k/8/8/8/8/8/R7/K7 w - - 10 80")
    for uci in ("a2b2", "h8g8"):
        start.play(uci)
    assert search.move_to(start, SearchConfig(cpuct=8.0), 3000)
    assert all(stats.proven is None for stats in search.result().moves)
    search.run("uniform")
    back = search.result_after(start.parse_uci("b2a2"))
    assert back is not None
    # The king's step back makes the old root again, for the second time in the game: it is searched on, not a draw.
    again = next(stats for stats in back.moves if str(stats.move) == "g8h8")
    assert again.visits > 0
    assert again.proven is None


def test_result_after_a_move() -> None:
    search = Search(Position("chess"), SearchConfig(), 1000)
    assert search.result_after(Position("chess").parse_uci("e2e4")) is None
    search.run("heuristic-1")
    best = search.result().moves[0]
    after = search.result_after(best.move)
    assert after is not None
    assert after.visits == best.visits
    assert after.best == best.pv[1]
    assert after.value == pytest.approx(-best.value, abs=1e-4)


def test_only_some_moves_are_considered() -> None:
    position = Position("chess", POSITIONS["chess"])
    moves = [position.parse_uci(uci) for uci in ("a2a3", "e1g1")]
    search = Search(position, SearchConfig(), 300, 0, moves)
    search.run("heuristic-1")
    result = search.result()
    assert {stats.move for stats in result.moves if stats.visits} == set(moves)
    assert {stats.move for stats in result.moves[:2]} == set(moves)
    assert sum(stats.visits for stats in result.moves) == 300
    # A mate that may not be played proves nothing.
    mate = Position("atomic", "rnbqkbnr/ppp1pppp/8/3pN3/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3")
    search = Search(mate, SearchConfig(), 100, 0, [mate.parse_uci("a2a3")])
    search.run("heuristic-1")
    assert str(search.result().best) == "a2a3"
    assert search.result().proven != 1
    with pytest.raises(IllegalMove):
        Search(position, SearchConfig(), 300, 0, [Move.from_uci("e1e3")])


# -- limits of memory and threads -------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_full_tree_gives_up_its_least_visited_part_and_goes_on(variant: str) -> None:
    limit = 2 << 20
    search = Search(Position(variant), SearchConfig(stop_when_proven=False, max_bytes=limit), 10_000)
    search.run("heuristic-1")
    result = search.result()
    assert result.visits == 10_000 == sum(stats.visits for stats in result.moves)
    assert result.bytes <= limit * 1.05
    for stats in result.moves:
        line = Position(variant)
        for move in stats.pv:
            line.play(move)
    roomy = searched(Position(variant), 10_000, "heuristic-1", stop_when_proven=False)
    assert roomy.bytes > limit
    common = sum(
        min(stats.visits, next(other.visits for other in roomy.moves if other.move == stats.move))
        for stats in result.moves
    )
    assert common > 0.7 * 10_000  # much the same is found


def test_prune_halves_the_tree() -> None:
    search = Search(Position("chess"), SearchConfig(max_bytes=1 << 22), 1 << 31)
    assert not search.full()
    search.run_for(60.0, "heuristic-1")
    assert search.full()
    visits, size = search.visits, search.bytes
    before = {stats.move: (stats.visits, stats.value) for stats in search.result().moves}
    search.prune()
    assert search.bytes <= size / 2
    assert search.visits == visits
    assert {stats.move: (stats.visits, stats.value) for stats in search.result().moves} == before


def test_one_thread_for_a_time_searches_as_run_does() -> None:
    for variant, fen in POSITIONS.items():
        search = Search(Position(variant, fen), SearchConfig(), 2000)
        for _ in range(1000):
            search.run_for(0.001, "heuristic-1", 300)
        whole = searched(Position(variant, fen), 2000, "heuristic-1")
        assert [stats.visits for stats in search.result().moves] == [stats.visits for stats in whole.moves]


@pytest.mark.parametrize("variant", VARIANTS)
def test_threads_lose_no_visit(variant: str) -> None:
    search = Search(Position(variant), SearchConfig(stop_when_proven=False), 20_000)
    while not search.done():
        search.run_for(0.01, "heuristic-1", threads=4)
    result = search.result()
    assert result.visits == 20_000 == sum(stats.visits for stats in result.moves)
    for stats in result.moves:
        line = Position(variant)
        for move in stats.pv:
            line.play(move)


def test_threads_back_up_what_the_evaluator_says() -> None:
    """A move with one visit has the value of its one evaluation; a move with more has the mean below it."""
    search = Search(Position("chess"), SearchConfig(cpuct=8.0), 500)
    while not search.done():
        search.run_for(0.01, "heuristic-1", threads=4)
    once = 0
    for stats in search.result().moves:
        after = search.result_after(stats.move)
        assert after is not None
        assert after.visits == stats.visits
        assert after.value == pytest.approx(-stats.value, abs=1e-4)
        for reply in after.moves:
            if reply.visits == 1 and reply.proven is None:
                assert reply.value == pytest.approx(reply.net_value, abs=1e-6)
                once += 1
    assert once > 50


def test_threads_return_in_time_where_every_move_is_proven() -> None:
    """The one legal move wins, so no playout reaches a leaf; a bot would lose on time with its search."""
    position = Position("antichess", "8/5R2/8/5p2/8/P7/3NK1N1/5B2 b - - 0 25")
    visits = 1 << 26  # take some seconds
    search = Search(position, SearchConfig(stop_when_proven=False), visits)
    for _ in range(5):
        search.run_for(0.01, "heuristic-1", threads=2)
    result = search.result()
    assert result.proven == 2
    assert result.visits < visits


def test_threads_see_draws() -> None:
    """Every king move is the hundredth ply without progress."""
    search = Search(Position("chess", "8/8/4k3/8/8/3K4/3P4/8 w - - 99 80"), SearchConfig(), 2000)
    while not search.done():
        search.run_for(0.01, "uniform", threads=4)
    king_moves = [stats for stats in search.result().moves if stats.move.from_square == 19 and stats.visits]
    assert king_moves
    assert all(stats.proven == 0 for stats in king_moves)


def test_threads_and_pruning_and_reuse_together() -> None:
    position = Position("atomic")
    config = SearchConfig(stop_when_proven=False, max_bytes=1 << 20)
    search = Search(position, config, 1 << 31)
    for _ in range(20):
        for _ in range(5):
            search.run_for(0.01, "heuristic-1", threads=3)
            if search.full():
                search.prune()
        if position.outcome() is not None:
            break
        result = search.result()
        assert {stats.move for stats in result.moves} == set(position.legal_moves)
        position.play(result.best)
        if position.outcome() is not None:
            break
        search.move_to(position, config, 1 << 31)


def test_a_leaf_that_is_abandoned_leaves_no_trace() -> None:
    position = Position("chess", POSITIONS["chess"])

    def finish(search: Search) -> list[int]:
        while not search.done():
            leaves = search.gather(1)
            if leaves.size:
                search.apply(leaves.ticket, *by_what_is_seen(leaves))
        return [stats.visits for stats in search.result().moves]

    search = Search(position, SearchConfig(), 200)
    search.gather(1)
    search.abandon()  # the root itself
    for _ in range(30):
        leaves = search.gather(1)
        search.apply(leaves.ticket, *by_what_is_seen(leaves))
        search.gather(16)
        search.gather(16)
        search.abandon()
    assert finish(search) == finish(Search(position, SearchConfig(), 200))


# -- the final choice -------------------------------------------------------------------------------------------------


def test_the_lower_bound_prefers_a_surer_value_to_more_visits() -> None:
    position = Position("chess")
    for seed in range(20):
        for lcb in (False, True):
            search = Search(position, SearchConfig(lcb=lcb, noise_epsilon=0.9), 300, seed)
            search.run("heuristic-1")
            moves = search.result().moves
            most = max(stats.visits for stats in moves)
            assert moves[0].visits >= 0.15 * most
            if not lcb:
                assert moves[0].visits == most
            elif moves[0].visits < most:
                leader = next(stats for stats in moves if stats.visits == most)
                assert moves[0].value > leader.value
                return
    raise AssertionError("it never made a difference")


def test_gumbel_improves_the_policy() -> None:
    """The improved policy has a value of at least the prior's, measured with the search's own values."""
    for variant, fen in POSITIONS.items():
        for seed in range(5):
            search = Search(Position(variant, fen), SearchConfig(gumbel=True), 64, seed)
            search.run("heuristic-1")
            moves = search.result().moves
            visited = [stats for stats in moves if stats.visits]
            mass = sum(stats.prior for stats in visited)
            weight = sum(stats.weight for stats in visited)
            before = sum(stats.prior * stats.value for stats in visited) / mass
            after = sum(stats.weight * stats.value for stats in visited) / weight
            assert after >= before - 1e-6


def test_no_leaf_is_handed_out_twice() -> None:
    search = Search(Position("chess"), SearchConfig(), 500)
    handed_out = 0
    while not search.done():
        leaves = search.gather(16)
        handed_out += leaves.size
        priors = np.zeros(leaves.moves.shape, dtype=np.float32)
        for row, count in enumerate(leaves.counts):
            priors[row, :count] = 1 / count
        wdl = np.full((leaves.size, 3), 1 / 3, dtype=np.float32)
        search.apply(leaves.ticket, priors, wdl)
    result = search.result()
    assert result.visits == 500
    assert handed_out == result.nodes == 501  # each of them once, and the root


def test_a_closed_ticket_is_refused() -> None:
    search = Search(Position("chess"), SearchConfig(), 10)
    leaves = search.gather(1)
    answer = np.full((1, 256), 0.05, dtype=np.float32), np.full((1, 3), 1 / 3, dtype=np.float32)
    search.apply(leaves.ticket, *answer)
    with pytest.raises(SearchError, match="not open"):
        search.apply(leaves.ticket, *answer)


def test_a_finished_game_is_not_searched() -> None:
    with pytest.raises(SearchError, match="over"):
        Search(Position("atomic", "8/8/8/8/8/8/8/4K2R b - - 0 1"), SearchConfig(), 10)


def self_play(threads: int, slots: int, lanes: int, by_batches: bool) -> list[bytes]:
    pool = Pool(
        "gardner",
        SearchConfig(gumbel=True),
        SelfPlayConfig(visits=16, fast_visits=4, full_probability=0.5, random_plies=4, temperature=0, max_plies=60),
        seed=5,
        slots=slots,
        lanes=lanes,
        threads=threads,
    )
    pool.start(100, 30)
    if not by_batches:
        pool.run("fake")
    while not pool.done():
        for leaves in [pool.gather() for _ in range(lanes)]:
            if leaves.size:
                pool.apply_native(leaves.ticket, "fake")
    return [record.to_bytes() for record in pool.drain()]


def test_the_evaluators_own_value_is_none_where_the_rules_decide() -> None:
    limit = Limit(visits=300)
    # 1. A mate in one: the evaluator is never asked.
    mate = Player("heuristic-1").search(Position("gardner", "4k/2r1P/p2QB/PpP2/4K w - - 0 16"), limit)
    assert (mate.proven, mate.net_value) == (1, None)
    # 2. A mate in two is proven later: the evaluator was asked first, and its value stays.
    position = Position("gardner", "5/1P3/2KN1/5/k4 w - - 1 29")
    first = Player("heuristic-1").search(position, Limit(visits=1))
    found = Player("heuristic-1").search(position, limit)
    assert (first.proven, found.proven, found.value) == (None, 3, 1.0)
    assert found.net_value == first.net_value
    assert found.net_value is not None
    assert 0 < found.net_value < 1
    # 3. A move after which the opponent mates at once: the rules decide the position behind it.
    blunder = Position("chess", "7k/5ppp/8/8/8/8/r4PPP/4R1K1 b - - 0 1")
    result = Player("heuristic-1").search(blunder, limit)
    lost = next(each for each in result.moves if blunder.uci(each.move) == "a2b2")
    assert (lost.proven, lost.net_value) == (-2, None)
    other = next(each for each in result.moves if each.visits and each.proven is None)
    assert other.net_value is not None
    assert abs(other.net_value) < 1


def test_threads_slots_and_lanes_never_change_a_game() -> None:
    games = self_play(1, 4, 1, by_batches=False)
    assert len(games) == 30
    assert self_play(2, 30, 1, by_batches=False) == games
    assert self_play(1, 7, 2, by_batches=True) == games
    assert self_play(2, 16, 3, by_batches=True) == games


if __name__ == "__main__":
    print(json.dumps(trees(), indent=1))
