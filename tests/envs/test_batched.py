"""Many games at once, against positions that are played move by move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from selfmate import (
    VARIANTS,
    ArrayError,
    EnvError,
    FenError,
    IllegalMove,
    NoKing,
    Position,
    UnknownVariant,
    _core,
    action_masks,
    action_of,
    encode_planes,
    move_of,
)
from selfmate.envs import BatchedGames

NAMES = (*VARIANTS, "chess960", "atomic960")
MATE_IN_ONE = "7k/5Q2/6K1/8/8/8/8/8 w - - 0 1"


@pytest.mark.parametrize("variant", NAMES)
def test_games_follow_the_rules(variant: str) -> None:
    games = BatchedGames(variant, 6, seed=3, max_plies=60)
    positions = [Position(variant, fen) for fen in games.fens()]
    ends = set()
    for _ in range(150):
        np.testing.assert_array_equal(games.planes, encode_planes(positions))
        np.testing.assert_array_equal(games.masks, action_masks(positions))
        assert games.turns.tolist() == [position.turn for position in positions]
        actions = games.random_actions()
        moves = [move_of(position, int(action)) for position, action in zip(positions, actions, strict=True)]
        step = games.step(actions)
        for row, (position, move) in enumerate(zip(positions, moves, strict=True)):
            mover = position.turn
            position.push(move)
            outcome = position.outcome(claim_draw=True)
            long = outcome is None and len(position.move_stack) >= 60
            assert bool(step.terminated[row]) == (outcome is not None)
            assert bool(step.truncated[row]) == long
            won = 0.0
            if outcome is not None and outcome.winner is not None:
                won = 1.0 if outcome.winner == mover else -1.0
            assert step.rewards[row] == won
            if outcome is not None or long:
                ends.add(won if outcome is not None else None)
                positions[row] = Position(variant, games.fens()[row])
    assert ends


def test_960_games_begin_at_many_positions() -> None:
    games = BatchedGames("chess960", 200, seed=1)
    assert len(set(games.fens())) > 150
    games.reset(2)
    other = games.fens()
    games.reset(1)
    assert games.fens() == BatchedGames("chess960", 200, seed=1).fens() != other


def test_a_move_can_lose_the_game() -> None:
    # White must capture the last black piece; a side without pieces wins in antichess.
    start = "8/8/8/8/8/1p6/P7/8 w - - 0 1"
    games = BatchedGames("antichess", 1, starts=[start])
    step = games.step(np.array([action_of(Position("antichess", start), "a2b3")]))
    assert (step.rewards[0], step.terminated[0]) == (-1.0, True)


def test_equal_seeds_and_threads_give_equal_games() -> None:
    def play(threads: int, seed: int) -> list[str]:
        games = BatchedGames("atomic", 32, seed=seed, threads=threads)
        for _ in range(100):
            games.step(games.random_actions())
        return games.fens()

    assert play(1, 5) == play(2, 5) != play(1, 6)


def test_a_reset_begins_again() -> None:
    games = BatchedGames("gardner", 4, seed=9)
    first = [games.random_actions().tolist() for _ in range(3)]
    games.step(games.random_actions())
    games.reset()
    assert set(games.fens()) == {Position("gardner").fen()}
    assert [games.random_actions().tolist() for _ in range(3)] == first


def test_an_illegal_action_changes_no_game() -> None:
    games = BatchedGames("chess", 3, seed=1)
    legal = games.random_actions().copy()
    before, planes = games.fens(), games.planes.copy()
    for wrong in (0, -1, 4672, 1 << 40, np.iinfo(np.int64).min):
        actions = legal.copy()
        actions[2] = wrong
        with pytest.raises(IllegalMove, match="is not legal in game 2"):
            games.step(actions)
        assert games.fens() == before
        np.testing.assert_array_equal(games.planes, planes)


def test_arrays_of_the_caller_are_written() -> None:
    planes, masks = np.zeros((2, 20, 5, 5), np.float32), np.zeros((2, 1225), np.bool_)
    games = BatchedGames("gardner", 2, planes=planes, masks=masks)
    assert masks.sum() == 14
    games.step(games.random_actions())
    assert games.planes is planes
    np.testing.assert_array_equal(planes, encode_planes([Position("gardner", fen) for fen in games.fens()]))


WRONG: dict[str, tuple[type[Exception], Callable[[], object], str]] = {
    "no games": (EnvError, lambda: BatchedGames("chess", 0), "games must be a whole number from 1"),
    "many games": (EnvError, lambda: BatchedGames("chess", 10**12), "games must be"),
    "too many games": (EnvError, lambda: BatchedGames("chess", 65_537), "from 1 to 65536, not 65537"),
    "half a game": (EnvError, lambda: BatchedGames("chess", 1.5), "games must be"),  # type: ignore[arg-type]
    "no plies": (EnvError, lambda: BatchedGames("chess", 1, max_plies=0), "max_plies must be"),
    "many threads": (EnvError, lambda: BatchedGames("chess", 1, threads=10**6), "threads must be"),
    "seed": (EnvError, lambda: BatchedGames("chess", 1, seed=-1), "seed must be"),
    "NaN seed": (EnvError, lambda: BatchedGames("chess", 1, seed=float("nan")), "seed"),  # type: ignore[arg-type]
    "variant": (UnknownVariant, lambda: BatchedGames("go", 1), "unknown variant"),
    "FEN": (FenError, lambda: BatchedGames("chess", 1, starts=["hello"]), "FEN"),
    "setup": (NoKing, lambda: BatchedGames("chess", 1, starts=["8/8/8/8/8/8/8/K7 w - - 0 1"]), "king"),
    "ended": (
        EnvError,
        lambda: BatchedGames("chess", 1, starts=["7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"]),
        "cannot start where it is over",
    ),
    "one start": (EnvError, lambda: BatchedGames("chess", 1, starts=MATE_IN_ONE), "a list of FENs"),
    "planes": (
        ArrayError,
        lambda: BatchedGames("chess", 1, planes=np.zeros((1, 20, 8, 8))),  # type: ignore[arg-type]
        "planes: float32[1, 20, 8, 8] is needed, not float64",
    ),
    "masks": (
        ArrayError,
        lambda: BatchedGames("chess", 1, masks=np.zeros((2, 4672), np.bool_)),
        "masks: bool[1, 4672] is needed, not bool[2, 4672]",
    ),
    "int32 actions": (
        ArrayError,
        lambda: BatchedGames("chess", 1).step(np.zeros(1, np.int32)),
        "actions: int64[1] is needed, not int32[1]",
    ),
    "float actions": (
        ArrayError,
        lambda: BatchedGames("chess", 1).step(np.full(1, np.nan)),
        "not float64[1]",
    ),
    "few actions": (ArrayError, lambda: BatchedGames("chess", 2).step(np.zeros(1, np.int64)), "int64[2] is needed"),
    "a list": (ArrayError, lambda: BatchedGames("chess", 1).step([5]), "not list"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_raises_the_documented_exception(name: str) -> None:
    kind, call, words = WRONG[name]
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_the_loop_of_the_core_plays_random_games() -> None:
    assert _core.observe_random_games("gardner", 1, 0) == 0
    assert 20 < _core.observe_random_games("gardner", 1, 10_000) < 1000
    with pytest.raises(ValueError, match="moves go from"):
        _core.observe_random_games("gardner", 1, 10**12)


def test_the_names_of_the_package() -> None:
    import selfmate.envs

    assert set(selfmate.envs.__all__) <= set(dir(selfmate.envs))
    missing: Any = selfmate.envs
    with pytest.raises(AttributeError):
        missing.Chess  # noqa: B018
