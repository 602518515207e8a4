"""`selfmate train` with and without `--ray`, in turn: games a second, start-up apart, and strength of several seeds.

    python bench/ray_runs.py speed --minutes 10          # one worker on Ray has 95 % of the games or more
    python bench/ray_runs.py strength --minutes 5        # three seeds each, and a match of each pair

The speed is that of whole cycles after the first ones without a net, by the times that metrics.jsonl has of them. Both
need a machine without other work.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

SELFMATE = [sys.executable, "-m", "selfmate"]


def train(run: Path, minutes: float, seed: int, *more: str) -> None:
    """Train a run for some minutes, from nothing."""
    words = ["train", "gardner-laptop", "--run", str(run), "--minutes", str(minutes), "--seed", str(seed)]
    subprocess.run([*SELFMATE, *words, "--device", "cpu", *more], check=True, stdout=subprocess.DEVNULL)


def games_per_second(run: Path) -> float:
    """Return the games of cycles with a net, by the seconds in which they were played."""
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    played = [row for row in rows if row["stage"] == "play" and row["cycle"] >= 2]
    return float(sum(row["games"] for row in played) / sum(row["seconds"] for row in played))


def speed(folder: Path, minutes: float) -> None:
    """Print the games a second of both, and their ratio."""
    found = {}
    for name, more in (("plain", []), ("ray", ["--ray"])):
        train(folder / name, minutes, 1, *more, "--set", "gate.final_games=0")
        found[name] = games_per_second(folder / name)
        print(f"{name}: {found[name]:.2f} games/s", flush=True)
    print(f"with Ray {found['ray'] / found['plain']:.1%} of the games")


def strength(folder: Path, minutes: float, seeds: int, games: int) -> None:
    """Print the score of the run with Ray against that without, for each seed."""
    for seed in range(1, seeds + 1):
        pair = [folder / f"{name}-{seed}" for name in ("ray", "plain")]
        for run in pair:
            train(run, minutes, seed, *(["--ray"] if run is pair[0] else []))
        words = [*SELFMATE, "arena", *map(str, pair), "--games", str(games), "--visits", "64", "--json"]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        print(f"seed {seed}: with Ray {json.loads(done.stdout)['score']:.1%} of {games} games", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speed", "strength"))
    parser.add_argument("--folder", type=Path, default=Path("runs/ray"))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--games", type=int, default=400)
    given = parser.parse_args()
    if given.what == "speed":
        speed(given.folder, given.minutes)
    else:
        strength(given.folder, given.minutes, given.seeds, given.games)


if __name__ == "__main__":
    main()
