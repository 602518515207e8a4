"""`--ray`: a training session whose games are played by a cluster, and matches on a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from selfmate._core import GameRecord
from selfmate.cluster.games import ClusterGames
from selfmate.cluster.identity import MachineFacts, check_machine, describe_machine
from selfmate.cluster.match_games import MatchDispatcher
from selfmate.cluster.messages import ClusterError
from selfmate.cluster.ray_fleet import RayFleet, RayMatchWorker, RayNode, connect, ray_nodes
from selfmate.match.pool_games import PlayPool, PoolGames
from selfmate.match.runner import EvaluationCount
from selfmate.recipe.reader import change, load
from selfmate.recipe.reader import smoke as smoke_recipe
from selfmate.rundir.directory import Run
from selfmate.train.game_source import games_in_flight, play_seed
from selfmate.train.memory import check_memory
from selfmate.train.session import Summary, find_device
from selfmate.train.session import train as train_here
from selfmate.util.text import many

__all__ = ["choose_device", "match_cluster", "train"]


def train(
    recipe: str | Path,
    *,
    ray: str,
    overrides: Sequence[str] = (),
    smoke: bool = False,
    device: str = "auto",
    learn_only: bool = False,
    **options: Any,
) -> Summary:
    """Train by a recipe with the games of the cluster at an address; the other options are those of `train.session`.

    This process is the driver: it has the run directory, the learner and the matches. Everything that can be wrong with
    the cluster is found before the run directory is written to.
    """
    # 1. The recipe and this machine
    if learn_only:
        raise ClusterError("--learn-only plays no games; leave out --ray")
    wanted = change(smoke_recipe(load(recipe)) if smoke else load(recipe), overrides)
    check_memory(wanted)
    find_device(device)
    # 2. The cluster and its machines
    with connect(ray):
        nodes = ray_nodes()
        playing = choose_device(device, nodes)
        ours = msgspec.convert(describe_machine(), MachineFacts)

        def check(node: RayNode, facts: MachineFacts) -> None:
            pools = len(node.seats(playing))
            check_machine(node.name, facts, ours, wanted, device=playing, pools=pools)

        fleet = RayFleet(playing, check)
        fleet.check_all()

        def make_games(run: Run, device: str, say: Callable[[str], None]) -> ClusterGames:
            seats = [seat for node in nodes for seat in node.seats(playing)]
            machines = sum(1 for node in nodes if node.seats(playing))
            say(f"Ray at {ray}: {many(len(seats), 'worker')} on {many(machines, 'machine')} ({playing}).")
            return ClusterGames(
                fleet,
                run.recipe,
                play_seed(run),
                playing,
                games_in_flight(run),
                say=say,
                starts=run.read_starts(),
            )

        # 3. The session
        return train_here(
            recipe, overrides=overrides, smoke=smoke, device=device, make_games=make_games, ray=ray, **options
        )


@contextlib.contextmanager
def match_cluster(ray: str, device: str, say: Callable[[str], None]) -> Iterator[PlayPool]:
    """Connect to the cluster at an address within a block, and yield what plays the games of matches on it."""
    with connect(ray):
        nodes = ray_nodes()
        playing = choose_device(device, nodes)
        ours = msgspec.convert(describe_machine(), MachineFacts)

        def check(node: RayNode, facts: MachineFacts) -> None:
            check_machine(node.name, facts, ours, None, device=playing, pools=len(node.seats(playing)))

        RayFleet(playing, check).check_all()

        def play(
            match: PoolGames, *, on_finished: Callable[[list[GameRecord]], None], stopping: Callable[[], bool]
        ) -> EvaluationCount:
            fleet = RayFleet(playing, check, RayMatchWorker)
            return MatchDispatcher(fleet, match, playing, say=say).play(on_finished=on_finished, stopping=stopping)

        yield play


def choose_device(wanted: str, nodes: Sequence[RayNode]) -> str:
    """Return the device of all workers, `cpu` or `cuda`: GPUs where the cluster has any, unless `cpu` is wanted."""
    gpus, cpus = sum(node.gpus for node in nodes), sum(node.cpus for node in nodes)
    if wanted == "cuda" and not gpus:
        raise ClusterError("the cluster has no GPU; --device cpu plays on its cores", wanted)
    if gpus and wanted != "cpu":
        return "cuda"
    if not cpus:
        raise ClusterError("the cluster has no core to play on; start its machines without --num-cpus=0")
    return "cpu"
