"""Table 2.2 of the seed, measured again: its four rows and figures, ours for the same map and for others, the truth.

The seed's title says greedy agents, its text says that a search chooses each move. Both are here: the greedy
policies, and the same with a search on top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any, Final, NamedTuple

from selfmate.lab.frozenlake.experiments import LakeJob, LakeResults, learn_job, plan_job, truth_of
from selfmate.lab.frozenlake.scores import wilson
from selfmate.lab.frozenlake.settings import LakeSettings, change

__all__ = ["SEED_ROWS", "SeedRow", "make_table"]

Tell = Callable[[int, int, str], None]


class SeedRow(NamedTuple):
    """A row of the seed's table; successes in percent of 100 episodes, time in seconds."""

    slippery: bool
    episodes: int
    simulations: int
    dqn: int
    q_table: int
    seconds: float


SEED_ROWS: Final = (
    SeedRow(False, 1000, 5_000, 100, 100, 85.7),
    SeedRow(True, 1000, 5_000, 69, 73, 117.4),
    SeedRow(True, 1000, 15_000, 56, 62, 122.6),
    SeedRow(False, 300, 1_000, 0, 100, 25.8),
)
LEARNERS: Final = ("dqn", "q-table")
SNAPSHOTS: Final = (50, 100, 200, 300, 500, 1000)
"""Episodes after which the learners are scored; rows 1 and 4 are two moments of the same learning."""


class Place(NamedTuple):
    """An agent on a map: the seed of the agent, and the seed of the map, None for the one of the settings."""

    seed: int
    map_seed: int | None


def make_table(results: LakeResults, workers: int, tell: Tell, *, quick: bool = False) -> str:
    """Do what is missing; return the table as Markdown."""
    settings = results.settings
    rows = [_quick(row) for row in SEED_ROWS] if quick else list(SEED_ROWS)
    first = [Place(settings.run.seed + number, None) for number in range(settings.run.seeds)]
    others = [Place(settings.run.seed, settings.lake.map_seed + 1 + number) for number in range(settings.run.maps)]
    # 1. Learning: every learner on every lake, once slippery and once not
    learned = results.do(
        [job for place in first + others for row in rows for job in _learning(settings, row, place, rows)],
        workers, tell,
    )  # fmt: skip
    # 2. Searching, with roll-outs of what was learned
    planned = results.do(
        [job for place in first + others for row in rows for job in _planning(settings, row, place, rows, learned)],
        workers, tell,
    )  # fmt: skip
    # 3. The rows
    lines = list(_lines(settings, rows, first, others, learned, planned))
    return "\n".join(lines) + "\n"


def _quick(row: SeedRow) -> SeedRow:
    return row._replace(episodes=row.episodes // 40, simulations=row.simulations // 50)


def _dynamics(settings: LakeSettings, row: SeedRow) -> LakeSettings:
    return change(settings, [f"lake.slippery={str(row.slippery).lower()}"])


def _episodes(row: SeedRow, rows: list[SeedRow]) -> tuple[int, ...]:
    """Return the episodes after which a learner of this row's lake is scored."""
    needed = {each.episodes for each in rows if each.slippery == row.slippery}
    return tuple(sorted(needed | {each for each in SNAPSHOTS if each < max(needed)}))


def _learning(settings: LakeSettings, row: SeedRow, place: Place, rows: list[SeedRow]) -> Iterator[LakeJob]:
    tag = "slippery" if row.slippery else "dry"
    for learner in LEARNERS:
        episodes = _episodes(row, rows)
        yield learn_job(learner, _dynamics(settings, row), place.seed, episodes, tag, place.map_seed)


def _planning(
    settings: LakeSettings, row: SeedRow, place: Place, rows: list[SeedRow], learned: Mapping[str, dict[str, Any]]
) -> Iterator[LakeJob]:
    for learner, job in zip(LEARNERS, _learning(settings, row, place, rows), strict=True):
        tag = f"{learner}, {'slippery' if row.slippery else 'dry'}, {row.episodes} episodes, {row.simulations}"
        chosen = change(_dynamics(settings, row), [f"mcts.simulations={row.simulations}"])
        values = learned[job.name][str(row.episodes)]["values"]
        yield plan_job(chosen, place.seed, tag, values, place.map_seed)


def _lines(
    settings: LakeSettings,
    rows: list[SeedRow],
    first: list[Place],
    others: list[Place],
    learned: Mapping[str, dict[str, Any]],
    planned: Mapping[str, dict[str, Any]],
) -> Iterator[str]:
    """Yield the lines of the table: for every row the seed's figures, ours, those over maps, and the truth."""
    yield "| row | slippery | episodes | simulations | | DQN | Q-table | DQN + MCTS | Q-table + MCTS | seconds |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for number, row in enumerate(rows, 1):
        begin = f"| {number} | {'yes' if row.slippery else 'no'} | {row.episodes:,} | {row.simulations:,} |"
        yield f"{begin} seed 003 | {_interval(row.dqn)} | {_interval(row.q_table)} | | | {row.seconds} |"

        def cells(places: list[Place], row: SeedRow = row) -> Iterator[list[dict[str, Any]]]:
            """Yield the scores of a column: greedy DQN and Q-table, then both with a search."""
            for column in range(len(LEARNERS)):
                jobs = [list(_learning(settings, row, place, rows))[column].name for place in places]
                yield [learned[job][str(row.episodes)] for job in jobs]
            for column in range(len(LEARNERS)):
                jobs = [list(_planning(settings, row, place, rows, learned))[column].name for place in places]
                yield [planned[job] for job in jobs]

        found = list(cells(first))
        seconds = sum(median(score["seconds"] for score in column) for column in found)
        yield f"| | | | | here, exact | {' | '.join(map(_spread, found))} | {seconds:.1f} |"
        yield f"| | | | | here, {settings.run.test_episodes} episodes | {' | '.join(map(_tested, found))} | |"
        dynamics = _dynamics(settings, row)
        yield f"| | | | | truth | {_truth([truth_of(dynamics)])} | | | | |"
        if others:
            name = f"{len(others)} other map{'s' * (len(others) > 1)}"
            yield f"| | | | | {name}, exact | {' | '.join(map(_spread, cells(others)))} | |"
            truths = [truth_of(dynamics, place.map_seed) for place in others]
            yield f"| | | | | truth of those | {_truth(truths)} | | | | |"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _interval(percent: int) -> str:
    low, high = wilson(percent, 100)
    return f"{percent} ({100 * low:.0f} to {100 * high:.0f})"


def _truth(truths: list[dict[str, float]]) -> str:
    best, largest = (_quartiles([each[key] for each in truths]) for key in ("chance_of_best_return", "best_chance"))
    return f"best policy by return {best}, largest chance {largest}"


def _spread(scores: list[dict[str, Any]]) -> str:
    return _quartiles([score["chance"] for score in scores])


def _quartiles(shares: list[float]) -> str:
    """Return the median of shares in percent, with the quartiles where there are several.

    >>> _quartiles([0.5]), _quartiles([0.1, 0.9, 0.3, 0.2, 0.4])
    ('50.0', '30.0 (20.0 to 40.0)')
    """
    chances = sorted(shares)
    if len(chances) == 1:
        return _percent(chances[0])
    low, high = chances[len(chances) // 4], chances[-1 - len(chances) // 4]
    return f"{_percent(median(chances))} ({_percent(low)} to {_percent(high)})"


def _tested(scores: list[dict[str, Any]]) -> str:
    """Return the test episodes of the first agent, with their interval."""
    reached, tested = scores[0]["reached"], scores[0]["tested"]
    low, high = wilson(reached, tested)
    return f"{reached} of {tested} ({100 * low:.0f} to {100 * high:.0f})"
