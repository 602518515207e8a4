"""`selfmate train`, `pack`, `cooldown` and `nnue`."""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfmate.cli.common import INTERRUPTED, Settings, notice, progress_bar
from selfmate.cli.complete import complete_recipe
from selfmate.errors import SelfmateError
from selfmate.match.options import RayAddress
from selfmate.util.packages import install_hint

if TYPE_CHECKING:
    from selfmate.train.session import Summary

__all__ = ["choose_trainer", "cooldown", "nnue", "pack", "train"]

Source = Annotated[
    Path | None,
    typer.Option(
        "--from",
        help="Start a new run with the games and the weights of another run, or with a net; of another variant or "
        "board, with the weights that mean the same.",
    ),
]


def train(
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="RECIPE",
            help="The name of a recipe (see --list), or a TOML file.",
            show_default=False,
            autocompletion=complete_recipe,
        ),
    ] = None,
    run: Annotated[Path | None, typer.Option("--run", help="The run's directory (default: runs/NAME).")] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            "--minutes",
            min=0.01,
            max=1_000_000,
            help="Stop after this many minutes (default: when complete). The last fifth may go to the final matches, "
            "which have as many games as fit.",
        ),
    ] = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, max=2**63, help="Random seed (default: 1).")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Shrink the recipe to a test of some seconds.")] = False,
    device: Annotated[
        str, typer.Option("--device", help="Where to train: auto (a GPU where there is one), cpu or cuda.")
    ] = "auto",
    source: Source = None,
    learn_only: Annotated[
        bool, typer.Option("--learn-only", help="Play no games: learn from those that the run has.")
    ] = False,
    watchdog: Annotated[
        float,
        typer.Option(
            "--watchdog",
            min=0,
            max=100_000,
            help="Exit when a thread makes no progress for this many minutes; 0: never.",
        ),
    ] = 30,
    ray: RayAddress = None,
    learners: Annotated[
        int,
        typer.Option(
            "--learners", min=1, max=64, help="Processes that share every batch, each on a GPU (docs/cluster.md)."
        ),
    ] = 1,
    show_list: Annotated[bool, typer.Option("--list", help="List the recipes and exit.")] = False,
    key: Annotated[
        str | None,
        typer.Option("--explain", metavar="KEY", help="Explain a key of recipes, or a section, and exit."),
    ] = None,
) -> None:
    """Train a net from nothing but the rules; run the same command again to resume.

    Ctrl-C or SIGTERM saves everything, prints the command that resumes, and exits with code 130 or 143; a second one
    exits at once. The exit code is 0 when the run is complete or its minutes are over. docs/recipes.md lists the keys
    for --set, and says how to write a recipe.

    Example: selfmate train gardner-laptop --minutes 10

    Example: selfmate train gardner-laptop --run runs/mine --set selfplay.visits=64

    Example: selfmate train gardner-laptop --run runs/larger --from runs/mine --set net.blocks=6

    Example: selfmate train gardner --ray 192.168.0.10:6379

    Example: selfmate train --explain selfplay.visits
    """
    # long because every option is declared with its help
    if show_list or key is not None:
        from selfmate.recipe.describe import explain, recipe_list
        from selfmate.util.terminal import hang

        text = recipe_list() if key is None else explain(key)
        print(hang(text, shutil.get_terminal_size().columns) if sys.stdout.isatty() else text)
        return
    if recipe is None:
        raise SelfmateError("give the name of a recipe or a TOML file; selfmate train --list lists the recipes")
    common = {"run": run, "minutes": minutes, "overrides": settings or (), "smoke": smoke, "seed": seed}
    more = {"device": device, "source": source, "learn_only": learn_only, "watchdog": watchdog, "learners": learners}
    summary = choose_trainer(ray)(recipe, **common, **more)
    if summary.signal is not None:
        sys.exit(128 + summary.signal)  # the session has printed how to resume


def choose_trainer(ray: str | None) -> Callable[..., Summary]:
    """Return the function that trains on this machine, or with the cluster at an address."""
    try:
        if ray is None:
            from selfmate.train.session import train as train_here

            return train_here
        from selfmate.cluster.session import train as train_with_cluster

        return functools.partial(train_with_cluster, ray=ray)
    except ModuleNotFoundError as error:
        raise SelfmateError(install_hint(error.name)) from error


def pack(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that is not training.", show_default=False)],
    to: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder.", show_default=False)],
    mib: Annotated[
        float, typer.Option("--mib", min=1, max=1_000_000_000, help="Largest size of the copy in MiB.")
    ] = 64,
    half: Annotated[
        bool, typer.Option("--half", help="Round the weights in training to bfloat16, for more games.")
    ] = False,
) -> None:
    """Make a small copy of a run to resume elsewhere: weights, champion, and the newest games that fit.

    Nets that play are stored in bfloat16, which holds their weights exactly.

    Example: selfmate pack runs/atomic small --mib 50

    Example: selfmate train atomic --run small --minutes 10
    """
    from selfmate.rundir.pack import pack as pack_run

    packed = pack_run(run, to, mib, half=half)
    print(
        f"{packed.directory}: {packed.bytes / (1 << 20):.1f} MiB, at cycle {packed.cycle}, "
        f"with {packed.games:,} of {packed.all_games:,} games."
    )
    if packed.games == 0:
        notice(
            f"no game fits into {mib:g} MiB; the copy plays, but learns nothing until it has played new games; "
            f"for the newest games give --mib {packed.mib_for_games} or more"
        )


def cooldown(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that is not training.", show_default=False)],
    to: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the net.", show_default=False)],
    steps: Annotated[
        int, typer.Option("--steps", min=1, max=10_000_000, help="Steps in which the learning rate falls to zero.")
    ] = 1500,
    device: Annotated[str, typer.Option("--device", help="auto (a GPU where there is one), cpu or cuda.")] = "auto",
) -> None:
    """Write a net that plays better than the run's own: a copy of it learns on at a rate that falls to zero.

    The run is not changed.

    Example: selfmate cooldown runs/atomic cooled --steps 1500
    """
    try:
        from selfmate.train.cooldown import cool_down
    except ModuleNotFoundError as error:
        raise SelfmateError(install_hint(error.name)) from error
    from selfmate.util.signals import Interrupt

    with Interrupt() as interrupt, progress_bar() as bar:
        task = bar.add_task("cooldown", total=steps, note="")

        def tell(done: int) -> None:
            bar.update(task, completed=done, note=f"step {done:,} of {steps:,}")

        found = cool_down(run, to, steps, device=device, stopping=interrupt, tell=tell)
    if found is None:
        notice("stopped; nothing is written")
        sys.exit(INTERRUPTED)
    print(f"{to}: net {found.net_id[:12]} at step {found.step:,}.")
    if found.before is not None and found.after is not None:
        for name in ("policy", "value"):
            losses = [getattr(each, name) for each in (found.before, found.after)]
            print(f"Held-out {name} loss: {losses[0]:.4f} before, {losses[1]:.4f} after.")


def nnue(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run with games.", show_default=False)],
    to: Annotated[Path, typer.Argument(metavar="FILE", help="A new file for the net.", show_default=False)],
    steps: Annotated[int, typer.Option("--steps", min=1, max=10_000_000, help="Training steps.")] = 20_000,
    batch: Annotated[int, typer.Option("--batch", min=1, max=1 << 20, help="Positions of a step.")] = 16_384,
    seed: Annotated[int, typer.Option("--seed", min=0, max=(1 << 63) - 1, help="Random seed.")] = 1,
    device: Annotated[str, typer.Option("--device", help="auto (a GPU where there is one), cpu or cuda.")] = "auto",
) -> None:
    """Train a small, efficiently updatable net (NNUE) from the games of a run, the evaluation of alpha-beta.

    It learns from the searches and results of the run's games. `selfmate analyse` judges games with the one that is
    shipped beside the net of a variant.

    Example: selfmate nnue runs/chess nnue.safetensors --steps 20000
    """
    try:
        from selfmate.train.nnue import train_nnue
    except ModuleNotFoundError as error:
        raise SelfmateError(install_hint(error.name)) from error
    from selfmate.util.signals import Interrupt

    with Interrupt() as interrupt, progress_bar() as bar:
        task = bar.add_task("nnue", total=steps, note="")

        def tell(done: int, note: str) -> None:
            bar.update(task, completed=done, note=note)

        found = train_nnue(run, to, steps=steps, batch=batch, seed=seed, device=device, stopping=interrupt, tell=tell)
    if found is None:
        notice("stopped; nothing is written")
        sys.exit(INTERRUPTED)
    print(f"{to}: {found.positions:,} quiet positions, {found.scale} centipawns for an output of one.")
    if found.held_out:
        print(
            f"Held-out loss: {found.loss:.5f} on {found.held_out:,} positions "
            f"({found.constant_loss:.5f} for their mean score)."
        )
