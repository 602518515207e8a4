"""`selfmate ab`: settings compared at equal steps or seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from selfmate.cli.common import INTERRUPTED, Json, progress_bar
from selfmate.errors import SelfmateError, clip
from selfmate.match.options import check_even
from selfmate.util.packages import install_hint

__all__ = ["ab"]


def ab(
    source: Annotated[
        str,
        typer.Argument(metavar="RUN", help="A run, packed or not; without training, any player.", show_default=False),
    ],
    folder: Annotated[Path, typer.Option("--to", help="The folder of the comparison; the same command resumes it.")],
    arms: Annotated[
        list[str],
        typer.Option(
            "--arm",
            metavar="'NAME KEY=VALUE …'",
            help="A name and its settings: keys of recipes, and match.KEY for the search and the visits of its "
            "matches. Repeat it; the first is the base.",
        ),
    ],
    steps: Annotated[
        int | None,
        typer.Option("--steps", min=1, max=10_000_000, help="Learn this many steps from the games of the run."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=0.1, max=1_000_000, help="Learn this many seconds from the games of the run."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", min=0.01, max=100_000, help="Train a fork of the run for this many minutes."),
    ] = None,
    keep_weights: Annotated[
        bool, typer.Option("--keep-weights", help="With --steps or --seconds: begin with the run's weights that fit.")
    ] = False,
    seeds: Annotated[int, typer.Option("--seeds", min=1, max=100, help="Seeds of each arm: 1, 2, …")] = 1,
    games: Annotated[
        int, typer.Option("--games", min=2, max=1_000_000, help="Games of each match, an even number.")
    ] = 1000,
    visits: Annotated[int, typer.Option("--visits", min=1, max=10_000_000, help="Visits per move in matches.")] = 64,
    variant: Annotated[
        str | None, typer.Option("--variant", help="For a player of every variant (default: that of the net).")
    ] = None,
    device: Annotated[str, typer.Option("--device", help="auto (a GPU where there is one), cpu or cuda.")] = "auto",
    as_json: Json = False,
) -> None:
    """Compare settings: nets learn from the games of one run, or forks of it train on, for equal steps or seconds.

    Then every arm plays the base (with each seed), and the base itself with another seed: nets of one setting differ
    too. Seeds and numbers of games are fixed beforehand. Without --steps, --seconds and --minutes one net plays itself
    with different searches.

    Example: selfmate ab runs/small --to ab/batch --arm base --arm 'b512 learner.batch=512' --steps 1200 --seeds 2

    Example: selfmate ab runs/small --to ab/mix --arm base --arm 'mix learner.value_mix=0.5' --minutes 4

    Example: selfmate ab atomic-gpu --to ab/cpuct --arm base --arm 'wide match.cpuct=2' --games 2000 --visits 800
    """
    # long because its parameters are the options of the command
    try:
        from selfmate.train.ab import compare
        from selfmate.train.ab_report import as_json as to_json
        from selfmate.train.ab_report import show
    except ModuleNotFoundError as error:
        raise SelfmateError(install_hint(error.name)) from error
    from rich.console import Console

    from selfmate.rundir.format import read_run
    from selfmate.train.ab_plan import AbPlan, check_arms, read_arm
    from selfmate.util.signals import Interrupt

    check_even(games)
    lengths = {"--steps": steps, "--seconds": seconds, "--minutes": minutes}
    given = [name for name, value in lengths.items() if value is not None]
    if len(given) > 1:
        raise SelfmateError(f"{given[0]} and {given[1]} cannot be combined")
    if keep_weights and (not given or minutes is not None):
        raise SelfmateError("--keep-weights is for --steps and --seconds; forks always have the weights of the run")
    if not given and seeds > 1:
        raise SelfmateError("--seeds is for nets that are trained: give --steps, --seconds or --minutes")
    variant = _variant(source, variant, is_player=not given)
    read = [read_arm(text) for text in arms]
    check_arms(read, is_play=not given)
    plan = AbPlan(
        source=source,
        source_cycle=read_run(Path(source))[1].cycle if given else 0,
        variant=variant,
        kind="forks" if minutes is not None else "data" if given else "play",
        steps=steps,
        seconds=seconds if minutes is None else 60 * minutes,
        weights="run" if keep_weights else "new",
        arms=tuple(read),
        seeds=tuple(range(1, seeds + 1)),
        games=games,
        visits=visits,
    )
    with Interrupt() as interrupt, progress_bar() as bar:
        task = bar.add_task("ab", total=None, note="")

        def tell(text: str, done: float, total: float) -> None:
            bar.update(task, completed=done, total=total, note=text)

        found = compare(folder, plan, device=device, stopping=interrupt, tell=tell)
    if as_json:
        print(json.dumps(to_json(found), indent=2))
    else:
        show(found, Console())
    if not found.is_complete:
        raise typer.Exit(INTERRUPTED)


def _variant(source: str, variant: str | None, *, is_player: bool) -> str:
    """Return the variant of a run or of a player; raise `SelfmateError` if it is another one than asked for."""
    from selfmate._core import Position
    from selfmate.rundir.format import read_run
    from selfmate.search.player import Player

    own = Player(source).variant if is_player else read_run(Path(source))[0].variant
    if own is not None and variant is not None and own != variant:
        raise SelfmateError(f"{source} plays {own}, not {clip(variant)}", variant)
    found = own or variant or "chess"
    Position(found)  # raises if it is unknown
    return found
