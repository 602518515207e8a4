"""`selfmate recipe`: recipes of one's own."""

from __future__ import annotations

from typing import Annotated

import typer

from selfmate.cli.help import Group

__all__ = ["recipe_app"]

recipe_app = typer.Typer(
    help="Write recipes for `selfmate train`.\n\nExample: selfmate recipe new my-horde --variant horde",
    no_args_is_help=True,
    cls=Group,
)


@recipe_app.callback()
def _recipe() -> None:
    """Keep `selfmate recipe` a group of commands."""


@recipe_app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A new file, NAME.toml.", show_default=False)],
    variant: Annotated[
        str, typer.Option("--variant", help="chess, atomic, gardner, … or chess960, atomic960", show_default=False)
    ],
) -> None:
    """Write the start of a recipe: it extends the shipped recipe of the variant, and has every key as a comment.

    Example: selfmate recipe new my-horde --variant horde

    Example: selfmate train my-horde.toml --minutes 10
    """
    from selfmate.recipe.template import write_new_recipe

    path = write_new_recipe(name, variant)
    print(f"{path} written. Train with it: selfmate train {path} --minutes 10")
