"""`selfmate starts`: a file of puzzles from games, for `selfplay.starts` of a recipe."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfmate.cli.complete import complete_variant
from selfmate.errors import PgnError, SelfmateError

if TYPE_CHECKING:
    from selfmate.match.puzzle_maker import SourceGame

__all__ = ["starts"]


def starts(
    source: Annotated[Path, typer.Argument(metavar="RUN|PGN", help="A run's directory or a PGN file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The CSV file to write.")],
    count: Annotated[
        int | None, typer.Option("--count", min=2, max=500_000, help="Most puzzles (default: all).")
    ] = None,
    games: Annotated[
        int, typer.Option("--games", min=1, max=1_000_000, help="Games to look at, the newest ones.")
    ] = 1000,
    visits: Annotated[int, typer.Option("--visits", min=2, max=100_000, help="Visits of a search.")] = 200,
    even: Annotated[bool, typer.Option("--even", help="As many puzzles for White as for Black.")] = False,
    variant: Annotated[
        str, typer.Option("--variant", help="Variant of PGN games without the tag.", autocompletion=complete_variant)
    ] = "chess",
) -> None:
    """Write puzzles from games of a run or a PGN file as a CSV in Lichess's format.

    A puzzle is a position after a mistake that a search by heuristic-1 finds won for the side to move. A recipe takes
    the file as `selfplay.starts`, and begins a share of its games there.

    Example: selfmate starts runs/atomic-laptop -o puzzles.csv --even
    """
    from selfmate.board.puzzles import write_puzzles
    from selfmate.cli.common import progress_bar
    from selfmate.match.puzzle_maker import balanced, make_puzzles
    from selfmate.util.files import check_apart, check_target, write_output
    from selfmate.util.text import many, percent

    check_target(output)
    check_apart(output, source, "--output")
    chosen = _games_of_run(source, games) if source.is_dir() else _games_of_pgn(source, variant, games)
    with progress_bar() as bar:
        task = bar.add_task("starts", total=None, note="")

        def tell(read: int, puzzles: int) -> None:
            bar.update(task, completed=read, note=f"{many(read, 'game')}, {many(puzzles, 'puzzle')}")

        found = make_puzzles(chosen, visits=visits, tell=tell)
    kept = balanced(found, count) if even else found[:count]
    if not kept:
        raise SelfmateError(f"{source}: no puzzle in its games", str(source))
    write_output(output, write_puzzles(kept).encode())
    white = sum(each.fen.split()[1] == "b" for each in kept)  # the side that solves moves after the mistake
    print(f"{output}: {many(len(kept), 'puzzle')}, {percent(white / len(kept))} with White to move.")


def _games_of_run(source: Path, count: int) -> Iterator[SourceGame]:
    from selfmate.match.puzzle_maker import SourceGame
    from selfmate.rundir.reader import RunReader

    run = RunReader.open(source)
    for record in run.games(newest=count):
        yield SourceGame(run.variant, record.start_fen, record.moves, f"{source.name}/{record.game_id}")


def _games_of_pgn(source: Path, variant: str, count: int) -> Iterator[SourceGame]:
    from selfmate.board.pgn import read_and_report
    from selfmate.match.puzzle_maker import SourceGame

    if not source.is_file():
        raise SelfmateError(f"{source}: neither a run nor a PGN file", str(source))
    first = ""
    try:
        for number, game in enumerate(islice(read_and_report(source, str(source), variant=variant), count), start=1):
            first = first or game.variant
            if game.variant != first:
                raise SelfmateError(f"{source}: game {number} is {game.variant}, not {first}", game.variant)
            moves = [node.move for node in game.mainline()]
            yield SourceGame(first, game.position().fen(), moves, f"{source.name}/{number}")
        if not first:
            raise SelfmateError(f"{source}: no game", str(source))
    except PgnError as error:
        raise SelfmateError(f"{source}: {error}", error.part) from error
