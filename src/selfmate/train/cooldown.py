"""`selfmate cooldown`: a net from a copy of a run's learner whose rate falls to zero; the run itself is not changed.

A run may train at a constant rate for ever, and be continued from any commit. A net of it plays better after the rate
has fallen: KataGo's g170 gained 229 and 260 Elo by it in its last days. So the run goes on at its rate, and what is
shipped is cooled down on a copy.

The rate falls linearly from that of the run to zero within the given steps. What plays is the average of the weights
over about the last tenth of them, in which they hardly move: that of the run reaches back to before the cooldown.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from selfmate.nn import checkpoint
from selfmate.nn.net import Net, rounded
from selfmate.recipe.reader import change
from selfmate.recipe.schema import Recipe
from selfmate.rundir.archive import current_recipe
from selfmate.rundir.directory import Run
from selfmate.rundir.format import RunError, State, read_committed, read_run
from selfmate.train.learner import Diverged, Learner, Losses
from selfmate.train.selfplay import should_compile
from selfmate.train.session import find_device, shared_processor
from selfmate.train.warm_start import learner_config
from selfmate.train.window import read_games
from selfmate.util.files import check_target, new_folder

__all__ = ["Cooldown", "cool_down"]

AVERAGED_SHARE: Final = 0.1
"""Share of the steps over which the weights are averaged: the decay of the average is 1 - 1 / (share * steps)."""


class Cooldown(Struct, frozen=True, kw_only=True):
    """What a cooldown has done: losses on held-out games, before it and after it, None without such games."""

    net_id: str
    step: int
    before: Losses | None
    after: Losses | None


def cool_down(
    run: Path,
    to: Path,
    steps: int,
    *,
    device: str = "auto",
    stopping: Callable[[], bool] = lambda: False,
    tell: Callable[[int], None] = lambda done: None,
) -> Cooldown | None:
    """Write the cooled net of a run that is not training into a new folder; return None, without one, when stopped.

    `tell` is called with the number of steps done. Raises `RunError` where the run has nothing to learn from.
    """
    read_run(run)  # raises where it is no run
    if to.exists():
        raise RunError(f"{to} already exists; choose a new folder", str(to))
    check_target(to)
    device = find_device(device)
    # 1. A copy of the learner, and the games of the run
    with Run.hold(run):
        manifest, state = read_run(run)
        if not any(shard.cycle < state.cycle for shard in state.shards):
            raise RunError(f"{run}: this run has no complete cycle of games to learn from yet", str(run))
        recipe = _averaging_less(current_recipe(run, manifest), steps)
        learner = _copy_of_learner(run, state, recipe, manifest.seed, device)
        window = read_games(run, state, recipe, device)
    # 2. Learn, at a rate that falls to zero
    cycle, first = state.cycle, learner.step
    learner.cooling = (first, first + steps)
    with shared_processor():
        before = learner.validate(window.held_out, cycle)
        try:
            learner.learn(
                window.learned,
                first + steps,
                cycle,
                stopping=stopping,
                tell=lambda step, losses: tell(step - first),
            )
        except Diverged as error:
            raise RunError(f"{run}: {error}", str(run)) from error
        if learner.step < first + steps:
            return None
        after = learner.validate(window.held_out, cycle)
    # 3. The averaged net
    with new_folder(to) as folder:
        card = checkpoint.save(
            rounded(learner.average),
            folder,
            step=learner.step,
            parents=(checkpoint.read_card(run / state.newest().name).net_id,),
            created_by=f"{manifest.recipe} {cycle:05}, cooldown of {steps} steps",
            compact=True,
        )
    return Cooldown(net_id=card.net_id, step=learner.step, before=before, after=after)


def _averaging_less(recipe: Recipe, steps: int) -> Recipe:
    decay = min(recipe.learner.ema, max(0.0, 1 - 1 / (AVERAGED_SHARE * steps)))
    return change(recipe, [f"learner.ema={decay!r}", "learner.swa=0", "learner.keep_every=0"])


def _copy_of_learner(run: Path, state: State, recipe: Recipe, seed: int, device: str) -> Learner:
    assert state.learner is not None
    for name, stamp in state.learner.files.items():
        read_committed(run, f"{state.learner.name}/{name}", stamp)
    learner = Learner(
        Net(learner_config(run, state)), recipe.learner, seed, device, compile=should_compile(recipe, device)
    )
    learner.restore(run / state.learner.name)
    return learner
