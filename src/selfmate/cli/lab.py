"""`selfmate lab`: the classroom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfmate.cli.common import Threads
from selfmate.cli.help import Group
from selfmate.errors import SelfmateError

if TYPE_CHECKING:
    from selfmate.lab.frozenlake.settings import LakeSettings

__all__ = ["lab_app"]

lab_app = typer.Typer(
    help="Experiments small enough to know the exact answer.\n\nExample: selfmate lab frozenlake --show search.html",
    no_args_is_help=True,
    cls=Group,
)


@lab_app.callback()
def _lab() -> None:
    """Keep `selfmate lab` a group of commands."""


@lab_app.command()
def frozenlake(
    settings: Annotated[
        Path | None,
        typer.Argument(
            metavar="SETTINGS", help="TOML file with settings (default: those of seed 003).", show_default=False
        ),
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; repeatable.")
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="NAME", help="q-table, dqn, mcts, q-table+mcts or dqn+mcts; repeatable."),
    ] = None,
    table: Annotated[bool, typer.Option("--table", help="Measure table 2.2 of seed 003.")] = False,
    study: Annotated[
        str | None, typer.Option("--study", metavar="NAME", help="slipping, simulations, training or all.")
    ] = None,
    goals: Annotated[bool, typer.Option("--goals", help="Measure the figures of docs/results/frozenlake.md.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="--table and --study in seconds, with figures that mean little.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of results; run the same command again to resume.")
    ] = None,
    show: Annotated[Path | None, typer.Option("--show", help="Write the search as a page, .html.")] = None,
    gif: Annotated[Path | None, typer.Option("--gif", help="Write the search as an animation, .gif.")] = None,
    strip: Annotated[
        Path | None, typer.Option("--strip", help="Write the search as pictures side by side, .svg.")
    ] = None,
    trace: Annotated[Path | None, typer.Option("--trace", help="Write what the page shows, .json.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show the search as text.")] = False,
    delay: Annotated[float, typer.Option("--delay", min=0, max=10, help="Seconds between pictures of --watch.")] = 0.15,
    print_settings: Annotated[bool, typer.Option("--settings", help="Print the settings as TOML, and exit.")] = False,
    threads: Threads = None,
) -> None:
    """Learn and search on Frozen Lake, and compare with the exact answer.

    Without a mode, each agent learns and is scored. docs/frozenlake.md is a tour.

    Example: selfmate lab frozenlake --agent q-table --set lake.slippery=false

    Example: selfmate lab frozenlake --table --out runs/lake
    """
    from selfmate.lab.frozenlake.command import Outputs, draw_search, measure, report_agents
    from selfmate.lab.frozenlake.settings import change, load, to_toml
    from selfmate.util.cpu import cores

    outputs = Outputs(show, gif, strip, trace, watch, delay)
    pictures = any(outputs[:5])
    measures = table or goals or quick or study is not None
    if quick and not table and study is None:
        table, study = True, "all"
    _check_modes(pictures=pictures, measures=measures, has_folder=out is not None and not print_settings)
    base = _demo(agents or []) if pictures and settings is None else load(settings)
    chosen = change(base, changes or [])
    workers = threads or cores()
    if print_settings:
        print(to_toml(chosen), end="")
    elif pictures:
        draw_search(chosen, outputs, agents or [])
    elif measures:
        measure(chosen, out, workers, table=table, study=study, goals=goals, quick=quick, agents=agents or [])
    else:
        report_agents(chosen, agents or [])


def _check_modes(*, pictures: bool, measures: bool, has_folder: bool) -> None:
    """Refuse outputs that exclude each other, and a folder for results where there are none."""
    if pictures and measures:
        raise SelfmateError("--show, --gif, --strip, --trace and --watch draw one search; --table, --study, --goals "
                            "and --quick measure many: call one after the other")  # fmt: skip
    if has_folder and not measures:
        raise SelfmateError("--out: results of --table, --study, --goals and --quick have a folder; add one of them")


def _demo(agents: list[str]) -> LakeSettings:
    """Return the settings of the picture: random roll-outs, or those of a learner that is named."""
    from selfmate.lab.frozenlake.settings import LakeSettings, change
    from selfmate.lab.frozenlake.trace import DEMO

    demo = LakeSettings.model_validate(DEMO)
    return change(demo, ["mcts.rollout=learned"]) if agents and agents[0] != "mcts" else demo
