"""The commands `selfmate bench …`. Heavy imports stand inside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfmate.cli.common import Json, Settings, Threads, progress_bar

if TYPE_CHECKING:
    from selfmate.bench.movegen import Tell
    from selfmate.bench.report import BenchReport

__all__ = ["bench_app"]


Net = Annotated[str | None, typer.Option("--net", help="A net's folder or .onnx file, or a run (default: untrained).")]


bench_app = typer.Typer(
    help="Measure, beside other engines where they are installed.\n\nExample: selfmate bench movegen --json"
)


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

        print(f"{_core.signature()}\nselfplay {_core.selfplay_signature()}")
    elif context.invoked_subcommand is None:
        from selfmate.bench.movegen import total

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

    from selfmate.bench import movegen as bench
    from selfmate.util.cpu import available_threads

    with progress_bar() as progress:
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


Repeats = Annotated[int, typer.Option("--repeats", min=1, max=100, help="Best of so many runs of each.")]


def _measure(name: str, as_json: bool, measure: Callable[[Tell], BenchReport]) -> None:
    """Run a measurement under a progress bar and print what it found."""
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
    visits: Annotated[int, typer.Option("--visits", min=1, max=1_000_000, help="Visits of a tree.")] = 800,
    repeats: Repeats = 5,
    as_json: Json = False,
) -> None:
    """Measure the search with evaluators of no cost: single trees on one core, many games on one and two.

    Example: selfmate bench search --repeats 3
    """
    from selfmate.bench import search as bench_search

    _measure("search", as_json, lambda tell: bench_search.search(visits=visits, repeats=repeats, tell=tell))


@bench_app.command()
def collisions(as_json: Json = False) -> None:
    """Measure how full the batches of one tree are and how many playouts they waste, beside an older engine.

    Example: selfmate bench collisions
    """
    from selfmate.bench import search as bench_search

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
    from selfmate.bench import search as bench_search
    from selfmate.search.player import Player

    solver = Player(player)
    _measure(
        path.name,
        as_json,
        lambda tell: bench_search.tactics(path, variant=variant, player=solver, visits=visits, tell=tell),
    )


@bench_app.command()
def nn(
    net: Net = None,
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
    from selfmate.bench import search as bench_search
    from selfmate.search.spec import find_net

    found = find_net(net) if net else None
    _measure(
        "nn",
        as_json,
        lambda tell: bench_search.nn(
            net=found, variant=variant, size=size, device=device, backends=backends, repeats=repeats, tell=tell
        ),
    )


@bench_app.command()
def agreement(
    net: Annotated[
        str, typer.Argument(metavar="NET", help="A net's folder or .onnx file, or a run.", show_default=False)
    ],
    backends: Annotated[
        list[str] | None, typer.Option("--backend", help="Only this one; repeatable (default: all that are there).")
    ] = None,
    visits: Annotated[int, typer.Option("--visits", min=1, max=1_000_000, help="Visits of a search.")] = 200,
    positions: Annotated[int, typer.Option("--positions", min=1, max=10_000, help="How many positions.")] = 400,
    as_json: Json = False,
) -> None:
    """Compare backends (winograd, bf16, int8) with f32: values, policies, and how often the search plays the same move.

    Example: selfmate bench agreement runs/atomic --backend openvino-int8
    """
    from selfmate.bench import agreement as measured
    from selfmate.search.spec import find_net

    found = find_net(net)
    _measure(
        "agreement",
        as_json,
        lambda tell: measured.agreement(found, backends=backends, visits=visits, count=positions, tell=tell),
    )


@bench_app.command()
def selfplay(
    recipe: Annotated[str, typer.Argument(help="A recipe, as for `selfmate train`.")] = "gardner-laptop",
    net: Net = None,
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
    from selfmate.bench import selfplay as bench_selfplay
    from selfmate.search.spec import find_net

    found = find_net(net) if net else None
    _measure(
        "selfplay",
        as_json,
        lambda tell: bench_selfplay.selfplay(
            recipe=recipe,
            net=found,
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
    from selfmate.bench import arena as measured

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
    from selfmate.bench import selfplay as bench_selfplay

    _measure(
        "train",
        as_json,
        lambda tell: bench_selfplay.train_speed(
            recipe=recipe, seconds=seconds, device=device, compile=compiled, overrides=settings or (), tell=tell
        ),
    )
