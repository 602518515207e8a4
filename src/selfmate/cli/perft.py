"""`selfmate perft`: counts of positions, and files of known counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfmate.cli.common import Threads, Variant, notice, progress_bar
from selfmate.errors import EpdError, SelfmateError
from selfmate.util.text import many

if TYPE_CHECKING:
    from selfmate.board.epd import PerftLine
    from selfmate.board.perft import PerftResult

__all__ = ["perft"]

MAX_SUITE_BYTES = 64 << 20


def perft(
    variant: Variant,
    depth: Annotated[
        int | None, typer.Argument(min=0, max=100, help="Plies to look ahead.", show_default=False)
    ] = None,
    fen: Annotated[str | None, typer.Option("--fen", help="Position (default: the start position).")] = None,
    divide: Annotated[bool, typer.Option("--divide", help="Print a line for each move.")] = False,
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
            raise SelfmateError("--suite cannot be combined with DEPTH, --fen or --divide")
        try:
            _perft_suite(variant, suite, max_nodes, workers)
        except EpdError as error:
            raise SelfmateError(f"{suite}: {error}", error.part) from error
    elif depth is None:
        raise SelfmateError("give a DEPTH or a --suite")
    elif max_nodes is not None:
        raise SelfmateError("--max-nodes needs --suite")
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
