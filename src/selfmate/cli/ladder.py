"""`selfmate ladder`: rates a player on a ladder, calibrates a ladder, or builds its engine."""

from __future__ import annotations

import functools
import json
import shlex
import sys
from dataclasses import replace

import msgspec
from rich.console import Console

from selfmate.cli.common import INTERRUPTED, check_device, match_games, notice, progress_bar
from selfmate.errors import SelfmateError
from selfmate.ladder import ladder, plot
from selfmate.ladder.calibration import write_calibration
from selfmate.ladder.options import LadderOptions
from selfmate.ladder.reference_engines import build_fairy
from selfmate.ladder.report import show, show_calibration
from selfmate.match.options import check_even
from selfmate.util.files import check_target

__all__ = ["run"]


def run(options: LadderOptions) -> int:
    """Do what the options ask for; return the exit code: 0, or 130 when interrupted."""
    if [options.net is not None, options.measure is not None, options.build_engine].count(True) != 1:
        raise SelfmateError("give NET, or --measure VARIANT, or --build-engine: one of them")
    if options.build_engine:
        print(build_fairy())
        return 0
    _check(options)
    stopped = _rate(options) if options.measure is None else _measure(options)
    if not stopped:
        return 0
    if options.pgn is not None and not options.as_json:
        print(f"Run the same command again to resume {options.pgn}.")
    return INTERRUPTED


def _check(options: LadderOptions) -> None:
    """Raise `SelfmateError` for options that contradict each other and files that cannot be written."""
    check_even(options.games)
    check_device(options.device)
    if options.engine is not None and options.without_engine:
        raise SelfmateError("--engine and --without-engine cannot be combined")
    if options.measure is not None:
        unused = (options.variant, options.visits, options.movetime, options.plot)
        if options.spacing is None or any(each is not None for each in unused):
            raise SelfmateError("--measure VARIANT needs --spacing FILE to write to, and no variant, limit or plot")
    for path in (options.pgn, options.spacing):
        check_target(path)
    if options.plot is not None:
        plot.check_picture(options.plot)


def _rate(options: LadderOptions) -> bool:
    """Rate a player; return whether it was interrupted."""
    report = ladder.rate(_opened_here(options), progress_bar, notice, where=_where(options))
    if options.plot is not None:
        plot.write_picture(options.plot, plot.draw(report))
    if options.as_json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        show(report, Console())
    return report.stopped


def _opened_here(options: LadderOptions) -> LadderOptions:
    """Return the options with which players are opened here: on a cluster, only to be checked."""
    return options if options.ray is None else replace(options, device="cpu")


def _where(options: LadderOptions) -> ladder.Where:
    return functools.partial(match_games, options.ray, options.device)


def _measure(options: LadderOptions) -> bool:
    """Calibrate a ladder; return whether it was interrupted."""
    assert options.spacing is not None
    command = shlex.join(["selfmate", *sys.argv[1:]])
    calibration, stopped = ladder.measure(_opened_here(options), command, progress_bar, notice, where=_where(options))
    write_calibration(options.spacing, calibration)
    if options.as_json:
        print(json.dumps(msgspec.to_builtins(calibration), indent=2))
    else:
        show_calibration(calibration, Console())
    return stopped
