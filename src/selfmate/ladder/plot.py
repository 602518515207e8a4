"""A picture of a climb: the score against each rung by its rating, the rating that fits them, and its interval."""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path
from typing import Final

from selfmate.errors import SelfmateError
from selfmate.ladder.ladder import LadderReport, rating_line
from selfmate.rating.match_stats import score_of_elo
from selfmate.util.files import check_target, write_output
from selfmate.util.svg_chart import Axis, escape, page, spread_labels, ticks
from selfmate.util.text import many, rounded

__all__ = ["draw", "write_picture"]


WIDTH, LEFT, RIGHT, TOP, HEIGHT = 860, 62, 26, 58, 330
"""Of the picture, its margins, and the height of the part with the scores."""


STRIP: Final = 158
"""Height of what stands below: the numbers of the axis and the names of the rungs."""


APART: Final = 14
"""Least distance of two names."""


GREY, FAINT, CURVE, POINT = "#6a727a", "#d9dde1", "#2f7d4f", "#b4531f"


MOST_TICKS: Final = 13


ROOM: Final = 0.04
"""Of the axis, to the left and right of the outermost rungs."""


def draw(report: LadderReport) -> str:
    """Draw the report as SVG."""
    rungs, standing = report.spacing.rungs, report.standing
    # 1. The scale.
    ends = [rung.elo for rung in rungs] + ([standing.elo] if standing else [])
    lowest, highest = min(ends), max(max(ends), min(ends) + 100)
    room = ROOM * (highest - lowest)
    lowest, highest = lowest - room, highest + room
    right, bottom = WIDTH - RIGHT, TOP + HEIGHT
    x, y = Axis(lowest, highest, LEFT, right), Axis(0, 1, bottom, TOP)
    parts = [
        f'<text x="{LEFT}" y="24" font-size="15" font-weight="600">{escape(_headline(report))}</text>',
        f'<text x="{LEFT}" y="43" fill="{GREY}">{escape(_subline(report))}</text>',
    ]
    # 2. The interval of the rating: with the ladder's own error, and without.
    if standing is not None and not standing.sweep:
        for error, opacity in ((standing.full_error, 0.10), (standing.error, 0.18)):
            left, width = x(standing.elo - error), x(standing.elo + error) - x(standing.elo - error)
            parts.append(
                f'<rect x="{left:.1f}" y="{TOP}" width="{width:.1f}" height="{HEIGHT}" fill="{CURVE}" '
                f'fill-opacity="{opacity}"/>'
            )
    # 3. Grid and axes.
    for percent in range(0, 101, 25):
        level = y(percent / 100)
        parts.append(f'<path d="M{LEFT} {level:.1f}H{right}" stroke="{FAINT}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{level + 4:.1f}" text-anchor="end" fill="{GREY}">{percent} %</text>')
    parts.append(
        f'<text transform="translate(16 {TOP + HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">score</text>'
    )
    for elo in ticks(lowest, highest, MOST_TICKS):
        parts.append(f'<path d="M{x(elo):.1f} {bottom}v5" stroke="{GREY}"/>')
        parts.append(f'<text x="{x(elo):.1f}" y="{bottom + 18}" text-anchor="middle" fill="{GREY}">{elo:.0f}</text>')
    parts.append(f'<path d="M{LEFT} {bottom}H{right}" stroke="{GREY}"/>')
    below = bottom + STRIP - 10
    parts.append(f'<text x="{(LEFT + right) / 2:.0f}" y="{below}" text-anchor="middle">rating of the rung</text>')
    # 4. The score that the rating expects.
    if standing is not None and not standing.sweep:
        points = [lowest + step * (highest - lowest) / 120 for step in range(121)]
        line = " ".join(f"{x(each):.1f},{y(score_of_elo(standing.elo - each)):.1f}" for each in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{CURVE}" stroke-width="2"/>')
        parts.append(f'<path d="M{x(standing.elo):.1f} {TOP}V{bottom}" stroke="{CURVE}" stroke-dasharray="4 4"/>')
    # 5. The rungs: names below, scores above.
    places = spread_labels([x(rung.elo) for rung in rungs], APART, LEFT, right)
    for rung, place in zip(rungs, places, strict=True):
        match, at = report.matches.get(rung.name), x(rung.elo)
        ink, weight = (POINT, "600") if match else (GREY, "400")
        parts.append(f'<path d="M{at:.1f} {bottom + 24}v6L{place:.1f} {bottom + 44}v4" fill="none" stroke="{ink}"/>')
        parts.append(
            f'<text transform="translate({place + 4:.1f} {bottom + 51}) rotate(-90)" text-anchor="end" fill="{ink}" '
            f'font-weight="{weight}" font-size="11">{escape(rung.name)}</text>'
        )
        if match is None:
            continue
        low, high = (y(end) for end in match.interval)
        parts.append(
            f'<path d="M{x(rung.elo - rung.error):.1f} {y(match.score):.1f}H{x(rung.elo + rung.error):.1f}'
            f'M{at:.1f} {low:.1f}V{high:.1f}" stroke="{POINT}" stroke-opacity="0.75" stroke-width="1.4"/>'
        )
        parts.append(f'<circle cx="{at:.1f}" cy="{y(match.score):.1f}" r="{_radius(match.games):.1f}" fill="{POINT}"/>')
    return page(WIDTH, bottom + STRIP, rating_line(report), parts)


def _headline(report: LadderReport) -> str:
    standing = report.standing
    if standing is None or standing.sweep:
        return rating_line(report)
    return f"{report.name}, {report.variant}: {rounded(standing.elo)} ± {rounded(standing.error)}"


def _subline(report: LadderReport) -> str:
    games = sum(match.games for match in report.matches.values())
    standing, wide = report.standing, ""
    if standing is not None and not standing.sweep:
        wide = f"; with the ladder's own error ± {rounded(standing.full_error)} (light)"
    return f"{many(games, 'game')}, bars are 95 % intervals{wide}; random = 0"


def _radius(games: int) -> float:
    """Larger dots for more games.

    >>> _radius(2) < _radius(200)
    True
    """
    return 3 + math.sqrt(min(games, 400)) / 6


def write_picture(path: Path, picture: str) -> None:
    """Write SVG, or PNG where a program can make it of that."""
    if path.suffix.lower() != ".png":
        write_output(path, picture.encode())
        return
    tool = shutil.which("rsvg-convert")
    if tool is not None:
        done = subprocess.run(
            [tool, "--zoom", "2"], input=picture.encode(), capture_output=True, check=False, timeout=60
        )
        if done.returncode:
            raise SelfmateError(f"rsvg-convert could not make {path}: {done.stderr.decode('utf-8', 'replace').strip()}")
        data = done.stdout
    else:
        try:
            import cairosvg
        except ImportError:
            raise _no_png(path) from None
        data = cairosvg.svg2png(bytestring=picture.encode(), scale=2)
    write_output(path, data)


def check_picture(path: Path) -> None:
    """Refuse a picture that could not be written, before anything is played for it."""
    if path.suffix.lower() not in (".svg", ".png"):
        raise SelfmateError(f"--plot: a file .svg or .png, not {path}", str(path))
    check_target(path)
    if path.suffix.lower() == ".png" and shutil.which("rsvg-convert") is None:
        import importlib.util

        if importlib.util.find_spec("cairosvg") is None:
            raise _no_png(path)


def _no_png(path: Path) -> SelfmateError:
    needs = "a PNG needs rsvg-convert (librsvg) or the Python package cairosvg; a .svg needs neither"
    return SelfmateError(f"{path}: {needs}", str(path))
