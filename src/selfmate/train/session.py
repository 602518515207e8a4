"""A training session: `selfmate train` from its arguments to its last line."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from msgspec import Struct

from selfmate.errors import clip
from selfmate.rating.match_stats import Match
from selfmate.recipe.reader import change, load
from selfmate.recipe.reader import smoke as smoke_recipe
from selfmate.recipe.schedule import at
from selfmate.rundir.directory import Run
from selfmate.rundir.format import RunError, read_state
from selfmate.search.driver import one_thread
from selfmate.train.console_log import CONSOLE_LOG, LoggedView
from selfmate.train.dashboard import View, make_view
from selfmate.train.engines import check_engines
from selfmate.train.game_source import MakeGames, local_games
from selfmate.train.gate import ANCHOR, UNTRAINED
from selfmate.train.learner_processes import check_learners, learner_processes
from selfmate.train.loop import Trainer
from selfmate.train.memory import check_memory
from selfmate.train.starts import describe_starts, read_starts
from selfmate.train.status import TrainingStatus
from selfmate.train.warm_start import find_parent, inherit
from selfmate.train.watchdog import Watchdog
from selfmate.util.signals import Stop, stop_on_signals
from selfmate.util.text import many

__all__ = ["Summary", "command_line", "find_device", "program_name", "shared_processor", "train"]

DEVICES: Final = ("auto", "cpu", "cuda")

WATCHDOG_MINUTES: Final = 30.0
"""Compiling a net on a GPU takes some minutes, in which its lane tells nothing."""

SWITCH_SECONDS: Final = 0.0002
"""Python's switch interval while training; see `shared_processor`."""


class Summary(Struct, frozen=True, kw_only=True):
    """How a call of `train` ended: `complete`, `time` (its minutes are over) or `stopped` (by `signal`)."""

    reason: str
    signal: int | None = None
    directory: str
    cycle: int
    games: int
    scores: dict[str, Match]


def train(
    recipe: str | Path,
    run: str | Path | None = None,
    minutes: float | None = None,
    overrides: Sequence[str] = (),
    smoke: bool = False,
    seed: int | None = None,
    device: str = "auto",
    source: str | Path | None = None,
    learn_only: bool = False,
    watchdog: float = WATCHDOG_MINUTES,
    make_games: MakeGames = local_games,
    ray: str | None = None,
    learners: int = 1,
    is_part: bool = False,
) -> Summary:
    """Train by a recipe until the run is complete, `minutes` have passed or a stop was requested.

    The same call resumes the run. Its directory is `run`, by default `runs/NAME`. `overrides` are `section.key=value`.
    `device` is `auto` (a GPU where torch sees one), `cpu` or `cuda`. `source` is the directory of another run whose
    games, and weights as far as they fit, a new run begins with; it is not given again to resume. With `learn_only` the
    session plays no games of self-play: its cycles learn from the games that there are. A lane or the learner that has
    stood still for `watchdog` minutes (0: any time) ends the session. `make_games` makes the source of the games; one
    that plays on a cluster of Ray gives the `ray` address, for the command that resumes. So many `learners` share every
    batch, each on a GPU or core of its own. A session that is a part of a test or a study (`is_part`) does not say how
    to resume it: the command of the whole does.
    """
    began = time.monotonic()
    # 1. Check the arguments before anything is written
    name = Path(recipe).stem if str(recipe).endswith(".toml") else str(recipe)
    wanted = smoke_recipe(load(recipe)) if smoke else load(recipe)
    changed = change(wanted, overrides)
    changed.net_config()  # raises for a net that cannot be
    for check in (check_memory, check_engines):
        check(changed)
    directory = Path(run) if run is not None else Path("runs") / name
    given = None if source is None else Path(source)
    parent = None if given is None else find_parent(given, directory, changed)
    if learn_only and parent is None and not (directory.is_dir() and read_state(directory).shards):
        raise RunError(f"{directory}: --learn-only needs games, and there are none yet", str(directory))
    begins = not (directory / "manifest.json").exists()  # a run keeps the start positions that it was begun with
    starts = read_starts(changed) if begins else None
    line = command_line(recipe, directory, minutes, overrides, smoke, seed, device, ray, learners, learn_only, watchdog)
    device = find_device(device)
    check_learners(learners, device, changed.learner)
    # 2. Lock the directory, then train
    fens = () if starts is None else starts.fens
    with Run.open(
        directory, wanted, name=name, seed=seed, settings=overrides, smoke=smoke, parent=parent, starts=fens
    ) as opened:
        check_memory(opened.recipe)  # with what --set changed in earlier sessions, maybe on another machine
        check_learners(learners, device, opened.recipe.learner)
        if given is not None:
            inherit(opened, given)
        elif opened.manifest.parent is not None and not opened.state.shards and opened.state.learner is None:
            missing = opened.manifest.parent.name
            raise RunError(f"{directory}: the games of run {missing!r} are not copied yet; give --from again")
        status = _new_status(opened, name, None if minutes is None else began + 60 * minutes)
        stop = Stop()
        with make_view(status) as shown, LoggedView(shown, status, directory / CONSOLE_LOG) as view:
            guard = Watchdog(60 * watchdog, stop, say=view.say, write=view.write, close=view.close)
            # The last lines are printed outside: by then the acknowledgement of a signal has been printed.
            with stop_on_signals(stop, view.say, view.close), shared_processor(), guard:
                _say_where(opened, view)
                if starts is not None:
                    view.say(describe_starts(opened.recipe.selfplay, starts))
                options: dict[str, Any] = {"source": given, "learn_only": learn_only, "make_games": make_games}
                with learner_processes(learners, device) as options["group"]:
                    trainer = Trainer(opened, stop, status, view, device=device, watchdog=guard, **options)
                    scores = _train(trainer)
            return _summarise(trainer, scores, None if is_part else line)


def _new_status(run: Run, recipe: str, deadline: float | None) -> TrainingStatus:
    return TrainingStatus(
        variant=run.recipe.variant.name,
        recipe=recipe,
        directory=str(run.directory),
        earlier_seconds=run.state.seconds,
        deadline=deadline,
    )


def _train(trainer: Trainer) -> dict[str, Match]:
    """Train until the session ends; return the scores of the final matches, none when a stop was requested."""
    try:
        trainer.begin()
        while trainer.run.state.cycle < trainer.run.recipe.selfplay.cycles and not trainer.stop():
            if trainer.run_cycle():
                trainer.view.cycle_done()
        trainer.save_in_flight()
        scores = trainer.final()
    finally:
        trainer.selfplay.close()
        trainer.lessons.close()
    trainer.log.close()
    return scores


def _summarise(trainer: Trainer, scores: dict[str, Match], command: str | None) -> Summary:
    """Print the final scores, and with a command how to play the net and how to resume, as the last lines."""
    run, stop, view = trainer.run, trainer.stop, trainer.view
    cycles = run.recipe.selfplay.cycles
    is_complete = run.state.cycle >= cycles
    view.close()  # before the last lines, so that nothing is drawn below them
    if stop.asked:
        view.say("Stopped; everything up to here is saved.")
    elif scores:
        view.say(_describe_final(run, scores))
    elif is_complete:
        view.say(f"The run is complete: {many(cycles, 'cycle')}.")
    else:
        view.say("The time is over; everything up to here is saved.")
    if not scores and not stop.asked and at(run.recipe.gate.final_games, run.state.cycle):
        view.say("No final matches: too little time was left for them.")
    if command is not None:
        program = shlex.quote(program_name())
        if not scores and not any(each.step for each in run.state.checkpoints if each.cycle == run.state.champion):
            view.say("The champion is still the untrained net.")
        view.say(f"Play it: {program} {shlex.join(['play', str(run.directory)])}")
        command = f"{program} {command}"
        resume = f"Run the same command again to resume:\n{command}"
        view.say(f"Train on: {command} --set selfplay.cycles={2 * cycles}" if is_complete else resume)
    return Summary(
        reason="stopped" if stop.asked else "complete" if is_complete else "time",
        signal=stop.signal if stop.asked else None,
        directory=str(run.directory),
        cycle=run.state.cycle,
        games=run.state.games,
        scores=scores,
    )


def _say_where(run: Run, view: View) -> None:
    """Print where a resumed run stands, and what --set has changed in it."""
    if run.state.learner is None:
        return
    cycle, cycles = run.state.cycle, run.recipe.selfplay.cycles
    if cycle >= cycles:
        view.say(f"{run.directory} is complete: {cycle} of {many(cycles, 'cycle')}.")
    else:
        view.say(f"Resuming {run.directory} at cycle {cycle}.")
    for appendix in run.manifest.appendices:
        view.say(f"Changed at cycle {appendix.cycle}: {', '.join(appendix.settings)}.")


def _describe_final(run: Run, scores: dict[str, Match]) -> str:
    """Return the results of the final matches in one line."""
    state = run.state
    games, visits = scores[ANCHOR].games, at(run.recipe.gate.final_visits, state.cycle)
    player = f"Champion of cycle {state.champion}"
    if state.checkpoint(state.champion).step == 0:
        player = "The champion is still the untrained net"
    results = [f"{scores[ANCHOR]} against {ANCHOR}"]
    if UNTRAINED in scores:
        results.insert(0, f"{scores[UNTRAINED]} against the untrained net")
    each = " each" if len(results) > 1 else ""
    conditions = f"{many(games, 'game')}{each}, {many(visits, 'visit')}, paired openings"
    return f"{player}: {', '.join(results)} ({conditions})."


def command_line(
    recipe: str | Path,
    directory: Path,
    minutes: float | None = None,
    overrides: Sequence[str] = (),
    smoke: bool = False,
    seed: int | None = None,
    device: str = "auto",
    ray: str | None = None,
    learners: int = 1,
    learn_only: bool = False,
    watchdog: float = WATCHDOG_MINUTES,
) -> str:
    """Return the command that resumes a run as it was called, quoted for a shell, without the name of the program.

    >>> command_line("gardner-laptop", Path("runs/my run"), 10, ["learner.window=[[0, 400]]"])
    "train gardner-laptop --run 'runs/my run' --minutes 10 --set 'learner.window=[[0, 400]]'"
    >>> command_line("atomic", Path("runs/atomic"), None, (), learn_only=True, watchdog=0)
    'train atomic --run runs/atomic --watchdog 0 --learn-only'
    """
    words = ["train", str(recipe), "--run", str(directory)]
    words += [] if minutes is None else ["--minutes", f"{minutes:g}"]
    for setting in overrides:
        words += ["--set", setting]
    words += [] if seed is None else ["--seed", str(seed)]
    words += [] if device == "auto" else ["--device", device]
    words += [] if ray is None else ["--ray", ray]
    words += [] if learners == 1 else ["--learners", str(learners)]
    words += [] if watchdog == WATCHDOG_MINUTES else ["--watchdog", f"{watchdog:g}"]
    words += ["--learn-only"] * learn_only
    return shlex.join(words + ["--smoke"] * smoke)


def program_name() -> str:
    """Return what to type for this program: its path where its environment is not the active one."""
    script = Path(sys.prefix, "bin", "selfmate")
    if sys.prefix == sys.base_prefix or os.environ.get("VIRTUAL_ENV") == sys.prefix or not script.exists():
        return "selfmate"
    return str(script.relative_to(Path.cwd()) if script.is_relative_to(Path.cwd()) else script)


def find_device(wanted: str) -> str:
    """Return the device to train on, `cpu` or `cuda`; `auto` is a GPU where torch sees one.

    >>> find_device("gpu")
    Traceback (most recent call last):
    ...
    selfmate.rundir.format.RunError: unknown device 'gpu'; valid devices: auto, cpu, cuda
    """
    if wanted not in DEVICES:
        raise RunError(f"unknown device {clip(wanted)!r}; valid devices: {', '.join(DEVICES)}", wanted)
    if wanted == "cpu":
        return "cpu"
    with warnings.catch_warnings(record=True) as caught:  # of a driver that is too old, for example
        warnings.simplefilter("always")
        seen = torch.cuda.is_available()
    if seen or wanted == "auto":
        return "cuda" if seen else "cpu"
    why = f" ({' '.join(str(caught[0].message).split())})" if caught else ""
    raise RunError(f"torch sees no GPU{why}; --device cpu trains without one", wanted)


@contextlib.contextmanager
def shared_processor() -> Iterator[None]:
    """Keep torch to one thread, and let Python switch threads often.

    A lane of self-play takes the GIL several times per batch, and a learner that compiles its net holds it as long as
    it may: with Python's default interval of five milliseconds the GPU was idle for twenty seconds.
    """
    threads, interval = torch.get_num_threads(), sys.getswitchinterval()
    one_thread()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        sys.setswitchinterval(interval)
