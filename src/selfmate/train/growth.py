"""A net that grows in a run: at a cycle where the recipe has more blocks or channels, the learner gets a larger net."""

from __future__ import annotations

from typing import Any

from selfmate.nn.config import NetConfig
from selfmate.nn.net import Net
from selfmate.nn.transfer import grow
from selfmate.recipe.schedule import at
from selfmate.train.checkpoints import write_learner, write_net
from selfmate.train.learner import Learner
from selfmate.train.lessons import Lessons
from selfmate.train.metrics import name_losses
from selfmate.util.random_streams import stream

__all__ = ["grow_net", "grown_learner"]


def grow_net(lessons: Lessons, *, compile: bool) -> bool:
    """Let the net grow where the recipe says so at this cycle, and learn before it plays.

    Everything is committed: the larger net, then what it has learned. Returns False when it was stopped before the goal
    step. Without a gate the larger net is the champion of the cycle; else its next candidate is judged as any other.
    """
    run, recipe = lessons.run, lessons.run.recipe
    cycle = run.state.cycle
    steps, config = at(recipe.learner.grow_steps, cycle), recipe.net_config(cycle)
    # 1. The larger net
    if config != lessons.learner.net.config:
        lessons.learner = learner = grown_learner(lessons.learner, config, cycle, compile=compile)
        goal, written = learner.step + steps, write_learner(run, learner, grown=True)
        run.commit(learner=written, grow_goal=max(1, goal), first_step=goal, goal=run.state.goal + steps)
        lessons.view.say(f"The net grows to {config.blocks} blocks of {config.channels} channels.")
    if not (goal := run.state.grow_goal):
        return True
    # 2. What it learns before it plays
    lessons.status.stage = "learning with a larger net"
    losses = lessons.learn(cycle, (goal - steps, goal))
    learner, state = lessons.learner, run.state
    is_done = learner.step >= goal
    changes: dict[str, Any] = {"kept_nets": (*state.kept_nets, *lessons.take_kept())}
    if state.learner is None or state.learner.step < learner.step:
        changes["learner"] = write_learner(run, learner)
    # 3. The net that plays
    if is_done:
        changes["grow_goal"] = 0
        lessons.log("grow", cycle, step=learner.step, **name_losses(losses, "loss"))
    if is_done and at(recipe.gate.games, cycle) == 0:
        others = tuple(each for each in state.checkpoints if each.cycle != cycle)
        changes |= {"checkpoints": (*others, write_net(run, learner, cycle, grown=True)), "champion": cycle}
    run.commit(**changes, seconds=lessons.status.elapsed())
    return is_done


def grown_learner(old: Learner, config: NetConfig, cycle: int, *, compile: bool = False) -> Learner:
    """Return a learner at the same step with a larger net that computes the same, and so does its average.

    New weights depend on the seed and the cycle alone. The optimizer begins anew, as that of a packed copy does.
    """
    net = Net(config, seed=stream(old.seed, "net", cycle) >> 1)  # torch's generator takes 63 bits
    grow(old.net, net)
    learner = Learner(net, old.part, old.seed, str(old.device), compile=compile, group=old.group)
    grow(old.average, learner.average)
    learner.step, learner.rate_scale, learner.adjust = old.step, old.rate_scale, old.adjust
    return learner
