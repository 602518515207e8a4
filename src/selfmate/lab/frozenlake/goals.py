"""The goals of this chapter, measured over many seeds and maps (docs/results/frozenlake.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, Final, NamedTuple

from selfmate.lab.frozenlake.experiments import LakeJob, LakeResults, learn_job, plan_job, truth_of
from selfmate.lab.frozenlake.settings import LakeSettings, change
from selfmate.lab.frozenlake.study import EPISODES, OUR_DQN, OUR_EPISODES, SCALED_C
from selfmate.lab.frozenlake.table import SNAPSHOTS

__all__ = ["LEARNERS", "measure_dry", "measure_slippery"]

Tell = Callable[[int, int, str], None]
SEARCHES: Final = (10, 100, 1000, 10_000)
LEARNERS: Final = ("q-table", "dqn")
DRY_EPISODES: Final = (300, 1000)
SEED_EPISODES: Final = (300, 500, 1000)
MOST_NAMED: Final = 8
"""Most maps that a line names."""
SMALL: Final = 4
CURE: Final = 50_000
"""Simulations with which the search finds every shortest path on 4x4 dry maps, if c has the size of the returns."""
CERTAIN: Final = 1e-6
"""Chances and moves that differ by less are equal."""


def measure_slippery(results: LakeResults, workers: int, tell: Tell, learners: tuple[str, ...] = LEARNERS) -> str:
    """Return, as Markdown, what agents reach on ice over `run.seeds` seeds: median, quartiles and extremes."""
    settings = change(results.settings, ["lake.slippery=true"])
    seeds = [settings.run.seed + number for number in range(settings.run.seeds)]
    ours = change(settings, OUR_DQN)
    lines = ["| agent | after | median | middle half | lowest | highest |", "|---|---|---|---|---|---|"]
    # 1. Planners with roll-outs of the best policy
    for count in SEARCHES:
        chosen = change(settings, [f"mcts.simulations={count}", f"mcts.c={SCALED_C}", "mcts.rollout=best"])
        jobs = [plan_job(chosen, seed, f"best roll-outs, c {SCALED_C:g}, {count}") for seed in seeds]
        done = results.do(jobs, workers, tell)
        lines.append(_line("MCTS, best roll-outs, c = 100", f"{count:,} simulations", [done[job.name] for job in jobs]))
    # 2. Learners
    kinds: list[tuple[str, str, LakeSettings, str, tuple[int, ...]]] = [
        ("Q-table", "q-table", settings, "slippery", EPISODES),
        ("DQN, the seed's settings", "dqn", settings, "slippery", SNAPSHOTS),
        ("DQN, our settings", "dqn", ours, "our settings", OUR_EPISODES),
    ]
    for name, learner, chosen, tag, episodes in kinds:
        if learner not in learners:
            continue
        jobs = [learn_job(learner, chosen, seed, episodes, tag) for seed in seeds]
        done = results.do(jobs, workers, tell)
        for count in episodes:
            lines.append(_line(name, f"{count:,} episodes", [done[job.name][str(count)] for job in jobs]))
    truth = truth_of(settings)
    lines.append(f"| best policy by return | | {100 * truth['chance_of_best_return']:.1f} | | | |")
    lines.append(f"| largest chance | | {100 * truth['best_chance']:.1f} | | | |")
    return "\n".join(lines) + "\n"


def _line(agent: str, after: str, scores: list[dict[str, Any]]) -> str:
    chances = sorted(100 * score["chance"] for score in scores)
    low, high = chances[len(chances) // 4], chances[-1 - len(chances) // 4]
    ends = f"{low:.1f} to {high:.1f} | {chances[0]:.1f} | {chances[-1]:.1f}"
    return f"| {agent} | {after} | {median(chances):.1f} | {ends} |"


class DryKind(NamedTuple):
    """A learner on dry ground: its name in the table, its changes of the settings, and the tag of its jobs."""

    name: str
    learner: str
    changes: tuple[str, ...]
    tag: str
    decays: tuple[str, ...] = ("episodes", "moves")
    """What its exploration is counted by."""


DRY_KINDS: Final = (
    DryKind("q-table", "q-table", (), "dry"),
    DryKind("dqn", "dqn", (), "dry"),
    DryKind("dqn, our settings", "dqn", OUR_DQN, "dry, our settings", ("episodes",)),
)


def measure_dry(results: LakeResults, workers: int, tell: Tell, learners: tuple[str, ...] = LEARNERS) -> str:
    """Return, as Markdown, on which dry maps an agent reaches the goal in the fewest moves: the map, and the others.

    Maps on which it does not are named; for a learner that never reaches the goal, in brackets, with the episodes of
    its learning that reached it.
    """
    base = change(results.settings, ["lake.slippery=false"])
    kinds = [kind for kind in DRY_KINDS if kind.learner in learners]
    lines = [
        "| size | exploration by | agent | after | the map | others | otherwise |",
        "|---|---|---|---|---|---|---|",
    ]
    for size in (SMALL, 8):
        for by in ("episodes", "moves"):
            settings = change(base, [f"lake.size={size}", f"learning.epsilon_by={by}"])
            lines += _dry_lines(results, settings, workers, tell, [kind for kind in kinds if by in kind.decays])
    lines += [
        "",
        "| agent, the map | after | seeds | goal in fewest moves | goal | never |",
        "|---|---|---|---|---|---|",
    ]
    lines += _seed_lines(results, base, workers, tell, kinds)
    return "\n".join(lines) + "\n"


def _seed_lines(
    results: LakeResults, settings: LakeSettings, workers: int, tell: Tell, kinds: list[DryKind]
) -> Iterator[str]:
    """Yield how many agents with different seeds reach the goal on the map of the settings."""
    seeds = [settings.run.seed + number for number in range(settings.run.seeds)]
    shortest = truth_of(settings)["shortest"]
    for kind in kinds:
        chosen = change(settings, kind.changes)
        jobs = [learn_job(kind.learner, chosen, seed, SNAPSHOTS, kind.tag) for seed in seeds]
        done = results.do(jobs, workers, tell)
        for count in SEED_EPISODES:
            scores = [done[job.name][str(count)] for job in jobs]
            best = sum(_is_shortest(score, shortest) for score in scores)
            reached = sum(score["chance"] > 1 - CERTAIN for score in scores)
            never = sum(score["moves"] is None for score in scores)
            yield f"| {kind.name} | {count:,} episodes | {len(seeds)} | {best} | {reached} | {never} |"


def _dry_lines(
    results: LakeResults, settings: LakeSettings, workers: int, tell: Tell, kinds: list[DryKind]
) -> Iterator[str]:
    size, by, seed = settings.lake.size, settings.learning.epsilon_by, settings.run.seed
    maps = [None, *(settings.lake.map_seed + 1 + number for number in range(settings.run.maps))]
    base = results.settings
    where = "" if (size, by) == (base.lake.size, base.learning.epsilon_by) else f", {size}x{size}, by {by}"
    learning: dict[str, list[LakeJob]] = {
        kind.name: [
            learn_job(kind.learner, change(settings, kind.changes), seed, SNAPSHOTS, f"{kind.tag}{where}", map_seed)
            for map_seed in maps
        ]
        for kind in kinds
    }
    learned = results.do([job for jobs in learning.values() for job in jobs], workers, tell)
    shortest = [truth_of(settings, map_seed)["shortest"] for map_seed in maps]
    for name, jobs in learning.items():
        for count in DRY_EPISODES:
            scores = [learned[job.name][str(count)] for job in jobs]
            yield f"| {size}x{size} | {by} | {name} | {count:,} episodes | {_dry_cells(maps, shortest, scores)} |"
    if by == "moves":
        return
    # Planners, by the settings, and on a small lake with the c and the simulations that it needs
    cured = [change(settings, [f"mcts.c={SCALED_C}", f"mcts.simulations={CURE}"])] if size == SMALL else []
    for chosen in (settings, *cured):
        part = chosen.mcts
        for name in ("", *(name for name in learning if name in LEARNERS)):
            planning = []
            for number, map_seed in enumerate(maps):
                known = learned[learning[name][number].name][str(DRY_EPISODES[-1])]["values"] if name else None
                tag = f"{name or 'no learner'}, dry{where}, {part.simulations}, c {part.c:g}"
                planning.append(plan_job(chosen, seed, tag, known, map_seed))
            done = results.do(planning, workers, tell)
            scores = [done[job.name] for job in planning]
            agent, after = f"{name}+mcts".strip("+"), f"{part.simulations:,} simulations, c = {part.c:g}"
            yield f"| {size}x{size} | {by} | {agent} | {after} | {_dry_cells(maps, shortest, scores)} |"


def _is_shortest(score: dict[str, Any], fewest: float) -> bool:
    """Whether a policy always reaches the goal, in the fewest moves."""
    return bool(score["chance"] > 1 - CERTAIN and abs(score["moves"] - fewest) < CERTAIN)


def _dry_cells(maps: list[int | None], shortest: list[float], scores: list[dict[str, Any]]) -> str:
    """Return three cells: whether the map is solved, on how many others it is, and what happens elsewhere."""
    solved = [_is_shortest(score, fewest) for fewest, score in zip(shortest, scores, strict=True)]
    failed = [
        ("the map" if map_seed is None else str(map_seed), fewest, score)
        for map_seed, fewest, score, is_solved in zip(maps, shortest, scores, solved, strict=True)
        if not is_solved
    ]
    notes = [
        f"{name}: {100 * score['chance']:.0f} % in {score['moves']:.0f} moves instead of {fewest:.0f}"
        for name, fewest, score in failed
        if score["moves"] is not None
    ]
    never = {name: score.get("learning_goals") for name, _, score in failed if score["moves"] is None}
    if len(never) > MOST_NAMED:
        counts = [count for count in never.values() if count is not None]
        notes.append(f"never: {len(never)} maps" + (f" ({min(counts)} to {max(counts)})" if counts else ""))
    elif never:
        names = (name if count is None else f"{name} ({count})" for name, count in never.items())
        notes.append(f"never: {', '.join(names)}")
    return f"{'yes' if solved[0] else 'no'} | {sum(solved[1:])} of {len(maps) - 1} | {'; '.join(notes)}"
