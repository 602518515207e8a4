"""`selfmate arena`: a match between players, nets batched and engines as processes, with paired openings."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from selfmate.cli.common import INTERRUPTED, check_device, match_games, notice, progress_bar
from selfmate.errors import SelfmateError
from selfmate.match.match_file import MatchFile
from selfmate.match.options import MatchOptions
from selfmate.match.plan import make_plan
from selfmate.match.report import CSV_HEADINGS, MatchReport, as_csv, progress_notes, show
from selfmate.match.spec import other_engines
from selfmate.match.tournament import play
from selfmate.util.files import check_target, write_output
from selfmate.util.signals import Interrupt
from selfmate.util.terminal import say
from selfmate.util.text import many

__all__ = ["run"]


def run(options: MatchOptions) -> int:
    """Play a match and print its report; return the exit code: 0 complete, 1 not complete, 130 interrupted."""
    pgn, csv = options.pgn, options.csv
    # 1. Check everything before the first game.
    check_device(options.device)
    for path in (pgn, csv):
        check_target(path)
    if csv is not None:
        _check_csv(csv, pgn, force=options.force)
    # On a cluster the nets are opened here only to be checked.
    plan, players = make_plan(options if options.ray is None else replace(options, device="cpu"), notice)
    different = len(set(plan.openings))
    if different < len(plan.openings):
        notice(f"only {many(different, 'different opening')}; the others repeat {'it' if different == 1 else 'them'}")
    with contextlib.ExitStack() as stack:
        played = stack.enter_context(match_games(options.ray, options.device, other_engines(plan.contestants)))
        file = None if pgn is None else stack.enter_context(MatchFile(pgn, plan.settings, restart=options.force))
        # 2. Play.
        with Interrupt() as interrupt, progress_bar() as bar:
            task = bar.add_task("arena", total=None, note="")

            def tell(report: MatchReport) -> None:
                bar.update(task, completed=len(report.entries), total=report.games, note=progress_notes(report))

            report = play(
                plan,
                players,
                file,
                play_pool=played.play_pool,
                play_engines=played.play_engines,
                stopping=interrupt,
                tell=tell,
            )
    # 3. Report.
    if csv is not None:
        write_output(csv, as_csv(report).encode())
    if options.as_json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        console = Console()
        show(report, console, pgn)
        if interrupt() and pgn is not None:
            say(console, f"Run the same command again to resume {pgn}.")
    if interrupt() and not report.complete:
        return INTERRUPTED
    return 0 if report.complete else 1


def _check_csv(path: Path, pgn: Path | None, *, force: bool) -> None:
    """Raise `SelfmateError` if the file would replace anything but the table of a match that is resumed."""
    if pgn is not None and path.resolve() == pgn.resolve():
        raise SelfmateError(f"--pgn and --csv name the same file, {path}", str(path))
    if force or not path.is_file() or not path.stat().st_size:
        return
    heading = ",".join(CSV_HEADINGS).encode()
    with path.open("rb") as file:
        is_table = file.read(len(heading)) == heading
    if not is_table or pgn is None or not pgn.is_file():
        what = "already exists" if is_table else "already exists and is not a table of games"
        raise SelfmateError(f"{path}: {what}; --force replaces it", str(path))
