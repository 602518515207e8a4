"""Everything that is measured on one GPU, in one go and one table: `make h200`.

    python bench/h200.py --out results --minutes 8

First the tests that need a GPU run, then evaluator, self-play, learner and the peers are measured. Each step is a
command that can be repeated by hand: it is printed with its time, and its values are written to the folder as JSON. A
step that does not fit into the time is left out and listed so in the table. `--device cpu --quick` runs the same steps
small, without a GPU, to check that they work.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent
SEED_GAMES_PER_HOUR: Final = 3200
"""Of the atomic engine that Selfmate started from (a thesis of 2025): one A100, 800 iterations, a net of 12x128."""
LATE: Final = ("selfplay.visits=104",)
"""The setting of the atomic recipe from its sixteenth cycle on; the bench plays the games of the first cycle."""
SQUEEZE: Final = ("net.context=se",)
"""The net of the figures to reach; the recipe has no squeeze-and-excite."""
SEED_SETTINGS: Final = (
    "net.blocks=12",
    "search.gumbel=false",
    "search.noise_epsilon=0.25",
    "selfplay.visits=800",
    "selfplay.full_probability=1.0",
)

Values = dict[str, Any]
Rows = list[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Step:
    """A command, its longest time in seconds, and the table rows of its values."""

    name: str
    command: list[str]
    seconds: float
    rows: Callable[[Values], Rows] = lambda values: []
    output: bool = True  # prints JSON; otherwise writes it to the file of --json
    environment: dict[str, str] = field(default_factory=dict)


def steps(device: str, quick: bool, carry: Path, out: Path) -> list[Step]:
    """Return the steps in order."""
    python = sys.executable
    selfmate = [str(Path(python).with_name("selfmate"))]
    on_gpu = ["--device", device, *(["--compile"] if device == "cuda" else [])]

    def sets(*settings: str) -> list[str]:
        return [word for setting in settings for word in ("--set", setting)]

    small = sets("net.blocks=2", "net.channels=32", "selfplay.slots=24", "learner.batch=64") if quick else []
    play = ["1", "--warmup", "1"] if quick else ["10", "--warmup", "25"]
    learn = ["--seconds", "1" if quick else "3", "--json"]
    long_play = ["1", "--warmup", "1"] if quick else ["10", "--warmup", "30"]
    terms = ["--games", "8", "--blocks", "1", "--channels", "16", "--seconds", "1", "--eager"] if quick else []
    terms = [
        *(terms or ["--games", "4096", "--our-games", "24576", "--lanes", "3", "--seconds", "6"]),
        "--peer-limit",
        "200",
    ]
    designs = ["--workers", "1,2", "--batches", "1,8", "--blocks", "1", "--channels", "16", "--games", "16"]
    designs = [*designs, "--visits", "32", "--seconds", "2"] if quick else ["--seconds", "8"]
    tests = ["-k", "not compiled"]  # the benches compile too
    tests += [
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "--rootdir",
        str(ROOT),
        str(ROOT / "tests/evaluator/test_cuda.py"),
    ]
    late = sets(*LATE, *SQUEEZE)
    trace = ["--trace", str(out / "selfplay.svg")]
    return [
        Step("tests", [python, "-m", "pytest", *tests], 120, output=False),
        Step(
            "selfplay",
            [*selfmate, "bench", "selfplay", "atomic", *on_gpu, "--seconds", *play, *trace, "--json", *late, *small],
            110,
            selfplay_rows,
        ),
        Step(
            "train",
            [*selfmate, "bench", "train", "atomic", *on_gpu, *learn, *sets(*SQUEEZE), *small],
            80,
            lambda values: train_rows("10x128 SE", values),
        ),
        Step(
            "same_terms",
            [python, str(HERE / "peers/same_terms.py"), "--device", device, "--carry", str(carry), *terms],
            240,
            peer_rows,
            output=False,
        ),
        Step(
            "seed_settings",
            [*selfmate, "bench", "selfplay", "atomic", *on_gpu, "--seconds", *long_play, "--json"]
            + sets(*SEED_SETTINGS)
            + (sets("net.channels=32", "selfplay.slots=24", "selfplay.visits=80") if quick else []),
            110,
            seed_rows,
        ),
        Step(
            "seed_designs",
            [python, str(HERE / "peers/seed_designs.py"), "--device", device, *designs],
            100,
            output=False,
        ),
        Step(
            "nn",
            [*selfmate, "bench", "nn", "--variant", "atomic", "--size", "tiny" if quick else "medium", "--json"]
            + (["--device", "cuda"] if device == "cuda" else ["--repeats", "1"]),
            60,
            nn_rows,
        ),
        Step(
            "train_plain_tower",
            [*selfmate, "bench", "train", "atomic", *on_gpu, *learn, *small],
            80,
            lambda values: train_rows("10x128", values),
        ),
    ]


def selfplay_rows(values: Values) -> Rows:
    """Return the rows of self-play."""
    gpu, lanes = values["gpu_share"], values["lane_share"]
    return [
        ("self-play, atomic, 10x128 SE: evaluations/s", f"{values['evaluations_per_second']:,}", "700,000"),
        ("  of the evaluator alone", f"{values['of_ceiling']:.1%} of {values['ceiling']:,}/s", "90 %"),
        ("  games/h", f"{values['games_per_hour']:,}", "320,000"),
        ("  visits a move", f"{values['visits_per_move']}", "100"),
        ("  batch", f"{values['batch']:,} ({values['fill']:.1%} full)", ""),
        ("  GPU busy", f"{gpu.get('compute', 0):.1%}", ""),
        ("  processor busy", f"{values['processor_share']:.1%}", ""),
        ("  time of the lanes", ", ".join(f"{name} {share:.1%}" for name, share in lanes.items()), ""),
        ("  time on the GPU", ", ".join(f"{name} {share:.1%}" for name, share in gpu.items()), ""),
    ]


def seed_rows(values: Values) -> Rows:
    """Return the rows of the comparison with the thesis at its settings."""
    ratio = values["games_per_hour"] / SEED_GAMES_PER_HOUR
    return [
        ("games/h at 800 visits, 12x128", f"{values['games_per_hour']:,} ({ratio:.0f}x the thesis)", "20x"),
        ("  evaluations/s", f"{values['evaluations_per_second']:,} ({values['of_ceiling']:.1%} of the ceiling)", ""),
    ]


def train_rows(net: str, values: Values) -> Rows:
    """Return the rows of the learner."""
    share = f"{values['of_plain_loop']:.1%} of {values['plain_loop']:,}/s"
    return [
        (f"learner, {net}, batch {values['batch']:,}: samples/s", f"{values['samples_per_second']:,}", ""),
        ("  of a plain loop", share, "90 %"),
        ("  sampling alone", f"{values['sampling']:,}/s", "300,000"),
    ]


def peer_rows(values: Values) -> Rows:
    """Return the rows of the comparison with pgx + mctx."""
    reach = {"chess": "10x", "gardner": "6x"}
    return [
        (
            f"against pgx + mctx, {row['variant']}, {row['games']:,} games: moves/s",
            f"{row['ours_moves_per_second']:,.0f} against {row['peer_moves_per_second'] or 0:,.0f}"
            f" ({row['ratio'] or 0:.1f}x)",
            reach.get(row["variant"], ""),
        )
        for row in values["rows"]
    ]


def nn_rows(values: Values) -> Rows:
    """Return the rows of a net's speed by batch."""
    return [
        (f"net, {name}: evaluations/s", ", ".join(f"{batch}: {speed:,}" for batch, speed in found.items()), "")
        for name, found in values["evaluations_per_second"].items()
    ]


def main() -> None:
    """Run the steps and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "h200", help="folder for the values")
    parser.add_argument("--minutes", type=float, default=8.0, help="for all steps together")
    parser.add_argument("--carry", type=Path, default=ROOT / ".carry" / "pgx", help="pgx and mctx (carry_pgx.sh)")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="tiny nets and seconds, to see that everything works")
    parser.add_argument("--only", metavar="STEP,…", help="only these steps")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * options.minutes
    rows: Rows = []
    failed: list[str] = []
    wanted = options.only.split(",") if options.only else None
    for step in steps(options.device, options.quick, options.carry, options.out):
        if wanted is not None and step.name not in wanted:
            continue
        left = end - time.monotonic()
        if left < step.seconds / 2:
            rows.append((step.name, "left out: no time", ""))
            continue
        rows += run(step, options.out, min(left, 2 * step.seconds), failed)
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    print(f"\n{'figure':<{widths[0]}}  {'measured':<{widths[1]}}  to reach")
    for name, measured, reach in rows:
        print(f"{name:<{widths[0]}}  {measured:<{widths[1]}}  {reach}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    sys.exit(1 if failed else 0)


def run(step: Step, out: Path, limit: float, failed: list[str]) -> Rows:
    """Run a step, write its values and its output to files, and return its rows."""
    path, log = out / f"{step.name}.json", out / f"{step.name}.log"
    writes = not step.output and step.name != "tests"
    command = [*step.command, *(["--json", str(path)] if writes else [])]
    began = time.monotonic()
    with log.open("w") as output:
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=output, text=True, timeout=limit, check=False)
            code, text = done.returncode, done.stdout
        except subprocess.TimeoutExpired:
            code, text = 124, ""
        output.write(text)
    took = time.monotonic() - began
    print(f"{took:6.1f} s  {' '.join(step.command)}", flush=True)
    if step.output and code == 0:
        path.write_text(text)
    if code:
        failed.append(step.name)
        print("\n".join(log.read_text().splitlines()[-15:]), flush=True)
    if step.name == "tests":
        return [("tests", text.strip().splitlines()[-1] if text.strip() else f"exit code {code}", "passed")]
    if not path.exists():
        return [(step.name, f"exit code {code}", "")]
    if not step.output:
        print(text, flush=True)
    return step.rows(json.loads(path.read_text()))


if __name__ == "__main__":
    main()
