"""`selfmate train --from RUN`: a new run that begins with the games and weights of another.

A larger net, a leaner one or another recipe need not begin untrained: the new net takes the weights that fit, learns
from the newest games of the other run, and continues self-play from there. The other run is only read.
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
from selfmate.nn.transfer import copy_matching_weights, means_the_same, without_context
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import Recipe
from selfmate.rundir.directory import Run
from selfmate.rundir.format import (
    AVERAGE_PREFIX,
    LEARNER_TENSORS,
    Parent,
    RunError,
    Shard,
    State,
    read_committed,
    read_run,
    read_state,
)
from selfmate.train.batch import as_tensors
from selfmate.train.learner import Learner
from selfmate.util.files import write_file

__all__ = ["averaged_net", "find_parent", "inherit", "inherit_weights"]

CONTEXT_POSITIONS: Final = 1024
"""Positions over which the context of the parent's blocks is averaged when the new net has none."""


def find_parent(source: Path, directory: Path, recipe: Recipe) -> Parent:
    """Return the entry for the manifest of a new run in `directory` that begins with the games of run `source`.

    Raises `RunError` where it cannot: the directory is in use, another variant, no games, damaged files.
    """
    if (directory / "manifest.json").exists() and read_state(directory).learner is not None:
        raise RunError(f"{directory}: already exists; run the same command without --from to resume it", str(directory))
    manifest, state = read_run(source)
    if manifest.variant != recipe.variant.name:
        raise RunError(f"{source}: a run of {manifest.variant}; the recipe plays {recipe.variant.name}", str(source))
    if not any(shard.cycle < state.cycle for shard in state.shards):
        raise RunError(f"{source}: this run has no complete cycle of games to learn from yet", str(source))
    # Check every file that will be read, before anything is written.
    assert state.learner is not None
    for name, stamp in state.learner.files.items():
        read_committed(source, f"{state.learner.name}/{name}", stamp)
    for shard in _wanted(state, at(recipe.learner.window, state.cycle)):
        read_committed(source, shard.name, shard.stamp)
    card = read_card(source / state.checkpoint(state.champion).name)
    return Parent(name=manifest.name or source.resolve().name, cycle=state.cycle, net_id=card.net_id)


def inherit(run: Run, source: Path) -> None:
    """Copy the newest games of another run, up to the capacity of the window, and take over its cycle number."""
    if run.state.learner is not None or run.state.shards:
        return
    run.commit()  # so that a run killed while games are copied is not taken for a damaged one
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
    """Return the newest shards of complete cycles that together have this many positions, oldest first."""
    found: list[Shard] = []
    for shard in sorted(state.shards, key=lambda each: (each.cycle, each.first), reverse=True):
        if shard.cycle < state.cycle and positions > 0:
            positions -= shard.positions
            found.append(shard)
    return tuple(reversed(found))


def averaged_net(run: Path) -> Net:
    """Return the averaged net of a run at its last commit, before it is rounded for play."""
    _, state = read_run(run)
    assert state.learner is not None
    net = Net(NetConfig.from_dict(read_card(run / state.newest().name).config))
    name = f"{state.learner.name}/{LEARNER_TENSORS}"
    tensors = read_safetensors(read_committed(run, name, state.learner.files[LEARNER_TENSORS]))
    for key, tensor in net.state_dict().items():
        tensor.copy_(torch.from_numpy(tensors[f"{AVERAGE_PREFIX}{key}"]))
    return net


def inherit_weights(learner: Learner, source: Path, games: Buffer) -> bool:
    """Copy the averaged weights of another run into a new learner as far as they fit; return whether any did."""
    theirs = averaged_net(source)
    if not means_the_same(theirs, learner.net):
        return False
    if learner.net.config.context == "none" != theirs.config.context:
        batch = as_tensors(games.sample(CONTEXT_POSITIONS, 0, False))
        theirs = without_context(theirs, batch.bits, batch.scalars)
    return copy_matching_weights(theirs, learner.net) and copy_matching_weights(theirs, learner.average)
