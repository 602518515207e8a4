"""The loop: games, learning, a candidate, the gate, the next cycle.

    Pool → GameRecord → Buffer → Learner → Checkpoint → Gate → champion → Pool

A cycle makes games with the champion and, at the same time, learns from the games of the cycles before. Both depend
on nothing but the commit that the cycle began with, so they share the processor without waiting for each other, and
a run that was killed and resumed makes the same games and the same weights, bit for bit, as one that was not. A cycle
ends with two commits: one when its games and steps are done, one when its candidate has been judged.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import torch
from msgspec import Struct

from selfmate import _core
from selfmate._core import GameRecord
from selfmate.errors import clip
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.torch import TorchEvaluator
from selfmate.match.record_pgn import as_game
from selfmate.nn import checkpoint as weights
from selfmate.nn.config import NetConfig
from selfmate.nn.net import Net, rounded
from selfmate.rating.match_stats import Match
from selfmate.recipe.recipe import Recipe, at, change, load
from selfmate.recipe.recipe import smoke as smoke_recipe
from selfmate.rundir.directory import Run
from selfmate.rundir.format import Checkpoint, Parent, RunError
from selfmate.search.autotune import GPU_LANES
from selfmate.search.driver import drive, one_thread
from selfmate.train.dashboard import Progress, View, as_metrics, make_view, open_tensorboard
from selfmate.train.gate import ANCHOR, UNTRAINED, Matches
from selfmate.train.learner import Diverged, Learner, Losses
from selfmate.train.selfplay import AtOnce, choose_at_once, selfplay_pool
from selfmate.train.warm_start import find_parent, inherit, inherit_weights
from selfmate.train.window import Window
from selfmate.util.cpu import cores
from selfmate.util.random_streams import stream
from selfmate.util.signals import Stop, stop_on_signals
from selfmate.util.text import many

__all__ = ["Summary", "train"]


GAP: Final = 0.05
"""Held-out games whose results are predicted worse than learned ones by more than this are a sign of overfitting
(KataGomo's bound), and `GAP_CYCLES` cycles of it in a row an alarm."""


GAP_CYCLES: Final = 3


MAX_ROLLBACKS: Final = 5


SAMPLE_GAMES: Final = 2
"""Games of each cycle that are kept as PGN."""


FINAL_SHARE: Final = 0.2
"""The final matches get at most so much of a session's time, so that a slow start leaves enough for learning; what they
need beyond it they take."""


LOOK_SECONDS: Final = 0.25


SMALL_BATCHES: Final = 3 * 512
"""Leaves at once below which a net is not compiled."""


SWITCH_SECONDS: Final = 0.0002


AHEAD_GAMES: Final = 200_000
"""Games after a cycle that may begin in it, on a GPU: more than ever do."""


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
) -> Summary:
    """Train by a recipe until it is complete, `minutes` are over, or somebody says stop; then the same call resumes.

    The run's directory is `runs/NAME` unless `run` says another. `overrides` are `section.key=value`. The device is
    a GPU where torch sees one, unless it says `cpu` or `cuda`. A new run may begin with what another one has, its
    `source`: games, and the weights that fit. It is resumed without saying so again.
    """
    began = time.monotonic()
    # 1. Nothing starts before the recipe is right
    name = Path(recipe).stem if str(recipe).endswith(".toml") else str(recipe)
    wanted = load(recipe)
    if smoke:
        wanted = smoke_recipe(wanted)
    net_config(change(wanted, overrides))
    directory = Path(run) if run is not None else Path("runs") / name
    parent = None if source is None else find_parent(Path(source), directory, wanted)
    command = command_line(recipe, directory, minutes, overrides, smoke, seed, device, program_name())
    device = find_device(device)
    # 2. Take the directory, then work until something ends it
    with Run.open(directory, wanted, name=name, seed=seed, settings=overrides, smoke=smoke, parent=parent) as opened:
        if source is not None:
            inherit(opened, Path(source))
        elif opened.manifest.parent is not None and not opened.state.shards:
            raise RunError(
                f"{directory}: the games of {opened.manifest.parent.name} are not in it yet; say --from again"
            )
        progress = Progress(
            variant=wanted.variant.name,
            recipe=name,
            directory=str(directory),
            seconds=opened.state.seconds,
            deadline=None if minutes is None else began + 60 * minutes,
        )
        stop = Stop()
        with make_view(progress) as view, stop_on_signals(stop, view.say, view.close), _in_turn():
            return Trainer(
                opened, stop, progress, view, command, device, None if source is None else Path(source)
            ).work()


def command_line(
    recipe: str | Path,
    directory: Path,
    minutes: float | None = None,
    overrides: Sequence[str] = (),
    smoke: bool = False,
    seed: int | None = None,
    device: str = "auto",
    program: str = "selfmate",
) -> str:
    """Write the command that goes on with a run as it was called, for a shell.

    >>> command_line("gardner-laptop", Path("runs/my run"), 10, ["learner.window=[[0, 400]]"])
    "selfmate train gardner-laptop --run 'runs/my run' --minutes 10 --set 'learner.window=[[0, 400]]'"
    """
    words = [program, "train", str(recipe), "--run", str(directory)]
    words += [] if minutes is None else ["--minutes", f"{minutes:g}"]
    for setting in overrides:
        words += ["--set", setting]
    words += [] if seed is None else ["--seed", str(seed)]
    words += [] if device == "auto" else ["--device", device]
    return shlex.join(words + ["--smoke"] * smoke)


def program_name() -> str:
    """Give what to type for this program: its path where its environment is not the one that is active."""
    script = Path(sys.prefix, "bin", "selfmate")
    if sys.prefix == sys.base_prefix or os.environ.get("VIRTUAL_ENV") == sys.prefix or not script.exists():
        return "selfmate"
    return str(script.relative_to(Path.cwd()) if script.is_relative_to(Path.cwd()) else script)


def net_config(recipe: Recipe) -> NetConfig:
    """Give the net that a recipe describes.

    >>> net_config(load("gardner-laptop")).policy_size
    1225
    """
    return NetConfig.sized(_core.encoding(recipe.variant.name), recipe.net.size, **recipe.net.changes())


def count_steps(owed: int, reuse: float, positions: int, batch: int) -> tuple[int, int]:
    """Return the steps to make for new positions, each learned from `reuse` times, and the samples owed after them.

    `owed` are samples from before that did not fill a batch.

    >>> count_steps(owed=30, reuse=2.0, positions=100, batch=64)
    (3, 38)
    """
    return divmod(owed + round(reuse * positions), batch)


def find_device(wanted: str) -> str:
    """Give the device to train on: `auto` is a GPU where torch sees one.

    >>> find_device("gpu")
    Traceback (most recent call last):
    ...
    selfmate.rundir.format.RunError: no device is called 'gpu'; there are auto, cpu and cuda
    """
    if wanted not in ("auto", "cpu", "cuda"):
        raise RunError(f"no device is called {clip(wanted)!r}; there are auto, cpu and cuda", wanted)
    if wanted == "cpu":
        return "cpu"
    with warnings.catch_warnings(record=True) as said:  # of a driver that is too old, say
        warnings.simplefilter("always")
        seen = torch.cuda.is_available()
    if seen or wanted == "auto":
        return "cuda" if seen else "cpu"
    why = f" ({' '.join(str(said[0].message).split())})" if said else ""
    raise RunError(f"torch sees no GPU{why}; --device cpu trains without one", wanted)


class Trainer:
    """One session of a run; `command` is how a user goes on with it."""

    def __init__(
        self,
        run: Run,
        stop: Stop,
        progress: Progress,
        view: View,
        command: str,
        device: str,
        source: Path | None = None,
    ) -> None:
        self.command = command
        self.source = source  # the run whose weights a new one begins with, as far as they fit
        self.run = run
        self.recipe = run.recipe
        self.seed = run.manifest.seed
        self.stop = stop
        self.progress = progress
        self.view = view
        self.variant = self.recipe.variant.name
        self.device = device
        self.lanes = cores() if device == "cpu" else GPU_LANES
        self.reserve = 0.0
        self.at_once: AtOnce | None = None  # games at once; not yet chosen
        self.flight: list[GameRecord] = []  # games that have begun and are of this cycle or later ones
        self.ended: set[int] = set()  # those of them that are over already
        self.fresh = 0  # games that ended in the last cycle, its own and later ones
        self.player: Evaluator | None = None  # the champion; on a GPU it takes a while to compile
        self.began = time.monotonic()
        self.played = self.began  # when a cycle's games and steps were last over; what follows is a pause for both
        self.speed = 0.0  # evaluations a second, the best of the session's cycles
        self.tensorboard = open_tensorboard(run.directory, run.state.cycle)
        self.matches = Matches(
            run, progress, self._log, stopping=lambda: stop.asked, late=stop.late, device=device, lanes=self.lanes
        )
        net_seed = stream(self.seed, "net") >> 1  # torch's generator takes 63 bits
        net = Net(net_config(self.recipe), seed=net_seed)
        self.learner = Learner(net, self.recipe.learner, self.seed, device, compile=device != "cpu" and not self.small)

    @property
    def small(self) -> bool:
        """Whether the batches are too small for compiling to pay."""
        return 0 < self.recipe.selfplay.slots * self.recipe.selfplay.leaves < SMALL_BATCHES

    # -- the session ------------------------------------------------------------------------------

    def work(self) -> Summary:
        """Go on from the last commit until the run is complete, its time over, or somebody says stop."""
        # 1. The state of the last commit; a new run commits its untrained net first
        if self.run.state.learner is None:
            untrained = self._write_net(0)
            if self.source is not None:
                self._fill_window()
                inherit_weights(self.learner, self.source, self.window.learned)
            self.run.commit(learner=self._write_learner(), checkpoints=(untrained,))
        else:
            self.learner.restore(self.run.verify(self.run.state.learner))
            self._say_where()
        self._fill_window()
        if self.run.state.flight is not None:
            self.flight = [GameRecord.from_bytes(data) for data in self.run.read_shard(self.run.state.flight)]
        if self.run.manifest.parent is not None and self.run.state.champion == 0:
            self._study(self.run.manifest.parent)
        # 2. Cycles
        cycles = self.recipe.selfplay.cycles
        self._show()
        while self.run.state.cycle < cycles and not self.stop():
            self.stop.deadline = None if self.progress.deadline is None else self.progress.deadline - self.reserve
            if self._cycle():
                self.view.cycle_done()
        self._save_flight()
        # 3. The final match, or how to go on
        complete = self.run.state.cycle >= cycles
        reason = "complete" if complete else "time"
        scores = {} if self.stop.asked else self.matches.final()
        self.view.close()  # the last line stands last
        if self.stop.asked:
            reason = "stopped"
            self.view.say(f"Stopped; everything up to here is saved. Go on with:\n{self.command}")
        elif scores:
            games, visits = scores[ANCHOR].games, at(self.recipe.gate.final_visits, self.run.state.cycle)
            who, shown = f"Champion of cycle {self.run.state.champion}", f"{scores[ANCHOR]} against {ANCHOR}"
            if UNTRAINED in scores:
                shown = f"{scores[UNTRAINED]} against the untrained net, {shown}"
                how = f"{many(games, 'game')} each, {many(visits, 'visit')}, paired openings"
            else:
                how = f"{many(games, 'game')}, {many(visits, 'visit')}, paired openings"
                if self.run.state.checkpoint(self.run.state.champion).step == 0:
                    who = "Still the untrained net"
            self.view.say(f"{who}: {shown} ({how}).")
        elif not complete:
            self.view.say(f"The time is over; everything up to here is saved. Go on with:\n{self.command}")
        if self.tensorboard is not None:
            self.tensorboard.close()
        state = self.run.state
        directory = str(self.run.directory)
        return Summary(
            reason=reason,
            signal=self.stop.signal if reason == "stopped" else None,
            directory=directory,
            cycle=state.cycle,
            games=state.games,
            scores=scores,
        )

    def _say_where(self) -> None:
        """Say where a run that is resumed stands, and what --set has changed in it."""
        cycle, cycles = self.run.state.cycle, self.recipe.selfplay.cycles
        if cycle >= cycles:
            self.view.say(f"{self.run.directory} is complete: {cycle} of {many(cycles, 'cycle')}.")
        else:
            self.view.say(f"Going on with {self.run.directory} at cycle {cycle}.")
        for appendix in self.run.manifest.appendices:
            self.view.say(f"Since cycle {appendix.cycle}: {', '.join(appendix.settings)}.")

    def _study(self, parent: Parent) -> None:
        """Learn from the games of another run before the first own ones are played."""
        state = self.run.state
        part = self.recipe.learner
        steps, _ = count_steps(
            0, at(part.reuse, state.cycle), self.window.learned.positions, at(part.batch, state.cycle)
        )
        steps = max(1, steps)
        self.run.commit(goal=steps)
        self._show()
        self.progress.stage = f"learning from {parent.name}"
        if self.learner.step == 0:
            games, positions = f"{self.window.learned.games:,} games", f"{self.window.learned.positions:,} positions"
            self.view.say(f"First {many(steps, 'step')} with {games} ({positions}) of {parent.name}.")
        self.stop.deadline = self.progress.deadline
        losses = self._learn(state.cycle)
        changes: dict[str, Any] = {"learner": self._write_learner(), "seconds": self.progress.elapsed()}
        if self.learner.step >= steps:
            changes |= {"checkpoints": (*state.checkpoints, self._write_net(state.cycle)), "champion": state.cycle}
            self._log("study", state.cycle, step=self.learner.step, **as_metrics(losses, "loss"))
        self.run.commit(**changes)

    # -- a cycle ----------------------------------------------------------------------------------

    def _cycle(self) -> bool:
        """Work on the present cycle; False when it was stopped before its end (what is done is committed)."""
        state = self.run.state
        cycle = state.cycle
        # 1. Play with the champion and learn from the cycles before, side by side
        committed = self._games(cycle)
        ids = range(state.first_game, state.first_game + at(self.recipe.selfplay.games, cycle))
        missing = sorted(set(ids) - {record.game_id for record in committed})
        self.progress.stage = "playing and learning" if state.goal else "playing"
        self.progress.match = None
        if missing:
            self._prepare()  # what is measured there must be alone
        began = time.monotonic()
        pause = began - self.played
        with ThreadPoolExecutor(1, initializer=one_thread) as helper:
            learning = helper.submit(self._learn, cycle)
            try:
                played = self._play(
                    cycle, missing, len(committed), lambda: learning.done() and learning.exception() is not None
                )
            except BaseException:
                self.stop.asked = True  # the learner would keep us waiting
                raise
            losses = learning.result()
        self.played = time.monotonic()
        complete = len(played) == len(missing) and self.learner.step >= state.goal
        # 2. Commit the games and the steps
        seconds = time.monotonic() - began
        changes: dict[str, Any] = {"seconds": self.progress.elapsed()}
        if played:
            shard = self.run.write_shard(
                cycle, state.champion, [(record.game_id, record.positions, record.to_bytes()) for record in played]
            )
            changes["shards"] = (*state.shards, shard)
            changes["games"] = state.games + shard.games
            changes["positions"] = state.positions + shard.positions
            speeds = {"seconds": seconds, "pause": pause, "games_per_second": self.fresh / seconds}
            self._log("play", cycle, **_describe_games(played), **speeds)
        if state.learner is None or state.learner.step < self.learner.step:
            changes["learner"] = self._write_learner()
        if complete and cycle + 1 not in {checkpoint.cycle for checkpoint in state.checkpoints}:
            validation = self._validate(cycle)
            changes["alarms"] = self._alarm(validation)
            changes["checkpoints"] = (*state.checkpoints, self._write_net(cycle + 1))
            measured = (
                as_metrics(losses, "loss")
                | as_metrics(validation[0], "held_out")
                | as_metrics(validation[1], "learned")
            )
            self._log("learn", cycle, step=self.learner.step, rate=self.learner.rate(cycle), **measured)
            changes["pgn"] = (*state.pgn, self._write_samples(cycle, played or committed))
        if changes.keys() != {"seconds"}:
            self.run.commit(**changes)
        self._show()
        if not complete:
            return False
        # 3. Judge the candidate, measure it now and then
        champion = self.matches.gate(cycle)
        if champion is None or not self.matches.measure(cycle, champion):
            return False
        # 4. Commit the cycle; its games, as they were saved, are for the next one to learn from
        fresh = self._games(cycle)
        part = self.recipe.learner
        steps, owed = count_steps(
            state.owed, at(part.reuse, cycle), self.window.count_learned(fresh), at(part.batch, cycle + 1)
        )
        self.run.commit(
            cycle=cycle + 1,
            first_game=ids.stop,
            champion=champion,
            goal=self.learner.step + steps,
            owed=owed,
            seconds=self.progress.elapsed(),
        )
        if self.window.fits(cycle + 1):
            self.window.add(fresh)
        else:
            self._fill_window()
        self._show()
        return True

    def _play(self, cycle: int, missing: Sequence[int], done: int, failed: Callable[[], bool]) -> list[GameRecord]:
        """Play the missing games of the cycle; fewer come back when it was stopped, or when the learner failed.

        On a GPU games of later cycles begin as soon as there is room, so that the longest games of this one do not
        leave it idle; they go on with the next champion. What is not over at the end stays in flight.
        """
        progress = self.progress
        progress.cycle_games, progress.cycle_games_done = done + len(missing), done
        if not missing:
            return []
        assert self.player is not None
        assert self.at_once is not None
        pool = selfplay_pool(
            self.recipe,
            cycle,
            seed=stream(self.seed, "play"),
            at_once=self.at_once,
            lanes=self.lanes,
            threads=1 if self.device == "cpu" else 0,
        )
        # 1. What has begun goes on, then the other games of the cycle, then those ahead
        wanted, ahead = set(missing), missing[-1]
        begun = [record for record in self.flight if record.game_id in wanted or record.game_id > ahead]
        pool.resume(begun)
        known = {record.game_id for record in begun}
        for first, count in _ranges([game for game in missing if game not in known]):
            pool.start(first, count)
        pool.start(max([ahead, *known]) + 1, self._ahead())
        # 2. Until those of the cycle are over
        mine: list[GameRecord] = []
        later: list[GameRecord] = []
        fresh: list[GameRecord] = []
        began = looked = time.monotonic()
        evaluated = 0

        def look() -> None:
            for record in pool.drain():
                (mine if record.game_id in wanted else later).append(record)
                if record.game_id not in self.ended:
                    fresh.append(record)

        def tell(leaves: int) -> None:
            nonlocal evaluated, looked
            evaluated += leaves
            now = time.monotonic()
            if now < looked + LOOK_SECONDS:
                return
            looked = now
            look()
            seconds = now - began
            progress.cycle_games_done = done + len(mine)
            progress.games = self.run.state.games + len(mine)
            progress.games_per_second = len(fresh) / seconds
            progress.positions_per_second = sum(record.positions for record in fresh) / seconds
            progress.evaluations_per_second = evaluated / seconds
            progress.shown = fresh[-1] if fresh else None

        def stopping() -> bool:
            return self.stop() or failed() or len(mine) == len(wanted)

        drive(pool, [self.player], lanes=self.lanes, stopping=stopping, prepare=one_thread, tell=tell)
        look()
        self.flight = [*later, *pool.in_flight()]
        self.ended, self.fresh = {record.game_id for record in later}, len(fresh)
        seconds = max(time.monotonic() - began, 1e-6)
        if mine:
            # The last games of a cycle that was taken up again are its longest, and few: all of its games tell more.
            games = [*self._games(cycle), *mine]
            plies = sum(len(record.moves) for record in games) / len(games)
            self.speed = max(self.speed, evaluated / seconds)
            session = 0.0 if self.progress.deadline is None else self.progress.deadline - self.began
            self.reserve = min(self.matches.final_seconds(plies, self.speed), FINAL_SHARE * session)
        return sorted(mine, key=lambda record: record.game_id)

    def _prepare(self) -> None:
        """Get the champion ready to play. How many games at once the device can do is measured once a session."""
        self.player = self._champion()
        if self.at_once is None:
            self.at_once = choose_at_once(self.recipe, self.player, self.lanes)
            if not self.recipe.selfplay.slots:
                self.view.say(f"{self.device}: {self.at_once.why}.")

    def _ahead(self) -> int:
        """Give how many games of later cycles may begin in this one: none where a run is to be repeatable."""
        return 0 if self.device == "cpu" else AHEAD_GAMES

    def _champion(self) -> Evaluator:
        """Give the champion as self-play asks it. A GPU keeps one evaluator, which takes new weights over."""
        champion = self.run.state.champion
        if self.device == "cpu":
            return self.matches.evaluator(champion)
        folder = self.run.verify(self.run.state.checkpoint(champion))
        if isinstance(self.player, TorchEvaluator):
            self.player.replace(folder)
            return self.player
        return TorchEvaluator(folder, device=self.device, compile=not self.small)

    def _save_flight(self) -> None:
        """Commit the games that are not over, so that the next session takes them up."""
        state = self.run.state
        begun = [record for record in self.flight if record.moves]
        if not begun and state.flight is None:
            return
        rows = [(record.game_id, record.positions, record.to_bytes()) for record in begun]
        flight = self.run.write_shard(state.cycle, state.champion, rows, flight=True) if rows else None
        self.run.commit(flight=flight)

    def _learn(self, cycle: int) -> Losses | None:
        """Go on to the goal of the cycle. When the loss is not finite, go back to the last commit, more slowly."""
        progress, state = self.progress, self.run.state
        progress.goal = state.goal

        def tell(step: int, losses: Losses) -> None:
            progress.step, progress.losses, progress.rate = step, losses, self.learner.rate(cycle)

        for rollback in range(MAX_ROLLBACKS + 1):
            try:
                losses = self.learner.learn(self.window.learned, state.goal, cycle, stopping=self.stop, tell=tell)
                if not self.learner.is_finite():
                    raise Diverged(self.learner.step)
                return losses
            except Diverged as error:
                assert state.learner is not None
                self.learner.restore(self.run.verify(state.learner))
                self.learner.rate_scale *= 0.5 ** (rollback + 1)
                rate = self.learner.rate(cycle)
                self.view.say(f"{error}: back to step {self.learner.step}, with a learning rate of {rate:.2g}.")
                self._log("rollback", cycle, step=error.step, rate=rate)
        raise RunError(f"{self.run.directory}: the loss is not finite at any learning rate", str(self.run.directory))

    def _validate(self, cycle: int) -> tuple[Losses | None, Losses | None]:
        """Measure the candidate on held-out games and on games that it learned from."""
        if cycle == 0:  # nothing was learned yet
            return None, None
        held_out = self.learner.validate(self.window.held_out, cycle)
        self.progress.validation = held_out
        return held_out, self.learner.validate(self.window.learned, cycle)

    def _alarm(self, validation: tuple[Losses | None, Losses | None]) -> int:
        """Count the cycles in a row in which the candidate knows learned games better than others; warn in time."""
        held_out, learned = validation
        if held_out is None or learned is None or held_out.value - learned.value <= GAP:
            return 0
        alarms = self.run.state.alarms + 1
        if alarms % GAP_CYCLES == 0:
            self.view.say(
                f"Overfitting: the value loss is {held_out.value:.3f} on held-out games and {learned.value:.3f} on "
                f"learned ones; a smaller learner.reuse or a larger learner.window may help."
            )
        return alarms

    # -- games that were committed ----------------------------------------------------------------

    def _games(self, cycle: int) -> list[GameRecord]:
        """Read the committed games of a cycle, in the order of their ids."""
        shards = [shard for shard in self.run.state.shards if shard.cycle == cycle]
        records = [GameRecord.from_bytes(data) for shard in shards for data in self.run.read_shard(shard)]
        return sorted(records, key=lambda record: record.game_id)

    def _fill_window(self) -> None:
        """Read back the newest games of the cycles before this one, as many as the window holds."""
        cycle = self.run.state.cycle
        threads = 1 if self.device == "cpu" else max(1, cores() // 4)  # the games need the others
        self.window = Window(self.variant, self.recipe.learner, cycle, threads)
        newest_first: list[list[GameRecord]] = []
        for earlier in reversed(range(cycle)):
            newest_first.append(self._games(earlier))
            if self.window.would_be_full(newest_first):
                break
        for records in reversed(newest_first):
            self.window.add(records)

    # -- writing ----------------------------------------------------------------------------------

    def _write_learner(self) -> Checkpoint:
        name = f"learner/{self.learner.step:09}"
        with self.run.new_folder(name) as folder:
            self.learner.save(folder)
        return self.run.stamp(name, self.run.state.cycle, self.learner.step)

    def _write_net(self, cycle: int) -> Checkpoint:
        """Write the averaged net, rounded for every device, as the candidate that a cycle ends with."""
        name = f"checkpoints/{cycle:05}"
        parent = self.run.manifest.parent
        with self.run.new_folder(name) as folder:
            weights.save(
                rounded(self.learner.average),
                folder,
                step=self.learner.step,
                parents=() if parent is None or not cycle else (parent.net_id,),
                created_by=f"{self.run.manifest.recipe} {cycle:05}",
            )
        return self.run.stamp(name, cycle, self.learner.step)

    def _write_samples(self, cycle: int, records: Sequence[GameRecord]) -> str:
        player = self.matches.name(self.run.state.champion)
        games = [as_game(record, player, player, f"self-play, cycle {cycle}") for record in records[:SAMPLE_GAMES]]
        return self.run.write_text(f"pgn/{cycle:05}.pgn", "\n\n".join(map(str, games)) + "\n")

    def _log(self, stage: str, cycle: int, **values: Any) -> None:
        """Add a line of metrics, and show its numbers in TensorBoard where that is installed."""
        self.run.log(stage=stage, cycle=cycle, time=round(self.progress.elapsed(), 3), **values)
        if self.tensorboard is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self.tensorboard.add_scalar(f"{stage}/{name}", value, cycle)

    def _show(self) -> None:
        """Bring the view up to date with the commit."""
        state, progress = self.run.state, self.progress
        progress.cycle, progress.cycles, progress.champion = state.cycle, self.recipe.selfplay.cycles, state.champion
        progress.games, progress.positions = state.games, state.positions
        progress.champion_step = state.checkpoint(state.champion).step
        progress.step, progress.goal, progress.rate = self.learner.step, state.goal, self.learner.rate(state.cycle)


def _ranges(ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Give rising ids as (first, count).

    >>> list(_ranges([3, 4, 5, 9]))
    [(3, 3), (9, 1)]
    """
    start = 0
    for end in range(1, len(ids) + 1):
        if end == len(ids) or ids[end] != ids[end - 1] + 1:
            yield ids[start], end - start
            start = end


def _describe_games(records: Sequence[GameRecord]) -> dict[str, Any]:
    """Sum games up for the metrics."""
    results = [record.result for record in records]
    return {
        "games": len(records),
        "positions": sum(record.positions for record in records),
        "plies": sum(len(record.moves) for record in records) / len(records),
        "white": results.count("1-0") / len(records),
        "black": results.count("0-1") / len(records),
        "draws": results.count("1/2-1/2") / len(records),
        "truncated": results.count("*") / len(records),
    }


@contextlib.contextmanager
def _in_turn() -> Iterator[None]:
    """Keep torch to one thread, and let Python's threads change places often.

    A lane of self-play asks for Python's lock several times for each batch, and a learner that compiles its net keeps
    it as long as it may: with Python's five milliseconds the GPU stood still for twenty seconds.
    """
    threads, interval = torch.get_num_threads(), sys.getswitchinterval()
    one_thread()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        sys.setswitchinterval(interval)
