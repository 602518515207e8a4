"""`python -m selfmate.recipe.docs`: write docs/recipes.md from the shipped recipes and the declarations of the keys."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Final

from selfmate.recipe.describe import shipped_recipes
from selfmate.recipe.keys import KEYS, MAY_CHANGE, Key
from selfmate.recipe.schema import Recipe
from selfmate.recipe.writer import toml_value

__all__ = ["PAGE", "page"]

PAGE: Final = Path("docs/recipes.md")

HEAD: Final = """\
# Recipes

<!-- Written by `python -m selfmate.recipe.docs`; a test compares it with the recipes and the declarations. -->

A recipe is one TOML file that describes a training run completely. `selfmate train RECIPE` takes the name of a shipped
recipe or the path of a file.

```sh
selfmate train --list                              # the shipped recipes
selfmate train gardner-laptop --minutes 10         # train; the same command resumes
selfmate train --explain selfplay.visits           # a key: range, default, meaning, its value in the shipped recipes
selfmate recipe new my-horde --variant horde       # writes my-horde.toml, a start with every key as a comment
selfmate train my-horde.toml --minutes 10
```

## Shipped recipes

{recipes}

A recipe made for a CPU also runs on a GPU, which a larger net would use better.

`atomic-thesis` (seed 000), `chess-sigmazero` (001), `chess-selflearning` (002), `gardner-value` and `gardner-two-heads`
(003) and `chess-cloud` (004) are the systems of the five documents that the project set out from, its seeds, in our
program: with their nets, searches, targets and gates, and with the numbers that they state. Comments in the files name
the sections of the documents, and what those leave open. All extend `chess-plain`.

## A recipe of your own

```toml
description = "Gardner with a larger net"
extends = "gardner-laptop"

[net]
size = "small"

[selfplay]
visits = [[0, 16], [40, 32]]  # from cycle 40 on 32
```

- `extends` names a shipped recipe, or the path of another file, relative to this one. Every key that the file does not
  have comes from there, and may come from a recipe that it extends in turn. A schedule is replaced as a whole.
- `description` is one line, and `device` (`cpu` or `gpu`) says what the recipe was made for; both are for lists only.
- `--set section.key=value` changes single keys of a run; it may be repeated.
- Everything that is wrong with a file or with `--set` is refused in one line before anything starts: missing and
  unknown keys, values out of range, keys that cannot go together, search trees or nets that do not fit into memory.
- The run archives its recipe as `recipe.toml`, whole, with every key: it depends on no other file. A run cannot be
  resumed with a recipe that has changed; keys marked *resume* below may be changed by `--set`.

## How games begin and end

- A game begins at the start of the variant, followed by `random_plies`. With `starts`, a share of the games
  (`starts_share`) begins elsewhere instead: at the positions of a file, at middlegames and endgames of random games
  (`generated`), or at the start without some men of one side (`handicaps`; of the larger side, as in horde). A file
  has Lichess's CSV of puzzles, or FENs or EPDs, one per line; its path is relative to the working directory. Rows that
  cannot be used are skipped, counted and shown. The run keeps the positions in `starts.fen`, and needs the file no
  more.
- `selfmate starts RUN -o puzzles.csv` writes such a file from games of a run or a PGN file.
- The first moves may be those of the bare policy (`policy_plies`), in some games all moves (`policy_games`); the
  policy itself is the target of these positions.
- A side resigns by the values of its own searches (`resign`). In a share of the games (`resign_played_out`) it plays
  on: `resign_false_rate` in `metrics.jsonl` is how often such a game was not lost after all.
- A game of `max_plies` is truncated. It has no value target, unless `judge` values its last position. The target is
  then a value instead of a result.

## Time, results, and how a run is watched

- `--minutes` ends a session. The last fifth of the time, or less, goes to the final matches against the untrained net
  and heuristic-1 (`gate.final_games`, `gate.final_visits`). They have as many games as fit, none where fewer than 20
  would, and end without a result when the session takes a fifth longer than asked for.
- Every cycle prints one line where the output is no terminal. Its numbers are those that `metrics.jsonl` in the run's
  directory has under the same cycle. The net that cycle 4 makes is called the one of cycle 5, as it comes after five
  cycles.
- Where TensorBoard is installed (`pip install tensorboard`), the same numbers are also written to `tensorboard` in the
  run's directory; `tensorboard --logdir runs` shows all runs beside one another.
- A warning of overfitting comes when the value loss on held-out games is far above that on learned games for three
  cycles in a row (`OVERFITTING_GAP` in `selfmate/train/metrics.py`). A smaller `learner.reuse` or a larger
  `learner.window` helps.
- `selfmate records RUN -o FILE` writes the metrics as a table (`.csv`; `--stage gate`: of the gates alone), or the
  games of self-play (`.pgn`, or `.jsonl` with a line of JSON for each). The games of each gate are in the run's
  folder `pgn`.
- `selfmate progress RUN` draws the strength over training ([progress.md](progress.md)).
- `console.log` in the run's directory has every line that was printed, with its time, and the traceback of a crash. A
  lane or the learner that stands still for `--watchdog` minutes is named there, and ends the session.
- `--learn-only` plays no games: each cycle learns from the window as it is, a cycle without new games `reuse` times
  from all of it.
- With `progress.engine` every new champion plays a UCI engine. The games are in the folder `engine`; the metrics have
  the result and the rating by BayesElo's model with its 95 % interval, on a scale where the engine has `engine_elo`.
  Stockfish limits itself with `uci:stockfish?nodes=100000&option.UCI_LimitStrength=true&option.UCI_Elo=1350`.

## Keys

- **schedule**: the number may be a schedule `[[cycle, value], ...]`: a value holds from its cycle on, the first is 0.
- **resume**: `--set` may change the key when a run is resumed.
- A key without a default must be in the file, or in one that it extends.
"""


def page() -> str:
    """Return the page: the shipped recipes, how to write one, and a table of keys for each section."""
    lines = ["| recipe | variant | device | |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {variant} | {device} | {text} |" for name, variant, device, text in shipped_recipes()]
    blocks = [HEAD.format(recipes="\n".join(lines))]
    for section, field in Recipe.model_fields.items():
        part = field.annotation
        lines = [f"### [{section}]", "", inspect.cleandoc(str(part.__doc__)), ""]
        lines += ["| key | value | default | may | meaning |", "|---|---|---|---|---|"]
        keys = [key for key in KEYS.values() if key.section == section]
        lines += [_row(key) for key in keys if not (section == "gate" and f"search.{key.name}" in KEYS)]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _row(key: Key) -> str:
    default = "" if key.is_required else "as in `size`" if key.default is None else f"`{toml_value(key.default)}`"
    marks = ["schedule"] * key.is_scheduled + ["resume"] * (f"{key.section}.{key.name}" in MAY_CHANGE)
    return f"| `{key.name}` | {key.expected} | {default} | {', '.join(marks)} | {key.help} |"


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(), "utf-8")
    print(f"{path} is written.")
