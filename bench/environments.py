"""Steps per second of chess environments with random legal actions on one core: ours, PettingZoo's, OpenSpiel's.

    python bench/environments.py
    python bench/environments.py --seconds 5 --rounds 5 --json environments.json

Needs `pip install 'selfmate[envs]' chess pygame`, for others `pip install open_spiel pgx`; what is not installed is
left out. A step is one move; after each, the observation and the legal actions of the next position are there, and a
random one of them is drawn. All are measured in the same process, one after another, for several rounds; a figure is
the median over the rounds. Time is the processor time of the process, so that other programs take nothing away.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from selfmate import _core
from selfmate.envs import BatchedGames, GamesVectorEnv, VariantAECEnv, VariantEnv
from selfmate.util.cpu import processor_name

BATCHES = (1, 16, 256, 1024)
REFERENCE = 45_000
"""Steps per second of OpenSpiel with its tensor, where it cannot be installed."""
CORE_MOVES = 20_000
"""Moves of the loop of the core between two looks at the clock."""

Steps = Iterator[int]
"""Yields the number of steps that were made since the last time, without end."""


class Contestant(NamedTuple):
    """An environment to measure."""

    name: str
    begin: Callable[[], Steps]


def draw_from(mask: np.ndarray[Any, Any], random: np.random.Generator) -> int:
    """Return a random legal action."""
    legal = np.flatnonzero(mask)
    return int(legal[random.integers(len(legal))])


# -- one environment --------------------------------------------------------------------------------------------------


def aec_steps(env: Any) -> Steps:
    """Step an AEC environment of PettingZoo's interface."""
    random = np.random.default_rng(1)
    while True:
        env.reset(seed=1)
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                break
            env.step(draw_from(observation["action_mask"], random))
            yield 1


def pettingzoo_steps(wrapped: bool) -> Steps:
    """Step PettingZoo's chess, with the wrappers that check actions, as users get it, or without."""
    os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pettingzoo.classic.chess import chess

        return aec_steps(chess.env() if wrapped else chess.raw_env())


def gymnasium_steps() -> Steps:
    """Step our Gymnasium environment against `random`: two moves a step."""
    env, random = VariantEnv("chess", opponent="random"), np.random.default_rng(1)
    while True:
        observation, _ = env.reset(seed=1)
        over = False
        while not over:
            observation, _, terminated, truncated, _ = env.step(draw_from(observation["action_mask"], random))
            over = terminated or truncated
            yield 2


def open_spiel_steps() -> Steps:
    """Step OpenSpiel's chess with its observation tensor."""
    import pyspiel

    game, random = pyspiel.load_game("chess"), np.random.default_rng(1)
    while True:
        state = game.new_initial_state()
        while not state.is_terminal():
            legal = state.legal_actions()
            state.apply_action(legal[random.integers(len(legal))])
            if not state.is_terminal():
                np.array(state.observation_tensor(), np.float32)
            yield 1


# -- many games -------------------------------------------------------------------------------------------------------


def batched_steps(games: int) -> Steps:
    """Step our batched games; the core draws the actions."""
    batch = BatchedGames("chess", games, seed=1)
    while True:
        batch.step(batch.random_actions())
        yield games


def masked_steps(games: int) -> Steps:
    """Step our batched games; numpy draws the actions from the masks."""
    batch, random = BatchedGames("chess", games, seed=1), np.random.default_rng(1)
    width = batch.masks.shape[1]
    while True:
        legal = np.flatnonzero(batch.masks.reshape(-1))
        ends = np.searchsorted(legal, np.arange(1, games + 1) * width)
        begins = np.concatenate([[0], ends[:-1]])
        drawn = begins + (random.random(games) * (ends - begins)).astype(np.int64)
        batch.step(legal[drawn] % width)
        yield games


def vector_steps(games: int, copy: bool) -> Steps:
    """Step our Gymnasium vector environment, with or without copies of the observations."""
    env = GamesVectorEnv("chess", games, copy=copy)
    env.reset(seed=1)
    while True:
        env.step(env.random_actions())
        yield games


def pgx_steps(games: int) -> Steps:
    """Step pgx's chess, compiled for the CPU; the actions are drawn in the same compiled function."""
    import jax
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make("chess")
    step_all = jax.vmap(auto_reset(env.step, env.init))

    def advance(state: Any, key: Any) -> Any:
        logits = jax.numpy.where(state.legal_action_mask, 0.0, -jax.numpy.inf)
        keys = jax.random.split(key, games)
        return step_all(state, jax.random.categorical(key, logits), keys)

    advance = jax.jit(advance)
    key = jax.random.PRNGKey(1)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(key, games))
    while True:
        key, used = jax.random.split(key)
        state = advance(state, used)
        state.observation.block_until_ready()
        yield games


def core_steps() -> Steps:
    """Play random games in a loop of the core that writes the same planes and masks."""
    seed = 0
    while True:
        _core.observe_random_games("chess", seed, CORE_MOVES)
        seed += 1
        yield CORE_MOVES


# -- measuring --------------------------------------------------------------------------------------------------------


def contestants() -> list[Contestant]:
    """Return what is installed."""
    found = []
    if (
        importlib.util.find_spec("pettingzoo")
        and importlib.util.find_spec("pygame")
        and importlib.util.find_spec("chess")
    ):
        found.append(Contestant("PettingZoo chess_v6", lambda: pettingzoo_steps(wrapped=True)))
        found.append(Contestant("PettingZoo chess_v6, without wrappers", lambda: pettingzoo_steps(wrapped=False)))
    found.append(Contestant("VariantAECEnv", lambda: aec_steps(VariantAECEnv("chess"))))
    found.append(Contestant("VariantEnv against random", gymnasium_steps))
    if importlib.util.find_spec("pyspiel"):
        found.append(Contestant("OpenSpiel chess, with its tensor", open_spiel_steps))
    for games in BATCHES:
        found.append(Contestant(f"BatchedGames, {games}", lambda games=games: batched_steps(games)))  # type: ignore[misc]
    found.append(Contestant("BatchedGames, 256, actions drawn by numpy", lambda: masked_steps(256)))
    found.append(Contestant("GamesVectorEnv, 256", lambda: vector_steps(256, copy=True)))
    found.append(Contestant("GamesVectorEnv, 256, copy=False", lambda: vector_steps(256, copy=False)))
    if all(map(importlib.util.find_spec, ("pgx", "jax"))):
        found.append(Contestant("pgx chess, 256", lambda: pgx_steps(256)))
    found.append(Contestant("loop of the core", core_steps))
    return found


def rate(steps: Steps, seconds: float) -> float:
    """Return the steps per second of processor time."""
    next(steps)
    began, count = time.process_time(), 0
    while (elapsed := time.process_time() - began) < seconds:
        count += next(steps)
    return count / elapsed


def measure(rounds: int, seconds: float) -> dict[str, float]:
    """Return the median rate of each contestant; every round measures all of them."""
    running = [(each.name, each.begin()) for each in contestants()]
    rates: dict[str, list[float]] = {name: [] for name, _ in running}
    for number in range(rounds):
        for name, steps in running:
            print(f"round {number + 1} of {rounds}: {name}", file=sys.stderr)
            rates[name].append(rate(steps, seconds))
    return {name: statistics.median(found) for name, found in rates.items()}


def table(rates: dict[str, float]) -> str:
    """Return the rates as a table in Markdown."""
    peers = [rates[name] for name in rates if name.startswith("PettingZoo")]
    spiel = rates.get("OpenSpiel chess, with its tensor", float(REFERENCE))
    core = rates["loop of the core"]
    lines = [
        "| environment | steps/s | by PettingZoo | by OpenSpiel | share of the core's loop |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, found in rates.items():
        best = f"{found / max(peers):.1f}" if peers else ""
        lines.append(f"| {name} | {found:,.0f} | {best} | {found / spiel:.1f} | {100 * found / core:.0f} % |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="processor time of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    if not (0 < options.seconds <= 600) or not 1 <= options.rounds <= 1000:
        parser.error("--seconds goes from 0 to 600, --rounds from 1 to 1000")
    with contextlib.suppress(AttributeError):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core
    rates = measure(options.rounds, options.seconds)
    print(table(rates))
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"\n{processor_name()}, core {_core.CORE}, one core, load {load}")
    if options.json is not None:
        options.json.write_text(json.dumps({name: round(found) for name, found in rates.items()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
