"""One picture of the search: the lake, the tree of the move as it grows, and the path taken so far.

A scene is a list of shapes, which `as_svg` and `gif.draw_image` draw. The colours are the seed's: goal green, hole red,
expansion blue.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from selfmate.util.svg_chart import escape, page

__all__ = ["HEIGHT", "WIDTH", "Shape", "as_svg", "draw_strip", "frames_of", "make_scene"]

WIDTH, HEIGHT = 760, 380
LAKE_LEFT, LAKE_TOP, LAKE_SIDE = 20, 44, 240
TREE_LEFT, TREE_TOP, TREE_WIDTH, TREE_HEIGHT = 300, 60, 440, 230
PATH_TOP: Final = 338
INK, FAINT, LINE = "#2a2d31", "#8a8f94", "#b9bec4"
FILLS: Final = {"frozen": "#e8f1f6", "hole": "#d1495b", "goal": "#3f9b5b", "start": "#f4efdf"}
EXPANSION, PLAYER, ROLLOUT = "#3aa0e0", "#e0a030", "#9aa3ab"
LARGEST_NODE, SMALLEST_NODE = 15.0, 4.0
SHOWN_MOVES: Final = 12


class Shape(NamedTuple):
    """A line (two points or more), a disc (`points` has its middle), a rectangle (two corners) or a text."""

    kind: str
    points: tuple[tuple[float, float], ...]
    fill: str = "none"
    stroke: str = "none"
    size: float = 1.0
    """Width of a line, radius of a disc, or height of a text."""
    text: str = ""


def frames_of(trace: dict[str, Any]) -> list[tuple[int, int]]:
    """Return all pictures of a trace in order: (move, simulations that are done), and at last (moves, 0), the end."""
    frames = [(move, done) for move in range(len(trace["moves"])) for done in range(trace["simulations"] + 1)]
    return [*frames, (len(trace["moves"]), 0)]


def make_scene(trace: dict[str, Any], move: int, done: int) -> list[Shape]:
    """Return the shapes of one picture."""
    moves = trace["moves"]
    is_end = move == len(moves)
    here = moves[-1]["next"] if is_end else moves[move]["state"]
    simulation = None if is_end or done == 0 else moves[move]["simulations"][done - 1]
    if is_end:
        caption = f"{len(moves)} moves: {trace['end']}"
    else:
        caption = f"move {move + 1}, simulation {done} of {trace['simulations']}"
    shapes = [Shape("text", ((LAKE_LEFT, 28),), fill=INK, size=15, text=caption)]
    tried = [] if simulation is None else [moves[move]["nodes"][index]["state"] for index in simulation["path"]]
    rollout = [] if simulation is None else simulation["rollout"]
    shapes += _lake(trace, here, [each["state"] for each in moves[:move]] + [here], tried, rollout)
    if not is_end:
        shapes += _tree(trace, moves[move], done)
    return shapes + _path(trace, move, here)


# -- the parts --------------------------------------------------------------------------------------------------------


def _lake(trace: dict[str, Any], here: int, path: list[int], tried: list[int], rollout: list[int]) -> list[Shape]:
    """Return the squares, the path taken, the squares of a simulation's path in the tree and of its roll-out."""
    size = len(trace["rows"])
    side = LAKE_SIDE / size

    def middle(square: int) -> tuple[float, float]:
        row, column = divmod(square, size)
        return LAKE_LEFT + (column + 0.5) * side, LAKE_TOP + (row + 0.5) * side

    kinds = {"S": "start", "F": "frozen", "H": "hole", "G": "goal"}
    shapes = []
    for square in range(size * size):
        x, y = middle(square)
        half = side / 2 - 1
        fill = FILLS[kinds[trace["rows"][square // size][square % size]]]
        shapes.append(Shape("rectangle", ((x - half, y - half), (x + half, y + half)), fill=fill))
    shapes.append(Shape("line", tuple(middle(square) for square in path), stroke=PLAYER, size=4))
    if tried:
        shapes.append(Shape("line", tuple(map(middle, rollout)), stroke=ROLLOUT, size=1))
        shapes.append(Shape("line", tuple(map(middle, tried)), stroke=EXPANSION, size=2))
    return [*shapes, Shape("disc", (middle(here),), fill=PLAYER, stroke=INK, size=side * 0.24)]


def node_places(nodes: list[dict[str, Any]]) -> tuple[list[tuple[float, float]], float]:
    """Return the middle of every node in pixels, and the radius of a node."""
    leaves = max(node["x"] for node in nodes)
    levels = max(node["depth"] for node in nodes)
    across = TREE_WIDTH / (leaves + 1)
    down = min(TREE_HEIGHT / max(levels, 1), 60.0)
    radius = max(SMALLEST_NODE, min(LARGEST_NODE, 0.42 * across, 0.34 * down))
    return [(TREE_LEFT + (n["x"] + 0.5) * across, TREE_TOP + n["depth"] * down) for n in nodes], radius


def _tree(trace: dict[str, Any], move: dict[str, Any], done: int) -> list[Shape]:
    nodes = move["nodes"]
    places, radius = node_places(nodes)
    visits = [0] * len(nodes)
    for simulation in move["simulations"][:done]:
        for index in simulation["path"]:
            visits[index] += 1
    last: dict[str, Any] = move["simulations"][done - 1] if done else {"path": [0], "new": False}
    shapes = []
    for index, node in enumerate(nodes):
        if visits[index] and node["parent"] >= 0:
            begin, end = places[node["parent"]], places[index]
            on_path = index in last["path"]
            stroke, width = (EXPANSION, 2.5) if on_path else (LINE, 1.0)
            shapes.append(Shape("line", (begin, end), stroke=stroke, size=width))
            shapes += _arrow(begin, end, node["action"], EXPANSION if on_path else FAINT, max(3.0, radius * 0.42))
    for index, node in enumerate(nodes):
        if visits[index] or index == 0:
            is_new = bool(last["new"]) and index == last["path"][-1]
            fill = EXPANSION if is_new and node["kind"] == "frozen" else FILLS[node["kind"]]
            stroke = EXPANSION if index in last["path"] else FAINT
            shapes.append(Shape("disc", (places[index],), fill=fill, stroke=stroke, size=radius))
            if radius >= 8:
                colour = "#ffffff" if fill not in (FILLS["frozen"], FILLS["start"]) else INK
                x, y = places[index]
                shapes.append(
                    Shape("middle", ((x, y + radius * 0.33),), fill=colour, size=radius, text=str(visits[index]))
                )
    if done == trace["simulations"]:
        names = ("left", "down", "right", "up")
        values = [
            f"{name} {value:.0f} ({count})" if count else f"{name} untried"
            for name, value, count in zip(names, move["values"], move["visits"], strict=True)
        ]
        text = f"{', '.join(values)}; taken: {names[move['action']]}"
        shapes.append(Shape("text", ((TREE_LEFT, 28),), fill=INK, size=12, text=text))
    return shapes


def _arrow(begin: tuple[float, float], end: tuple[float, float], action: int, colour: str, size: float) -> list[Shape]:
    """Return a small triangle in the middle of an edge that points where the action goes."""
    x, y = (begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2
    dx, dy = ((-1, 0), (0, 1), (1, 0), (0, -1))[action]
    tip = (x + dx * size, y + dy * size)
    left = (x - dx * size + dy * size, y - dy * size + dx * size)
    right = (x - dx * size - dy * size, y - dy * size - dx * size)
    return [Shape("polygon", (tip, left, right), fill=colour)]


def _path(trace: dict[str, Any], move: int, here: int) -> list[Shape]:
    """Return the moves that were made: their squares in a row, with the actions between them."""
    size = len(trace["rows"])
    made = trace["moves"][:move][-SHOWN_MOVES:]
    squares = [each["state"] for each in made] + [here]
    shapes = [Shape("text", ((LAKE_LEFT, PATH_TOP - 22),), fill=FAINT, size=12, text="path so far")]
    kinds = {"S": "start", "F": "frozen", "H": "hole", "G": "goal"}
    for number, square in enumerate(squares):
        at = (LAKE_LEFT + 12 + number * 52.0, float(PATH_TOP))
        if number < len(made):
            after = (at[0] + 52.0, at[1])
            shapes.append(Shape("line", (at, after), stroke=PLAYER, size=2))
            shapes += _arrow(at, after, made[number]["action"], PLAYER, 5)
        fill = FILLS[kinds[trace["rows"][square // size][square % size]]]
        shapes.append(Shape("disc", (at,), fill=fill, stroke=INK if number == len(made) else FAINT, size=12))
        shapes.append(Shape("middle", ((at[0], at[1] + 4),), fill=INK, size=10, text=str(square)))
    return shapes


# -- SVG --------------------------------------------------------------------------------------------------------------


def as_svg(shapes: list[Shape]) -> list[str]:
    """Return shapes as elements of SVG."""
    found = []
    for shape in shapes:
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
        x, y = shape.points[0]
        colours = f'fill="{shape.fill}" stroke="{shape.stroke}"'
        if shape.kind == "line":
            found.append(
                f'<polyline points="{places}" {colours} stroke-width="{shape.size:g}" stroke-linejoin="round"/>'
            )
        elif shape.kind == "polygon":
            found.append(f'<polygon points="{places}" {colours}/>')
        elif shape.kind == "disc":
            found.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{shape.size:.1f}" {colours}/>')
        elif shape.kind == "rectangle":
            width, height = shape.points[1][0] - x, shape.points[1][1] - y
            found.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3" {colours}/>')
        else:
            anchor = ' text-anchor="middle"' if shape.kind == "middle" else ""
            text = escape(shape.text)
            found.append(
                f'<text x="{x:.1f}" y="{y:.1f}" font-size="{shape.size:.0f}" fill="{shape.fill}"{anchor}>{text}</text>'
            )
    return found


def draw_strip(trace: dict[str, Any]) -> str:
    """Return six pictures of a trace as one SVG: the first search in four steps, the last one, and the end."""
    count, last = trace["simulations"], len(trace["moves"])
    wanted = [(0, 1), (0, count // 4), (0, count // 2), (0, count), (last - 1, count), (last, 0)]
    chosen = [frame for number, frame in enumerate(wanted) if frame not in wanted[:number]]
    parts = []
    for number, (move, done) in enumerate(chosen):
        top = number // 2 * (HEIGHT + 10)
        left = number % 2 * (WIDTH + 10)
        parts += [f'<g transform="translate({left} {top})">', *as_svg(make_scene(trace, move, done)), "</g>"]
    rows = (len(chosen) + 1) // 2
    return page(2 * WIDTH + 10, rows * (HEIGHT + 10) - 10, "the search, step by step", parts)
