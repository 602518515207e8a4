"""Line charts as self-contained SVG: panels above each other that share their x axis, and the parts of other charts.

>>> elo = Series("champion", ((0, 100.0), (500, 400.0)), band=((50.0, 150.0), (380.0, 420.0)))
>>> picture = draw([Panel("Elo", (elo,), lines=(ReferenceLine("random", 0.0),))], "games")
>>> picture.startswith("<svg") and picture.endswith("</svg>"), picture.count("<polyline"), picture.count("<circle")
(True, 1, 2)
>>> ticks(0, 1290)
[0.0, 500.0, 1000.0]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

__all__ = ["Axis", "Panel", "ReferenceLine", "Series", "draw", "escape", "page", "spread_labels", "ticks"]

COLOURS: Final = ("#33658a", "#c8553d", "#5b8c5a", "#8d6a9f")
INK, GRID, REFERENCE = "#2a2d31", "#e4e2dd", "#8a8f94"
WIDTH: Final = 760
LEFT, RIGHT, TOP, BOTTOM = 64, 120, 34, 46
"""Margins of the page in pixels: left for the y axis, right for the names of lines, above the first, below the last."""
GAP: Final = 44
"""Pixels between two panels."""
LINE: Final = 14
"""Pixels of a line of text."""
MOST_TICKS: Final = 6
FONT: Final = "system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif"


class Series(NamedTuple):
    """A line through points (x, y), with an optional band (low, high) for each point."""

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float]] = ()


class ReferenceLine(NamedTuple):
    """A dashed horizontal line across the panel."""

    name: str
    y: float


class Panel(NamedTuple):
    """One chart of the picture; `height` in pixels."""

    title: str
    series: Sequence[Series]
    lines: Sequence[ReferenceLine] = ()
    height: int = 150


def ticks(low: float, high: float, most: int = MOST_TICKS) -> list[float]:
    """Return round numbers from `low` to `high` at equal distances, at most `most` where they are inside."""
    if not high > low:
        return [low]
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * unit for unit in (1, 2, 5, 10) if power * unit >= rough * (1 - 1e-9))
    return [number * step for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def draw(panels: Sequence[Panel], x_label: str) -> str:
    """Draw the panels and return the SVG as text."""
    xs = [x for panel in panels for series in panel.series for x, _ in series.points] or [0.0]
    across = Axis(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    height = TOP + sum(panel.height for panel in panels) + GAP * (len(panels) - 1) + BOTTOM
    parts: list[str] = []
    top = TOP
    for number, panel in enumerate(panels):
        last = number == len(panels) - 1
        parts += _panel(panel, across, top, x_label if last else "")
        top += panel.height + GAP
    return page(WIDTH, height, ", ".join(panel.title for panel in panels), parts)


def page(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """Return an SVG document of this size in pixels: a white background and the given elements."""
    begin = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="{FONT}" font-size="12" fill="{INK}">'
    )
    background = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([begin, f"<title>{escape(title)}</title>", background, *parts, "</svg>"])


class Axis:
    """Maps values linearly to pixels; values outside the range are clamped to its ends."""

    def __init__(self, low: float, high: float, begin: float, end: float) -> None:
        self.low, self.high = low, high if high > low else low + 1.0
        self.begin, self.end = begin, end

    def __call__(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        return self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin)


def _panel(panel: Panel, across: Axis, top: int, x_label: str) -> list[str]:
    bottom = top + panel.height
    # 1. The y axis covers everything that is drawn, with a margin.
    ys = [y for series in panel.series for _, y in series.points]
    ys += [y for series in panel.series for ends in series.band for y in ends] + [line.y for line in panel.lines]
    low, high = min(ys, default=0.0), max(ys, default=1.0)
    room = 0.06 * (high - low) or 0.5
    up = Axis(low - room, high + room, bottom, top)
    parts = [f'<text x="{LEFT}" y="{top - 12}" font-size="14" font-weight="600">{escape(panel.title)}</text>']
    for tick in ticks(up.low, up.high):
        parts.append(_line(across.begin, up(tick), across.end, up(tick), GRID))
        parts.append(f'<text x="{LEFT - 8}" y="{up(tick) + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    # 2. The x axis
    parts.append(_line(across.begin, bottom, across.end, bottom, INK))
    for tick in ticks(across.low, across.high):
        parts.append(_line(across(tick), bottom, across(tick), bottom + 4, INK))
        if x_label:
            parts.append(f'<text x="{across(tick):.1f}" y="{bottom + 17}" text-anchor="middle">{_number(tick)}</text>')
    if x_label:
        middle = (across.begin + across.end) / 2
        parts.append(f'<text x="{middle:.1f}" y="{bottom + 36}" text-anchor="middle">{escape(x_label)}</text>')
    # 3. Reference lines, their names at the right without overlap
    names_at = spread_labels([up(line.y) for line in panel.lines], LINE)
    for line, y in zip(panel.lines, names_at, strict=True):
        parts.append(_line(across.begin, up(line.y), across.end, up(line.y), REFERENCE, 'stroke-dasharray="5 4"'))
        parts.append(f'<text x="{across.end + 6}" y="{y + 4:.1f}" fill="{REFERENCE}">{escape(line.name)}</text>')
    # 4. The series: bands behind lines
    for series, colour in zip(panel.series, COLOURS, strict=False):
        if series.band:
            upper = [(x, ends[1]) for (x, _), ends in zip(series.points, series.band, strict=True)]
            lower = [(x, ends[0]) for (x, _), ends in zip(series.points, series.band, strict=True)]
            outline = _places([*upper, *reversed(lower)], across, up)
            parts.append(f'<polygon points="{outline}" fill="{colour}" fill-opacity="0.18"/>')
    for series, colour in zip(panel.series, COLOURS, strict=False):
        places = _places(series.points, across, up)
        parts.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        if series.band:
            parts += [
                f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3" fill="{colour}"/>' for x, y in series.points
            ]
    # 5. A legend where there are several series
    if len(panel.series) > 1:
        for row, (series, colour) in enumerate(zip(panel.series, COLOURS, strict=False)):
            y = top + 4 + LINE * row
            parts.append(f'<rect x="{across.end + 6}" y="{y}" width="14" height="3" fill="{colour}"/>')
            parts.append(f'<text x="{across.end + 25}" y="{y + 6}">{escape(series.name)}</text>')
    return parts


def spread_labels(places: Sequence[float], gap: float, low: float = -math.inf, high: float = math.inf) -> list[float]:
    """Return places at least `gap` apart and within `low` to `high`, moved as little as possible.

    >>> spread_labels([12, 10, 100], 14), spread_labels([12, 10, 100], 14, low=8)
    ([18.0, 4.0, 100], [22, 8, 100])
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    groups: list[tuple[list[float], float]] = []  # of a group: wanted places of its members, and its first place
    for index in order:
        groups.append(([places[index]], places[index]))
        while len(groups) > 1 and groups[-2][1] + gap * len(groups[-2][0]) > groups[-1][1]:
            members = groups[-2][0] + groups[-1][0]
            begin = sum(want - gap * number for number, want in enumerate(members)) / len(members)
            groups[-2:] = [(members, max(low, min(begin, high - gap * (len(members) - 1))))]
    found = [begin + gap * number for members, begin in groups for number in range(len(members))]
    return [place for _, place in sorted(zip(order, found, strict=True))]


def _places(points: Sequence[tuple[float, float]], across: Axis, up: Axis) -> str:
    return " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" {more}/>'


def _number(value: float) -> str:
    """Format a number of an axis.

    >>> _number(20000.0), _number(-0.5), _number(0.30000000000000004)
    ('20,000', '-0.5', '0.3')
    """
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-9 else f"{value:.4g}"


def escape(text: str) -> str:
    """Escape text for SVG and HTML.

    >>> escape('<a href="x">')
    '&lt;a href=&quot;x&quot;&gt;'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
