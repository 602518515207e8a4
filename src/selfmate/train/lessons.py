"""What a run learns in a cycle: up to which step, from which games, with which teacher, and which nets it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from selfmate._core import GameRecord
from selfmate.recipe.schedule import at
from selfmate.rundir.directory import Run
from selfmate.rundir.format import Checkpoint, RunError
from selfmate.train.checkpoints import write_net
from selfmate.train.dashboard import View
from selfmate.train.formulas import count_steps
from selfmate.train.learner import Diverged, Learner, Losses
from selfmate.train.losses import is_taught
from selfmate.train.metrics import MetricsLog, is_overfitted, name_losses
from selfmate.train.status import TrainingStatus
from selfmate.train.teacher import Teacher
from selfmate.train.watchdog import Watchdog
from selfmate.train.window import oldest_game, read_cycle, read_window
from selfmate.util.cpu import cores
from selfmate.util.files import remove
from selfmate.util.signals import Stop

__all__ = ["Lessons"]

MAX_ROLLBACKS: Final = 5
OVERFITTING_CYCLES: Final = 3
"""Overfitted cycles in a row after which a warning is printed."""


class Lessons:
    """The learner of a run with the window of its games; `close` ends the teacher."""

    def __init__(
        self,
        run: Run,
        learner: Learner,
        stop: Stop,
        status: TrainingStatus,
        view: View,
        log: MetricsLog,
        watchdog: Watchdog,
    ) -> None:
        self.run = run
        self.part = run.recipe.learner
        self.learner = learner
        self.stop = stop
        self.status = status
        self.view = view
        self.log = log
        self.watchdog = watchdog
        # Self-play needs the other cores.
        self._threads = 1 if learner.device.type == "cpu" else max(1, cores() // 2)
        self.window = read_window(run, self._threads, run.state.cycle)
        self._kept: list[Checkpoint] = []
        self._teacher: Teacher | None = None

    def close(self) -> None:
        """End the teacher."""
        if self._teacher is not None:
            self._teacher.close()

    # -- games ------------------------------------------------------------------------------------

    def add_games(self, fresh: Sequence[GameRecord], cycle: int) -> None:
        """Bring the window to the beginning of a cycle; `fresh` are the games of the cycle before."""
        if self.window.fits(cycle):
            self.window.add(fresh)
            self.window.forget_before(oldest_game(self.run, cycle))
        else:
            self.window = read_window(self.run, self._threads, cycle)
        if self._teacher is not None:
            self._teacher.add(fresh)

    def count_steps(self, fresh: Sequence[GameRecord], cycle: int, *, is_learning_only: bool) -> tuple[int, int]:
        """Return the steps of a cycle whose window is ready, and the samples that are left over for the next one.

        The games of the cycle before, `fresh`, are worth `reuse` samples of each position. With `epochs` the whole
        window is learned from, and so it is where no games are played.
        """
        part, batch = self.part, at(self.part.batch, cycle)
        if epochs := at(part.epochs, cycle):
            return count_steps(0, epochs, self.window.learned.positions, batch)[0], 0
        reuse = at(part.reuse, max(0, cycle - 1))
        positions = self.window.count_learned(fresh)
        if is_learning_only and not positions:
            positions = self.window.learned.positions
        return count_steps(self.run.state.owed, reuse, positions, batch)

    # -- learning ---------------------------------------------------------------------------------

    def learn(self, cycle: int, span: tuple[int, int] | None = None) -> Losses | None:
        """Train up to the goal step. When the loss is not finite, restore the last commit and halve the rate.

        `span` are the first step and the goal, those of the cycle when None.
        """
        try:
            return self._learn(cycle, span or (self.run.state.first_step, self.run.state.goal))
        finally:
            self.watchdog.rest()

    def _learn(self, cycle: int, span: tuple[int, int]) -> Losses | None:
        status, state, learner = self.status, self.run.state, self.learner
        first, status.goal = span
        self._call_teacher(cycle)
        for rollback in range(MAX_ROLLBACKS + 1):
            try:
                losses = learner.learn(
                    self.window.learned,
                    status.goal,
                    cycle,
                    first=first,
                    stopping=self._is_stopping,
                    tell=_StepLog(self, cycle),
                    keep=self._keep,
                )
                if not learner.is_finite():
                    raise Diverged(learner.step)
                return losses
            except Diverged as error:
                assert state.learner is not None
                learner.restore(self.run.verify(state.learner))
                for net in self.take_kept():
                    remove(self.run.directory / net.name)
                learner.rate_scale *= 0.5 ** (rollback + 1)  # the restored scale is that of the commit
                rate = learner.rate(cycle)
                self.view.say(f"{error}: back to step {learner.step}, with a learning rate of {rate:.2g}.")
                self.log("rollback", cycle, step=error.step, rate=rate)
        raise RunError(f"{self.run.directory}: the loss is not finite at any learning rate", str(self.run.directory))

    def _is_stopping(self) -> bool:
        self.watchdog.beat()
        return self.stop()

    def validate(self, cycle: int) -> tuple[Losses | None, Losses | None]:
        """Return the candidate's losses on held-out games and on learned ones."""
        if cycle == 0:  # nothing was learned yet
            return None, None
        self._call_teacher(cycle)
        held_out = self.learner.validate(self.window.held_out, cycle)
        learned = self.learner.validate(self.window.learned, cycle)
        self.status.held_out, self.status.learned = held_out, learned
        return held_out, learned

    def count_alarms(self, held_out: Losses | None, learned: Losses | None) -> int:
        """Return the number of overfitted cycles in a row, this one included; warn now and then."""
        if held_out is None or learned is None or not is_overfitted(held_out, learned):
            return 0
        alarms = self.run.state.alarms + 1
        if alarms % OVERFITTING_CYCLES == 0:
            self.view.say(
                f"Overfitting: the value loss is {held_out.value:.3f} on held-out games and {learned.value:.3f} on "
                f"learned ones; a smaller learner.reuse or a larger learner.window may help."
            )
        return alarms

    def _call_teacher(self, cycle: int) -> None:
        """Start the teacher when its first cycle begins, and end it after its last."""
        if is_taught(self.part, cycle) and self._teacher is None:
            self._teacher = Teacher(self.part.teacher, self.run.recipe.variant.name, max(1, cores() // 2))
            for earlier in range(cycle):
                self._teacher.add(read_cycle(self.run, earlier))
            self.learner.adjust = self._teacher.adjust
        elif not is_taught(self.part, cycle) and self._teacher is not None:
            self._teacher.close()
            self._teacher = None
            self.learner.adjust = lambda samples: None

    # -- kept nets --------------------------------------------------------------------------------

    def _keep(self) -> None:
        self._kept.append(write_net(self.run, self.learner, self.run.state.cycle, by_step=True))

    def take_kept(self) -> tuple[Checkpoint, ...]:
        """Return the nets that were kept for their steps since the last call, for a commit."""
        kept, self._kept = tuple(self._kept), []
        return kept


class _StepLog:
    """Shows the losses of every step, and writes their means of every `log_every` steps into the metrics."""

    def __init__(self, lessons: Lessons, cycle: int) -> None:
        self._lessons = lessons
        self._cycle = cycle
        self._every = lessons.part.log_every
        self._since: list[Losses] = []

    def __call__(self, step: int, losses: Losses) -> None:
        lessons, rate = self._lessons, self._lessons.learner.rate(self._cycle)
        lessons.status.step, lessons.status.losses, lessons.status.learning_rate = step, losses, rate
        if self._every:
            self._since.append(losses)
            if step % self._every == 0:
                means = Losses(*(sum(column) / len(self._since) for column in zip(*self._since, strict=True)))
                lessons.log("step", self._cycle, step=step, rate=rate, **name_losses(means, "loss"))
                self._since.clear()
