"""Would a leaner net be as strong? Several nets learn from the same games of a run, and then play each other.

    python bench/lean.py runs/atomic --device cuda --compile --json lean.json
    python bench/lean.py runs/first --net tiny --net blocks=2 --steps 300 --device cpu

Every net learns from the same `--steps` batches in the same order, with the recipe's learning rates: the first of them
for two thirds of the steps, the last for the rest. Measured are its losses on held-out games, evaluations per second
(all transfers included), and two matches against the first net: with equal visits, and in equal time (visits in
proportion to the speeds).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from selfmate import _core
from selfmate._core import GameRecord
from selfmate.bench.ceiling import ceiling
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.evaluator.torch import TorchEvaluator
from selfmate.match.openings import balanced_openings
from selfmate.match.pool import make_match_pool
from selfmate.match.record_pgn import count_records
from selfmate.match.runner import play_games
from selfmate.match.schedule import schedule
from selfmate.nn import checkpoint as weights
from selfmate.nn.config import SIZES, NetConfig
from selfmate.nn.net import Net
from selfmate.rating.match_stats import Match
from selfmate.recipe.reader import from_toml
from selfmate.recipe.schema import Recipe
from selfmate.rundir.format import State, read_run
from selfmate.rundir.games import unpack_games
from selfmate.search.config import play_config
from selfmate.search.player import Player
from selfmate.train.learner import Learner
from selfmate.train.window import Window
from selfmate.util.cpu import cores

NETS = ("medium", "context=none", "blocks=6", "channels=96")


def net_of(variant: str, words: str, beside: NetConfig | None) -> NetConfig:
    """Return the net of `--net`: a named size, or the first net with some keys changed."""
    changes: dict[str, object] = {}
    size = "tiny"
    for word in words.split(","):
        key, found, value = word.partition("=")
        if not found and key in SIZES:
            size, beside = key, None
        elif not found:
            raise SystemExit(f"--net {words}: no size is called {key!r}; there are {', '.join(SIZES)}")
        else:
            changes[key] = int(value) if value.isdigit() else value
    if beside is None:
        return NetConfig.sized(_core.encoding(variant), size, **changes)
    return NetConfig.from_dict(beside.to_dict() | changes)


def newest_games(run: Path, state: State, positions: int) -> Iterator[GameRecord]:
    """Yield the newest games of a run that together have at least `positions` positions, oldest first."""
    shards = sorted(state.shards, key=lambda shard: shard.first)
    while len(shards) > 1 and sum(shard.positions for shard in shards[1:]) >= positions:
        shards.pop(0)
    for shard in shards:
        yield from map(GameRecord.from_bytes, unpack_games((run / shard.name).read_bytes(), shard.name))


def teach(config: NetConfig, recipe: Recipe, window: Window, steps: int, device: str) -> tuple[Learner, float]:
    """Teach a net from the window, quickly and then slowly; give how long it took."""
    learner = Learner(Net(config, seed=1), recipe.learner, 1, device)
    began = time.perf_counter()
    learner.learn(window.learned, 2 * steps // 3, 0)
    learner.learn(window.learned, steps, recipe.selfplay.cycles)
    return learner, time.perf_counter() - began


def play(variant: str, pair: tuple[Evaluator, Evaluator], visits: tuple[int, int], games: int) -> Match:
    """Play a match of balanced openings, for the first of the pair."""
    players = [Player(each) for each in pair]
    pool = make_match_pool(variant, players, visits, games, search=play_config(gumbel=True), max_plies=300)
    records: list[GameRecord] = []
    play_games(pool, schedule(2, balanced_openings(variant, games // 2, seed=7)), on_finished=records.extend)
    return count_records(sorted(records, key=lambda record: record.game_id))


def main() -> None:
    """Teach, measure, play, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the run whose newest games are learned from")
    parser.add_argument("--net", action="append", help=f"a size, or keys of the first net changed ({', '.join(NETS)})")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--visits", type=int, default=64)
    parser.add_argument("--games", type=int, default=1000, help="of each match")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compile", action="store_true", help="the nets as they play, as in a run on a GPU")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    # 1. The newest games of the run
    _, state = read_run(options.run)
    recipe = from_toml((options.run / "recipe.toml").read_text())
    variant = recipe.variant.name
    window = Window(variant, recipe.learner, state.cycle, max(1, cores() // 2))
    window.add(newest_games(options.run, state, window.capacity))
    print(f"{window.learned.positions:,} positions to learn from, {window.held_out.positions:,} held out", flush=True)
    # 2. Teach and measure each net
    rows: list[dict[str, Any]] = []
    nets: list[Evaluator] = []
    first: NetConfig | None = None
    lanes = cores() if options.device == "cpu" else 3
    slots = 32 if options.device == "cpu" else 3072
    with tempfile.TemporaryDirectory() as folder:
        for words in options.net or NETS:
            config = net_of(variant, words, first)
            first = first or config
            learner, seconds = teach(config, recipe, window, options.steps, options.device)
            found = learner.validate(window.held_out, 0, batches=16)
            assert found is not None
            path = Path(folder, str(len(rows)))
            path.mkdir()
            weights.save(learner.average, path, step=learner.step, created_by=f"lean {words}")
            if options.device == "cpu":
                nets.append(open_evaluator(path))
            else:
                nets.append(TorchEvaluator(path, device=options.device, compile=options.compile))
            speed = ceiling(nets[-1], slots // lanes * recipe.selfplay.leaves, lanes, seconds=2.0).wall
            row = {"net": words, "speed": speed, "policy": found.policy, "value": found.value, "seconds": seconds}
            if rows:
                ratio = speed / rows[0]["speed"]
                for name, visits in (
                    ("equal visits", options.visits),
                    ("equal time", max(2, round(ratio * options.visits))),
                ):
                    match = play(variant, (nets[-1], nets[0]), (visits, options.visits), options.games)
                    row[name] = f"{match} ({visits} visits against {options.visits})"
                nets.pop()
            rows.append(row)
            print(
                f"{words:16} {speed:>10,.0f} evaluations/s, held out: policy {found.policy:.4f} "
                f"value {found.value:.4f}, {options.steps} steps in {seconds:.0f} s",
                *(f"\n    {name}: {row[name]}" for name in ("equal visits", "equal time") if name in row),
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps({"steps": options.steps, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
