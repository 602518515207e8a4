"""The PettingZoo environment, by PettingZoo's own tests and against the rules."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from selfmate import VARIANTS, ArrayError, EnvError, FenError, IllegalMove, Position, UnknownVariant, action_of

pytest.importorskip("pettingzoo", reason="needs PettingZoo: pip install 'selfmate[envs]'")

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it imports a game of its own by an old name
    from pettingzoo.test import api_test, seed_test

from selfmate.envs import VariantAECEnv

NAMES = (*VARIANTS, "chess960", "atomic960")
MATE_IN_ONE = "7k/5Q2/6K1/8/8/8/8/8 w - - 0 1"


@pytest.mark.parametrize("variant", NAMES)
def test_api(variant: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A dictionary with a mask, as in PettingZoo's own board games, which its test exempts by their names.
        warnings.filterwarnings("ignore", message="Observation (space for each agent probably|is not a NumPy array)")
        api_test(VariantAECEnv(variant, max_plies=120), num_cycles=300)


@pytest.mark.parametrize("variant", NAMES)
def test_seed(variant: str) -> None:
    seed_test(lambda: VariantAECEnv(variant), num_cycles=150)


@pytest.mark.parametrize("variant", NAMES)
def test_both_agents_play_by_the_rules(variant: str) -> None:
    env = VariantAECEnv(variant, max_plies=150)
    draw = np.random.default_rng(1)
    for game in range(3):
        env.reset(seed=game)
        position = env.game.position.copy()
        total = {"player_0": 0.0, "player_1": 0.0}
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, info = env.last()
            total[agent] += reward
            if terminated or truncated:
                assert not observation["action_mask"].any()
                end = position.outcome(claim_draw=True)
                assert info["result"] == ("*" if end is None else end.result())
                assert truncated == (end is None)
                env.step(None)
                continue
            assert agent == ("player_0" if position.turn else "player_1")
            actions = np.flatnonzero(observation["action_mask"])
            legal = {action_of(position, move): move for move in position.legal_moves}
            assert set(actions.tolist()) == set(legal)
            action = int(draw.choice(actions))
            position.push(legal[action])
            env.step(action)
        outcome = position.outcome(claim_draw=True)
        winner = None if outcome is None else outcome.winner
        expected = {None: 0.0, True: 1.0, False: -1.0}[winner]
        assert total == {"player_0": expected, "player_1": -expected}
        with pytest.raises(EnvError, match="call reset"):
            env.step(0)


def test_the_agent_that_waits_has_no_actions() -> None:
    env = VariantAECEnv("chess")
    env.reset(seed=1)
    env.step(action_of(Position("chess"), "e2e4"))
    waiting, moving = env.observe("player_0"), env.observe("player_1")
    assert not waiting["action_mask"].any()
    assert moving["action_mask"].sum() == 20
    assert waiting["observation"][0, 3, 4] == 1  # its pawn on e4, seen from its own side
    assert moving["observation"][6, 4, 4] == 1  # the same pawn, seen by Black


def test_illegal_actions() -> None:
    env = VariantAECEnv("chess")
    env.reset()
    env.step(0)
    assert (env.rewards, env.terminations) == (
        {"player_0": -1.0, "player_1": 0.0},
        {"player_0": True, "player_1": True},
    )
    assert env.infos["player_0"] == {"illegal_action": True}
    strict = VariantAECEnv("chess", on_illegal="raise")
    strict.reset()
    with pytest.raises(IllegalMove):
        strict.step(10**9)
    assert strict.agent_selection == "player_0"


def test_black_may_begin_and_white_may_win() -> None:
    env = VariantAECEnv("chess", starts=["4k3/8/8/8/8/8/8/4K2R b K - 0 1"])
    env.reset()
    assert env.agent_selection == "player_1"
    env.reset(options={"fen": MATE_IN_ONE})
    env.step(action_of(Position("chess", MATE_IN_ONE), "f7g7"))
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert env.infos["player_1"] == {"result": "1-0", "reason": "checkmate"}


def test_pictures() -> None:
    for mode, begins in (("ansi", "r n b"), ("svg", "<svg"), (None, "None")):
        env = VariantAECEnv("chess", render_mode=mode)
        env.reset()
        assert str(env.render()).startswith(begins)
        env.close()


WRONG: dict[str, tuple[type[Exception], Callable[[], object], str]] = {
    "variant": (UnknownVariant, lambda: VariantAECEnv("go"), "unknown variant 'go'"),
    "picture": (EnvError, lambda: VariantAECEnv("chess", render_mode="human"), "render_mode must be"),
    "illegal": (EnvError, lambda: VariantAECEnv("chess", on_illegal="skip"), "on_illegal must be"),
    "plies": (EnvError, lambda: VariantAECEnv("chess", max_plies=-1), "max_plies must be"),
    "starts": (FenError, lambda: VariantAECEnv("chess", starts=["rubbish"]), "FEN"),
    "seed": (EnvError, lambda: VariantAECEnv("chess").reset(seed=1 << 90), "seed must be"),
    "agent": (EnvError, lambda: VariantAECEnv("chess").observe("nope"), "agent must be player_0 or player_1"),
    "space": (EnvError, lambda: VariantAECEnv("chess").observation_space("nope"), "agent must be"),
    "actions": (EnvError, lambda: VariantAECEnv("chess").action_space("nope"), "agent must be"),
    "before reset": (EnvError, lambda: VariantAECEnv("chess").step(5), "call reset"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_raises_the_documented_exception(name: str) -> None:
    kind, call, words = WRONG[name]
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("action", [float("nan"), "e2e4", None, 1.0])
def test_an_action_is_a_whole_number(action: Any) -> None:
    env = VariantAECEnv("gardner")
    env.reset(seed=1)
    with pytest.raises(ArrayError, match="an action is a whole number"):
        env.step(action)
