"""`selfmate train --from RUN`: a new run that begins with the games and weights of another, or with a bare net.

A larger net, a leaner one or another recipe need not begin untrained: the new net takes the weights that fit, learns
from the newest games of the other run, and continues self-play from there. The other run is only read; it may be a
packed one. A bare net has no games: self-play begins with it, as the net of cycle 0. So it does with a run or a net of
another variant or board, whose games are none of this one: what means the same carries over (`nn.transfer.carry_over`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch

from selfmate._core import Buffer
from selfmate.nn.checkpoint import JSON_NAME, load, read_card
from selfmate.nn.config import NetConfig, NetError
from selfmate.nn.net import Net
from selfmate.nn.tensor_file import unpack_tensors
from selfmate.nn.transfer import (
    CarriedWeights,
    carry_over,
    check_towers,
    copy_matching_weights,
    means_the_same,
    without_context,
)
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
from selfmate.train.learner_card import read_learner_config
from selfmate.util.files import write_file

__all__ = [
    "averaged_net",
    "brings_games",
    "find_parent",
    "inherit",
    "inherit_weights",
    "is_bare_net",
    "learner_config",
]

CONTEXT_POSITIONS: Final = 1024
"""Positions over which the context of the parent's blocks is averaged when the new net has none."""


def find_parent(source: Path, directory: Path, recipe: Recipe) -> Parent:
    """Return the entry for the manifest of a new run in `directory` that begins with run or net `source`.

    Raises `RunError` where it cannot: the directory is in use, no games, damaged files, a net whose weights do not fit.
    """
    if (directory / "manifest.json").exists() and read_state(directory).learner is not None:
        raise RunError(f"{directory}: already exists; run the same command without --from to resume it", str(directory))
    if is_bare_net(source):
        return _net_as_parent(source, recipe)
    manifest, state = read_run(source)
    card = read_card(source / state.checkpoint(state.champion).name)
    if manifest.variant != recipe.variant.name:
        _check_fit(source, averaged_net(source), recipe)
        return Parent(name=manifest.name or source.resolve().name, cycle=0, net_id=card.net_id)
    if not any(shard.cycle < state.cycle for shard in state.shards):
        raise RunError(f"{source}: this run has no complete cycle of games to learn from yet", str(source))
    # Check every file that will be read, before anything is written.
    assert state.learner is not None
    for name, stamp in state.learner.files.items():
        read_committed(source, f"{state.learner.name}/{name}", stamp)
    learner_config(source, state)  # raises for a net of a version to come
    for shard in _wanted(state, at(recipe.learner.window, state.cycle)):
        read_committed(source, shard.name, shard.stamp)
    return Parent(name=manifest.name or source.resolve().name, cycle=state.cycle, net_id=card.net_id)


def is_bare_net(source: Path) -> bool:
    """Return whether a path is the folder of a net, not a run."""
    return (source / JSON_NAME).is_file() and not (source / "manifest.json").exists()


def _net_as_parent(source: Path, recipe: Recipe) -> Parent:
    net, card = load(source)
    _check_fit(source, net, recipe)
    return Parent(name=source.resolve().name, cycle=0, net_id=card.net_id)


def _check_fit(source: Path, net: Net, recipe: Recipe) -> None:
    """Raise `RunError` if the weights of a net, maybe of another variant, do not fit the recipe's."""
    wanted = Net(recipe.net_config(), seed=None)
    if net.config.variant != wanted.config.variant:
        try:
            check_towers(net, wanted)
        except NetError as error:
            raise RunError(f"{source}: a net of {net.config.variant}: {error}", "net") from None
    elif not means_the_same(net, wanted) or net.config.context != wanted.config.context:
        sizes = [f"{each.config.blocks} blocks of {each.config.channels} channels" for each in (net, wanted)]
        raise RunError(f"{source}: the weights of this net ({sizes[0]}) do not fit the recipe's ({sizes[1]})", "net")


def brings_games(source: Path, variant: str) -> bool:
    """Return whether a new run of a variant learns from the games of `source`: a run of the same variant."""
    return not is_bare_net(source) and read_run(source)[0].variant == variant


def inherit(run: Run, source: Path) -> None:
    """Copy the newest games of another run, up to the capacity of the window, and take over its cycle number."""
    if run.state.learner is not None or run.state.shards or not brings_games(source, run.manifest.variant):
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


def learner_config(run: Path, state: State) -> NetConfig:
    """Return the config of the net that is in training at a commit of a run."""
    assert state.learner is not None
    config = read_learner_config(run / state.learner.name)
    return config or NetConfig.from_dict(read_card(run / state.newest().name).config)


def averaged_net(run: Path) -> Net:
    """Return the averaged net of a run at its last commit, before it is rounded for play."""
    _, state = read_run(run)
    assert state.learner is not None
    net = Net(learner_config(run, state))
    name = f"{state.learner.name}/{LEARNER_TENSORS}"
    tensors = unpack_tensors(read_committed(run, name, state.learner.files[LEARNER_TENSORS]))
    for key, tensor in net.state_dict().items():
        tensor.copy_(torch.from_numpy(tensors[f"{AVERAGE_PREFIX}{key}"]))
    return net


def inherit_weights(learner: Learner, source: Path, games: Buffer) -> bool | CarriedWeights:
    """Copy the weights of a net, or the averaged ones of another run, into a new learner as far as they fit.

    Returns whether any did; of a net of another variant, which.
    """
    theirs = load(source)[0] if is_bare_net(source) else averaged_net(source)
    if theirs.config.variant != learner.net.config.variant:
        carry_over(theirs, learner.net)
        return carry_over(theirs, learner.average)
    if not means_the_same(theirs, learner.net):
        return False
    if learner.net.config.context == "none" != theirs.config.context and games.positions:
        batch = as_tensors(games.sample(CONTEXT_POSITIONS, 0, False))
        theirs = without_context(theirs, batch.bits, batch.scalars)
    return copy_matching_weights(theirs, learner.net) and copy_matching_weights(theirs, learner.average)
