"""`--ray`: a training session whose games are played by a cluster, and matches on a cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch

from selfmate._core import GameRecord
from selfmate.cluster.engine_builds import EngineQuestion, ask_about
from selfmate.cluster.engine_match import EngineMatch
from selfmate.cluster.engine_worker import RefereedMoves
from selfmate.cluster.games import ClusterGames
from selfmate.cluster.identity import MachineFacts, check_machine, describe_machine
from selfmate.cluster.match_games import MatchDispatcher
from selfmate.cluster.messages import ClusterError
from selfmate.cluster.pool_match import PoolMatch
from selfmate.cluster.ray_fleet import RayEngineWorker, RayFleet, RayMatchWorker, RayNode, connect, ray_nodes
from selfmate.cluster.ray_metrics import RayMetrics
from selfmate.match.engine_match import EngineGames, PlayedGame
from selfmate.match.games import GamePlay
from selfmate.match.pool_games import PoolGames
from selfmate.match.runner import EvaluationCount
from selfmate.match.uci_client import EngineSpec
from selfmate.recipe.reader import change, load
from selfmate.recipe.reader import smoke as smoke_recipe
from selfmate.rundir.directory import Run
from selfmate.train.game_source import games_in_flight, play_seed
from selfmate.train.learner_processes import check_learners
from selfmate.train.memory import check_memory
from selfmate.train.session import Summary, find_device
from selfmate.train.session import train as train_here
from selfmate.util.text import many

__all__ = ["choose_device", "match_cluster", "playing_gpus", "train"]


def train(
    recipe: str | Path,
    *,
    ray: str,
    overrides: Sequence[str] = (),
    smoke: bool = False,
    device: str = "auto",
    learn_only: bool = False,
    learners: int = 1,
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
    check_learners(learners, find_device(device), wanted.learner)
    # 2. The cluster and its machines
    with connect(ray, playing_gpus(learners)):
        nodes = ray_nodes()
        playing = choose_device(device, nodes)
        ours = msgspec.convert(describe_machine(), MachineFacts)

        def check(node: RayNode, facts: MachineFacts) -> None:
            pools = len(node.seats(playing))
            check_machine(node.name, facts, ours, wanted, device=playing, pools=pools)

        fleet = RayFleet(playing, check)
        fleet.check_all()

        def make_games(run: Run, device: str, say: Callable[[str], None]) -> ClusterGames:
            seats = fleet.seats()
            machines = len({seat.machine for seat in seats})
            say(f"Ray at {ray}: {many(len(seats), 'worker')} on {many(machines, 'machine')} ({playing}).")
            return ClusterGames(
                fleet,
                run.recipe,
                play_seed(run),
                playing,
                games_in_flight(run),
                say=say,
                starts=run.read_starts(),
                show=RayMetrics().show,
            )

        # 3. The session
        return train_here(
            recipe,
            overrides=overrides,
            smoke=smoke,
            device=device,
            make_games=make_games,
            ray=ray,
            learners=learners,
            **options,
        )


def playing_gpus(learners: int) -> list[str] | None:
    """Return the GPUs of a cluster on this machine, as CUDA_VISIBLE_DEVICES names them; None for all.

    Several learners have the first ones to themselves, if there are more GPUs than learners.
    """
    count = torch.cuda.device_count()
    if learners == 1 or learners >= count:
        return None
    names = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return (names if len(names) == count else [str(each) for each in range(count)])[learners:]


@contextlib.contextmanager
def match_cluster(
    ray: str, device: str, say: Callable[[str], None], engines: Sequence[EngineSpec] = ()
) -> Iterator[GamePlay]:
    """Connect to the cluster at an address within a block, and yield what plays the games of matches on it.

    Every machine must have these `engines`, the same builds as this one.
    """
    with connect(ray):
        nodes = ray_nodes()
        playing = choose_device(device, nodes)
        questions = _questions(engines)
        ours = msgspec.convert(describe_machine(questions), MachineFacts)

        def check(node: RayNode, facts: MachineFacts) -> None:
            check_machine(node.name, facts, ours, None, device=playing, pools=len(node.seats(playing)))

        RayFleet(playing, check, engines=questions).check_all()

        def play_pool(
            match: PoolGames, *, on_finished: Callable[[list[GameRecord]], None], stopping: Callable[[], bool]
        ) -> EvaluationCount:
            fleet = RayFleet(playing, check, RayMatchWorker, questions)
            dispatcher = MatchDispatcher(fleet, PoolMatch(match, playing), say=say)
            return dispatcher.play(on_finished=on_finished, stopping=stopping)

        def play_engines(
            match: EngineGames,
            *,
            on_finished: Callable[[list[PlayedGame]], None],
            stopping: Callable[[], bool],
            unavailable: dict[int, str],
        ) -> EvaluationCount:
            leased = EngineMatch(match, playing)
            dispatcher = MatchDispatcher(RayFleet(playing, check, RayEngineWorker, questions), leased, say=say)

            def finish(played: list[RefereedMoves]) -> None:
                on_finished([leased.finished(each) for each in played])

            return dispatcher.play(on_finished=finish, stopping=stopping)

        yield GamePlay(play_pool, play_engines, sum(node.cpus for node in nodes))


def _questions(engines: Sequence[EngineSpec]) -> list[EngineQuestion]:
    """Return a question for each engine, once for those that differ in options alone."""
    found: dict[bytes, EngineQuestion] = {}
    for each in engines:
        question = ask_about(each)
        found.setdefault(msgspec.json.encode(question), question)
    return list(found.values())


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
