"""Ours beside pgx + mctx on the same terms: self-play in chess and Gardner's chess, one table.

    python bench/peers/same_terms.py --device cuda --carry .carry/pgx --json same_terms.json

Terms: the same number of games at once (with --our-games, the best number for each side), an untrained residual tower
of the same size without squeeze-and-excite, Gumbel at the root, 32 simulations per move, no cache, no early stop. The
peer runs first, in a process that has ended and freed its memory before ours begins. Remaining differences are printed
under the table.

The result is the smallest of three ratios: moves, simulations and evaluations per second. Where our search ends early
(a forced move, a decided root), it makes fewer simulations, which lowers the second ratio.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ours import lanes_on, make_net, open_on, play, threads_on
from peer_report import Parser, counts, machine, names, positive, refuse, say, seconds, table, write
from selfmate._core import CORE, Pool, SearchConfig, SelfPlayConfig
from selfmate.errors import SelfmateError

PEER_NAMES: Final = {"chess": "chess", "gardner": "gardner_chess"}
MAX_PLIES: Final = {"chess": 512, "gardner": 256}
"""Plies after which pgx 2.6 ends a game as a draw (MAX_TERMINATION_STEPS)."""
PEER_KEYS: Final = {"game", "batch", "moves_per_second", "simulations_per_second", "evaluations_per_second"}

DIFFERENCES: Final = {
    "both": (
        "below the root: ours selects by PUCT, mctx by its deterministic Gumbel rule",
        "ours does not search again what is proven, and sees mate in one when it expands a position; mctx evaluates "
        "ended positions like others",
        "inside the tree, ours takes the first repetition for a draw, pgx the third occurrence",
        "a game that reaches the last ply (chess 512, Gardner 256): ours is cut off without a result, pgx's is drawn",
        "ours keeps a record of every game (moves, visits, targets); the peer keeps nothing",
    ),
    "chess": (
        "planes into the net: ours 21, pgx 119 (eight positions of history)",
        "repetitions: ours counts the en passant square only when a capture is legal, pgx after every double step",
    ),
    "gardner": ("planes into the net: ours 21, pgx 115 (eight positions of history)",),
}


def search_config() -> SearchConfig:
    """Return the search on the peer's terms, with mctx's defaults at the root."""
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
    compiled: bool = False,
    lanes: Sequence[int] = (),
    threads: int | None = None,
) -> list[dict[str, Any]]:
    """Play `variant` with each number of games at once and of lanes."""
    evaluator = open_on(make_net(variant, blocks=blocks, channels=channels), device, compiled=compiled)
    rows = []
    for slots, used in itertools.product(games, lanes or (lanes_on(device),)):
        used = min(slots, used)
        pool = Pool(
            variant,
            search_config(),
            SelfPlayConfig(
                visits=visits, full_probability=1, random_plies=0, temperature=0, max_plies=MAX_PLIES[variant]
            ),
            seed=1,
            slots=slots,
            lanes=used,
            threads=threads_on(device) if threads is None else threads,
        )
        # About two moves in every game, as the peer's warm-up has.
        warm_up = 2 * slots * visits
        window = play(pool, evaluator, lanes=used, device=device, seconds=budget, warm_up=warm_up)
        row = {"variant": variant, "games": slots, "lanes": used, "evaluator": evaluator.name} | window.as_json()
        row["simulations_missing"] = round(1 - window.playouts / (visits * window.moves), 5) if window.moves else None
        say(f"ours, {variant}, {slots} games, {used} lanes: {row['moves_per_second']:,.0f} moves/s")
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
    platform: str,
    python: str,
    carry: Path | None,
    limit: float,
) -> dict[str, Any]:
    """Run `pgx_mctx.py` in another process; a row that failed is missing, `failed` is the reason or None."""
    command = [python, str(Path(__file__).with_name("pgx_mctx.py")), "--platform", platform]
    command += ["--games", ",".join(PEER_NAMES[variant] for variant in variants)]
    command += ["--batch", ",".join(map(str, games)), "--simulations", str(visits)]
    command += ["--blocks", str(blocks), "--channels", str(channels), "--seconds", str(budget)]
    environment = dict(os.environ)
    if carry is not None:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(carry), environment.get("PYTHONPATH", "")]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "peer.json"
        failed = None
        try:
            done = subprocess.run(
                [*command, "--json", str(path)],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                timeout=limit,
            )
            sys.stderr.write(done.stderr)
            if done.returncode:
                failed = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        except subprocess.TimeoutExpired:
            failed = f"not done after {limit:.0f} s"
        except OSError as error:
            refuse(f"{python}: {error.strerror}")
        values = read_peer(path) if path.exists() else {"rows": []}
    return values | {"failed": failed}


def read_peer(path: Path) -> dict[str, Any]:
    """Read what `pgx_mctx.py --json` wrote."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        refuse(f"{path}: {getattr(error, 'strerror', None) or error}")
    rows = values.get("rows") if isinstance(values, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.keys() >= PEER_KEYS for row in rows):
        refuse(f"{path}: not the figures of pgx_mctx.py, whose rows have {', '.join(sorted(PEER_KEYS))}")
    return dict(values)


def compare(ours: Sequence[dict[str, Any]], peer: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put rows of the same game side by side; of ours, those with the best number of lanes.

    A number of games that the peer did not play is compared with the peer's best row.
    """
    by_terms = {(row["game"], row["batch"]): row for row in peer}
    best_peer: dict[str, dict[str, Any]] = {}
    for row in sorted(peer, key=lambda row: row["simulations_per_second"]):
        best_peer[row["game"]] = row
    best: dict[tuple[str, int], dict[str, Any]] = {}
    for row in ours:
        terms = (row["variant"], row["games"])
        if terms not in best or best[terms]["playouts_per_second"] < row["playouts_per_second"]:
            best[terms] = row
    rows = []
    for row in best.values():
        game = PEER_NAMES[row["variant"]]
        other = by_terms.get((game, row["games"]), best_peer.get(game))
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
                "peer_games": other["batch"] if other else None,
                "lanes": row["lanes"],
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
    parser.add_argument("--our-games", type=counts, default=(), help="for ours, if not as many as for the peer")
    parser.add_argument("--visits", type=positive, default=32, help="simulations of every move")
    parser.add_argument("--blocks", type=positive, default=6)
    parser.add_argument("--channels", type=positive, default=128)
    parser.add_argument("--seconds", type=seconds, default=8.0, help="of each measurement, beside its warm-up")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda", help="of both sides")
    parser.add_argument("--lanes", type=counts, default=(), help="of our pool; of several numbers the best counts")
    parser.add_argument("--eager", action="store_true", help="do not compile our net (a minute for each size of batch)")
    parser.add_argument("--threads", type=positive, help="of our pool (all cores beside a GPU)")
    parser.add_argument("--carry", type=Path, help="folder with pgx, mctx and what they need (carry_pgx.sh fills it)")
    parser.add_argument("--peer-python", default=sys.executable, help="the Python that has jax")
    parser.add_argument("--peer-limit", type=seconds, default=420.0, help="seconds after which the peer is ended")
    parser.add_argument("--peer-json", type=Path, metavar="FILE", help="use what pgx_mctx.py wrote")
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
                platform="cpu" if chosen.device == "cpu" else "gpu",
                python=chosen.peer_python,
                carry=chosen.carry,
                limit=chosen.peer_limit,
                **terms,
            )
        ours = [
            row
            for variant in chosen.variants
            for row in measure_ours(
                variant,
                chosen.our_games or chosen.games,
                device=chosen.device,
                budget=chosen.seconds,
                compiled=not chosen.eager,
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
    if peer.get("failed"):
        say(f"pgx + mctx was not measured, or not wholly: {peer['failed']}")
        raise SystemExit(1)


def shown(rows: Sequence[dict[str, Any]], variants: Sequence[str]) -> str:
    """Write the table, and under it what still differs."""
    columns = ["variant", "our games at once", "the peer's", "our lanes", "ours, moves/s", "pgx + mctx, moves/s"]
    columns += ["ratio: moves"]
    columns += ["simulations", "evaluations", "simulations that ours left out"]
    cells = [
        (
            row["variant"],
            row["games"],
            row["peer_games"],
            row["lanes"],
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
