"""The programs that show evaluations, evaluators of one's own and environments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ARGUMENTS = {
    "evaluate_positions.py": (["--visits", "20"], "prior of"),
    "own_evaluator.py": ([], "pupil against teacher"),
    "random_rollouts.py": (["gardner", "--games", "50", "--steps", "100"], "gardner: White won"),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_example(name: str, tmp_path: Path) -> None:
    arguments, words = ARGUMENTS[name]
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert words in done.stdout
