"""The commands `selfmate bench …`. Heavy imports are inside the functions, so that `--help` is fast."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfmate.cli.common import Json, Settings, Threads, progress_bar
from selfmate.evaluator.backends import CPU_BACKENDS

if TYPE_CHECKING:
    from selfmate.bench.report import BenchReport, Tell

__all__ = ["bench_app"]

Net = Annotated[str | None, typer.Option("--net", help="A net's folder or .onnx file, or a run (default: untrained).")]

Repeats = Annotated[int, typer.Option("--repeats", min=1, max=100, help="Report the best of this many runs.")]
Backends = Annotated[
    list[str] | None,
    typer.Option("--backend", help=f"One of {', '.join(CPU_BACKENDS)}; repeatable (default: all installed)."),
]

bench_app = typer.Typer(
    help="Measure speed, beside other engines where they are installed.\n\nExample: selfmate bench movegen --json"
)


@bench_app.callback(invoke_without_command=True)
def _bench(
    context: typer.Context,
    signature: Annotated[bool, typer.Option("--signature", help="Print the bench signature and exit.")] = False,
) -> None:
    """Measure speed, beside other engines where they are installed.

    Without a command it searches some positions of every variant and prints `N nodes M nps`, the format of OpenBench;
    the nodes are the same on every machine.

    Example: selfmate bench

    Example: selfmate bench movegen --json

    Example: selfmate bench --signature
    """
    if signature and context.invoked_subcommand is None:
        from selfmate import _core

        print(f"{_core.signature()}\nselfplay {_core.selfplay_signature()}")
    elif context.invoked_subcommand is None:
        from selfmate.bench.movegen import total

        nodes, seconds = total()
        print(f"{nodes} nodes {nodes / seconds:.0f} nps")


@bench_app.command()
def movegen(
    as_json: Json = False,
    repeats: Repeats = 3,
    threads: Threads = None,
) -> None:
    """Measure move generation: perft and legal moves of random positions.

    Stockfish (chess) and Fairy-Stockfish (atomic) count the same positions in the same run where they are installed;
    bench/peers/build_fairy_stockfish.sh builds the latter.

    Example: selfmate bench movegen --json > movegen.json
    """
    from selfmate.bench import movegen as bench

    _measure("movegen", as_json, lambda tell: bench.movegen(repeats=repeats, threads=threads, tell=tell))


def _measure(name: str, as_json: bool, measure: Callable[[Tell], BenchReport]) -> None:
    """Run a measurement under a progress bar and print its report."""
    import json

    from rich.console import Console

    from selfmate.bench.report import show

    with progress_bar() as progress:
        task = progress.add_task(name, total=None, note="")
        report = measure(lambda done, total, note: progress.update(task, completed=done, total=total, note=note))
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        show(report, Console())


@bench_app.command()
def search(
    visits: Annotated[int, typer.Option("--visits", min=1, max=1_000_000, help="Visits of each tree.")] = 800,
    repeats: Repeats = 5,
    as_json: Json = False,
) -> None:
    """Measure the search with evaluators that cost almost nothing: trees on one core, games on one core and on two.

    Example: selfmate bench search --repeats 3
    """
    from selfmate.bench import search as bench

    _measure("search", as_json, lambda tell: bench.search(visits=visits, repeats=repeats, tell=tell))


@bench_app.command()
def collisions(as_json: Json = False) -> None:
    """Measure how full the batches of one tree are and how many playouts collide, beside published figures.

    Example: selfmate bench collisions
    """
    from selfmate.bench import search as bench

    _measure("collisions", as_json, lambda tell: bench.collisions(tell=tell))


@bench_app.command()
def tactics(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="File of lines `FEN; moves; N`.", show_default=False)],
    player: Annotated[str, typer.Option("--player", help="The player, as for `selfmate arena`.")] = "heuristic-1",
    visits: Annotated[int, typer.Option("--visits", min=1, max=100_000_000, help="Visits for each position.")] = 2000,
    variant: Annotated[
        str | None,
        typer.Option("--variant", help="Variant (default: the beginning of the file's name, as in atomic_mate2.epd)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Count the forced wins that a player finds; the last line is `N solved of M`.

    Example: selfmate bench tactics tests/tactics/atomic_mate2.epd --visits 2000
    """
    from selfmate.bench import tactics as bench
    from selfmate.search.player import Player

    solver = Player(player)
    _measure(
        path.name,
        as_json,
        lambda tell: bench.tactics(path, variant=variant, player=solver, visits=visits, tell=tell),
    )


@bench_app.command()
def nn(
    net: Net = None,
    variant: Annotated[str, typer.Option("--variant", help="Variant of the untrained net.")] = "gardner",
    size: Annotated[str, typer.Option("--size", help="Size of the untrained net: tiny, small, medium.")] = "tiny",
    device: Annotated[str, typer.Option("--device", help="Where the net computes: cpu or cuda.")] = "cpu",
    backends: Backends = None,
    repeats: Repeats = 3,
    as_json: Json = False,
) -> None:
    """Measure evaluations per second of a net, by backend and batch.

    Example: selfmate bench nn --variant atomic --size small
    """
    from selfmate.bench import nn as bench
    from selfmate.search.spec import find_net

    found = find_net(net) if net else None
    _measure(
        "nn",
        as_json,
        lambda tell: bench.nn(
            net=found, variant=variant, size=size, device=device, backends=backends, repeats=repeats, tell=tell
        ),
    )


@bench_app.command()
def agreement(
    net: Annotated[
        str, typer.Argument(metavar="NET", help="A net's folder or .onnx file, or a run.", show_default=False)
    ],
    backends: Backends = None,
    visits: Annotated[int, typer.Option("--visits", min=1, max=1_000_000, help="Visits of each search.")] = 200,
    positions: Annotated[int, typer.Option("--positions", min=1, max=10_000, help="Number of positions.")] = 400,
    as_json: Json = False,
) -> None:
    """Compare backends (winograd, bf16, int8) with f32: values, policies, and how often the search plays the same move.

    Example: selfmate bench agreement runs/atomic --backend openvino-int8
    """
    from selfmate.bench import agreement as bench
    from selfmate.search.spec import find_net

    found = find_net(net)
    _measure(
        "agreement",
        as_json,
        lambda tell: bench.agreement(found, backends=backends, visits=visits, count=positions, tell=tell),
    )


@bench_app.command()
def selfplay(
    recipe: Annotated[str, typer.Argument(help="A recipe, as for `selfmate train`.")] = "gardner-laptop",
    net: Net = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, max=3600, help="Seconds of the measurement.")] = 10.0,
    warmup: Annotated[float, typer.Option("--warmup", min=0, max=3600, help="Seconds of warm-up, not measured.")] = 0.0,
    device: Annotated[str, typer.Option("--device", help="Where the net computes: cpu or cuda.")] = "cpu",
    compiled: Annotated[bool, typer.Option("--compile", help="Compile the net for a GPU (takes a minute).")] = False,
    cache: Annotated[
        bool, typer.Option(help="Evaluate a position that recurs in a game's search, or in its next one, only once.")
    ] = True,
    lanes: Annotated[
        int | None, typer.Option("--lanes", min=1, max=64, help="Batches in flight, each with a thread of its own.")
    ] = None,
    settings: Settings = None,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", help="Write a trace of one second: a picture (.svg) or a Chrome trace (.json)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure self-play beside the evaluator alone: games and playouts per second, how full batches are, time by stage.

    Example: selfmate bench selfplay gardner-laptop --seconds 20
    """
    from selfmate.bench import selfplay as bench
    from selfmate.search.spec import find_net

    found = find_net(net) if net else None
    _measure(
        "selfplay",
        as_json,
        lambda tell: bench.selfplay(
            recipe=recipe,
            net=found,
            seconds=seconds,
            warmup=warmup,
            device=device,
            lanes=lanes,
            compile=compiled,
            cache=cache,
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
    visits: Annotated[int, typer.Option("--visits", min=1, max=1_000_000, help="Visits per move.")] = 32,
    max_plies: Annotated[int, typer.Option("--max-plies", min=1, max=10_000, help="Longest game in plies.")] = 200,
    device: Annotated[str, typer.Option("--device", help="Where the net computes: cpu or cuda.")] = "cpu",
    compiled: Annotated[
        bool, typer.Option("--compile", help="Compile untrained nets for a GPU (takes a minute).")
    ] = False,
    slots: Annotated[int | None, typer.Option("--slots", min=1, max=1_000_000, help="Games played at once.")] = None,
    lanes: Annotated[
        int | None, typer.Option("--lanes", min=1, max=64, help="Batches in flight, each with a thread of its own.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure a match of net against net beside the evaluators alone: evaluations per second, games per hour.

    Example: selfmate bench arena gardner-laptop runs/gardner-laptop --games 1000 --visits 64
    """
    from selfmate.bench import arena as bench

    _measure(
        "arena",
        as_json,
        lambda tell: bench.arena(
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
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, max=3600, help="Seconds of the measurement.")] = 10.0,
    device: Annotated[str, typer.Option("--device", help="Where the net computes: cpu or cuda.")] = "cpu",
    compiled: Annotated[bool, typer.Option("--compile", help="Compile the net for a GPU (takes a minute).")] = False,
    settings: Settings = None,
    as_json: Json = False,
) -> None:
    """Measure the learner beside a plain training loop over one batch that is already on the device.

    Example: selfmate bench train gardner-laptop --set learner.batch=256
    """
    from selfmate.bench import train as bench

    _measure(
        "train",
        as_json,
        lambda tell: bench.train_speed(
            recipe=recipe, seconds=seconds, device=device, compile=compiled, overrides=settings or (), tell=tell
        ),
    )
