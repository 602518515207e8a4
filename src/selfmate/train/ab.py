"""`selfmate ab`: settings compared at equal steps or seconds, by games of one run or by forks of it.

    ab.json            the plan, fixed before the first step
    arms/NAME-SEED     a fork of the run in training; removed when its net is written
    nets/NAME-SEED     its net, with result.json (steps, seconds, losses), and of a fork its metrics.jsonl
    matches/*.pgn      the games, a file for each match

What is there is not done again: the same call resumes. Nets of fixed data are learned whole or not at all.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from selfmate.match.match_file import MatchFile
from selfmate.match.openings import balanced_openings
from selfmate.match.plan import MatchPlan
from selfmate.match.referee import RefereeSettings
from selfmate.match.report import MatchReport
from selfmate.match.spec import Contestant
from selfmate.match.tournament import play
from selfmate.nn import checkpoint
from selfmate.nn.net import Net, rounded
from selfmate.rating.match_stats import Match
from selfmate.recipe.reader import change
from selfmate.recipe.schema import Recipe
from selfmate.rundir.archive import current_recipe
from selfmate.rundir.fork import FORK_RECIPE, fork
from selfmate.rundir.format import read_run, read_state
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.train.ab_plan import PLAN_FILE, AbError, AbPlan, Arm, Pairing, match_search
from selfmate.train.learner import Learner, Losses
from selfmate.train.memory import check_memory
from selfmate.train.selfplay import should_compile
from selfmate.train.session import find_device, shared_processor
from selfmate.train.session import train as train_run
from selfmate.train.warm_start import averaged_net, inherit_weights
from selfmate.train.window import read_games
from selfmate.util.files import new_folder, remove
from selfmate.util.plan_file import keep_plan
from selfmate.util.random_streams import stream

__all__ = ["ArmResult", "Comparison", "compare"]

NEVER: Final = 1 << 40
"""A step that is not reached."""
OPENINGS_SEED: Final = 0
"""Of the openings, which are the same in all matches."""
FORK_SETTINGS: Final = ("gate.final_games=0", "progress.games=0", 'progress.engine=""', "selfplay.cycles=1000000")
"""No time of a fork goes to matches, and it does not end before its time."""
SPARE_SECONDS: Final = 1.0
"""A fork with less time left is complete."""


class ArmResult(Struct, frozen=True, kw_only=True):
    """How the net of an arm was made: `result.json` beside it."""

    steps: int
    """Training steps of the arm."""
    games: int = 0
    positions: int = 0
    """New games of a fork, and their positions."""
    seconds: float
    held_out: dict[str, float] | None = None
    """Losses on the held-out games of the run; None for forks, which hold out games of their own."""


class Comparison(Struct, frozen=True, kw_only=True):
    """What is known so far: results by arm and seed, and matches by pairing, with the games of whole pairs."""

    plan: AbPlan
    results: dict[tuple[str, int], ArmResult]
    matches: list[tuple[Pairing, Match]]

    @property
    def is_complete(self) -> bool:
        """Whether every match has all its games."""
        return len(self.matches) == len(self.plan.pairings) and all(
            match.games == self.plan.games for _, match in self.matches
        )


Tell = Callable[[str, float, float], None]
"""Called with what is being done, how much of it is done, and of how much."""


def compare(
    folder: Path,
    plan: AbPlan,
    *,
    device: str = "auto",
    stopping: Callable[[], bool] = lambda: False,
    tell: Tell = lambda text, done, total: None,
) -> Comparison:
    """Train what is missing of a comparison, play what is missing, and return it; `stopping` ends it early.

    Everything that can be wrong raises a `SelfmateError` before anything is written.
    """
    device = find_device(device)
    # 1. Check every arm
    for arm in plan.arms:
        match_search(arm, plan.visits)
    recipes = {} if plan.kind == "play" else _recipes(plan)
    keep_plan(folder / PLAN_FILE, plan, "comparison", AbError)
    # 2. Train
    for arm, seed in plan.trained:
        if not stopping() and not _net(folder, arm.name, seed).is_dir():
            tell(f"{arm.name}, seed {seed}", 0, 1)
            if plan.kind == "data":
                _learn(folder, plan, arm, seed, recipes[arm.name], device, stopping, tell)
            elif not _train_fork(folder, plan, arm, seed, recipes[arm.name], device):
                break
    results = {
        (arm.name, seed): msgspec.json.decode((path / "result.json").read_bytes(), type=ArmResult)
        for arm, seed in plan.trained
        if (path := _net(folder, arm.name, seed)).is_dir()
    }
    # 3. Play
    matches: list[tuple[Pairing, Match]] = []
    if len(results) == len(plan.trained) and not stopping():
        openings = tuple(balanced_openings(plan.variant, plan.games // 2, OPENINGS_SEED))
        for pairing in plan.pairings:
            if not stopping():
                matches.append((pairing, _play(folder, plan, pairing, openings, device, stopping, tell)))
    return Comparison(plan=plan, results=results, matches=matches)


def _net(folder: Path, arm: str, seed: int) -> Path:
    return folder / "nets" / f"{arm}-{seed}"


def _recipes(plan: AbPlan) -> dict[str, Recipe]:
    """Return the recipe of each arm; raise for one that the run cannot go on with."""
    source = Path(plan.source)
    manifest, state = read_run(source)
    now, found = current_recipe(source, manifest), {}
    theirs = averaged_net(source).config
    if not any(shard.cycle < state.cycle for shard in state.shards):
        raise AbError(f"{source}: this run has no complete cycle of games to learn from", str(source))
    for arm in plan.arms:
        recipe = change(now, (*arm.settings, *(FORK_SETTINGS if plan.kind == "forks" else ())))
        if recipe.variant != now.variant:
            raise AbError(f"--arm {arm.name}: the run plays {now.variant.name}", arm.name)
        if plan.kind == "forks" and recipe.net_config(state.cycle) != theirs:
            raise AbError(f"--arm {arm.name}: another net than the run's cannot go on with it; use --steps", arm.name)
        check_memory(recipe)
        found[arm.name] = recipe
    return found


# -- fixed data ---------------------------------------------------------------------------------------------------


def _learn(
    folder: Path,
    plan: AbPlan,
    arm: Arm,
    seed: int,
    recipe: Recipe,
    device: str,
    stopping: Callable[[], bool],
    tell: Tell,
) -> None:
    """Train the net of an arm on the games of the run, and write it; write nothing when stopped."""
    source = Path(plan.source)
    _, state = read_run(source)
    cycle = state.cycle
    window = read_games(source, state, recipe, device)
    net = Net(recipe.net_config(cycle), seed=stream(seed, "net") >> 1)
    learner = Learner(net, recipe.learner, seed, device, compile=should_compile(recipe, device))
    if plan.weights == "run":
        inherit_weights(learner, source, window.learned)
    clock = _Clock(plan, lambda done, total: tell(f"{arm.name}, seed {seed}", done, total))
    with shared_processor():
        learner.learn(
            window.learned,
            plan.steps or NEVER,
            cycle,
            stopping=lambda: stopping() or clock.is_over(),
            tell=clock.count,
        )
        if stopping():
            return
        held_out = learner.validate(window.held_out, cycle)
    _write_net(folder, arm.name, seed, learner.average, learner.step, clock.seconds, held_out=held_out)


class _Clock:
    """Seconds of learning, from the end of the first step on: what is compiled before it does not count."""

    def __init__(self, plan: AbPlan, tell: Callable[[float, float], None]) -> None:
        self._plan = plan
        self._tell = tell
        self._began: float | None = None

    @property
    def seconds(self) -> float:
        return 0.0 if self._began is None else time.monotonic() - self._began

    def is_over(self) -> bool:
        return self._plan.seconds is not None and self.seconds >= self._plan.seconds

    def count(self, step: int, losses: Losses) -> None:
        self._began = time.monotonic() if self._began is None else self._began
        if self._plan.seconds is None:
            self._tell(step, self._plan.steps or 1)
        else:
            self._tell(min(self.seconds, self._plan.seconds), self._plan.seconds)


def _write_net(
    folder: Path,
    arm: str,
    seed: int,
    net: Net,
    steps: int,
    seconds: float,
    *,
    held_out: Losses | None = None,
    games: int = 0,
    positions: int = 0,
    metrics: bytes = b"",
) -> None:
    target = _net(folder, arm, seed)
    target.parent.mkdir(exist_ok=True)
    result = ArmResult(
        steps=steps,
        games=games,
        positions=positions,
        seconds=round(seconds, 3),
        held_out=None if held_out is None else held_out._asdict(),
    )
    with new_folder(target) as written:
        checkpoint.save(rounded(net), written, step=steps, created_by=f"ab {arm}-{seed}", compact=True)
        (written / "result.json").write_bytes(msgspec.json.encode(result))
        if metrics:
            (written / "metrics.jsonl").write_bytes(metrics)


# -- forks --------------------------------------------------------------------------------------------------------


def _train_fork(folder: Path, plan: AbPlan, arm: Arm, seed: int, recipe: Recipe, device: str) -> bool:
    """Train a fork for the rest of its time, and write its averaged net; return False when it was stopped."""
    assert plan.seconds is not None
    directory = folder / "arms" / f"{arm.name}-{seed}"
    directory.parent.mkdir(exist_ok=True)
    if not directory.is_dir():
        fork(Path(plan.source), directory, recipe, seed)
    before = read_state(Path(plan.source))
    left = plan.seconds - (read_state(directory).seconds - before.seconds)
    if left > SPARE_SECONDS:
        # The lines of the session are not part of the output.
        with contextlib.redirect_stdout(sys.stderr):
            summary = train_run(directory / FORK_RECIPE, directory, left / 60, device=device, is_part=True)
        if summary.reason == "stopped":
            return False
    state = read_state(directory)
    assert state.learner is not None
    assert before.learner is not None
    _write_net(
        folder,
        arm.name,
        seed,
        averaged_net(directory),
        state.learner.step - before.learner.step,
        state.seconds - before.seconds,
        games=state.games - before.games,
        positions=state.positions - before.positions,
        metrics=(directory / "metrics.jsonl").read_bytes()[before.metrics_bytes : state.metrics_bytes],
    )
    remove(directory)
    return True


# -- matches ------------------------------------------------------------------------------------------------------


def _play(
    folder: Path,
    plan: AbPlan,
    pairing: Pairing,
    openings: tuple[str, ...],
    device: str,
    stopping: Callable[[], bool],
    tell: Tell,
) -> Match:
    """Play what is missing of a match; return its result so far."""
    arms = {arm.name: arm for arm in plan.arms}
    contestants, players, searches = [], [], []
    for name, seed in (pairing.first, pairing.second):
        spec = plan.source if plan.kind == "play" else str(_net(folder, name, seed))
        search, visits = match_search(arms[name], plan.visits)
        limit, label = Limit(visits=visits), f"{name}-{seed} ({visits} visits)"
        contestants.append(Contestant(spec=spec, player=spec, engine=None, limit=limit, name=label, named=True))
        players.append(Player(spec, device=device, threads=1 if device == "cpu" else None))
        searches.append(search)
    match = MatchPlan(
        variant=plan.variant,
        contestants=tuple(contestants),
        openings=openings,
        referee=RefereeSettings(),
        searches=tuple(searches),
    )
    path = folder / "matches" / pairing.file
    path.parent.mkdir(exist_ok=True)
    text = f"{' against '.join(each.name for each in contestants)}"

    def show(report: MatchReport) -> None:
        tell(text, len(report.entries), report.games)

    with MatchFile(path, match.settings) as file:
        return play(match, players, file, stopping=stopping, tell=show).match()
