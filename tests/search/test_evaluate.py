"""`evaluate`, and evaluators of one's own in search, self-play and matches: what does not fit is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from selfmate import (
    ArrayError,
    Evaluation,
    Evaluator,
    EvaluatorError,
    FunctionEvaluator,
    Limit,
    Move,
    Player,
    PlayerError,
    Position,
    SearchConfig,
    SearchError,
    SelfPlayConfig,
    UnknownVariant,
    _core,
    evaluate,
    play_match,
    selfplay_games,
)
from selfmate.evaluator.open import open_evaluator
from selfmate.nn import shipped
from selfmate.nn.leaves import Leaves

NET = shipped.named("gardner-laptop") or Path()


def gardner_positions(count: int) -> list[Position]:
    position, found = Position("gardner"), []
    for number in range(count):
        found.append(position.copy())
        moves = position.legal_moves
        position.play(moves[number % len(moves)])
        if position.is_game_over(claim_draw=True):
            position = Position("gardner")
    return found


# -- evaluate ---------------------------------------------------------------------------------------------------------


def test_evaluations_are_those_of_the_net_in_a_search() -> None:
    positions = gardner_positions(20)
    player = Player(NET)
    found, compared = evaluate(player, positions), 0
    for position, each in zip(positions, found, strict=True):
        assert list(each.priors) == position.legal_moves
        assert sum(each.priors.values()) == pytest.approx(1, abs=1e-4)
        assert sum(each.wdl) == pytest.approx(1, abs=1e-4)
        assert each.plies is not None
        assert 0 <= each.plies <= 1000
        result = player.search(position, Limit(visits=1))
        if result.proven is not None:  # by the rules, without the net
            continue
        compared += 1
        priors = {move.move: move.prior for move in result.moves}
        assert priors == pytest.approx(each.priors, abs=1e-5)
        assert result.net_value == pytest.approx(each.value, abs=1e-5)
        assert each.best == max(each.priors, key=lambda move: each.priors[move])
    assert compared > 10


def test_a_large_batch_is_evaluated_in_parts() -> None:
    positions = gardner_positions(1500)
    found = evaluate(NET, positions)
    assert len(found) == 1500
    assert found[1400].priors == pytest.approx(evaluate(NET, positions[1400:1401])[0].priors, abs=1e-5)


def test_a_net_sees_repetitions() -> None:
    position = Position("gardner", "k4/5/5/5/K3R w - - 0 1")
    fresh = evaluate(NET, [position])[0]
    for uci in ["a1b1", "a5b5", "b1a1", "b5a5"]:
        position.push(uci)
    assert evaluate(NET, [position])[0].wdl != fresh.wdl


def test_native_evaluators() -> None:
    found = evaluate("uniform", [Position("chess"), Position("chess", "4k3/8/8/8/8/8/8/Q3K3 b - - 0 1")])
    assert [len(each.priors) for each in found] == [20, 5]
    assert found[0].priors[Move.from_uci("e2e4")] == pytest.approx(1 / 20)
    assert evaluate("heuristic-1", [Position("chess", "4k3/8/8/8/8/8/8/Q3K3 b - - 0 1")])[0].value < -0.5


MATED = Position("chess", "R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1")
BAD_CALLS: dict[str, tuple[type[Exception], Callable[[], object], str]] = {
    "variant": (PlayerError, lambda: evaluate(NET, [Position("chess")]), "plays gardner, not chess"),
    "random": (PlayerError, lambda: evaluate("random", [Position("chess")]), "does not evaluate"),
    "a number": (PlayerError, lambda: evaluate(5, [Position("chess")]), "not int"),  # type: ignore[arg-type]
    "no such net": (PlayerError, lambda: evaluate("heuristik", [Position("chess")]), "unknown player"),
    "mate": (SearchError, lambda: evaluate("uniform", [Position("chess"), MATED]), "position 1 has no legal moves"),
    "nothing": (ArrayError, lambda: evaluate("uniform", []), "at least one"),
    "text": (ArrayError, lambda: evaluate("uniform", ["e2e4"]), "not str"),  # type: ignore[list-item]
    "games": (PlayerError, lambda: selfplay_games("uniform", "chess", 0), "games must be a whole number"),
    "many games": (PlayerError, lambda: selfplay_games("uniform", "chess", 10**30), "games must be"),
    "seed": (PlayerError, lambda: selfplay_games("uniform", "chess", 1, seed=-1), "seed must be"),
    "selfplay": (
        PlayerError,
        lambda: selfplay_games("uniform", "gardner", 1, selfplay={}),  # type: ignore[arg-type]
        "selfplay must be a SelfPlayConfig, not dict",
    ),
    "search": (
        PlayerError,
        lambda: selfplay_games("uniform", "gardner", 1, search=""),  # type: ignore[arg-type]
        "search must be a SearchConfig, not str",
    ),
    "unknown": (UnknownVariant, lambda: selfplay_games("uniform", "go", 1), "unknown variant"),
    "other variant": (PlayerError, lambda: selfplay_games(NET, "chess", 1), "plays gardner"),
    "search seed": (
        PlayerError,
        lambda: Player("uniform").search(Position("chess"), Limit(visits=1), seed=1 << 70),
        "seed must be",
    ),
    "noise twice": (
        PlayerError,
        lambda: Player("uniform").search(Position("chess"), Limit(visits=1), noise=True, config=SearchConfig()),
        "not both",
    ),
    "small tree": (
        PlayerError,
        lambda: Player("uniform").search(Position("chess"), Limit(visits=1), config=SearchConfig(max_bytes=10)),
        "max_bytes",
    ),
    "dict as config": (
        PlayerError,
        lambda: Player("uniform").search(Position("chess"), Limit(visits=1), config={}),  # type: ignore[arg-type]
        "must be a SearchConfig, not dict",
    ),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls_raise_the_documented_exception(name: str) -> None:
    kind, call, words = BAD_CALLS[name]
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_config_changes_the_search() -> None:
    position, limit = Position("chess"), Limit(visits=300)
    player = Player("heuristic-1")
    usual = player.search(position, limit)
    wide = player.search(position, limit, config=SearchConfig(cpuct=20, stop_when_proven=False))
    assert max(move.visits for move in wide.moves) < max(move.visits for move in usual.moves)
    gumbel = player.search(position, Limit(visits=32), config=SearchConfig(gumbel=True, considered=4, gumbel_scale=0))
    assert sum(move.visits > 0 for move in gumbel.moves) == 4


# -- evaluators of one's own ------------------------------------------------------------------------------------------


class OwnEvaluator(Evaluator):
    """Equal priors and a fixed value, as arrays that a test may spoil."""

    name, net_id, variant = "own", "own", "gardner"

    def __init__(self, spoil: Callable[[Evaluation], Any] = lambda evaluation: evaluation) -> None:
        self.spoil = spoil

    def evaluate(self, leaves: Leaves) -> Evaluation:
        legal = np.arange(leaves.moves.shape[1]) < leaves.counts[:, None]
        priors = (legal / np.maximum(1, legal.sum(1, keepdims=True))).astype(np.float32)
        wdl = np.tile(np.array([0.3, 0.4, 0.3], np.float32), (leaves.size, 1))
        return self.spoil(Evaluation(priors, wdl))  # type: ignore[no-any-return]


def with_nan(evaluation: Evaluation) -> Evaluation:
    priors = evaluation.priors.copy()
    priors[-1, 0] = np.nan
    return evaluation._replace(priors=priors)


def nan_value(evaluation: Evaluation) -> Evaluation:
    wdl = evaluation.wdl.copy()
    wdl[0, 1] = np.nan
    return evaluation._replace(wdl=wdl)


SPOILED: dict[str, tuple[Callable[[Evaluation], Any], str]] = {
    "NaN prior": (with_nan, "priors"),
    "NaN value": (nan_value, "probabilities|finite"),
    "infinite": (lambda e: e._replace(wdl=e.wdl * np.float32(np.inf)), "probabilities|finite"),
    "float64 priors": (lambda e: e._replace(priors=e.priors.astype(np.float64)), "is needed, not float64"),
    "float64 values": (lambda e: e._replace(wdl=e.wdl.astype(np.float64)), "is needed, not float64"),
    "one row less": (lambda e: e._replace(wdl=e.wdl[1:]), "is needed, not float32"),
    "two columns": (lambda e: e._replace(wdl=e.wdl[:, :2].copy()), "is needed, not float32"),
    "few priors": (lambda e: e._replace(priors=e.priors[:, :2].copy()), "fewer priors|7 or more"),
    "a list": (lambda e: e._replace(priors=e.priors.tolist()), "is needed, not list"),
    "one axis": (lambda e: e._replace(priors=e.priors[:, 0].copy()), "is needed, not float32"),
}
UNNORMALISED: dict[str, Callable[[Evaluation], Any]] = {
    "logits": lambda e: e._replace(priors=e.priors * 0),
    "negative": lambda e: e._replace(wdl=np.tile(np.array([1.5, 0.0, -0.5], np.float32), (len(e.wdl), 1))),
    "not one": lambda e: e._replace(wdl=e.wdl * 2),
}


@pytest.mark.parametrize("name", SPOILED)
def test_what_does_not_fit_is_one_documented_exception(name: str) -> None:
    spoil, words = SPOILED[name]
    evaluator, position = OwnEvaluator(spoil), Position("gardner")
    with pytest.raises(EvaluatorError, match=words):
        Player(evaluator).search(position, Limit(visits=20))
    with pytest.raises(EvaluatorError, match=words):
        selfplay_games(evaluator, "gardner", 2, selfplay=SelfPlayConfig(visits=8))
    with pytest.raises(EvaluatorError, match=words):
        play_match("gardner", evaluator, "uniform", [position.fen()], search=SearchConfig(), visits=8)
    with pytest.raises(EvaluatorError):
        evaluate(evaluator, [position])


@pytest.mark.parametrize("name", UNNORMALISED)
def test_numbers_that_are_not_probabilities_are_refused(name: str) -> None:
    evaluator = OwnEvaluator(UNNORMALISED[name])
    with pytest.raises(EvaluatorError, match="not probabilities of sum one"):
        Player(evaluator).search(Position("gardner"), Limit(visits=20))


def test_a_search_goes_on_after_a_refused_evaluation() -> None:
    search = _core.Search(Position("gardner"), SearchConfig(), 50)
    leaves = search.gather(4)
    good = OwnEvaluator().evaluate(leaves)
    with pytest.raises(EvaluatorError, match="row 0 of an evaluation"):
        search.apply(leaves.ticket, good.priors * np.nan, good.wdl)
    while not search.done():
        leaves = search.gather(4)
        answer = OwnEvaluator().evaluate(leaves)
        if leaves.size:
            search.apply(leaves.ticket, answer.priors, answer.wdl)
    assert search.result().visits == 50


def test_a_pool_goes_on_after_a_refused_evaluation() -> None:
    def play(spoiled: int) -> list[bytes]:
        """Play games; some batches are answered wrongly first."""
        config = SelfPlayConfig(visits=8, full_probability=1, max_plies=20)
        pool = _core.Pool("gardner", SearchConfig(), config, seed=1, slots=4, threads=1)
        pool.start(0, 4)
        batches = 0
        while not pool.done():
            leaves = pool.gather()
            if not leaves.size:
                continue
            answer = OwnEvaluator().evaluate(leaves)
            batches += 1
            if batches <= spoiled:
                with pytest.raises(EvaluatorError, match="row 1 of an evaluation"):
                    pool.apply(leaves.ticket, *_one_row_spoiled(answer))
            else:
                pool.apply(leaves.ticket, answer.priors, answer.wdl)
        return [record.to_bytes() for record in pool.drain()]

    assert play(0) == play(3)


def _one_row_spoiled(answer: Evaluation) -> tuple[Any, Any]:
    wdl = answer.wdl.copy()
    wdl[1] = 0
    return answer.priors, wdl


def test_own_evaluators_play() -> None:
    records = selfplay_games(OwnEvaluator(), "gardner", 3, selfplay=SelfPlayConfig(visits=8, full_probability=1))
    assert [record.game_id for record in records] == [0, 1, 2]
    assert all(record.positions for record in records)
    openings = [Position("gardner").fen()]
    found = play_match("gardner", OwnEvaluator(), "heuristic-1", openings, search=SearchConfig(), visits=32)
    assert found is not None
    assert (found[0].games, len(found[1])) == (2, 2)
    buffer = _core.Buffer("gardner", 10_000, 1)
    for record in records:
        buffer.add(record)
    assert buffer.sample(16, 1).size == 16


def test_selfplay_is_a_function_of_its_arguments() -> None:
    config = SelfPlayConfig(visits=8, full_probability=1, max_plies=40)
    first = [game.to_bytes() for game in selfplay_games(NET, "gardner", 4, selfplay=config, seed=3)]
    assert [game.to_bytes() for game in selfplay_games(NET, "gardner", 4, selfplay=config, seed=3)] == first
    assert [game.to_bytes() for game in selfplay_games(NET, "gardner", 4, selfplay=config, seed=4)] != first


# -- functions of planes ----------------------------------------------------------------------------------------------


def of_net(planes: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Answer with logits that count up, and with win and loss by the number of pieces."""
    logits = np.tile(np.linspace(0, 3, 1225), (len(planes), 1))
    balance = (planes[:, :6].sum((1, 2, 3)) - planes[:, 6:12].sum((1, 2, 3))) / 20
    return logits, np.stack([(1 + balance) / 2, 0 * balance, (1 - balance) / 2], 1)


def test_a_function_of_planes_is_an_evaluator() -> None:
    evaluator = FunctionEvaluator("gardner", of_net, name="count")
    positions = gardner_positions(12)
    found = evaluate(evaluator, positions)
    for position, each in zip(positions, found, strict=True):
        logits = np.array([_core.move_index(position, move) * 3 / 1224 for move in position.legal_moves])
        expected = np.exp(logits) / np.exp(logits).sum()
        assert list(each.priors.values()) == pytest.approx(expected.tolist(), abs=1e-5)
        pieces = [
            piece for square in range(64) if square % 8 < 5 > square // 8 and (piece := position.piece_at(square))
        ]
        own = sum(piece.isupper() == position.turn for piece in pieces)
        assert each.value == pytest.approx((2 * own - len(pieces)) / 20, abs=1e-5)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda planes: 1, "a tuple of logits and wdl is needed, not int"),
        (lambda planes: (np.zeros((len(planes), 5)), np.zeros((len(planes), 3))), "logits: float32"),
        (lambda planes: (np.zeros((len(planes), 1225), int), np.zeros((len(planes), 3))), "not int64"),
        (
            lambda planes: (np.full((len(planes), 1225), np.nan), np.zeros((len(planes), 3))),
            "not all numbers are finite",
        ),
        (
            lambda planes: (np.full((len(planes), 1225), 1e308), np.zeros((len(planes), 3))),
            "not all numbers are finite in float32",
        ),
        (lambda planes: ([[1.0], [1.0, 2.0]], [[0.3, 0.4, 0.3]]), "logits: the rows have different lengths"),
        (lambda planes: (np.zeros((len(planes), 1225)), np.zeros((len(planes), 3))), "not probabilities of sum one"),
    ],
)
def test_a_function_that_answers_wrongly(answer: Any, words: str) -> None:
    evaluator = FunctionEvaluator("gardner", answer)
    with pytest.raises(EvaluatorError, match=words):
        Player(evaluator).search(Position("gardner"), Limit(visits=5))


def test_logits_may_be_as_far_apart_as_float32_allows() -> None:
    def function(planes: Any) -> Any:
        logits = np.tile(np.array([3e38, -3e38], np.float32), (len(planes), 613))[:, :1225]
        return logits, np.tile(np.array([0.3, 0.4, 0.3], np.float32), (len(planes), 1))

    found = evaluate(FunctionEvaluator("gardner", function), [Position("gardner")])[0]
    assert sum(found.priors.values()) == pytest.approx(1)


@pytest.mark.parametrize("name", [5, "", " ", None])
def test_a_function_has_a_name(name: Any) -> None:
    with pytest.raises(EvaluatorError, match="an evaluator needs a name, not "):
        FunctionEvaluator("gardner", of_net, name=name)


def test_functions_that_are_none() -> None:
    with pytest.raises(EvaluatorError, match="a function is needed"):
        FunctionEvaluator("gardner", 5)  # type: ignore[arg-type]
    with pytest.raises(UnknownVariant):
        FunctionEvaluator("go", of_net)
    with pytest.raises(PlayerError, match="plays gardner, not chess"):
        Player(FunctionEvaluator("gardner", of_net)).search(Position("chess"), Limit(visits=1))


def test_our_own_backends_pass_the_checks() -> None:
    for backend in ("onnx", "onnx-int8"):
        evaluator = open_evaluator(NET, backend=backend, threads=1)
        assert Player(evaluator).search(Position("gardner"), Limit(visits=64)).visits == 64
