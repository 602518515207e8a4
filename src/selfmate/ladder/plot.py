"""A picture of a ladder rating: the score against each ladder player by its rating, and the curve that fits best."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from selfmate.errors import SelfmateError
from selfmate.ladder.report import LadderReport, rating_line, short_rating
from selfmate.rating.match_stats import score_of_elo
from selfmate.util.files import check_target, write_output
from selfmate.util.svg_chart import Axis, escape, page, spread_labels, ticks
from selfmate.util.text import many, rounded

__all__ = ["check_picture", "draw", "write_picture"]

WIDTH, LEFT, RIGHT, TOP, HEIGHT = 860, 62, 26, 58, 330
"""Of the picture, its margins, and the height of the part with the scores."""
STRIP: Final = 158
"""Height of the part below, with the numbers of the axis and the names of the ladder players."""
APART: Final = 14
"""Least distance of two names."""
GREY, FAINT, CURVE, POINT = "#6a727a", "#d9dde1", "#2f7d4f", "#b4531f"
MOST_TICKS: Final = 13
ROOM: Final = 0.04
"""Part of the axis to the left and right of the outermost players."""
CURVE_STEPS: Final = 120


def draw(report: LadderReport) -> str:
    """Return the report as SVG."""
    rating = report.rating
    ends = [player.elo for player in report.calibration.players] + ([rating.elo] if rating else [])
    lowest, highest = min(ends), max(max(ends), min(ends) + 100)
    room = ROOM * (highest - lowest)
    x = Axis(lowest - room, highest + room, LEFT, WIDTH - RIGHT)
    y = Axis(0, 1, TOP + HEIGHT, TOP)
    parts = [
        f'<text x="{LEFT}" y="24" font-size="15" font-weight="600">{escape(_headline(report))}</text>',
        f'<text x="{LEFT}" y="43" fill="{GREY}">{escape(_subline(report))}</text>',
        *_interval(report, x),
        *_axes(lowest - room, highest + room, x, y),
        *_expected_curve(report, lowest - room, highest + room, x, y),
        *_players(report, x, y),
    ]
    return page(WIDTH, TOP + HEIGHT + STRIP, rating_line(report), parts)


def _interval(report: LadderReport, x: Axis) -> Iterator[str]:
    """Draw the 95 % interval of the rating, with and without the ladder's own error."""
    rating = report.rating
    if rating is None or rating.sweep:
        return
    for error, opacity in ((rating.full_error, 0.10), (rating.error, 0.18)):
        left, width = x(rating.elo - error), x(rating.elo + error) - x(rating.elo - error)
        yield (
            f'<rect x="{left:.1f}" y="{TOP}" width="{width:.1f}" height="{HEIGHT}" fill="{CURVE}" '
            f'fill-opacity="{opacity}"/>'
        )


def _axes(lowest: float, highest: float, x: Axis, y: Axis) -> Iterator[str]:
    right, bottom = WIDTH - RIGHT, TOP + HEIGHT
    for percent in range(0, 101, 25):
        level = y(percent / 100)
        yield f'<path d="M{LEFT} {level:.1f}H{right}" stroke="{FAINT}"/>'
        yield f'<text x="{LEFT - 8}" y="{level + 4:.1f}" text-anchor="end" fill="{GREY}">{percent} %</text>'
    yield f'<text transform="translate(16 {TOP + HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">score</text>'
    for elo in ticks(lowest, highest, MOST_TICKS):
        yield f'<path d="M{x(elo):.1f} {bottom}v5" stroke="{GREY}"/>'
        yield f'<text x="{x(elo):.1f}" y="{bottom + 18}" text-anchor="middle" fill="{GREY}">{elo:.0f}</text>'
    yield f'<path d="M{LEFT} {bottom}H{right}" stroke="{GREY}"/>'
    below = bottom + STRIP - 10
    yield f'<text x="{(LEFT + right) / 2:.0f}" y="{below}" text-anchor="middle">rating of the opponent</text>'


def _expected_curve(report: LadderReport, lowest: float, highest: float, x: Axis, y: Axis) -> Iterator[str]:
    """Draw the score that the rating expects."""
    rating = report.rating
    if rating is None or rating.sweep:
        return
    points = [lowest + step * (highest - lowest) / CURVE_STEPS for step in range(CURVE_STEPS + 1)]
    line = " ".join(f"{x(each):.1f},{y(score_of_elo(rating.elo - each)):.1f}" for each in points)
    yield f'<polyline points="{line}" fill="none" stroke="{CURVE}" stroke-width="2"/>'
    yield f'<path d="M{x(rating.elo):.1f} {TOP}V{TOP + HEIGHT}" stroke="{CURVE}" stroke-dasharray="4 4"/>'


def _players(report: LadderReport, x: Axis, y: Axis) -> Iterator[str]:
    """Draw the ladder players: names below the axis, scores with their intervals above."""
    players, bottom = report.calibration.players, TOP + HEIGHT
    places = spread_labels([x(player.elo) for player in players], APART, LEFT, WIDTH - RIGHT)
    for player, place in zip(players, places, strict=True):
        match, at = report.matches.get(player.name), x(player.elo)
        ink, weight = (POINT, "600") if match else (GREY, "400")
        yield f'<path d="M{at:.1f} {bottom + 24}v6L{place:.1f} {bottom + 44}v4" fill="none" stroke="{ink}"/>'
        yield (
            f'<text transform="translate({place + 4:.1f} {bottom + 51}) rotate(-90)" text-anchor="end" fill="{ink}" '
            f'font-weight="{weight}" font-size="11">{escape(player.name)}</text>'
        )
        if match is None:
            continue
        low, high = (y(end) for end in match.interval)
        yield (
            f'<path d="M{x(player.elo - player.error):.1f} {y(match.score):.1f}H{x(player.elo + player.error):.1f}'
            f'M{at:.1f} {low:.1f}V{high:.1f}" stroke="{POINT}" stroke-opacity="0.75" stroke-width="1.4"/>'
        )
        yield f'<circle cx="{at:.1f}" cy="{y(match.score):.1f}" r="{_radius(match.games):.1f}" fill="{POINT}"/>'


def _headline(report: LadderReport) -> str:
    rating = report.rating
    if rating is None or rating.sweep:
        return rating_line(report)
    return f"{report.name}, {report.variant}: {short_rating(rating)}"


def _subline(report: LadderReport) -> str:
    games = sum(match.games for match in report.matches.values())
    rating, wide = report.rating, ""
    if rating is not None and not rating.sweep:
        wide = f"; with the ladder's own error ± {rounded(rating.full_error)} (light)"
    return f"{many(games, 'game')}, bars are 95 % intervals{wide}; random = 0"


def _radius(games: int) -> float:
    """Return the radius of a dot, larger for more games.

    >>> _radius(2) < _radius(200)
    True
    """
    return 3 + math.sqrt(min(games, 400)) / 6


def write_picture(path: Path, picture: str) -> None:
    """Write SVG, or convert it to PNG for a path that ends in .png."""
    if path.suffix.lower() != ".png":
        write_output(path, picture.encode())
        return
    tool = shutil.which("rsvg-convert")
    if tool is not None:
        done = subprocess.run(
            [tool, "--zoom", "2"], input=picture.encode(), capture_output=True, check=False, timeout=60
        )
        if done.returncode:
            raise SelfmateError(
                f"rsvg-convert could not write {path}: {done.stderr.decode('utf-8', 'replace').strip()}"
            )
        data = done.stdout
    else:
        try:
            import cairosvg
        except ImportError:
            raise _no_png(path) from None
        data = cairosvg.svg2png(bytestring=picture.encode(), scale=2)
    write_output(path, data)


def check_picture(path: Path) -> None:
    """Raise `SelfmateError` for a picture that could not be written; to be called before the first game."""
    if path.suffix.lower() not in (".svg", ".png"):
        raise SelfmateError(f"--plot: a .svg or .png file, not {path}", str(path))
    check_target(path)
    if path.suffix.lower() == ".png" and shutil.which("rsvg-convert") is None:
        import importlib.util

        if importlib.util.find_spec("cairosvg") is None:
            raise _no_png(path)


def _no_png(path: Path) -> SelfmateError:
    needs = "a PNG needs rsvg-convert (librsvg) or the Python package cairosvg; a .svg needs neither"
    return SelfmateError(f"{path}: {needs}", str(path))
