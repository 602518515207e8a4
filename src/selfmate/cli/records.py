"""`selfmate records`: what a run has recorded, in files of other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from selfmate.errors import SelfmateError

if TYPE_CHECKING:
    from selfmate._core import GameRecord
    from selfmate.rundir.format import Shard
    from selfmate.rundir.reader import RunReader

__all__ = ["records"]


def records(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .csv, .pgn or .jsonl.")],
    stage: Annotated[
        str | None, typer.Option("--stage", help="Metrics of one stage alone: play, learn, gate, progress, …")
    ] = None,
    games: Annotated[
        int | None, typer.Option("--games", min=1, max=100_000_000, help="Newest games (default: all).")
    ] = None,
) -> None:
    """Write the metrics of a run as CSV, or its self-play games as PGN or as JSON lines.

    The ending of the file decides: .csv has a row for each line of metrics.jsonl, .pgn and .jsonl have the games. Those
    of the gates are in the run's directory, as PGN.

    Example: selfmate records runs/gardner-laptop -o gates.csv --stage gate
    """
    from selfmate.rundir.reader import RunReader
    from selfmate.util.files import check_apart, check_target, write_output

    kind = output.suffix.lower()
    if kind not in KINDS:
        raise SelfmateError(f"{output}: the name of the file must end in {' or '.join(KINDS)}", str(output))
    if stage is not None and kind != ".csv":
        raise SelfmateError(f"--stage chooses metrics, which {kind} does not have; write a .csv", stage)
    if games is not None and kind == ".csv":
        raise SelfmateError("--games chooses games, which .csv does not have; write a .pgn or a .jsonl", str(games))
    check_target(output)
    check_apart(output, run, "--output")
    text, count = KINDS[kind](RunReader.open(run), stage if kind == ".csv" else games)
    write_output(output, text.encode("utf-8"))
    print(f"{output}: {count}.")


def _csv(run: RunReader, stage: str | None) -> tuple[str, str]:
    """Return the metrics as a table, and how many lines they are."""
    from selfmate.util.text import many

    lines = run.metrics(stage)
    if not lines:
        stages = ", ".join(dict.fromkeys(line["stage"] for line in run.metrics()))
        reason = (
            "no metrics yet" if stage is None else f"no metrics of the stage {stage!r}; there are {stages or 'none'}"
        )
        raise SelfmateError(f"{run.directory}: {reason}", stage or "")
    names = dict.fromkeys(name for line in lines for name in line)
    text = io.StringIO()
    table = csv.DictWriter(text, list(names), lineterminator="\n")
    table.writeheader()
    table.writerows(lines)
    return text.getvalue(), many(len(lines), "line")


def _pgn(run: RunReader, games: int | None) -> tuple[str, str]:
    """Return self-play games as PGN, and how many there are."""
    from selfmate.match.record_pgn import as_game
    from selfmate.search.spec import net_name
    from selfmate.util.text import many

    found = []
    for shard, record in _games(run, games):
        player = net_name(run.directory, shard.net)
        found.append(str(as_game(record, player, player, f"self-play, cycle {shard.cycle}")))
    return "\n\n".join(found) + "\n", many(len(found), "game")


def _jsonl(run: RunReader, games: int | None) -> tuple[str, str]:
    """Return self-play games as a line of JSON each, and how many there are."""
    import json

    from selfmate.util.text import many

    found = []
    for shard, record in _games(run, games):
        line = {
            "game_id": record.game_id,
            "cycle": shard.cycle,
            "net": shard.net,
            "start_fen": record.start_fen,
            "moves": " ".join(move.uci() for move in record.moves),
            "plies": len(record.moves),
            "random_plies": record.random_plies,
            "result": record.result,
            "reason": record.reason,
            "positions": record.positions,
        }
        found.append(json.dumps(line) + "\n")
    return "".join(found), many(len(found), "game")


def _games(run: RunReader, newest: int | None) -> Iterator[tuple[Shard, GameRecord]]:
    """Yield the games with a file of games of their cycle; raise `SelfmateError` where there are none."""
    shards = run.state.shards
    if not shards:
        raise SelfmateError(f"{run.directory}: no games yet", str(run.directory))
    for record in run.games(newest=newest):
        yield next(shard for shard in shards if shard.first <= record.game_id <= shard.last), record


KINDS: Final[dict[str, Callable[..., tuple[str, str]]]] = {".csv": _csv, ".pgn": _pgn, ".jsonl": _jsonl}
"""Writers by the ending of the file."""
