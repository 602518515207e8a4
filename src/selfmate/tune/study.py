"""`selfmate tune`: trials of settings one after the other, each a training run; Optuna chooses them and ends bad ones.

    tune.json      the plan, fixed before the first trial
    recipe.toml    the recipe of all trials; what a trial changes is in the manifest of its run
    study.sqlite   the trials, their settings and their Elo: Optuna's study
    trials/00000   the runs
    best.toml      the recipe with the settings of the best trial
    study.svg      what mattered

Run the same command again to resume: a trial that was stopped is resumed. The settings of a trial depend on
the seed, its number and the trials before it alone.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from selfmate.errors import SelfmateError
from selfmate.rating.elo import Rating
from selfmate.recipe.reader import change
from selfmate.recipe.writer import to_toml
from selfmate.rundir.format import read_state
from selfmate.rundir.lock import lock_directory
from selfmate.train.ab import FORK_SETTINGS, SPARE_SECONDS
from selfmate.train.memory import check_memory
from selfmate.train.session import Summary
from selfmate.train.session import train as train_here
from selfmate.tune.measure import measure_champion
from selfmate.tune.plan import PLAN_FILE, TuneError, TunePlan
from selfmate.tune.results import StudyResults, Trial, TrialElo
from selfmate.tune.space import Range, Setting, Value, own_values
from selfmate.util.files import write_file
from selfmate.util.plan_file import keep_plan
from selfmate.util.random_streams import stream

__all__ = ["search", "trial_settings"]

STUDY_NAME: Final = "tune"
RECIPE_FILE: Final = "recipe.toml"
MAX_IMPOSSIBLE: Final = 100
"""Draws in a row that no recipe can have, after which the study gives up."""
STARTUP: Final = 10
"""First trials whose settings are drawn at random: Optuna's own number for TPE."""
MEDIAN_STARTUP: Final = 4
"""Complete trials before the first one is ended by the median; Optuna's 5 would be a quarter of a small study."""
REDUCTION: Final = 2
"""Hyperband: of the trials of a bracket one in so many goes on. Optuna's 4 would leave four stages one bracket."""

Tell = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and of how much."""


class Train(Protocol):
    """`train.session.train`, or that of a cluster."""

    def __call__(
        self,
        recipe: str | Path,
        *,
        run: Path,
        minutes: float,
        overrides: Sequence[str],
        seed: int,
        device: str,
        is_part: bool,
    ) -> Summary: ...


def search(
    folder: Path,
    plan: TunePlan,
    *,
    trials: int,
    device: str = "auto",
    match_device: str = "cpu",
    train: Train = train_here,
    stopping: Callable[[], bool] = lambda: False,
    tell: Tell = lambda text, done, total: None,
) -> StudyResults:
    """Run trials until the study has so many that ended, or `stopping`; return what is known.

    The first trial has the recipe's own values where the space has them.
    """
    keep_plan(folder / PLAN_FILE, plan, "study", TuneError)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with lock_directory(folder) or contextlib.nullcontext():
        write_file(folder / RECIPE_FILE, plan.recipe.encode())
        study = _open(folder, plan)
        worker = _Worker(folder, plan, study, device, match_device, train, stopping, tell)
        while not stopping() and (trial := _next(study, plan, trials)) is not None:
            if not worker.run(trial, trials):
                break
        found = _results(study, plan, trials)
        if (best := found.best) is not None:
            changed = change(plan.base(), trial_settings(plan.space, best.values))
            write_file(folder / "best.toml", to_toml(changed).encode())
        return found


def trial_settings(space: Sequence[Setting], values: dict[str, Value]) -> list[str]:
    """Return the settings of a trial as after `--set`."""
    return [setting.setting(values[setting.key]) for setting in space]


# -- the study ----------------------------------------------------------------------------------------------------


def _open(folder: Path, plan: TunePlan) -> optuna.Study:
    """Open the study of a folder, or begin it."""
    from sqlalchemy.engine import URL
    from sqlalchemy.exc import SQLAlchemyError

    path = folder / "study.sqlite"
    url = URL.create("sqlite", database=str(path.resolve())).render_as_string()
    try:
        study = optuna.create_study(
            storage=optuna.storages.RDBStorage(url),
            study_name=STUDY_NAME,
            direction="maximize",
            pruner=_pruner(plan),
            load_if_exists=True,
        )
        if not study.get_trials(deepcopy=False):
            own, missing = own_values(plan.space, plan.base())
            if not missing:
                study.enqueue_trial(own)
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise TuneError(f"{path}: not a study that can be read: {reason}", str(path)) from error
    return study


def _pruner(plan: TunePlan) -> optuna.pruners.BasePruner:
    if plan.pruner == "median":
        return optuna.pruners.MedianPruner(n_startup_trials=MEDIAN_STARTUP)
    if plan.pruner == "hyperband":
        return optuna.pruners.HyperbandPruner(
            min_resource=1, max_resource=plan.stages, reduction_factor=min(REDUCTION, max(2, plan.stages))
        )
    return optuna.pruners.NopPruner()


def _distributions(space: Sequence[Setting]) -> dict[str, BaseDistribution]:
    return {setting.key: _distribution(setting) for setting in space}


def _distribution(setting: Setting) -> BaseDistribution:
    if not isinstance(setting, Range):
        return CategoricalDistribution(setting.values)
    if setting.is_whole:
        return IntDistribution(int(setting.low), int(setting.high), log=setting.log, step=int(setting.step or 1))
    return FloatDistribution(setting.low, setting.high, log=setting.log, step=setting.step)


def _next(study: optuna.Study, plan: TunePlan, trials: int) -> optuna.Trial | None:
    """Return the trial that was stopped, else a new one; None when the study has all its trials.

    Settings that contradict one another are no trial: they are kept as failed, and others are drawn.
    """
    reason = ""
    for _ in range(MAX_IMPOSSIBLE):
        known = study.get_trials(deepcopy=False)
        running = [each for each in known if each.state == TrialState.RUNNING]
        ended = sum(each.state in (TrialState.COMPLETE, TrialState.PRUNED) for each in known)
        if not running and ended >= trials:
            return None
        if running:
            trial = optuna.Trial(study, running[0]._trial_id)
        else:
            number = sum(each.state != TrialState.WAITING for each in known)
            # A sampler of its own for every trial: resuming does not repeat the random numbers of the first ones.
            seed = stream(plan.seed, "tune", number) >> 33  # NumPy takes 32 bits
            study.sampler = optuna.samplers.TPESampler(n_startup_trials=STARTUP, seed=seed)
            trial = study.ask(_distributions(plan.space))
        try:
            check_memory(change(plan.base(), trial_settings(plan.space, trial.params)))
        except SelfmateError as error:
            reason = " ".join(str(error).split())
            trial.set_user_attr("impossible", reason)
            study.tell(trial, state=TrialState.FAIL)
            continue
        return trial
    raise TuneError(f"{MAX_IMPOSSIBLE} draws in a row contradict themselves, as in: {reason}", "space")


# -- a trial ------------------------------------------------------------------------------------------------------


class _Worker:
    """Runs trials: trains for a stage, measures, reports, until the last stage or until Optuna ends the trial."""

    def __init__(
        self,
        folder: Path,
        plan: TunePlan,
        study: optuna.Study,
        device: str,
        match_device: str,
        train: Train,
        stopping: Callable[[], bool],
        tell: Tell,
    ) -> None:
        self.folder, self.plan, self.study = folder, plan, study
        self.device, self.match_device = device, match_device
        self.train, self.stopping, self.tell = train, stopping, tell

    def run(self, trial: optuna.Trial, trials: int) -> bool:
        """Run a trial, or what is missing of it; return False when it was stopped."""
        directory = self.folder / "trials" / f"{trial.number:05}"
        directory.parent.mkdir(exist_ok=True)
        settings = trial_settings(self.plan.space, trial.params)
        reported = dict(self.study.get_trials(deepcopy=False)[trial.number].intermediate_values)
        for stage in range(1, self.plan.stages + 1):
            if stage not in reported:
                # 1. Train up to the end of the stage
                self._tell(trial, trials, stage, "training", 0.0)
                if not self._train(directory, trial.number, settings, self.plan.seconds(stage)):
                    return False
                # 2. Measure
                rating = self._measure(directory, trial, trials, stage)
                if rating is None:
                    return False
                state = read_state(directory)
                facts = {"games": state.games, "positions": state.positions, "seconds": state.seconds}
                trial.set_user_attr(f"stage {stage}", {"error": rating.error, "champion": state.champion, **facts})
                trial.report(rating.elo, stage)
                reported[stage] = rating.elo
            # 3. End it where others had more at this stage
            if stage < self.plan.stages and trial.should_prune():
                self.study.tell(trial, state=TrialState.PRUNED)
                return True
        self.study.tell(trial, reported[self.plan.stages])
        return True

    def _train(self, directory: Path, number: int, settings: list[str], until: float) -> bool:
        """Train until the run has so many seconds; return False when it was stopped."""
        left = until - (read_state(directory).seconds if directory.is_dir() else 0.0)
        if left <= SPARE_SECONDS and directory.is_dir() and read_state(directory).checkpoints:
            return True
        # The lines of the session are not part of the output.
        with contextlib.redirect_stdout(sys.stderr):
            summary = self.train(
                self.folder / RECIPE_FILE,
                run=directory,
                minutes=max(left, SPARE_SECONDS) / 60,
                overrides=(*settings, *FORK_SETTINGS),
                seed=self.plan.seed + number,
                device=self.device,
                is_part=True,
            )
        return summary.reason != "stopped"

    def _measure(self, directory: Path, trial: optuna.Trial, trials: int, stage: int) -> Rating | None:
        return measure_champion(
            directory,
            games=self.plan.games,
            visits=self.plan.visits,
            device=self.match_device,
            stopping=self.stopping,
            tell=lambda done, games: self._tell(trial, trials, stage, f"{done} of {games} games", done / games),
        )

    def _tell(self, trial: optuna.Trial, trials: int, stage: int, what: str, share: float) -> None:
        done = sum(each.state.is_finished() for each in self.study.get_trials(deepcopy=False))
        part = (stage - 1 + share) / self.plan.stages
        self.tell(f"trial {trial.number}, stage {stage} of {self.plan.stages}: {what}", done + part, trials)


# -- what is known ------------------------------------------------------------------------------------------------


def _results(study: optuna.Study, plan: TunePlan, trials: int) -> StudyResults:
    known = study.get_trials(deepcopy=False)
    own, missing = own_values(plan.space, plan.base())
    found = tuple(_trial(each) for each in known if each.state not in (TrialState.WAITING, TrialState.FAIL))
    return StudyResults(
        plan=plan,
        wanted=trials,
        trials=found,
        impossible=sum(each.state == TrialState.FAIL for each in known),
        own=None if missing else own,
        not_in_space=tuple(missing),
    )


def _trial(frozen: FrozenTrial) -> Trial:
    return Trial(
        number=frozen.number,
        state=frozen.state.name.lower(),
        values=dict(frozen.params),
        stages=tuple(_elos(frozen)),
    )


def _elos(frozen: FrozenTrial) -> Iterator[TrialElo]:
    for stage, elo in sorted(frozen.intermediate_values.items()):
        facts: dict[str, Any] = frozen.user_attrs.get(f"stage {stage}", {})
        yield TrialElo(
            stage=stage,
            elo=elo,
            error=facts.get("error", 0.0),
            games=facts.get("games", 0),
            seconds=facts.get("seconds", 0.0),
        )
