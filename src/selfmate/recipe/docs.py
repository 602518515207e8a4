"""`python -m selfmate.recipe.docs`: write docs/reference/recipe.md from the declarations of the keys."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from selfmate.recipe.reader import names
from selfmate.recipe.schema import KEYS, MAY_CHANGE, Key, Recipe
from selfmate.recipe.writer import toml_value

__all__ = ["PAGE", "reference"]

PAGE: Final = Path("docs/reference/recipe.md")

HEAD: Final = """\
# Recipe keys

<!-- Written by `python -m selfmate.recipe.docs`; a test compares it with the declarations. -->

A recipe is one TOML file that describes a run completely. `selfmate train RECIPE` takes the path of a file or the name
of a shipped recipe: {names}. `--set section.key=value` changes single keys. Unknown keys, values out of range and keys
that cannot go together are refused with one line that names all of them.

- **schedule**: the number may be a schedule `[[cycle, value], ...]`: a value holds from its cycle on, the first is 0.
- **resume**: `--set` may change the key when a run is resumed.
- A key without a default must be in the file.
"""


def reference() -> str:
    """Return the page: a table of keys for each section."""
    blocks = [HEAD.format(names=", ".join(f"`{name}`" for name in names()))]
    for section, field in Recipe.model_fields.items():
        part = field.annotation
        lines = [f"## [{section}]", "", str(part.__doc__), ""]
        lines += ["| key | value | default | may | meaning |", "|---|---|---|---|---|"]
        lines += [_row(key) for key in KEYS.values() if key.section == section]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _row(key: Key) -> str:
    default = "" if key.is_required else "as in `size`" if key.default is None else f"`{toml_value(key.default)}`"
    marks = ["schedule"] * key.is_scheduled + ["resume"] * (f"{key.section}.{key.name}" in MAY_CHANGE)
    return f"| `{key.name}` | {key.expected} | {default} | {', '.join(marks)} | {key.help} |"


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(reference(), "utf-8")
    print(f"{path} is written.")
