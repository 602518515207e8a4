"""Charts: elements are at their places, and no name breaks the picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from selfmate.util.svg_chart import Panel, ReferenceLine, Series, draw, ticks

SVG = "{http://www.w3.org/2000/svg}"


def points(element: ET.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (place.split(",") for place in element.attrib["points"].split())]


def test_a_line_with_its_band_and_reference_lines() -> None:
    series = Series("net", [(0, 10.0), (50, 30.0), (100, 20.0)], [(5.0, 15.0), (28.0, 32.0), (19.0, 21.0)])
    picture = ET.fromstring(
        draw([Panel("Elo", [series], [ReferenceLine("low", 0.0), ReferenceLine("near", 0.4)])], "games")
    )
    (line,) = picture.iter(f"{SVG}polyline")
    (band,) = picture.iter(f"{SVG}polygon")
    (x0, y0), (x1, y1), (x2, y2) = points(line)
    assert x0 < x1 < x2
    assert abs((x0 + x2) / 2 - x1) < 0.2
    assert y1 < y2 < y0  # y grows downwards
    upper, lower = points(band)[:3], points(band)[:2:-1]
    assert all(high[1] < own[1] < low[1] for high, own, low in zip(upper, points(line), lower, strict=True))
    texts = {"".join(each.itertext()): each for each in picture.iter(f"{SVG}text")}
    assert {"Elo", "games", "low", "near", "0", "100"} <= texts.keys()
    assert abs(float(texts["low"].attrib["y"]) - float(texts["near"].attrib["y"])) >= 13.9  # names do not overlap


def test_panels_share_the_axis_and_several_lines_are_named() -> None:
    one, two = Series("learned", [(0, 1.0), (10, 0.5)]), Series("held out", [(0, 1.1), (20, 0.7)])
    picture = ET.fromstring(draw([Panel("Elo", [one]), Panel("Loss", [one, two])], "steps"))
    first, second, third = (points(line) for line in picture.iter(f"{SVG}polyline"))
    assert first[1][0] == second[1][0] < third[1][0]
    texts = ["".join(each.itertext()) for each in picture.iter(f"{SVG}text")]
    assert texts.count("learned") == texts.count("held out") == texts.count("steps") == 1


def test_anything_can_be_drawn() -> None:
    for panels in ([], [Panel("none", [])], [Panel("one", [Series("", [(3, 7.0)], [(7.0, 7.0)])])]):
        ET.fromstring(draw(panels, "x"))
    text = draw([Panel('<script>"&', [Series("a", [(0, 1e9)])], [ReferenceLine("</svg>", -1e9)])], "<")
    ET.fromstring(text)
    assert "<script" not in text


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0, 10) == [0, 2, 4, 6, 8, 10]
    assert ticks(-130, 120) == [-100, -50, 0, 50, 100]
    assert ticks(3, 3) == [3]
    for low, high in ((0.013, 0.029), (-7.5, 91), (1e5, 3.3e6)):
        found = ticks(low, high)
        assert 2 <= len(found) <= 6
        assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
