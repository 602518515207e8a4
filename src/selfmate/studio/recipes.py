"""Recipes as forms: the keys with their declarations, and whether changes fit together.

>>> form = recipe_form(AskRecipe(ask=1, name="gardner-laptop", settings=["selfplay.visits=32"]))
>>> next(each.value for each in form.keys if each.key == "selfplay.visits")
'32'
"""

from __future__ import annotations

from selfmate.errors import SelfmateError
from selfmate.recipe.keys import KEYS
from selfmate.recipe.reader import change, heading, load, names
from selfmate.recipe.writer import toml_value
from selfmate.studio.messages import AskRecipe, RecipeForm, RecipeKeyCard

__all__ = ["recipe_form"]


def recipe_form(request: AskRecipe) -> RecipeForm:
    """Return a shipped recipe with changes; raises a `SelfmateError` for a name or a change that does not exist."""
    if request.name not in names():  # a name, never a path
        raise SelfmateError(f"there is no recipe {request.name!r}", request.name)
    recipe = change(load(request.name), request.settings)
    keys = []
    for name, key in KEYS.items():
        value = getattr(getattr(recipe, key.section), key.name)
        keys.append(
            RecipeKeyCard(
                key=name,
                section=key.section,
                name=key.name,
                type=key.type,
                help=key.help,
                value="" if value is None else toml_value(value).strip('"'),
                expected=key.expected,
                choices=list(key.choices),
                scheduled=key.is_scheduled,
            )
        )
    return RecipeForm(ask=request.ask, name=request.name, description=heading(request.name).description, keys=keys)
