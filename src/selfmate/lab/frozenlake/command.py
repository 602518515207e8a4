"""What `selfmate lab frozenlake` does: agents and their scores, figures in a folder, pictures of a search."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from selfmate.errors import LabError, clip
from selfmate.lab.frozenlake.agents import AGENTS, check_agent, make_agent
from selfmate.lab.frozenlake.experiments import LakeResults
from selfmate.lab.frozenlake.goals import LEARNERS, measure_dry, measure_slippery
from selfmate.lab.frozenlake.lake import need
from selfmate.lab.frozenlake.scores import score, wilson
from selfmate.lab.frozenlake.settings import LakeSettings, change
from selfmate.lab.frozenlake.study import STUDIES, make_study
from selfmate.lab.frozenlake.table import make_table
from selfmate.lab.frozenlake.trace import record
from selfmate.lab.frozenlake.truth import find_truth
from selfmate.util.files import check_target, write_file, write_output

__all__ = ["Outputs", "draw_search", "measure", "report_agents"]


class Outputs(NamedTuple):
    """Where the pictures of a search go."""

    show: Path | None
    gif: Path | None
    strip: Path | None
    trace: Path | None
    watch: bool
    delay: float


def report_agents(settings: LakeSettings, names: list[str]) -> None:
    """Print the lake, the truth about it, and what agents reach; without names all of them."""
    for name in names:
        check_agent(name)
    _need_net(settings)
    lake = settings.make_lake()
    truth = find_truth(lake, settings.learning.gamma)
    print("\n".join(lake.rows))
    print(f"largest chance to reach the goal in {lake.step_limit} moves: {truth.best_chance:.1%}")
    print(f"chance of the policy with the largest return: {truth.chance_of_best_return:.1%}")
    for name in names or AGENTS:
        agent = make_agent(name, settings)
        began = time.perf_counter()
        agent.learn(lake, settings.run.seed)
        found = score(lake, agent.policy(), settings.run.test_episodes, settings.run.seed)
        low, high = wilson(found.reached, found.tested)
        moves = "" if found.moves is None else f", {found.moves:.1f} moves"
        tested = f"{found.reached} of {found.tested} episodes ({low:.0%} to {high:.0%})"
        print(
            f"{name:13} {found.chance:6.1%} exactly{moves}; {tested}; {time.perf_counter() - began:.1f} s", flush=True
        )


def measure(
    settings: LakeSettings,
    out: Path | None,
    workers: int,
    *,
    table: bool = False,
    study: str | None = None,
    goals: bool = False,
    quick: bool = False,
    agents: Sequence[str] = (),
) -> None:
    """Measure the table, studies or goals; print them as Markdown, and write them into the folder of results.

    `agents` names the learners whose goals are measured; without names, all of them.
    """
    studies = list(STUDIES) if study == "all" else [] if study is None else [study]
    if unknown := [name for name in studies if name not in STUDIES]:
        raise LabError(f"unknown study {clip(unknown[0])!r}; studies: {', '.join(STUDIES)}, all", unknown[0])
    if quick and goals:
        raise LabError("--goals has no quick size: leave out --quick, or set run.seeds=1 and run.maps=1")
    if quick:
        maps = 0 if settings.lake.map else 1
        settings = change(settings, ["mcts.repeats=2", "run.seeds=1", f"run.maps={maps}", "run.test_episodes=20"])
        workers = 1  # the start of a process takes longer than what it would do
    for name in agents:
        check_agent(name)
    if agents and (table or studies):
        raise LabError("--agent: --table and --study have their own agents; leave it out", agents[0])
    if others := [name for name in agents if name not in LEARNERS]:
        raise LabError(f"--agent: --goals measures {' and '.join(LEARNERS)}, not {others[0]}", others[0])
    if goals and settings.lake.map:
        raise LabError(
            "lake.map: --goals measures generated maps of 4 by 4 and of 8 by 8 squares; set no map", "lake.map"
        )
    need("gymnasium.envs.toy_text.frozen_lake")
    _need_net(settings)
    results = LakeResults(settings, out)
    if table:
        _publish(out, "table.md", make_table(results, workers, _tell, quick=quick))
    for name in studies:
        report = make_study(name, results, workers, _tell, quick=quick)
        _publish(out, f"{name}.md", report.markdown)
        if out is not None:
            write_file(out / f"{name}.svg", report.svg.encode())
    if goals:
        learners = tuple(name for name in LEARNERS if name in (agents or LEARNERS))
        _publish(out, "slippery.md", measure_slippery(results, workers, _tell, learners))
        _publish(out, "dry.md", measure_dry(results, workers, _tell, learners))


def _need_net(settings: LakeSettings) -> None:
    """Raise `MissingExtra` at once if PyTorch is to compute the net and is not there."""
    if settings.dqn.net == "torch":
        need("torch")


def _publish(out: Path | None, name: str, text: str) -> None:
    print(text, flush=True)
    if out is not None:
        write_file(out / name, text.encode())


def _tell(done: int, total: int, name: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{done} of {total} {name}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def draw_search(settings: LakeSettings, outputs: Outputs, agents: list[str]) -> None:
    """Play one episode with a search before each move, and draw it wherever it is wanted."""
    files = [path for path in outputs[:4] if isinstance(path, Path)]
    if len(agents) > 1:
        raise LabError(f"a picture shows one agent, not {len(agents)}: give --agent once", agents[1])
    for number, path in enumerate(files):
        if path in files[:number]:
            raise LabError(f"{path}: named for two outputs; give each a name of its own", str(path))
        check_target(path)
        if path.exists() and path.is_file():
            raise LabError(f"{path} already exists; remove it or choose another name", str(path))
    if outputs.gif is not None:
        need("PIL.Image")
    learner = check_agent(agents[0]).removesuffix("+mcts") if agents else "q-table"
    if learner == "mcts" and settings.mcts.rollout == "learned":
        settings = change(settings, ["mcts.rollout=random"])  # nothing was learned
    trace = record(settings, settings.run.seed, learner)
    drawn = [(path, _drawn(path, outputs, trace)) for path in files]
    for path, data in drawn:
        write_output(path, data)
        if path.is_file():  # not the device or the pipe that standard output is
            print(f"{path}: {len(data) / 1000:,.0f} kB")
    if outputs.watch:
        from rich.console import Console

        from selfmate.lab.frozenlake.watch import watch

        console = Console(highlight=False)
        watch(trace, console, outputs.delay if console.is_terminal else 0.0)


def _drawn(path: Path, outputs: Outputs, trace: dict[str, Any]) -> bytes:
    """Return what belongs into a file."""
    if path == outputs.show:
        from selfmate.lab.frozenlake.page import make_page

        return make_page(trace).encode()
    if path == outputs.gif:
        from selfmate.lab.frozenlake.gif import make_gif

        return make_gif(trace)
    if path == outputs.strip:
        from selfmate.lab.frozenlake.scene import draw_strip

        return draw_strip(trace).encode()
    return json.dumps(trace, separators=(",", ":")).encode()
