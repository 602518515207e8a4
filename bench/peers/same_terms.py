"""Ours beside pgx + mctx on the same terms: self-play in chess and Gardner's chess, one table.

    python bench/peers/same_terms.py --device cuda --carry .carry/pgx --json same_terms.json

Terms: as many games at once, a residual tower of the same size without squeeze-and-excite, untrained; Gumbel at the
root, 32 simulations for every move, no cache, no early stop. The peer runs first, in a process of its own that has
ended, and given its memory back, when ours begins. What still differs is printed under the table.

The ratio that counts is the smallest of three: moves, simulations and evaluations per second. Where a search of ours
ends early after all (a forced move, a root that is decided), it has made fewer simulations, and that ratio says so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ours import lanes_on, make_net, open_on, play, threads_on
from peer_report import Parser, counts, machine, names, positive, refuse, say, seconds, table, write

from selfmate._core import CORE, Pool, SearchConfig
from selfmate.errors import SelfmateError

PEER_NAMES: Final = {"chess": "chess", "gardner": "gardner_chess"}
MAX_PLIES: Final = {"chess": 512, "gardner": 256}
"""After so many plies pgx 2.6 ends a game as a draw (MAX_TERMINATION_STEPS)."""

PEER_KEYS: Final = {"game", "batch", "moves_per_second", "simulations_per_second", "evaluations_per_second"}

DIFFERENCES: Final = {
    "both": (
        "below the root: ours selects by PUCT, mctx by its deterministic Gumbel rule",
        "ours does not search again what is proven, and sees mate in one when it expands a position; mctx evaluates "
        "ended positions like others",
        "inside the tree, ours takes the first repetition for a draw, pgx the third occurrence",
        "a game that reaches the last ply: ours is cut off without a result, pgx's is drawn",
        "ours keeps a record of every game (moves, visits, targets); the peer keeps nothing",
    ),
    "chess": ("planes into the net: ours 21, pgx 119 (eight positions of history)",),
    "gardner": ("planes into the net: ours 21, pgx 115 (eight positions of history)",),
}


def search_config() -> SearchConfig:
    """Give the search on the peer's terms, with mctx's defaults at the root."""
    return SearchConfig(
        gumbel=True, considered=16, gumbel_scale=1.0, value_scale=0.1, maxvisit_init=50.0, stop_when_proven=False
    )


def measure_ours(
    variant: str,
    games: Sequence[int],
    *,
    visits: int,
    blocks: int,
    channels: int,
    device: str,
    budget: float,
    lanes: int | None = None,
    threads: int | None = None,
) -> list[dict[str, Any]]:
    """Play `variant` with each number of games at once."""
    evaluator = open_on(make_net(variant, blocks=blocks, channels=channels), device)
    rows = []
    for slots in games:
        used = min(slots, lanes or lanes_on(device))
        pool = Pool(
            variant,
            search_config(),
            seed=1,
            visits=visits,
            max_plies=MAX_PLIES[variant],
            slots=slots,
            lanes=used,
            threads=threads_on(device) if threads is None else threads,
        )
        # About two moves in every game, as the peer's warm-up has.
        warm_up = 2 * slots * visits
        window = play(pool, evaluator, lanes=used, device=device, seconds=budget, warm_up=warm_up)
        row = {"variant": variant, "games": slots, "lanes": used, "evaluator": evaluator.name} | window.as_json()
        row["simulations_missing"] = round(1 - window.playouts / (visits * window.moves), 5) if window.moves else None
        say(f"ours, {variant}, {slots} games: {row['moves_per_second']:,.0f} moves/s")
        rows.append(row)
    return rows


def measure_peer(
    variants: Sequence[str],
    games: Sequence[int],
    *,
    visits: int,
    blocks: int,
    channels: int,
    budget: float,
    python: str,
    carry: Path | None,
) -> dict[str, Any]:
    """Run `pgx_mctx.py` in a process of its own."""
    command = [python, str(Path(__file__).with_name("pgx_mctx.py")), "--json", "-"]
    command += ["--games", ",".join(PEER_NAMES[variant] for variant in variants)]
    command += ["--batch", ",".join(map(str, games)), "--simulations", str(visits)]
    command += ["--blocks", str(blocks), "--channels", str(channels), "--seconds", str(budget)]
    environment = dict(os.environ)
    if carry is not None:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(carry), environment.get("PYTHONPATH", "")]))
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        refuse(f"{python}: {error.strerror}")
    if done.returncode:
        refuse(f"the peer failed with exit code {done.returncode}; --no-peer measures ours alone")
    return dict(json.loads(done.stdout))


def read_peer(path: Path) -> dict[str, Any]:
    """Read what `pgx_mctx.py --json` wrote."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        refuse(f"{path}: {getattr(error, 'strerror', None) or error}")
    rows = values.get("rows") if isinstance(values, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and PEER_KEYS <= row.keys() for row in rows):
        refuse(f"{path}: not the figures of pgx_mctx.py, whose rows have {', '.join(sorted(PEER_KEYS))}")
    return dict(values)


def compare(ours: Sequence[dict[str, Any]], peer: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put rows of the same game and number of games side by side."""
    by_terms = {(row["game"], row["batch"]): row for row in peer}
    rows = []
    for row in ours:
        other = by_terms.get((PEER_NAMES[row["variant"]], row["games"]))
        ratios = {}
        if other is not None:
            ratios = {
                "moves": round(row["moves_per_second"] / other["moves_per_second"], 2),
                "simulations": round(row["playouts_per_second"] / other["simulations_per_second"], 2),
                "evaluations": round(row["evaluations_per_second"] / other["evaluations_per_second"], 2),
            }
        rows.append(
            {
                "variant": row["variant"],
                "games": row["games"],
                "ours_moves_per_second": row["moves_per_second"],
                "peer_moves_per_second": other["moves_per_second"] if other else None,
                "ours_simulations_per_second": row["playouts_per_second"],
                "peer_simulations_per_second": other["simulations_per_second"] if other else None,
                "ratios": ratios,
                "ratio": min(ratios.values()) if ratios else None,
                "simulations_missing": row["simulations_missing"],
            }
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure both sides and print one table."""
    parser = Parser(__doc__)
    parser.add_argument("--variants", type=names(PEER_NAMES), default=tuple(PEER_NAMES))
    parser.add_argument("--games", type=counts, default=(1024, 4096), help="games at once, for both sides")
    parser.add_argument("--visits", type=positive, default=32, help="simulations of every move")
    parser.add_argument("--blocks", type=positive, default=6)
    parser.add_argument("--channels", type=positive, default=128)
    parser.add_argument("--seconds", type=seconds, default=8.0, help="of each measurement, beside its warm-up")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda", help="of our side; JAX takes its best")
    parser.add_argument("--lanes", type=positive, help="of our pool (as `selfmate bench selfplay` unless given)")
    parser.add_argument("--threads", type=positive, help="of our pool (all cores beside a GPU)")
    parser.add_argument("--carry", type=Path, help="folder with pgx, mctx and what they need (carry_pgx.sh fills it)")
    parser.add_argument("--peer-python", default=sys.executable, help="the Python that has jax")
    parser.add_argument("--peer-json", type=Path, metavar="FILE", help="figures that pgx_mctx.py wrote, not measured anew")
    parser.add_argument("--no-peer", action="store_true", help="ours alone")
    parser.add_argument("--json", metavar="FILE", help="where the values go; - is standard output")
    chosen = parser.parse_args(arguments)
    terms = {"visits": chosen.visits, "blocks": chosen.blocks, "channels": chosen.channels}
    try:
        peer: dict[str, Any] = {"rows": []}
        if chosen.peer_json is not None:
            peer = read_peer(chosen.peer_json)
        elif not chosen.no_peer:
            peer = measure_peer(
                chosen.variants,
                chosen.games,
                budget=chosen.seconds,
                python=chosen.peer_python,
                carry=chosen.carry,
                **terms,
            )
        ours = [
            row
            for variant in chosen.variants
            for row in measure_ours(
                variant,
                chosen.games,
                device=chosen.device,
                budget=chosen.seconds,
                lanes=chosen.lanes,
                threads=chosen.threads,
                **terms,
            )
        ]
    except SelfmateError as error:
        refuse(str(error))
    rows = compare(ours, peer["rows"])
    values = {
        "what": "self-play on the same terms, ours and pgx + mctx",
        "machine": machine() | {"core": CORE},
        "terms": terms | {"games": list(chosen.games), "seconds": chosen.seconds},
        "rows": rows,
        "ours": ours,
        "peer": peer,
        "differences": {name: list(DIFFERENCES[name]) for name in ("both", *chosen.variants)},
    }
    write(values, chosen.json)
    if chosen.json != "-":
        print(shown(rows, chosen.variants))


def shown(rows: Sequence[dict[str, Any]], variants: Sequence[str]) -> str:
    """Write the table, and under it what still differs."""
    columns = ("variant", "games at once", "ours, moves/s", "pgx + mctx, moves/s", "ratio: moves", "simulations")
    columns += ("evaluations", "simulations that ours left out")
    cells = [
        (
            row["variant"],
            row["games"],
            row["ours_moves_per_second"],
            row["peer_moves_per_second"],
            row["ratios"].get("moves"),
            row["ratios"].get("simulations"),
            row["ratios"].get("evaluations"),
            None if row["simulations_missing"] is None else f"{row['simulations_missing']:.2%}",
        )
        for row in rows
    ]
    lines = [table(columns, cells), "", "What differs:"]
    for name in ("both", *variants):
        lines += [f"- {'' if name == 'both' else f'{name}: '}{text}" for text in DIFFERENCES[name]]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
