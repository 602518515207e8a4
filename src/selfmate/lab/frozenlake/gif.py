"""The picture of the search as an animated GIF, drawn with Pillow."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

from selfmate.errors import LabError
from selfmate.lab.frozenlake.lake import need
from selfmate.lab.frozenlake.scene import HEIGHT, WIDTH, Shape, frames_of, make_scene

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["draw_image", "make_gif"]

FRAME_MS: Final = 160
LAST_MS: Final = 1600
"""Of the last simulation of a move, and of the end."""
COLOURS: Final = 64
MOST_PICTURES: Final = 2500
"""Pillow keeps each, 0.3 MB, until the file is written."""
SCALE: Final = 2
"""Pictures are drawn larger and made smaller, for smooth lines."""


def make_gif(trace: dict[str, Any]) -> bytes:
    """Return the whole trace as a GIF that repeats.

    Raises `MissingExtra` without Pillow, and `LabError` for a trace of too many pictures.
    """
    pillow = need("PIL.Image")
    frames = frames_of(trace)
    if len(frames) > MOST_PICTURES:
        hint = "lower lake.step_limit or mcts.simulations"
        raise LabError(f"a GIF has at most {MOST_PICTURES:,} pictures, not {len(frames):,}; {hint}")
    # One palette for all, so that pixels that stay the same cost nothing; by coverage, since text has few pixels.
    middle = draw_image(make_scene(trace, *frames[len(frames) // 2]))
    palette = middle.quantize(COLOURS, method=pillow.Quantize.MAXCOVERAGE)
    # One picture at a time: in full colours all of them would take gigabytes.
    images = (
        draw_image(make_scene(trace, move, done)).quantize(palette=palette, dither=pillow.Dither.NONE)
        for move, done in frames
    )
    is_last = [done == trace["simulations"] or move == len(trace["moves"]) for move, done in frames]
    out = io.BytesIO()
    durations = [LAST_MS if last else FRAME_MS for last in is_last]
    next(images).save(
        out, "GIF", save_all=True, append_images=images, duration=durations, loop=0, optimize=True, disposal=1
    )
    return out.getvalue()


def draw_image(shapes: list[Shape]) -> Image.Image:
    """Return shapes as an image."""
    image_module, draw_module, font_module = need("PIL.Image"), need("PIL.ImageDraw"), need("PIL.ImageFont")
    image: Image.Image = image_module.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), "#ffffff")
    draw = draw_module.Draw(image)
    for shape in shapes:
        places = [(x * SCALE, y * SCALE) for x, y in shape.points]
        size = shape.size * SCALE
        stroke = None if shape.stroke == "none" else shape.stroke
        if shape.kind == "line":
            draw.line(places, fill=stroke, width=round(size), joint="curve")
        elif shape.kind == "polygon":
            draw.polygon(places, fill=shape.fill)
        elif shape.kind == "disc":
            (x, y) = places[0]
            draw.ellipse((x - size, y - size, x + size, y + size), fill=shape.fill, outline=stroke, width=SCALE)
        elif shape.kind == "rectangle":
            draw.rounded_rectangle([*places[0], *places[1]], radius=3 * SCALE, fill=shape.fill)
        else:
            anchor = "ms" if shape.kind == "middle" else "ls"
            draw.text(places[0], shape.text, fill=shape.fill, font=font_module.load_default(size), anchor=anchor)
    return image.resize((WIDTH, HEIGHT), image_module.Resampling.LANCZOS)
