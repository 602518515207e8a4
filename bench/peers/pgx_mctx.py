"""Self-play of pgx + mctx, the peer: moves and simulations per second on the device that JAX finds.

    PYTHONPATH=.carry/pgx python bench/peers/pgx_mctx.py --games chess,gardner_chess --batch 1024,4096 --json -

Every game of the batch is searched by mctx's Gumbel MuZero policy with the rules of pgx as the model, a move is played
in each, and a game that ended begins anew: one step of the batch is one move in every game. The net is a residual
tower in bfloat16, written in plain JAX, of the same shape as ours (`selfmate.nn.net`, without squeeze-and-excite, its
norms folded): what differs is the number of planes that go in. Weights are random: they do not change the speed.

Needs jax, pgx and mctx, not Selfmate. `bench/peers/carry_pgx.sh` fetches what a machine without a network lacks.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any, Final

from peer_report import Parser, counts, machine, names, positive, refuse, say, seconds, table, write

GAMES: Final = ("chess", "gardner_chess")
POLICY_CHANNELS: Final = 64
VALUE_CHANNELS: Final = 32
CONSIDERED: Final = 16  # mctx's default, and ours
NO_MOVE: Final = -1e30


def versions() -> dict[str, str | None]:
    """Return the versions of the packages; None for one that is on the path without metadata."""
    found: dict[str, str | None] = {}
    for name in ("jax", "jaxlib", "pgx", "mctx", "chex", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            module = sys.modules.get(name)
            found[name] = getattr(module, "__version__", None)
    return found


def load(*modules: str) -> str:
    """Import modules; return an error message for the first that fails, or an empty text."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            return f"{name} cannot be loaded ({error}); bench/peers/carry_pgx.sh fetches it"
    return ""


# -- the net --------------------------------------------------------------------------------------


def make_net(key: Any, inputs: int, planes: int, blocks: int, channels: int) -> dict[str, Any]:
    """Draw the weights of a tower: a stem, blocks of two convolutions, and both heads, all bfloat16."""
    import jax
    import jax.numpy as jnp

    keys = iter(jax.random.split(key, 2 * blocks + 8))

    def layer(*shape: int, scale: float = 1.0) -> tuple[Any, Any]:
        deviation = scale * (2.0 / math.prod(shape[:-1])) ** 0.5
        weight = jax.random.normal(next(keys), shape, jnp.float32) * deviation
        return weight.astype(jnp.bfloat16), jnp.zeros(shape[-1], jnp.bfloat16)

    def block() -> tuple[Any, Any]:  # near the identity at first, or activations grow from block to block
        return layer(3, 3, channels, channels), layer(3, 3, channels, channels, scale=0.1)

    return {
        "stem": layer(3, 3, inputs, channels),
        "blocks": [block() for _ in range(blocks)],
        "policy": (layer(1, 1, channels, POLICY_CHANNELS), layer(1, 1, POLICY_CHANNELS, planes)),
        "value": (
            layer(1, 1, channels, VALUE_CHANNELS),
            layer(2 * VALUE_CHANNELS, 2 * VALUE_CHANNELS),
            layer(2 * VALUE_CHANNELS, 1),
        ),
    }


def evaluate(net: dict[str, Any], observation: Any) -> tuple[Any, Any]:
    """[B, R, F, inputs] to float32 logits [B, R * F * planes] and values [B]."""
    import jax
    import jax.numpy as jnp

    def convolve(layer: tuple[Any, Any], x: Any) -> Any:
        weight, bias = layer
        product = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return product + bias

    x = jax.nn.relu(convolve(net["stem"], observation.astype(jnp.bfloat16)))
    for first, second in net["blocks"]:
        x = jax.nn.relu(x + convolve(second, jax.nn.relu(convolve(first, x))))
    reduce, to_planes = net["policy"]
    logits = convolve(to_planes, jax.nn.relu(convolve(reduce, x)))
    reduce, hidden, last = net["value"]
    features = jax.nn.relu(convolve(reduce, x))
    pooled = jnp.concatenate([features.mean((1, 2)), features.max((1, 2))], axis=-1)
    value = jax.nn.relu(pooled @ hidden[0] + hidden[1]) @ last[0] + last[1]
    return logits.reshape(len(logits), -1).astype(jnp.float32), jnp.tanh(value[:, 0].astype(jnp.float32))


# -- one move in every game -----------------------------------------------------------------------


def make_step(env: Any, simulations: int) -> Any:
    """Compile a function (net, states, key) -> (states, games that ended, visits of the least visited root)."""
    import jax
    import jax.numpy as jnp
    import mctx
    from pgx.experimental import auto_reset

    play = jax.vmap(env.step)
    play_on = jax.vmap(auto_reset(env.step, env.init))

    def judge(net: Any, state: Any) -> tuple[Any, Any]:
        logits, value = evaluate(net, state.observation)
        logits = logits - logits.max(axis=-1, keepdims=True)
        return jnp.where(state.legal_action_mask, logits, NO_MOVE), value

    def recurrent(net: Any, key: Any, action: Any, state: Any) -> tuple[Any, Any]:
        mover = state.current_player
        key, play_key = jax.random.split(key)
        state = play(state, action, jax.random.split(play_key, len(action)))
        logits, value = judge(net, state)
        over = state.terminated
        return mctx.RecurrentFnOutput(
            reward=jnp.take_along_axis(state.rewards, mover[:, None], axis=1)[:, 0],
            discount=jnp.where(over, 0.0, -1.0),
            prior_logits=logits,
            value=jnp.where(over, 0.0, value),
        ), state

    def step(net: Any, state: Any, key: Any) -> tuple[Any, Any, Any]:
        search_key, play_key = jax.random.split(key)
        logits, value = judge(net, state)
        found = mctx.gumbel_muzero_policy(
            params=net,
            rng_key=search_key,
            root=mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state),
            recurrent_fn=recurrent,
            num_simulations=simulations,
            invalid_actions=~state.legal_action_mask,
            max_num_considered_actions=CONSIDERED,
            gumbel_scale=1.0,
        )
        state = play_on(state, found.action, jax.random.split(play_key, len(found.action)))
        # A root counts itself once, and each simulation once.
        return state, state.terminated.sum(), found.search_tree.node_visits[:, 0].min() - 1

    return jax.jit(step)


def measure(
    game: str, *, batch: int, simulations: int, blocks: int, channels: int, budget: float, warm_up: int = 2
) -> dict[str, Any]:
    """Play for `budget` seconds after the compiler and `warm_up` moves in every game, and count."""
    import jax
    import pgx

    env = pgx.make(game)
    key = jax.random.PRNGKey(0)
    key, net_key, start_key = jax.random.split(key, 3)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(start_key, batch))
    ranks, files, inputs = state.observation.shape[1:]
    net = make_net(net_key, inputs, env.num_actions // (ranks * files), blocks, channels)
    step = make_step(env, simulations)

    def play_one(state: Any, key: Any) -> tuple[Any, Any, int]:
        key, step_key = jax.random.split(key)
        state, ended, least = step(net, state, step_key)
        if int(least) != simulations:  # waits for the device
            refuse(f"a search of {game} made {int(least)} simulations, not {simulations}")
        return state, key, int(ended)

    # 1. Compile and warm up.
    began = time.perf_counter()
    for _ in range(warm_up):
        state, key, _ = play_one(state, key)
    prepared = time.perf_counter() - began
    # 2. Play.
    steps = finished = 0
    began = now = time.perf_counter()
    while now - began < budget:
        state, key, ended = play_one(state, key)
        finished += ended
        steps += 1
        now = time.perf_counter()
    elapsed = now - began
    moves = steps * batch
    return {
        "game": game,
        "batch": batch,
        "inputs": inputs,
        "prepare_seconds": round(prepared, 2),
        "seconds": round(elapsed, 3),
        "steps": steps,
        "moves": moves,
        "simulations": moves * simulations,
        "evaluations": moves * (simulations + 1),
        "games_finished": finished,
        "moves_per_second": round(moves / elapsed, 1),
        "simulations_per_second": round(moves * simulations / elapsed),
        "evaluations_per_second": round(moves * (simulations + 1) / elapsed),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure every game at every batch."""
    parser = Parser(__doc__)
    parser.add_argument("--games", type=names(GAMES), default=GAMES, help="names of pgx, with commas between")
    parser.add_argument("--batch", type=counts, default=(1024, 4096), help="games at once")
    parser.add_argument("--simulations", type=positive, default=32)
    parser.add_argument("--blocks", type=positive, default=6)
    parser.add_argument("--channels", type=positive, default=128)
    parser.add_argument("--seconds", type=seconds, default=8.0, help="of each measurement, beside its compilation")
    parser.add_argument("--platform", choices=("cpu", "gpu"), help="refuse to compute on another one")
    parser.add_argument("--json", metavar="FILE", help="where the values go; - is standard output")
    chosen = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")  # from the peer's code
    if missing := load("jax", "pgx", "mctx"):
        refuse(missing)
    import jax

    device = jax.devices()[0]
    if chosen.platform not in (None, device.platform):
        refuse(f"jax {jax.__version__} computes on {device.platform} here, not on {chosen.platform}")
    rows: list[dict[str, Any]] = []
    values: dict[str, Any] = {
        "what": "pgx + mctx, Gumbel MuZero, self-play",
        "machine": machine(),
        "device": f"{device.platform} {device.device_kind}",
        "versions": versions(),
        "net": {"blocks": chosen.blocks, "channels": chosen.channels, "type": "bfloat16"},
        "simulations_per_move": chosen.simulations,
        "rows": rows,
    }
    for game in chosen.games:
        for batch in chosen.batch:
            row = measure(
                game,
                batch=batch,
                simulations=chosen.simulations,
                blocks=chosen.blocks,
                channels=chosen.channels,
                budget=chosen.seconds,
            )
            say(f"pgx + mctx, {game}, {batch} games: {row['moves_per_second']:,.0f} moves/s")
            rows.append(row)
            if chosen.json != "-":  # keep this even if the next measurement fails
                write(values, chosen.json)
    if chosen.json == "-":
        write(values, "-")
    else:
        columns = ("game", "games at once", "moves/s", "simulations/s", "prepared in s")
        keys = ("game", "batch", "moves_per_second", "simulations_per_second", "prepare_seconds")
        print(table(columns, [[row[key] for key in keys] for row in rows]))


if __name__ == "__main__":
    main()
