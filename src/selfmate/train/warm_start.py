"""`selfmate train --from RUN`: a new run that begins with the games of another.

A larger net, a leaner one or another recipe need not begin at nothing: the new net takes over the weights that fit,
learns from the newest games of the other run, and then plays on where that run stood. The other run is only read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch
from safetensors.numpy import load as read_safetensors

from selfmate._core import Buffer
from selfmate.nn.checkpoint import read_card
from selfmate.nn.config import NetConfig
from selfmate.nn.net import Net
from selfmate.nn.transfer import take_over, without_context
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import Recipe
from selfmate.rundir.directory import Run, read_run
from selfmate.rundir.format import (
    AVERAGE_PREFIX,
    LEARNER_TENSORS,
    Parent,
    RunError,
    Shard,
    State,
    read_committed,
    read_state,
)
from selfmate.train.batch import as_tensors
from selfmate.train.learner import Learner
from selfmate.util.files import write_file

__all__ = ["find_parent", "inherit", "inherit_weights"]


SAMPLE: Final = 1024
"""Positions over which what a block sees of the whole board is averaged, where the new net has no such thing."""


def find_parent(source: Path, directory: Path, recipe: Recipe) -> Parent:
    """Check that a new run in a directory can begin with the games of a run, and say which that is."""
    if (directory / "manifest.json").exists() and read_state(directory).learner is not None:
        raise RunError(f"{directory}: is there already; go on with it without --from", str(directory))
    manifest, state = read_run(source)
    if manifest.variant != recipe.variant.name:
        raise RunError(f"{source}: has games of {manifest.variant}, not of {recipe.variant.name}", str(source))
    if not any(shard.cycle < state.cycle for shard in state.shards):
        raise RunError(f"{source}: has no games of a whole cycle to learn from", str(source))
    # All that will be read must be whole: who is refused finds nothing half-made.
    assert state.learner is not None
    for name, stamp in state.learner.files.items():
        read_committed(source, f"{state.learner.name}/{name}", stamp)
    for shard in _wanted(state, at(recipe.learner.window, state.cycle)):
        read_committed(source, shard.name, shard.stamp)
    card = read_card(source / state.checkpoint(state.champion).name)
    return Parent(name=manifest.name or source.resolve().name, cycle=state.cycle, net_id=card.net_id)


def inherit(run: Run, source: Path) -> None:
    """Take over the newest games of another run, as many as the window may hold, and its count of cycles."""
    if run.state.learner is not None or run.state.shards:
        return
    run.commit()  # a run that is killed while games are copied is not a damaged one
    with Run.hold(source):
        _, state = read_run(source)
        shards = _wanted(state, at(run.recipe.learner.window, state.cycle))
        for shard in shards:
            write_file(run.directory / shard.name, read_committed(source, shard.name, shard.stamp))
    run.commit(
        cycle=state.cycle,
        first_game=state.first_game,
        shards=shards,
        games=sum(shard.games for shard in shards),
        positions=sum(shard.positions for shard in shards),
    )


def _wanted(state: State, positions: int) -> tuple[Shard, ...]:
    """Give the newest games of whole cycles that have so many positions, the oldest of them first."""
    found: list[Shard] = []
    for shard in sorted(state.shards, key=lambda each: (each.cycle, each.first), reverse=True):
        if shard.cycle < state.cycle and positions > 0:
            positions -= shard.positions
            found.append(shard)
    return tuple(reversed(found))


def inherit_weights(learner: Learner, source: Path, games: Buffer) -> bool:
    """Let a new learner begin with the averaged weights of another run's, as far as they fit; say whether any did."""
    _, state = read_run(source)
    assert state.learner is not None
    card = read_card(source / state.newest().name)
    theirs = Net(NetConfig.from_dict(card.config))
    name = f"{state.learner.name}/{LEARNER_TENSORS}"
    tensors = read_safetensors(read_committed(source, name, state.learner.files[LEARNER_TENSORS]))
    for key, tensor in theirs.state_dict().items():
        tensor.copy_(torch.from_numpy(tensors[f"{AVERAGE_PREFIX}{key}"]))
    if learner.net.config.context == "none" != theirs.config.context:
        batch = as_tensors(games.sample(SAMPLE, 0, False))
        theirs = without_context(theirs, batch.bits, batch.scalars)
    return take_over(theirs, learner.net) and take_over(theirs, learner.average)
