"""What a cycle writes beside its games: the learner's state, the candidate net, sample games as PGN.

Each function writes under the run's directory and returns the entry for the next commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from selfmate._core import GameRecord
from selfmate.match.record_pgn import as_game
from selfmate.nn import checkpoint as weights
from selfmate.nn.net import rounded
from selfmate.rundir.directory import Run
from selfmate.rundir.format import Checkpoint
from selfmate.search.spec import net_name
from selfmate.train.learner import Learner

__all__ = ["sample_name", "write_learner", "write_net", "write_sample_games"]

SAMPLE_GAMES: Final = 2
"""Games of each cycle that are kept as PGN."""


def write_learner(run: Run, learner: Learner, *, grown: bool = False) -> Checkpoint:
    """Write everything that decides how training continues: weights, average, optimizer state, step.

    A net that has just grown (`grown`) has the step of the one that it has grown from, and another name.
    """
    name = f"learner/{learner.step:09}{'-grown' if grown else ''}"
    with run.new_folder(name) as folder:
        learner.save(folder)
    return run.stamp(name, run.state.cycle, learner.step)


def write_net(run: Run, learner: Learner, cycle: int, *, by_step: bool = False, grown: bool = False) -> Checkpoint:
    """Write the averaged net, rounded so that every device computes with the same weights, as the net of a cycle.

    The folder of a net that is kept for its step (`by_step`) is named by it, as `checkpoints/000012000-step`; one that
    has grown (`grown`) takes the place of the net of its cycle, under another name.
    """
    name = f"checkpoints/{learner.step:09}-step" if by_step else f"checkpoints/{cycle:05}{'-grown' if grown else ''}"
    parent = run.manifest.parent
    with run.new_folder(name) as folder:
        weights.save(
            rounded(learner.average),
            folder,
            step=learner.step,
            parents=() if parent is None or not cycle else (parent.net_id,),
            created_by=f"{run.manifest.recipe} {cycle:05}",
        )
    return run.stamp(name, cycle, learner.step)


def sample_name(cycle: int) -> str:
    """Return the name of the file with the first games of a cycle."""
    return f"pgn/{cycle:05}.pgn"


def write_sample_games(run: Run, cycle: int, records: Sequence[GameRecord]) -> str:
    """Write the first games of a cycle as PGN; return the name of the file."""
    player = net_name(run.directory, run.state.champion)
    games = [as_game(record, player, player, f"self-play, cycle {cycle}") for record in records[:SAMPLE_GAMES]]
    return run.write_text(sample_name(cycle), "\n\n".join(map(str, games)) + "\n")
