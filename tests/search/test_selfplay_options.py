"""Options of self-play against games that are replayed with one search for each move, and records that keep them."""

from __future__ import annotations

import math
from collections import Counter as Tally
from typing import Any, Final, NamedTuple

import pytest

from oracles import Counter, binomial_z, chi_square_z
from selfmate import WHITE, Position
from selfmate._core import Buffer, GameRecord, Pool, Search, SearchConfig, SelfPlayConfig, evaluate
from selfmate.errors import RecordError
from selfmate.train.selfplay_metrics import count_resignations

SURE: Final = 4.5
"""Standard deviations that no statistic here reaches by chance; seeds are fixed."""
SEARCH, CHOICE, POLICY, PLAY_OUT = 3, 4, 5, 6
"""What the random numbers of a game are drawn for."""
SEED: Final = 11
BASE: Final[dict[str, Any]] = {"visits": 12, "full_probability": 1.0, "random_plies": 0, "max_plies": 60}
WARM: Final[dict[str, Any]] = {"temperature": 1.0, "temperature_plies": 60}
STEPS: Final = [(0, 1.2), (3, 0.6), (5, 0.0), (8, 0.25)]
EVERYTHING: Final[dict[str, Any]] = {
    **WARM, "policy_plies": 2, "policy_games": 0.3, "resign": 0.25, "resign_moves": 2, "resign_from": 4,
    "resign_played_out": 0.5, "quickdraw": 20, "judge_search": True, "full_probability": 0.5, "random_plies": 3,
}  # fmt: skip


def make_pool(steps: list[tuple[int, float]] | None = None, search: SearchConfig | None = None, **changes: Any) -> Pool:
    config = SelfPlayConfig(**{**BASE, **changes})
    pool = Pool("gardner", search or SearchConfig(noise_epsilon=0.25), config, seed=SEED, threads=2, slots=16)
    pool.set_temperature_by_move(steps or [])
    return pool


def play(
    games: int, steps: list[tuple[int, float]] | None = None, evaluator: str = "fake", **changes: Any
) -> list[GameRecord]:
    pool = make_pool(steps, **changes)
    pool.start(0, games)
    pool.run(evaluator)
    return pool.drain()


def as_bytes(records: list[GameRecord]) -> list[bytes]:
    return [record.to_bytes() for record in records]


def moves_of(record: GameRecord) -> list[str]:
    return [str(move) for move in record.moves]


# ---- a replay -----------------------------------------------------------------------------------


class Alone(NamedTuple):
    """A game as the oracle plays it: moves, values of the searches for the side that moved, and its position."""

    moves: list[str]
    values: list[float]
    position: Position


def play_alone(game: int, temperatures: list[float], quickdraw: int = 0, evaluator: str = "fake") -> Alone:
    """Play a game with one `Search` for each move; a temperature for every move of both sides, the last goes on."""
    position, values = Position("gardner"), []
    while not position.is_game_over(claim_draw=True) and len(position.move_stack) < BASE["max_plies"]:
        if quickdraw and position.move_stack and position.halfmove_clock >= quickdraw:
            break
        ply, legal = len(position.move_stack), position.legal_moves
        seed = Counter(SEED, game, ply, SEARCH).bits()
        tree = Search(position, SearchConfig(noise_epsilon=0.25), 1 if len(legal) == 1 else BASE["visits"], seed)
        tree.run(evaluator)
        result = tree.result()
        values.append(result.value if result.proven is None else float((result.proven > 0) - (result.proven < 0)))
        temperature = temperatures[min(ply // 2, len(temperatures) - 1)]
        move = result.best
        if temperature > 0 and result.proven is None:
            stats = {each.move: each for each in result.moves}
            free = [each for each in legal if stats[each].visits and not (stats[each].proven or 0) < 0]
            shares = [stats[each].visits ** (1 / temperature) for each in free]
            left = Counter(SEED, game, ply, CHOICE).uniform() * sum(shares)
            for each, share in zip(free, shares, strict=True):
                left -= share
                if left <= 0:
                    move = each
                    break
        position.play(move)
    return Alone([str(move) for move in position.move_stack], values, position)


def test_everything_off_is_as_without_the_options() -> None:
    """Bit for bit; a record has the version that it had before there were options."""
    off: dict[str, Any] = {"policy_plies": 0, "policy_games": 0.0, "resign": 0.0, "quickdraw": 0, "judge_search": False}
    plain = as_bytes(play(12, **WARM))
    assert as_bytes(play(12, [], **off, resign_moves=1, resign_from=0, resign_played_out=0.0, **WARM)) == plain
    assert {data[:4] for data in plain} == {b"SMG4"}


def test_the_temperature_changes_by_move() -> None:
    temperatures = [1.2] * 3 + [0.6] * 2 + [0.0] * 3 + [0.25]
    plain = [moves_of(record) for record in play(10)]
    for record in play(10, STEPS, **WARM):
        assert moves_of(record) == play_alone(record.game_id, temperatures).moves
        assert moves_of(record) != plain[record.game_id]


def test_steps_of_the_temperature_rise() -> None:
    for steps in ([(3, 1.0), (3, 0.5)], [(0, -0.1)], [(0, 11.0)], [(5, 1.0), (2, 1.0)]):
        with pytest.raises(ValueError, match="moves that rise"):
            make_pool(steps)


def test_quickdraw_is_a_draw_by_the_half_move_clock() -> None:
    drawn = 0
    for record in play(20, quickdraw=7, **WARM):
        alone = play_alone(record.game_id, [1.0], quickdraw=7)
        assert moves_of(record) == alone.moves
        if record.reason == "quickdraw by the half-move clock":
            drawn += 1
            assert alone.position.halfmove_clock == 7
            assert (record.result, record.outcome and record.outcome.winner) == ("1/2-1/2", None)
        else:
            assert alone.position.halfmove_clock < 7 or record.outcome == alone.position.outcome(claim_draw=True)
    assert drawn > 5
    assert "quickdraw" not in " ".join(record.reason for record in play(20, **WARM))


# ---- the bare policy ----------------------------------------------------------------------------


@pytest.mark.parametrize("gumbel", [False, True])
@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
def test_policy_moves_are_drawn_from_the_evaluator(temperature: float, gumbel: bool) -> None:
    """From its priors alone, which are also the target; noise of the root has no part in it."""
    search = SearchConfig(gumbel=gumbel, noise_epsilon=0.0 if gumbel else 0.9)
    config: dict[str, Any] = {"temperature": temperature, "temperature_plies": 1, "policy_plies": 1, "max_plies": 1}
    pool = make_pool(search=search, **config)
    pool.start(0, 1500)
    pool.run("fake")
    records = pool.drain()
    position = Position("gardner")
    priors, wdl = evaluate(position, "fake")
    shares = {str(move): float(prior) for move, prior in zip(position.legal_moves, priors, strict=True)}
    entry = records[0].trained()[0]
    assert entry["weights"] == pytest.approx(shares, abs=1e-5)
    assert set(entry["visits"].values()) == {0}
    assert entry["value"] == entry["net_value"] == pytest.approx(float(wdl[0] - wdl[2]), abs=1e-6)
    drawn = Tally(moves_of(record)[0] for record in records)
    if temperature == 0:
        assert set(drawn) == {max(shares, key=shares.__getitem__)}
        return
    powers = {move: share ** (1 / temperature) for move, share in shares.items()}
    expected = [1500 * power / sum(powers.values()) for power in powers.values()]
    assert chi_square_z([drawn[move] for move in powers], expected) < SURE


def test_policy_plies_come_before_the_searches() -> None:
    for record in play(20, policy_plies=3, **WARM):
        for entry in record.trained():
            is_proven = max(entry["weights"].values()) == 1  # then a search may end before its first visit
            assert is_proven or (sum(entry["visits"].values()) > 0) == (entry["ply"] >= 3)


def test_policy_games_are_a_share_of_all() -> None:
    records = play(400, policy_games=0.3, max_plies=4, **WARM)
    bare = set()
    for record in records:
        visits = {sum(entry["visits"].values()) > 0 for entry in record.trained()}
        assert len(visits) == 1
        if visits == {False}:
            bare.add(record.game_id)
    assert bare == {game for game in range(400) if Counter(SEED, game, 0, POLICY).uniform() < 0.3}
    assert abs(binomial_z(len(bare), 400, 0.3)) < SURE


# ---- resignation --------------------------------------------------------------------------------

RESIGN: Final[dict[str, Any]] = {"resign": 0.3, "resign_moves": 2, "resign_from": 10, **WARM}


def resigns_after(values: list[float]) -> int | None:
    """Return the number of moves after which a side resigns: its last two values were -0.3 or less, from move 10 on."""
    for plies in range(1, len(values) + 1):
        mine = values[:plies][::-1][::2][:2]
        if (plies + 1) // 2 >= 10 and len(mine) == 2 and max(mine) <= -0.3:
            return plies
    return None


def test_resignation_is_by_the_values_of_one_side() -> None:
    """A game that is played out is the game without the option; one that is not ends where a side resigns."""
    ended, played_out = (
        play(60, evaluator="heuristic-1", **RESIGN, resign_played_out=0.0),
        play(60, evaluator="heuristic-1", **RESIGN, resign_played_out=1.0),
    )
    plain = play(60, evaluator="heuristic-1", **WARM)
    resigned = false = earliest = 0
    for record, whole, usual in zip(ended, played_out, plain, strict=True):
        alone = play_alone(record.game_id, [1.0], evaluator="heuristic-1")
        assert moves_of(whole) == moves_of(usual) == alone.moves
        assert (whole.result, whole.reason) == (usual.result, usual.reason)
        ply = resigns_after(alone.values)
        if ply is None or (ply == len(alone.moves) and usual.outcome is not None):  # the rules come first
            assert record.resignation is None
            assert record.to_bytes() == usual.to_bytes()
            continue
        resigned += 1
        earliest += ply in (19, 20)
        loser = "White" if ply % 2 else "Black"
        claimed = "0-1" if ply % 2 else "1-0"
        assert moves_of(record) == alone.moves[:ply]
        assert (record.result, record.reason) == (claimed, f"{loser} resigns by score")
        assert record.resignation == whole.resignation == (ply, claimed)
        winner = usual.outcome.winner if usual.outcome is not None else None
        false += usual.outcome is None or winner is None or (winner == WHITE) != (claimed == "1-0")
    assert 10 < resigned < 60
    assert 0 < false < resigned
    assert earliest > 1
    assert count_resignations(ended) == (resigned, 0, 0)
    assert count_resignations(played_out) == (0, resigned, false)
    assert count_resignations(plain) == (0, 0, 0)


def test_a_share_of_the_games_is_played_out() -> None:
    for record in play(80, **RESIGN, resign_played_out=0.4):
        if record.resignation is not None:
            ends = "resigns" in record.reason
            assert ends == (Counter(SEED, record.game_id, 0, PLAY_OUT).uniform() >= 0.4)


# ---- judgement ----------------------------------------------------------------------------------


def test_a_search_judges_the_last_position_of_a_truncated_game() -> None:
    """For White, also with Black to move; the moves of the game are the same."""
    sides = set()
    for max_plies in (9, 10):
        plain = play(12, evaluator="heuristic-1", max_plies=max_plies, **WARM)
        for record, usual in zip(
            play(12, evaluator="heuristic-1", max_plies=max_plies, judge_search=True, **WARM), plain, strict=True
        ):
            assert moves_of(record) == moves_of(usual)
            assert usual.judgement is None
            if record.outcome is not None:
                assert record.judgement is None
                continue
            position = Position("gardner")
            for move in record.moves:
                position.play(move)
            tree = Search(position, SearchConfig(), BASE["visits"], 1)
            tree.run("heuristic-1")
            known = [each for each in tree.result().moves if each.visits or each.proven is not None]
            value = sum(each.weight * each.value for each in known) / sum(each.weight for each in known)
            assert record.judgement is not None
            white = value if position.turn == WHITE else -value
            assert record.judgement[0] == pytest.approx(white, abs=1e-5)
            assert 0 <= record.judgement[1] <= 1 - abs(white) + 1e-6
            if abs(white) > 0.05:
                sides.add((position.turn, white > 0))
    assert len(sides) >= 3


def test_the_buffer_takes_a_judgement_for_a_result() -> None:
    records = [record.judged(0.25, 0.6) for record in play(12, max_plies=9, **WARM) if record.outcome is None]
    buffer = Buffer("gardner", 10_000, 1)
    for record in records:
        buffer.add(GameRecord.from_bytes(record.to_bytes()))
    samples = buffer.sample(200, 5, True)
    sides = set()
    for row in range(200):
        white_moves = (9 - int(samples.plies[row])) % 2 == 0
        win, draw, loss = (float(share) for share in samples.wdl[row])
        assert (win + draw + loss, draw) == pytest.approx((1.0, 0.6))
        assert win - loss == pytest.approx(0.25 if white_moves else -0.25)
        assert samples.value_weight[row] == 1
        sides.add(white_moves)
    assert len(sides) == 2


def test_only_a_truncated_game_is_judged() -> None:
    over = next(record for record in play(20, **WARM) if record.outcome is not None)
    with pytest.raises(ValueError, match="needs no judgement"):
        over.judged(0.0, 1.0)
    truncated = play(1, max_plies=3)[0]
    for value, draw in ((1.1, 0.0), (0.5, 0.6), (math.nan, 0.0), (0.0, -0.1)):
        with pytest.raises(ValueError, match="a value from -1 to 1"):
            truncated.judged(value, draw)


# ---- records ------------------------------------------------------------------------------------


def test_interrupted_games_go_on_as_they_would_have() -> None:
    """Through bytes, as between two sessions, with every option on."""
    whole = as_bytes(play(24, STEPS, **EVERYTHING))
    assert {data[:4] for data in whole} == {b"SMG4", b"SMG5"}
    pool = make_pool(STEPS, **EVERYTHING)
    pool.start(0, 24)
    finished: list[GameRecord] = []
    scored = batches = 0
    while not pool.done():
        leaves = pool.gather()
        pool.apply_native(leaves.ticket, "fake")
        batches += 1
        if batches % 40 == 0:
            finished += pool.drain()
            begun = [GameRecord.from_bytes(record.to_bytes()) for record in pool.unfinished_games()]
            scored += sum(any(score is not None for score in record.scores) for record in begun)
            known = {record.game_id for record in [*finished, *begun]}
            pool = make_pool(STEPS, **EVERYTHING)
            pool.resume(begun)
            for game in sorted(set(range(24)) - known):
                pool.start(game, 1)
    finished += pool.drain()
    assert batches > 120
    assert scored > 10
    assert as_bytes(sorted(finished, key=lambda record: record.game_id)) == whole


def test_extended_records_are_checked() -> None:
    records = play(40, **{**RESIGN, "judge_search": True}, resign_played_out=0.5)
    extended = [record for record in records if record.resignation is not None or record.judgement is not None]
    assert any(record.resignation for record in extended)
    assert any(record.judgement for record in extended)
    for record in extended:
        data = record.to_bytes()
        read = GameRecord.from_bytes(data)
        assert (read.resignation, read.judgement) == (record.resignation, record.judgement)
        assert (read.result, read.reason, read.scores) == (record.result, record.reason, [])
        for damaged in (data[:-1], data + b"\0", b"SMG4" + data[4:]):
            with pytest.raises(RecordError):
                GameRecord.from_bytes(damaged)
    judged = play(1, max_plies=3)[0].judged(0.5, 0.25).to_bytes()
    assert judged[-9:] == bytes([1, 0, 0, 0, 0x3F, 0, 0, 0x80, 0x3E])
    for tail in (bytes([8]), bytes([1]) + b"\0\0\0\x40" + b"\0\0\0\0", bytes([2, 9, 0, 0]), bytes([2, 1, 0, 2])):
        with pytest.raises(RecordError):
            GameRecord.from_bytes(judged[:-9] + tail)
