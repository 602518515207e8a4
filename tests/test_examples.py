"""The programs of examples/ run, and the code of docs/api.md prints what stands there."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = {
    "evaluate_positions.py": (["--visits", "20"], "prior of"),
    "own_evaluator.py": ([], "pupil against teacher"),
    "random_rollouts.py": (["gardner", "--games", "50", "--steps", "100"], "gardner: White won"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str) -> None:
    arguments, words = EXAMPLES[name]
    done = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / name, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONUTF8": "1"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert words in done.stdout


def test_the_api_page() -> None:
    for package in ("gymnasium", "pandas"):
        pytest.importorskip(package, reason=f"needs {package}: pip install 'selfmate[envs,frames]'")
    page = ROOT / "docs" / "api.md"
    examples = doctest.DocTestParser().get_doctest(page.read_text("utf-8"), {}, page.name, str(page), 0)
    assert len(examples.examples) > 30
    output: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, out=output.append)
    assert not output, "".join(output)


def test_every_public_function_is_on_the_api_page() -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    import selfmate.envs

    functions = ("encode_planes", "action_masks", "dense_planes", "evaluate", "selfplay_games", "play_match", "Run")
    for name in {*selfmate.envs.__all__, *functions} - {"StepArrays"}:
        assert name in page, name
