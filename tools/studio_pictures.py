"""Pictures of the studio for the documentation, into docs/pictures.

    make teststudio && python tools/studio_pictures.py

Screenshots are those of the tests in build/studio, as WebP of at most 150 kB. The animation is recorded here, from a
game, an analysis and a training. Needs Pillow, playwright and Chromium.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from studio_server import StudioServer, studio_server

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "build" / "studio"
TARGET: Final = ROOT / "docs" / "pictures"
PICTURES: Final = {
    "home-light-1440": "home",
    "play-explosion-light-1440": "play",
    "study-why-light-1440": "study",
    "study-tree-dark-1440": "tree",
    "study-policy-light-1440": "inside",
    "train-dark-1440": "train",
    "train-games-dark-1440": "games",
    "match-light-1440": "match",
}
MOST_BYTES: Final = 150_000
MOST_ANIMATION_BYTES: Final = 1_500_000
WIDTH: Final = 1080
ANIMATION_WIDTH: Final = 800
FRAME_MS: Final = 180
FLAGS: Final = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
EXPLOSION: Final = "rnbqkbnr/pppp2pp/8/4pp2/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 0 3"
ENDING: Final = "4k3/5p2/8/4N3/8/8/8/4K3 w - - 0 1"
SMALL: Final = ["selfplay.games=32", "selfplay.slots=16", "selfplay.visits=4", "gate.games=0", "progress.games=0"]


def shrink(data: bytes, width: int) -> Image.Image:
    """Return a picture of a width."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    return image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)


def convert() -> None:
    """Write the tests' screenshots as small files; one that is missing or too large ends the program."""
    for source, name in PICTURES.items():
        path = SOURCE / f"{source}.png"
        if not path.is_file():
            sys.exit(f"{path} is missing: run make teststudio first")
        target = TARGET / f"studio-{name}.webp"
        shrink(path.read_bytes(), WIDTH).save(target, quality=82, method=6)
        if target.stat().st_size > MOST_BYTES:
            sys.exit(f"{target} has {target.stat().st_size:,} bytes, more than {MOST_BYTES:,}")


class Recorder:
    """Frames of a page."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.frames: list[Image.Image] = []

    def take(self, frames: int, pause_ms: int = 60) -> None:
        """Take some frames."""
        for _ in range(frames):
            self.frames.append(shrink(self.page.screenshot(caret="initial"), ANIMATION_WIDTH))
            self.page.wait_for_timeout(pause_ms)


def square(page: Any, name: str) -> tuple[float, float]:
    """Return the middle of a square of an 8x8 board in pixels."""
    box = page.locator(".board:not(.mini)").first.bounding_box()
    size = box["width"] / 8
    return box["x"] + ("abcdefgh".index(name[0]) + 0.5) * size, box["y"] + (8.5 - int(name[1])) * size


def record(recorder: Recorder, server: StudioServer) -> None:
    """A capture that explodes, an analysis that streams, a training whose boards move."""
    page = recorder.page
    with server.page() as other:
        other.ask("run.start", 120, recipe="gardner-laptop", name="gardner", settings=SMALL)
        game = other.game(variant="atomic", color="white", player="random", fen=ENDING)
    page.goto(f"{server.url}#play/{game['id']}")
    page.locator(".game-panel").wait_for()
    recorder.take(4)
    for name in ("e5", "f7"):
        page.mouse.click(*square(page, name))
        recorder.take(6, 10)
    recorder.take(5)
    page.goto(f"{server.url}#study?variant=atomic&fen={EXPLOSION}")
    page.locator(".crow").first.wait_for()
    recorder.take(10, 250)
    page.goto(f"{server.url}#study/tree?variant=atomic&fen={EXPLOSION}")
    page.locator(".nd").nth(3).wait_for()
    recorder.take(8, 250)
    page.goto(f"{server.url}#train/gardner")
    page.locator(".wall.live .wb").first.wait_for(timeout=180_000)
    recorder.take(14, 700)
    with server.page() as other:
        other.send("run.stop", id="gardner")
        time.sleep(2)


def animate() -> None:
    """Write the animation; one that is too large ends the program."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, studio_server(Path(folder)) as server, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        recorder = Recorder(browser.new_page(viewport={"width": 1280, "height": 800}))
        record(recorder, server)
        browser.close()
    first, *rest = recorder.frames
    target = TARGET / "studio.webp"
    first.save(target, save_all=True, append_images=rest, duration=FRAME_MS, loop=0, quality=55, method=6)
    if target.stat().st_size > MOST_ANIMATION_BYTES:
        sys.exit(f"{target} has {target.stat().st_size:,} bytes, more than {MOST_ANIMATION_BYTES:,}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-animation", action="store_true", help="only the screenshots")
    arguments = parser.parse_args()
    TARGET.mkdir(exist_ok=True)
    convert()
    if not arguments.no_animation:
        animate()
    for path in sorted(TARGET.glob("studio*.webp")):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")
