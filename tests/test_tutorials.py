"""The tutorials: every block of shell commands that is marked as tested runs, in the order of its page.

A block is marked in its fence: ```sh tested. The Python examples are doctests (pyproject.toml names the folder).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```sh tested\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TINY = [
    "net.blocks=1", "net.channels=8", "selfplay.cycles=2", "selfplay.games=8", "selfplay.slots=8",
    "selfplay.max_plies=30", "learner.batch=16", "gate.games=2", "gate.final_games=2",
]  # fmt: skip
"""Settings with which a training ends within seconds; those of the page follow, and count."""


def shortened(commands: str) -> str:
    """Return the commands of a page, with a training of two cycles instead of some minutes.

    >>> shortened("selfmate train atomic --minutes 2 --set a=1").count("--set")
    10
    """
    settings = "".join(f" --set {setting}" for setting in TINY)
    return re.sub(r"^(selfmate train .*?) --minutes \d+", rf"\1{settings}", commands, flags=re.MULTILINE)


def test_pages_have_tested_commands() -> None:
    assert {page.stem for page in PAGES} == {"bot", "play", "research", "train"}
    assert [bool(BLOCK.search(page.read_text("utf-8"))) for page in PAGES] == [True, True, False, True]


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "research"], ids=lambda page: page.stem)
def test_commands_of_a_tutorial(page: Path, tmp_path: Path) -> None:
    programs = str(Path(sys.executable).parent)
    variables = os.environ | {"PATH": programs + os.pathsep + os.environ["PATH"], "COLUMNS": "80"}
    for block in BLOCK.findall(page.read_text("utf-8")):
        answer = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", shortened(block)],
            cwd=tmp_path, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=900,
        )  # fmt: skip
        assert answer.returncode == 0, f"{block}\n{answer.stdout}\n{answer.stderr}"
        assert answer.stdout
