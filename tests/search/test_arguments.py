"""Arguments of the Python API that cannot be taken: one line of a `SelfmateError`, wherever they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from selfmate import (
    ArrayError,
    EvaluatorError,
    FunctionEvaluator,
    Limit,
    Player,
    PlayerError,
    Position,
    SearchConfig,
    SearchError,
    SelfmateError,
    SelfPlayConfig,
    dense_planes,
    evaluate,
    play_match,
    read_epd,
    read_games,
)

GARDNER = Position("gardner")


@pytest.mark.parametrize(
    "number",
    [0, -1, 10**30, pytest.param(10**5000, id="5001 digits"), 2.5, "5", True, float("nan"), np.float32(5), [5]],
)
@pytest.mark.parametrize("field", ["visits", "nodes", "depth", "mate"])
def test_a_limit_counts_whole_numbers(field: str, number: Any) -> None:
    with pytest.raises(PlayerError, match=rf"^{field} of a limit must be a whole number from 1 to \d+, not "):
        Limit(**{field: number})


@pytest.mark.parametrize(
    "number",
    [
        0,
        -1,
        "5",
        True,
        float("nan"),
        float("inf"),
        10**400,
        pytest.param(-(10**5000), id="5001 digits"),
        [1],
    ],
)
def test_a_limit_has_seconds_above_zero(number: Any) -> None:
    with pytest.raises(PlayerError, match=r"^seconds of a limit must be a number above 0, not "):
        Limit(seconds=number)


@pytest.mark.parametrize("clock", ["x", 5, pytest.param(10**5000, id="5001 digits")])
def test_a_limit_has_a_clock(clock: Any) -> None:
    with pytest.raises(PlayerError, match=r"^clock of a limit must be a Clock, not "):
        Limit(clock=clock)


def test_a_message_shows_an_array_in_one_line() -> None:
    with pytest.raises(PlayerError) as caught:
        Limit(visits=np.zeros((3, 3)))  # type: ignore[arg-type]
    assert len(str(caught.value).splitlines()) == 1


def test_a_limit_takes_numbers_of_numpy() -> None:
    limit = Limit(visits=np.int64(5), seconds=np.float32(0.5))  # type: ignore[arg-type]
    assert limit == Limit(visits=5, seconds=0.5)
    assert (type(limit.visits), type(limit.seconds)) == (int, float)


@pytest.mark.parametrize(("position", "limit"), [("startpos", Limit(visits=1)), (GARDNER, 100), (GARDNER, None)])
def test_a_search_needs_a_position_and_a_limit(position: Any, limit: Any) -> None:
    with pytest.raises(PlayerError, match=r"^a (Position|Limit) is needed, such as "):
        Player("uniform").search(position, limit)


@pytest.mark.parametrize("source", ["gardner-laptop", "heuristic-1", "random"])
@pytest.mark.parametrize(
    "options",
    [
        {"device": "tpu"},
        {"device": 5},
        {"threads": -3},
        {"threads": float("nan")},
        {"threads": 10**9},
        {"backend": "nope"},
        {"backend": 5},
    ],
)
def test_a_player_needs_what_there_may_be(source: str, options: dict[str, Any]) -> None:
    with pytest.raises(EvaluatorError, match=r"^(unknown (device|backend)|threads must be a whole number)"):
        Player(source, **options)


@pytest.mark.parametrize("noise", ["x", float("nan"), None, 1])
def test_noise_is_a_flag(noise: Any) -> None:
    with pytest.raises(PlayerError, match=r"^noise must be True or False, not "):
        Player("uniform").search(GARDNER, Limit(visits=2), noise=noise)
    assert Player("uniform").search(GARDNER, Limit(visits=2), noise=np.True_).visits == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [float("nan"), -1, "x", None, 10**400, "a\nb" * 100, np.zeros((3, 3))])
def test_a_config_out_of_range_is_one_short_line(value: Any) -> None:
    for make in (
        lambda: SearchConfig(cpuct=value),
        lambda: SearchConfig().replace(cpuct=value),
        lambda: SelfPlayConfig(visits=8, temperature=value),
    ):
        with pytest.raises(SearchError) as caught:
            make()
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 160


WDL = {
    "of another sum": [0.5, 0.5, 0.5],
    "below zero": [1.5, 0.0, -0.5],
}


@pytest.mark.parametrize("wdl", WDL.values(), ids=WDL)
def test_evaluate_refuses_what_is_no_probability(wdl: list[float]) -> None:
    def function(planes: Any) -> Any:
        return np.zeros((len(planes), 1225), np.float32), np.tile(np.array(wdl, np.float32), (len(planes), 1))

    evaluator = FunctionEvaluator("gardner", function, name="mine")
    uses: tuple[Callable[[], object], ...] = (
        lambda: evaluate(evaluator, [GARDNER]),
        lambda: Player(evaluator).search(GARDNER, Limit(visits=8)),
    )
    for use in uses:
        with pytest.raises(EvaluatorError, match="probabilities of sum one"):
            use()


@pytest.mark.parametrize(
    "wrong",
    [
        {"visits": 0},
        {"visits": float("nan")},
        {"max_plies": -1},
        {"openings": [GARDNER]},
        {"openings": GARDNER.fen()},
        {"openings": []},
        {"search": ""},
        {"search": None},
        {"search": {"cpuct": 2.0}},
    ],
)
def test_a_match_refuses_what_it_cannot_play(wrong: dict[str, Any]) -> None:
    options = {"openings": [GARDNER.fen()], "search": SearchConfig(), "visits": 1, "max_plies": 4, **wrong}
    openings = options.pop("openings")
    with pytest.raises(SelfmateError):
        play_match("gardner", "uniform", "uniform", openings, **options)


@pytest.mark.parametrize("encoded", [None, np.zeros((1, 20, 5, 5), np.float32)])
def test_planes_are_made_of_what_is_encoded(encoded: Any) -> None:
    with pytest.raises(ArrayError, match="leaves or samples are needed"):
        dense_planes("gardner", encoded)


@pytest.mark.parametrize("source", [None, 5])
def test_games_are_read_from_paths_and_files(source: Any) -> None:
    for read in (read_games, read_epd):
        with pytest.raises(TypeError, match="a path or an open file is needed"):
            list(read(source))
