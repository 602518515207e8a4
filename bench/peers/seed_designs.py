"""The designs of the seed systems, rebuilt from our parts, beside our own design.

    python bench/peers/seed_designs.py --device cuda --seconds 20 --json seed_designs.json

Three parts, each of about `--seconds` (`--parts` chooses some of them):

queue    One process per game and a queue to one process that evaluates, as the inference servers of seeds 002 and 004
         have it; 1 to 64 workers, as seed 000 counted them. A worker has one tree and asks for 8 leaves at a time
         (seed 004). The server takes what is in the queue, and waits a little only while a worker is still missing:
         the best form of that design that we know. Beside it a pool in one process: of as many games with
         as many leaves of each, and at last of many games.
batches  Figure 5.4 of seed 000: one tree, 1 to 1,024 leaves a batch, evaluations per second. Beside it the same tree
         with two batches in flight, so that the search continues while the net computes, and a pool of as many games.
shares   Table 5.7 of seed 000: where the time of a move goes. Net, tree, and legal moves, in one tree with one batch
         at a time; beside it a pool of many games, first with one lane, so that the same clock can be read, then with
         all of them.

The net has the size of seed 000's, 12 blocks of 128 channels, with random weights, and a search its 800 visits. A move
counts as 800 evaluations everywhere (a few playouts end by the rules and need none, so that moves are a little more).
The trees, the rules and the encoder are ours everywhere: what is compared is how the work is arranged.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import queue
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np

from ours import lanes_on, make_net, open_on, play, save_net, threads_on
from peer_report import Parser, counts, machine, names, positive, refuse, say, seconds, table, write
from selfmate import _core
from selfmate._core import CORE, Pool, Search, SearchConfig, SelfPlayConfig
from selfmate.bench.search import POSITIONS
from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.evaluator.base import Evaluation, Evaluator
from selfmate.nn.leaves import LeafBatch
from selfmate.util.cpu import cores

VARIANT: Final = "atomic"
VISITS: Final = 800
PARTS: Final = ("queue", "batches", "shares")
WORKERS: Final = (1, 2, 4, 8, 16, 32, 64)
BATCHES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
LEAVES: Final = 8  # of one request of a worker (seed 004)
LARGEST: Final = 1024  # leaves of one batch of the server (seed 004)
WAIT_SECONDS: Final = (
    0.002  # that the server waits for workers that have not asked yet ("a few milliseconds", seed 002)
)
START_SECONDS: Final = 120.0  # workers that do not answer within this time count as lost
SHARES_BATCH: Final = 64
SEED_TABLE: Final = {"net": (120.0, 0.65), "tree": (65.0, 0.33), "legal moves": (1.0, 0.01)}
"""Table 5.7 of seed 000: milliseconds of a move and shares, on a PC with an RTX 3060; "below 1" for legal moves."""


class Game:
    """One game with one tree: the leaves of the search, and the next move when it is done."""

    def __init__(self, seed: int, visits: int) -> None:
        self.moves = 0
        self._seed = seed
        self._visits = visits
        self._begin()

    def _begin(self) -> None:
        self.position = Position(VARIANT)
        self._search()

    def _search(self) -> None:
        # Noise at the root, so that games of different seeds differ.
        config = SearchConfig(noise_epsilon=0.25, stop_when_proven=False)
        self.search = Search(self.position, config, self._visits, seed=1_000_000 * self._seed + self.moves)

    def gather(self, most: int) -> _core.Leaves:
        """Return at least one leaf to evaluate; play moves and begin new games as needed."""
        while True:
            if self.search.done():
                self._move()
            leaves = self.search.gather(most)
            if leaves.size:
                return leaves

    def _move(self) -> None:
        self.position.play(self.search.result().best)
        self.moves += 1
        if self.position.is_game_over(claim_draw=True):
            self._begin()
        else:
            self._search()


# -- queue ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Request:
    """The request of a worker: leaves as arrays, cut to the widest row."""

    worker: int
    leaves: LeafBatch


def worker_main(index: int, visits: int, most: int, requests: Any, orders: Connection) -> None:
    """Play games; each batch of leaves goes through the queue, its result comes back through the pipe of the worker.

    A worker sends "ready" and waits for "play". None instead of a result makes it wait again, a closed pipe ends it.
    """
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        orders.send("ready")
        while orders.recv() == "play":
            game = Game(index, visits)
            while True:
                leaves = game.gather(most)
                width = int(leaves.counts.max())
                asked = LeafBatch(leaves.bits, leaves.scalars, leaves.moves[:, :width], leaves.counts, leaves.keys)
                requests.put(Request(index, asked))
                if (answer := orders.recv()) is None:
                    break
                game.search.apply(leaves.ticket, *answer)
    requests.cancel_join_thread()  # the rest of the queue is not read


class Workers:
    """Worker processes, any number of which may be used in a measurement."""

    def __init__(self, count: int, *, visits: int = VISITS, leaves: int = LEAVES) -> None:
        context = multiprocessing.get_context("spawn")
        self.requests: Any = context.Queue()
        self._pipes: list[Connection] = []
        self.processes = []
        for index in range(count):
            ours, theirs = context.Pipe()
            arguments = (index, visits, leaves, self.requests, theirs)
            process = context.Process(target=worker_main, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self.processes.append(process)

    def __enter__(self) -> Workers:
        """Wait until all workers are ready: starting processes would slow down the measured ones."""
        deadline = time.monotonic() + START_SECONDS
        for pipe in self._pipes:
            try:
                ready = pipe.poll(max(0.0, deadline - time.monotonic())) and pipe.recv() == "ready"
            except EOFError:
                ready = False
            if not ready:
                self.__exit__()
                raise SelfmateError(f"not all of {len(self._pipes)} workers were ready within {START_SECONDS:.0f} s")
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes:
            pipe.close()
        for process in self.processes:
            process.join(5)
            if process.is_alive():
                process.kill()
                process.join()
        self.requests.close()

    def serve(self, evaluator: Evaluator, count: int, budget: float, *, largest: int = LARGEST) -> dict[str, Any]:
        """Serve `count` workers for `budget` seconds after the first request of each; return the counts."""
        for index in range(count):
            self._send(index, "play")
        waiting: dict[int, Request] = {}
        self._wait_for(count, waiting)
        evaluations = batches = 0
        began = now = time.perf_counter()
        while now - began < budget:
            # 1. Take all requests; wait briefly for the missing workers.
            patience = time.perf_counter() + WAIT_SECONDS
            while len(waiting) < count and (left := patience - time.perf_counter()) > 0:
                try:
                    self._receive(waiting, timeout=left)
                except queue.Empty:
                    break
            # 2. One batch.
            chosen: list[Request] = []
            size = 0
            for request in list(waiting.values()):
                if size + request.leaves.size <= largest or not chosen:
                    chosen.append(waiting.pop(request.worker))
                    size += request.leaves.size
            if not chosen:
                now = time.perf_counter()
                continue
            priors, wdl, _ = evaluator.evaluate(joined([request.leaves for request in chosen]))
            # 3. Send each worker its rows.
            row = 0
            for request in chosen:
                rows, width = request.leaves.moves.shape
                answer = (np.ascontiguousarray(priors[row : row + rows, :width]), wdl[row : row + rows])
                self._send(request.worker, answer)
                row += rows
            evaluations += row
            batches += 1
            now = time.perf_counter()
        elapsed = now - began
        # 4. Wait for the outstanding requests, and stop the workers.
        self._wait_for(count, waiting)
        for index in waiting:
            self._send(index, None)
        return {
            "workers": count,
            "seconds": round(elapsed, 3),
            "evaluations": evaluations,
            "batches": batches,
            "evaluations_per_second": round(evaluations / elapsed, 1),
            "mean_batch": round(evaluations / max(1, batches), 1),
        }

    def _send(self, index: int, message: object) -> None:
        try:
            self._pipes[index].send(message)
        except (BrokenPipeError, ConnectionResetError):
            raise SelfmateError(f"worker {index} has exited") from None

    def _wait_for(self, count: int, waiting: dict[int, Request]) -> None:
        """Wait until each worker has sent a request."""
        while len(waiting) < count:
            try:
                self._receive(waiting, timeout=START_SECONDS)
            except queue.Empty:
                message = f"{count - len(waiting)} of {count} workers did not answer within {START_SECONDS:.0f} s"
                raise SelfmateError(message) from None

    def _receive(self, waiting: dict[int, Request], timeout: float) -> None:
        request: Request = self.requests.get(timeout=timeout)
        waiting[request.worker] = request


def joined(batches: Sequence[LeafBatch]) -> LeafBatch:
    """Put the rows of several workers below each other, all as wide as the widest."""
    width = max(batch.moves.shape[1] for batch in batches)
    moves = [np.pad(batch.moves, ((0, 0), (0, width - batch.moves.shape[1]))) for batch in batches]
    return LeafBatch(
        np.concatenate([batch.bits for batch in batches]),
        np.concatenate([batch.scalars for batch in batches]),
        np.concatenate(moves),
        np.concatenate([batch.counts for batch in batches]),
        np.concatenate([batch.keys for batch in batches]),
    )


def queue_part(
    evaluator: Evaluator,
    *,
    device: str,
    budget: float,
    workers: Sequence[int] = WORKERS,
    visits: int = VISITS,
    leaves: int = LEAVES,
    games: int,
) -> dict[str, Any]:
    """Measure every number of workers and a pool of as many games; and one of `games` games."""
    rows = []
    share = budget / (2 * len(workers) + 1)
    with Workers(max(workers), visits=visits, leaves=leaves) as processes:
        for count in workers:
            rows.append(processes.serve(evaluator, count, share))
            say(f"queue, {count} workers: {rows[-1]['evaluations_per_second']:,.0f} evaluations/s")
    for row in rows:  # when the processes are gone, so that they take nothing from it
        window = pool_of(evaluator, row["workers"], device=device, budget=share, visits=visits, leaves=leaves)
        row["pool"] = window
        row["ratio"] = round(window["evaluations_per_second"] / row["evaluations_per_second"], 2)
    return {"rows": rows, "many_games": pool_of(evaluator, games, device=device, budget=share, visits=visits)}


def pool_of(
    evaluator: Evaluator, games: int, *, device: str, budget: float, visits: int, leaves: int = 1
) -> dict[str, Any]:
    """Play `games` games at once in a pool, as self-play does."""
    lanes = min(games, lanes_on(device))
    pool = Pool(
        VARIANT,
        SearchConfig(noise_epsilon=0.25),
        SelfPlayConfig(visits=visits, full_probability=1, random_plies=0, temperature=0),
        seed=1,
        slots=games,
        lanes=lanes,
        threads=threads_on(device),
        leaves_per_slot=leaves,
    )
    window = play(pool, evaluator, lanes=lanes, device=device, seconds=budget, warm_up=4 * games)
    return {"games": games, "lanes": lanes} | window.as_json()


# -- batches --------------------------------------------------------------------------------------


def batches_part(
    evaluator: Evaluator,
    *,
    device: str,
    budget: float,
    batches: Sequence[int] = BATCHES,
    visits: int = VISITS,
) -> list[dict[str, Any]]:
    """Measure every size of a batch: the evaluator alone, one tree, one tree with two batches in flight, a pool."""
    rows: list[dict[str, Any]] = []
    share = budget / (4 * len(batches))
    for batch in batches:
        row: dict[str, Any] = {
            "batch": batch,
            "evaluator_alone": evaluator_alone(evaluator, batch, share),
            "one_tree": one_tree(evaluator, batch, share, under_way=1),
            "two_under_way": one_tree(evaluator, batch, share, under_way=2),
            "pool": pool_of(evaluator, batch, device=device, budget=share, visits=visits),
        }
        first = (rows[0] if rows else row)["one_tree"]["evaluations_per_second"]
        row["speed_up"] = round(row["one_tree"]["evaluations_per_second"] / first, 2)
        rows.append(row)
        say(f"batches of {batch}: {row['one_tree']['evaluations_per_second']:,.0f} evaluations/s in one tree")
    return rows


def warm_up(evaluator: Evaluator, largest: int) -> float:
    """Evaluate batches of 1, 2, 4 and so on up to `largest`; return the seconds."""
    began = time.perf_counter()
    for power in range((largest - 1).bit_length() + 1):
        evaluator.evaluate(random_leaves(1 << power))
    return time.perf_counter() - began


def random_leaves(size: int) -> _core.Leaves:
    """Return one leaf from each of `size` random games."""
    pool = Pool(
        VARIANT,
        SearchConfig(),
        SelfPlayConfig(visits=64, full_probability=1, random_plies=16, temperature=0),
        seed=1,
        slots=size,
        threads=1,
    )
    pool.start(0, size)
    return pool.gather()


def evaluator_alone(evaluator: Evaluator, batch: int, budget: float) -> float:
    """Return evaluations per second of one batch, evaluated repeatedly."""
    leaves = random_leaves(batch)
    evaluator.evaluate(leaves)
    done = 0
    began = now = time.perf_counter()
    while now - began < budget:
        evaluator.evaluate(leaves)
        done += leaves.size
        now = time.perf_counter()
    return round(done / (now - began), 1)


def one_tree(evaluator: Evaluator, batch: int, budget: float, *, under_way: int) -> dict[str, Any]:
    """Grow trees one after the other, with `under_way` batches of `batch` leaves in flight."""
    evaluations = answered = collisions = trees = 0
    with ThreadPoolExecutor(under_way) as executor:
        began = now = time.perf_counter()
        while now - began < budget:
            position = Position(VARIANT, POSITIONS[trees % len(POSITIONS)])
            search = Search(position, SearchConfig(stop_when_proven=False), max(5000, 8 * batch))
            trees += 1
            waiting: deque[tuple[_core.Leaves, Future[Evaluation]]] = deque()
            while now - began < budget:
                leaves = search.gather(batch)
                if leaves.size and under_way == 1:
                    priors, wdl, _ = evaluator.evaluate(leaves)
                    search.apply(leaves.ticket, priors, wdl)
                    evaluations, answered = evaluations + leaves.size, answered + 1
                elif leaves.size:
                    waiting.append((leaves, executor.submit(evaluator.evaluate, leaves)))
                if waiting and (len(waiting) == under_way or not leaves.size):
                    oldest, answer = waiting.popleft()
                    priors, wdl, _ = answer.result()
                    search.apply(oldest.ticket, priors, wdl)
                    evaluations, answered = evaluations + oldest.size, answered + 1
                now = time.perf_counter()
                if not leaves.size and not waiting and search.done():
                    break
            for _, answer in waiting:
                answer.result()
            if not waiting:
                collisions += search.result().collisions
    elapsed = now - began
    return {
        "trees": trees,
        "evaluations": evaluations,
        "batches": answered,
        "evaluations_per_second": round(evaluations / elapsed, 1),
        "mean_batch": round(evaluations / max(1, answered), 1),
        "collisions": collisions,
    }


# -- shares ---------------------------------------------------------------------------------------


def shares_part(
    evaluator: Evaluator,
    *,
    device: str,
    budget: float,
    games: int,
    batch: int = SHARES_BATCH,
    visits: int = VISITS,
) -> dict[str, Any]:
    """Measure where the time of a move goes, in one tree and in a pool, and how long a move takes with all lanes."""
    share = budget / 4
    one_thread, _ = _core.generate_rate(VARIANT, 20_000, 1, min(1.0, share / 2))
    all_threads = one_thread * (threads_on(device) or cores())
    # 1. One tree, one batch at a time.
    game = Game(1, visits)
    tree = timed(lambda: game.gather(batch), lambda *answer: game.search.apply(*answer), evaluator, share)
    # 2. A pool with one lane, one batch at a time.
    pool = Pool(
        VARIANT,
        SearchConfig(noise_epsilon=0.25),
        SelfPlayConfig(visits=visits, full_probability=1, random_plies=0, temperature=0),
        seed=1,
        slots=games,
        threads=threads_on(device),
    )
    pool.start(0, 100 * games)
    lane = timed(pool.gather, pool.apply, evaluator, share)
    # 3. With all lanes the parts overlap: a move takes less time than they do together.
    whole = pool_of(evaluator, games, device=device, budget=share, visits=visits)
    lanes_spent = dict(whole["lane_seconds"]) | {"leaves": whole["evaluations"]}
    return {
        "legal_moves_positions_per_second": round(one_thread),
        "one_tree": {"batch": batch} | components(tree, visits, one_thread),
        "pool_one_lane": {"games": games} | components(lane, visits, all_threads),
        "pool": whole
        | {"components": components(lanes_spent, visits, all_threads)["components"]}
        | {"milliseconds_per_move": round(1000 * visits / whole["evaluations_per_second"], 4)},
        "seed_000": {name: {"milliseconds": ms, "share": part} for name, (ms, part) in SEED_TABLE.items()},
    }


def timed(
    gather: Callable[[], _core.Leaves],
    apply: Callable[[int, Any, Any], None],
    evaluator: Evaluator,
    budget: float,
) -> dict[str, float]:
    """Gather, evaluate and apply in turn for `budget` seconds; return the seconds of each and the leaves."""
    spent = {"gather": 0.0, "evaluate": 0.0, "apply": 0.0, "leaves": 0.0}
    warm = gather()
    priors, wdl, _ = evaluator.evaluate(warm)
    apply(warm.ticket, priors, wdl)
    began = now = time.perf_counter()
    while now - began < budget:
        leaves = gather()
        gathered = time.perf_counter()
        spent["gather"] += gathered - now
        if leaves.size:
            priors, wdl, _ = evaluator.evaluate(leaves)
            evaluated = time.perf_counter()
            apply(leaves.ticket, priors, wdl)
            now = time.perf_counter()
            spent["evaluate"] += evaluated - gathered
            spent["apply"] += now - evaluated
            spent["leaves"] += leaves.size
        else:
            now = gathered
    return spent


def components(spent: dict[str, float], visits: int, positions_per_second: float) -> dict[str, Any]:
    """Return times in the rows of seed 000's table, in milliseconds per move of `visits` evaluations.

    Move generation is too short to be timed call by call and is computed instead: each leaf is a position whose moves
    were generated once, at the speed of one thread measured in the same run, times the number of threads. The tree is
    the rest of gather and apply: selection, expansion, terminal tests, the encoder, back-up.
    """
    moves = spent["leaves"] / visits
    legal = spent["leaves"] / positions_per_second
    parts = {
        "net": spent["evaluate"],
        "tree": spent["gather"] + spent["apply"] - legal,
        "legal moves": legal,
    }
    total = sum(parts.values())
    return {
        "moves": round(moves, 2),
        "milliseconds_per_move": round(1000 * total / moves, 4),
        "components": {
            name: {"milliseconds": round(1000 * part / moves, 4), "share": round(part / total, 4)}
            for name, part in parts.items()
        },
    }


# -- the command ----------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the parts and print their tables."""
    parser = Parser(__doc__)
    parser.add_argument("--parts", type=names(PARTS), default=PARTS)
    parser.add_argument("--seconds", type=seconds, default=20.0, help="of each part, beside its warm-up")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--workers", type=counts, default=WORKERS)
    parser.add_argument("--batches", type=counts, default=BATCHES)
    parser.add_argument("--visits", type=positive, default=VISITS)
    parser.add_argument("--leaves", type=positive, default=LEAVES, help="of a worker's request")
    parser.add_argument("--games", type=positive, default=4096, help="of the large pool in queue and shares")
    parser.add_argument("--compile", action="store_true", help="compile the net for large batches, a minute or more")
    parser.add_argument("--blocks", type=positive, default=12)
    parser.add_argument("--channels", type=positive, default=128)
    parser.add_argument("--json", metavar="FILE", help="where the values go; - is standard output")
    chosen = parser.parse_args(arguments)
    values: dict[str, Any] = {
        "what": "the designs of the seeds beside ours",
        "machine": machine() | {"core": CORE},
        "net": {"blocks": chosen.blocks, "channels": chosen.channels},
        "variant": VARIANT,
        "visits": chosen.visits,
    }
    texts = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            net = save_net(make_net(VARIANT, blocks=chosen.blocks, channels=chosen.channels), Path(folder) / "net")
            evaluator = open_on(net, chosen.device, compiled=chosen.compile)
        values["evaluator"] = evaluator.name
        values["warm_up_seconds"] = round(warm_up(evaluator, max(SHARES_BATCH, *chosen.batches)), 2)
        common: dict[str, Any] = {"device": chosen.device, "budget": chosen.seconds, "visits": chosen.visits}
        if "queue" in chosen.parts:
            values["queue"] = queue_part(
                evaluator, workers=chosen.workers, leaves=chosen.leaves, games=chosen.games, **common
            )
            texts.append(queue_table(values["queue"], chosen.visits))
        if "batches" in chosen.parts:
            values["batches"] = batches_part(evaluator, batches=chosen.batches, **common)
            texts.append(batches_table(values["batches"]))
        if "shares" in chosen.parts:
            values["shares"] = shares_part(evaluator, games=chosen.games, **common)
            texts.append(shares_table(values["shares"]))
    except SelfmateError as error:
        refuse(str(error))
    write(values, chosen.json)
    if chosen.json != "-":
        print("\n\n".join(texts))


def queue_table(found: dict[str, Any], visits: int) -> str:
    """Show one row for each number of workers, and the pool of many games."""
    columns = ["workers, games", "queue, evaluations/s", "mean batch", "moves/s", "pool, evaluations/s"]
    columns += ["mean batch", "moves/s", "ratio"]
    many, most = found["many_games"], max(row["evaluations_per_second"] for row in found["rows"])
    cells: list[tuple[object, ...]] = [
        (
            row["workers"],
            row["evaluations_per_second"],
            row["mean_batch"],
            row["evaluations_per_second"] / visits,
            row["pool"]["evaluations_per_second"],
            row["pool"]["mean_batch"],
            row["pool"]["evaluations_per_second"] / visits,
            row["ratio"],
        )
        for row in found["rows"]
    ]
    speed = many["evaluations_per_second"]
    cells.append((many["games"], None, None, None, speed, many["mean_batch"], speed / visits, speed / most))
    return table(columns, cells) + "\n\nThe last ratio is to the best of the queue."


def batches_table(rows: Sequence[dict[str, Any]]) -> str:
    """Show one row for each size of a batch."""
    columns = ["batch", "one tree, evaluations/s", "speed-up", "mean batch", "two batches in flight, evaluations/s"]
    columns += ["pool of as many games, evaluations/s", "evaluator alone, evaluations/s"]
    cells = [
        (
            row["batch"],
            row["one_tree"]["evaluations_per_second"],
            row["speed_up"],
            row["one_tree"]["mean_batch"],
            row["two_under_way"]["evaluations_per_second"],
            row["pool"]["evaluations_per_second"],
            row["evaluator_alone"],
        )
        for row in rows
    ]
    return table(columns, cells)


def shares_table(found: dict[str, Any]) -> str:
    """Show the rows of seed 000's table 5.7, and the whole."""
    tree, lane, whole = found["one_tree"], found["pool_one_lane"], found["pool"]
    columns = ["component", "seed 000 (RTX 3060), ms a move", "share", f"one tree, batches of {tree['batch']}, ms"]
    columns += [
        "share",
        f"pool of {lane['games']} games, one lane, ms",
        "share",
        f"{whole['lanes']} lanes, ms",
        "share",
    ]
    rows: list[tuple[object, ...]] = []
    for name, (milliseconds, share) in SEED_TABLE.items():
        cells: list[object] = [name, milliseconds, f"{share:.0%}"]
        if name == "legal moves":
            cells = [name, "< 1", "< 1%"]
        for where in (tree, lane, whole):
            part = where["components"][name]
            cells += [part["milliseconds"], f"{part['share']:.1%}"]
        rows.append(tuple(cells))
    totals = [cell for where in (tree, lane, whole) for cell in (where["milliseconds_per_move"], None)]
    rows.append(("a move, by the clock", None, None, *totals))
    return table(columns, rows)


if __name__ == "__main__":
    main()
