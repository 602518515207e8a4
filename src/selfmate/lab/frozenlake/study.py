"""The seed's three conclusions as experiments, and the goals that this chapter set itself.

Each study is a set of jobs and a picture of their scores. A score is the exact chance of a policy; a point of a curve
is the median over agents with different seeds, and its band the middle half of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any, Final, NamedTuple

from selfmate.errors import LabError, clip
from selfmate.lab.frozenlake.chart import Curve, CurvePanel, draw_panels
from selfmate.lab.frozenlake.experiments import LakeJob, LakeResults, learn_job, plan_job, truth_of
from selfmate.lab.frozenlake.settings import LakeSettings, change
from selfmate.lab.frozenlake.table import SNAPSHOTS

__all__ = ["EPISODES", "OUR_DQN", "OUR_EPISODES", "STUDIES", "StudyReport", "make_study"]

Tell = Callable[[int, int, str], None]

OUR_DQN: Final = (
    "dqn.reward_scale=0.005",
    "dqn.average=0.99",
    "dqn.target_every=10",
    "dqn.batch=512",
    "dqn.learn_every=4",
    "dqn.learning_rate=0.0005",
    "dqn.replay=200000",
    "dqn.double=true",
    "learning.epsilon_end=0.2",
)
"""Settings with which the DQN finds the best policy on ice. Rewards of ±100 make the smooth L1 loss linear, so that it
learns the median of what follows an action, not the mean; divided by 200, no error leaves its quadratic part. What
remains is noise: on square 59 of the seed's map two actions differ by 0.15 in return and by 5 points in success. So the
target net is an average over a hundred steps that follows the net closely, instead of a copy of its last weights; steps
are fewer, with larger batches; nothing is forgotten; and random actions do not become rare."""

SCALED_C: Final = 100.0
"""Exploration constant in units of the returns, which go from -100 to 100."""
PERCENT: Final = 100


EPISODES: Final = (50, 100, 200, 300, 500, 1000, 1500, 2000, 3000, 4000, 5000)
"""Episodes after which the Q-table is scored."""
OUR_EPISODES: Final = (*SNAPSHOTS, 1500, 2000)
"""Episodes after which the DQN with our settings is scored."""


class StudySize(NamedTuple):
    """How much a study measures."""

    seeds: int
    slips: tuple[float, ...] = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 2 / 3)
    simulations: tuple[int, ...] = (10, 30, 100, 300, 1000, 3000, 10_000, 15_000)
    episodes: tuple[int, ...] = EPISODES
    dqn_episodes: tuple[int, ...] = SNAPSHOTS
    our_episodes: tuple[int, ...] = OUR_EPISODES
    episodes_of_one: int = 1000
    searches: int = 1000


QUICK: Final = StudySize(
    seeds=1, slips=(0, 0.3, 2 / 3), simulations=(10, 100, 300), episodes=(10, 25), dqn_episodes=(10, 25),
    our_episodes=(10, 25), episodes_of_one=50, searches=100,
)  # fmt: skip


class StudyReport(NamedTuple):
    """What a study found: a table in Markdown, and a picture as SVG."""

    name: str
    markdown: str
    svg: str


class StudyRunner:
    """Does jobs for a study: learners and planners by seed, each job once."""

    def __init__(self, results: LakeResults, size: StudySize, workers: int, tell: Tell) -> None:
        self.settings, self.size = results.settings, size
        self._results, self._workers, self._tell = results, workers, tell
        self.seeds = [results.settings.run.seed + number for number in range(size.seeds)]

    def do(self, jobs: Iterable[LakeJob]) -> dict[str, dict[str, Any]]:
        """Return the results of jobs by name."""
        return self._results.do(jobs, self._workers, self._tell)


def make_study(name: str, results: LakeResults, workers: int, tell: Tell, *, quick: bool = False) -> StudyReport:
    """Do what is missing of a study; raise `LabError` for an unknown one."""
    if name not in STUDIES:
        raise LabError(f"unknown study {clip(name)!r}; studies: {', '.join(STUDIES)}, all", name)
    size = QUICK if quick else StudySize(seeds=results.settings.run.study_seeds)
    title, x_label, panels, is_log = STUDIES[name](StudyRunner(results, size, workers, tell))
    table = "\n\n".join(_markdown(panel, x_label) for panel in panels)
    return StudyReport(name, table + "\n", draw_panels(title, x_label, panels, logarithmic=is_log))


Drawing = tuple[str, str, list[CurvePanel], bool]


def slipping(runner: StudyRunner) -> Drawing:
    """Success against the chance to slip: greedy Q-table, the same with a search, and the truth."""
    # A lake that is not slippery has no success rate.
    icy = change(runner.settings, ["lake.slippery=true"])
    lakes = {slip: change(icy, [f"lake.success_rate={1 - slip}"]) for slip in runner.size.slips}
    episodes = (runner.size.episodes_of_one,)
    jobs = {
        slip: [learn_job("q-table", lake, seed, episodes, f"slip {slip:.3f}") for seed in runner.seeds]
        for slip, lake in lakes.items()
    }
    learned = runner.do([job for each in jobs.values() for job in each])
    searches = {
        slip: [
            plan_job(
                _search(lakes[slip], runner.size.searches, SCALED_C),
                seed,
                f"slip {slip:.3f}, {runner.size.searches} simulations",
                learned[job.name][str(episodes[0])]["values"],
            )
            for seed, job in zip(runner.seeds, jobs[slip], strict=True)
        ]
        for slip in lakes
    }
    planned = runner.do([job for each in searches.values() for job in each])
    truths = {slip: truth_of(lake) for slip, lake in lakes.items()}
    curves = [
        Curve("largest chance", [_exact(PERCENT * slip, truths[slip]["best_chance"]) for slip in lakes]),
        Curve("best by return", [_exact(PERCENT * slip, truths[slip]["chance_of_best_return"]) for slip in lakes]),
        Curve(
            f"Q-table, {episodes[0]:,} episodes",
            [_point(PERCENT * s, [learned[j.name][str(episodes[0])] for j in jobs[s]]) for s in lakes],
        ),
        Curve(
            f"Q-table + MCTS, {runner.size.searches:,}",
            [_point(PERCENT * slip, [planned[job.name] for job in searches[slip]]) for slip in lakes],
        ),
    ]
    return "Slipping", "chance to slip, %", [CurvePanel("success, %", curves)], False


def simulations(runner: StudyRunner) -> Drawing:
    """Success against simulations, with the seed's exploration constant and a scaled one, and different roll-outs."""
    episodes = (runner.size.episodes_of_one,)
    jobs = [learn_job("q-table", runner.settings, seed, episodes, "for roll-outs") for seed in runner.seeds]
    learned = runner.do(jobs)
    values = [learned[job.name][str(episodes[0])]["values"] for job in jobs]

    def curve(name: str, c: float, rollout: str, steps: int = 50) -> tuple[str, dict[int, list[LakeJob]]]:
        def job(count: int, seed: int, known: list[list[float]]) -> LakeJob:
            settings = _search(runner.settings, count, c, rollout, steps)
            after = f" after {episodes[0]} episodes" if rollout == "learned" else ""
            tag = f"{rollout} roll-outs of {steps}{after}, c {c:g}, {count} simulations"
            return plan_job(settings, seed, tag, known)

        return name, {
            count: [job(count, seed, known) for seed, known in zip(runner.seeds, values, strict=True)]
            for count in runner.size.simulations
        }

    wanted = {
        "c = 1, as in the seed": [
            curve("random", 1.0, "random"), curve("learned", 1.0, "learned"), curve("best policy", 1.0, "best"),
        ],
        f"c = {SCALED_C:g}, the size of the returns": [
            curve("random", SCALED_C, "random"), curve("learned", SCALED_C, "learned"),
            curve("best policy", SCALED_C, "best"),
        ],
        f"best policy, c = {SCALED_C:g}": [
            curve("50 steps", SCALED_C, "best"), curve("200 steps", SCALED_C, "best", 200),
            curve("exact value, no roll-out", SCALED_C, "exact"),
        ],
    }  # fmt: skip
    planned = runner.do(
        {j.name: j for rows in wanted.values() for _, r in rows for js in r.values() for j in js}.values()
    )
    lines = [("best by return", truth_of(runner.settings)["chance_of_best_return"])]
    panels = [
        CurvePanel(
            title,
            [
                Curve(name, [_point(count, [planned[job.name] for job in jobs]) for count, jobs in by_count.items()])
                for name, by_count in rows
            ],
            lines,
        )
        for title, rows in wanted.items()
    ]
    return "Simulations of a move", "simulations", panels, True


def training(runner: StudyRunner) -> Drawing:
    """Success against episodes: Q-table, with a search on top, DQN by the seed's settings and by ours."""
    size = runner.size
    ours = change(runner.settings, OUR_DQN)
    # The table of the same folder has jobs of both dynamics.
    is_icy = runner.settings.lake.slippery
    dynamics, of_ours = ("slippery", "our settings") if is_icy else ("dry", "dry, our settings")
    # Name, episodes at which it is scored, a job for each seed
    learners: dict[str, tuple[tuple[int, ...], list[LakeJob]]] = {
        name: (episodes, [learn_job(learner, chosen, seed, episodes, tag) for seed in runner.seeds])
        for name, learner, chosen, tag, episodes in (
            ("Q-table", "q-table", runner.settings, dynamics, size.episodes),
            ("DQN, the seed's settings", "dqn", runner.settings, dynamics, size.dqn_episodes),
            ("DQN, our settings", "dqn", ours, of_ours, size.our_episodes),
        )
    }
    learned = runner.do([job for _, jobs in learners.values() for job in jobs])
    searches = {
        count: [
            plan_job(
                _search(runner.settings, runner.size.searches, SCALED_C),
                seed,
                f"after {count} episodes, {runner.size.searches} simulations",
                learned[job.name][str(count)]["values"],
            )
            for seed, job in zip(runner.seeds, learners["Q-table"][1], strict=True)
        ]
        for count in size.episodes
    }
    planned = runner.do([job for jobs in searches.values() for job in jobs])
    curves = [
        Curve(name, [_point(count, [learned[job.name][str(count)] for job in jobs]) for count in episodes])
        for name, (episodes, jobs) in learners.items()
    ]
    name = f"Q-table + MCTS, {runner.size.searches:,}"
    curves.append(Curve(name, [_point(n, [planned[job.name] for job in jobs]) for n, jobs in searches.items()]))
    lines = [("best by return", truth_of(runner.settings)["chance_of_best_return"])]
    return "Episodes of training", "episodes", [CurvePanel("success, %", curves, lines)], True


STUDIES: Final[dict[str, Callable[[StudyRunner], Drawing]]] = {
    "slipping": slipping,
    "simulations": simulations,
    "training": training,
}


def _search(settings: LakeSettings, count: int, c: float, rollout: str = "learned", steps: int = 50) -> LakeSettings:
    changes = [f"mcts.simulations={count}", f"mcts.c={c}", f"mcts.rollout={rollout}", f"mcts.rollout_steps={steps}"]
    return change(settings, changes)


def _point(x: float, scores: Sequence[dict[str, Any]]) -> tuple[float, float, float, float]:
    chances = sorted(score["chance"] for score in scores)
    return x, median(chances), chances[len(chances) // 4], chances[-1 - len(chances) // 4]


def _exact(x: float, chance: float) -> tuple[float, float, float, float]:
    return x, chance, chance, chance


def _markdown(panel: CurvePanel, x_label: str) -> str:
    """Return the medians of a panel as a table, a column for each curve."""
    lines = [
        f"| {x_label} | {' | '.join(curve.name for curve in panel.curves)} |",
        "|---" * (len(panel.curves) + 1) + "|",
    ]
    columns = [{x: middle for x, middle, *_ in curve.points} for curve in panel.curves]
    for x in sorted({x for column in columns for x in column}):
        cells = [f"{PERCENT * column[x]:.1f}" if x in column else "" for column in columns]
        lines.append(f"| {x:,.0f} | {' | '.join(cells)} |")
    references = "".join(f"; {name}: {PERCENT * height:.1f}" for name, height in panel.lines)
    return f"{panel.title}{references}\n\n" + "\n".join(lines)
