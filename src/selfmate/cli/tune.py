"""`selfmate tune`: a search for settings of a recipe by the strength that its runs reach."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from selfmate.cli.common import INTERRUPTED, Json, Settings, match_games, notice, progress_bar
from selfmate.cli.complete import complete_recipe
from selfmate.cli.training import choose_trainer
from selfmate.errors import SelfmateError, clip
from selfmate.match.options import RayAddress, check_even
from selfmate.util.packages import install_hint

if TYPE_CHECKING:
    from selfmate.tune.plan import TunePruner

__all__ = ["tune"]


def tune(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE",
            help="The name of a recipe, or a TOML file.",
            show_default=False,
            autocompletion=complete_recipe,
        ),
    ],
    space: Annotated[
        Path, typer.Option("--space", metavar="FILE", help="The keys to search and their values, as TOML.")
    ],
    minutes: Annotated[
        float, typer.Option("--minutes", min=0.01, max=100_000, help="Training time of a trial; matches not counted.")
    ],
    trials: Annotated[
        int, typer.Option("--trials", min=1, max=10_000, help="Trials; may be raised when a study is resumed.")
    ] = 20,
    folder: Annotated[
        Path | None, typer.Option("--to", help="The folder of the study (default: tune/NAME of the recipe).")
    ] = None,
    stages: Annotated[
        int,
        typer.Option("--stages", min=1, max=50, help="Equal parts of a trial; its strength is measured after each."),
    ] = 4,
    pruner: Annotated[
        str, typer.Option("--pruner", help="Which trials end early: median, hyperband, or none.")
    ] = "median",
    games: Annotated[
        int, typer.Option("--games", min=2, max=100_000, help="Games with each fixed player, an even number.")
    ] = 20,
    visits: Annotated[int, typer.Option("--visits", min=1, max=1_000_000, help="Visits per move in matches.")] = 64,
    settings: Settings = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**62, help="Random seed; trial N trains with it + N.")] = 1,
    smoke: Annotated[bool, typer.Option("--smoke", help="Shrink the recipe, for a test of some seconds.")] = False,
    device: Annotated[
        str, typer.Option("--device", help="Where to train: auto (a GPU where there is one), cpu or cuda.")
    ] = "auto",
    ray: RayAddress = None,
    as_json: Json = False,
) -> None:
    """Search for better settings of a recipe: trials train, and the Elo of their champions decides, never a loss.

    Each trial is a run; Optuna (TPE) chooses its settings, and ends trials that are weaker than others were after the
    same time. The first trial has the recipe's own values. Run the same command again to resume. --space names a TOML
    file with sections and keys of recipes: a list has the values, { low = 1, high = 8, log = true } is a range.

    Example: selfmate tune gardner-laptop --space space.toml --minutes 10 --trials 20

    Example: selfmate tune gardner --space space.toml --minutes 5 --pruner hyperband --ray 192.168.0.10:6379
    """
    # long because its parameters are the options of the command
    try:
        from selfmate.tune.study import search

        train = choose_trainer(ray)
    except ModuleNotFoundError as error:
        raise SelfmateError(install_hint(error.name)) from error
    from rich.console import Console

    from selfmate.recipe.reader import change, load
    from selfmate.recipe.reader import smoke as smoke_recipe
    from selfmate.recipe.writer import to_toml
    from selfmate.train.session import find_device
    from selfmate.tune.plan import PRUNERS, TunePlan
    from selfmate.tune.report import show, write_picture
    from selfmate.tune.space import read_space_file
    from selfmate.util.signals import Interrupt

    check_even(games)
    if pruner not in PRUNERS:
        raise SelfmateError(f"--pruner: unknown {clip(pruner)!r}; use one of {', '.join(PRUNERS)}", pruner)
    name = Path(recipe).stem if recipe.endswith(".toml") else recipe
    wanted = change(smoke_recipe(load(recipe)) if smoke else load(recipe), settings or ())
    plan = TunePlan(
        name=name,
        recipe=to_toml(wanted),
        space=read_space_file(space, wanted),
        minutes=minutes,
        stages=stages,
        pruner=cast("TunePruner", pruner),
        games=games,
        visits=visits,
        seed=seed,
    )
    matches = find_device(device)
    to = folder if folder is not None else Path("tune") / name
    if ray != "local":  # what is wrong with a cluster that is there is said before the folder is written to
        with match_games(ray, device):
            pass
    with Interrupt() as interrupt, progress_bar() as bar:
        task = bar.add_task("tune", total=None, note="")

        def tell(text: str, done: float, total: float) -> None:
            bar.update(task, completed=done, total=total, note=text)

        options = {"device": device, "match_device": matches}
        found = search(to, plan, trials=trials, train=train, stopping=interrupt, tell=tell, **options)
    picture = write_picture(found, to)
    if as_json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        show(found, to, Console())
        if picture is not None:
            print(f"Drawn in {picture}.")
    if found.not_in_space:
        notice(f"the recipe's own values of {', '.join(found.not_in_space)} are not in the space, so no trial has them")
    if not found.is_complete:
        notice("stopped; run the same command again to resume")
        raise typer.Exit(INTERRUPTED)
