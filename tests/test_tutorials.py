"""Tutorials and how-to pages: every block of shell commands that is marked as tested runs, in the order of its page.

A block is marked in its fence: ```sh tested. The Python examples are doctests (pyproject.toml names the folders).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
HOW_TO = sorted((DOCS / "howto").glob("*.md"))
SAME_FOLDER = ("train-overnight", "another-machine")
"""How-to pages of which the second continues what the first began."""
BLOCK = re.compile(r"^( *)```sh tested\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
TINY = [
    "net.blocks=1", "net.channels=8", "selfplay.cycles=2", "selfplay.games=8", "selfplay.slots=8",
    "selfplay.max_plies=30", "selfplay.visits=16", "learner.batch=16", "gate.games=2", "gate.visits=2",
    "gate.final_games=2", "gate.final_visits=2", "progress.games=0",
]  # fmt: skip
"""Settings with which a training ends within seconds; those of the page follow, and count."""


def blocks(page: Path) -> list[str]:
    """Return the tested commands of a page; those in a list are indented there."""
    return [textwrap.dedent(commands) for _, commands in BLOCK.findall(page.read_text("utf-8"))]


def shortened(commands: str) -> str:
    """Return the commands of a page, with a training of two cycles instead of some minutes, in the foreground.

    >>> shortened("selfmate train atomic --minutes 2 --set a=1").count("--set")
    14
    >>> shortened("nohup selfmate train atomic --minutes 2 >log &").endswith("progress.games=0 >log")
    True
    """
    settings = "".join(f" --set {setting}" for setting in TINY)
    pattern = r"^(?:nohup )?(selfmate train .*?) --minutes \d+(.*?)(?: &)?$"
    return re.sub(pattern, rf"\1{settings}\2", commands, flags=re.MULTILINE)


def run(page: Path, folder: Path) -> None:
    """Run the tested commands of a page in a folder."""
    programs = str(Path(sys.executable).parent)
    variables = os.environ | {"PATH": programs + os.pathsep + os.environ["PATH"], "COLUMNS": "80"}
    for block in blocks(page):
        answer = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", shortened(block)],
            cwd=folder, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=900,
        )  # fmt: skip
        assert answer.returncode == 0, f"{block}\n{answer.stdout}\n{answer.stderr}"
        assert answer.stdout


def test_pages_have_tested_commands() -> None:
    assert {page.stem for page in TUTORIALS} == {"bot", "play", "research", "train"}
    assert len(HOW_TO) >= 9
    assert [page.stem for page in TUTORIALS + HOW_TO if not blocks(page)] == ["research", "own-evaluator"]


def test_every_page_is_in_the_lists() -> None:
    contents, site = ((DOCS / name).read_text("utf-8") for name in ("README.md", "index.md"))
    for page in TUTORIALS + HOW_TO:
        inside = page.relative_to(DOCS)
        assert f"({inside.as_posix()})" in contents
        assert f"\n{inside.with_suffix('').as_posix()}\n" in site


@pytest.mark.parametrize("page", [page for page in TUTORIALS if blocks(page)], ids=lambda page: page.stem)
def test_commands_of_a_tutorial(page: Path, tmp_path: Path) -> None:
    run(page, tmp_path)


@pytest.mark.parametrize(
    "page", [page for page in HOW_TO if blocks(page) and page.stem not in SAME_FOLDER], ids=lambda page: page.stem
)
def test_commands_of_a_how_to_page(page: Path, tmp_path: Path) -> None:
    run(page, tmp_path)


def test_commands_of_pages_in_one_folder(tmp_path: Path) -> None:
    for name in SAME_FOLDER:
        run(DOCS / "howto" / f"{name}.md", tmp_path)
