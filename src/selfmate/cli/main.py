"""The command `selfmate`. Heavy imports stand inside the commands, so that `--help` answers at once.

Bad input ends with exit code 2 and one line on standard error, a wrong perft count with 1, Ctrl-C with 130, and a
SIGTERM that was heard with 143: 128 and the number of the signal, as shells count.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from selfmate.cli.bench import bench_app
from selfmate.cli.common import INTERRUPTED, Json, Settings, Threads, Variant, flowing, notice, progress_bar
from selfmate.cli.matches import arena, ladder, progress, rate
from selfmate.errors import EpdError, SelfmateError
from selfmate.match.options import PLAYER_HELP
from selfmate.util.text import many

if TYPE_CHECKING:
    from selfmate.board.epd import PerftLine
    from selfmate.board.perft import PerftResult

__all__ = ["app", "main"]


BAD_INPUT = 2


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
    from selfmate.util.cpu import cores

    workers = threads or cores()
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
    from selfmate._core import Position
    from selfmate.board import perft

    position = Position(variant, fen)
    if depth == 0:  # the position itself is the only leaf
        print("Nodes searched: 1")
        return
    total = 0
    with progress_bar(hidden=divide) as progress:  # the lines of a divide are progress enough
        task = progress.add_task(f"perft {depth}", total=len(position.legal_moves), note="")
        for uci, nodes in perft.divide(position, depth, threads):
            total += nodes
            if divide:
                print(f"{uci}: {nodes}", flush=True)
            progress.update(task, advance=1, note=many(total, "node"))
    print(f"\nNodes searched: {total}" if divide else f"Nodes searched: {total}")


def _perft_suite(variant: str, path: Path, max_nodes: int | None, threads: int) -> None:
    """Check a file of counts: the last line says how many are wrong, the lines before it show the first that is."""
    from selfmate.board.epd import read_perft_suite
    from selfmate.board.perft import check_suite, deepest_depth

    if path.exists() and not (path.is_file() or path.is_fifo()):
        raise SelfmateError(f"{path} is not a file")
    if path.is_file() and path.stat().st_size > MAX_SUITE_BYTES:
        raise SelfmateError(f"{path} is larger than {MAX_SUITE_BYTES >> 20} MiB")
    lines = list(read_perft_suite(path))
    chosen = [line for line in lines if deepest_depth(line, max_nodes) is not None]
    if not chosen:
        within = f" lists a depth within {many(max_nodes, 'node')}" if lines and max_nodes is not None else ""
        raise SelfmateError(f"{path}: no position{within}")
    if len(chosen) < len(lines):
        deeper = len(lines) - len(chosen)
        notice(f"{many(deeper, 'position')} {'lists' if deeper == 1 else 'list'} no depth within the budget")
    results: list[PerftResult] = []
    with progress_bar() as progress:
        task = progress.add_task(path.name, total=sum(_budget(line, max_nodes) for line in chosen), note="")
        for result in check_suite(variant, chosen, max_nodes=max_nodes, threads=threads):
            results.append(result)
            progress.update(task, advance=_budget(result.line, max_nodes), note=f"{len(results)} of {len(chosen)}")
    wrong = [result for result in results if not result.is_right]
    if wrong:
        _explain(variant, path, wrong[0], threads)
    counted = sum(result.counted for result in results)
    print(f"{many(len(results), 'position')}, {counted} {'node' if counted == 1 else 'nodes'}, {len(wrong)} wrong")
    if wrong:
        raise typer.Exit(1)


def _budget(line: PerftLine, max_nodes: int | None) -> int:
    """Nodes that a line will count: its share of the progress bar."""
    return max(nodes for _, nodes in line.nodes if max_nodes is None or nodes <= max_nodes)


def _explain(variant: str, path: Path, result: PerftResult, threads: int) -> None:
    """Print a wrong line and its divide."""
    from selfmate._core import Position
    from selfmate.board import perft

    print(f"{path}:{result.line.number}: {result.line.text}")
    print(f"depth {result.depth}: expected {result.expected}, counted {result.counted}")
    for uci, nodes in perft.divide(Position(variant, result.line.fen, lenient=True), result.depth, threads):
        print(f"{uci}: {nodes}")


@app.command()
def train(
    recipe: Annotated[
        str, typer.Argument(help="gardner-laptop, atomic-laptop, atomic (one GPU), or a TOML file.", show_default=False)
    ],
    run: Annotated[Path | None, typer.Option("--run", help="The run's directory (default: runs/NAME).")] = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", min=0.01, max=1e6, help="Stop after this many minutes (default: when complete)."),
    ] = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, max=2**63, help="Random seed (default: 1).")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Shrink the recipe to seconds, as a test.")] = False,
    device: Annotated[str, typer.Option("--device", help="auto (a GPU where there is one), cpu or cuda.")] = "auto",
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Start a new run with the games of another run, and its weights that fit."),
    ] = None,
) -> None:
    """Train a net from nothing but the rules; run the same command again to resume.

    Ctrl-C or SIGTERM saves everything, prints the command that resumes, and exits with code 130 or 143; a second one
    exits at once. The exit code is 0 when the run is complete or its minutes are over. docs/reference/recipe.md lists
    the keys for --set.

    Example: selfmate train gardner-laptop --minutes 10

    Example: selfmate train gardner-laptop --run runs/mine --set selfplay.visits=64

    Example: selfmate train gardner-laptop --run runs/larger --from runs/mine --set net.blocks=6
    """
    try:
        from selfmate.train.session import train as train_run
    except ModuleNotFoundError as error:
        raise SelfmateError(f"{error.name} is not installed; run: pip install 'selfmate[train]'") from error
    summary = train_run(recipe, run, minutes, settings or (), smoke, seed, device, source)
    if summary.signal is not None:
        sys.exit(128 + summary.signal)  # the session has printed how to resume


for command in (arena, ladder, rate, progress):
    app.command()(command)


@app.command()
def pack(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that is not training.", show_default=False)],
    to: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder.", show_default=False)],
    mib: Annotated[float, typer.Option("--mib", min=1, help="Largest size of the copy in MiB.")] = 64,
) -> None:
    """Make a small copy of a run to resume elsewhere: weights, champion, and the newest games that fit.

    Example: selfmate pack runs/atomic small --mib 50

    Example: selfmate train atomic --run small --minutes 10
    """
    from selfmate.rundir.pack import pack as pack_run

    packed = pack_run(run, to, mib)
    print(
        f"{packed.directory}: {packed.bytes / (1 << 20):.1f} MiB, at cycle {packed.cycle}, "
        f"with {packed.games:,} of {packed.all_games:,} games."
    )


@app.command()
def play(
    player: Annotated[str, typer.Argument(metavar="PLAYER", help=f"Your opponent: {PLAYER_HELP}.")] = "heuristic-1",
    variant: Annotated[str | None, typer.Option("--variant", help="Variant (default: the net's, else chess).")] = None,
    color: Annotated[str, typer.Option("--color", help="Your colour: white, black or random.")] = "white",
    level: Annotated[
        int | None, typer.Option("--level", min=1, max=8, help="Strength, 1 (weak) to 8 (strong).")
    ] = None,
    visits: Annotated[int | None, typer.Option("--visits", min=1, max=10_000_000, help="Visits per move.")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", min=0.01, max=3600, help="Seconds per move.")] = None,
    fen: Annotated[str | None, typer.Option("--fen", help="Start position (default: that of the variant).")] = None,
    pgn: Annotated[Path | None, typer.Option("--pgn", help="Append the games to this PGN file.")] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, max=2**63, help="Random seed of the opponent."),
    ] = None,
) -> None:
    """Play against a net or any other player, in the terminal.

    Example: selfmate play runs/gardner-laptop --level 4

    Example: selfmate play --variant atomic --color black --visits 800 --pgn mine.pgn
    """
    import secrets

    from rich.console import Console

    from selfmate.app.play import LEVEL_VISITS, PlaySession
    from selfmate.board.position import Position, chess960_fen
    from selfmate.search.limit import Limit
    from selfmate.search.player import Player
    from selfmate.util.files import check_target

    check_target(pgn)
    if level is not None and (visits is not None or seconds is not None):
        raise SelfmateError("--level cannot be combined with --visits or --seconds")
    colors = {"white": True, "w": True, "black": False, "b": False, "random": bool(secrets.randbits(1))}
    if color.lower() not in colors:
        raise SelfmateError(f"--color: white, black or random, not {color!r}", color)
    if visits is None and seconds is None:
        visits = LEVEL_VISITS[(level or 6) - 1]
    opponent = Player(player)
    name = variant or opponent.variant or "chess"
    if fen is None and name.endswith("960"):
        fen = chess960_fen(secrets.randbelow(960))
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  # gives the prompt a history
    session = PlaySession(
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
    """Run the UCI engine, for chess GUIs, lichess-bot, fastchess or python-chess.

    `selfmate-uci` is the same, for programs that take no arguments. docs/uci.md lists the options.

    Example: selfmate uci
    """
    from selfmate.uci.server import main as run

    run()


@app.command()
def analyse(
    what: Annotated[
        str | None,
        typer.Argument(metavar="FEN|FILE", help="A FEN, or a file of EPD lines, FENs or PGN; - is standard input."),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            "--variant",
            help="Variant, where a game has no tag for it (default: the net's, else chess).",
        ),
    ] = None,
    net: Annotated[
        str | None,
        typer.Option("--net", help=f"The player: {PLAYER_HELP} (default: the shipped net, else heuristic-1)."),
    ] = None,
    visits: Annotated[
        int | None, typer.Option("--visits", min=1, max=100_000_000, help="Visits per position (default: 800).")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.01, max=86_400, help="Seconds per position.")
    ] = None,
    backend: Annotated[
        str, typer.Option("--backend", help="Backend of a net: auto, winograd, onnx, onnx-int8, openvino, …, torch.")
    ] = "auto",
    multipv: Annotated[int, typer.Option("--multipv", min=1, max=256, help="Moves to show.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each position.")] = False,
) -> None:
    """Analyse a position, the positions of an EPD file (`bm` and `am` are checked), or the moves of games.

    Example: selfmate analyse --variant gardner --multipv 3

    Example: selfmate analyse game.pgn --visits 2000 --json
    """
    from rich.console import Console

    from selfmate.app import analyse as analysis
    from selfmate.app.analysis_input import read_input
    from selfmate.board.position import Position
    from selfmate.search.limit import Limit

    players = analysis.VariantPlayers(net, backend)
    if variant is not None:
        Position(variant)  # raises for an unknown one
    given = read_input(what, players.variant(variant), asked=variant is not None)
    limit = Limit(visits=visits or (800 if seconds is None else None), seconds=seconds)
    analysis.run(given, players, limit, Console(highlight=False), multipv=multipv, as_json=as_json)


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

    from selfmate.board.position import Position
    from selfmate.nn import shipped

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

    from selfmate.cli import export as export_check

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

    from selfmate.app.demo import play_demo

    console = Console(highlight=False)
    pause = (0.4 if console.is_terminal else 0.0) if delay is None else delay
    play_demo(variant, secrets.randbelow(1_000_000) if seed is None else seed, console, delay=pause)


for each in (*app.registered_commands, *bench_app.registered_commands):
    each.help = flowing((each.callback and each.callback.__doc__) or "")
