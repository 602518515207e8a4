"""A fork: a copy of a run that goes on with another recipe or another seed, for comparisons (`selfmate ab`).

All forks of a run begin alike: with its weights and their average, without the optimizer's state and without heads that
only train, with its champion and its games. Games are linked where the file system can do so, as no file of a run is
ever changed in place.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from selfmate.recipe.schema import Recipe
from selfmate.recipe.writer import to_toml
from selfmate.rundir.directory import Run
from selfmate.rundir.format import STARTS, Manifest, RunError, State, read_run
from selfmate.rundir.pack import copy_committed, light_learner
from selfmate.util.files import Stamp, new_folder, write_file

__all__ = ["FORK_RECIPE", "fork"]

FORK_RECIPE = "recipe.toml"
"""The recipe of a fork is the file in its own folder: `selfmate train FORK/recipe.toml --run FORK` resumes it."""


def fork(run: Path, to: Path, recipe: Recipe, seed: int) -> None:
    """Copy a run that is not training into a new folder, to go on by `recipe` with `seed`; the run is not changed."""
    if to.exists():
        raise RunError(f"{to} already exists; choose a new folder", str(to))
    with Run.hold(run), new_folder(to) as folder:
        manifest, state = read_run(run)
        if state.learner is None:
            raise RunError(f"{run}: nothing is committed yet; train it first", str(run))
        # 1. Metrics so far, start positions, the champion and the newest net, the learner
        with (run / "metrics.jsonl").open("rb") as metrics:
            (folder / "metrics.jsonl").write_bytes(metrics.read(state.metrics_bytes))
        if manifest.starts_stamp is not None:
            copy_committed(run, folder, STARTS, manifest.starts_stamp)
        kept = tuple(each for each in state.checkpoints if each.cycle in (state.champion, state.newest().cycle))
        for checkpoint in kept:
            for name, stamp in checkpoint.files.items():
                copy_committed(run, folder, f"{checkpoint.name}/{name}", stamp)
        learner = light_learner(run, folder, state.learner, optimizer=recipe.learner.optimizer, heads=False)
        # 2. Games
        for shard in (*state.shards, *(() if state.flight is None else (state.flight,))):
            _link(run, folder, shard.name)
        # 3. Recipe, manifest and, last, the commit
        stamp = write_file(folder / FORK_RECIPE, to_toml(recipe).encode("utf-8"))
        _write_manifest(folder, manifest, stamp, seed)
        changed: State = msgspec.structs.replace(
            state, learner=learner, checkpoints=kept, kept_nets=(), matches=(), pgn=()
        )
        write_file(folder / "state.json", changed.to_json())


def _write_manifest(folder: Path, manifest: Manifest, recipe: Stamp, seed: int) -> None:
    # What --set changed is in the recipe; the shrunk values of --smoke too.
    changed = msgspec.structs.replace(
        manifest,
        recipe=Path(FORK_RECIPE).stem,
        recipe_stamp=recipe,
        seed=seed,
        smoke=False,
        settings=(),
        appendices=(),
    )
    write_file(folder / "manifest.json", msgspec.json.format(msgspec.json.encode(changed), indent=2) + b"\n")


def _link(run: Path, folder: Path, name: str) -> None:
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(run / name, target)
    except FileNotFoundError:
        copy_committed(run, folder, name)  # raises, and names the missing file
    except OSError:  # another file system, or one without links
        shutil.copyfile(run / name, target)
