"""The training loop: self-play, learning, a candidate, the gate, the next cycle.

    Pool → GameRecord → Window → Learner → Checkpoint → Gate → champion → Pool

A cycle plays games with the champion and, at the same time, learns from the games of the cycles before. Both depend
on nothing but the commit that the cycle began with, so they share the processor without waiting for each other, and
a run that was killed and resumed makes the same games and the same weights, bit for bit, as one that was not. A cycle
has two commits: one when its games and steps are done, one when its candidate has been judged.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from selfmate._core import GameRecord
from selfmate.nn.net import Net
from selfmate.nn.transfer import CarriedWeights
from selfmate.rating.match_stats import Match
from selfmate.recipe.schedule import at
from selfmate.rundir.directory import Run
from selfmate.rundir.format import Parent
from selfmate.rundir.games import shard_rows
from selfmate.rundir.live import LiveWriter
from selfmate.search.driver import one_thread
from selfmate.train.checkpoints import sample_name, write_learner, write_net, write_sample_games
from selfmate.train.dashboard import View
from selfmate.train.formulas import count_steps
from selfmate.train.game_source import MakeGames, local_games
from selfmate.train.gate import Matches
from selfmate.train.growth import grow_net
from selfmate.train.learner import Learner, Losses
from selfmate.train.learner_card import read_learner_config
from selfmate.train.learner_group import LearnerGroup
from selfmate.train.lessons import Lessons
from selfmate.train.metrics import MetricsLog, describe_games, name_losses
from selfmate.train.selfplay import CycleGames, lanes_on, native_evaluator, should_compile
from selfmate.train.selfplay_metrics import describe_options
from selfmate.train.session_time import SessionTime
from selfmate.train.status import CompletedCycle, TrainingStatus
from selfmate.train.warm_start import brings_games, inherit_weights
from selfmate.train.watchdog import Watchdog
from selfmate.train.window import read_cycle
from selfmate.util.processor_use import ProcessorUse, gpu_sensor
from selfmate.util.random_streams import stream
from selfmate.util.signals import Stop
from selfmate.util.text import many

__all__ = ["Trainer"]


class CycleTask(NamedTuple):
    """What is to be done in a cycle, and what an earlier session has committed of it."""

    cycle: int
    ids: range
    committed: list[GameRecord]
    missing: list[int]


class Trainer:
    """A run in training: `begin`, then `run_cycle` until it is complete, then `save_in_flight`.

    `source` is the run whose weights a new one begins with, as far as they fit. With `learn_only` no game of self-play
    is played: every cycle learns from the games that there are. `make_games` makes the source of its games. `group` are
    the processes that learn together.
    """

    def __init__(
        self,
        run: Run,
        stop: Stop,
        status: TrainingStatus,
        view: View,
        *,
        device: str,
        source: Path | None = None,
        learn_only: bool = False,
        watchdog: Watchdog | None = None,
        make_games: MakeGames = local_games,
        group: LearnerGroup | None = None,
    ) -> None:
        self.run = run
        self.recipe = run.recipe
        self.stop = stop
        self.status = status
        self.view = view
        self.device = device
        self.source = source
        self.learn_only = learn_only
        self.log = MetricsLog(run, status)
        self.time = SessionTime(status.began, status.deadline)
        seed = run.manifest.seed
        self.selfplay = make_games(run, device, view.say)
        watchdog = Watchdog(0, stop, say=view.say) if watchdog is None else watchdog
        self.selfplay.beat = watchdog.beat
        self.selfplay.watch = LiveWriter(run.directory).tell
        self.matches = Matches(
            run,
            status,
            self.log,
            stop=stop,
            device=device,
            lanes=lanes_on(device),
            rest=self.selfplay.pause,
            beat=watchdog.beat,
        )
        saved = None if run.state.learner is None else read_learner_config(run.verify(run.state.learner))
        config = saved or self.recipe.net_config(run.state.cycle)
        net = Net(config, seed=stream(seed, "net") >> 1)  # torch's generator takes 63 bits
        self.compiled = should_compile(self.recipe, device)
        self.learner = Learner(net, self.recipe.learner, seed, device, compile=self.compiled, group=group)
        self.lessons = Lessons(run, self.learner, stop, status, view, self.log, watchdog)
        self._work_ended = time.monotonic()  # end of the last games and steps: the pause begins there
        self._evaluations_per_second = 0.0  # the best of the session's cycles
        self._plies = 0.0  # mean length of the games of the newest whole cycle of the session

    # -- before the first cycle -------------------------------------------------------------------

    def begin(self) -> None:
        """Restore the last commit; a new run commits its untrained net, and learns from its parent's games first."""
        run = self.run
        if run.state.learner is None:
            untrained = write_net(run, self.learner, 0)
            if self.source is not None:
                taken = inherit_weights(self.learner, self.source, self.lessons.window.learned)
                if not brings_games(self.source, run.manifest.variant):
                    untrained = write_net(run, self.learner, 0)
                if isinstance(taken, CarriedWeights):
                    self.view.say(f"Starting with what {self.source} has for {self.recipe.variant.name}: {taken}.")
            run.commit(learner=write_learner(run, self.learner), checkpoints=(untrained,))
        else:
            self.learner.restore(run.verify(run.state.learner))
        parent = run.manifest.parent
        if parent is not None and run.state.champion == 0 and 0 < parent.cycle == run.state.cycle:
            self._learn_from_parent(parent)
        self._show()

    def _learn_from_parent(self, parent: Parent) -> None:
        """Learn from the inherited games before the first own game is played; commit the result as champion."""
        state, part, learned = self.run.state, self.recipe.learner, self.lessons.window.learned
        times = at(part.epochs, state.cycle) or at(part.reuse, state.cycle)
        steps, _ = count_steps(0, times, learned.positions, at(part.batch, state.cycle))
        steps = max(1, steps)
        self.run.commit(goal=steps)
        self._show()
        self.status.stage = f"learning from {parent.name}"
        if self.learner.step == 0:
            self.view.say(
                f"Starting with {many(steps, 'training step')} on {many(learned.games, 'game')} "
                f"({many(learned.positions, 'position')}) from run {parent.name!r}."
            )
        self.stop.deadline = self.status.deadline
        losses = self.lessons.learn(state.cycle)
        changes: dict[str, Any] = {"learner": write_learner(self.run, self.learner), "seconds": self.status.elapsed()}
        changes["kept_nets"] = (*state.kept_nets, *self.lessons.take_kept())
        if self.learner.step >= steps:
            net = write_net(self.run, self.learner, state.cycle)
            changes |= {"checkpoints": (*state.checkpoints, net), "champion": state.cycle}
            self.log("study", state.cycle, step=self.learner.step, **name_losses(losses, "loss"))
        self.run.commit(**changes)

    # -- a cycle ----------------------------------------------------------------------------------

    def run_cycle(self) -> bool:
        """Work on the present cycle; return False when it was stopped early, with everything done so far committed."""
        # 1. Task: which games are missing
        self.stop.deadline = self.time.cycles_end(at(self.recipe.gate.final_games, self.run.state.cycle))
        task = self._task()
        is_ready = grow_net(self.lessons, compile=self.compiled)
        self.learner = self.lessons.learner
        if not is_ready:
            return False
        if self.recipe.learner.alternate and not self._learn_first(task):
            return False
        # 2. Play with the champion and learn from the window, side by side
        games, losses = self._play_and_learn(task)
        complete = len(games.records) == len(task.missing) and self.learner.step >= self.run.state.goal
        # 3. Checkpoint: commit games and learner; the averaged net is the candidate
        self._checkpoint(task, games.records, losses, complete)
        if not complete:
            return False
        # 4. Gate: the candidate becomes champion or not; its strength is measured now and then
        champion = self._judge(task.cycle)
        if champion is None:
            return False
        # 5. Window: the games of the cycle are learned from in the next one
        fresh = read_cycle(self.run, task.cycle)
        self.lessons.add_games(fresh, task.cycle + 1)
        # 6. Commit the cycle, and with it the steps that its games are worth in the next one
        self._commit_cycle(task, champion, fresh)
        self._show()
        self.status.completed = self._completed(task.cycle)
        return True

    def _learn_first(self, task: CycleTask) -> bool:
        """Learn and judge before the games of the cycle, which the accepted net plays; return False when stopped."""
        if self.run.state.judged > task.cycle:
            return True
        self.status.stage, self.status.match = "learning", None
        self.status.learned = self.status.held_out = None
        losses = self.lessons.learn(task.cycle)
        self._work_ended = time.monotonic()
        complete = self.learner.step >= self.run.state.goal
        self._checkpoint(task, [], losses, complete)
        champion = self._judge(task.cycle) if complete else None
        if champion is None:
            return False
        pgn = (*self.run.state.pgn, *self.matches.take_gate_pgn())
        self.run.commit(champion=champion, judged=task.cycle + 1, pgn=pgn, seconds=self.status.elapsed())
        self._show()
        return True

    def _judge(self, cycle: int) -> int | None:
        """Return the champion after the gate, its strength measured if that is due; None when stopped."""
        if self.run.state.judged > cycle:
            return self.run.state.champion
        champion = self.matches.gate(cycle)
        return champion if champion is not None and self.matches.measure(cycle, champion) else None

    def _task(self) -> CycleTask:
        state = self.run.state
        ids = range(state.first_game, state.first_game + at(self.recipe.selfplay.games, state.cycle))
        committed = read_cycle(self.run, state.cycle)
        missing = sorted(set(ids) - {record.game_id for record in committed})
        if self.learn_only:
            ids, missing = ids if committed else range(ids.start, ids.start), []
        return CycleTask(state.cycle, ids, committed, missing)

    def _play_and_learn(self, task: CycleTask) -> tuple[CycleGames, Losses | None]:
        """Play the missing games and go on to the goal step, each in a thread; return the games and the mean losses."""
        state, status = self.run.state, self.status
        is_learning = state.goal > self.learner.step
        status.stage, status.match = "playing and learning" if is_learning else "playing", None
        if self.learn_only:
            status.stage = "learning"
        status.cycle_games, status.cycle_games_done = len(task.ids), len(task.committed)
        status.games_per_second = status.positions_per_second = status.evaluations_per_second = 0.0
        status.learned = status.held_out = None
        if task.missing and native_evaluator(self.recipe, task.cycle, state.champion) is None:
            self._prepare_champion()  # it measures the device, which must be idle
        games = CycleGames([], [], 0, 0.0)
        began, use = time.monotonic(), ProcessorUse(None if self.device == "cpu" else gpu_sensor())
        pause = began - self._work_ended
        with ThreadPoolExecutor(1, "learner", initializer=one_thread) as helper:
            learning = helper.submit(self.lessons.learn, task.cycle)

            def stopping() -> bool:
                return self.stop() or (learning.done() and learning.exception() is not None)

            try:
                if task.missing:
                    show, champion = self._shows_games(len(task.committed), use), state.champion
                    games = self.selfplay.play(
                        task.cycle, task.missing, champion=champion, stopping=stopping, tell=show
                    )
            except BaseException:
                self.stop.asked = True  # else the learner would first reach its goal
                raise
            losses = learning.result()
        self._work_ended = time.monotonic()
        if games.records:
            if self.selfplay.continuous:
                began, pause = began - pause, 0.0  # self-play went on
            seconds = self._work_ended - began
            speeds = {"seconds": seconds, "pause": pause, **self._show_rates(games, seconds), **use.shares()}
            extras = describe_options(self.selfplay.starts, task.cycle, games.records)
            self.log("play", task.cycle, **describe_games(games.records), **extras, **speeds, **self.selfplay.metrics())
            self._estimate_final_game(task, games)
        return games, losses

    def _prepare_champion(self) -> None:
        is_first = self.selfplay.concurrency is None
        self.selfplay.prepare(self.run.verify(self.run.state.checkpoint(self.run.state.champion)))
        concurrency = self.selfplay.concurrency
        if is_first and concurrency is not None and not self.recipe.selfplay.slots:
            self.view.say(f"{self.device}: {concurrency.reason}.")

    def _shows_games(self, done: int, use: ProcessorUse) -> Callable[[CycleGames], None]:
        """Return a function that brings the status up to date with the games so far; `done` were committed before."""
        status, before = self.status, self.run.state.games

        def show(games: CycleGames) -> None:
            status.cycle_games_done = done + len(games.records)
            status.games = before + len(games.records)
            self._show_rates(games, games.seconds)
            status.latest_game = games.finished[-1] if games.finished else None
            status.machines = self.selfplay.machines()
            use.sample()

        return show

    def _show_rates(self, games: CycleGames, seconds: float) -> dict[str, float]:
        """Show how many games, positions and evaluations a second were made; return them by their names in metrics."""
        positions = sum(record.positions for record in games.finished)
        counts = {"games": len(games.finished), "positions": positions, "evaluations": games.evaluations}
        rates = {f"{name}_per_second": count / seconds for name, count in counts.items()}
        for name, rate in rates.items():
            setattr(self.status, name, rate)
        return rates

    def _checkpoint(self, task: CycleTask, records: list[GameRecord], losses: Losses | None, complete: bool) -> None:
        """Commit the new games and steps; when the cycle's work is complete, also its candidate."""
        run, state, cycle = self.run, self.run.state, task.cycle
        changes: dict[str, Any] = {}
        if records:
            shard = run.write_shard(cycle, state.champion, shard_rows(records))
            changes["shards"] = (*state.shards, shard)
            changes["games"] = state.games + shard.games
            changes["positions"] = state.positions + shard.positions
        if state.learner is None or state.learner.step < self.learner.step:
            changes["learner"] = write_learner(run, self.learner)
            changes["kept_nets"] = (*state.kept_nets, *self.lessons.take_kept())
        if complete and cycle + 1 not in {checkpoint.cycle for checkpoint in state.checkpoints}:
            held_out, learned = self.lessons.validate(cycle)
            changes["alarms"] = self.lessons.count_alarms(held_out, learned)
            changes["checkpoints"] = (*state.checkpoints, write_net(run, self.learner, cycle + 1))
            measured = name_losses(losses, "loss") | name_losses(held_out, "held_out") | name_losses(learned, "learned")
            self.log("learn", cycle, step=self.learner.step, rate=self.learner.rate(cycle), **measured)
        if complete and sample_name(cycle) not in state.pgn and (games := records or task.committed):
            changes["pgn"] = (*state.pgn, write_sample_games(run, cycle, games))
        if changes:
            run.commit(**changes, seconds=self.status.elapsed())
        self._show()

    def _commit_cycle(self, task: CycleTask, champion: int, fresh: list[GameRecord]) -> None:
        """Commit the end of the cycle; `fresh` are its games."""
        steps, owed = self.lessons.count_steps(fresh, task.cycle + 1, is_learning_only=self.learn_only)
        self.run.commit(
            cycle=task.cycle + 1,
            first_game=task.ids.stop,
            champion=champion,
            first_step=self.learner.step,
            goal=self.learner.step + steps,
            owed=owed,
            pgn=(*self.run.state.pgn, *self.matches.take_gate_pgn()),
            seconds=self.status.elapsed(),
        )

    # -- the final matches ------------------------------------------------------------------------

    def final(self) -> dict[str, Match]:
        """Play the final matches, with as many games as fit into the time of the session; return their results.

        They are empty when nothing fits, the time ends before the last game, or a stop was requested.
        """
        wanted = at(self.recipe.gate.final_games, self.run.state.cycle)
        self.stop.deadline = self.time.final_end()
        return {} if self.stop() else self.matches.final(self.time.final_games(wanted, time.monotonic()))

    def _estimate_final_game(self, task: CycleTask, games: CycleGames) -> None:
        self._evaluations_per_second = max(self._evaluations_per_second, games.evaluations / games.seconds)
        # Short games end first, so that only a whole cycle says how long games are.
        records = [*task.committed, *games.records]
        if len(records) == len(task.ids):
            self._plies = sum(len(record.moves) for record in records) / len(records)
        plies = self._plies or at(self.recipe.selfplay.max_plies, task.cycle)
        self.time.game_seconds = self.matches.final_game_seconds(plies, self._evaluations_per_second)

    # -- around the cycles ------------------------------------------------------------------------

    def save_in_flight(self) -> None:
        """Commit the unfinished games, so that the next session continues them."""
        run, state = self.run, self.run.state
        rows = shard_rows([record for record in self.selfplay.in_flight() if record.moves])
        if rows or state.flight is not None:
            flight = run.write_shard(state.cycle, state.champion, rows, flight=True) if rows else None
            run.commit(flight=flight)

    def _completed(self, cycle: int) -> CompletedCycle:
        status = self.status
        return CompletedCycle(
            cycle=cycle,
            games=status.games,
            step=status.step,
            learned=status.learned,
            held_out=status.held_out,
            games_per_second=status.games_per_second,
            positions_per_second=status.positions_per_second,
        )

    def _show(self) -> None:
        """Bring the status up to date with the commit."""
        state, status = self.run.state, self.status
        status.cycle, status.cycles, status.champion = state.cycle, self.recipe.selfplay.cycles, state.champion
        status.games, status.positions = state.games, state.positions
        status.champion_step = state.checkpoint(state.champion).step
        status.step, status.goal = self.learner.step, state.goal
        status.learning_rate = self.learner.rate(state.cycle)
