"""The command `selfmate`. Heavy imports stand inside the commands, so that `--help` answers at once.

Bad input ends with exit code 2 and one line on standard error, a wrong perft count with 1, Ctrl-C with 130, and a
SIGTERM that was heard with 143: 128 and the number of the signal, as shells count.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from selfmate.errors import EpdError, SelfmateError

if TYPE_CHECKING:
    from rich.progress import Progress

    from selfmate.bench import Tell
    from selfmate.bench_search import BenchReport
    from selfmate.epd import PerftLine
    from selfmate.perft import LineResult

__all__ = ["app", "main"]

BAD_INPUT = 2
INTERRUPTED = 130
MAX_SUITE_BYTES = 64 << 20

app = typer.Typer(
    name="selfmate",
    help="An engine for chess and its variants that learns from nothing but the rules.\n\n"
    "Example: selfmate train gardner-laptop --minutes 10",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
bench_app = typer.Typer(
    help="Measure, beside other engines where they are installed.\n\nExample: selfmate bench movegen --json"
)
app.add_typer(bench_app, name="bench")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code."""
    try:
        code = app(args=arguments, prog_name="selfmate", standalone_mode=False)
        sys.stdout.flush()
    except SelfmateError as error:
        _refuse(str(error))
    except BrokenPipeError:  # the reader (`head`, say) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except OSError as error:
        _refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except Exception as error:
        # Usage errors come from click, which newer versions of typer carry inside: known by their method.
        format_message = getattr(error, "format_message", None)
        if format_message is None:
            raise
        message = " ".join(format_message().split())
        if not message:  # help was shown, for want of arguments
            sys.exit(BAD_INPUT)
        _refuse(message)
    if code == INTERRUPTED:  # newer versions of typer turn Ctrl-C into this code themselves
        print("selfmate: interrupted", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else 0)


def _refuse(message: str) -> NoReturn:
    """Say in one line what is wrong with the input, and leave."""
    print(f"selfmate: {message}", file=sys.stderr)
    sys.exit(BAD_INPUT)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"selfmate {version('selfmate')}")
        raise typer.Exit


@app.callback()
def _selfmate(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Keep `selfmate` a group of commands."""


Variant = Annotated[str, typer.Argument(help="chess, atomic, gardner, … or chess960, atomic960", show_default=False)]
Threads = Annotated[int | None, typer.Option("--threads", min=1, max=1024, help="Threads (default: all).")]


@app.command()
def perft(
    variant: Variant,
    depth: Annotated[
        int | None, typer.Argument(min=0, max=100, help="Plies to look ahead.", show_default=False)
    ] = None,
    fen: Annotated[str | None, typer.Option("--fen", help="Position (default: the start).")] = None,
    divide: Annotated[bool, typer.Option("--divide", help="A line for each move.")] = False,
    suite: Annotated[Path | None, typer.Option("--suite", help="File of lines `FEN ;D1 n ;D2 n …`.")] = None,
    max_nodes: Annotated[
        int | None, typer.Option("--max-nodes", min=1, help="With --suite: the deepest listed depth within N nodes.")
    ] = None,
    threads: Threads = None,
) -> None:
    """Count the leaves of the game tree, or check a file of known counts.

    Example: selfmate perft atomic 5 --divide

    Example: selfmate perft atomic --suite tests/perft/atomic.epd --max-nodes 20000000
    """
    from selfmate.perft import available_threads

    workers = threads or available_threads()
    if suite is not None:
        if depth is not None or fen is not None or divide:
            raise SelfmateError("--suite goes without DEPTH, --fen and --divide")
        try:
            _perft_suite(variant, suite, max_nodes, workers)
        except EpdError as error:
            raise SelfmateError(f"{suite}: {error}", error.part) from error
    elif depth is None:
        raise SelfmateError("give a DEPTH or a --suite")
    elif max_nodes is not None:
        raise SelfmateError("--max-nodes goes with --suite")
    else:
        _perft_position(variant, fen, depth, workers, divide)


def _perft_position(variant: str, fen: str | None, depth: int, threads: int, divide: bool) -> None:
    """Print the count of one position, with `divide` a line for each move before it."""
    from selfmate import perft
    from selfmate._core import Position

    position = Position(variant, fen)
    if depth == 0:  # the position itself is the only leaf
        print("Nodes searched: 1")
        return
    total = 0
    with _progress(hidden=divide) as progress:  # the lines of a divide are progress enough
        task = progress.add_task(f"perft {depth}", total=len(position.legal_moves), note="")
        for uci, nodes in perft.divide(position, depth, threads):
            total += nodes
            if divide:
                print(f"{uci}: {nodes}", flush=True)
            progress.update(task, advance=1, note=f"{total:,} nodes")
    print(f"\nNodes searched: {total}" if divide else f"Nodes searched: {total}")


def _perft_suite(variant: str, path: Path, max_nodes: int | None, threads: int) -> None:
    """Check a file of counts: the last line says how many are wrong, the lines before it show the first that is."""
    from selfmate.epd import read_perft_suite
    from selfmate.perft import check_suite, deepest_depth

    if path.exists() and not (path.is_file() or path.is_fifo()):
        raise SelfmateError(f"{path} is not a file")
    if path.is_file() and path.stat().st_size > MAX_SUITE_BYTES:
        raise SelfmateError(f"{path} is larger than {MAX_SUITE_BYTES >> 20} MiB")
    lines = list(read_perft_suite(path))
    chosen = [line for line in lines if deepest_depth(line, max_nodes) is not None]
    if not chosen:
        raise SelfmateError(f"{path}: no position" + (f" lists a depth within {max_nodes} nodes" if lines else ""))
    if len(chosen) < len(lines):
        print(f"selfmate: {len(lines) - len(chosen)} positions list no depth within the budget", file=sys.stderr)
    results: list[LineResult] = []
    with _progress() as progress:
        task = progress.add_task(path.name, total=sum(_budget(line, max_nodes) for line in chosen), note="")
        for result in check_suite(variant, chosen, max_nodes=max_nodes, threads=threads):
            results.append(result)
            progress.update(task, advance=_budget(result.line, max_nodes), note=f"{len(results)} of {len(chosen)}")
    wrong = [result for result in results if not result.is_right]
    if wrong:
        _explain(variant, path, wrong[0], threads)
    print(f"{len(results)} positions, {sum(result.counted for result in results)} nodes, {len(wrong)} wrong")
    if wrong:
        raise typer.Exit(1)


def _budget(line: PerftLine, max_nodes: int | None) -> int:
    """Nodes that a line will count: its share of the progress bar."""
    return max(nodes for _, nodes in line.nodes if max_nodes is None or nodes <= max_nodes)


def _explain(variant: str, path: Path, result: LineResult, threads: int) -> None:
    """Print a wrong line and its divide."""
    from selfmate import perft
    from selfmate._core import Position

    print(f"{path}:{result.line.number}: {result.line.text}")
    print(f"depth {result.depth}: expected {result.expected}, counted {result.counted}")
    for uci, nodes in perft.divide(Position(variant, result.line.fen, lenient=True), result.depth, threads):
        print(f"{uci}: {nodes}")


@contextlib.contextmanager
def _progress(*, hidden: bool = False) -> Iterator[Progress]:
    """Make a bar on standard error, shown only when that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from selfmate.view import QuietTerminal

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,  # rich would send it to standard error
        disable=hidden or not console.is_terminal,
    )
    with contextlib.nullcontext() if bar.disable else QuietTerminal(console.file), bar:
        yield bar


@bench_app.callback(invoke_without_command=True)
def _bench(
    context: typer.Context,
    signature: Annotated[bool, typer.Option("--signature", help="Print the bench signature and leave.")] = False,
) -> None:
    """Measure, beside other engines where they are installed.

    Without a word more it searches some positions of every variant and prints `N nodes M nps`, as OpenBench reads it;
    the nodes are the same on every machine.

    Example: selfmate bench

    Example: selfmate bench movegen --json

    Example: selfmate bench --signature
    """
    if signature and context.invoked_subcommand is None:
        from selfmate import _core

        print(_core.signature())
    elif context.invoked_subcommand is None:
        from selfmate.bench import total

        nodes, seconds = total()
        print(f"{nodes} nodes {nodes / seconds:.0f} nps")


@bench_app.command()
def movegen(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    repeats: Annotated[int, typer.Option("--repeats", min=1, max=100, help="Best of so many runs of each.")] = 3,
    threads: Threads = None,
) -> None:
    """Measure move generation: perft and legal moves of random positions.

    The same positions go through Stockfish (chess) and Fairy-Stockfish (atomic) in the same run where they are
    installed; bench/peers/build_fairy_stockfish.sh builds the latter.

    Example: selfmate bench movegen --json > movegen.json
    """
    import json

    from rich.console import Console

    from selfmate import bench
    from selfmate.perft import available_threads

    with _progress() as progress:
        task = progress.add_task("movegen", total=None, note="")
        report = bench.movegen(
            repeats=repeats,
            threads=threads or available_threads(),
            tell=lambda done, total, note: progress.update(task, completed=done, total=total, note=note),
        )
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        bench.show(report, Console())


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Repeats = Annotated[int, typer.Option("--repeats", min=1, max=100, help="Best of so many runs of each.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe; repeatable.")
]


def _measure(name: str, as_json: bool, measure: Callable[[Tell], BenchReport]) -> None:
    """Run a measurement under a progress bar and print what it found."""
    import json

    from rich.console import Console

    from selfmate import bench_search

    with _progress() as progress:
        task = progress.add_task(name, total=None, note="")
        report = measure(lambda done, total, note: progress.update(task, completed=done, total=total, note=note))
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        bench_search.show(report, Console())


@bench_app.command()
def search(
    visits: Annotated[int, typer.Option("--visits", min=1, max=1_000_000, help="Visits of a tree.")] = 800,
    repeats: Repeats = 5,
    as_json: Json = False,
) -> None:
    """Measure the search with evaluators of no cost: single trees on one core, many games on one and two.

    Example: selfmate bench search --repeats 3
    """
    from selfmate import bench_search

    _measure("search", as_json, lambda tell: bench_search.search(visits=visits, repeats=repeats, tell=tell))


@bench_app.command()
def collisions(as_json: Json = False) -> None:
    """Measure how full the batches of one tree are and how many playouts they waste, beside an older engine.

    Example: selfmate bench collisions
    """
    from selfmate import bench_search

    _measure("collisions", as_json, lambda tell: bench_search.collisions(tell=tell))


@bench_app.command()
def tactics(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Lines `FEN; moves; N`.", show_default=False)],
    player: Annotated[str, typer.Option("--player", help="Who solves them, as for `selfmate arena`.")] = "heuristic-1",
    visits: Annotated[int, typer.Option("--visits", min=1, max=100_000_000, help="Visits for each.")] = 2000,
    variant: Annotated[
        str | None,
        typer.Option("--variant", help="Variant (default: the beginning of the file's name, as in atomic_mate2.epd)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Count the forced wins that a player finds; the last line is `N solved of M`.

    Example: selfmate bench tactics tests/tactics/atomic_mate2.epd --visits 2000
    """
    from selfmate import bench_search
    from selfmate.player import Player

    solver = Player(player)
    _measure(
        path.name,
        as_json,
        lambda tell: bench_search.tactics(path, variant=variant, player=solver, visits=visits, tell=tell),
    )


@bench_app.command()
def nn(
    net: Annotated[
        Path | None, typer.Option("--net", help="A net's folder or .onnx file (default: untrained).")
    ] = None,
    variant: Annotated[str, typer.Option("--variant", help="Variant of the untrained net.")] = "gardner",
    size: Annotated[str, typer.Option("--size", help="Size of the untrained net: tiny, small, medium.")] = "tiny",
    device: Annotated[str, typer.Option("--device", help="cpu or cuda.")] = "cpu",
    backends: Annotated[
        list[str] | None, typer.Option("--backend", help="Only this one; repeatable (default: all that are there).")
    ] = None,
    repeats: Repeats = 3,
    as_json: Json = False,
) -> None:
    """Measure evaluations per second of a net, by backend and batch.

    Example: selfmate bench nn --variant atomic --size small
    """
    from selfmate import bench_search

    _measure(
        "nn",
        as_json,
        lambda tell: bench_search.nn(
            net=net, variant=variant, size=size, device=device, backends=backends, repeats=repeats, tell=tell
        ),
    )


@bench_app.command()
def agreement(
    net: Annotated[Path, typer.Argument(metavar="NET", help="A net's folder or .onnx file.", show_default=False)],
    backends: Annotated[
        list[str] | None, typer.Option("--backend", help="Only this one; repeatable (default: all that are there).")
    ] = None,
    visits: Annotated[int, typer.Option("--visits", min=1, max=1_000_000, help="Visits of a search.")] = 200,
    positions: Annotated[int, typer.Option("--positions", min=1, max=10_000, help="How many positions.")] = 400,
    as_json: Json = False,
) -> None:
    """Compare bf16 and int8 with f32: values, policies, and how often the search plays the same move.

    Example: selfmate bench agreement runs/atomic/checkpoints/00080 --backend openvino-int8
    """
    from selfmate import agreement as measured

    _measure(
        "agreement",
        as_json,
        lambda tell: measured.agreement(net, backends=backends, visits=visits, count=positions, tell=tell),
    )


@bench_app.command()
def selfplay(
    recipe: Annotated[str, typer.Argument(help="A recipe, as for `selfmate train`.")] = "gardner-laptop",
    net: Annotated[
        Path | None, typer.Option("--net", help="A net's folder or .onnx file (default: untrained).")
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, max=3600, help="For how long.")] = 10.0,
    warmup: Annotated[float, typer.Option("--warmup", min=0, max=3600, help="Seconds that are not counted.")] = 0.0,
    device: Annotated[str, typer.Option("--device", help="cpu or cuda.")] = "cpu",
    compiled: Annotated[bool, typer.Option("--compile", help="Fuse the net on a GPU (takes a minute).")] = False,
    lanes: Annotated[int | None, typer.Option("--lanes", min=1, max=64, help="Batches in turn.")] = None,
    settings: Settings = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", help="One second of it, as a picture (.svg) or Chrome trace.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure self-play beside the evaluator alone: games and playouts per second, how full batches are, time by stage.

    Example: selfmate bench selfplay gardner-laptop --seconds 20
    """
    from selfmate import bench_selfplay

    _measure(
        "selfplay",
        as_json,
        lambda tell: bench_selfplay.selfplay(
            recipe=recipe,
            net=net,
            seconds=seconds,
            warmup=warmup,
            device=device,
            lanes=lanes,
            compile=compiled,
            overrides=settings or (),
            trace=trace,
            tell=tell,
        ),
    )


@bench_app.command("arena")
def bench_arena(
    nets: Annotated[
        list[str] | None, typer.Argument(metavar="[A B]", help="Two nets (default: untrained ones).")
    ] = None,
    variant: Annotated[str, typer.Option("--variant", help="Variant of untrained nets.")] = "gardner",
    size: Annotated[str, typer.Option("--size", help="Size of untrained nets: tiny, small, medium.")] = "tiny",
    games: Annotated[int, typer.Option("--games", min=2, max=1_000_000, help="Games, an even number.")] = 512,
    visits: Annotated[int, typer.Option("--visits", min=1, max=1_000_000, help="Visits for a move.")] = 32,
    max_plies: Annotated[int, typer.Option("--max-plies", min=1, max=10_000, help="Then a game is cut off.")] = 200,
    device: Annotated[str, typer.Option("--device", help="cpu or cuda.")] = "cpu",
    compiled: Annotated[bool, typer.Option("--compile", help="Fuse untrained nets on a GPU (takes a minute).")] = False,
    slots: Annotated[int | None, typer.Option("--slots", min=1, max=1_000_000, help="Games at once.")] = None,
    lanes: Annotated[int | None, typer.Option("--lanes", min=1, max=64, help="Batches in turn.")] = None,
    as_json: Json = False,
) -> None:
    """Measure a match of net against net beside the evaluators alone: evaluations per second, games per hour.

    Example: selfmate bench arena gardner-laptop runs/gardner-laptop --games 1000 --visits 64
    """
    from selfmate import bench_arena as measured

    _measure(
        "arena",
        as_json,
        lambda tell: measured.arena(
            nets=nets or (),
            variant=variant,
            size=size,
            games=games - games % 2,
            visits=visits,
            max_plies=max_plies,
            device=device,
            compile=compiled,
            slots=slots,
            lanes=lanes,
            tell=tell,
        ),
    )


@bench_app.command("train")
def bench_train(
    recipe: Annotated[str, typer.Argument(help="A recipe, as for `selfmate train`.")] = "gardner-laptop",
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, max=3600, help="For how long.")] = 10.0,
    device: Annotated[str, typer.Option("--device", help="cpu or cuda.")] = "cpu",
    compiled: Annotated[bool, typer.Option("--compile", help="Fuse the net on a GPU (takes a minute).")] = False,
    settings: Settings = None,
    as_json: Json = False,
) -> None:
    """Measure the learner beside a plain loop over tensors that are on the device already.

    Example: selfmate bench train gardner-laptop --set learner.batch=256
    """
    from selfmate import bench_selfplay

    _measure(
        "train",
        as_json,
        lambda tell: bench_selfplay.train_speed(
            recipe=recipe, seconds=seconds, device=device, compile=compiled, overrides=settings or (), tell=tell
        ),
    )


@app.command()
def train(
    recipe: Annotated[
        str, typer.Argument(help="gardner-laptop, atomic-laptop, atomic (one GPU), or a TOML file.", show_default=False)
    ],
    run: Annotated[Path | None, typer.Option("--run", help="The run's directory (default: runs/NAME).")] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0.01, max=1e6, help="Then stop (default: when it is complete).")
    ] = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, max=2**63, help="Of everything (default: 1).")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Shrink the recipe to seconds, for a try.")] = False,
    device: Annotated[str, typer.Option("--device", help="auto (a GPU where there is one), cpu or cuda.")] = "auto",
) -> None:
    """Train a net from nothing but the rules; the same command goes on where it was stopped or killed.

    Ctrl-C or SIGTERM saves everything, says how to go on and leaves with exit code 130 or 143; a second one leaves at
    once. A run that is complete or has used its minutes leaves with 0.

    Example: selfmate train gardner-laptop --minutes 10

    Example: selfmate train gardner-laptop --run runs/mine --set selfplay.visits=64
    """
    try:
        from selfmate.loop import train as train_run
    except ModuleNotFoundError as error:
        raise SelfmateError(f"{error.name} is missing; it comes with selfmate[train]") from error
    summary = train_run(recipe, run, minutes, settings or (), smoke, seed, device)
    if summary.signal is not None:
        sys.exit(128 + summary.signal)  # what was stopped and how to go on has been said


WHO = "heuristic-1, uniform, fake, random, a net's folder or .onnx file, or a run (runs/NAME, runs/NAME:untrained)"


@app.command()
def arena(
    players: Annotated[
        list[str],
        typer.Argument(
            metavar="A B …", help=f"Players: {WHO}; or uci:COMMAND?nodes=N (docs/arena.md).", show_default=False
        ),
    ],
    variant: Annotated[
        str | None, typer.Option("--variant", help="Variant (default: that of the nets, else chess).")
    ] = None,
    games: Annotated[
        int | None,
        typer.Option("--games", min=2, max=1_000_000, help="Games of every two, an even number.  [100; --sprt: 2000]"),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option("--pairs", min=1, max=500_000, help="Openings, each of them twice (instead of --games)."),
    ] = None,
    visits: Annotated[
        int | None, typer.Option("--visits", min=1, max=10_000_000, help="Visits of nets for a move.  [64]")
    ] = None,
    visits_a: Annotated[int | None, typer.Option("--visits-a", min=1, max=10_000_000, help="Those of A.")] = None,
    visits_b: Annotated[int | None, typer.Option("--visits-b", min=1, max=10_000_000, help="Those of B.")] = None,
    nodes: Annotated[int | None, typer.Option("--nodes", min=1, help="Nodes of engines for a move.")] = None,
    depth: Annotated[int | None, typer.Option("--depth", min=1, max=1000, help="Depth of engines.")] = None,
    movetime: Annotated[
        int | None, typer.Option("--movetime", min=1, max=86_400_000, help="Milliseconds of everybody for a move.")
    ] = None,
    tc: Annotated[str | None, typer.Option("--tc", help="Clock of everybody, seconds+increment: 10+0.1.")] = None,
    openings: Annotated[
        Path | None, typer.Option("--openings", help="A book: FENs or EPDs, or .pgn (default: drawn, and even).")
    ] = None,
    opening_plies: Annotated[
        int | None, typer.Option("--opening-plies", min=0, max=1000, help="Of a PGN book (default: whole games).")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**63, help="Of the openings.")] = 0,
    gumbel: Annotated[bool, typer.Option("--gumbel", help="Gumbel's root, as in training, not PUCT's.")] = False,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", min=1, max=1024, help="Games with engines at a time (docs/arena.md).")
    ] = None,
    margin: Annotated[
        int | None,
        typer.Option(
            "--margin", min=0, max=60_000, help="Milliseconds time may be overstepped.  [50; --movetime: 1000]"
        ),
    ] = None,
    patience: Annotated[
        float, typer.Option("--patience", min=0.1, max=86_400, help="Seconds for an answer without a clock.")
    ] = 60.0,
    max_plies: Annotated[int, typer.Option("--max-plies", min=1, max=10_000, help="Then a game is cut off.")] = 512,
    resign: Annotated[str | None, typer.Option("--resign", help="CENTIPAWNS,MOVES: a side says it of itself.")] = None,
    win: Annotated[str | None, typer.Option("--win", help="CENTIPAWNS,MOVES: both sides say so.")] = None,
    draw: Annotated[str | None, typer.Option("--draw", help="CENTIPAWNS,MOVES,AFTER: both sides see less.")] = None,
    sprt: Annotated[
        str | None, typer.Option("--sprt", metavar="ELO0,ELO1", help="Stop when A is ELO1 stronger, or only ELO0.")
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Chance to accept ELO1 wrongly.")] = 0.05,
    beta: Annotated[float, typer.Option("--beta", help="Chance to accept ELO0 wrongly.")] = 0.05,
    model: Annotated[str, typer.Option("--model", help="Elo of --sprt: normalised or logistic.")] = "normalised",
    device: Annotated[str, typer.Option("--device", help="Where nets compute: cpu or cuda.")] = "cpu",
    pgn: Annotated[Path | None, typer.Option("--pgn", help="The match on disk; the same command goes on.")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write a line for each game to this file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Begin anew, over a match that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Let players play a match: every two of them each opening twice, with either colour.

    Ctrl-C shows what was played so far; with --pgn the same command goes on.

    Example: selfmate arena runs/gardner-laptop heuristic-1 --games 200 --visits 64

    Example: selfmate arena runs/atomic 'uci:fairy-stockfish?nodes=1000' --visits 400 --pgn games.pgn

    Example: selfmate arena heuristic-1 'uci:stockfish?option.Skill+Level=3' --tc 10+0.1
    """
    from selfmate import arena as match

    if games is not None and pairs is not None:
        raise SelfmateError("--games and --pairs say the same; give one of them")
    if games is not None and games % 2:
        raise SelfmateError(f"--games: every opening is played twice, so {games} is not possible; an even number is")
    code = match.command(
        match.Wishes(
            players=tuple(players),
            variant=variant,
            pairs=pairs or (games or (100 if sprt is None else 2000)) // 2,
            visits=(visits, visits_a, visits_b),
            nodes=nodes,
            depth=depth,
            movetime=movetime,
            tc=tc,
            openings=openings,
            opening_plies=opening_plies,
            seed=seed,
            gumbel=gumbel,
            concurrency=concurrency,
            margin=None if margin is None else margin / 1000,
            patience=patience,
            max_plies=max_plies,
            resign=resign,
            win=win,
            draw=draw,
            device=device,
            test=None if sprt is None else match.read_sprt(sprt, alpha, beta, model),
        ),
        pgn=pgn,
        csv=csv,
        force=force,
        as_json=as_json,
        progress=_progress,
    )
    if code:
        raise typer.Exit(code)


@app.command()
def ladder(
    net: Annotated[
        str | None,
        typer.Argument(metavar="NET", help=f"Who climbs: {WHO}; or uci:COMMAND?nodes=N.", show_default=False),
    ] = None,
    variant: Annotated[str | None, typer.Option("--variant", help="Variant (default: that of the net).")] = None,
    visits: Annotated[
        int | None, typer.Option("--visits", min=1, max=10_000_000, help="Visits of the net for a move.  [64]")
    ] = None,
    movetime: Annotated[
        int | None, typer.Option("--movetime", min=1, max=86_400_000, help="Milliseconds for a move instead.")
    ] = None,
    games: Annotated[int | None, typer.Option("--games", min=2, max=1_000_000, help="At most so many.  [300]")] = None,
    error: Annotated[
        float | None, typer.Option("--error", min=1, max=1000, help="Stop when the rating is so certain, ±.  [40]")
    ] = None,
    minutes: Annotated[float | None, typer.Option("--minutes", min=0.01, max=1e6, help="Stop after them.")] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="COMMAND", help="Fairy-Stockfish (default: one that is found).")
    ] = None,
    without_engine: Annotated[bool, typer.Option("--without-engine", help="Only rungs of our own.")] = False,
    build_engine: Annotated[bool, typer.Option("--build-engine", help="Build Fairy-Stockfish, and leave.")] = False,
    measure: Annotated[
        str | None, typer.Option("--measure", metavar="VARIANT", help="Measure the ladder itself, 30 minutes.")
    ] = None,
    spacing: Annotated[
        Path | None,
        typer.Option("--spacing", help="A measured ladder (default: the one shipped); --measure writes it."),
    ] = None,
    leave_out: Annotated[
        list[str] | None, typer.Option("--leave-out", metavar="RUNG", help="A rung that does not play; repeatable.")
    ] = None,
    note: Annotated[str, typer.Option("--note", help="With --measure: where and with which build it was.")] = "",
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**63, help="Of the openings.")] = 0,
    device: Annotated[str, typer.Option("--device", help="Where the net computes: cpu or cuda.")] = "cpu",
    pgn: Annotated[Path | None, typer.Option("--pgn", help="The games on disk; the same command goes on.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="A picture, .svg or .png.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Begin anew, over games that are there.")] = False,
    as_json: Json = False,
) -> None:
    """Rate a net beside engines of known strength, playing where most is learnt (docs/ladder.md).

    Ctrl-C shows what was played so far; with --pgn the same command goes on.

    Example: selfmate ladder gardner-laptop --visits 64 --pgn climb.pgn --plot climb.svg

    Example: selfmate ladder --measure horde --minutes 20 --spacing horde.json
    """
    import json
    import shlex

    import msgspec
    from rich.console import Console

    from selfmate import ladder as climb
    from selfmate import ladder_plot, yardstick

    # 1. Everything that can be wrong with the options.
    if [net is not None, measure is not None, build_engine].count(True) != 1:
        raise SelfmateError("selfmate ladder NET, or --measure VARIANT, or --build-engine: one of them")
    if build_engine:
        print(yardstick.build_fairy())
        return
    if engine is not None and without_engine:
        raise SelfmateError("--engine and --without-engine contradict each other")
    if measure is not None and (spacing is None or any(each is not None for each in (variant, visits, movetime, plot))):
        raise SelfmateError("--measure VARIANT needs --spacing FILE to write to, and no variant, limit or plot")
    for path in (pgn, spacing):
        if path is not None and not path.absolute().parent.is_dir():
            raise SelfmateError(f"{path}: there is no such folder", str(path))
    if plot is not None:
        ladder_plot.check_picture(plot)
    wishes = climb.Wishes(
        variant=variant,
        visits=visits,
        movetime=movetime,
        games=games or (300 if measure is None else 1_000_000),
        error=error or (40.0 if measure is None else 20.0),
        minutes=minutes or (None if measure is None else 30.0),
        engine=engine,
        without_engine=without_engine,
        spacing=spacing,
        leave_out=tuple(leave_out or ()),
        pgn=pgn,
        force=force,
        seed=seed,
        device=device,
        note=note,
    )
    # 2. The ladder itself.
    if measure is not None:
        assert spacing is not None
        measured, stopped = climb.measure(measure, wishes, shlex.join(["selfmate", *sys.argv[1:]]), _progress)
        climb.write_spacing(spacing, measured)
        if as_json:
            print(json.dumps(msgspec.to_builtins(measured), indent=2))
        else:
            climb.show_spacing(measured, Console())
    # 3. A net on it.
    else:
        assert net is not None
        report = climb.rate(net, wishes, _progress)
        stopped = report.stopped
        if plot is not None:
            ladder_plot.write_picture(plot, ladder_plot.draw(report))
        if as_json:
            print(json.dumps(report.as_json(), indent=2))
        else:
            climb.show(report, Console())
    if stopped:
        if pgn is not None and not as_json:
            print(f"The same command goes on with {pgn}.")
        raise typer.Exit(INTERRUPTED)


@app.command()
def rate(
    files: Annotated[list[str], typer.Argument(metavar="PGN…", help="PGN files; - is standard input.")],
    anchors: Annotated[
        list[str] | None,
        typer.Option("--anchor", metavar="NAME=ELO", help="The rating of a player that is known; repeatable."),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", help="elo (draws are half a win) or bayeselo (draws have a margin).")
    ] = "elo",
    trueskill: Annotated[bool, typer.Option("--trueskill", help="TrueSkill, game by game, instead.")] = False,
    min_games: Annotated[int, typer.Option("--min-games", min=1, help="Leave out players with fewer.")] = 1,
    los: Annotated[bool, typer.Option("--los", help="Likelihood of superiority for all pairs of players.")] = False,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Rate the players of any PGN files by one fit over all their games; the rules of the game do not matter.

    The ratings come with 95 % intervals. Without an anchor their mean is 0; with anchors the intervals are those of the
    difference to them.

    Example: selfmate rate games.pgn --anchor heuristic-1=1000

    Example: selfmate rate *.pgn --min-games 20 --los --json
    """
    import json

    from rich.console import Console

    from selfmate import rate as rates
    from selfmate.rating import MODELS, fit, tally

    # 1. Everything that can be wrong with the options.
    if as_json and as_csv:
        raise SelfmateError("--json and --csv do not go together")
    if model not in MODELS:
        raise SelfmateError(f"--model: {' or '.join(MODELS)}, not {model!r}", model)
    if trueskill and (anchors or los or as_csv or model != "elo"):
        raise SelfmateError("--trueskill goes without --anchor, --model, --los and --csv")
    known = rates.parse_anchors(anchors or ())
    # 2. Read, fit, tell.
    played = rates.read_all(files)
    if min_games > 1:
        played = rates.leave_out(played, min_games)
    if trueskill:
        from selfmate.trueskill import trueskill as rate_in_order

        skills = rate_in_order(played.games)
        if as_json:
            print(json.dumps(rates.skills_as_json(skills, played), indent=2))
        else:
            rates.show_skills(skills, played, Console())
        return
    ratings = fit(tally(played.games), anchors=known, model=model)
    note = rates.apart(ratings)
    if note is not None:
        print(f"selfmate: {note}", file=sys.stderr)
    if as_json:
        print(json.dumps(rates.as_json(ratings, played, los=los), indent=2))
    elif as_csv:
        print(rates.as_csv(ratings), end="")
    else:
        rates.show(ratings, played, Console(), los=los)


@app.command()
def progress(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The directory of a run.", show_default=False)],
    checkpoints: Annotated[
        int, typer.Option("--checkpoints", min=2, max=200, help="Checkpoints that play, about evenly spaced.")
    ] = 8,
    games: Annotated[
        int, typer.Option("--games", min=0, max=100_000, help="Games of every two players; 0 only draws.")
    ] = 40,
    visits: Annotated[int, typer.Option("--visits", min=1, max=1_000_000, help="Visits of a checkpoint's move.")] = 64,
    axis: Annotated[str, typer.Option("--x", help="games, positions, steps or minutes.")] = "games",
    device: Annotated[str, typer.Option("--device", help="Where nets compute: cpu or cuda.")] = "cpu",
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Show how a run grew stronger: checkpoints play each other and our own rungs, one scale is fitted, and drawn.

    The games are kept in RUN/progress with the pictures, progress.svg and progress.html. Ctrl-C is safe: the same
    command goes on, and more checkpoints or more games play only what is missing.

    Example: selfmate progress runs/gardner-laptop

    Example: selfmate progress runs/gardner-laptop --checkpoints 12 --games 100 --x minutes
    """
    import json

    from rich.console import Console

    from selfmate import progress as curve
    from selfmate import progress_report as report_of
    from selfmate.arena import Interrupt
    from selfmate.player import Player
    from selfmate.run import read_metrics, read_run

    # 1. Everything that can be wrong is found before a game begins.
    if as_json and as_csv:
        raise SelfmateError("--json and --csv do not go together")
    if axis not in report_of.AXES:
        raise SelfmateError(f"--x: {', '.join(report_of.AXES)}, not {axis!r}", axis)
    if games % 2:
        raise SelfmateError(f"--games: every opening is played twice, so {games} is not possible; an even number is")
    manifest, state = read_run(run)
    folder = run / curve.FOLDER
    # 2. Play what is missing.
    missing = 0
    if games:
        chosen = curve.choose([each.cycle for each in state.checkpoints], state.champion, checkpoints)

        def player(entrant: curve.Entrant) -> Player:
            spec = entrant.spec if entrant.cycle is None else str(run / state.checkpoint(entrant.cycle).name)
            return Player(spec, device=device, threads=1 if device == "cpu" else None)

        with Interrupt() as interrupt, _progress() as bar:
            task = bar.add_task("progress", total=None, note="")
            cost = curve.play_missing(
                folder,
                manifest.variant,
                curve.pairings(chosen, state.champion, visits),
                curve.openings_for(manifest.variant, games),
                player,
                title=manifest.recipe,
                stopping=interrupt,
                tell=lambda done, total: bar.update(task, completed=done, total=total, note=f"{done} of {total} games"),
            )
        missing = cost.missing
        if cost.games:
            print(f"selfmate: {cost.games:,} games in {cost.seconds:.0f} s", file=sys.stderr)
        if missing:
            print(f"selfmate: stopped; {missing:,} games are missing, the same command plays them", file=sys.stderr)
    # 3. Fit, draw, tell.
    played = curve.read_games_of(folder, manifest.variant, visits)
    report = report_of.make_report(run, manifest, state, read_metrics(run, state), played, visits)
    picture, page = report_of.write_pictures(report, axis)
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
    elif as_csv:
        print(report.as_csv(), end="")
    else:
        report_of.show(report, Console())
        print(f"Drawn in {picture} and {page}.")
    if missing:
        raise typer.Exit(INTERRUPTED)


@app.command()
def play(
    player: Annotated[str, typer.Argument(metavar="PLAYER", help=f"Your opponent: {WHO}.")] = "heuristic-1",
    variant: Annotated[str | None, typer.Option("--variant", help="Variant (default: the net's, else chess).")] = None,
    color: Annotated[str, typer.Option("--color", help="Yours: white, black or random.")] = "white",
    level: Annotated[int | None, typer.Option("--level", min=1, max=8, help="1 (weak) to 8 (strong).")] = None,
    visits: Annotated[int | None, typer.Option("--visits", min=1, max=10_000_000, help="Visits for a move.")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", min=0.01, max=3600, help="Seconds for a move.")] = None,
    fen: Annotated[str | None, typer.Option("--fen", help="Position to begin with (default: the start).")] = None,
    pgn: Annotated[Path | None, typer.Option("--pgn", help="Add the games to this file.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, max=2**63, help="Repeat an opponent.")] = None,
) -> None:
    """Play against a net or any other player, in the terminal.

    Example: selfmate play runs/gardner-laptop --level 4

    Example: selfmate play --variant atomic --color black --visits 800 --pgn mine.pgn
    """
    import secrets

    from rich.console import Console

    from selfmate.game import Position, chess960_fen
    from selfmate.play import LEVELS, Session
    from selfmate.player import Limit, Player

    if level is not None and (visits is not None or seconds is not None):
        raise SelfmateError("--level goes without --visits and --seconds")
    colors = {"white": True, "w": True, "black": False, "b": False, "random": bool(secrets.randbits(1))}
    if color.lower() not in colors:
        raise SelfmateError(f"--color: white, black or random, not {color!r}", color)
    if visits is None and seconds is None:
        visits = LEVELS[(level or 6) - 1]
    opponent = Player(player)
    name = variant or opponent.variant or "chess"
    if fen is None and name.endswith("960"):
        fen = chess960_fen(secrets.randbelow(960))
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  # gives the prompt a history
    session = Session(
        opponent,
        Position(name, fen),
        Limit(visits=visits, seconds=seconds),
        Console(highlight=False),
        color=colors[color.lower()],
        pgn=pgn,
        seed=seed,
    )
    session.run()


@app.command()
def uci() -> None:
    """Run the engine for programs that speak UCI: chess GUIs, lichess-bot, fastchess, python-chess.

    `selfmate-uci` is the same, for programs that take no arguments. docs/uci.md lists the options.

    Example: selfmate uci
    """
    from selfmate.uci import main as run

    run()


@app.command()
def analyse(
    what: Annotated[
        str | None,
        typer.Argument(metavar="FEN|FILE", help="A FEN, or a file of EPD lines, FENs or PGN; - is standard input."),
    ] = None,
    variant: Annotated[
        str | None, typer.Option("--variant", help="Variant of FENs and EPDs (default: the net's, else chess).")
    ] = None,
    net: Annotated[
        str | None, typer.Option("--net", help=f"Who analyses: {WHO} (default: the shipped net, else heuristic-1).")
    ] = None,
    visits: Annotated[
        int | None, typer.Option("--visits", min=1, max=100_000_000, help="Visits for a position (default: 800).")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.01, max=86_400, help="Seconds for a position.")
    ] = None,
    backend: Annotated[
        str, typer.Option("--backend", help="What computes a net: auto, onnx, onnx-int8, openvino, …, torch.")
    ] = "auto",
    multipv: Annotated[int, typer.Option("--multipv", min=1, max=256, help="Moves to show.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each position.")] = False,
) -> None:
    """Analyse a position, the positions of an EPD file (`bm` and `am` are checked), or the moves of games.

    Example: selfmate analyse --variant gardner --multipv 3

    Example: selfmate analyse game.pgn --visits 2000 --json
    """
    from rich.console import Console

    from selfmate import analyse as analysis
    from selfmate.player import Limit

    players = analysis.PlayerFor(net, backend)
    subject = analysis.read_subject(what, players.variant(variant))
    limit = Limit(visits=visits or (800 if seconds is None else None), seconds=seconds)
    analysis.run(subject, players, limit, Console(highlight=False), multipv=multipv, as_json=as_json)


@app.command()
def nets(
    variant: Annotated[str | None, typer.Argument(help="Only those for this variant.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """List the nets that come with Selfmate, with their cards.

    Example: selfmate nets gardner
    """
    import json

    from rich.console import Console

    from selfmate import nets as shipped
    from selfmate.game import Position

    plain = None if variant is None else Position(variant).variant  # an unknown one is refused
    found = [net for net in shipped.shipped() if plain in (None, net.variant)]
    if as_json:
        print(json.dumps([net.as_json() for net in found], indent=2))
    elif found:
        shipped.show(found, Console())
    else:
        print(f"No net for {variant} comes with Selfmate yet; heuristic-1 plays it.")


@app.command()
def export(
    net: Annotated[
        str, typer.Argument(metavar="NET", help="A net's folder or .onnx file, or a run.", show_default=False)
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT.onnx", help="The file to write.", show_default=False)],
    int8: Annotated[bool, typer.Option("--int8", help="In eight bits, calibrated on positions of our games.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Write a net as one ONNX file (opset 18), and check that it answers as the net does; exit code 1 if not.

    Any program that reads ONNX can use it: bits, scalars, moves and counts in; priors, wdl and plies out. An int8
    file is computed about three times as fast where the CPU has VNNI, by ONNX Runtime and by OpenVINO.

    Example: selfmate export runs/gardner-laptop gardner.onnx

    Example: selfmate export runs/atomic atomic.int8.onnx --int8
    """
    import json

    from selfmate import export_check

    report = export_check.export(net, out, int8=int8, force=force)
    print(json.dumps(report.as_json(), indent=2) if as_json else report)
    if not report.agrees:
        raise typer.Exit(1)


@app.command()
def demo(
    variant: Annotated[str, typer.Argument(help="chess, atomic, gardner, … or chess960, atomic960")] = "atomic",
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Repeat a game (default: a new one).")] = None,
    delay: Annotated[
        float | None, typer.Option("--delay", min=0, max=60, help="Seconds between moves (default: 0.4 in a terminal).")
    ] = None,
) -> None:
    """Play a short random game in the terminal.

    Example: selfmate demo atomic --seed 7
    """
    import secrets

    from rich.console import Console

    from selfmate.demo import play_demo

    console = Console(highlight=False)
    pause = (0.4 if console.is_terminal else 0.0) if delay is None else delay
    play_demo(variant, secrets.randbelow(1_000_000) if seed is None else seed, console, delay=pause)
