"""The Gymnasium environments: one seat against a player, and many games."""

from __future__ import annotations

import pickle
import warnings
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
    Limit,
    Player,
    PlayerError,
    Position,
    UnknownVariant,
    action_of,
)

pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'selfmate[envs]'")

import gymnasium
from gymnasium.utils.env_checker import check_env

from selfmate.envs import GamesVectorEnv, VariantEnv
from selfmate.envs.registration import ENV_IDS

NAMES = (*VARIANTS, "chess960", "atomic960")
MATE_IN_ONE = "7k/5Q2/6K1/8/8/8/8/8 w - - 0 1"


def play_game(env: VariantEnv, seed: int) -> tuple[float, bool, bool, dict[str, Any], int]:
    """Play random legal actions to the end; return the last reward, terminated, truncated, info, and the steps."""
    observation, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    for step in range(1, 1000):
        action = env.action_space.sample(observation["action_mask"])
        observation, reward, terminated, truncated, info = env.step(action)
        assert env.observation_space.contains(observation)
        if terminated or truncated:
            assert not observation["action_mask"].any()
            return reward, terminated, truncated, info, step
        assert reward == 0
        np.testing.assert_array_equal(env.action_masks(), observation["action_mask"].astype(bool))
    raise AssertionError("the game does not end")


@pytest.mark.parametrize("name", ENV_IDS)
def test_check_env(name: str) -> None:
    env = gymnasium.make(name, disable_env_checker=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


@pytest.mark.parametrize("variant", NAMES)
@pytest.mark.parametrize("seat", ["white", "black"])
def test_games_end_with_the_reward_of_the_seat(variant: str, seat: str) -> None:
    env = VariantEnv(variant, seat=seat, max_plies=200)
    for seed in range(3):
        reward, terminated, truncated, info, _ = play_game(env, seed)
        assert terminated != truncated
        white = {"1-0": 1.0, "0-1": -1.0}.get(info["result"], 0.0)
        assert reward == (white if seat == "white" else -white)
        assert info["reason"] == ("truncated" if truncated else info["reason"])


def test_every_result_is_seen() -> None:
    env = VariantEnv("gardner", opponent="heuristic-1", limit=Limit(visits=8), seat="random", noise=True)
    rewards = {play_game(env, seed)[0] for seed in range(30)}
    assert -1.0 in rewards
    weak = VariantEnv("antichess", seat="random")
    assert {play_game(weak, seed)[0] for seed in range(20)} >= {1.0, -1.0}


def test_equal_seeds_give_equal_games() -> None:
    first = VariantEnv("atomic960", seat="random")
    second = VariantEnv("atomic960", seat="random")
    starts = []
    for seed in (1, 2, 3, 4):
        assert play_game(first, seed)[:4] == play_game(second, seed)[:4]
        one, two = first.reset(seed=seed)[0], second.reset(seed=seed)[0]
        np.testing.assert_array_equal(one["observation"], two["observation"])
        starts.append(first.game.position.fen())
    assert len(set(starts)) == 4


def test_the_seat_sees_its_own_side() -> None:
    env = VariantEnv("chess", seat="black", opponent="heuristic-1", limit=Limit(visits=4))
    observation, _ = env.reset(seed=1)
    assert env.white is False
    assert len(env.game.position.move_stack) == 1
    np.testing.assert_array_equal(observation["observation"][0, 1], np.ones(8))  # its pawns are in front of it
    assert observation["action_mask"].sum() == 20


def test_the_opponent_is_the_player_that_was_chosen() -> None:
    limit = Limit(visits=50)
    env = VariantEnv("chess", opponent=Player("heuristic-1"), limit=limit)
    env.reset(seed=1)
    env.step(action_of(Position("chess"), "e2e4"))
    position = Position("chess")
    position.push("e2e4")
    position.push(Player("heuristic-1").search(position, limit).best)
    assert env.game.position == position


def test_win_and_illegal_actions() -> None:
    env = VariantEnv("chess", starts=[MATE_IN_ONE])
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(np.int64(action_of(Position("chess", MATE_IN_ONE), "f7g7")))
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info == {"result": "1-0", "reason": "checkmate"}
    with pytest.raises(EnvError, match="call reset"):
        env.step(0)
    env.reset()
    _, reward, terminated, _, info = env.step(0)
    assert (reward, terminated, info) == (-1.0, True, {"illegal_action": True})
    strict = VariantEnv("chess", on_illegal="raise")
    strict.reset()
    for action in (0, -5, 10**9):
        with pytest.raises(IllegalMove):
            strict.step(action)
    assert strict.game.position == Position("chess")


def test_a_game_can_start_elsewhere_and_be_drawn() -> None:
    env = VariantEnv("chess")
    env.reset(options={"fen": MATE_IN_ONE})
    assert env.game.position.fen() == MATE_IN_ONE
    short = VariantEnv("chess", max_plies=2)
    short.reset(seed=1)
    assert short.step(action_of(Position("chess"), "e2e4"))[1:4] == (0.0, False, True)


def test_pictures() -> None:
    for mode, begins in (("ansi", "r n b"), ("svg", "<svg"), (None, "None")):
        env = VariantEnv("chess", render_mode=mode)
        env.reset()
        assert str(env.render()).startswith(begins)


WRONG: dict[str, tuple[type[Exception], Callable[[], object], str]] = {
    "variant": (UnknownVariant, lambda: VariantEnv("go"), "unknown variant 'go'"),
    "opponent": (PlayerError, lambda: VariantEnv("chess", opponent="stockfish"), "unknown player"),
    "its variant": (PlayerError, lambda: VariantEnv("chess", opponent="gardner-laptop"), "plays gardner, not chess"),
    "limit": (PlayerError, lambda: VariantEnv("chess", limit=Limit(depth=3)), "a limit needs"),
    "seat": (EnvError, lambda: VariantEnv("chess", seat="both"), "seat must be"),
    "picture": (EnvError, lambda: VariantEnv("chess", render_mode="human"), "render_mode must be"),
    "illegal": (EnvError, lambda: VariantEnv("chess", on_illegal="skip"), "on_illegal must be"),
    "plies": (EnvError, lambda: VariantEnv("chess", max_plies=10**9), "max_plies must be"),
    "starts": (FenError, lambda: VariantEnv("chess", starts=["rubbish"]), "FEN"),
    "over": (EnvError, lambda: VariantEnv("chess", starts=["8/8/4k3/8/8/4K3/8/8 w - - 0 1"]), "where it is over"),
    "seed": (EnvError, lambda: VariantEnv("chess").reset(seed=-3), "seed must be"),
    "fen": (FenError, lambda: VariantEnv("chess").reset(options={"fen": "x" * 9999}), "FEN"),
    "lost at once": (
        EnvError,
        lambda: VariantEnv("chess", opponent="heuristic-1", seat="black", starts=[MATE_IN_ONE]).reset(seed=1),
        "first move has ended 100 games",
    ),
    "one ply": (EnvError, lambda: VariantEnv("chess", seat="black", max_plies=1).reset(), "has ended 100 games"),
    "no player": (PlayerError, lambda: VariantEnv("chess", opponent=5), "not int"),  # type: ignore[arg-type]
    "vector seed": (EnvError, lambda: GamesVectorEnv("chess", 2).reset(seed=[1, 2]), "seed must be"),
    "vector actions": (ArrayError, lambda: GamesVectorEnv("chess", 2).step([0.5, 1]), "int64[2] is needed"),
    "vector illegal": (IllegalMove, lambda: GamesVectorEnv("chess", 2).step([0, 0]), "not legal in game 0"),
    "vector uint64": (
        IllegalMove,
        lambda: GamesVectorEnv("chess", 2).step(np.array([1, 2**63], np.uint64)),
        "action 9223372036854775808 is not legal in game 1",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_raises_the_documented_exception(name: str) -> None:
    kind, call, words = WRONG[name]
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("action", [float("nan"), "e2e4", None, [1, 2], 1.0])
def test_an_action_is_a_whole_number(action: Any) -> None:
    env = VariantEnv("gardner")
    env.reset(seed=1)
    with pytest.raises(ArrayError, match="an action is a whole number"):
        env.step(action)


def test_games_of_a_vector_environment() -> None:
    env = GamesVectorEnv("gardner", 16, max_plies=50)
    observations, infos = env.reset(seed=4)
    assert env.observation_space.contains(observations)
    assert infos["white_to_move"].all()
    ended = 0
    for _ in range(200):
        kept = observations["observation"].copy()
        actions = env.random_actions()
        assert env.action_space.contains(actions)
        assert observations["action_mask"][np.arange(16), actions].all()
        before = observations
        observations, rewards, terminated, truncated, infos = env.step(actions)
        np.testing.assert_array_equal(before["observation"], kept)  # a copy
        assert env.observation_space.contains(observations)
        assert not (terminated & truncated).any()
        assert not rewards[~terminated].any()
        ended += int((terminated | truncated).sum())
        assert infos["white_to_move"][terminated | truncated].all()
    assert ended > 16
    again = GamesVectorEnv("gardner", 16, max_plies=50)
    again.reset(seed=4)
    env.reset(seed=4)
    assert again.random_actions().tolist() == env.random_actions().tolist()
    shared = GamesVectorEnv("gardner", 2, copy=False)
    assert shared.reset()[0]["observation"] is shared.games.planes


def test_spec_makes_an_equal_environment() -> None:
    env = gymnasium.make("selfmate/gardner-v0", seat="black")
    assert env.spec is not None
    copy = pickle.loads(pickle.dumps(env.spec)).make()
    assert copy.unwrapped.seat == "black"
