"""Charts of success in percent, side by side, with a linear or a logarithmic x axis, as self-contained SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from selfmate.util.svg_chart import COLOURS, GRID, INK, REFERENCE, Axis, escape, page, spread_labels

__all__ = ["Curve", "CurvePanel", "draw_panels"]

WIDTH, HEIGHT = 300, 240
"""Of the area of a panel, in pixels."""
LEFT, TOP, BOTTOM, GAP = 46, 66, 74, 26
LEGEND_ROW: Final = 15
LABEL_GAP: Final = 6
"""Between two labels of the x axis, in pixels."""


class Curve(NamedTuple):
    """Medians over agents with the ends of their middle half: (x, median, low, high), shares from 0 to 1."""

    name: str
    points: Sequence[tuple[float, float, float, float]]


class CurvePanel(NamedTuple):
    """One chart; `lines` are names and heights of dashed lines."""

    title: str
    curves: Sequence[Curve]
    lines: Sequence[tuple[str, float]] = ()


def draw_panels(title: str, x_label: str, panels: Sequence[CurvePanel], *, logarithmic: bool = False) -> str:
    """Return the picture as SVG."""
    scale = math.log10 if logarithmic else float
    xs = sorted({x for panel in panels for curve in panel.curves for x, *_ in curve.points})
    rows = max(len(panel.curves) for panel in panels)
    parts = [f'<text x="{LEFT}" y="24" font-size="16" font-weight="600">{escape(title)}</text>']
    for number, panel in enumerate(panels):
        begin = LEFT + number * (WIDTH + GAP)
        across = Axis(scale(xs[0]), scale(xs[-1]), begin, begin + WIDTH)
        parts += _panel(panel, across, xs, scale, x_label, is_first=number == 0)
    width = LEFT + len(panels) * (WIDTH + GAP)
    return page(width, TOP + HEIGHT + BOTTOM + rows * LEGEND_ROW, title, parts)


def _panel(
    panel: CurvePanel, across: Axis, xs: Sequence[float], scale: type[float] | object, x_label: str, *, is_first: bool
) -> list[str]:
    assert callable(scale)
    up = Axis(0.0, 1.0, TOP + HEIGHT, TOP)
    left, right = across.begin, across.end
    parts = [f'<text x="{left}" y="{TOP - 14}" font-weight="600">{escape(panel.title)}</text>']
    # 1. Axes
    for percent in range(0, 101, 20):
        y = up(percent / 100)
        parts.append(f'<path d="M{left:.1f} {y:.1f}H{right:.1f}" stroke="{GRID}"/>')
        if is_first:
            parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{percent}</text>')
    free = -math.inf
    for x in xs:
        at = across(scale(x))
        parts.append(f'<path d="M{at:.1f} {up(0):.1f}v4" stroke="{INK}"/>')
        label = f"{x:,.0f}" if x >= 10 or x == int(x) else f"{x:.2g}"
        half = 3.5 * len(label)
        if at - half > free:
            parts.append(f'<text x="{at:.1f}" y="{up(0) + 18:.1f}" text-anchor="middle">{label}</text>')
            free = at + half + LABEL_GAP
    parts.append(f'<path d="M{left:.1f} {up(0):.1f}H{right:.1f}" stroke="{INK}"/>')
    middle = (left + right) / 2
    parts.append(f'<text x="{middle:.1f}" y="{up(0) + 38:.1f}" text-anchor="middle">{escape(x_label)}</text>')
    # 2. Reference lines
    heights = spread_labels([up(height) - 4 for _, height in panel.lines], 13)
    for (name, height), y in zip(panel.lines, heights, strict=True):
        parts.append(
            f'<path d="M{left:.1f} {up(height):.1f}H{right:.1f}" stroke="{REFERENCE}" stroke-dasharray="5 4"/>'
        )
        parts.append(f'<text x="{left + 4:.1f}" y="{y:.1f}" font-size="11" fill="{REFERENCE}">{escape(name)}</text>')
    # 3. Curves: bands, lines, points, and a legend below
    for row, (curve, colour) in enumerate(zip(panel.curves, COLOURS, strict=False)):
        places = [(across(scale(x)), up(y), up(low), up(high)) for x, y, low, high in curve.points]
        outline = [f"{x:.1f},{high:.1f}" for x, _, _, high in places]
        outline += [f"{x:.1f},{low:.1f}" for x, _, low, _ in reversed(places)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, *_ in places)
        parts.append(f'<polygon points="{" ".join(outline)}" fill="{colour}" fill-opacity="0.15"/>')
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y, *_ in places]
        y = up(0) + 58 + row * LEGEND_ROW
        parts.append(f'<rect x="{left:.1f}" y="{y - 5:.1f}" width="14" height="3" fill="{colour}"/>')
        parts.append(f'<text x="{left + 20:.1f}" y="{y:.1f}">{escape(curve.name)}</text>')
    return parts
