"""The picture of the search as text: the lake, and the tree as an indented list."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console

from selfmate.lab.frozenlake.lake import ARROWS
from selfmate.lab.frozenlake.scene import frames_of

__all__ = ["draw_text", "watch"]

MOST_LINES, FEWEST_LINES = 24, 5
"""Of the tree; a terminal with few lines shows fewer, so that the lake stays in sight."""
MOST_ARROWS = 40
"""Of the path, so that its line is not broken in a terminal of 80 columns."""
STYLES = {"goal": "bold green", "hole": "bold red", "new": "bold bright_blue", "frozen": ""}


def watch(trace: dict[str, Any], console: Console, delay: float) -> None:
    """Print the pictures of a trace; in a terminal each replaces the one before, elsewhere only each move's last."""
    others = len(trace["rows"]) + 3  # the heading, an empty line, and the cursor's
    lines = min(max(console.height - others, FEWEST_LINES), MOST_LINES) if console.is_terminal else MOST_LINES
    for move, done in frames_of(trace):
        is_last = done == trace["simulations"] or move == len(trace["moves"])
        if not console.is_terminal and not is_last:
            continue
        if console.is_terminal:
            console.clear()
        console.print(draw_text(trace, move, done, lines))
        time.sleep(delay * (4 if is_last else 1))


def draw_text(trace: dict[str, Any], move: int, done: int, most_lines: int = MOST_LINES) -> str:
    """Return one picture, with rich's markup; its tree has at most so many lines."""
    moves = trace["moves"]
    is_end = move == len(moves)
    here = moves[-1]["next"] if is_end else moves[move]["state"]
    head = f"{len(moves)} moves: {trace['end']}" if is_end else f"move {move + 1}, simulation {done}"
    path = "".join(ARROWS[each["action"]] for each in moves[:move])
    path = path if len(path) <= MOST_ARROWS else f"…{path[-MOST_ARROWS:]}"
    lines = [f"{head}   path {path}" if path else head, *_lake_lines(trace, here), ""]
    if not is_end:
        tree = _tree_lines(moves[move], done)
        kept = most_lines - 1
        lines += tree if len(tree) <= most_lines else [*tree[:kept], f"… {len(tree) - kept} more"]
    return "\n".join(lines)


def _lake_lines(trace: dict[str, Any], here: int) -> list[str]:
    styles = {"G": STYLES["goal"], "H": STYLES["hole"]}
    lines = []
    for row, tiles in enumerate(trace["rows"]):
        cells = []
        for column, tile in enumerate(tiles):
            shown = "@" if row * len(tiles) + column == here else tile.replace("F", "·")
            style = "bold yellow" if shown == "@" else styles.get(tile, "")
            cells.append(f"[{style}]{shown}[/]" if style else shown)
        lines.append("  " + " ".join(cells))
    return lines


def _tree_lines(move: dict[str, Any], done: int) -> list[str]:
    """Return the tree after `done` simulations: an action, visits and value in each line, children indented."""
    nodes = move["nodes"]
    visits, totals = [0] * len(nodes), [0.0] * len(nodes)
    for simulation in move["simulations"][:done]:
        for index, value in zip(simulation["path"], simulation["returns"], strict=True):
            visits[index] += 1
            totals[index] += value
    last: dict[str, Any] = move["simulations"][done - 1] if done else {"path": [], "new": False}
    lines: list[str] = []

    def add(index: int) -> None:
        node = nodes[index]
        is_new = last["new"] and index == last["path"][-1]
        style = STYLES["new" if is_new and node["kind"] == "frozen" else node["kind"]]
        arrow = ARROWS[node["action"]] if index else "root"
        text = (
            f"{'  ' * node['depth']}{arrow} square {node['state']}, {visits[index]} visit{'s' * (visits[index] != 1)}"
        )
        if node["kind"] in ("goal", "hole"):  # nothing follows: its reward is in the return of the square before
            text += f", {node['kind']}"
        elif visits[index]:
            text += f", return {totals[index] / visits[index]:.1f}"
        lines.append(f"[{style}]{text}[/]" if style else text)
        for child, each in enumerate(nodes):
            if each["parent"] == index and visits[child]:
                add(child)

    add(0)
    return lines
